//! Constants of C#: primitives, strings and decimals, with their types, formats and bytes.
//!
//! Not here: operators ([`crate::operators`]).

use std::str::FromStr as _;

use rust_decimal::Decimal;

use crate::types::{OBJECT, STRING, Ty, is_numeric, kind as element};

/// A value that the debugger computes with, outside the program.
#[derive(Debug, Clone, PartialEq)]
pub enum Constant {
    /// The literal `null`, without a type.
    Null,
    /// A Boolean: `true` or `false`.
    Bool(bool),
    /// An integer of any type, or a character: its element type, and its value.
    Int(u32, i128),
    /// A `float`, in single precision.
    Single(f32),
    /// A `double`, in double precision.
    Double(f64),
    /// A `decimal`, with 28 digits.
    Decimal(Decimal),
    /// A string, in UTF-8 instead of UTF-16.
    Text(String),
}

impl Constant {
    /// A constant of type `int`.
    pub fn int(value: i32) -> Self {
        Self::Int(element::I4, i128::from(value))
    }

    /// Reads a constant or a default value of metadata, from its element type and its bytes.
    pub fn of_literal(kind: u32, bytes: &[u8]) -> Option<Self> {
        match kind {
            element::STRING => {
                let units = bytes.chunks_exact(2).map(|two| two.try_into().map_or(0, u16::from_le_bytes));
                Some(Self::Text(char::decode_utf16(units).map(|unit| unit.unwrap_or('\u{fffd}')).collect()))
            }
            element::CLASS => Some(Self::Null),
            kind => Self::from_bytes(kind, bytes),
        }
    }

    /// Reads a primitive from its bytes in the program; `None` for another type.
    pub fn from_bytes(kind: u32, bytes: &[u8]) -> Option<Self> {
        let mut wide = [0u8; 8];
        let count = bytes.len().min(8);
        wide.get_mut(..count)?.copy_from_slice(bytes.get(..count)?);
        let bits = u64::from_le_bytes(wide);
        Some(match kind {
            element::BOOLEAN => Self::Bool(bits & 0xff != 0),
            element::R4 => Self::Single(f32::from_bits(bits as u32)),
            element::R8 => Self::Double(f64::from_bits(bits)),
            kind => Self::Int(kind, wrap(kind, i128::from(bits))?),
        })
    }

    /// The element type and the bytes of a primitive; `None` for another constant.
    pub fn bytes(&self) -> Option<(u32, Vec<u8>)> {
        Some(match self {
            Self::Bool(value) => (element::BOOLEAN, vec![u8::from(*value)]),
            Self::Single(value) => (element::R4, value.to_le_bytes().to_vec()),
            Self::Double(value) => (element::R8, value.to_le_bytes().to_vec()),
            Self::Int(kind, value) => (*kind, value.to_le_bytes().get(..width(*kind)?)?.to_vec()),
            _ => return None,
        })
    }

    /// Reads a `System.Decimal` from memory: flags (sign and scale), high, low 64 bits.
    pub fn decimal(bytes: &[u8]) -> Option<Self> {
        let part = |at: usize| bytes.get(at..at + 4)?.try_into().ok().map(u32::from_le_bytes);
        let (flags, high, low, middle) = (part(0)?, part(4)?, part(8)?, part(12)?);
        let scale = (flags >> 16 & 0xff).min(28);
        Some(Self::Decimal(Decimal::from_parts(low, middle, high, flags >> 31 != 0, scale)))
    }

    /// The bytes of a decimal in memory.
    pub fn decimal_bytes(value: &Decimal) -> Vec<u8> {
        let parts = value.unpack();
        let flags = parts.scale << 16 | u32::from(parts.negative) << 31;
        [flags, parts.hi, parts.lo, parts.mid].into_iter().flat_map(u32::to_le_bytes).collect()
    }

    /// The type of the constant; for decimals and null, a type that is not a primitive.
    pub fn ty(&self) -> Ty {
        match self {
            Self::Null => Ty::Null,
            Self::Bool(_) => Ty::Primitive(element::BOOLEAN),
            Self::Int(kind, _) => Ty::Primitive(*kind),
            Self::Single(_) => Ty::Primitive(element::R4),
            Self::Double(_) => Ty::Primitive(element::R8),
            Self::Text(_) => STRING,
            Self::Decimal(_) => OBJECT,
        }
    }

    /// The result of `ToString`, with the invariant culture.
    pub fn invariant_text(&self) -> String {
        match self {
            Self::Null => String::new(),
            Self::Bool(true) => "True".into(),
            Self::Bool(false) => "False".into(),
            Self::Int(element::CHAR, value) => String::from_utf16_lossy(&[*value as u16]),
            Self::Int(_, value) => value.to_string(),
            Self::Single(value) => {
                let short = format!("{value:e}");
                let near = nearest(&short, |digits| format!("{value:.digits$e}"));
                let is_same = near.parse::<f32>().is_ok_and(|read| read.to_bits() == value.to_bits());
                real(f64::from(*value), value.is_sign_negative(), if is_same { &near } else { &short }, 9)
            }
            Self::Double(value) => {
                let short = format!("{value:e}");
                let near = nearest(&short, |digits| format!("{value:.digits$e}"));
                let is_same = near.parse::<f64>().is_ok_and(|read| read.to_bits() == value.to_bits());
                real(*value, value.is_sign_negative(), if is_same { &near } else { &short }, 17)
            }
            // A negative zero is shown as zero.
            Self::Decimal(value) if value.is_zero() => value.abs().to_string(),
            Self::Decimal(value) => value.to_string(),
            Self::Text(text) => text.clone(),
        }
    }

    /// Converts as a cast: numbers wrap around or are truncated, unless `checked`.
    pub fn cast(&self, kind: u32, checked: bool) -> Option<Self> {
        // The result for numbers out of range is unspecified in C#, and differs between runtimes, so it is an
        // error here. Numbers in the range of `int` are converted to it and then truncated.
        let whole = |value: f64| -> Option<i128> {
            let whole = value.is_finite().then(|| value.trunc() as i128)?;
            let is_small =
                matches!(kind, element::I1 | element::U1 | element::I2 | element::U2 | element::CHAR);
            let holder = if is_small { element::I4 } else { kind };
            (matches!(kind, element::R4 | element::R8) || fits(holder, whole)).then_some(whole)
        };
        let int = match self {
            Self::Int(_, value) => *value,
            Self::Bool(value) if kind == element::BOOLEAN => return Some(Self::Bool(*value)),
            Self::Text(text) if kind == element::STRING => return Some(Self::Text(text.clone())),
            Self::Single(value) if kind == element::R4 => return Some(Self::Single(*value)),
            Self::Single(value) if kind == element::R8 => return Some(Self::Double(f64::from(*value))),
            Self::Double(value) if kind == element::R4 => return Some(Self::Single(*value as f32)),
            Self::Double(value) if kind == element::R8 => return Some(Self::Double(*value)),
            Self::Single(value) => whole(f64::from(*value))?,
            Self::Double(value) => whole(*value)?,
            Self::Decimal(value) => {
                use rust_decimal::prelude::ToPrimitive as _;
                match kind {
                    element::R4 => return value.to_f32().map(Self::Single),
                    element::R8 => return value.to_f64().map(Self::Double),
                    // Decimals out of range throw, checked or not.
                    _ => {
                        return value
                            .trunc()
                            .to_i128()
                            .filter(|whole| fits(kind, *whole))
                            .map(|whole| Self::Int(kind, whole));
                    }
                }
            }
            _ => return None,
        };
        match kind {
            element::R4 => Some(Self::Single(int as f32)),
            element::R8 => Some(Self::Double(int as f64)),
            kind if !is_numeric(kind) => None,
            kind if checked && !fits(kind, int) => None,
            kind => wrap(kind, int).map(|value| Self::Int(kind, value)),
        }
    }

    /// Converts to a decimal, if the conversion exists.
    pub fn to_decimal(&self, explicit: bool) -> Option<Decimal> {
        match self {
            Self::Decimal(value) => Some(*value),
            Self::Int(_, value) => Decimal::try_from_i128_with_scale(*value, 0).ok(),
            // Decimal keeps 7 digits of a float and 15 of a double.
            Self::Single(value) if explicit => format!("{value:.6e}")
                .parse::<f32>()
                .ok()
                .and_then(|_| round_decimal(&format!("{value:.6e}"))),
            Self::Double(value) if explicit => round_decimal(&format!("{value:.14e}")),
            _ => None,
        }
    }
}

/// Formats with the number of digits of the shortest form, but rounds as .NET: of two nearest
/// values, to the even one.
fn nearest(short: &str, written: impl Fn(usize) -> String) -> String {
    let mantissa = short.split('e').next().unwrap_or_default();
    written(mantissa.chars().filter(char::is_ascii_digit).count().saturating_sub(1))
}

fn round_decimal(text: &str) -> Option<Decimal> {
    // A number with more than 28 digits after the point is truncated to 28.
    let cut = || {
        Decimal::from_str(&format!("{:.28}", text.parse::<f64>().ok().filter(|value| value.abs() < 1.0)?))
            .ok()
    };
    Decimal::from_scientific(text).ok().or_else(cut).map(|value| value.normalize())
}

/// Size of a number, character or Boolean, in bytes; `None` for another type.
pub fn width(kind: u32) -> Option<usize> {
    Some(match kind {
        element::I1 | element::U1 | element::BOOLEAN => 1,
        element::I2 | element::U2 | element::CHAR => 2,
        element::I4 | element::U4 | element::R4 => 4,
        element::I8 | element::U8 | element::I | element::U | element::R8 => 8,
        _ => return None,
    })
}

/// Whether an integer type is signed.
pub fn is_signed(kind: u32) -> bool {
    matches!(kind, element::I1 | element::I2 | element::I4 | element::I8 | element::I)
}

/// Truncates to the width of the type, as unchecked code does.
pub fn wrap(kind: u32, value: i128) -> Option<i128> {
    let bits = width(kind).filter(|_| is_numeric(kind) && !matches!(kind, element::R4 | element::R8))? * 8;
    let shift = 128 - bits;
    Some(if is_signed(kind) { value << shift >> shift } else { ((value as u128) << shift >> shift) as i128 })
}

/// Whether a value is in the range of an integer type.
pub fn fits(kind: u32, value: i128) -> bool {
    wrap(kind, value) == Some(value)
}

/// Formats a floating-point number as .NET: the shortest digits that parse to the same value, with an
/// exponent for more than `limit` digits before the point.
pub fn real(value: f64, negative: bool, scientific: &str, limit: i32) -> String {
    if value.is_nan() {
        return "NaN".into();
    }
    if value.is_infinite() {
        return if negative { "-Infinity" } else { "Infinity" }.into();
    }
    if value == 0.0 {
        return if negative { "-0" } else { "0" }.into();
    }
    let (mantissa, exponent) = scientific.split_once('e').unwrap_or((scientific, "0"));
    let exponent: i32 = exponent.parse().unwrap_or(0);
    let digits: String = mantissa.chars().filter(char::is_ascii_digit).collect();
    let sign = if negative { "-" } else { "" };
    if !(-4..limit).contains(&exponent) {
        let (first, rest) = digits.split_at(1.min(digits.len()));
        let rest = if rest.is_empty() { String::new() } else { format!(".{rest}") };
        let mark = if exponent < 0 { '-' } else { '+' };
        return format!("{sign}{first}{rest}E{mark}{:02}", exponent.abs());
    }
    let point = exponent + 1;
    if point <= 0 {
        return format!("{sign}0.{}{digits}", "0".repeat(point.unsigned_abs() as usize));
    }
    let point = point as usize;
    if digits.len() <= point {
        return format!("{sign}{digits}{}", "0".repeat(point - digits.len()));
    }
    let (whole, part) = digits.split_at(point);
    format!("{sign}{whole}.{part}")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_read_as_dotnet_writes_them() {
        for (value, text) in [
            (1e15, "1000000000000000"),
            (1e17, "1E+17"),
            (123_456_789_012_345.0, "123456789012345"),
            (0.00001, "1E-05"),
            (0.0001, "0.0001"),
            (-2.5, "-2.5"),
            (1.5e300, "1.5E+300"),
            (100.0, "100"),
            (-0.0, "-0"),
        ] {
            assert_eq!(Constant::Double(value).invariant_text(), text);
        }
        assert_eq!(Constant::Single(0.1).invariant_text(), "0.1");
    }

    #[test]
    fn a_decimal_survives_the_way_to_the_program_and_back() {
        for text in ["12.50", "-0.001", "79228162514264337593543950335"] {
            let value: Decimal = text.parse().unwrap();
            let bytes = Constant::decimal_bytes(&value);
            assert_eq!(Constant::decimal(&bytes).unwrap().invariant_text(), text);
        }
    }
}
