//! Names of any bytes as text, and back: as git writes them, in double quotes with C escapes when they hold a quote, a
//! backslash, a control character or bytes that are not UTF-8.

/// A name as text.
pub fn quote(name: &[u8]) -> String {
    let plain = |text: &str| !text.chars().any(|one| one.is_control() || matches!(one, '"' | '\\'));
    match std::str::from_utf8(name) {
        Ok(text) if plain(text) => return text.to_owned(),
        _ => {}
    }
    let mut quoted = String::from("\"");
    for byte in name {
        match byte {
            b'\n' => quoted.push_str("\\n"),
            b'\t' => quoted.push_str("\\t"),
            b'\r' => quoted.push_str("\\r"),
            b'"' => quoted.push_str("\\\""),
            b'\\' => quoted.push_str("\\\\"),
            b' '..=b'~' => quoted.push(char::from(*byte)),
            other => quoted.push_str(&format!("\\{other:03o}")),
        }
    }
    quoted.push('"');
    quoted
}

/// The name a quoted text stands for; `None` when the text is not quoted.
pub fn unquote(text: &str) -> Option<Vec<u8>> {
    let inner = text.strip_prefix('"')?.strip_suffix('"')?;
    let mut name = Vec::with_capacity(inner.len());
    let mut bytes = inner.bytes();
    while let Some(byte) = bytes.next() {
        if byte == b'"' {
            return None;
        }
        if byte != b'\\' {
            name.push(byte);
            continue;
        }
        let escaped = match bytes.next()? {
            b'n' => b'\n',
            b't' => b'\t',
            b'r' => b'\r',
            b'a' => 7,
            b'b' => 8,
            b'v' => 11,
            b'f' => 12,
            same @ (b'"' | b'\\') => same,
            first @ b'0'..=b'3' => {
                let digits = [first, bytes.next()?, bytes.next()?];
                u8::from_str_radix(std::str::from_utf8(&digits).ok()?, 8).ok()?
            }
            _ => return None,
        };
        name.push(escaped);
    }
    Some(name)
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    proptest! {
        #[test]
        fn every_name_comes_back(name in proptest::collection::vec(any::<u8>(), 1..20)) {
            let text = quote(&name);
            prop_assert_eq!(unquote(&text).unwrap_or_else(|| text.into_bytes()), name);
        }
    }

    #[test]
    fn names_are_written_as_git_writes_them() {
        assert_eq!(quote("a b/ä.txt".as_bytes()), "a b/ä.txt");
        assert_eq!(quote(b"a\nb\xff"), r#""a\nb\377""#);
        assert_eq!(unquote("\"open"), None);
        assert_eq!(unquote("\"a\\9\""), None);
    }
}
