//! Names of the modules that Tandem loads into the program for expressions. Loads none of them
//! ([`crate::compiled`]).

use std::path::Path;

/// Name of the assembly that loads the others.
pub(crate) const LOADER: &str = "TandemLoader";
/// Prefix of the names of expressions' assemblies, before their numbers.
pub(crate) const EXPRESSION: &str = "TandemExpression";

/// Whether a module was loaded for an expression, and is therefore not part of the user's program.
pub(crate) fn is_injected(module: &Path) -> bool {
    let name = module.to_string_lossy();
    let number = name.strip_prefix(EXPRESSION);
    name == LOADER || number.is_some_and(|number| number.bytes().all(|digit| digit.is_ascii_digit()))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn injected_modules_are_recognised_by_their_names() {
        for ours in ["TandemLoader", "TandemExpression1", "TandemExpression4711"] {
            assert!(is_injected(Path::new(ours)), "{ours}");
        }
        for other in ["TandemExpressions.dll", "/app/TandemLoader", "TandemExpression1.dll", "System.Linq"] {
            assert!(!is_injected(Path::new(other)), "{other}");
        }
    }
}
