//! .NET through netcoredbg, for who prefers it to the built-in engine. It keeps the program's stdio: output comes as
//! events, and there is no stdin.

use dap_wire::Failure;
use serde_json::{Value, json};

use super::find::Search;
use super::profile::{Plan, Profile, ProgramIo, Quirks, Transport};
use super::target::Target;
use crate::io::SpawnSpec;

/// The profile.
pub(super) struct Netcoredbg;

impl Profile for Netcoredbg {
    fn name(&self) -> &str {
        "netcoredbg"
    }

    fn launch(&self, target: &Target) -> Result<Plan, Failure> {
        let program = target.existing_program()?.display().to_string();
        let is_assembly = target.program.extension().is_some_and(|ending| ending == "dll");
        let mut ours = json!({ "program": program, "cwd": target.cwd,
            "stopAtEntry": target.flag("stopOnEntry", false)? });
        if is_assembly {
            // It wants the host as the program, and the assembly first of its arguments.
            let mut args = vec![program];
            args.extend(target.args.iter().cloned());
            (ours["program"], ours["args"]) = (json!("dotnet"), json!(args));
        }
        plan(target, "launch", ours)
    }

    fn attach(&self, target: &Target) -> Result<Plan, Failure> {
        plan(target, "attach", json!({ "processId": target.process_id()? }))
    }
}

fn plan(target: &Target, command: &'static str, ours: Value) -> Result<Plan, Failure> {
    let adapter = Search::new(
        "netcoredbg",
        "`netcoredbg`",
        "a release of github.com/Samsung/netcoredbg, unpacked onto PATH",
    )
    .given(target)?
    .on_path(target, &["netcoredbg"])
    .in_extensions("muhammad-sammy.csharp-", ".debugger/netcoredbg/netcoredbg")
    .end()?;
    Ok(Plan {
        spec: SpawnSpec {
            program: adapter,
            args: vec!["--interpreter=vscode".into()],
            cwd: target.cwd.clone(),
            ..SpawnSpec::default()
        },
        transport: Transport::Stdio,
        program_io: ProgramIo::Told,
        adapter_id: "coreclr".into(),
        command,
        arguments: target.for_adapter(ours),
        launched: command == "launch",
        quirks: Quirks::default(),
    })
}
