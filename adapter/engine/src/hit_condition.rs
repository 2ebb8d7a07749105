//! Hit conditions as users type them: `5`, `= 5`, `== 5`, `> 5`, `>= 5`, `< 5`, `<= 5`, `% 5`. DAP leaves
//! their meaning to the adapter; this is Tandem's, for engines that count themselves and for the hub, which
//! counts for the others.

/// `description` of a stop at a breakpoint whose condition could not be evaluated.
pub const CONDITION_FAILED: &str = "Paused: the condition of a breakpoint failed";

/// The message about a condition that could not be evaluated.
pub fn condition_failed(condition: &str, reason: &str) -> String {
    let which = match condition {
        "" => "A breakpoint's condition".to_owned(),
        condition => format!("The condition `{condition}`"),
    };
    format!("{which} cannot be evaluated, so the program stops: {}", reason.trim())
}

/// The hits that count, by their number.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum HitTest {
    /// The one with this number, from 1.
    Equal(u64),
    /// Hits with a higher number.
    Above(u64),
    /// It and those after it.
    AtLeast(u64),
    /// Hits with a lower number.
    Below(u64),
    /// Those before it, and it.
    AtMost(u64),
    /// Each hit whose number is a multiple of this.
    Every(u64),
}

impl HitTest {
    /// Whether the hit with this number, from 1, counts.
    pub fn holds(self, hits: u64) -> bool {
        match self {
            Self::Equal(count) => hits == count,
            Self::Above(count) => hits > count,
            Self::AtLeast(count) => hits >= count,
            Self::Below(count) => hits < count,
            Self::AtMost(count) => hits <= count,
            Self::Every(count) => hits.is_multiple_of(count),
        }
    }
}

impl HitTest {
    /// Reads a hit condition; with an empty text each hit counts.
    ///
    /// # Errors
    /// A sentence that explains why it is invalid.
    pub fn parse(text: &str) -> Result<Option<Self>, String> {
        let text = text.trim();
        if text.is_empty() {
            return Ok(None);
        }
        let digits = text.find(|letter: char| letter.is_ascii_digit()).unwrap_or(text.len());
        let (operator, number) = text.split_at(digits);
        let wrong =
            || format!("the hit condition `{text}` is not understood; use 5, > 5, >= 5, < 5, <= 5 or % 5");
        // Clients that count in floats write a whole number with a fraction.
        let number = match number.trim().split_once('.') {
            Some((whole, fraction)) if fraction.bytes().all(|digit| digit == b'0') => whole,
            _ => number.trim(),
        };
        let count: u64 = number.parse().map_err(|_| wrong())?;
        match operator.trim() {
            "" | "=" | "==" => Ok(Some(HitTest::Equal(count))),
            ">" => Ok(Some(HitTest::Above(count))),
            ">=" => Ok(Some(HitTest::AtLeast(count))),
            "<" => Ok(Some(HitTest::Below(count))),
            "<=" => Ok(Some(HitTest::AtMost(count))),
            "%" if count > 0 => Ok(Some(HitTest::Every(count))),
            _ => Err(wrong()),
        }
    }
}

/// As every engine understands it.
impl std::fmt::Display for HitTest {
    fn fmt(&self, formatter: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self {
            Self::Equal(count) => write!(formatter, "{count}"),
            Self::Above(count) => write!(formatter, "> {count}"),
            Self::AtLeast(count) => write!(formatter, ">= {count}"),
            Self::Below(count) => write!(formatter, "< {count}"),
            Self::AtMost(count) => write!(formatter, "<= {count}"),
            Self::Every(count) => write!(formatter, "% {count}"),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn hit_conditions_are_those_people_type() {
        for (text, hits, holds) in [
            ("3", 3, true),
            ("3", 4, false),
            ("> 2", 3, true),
            (">=2", 2, true),
            ("% 5", 10, true),
            ("%5", 11, false),
            ("<= 1", 2, false),
            ("2.0", 2, true),
            ("2.0", 1, false),
            (">= 5.", 5, true),
            ("= 5", 5, true),
        ] {
            let test = HitTest::parse(text).unwrap().unwrap();
            assert_eq!(test.holds(hits), holds, "{text} at {hits}");
            assert_eq!(HitTest::parse(&test.to_string()), Ok(Some(test)));
        }
        assert_eq!(HitTest::parse(""), Ok(None));
        for text in ["often", "% 0", "2.5", "5 times", "-1"] {
            assert!(HitTest::parse(text).is_err(), "{text}");
        }
    }
}
