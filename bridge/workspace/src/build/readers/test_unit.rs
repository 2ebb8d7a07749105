//! Failures of Ruby's test-unit: an entry between two lines of `=`, with the test, the calls, the source
//! around the innermost one, and the message.
//!
//! Not here: the counts of the run ([`super::minitest`]).

use std::sync::LazyLock;

use regex::Regex;

use crate::build::report::FailedTest;

/// Lines kept of one failure.
const MAX_LINES: usize = 200;
/// Beginning of the line before and after an entry.
const RULE: &str = "==========";

static HEAD: LazyLock<Regex> = LazyLock::new(|| {
    Regex::new(r"^(?:Failure|Error): (?P<test>\S.*)\((?P<class>[\w:]+)\)(?:: (?P<why>.*))?$")
        .expect("the pattern is a constant, and tested")
});
static FRAME: LazyLock<Regex> = LazyLock::new(|| {
    Regex::new(r"^(?P<file>\S[^:]*\.rb):(?P<line>\d+):in ").expect("the pattern is a constant, and tested")
});
static SOURCE: LazyLock<Regex> =
    LazyLock::new(|| Regex::new(r"^\s+(?:=> +)?\d+: ?").expect("the pattern is a constant, and tested"));

/// An entry that is being printed.
#[derive(Debug)]
pub(super) struct TestUnitEntry(Vec<String>);

impl TestUnitEntry {
    /// The entry that a line begins.
    pub(super) fn begin(line: &str) -> Option<Self> {
        HEAD.is_match(line).then(|| Self(vec![line.to_owned()]))
    }

    /// Adds a line; whether the entry continues.
    pub(super) fn line(&mut self, line: &str) -> bool {
        let continues = !line.starts_with(RULE);
        if continues && self.0.len() < MAX_LINES {
            self.0.push(line.to_owned());
        }
        continues
    }

    /// The failure that the entry describes.
    pub(super) fn failure(&self) -> Option<FailedTest> {
        let (head, lines) = self.0.split_first()?;
        let found = HEAD.captures(head)?;
        let frame = lines.iter().find_map(|line| FRAME.captures(line));
        let is_message = |line: &&String| !FRAME.is_match(line) && !SOURCE.is_match(line);
        let why = found.name("why").map(|why| why.as_str().to_owned());
        let message: Vec<String> = why.into_iter().chain(lines.iter().filter(is_message).cloned()).collect();
        Some(FailedTest {
            name: format!("{}#{}", &found["class"], &found["test"]),
            message: message.join("\n").trim().to_owned(),
            file: frame.as_ref().map(|found| found["file"].to_owned()),
            line: frame.as_ref().and_then(|found| found["line"].parse().ok()),
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn read(printed: &str) -> FailedTest {
        let mut lines = printed.lines();
        let mut entry = TestUnitEntry::begin(lines.next().unwrap()).unwrap();
        assert!(lines.any(|line| !entry.line(line)));
        entry.failure().unwrap()
    }

    #[test]
    fn a_failure_has_its_message_and_place() {
        let failed = read(
            "Failure: test_rows[a (b)](CartTest)\ntest/test_cart.rb:5:in `test_rows'\n     \
                4:     x = 1\n  => 5:     \
                assert_equal(2, x)\n     6:   end\nsum is wrong\n<2> expected but was\n<1>\n==========\n",
        );
        assert_eq!(failed.name, "CartTest#test_rows[a (b)]");
        assert_eq!(failed.message, "sum is wrong\n<2> expected but was\n<1>");
        assert_eq!((failed.file.as_deref(), failed.line), (Some("test/test_cart.rb"), Some(5)));
        let raised = read(
            "Error: test_raises(Shop::CartTest): ArgumentError: bad\nlib/cart.rb:8:in `add'\n\
                test/test_cart.rb:9:in `test_raises'\n==========\n",
        );
        assert_eq!(
            (raised.name.as_str(), raised.message.as_str()),
            ("Shop::CartTest#test_raises", "ArgumentError: bad")
        );
        assert_eq!((raised.file.as_deref(), raised.line), (Some("lib/cart.rb"), Some(8)));
        assert!(TestUnitEntry::begin("Omission: later [test_omits(CartTest)]").is_none());
    }
}
