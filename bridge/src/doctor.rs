//! `tandem-mcp doctor`: which tools are installed, which are missing, and how to install them. It changes
//! nothing, and starts only `tandem-dap` to query it.

use std::io::Write;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use anyhow::Context;
use serde_json::{Value, json};

use crate::install::{ConfigFolders, HOSTS, entry_in};

/// Kernel setting that decides whether a debugger may attach to processes that it has not started.
const PTRACE_SCOPE: &str = "/proc/sys/kernel/yama/ptrace_scope";

/// One line of the report.
struct CheckResult {
    about: &'static str,
    /// Whether it is as it should be; `None` for what need not be here.
    well: Option<bool>,
    what: String,
    /// Instruction for the user; `None` when nothing is wrong.
    hint: Option<String>,
}

/// Reports; `true` when nothing is amiss that Tandem cannot do without.
///
/// # Errors
/// When stdout is closed.
pub fn run(adapter: anyhow::Result<PathBuf>, as_json: bool, out: &mut dyn Write) -> anyhow::Result<bool> {
    let mut results = vec![CheckResult {
        about: "tandem-mcp",
        well: Some(true),
        what: format!("{}, {}", env!("CARGO_PKG_VERSION"), own_path().display()),
        hint: None,
    }];
    match adapter.and_then(|path| Ok((version_of(&path)?, path))) {
        Ok((version, path)) => {
            let same = version == env!("CARGO_PKG_VERSION");
            results.push(CheckResult {
                about: "tandem-dap",
                well: Some(same),
                what: format!("{version}, {}", path.display()),
                hint: (!same).then(|| "install both programs from one release".into()),
            });
            results.extend(engines(&path));
        }
        Err(error) => results.push(CheckResult {
            about: "tandem-dap",
            well: Some(false),
            what: format!("{error:#}"),
            hint: Some("install it beside tandem-mcp or in a folder of PATH".into()),
        }),
    }
    results.push(sessions());
    results.extend(ptrace_scope());
    results.extend(hosts());
    report(&results, as_json, out)?;
    Ok(!results.iter().any(|result| result.well == Some(false)))
}

fn own_path() -> PathBuf {
    std::env::current_exe().unwrap_or_default()
}

/// Runs one of Tandem's programs and returns its stdout.
fn output_of(program: &Path, args: &[&str]) -> anyhow::Result<String> {
    let done = Command::new(program).args(args).stdin(Stdio::null()).stderr(Stdio::null()).output();
    let done = done.with_context(|| format!("`{}` cannot be started", program.display()))?;
    anyhow::ensure!(
        done.status.success(),
        "`{} {}` failed: {}",
        program.display(),
        args.join(" "),
        done.status
    );
    String::from_utf8(done.stdout)
        .with_context(|| format!("`{}` wrote output that is not UTF-8", program.display()))
}

fn version_of(adapter: &Path) -> anyhow::Result<String> {
    let text = output_of(adapter, &["--version"])?;
    Ok(text.trim().rsplit(' ').next().unwrap_or_default().to_owned())
}

fn engines(adapter: &Path) -> Vec<CheckResult> {
    let listed = output_of(adapter, &["engines", "--json"])
        .and_then(|text| Ok(serde_json::from_str::<Vec<Value>>(&text)?))
        .unwrap_or_default();
    let of = |engine: Value| {
        let text = |key: &str| engine[key].as_str().map(str::to_owned);
        let (name, languages) = (text("engine").unwrap_or_default(), text("languages").unwrap_or_default());
        match text("found") {
            Some(found) => CheckResult {
                about: "engine",
                well: Some(true),
                what: format!("{name} ({languages}): {found}"),
                hint: None,
            },
            None => CheckResult {
                about: "engine",
                well: None,
                what: format!("{name} ({languages}): {}", text("missing").unwrap_or_default()),
                hint: text("hint"),
            },
        }
    };
    listed.into_iter().map(of).collect()
}

fn sessions() -> CheckResult {
    let live = session_registry::all();
    match session_registry::prepare_one(&session_registry::folders()) {
        Ok((folder, _)) => CheckResult {
            about: "sessions",
            well: Some(true),
            what: format!("{} live, in {}", live.len(), folder.display()),
            hint: None,
        },
        Err(error) => CheckResult {
            about: "sessions",
            well: Some(false),
            what: format!("no folder for them: {error:#}"),
            hint: Some("sessions need a folder that is yours alone: set XDG_RUNTIME_DIR".into()),
        },
    }
}

fn ptrace_scope() -> Option<CheckResult> {
    let scope = std::fs::read_to_string(PTRACE_SCOPE).ok()?;
    (scope.trim() != "0").then(|| CheckResult {
        about: "attaching",
        well: None,
        what: format!(
            "{PTRACE_SCOPE} is {}: gdb and lldb cannot attach to processes that they did not start",
            scope.trim()
        ),
        hint: Some(
            "`sysctl kernel.yama.ptrace_scope=0` allows it; .NET, Python, Go and JavaScript listen instead"
                .into(),
        ),
    })
}

fn hosts() -> Vec<CheckResult> {
    let Ok(places) = ConfigFolders::of_this_user() else { return Vec::new() };
    let here = HOSTS.iter().filter(|host| host.is_here(&places));
    here.map(|host| match entry_in(host, &places, "tandem") {
        Some(entry) => {
            let command =
                entry["command"].as_str().or_else(|| entry["command"][0].as_str()).unwrap_or_default();
            let there = !command.starts_with('/') || Path::new(command).is_file();
            CheckResult {
                about: "host",
                well: Some(there),
                what: format!(
                    "{}: starts `{command}`{}",
                    host.name,
                    if there { "" } else { ", which is not there" }
                ),
                hint: (!there).then(|| format!("`tandem-mcp install {}`", host.id)),
            }
        }
        None => CheckResult {
            about: "host",
            well: None,
            what: format!("{}: does not know Tandem", host.name),
            hint: Some(format!("`tandem-mcp install {}`", host.id)),
        },
    })
    .collect()
}

fn report(results: &[CheckResult], as_json: bool, out: &mut dyn Write) -> anyhow::Result<()> {
    if as_json {
        let listed: Vec<Value> = results
            .iter()
            .map(|one| json!({ "about": one.about, "well": one.well, "what": one.what, "hint": one.hint }))
            .collect();
        serde_json::to_writer_pretty(&mut *out, &listed)?;
        return Ok(writeln!(out)?);
    }
    for CheckResult { about, well, what, hint } in results {
        let mark = match well {
            Some(true) => "ok",
            Some(false) => "WRONG",
            None => "-",
        };
        writeln!(out, "{mark:<6}{about:<12}{what}")?;
        if let Some(hint) = hint {
            writeln!(out, "{:18}{hint}", "")?;
        }
    }
    Ok(())
}
