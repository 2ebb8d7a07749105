//! Python. We talk to the debugged process itself, which dials a port of ours: debugpy's adapter process in between
//! makes every request wait for delayed acknowledgements. stdin, stdout and stderr are pipes of ours by construction.
//!
//! The adapter is still used to attach to a running process, and with `engineOptions: { "throughAdapter": true }`.

mod injection;

use std::path::{Path, PathBuf};
use std::process::Command;

use dap_wire::{ErrorCode, Failure};
use serde_json::{Value, json};

use super::find;
use super::profile::{FailedCondition, IdlePause, Plan, Profile, ProgramIo, Quirks, Transport};
use super::pydevd;
use super::target::Target;
use crate::engine::builds::command;
use crate::engine::console::Console;
use crate::io::SpawnSpec;
use crate::io::terminal::Pty;

/// The profile.
pub(super) struct Debugpy;

/// A Python and the debugpy it shall use.
struct Python {
    interpreter: PathBuf,
    /// `-m debugpy`, or the folder of one that is not installed there.
    debugpy: Vec<String>,
}

impl Profile for Debugpy {
    fn name(&self) -> &str {
        "debugpy"
    }

    fn links_slowly(&self) -> bool {
        true
    }

    fn launch(&self, target: &Target) -> Result<Plan, Failure> {
        let what = what_to_run(target)?;
        let python = find_python(target)?;
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
        ];
        env.extend(target.env.iter().cloned());
        Ok(Plan {
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
            // What dials has not run a line yet: for it this is a launch, and only then `stopOnEntry` holds.
            command: "launch",
            arguments: mapped(
                target,
                json!({
                    "redirectOutput": false, "justMyCode": target.flag("justMyCode", true)?,
                    "variablePresentation": pydevd::presentation(target.attribute("variablePresentation")),
                }),
            )?,
            launched: true,
            quirks: Quirks { speaks_as_stdout: true, ..Quirks::default() },
            opened: None,
        })
    }

    fn adapt_request(&self, command: &str, arguments: &mut Value) {
        pydevd::adapt_request(command, arguments);
    }

    fn adapt_said(&self, what: &str, body: &mut Value) {
        pydevd::adapt_said(what, body);
    }

    fn complete_capabilities(&self, capabilities: &mut Value) {
        pydevd::complete(capabilities);
    }

    fn is_in_the_program(&self) -> bool {
        true
    }

    /// Where its own attribute has it interrupt the program instead of killing it.
    fn ends_gently(&self, arguments: &Value) -> bool {
        arguments["onTerminate"] == "KeyboardInterrupt"
    }

    /// A thread stops at its next line; one that waits in a call has no next line.
    fn idle_pause(&self) -> IdlePause {
        IdlePause::Unsaid
    }

    fn further_elements(&self, rows: &[Value]) -> Option<usize> {
        pydevd::further_elements(rows)
    }

    fn syntax_check(&self, target: &Target, condition: &str) -> Option<Command> {
        let mut python = Command::new(interpreter(target, &mut Vec::new()).ok()?);
        let check = "import sys\ntry: compile(sys.argv[1].lstrip(' \\t'), '<condition>', 'eval')\n\
                     except (SyntaxError, ValueError) as wrong: print(type(wrong).__name__ + ':', wrong)";
        python.args(["-I", "-S", "-c", check, condition]);
        Some(python)
    }

    fn settings(&self) -> Option<(&'static str, Value)> {
        // It prints no more of an exception than it stops at, and neither of any, unless it is told so.
        let none = json!({ "skipSuspendOnBreakpointException": [], "skipPrintBreakpointException": [] });
        Some(("setDebuggerProperty", none))
    }

    fn failed_condition_in(&self, output: &str) -> Option<FailedCondition> {
        let told =
            output.strip_prefix("pydevd: Error while evaluating expression in conditional breakpoint: ")?;
        let (condition, trace) = told.split_once('\n')?;
        let reason = trace.lines().rev().find(|line| !line.trim().is_empty())?.to_owned();
        Some(FailedCondition { condition: Some(condition.to_owned()), reason })
    }

    fn has_helpers(&self) -> bool {
        true
    }

    /// What `multiprocessing` has beside the program, to remove its semaphores and shared memory.
    fn is_helper(&self, words: &[String]) -> bool {
        words.iter().any(|word| word.contains("from multiprocessing.resource_tracker import"))
    }

    fn name_of_child(&self, words: &[String], parent: &Path) -> Option<String> {
        started_with(words).or_else(|| Some(parent.file_name()?.to_string_lossy().into_owned()))
    }

    fn attach(&self, target: &Target) -> Result<Plan, Failure> {
        let ours = json!({ "redirectOutput": false,
            "variablePresentation": pydevd::presentation(target.attribute("variablePresentation")) });
        if let Some(mut plan) = Plan::to_running(target, "python", ours)? {
            map_paths(target, &mut plan.arguments)?;
            return Ok(plan);
        }
        target.process_id()?;
        let python = find_python(target)?;
        let path = injection::path(&python.interpreter)?;
        let mut plan = through_adapter(target, &python, "attach", json!({ "redirectOutput": false }))?;
        plan.spec.env.extend(path.map(|path| ("PATH".into(), Some(path))));
        Ok(plan)
    }
}

fn through_adapter(
    target: &Target,
    python: &Python,
    command: &'static str,
    mut ours: Value,
) -> Result<Plan, Failure> {
    ours["variablePresentation"] = pydevd::presentation(target.attribute("variablePresentation"));
    let adapter = match python.debugpy.as_slice() {
        [_, module] if module == "debugpy" => vec!["-m".into(), "debugpy.adapter".into()],
        [folder] => vec![Path::new(folder).join("adapter").display().to_string().into()],
        _ => vec![],
    };
    Ok(Plan {
        spec: SpawnSpec {
            program: python.interpreter.clone(),
            args: adapter,
            cwd: target.cwd.clone(),
            env: vec![("PYTHONUNBUFFERED".into(), Some("1".into()))],
            pty: Pty::No,
            ends_by_itself: false,
        },
        transport: Transport::Stdio,
        program_io: if command == "launch" { ProgramIo::Terminal } else { ProgramIo::Told },
        adapter_id: "python".into(),
        command,
        arguments: mapped(target, ours)?,
        launched: command == "launch",
        quirks: Quirks { speaks_as_stdout: true, has_launcher: command == "launch", ..Quirks::default() },
        opened: None,
    })
}

/// A file, `-m module` or `-c code`, as `python` and `debugpy` both spell it.
fn what_to_run(target: &Target) -> Result<Vec<String>, Failure> {
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
    let mut arguments = target.for_adapter(ours);
    map_paths(target, &mut arguments)?;
    Ok(arguments)
}

fn map_paths(target: &Target, arguments: &mut Value) -> Result<(), Failure> {
    let pair = |there: &str, here: &str| json!({ "localRoot": here, "remoteRoot": there });
    target.map_paths(arguments, "pathMappings", pair)
}

/// The interpreter the user names, the project's own, or that of PATH; with a debugpy it can load.
fn find_python(target: &Target) -> Result<Python, Failure> {
    let mut looked = Vec::new();
    let interpreter = interpreter(target, &mut looked)?;
    let given = target.text("enginePath")?.map(|path| target.cwd.join(path));
    if given.is_none() && has_debugpy(&interpreter) {
        return Ok(Python { interpreter, debugpy: vec!["-m".into(), "debugpy".into()] });
    }
    let shown = interpreter.display().to_string();
    let install = format!("{shown} -m pip install debugpy");
    looked.push(format!("the modules of {shown}"));
    let found = match given {
        // Either the folder `debugpy` itself or the one it lies in.
        Some(given) => {
            let folder = if given.join("__main__.py").exists() { given } else { given.join("debugpy") };
            let place = format!("`enginePath` ({})", folder.display());
            folder.join("__main__.py").exists().then_some(folder).ok_or_else(|| {
                find::missing("debugpy", "the Python package `debugpy`", &[place])
                    .hint("`enginePath` is the folder of the package `debugpy`")
            })?
        }
        None => find::Search::new("debugpy", "the Python package `debugpy`", &install)
            .looked(looked)
            .in_extensions("ms-python.debugpy-", "bundled/libs/debugpy")
            .or_else(|| debugpy_of_path(target), "the modules of PATH's python3 and python")
            .end()?,
    };
    Ok(Python { interpreter, debugpy: vec![found.display().to_string()] })
}

fn interpreter(target: &Target, looked: &mut Vec<String>) -> Result<PathBuf, Failure> {
    let given = match target.attribute("python") {
        Value::Array(words) => words.first().and_then(Value::as_str),
        other => other.as_str(),
    };
    let path = target.variable("PATH").unwrap_or_default();
    if let Some(given) = given.filter(|given| !given.is_empty()) {
        let (found, looked) = if given.contains('/') {
            (target.file(given), format!("`python`, which begins in `{}`", target.cwd.display()))
        } else {
            (find::on_path(&path, given), format!("PATH ({path})"))
        };
        return found.ok_or_else(|| {
            find::missing("debugpy", &format!("the Python `{given}`"), &[looked])
                .hint("correct the attribute `python`, or leave it out to have one looked for")
        });
    }
    if let Some(python) = interpreter_of_command(&target.program) {
        return Ok(python);
    }
    for folder in target.environments() {
        // A virtual environment has its own marker; any other folder `env` is just a folder.
        let python = folder.join("bin/python");
        if python.is_file() && (folder.join("pyvenv.cfg").is_file() || folder.join("conda-meta").is_dir()) {
            return Ok(python);
        }
        // Another Python would run the program without the project's packages, and nobody would know why.
        if folder.join("pyvenv.cfg").is_file() && python.is_symlink() {
            return Err(broken(&folder, &python));
        }
    }
    looked.push("`.venv` and `venv` of the project".into());
    looked.push("PATH (python3, python)".into());
    find::on_path(&path, "python3").or_else(|| find::on_path(&path, "python")).ok_or_else(|| {
        find::missing("debugpy", "a Python", looked)
            .hint("install it: `apt-get install python3-venv`, then `python3 -m venv .venv`; or set `python`")
    })
}

/// A command like `pytest` belongs to the Python that its first line names: no other has its modules.
fn interpreter_of_command(program: &Path) -> Option<PathBuf> {
    if program.extension().is_some() {
        return None;
    }
    let words = find::first_line_words(program)?;
    let python = PathBuf::from(words.first()?);
    let is_python = python.file_name()?.to_string_lossy().starts_with("python");
    (is_python && find::is_executable(&python)).then_some(python)
}

/// The folder of a debugpy that another Python has: it is written in Python, and runs with each.
fn debugpy_of_path(target: &Target) -> Option<PathBuf> {
    let path = target.variable("PATH").unwrap_or_default();
    ["python3", "python"].into_iter().filter_map(|name| find::on_path(&path, name)).find_map(|python| {
        let code = "import importlib.util as u; print(u.find_spec('debugpy').submodule_search_locations[0])";
        let mut asked = Command::new(python);
        asked.args(["-c", code]).current_dir("/");
        let folder = PathBuf::from(command::first_line(asked)?);
        folder.join("__main__.py").exists().then_some(folder)
    })
}

/// A virtual environment whose Python was removed or replaced since.
fn broken(folder: &Path, python: &Path) -> Failure {
    let there = std::fs::read_link(python).unwrap_or_default();
    let message = format!(
        "the project's environment `{}` is broken: `{}` leads to `{}`, which is not there",
        folder.display(),
        python.display(),
        there.display()
    );
    Failure::new(ErrorCode::EngineNotFound, message).hint(format!(
        "make it anew: `python3 -m venv --clear {}`, then install its packages and `debugpy`; or set `python`",
        folder.display()
    ))
}

/// What a Python process runs that debugpy has put its own words or its own code before. `None` when it was not started with
/// any: a fork.
fn started_with(words: &[String]) -> Option<String> {
    if let Some(at) = words.iter().position(|word| word.ends_with("/pydevd.py")) {
        let mut rest = words.iter().skip(at).skip_while(|word| *word != "--file").skip(1);
        let file = rest.next()?;
        // A program that starts itself anew (Flask's reloader) starts debugpy as it was started.
        let program = if file == "debugpy" { behind_debugpy(rest) } else { None };
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
fn behind_debugpy<'a>(mut words: impl Iterator<Item = &'a String>) -> Option<&'a String> {
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

/// Asks the interpreter itself: only it knows where its modules are.
fn has_debugpy(interpreter: &Path) -> bool {
    let code = "import importlib.util,sys; sys.exit(importlib.util.find_spec('debugpy') is None)";
    let mut asked = Command::new(interpreter);
    asked.args(["-c", code]).current_dir("/");
    command::succeeds(asked)
}

fn strings(value: &Value) -> Vec<String> {
    value.as_array().into_iter().flatten().filter_map(|item| item.as_str().map(str::to_owned)).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_condition_that_failed_is_read_from_debugpys_own_words() {
        let told = "pydevd: Error while evaluating expression in conditional breakpoint: nope == 3\nTraceback (most \
                    recent call last):\n  File \"<string>\", line 1\nNameError: name 'nope' is not defined\n\n";
        let failed = Debugpy.failed_condition_in(told).unwrap();
        assert_eq!(failed.condition.as_deref(), Some("nope == 3"));
        assert_eq!(failed.reason, "NameError: name 'nope' is not defined");
        assert_eq!(Debugpy.failed_condition_in("NameError: mine\n"), None);
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
