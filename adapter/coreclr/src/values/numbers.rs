//! Texts of the framework's composite numbers: 128 bits, half precision, integers of any size. Pure
//! functions. Not here: reading their fields ([`super::framework`]).

use tandem_csharp::constant::real;

/// Longest integer that is written out, decimal digits.
const MAX_DIGITS: usize = 4096;
/// Half-precision numbers with more digits before the point are written with an exponent,
/// as by their `ToString`.
const HALF_DIGITS: i32 = 5;

/// System.Int128 and System.UInt128.
pub(super) fn wide(bytes: &[u8], signed: bool, hex: bool) -> Option<String> {
    let value = u128::from_le_bytes(bytes.get(..16)?.try_into().ok()?);
    Some(match (hex, signed) {
        (true, _) => format!("0x{value:032x}"),
        (false, true) => (value as i128).to_string(),
        (false, false) => value.to_string(),
    })
}

/// System.Half: a sign, five bits of exponent, ten of fraction.
pub(super) fn half(bits: u16) -> String {
    let (value, negative) = (magnitude(bits), bits & 0x8000 != 0);
    let signed = if negative { -value } else { value };
    // The distance to the neighbours determines the precision: a closer text parses to this number.
    let beside = |other: u16| match magnitude(other) {
        other if other.is_finite() => (value + other) / 2.0,
        // There is no next one: assume the distance to the previous one.
        _ => value + (value - magnitude((bits & 0x7fff).saturating_sub(1))) / 2.0,
    };
    let (low, high) = (beside((bits & 0x7fff).saturating_sub(1)), beside((bits & 0x7fff) + 1));
    let candidates = (0..HALF_DIGITS as usize).map(|digits| format!("{signed:.digits$e}"));
    let mut fitting =
        candidates.filter(|text| text.parse::<f64>().is_ok_and(|read| low < read.abs() && read.abs() < high));
    let text = fitting.next().unwrap_or_else(|| format!("{signed:e}"));
    real(signed, negative, &text, HALF_DIGITS)
}

/// The magnitude of these bits, without the sign.
fn magnitude(bits: u16) -> f64 {
    let (exponent, fraction) = (i32::from(bits >> 10 & 0x1f), f64::from(bits & 0x3ff));
    match exponent {
        0 => fraction * 2f64.powi(-24),
        0x1f if fraction == 0.0 => f64::INFINITY,
        0x1f => f64::NAN,
        exponent => (1024.0 + fraction) * 2f64.powi(exponent - 25),
    }
}

/// System.Numerics.BigInteger: its sign, or all of a small one; and the words of its magnitude, the lowest
/// first. For one that is too long, the first digits and their number.
pub(super) fn big_integer(sign: i32, words: &[u32], hex: bool) -> String {
    if words.is_empty() {
        return if hex { format!("0x{sign:08x}") } else { sign.to_string() };
    }
    let minus = if sign < 0 { "-" } else { "" };
    if hex {
        let digits: String = words.iter().rev().map(|word| format!("{word:08x}")).collect();
        let digits = digits.trim_start_matches('0');
        return format!("{minus}0x{}", if digits.is_empty() { "0" } else { digits });
    }
    if words.len() * 32 > MAX_DIGITS * 10 / 3 {
        return format!("{minus}{}", leading(words));
    }
    let (mut rest, mut groups) = (words.to_vec(), Vec::new());
    while rest.iter().any(|word| *word != 0) {
        let mut carried = 0u64;
        for word in rest.iter_mut().rev() {
            let value = carried << 32 | u64::from(*word);
            *word = (value / 1_000_000_000) as u32;
            carried = value % 1_000_000_000;
        }
        while rest.last() == Some(&0) {
            rest.pop();
        }
        groups.push(carried);
    }
    let mut text = groups.pop().map_or_else(|| "0".to_owned(), |first| first.to_string());
    for group in groups.iter().rev() {
        text.push_str(&format!("{group:09}"));
    }
    format!("{minus}{text}")
}

/// The approximate size of a number: `1.2345678E+9999`.
fn leading(words: &[u32]) -> String {
    let top = words.iter().rev().take(4).fold(0f64, |sum, word| sum * 2f64.powi(32) + f64::from(*word));
    let below = words.len().saturating_sub(4) as f64 * 32.0;
    let logarithm = top.log10() + below * std::f64::consts::LOG10_2;
    // The logarithm of a long number has few decimal places left.
    format!("about {:.3}E+{}", 10f64.powf(logarithm.fract()), logarithm.trunc())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn wide_numbers_have_all_their_digits() {
        assert_eq!(wide(&[0xff; 16], true, false).as_deref(), Some("-1"));
        let most = "340282366920938463463374607431768211455";
        assert_eq!(wide(&[0xff; 16], false, false).as_deref(), Some(most));
        assert_eq!(wide(&[0xff; 15], false, false), None);
    }

    #[test]
    fn half_precision_numbers_have_the_shortest_text_that_parses_to_them() {
        for (bits, text) in [
            (0x0000, "0"),
            (0x8000, "-0"),
            (0x3e00, "1.5"),
            (0x2e66, "0.1"),
            (0xc248, "-3.14"),
            (0x3555, "0.3333"),
            (0x7bff, "65500"),
            (0x7800, "32770"),
            (0x0001, "6E-08"),
            (0x0400, "6.104E-05"),
            (0x7c00, "Infinity"),
            (0xfc00, "-Infinity"),
            (0x7e00, "NaN"),
        ] {
            assert_eq!(half(bits), text, "{bits:04x}");
        }
    }

    #[test]
    fn integers_of_any_size_are_written_out() {
        assert_eq!(big_integer(-7, &[], false), "-7");
        assert_eq!(big_integer(-1, &[0, 0, 1], false), "-18446744073709551616");
        assert_eq!(big_integer(1, &[0xa764_0000, 0x0de0_b6b3], false), "1000000000000000000");
        assert_eq!(big_integer(-1, &[0x10, 0xff], true), "-0xff00000010");
        let long: Vec<u32> = vec![u32::MAX; 1000];
        assert_eq!(big_integer(1, &long, false), "about 9.117E+9632");
    }
}
