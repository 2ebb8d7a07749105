//! Why pytest or unittest does not run: what it prints, and the command that installs pytest. Not here:
//! results of tests ([`crate::reports`]).

use std::path::Path;

/// Beginnings of pytest's errors that only say that it does not find a test, and of its usage.
const OTHER_ERRORS: [&str; 4] =
    ["not found: ", "file or directory not found: ", "found no collectors for ", "usage: "];

/// Why pytest or unittest does not run; `None` if it only does not find a test.
pub(super) fn refusal(printed: &str) -> Option<String> {
    let reason = printed.lines().find_map(|line| {
        let text = line.strip_prefix("unittest: error: ");
        let text = text.or_else(|| line.split_once("-m pytest: error: ").map(|(_, text)| text));
        let is_refusal = |text: &&str| !OTHER_ERRORS.iter().any(|start| text.starts_with(start));
        text.or_else(|| line.strip_prefix("ERROR: ").filter(is_refusal))
    });
    reason.map(|reason| reason.trim().to_owned())
}

/// The command that installs pytest. An environment that uv has made has no pip.
pub(super) fn installation(python: &Path) -> String {
    let shown = python.display();
    match python.is_absolute() && !python.with_file_name("pip").exists() {
        true => format!("uv pip install --python {shown} pytest"),
        false => format!("{shown} -m pip install pytest"),
    }
}
