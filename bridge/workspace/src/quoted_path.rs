//! Names of any bytes as text, and back: as git writes them, in double quotes with C escapes when they hold a
//! quote, a backslash, a control character or bytes that are not UTF-8.

/// Quotes a name as git does when it is not plain text.
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

/// The name that a quoted text represents; `None` if the text is not quoted.
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

/// A name as a listing writes it: unchanged, unless it is not UTF-8, or looks like a quoted name.
pub fn entry(name: &[u8]) -> String {
    match std::str::from_utf8(name) {
        Ok(text) if parse_quoted(text).is_none() => text.to_owned(),
        _ => quote(name),
    }
}

/// Returns the bytes of a path: quoted as by [`quote`], in parts as by [`entry`], or plain.
pub fn path_bytes(path: &str) -> Vec<u8> {
    if let Some(bytes) = parse_quoted(path) {
        return bytes;
    }
    let parts = path.split('/').map(|part| parse_quoted(part).unwrap_or_else(|| part.as_bytes().to_vec()));
    parts.collect::<Vec<_>>().join(&b'/')
}

/// The name that a text is the quoted form of; `None` for what only looks like one.
fn parse_quoted(text: &str) -> Option<Vec<u8>> {
    unquote(text).filter(|name| quote(name) == text)
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

        #[test]
        fn every_path_comes_back_whole_or_by_its_parts(
            parts in proptest::collection::vec(proptest::collection::vec(1_u8..=255, 1..9), 1..4)) {
            let clean = |part: &Vec<u8>| part.iter().map(|byte| if *byte == b'/' { b'"' } else {
                *byte }).collect::<Vec<u8>>();
            let parts: Vec<Vec<u8>> = parts.iter().map(clean).collect();
            let path = parts.join(&b'/');
            prop_assert_eq!(path_bytes(&quote(&path)), path.clone());
            let entries: Vec<String> = parts.iter().map(|part| entry(part)).collect();
            let text = entries.join("/");
            // Parts that together read like one quoted name are the whole's business.
            if parse_quoted(&text).is_none() || parts.len() == 1 {
                prop_assert_eq!(path_bytes(&text), path);
            }
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
