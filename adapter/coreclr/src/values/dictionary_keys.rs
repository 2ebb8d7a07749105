//! Keys of dictionaries as C# expressions. A key that the indexer would convert to another one has none: in a
//! `Dictionary<object, …>`, `1` and `1L` are different keys.
//!
//! Not here: the items of the dictionaries ([`super::items`]).

use cordebug::value::{Value as ClrValue, element};
use tandem_csharp::types::keyword_of;

use super::MAX_TEXT_LEN;
use super::primitive::{character_literal, quoted};
use crate::bare_value::bare;
use crate::names::escape_keyword;
use crate::typed_value::Constant;
use crate::types::ClrTypeSystem;
use crate::types::Ty;

/// Comparer of keys by identity: a literal is another object.
const BY_IDENTITY: &str = "System.Collections.Generic.ReferenceEqualityComparer";

/// The keys of one dictionary.
pub(super) struct DictionaryKeys {
    /// The declared type of the keys, without `?`.
    declared: Option<Ty>,
    are_compared_by_identity: bool,
}

impl DictionaryKeys {
    pub(super) fn of(types: &ClrTypeSystem, dictionary: &ClrValue) -> Self {
        let declared = types.declared_ty(dictionary).arguments().first().cloned();
        let declared = declared.map(|ty| types.nullable(&ty).unwrap_or(ty));
        let comparer = declared.as_ref().filter(|ty| !ty.is_value());
        let comparer = comparer.and_then(|_| bare(&types.field_named(dictionary, "_comparer")?));
        let are_compared_by_identity =
            comparer.is_some_and(|comparer| types.full_name(&types.declared_ty(&comparer)) == BY_IDENTITY);
        Self { declared, are_compared_by_identity }
    }

    /// The expression of a key, as an argument of the indexer; `None` if it has none.
    pub(super) fn literal_of(&self, types: &ClrTypeSystem, key: &ClrValue) -> Option<KeyLiteral> {
        let plain = |text: String| Some(KeyLiteral { text, has_number_type: false });
        let Some(inner) = bare(key) else { return plain("null".into()) };
        if self.are_compared_by_identity {
            return None;
        }
        let actual = types.declared_ty(&inner);
        let actual = types.nullable(&actual).unwrap_or(actual);
        let constant = types.constant_of(&inner)?;
        if let Constant::Int(_, number) = constant
            && types.enum_storage(&actual).is_some()
        {
            let name = types.csharp(&actual);
            return plain(match types.enum_name(&actual, number) {
                Some(parts) => {
                    let parts = parts.split(", ").map(|part| format!("{name}.{}", escape_keyword(part)));
                    parts.collect::<Vec<_>>().join(" | ")
                }
                None => format!("({name})({number})"),
            });
        }
        let is_converted = self.declared.as_ref() == Some(&actual);
        let has_number_type = !is_converted
            && match &constant {
                Constant::Int(kind, _) => !matches!(*kind, element::I4 | element::CHAR),
                Constant::Single(_) | Constant::Double(_) | Constant::Decimal(_) => true,
                _ => false,
            };
        Some(KeyLiteral { text: literal(&constant, is_converted)?, has_number_type })
    }
}

/// A key as C# writes it.
pub(super) struct KeyLiteral {
    pub(super) text: String,
    /// Whether another key may be the same number of another type.
    pub(super) has_number_type: bool,
}

/// The literal of a constant; `None` if it has none. `is_converted`: the indexer converts the literal to the
/// type of the constant.
fn literal(constant: &Constant, is_converted: bool) -> Option<String> {
    Some(match constant {
        Constant::Null => "null".into(),
        Constant::Bool(value) => value.to_string(),
        // The replacement character replaces half of a pair, which no literal has.
        Constant::Text(text) if text.contains('\u{fffd}') => return None,
        Constant::Text(text) if text.encode_utf16().count() > MAX_TEXT_LEN as usize => return None,
        Constant::Text(text) => quoted(text),
        Constant::Decimal(value) => format!("{value}m"),
        Constant::Single(value) => match real_name("float", f64::from(*value)) {
            Some(name) => name,
            None => format!("{}f", constant.invariant_text()),
        },
        Constant::Double(value) => match real_name("double", *value) {
            Some(name) => name,
            None if constant.invariant_text().contains(['.', 'E']) => constant.invariant_text(),
            None => format!("{}d", constant.invariant_text()),
        },
        Constant::Int(element::CHAR, unit) => character_literal(u16::try_from(*unit).ok()?),
        Constant::Int(element::I4, value) => value.to_string(),
        Constant::Int(element::I | element::U, value) if i32::try_from(*value).is_err() => {
            format!("({}){}", keyword_of(constant.ty().kind()?)?, in_parentheses(*value))
        }
        Constant::Int(_, value) if is_converted => value.to_string(),
        Constant::Int(element::I8, value) => format!("{value}L"),
        Constant::Int(element::U4, value) => format!("{value}U"),
        Constant::Int(element::U8, value) => format!("{value}UL"),
        Constant::Int(kind, value) => format!("({}){}", keyword_of(*kind)?, in_parentheses(*value)),
    })
}

/// The member of a floating-point type that is not a number with digits.
fn real_name(of: &str, value: f64) -> Option<String> {
    let member = match value {
        value if value.is_nan() => "NaN",
        f64::INFINITY => "PositiveInfinity",
        f64::NEG_INFINITY => "NegativeInfinity",
        _ => return None,
    };
    Some(format!("{of}.{member}"))
}

/// A number as the operand of a cast.
fn in_parentheses(value: i128) -> String {
    if value < 0 { format!("({value})") } else { value.to_string() }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn keys_are_written_as_literals_of_their_types() {
        let int = |kind, value| Constant::Int(kind, value);
        for (constant, converted, exact) in [
            (int(element::CHAR, 120), "'x'", "'x'"),
            (int(element::I4, -1), "-1", "-1"),
            (int(element::I8, 1), "1", "1L"),
            (int(element::U4, 1), "1", "1U"),
            (int(element::U8, 1), "1", "1UL"),
            (int(element::U1, 1), "1", "(byte)1"),
            (int(element::I1, -1), "-1", "(sbyte)(-1)"),
            (int(element::I, 1), "1", "(nint)1"),
            (int(element::I, -5_000_000_000), "(nint)(-5000000000)", "(nint)(-5000000000)"),
            (Constant::Single(1.0), "1f", "1f"),
            (Constant::Double(1.0), "1d", "1d"),
            (Constant::Double(1e-5), "1E-05", "1E-05"),
            (Constant::Double(f64::NAN), "double.NaN", "double.NaN"),
            (Constant::Single(f32::NEG_INFINITY), "float.NegativeInfinity", "float.NegativeInfinity"),
            (Constant::Decimal(10.into()), "10m", "10m"),
            (Constant::Bool(true), "true", "true"),
            (Constant::Text("a \"b\"".into()), "\"a \\\"b\\\"\"", "\"a \\\"b\\\"\""),
        ] {
            assert_eq!(literal(&constant, true).as_deref(), Some(converted), "{constant:?}");
            assert_eq!(literal(&constant, false).as_deref(), Some(exact), "{constant:?}");
        }
        for text in ["\u{fffd}".to_owned(), "x".repeat(MAX_TEXT_LEN as usize + 1)] {
            assert_eq!(literal(&Constant::Text(text), true), None);
        }
    }
}
