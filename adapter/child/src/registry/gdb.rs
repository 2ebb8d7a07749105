//! Native code through `gdb -i dap` (gdb 14 and later). It never sends `runInTerminal`, so it starts
//! it through a shell that puts our pipes in place.

mod corrections;
mod printers;

use std::ffi::OsString;
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};
use std::process::Command;

use serde_json::{Value, json};
use tandem_wire::{ErrorCode, Failure};

use super::super::find::AdapterSearch;
use super::super::launch_plan::{LaunchPlan, ProgramIo, Quirks, Transport};
use super::super::profile::{ConditionProfile, Profile};
use super::super::rust;
use super::super::signals;
use super::super::summaries;
use super::super::target::Target;
use printers::{cpp_printers, load_cpp_printers};
use tandem_engine::builds::command;
use tandem_engine::condition_language::ConditionLanguage;
use tandem_engine::description::Description;
use tandem_engine::path_map;
use tandem_engine::{ExceptionFilter, LookOnlyRequests};
use tandem_process::SpawnSpec;
use tandem_process::terminal::Pty;

/// The first version that speaks DAP.
const MIN_VERSION: u32 = 14;

/// Metadata of gdb, known without starting it. No kind of program selects it: users choose it by name.
const DESCRIPTION: Description = Description {
    name: "gdb",
    languages: "C, C++, Rust",
    summary: "C, C++, Rust, Ada and other native code: gdb 14 or later.",
    needs: "gdb 14 or later",
    stdio: "gdb starts the program through a shell that opens Tandem's pipes",
    connects: true,
    reads_cores: true,
    ..Description::NONE
};

const fn with_condition(filter: &'static str, label: &'static str) -> ExceptionFilter {
    ExceptionFilter { supports_condition: true, ..ExceptionFilter::new(filter, label) }
}

/// How Tandem launches gdb, and where it differs from other adapters.
pub(super) struct Gdb;

impl Profile for Gdb {
    fn description(&self) -> &'static Description {
        &DESCRIPTION
    }

    fn exception_filters(&self) -> &'static [ExceptionFilter] {
        const FILTERS: [ExceptionFilter; 6] = [
            with_condition("assert", "Ada assertions"),
            with_condition("exception", "Ada exceptions"),
            with_condition("unhandled", "Ada exceptions without a handler"),
            with_condition("throw", "C++ exceptions, when thrown"),
            with_condition("rethrow", "C++ exceptions, when re-thrown"),
            with_condition("catch", "C++ exceptions, when caught"),
        ];
        &FILTERS
    }

    /// It reads memory; pretty-printers that come with it run in the debugger.
    fn look_only_requests(&self) -> LookOnlyRequests {
        LookOnlyRequests::Known(&[
            "variables",
            "source",
            "readMemory",
            "disassemble",
            "locations",
            "exceptionInfo",
        ])
    }

    /// gdb reports 0 for a program that a signal ended.
    fn signal_expression(&self) -> Option<&'static str> {
        Some("$_exitsignal")
    }

    fn is_native(&self) -> bool {
        true
    }

    fn panic_function(&self) -> Option<&'static str> {
        // It wants the whole name.
        Some("std::panicking::rust_panic")
    }

    fn summarizes(&self) -> bool {
        false
    }

    fn builds(&self, _target: &Target) -> bool {
        true
    }

    fn mixes_children(&self) -> bool {
        false
    }

    /// The address of a `gdbserver`.
    fn connect_attributes(&self, host: &str, port: &Value) -> Option<Value> {
        let port = port.as_str().map_or_else(|| port.to_string(), str::to_owned);
        Some(json!({ "target": format!("{host}:{port}") }))
    }

    fn launch(&self, target: &Target) -> Result<LaunchPlan, Failure> {
        let program = target.existing_program()?.display().to_string();
        let mut ours = json!({ "program": program, "cwd": target.cwd, "env": environment(target) });
        // At the first line of the user's code, not of the loader's.
        if target.flag("stopOnEntry", false)? {
            ours["stopOnEntry"] = json!(false);
            ours["stopAtBeginningOfMainSubprogram"] = json!(true);
        }
        let mut plan = plan(target, "launch", ours)?;
        // gdb has the user's shell start the program; some shells cannot (fish, nologin). The program's own
        // variable is set above.
        plan.spec.env.push(("SHELL".into(), Some("/bin/sh".into())));
        // With this gdb makes the terminal the program's own; redirected, it would have none.
        let redirect = match target.pty {
            Pty::No => "set exec-wrapper sh -c 'exec \"$0\" \"$@\" <{stdin} >{stdout} 2>{stderr}'",
            Pty::Quiet | Pty::Echoing => "set inferior-tty {stdin}",
        };
        plan.spec.args.extend(["-iex".into(), redirect.into()]);
        plan.program_io = ProgramIo::PipePaths;
        plan.spec.args.extend(load_symbols(program));
        Ok(plan)
    }

    fn attach(&self, target: &Target) -> Result<LaunchPlan, Failure> {
        // It knows more ways than by number: they reach it as they are.
        let otherwise = !target.names_any(&["processId"]) && target.names_any(&["target", "coreFile"]);
        let ours = if otherwise { json!({}) } else { json!({ "pid": target.untraced_process_id()? }) };
        let mut plan = plan(target, "attach", ours)?;
        plan.spec.ends_by_itself = true;
        plan.spec.args.extend(symbol_file(target).into_iter().flat_map(load_symbols));
        Ok(plan)
    }
}

impl ConditionProfile for Gdb {
    fn condition_language(&self) -> ConditionLanguage {
        ConditionLanguage::NATIVE
    }

    /// It takes a number for how many hits to ignore, and never stops where it is anything else.
    fn counts_hits(&self) -> bool {
        false
    }

    fn rechecks_conditions(&self) -> bool {
        true
    }

    fn refuses_conditions(&self) -> bool {
        true
    }
}

fn plan(target: &Target, command: &'static str, ours: Value) -> Result<LaunchPlan, Failure> {
    let gdb = AdapterSearch::new("gdb", "gdb 14 or later", "apt-get install gdb")
        .with_engine_path(target)?
        .on_path(target, &["gdb"])
        .end()?;
    check_version(&gdb)?;
    let mut args: Vec<OsString> =
        ["-q", "-nx", "-i", "dap", "-iex", "set debuginfod enabled off"].map(Into::into).to_vec();
    args.extend(corrections::arguments());
    args.extend(signals::for_gdb().into_iter().flat_map(|command| ["-iex".into(), command.into()]));
    let panics = rust::is_compiled_by_rustc(target);
    if panics && let Some(folder) = rust::formatters(target) {
        let folder = folder.display().to_string();
        args.extend(["-d".into(), folder.clone().into()]);
        args.extend(["-iex".into(), format!("add-auto-load-safe-path {folder}").into()]);
        let found = format!("python import sys; sys.path.insert(0, {})", json!(folder));
        args.extend(["-iex".into(), found.into()]);
    }
    if let Some(folder) = cpp_printers(target) {
        args.extend(["-iex".into(), load_cpp_printers(&folder).into()]);
    }
    args.extend(["-iex".into(), summaries::for_gdb(panics).into()]);
    for command in target.attribute("initCommands").as_array().into_iter().flatten().filter_map(Value::as_str)
    {
        args.extend(["-ex".into(), command.into()]);
    }
    for (there, here) in path_map::read(target.attributes())? {
        let found = format!("set substitute-path {} {}", quote(&there), quote(&here));
        args.extend(["-iex".into(), found.into()]);
    }
    Ok(LaunchPlan {
        spec: SpawnSpec { program: gdb, args, cwd: target.cwd.clone(), ..SpawnSpec::default() },
        transport: Transport::Stdio,
        program_io: ProgramIo::OutputEvents,
        adapter_id: "gdb".into(),
        command,
        arguments: target.for_adapter(ours),
        launched: command == "launch",
        quirks: Quirks { panics, ..Quirks::default() },
        opened: None,
    })
}

/// Arguments that have gdb read a program's symbols before it gets breakpoints. Without symbols it takes any
/// condition, does not know the program's language, and drops the breakpoint silently when it finds that the
/// condition means nothing.
fn load_symbols(program: impl Into<OsString>) -> [OsString; 2] {
    ["--".into(), program.into()]
}

/// The file of the program to attach to. `None` if only gdb can find it: in a container, on another machine,
/// or because the file was replaced since the process started.
fn symbol_file(target: &Target) -> Option<PathBuf> {
    if target.names_any(&["coreFile"]) {
        return None;
    }
    if target.program.is_file() {
        return Some(target.program.clone());
    }
    let executable = PathBuf::from(format!("/proc/{}/exe", target.process_id().ok()?));
    let (named, running) = (std::fs::read_link(&executable).ok()?, std::fs::metadata(&executable).ok()?);
    let file = std::fs::metadata(&named).ok()?;
    ((file.dev(), file.ino()) == (running.dev(), running.ino())).then_some(named)
}

/// One word of a gdb command.
fn quote(word: &str) -> String {
    format!("\"{}\"", word.replace('\\', "\\\\").replace('"', "\\\""))
}

/// All variables of the program: gdb knows no `null`, and takes the given ones for all there are. What JSON
/// cannot say is left out.
fn environment(target: &Target) -> Value {
    let own = std::env::vars_os()
        .filter_map(|(name, value)| Some((name.into_string().ok()?, value.into_string().ok()?)));
    let mut all: serde_json::Map<String, Value> = own.map(|(name, value)| (name, json!(value))).collect();
    for (name, value) in &target.env {
        match value {
            Some(value) => drop(all.insert(name.clone(), json!(value))),
            None => drop(all.shift_remove(name)),
        }
    }
    Value::Object(all)
}

/// The major version of a gdb; none where it does not say.
pub(super) fn version(gdb: &Path) -> Option<u32> {
    let mut version_query = Command::new(gdb);
    version_query.arg("--version");
    major(&command::first_line(version_query)?)
}

fn check_version(gdb: &Path) -> Result<(), Failure> {
    match version(gdb) {
        Some(version) if version < MIN_VERSION => Err(Failure::new(
            ErrorCode::EngineNotFound,
            format!(
                "`{}` does not support DAP: its version is {version}, but {MIN_VERSION} or later is needed",
                gdb.display()
            ),
        )
        .hint("set `enginePath` to a newer gdb, or use the engine `lldb`: `apt-get install lldb-19`")),
        // An unknown answer is gdb's to explain.
        _ => Ok(()),
    }
}

/// `GNU gdb (Debian 13.1-3) 13.1`: the version follows the last space.
fn major(line: &str) -> Option<u32> {
    line.split_ascii_whitespace().last()?.split('.').next()?.parse().ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn version_follows_the_last_space() {
        assert_eq!(major("GNU gdb (Debian 13.1-3) 13.1"), Some(13));
        assert_eq!(major("GNU gdb (GDB) 18.1"), Some(18));
        assert_eq!(major("GNU gdb (GDB) Fedora Linux 14.2-1.fc40"), Some(14));
        assert_eq!(major("nonsense"), None);
        assert_eq!(major(""), None);
    }

    #[test]
    fn symbols_are_those_of_the_process_or_of_the_named_program() {
        let file = |attributes| symbol_file(&Target::parse(&attributes).unwrap());
        let (own, pid) = (std::env::current_exe().unwrap(), std::process::id());
        assert_eq!(file(json!({ "processId": pid })), Some(own.clone()));
        assert_eq!(file(json!({ "target": "host:1", "program": own })), Some(own.clone()));
        assert_eq!(file(json!({ "target": "host:1", "program": "/no/such" })), None);
        assert_eq!(file(json!({ "program": own, "coreFile": "/core" })), None);
    }
}
