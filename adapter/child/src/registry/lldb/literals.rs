//! Literals of C and Rust in assignments. lldb reads an assigned text as a number, also for a character or a
//! truth value. Not here: the values of expressions, which are evaluated first ([`super`]).

/// Whether it is a number, a character, a string or a truth value as C and Rust write them.
pub(super) fn is_literal(text: &str) -> bool {
    let text = text.trim();
    let number = text.strip_prefix(['-', '+']).unwrap_or(text);
    number.starts_with(|first: char| first.is_ascii_digit() || first == '.')
        && number.chars().all(|letter| letter.is_ascii_alphanumeric() || letter == '.')
        || text.parse::<f64>().is_ok()
        || text.starts_with(['"', '\''])
        || matches!(text, "true" | "false" | "")
}

/// The number that a character or a truth value of C or Rust means.
pub(super) fn number_of(literal: &str) -> Option<u32> {
    match literal.trim() {
        "false" => Some(0),
        "true" => Some(1),
        literal => character(literal).map(u32::from),
    }
}

/// The character that a literal of C or Rust means.
fn character(literal: &str) -> Option<char> {
    let inner = literal.strip_prefix('\'')?.strip_suffix('\'')?;
    let mut rest = inner.chars();
    match (rest.next()?, rest.as_str()) {
        ('\\', escape) => match escape {
            "n" => Some('\n'),
            "t" => Some('\t'),
            "r" => Some('\r'),
            "0" => Some('\0'),
            "\\" | "'" | "\"" => escape.chars().next(),
            _ => char::from_u32(u32::from_str_radix(escape.strip_prefix('x')?, 16).ok()?),
        },
        (character, "") if character != '\'' => Some(character),
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_expressions_are_evaluated_before_they_are_assigned() {
        for literal in ["7", " -12", "0x1F", "2.5e3", "1e-3", "12ul", ".5", "'k'", "\"a b\"", "true", "nan"] {
            assert!(is_literal(literal), "{literal}");
        }
        for expression in ["twice(4)", "total + 1", "4 + 1", "other", "-other", "p->next", "nullptr"] {
            assert!(!is_literal(expression), "{expression}");
        }
    }

    #[test]
    fn characters_and_truth_values_are_set_as_numbers() {
        for (literal, number) in [
            ("'k'", Some(107)),
            (" '\\n' ", Some(10)),
            ("'\\''", Some(39)),
            ("'\\x41'", Some(65)),
            ("'é'", Some(233)),
            ("false", Some(0)),
            (" true ", Some(1)),
            ("'ab'", None),
            ("'''", None),
            ("'\\q'", None),
            ("\"k\"", None),
            ("truth", None),
            ("7", None),
        ] {
            assert_eq!(number_of(literal), number, "{literal}");
        }
    }
}
