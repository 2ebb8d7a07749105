//! JavaScript and TypeScript on Node through vscode-js-debug: it listens on a socket of ours, and asks us to start the
//! program. What is launched has no threads; the program comes as its first child, which is this session's program.

use dap_wire::Failure;
use serde_json::{Value, json};

use super::find::{self, Search};
use super::inspector;
use super::profile::{Plan, Profile, ProgramIo, Quirks, Transport};
use super::target::Target;
use crate::io::SpawnSpec;

/// The profile.
pub(super) struct Js;

impl Profile for Js {
    fn name(&self) -> &str {
        "js"
    }

    /// What it has beyond DAP, VS Code's own extension uses, and each version has more of it: only it can tell.
    fn unknown_request_in<'line>(&self, line: &'line str) -> Option<&'line str> {
        line.trim_end().strip_prefix("Unknown request: ")
    }

    fn launch(&self, target: &Target) -> Result<Plan, Failure> {
        let program = target.existing_program()?.display().to_string();
        // Without `outputCapture` what the program prints would come a second time, as events.
        let ours = json!({ "type": "pwa-node", "request": "launch", "name": "program", "program": program,
            "cwd": target.cwd, "console": "integratedTerminal", "outputCapture": "std" });
        plan(target, "launch", ours)
    }

    fn attach(&self, target: &Target) -> Result<Plan, Failure> {
        let mut ours =
            json!({ "type": "pwa-node", "request": "attach", "name": "program", "cwd": target.cwd });
        if target.names_any(&["processId"]) {
            ours["port"] = json!(inspector::port_of(target.process_id()?)?);
        } else if !target.names_any(&["port", "websocketAddress"]) {
            return Err(Failure::invalid(
                "say what to attach to: `processId`, or the `port` that node inspects on",
            ));
        }
        plan(target, "attach", ours)
    }
}

fn plan(target: &Target, command: &'static str, ours: Value) -> Result<Plan, Failure> {
    let home = target.variable("HOME").unwrap_or_default();
    let mason =
        format!("{home}/.local/share/nvim/mason/packages/js-debug-adapter/js-debug/src/dapDebugServer.js");
    let own = target.project_folders().into_iter();
    let own = own.map(|folder| folder.join("node_modules/js-debug/src/dapDebugServer.js"));
    let adapter = Search::new(
        "js",
        "vscode-js-debug (`dapDebugServer.js`)",
        "unpack js-debug-dap-*.tar.gz of github.com/microsoft/vscode-js-debug/releases",
    )
    .given(target)?
    .files(own.collect(), "`node_modules` of the project")
    .in_extensions("ms-vscode.js-debug-", "src/dapDebugServer.js")
    .files(vec![mason.into()], "Mason's packages")
    .on_path(target, &["js-debug-adapter"])
    .end()?;
    let is_script = adapter.extension().is_some_and(|ending| ending == "js" || ending == "cjs");
    let (command_line, mut args) = if is_script {
        let path = target.variable("PATH").unwrap_or_default();
        let node = find::on_path(&path, "node").ok_or_else(|| {
            find::missing("js", "`node`", &["PATH".into()]).hint("install it: `apt-get install nodejs`")
        })?;
        (node, vec![adapter.into()])
    } else {
        (adapter, Vec::new())
    };
    args.push("{socket}".into());
    Ok(Plan {
        spec: SpawnSpec { program: command_line, args, cwd: target.cwd.clone(), ..SpawnSpec::default() },
        transport: Transport::ListensLocally,
        program_io: if command == "launch" { ProgramIo::Terminal } else { ProgramIo::Told },
        adapter_id: "pwa-node".into(),
        command,
        arguments: target.for_adapter(ours),
        launched: command == "launch",
        quirks: Quirks { first_child_is_program: true, litters: true, ..Quirks::default() },
    })
}
