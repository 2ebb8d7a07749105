//! Constants of C#: literals, their texts and their bytes.

use cordebug::value::element;

use crate::engine::coreclr::values::quoted;

/// A constant, or a primitive read from the program.
#[derive(Debug, Clone, PartialEq)]
pub(crate) enum Constant {
    Null,
    Bool(bool),
    Char(u16),
    Int(i64),
    Real(f64),
    Text(String),
}

impl Constant {
    /// Text and type.
    pub(crate) fn shown(&self) -> (String, &'static str) {
        match self {
            Self::Null => ("null".into(), "object"),
            Self::Bool(value) => (value.to_string(), "bool"),
            Self::Char(value) => {
                let letter = char::from_u32(u32::from(*value)).unwrap_or('\u{fffd}');
                (format!("{value} '{}'", letter.escape_default()), "char")
            }
            Self::Int(value) => {
                (value.to_string(), if i32::try_from(*value).is_ok() { "int" } else { "long" })
            }
            Self::Real(value) => (value.to_string(), "double"),
            Self::Text(text) => (quoted(text), "string"),
        }
    }

    /// Its bytes as a primitive of this type, if it fits.
    pub(crate) fn bytes_for(&self, kind: u32) -> Option<Vec<u8>> {
        let int = match self {
            Self::Int(value) => Some(*value),
            Self::Char(value) => Some(i64::from(*value)),
            _ => None,
        };
        match (self, kind) {
            (Self::Bool(value), element::BOOLEAN) => Some(vec![u8::from(*value)]),
            (Self::Real(value), element::R8) => Some(value.to_le_bytes().to_vec()),
            (Self::Real(value), element::R4) => Some((*value as f32).to_le_bytes().to_vec()),
            (_, element::R8) => Some((int? as f64).to_le_bytes().to_vec()),
            (_, element::R4) => Some((int? as f32).to_le_bytes().to_vec()),
            (Self::Char(value), element::CHAR) => Some(value.to_le_bytes().to_vec()),
            (_, element::I1) => i8::try_from(int?).ok().map(|value| value.to_le_bytes().to_vec()),
            (_, element::U1) => u8::try_from(int?).ok().map(|value| value.to_le_bytes().to_vec()),
            (_, element::I2) => i16::try_from(int?).ok().map(|value| value.to_le_bytes().to_vec()),
            (_, element::U2) => u16::try_from(int?).ok().map(|value| value.to_le_bytes().to_vec()),
            (_, element::I4) => i32::try_from(int?).ok().map(|value| value.to_le_bytes().to_vec()),
            (_, element::U4) => u32::try_from(int?).ok().map(|value| value.to_le_bytes().to_vec()),
            (_, element::I8 | element::I) => Some(int?.to_le_bytes().to_vec()),
            (_, element::U8 | element::U) => {
                u64::try_from(int?).ok().map(|value| value.to_le_bytes().to_vec())
            }
            _ => None,
        }
    }
}

pub(crate) fn literal(kind: &str, text: &str) -> Option<Constant> {
    match kind {
        "null_literal" => Some(Constant::Null),
        "boolean_literal" => Some(Constant::Bool(text == "true")),
        "integer_literal" => {
            let digits = text.replace('_', "").to_lowercase();
            let digits = digits.trim_end_matches(['u', 'l']);
            let value = match (digits.strip_prefix("0x"), digits.strip_prefix("0b")) {
                (Some(hex), _) => i64::from_str_radix(hex, 16),
                (_, Some(bits)) => i64::from_str_radix(bits, 2),
                _ => digits.parse(),
            };
            value.ok().map(Constant::Int)
        }
        "real_literal" => {
            let digits = text.replace('_', "").to_lowercase();
            digits.trim_end_matches(['f', 'd', 'm']).parse().ok().map(Constant::Real)
        }
        "string_literal" => Some(Constant::Text(unescape(text.strip_prefix('"')?.strip_suffix('"')?)?)),
        "verbatim_string_literal" => {
            Some(Constant::Text(text.strip_prefix("@\"")?.strip_suffix('"')?.replace("\"\"", "\"")))
        }
        "character_literal" => {
            let letters = unescape(text.strip_prefix('\'')?.strip_suffix('\'')?)?;
            let mut units = letters.encode_utf16();
            let unit = units.next()?;
            units.next().is_none().then_some(Constant::Char(unit))
        }
        _ => None,
    }
}

pub(crate) fn unescape(text: &str) -> Option<String> {
    let mut plain = String::new();
    let mut letters = text.chars();
    while let Some(letter) = letters.next() {
        if letter != '\\' {
            plain.push(letter);
            continue;
        }
        plain.push(match letters.next()? {
            'n' => '\n',
            'r' => '\r',
            't' => '\t',
            '0' => '\0',
            'u' => {
                let hex: String = letters.by_ref().take(4).collect();
                char::from_u32(u32::from_str_radix(&hex, 16).ok()?)?
            }
            same @ ('\\' | '"' | '\'') => same,
            _ => return None,
        });
    }
    Some(plain)
}

impl Constant {
    /// As it reads inside a longer text.
    pub(crate) fn plain(&self) -> String {
        match self {
            Self::Null => String::new(),
            Self::Text(text) => text.clone(),
            Self::Char(value) => char::from_u32(u32::from(*value)).map(String::from).unwrap_or_default(),
            other => other.shown().0,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn literals_are_csharps() {
        assert_eq!(literal("integer_literal", "0xFF"), Some(Constant::Int(255)));
        assert_eq!(literal("integer_literal", "1_000L"), Some(Constant::Int(1000)));
        assert_eq!(literal("string_literal", "\"a\\n\\u0041\""), Some(Constant::Text("a\nA".into())));
        assert_eq!(literal("character_literal", "'x'"), Some(Constant::Char(120)));
    }
}
