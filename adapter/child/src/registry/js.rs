//! JavaScript and TypeScript on Node through vscode-js-debug: it listens on our socket, and asks us to start
//! the program. The launched session has no threads; the program is its first child, which becomes this
//! session's program. Not here: the folder in which it looks for compiled files ([`workspace`]).

mod attributes;
mod loaders;
mod runtime;
mod workspace;

use std::path::Path;
use std::process::Command;

use serde::Serialize;
use serde_json::Value;
use tandem_wire::Failure;
use tandem_wire::types::{
    self, Breakpoint, BreakpointEventBody, SetBreakpointsResponseBody, StoppedEventBody,
    VariablesResponseBody,
};

use self::attributes::{JsAttributes, JsLaunch};
use self::loaders::{loads_by_itself, may_transform_in_memory};
use super::super::find::{self, AdapterSearch};
use super::super::inspector;
use super::super::launch_plan::{LaunchPlan, ProgramIo, Quirks, Transport};
use super::super::profile::{ConditionProfile, IdlePause, Profile};
use super::super::rows;
use super::super::target::Target;
use super::super::test_files::{self, Runner};
use super::super::typescript;
use tandem_engine::condition_language::{ConditionLanguage, either};
use tandem_engine::description::{Description, EditorLanguage, Evidence, Recognition};
use tandem_engine::path_map::{self, RootMapping};
use tandem_engine::result_names::{ResultName, ResultNames};
use tandem_engine::{ExceptionFilter, LookOnlyRequests};
use tandem_process::SpawnSpec;

/// js-debug's message, without the texts of its extension, for a breakpoint that no loaded script has.
const UNBOUND: &str = "breakpoint.provisionalBreakpoint";

/// JavaScript's conditions, where Node continues past one that fails. Not with `eval`: each would be a new
/// script, which Node reports to its debugger.
const JAVASCRIPT: ConditionLanguage = ConditionLanguage {
    name: "JavaScript",
    // A comment ends with its line.
    combine: |conditions| {
        Some(either(conditions, |condition| {
            format!("(() => {{ try {{ return ({condition}\n); }} catch {{ return true; }} }})()")
        }))
    },
    ..ConditionLanguage::OTHER
};

/// Metadata of vscode-js-debug, known without starting it.
const DESCRIPTION: Description = Description {
    name: "js",
    languages: "JavaScript, TypeScript",
    summary: "JavaScript and TypeScript on Node: vscode-js-debug.",
    needs: "vscode-js-debug's `dapDebugServer.js`, and `node`",
    stdio: "the adapter asks Tandem to start the program; Node's own \"Debugger attached.\" and \"Waiting \
        for the debugger to \
            disconnect...\" stay on its stderr",
    recognition: Recognition {
        extensions: &["js", "mjs", "cjs", "ts", "mts", "cts"],
        project_files: &[("package.json", Evidence::Tools)],
        interpreters: &["node", "nodejs"],
        processes: &["node", "nodejs"],
        ..Recognition::NONE
    },
    editor_languages: &[
        EditorLanguage {
            id: "javascript",
            name: "JavaScript",
            projects: &[],
            endings: &["js"],
            runs_files: true,
        },
        EditorLanguage {
            id: "typescript",
            name: "TypeScript",
            projects: &[],
            endings: &["ts"],
            runs_files: true,
        },
    ],
    breakpoints_in: &["javascriptreact", "typescriptreact"],
    interpreters: &[("node", "nodejs")],
    connects: true,
    ..Description::NONE
};

const fn filter(filter: &'static str, label: &'static str, description: &'static str) -> ExceptionFilter {
    ExceptionFilter {
        default: Some(false),
        supports_condition: true,
        description: Some(description),
        condition_description: Some("error.name == \"MyError\""),
        ..ExceptionFilter::new(filter, label)
    }
}

/// How Tandem launches vscode-js-debug, and where it differs from other adapters.
pub(super) struct Js;

impl Profile for Js {
    /// It debugs Node through a connection that ends there. What Node becomes connects again.
    fn loses_replaced_programs(&self) -> bool {
        true
    }

    fn description(&self) -> &'static Description {
        &DESCRIPTION
    }

    fn renumbers_breakpoints(&self) -> bool {
        true
    }

    fn reports_process(&self) -> bool {
        false
    }

    fn exception_filters(&self) -> &'static [ExceptionFilter] {
        const FILTERS: [ExceptionFilter; 2] = [
            filter("all", "Caught Exceptions", "Breaks on all throw errors, even if they're caught later."),
            filter(
                "uncaught",
                "Uncaught Exceptions",
                "Breaks only on errors or promise rejections that are not handled.",
            ),
        ];
        &FILTERS
    }

    /// It calls `toString`, getters and custom descriptions for values, and a preview for exceptions.
    fn look_only_requests(&self) -> LookOnlyRequests {
        LookOnlyRequests::Known(&["source"])
    }

    /// A step stops before the function returns.
    fn result_names(&self) -> ResultNames {
        ResultNames::new([ResultName::Own("Return value")])
    }

    /// VS Code's own extension uses requests beyond DAP, more with each version: only
    /// the adapter knows which.
    fn unknown_request_in<'line>(&self, line: &'line str) -> Option<&'line str> {
        line.trim_end().strip_prefix("Unknown request: ")
    }

    /// Node stops at its next JavaScript.
    fn idle_pause(&self) -> IdlePause {
        IdlePause::Deferred("no JavaScript runs: Node waits for an event, or for a call")
    }

    /// Some children come twice, and its texts are missing.
    fn adapt_incoming(&self, what: &str, body: &mut Value) {
        match what {
            "variables" => types::edit(body, |page: &mut VariablesResponseBody| {
                rows::without_repeats(&mut page.variables);
            }),
            "setBreakpoints" => types::edit(body, |answer: &mut SetBreakpointsResponseBody| {
                answer.breakpoints.iter_mut().for_each(explain);
            }),
            "breakpoint" => {
                types::edit(body, |event: &mut BreakpointEventBody| explain(&mut event.breakpoint));
            }
            _ => {}
        }
    }

    /// It stops before a script with breakpoints to find their source maps, and lets the program run before
    /// it knows the number of that stop (1.105: `launchBlocker` is not awaited). A stop without a number is
    /// one at `debugger` to it.
    fn statement_of_stop(&self, stop: &StoppedEventBody) -> Option<&'static str> {
        let description = stop.description.as_deref();
        let is_unnamed = stop.hit_breakpoint_ids.iter().flatten().next().is_none();
        let is_statement = stop.reason == "pause" && description == Some("Paused on debugger statement");
        (is_statement && is_unnamed).then_some("debugger")
    }

    fn has_slow_connections(&self) -> bool {
        true
    }

    fn connect_attributes(&self, host: &str, port: &Value) -> Option<Value> {
        Some(types::body(&InspectorAddress { port, address: host }))
    }

    fn runner_of_tests(&self, target: &Target) -> Option<Runner> {
        test_files::javascript(target)
    }

    /// That of its package, which the adapter does not print.
    fn version(&self, target: &Target) -> Option<String> {
        let spec = self.launch(target).ok()?.spec;
        let script = spec.args.first().map(Path::new).filter(|script| script.is_absolute())?;
        let manifest = script.ancestors().skip(1).take(3).map(|folder| folder.join("package.json"));
        let texts = manifest.filter_map(|file| std::fs::read_to_string(file).ok());
        let mut versions = texts.filter_map(|text| serde_json::from_str::<Value>(&text).ok());
        versions.find_map(|manifest| types::require(&manifest, "version").ok())
    }

    fn launch(&self, target: &Target) -> Result<LaunchPlan, Failure> {
        let program = if runs_code(target) { None } else { Some(target.existing_program()?) };
        let runtime = runtime::find(target)?;
        // Without `outputCapture` what the program prints would come a second time, as events.
        let mut launch = JsLaunch {
            program: program.map(|program| program.display().to_string()),
            runtime_executable: runtime.as_deref().map(|file| file.display().to_string()),
            console: "integratedTerminal",
            output_capture: "std",
            runtime_args: None,
            pause_for_source_map: None,
        };
        if let Some(program) = program.filter(|program| typescript::is_source(program))
            && !loads_by_itself(target)
        {
            let path = target.variable("PATH").unwrap_or_default();
            let node = runtime.or_else(|| find::on_path(&path, "node")).unwrap_or_default();
            let run = typescript::run(program, &target.project_folders(), &node)?;
            launch.program = Some(run.program.display().to_string());
            let given = target.attribute("runtimeArgs").as_array().cloned().unwrap_or_default();
            launch.runtime_args = Some(run.runtime_args.into_iter().map(Value::from).chain(given).collect());
        }
        let set_args = launch.runtime_args.as_deref().unwrap_or_default();
        if target.attribute("pauseForSourceMap").is_null() && may_transform_in_memory(target, set_args) {
            launch.pause_for_source_map = Some(true);
        }
        plan(target, JsAttributes { launch: Some(launch), ..JsAttributes::new("launch", &target.cwd) })
    }

    fn attach(&self, target: &Target) -> Result<LaunchPlan, Failure> {
        let ours = JsAttributes::new("attach", &target.cwd);
        if target.names_any(&["processId"]) {
            let pid = target.process_id()?;
            // No port is opened without an adapter that connects to it.
            let mut plan = plan(target, ours)?;
            let (port, opened) = inspector::port_of(pid)?;
            plan.arguments["port"] = port.into();
            return Ok(LaunchPlan { opened, ..plan });
        }
        inspector::await_listener(target)?;
        plan(target, ours)
    }
}

/// The attributes that name Node's inspector.
#[derive(Debug, Serialize)]
struct InspectorAddress<'a> {
    port: &'a Value,
    address: &'a str,
}

impl ConditionProfile for Js {
    fn condition_language(&self) -> ConditionLanguage {
        JAVASCRIPT
    }

    fn syntax_check(&self, target: &Target, condition: &str) -> Option<Command> {
        let node = find::on_path(&target.variable("PATH").unwrap_or_default(), "node")?;
        let check = "try { new Function('return (' + process.argv[1] + '\\n)'); } \
                     catch (wrong) { console.log(String(wrong)); }";
        let mut command = Command::new(node);
        // `NODE_OPTIONS` of the program must not affect the check.
        command.env_remove("NODE_OPTIONS").args(["-e", check, "--", condition]);
        Some(command)
    }

    /// It takes what is thrown for false, and prints it as the program's stderr.
    fn guarded_condition(&self, condition: &str) -> String {
        format!(
            "(() => {{ try {{ return ({condition}\n); }} \
             catch (wrong) {{ globalThis[Symbol.for('tandem.condition')] = String(wrong); return true; }} \
             }})()"
        )
    }

    fn failure_query(&self) -> Option<&'static str> {
        Some(
            "(() => { const key = Symbol.for('tandem.condition'), reason = globalThis[key]; \
             delete globalThis[key]; return reason ?? ''; })()",
        )
    }
}

fn explain(breakpoint: &mut Breakpoint) {
    if breakpoint.message.as_deref() == Some(UNBOUND) {
        breakpoint.message = Some("not bound yet: no script that is loaded has this line".to_owned());
    }
}

/// Whether the options of Node have the code to run: `node -e`.
fn runs_code(target: &Target) -> bool {
    let options = target.attribute("runtimeArgs").as_array();
    !target.names_any(&["program"]) && options.is_some_and(|options| !options.is_empty())
}

fn plan(target: &Target, mut ours: JsAttributes<'_>) -> Result<LaunchPlan, Failure> {
    let command = ours.request;
    ours.workspace = Some(workspace::of_target(target).display().to_string());
    let mut map = path_map::read(target.attributes())?.into_iter();
    ours.roots = map.next().map(|(remote_root, local_root)| RootMapping { local_root, remote_root });
    let home = target.variable("HOME").unwrap_or_default();
    let mason =
        format!("{home}/.local/share/nvim/mason/packages/js-debug-adapter/js-debug/src/dapDebugServer.js");
    let own = target.project_folders().into_iter();
    let own = own.map(|folder| folder.join("node_modules/js-debug/src/dapDebugServer.js"));
    let adapter = AdapterSearch::new(
        "js",
        "vscode-js-debug (`dapDebugServer.js`)",
        "unpack js-debug-dap-*.tar.gz of github.com/microsoft/vscode-js-debug/releases",
    )
    .with_engine_path(target)?
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
    Ok(LaunchPlan {
        spec: SpawnSpec { program: command_line, args, cwd: target.cwd.clone(), ..SpawnSpec::default() },
        transport: Transport::ListensLocally,
        program_io: if command == "launch" { ProgramIo::Terminal } else { ProgramIo::OutputEvents },
        adapter_id: "pwa-node".into(),
        command,
        arguments: target.for_adapter(ours.into_value()),
        launched: command == "launch",
        quirks: Quirks { first_child_is_program: true, leaves_temp_files: true, ..Quirks::default() },
        opened: None,
    })
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn a_comment_does_not_hide_the_other_conditions() {
        let combined = JAVASCRIPT.any_of(&["a // #", "b"]).unwrap_or_default();
        assert!(combined.contains("(a // #\n)"), "{combined}");
    }

    #[test]
    fn only_a_stop_at_the_debugger_statement_may_be_js_debugs_own() {
        let statement = |body: Value| Js.statement_of_stop(&types::read(&body));
        let own = json!({ "reason": "pause", "description": "Paused on debugger statement", "threadId": 1 });
        assert_eq!(statement(own.clone()), Some("debugger"));
        for (key, value) in
            [("description", json!("Paused")), ("reason", json!("step")), ("hitBreakpointIds", json!([1]))]
        {
            let mut other = own.clone();
            other[key] = value;
            assert_eq!(statement(other), None, "{key}");
        }
    }
}
