//! The text of primitives, strings, decimals and dates, from their bytes. Knows no program.

use cordebug::value::element;

/// As C# writes it.
pub(crate) fn quoted(text: &str) -> String {
    let mut quoted = String::from("\"");
    for letter in text.chars() {
        match letter {
            '"' => quoted.push_str("\\\""),
            '\\' => quoted.push_str("\\\\"),
            '\n' => quoted.push_str("\\n"),
            '\r' => quoted.push_str("\\r"),
            '\t' => quoted.push_str("\\t"),
            '\0' => quoted.push_str("\\0"),
            other => quoted.push(other),
        }
    }
    quoted.push('"');
    quoted
}

/// A primitive's text from its bytes; `None` for what is no primitive.
pub(crate) fn primitive(kind: u32, bytes: &[u8]) -> Option<String> {
    let mut wide = [0u8; 8];
    let count = bytes.len().min(8);
    wide.get_mut(..count)?.copy_from_slice(bytes.get(..count)?);
    let bits = u64::from_le_bytes(wide);
    Some(match kind {
        element::BOOLEAN => (bits & 0xff != 0).to_string(),
        element::CHAR => {
            let letter = char::from_u32(bits as u16 as u32).unwrap_or('\u{fffd}');
            format!("{} '{}'", bits as u16, letter.escape_default())
        }
        element::I1 => (bits as i8).to_string(),
        element::U1 => (bits as u8).to_string(),
        element::I2 => (bits as i16).to_string(),
        element::U2 => (bits as u16).to_string(),
        element::I4 => (bits as i32).to_string(),
        element::U4 => (bits as u32).to_string(),
        element::I8 | element::I => (bits as i64).to_string(),
        element::U8 | element::U => bits.to_string(),
        element::R4 => f32::from_bits(bits as u32).to_string(),
        element::R8 => f64::from_bits(bits).to_string(),
        element::PTR | element::FNPTR => format!("0x{bits:016x}"),
        _ => return None,
    })
}

/// System.Decimal: flags (sign, scale), high, low 64 bits.
pub(crate) fn decimal(bytes: &[u8]) -> Option<String> {
    let part = |at: usize| bytes.get(at..at + 4)?.try_into().ok().map(u32::from_le_bytes);
    let (flags, high, low, middle) = (part(0)?, part(4)?, part(8)?, part(12)?);
    let digits = u128::from(high) << 64 | u128::from(middle) << 32 | u128::from(low);
    let scale = (flags >> 16 & 0xff) as usize;
    let mut text = format!("{digits:0>width$}", width = scale + 1);
    if scale > 0 {
        text.insert(text.len() - scale, '.');
    }
    Some(if flags >> 31 != 0 { format!("-{text}") } else { text })
}

/// System.DateTime: 100 ns since year 1 in the low 62 bits.
pub(crate) fn date_time(bytes: &[u8]) -> Option<String> {
    let ticks = u64::from_le_bytes(bytes.get(..8)?.try_into().ok()?) & 0x3fff_ffff_ffff_ffff;
    let (days, rest) = (ticks / 864_000_000_000, ticks % 864_000_000_000);
    // Days since 0000-03-01, so that a leap day is the last day of its year (Howard Hinnant's civil calendar).
    let day = days + 306;
    let (era, of_era) = (day / 146_097, day % 146_097);
    let year = (of_era - of_era / 1460 + of_era / 36_524 - of_era / 146_096) / 365;
    let of_year = of_era - (365 * year + year / 4 - year / 100);
    let month = (5 * of_year + 2) / 153;
    let date = of_year - (153 * month + 2) / 5 + 1;
    let (year, month) =
        (year + era * 400 + u64::from(month >= 10), if month < 10 { month + 3 } else { month - 9 });
    let seconds = rest / 10_000_000;
    let mut text = format!(
        "{year:04}-{month:02}-{date:02} {:02}:{:02}:{:02}",
        seconds / 3600,
        seconds / 60 % 60,
        seconds % 60
    );
    if rest % 10_000_000 != 0 {
        text.push_str(format!(".{:07}", rest % 10_000_000).trim_end_matches('0'));
    }
    Some(text)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn values_read_as_csharp_writes_them() {
        assert_eq!(primitive(element::I4, &[0xff; 4]).as_deref(), Some("-1"));
        assert_eq!(primitive(element::CHAR, &[0x78, 0]).as_deref(), Some("120 'x'"));
        assert_eq!(primitive(element::R8, &2.5f64.to_le_bytes()).as_deref(), Some("2.5"));
        let mut price = [0u8; 16];
        price[2] = 2;
        price[8..10].copy_from_slice(&1250u16.to_le_bytes());
        assert_eq!(decimal(&price).as_deref(), Some("12.50"));
        assert_eq!(
            date_time(&637_135_200_000_000_000u64.to_le_bytes()).as_deref(),
            Some("2020-01-02 00:00:00")
        );
        assert_eq!(quoted("a\"b\n"), "\"a\\\"b\\n\"");
    }
}
