//! Hints for expressions that are not understood: they are C# in code of every language, and not statements.
//! Evaluates none ([`super::request`]).

use std::path::Path;

use tandem_wire::{ErrorCode, Failure};

use crate::func_eval::EvalContext;
use crate::stop_context::StopContext;

/// Words with which statements and declarations begin, and no expression but one with a dot behind the word.
const STATEMENTS: [&str; 33] = [
    "bool", "break", "byte", "char", "const", "continue", "decimal", "do", "double", "fixed", "float", "for",
    "foreach", "goto", "if", "int", "lock", "long", "nint", "object", "return", "sbyte", "short", "string",
    "try", "uint", "ulong", "ushort", "using", "var", "void", "while", "yield",
];

/// Adds a hint to a failure of the compiler or the binder.
pub(super) fn with_hint(stop: StopContext<'_>, failure: Failure, text: &str, site: &EvalContext) -> Failure {
    let is_diagnostic = failure.code == ErrorCode::EvaluationFailed && failure.message.starts_with("CS");
    if !is_diagnostic || failure.hint.is_some() {
        return failure;
    }
    match language_at(stop, site) {
        Some(language) => failure.hint(format!("write the expression in C#, also in {language} code")),
        None if is_statement(text) => {
            failure.hint("evaluate an expression: statements and declarations are not supported")
        }
        None => failure,
    }
}

/// The language of a frame's code, unless that is C#.
fn language_at(stop: StopContext<'_>, site: &EvalContext) -> Option<&'static str> {
    let (loaded, method, il) = stop.place_at(site.thread, site.frame)?;
    let pdb = loaded.pdb.as_ref().ok()?;
    language_of(pdb.document(pdb.point_at(method, il)?.document))
}

/// The language of a source file, by its extension.
fn language_of(path: &str) -> Option<&'static str> {
    match Path::new(path).extension()?.to_str()?.to_ascii_lowercase().as_str() {
        "vb" => Some("Visual Basic"),
        "fs" | "fsx" => Some("F#"),
        _ => None,
    }
}

/// Whether a text begins like a statement or a declaration: with a keyword, or with a type before a name.
fn is_statement(text: &str) -> bool {
    let end = text.find(|letter: char| !letter.is_alphanumeric()).unwrap_or(text.len());
    let (word, after) = text.split_at(end);
    STATEMENTS.contains(&word) && !after.starts_with(['.', '?'])
}

#[cfg(test)]
mod tests {
    use super::{is_statement, language_of};

    #[test]
    fn sources_of_other_languages_are_recognized() {
        assert_eq!(language_of("/src/My.Module.VB"), Some("Visual Basic"));
        assert_eq!(language_of("/src/a.fs"), Some("F#"));
        assert_eq!((language_of("/src/a.cs"), language_of("fs")), (None, None));
    }

    #[test]
    fn statements_and_declarations_are_recognized() {
        for text in ["var x = 3", "int n = 3; n", "if (true) n = 1;", "foreach (var x in list) { }", "return"]
        {
            assert!(is_statement(text), "{text}");
        }
        for text in
            ["int.Parse(text)", "new Order()", "variable", "string.Empty", "(int)x", "checked(1 + n)", ""]
        {
            assert!(!is_statement(text), "{text}");
        }
    }
}
