//! C, C++, Rust and other native code through lldb-dap (LLVM 18 and later): it asks us to start the program.
//! Not here: Rust's formatters ([`crate::rust`]), and one-line summaries of values ([`crate::summaries`]).

mod console;
mod data_names;
mod evaluate_names;
mod init_commands;
mod literals;
mod subscripts;

use std::process::Command;

use serde_json::Value;
use tandem_wire::Failure;
use tandem_wire::types::{self, StoppedEventBody};

use self::literals::{is_literal, number_of};
use super::super::adapter_attributes::AdapterAttributes;
use super::super::find::{self, AdapterSearch};
use super::super::launch_plan::{LaunchPlan, ProgramIo, Quirks, Transport};
use super::super::profile::{ConditionProfile, ConsoleProfile, ExpressionAssignment, Profile};
use super::super::rust;
use super::super::target::Target;
use tandem_engine::condition_language::ConditionLanguage;
use tandem_engine::description::{Description, EditorLanguage, Evidence, Recognition};
use tandem_engine::kind;
use tandem_engine::result_names::{ResultName, ResultNames};
use tandem_engine::{ExceptionFilter, FailedCondition, LookOnlyRequests};
use tandem_process::SpawnSpec;

/// Newest first: what Debian and Ubuntu call it. `lldb-vscode` is its name before LLVM 18.
const NAMES: [&str; 8] = [
    "lldb-dap",
    "lldb-dap-22",
    "lldb-dap-21",
    "lldb-dap-20",
    "lldb-dap-19",
    "lldb-dap-18",
    "lldb-vscode",
    "lldb-vscode-17",
];

/// Metadata of lldb-dap, known without starting it.
const DESCRIPTION: Description = Description {
    name: "lldb",
    languages: "C, C++, Rust, Swift, Zig",
    summary: "C, C++, Rust, Swift, Zig: lldb-dap.",
    needs: "`lldb-dap` 18 or later (`apt-get install lldb-19`)",
    stdio: "the adapter asks Tandem to start the program",
    recognition: Recognition {
        extensions: &["c", "cc", "cpp", "cxx", "rs"],
        project_files: &[
            ("Cargo.toml", Evidence::Certain),
            ("CMakeLists.txt", Evidence::Any),
            ("Makefile", Evidence::Any),
        ],
        sections: &[
            (kind::DWARF[0], Evidence::Any),
            (kind::DWARF[1], Evidence::Any),
            (kind::MANAGED_CODE, Evidence::Any),
        ],
        attach_attributes: &["coreFile"],
        ..Recognition::NONE
    },
    editor_languages: &[
        EditorLanguage {
            id: "rust",
            name: "Rust",
            projects: &["Cargo.toml"],
            endings: &[],
            runs_files: false,
        },
        EditorLanguage {
            id: "c",
            name: "C",
            projects: &["Makefile", "CMakeLists.txt"],
            endings: &["c"],
            runs_files: true,
        },
        EditorLanguage {
            id: "cpp",
            name: "C++",
            projects: &["Makefile", "CMakeLists.txt"],
            endings: &["cpp", "cc"],
            runs_files: true,
        },
    ],
    breakpoints_in: &["swift", "zig"],
    connects: true,
    reads_cores: true,
    ..Description::NONE
};

const fn disabled(filter: &'static str, label: &'static str) -> ExceptionFilter {
    ExceptionFilter { default: Some(false), ..ExceptionFilter::new(filter, label) }
}

/// How Tandem launches lldb-dap, and where it differs from other adapters.
pub(super) struct Lldb;

impl Profile for Lldb {
    fn description(&self) -> &'static Description {
        &DESCRIPTION
    }

    fn exception_filters(&self) -> &'static [ExceptionFilter] {
        const FILTERS: [ExceptionFilter; 4] = [
            disabled("cpp_catch", "C++ Catch"),
            disabled("cpp_throw", "C++ Throw"),
            disabled("objc_catch", "Objective-C Catch"),
            disabled("objc_throw", "Objective-C Throw"),
        ];
        &FILTERS
    }

    /// It reads memory; formatters that come with it run in the debugger.
    fn look_only_requests(&self) -> LookOnlyRequests {
        LookOnlyRequests::Known(&[
            "variables",
            "source",
            "exceptionInfo",
            "readMemory",
            "disassemble",
            "locations",
        ])
    }

    /// It sets numbers only: a character is sent as its number.
    fn adapt_request(&self, command: &str, arguments: &mut Value) {
        if command == "dataBreakpointInfo" {
            types::edit(arguments, data_names::ask_for_address);
        }
        if matches!(command, "setVariable" | "setExpression")
            && let Some(number) = arguments["value"].as_str().and_then(number_of)
        {
            arguments["value"] = number.to_string().into();
        }
    }

    fn adapt_incoming(&self, what: &str, body: &mut Value) {
        match what {
            "variables" => types::edit(body, evaluate_names::remove_wrong),
            "dataBreakpointInfo" => types::edit(body, data_names::name_variable),
            _ => {}
        }
    }

    /// A `bool` in a vector is one bit.
    fn copies_elements_of(&self, kind: &str) -> bool {
        kind.trim_start_matches("const ").starts_with("std::vector<bool")
    }

    fn console(&self) -> Option<&dyn ConsoleProfile> {
        Some(self)
    }

    /// It does not name the function.
    fn result_names(&self) -> ResultNames {
        ResultNames::new([ResultName::Unnamed("(Return Value)")])
    }

    /// It takes the text for a literal of the variable's type, also that of a call.
    fn assigns_value_of(&self, expression: &str) -> bool {
        !is_literal(expression)
    }

    fn expression_assignment(&self) -> Option<ExpressionAssignment> {
        Some(ExpressionAssignment::Evaluated)
    }

    /// `configurationDone` is answered before the program runs, and what does not run is not interrupted.
    fn misses_pauses(&self) -> bool {
        true
    }

    fn is_native(&self) -> bool {
        true
    }

    fn panic_function(&self) -> Option<&'static str> {
        Some(rust::PANIC)
    }

    fn builds(&self, _target: &Target) -> bool {
        true
    }

    fn own_requests(&self) -> Option<&'static [&'static str]> {
        // `locations` came with version 20, which gives references to ask with.
        Some(&["_testGetTargetBreakpoints", "compileUnits", "locations"])
    }

    /// An address and a size in bytes. Version 19 never answers again after one that has no size.
    fn accepts_data_id(&self, id: &str) -> bool {
        id.split_once('/').is_some_and(|(_, size)| size.parse::<u32>().is_ok())
    }

    /// Without a frame version 19 finds nothing.
    fn global_expression(&self, expression: &str) -> Option<String> {
        data_names::in_global_scope(expression)
    }

    /// Version 20 has the `granularity` of a step.
    fn complete_capabilities(&self, capabilities: &mut Value) {
        types::set(capabilities, "supportsSteppingGranularity", true);
    }

    /// Before version 21 it counts bytes to go back, not instructions.
    fn disassembles_forward_only(&self) -> bool {
        true
    }

    fn mixes_children(&self) -> bool {
        false
    }

    /// Its pause is a signal like any other; or the program is at that moment at an internal breakpoint of
    /// lldb, which has a negative number (where the loader reports a library), and lldb reports that one.
    /// Version 19 reports a data breakpoint with the reason of others.
    fn correct_stop(&self, stop: &mut StoppedEventBody, pausing: bool) {
        console::name_watchpoint(stop);
        let text = stop.description.as_deref().or(stop.text.as_deref()).unwrap_or_default();
        if stop.reason == "breakpoint" && text.starts_with("watchpoint ") {
            stop.reason = "data breakpoint".into();
            return;
        }
        let is_signal = stop.reason == "exception" && text == "signal SIGSTOP";
        let is_lldbs_own = stop.reason == "breakpoint" && text.starts_with("breakpoint -");
        if pausing && (is_signal || is_lldbs_own) {
            stop.reason = "pause".into();
            stop.description = Some("Paused".into());
            stop.text = None;
        }
    }

    /// A `gdbserver` or an `lldb-server`.
    fn connect_attributes(&self, host: &str, port: &Value) -> Option<Value> {
        Some(Value::from_iter([("gdb-remote-port", port.clone()), ("gdb-remote-hostname", host.into())]))
    }

    /// That of the lldb beside it: before version 20 lldb-dap does not print its own.
    fn version(&self, target: &Target) -> Option<String> {
        let adapter = self.launch(target).ok()?.spec.program.canonicalize().ok()?;
        let beside = adapter.with_file_name("lldb");
        let mut query = Command::new(if beside.is_file() { beside } else { adapter });
        query.arg("--version");
        find::printed_version(query)
    }

    fn launch(&self, target: &Target) -> Result<LaunchPlan, Failure> {
        let ours = AdapterAttributes {
            program: Some(target.existing_program()?),
            cwd: Some(&target.cwd),
            // Version 22 reads the first spelling, version 19 the second; each ignores the other.
            console: Some("integratedTerminal"),
            run_in_terminal: Some(true),
            ..AdapterAttributes::default()
        };
        plan(target, "launch", ours)
    }

    fn attach(&self, target: &Target) -> Result<LaunchPlan, Failure> {
        // It knows more ways than by number: they reach it as they are.
        let otherwise = !target.names_any(&["processId"])
            && target.names_any(&["program", "coreFile", "attachCommands", "gdb-remote-port", "waitFor"]);
        let pid = if otherwise { None } else { Some(target.untraced_process_id()?) };
        let mut plan = plan(target, "attach", AdapterAttributes { pid, ..AdapterAttributes::default() })?;
        plan.spec.ends_by_itself = true;
        Ok(plan)
    }
}

impl ConditionProfile for Lldb {
    fn condition_language(&self) -> ConditionLanguage {
        ConditionLanguage::NATIVE
    }

    /// It compiles C++. Of Rust that leaves names, numbers and their comparisons.
    fn compiles_condition(&self, condition: &str, is_rust: bool) -> bool {
        !is_rust || !condition.contains(['.', '[', ':', '"', '\''])
    }

    /// It stops from the number on, and each time where it is anything else.
    fn counts_hits(&self) -> bool {
        false
    }

    fn failed_condition_in(&self, output: &str) -> Option<FailedCondition> {
        let (_, report) = output.split_once("stopped due to an error evaluating condition of breakpoint ")?;
        let (condition, reason) = report.split_once(": \"")?.1.split_once("\"\n")?;
        let (condition, reason) = (Some(condition.to_owned()), reason.trim().to_owned());
        Some(FailedCondition { condition, reason, ..FailedCondition::default() })
    }

    /// Its message about a failed condition may come after the stop.
    fn rechecks_conditions(&self) -> bool {
        true
    }
}

fn plan(target: &Target, command: &'static str, ours: AdapterAttributes<'_>) -> Result<LaunchPlan, Failure> {
    let adapter = AdapterSearch::new("lldb", "`lldb-dap`", "apt-get install lldb-19")
        .with_engine_path(target)?
        .on_path(target, &NAMES)
        .in_extensions("llvm-vs-code-extensions.lldb-dap-", "bin/lldb-dap")
        .end()?;
    // `env` reaches the program through `runInTerminal`; versions differ in how they spell it.
    let mut arguments = console::with_prefix(without(target.for_adapter(ours.into_value()), "env"));
    target.map_paths(&mut arguments, "sourceMap", |there, here| vec![there, here].into())?;
    // Structs show their fields.
    if arguments["enableAutoVariableSummaries"].is_null() {
        arguments["enableAutoVariableSummaries"] = true.into();
    }
    let panics = rust::is_compiled_by_rustc(target);
    let own = arguments["initCommands"].as_array().cloned().unwrap_or_default();
    let ours = init_commands::list(target, panics).into_iter().map(Value::from);
    arguments["initCommands"] = ours.chain(own).collect();
    // A program that it starts by itself would inherit the folder that is meant for it alone.
    let starts_it =
        arguments["runInTerminal"] != true && command == "launch" || !arguments["attachCommands"].is_null();
    Ok(LaunchPlan {
        // Version 19 starts itself again as the program and derives its path from the first word: it must be
        // whole.
        spec: SpawnSpec { program: adapter, cwd: target.cwd.clone(), ..SpawnSpec::default() },
        transport: Transport::Stdio,
        program_io: if command == "launch" { ProgramIo::Terminal } else { ProgramIo::OutputEvents },
        adapter_id: "lldb-dap".into(),
        command,
        arguments,
        launched: command == "launch",
        // Its crash handler has the symbolizer read and write files.
        quirks: Quirks { leaves_temp_files: !starts_it, panics, ..Quirks::default() },
        opened: None,
    })
}

fn without(mut arguments: Value, key: &str) -> Value {
    if let Some(arguments) = arguments.as_object_mut() {
        arguments.shift_remove(key);
    }
    arguments
}

#[cfg(test)]
mod tests {
    use serde_json::json;
    use tandem_wire::types;

    use super::*;

    #[test]
    fn a_stop_at_a_watchpoint_is_one_at_a_data_breakpoint() {
        for (description, reason) in [("watchpoint 1", "data breakpoint"), ("breakpoint 1.1", "breakpoint")] {
            let stop = json!({ "reason": "breakpoint", "description": description });
            let mut stop = types::read(&stop);
            Lldb.correct_stop(&mut stop, false);
            assert_eq!(stop.reason, reason);
        }
    }

    #[test]
    fn a_pause_that_meets_a_breakpoint_of_lldb_s_own_is_a_pause() {
        let corrected = |body: Value, pausing| {
            let mut stop = types::read(&body);
            Lldb.correct_stop(&mut stop, pausing);
            stop.reason
        };
        let own = json!({ "reason": "breakpoint", "description": "breakpoint -3.1", "hitBreakpointIds": [] });
        let users =
            json!({ "reason": "breakpoint", "description": "breakpoint 3.1", "hitBreakpointIds": [3] });
        assert_eq!(corrected(own.clone(), true), "pause");
        assert_eq!(corrected(own, false), "breakpoint");
        assert_eq!(corrected(users, true), "breakpoint");
        assert_eq!(
            corrected(json!({ "reason": "exception", "description": "signal SIGSTOP" }), true),
            "pause"
        );
    }
}
