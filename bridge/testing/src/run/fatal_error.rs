//! The error with which Python's `faulthandler` reports a crash, such as a segmentation fault. pytest turns
//! it on.
//!
//! Not here: the meaning of the end of a process for its tests ([`super::process_end`]).

use std::path::Path;

use crate::installed::is_in_package;
use crate::results::TestPlace;

/// Beginning of the report.
const START: &str = "Fatal Python error: ";

/// A crash of Python, as its report describes it.
#[derive(Debug, PartialEq)]
pub(super) struct FatalError {
    /// The first line of the report.
    pub reason: String,
    /// The innermost call of the user's code in the thread that crashed.
    pub place: Option<TestPlace>,
    /// The calls of the user's code, one a line.
    pub calls: String,
}

impl FatalError {
    /// The crash that is reported in an output. Calls in this folder are the user's.
    pub(super) fn find(printed: &str, folder: &Path) -> Option<Self> {
        let (_, report) = printed.split_once(START)?;
        let reason = format!("{START}{}", report.lines().next()?.trim());
        // The other threads come first. Output that is left out may have the first line of the thread.
        let current = report.split_once("Current thread ").map_or(report, |(_, stack)| stack);
        let calls = current.lines().skip(1).take_while(|line| !line.trim().is_empty());
        let own: Vec<(TestPlace, &str)> =
            calls.filter_map(|line| Some((place(line, folder)?, line))).collect();
        let calls: Vec<&str> = own.iter().map(|(_, line)| line.trim()).collect();
        Some(Self { reason, calls: calls.join("\n"), place: own.first().map(|(place, _)| place.clone()) })
    }
}

/// The place in `File "/w/test_a.py", line 6 in test_dies`, if the file is the user's.
fn place(line: &str, folder: &Path) -> Option<TestPlace> {
    let (file, rest) = line.trim().strip_prefix("File \"")?.split_once("\", line ")?;
    let is_own = Path::new(file).starts_with(folder) && !is_in_package(file);
    let line = rest.split(' ').next()?.parse().ok()?;
    is_own.then(|| (file.to_owned(), line))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_crash_of_python_is_placed_in_the_user_s_code() {
        let printed = "test_a.py .Fatal Python error: Segmentation fault\n\n\
            Thread 0x01 (most recent call first):\n  File \"/w/other.py\", line 2 in run\n\n\
            Current thread 0x02 (most recent call first):\n  File \"/usr/lib/ctypes.py\", line 519 in at\n  \
            File \"/w/shop.py\", line 6 in dies\n  File \"/w/test_a.py\", line 9 in test_dies\n  \
            File \"/w/.venv/lib/python3.11/site-packages/_pytest/python.py\", line 187 in call\n\n\
            Extension modules: a\n";
        let found = FatalError::find(printed, Path::new("/w")).unwrap();
        assert_eq!(found.reason, "Fatal Python error: Segmentation fault");
        assert_eq!(found.place, Some(("/w/shop.py".to_owned(), 6)));
        assert_eq!(
            found.calls,
            "File \"/w/shop.py\", line 6 in dies\nFile \"/w/test_a.py\", line 9 in test_dies"
        );
        assert_eq!(FatalError::find("test_a.py .\n", Path::new("/w")), None);
    }
}
