//! Splits a command string into a program and its arguments. No shell is involved, then or later: `;`, `|`,
//! `$(…)`, `*` and `\` are ordinary characters.

use tandem_error::Failure;

/// Splits at spaces. Double quotes keep spaces together and are dropped, also within a word; nothing else is
/// special, and a quote that is never closed reaches to the end. An argument cannot be empty: to pass one, or
/// a quote in an argument, pass arguments as a list.
pub fn split(command: &str) -> Vec<String> {
    let mut parts = Vec::new();
    let mut current = String::new();
    let mut quoted = false;
    for character in command.chars() {
        match character {
            '"' => quoted = !quoted,
            ' ' if !quoted => {
                if !current.is_empty() {
                    parts.push(std::mem::take(&mut current));
                }
            }
            other => current.push(other),
        }
    }
    if !current.is_empty() {
        parts.push(current);
    }
    parts
}

/// Program and arguments.
///
/// # Errors
/// `INVALID_PARAMETER` for an empty command, or one with a NUL character.
pub fn parse(command: &str) -> Result<(String, Vec<String>), Failure> {
    if command.contains('\0') {
        return Err(Failure::invalid("`command` contains a NUL character"));
    }
    let mut parts = split(command).into_iter();
    let program = parts.next().ok_or_else(|| Failure::invalid("`command` is empty"))?;
    Ok((program, parts.collect()))
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    #[test]
    fn quotes_keep_spaces_and_nothing_else_is_special() {
        for (command, parts) in [
            ("git status", &["git", "status"][..]),
            ("  a   b ", &["a", "b"]),
            ("echo \"a b\" c", &["echo", "a b", "c"]),
            ("--name=\"a b\"c", &["--name=a bc"]),
            ("echo \"\" x", &["echo", "x"]),
            ("echo 'a b'", &["echo", "'a", "b'"]),
            (
                "echo a\\ b; rm -rf $(x) | y > z &",
                &["echo", "a\\", "b;", "rm", "-rf", "$(x)", "|", "y", ">", "z", "&"],
            ),
            ("echo \"open end", &["echo", "open end"]),
            ("a\tb\nc", &["a\tb\nc"]),
            ("", &[]),
            (" \"\" ", &[]),
        ] {
            assert_eq!(split(command), parts, "{command}");
        }
        assert!(parse(" \"\" ").is_err());
        assert!(parse("a\0b").is_err());
    }

    proptest! {
        #[test]
        fn nothing_is_lost_but_quotes_and_spaces(command in "[a\" \\\\$'ä]{0,60}") {
            let parts = split(&command);
            prop_assert!(parts.iter().all(|part| !part.is_empty() && !part.contains('"')));
            let kept = |text: &str| text.chars().filter(|one| !matches!(one, '"' | ' ')).collect::<String>();
            prop_assert_eq!(kept(&parts.concat()), kept(&command));
        }

        #[test]
        fn quoted_arguments_are_restored(parts in proptest::collection::vec("[a-z \\\\$']{1,9}", 1..6)) {
            let quoted: Vec<String> = parts.iter().map(|part| format!("\"{part}\"")).collect();
            prop_assert_eq!(split(&quoted.join(" ")), parts);
        }
    }
}
