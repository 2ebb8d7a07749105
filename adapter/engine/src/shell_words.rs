//! Splits a string of arguments into words, as a POSIX shell does. Expands nothing: neither variables nor
//! patterns.

/// The words of a line. Single quotes keep everything, double quotes keep spaces, and a backslash keeps the
/// next character; a quote without its end reaches to the end of the line.
pub(crate) fn split(line: &str) -> Vec<String> {
    let (mut words, mut word, mut quote) = (Vec::new(), None::<String>, None::<char>);
    let mut letters = line.chars().peekable();
    while let Some(letter) = letters.next() {
        match (quote, letter) {
            (Some(open), letter) if letter == open => quote = None,
            (Some('"'), '\\') if letters.peek().is_some_and(|next| "\"\\$`".contains(*next)) => {
                word.get_or_insert_default().extend(letters.next());
            }
            (None, '\\') => word.get_or_insert_default().extend(letters.next()),
            (None, '\'' | '"') => {
                quote = Some(letter);
                word.get_or_insert_default();
            }
            (None, letter) if letter.is_whitespace() => words.extend(word.take()),
            (_, letter) => word.get_or_insert_default().push(letter),
        }
    }
    words.extend(word);
    words
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn quotes_and_backslashes_keep_words_together() {
        for (line, words) in [
            ("", &[][..]),
            (" one  two\tthree\n", &["one", "two", "three"]),
            (r#"'a "b' "c 'd" e\ f"#, &["a \"b", "c 'd", "e f"]),
            (r#""a\"b" "c\d" '\' \\"#, &["a\"b", "c\\d", "\\", "\\"]),
            (r#"--name="x y"z '' """#, &["--name=x yz", "", ""]),
            ("'open end", &["open end"]),
            ("$HOME *.txt end\\", &["$HOME", "*.txt", "end"]),
        ] {
            assert_eq!(split(line), words, "{line}");
        }
    }
}
