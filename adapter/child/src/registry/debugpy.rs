//! Python through debugpy. Tandem connects to the debugged process itself, which dials our port:
//! debugpy's adapter process in between makes every request wait for delayed acknowledgements. stdin,
//! stdout and stderr are our pipes by construction.
//!
//! The adapter is still used to attach to a running process, and with `engineOptions: { "throughAdapter":
//! true }`. Not here: pydevd's differences from DAP ([`crate::pydevd`]).

mod attributes;
mod command_line;
mod conditions;
mod corrections;
mod environment_tool;
mod injection;
mod interpreter;

use std::path::Path;
use std::process::Command;

use serde_json::Value;
use tandem_wire::Failure;
use tandem_wire::types::{self, DapVariable};

use self::attributes::{DebuggerProperties, DebugpyAttributes, DebugpyFields, without_exits};
use super::super::find;
use super::super::interpreter_options;
use super::super::launch_plan::{LaunchPlan, ProgramIo, Quirks, Transport};
use super::super::profile::{IdlePause, KeptValue, Profile};
use super::super::pydevd;
use super::super::summaries;
use super::super::target::Target;
use super::super::test_files::{self, Runner};
use tandem_engine::console::Console;
use tandem_engine::description::{Description, EditorLanguage, Evidence, Recognition};
use tandem_engine::path_map::RootMapping;
use tandem_engine::result_names::{ResultName, ResultNames};
use tandem_engine::running_process;
use tandem_engine::{ExceptionFilter, LookOnlyRequests};
use tandem_process::SpawnSpec;
use tandem_process::terminal::Pty;

/// Metadata of debugpy, known without starting it.
const DESCRIPTION: Description = Description {
    name: "debugpy",
    languages: "Python",
    summary: "Python: debugpy.",
    needs: "the package `debugpy` in the project's Python",
    stdio: "starts Python itself; the debugged process connects to a port of Tandem, without debugpy's \
        adapter in between",
    recognition: Recognition {
        extensions: &["py", "pyw", "pyz"],
        project_files: &[("__main__.py", Evidence::EntryPoint)],
        interpreters: &["python*"],
        processes: &["python*"],
        embedded: &["/libpython", ".cpython-"],
        launch_attributes: &["module", "code"],
        attach_attributes: &["connect"],
        ..Recognition::NONE
    },
    editor_languages: &[EditorLanguage {
        id: "python",
        name: "Python",
        projects: &[],
        endings: &["py"],
        runs_files: true,
    }],
    interpreters: &[("python3", "python3"), ("python", "python-is-python3")],
    connects: true,
    ..Description::NONE
};

const fn filter(
    filter: &'static str,
    label: &'static str,
    default: bool,
    description: &'static str,
) -> ExceptionFilter {
    let plain = ExceptionFilter::new(filter, label);
    ExceptionFilter { default: Some(default), description: Some(description), ..plain }
}

/// The seconds after which the other threads run until the variables of a stop are read, which may need one
/// of them. Clients lose the stop then: by default a `__repr__` of 3 s made all variables unreadable.
const UNBLOCKING: (&str, &str) = ("PYDEVD_UNBLOCK_THREADS_ON_VARIABLES_TIMEOUT", "20");

/// Whether a text has more than spaces and comments.
fn has_code(text: &str) -> bool {
    text.lines().map(str::trim_start).any(|line| !line.is_empty() && !line.starts_with('#'))
}

/// How Tandem launches debugpy, and where it differs from other adapters.
pub(super) struct Debugpy;

impl Profile for Debugpy {
    /// It also prints a traceback into the program's stderr.
    fn invents_exceptions(&self) -> bool {
        true
    }

    fn description(&self) -> &'static Description {
        &DESCRIPTION
    }

    fn exception_filters(&self) -> &'static [ExceptionFilter] {
        const FILTERS: [ExceptionFilter; 3] = [
            filter("raised", "Raised Exceptions", false, "Break whenever any exception is raised."),
            filter(
                "uncaught",
                "Uncaught Exceptions",
                true,
                "Break when the process is exiting due to unhandled exception.",
            ),
            filter(
                "userUnhandled",
                "User Uncaught Exceptions",
                false,
                "Break when exception escapes into library code.",
            ),
        ];
        &FILTERS
    }

    /// It calls `__repr__`, properties and `__getattr__` for each value it shows or completes, `__str__` for
    /// an exception, and a module's loader for its source.
    fn look_only_requests(&self) -> LookOnlyRequests {
        LookOnlyRequests::Known(&[])
    }

    /// `setVariable` prints the reason to the program's stderr and answers with the old value;
    /// `setExpression` answers without it. A function or a class is assigned, and reported as a failure,
    /// because its row is in another group of the scope from then on.
    fn kept_value(&self, value: &str) -> Option<KeptValue> {
        // A comment in the value ends with its line. Parentheses without any code would be an empty tuple.
        let value = if has_code(value) { format!("({value}\n)") } else { "eval('')".to_owned() };
        let keep = format!("__import__('_pydevd_bundle').__dict__.__setitem__('tandem_value', {value})");
        Some(KeptValue {
            keep,
            expression: "__import__('_pydevd_bundle').tandem_value",
            question: ("(NAME) is __import__('_pydevd_bundle').tandem_value", "True"),
        })
    }

    /// Those with `@py_` are variables that pytest adds to explain an assertion.
    fn result_names(&self) -> ResultNames {
        ResultNames::new([ResultName::Before("(return) "), ResultName::Hidden("@py_")])
    }

    fn has_slow_connections(&self) -> bool {
        true
    }

    fn runner_of_tests(&self, target: &Target) -> Option<Runner> {
        test_files::python(target, |module| interpreter::of_target_has(target, module))
    }

    fn version(&self, target: &Target) -> Option<String> {
        let python = interpreter::find_python(target).ok()?;
        let mut query = Command::new(python.interpreter);
        query.args(python.debugpy).arg("--version");
        find::printed_version(query)
    }

    fn launch(&self, target: &Target) -> Result<LaunchPlan, Failure> {
        check_program(target)?;
        let python = interpreter::find_python(target)?;
        let what = program_arguments(target, &python)?;
        let terminal = target.console != Console::Piped;
        let options: DebugpyFields = types::read(target.attribute("engineOptions"));
        if terminal || options.through_adapter == Some(true) {
            let ours = DebugpyAttributes {
                console: Some("integratedTerminal"),
                python: Some(python.command()),
                debug_options: Some(Vec::new()),
                ..usual_attributes(target)
            };
            return through_adapter(target, &python, "launch", ours);
        }
        // Frozen modules have no source to stop in; old Pythons ignore the switch.
        let mut args = vec!["-Xfrozen_modules=off".to_owned()];
        args.extend(python.options);
        args.extend(interpreter_options::of_launch(target, "pythonArgs")?.unwrap_or_default());
        args.extend(python.debugpy);
        args.extend(["--connect", "127.0.0.1:{port}", "--wait-for-client"].map(String::from));
        if target.attribute("subProcess") == false {
            args.extend(["--configure-subProcess", "false"].map(String::from));
        }
        args.extend(what);
        args.extend(target.args.iter().cloned());
        let mut env = vec![
            ("PYTHONUNBUFFERED".to_owned(), Some("1".to_owned())),
            // Subprocesses are not started with the switch above, and would complain on the program's stderr.
            ("PYDEVD_DISABLE_FILE_VALIDATION".to_owned(), Some("1".to_owned())),
            (UNBLOCKING.0.to_owned(), Some(UNBLOCKING.1.to_owned())),
        ];
        env.extend(target.env.iter().cloned());
        Ok(LaunchPlan {
            spec: SpawnSpec {
                program: python.interpreter,
                args: args.into_iter().map(Into::into).collect(),
                cwd: target.cwd.clone(),
                env,
                pty: target.pty,
                ends_by_itself: false,
            },
            transport: Transport::DialsBack,
            program_io: ProgramIo::Inherited,
            adapter_id: "python".into(),
            // A program that dials has not run a line yet: to it this is a launch, so `stopOnEntry` applies.
            command: "launch",
            arguments: mapped(
                target,
                DebugpyAttributes {
                    just_my_code: Some(target.flag("justMyCode", true)?),
                    show_return_value: Some(target.flag("showReturnValue", true)?),
                    ..usual_attributes(target)
                },
            )?,
            launched: true,
            quirks: Quirks { emits_own_stdout: true, ..Quirks::default() },
            opened: None,
        })
    }

    fn adapt_request(&self, command: &str, arguments: &mut Value) {
        pydevd::adapt_request(command, arguments);
    }

    fn adapt_incoming(&self, what: &str, body: &mut Value) {
        pydevd::adapt_incoming(what, body);
    }

    fn explain_failure(&self, failure: Failure) -> Failure {
        pydevd::explain_failure(failure)
    }

    fn complete_capabilities(&self, capabilities: &mut Value) {
        pydevd::complete(capabilities);
    }

    fn summaries(&self) -> Option<String> {
        Some(summaries::for_pydevd())
    }

    fn is_in_the_program(&self) -> bool {
        true
    }

    fn reports_exec(&self, exited: &Value) -> bool {
        types::read::<DebugpyFields>(exited).pydevd_reason.as_deref() == Some("processReplaced")
    }

    /// Whether debugpy's own attribute makes it interrupt the program instead of killing it.
    fn ends_gently(&self, arguments: &Value) -> bool {
        types::read::<DebugpyFields>(arguments).on_terminate.as_deref() == Some("KeyboardInterrupt")
    }

    /// A thread stops at its next line; one that waits in a call has no next line.
    fn idle_pause(&self) -> IdlePause {
        IdlePause::StopsUnreported
    }

    fn further_elements(&self, rows: &[DapVariable]) -> Option<usize> {
        pydevd::further_elements(rows)
    }

    fn settings(&self) -> Vec<(&'static str, Value)> {
        vec![
            // Without this it prints every exception that it stops at.
            ("setDebuggerProperty", types::body(&DebuggerProperties::default())),
            ("evaluate", types::watch(&corrections::expression(), None)),
        ]
    }

    fn has_helpers(&self) -> bool {
        true
    }

    /// The process of `multiprocessing` that removes semaphores and shared memory of the program.
    fn is_helper(&self, words: &[String]) -> bool {
        words.iter().any(|word| word.contains("from multiprocessing.resource_tracker import"))
    }

    fn name_of_child(&self, words: &[String], parent: &Path) -> Option<String> {
        command_line::program(words).or_else(|| Some(parent.file_name()?.to_string_lossy().into_owned()))
    }

    fn attach(&self, target: &Target) -> Result<LaunchPlan, Failure> {
        let ours = usual_attributes(target).into_value();
        if let Some(mut plan) = LaunchPlan::to_running(target, "python", ours)? {
            plan.arguments = without_exits(target, plan.arguments);
            map_paths(target, &mut plan.arguments)?;
            return Ok(plan);
        }
        let pid = target.untraced_process_id()?;
        // debugpy would report its failure only after a minute.
        running_process::refuse_hidden(pid.into())?;
        let python = interpreter::find_python(target)?;
        let path = injection::path(&python.interpreter)?;
        let mut plan = through_adapter(target, &python, "attach", usual_attributes(target))?;
        plan.spec.env.extend(path.map(|path| ("PATH".into(), Some(path))));
        Ok(plan)
    }
}

/// The attributes of every launch and attach.
fn usual_attributes(target: &Target) -> DebugpyAttributes {
    let variable_presentation = pydevd::presentation(target.attribute("variablePresentation"));
    DebugpyAttributes { variable_presentation, ..DebugpyAttributes::default() }
}

fn through_adapter(
    target: &Target,
    python: &interpreter::Python,
    command: &'static str,
    ours: DebugpyAttributes,
) -> Result<LaunchPlan, Failure> {
    let adapter = match python.debugpy.as_slice() {
        [_, module] if module == "debugpy" => vec!["-m".into(), "debugpy.adapter".into()],
        [folder] => vec![Path::new(folder).join("adapter").display().to_string().into()],
        _ => vec![],
    };
    Ok(LaunchPlan {
        spec: SpawnSpec {
            program: python.interpreter.clone(),
            args: adapter,
            cwd: target.cwd.clone(),
            env: [("PYTHONUNBUFFERED", "1"), UNBLOCKING]
                .map(|(name, value)| (name.into(), Some(value.into())))
                .to_vec(),
            pty: Pty::No,
            ends_by_itself: false,
        },
        transport: Transport::Stdio,
        program_io: if command == "launch" { ProgramIo::Terminal } else { ProgramIo::OutputEvents },
        adapter_id: "python".into(),
        command,
        arguments: mapped(target, ours)?,
        launched: command == "launch",
        quirks: Quirks {
            emits_own_stdout: true,
            has_launcher: command == "launch",
            skips_initialized_without_debug: command == "launch" && target.no_debug,
            ..Quirks::default()
        },
        opened: None,
    })
}

/// Refuses a launch that names nothing to run, or several things.
fn check_program(target: &Target) -> Result<(), Failure> {
    match (target.text("program")?, target.text("module")?, target.text("code")?) {
        (None, None, None) => {
            Err(Failure::invalid("`program` is missing: a .py file (or set `module` or `code`)"))
        }
        // A command of a tool's environment is looked for there.
        (Some(_), None, None) if !interpreter::is_of_tool(target)? => target.existing_program().map(drop),
        (Some(_), None, None) | (None, Some(_), None) | (None, None, Some(_)) => Ok(()),
        _ => Err(Failure::invalid("set only one of `program`, `module` and `code`")),
    }
}

/// A file, `-m module` or `-c code`, as `python` and `debugpy` both spell it.
fn program_arguments(target: &Target, python: &interpreter::Python) -> Result<Vec<String>, Failure> {
    if let Some(module) = target.text("module")? {
        return Ok(vec!["-m".into(), module.into()]);
    }
    if let Some(code) = target.text("code")? {
        return Ok(vec!["-c".into(), code.into()]);
    }
    let name = target.text("program")?.filter(|_| python.is_of_tool);
    let own = name.and_then(|name| environment_tool::command_beside(&python.interpreter, name));
    let program = own.map_or_else(|| target.existing_program().map(Path::to_path_buf), Ok)?;
    Ok(vec![program.display().to_string()])
}

/// The attributes as debugpy gets them, with where sources lie.
fn mapped(target: &Target, ours: DebugpyAttributes) -> Result<Value, Failure> {
    let mut arguments = without_exits(target, target.for_adapter(ours.into_value()));
    map_paths(target, &mut arguments)?;
    Ok(arguments)
}

fn map_paths(target: &Target, arguments: &mut Value) -> Result<(), Failure> {
    let pair = |there: &str, here: &str| {
        types::body(&RootMapping { local_root: here.to_owned(), remote_root: there.to_owned() })
    };
    target.map_paths(arguments, "pathMappings", pair)
}

#[cfg(test)]
mod tests;
