//! Runs the code of `fuzz/fuzz_targets/expression.rs` with a bounded number of random bytes and of damaged
//! expressions of the fixture programs. No input panics, and each run ends.

use super::bind_any;

/// The texts that are inserted into expressions.
const PIECES: [&str; 30] = [
    "(",
    ")",
    "[",
    "]",
    "{",
    "}",
    "<",
    ">",
    "\"",
    "'",
    "$\"{",
    "}\"",
    "\"\"\"",
    "\\",
    "=>",
    "?.",
    "??=",
    "..",
    "^",
    " is ",
    " switch {",
    " with {",
    "new ",
    "from x in ",
    "\u{0}",
    "\u{feff}",
    "\u{1f600}",
    "0x",
    "1e",
    "@",
];

struct Random(u64);

impl Random {
    fn below(&mut self, limit: usize) -> usize {
        self.0 = self.0.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        usize::try_from((self.0 >> 33) % limit.max(1) as u64).unwrap_or(0)
    }
}

/// The expressions in the tables of the fixture programs.
fn expressions() -> Vec<String> {
    let root = concat!(env!("CARGO_MANIFEST_DIR"), "/../../fixtures/programs/");
    let sources = ["dotnet/expressions/Program.cs", "modern/compiled/Table.cs"];
    let texts = sources.map(|source| std::fs::read_to_string(format!("{root}{source}")).unwrap());
    let rows = texts.iter().flat_map(|text| text.lines());
    rows.filter_map(|row| Some(row.trim().strip_prefix("Check(")?.strip_suffix(");")?.to_owned())).collect()
}

/// The nearest character boundary at or before a byte offset.
fn char_boundary(text: &str, at: usize) -> usize {
    (0..=at.min(text.len())).rev().find(|at| text.is_char_boundary(*at)).unwrap_or(0)
}

fn damaged(all: &[String], random: &mut Random) -> String {
    let mut text = all[random.below(all.len())].clone();
    for _ in 0..=random.below(4) {
        let from = char_boundary(&text, random.below(text.len() + 1));
        let to = char_boundary(&text, from + random.below(6)).max(from);
        match random.below(4) {
            0 => text.replace_range(from..to, ""),
            1 => text.insert_str(from, PIECES[random.below(PIECES.len())]),
            2 => text.truncate(from),
            _ => {
                let other = &all[random.below(all.len())];
                let piece = char_boundary(other, random.below(other.len()));
                text.insert_str(
                    from,
                    &other[piece..char_boundary(other, piece + random.below(20)).max(piece)],
                );
            }
        }
    }
    text
}

#[test]
fn damaged_expressions_are_bound_or_refused() {
    let all = expressions();
    assert!(all.len() > 900);
    let mut random = Random(7);
    for _ in 0..4_000 {
        bind_any(&damaged(&all, &mut random));
    }
}

#[test]
fn random_bytes_are_bound_or_refused() {
    let mut random = Random(8);
    for _ in 0..2_000 {
        let bytes: Vec<u8> =
            (0..random.below(200)).map(|_| u8::try_from(random.below(256)).unwrap_or(0)).collect();
        bind_any(&String::from_utf8_lossy(&bytes));
    }
}
