//! Go through `dlv dap`, which dials our port. It passes its stdio, which are our pipes, on to the program.
//! Not here: building the program, which Tandem does first ([`crate::build`]).

mod addresses;
mod conditions;
mod settings;

use std::process::Command;

use serde_json::Value;
use tandem_wire::types::{self, StoppedEventBody};
use tandem_wire::{ErrorCode, Failure};

use self::conditions::{CRASH, CRASH_CAUSE};
use super::super::adapter_attributes::AdapterAttributes;
use super::super::find::{self, AdapterSearch};
use super::super::launch_plan::{LaunchPlan, ProgramIo, Quirks, Transport};
use super::super::profile::{ExpressionAssignment, Profile};
use super::super::target::Target;
use tandem_engine::description::{Description, EditorLanguage, Evidence, Recognition};
use tandem_engine::path_map::PathSubstitution;
use tandem_engine::result_names::{ResultName, ResultNames};
use tandem_engine::{ExceptionFilter, LookOnlyRequests};
use tandem_process::SpawnSpec;

/// Metadata of Delve, known without starting it. The notes of Go's linker next to the debug information
/// are not unique to Go.
const DESCRIPTION: Description = Description {
    name: "delve",
    languages: "Go",
    summary: "Go: Delve.",
    needs: "`dlv`, and `go` to build sources",
    stdio: "Tandem starts dlv with its pipes, which the program inherits",
    recognition: Recognition {
        extensions: &["go"],
        project_files: &[
            ("go.mod", Evidence::Certain),
            ("main.go", Evidence::Certain),
            // A package below the module's folder.
            ("*.go", Evidence::EntryPoint),
        ],
        sections: &[(".go.buildinfo", Evidence::Certain), (".note.go.buildid", Evidence::Certain)],
        ..Recognition::NONE
    },
    editor_languages: &[EditorLanguage {
        id: "go",
        name: "Go",
        projects: &["go.mod"],
        endings: &["go"],
        runs_files: true,
    }],
    connects: true,
    ..Description::NONE
};

/// The command that installs Delve.
const INSTALL: &str = "go install github.com/go-delve/delve/cmd/dlv@latest";

/// The text of a stop at an `exec`.
const REPLACED: &str = "the program has become another one (exec), in which Delve's breakpoints do not stop: \
    continue to run it";

/// Why its breakpoints are not verified after an `exec`.
const LOST: &str = "the program has become another one (exec), whose symbols Delve does not read: launch \
    that program to set breakpoints in it";

const fn enabled(filter: &'static str, label: &'static str) -> ExceptionFilter {
    ExceptionFilter { default: Some(true), ..ExceptionFilter::new(filter, label) }
}

/// Delve's flag against the refusal of a Go that is newer than it knows.
const VERSION_CHECK: &str = "--check-go-version=false";

/// How Tandem launches Delve, and where it differs from other adapters.
pub(super) struct Delve;

impl Profile for Delve {
    fn description(&self) -> &'static Description {
        &DESCRIPTION
    }

    /// Older ones say nothing of their filters, and stop at both.
    fn exception_filters(&self) -> &'static [ExceptionFilter] {
        const FILTERS: [ExceptionFilter; 2] = [
            enabled("unrecovered-panic", "Unrecovered Panics"),
            enabled("runtime-fatal-throw", "Fatal Throws"),
        ];
        &FILTERS
    }

    /// Delve evaluates none of the program's code for these.
    fn look_only_requests(&self) -> LookOnlyRequests {
        LookOnlyRequests::Known(&["variables", "source", "exceptionInfo", "readMemory", "disassemble"])
    }

    /// It shows results as variables from the beginning.
    fn result_names(&self) -> ResultNames {
        ResultNames::new([ResultName::Hidden("~r")])
    }

    /// In another frame it would assign to a variable of the same name in the top one.
    fn expression_assignment(&self) -> Option<ExpressionAssignment> {
        Some(ExpressionAssignment::RowOfTopFrame)
    }

    fn version_of_language(&self, value: &str) -> Option<&'static str> {
        value.contains(['"', '`', '+']).then_some("runtime.buildVersion")
    }

    /// It calls the program's allocator, whose debug information it cannot read then.
    fn refusal_of_string(&self, adapter: &str, program: &str) -> Option<Failure> {
        let own = minor_version(adapter)?;
        if minor_version(program.trim_matches('"').strip_prefix("go")?)? <= own {
            return None;
        }
        let message = format!(
            "cannot assign a string: Delve {adapter} is older than the program's {}, and would crash while \
                it creates the string",
            program.trim_matches('"')
        );
        Some(
            Failure::new(ErrorCode::Unsupported, message)
                .hint(format!("update Delve (`{INSTALL}`), or assign a string variable of the program")),
        )
    }

    fn adapt_request(&self, command: &str, arguments: &mut Value) {
        addresses::adapt(command, arguments);
    }

    fn explain_failure(&self, failure: Failure) -> Failure {
        if failure.message.contains(VERSION_CHECK) {
            let hint = format!("update Delve (`{INSTALL}`), or set `dlvFlags: [\"{VERSION_CHECK}\"]`");
            return Failure::new(ErrorCode::LaunchFailed, failure.message).hint(hint);
        }
        let Some(reason) = failure.message.strip_prefix(CRASH) else { return failure };
        let message = format!("Delve failed while it read the program: {reason}; {CRASH_CAUSE}");
        Failure::new(ErrorCode::Unsupported, message)
            .hint(format!("update Delve (`{INSTALL}`), or evaluate other variables by their names"))
    }

    /// DAP has no request that ends the step, and Delve answers a second one with a stop.
    fn refusal_of_step(&self, requested: i64, stepping: i64) -> Option<Failure> {
        let message = format!(
            "Delve cannot step goroutine {requested}: a breakpoint has interrupted the step of goroutine \
                {stepping}, and Delve keeps that step"
        );
        Some(Failure::new(ErrorCode::Unsupported, message).hint(format!(
            "step goroutine {stepping} or continue, which ends that step; a breakpoint at its next line \
                stops goroutine {requested}"
        )))
    }

    fn exit_code_in(&self, output: &str) -> Option<i64> {
        exit_code(output)
    }

    /// All that it would build itself: our builds have a longer limit, can be cancelled, and
    /// report errors as places.
    fn builds(&self, target: &Target) -> bool {
        matches!(target.attribute("mode").as_str(), None | Some("auto" | "debug" | "test"))
    }

    /// A condition that fails is a runtime error to it.
    fn reports_signals(&self) -> bool {
        true
    }

    /// Version 1.20 in programs of a newer Go.
    fn loses_panics(&self) -> bool {
        true
    }

    fn correct_stop(&self, stop: &mut StoppedEventBody, _pausing: bool) {
        // The trap of an `exec`, which Delve takes for its breakpoint 0, of no goroutine.
        let hit = stop.hit_breakpoint_ids.iter().flatten().any(|id| *id > 0);
        if stop.reason == "breakpoint" && stop.thread_id.unwrap_or(0) <= 0 && !hit {
            stop.reason = "exec".into();
            stop.description = Some("Paused on exec".into());
            stop.text = Some(REPLACED.into());
        }
    }

    fn breakpoint_loss(&self, stop: &StoppedEventBody) -> Option<&'static str> {
        (stop.reason == "exec").then_some(LOST)
    }

    fn version(&self, target: &Target) -> Option<String> {
        let mut query = Command::new(self.launch(target).ok()?.spec.program);
        query.arg("version");
        find::printed_version(query)
    }

    fn launch(&self, target: &Target) -> Result<LaunchPlan, Failure> {
        let program = target.existing_program()?;
        let ours = AdapterAttributes {
            program: Some(program),
            cwd: Some(&target.cwd),
            mode: self.builds(target).then_some("exec"),
            ..AdapterAttributes::default()
        };
        plan(target, "launch", ours)
    }

    fn attach(&self, target: &Target) -> Result<LaunchPlan, Failure> {
        // A `dlv --headless --accept-multiclient` that has the program.
        let remote = AdapterAttributes { mode: Some("remote"), ..AdapterAttributes::default() };
        if let Some(mut plan) = LaunchPlan::to_running(target, "go", remote.into_value())? {
            map_paths(target, &mut plan.arguments)?;
            return Ok(LaunchPlan { quirks: Quirks { forwards_stdio: true, ..Quirks::default() }, ..plan });
        }
        let process_id = Some(target.untraced_process_id()?);
        plan(
            target,
            "attach",
            AdapterAttributes { mode: Some("local"), process_id, ..AdapterAttributes::default() },
        )
    }
}

fn map_paths(target: &Target, arguments: &mut Value) -> Result<(), Failure> {
    target.map_paths(arguments, "substitutePath", |there, here| {
        types::body(&PathSubstitution { from: here.to_owned(), to: there.to_owned() })
    })
}

fn plan(target: &Target, command: &'static str, ours: AdapterAttributes<'_>) -> Result<LaunchPlan, Failure> {
    let home = |folder: &str| target.variable("HOME").map(|home| std::path::Path::new(&home).join(folder));
    let own = target.variable("GOPATH").map(|path| std::path::Path::new(&path).join("bin/dlv"));
    let adapter = AdapterSearch::new("delve", "`dlv`", INSTALL)
        .with_engine_path(target)?
        .on_path(target, &["dlv"])
        .files(own.into_iter().chain(home("go/bin/dlv")).collect(), "GOPATH/bin")
        .end()?;
    let launched = command == "launch";
    // Its log would mix with the program's output.
    let mut args = ["dap", "--client-addr=127.0.0.1:{port}", "--log-dest=/dev/null"].map(Into::into).to_vec();
    let flags = target.attribute("dlvFlags").as_array().into_iter().flatten();
    args.extend(flags.filter_map(|flag| flag.as_str().map(Into::into)));
    let mut arguments = target.for_adapter(ours.into_value());
    if launched && let Some(mode) = ours.mode {
        // That of `engineOptions` said how to build: the program is built.
        types::set(&mut arguments, "mode", mode);
    }
    map_paths(target, &mut arguments)?;
    // dlv starts the program, and `go` to build it, with its own environment.
    let mut env = target.env.clone();
    settings::withhold_relative_folders(target, &mut env, &mut arguments);
    Ok(LaunchPlan {
        spec: SpawnSpec {
            program: adapter,
            args,
            cwd: target.cwd.clone(),
            env,
            pty: target.pty,
            ends_by_itself: false,
        },
        transport: Transport::DialsBack,
        program_io: if launched { ProgramIo::Inherited } else { ProgramIo::OutputEvents },
        adapter_id: "go".into(),
        command,
        arguments,
        launched,
        quirks: Quirks {
            forwards_stdio: true,
            skips_initialized_without_debug: launched && target.no_debug,
            ..Quirks::default()
        },
        opened: None,
    })
}

/// The second number of a version such as `1.20.2`, for version 1. Delve 1.20 reads programs up to Go 1.20.
fn minor_version(version: &str) -> Option<u32> {
    let rest = version.strip_prefix("1.")?;
    rest.split(|letter: char| !letter.is_ascii_digit()).next()?.parse().ok()
}

/// Versions before 1.27 report the program's end only in this way, and only after `disconnect`.
fn exit_code(output: &str) -> Option<i64> {
    let rest = output.strip_prefix("Process ")?;
    let (pid, status) = rest.split_once(" has exited with status ")?;
    pid.parse::<u32>().ok()?;
    status.trim().parse().ok()
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn exit_code_is_parsed_from_delves_own_output_only() {
        assert_eq!(exit_code("Process 11739 has exited with status 7\n"), Some(7));
        assert_eq!(exit_code("Process 1 has exited with status -1\n"), Some(-1));
        assert_eq!(exit_code("my Process 1 has exited with status 7\n"), None);
        assert_eq!(exit_code("Process x has exited with status 7\n"), None);
    }

    #[test]
    fn a_string_is_refused_by_a_delve_that_is_older_than_the_programs_go() {
        for (adapter, program, refused) in [
            ("1.20.2", "\"go1.27.3\"", true),
            ("1.24.0", "\"go1.25rc1\"", true),
            ("1.20.2", "\"go1.20\"", false),
            ("1.27.1", "\"go1.27.3\"", false),
            ("1.20.2", "\"devel go\"", false),
            ("unknown", "\"go1.27.3\"", false),
        ] {
            assert_eq!(Delve.refusal_of_string(adapter, program).is_some(), refused, "{adapter} {program}");
        }
        for (value, may_be) in [("\"a\"", true), ("`a`", true), ("a + b", true), ("a.b", false), ("7", false)]
        {
            assert_eq!(Delve.version_of_language(value).is_some(), may_be, "{value}");
        }
    }

    #[test]
    fn a_mode_that_said_how_to_build_does_not_reach_delve() {
        let mode = |mode: &str| {
            let attributes = json!({ "program": "/bin/ls", "enginePath": "/bin/sh",
                "engineOptions": { "mode": mode } });
            Delve.launch(&Target::parse(&attributes).unwrap()).unwrap().arguments["mode"].clone()
        };
        for built in ["auto", "debug", "test"] {
            assert_eq!(mode(built), "exec", "{built}");
        }
        assert_eq!(mode("replay"), "replay");
    }

    #[test]
    fn an_internal_error_of_delve_is_explained() {
        let crash = "Internal Error: runtime error: invalid memory address or nil pointer dereference";
        let explained = Delve.explain_failure(Failure::new(ErrorCode::EngineFailed, crash));
        assert_eq!(explained.code, ErrorCode::Unsupported);
        assert!(explained.message.contains("nil pointer dereference; a Delve"), "{}", explained.message);
        let old = "Failed to launch: Version of Delve is too old for Go version 1.27.3 (maximum supported \
            version 1.20, suppress this error with --check-go-version=false)";
        let explained = Delve.explain_failure(Failure::new(ErrorCode::EngineFailed, old));
        assert_eq!((explained.code, explained.message.as_str()), (ErrorCode::LaunchFailed, old));
        assert!(explained.hint.is_some_and(|hint| hint.contains("dlvFlags")));
        let other = Delve.explain_failure(Failure::new(ErrorCode::EngineFailed, "no such frame"));
        assert_eq!((other.code, other.message.as_str()), (ErrorCode::EngineFailed, "no such frame"));
    }

    #[test]
    fn a_stop_at_an_exec_is_not_a_breakpoint_and_others_are_what_they_are() {
        let reason = |body: Value| {
            let mut stop = types::read(&body);
            Delve.correct_stop(&mut stop, false);
            Some(stop.reason)
        };
        let exec = json!({ "reason": "breakpoint", "allThreadsStopped": true, "hitBreakpointIds": [0] });
        assert_eq!(reason(exec).as_deref(), Some("exec"));
        for (key, value) in [("threadId", json!(1)), ("hitBreakpointIds", json!([2]))] {
            let mut hit = json!({ "reason": "breakpoint" });
            hit[key] = value;
            assert_eq!(reason(hit).as_deref(), Some("breakpoint"));
        }
        assert_eq!(reason(json!({ "reason": "pause" })).as_deref(), Some("pause"));
    }
}
