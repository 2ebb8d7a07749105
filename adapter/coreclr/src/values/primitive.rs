//! Texts of strings, characters, dates, ids and hexadecimal numbers. Pure functions. Not here: reading the
//! values ([`super::formatted_value`], [`super::framework`]).

use cordebug::value::element;

/// A string literal as C# writes it.
pub(crate) fn quoted(text: &str) -> String {
    let mut quoted = String::with_capacity(text.len() + 2);
    quoted.push('"');
    for letter in text.chars() {
        match letter {
            '"' => quoted.push_str("\\\""),
            '\\' => quoted.push_str("\\\\"),
            '\n' => quoted.push_str("\\n"),
            '\r' => quoted.push_str("\\r"),
            '\t' => quoted.push_str("\\t"),
            '\0' => quoted.push_str("\\0"),
            // Most letters of most strings; the check below is slow.
            plain @ ' '..='~' => quoted.push(plain),
            other if is_unseen(other) => quoted.push_str(&match u32::from(other) {
                code @ ..=0xffff => format!("\\u{code:04x}"),
                code => format!("\\U{code:08x}"),
            }),
            other => quoted.push(other),
        }
    }
    quoted.push('"');
    quoted
}

/// Whether a character is invisible, looks like a plain space, moves a terminal's cursor, turns the text
/// around it, or has no standard glyph (private use). Joiners between letters are visible.
fn is_unseen(letter: char) -> bool {
    // The wide space of East Asian texts is visible.
    let is_space = ![' ', '\u{3000}'].contains(&letter) && letter.is_whitespace();
    let is_format = matches!(letter,
        '\u{ad}' | '\u{34f}' | '\u{61c}' | '\u{115f}' | '\u{1160}' | '\u{17b4}' | '\u{17b5}' | '\u{180e}'
        | '\u{200b}' | '\u{200e}' | '\u{200f}' | '\u{202a}'..='\u{202e}' | '\u{2060}'..='\u{206f}'
        | '\u{3164}' | '\u{feff}' | '\u{ffa0}' | '\u{fff9}'..='\u{fffb}' | '\u{e0000}'..='\u{e007f}');
    let is_private = matches!(letter, '\u{e000}'..='\u{f8ff}' | '\u{f0000}'..);
    letter.is_control() || is_space || is_format || is_private
}

/// A character with its code: `120 'x'`.
pub(crate) fn character(unit: u16, hex: bool) -> String {
    let literal = character_literal(unit);
    if hex { format!("0x{unit:04x} {literal}") } else { format!("{unit} {literal}") }
}

/// A character literal as C# writes it.
pub(crate) fn character_literal(unit: u16) -> String {
    let letter = match unit {
        0x27 => "\\'".into(),
        0x5c => "\\\\".into(),
        0x0a => "\\n".into(),
        0x0d => "\\r".into(),
        0x09 => "\\t".into(),
        0 => "\\0".into(),
        unit => match char::from_u32(u32::from(unit)) {
            Some(letter) if !is_unseen(letter) => letter.to_string(),
            _ => format!("\\u{unit:04x}"),
        },
    };
    format!("'{letter}'")
}

/// A hexadecimal number with all digits of its type.
pub(crate) fn hexadecimal(kind: u32, value: i128) -> String {
    match kind {
        element::I1 | element::U1 => format!("0x{:02x}", value as u8),
        element::I2 | element::U2 => format!("0x{:04x}", value as u16),
        element::I4 | element::U4 => format!("0x{:08x}", value as u32),
        _ => format!("0x{:016x}", value as u64),
    }
}

/// System.TimeSpan in the format of its `ToString`: `1.02:03:04.5000000`.
pub(crate) fn time_span(bytes: &[u8]) -> Option<String> {
    let ticks = i64::from_le_bytes(bytes.get(..8)?.try_into().ok()?);
    let all = ticks.unsigned_abs();
    let (days, seconds, rest) = (all / 864_000_000_000, all / 10_000_000 % 86_400, all % 10_000_000);
    let sign = if ticks < 0 { "-" } else { "" };
    let days = if days > 0 { format!("{days}.") } else { String::new() };
    let rest = if rest > 0 { format!(".{rest:07}") } else { String::new() };
    Some(format!("{sign}{days}{:02}:{:02}:{:02}{rest}", seconds / 3600, seconds / 60 % 60, seconds % 60))
}

/// System.Guid: an int, two shorts, eight bytes.
pub(crate) fn guid(bytes: &[u8]) -> Option<String> {
    let part = |range: std::ops::Range<usize>| -> Option<String> {
        Some(bytes.get(range)?.iter().map(|byte| format!("{byte:02x}")).collect())
    };
    let first = u32::from_le_bytes(bytes.get(..4)?.try_into().ok()?);
    let second = u16::from_le_bytes(bytes.get(4..6)?.try_into().ok()?);
    let third = u16::from_le_bytes(bytes.get(6..8)?.try_into().ok()?);
    Some(format!("{first:08x}-{second:04x}-{third:04x}-{}-{}", part(8..10)?, part(10..16)?))
}

/// System.DateTime: 100 ns since year 1 in the low 62 bits.
pub(crate) fn date_time(bytes: &[u8]) -> Option<String> {
    let ticks = i64::from_le_bytes(bytes.get(..8)?.try_into().ok()?) & 0x3fff_ffff_ffff_ffff;
    Some(format!("{} {}", date(ticks)?, time_of_day(ticks % DAY)))
}

/// Units of 100 ns in a day.
pub(crate) const DAY: i64 = 864_000_000_000;

/// The day of a time in 100 ns since year 1: `2020-02-29`.
pub(crate) fn date(ticks: i64) -> Option<String> {
    // Days since 0000-03-01, so that a leap day is the last day of its year (Howard Hinnant's civil
    // calendar).
    let day = u64::try_from(ticks / DAY).ok()? + 306;
    let (era, of_era) = (day / 146_097, day % 146_097);
    let year = (of_era - of_era / 1460 + of_era / 36_524 - of_era / 146_096) / 365;
    let of_year = of_era - (365 * year + year / 4 - year / 100);
    let month = (5 * of_year + 2) / 153;
    let date = of_year - (153 * month + 2) / 5 + 1;
    let (year, month) =
        (year + era * 400 + u64::from(month >= 10), if month < 10 { month + 3 } else { month - 9 });
    Some(format!("{year:04}-{month:02}-{date:02}"))
}

/// 100 ns since midnight: `13:14:15.25`.
pub(crate) fn time_of_day(ticks: i64) -> String {
    let seconds = ticks / 10_000_000;
    let mut text = format!("{:02}:{:02}:{:02}", seconds / 3600, seconds / 60 % 60, seconds % 60);
    if ticks % 10_000_000 != 0 {
        text.push_str(format!(".{:07}", ticks % 10_000_000).trim_end_matches('0'));
    }
    text
}

/// System.Text.Rune: `U+1F600 '😀'`.
pub(crate) fn rune(value: u32) -> Option<String> {
    let letter = char::from_u32(value)?;
    Some(match is_unseen(letter) {
        true => format!("U+{value:04X}"),
        false => format!("U+{value:04X} '{letter}'"),
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn control_characters_are_written_as_escapes() {
        assert_eq!(
            quoted("a\0\u{7}\u{1b}[31m\u{85}\u{2028}ä\t\u{202e}b"),
            "\"a\\0\\u0007\\u001b[31m\\u0085\\u2028ä\\t\\u202eb\""
        );
        // Invisible characters are escaped in any position; joiners, and letters of all scripts, are not.
        assert_eq!(
            quoted("1\u{a0}2\u{202f}3\u{ad}4\u{e000}5\u{e0041}6\u{2003}"),
            "\"1\\u00a02\\u202f3\\u00ad4\\ue0005\\U000e00416\\u2003\""
        );
        let kept = "e\u{301}क\u{94d}\u{200d}ष👩\u{200d}🔬☺\u{fe0f}漢\u{3000}字";
        assert_eq!(quoted(kept), format!("\"{kept}\""));
        assert_eq!(
            (character(0xad, false), character(0xa0, true)),
            ("173 '\\u00ad'".into(), "0x00a0 '\\u00a0'".into())
        );
    }

    #[test]
    fn values_have_the_format_of_csharp() {
        assert_eq!(character(0x78, false), "120 'x'");
        assert_eq!(character(0x0a, false), "10 '\\n'");
        assert_eq!(hexadecimal(element::I4, -1), "0xffffffff");
        assert_eq!(
            date_time(&637_135_200_000_000_000u64.to_le_bytes()).as_deref(),
            Some("2020-01-02 00:00:00")
        );
        let day: i64 = 738_500 * DAY;
        assert_eq!(date(day).as_deref(), Some("2022-12-12"));
        assert_eq!(date(-DAY), None);
        assert_eq!(time_of_day(DAY - 1), "23:59:59.9999999");
        assert_eq!(rune(0x1f600).as_deref(), Some("U+1F600 '😀'"));
        assert_eq!((rune(0x0a).as_deref(), rune(0xd800)), (Some("U+000A"), None));
        assert_eq!(time_span(&(-936_005_000_000i64).to_le_bytes()).as_deref(), Some("-1.02:00:00.5000000"));
        let id: Vec<u8> = (0..16).collect();
        assert_eq!(guid(&id).as_deref(), Some("03020100-0504-0706-0809-0a0b0c0d0e0f"));
        assert_eq!(quoted("a\"b\n"), "\"a\\\"b\\n\"");
    }
}
