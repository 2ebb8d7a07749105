//! Names of .NET tests: one id for what the frameworks and both platforms call differently, the values that a
//! message compares, and the place in the user's code that a stack trace names.
//!
//! Reads strings only: [`super::mtp`] and [`super::vstest`] get them from the platforms.

use std::path::Path;
use std::sync::LazyLock;

use regex::Regex;

use crate::model::{ComparedValues, TestItem};

static PLACE: LazyLock<Regex> = LazyLock::new(|| {
    Regex::new(r" in (?P<file>.+?):line (?P<line>\d+)").expect("the pattern is a constant, and tested")
});
/// `Expected: 4`, `But was:  3` on separate lines; `Expected:<4>. Actual:<3>.` on one.
static EXPECTED: LazyLock<Regex> = LazyLock::new(|| {
    Regex::new(r"(?m)^\s*expected:?\s+(?:to be )?(?P<value>\S.*)$")
        .expect("the pattern is a constant, and tested")
});
static ACTUAL: LazyLock<Regex> = LazyLock::new(|| {
    Regex::new(r"(?m)^\s*(?:actual|but was|but found|but received):?\s+(?P<value>\S.*)$")
        .expect("the pattern is a constant, and tested")
});
static IN_LINE: LazyLock<Regex> = LazyLock::new(|| {
    Regex::new(r"(?s)Expected:<(?P<expected>.*?)>\..*?Actual:<(?P<actual>.*?)>\.")
        .expect("the pattern is a constant, and tested")
});

/// The id of a test: class, method, and the data that distinguishes its rows. `shown` is the name
/// that its framework shows.
pub(super) fn id(class: &str, method: &str, shown: &str) -> String {
    let method = method.split('(').next().unwrap_or_default();
    let own = shown.strip_prefix(class).and_then(|rest| rest.strip_prefix('.')).unwrap_or(shown);
    if class.is_empty() || method.is_empty() {
        return shown.to_owned();
    }
    match own.strip_prefix(method) {
        Some("") => format!("{class}.{method}"),
        Some(rest) if rest.trim_start().starts_with(['(', '[', '<']) => {
            format!("{class}.{method}{}", rest.trim_start())
        }
        _ => format!("{class}.{method}: {own}"),
    }
}

/// Class and method of a fully qualified name, which may end in arguments or in the name that is shown. A
/// class may have arguments, too: those of NUnit's fixture.
pub(super) fn split(qualified: &str) -> (&str, &str) {
    let (mut dot, mut depth, mut is_quoted, mut is_escaped) = (None, 0_u32, false, false);
    let mut letters = qualified.char_indices().peekable();
    while let Some((at, letter)) = letters.next() {
        match letter {
            _ if is_escaped => is_escaped = false,
            '\\' if is_quoted => is_escaped = true,
            '"' if depth > 0 => is_quoted = !is_quoted,
            _ if is_quoted => {}
            '(' => depth += 1,
            ')' => {
                depth = depth.saturating_sub(1);
                // After the arguments of a method, nothing belongs to a name.
                if depth == 0 && letters.peek().is_some_and(|(_, next)| *next != '.') {
                    break;
                }
            }
            '.' if depth == 0 => dot = Some(at),
            ':' if depth == 0 && letters.peek().is_some_and(|(_, next)| *next == ' ') => break,
            _ => {}
        }
    }
    match dot {
        Some(at) => (qualified.get(..at).unwrap_or_default(), qualified.get(at + 1..).unwrap_or_default()),
        None => ("", qualified),
    }
}

/// Class and method of a test. `shown` is the name that its framework shows, which may have dots; NUnit's
/// qualified names end in it.
pub(super) fn split_shown<'a>(qualified: &'a str, shown: &str) -> (&'a str, &'a str) {
    let class = qualified.strip_suffix(shown).and_then(|rest| rest.strip_suffix('.'));
    let class = class.filter(|class| !class.is_empty() && !shown.is_empty());
    let named = class.and_then(|class| Some((class, qualified.get(class.len() + 1..)?)));
    named.unwrap_or_else(|| split(qualified))
}

/// Class and method of a listed test.
pub(super) fn of_test(test: &TestItem) -> (&str, &str) {
    let method = test.id.strip_prefix(&test.class).and_then(|rest| rest.strip_prefix('.'));
    match method.filter(|_| !test.class.is_empty()) {
        Some(method) => (&test.class, method),
        None => split(&test.id),
    }
}

/// The values that a message compares.
pub(super) fn compared_values(message: &str) -> ComparedValues {
    if let Some(found) = IN_LINE.captures(message) {
        return ComparedValues {
            expected: Some(found["expected"].to_owned()),
            actual: Some(found["actual"].to_owned()),
        };
    }
    let lower = message.to_lowercase();
    // The same length in bytes is what makes the places of one hold for the other.
    if lower.len() != message.len() {
        return ComparedValues::default();
    }
    let value = |pattern: &Regex| {
        let range = pattern.captures(&lower)?.name("value")?.range();
        message.get(range).map(|text| text.trim_end().to_owned())
    };
    ComparedValues { expected: value(&EXPECTED), actual: value(&ACTUAL) }
}

/// The first location in a stack trace whose source file exists.
pub(super) fn place(stack: &str) -> Option<(String, u32)> {
    stack.lines().find_map(|line| {
        let found = PLACE.captures(line)?;
        let file = found.name("file")?.as_str();
        let line = found.name("line")?.as_str().parse().ok()?;
        Path::new(file).is_file().then(|| (file.to_owned(), line))
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_framework_s_name_becomes_one_id() {
        let of = |class, method, shown| id(class, method, shown);
        for (method, shown, expected) in [
            ("Adds", "Shop.Cart.Adds", "Shop.Cart.Adds"),
            ("Adds", "Adds", "Shop.Cart.Adds"),
            ("Rows(System.String)", "Shop.Cart.Rows(text: \"a,b\")", "Shop.Cart.Rows(text: \"a,b\")"),
            ("Rows", "Rows (\"a,b\",1)", "Shop.Cart.Rows(\"a,b\",1)"),
            ("Rows", "Rows(é, 2)", "Shop.Cart.Rows(é, 2)"),
            ("Rows", "adds two numbers", "Shop.Cart.Rows: adds two numbers"),
        ] {
            assert_eq!(of("Shop.Cart", method, shown), expected);
        }
        assert_eq!(of("", "", "anything"), "anything");
        assert_eq!(split("Shop.Cart.Rows(\"a.b\",1)"), ("Shop.Cart", "Rows(\"a.b\",1)"));
        assert_eq!(split("Adds"), ("", "Adds"));
        let shown = "Rows: adds v1.2 (a.b)";
        assert_eq!(split(&format!("Shop.Cart.{shown}")), ("Shop.Cart", shown));
        assert_eq!(split("Shop.Cart(1.5,\"a).b\").Adds"), ("Shop.Cart(1.5,\"a).b\")", "Adds"));
        assert_eq!(split("Shop.Cart(1).Rows(\"x: \\\"y.z\")"), ("Shop.Cart(1)", "Rows(\"x: \\\"y.z\")"));
        assert_eq!(split("Shop.Cart.Rows(text: \"a.b"), ("Shop.Cart", "Rows(text: \"a.b"));
        let shown = "v1.2 works. Really (a.b)";
        assert_eq!(split_shown("Shop.Cart(1.5).v1.2 works. Really (a.b)", shown), ("Shop.Cart(1.5)", shown));
        assert_eq!(split_shown("Shop.Cart.Adds", "Shop.Cart.Adds"), ("Shop.Cart", "Adds"));
        assert_eq!(split_shown("Shop.Cart.Rows", "Rows (1.5)"), ("Shop.Cart", "Rows"));
        let id = of("Shop.Cart", shown, shown);
        let test = TestItem { id: id.clone(), class: "Shop.Cart".into(), ..TestItem::default() };
        assert_eq!(
            (id.as_str(), of_test(&test)),
            ("Shop.Cart.v1.2 works. Really (a.b)", ("Shop.Cart", shown))
        );
    }

    #[test]
    fn compared_values_are_found_in_the_words_of_each_framework() {
        for (message, expected, actual) in [
            ("Assert.Equal() Failure: Values differ\nExpected: 4\nActual:   3", "4", "3"),
            ("  Assert.That(sum, Is.EqualTo(4))\n  Expected: 4\n  But was:  3\n", "4", "3"),
            ("Assert.AreEqual failed. Expected:<4>. Actual:<3>. ", "4", "3"),
            ("Expected to be 4\nbut found 3\n\nat Assert.That(sum)", "4", "3"),
        ] {
            let compared = ComparedValues { expected: Some(expected.into()), actual: Some(actual.into()) };
            assert_eq!(compared_values(message), compared, "{message}");
        }
        assert_eq!(compared_values("System.Exception : no"), ComparedValues::default());
    }

    #[test]
    fn the_place_is_the_first_whose_source_is_here() {
        let own = std::env::current_exe().unwrap().display().to_string();
        let stack = format!("   at A.B() in /_/src/Asserts.cs:line 7\n   at C.D() in {own}:line 12\n");
        assert_eq!(place(&stack), Some((own, 12)));
        assert_eq!(place("   at A.B()"), None);
    }
}
