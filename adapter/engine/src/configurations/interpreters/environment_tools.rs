//! Tools that run a command in the Python environment of a project: `uv run main.py`, `poetry run pytest`.
//! The engine asks the tool for the interpreter. Not here: the command line of that interpreter ([`super`]).

use std::path::Path;

use serde_json::Value;
use tandem_wire::{ErrorCode, Failure};

/// A tool and the options of its command `run`.
struct EnvironmentTool {
    name: &'static str,
    /// Options with a value in the next word.
    with_value: &'static [&'static str],
    /// Options without a value.
    plain: &'static [&'static str],
    /// It runs files that end in `.py`, and `-m MODULE`, without the word `python`.
    runs_scripts: bool,
}

const NO_OPTIONS: EnvironmentTool =
    EnvironmentTool { name: "", with_value: &[], plain: &[], runs_scripts: false };

const TOOLS: [EnvironmentTool; 8] = [
    EnvironmentTool {
        name: "uv",
        with_value: &[
            "--with",
            "-w",
            "--with-editable",
            "--with-requirements",
            "--python",
            "-p",
            "--extra",
            "--group",
            "--no-group",
            "--only-group",
            "--project",
            "--package",
            "--index",
            "--index-url",
            "--find-links",
        ],
        plain: &[
            "--quiet",
            "-q",
            "--frozen",
            "--locked",
            "--no-sync",
            "--isolated",
            "--active",
            "--exact",
            "--no-project",
            "--all-extras",
            "--all-groups",
            "--all-packages",
            "--dev",
            "--no-dev",
            "--only-dev",
            "--no-default-groups",
            "--offline",
            "--no-cache",
            "--managed-python",
            "--no-managed-python",
            "--script",
        ],
        runs_scripts: true,
    },
    EnvironmentTool { name: "poetry", ..NO_OPTIONS },
    EnvironmentTool { name: "pipenv", ..NO_OPTIONS },
    EnvironmentTool { name: "pdm", plain: &["-s", "--site-packages"], runs_scripts: true, ..NO_OPTIONS },
    EnvironmentTool { name: "rye", ..NO_OPTIONS },
    EnvironmentTool { name: "conda", ..CONDA },
    EnvironmentTool { name: "mamba", ..CONDA },
    EnvironmentTool { name: "micromamba", ..CONDA },
];

const CONDA: EnvironmentTool = EnvironmentTool {
    with_value: &["-n", "--name", "-p", "--prefix"],
    plain: &["--no-capture-output", "--live-stream"],
    ..NO_OPTIONS
};

/// The program that a tool runs, and the command of its interpreter.
pub(super) struct ToolCommand<'a> {
    /// The command that starts the interpreter.
    pub(super) python: Vec<Value>,
    /// A script or a command of the environment; without it, `words` are those of the interpreter.
    pub(super) program: Option<&'a str>,
    pub(super) words: &'a [Value],
}

/// `None` if the program is not a tool that is to run a command.
pub(super) fn of_command<'a>(program: &str, words: &'a [Value]) -> Option<Result<ToolCommand<'a>, Failure>> {
    let name = Path::new(program).file_name()?.to_str()?;
    let tool = TOOLS.iter().find(|tool| tool.name == name)?;
    let (run, rest) = words.split_first()?;
    if run != "run" {
        return None;
    }
    let refused = || refusal(&format!("{program} run {}", super::shown(rest)));
    Some(read(tool, program, rest).ok_or_else(refused))
}

/// The error for a command that does not run Python, or has an option that may change the environment.
pub(super) fn refusal(command: &str) -> Failure {
    let message = format!("Tandem cannot find the Python program in `{command}`");
    Failure::new(ErrorCode::Unsupported, message).hint(
        "name the script as `program`, and set `python` to the command that starts its interpreter, such as \
         `[\"uv\", \"run\", \"python\"]`",
    )
}

fn read<'a>(tool: &EnvironmentTool, program: &str, words: &'a [Value]) -> Option<ToolCommand<'a>> {
    let mut python: Vec<Value> = vec![program.into(), "run".into()];
    let mut rest = words;
    loop {
        let (first, after) = rest.split_first()?;
        let word = first.as_str()?;
        let (name, inline) = word.split_once('=').map_or((word, false), |(name, _)| (name, true));
        if tool.with_value.contains(&name) {
            python.push(first.clone());
            rest = after;
            if !inline {
                let (value, after) = rest.split_first()?;
                python.push(value.clone());
                rest = after;
            }
            continue;
        }
        let is_module = tool.runs_scripts && word == "-m";
        if word == "--" {
            rest = after;
            continue;
        }
        if !is_module && word.starts_with('-') {
            if !tool.plain.contains(&word) {
                return None;
            }
            // The engine finds the packages that a script names by itself.
            if word != "--script" {
                python.push(first.clone());
            }
            rest = after;
            continue;
        }
        python.push("python".into());
        return Some(match word {
            _ if is_module => ToolCommand { python, program: None, words: rest },
            _ if is_python(word) => {
                if let Some(last) = python.last_mut() {
                    *last = first.clone();
                }
                ToolCommand { python, program: None, words: after }
            }
            _ if is_script(word) && !tool.runs_scripts => return None,
            // A path may lead to any program.
            _ if word.contains('/') && !is_script(word) => return None,
            _ => ToolCommand { python, program: Some(word), words: after },
        });
    }
}

/// Whether a word is the name of a Python interpreter, such as `python3.12`.
pub fn is_python(word: &str) -> bool {
    let version = word.strip_prefix("python");
    version.is_some_and(|version| version.chars().all(|letter| letter.is_ascii_digit() || letter == '.'))
}

fn is_script(word: &str) -> bool {
    Path::new(word).extension().is_some_and(|ending| ending == "py" || ending == "pyw" || ending == "pyz")
}
