//! Shell scripts through bash-dap (a Python package): it asks us to start the program, which
//! `session/reverse.rs` does. Not here: options of bash ([`options`]).

mod options;

use std::process::Command;

use serde_json::Value;
use tandem_wire::types::{self, EvaluateArguments, VariablesResponseBody};
use tandem_wire::{ErrorCode, Failure};

use super::super::adapter_attributes::AdapterAttributes;
use super::super::find::{self, AdapterSearch};
use super::super::launch_plan::{LaunchPlan, ProgramIo, Quirks, Transport};
use super::super::profile::{ConditionProfile, IdlePause, Profile};
use super::super::target::Target;
use tandem_engine::LookOnlyRequests;
use tandem_engine::condition_language::ConditionLanguage;
use tandem_engine::description::{Description, EditorLanguage, Recognition};
use tandem_process::SpawnSpec;

/// What Python runs instead of the module itself.
const ADAPTER: &str = include_str!("bash/adapter.py");

/// Metadata of bash-debug, known without starting it.
const DESCRIPTION: Description = Description {
    name: "bash",
    languages: "shell scripts",
    summary: "Shell scripts: bash-dap.",
    needs: "the Python package `bash-dap`",
    stdio: "the adapter asks Tandem to start the program",
    recognition: Recognition {
        extensions: &["sh", "bash"],
        interpreters: &["sh", "bash", "dash"],
        ..Recognition::NONE
    },
    editor_languages: &[EditorLanguage {
        id: "shellscript",
        name: "Shell",
        projects: &[],
        endings: &["sh"],
        runs_files: true,
    }],
    ..Description::NONE
};

/// How Tandem launches bash-dap, and where it differs from other adapters.
pub(super) struct Bash;

impl Profile for Bash {
    fn description(&self) -> &'static Description {
        &DESCRIPTION
    }

    /// It evaluates in the shell itself.
    fn look_only_requests(&self) -> LookOnlyRequests {
        LookOnlyRequests::Known(&[])
    }

    fn is_in_the_program(&self) -> bool {
        true
    }

    /// It stops between two commands.
    fn idle_pause(&self) -> IdlePause {
        IdlePause::Deferred("it is executing a command, and bash stops only between commands")
    }

    /// Its adapter expands an expression that is not a name as bare words, and joins the words that come of
    /// it without what was between them: in quotes it stays one word.
    fn adapt_request(&self, command: &str, arguments: &mut Value) {
        if command == "evaluate" {
            types::edit(arguments, |evaluate: &mut EvaluateArguments| {
                if let Some(quoted) = quote(&evaluate.expression) {
                    evaluate.expression = quoted;
                }
            });
        }
    }

    /// Of an array, its expression for a variable is the first element; the name alone opens to all.
    fn adapt_incoming(&self, what: &str, body: &mut Value) {
        if what != "variables" {
            return;
        }
        let mut answer: VariablesResponseBody = types::read(body);
        for row in answer.variables.iter_mut().filter(|row| row.variables_reference > 0) {
            row.evaluate_name = Some(row.name.clone());
        }
        *body = types::body(&answer);
    }

    /// The adapter expands an expression in a subshell, so what it assigns there is lost.
    fn refusal_of_evaluation(&self, expression: &str) -> Option<Failure> {
        if expression.trim().contains(['\n', '\r']) {
            // The shell would take the second line for a command of its debugger, such as one that resumes.
            let message = "cannot evaluate several lines: bash-dap reads an expression as one line";
            let hint = "evaluate each line by itself, or separate commands with `;`";
            return Some(Failure::new(ErrorCode::EvaluationFailed, message).hint(hint).quiet());
        }
        assigns(expression).then(|| {
            let message = format!(
                "cannot assign with `{expression}`: bash-dap expands expressions in a subshell, so the \
                 script would not see the value"
            );
            Failure::new(ErrorCode::EvaluationFailed, message)
                .hint("set the value in the script, or pass it with `env` at the launch")
                .quiet()
        })
    }

    /// That of its package, which the adapter does not print.
    fn version(&self, target: &Target) -> Option<String> {
        let mut query =
            Command::new(self.launch(target).ok().filter(|plan| !plan.spec.args.is_empty())?.spec.program);
        query.args(["-c", "import importlib.metadata; print(importlib.metadata.version('bash-dap'))"]);
        find::printed_version(query)
    }

    fn launch(&self, target: &Target) -> Result<LaunchPlan, Failure> {
        let ours = AdapterAttributes {
            program: Some(target.existing_program()?),
            cwd: Some(&target.cwd),
            console: Some("integratedTerminal"),
            ..AdapterAttributes::default()
        };
        let own = target.project_folders().into_iter().map(|folder| folder.join(".venv/bin/bash-dap"));
        let adapter = AdapterSearch::new("bash", "`bash-dap`", "pip install bash-dap")
            .with_engine_path(target)?
            .files(own.collect(), "`.venv` of the project")
            .on_path(target, &["bash-dap"])
            .end()?;
        // `enginePath` may also be a Python that has the package.
        let is_python = adapter.file_name().is_some_and(|name| name.to_string_lossy().starts_with("python"));
        let python = if is_python { Some(adapter.clone()) } else { find::python_of_command(&adapter) };
        let args = match &python {
            Some(_) => {
                vec![
                    "-c".into(),
                    ADAPTER.into(),
                    options::startup(target).into(),
                    options::settings(target)?.into(),
                ]
            }
            None => Vec::new(),
        };
        let program_of_adapter = python.unwrap_or(adapter);
        Ok(LaunchPlan {
            spec: SpawnSpec {
                program: program_of_adapter,
                args,
                cwd: target.cwd.clone(),
                ..SpawnSpec::default()
            },
            transport: Transport::Stdio,
            program_io: ProgramIo::Terminal,
            adapter_id: "bashdap".into(),
            command: "launch",
            arguments: target.for_adapter(ours.into_value()),
            launched: true,
            // Its folder of pipes for the program.
            quirks: Quirks { leaves_temp_files: true, ..Quirks::default() },
            opened: None,
        })
    }
}

/// The commands that stop a program where one of its conditions holds. A value shows no status, so the
/// condition is asked for a text where it succeeds.
const COMMANDS: ConditionLanguage = ConditionLanguage {
    name: "bash",
    query: |condition| {
        let command = condition.trim().trim_end_matches(';');
        format!("$( if {{ {command}; }} </dev/null >/dev/null 2>&1; then printf 1; fi )")
    },
    ..ConditionLanguage::OTHER
};

impl ConditionProfile for Bash {
    fn condition_language(&self) -> ConditionLanguage {
        COMMANDS
    }

    /// A condition is a command: one that fails does not hold, as in `if`.
    fn syntax_check(&self, target: &Target, condition: &str) -> Option<Command> {
        let bash = find::on_path(&target.variable("PATH").unwrap_or_default(), "bash")?;
        let mut command = Command::new(bash);
        command.env_remove("BASH_ENV").args(["--norc", "-n", "-c", condition]);
        Some(command)
    }
}

/// The expansion in double quotes; `None` if the expression contains quotes: its author
/// decided how it splits. Those around the key of one element decide nothing.
fn quote(expression: &str) -> Option<String> {
    let expression = expression.trim();
    let is_plain = |text: &str| !text.contains(['"', '\'', '`', '\\']);
    let plain = expression.contains('$') && (is_plain(expression) || is_element(expression, is_plain));
    // All elements are one word with `*`, and one each with `@`.
    plain.then(|| format!("\"{}\"", expression.replace("[@]}", "[*]}")))
}

/// Whether an expression is one element with a quoted key, such as `${map["b c"]}`.
fn is_element(expression: &str, is_plain: impl Fn(&str) -> bool) -> bool {
    let element = || {
        let (name, rest) = expression.strip_prefix("${")?.split_once('[')?;
        let (key, end) = rest.rsplit_once(']')?;
        let inner = key
            .strip_prefix('"')
            .and_then(|key| key.strip_suffix('"'))
            .or_else(|| key.strip_prefix('\'').and_then(|key| key.strip_suffix('\'')))?;
        Some(end == "}" && is_plain(name) && is_plain(inner))
    };
    element().unwrap_or_default()
}

/// Whether an expression assigns: `n=5`, `list[1]+=x`, `$((n++))`, `((n = 5))`, `${n:=5}`.
fn assigns(expression: &str) -> bool {
    let expression = expression.trim();
    let is_name = |text: &str| {
        text.starts_with(|first: char| first.is_ascii_alphabetic() || first == '_')
            && text.chars().all(|one| one.is_ascii_alphanumeric() || one == '_')
    };
    let arithmetic = expression.strip_prefix('$').unwrap_or(expression).strip_prefix("((");
    if let Some(inner) = arithmetic.and_then(|rest| rest.strip_suffix("))")) {
        return has_assignment(inner);
    }
    if let Some(inner) = expression.strip_prefix("${").and_then(|rest| rest.strip_suffix('}')) {
        let parts = inner.split_once('=').map(|(name, _)| name.strip_suffix(':').unwrap_or(name));
        return parts.is_some_and(is_name);
    }
    let Some((target, _)) = expression.split_once('=') else { return false };
    let target = target.strip_suffix('+').unwrap_or(target);
    is_name(target) || target.split_once('[').is_some_and(|(name, key)| is_name(name) && key.ends_with(']'))
}

/// Whether an arithmetic expression changes a variable.
fn has_assignment(arithmetic: &str) -> bool {
    let rest = ["==", "!=", "<=", ">="]
        .iter()
        .fold(arithmetic.replace("<<=", "="), |text, comparison| text.replace(comparison, " "));
    rest.contains('=') || rest.contains("++") || rest.contains("--")
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn an_expansion_is_one_word() {
        for (expression, expected) in [
            ("$todo", Some("\"$todo\"")),
            ("${#todo}", Some("\"${#todo}\"")),
            ("${list[@]}", Some("\"${list[*]}\"")),
            (" $a and $b ", Some("\"$a and $b\"")),
            ("$((1 + 2))", Some("\"$((1 + 2))\"")),
            ("todo", None),
            ("\"$todo\"", None),
            ("${todo:-'none'}", None),
            ("${map[\"b c\"]}", Some("\"${map[\"b c\"]}\"")),
            ("${map['b c']}", Some("\"${map['b c']}\"")),
            ("${map[\"b\"]:-'none'}", None),
            ("${map[\"a\"]} ${map[\"b\"]}", None),
        ] {
            assert_eq!(quote(expression).as_deref(), expected, "{expression}");
        }
    }

    #[test]
    fn an_assignment_is_refused() {
        for expression in [
            "n=50",
            "n+=1",
            " n= ",
            "list[0]=x",
            "map[\"b c\"]=x",
            "$((n = 5))",
            "((n++))",
            "$((n+=1))",
            "$((n <<= 2))",
            "${n:=5}",
            "${n=5}",
        ] {
            assert!(Bash.refusal_of_evaluation(expression).is_some(), "{expression}");
        }
        for expression in [
            "n",
            "$n",
            "$n=5",
            "a b=c",
            "$((n == 5))",
            "$((n <= 5 && n >= 1 || n != 3))",
            "${n:-a=b}",
            "${n#a=}",
            "\"n=50\"",
            "--flag=1",
            "$(env A=b true)",
            &(COMMANDS.query)("[[ $n == 5 ]]"),
            &(COMMANDS.query)("(( n == 5 ))"),
            "$((1 << 2))",
        ] {
            assert!(Bash.refusal_of_evaluation(expression).is_none(), "{expression}");
        }
    }

    #[test]
    fn an_expression_of_several_lines_reaches_no_debugger_in_the_shell() {
        assert!(Bash.refusal_of_evaluation("$n\nrun").is_some());
        assert!(Bash.refusal_of_evaluation("$n\n").is_none());
    }

    #[test]
    fn a_condition_has_a_text_where_its_command_succeeds() {
        let shell = |expression: &str| {
            let script = format!("n=5; printf '%s' {}", quote(expression).as_deref().unwrap_or(expression));
            let output = Command::new("bash").args(["--norc", "-c", &script]).output().unwrap();
            String::from_utf8(output.stdout).unwrap()
        };
        for (condition, holds) in [
            ("[[ $n == 5 ]]", true),
            ("[ \"$n\" = 6 ]", false),
            ("(( n == 5 ));", true),
            ("echo 0", true),
            ("no_such_command", false),
            ("true && ! false", true),
        ] {
            assert_eq!(COMMANDS.is_true(&shell(&(COMMANDS.query)(condition))), holds, "{condition}");
        }
    }

    #[test]
    fn the_name_of_an_array_opens_it() {
        let mut body = json!({ "variables": [
            { "name": "list", "value": "(1 2)", "evaluateName": "$list", "variablesReference": 3 },
            { "name": "n", "value": "1", "evaluateName": "$n", "variablesReference": 0 },
        ] });
        Bash.adapt_incoming("variables", &mut body);
        let answer: VariablesResponseBody = types::read(&body);
        let names: Vec<_> = answer.variables.into_iter().filter_map(|row| row.evaluate_name).collect();
        assert_eq!(names, ["list", "$n"]);
    }
}
