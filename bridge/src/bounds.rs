//! Bounds of answers: everything that may be long is cut, and the answer says where and how to continue.
//!
//! Not here: the bounds of files, diffs and output of builds, which `tandem-workspace` has.

use serde::Serialize;
use tandem_wire::types;

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
    pub fn rows<T: Serialize>(self, rows: &[T]) -> usize {
        let mut bytes = 0;
        let fits = rows.iter().take_while(|row| {
            bytes += types::body(row).to_string().len() + 1;
            bytes <= self.0
        });
        fits.count().max(1)
    }

    /// The part of a list that fits; `start` is the number of its first row.
    pub fn page<T: Serialize>(self, mut rows: Vec<T>, start: u64) -> ListPage<T> {
        let fits = self.rows(&rows);
        let omitted = rows.len().saturating_sub(fits);
        rows.truncate(fits);
        let next = (omitted > 0).then(|| start + fits as u64);
        ListPage { rows, next, omitted: Some(omitted).filter(|omitted| *omitted > 0) }
    }
}

/// The part of a list that fits into an answer.
#[derive(Debug)]
pub struct ListPage<T> {
    /// The rows of the part.
    pub rows: Vec<T>,
    /// Where to continue, when not all of them fit.
    pub next: Option<u64>,
    /// How many are known to be missing then.
    pub omitted: Option<usize>,
}

/// A string with at most `most` characters, and how many it has if these are more.
pub fn cut(text: &str, most: usize) -> String {
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
        let rows: Vec<String> = (0..100).map(|number| format!("{number:050}")).collect();
        let page = Budget::of(Some(250)).page(rows, 10);
        let kept = page.rows.len();
        assert!(page.rows.iter().map(|row| row.len() + 3).sum::<usize>() <= 1000 && kept > 5, "{kept}");
        assert_eq!((page.next, page.omitted), (Some(10 + kept as u64), Some(100 - kept)));
        let whole = Budget::of(None).page(vec![1], 0);
        assert_eq!((whole.next, whole.omitted), (None, None));
    }

    #[test]
    fn a_long_value_says_how_long_it_is() {
        assert_eq!(cut("äöü", 3), "äöü");
        assert_eq!(cut("äöüß", 2), "äö… (4 characters)");
    }
}
