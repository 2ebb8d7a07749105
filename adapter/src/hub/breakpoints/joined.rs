//! One condition that holds where any of several holds or fails, in the language of an engine that keeps one breakpoint per
//! spot: the engine then stops only there, and the hub finds out which of them it was.
//!
//! Each condition is a text that the joined one evaluates, so one with a comment or a mistake does not change the others. A
//! condition that fails counts as one that holds: the hub evaluates it again, and says why it failed.
//!
//! Not here: engines that refuse a breakpoint whose condition they cannot read (GDB, Delve). With a joined condition one
//! owner's mistake would take away the others' breakpoint.

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
    /// JavaScript, where Node runs on past a condition that fails.
    JavaScript,
    /// C, C++ and Rust as LLDB reads them, which stops at a condition that fails.
    Lldb,
}

impl Joining {
    /// By the engine's name.
    pub fn of(engine: &str) -> Self {
        match engine {
            "debugpy" => Self::Python,
            "js" => Self::JavaScript,
            "lldb" => Self::Lldb,
            _ => Self::Never,
        }
    }

    /// The joined condition; `None` where it cannot be one.
    pub(super) fn any_of(self, conditions: &[&str]) -> Option<String> {
        match self {
            Self::Never => None,
            Self::Python => Some(PYTHON.replace("CONDITIONS", &json!(conditions).to_string())),
            Self::JavaScript => {
                let each = |condition: &&str| {
                    format!(
                        "(() => {{ try {{ return eval({}) }} catch {{ return true }} }})()",
                        json!(condition)
                    )
                };
                Some(conditions.iter().map(each).collect::<Vec<_>>().join(" || "))
            }
            Self::Lldb => {
                // A comment would hide what is behind it.
                let whole = |condition: &&str| !["//", "/*", "\n"].iter().any(|odd| condition.contains(odd));
                let each = |condition: &&str| format!("({condition})");
                let all = conditions.iter().all(whole);
                all.then(|| conditions.iter().map(each).collect::<Vec<_>>().join(" || "))
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn conditions_that_cannot_be_joined_are_not() {
        assert_eq!(Joining::of("lldb").any_of(&["a", "b"]).as_deref(), Some("(a) || (b)"));
        assert_eq!(Joining::of("lldb").any_of(&["a // first", "b"]), None);
        for engine in ["gdb", "delve", "coreclr", "an adapter of somebody's"] {
            assert_eq!(Joining::of(engine).any_of(&["a", "b"]), None, "{engine}");
        }
    }

    #[test]
    fn a_condition_is_a_text_of_its_own() {
        let odd = "name == \"it's\" # \\";
        let joined = Joining::of("js").any_of(&[odd]).unwrap_or_default();
        assert!(joined.contains(r##"eval("name == \"it's\" # \\")"##), "{joined}");
    }
}
