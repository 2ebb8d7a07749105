//! Conditions of breakpoints in Python: debugpy continues past one that fails, and prints why. Not here: the
//! rest of its profile ([`super`]).

use std::process::Command;

use serde_json::Value;

use super::{Debugpy, interpreter};
use crate::profile::ConditionProfile;
use crate::target::Target;
use tandem_engine::FailedCondition;
use tandem_engine::condition_language::ConditionLanguage;

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
    combine: |conditions| Some(ANY_OF.replace("CONDITIONS", &Value::from(conditions).to_string())),
    ..ConditionLanguage::OTHER
};

impl ConditionProfile for Debugpy {
    fn condition_language(&self) -> ConditionLanguage {
        PYTHON
    }

    fn syntax_check(&self, target: &Target, condition: &str) -> Option<Command> {
        let mut python = Command::new(interpreter::find(target, &mut Vec::new()).ok()?);
        let check = "import sys\ntry: compile(sys.argv[1].lstrip(' \\t'), '<condition>', 'eval')\n\
                     except (SyntaxError, ValueError) as wrong: print(type(wrong).__name__ + ':', wrong)";
        python.args(["-I", "-S", "-c", check, condition]);
        Some(python)
    }

    fn failed_condition_in(&self, output: &str) -> Option<FailedCondition> {
        let report =
            output.strip_prefix("pydevd: Error while evaluating expression in conditional breakpoint: ")?;
        let (condition, trace) = report.split_once('\n')?;
        let reason = trace.lines().rev().find(|line| !line.trim().is_empty())?.to_owned();
        let inner = condition.strip_prefix(SCOPED.0).and_then(|rest| rest.strip_suffix(SCOPED.1));
        let inner = inner.and_then(|text| serde_json::from_str(text).ok());
        let condition = Some(inner.unwrap_or_else(|| condition.to_owned()));
        Some(FailedCondition { condition, reason, ..FailedCondition::default() })
    }

    fn guarded_condition(&self, condition: &str) -> String {
        let mut words = condition.split(|c: char| !c.is_alphanumeric() && c != '_');
        if !words.any(|word| word == "for" || word == "lambda") {
            return condition.to_owned();
        }
        // A string of JSON is one of Python.
        format!("{}{}{}", SCOPED.0, Value::from(condition.trim_start_matches([' ', '\t'])), SCOPED.1)
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn a_comment_does_not_hide_the_other_conditions() {
        let python = PYTHON.any_of(&["name == \"it's\" # \\"]).unwrap_or_default();
        assert!(python.contains(r##"["name == \"it's\" # \\"]"##), "{python}");
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
}
