//! The parameters of a function, by the text of its declaration: debug adapters list them among the locals.
//!
//! Not here: functions by their names ([`crate::functions`]).

use crate::source::SourceText;

/// Number of lines above the first statement that are searched for the declaration.
const MAX_LINES_ABOVE: u64 = 15;
/// Lines of a declaration.
const MAX_DECLARATION_LINES: u64 = 12;

/// The name of a function without its namespace, types and parameters.
pub(super) fn base(name: &str) -> &str {
    let name = name.split(['(', '<']).next().unwrap_or(name).trim();
    let end = name.rsplit(['.', ':', ' ', '#']).next().unwrap_or(name);
    if end.is_empty() { name } else { end }
}

/// The words of the parameter list of the function whose code begins on this line; `None` if its
/// declaration is not found.
pub(super) fn parameters(source: &SourceText, name: &str, line: u64) -> Option<Vec<String>> {
    let declared = (0..=MAX_LINES_ABOVE.min(line.saturating_sub(1))).find_map(|up| {
        let at = line - up;
        let text = source.line(at)?;
        let found = word(&text, name)?;
        Some((at, text.get(found + name.len()..)?.to_owned()))
    });
    let (at, mut text) = declared?;
    for next in 1..MAX_DECLARATION_LINES {
        if text.contains(')') {
            break;
        }
        text.push(' ');
        text.push_str(&source.line(at + next).unwrap_or_default());
    }
    let list = text.split_once('(').map_or(text.as_str(), |(_, list)| list);
    let mut depth = 1;
    let end = list.char_indices().find(|(_, one)| {
        depth += match one {
            '(' => 1,
            ')' => -1,
            _ => 0,
        };
        depth == 0
    });
    let list = end.and_then(|(end, _)| list.get(..end)).unwrap_or(list);
    let words = list.split(|one: char| !one.is_alphanumeric() && one != '_' && one != '@' && one != '$');
    Some(words.filter(|word| !word.is_empty()).map(str::to_owned).collect())
}

/// Position of a name as a whole word before a parameter list.
fn word(text: &str, name: &str) -> Option<usize> {
    text.match_indices(name).map(|(at, _)| at).find(|at| {
        let before = text.get(..*at).and_then(|before| before.chars().next_back());
        let after = text.get(at + name.len()..).unwrap_or_default().trim_start();
        let is_word = before.is_none_or(|one| !one.is_alphanumeric() && one != '_');
        is_word
            && (after.starts_with(['(', '<', '='])
                || after.is_empty()
                || text.trim_start().starts_with("def "))
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_parameters_are_those_of_the_declaration_above() {
        for (text, line, name, expected) in [
            ("def settle(vat, rounds=3):\n    x = 1", 2, "settle", vec!["vat", "rounds", "3"]),
            (
                "int Dig(int depth,\n  long seed)\n{\n  return 1;",
                3,
                "Dig",
                vec!["int", "depth", "long", "seed"],
            ),
            ("func (b *Bed) water(level int) int {", 1, "water", vec!["level", "int"]),
            ("const polish = (amount) => {\n  x();", 2, "polish", vec!["amount"]),
            ("  def feed(hound, amount)\n    1", 2, "feed", vec!["hound", "amount"]),
        ] {
            let found = parameters(&SourceText::of(text.into()), name, line);
            assert_eq!(found, Some(expected.into_iter().map(str::to_owned).collect()), "{text}");
        }
        assert_eq!(parameters(&SourceText::of("x\ny\n".into()), "f", 2), None);
    }

    #[test]
    fn a_function_has_a_name_without_its_types() {
        for (name, expected) in [
            ("Ostwick.Program.Weigh(Ostwick.Sack sack, int turns)", "Weigh"),
            ("main.water", "water"),
            ("tarnhow::lift", "lift"),
            ("settle", "settle"),
            ("Vec<T>::push", "Vec"),
            ("Hound#feel", "feel"),
        ] {
            assert_eq!(base(name), expected);
        }
    }
}
