//! Native code through `gdb -i dap` (gdb 14 and later). It never asks anybody to start the program, so it is told to start
//! it through a shell that puts pipes of ours in place.

use std::ffi::OsString;
use std::path::Path;
use std::process::Command;

use dap_wire::{ErrorCode, Failure};
use serde_json::{Value, json};

use super::find::Search;
use super::profile::{Plan, Profile, ProgramIo, Quirks, Transport};
use super::rust;
use super::target::Target;
use crate::engine::builds::command;
use crate::engine::path_map;
use crate::io::SpawnSpec;

/// The first version that speaks DAP.
const FIRST_VERSION: u32 = 14;

/// Where GCC's C++ library keeps its printers.
const CPP_PRINTERS: &str = "/usr/share/gcc/python";

/// gdb takes what its DAP thread has posted in batches, one batch at a time. A function that resumes the program returns when
/// it stops, and meanwhile gdb looks at later batches only: a request that was posted right behind, in the same batch, was
/// answered at the next stop. Posted this way each batch runs one function, and what is left is in the next batch.
const ONE_BY_ONE: &str = r#"python exec("""
def tandem():
    import collections, gdb
    waiting, post = collections.deque(), gdb.post_event
    def run():
        if waiting:
            function = waiting.popleft()
            if waiting:
                post(run)
            function()
    def post_one(function):
        waiting.append(function)
        post(run)
    gdb.post_event = post_one
tandem()
del tandem
""")"#;

/// The profile.
pub(super) struct Gdb;

impl Profile for Gdb {
    fn name(&self) -> &str {
        "gdb"
    }

    /// It says 0 of a program that a signal ended.
    fn signal_expression(&self) -> Option<&'static str> {
        Some("$_exitsignal")
    }

    fn lets_signal_pass(&self) -> Option<&'static str> {
        Some("handle SIGTERM nostop noprint pass")
    }

    /// It takes a number for how many hits to ignore, and never stops where it is anything else.
    fn counts_hits(&self) -> bool {
        false
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

    fn rechecks_conditions(&self) -> bool {
        true
    }

    fn refuses_conditions(&self) -> bool {
        true
    }

    fn builds(&self, _target: &Target) -> bool {
        true
    }

    fn mixes_children(&self) -> bool {
        false
    }

    fn launch(&self, target: &Target) -> Result<Plan, Failure> {
        let program = target.existing_program()?.display().to_string();
        let mut ours = json!({ "program": program, "cwd": target.cwd, "env": environment(target) });
        // At the first line of the user's code, not of the loader's.
        if target.flag("stopOnEntry", false)? {
            ours["stopOnEntry"] = json!(false);
            ours["stopAtBeginningOfMainSubprogram"] = json!(true);
        }
        let mut plan = plan(target, "launch", ours)?;
        // gdb gives the program to the user's shell to start, which may be none that can (fish, nologin). The program's own
        // variable is told above.
        plan.spec.env.push(("SHELL".into(), Some("/bin/sh".into())));
        let redirect = "set exec-wrapper sh -c 'exec \"$0\" \"$@\" <{stdin} >{stdout} 2>{stderr}'";
        plan.spec.args.extend(["-iex".into(), redirect.into()]);
        plan.program_io = ProgramIo::Offered;
        // With the program's symbols at hand it says at once what is wrong with a breakpoint; without them it takes any
        // condition, and drops the breakpoint silently when it finds that the condition means nothing.
        plan.spec.args.extend(["--".into(), program.into()]);
        Ok(plan)
    }

    fn attach(&self, target: &Target) -> Result<Plan, Failure> {
        // It knows more ways than by number: they reach it as they are.
        let otherwise = !target.names_any(&["processId"]) && target.names_any(&["target", "coreFile"]);
        let ours = if otherwise { json!({}) } else { json!({ "pid": target.process_id()? }) };
        let mut plan = plan(target, "attach", ours)?;
        plan.spec.ends_by_itself = true;
        Ok(plan)
    }
}

fn plan(target: &Target, command: &'static str, ours: Value) -> Result<Plan, Failure> {
    let gdb = Search::new("gdb", "gdb 14 or later", "apt-get install gdb")
        .given(target)?
        .on_path(target, &["gdb"])
        .end()?;
    check_version(&gdb)?;
    let mut args: Vec<OsString> =
        ["-q", "-nx", "-i", "dap", "-iex", "set debuginfod enabled off", "-iex"].map(Into::into).to_vec();
    args.push(ONE_BY_ONE.replace('\n', "\\n").into());
    let panics = rust::made(&target.program);
    if panics && let Some(folder) = rust::formatters(target) {
        let folder = folder.display().to_string();
        args.extend(["-d".into(), folder.clone().into()]);
        args.extend(["-iex".into(), format!("add-auto-load-safe-path {folder}").into()]);
        let found = format!("python import sys; sys.path.insert(0, {})", json!(folder));
        args.extend(["-iex".into(), found.into()]);
    }
    if Path::new(CPP_PRINTERS).join("libstdcxx/v6/printers.py").is_file() {
        args.extend(["-iex".into(), cpp_printers().into()]);
    }
    for (there, here) in path_map::read(target.attributes())? {
        let found = format!("set substitute-path {} {}", quoted(&there), quoted(&here));
        args.extend(["-iex".into(), found.into()]);
    }
    Ok(Plan {
        spec: SpawnSpec { program: gdb, args, cwd: target.cwd.clone(), ..SpawnSpec::default() },
        transport: Transport::Stdio,
        program_io: ProgramIo::Told,
        adapter_id: "gdb".into(),
        command,
        arguments: target.for_adapter(ours),
        launched: command == "launch",
        quirks: Quirks { panics, ..Quirks::default() },
        opened: None,
    })
}

/// One word of a gdb command.
fn quoted(word: &str) -> String {
    format!("\"{}\"", word.replace('\\', "\\\\").replace('"', "\\\""))
}

/// Has gdb show the C++ library's strings and containers: one that does not come from where the library does finds none by
/// itself.
fn cpp_printers() -> String {
    format!(
        "python import sys; sys.path.insert(0, '{CPP_PRINTERS}'); \
         from libstdcxx.v6.printers import register_libstdcxx_printers; register_libstdcxx_printers(None)"
    )
}

/// All variables of the program: gdb knows no `null`, and takes what it is told for all there are. What JSON cannot say is
/// left out.
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
    let mut asked = Command::new(gdb);
    asked.arg("--version");
    major(&command::first_line(asked)?)
}

fn check_version(gdb: &Path) -> Result<(), Failure> {
    match version(gdb) {
        Some(version) if version < FIRST_VERSION => Err(Failure::new(
            ErrorCode::EngineNotFound,
            format!("`{}` is too old for DAP: it is {version}, and {FIRST_VERSION} is needed", gdb.display()),
        )
        .hint("set `enginePath` to a newer gdb, or use the engine `lldb`: `apt-get install lldb-19`")),
        // An unknown answer is gdb's to explain.
        _ => Ok(()),
    }
}

/// `GNU gdb (Debian 13.1-3) 13.1`: the last word counts.
fn major(line: &str) -> Option<u32> {
    line.split_ascii_whitespace().last()?.split('.').next()?.parse().ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_version_is_the_last_word() {
        assert_eq!(major("GNU gdb (Debian 13.1-3) 13.1"), Some(13));
        assert_eq!(major("GNU gdb (GDB) 18.1"), Some(18));
        assert_eq!(major("GNU gdb (GDB) Fedora Linux 14.2-1.fc40"), Some(14));
        assert_eq!(major("nonsense"), None);
        assert_eq!(major(""), None);
    }
}
