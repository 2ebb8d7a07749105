//! Bounds of answers: everything that may be long is cut, and the answer says where and how to continue.
//!
//! Not here: the bounds of files, diffs and output of builds, which `workspace-tools` has.

use serde_json::{Value, json};

/// Tokens of an answer unless the agent says otherwise.
const DEFAULT_TOKENS: u64 = 4000;
/// Bytes of JSON that are about one token.
pub const BYTES_PER_TOKEN: u64 = 4;

/// Maximum size of an answer, bytes of JSON.
#[derive(Debug, Clone, Copy)]
pub struct Budget(usize);

impl Budget {
    /// The budget that a call asks for with `maxTokens`, or the default.
    pub fn of(max_tokens: Option<u64>) -> Self {
        let tokens = max_tokens.unwrap_or(DEFAULT_TOKENS).clamp(100, 1_000_000);
        Self(usize::try_from(tokens * BYTES_PER_TOKEN).unwrap_or(usize::MAX))
    }

    /// The whole budget, in bytes.
    pub fn bytes(self) -> usize {
        self.0
    }

    /// The given percentage of the budget.
    #[must_use]
    pub fn part(self, percent: usize) -> Self {
        Self(self.0 / 100 * percent)
    }

    /// Number of rows that fit, counted from the first; at least one.
    pub fn rows(self, rows: &[Value]) -> usize {
        let mut bytes = 0;
        let fits = rows.iter().take_while(|row| {
            bytes += row.to_string().len() + 1;
            bytes <= self.0
        });
        fits.count().max(1)
    }

    /// Puts a list into an answer. When it does not fit, `next` is where to continue (as `start`), and
    /// `omitted` how many are known to be missing here.
    pub fn put(self, answer: &mut Value, key: &str, mut rows: Vec<Value>, start: u64) {
        let fits = self.rows(&rows);
        if fits < rows.len() {
            let omitted = rows.len() - fits;
            rows.truncate(fits);
            answer["next"] = json!(start + fits as u64);
            answer["omitted"] = json!(omitted);
        }
        answer[key] = json!(rows);
    }
}

/// A value of at most `most` characters; a longer one says how long it is.
pub fn cut(value: &Value, most: usize) -> Value {
    value.as_str().map_or_else(|| value.clone(), |text| Value::String(cut_text(text, most)))
}

/// A string with at most `most` characters, and how many it has if these are more.
pub fn cut_text(text: &str, most: usize) -> String {
    match text.char_indices().nth(most) {
        Some((end, _)) => {
            format!("{}… ({} characters)", text.get(..end).unwrap_or_default(), text.chars().count())
        }
        None => text.to_owned(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_truncated_list_reports_where_to_continue() {
        let rows: Vec<Value> = (0..100).map(|number| json!({ "value": format!("{number:050}") })).collect();
        let mut answer = json!({});
        Budget::of(Some(250)).put(&mut answer, "rows", rows, 10);
        let kept = answer["rows"].as_array().unwrap().len() as u64;
        assert!(answer["rows"].to_string().len() <= 1000 && kept > 5, "{kept}");
        assert_eq!((&answer["next"], &answer["omitted"]), (&json!(10 + kept), &json!(100 - kept)));
    }

    #[test]
    fn a_long_value_says_how_long_it_is() {
        assert_eq!(cut(&json!("äöü"), 3), json!("äöü"));
        assert_eq!(cut(&json!("äöüß"), 2), json!("äö… (4 characters)"));
    }
}
