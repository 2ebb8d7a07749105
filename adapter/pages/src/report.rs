//! The report of `doctor`: a line for each thing that was checked, as text for people or JSON for programs.
//!
//! Checks nothing: both programs have their own checks, and print the results here.

use std::io::Write;

use serde::{Deserialize, Serialize};

/// One line of the report.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct CheckResult {
    /// The kind of thing, such as `engine`.
    pub about: String,
    /// Whether it is as it should be; `None` for things that need not be here.
    pub well: Option<bool>,
    /// The finding: a version and a place, or the missing thing.
    pub what: String,
    /// Instruction for the user; `None` when nothing is wrong.
    pub hint: Option<String>,
}

impl CheckResult {
    /// A thing that is as it should be.
    pub fn well(about: &str, what: impl Into<String>) -> Self {
        Self { about: about.to_owned(), well: Some(true), what: what.into(), hint: None }
    }

    /// A fault that keeps Tandem from working.
    pub fn wrong(about: &str, what: impl Into<String>, hint: impl Into<String>) -> Self {
        Self { about: about.to_owned(), well: Some(false), what: what.into(), hint: Some(hint.into()) }
    }

    /// A thing that is missing, and that only some users need.
    pub fn optional(about: &str, what: impl Into<String>, hint: Option<String>) -> Self {
        Self { about: about.to_owned(), well: None, what: what.into(), hint }
    }
}

/// Writes the report; returns whether it has no fault.
///
/// # Errors
/// When writing to `out` fails.
pub fn write(results: &[CheckResult], as_json: bool, out: &mut dyn Write) -> std::io::Result<bool> {
    if as_json {
        serde_json::to_writer_pretty(&mut *out, results)?;
        writeln!(out)?;
    } else {
        for CheckResult { about, well, what, hint } in results {
            let mark = match well {
                Some(true) => "ok",
                Some(false) => "WRONG",
                None => "-",
            };
            writeln!(out, "{mark:<6}{about:<12}{what}")?;
            if let Some(hint) = hint {
                writeln!(out, "{:18}{hint}", "")?;
            }
        }
    }
    Ok(!results.iter().any(|result| result.well == Some(false)))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_report_marks_faults_and_is_read_back_from_json() {
        let mut results = vec![
            CheckResult::well("program", "1.0"),
            CheckResult::optional("engine", "none", Some("install it".into())),
        ];
        let mut text = Vec::new();
        assert!(write(&results, false, &mut text).expect("a vector takes all"));
        let expected = "ok    program     1.0\n-     engine      none\n                  install it\n";
        assert_eq!(String::from_utf8_lossy(&text), expected);
        results.push(CheckResult::wrong("folder", "not writable", "make it writable"));
        let mut json = Vec::new();
        assert!(!write(&results, true, &mut json).expect("a vector takes all"));
        assert_eq!(serde_json::from_slice::<Vec<CheckResult>>(&json).ok(), Some(results));
    }
}
