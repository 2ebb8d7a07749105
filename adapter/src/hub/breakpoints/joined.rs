//! One condition that holds where any of several holds or fails, in the language of an engine that keeps one breakpoint per
//! spot: the engine then stops only there, and the hub finds out which of them it was.
//!
//! A condition that fails counts as one that holds: the hub evaluates it again, and says why it failed. One that is no
//! expression must not take away the others' breakpoint. In Python each is a text that the joined one evaluates; elsewhere the
//! engine is told what was joined, and where it finds that one of them cannot be read it stops each time.

use serde_json::json;

/// Only a statement can catch what a condition raises. It is compiled once and kept in a module of debugpy's, as this runs
/// each time the program comes by; `eval` looks names up as debugpy itself does.
const PYTHON: &str = r"(lambda d, g, l: (d.get('tandem_holds') or (exec('''
def tandem_holds(conditions, g, l, known={}):
 for condition in conditions:
  try:
   if condition not in known: known[condition] = compile(condition, '<condition>', 'eval')
   if eval(known[condition], g, l): return True
  except Exception: return True
 return False''', d) or d['tandem_holds']))(CONDITIONS, g, l))(__import__('_pydevd_bundle').__dict__, globals(), locals())";

/// How an engine is asked for any of several conditions.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Joining {
    /// It is not: it stops each time, and the hub judges.
    Never,
    /// Python, where debugpy runs on past a condition that fails.
    Python,
    /// JavaScript, where Node runs on past a condition that fails. Not with `eval`: each would be a new script, which Node tells
    /// its debugger about.
    JavaScript,
    /// Ruby, where rdbg runs on past a condition that fails.
    Ruby,
    /// What LLDB, GDB and Delve read (C, C++, Rust, Go), which stop at a condition that fails.
    Native,
}

impl Joining {
    /// By the engine's name.
    pub fn of(engine: &str) -> Self {
        match engine {
            "debugpy" => Self::Python,
            "js" => Self::JavaScript,
            "rdbg" => Self::Ruby,
            "lldb" | "gdb" | "delve" => Self::Native,
            _ => Self::Never,
        }
    }

    /// The joined condition; `None` where it cannot be one.
    pub(super) fn any_of(self, conditions: &[&str]) -> Option<String> {
        match self {
            Self::Never => None,
            Self::Python => Some(PYTHON.replace("CONDITIONS", &json!(conditions).to_string())),
            // A comment ends with its line.
            Self::JavaScript => Some(either(conditions, |condition| {
                format!("(() => {{ try {{ return ({condition}\n); }} catch {{ return true; }} }})()")
            })),
            Self::Ruby => Some(either(conditions, |condition| {
                format!("(begin; ({condition}\n); rescue Exception; true; end)")
            })),
            Self::Native => {
                // A comment would hide what is behind it.
                let whole = |condition: &&str| !["//", "/*", "\n"].iter().any(|odd| condition.contains(odd));
                let all = conditions.iter().all(whole);
                all.then(|| either(conditions, |condition| format!("({condition})")))
            }
        }
    }
}

fn either(conditions: &[&str], each: impl Fn(&str) -> String) -> String {
    conditions.iter().map(|condition| each(condition)).collect::<Vec<_>>().join(" || ")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn conditions_that_cannot_be_joined_are_not() {
        for engine in ["lldb", "gdb", "delve"] {
            assert_eq!(Joining::of(engine).any_of(&["a", "b"]).as_deref(), Some("(a) || (b)"));
            assert_eq!(Joining::of(engine).any_of(&["a // first", "b"]), None);
        }
        for engine in ["bash", "coreclr", "an adapter of somebody's"] {
            assert_eq!(Joining::of(engine).any_of(&["a", "b"]), None, "{engine}");
        }
    }

    #[test]
    fn a_comment_does_not_hide_the_other_conditions() {
        let python = Joining::of("debugpy").any_of(&["name == \"it's\" # \\"]).unwrap_or_default();
        assert!(python.contains(r##"["name == \"it's\" # \\"]"##), "{python}");
        for engine in ["js", "rdbg"] {
            let joined = Joining::of(engine).any_of(&["a // #", "b"]).unwrap_or_default();
            assert!(joined.contains("(a // #\n)"), "{joined}");
        }
    }
}
