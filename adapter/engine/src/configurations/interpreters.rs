//! Launches whose `program` is an interpreter, with the script among its arguments: `python3 main.py`. They
//! become launches of the script. Reads no file and starts nothing.

mod environment_tools;

use std::path::Path;

use serde_json::{Map, Value};
use tandem_wire::{ErrorCode, Failure};

use super::table::DebuggerFamily;
use environment_tools::ToolCommand;
pub use environment_tools::is_python;

/// The attributes of an engine for the parts of an interpreter's command line.
struct Interpreter {
    /// The names of the command, without a version.
    names: &'static [&'static str],
    /// The debugger of its scripts, if another has the configurations of its language too.
    family: Option<DebuggerFamily>,
    /// The attribute that names the command.
    command: Option<&'static str>,
    /// The attribute for its options.
    options: &'static str,
    /// Whether the engine would otherwise use the options of the script's first line, which do not apply to
    /// a script that its interpreter is started with.
    reads_first_line: bool,
    /// The meaning of a word before the script.
    read: fn(&str) -> Word<'_>,
}

impl Interpreter {
    /// The engine for its scripts; one without configurations of other debuggers has the command's name.
    fn engine(&self) -> &'static str {
        self.family.map(DebuggerFamily::engine).or(self.names.first().copied()).unwrap_or_default()
    }
}

/// A word of a command line.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Word<'a> {
    /// A script; the words after it are its arguments.
    Script,
    /// An option, which may have its value in the same word.
    Option,
    /// An option whose value is the next word.
    OptionWithValue,
    /// An option that replaces the script: the value of this attribute is the end of the word, or the next
    /// word if there is no end. Before it, the word may have other options.
    Attribute { name: &'static str, options: Option<&'a str>, value: &'a str },
    /// The next word is the script.
    End,
    /// An option that replaces the script by the next word, which the engine gets as an option, too.
    CodeOption,
    /// An option that replaces the script by code that the engine cannot debug, because no file has it.
    Code,
    /// An option that the engine has no attribute for, or without which no script runs.
    Other,
}

const INTERPRETERS: [Interpreter; 5] = [
    Interpreter {
        names: &["python"],
        family: Some(DebuggerFamily::Python),
        command: Some("python"),
        options: "pythonArgs",
        reads_first_line: false,
        read: read_python,
    },
    Interpreter {
        names: &["node", "nodejs"],
        family: Some(DebuggerFamily::Node),
        command: Some("runtimeExecutable"),
        options: "runtimeArgs",
        reads_first_line: false,
        read: read_node,
    },
    Interpreter {
        names: &["ruby"],
        family: Some(DebuggerFamily::Rdbg),
        command: None,
        options: "rubyArgs",
        reads_first_line: false,
        read: read_ruby,
    },
    Interpreter {
        names: &["bash", "sh", "dash"],
        family: None,
        command: None,
        options: "bashArgs",
        reads_first_line: true,
        read: read_shell,
    },
    Interpreter {
        names: &["perl"],
        family: None,
        command: None,
        options: "perlArgs",
        reads_first_line: false,
        read: read_perl,
    },
];

/// The parts of a command line, in the words of an engine.
struct CommandLine<'a> {
    /// `program`, `module` or `code`, and its value; `None` if the options have the code.
    what: Option<(&'static str, &'a str)>,
    options: Vec<Value>,
    args: Vec<Value>,
}

/// Makes the launch of an interpreter one of its script, which `engine` may not contradict. Returns a
/// sentence about it.
///
/// # Errors
/// `UNSUPPORTED` for a command line that the engine of its language cannot debug.
pub(super) fn launch_script(attributes: &mut Map<String, Value>) -> Result<Option<String>, Failure> {
    let Some(program) = attributes.get("program").and_then(Value::as_str).map(str::to_owned) else {
        return Ok(None);
    };
    let Some(words) = attributes.get("args").and_then(Value::as_array).cloned() else { return Ok(None) };
    let is_attach = ["processId", "processName", "connect"].iter().any(|key| attributes.contains_key(*key));
    let engine = attributes.get("engine").filter(|engine| !engine.is_null() && *engine != "auto").cloned();
    let contradicts =
        |interpreter: &Interpreter| engine.as_ref().is_some_and(|engine| *engine != interpreter.engine());
    let command = format!("{program} {}", shown(&words));
    if is_attach {
        return Ok(None);
    }
    if let Some(tool) = environment_tools::of_command(&program, &words) {
        if contradicts(python()) {
            return Ok(None);
        }
        let ToolCommand { python: words_of_python, program, words } = tool?;
        let Some(line) = (match program {
            Some(program) => Some(CommandLine::of_program(program, words)),
            None => split(python(), words),
        }) else {
            return Err(environment_tools::refusal(&command));
        };
        set_missing(attributes, "python", words_of_python.into());
        return Ok(Some(rewrite(attributes, python(), &command, line)));
    }
    let Some(interpreter) = INTERPRETERS.iter().find(|interpreter| is_named(interpreter, &program)) else {
        return Ok(None);
    };
    if contradicts(interpreter) {
        return Ok(None);
    }
    let without_debugger = attributes.get("noDebug").is_some_and(|without| *without == true);
    if !without_debugger && runs_code(interpreter, &words) {
        let message =
            format!("the engine `{}` cannot debug `{command}`: no file has this code", interpreter.engine());
        return Err(Failure::new(ErrorCode::Unsupported, message).hint(
            "write the code to a file, and name the file as `program`; or set `noDebug` to run it only",
        ));
    }
    let Some(line) = split(interpreter, &words) else { return Ok(None) };
    // A bare name means the interpreter that the engine finds: that of the project's virtual environment.
    if let Some(command) = interpreter.command
        && (program.contains('/') || program.contains('.'))
    {
        set_missing(attributes, command, program.into());
    }
    Ok(Some(rewrite(attributes, interpreter, &command, line)))
}

/// Makes the launch one of what the command line names. Returns a sentence about it.
fn rewrite(
    attributes: &mut Map<String, Value>,
    interpreter: &Interpreter,
    command: &str,
    line: CommandLine<'_>,
) -> String {
    let CommandLine { what, mut options, args } = line;
    let debugged = match what {
        Some((attribute, value)) => format!("{attribute} `{value}`"),
        None => "code".to_owned(),
    };
    let sentence =
        format!("`{command}` is debugged as {debugged}; to debug the interpreter itself, set `engine`");
    if what.is_none_or(|(attribute, _)| attribute != "program") {
        attributes.shift_remove("program");
    }
    if let Some((attribute, value)) = what {
        attributes.insert(attribute.into(), value.into());
    }
    attributes.insert("args".into(), args.into());
    attributes.insert("engine".into(), interpreter.engine().into());
    // A command runs where Tandem was started, not in the folder of its script.
    set_missing(attributes, "cwd", ".".into());
    if !options.is_empty() || interpreter.reads_first_line {
        if let Some(Value::Array(given)) = attributes.get_mut(interpreter.options) {
            options.splice(0..0, std::mem::take(given));
        }
        attributes.insert(interpreter.options.into(), options.into());
    }
    sentence
}

fn python() -> &'static Interpreter {
    let [python, ..] = &INTERPRETERS;
    python
}

fn set_missing(attributes: &mut Map<String, Value>, attribute: &str, value: Value) {
    let present = attributes.entry(attribute).or_insert(Value::Null);
    if present.is_null() {
        *present = value;
    }
}

/// Whether `program` is the command of an interpreter: a bare name, or a file in a folder `bin`. Any other
/// file may be a program that has this name by chance.
fn is_named(interpreter: &Interpreter, program: &str) -> bool {
    let path = Path::new(program);
    let Some(name) = path.file_name().and_then(|name| name.to_str()) else { return false };
    let is_command = !program.contains('/') || path.parent().is_some_and(|folder| folder.ends_with("bin"));
    let without_version = name.trim_end_matches(|letter: char| letter.is_ascii_digit() || letter == '.');
    is_command && interpreter.names.contains(&without_version)
}

impl<'a> CommandLine<'a> {
    /// A program and its arguments, without options of the interpreter.
    fn of_program(program: &'a str, args: &[Value]) -> Self {
        Self { what: Some(("program", program)), options: Vec::new(), args: args.to_vec() }
    }
}

/// Whether the command line has code that the engine cannot debug in the place of a script.
fn runs_code(interpreter: &Interpreter, words: &[Value]) -> bool {
    let mut left = words.iter().filter_map(Value::as_str);
    while let Some(word) = left.next() {
        match (interpreter.read)(word) {
            Word::Code => return true,
            Word::Option => {}
            Word::OptionWithValue => drop(left.next()),
            _ => return false,
        }
    }
    false
}

/// `None` if no script runs, or an option cannot be expressed.
fn split<'a>(interpreter: &Interpreter, words: &'a [Value]) -> Option<CommandLine<'a>> {
    let mut left = words.iter();
    let mut options = Vec::new();
    loop {
        let word = left.next()?.as_str()?;
        let what = match (interpreter.read)(word) {
            Word::Script => Some(("program", word)),
            Word::Attribute { name, options: before, value } => {
                options.extend(before.map(|before| format!("-{before}").into()));
                Some((name, if value.is_empty() { left.next()?.as_str()? } else { value }))
            }
            Word::End => Some(("program", left.next()?.as_str()?)),
            Word::CodeOption => {
                options.extend([word.into(), left.next()?.clone()]);
                None
            }
            Word::Option => {
                options.push(word.into());
                continue;
            }
            Word::OptionWithValue => {
                options.extend([word.into(), left.next()?.clone()]);
                continue;
            }
            Word::Code | Word::Other => return None,
        };
        return Some(CommandLine { what, options, args: left.cloned().collect() });
    }
}

/// The first words, for a message.
fn shown(words: &[Value]) -> String {
    const MAX_WORDS: usize = 8;
    let mut texts: Vec<&str> = words.iter().take(MAX_WORDS).filter_map(Value::as_str).collect();
    if words.len() > MAX_WORDS {
        texts.push("…");
    }
    texts.join(" ")
}

fn read_python(word: &str) -> Word<'_> {
    match word {
        "--check-hash-based-pycs" => Word::OptionWithValue,
        "-" => Word::Other,
        _ => word.strip_prefix('-').map_or(Word::Script, read_python_letters),
    }
}

/// The first letter that takes a value has the rest of the word.
fn read_python_letters(letters: &str) -> Word<'_> {
    for (index, letter) in letters.char_indices() {
        let value = letters.get(index + letter.len_utf8()..).unwrap_or_default();
        let options = letters.get(..index).filter(|before| !before.is_empty());
        match letter {
            'm' => return Word::Attribute { name: "module", options, value },
            'c' => return Word::Attribute { name: "code", options, value },
            'X' | 'W' if value.is_empty() => return Word::OptionWithValue,
            'X' | 'W' => return Word::Option,
            _ if "bBdEiIOPqRsSuvx".contains(letter) => {}
            _ => return Word::Other,
        }
    }
    Word::Option
}

fn read_node(word: &str) -> Word<'_> {
    match word {
        "--" => Word::End,
        "-r" | "--require" | "--import" | "--loader" | "--experimental-loader" | "-C" | "--conditions" => {
            Word::OptionWithValue
        }
        "-e" | "--eval" | "-p" | "--print" | "-pe" => Word::CodeOption,
        "inspect" | "--check" | "--interactive" | "--version" | "--help" | "--run" => Word::Other,
        _ if word.starts_with("--") => Word::Option,
        _ => read_other(word),
    }
}

fn read_ruby(word: &str) -> Word<'_> {
    let is_value_of =
        |options: &str| word.len() > 2 && word.chars().nth(1).is_some_and(|it| options.contains(it));
    match word {
        "-I"
        | "-r"
        | "-E"
        | "--enable"
        | "--disable"
        | "--encoding"
        | "--external-encoding"
        | "--internal-encoding"
        | "--backtrace-limit" => Word::OptionWithValue,
        "--" | "--version" | "--copyright" | "--help" | "--dump" => read_other(word),
        _ if word.starts_with("--dump=") => Word::Other,
        _ if word.starts_with("--") || word.starts_with('-') && is_value_of("IrEWK") => Word::Option,
        _ if has_letters(word, "dUvwW") => Word::Option,
        _ if names_code(word, "aldnpsSTUvwW", "e") => Word::Code,
        _ => read_other(word),
    }
}

/// Of `sh`, too, whose scripts bash runs. With `-s`, `-i` and `-n` bash does not run a script as it is.
fn read_shell(word: &str) -> Word<'_> {
    match word {
        "-o" | "+o" | "-O" | "+O" => Word::OptionWithValue,
        "--norc" | "--noprofile" | "--login" | "--posix" => Word::Option,
        _ if word.ends_with('o') && has_letters(word, "abefhklmptuvxBCEHPTo") => Word::OptionWithValue,
        _ if has_letters(word, "abefhklmptuvxBCEHPT") => Word::Option,
        _ if names_code(word, "abefhiklmnptuvxBCEHPT", "c") => Word::Code,
        _ => read_other(word),
    }
}

/// Whether a word is options of one letter each, followed by one of the letters before code.
fn names_code(word: &str, options: &str, code: &str) -> bool {
    let letters = word.strip_prefix('-').unwrap_or_default();
    letters.trim_start_matches(|letter| options.contains(letter)).starts_with(|letter| code.contains(letter))
}

/// Whether a word is options of one letter each, and these know them all.
fn has_letters(word: &str, known: &str) -> bool {
    let letters = word.strip_prefix(['-', '+']).unwrap_or_default();
    !letters.is_empty() && letters.chars().all(|letter| known.contains(letter))
}

fn read_perl(word: &str) -> Word<'_> {
    match word {
        "-I" => Word::OptionWithValue,
        "-w" | "-W" | "-X" | "-t" | "-T" => Word::Option,
        _ if word.starts_with("-I") => Word::Option,
        _ if word.len() > 2 && (word.starts_with("-M") || word.starts_with("-m")) => Word::Option,
        _ if names_code(word, "aclnpsStTuUvwWX", "eE") => Word::Code,
        _ => read_other(word),
    }
}

fn read_other(word: &str) -> Word<'_> {
    match word {
        "--" => Word::End,
        _ if word.starts_with('-') => Word::Other,
        _ => Word::Script,
    }
}

#[cfg(test)]
mod tests;
