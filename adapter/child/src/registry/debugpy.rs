//! Python through debugpy. Tandem connects to the debugged process itself, which dials our port:
//! debugpy's adapter process in between makes every request wait for delayed acknowledgements. stdin,
//! stdout and stderr are our pipes by construction.
//!
//! The adapter is still used to attach to a running process, and with `engineOptions: { "throughAdapter":
//! true }`. Not here: pydevd's differences from DAP ([`crate::pydevd`]).

mod injection;
mod interpreter;

use std::path::Path;
use std::process::Command;

use dap_wire::Failure;
use dap_wire::types::DapVariable;
use serde_json::{Value, json};

use super::super::find;
use super::super::launch_plan::{LaunchPlan, ProgramIo, Quirks, Transport};
use super::super::profile::{IdlePause, Profile};
use super::super::pydevd;
use super::super::summaries;
use super::super::target::Target;
use super::super::test_files::{self, Runner};
use tandem_engine::condition_language::ConditionLanguage;
use tandem_engine::console::Console;
use tandem_engine::description::{Description, EditorLanguage, Evidence, Recognition};
use tandem_engine::result_names::{ResultName, ResultNames};
use tandem_engine::{ExceptionFilter, FailedCondition, LookOnlyRequests};
use tandem_process::SpawnSpec;
use tandem_process::terminal::Pty;

/// Before a condition with a scope inside it, and after it. debugpy evaluates a condition with the function's
/// variables as local names, which a lambda, a comprehension or a generator in it does not see: to them they
/// are global names here.
const SCOPED: (&str, &str) = ("eval(", ", {**globals(), **locals()}, locals())");

/// Only a statement can catch what a condition raises. It is compiled once and kept in a module of debugpy's,
/// as this runs each time the program passes.
const ANY_OF: &str = concat!(
    r"(lambda d, g, l: (d.get('tandem_holds') or (exec('''
def tandem_holds(conditions, g, l, known={}):
 g = {**g, **l}
 for condition in conditions:
  try:
   if condition not in known: known[condition] = compile(condition, '<condition>', 'eval')
   if eval(known[condition], g, l): return True
  except Exception: return True
 return False''', d) or d['tandem_holds']))(CONDITIONS, g, l))",
    r"(__import__('_pydevd_bundle').__dict__, globals(), locals())",
);

/// Python's conditions, where debugpy continues past one that fails. Each is a string that the
/// combined one evaluates.
const PYTHON: ConditionLanguage = ConditionLanguage {
    name: "Python",
    combine: |conditions| Some(ANY_OF.replace("CONDITIONS", &json!(conditions).to_string())),
    ..ConditionLanguage::OTHER
};

/// Metadata of debugpy, known without starting it.
const DESCRIPTION: Description = Description {
    name: "debugpy",
    languages: "Python",
    summary: "Python: debugpy.",
    needs: "the package `debugpy` in the project's Python",
    stdio: "starts Python itself; the debugged process connects to a port of Tandem, without debugpy's \
        adapter in between",
    recognition: Recognition {
        extensions: &["py", "pyw"],
        project_files: &[("__main__.py", Evidence::EntryPoint)],
        interpreters: &["python*"],
        processes: &["python*"],
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
    /// `setExpression` answers without it.
    fn kept_value(&self, value: &str) -> Option<(String, &'static str)> {
        // A comment in the value ends with its line. Parentheses without any code would be an empty tuple.
        let value = if has_code(value) { format!("({value}\n)") } else { "eval('')".to_owned() };
        let keep = format!("__import__('_pydevd_bundle').__dict__.__setitem__('tandem_value', {value})");
        Some((keep, "__import__('_pydevd_bundle').tandem_value"))
    }

    /// Those with `@py_` are variables that pytest adds to explain an assertion.
    fn result_names(&self) -> ResultNames {
        ResultNames::new([ResultName::Before("(return) "), ResultName::Hidden("@py_")])
    }

    fn condition_language(&self) -> ConditionLanguage {
        PYTHON
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
        let what = program_arguments(target)?;
        let python = interpreter::find_python(target)?;
        let terminal = target.console != Console::Piped;
        if terminal || target.attribute("engineOptions")["throughAdapter"] == true {
            return through_adapter(
                target,
                &python,
                "launch",
                json!({
                    "console": "integratedTerminal", "redirectOutput": false,
                    "python": [python.interpreter.display().to_string()], "debugOptions": [],
                }),
            );
        }
        // Frozen modules have no source to stop in; old Pythons ignore the switch.
        let mut args = vec!["-Xfrozen_modules=off".to_owned()];
        args.extend(strings(target.attribute("pythonArgs")));
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
                json!({
                    "redirectOutput": false, "justMyCode": target.flag("justMyCode", true)?,
                    "showReturnValue": target.flag("showReturnValue", true)?,
                    "variablePresentation": pydevd::presentation(target.attribute("variablePresentation")),
                }),
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
        exited["pydevdReason"] == "processReplaced"
    }

    /// Whether debugpy's own attribute makes it interrupt the program instead of killing it.
    fn ends_gently(&self, arguments: &Value) -> bool {
        arguments["onTerminate"] == "KeyboardInterrupt"
    }

    /// A thread stops at its next line; one that waits in a call has no next line.
    fn idle_pause(&self) -> IdlePause {
        IdlePause::StopsUnreported
    }

    fn further_elements(&self, rows: &[DapVariable]) -> Option<usize> {
        pydevd::further_elements(rows)
    }

    fn syntax_check(&self, target: &Target, condition: &str) -> Option<Command> {
        let mut python = Command::new(interpreter::find(target, &mut Vec::new()).ok()?);
        let check = "import sys\ntry: compile(sys.argv[1].lstrip(' \\t'), '<condition>', 'eval')\n\
                     except (SyntaxError, ValueError) as wrong: print(type(wrong).__name__ + ':', wrong)";
        python.args(["-I", "-S", "-c", check, condition]);
        Some(python)
    }

    fn settings(&self) -> Option<(&'static str, Value)> {
        // Without this it prints every exception that it stops at.
        let none = json!({ "skipSuspendOnBreakpointException": [], "skipPrintBreakpointException": [] });
        Some(("setDebuggerProperty", none))
    }

    fn failed_condition_in(&self, output: &str) -> Option<FailedCondition> {
        let report =
            output.strip_prefix("pydevd: Error while evaluating expression in conditional breakpoint: ")?;
        let (condition, trace) = report.split_once('\n')?;
        let reason = trace.lines().rev().find(|line| !line.trim().is_empty())?.to_owned();
        let inner = condition.strip_prefix(SCOPED.0).and_then(|rest| rest.strip_suffix(SCOPED.1));
        let inner = inner.and_then(|text| serde_json::from_str(text).ok());
        Some(FailedCondition { condition: Some(inner.unwrap_or_else(|| condition.to_owned())), reason })
    }

    fn guarded_condition(&self, condition: &str) -> String {
        let mut words = condition.split(|c: char| !c.is_alphanumeric() && c != '_');
        if !words.any(|word| word == "for" || word == "lambda") {
            return condition.to_owned();
        }
        // A string of JSON is one of Python.
        format!("{}{}{}", SCOPED.0, json!(condition.trim_start_matches([' ', '\t'])), SCOPED.1)
    }

    fn has_helpers(&self) -> bool {
        true
    }

    /// The process of `multiprocessing` that removes semaphores and shared memory of the program.
    fn is_helper(&self, words: &[String]) -> bool {
        words.iter().any(|word| word.contains("from multiprocessing.resource_tracker import"))
    }

    fn name_of_child(&self, words: &[String], parent: &Path) -> Option<String> {
        program_of_command_line(words).or_else(|| Some(parent.file_name()?.to_string_lossy().into_owned()))
    }

    fn attach(&self, target: &Target) -> Result<LaunchPlan, Failure> {
        let ours = json!({ "redirectOutput": false,
            "variablePresentation": pydevd::presentation(target.attribute("variablePresentation")) });
        if let Some(mut plan) = LaunchPlan::to_running(target, "python", ours)? {
            plan.arguments = without_exits(target, plan.arguments);
            map_paths(target, &mut plan.arguments)?;
            return Ok(plan);
        }
        target.process_id()?;
        let python = interpreter::find_python(target)?;
        let path = injection::path(&python.interpreter)?;
        let mut plan = through_adapter(target, &python, "attach", json!({ "redirectOutput": false }))?;
        plan.spec.env.extend(path.map(|path| ("PATH".into(), Some(path))));
        Ok(plan)
    }
}

fn through_adapter(
    target: &Target,
    python: &interpreter::Python,
    command: &'static str,
    mut ours: Value,
) -> Result<LaunchPlan, Failure> {
    ours["variablePresentation"] = pydevd::presentation(target.attribute("variablePresentation"));
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
        quirks: Quirks { emits_own_stdout: true, has_launcher: command == "launch", ..Quirks::default() },
        opened: None,
    })
}

/// A file, `-m module` or `-c code`, as `python` and `debugpy` both spell it.
fn program_arguments(target: &Target) -> Result<Vec<String>, Failure> {
    let program = target.text("program")?;
    match (program, target.text("module")?, target.text("code")?) {
        (None, Some(module), None) => Ok(vec!["-m".into(), module.into()]),
        (None, None, Some(code)) => Ok(vec!["-c".into(), code.into()]),
        (Some(_), None, None) => Ok(vec![target.existing_program()?.display().to_string()]),
        (None, None, None) => {
            Err(Failure::invalid("`program` is missing: a .py file (or set `module` or `code`)"))
        }
        _ => Err(Failure::invalid("set only one of `program`, `module` and `code`")),
    }
}

/// The attributes as debugpy gets them, with where sources lie.
fn mapped(target: &Target, ours: Value) -> Result<Value, Failure> {
    let mut arguments = without_exits(target, target.for_adapter(ours));
    map_paths(target, &mut arguments)?;
    Ok(arguments)
}

/// The attributes, without a stop at `sys.exit` with a number: it is how programs end. Versions before
/// 1.8.22 stop unless it is 0.
fn without_exits(target: &Target, mut arguments: Value) -> Value {
    if !target.names_any(&["breakOnSystemExit", "breakOnSystemExitZero"])
        && arguments["breakOnSystemExit"].is_null()
    {
        arguments["breakOnSystemExit"] = json!([]);
    }
    arguments
}

fn map_paths(target: &Target, arguments: &mut Value) -> Result<(), Failure> {
    let pair = |there: &str, here: &str| json!({ "localRoot": here, "remoteRoot": there });
    target.map_paths(arguments, "pathMappings", pair)
}

/// The program of a Python process whose command line debugpy has changed. `None` if the command line has no
/// debugger in it: a fork.
fn program_of_command_line(words: &[String]) -> Option<String> {
    if let Some(at) = words.iter().position(|word| word.ends_with("/pydevd.py")) {
        let mut rest = words.iter().skip(at).skip_while(|word| *word != "--file").skip(1);
        let file = rest.next()?;
        // A program that restarts itself (Flask's reloader) starts debugpy as it was started.
        let program = if file == "debugpy" { debugpy_target(rest) } else { None };
        let file = program.unwrap_or(file);
        return Some(file.rsplit('/').next().unwrap_or(file).to_owned());
    }
    let mut options = words.iter().skip(1);
    let code = loop {
        match options.next()?.as_str() {
            "-c" => break options.next()?,
            "-X" | "-W" => drop(options.next()),
            option if option.starts_with('-') && option != "-m" => {}
            _ => return None,
        }
    };
    // The workers of `multiprocessing`, and what counts their resources.
    let module = code.split_once("from multiprocessing.").and_then(|(_, rest)| rest.split([' ', ';']).next());
    Some(module.map_or_else(|| "python -c".into(), |module| format!("multiprocessing.{module}")))
}

/// The module or file in the words behind `debugpy`.
fn debugpy_target<'a>(mut words: impl Iterator<Item = &'a String>) -> Option<&'a String> {
    loop {
        let word = words.next()?;
        match word.as_str() {
            "-m" => return words.next(),
            "--connect" | "--listen" | "--log-to" => drop(words.next()),
            option if option.starts_with("--configure-") => drop(words.next()),
            option if option.starts_with('-') => {}
            _ => return Some(word),
        }
    }
}

fn strings(value: &Value) -> Vec<String> {
    value.as_array().into_iter().flatten().filter_map(|item| item.as_str().map(str::to_owned)).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_comment_does_not_hide_the_other_conditions() {
        let python = PYTHON.any_of(&["name == \"it's\" # \\"]).unwrap_or_default();
        assert!(python.contains(r##"["name == \"it's\" # \\"]"##), "{python}");
    }

    #[test]
    fn a_value_without_code_is_refused() {
        let kept = |value| Debugpy.kept_value(value).unwrap().0;
        for blank in ["", "  ", "# comment", "\n # one\n\t# two\n"] {
            assert!(kept(blank).ends_with("'tandem_value', eval(''))"), "{}", kept(blank));
        }
        for value in ["1, 2", "()", "# first\n5", "'#'"] {
            assert!(kept(value).ends_with(&format!("'tandem_value', ({value}\n))")), "{}", kept(value));
        }
    }

    #[test]
    fn an_exit_stops_only_if_the_launch_says_so() {
        let sent = |attributes: Value| {
            let target = Target::parse(&attributes).unwrap();
            without_exits(&target, target.for_adapter(json!({}))).get("breakOnSystemExit").cloned()
        };
        assert_eq!(sent(json!({ "program": "/a.py" })), Some(json!([])));
        assert_eq!(sent(json!({ "program": "/a.py", "breakOnSystemExit": [3] })), Some(json!([3])));
        let options = json!({ "program": "/a.py", "engineOptions": { "breakOnSystemExit": [4] } });
        assert_eq!(sent(options), Some(json!([4])));
        // debugpy's older attribute.
        assert_eq!(sent(json!({ "program": "/a.py", "breakOnSystemExitZero": true })), None);
    }

    #[test]
    fn failed_condition_is_parsed_from_debugpys_output() {
        let output = "pydevd: Error while evaluating expression in conditional breakpoint: nope == 3\n\
            Traceback (most \
                    recent call last):\n  File \"<string>\", line 1\nNameError: name 'nope' is not defined\n\
                    \n";
        let failed = Debugpy.failed_condition_in(output).unwrap();
        assert_eq!(failed.condition.as_deref(), Some("nope == 3"));
        assert_eq!(failed.reason, "NameError: name 'nope' is not defined");
        assert_eq!(Debugpy.failed_condition_in("NameError: mine\n"), None);
    }

    #[test]
    fn a_condition_with_a_scope_inside_is_sent_with_the_functions_names_as_global_ones() {
        for condition in ["any(x > \"it's\" for x in xs)", "(lambda:limit)()", "[x for x in xs]"] {
            let sent = Debugpy.guarded_condition(condition);
            assert_eq!(sent, format!("eval({}, {{**globals(), **locals()}}, locals())", json!(condition)));
            let output = format!(
                "pydevd: Error while evaluating expression in conditional breakpoint: {sent}\nNameError: x\n"
            );
            let failed = Debugpy.failed_condition_in(&output).unwrap();
            assert_eq!(failed.condition.as_deref(), Some(condition));
        }
        for condition in ["i == 2", "before > form", "lambdas[0]"] {
            assert_eq!(Debugpy.guarded_condition(condition), condition);
        }
    }

    #[test]
    fn a_python_process_is_called_by_what_it_runs() {
        let own = "/venv/debugpy/_vendored/pydevd/pydevd.py";
        let worker =
            "import pydevd; pydevd.settrace(1); from multiprocessing.spawn import spawn_main; spawn_main()";
        for (words, name) in [
            (
                vec!["python", own, "--port", "1", "--multiprocess", "--file", "/a/b.py", "--file", "x"],
                "b.py",
            ),
            (vec!["python", own, "--module", "--port", "1", "--file", "tool", "-c"], "tool"),
            (
                vec![
                    "python",
                    own,
                    "--file",
                    "debugpy",
                    "--connect",
                    "a:1",
                    "--wait-for-client",
                    "-m",
                    "flask",
                    "run",
                ],
                "flask",
            ),
            (
                vec!["python", "-B", "-X", "frozen_modules=off", "-c", worker, "--multiprocessing-fork"],
                "multiprocessing.spawn",
            ),
            (vec!["python", "-c", "import pydevd; print(1)"], "python -c"),
            (
                vec!["python", "-Xa=b", "-m", "debugpy", "--wait-for-client", "/a/parent.py", "-c", "x"],
                "parent.py",
            ),
            (vec!["python", own], "parent.py"),
            (vec!["python"], "parent.py"),
            (vec![], "parent.py"),
        ] {
            let words: Vec<String> = words.into_iter().map(str::to_owned).collect();
            assert_eq!(
                Debugpy.name_of_child(&words, Path::new("/a/parent.py")).as_deref(),
                Some(name),
                "{words:?}"
            );
        }
    }
}
