//! `tandem-dap doctor`: which debuggers are installed, in which version, how to install the missing ones, and
//! whether sessions can be published. `tandem-mcp doctor` adds what it knows of agents.
//!
//! Starts each debugger for a moment, to query its version; changes nothing.

use std::path::Path;

use tandem_pages::report::{self, CheckResult};

/// Kernel setting that decides whether a debugger may attach to processes that it has not started.
const PTRACE_SCOPE: &str = "/proc/sys/kernel/yama/ptrace_scope";

/// Writes the report to stdout; returns whether nothing that Tandem needs is missing.
///
/// # Errors
/// When stdout is closed, or the working directory is gone.
pub fn run(as_json: bool) -> anyhow::Result<bool> {
    let folder = std::env::current_dir()?;
    let own = std::env::current_exe().unwrap_or_default();
    let mut results =
        vec![CheckResult::well("tandem-dap", format!("{}, {}", env!("CARGO_PKG_VERSION"), own.display()))];
    results.push(dotnet());
    results.extend(adapters(&folder));
    results.push(sessions());
    results.extend(ptrace_scope());
    Ok(report::write(&results, as_json, &mut std::io::stdout().lock())?)
}

fn dotnet() -> CheckResult {
    let name = format!("{} ({})", tandem_coreclr::DESCRIPTION.name, tandem_coreclr::DESCRIPTION.languages);
    if let Err(failure) = tandem_coreclr::check_machine() {
        return CheckResult::optional("engine", format!("{name}: {}", failure.message), failure.hint);
    }
    let runtimes = tandem_coreclr::installed_runtimes();
    if runtimes.is_empty() {
        let what = format!("{name}: {}", super::engines::NO_RUNTIME);
        return CheckResult::optional("engine", what, Some(super::engines::INSTALL_RUNTIME.into()));
    }
    let versions: Vec<_> = runtimes.iter().filter_map(|runtime| runtime.file_name()?.to_str()).collect();
    let found: Vec<String> = runtimes.iter().map(|runtime| runtime.display().to_string()).collect();
    CheckResult::well("engine", format!("{name}: runtimes {}, {}", versions.join(", "), found.join(", ")))
}

/// The child adapters, queried side by side: each may take seconds.
fn adapters(folder: &Path) -> Vec<CheckResult> {
    let look = |name: &'static str, languages: &str| {
        let name_and_languages = format!("{name} ({languages})");
        match tandem_child::adapter_in(name, folder) {
            Ok(found) => {
                let version = tandem_child::adapter_version(name, folder);
                let version = version.map(|version| format!("{version}, ")).unwrap_or_default();
                CheckResult::well("engine", format!("{name_and_languages}: {version}{}", found.display()))
            }
            Err(failure) => {
                let what = format!("{name_and_languages}: {}", failure.message);
                CheckResult::optional("engine", what, failure.hint)
            }
        }
    };
    std::thread::scope(|scope| {
        let started: Vec<_> = tandem_child::descriptions()
            .map(|engine| (engine.name, scope.spawn(|| look(engine.name, engine.languages))))
            .collect();
        let failed = |name: &str| CheckResult::optional("engine", format!("{name}: the check failed"), None);
        started.into_iter().map(|(name, check)| check.join().unwrap_or_else(|_| failed(name))).collect()
    })
}

fn sessions() -> CheckResult {
    let live = tandem_registry::all();
    match tandem_registry::prepare_one(&tandem_registry::folders()) {
        Ok((folder, _)) => {
            CheckResult::well("sessions", format!("{} live, in {}", live.len(), folder.display()))
        }
        Err(error) => CheckResult::wrong(
            "sessions",
            format!("no folder for them: {error:#}"),
            "sessions need a folder that is yours alone: set XDG_RUNTIME_DIR",
        ),
    }
}

fn ptrace_scope() -> Option<CheckResult> {
    let scope = std::fs::read_to_string(PTRACE_SCOPE).ok()?;
    (scope.trim() != "0").then(|| {
        CheckResult::optional(
            "attaching",
            format!(
                "{PTRACE_SCOPE} is {}: gdb and lldb cannot attach to processes that they did not start",
                scope.trim()
            ),
            Some(
                "`sysctl kernel.yama.ptrace_scope=0` allows it; .NET, Python, Go and JavaScript listen \
                    instead"
                    .into(),
            ),
        )
    })
}
