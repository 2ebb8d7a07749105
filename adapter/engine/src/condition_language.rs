//! The language in which an engine evaluates conditions: what of a value counts as true, and how several
//! conditions become one. Facts about one language alone are in the profile of its adapter.
//!
//! An engine that keeps one breakpoint per line gets one condition that holds where any of several holds or
//! fails: it then stops only there, and the hub evaluates each again. A condition that fails counts as one
//! that holds, so that the hub can report why it failed. One that is not an expression must not disable the
//! others' breakpoint: the engine gets what was combined, and where it finds that one of them cannot be
//! parsed it stops each time.

/// The language of an engine's conditions.
#[derive(Clone, Copy)]
pub struct ConditionLanguage {
    /// Its name; two of one name are the same.
    pub name: &'static str,
    /// One condition that holds where any of these holds or fails; `None` where they cannot be combined.
    pub combine: fn(&[&str]) -> Option<String>,
    /// The expression whose value says whether a condition holds: mostly the condition itself.
    pub query: fn(&str) -> String,
    /// Whether a debugger's text for a value means true; the text has nothing around it.
    pub truth: fn(&str) -> bool,
}

impl ConditionLanguage {
    /// One in which several conditions cannot be combined: the engine stops each time, and the hub evaluates.
    pub const OTHER: Self =
        Self { name: "other", combine: |_| None, query: str::to_owned, truth: usual_truth };

    /// The language of LLDB, GDB and Delve (C, C++, Rust, Go), which stop at a condition that fails.
    pub const NATIVE: Self = Self {
        name: "native",
        combine: |conditions| {
            // A comment would hide what is behind it.
            let whole = |condition: &&str| !["//", "/*", "\n"].iter().any(|odd| condition.contains(odd));
            let all = conditions.iter().all(whole);
            all.then(|| either(conditions, |condition| format!("({condition})")))
        },
        ..Self::OTHER
    };

    /// One condition that holds where any of these holds or fails; `None` where they cannot be combined.
    pub fn any_of(self, conditions: &[&str]) -> Option<String> {
        (self.combine)(conditions)
    }

    /// Whether a debugger's text for a value means true.
    pub fn is_true(self, text: &str) -> bool {
        (self.truth)(text.trim())
    }
}

impl std::fmt::Debug for ConditionLanguage {
    fn fmt(&self, formatter: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        formatter.write_str(self.name)
    }
}

impl PartialEq for ConditionLanguage {
    fn eq(&self, other: &Self) -> bool {
        self.name == other.name
    }
}

impl Eq for ConditionLanguage {}

/// Whether most languages count this value as true: it is not false, null, zero or empty.
fn usual_truth(text: &str) -> bool {
    // gdb and lldb show a character with its number first, C++ debuggers a type in front.
    let value = text.rsplit_once(") ").map_or(text, |(_, value)| value);
    let value = value.split(" '").next().unwrap_or(value);
    !(matches!(value, "false" | "False" | "nil" | "FALSE") || is_empty(value) || is_zero(value))
}

/// Each condition in what `each` makes of it, joined by `||`.
pub fn either(conditions: &[&str], each: impl Fn(&str) -> String) -> String {
    conditions.iter().map(|condition| each(condition)).collect::<Vec<_>>().join(" || ")
}

fn is_empty(value: &str) -> bool {
    matches!(
        value,
        "" | "None"
            | "null"
            | "NULL"
            | "nullptr"
            | "undefined"
            | "NaN"
            | "nan"
            | "\"\""
            | "''"
            | "[]"
            | "{}"
            | "()"
    )
}

fn is_zero(value: &str) -> bool {
    value.strip_prefix("0x").map_or_else(
        || value.parse::<f64>().is_ok_and(|number| number == 0.0),
        |digits| !digits.is_empty() && digits.bytes().all(|digit| digit == b'0'),
    )
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn conditions_that_cannot_be_combined_are_not() {
        let native = ConditionLanguage::NATIVE;
        assert_eq!(native.any_of(&["a", "b"]).as_deref(), Some("(a) || (b)"));
        assert_eq!(native.any_of(&["a // first", "b"]), None);
        assert_eq!(ConditionLanguage::OTHER.any_of(&["a", "b"]), None);
    }

    #[test]
    fn truth_is_what_each_language_says() {
        let other = ConditionLanguage::OTHER;
        for text in
            ["true", "True", "1", "-1", "0.5", "0x10", "'a'", "\"0\"", "[0]", "(int) 3", "Point { x: 0 }"]
        {
            assert!(other.is_true(text), "{text}");
        }
        for text in [
            "false",
            "False",
            "0",
            "0.0",
            "0x0",
            "None",
            "null",
            "undefined",
            "\"\"",
            "[]",
            "(bool) false",
            "0 '\\000'",
        ] {
            assert!(!other.is_true(text), "{text}");
        }
    }
}
