//! The table of error codes in `docs/troubleshooting.md`. Codes, numbers and meanings are those of
//! `ErrorCode`; the remedies are written there by hand, and are kept. `INSTA_UPDATE=always cargo test -p
//! tandem-error` regenerates the table. A test only: the programs do not contain it.

use crate::ErrorCode;

const PATH: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/../../docs/troubleshooting.md");
const HEAD: &str = "| code | number | what it means | what to do |\n|---|---|---|---|\n";
const BEFORE: &str = "<!-- error codes -->\n";
const AFTER: &str = "<!-- end of error codes -->";

/// The remedy in the row of this code; `None` if there is no such row.
fn remedy_in(table: &str, code: ErrorCode) -> Option<&str> {
    let row = table.lines().find(|row| row.starts_with(&format!("| `{code}` | ")))?;
    Some(row.split(" | ").nth(3)?.trim_end_matches('|').trim())
}

#[test]
fn the_documentation_says_what_to_do_about_every_code() {
    let text = std::fs::read_to_string(PATH).expect("the page is there");
    let (head, rest) = text.split_once(BEFORE).expect("the table has a beginning");
    let (table, tail) = rest.split_once(AFTER).expect("the table has an end");
    let rows: String = ErrorCode::ALL
        .iter()
        .map(|&code| {
            let (id, meaning) = (code.id(), code.meaning());
            format!("| `{code}` | {id} | {meaning} | {} |\n", remedy_in(table, code).unwrap_or_default())
        })
        .collect();
    let expected = format!("{head}{BEFORE}{HEAD}{rows}{AFTER}{tail}");
    if std::env::var_os("INSTA_UPDATE").is_some_and(|value| value == "always") {
        std::fs::write(PATH, expected).expect("it is written");
    } else {
        assert!(text == expected, "{PATH} is out of date: run this test with INSTA_UPDATE=always");
    }
    for &code in ErrorCode::ALL {
        let remedy = remedy_in(table, code).unwrap_or_default();
        assert!(!remedy.is_empty(), "{PATH} does not say what to do about `{code}`: write it into its row");
    }
}
