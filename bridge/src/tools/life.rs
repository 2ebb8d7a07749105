//! The life of a call as text: one line for each statement, with what it changed and what it called; loops
//! folded into their first round, the rounds that differ, and the values of the others. The session decides
//! which statements were executed (`followCall`); this module sends no requests.

mod fold;
mod signature;

use std::collections::BTreeMap;

use tandem_wire::types::{FollowCallBody, FollowedFunction, NamedValue, Source};

use crate::source::SourceText;
use fold::{ExecutedStatement, FoldedItem, Loop, fold, parse};

/// Maximum characters of a value in a line.
const MAX_VALUE_CHARS: usize = 60;
/// Maximum characters of a value in a loop round.
const MAX_ROUND_VALUE_CHARS: usize = 24;
/// Maximum characters of a source line.
const MAX_SOURCE_CHARS: usize = 60;
/// Rounds of one loop that are shown statement by statement.
const MAX_ROUNDS: usize = 6;
/// Values of one variable over the rounds of a loop: the first and the last.
const MAX_FIRST_AND_LAST_VALUES: (usize, usize) = (24, 6);

/// Writes the statements of a call as lines.
pub(super) struct StatementWriter {
    sources: BTreeMap<String, Option<SourceText>>,
    /// The source of the call.
    path: String,
    /// Lines have the text of their source.
    with_source: bool,
    lines: Vec<String>,
}

/// The lines of a followed call, as long as they may be: where they do not fit with the text of the source,
/// they have its numbers only.
pub(super) fn lines(body: &FollowCallBody, most_bytes: usize) -> Vec<String> {
    let path = path_of(body.call.source.as_ref()).to_owned();
    let items = fold(parse(&body.statements));
    let mut writer = StatementWriter { sources: BTreeMap::new(), path, with_source: true, lines: Vec::new() };
    writer.items(&items, 0);
    if bytes(&writer.lines) > most_bytes {
        writer.with_source = false;
        writer.lines.clear();
        writer.items(&items, 0);
    }
    writer.lines
}

/// The call itself: its function and arguments.
pub(super) fn head(call: &FollowedFunction) -> String {
    let mut writer = StatementWriter {
        sources: BTreeMap::new(),
        path: String::new(),
        with_source: false,
        lines: Vec::new(),
    };
    writer.call(call)
}

/// Size of the lines as JSON, in bytes.
pub(super) fn bytes(lines: &[String]) -> usize {
    lines.iter().map(|line| line.len() + 3).sum()
}

impl StatementWriter {
    fn source(&mut self, path: &str) -> Option<&SourceText> {
        self.sources.entry(path.to_owned()).or_insert_with(|| SourceText::read(path)).as_ref()
    }

    /// `name(argument=value, …)`, and the value that it returned.
    fn call(&mut self, call: &FollowedFunction) -> String {
        let name = signature::base(&call.name);
        let line = u64::try_from(call.line).unwrap_or_default();
        let source = self.source(path_of(call.source.as_ref()));
        let names = source.and_then(|source| signature::parameters(source, name, line));
        let is_argument = |row: &&NamedValue| names.as_ref().is_none_or(|names| names.contains(&row.name));
        let arguments: Vec<String> = call
            .variables
            .iter()
            .filter(is_argument)
            .take(8)
            .map(|row| format!("{}={}", row.name, cut(&row.value, MAX_VALUE_CHARS)))
            .collect();
        let name = if name.is_empty() { "(anonymous)" } else { name };
        let mut call_text = format!("{name}({})", arguments.join(", "));
        if let Some(value) = &call.returned {
            call_text.push_str(&format!(" = {}", cut(value, MAX_VALUE_CHARS)));
        }
        call_text
    }

    fn items(&mut self, items: &[FoldedItem], indent: usize) {
        for item in items {
            match item {
                FoldedItem::Statement(statement) => self.statement(statement, indent),
                FoldedItem::Loop(of) => self.rounds(of, indent),
            }
        }
    }

    fn statement(&mut self, statement: &ExecutedStatement, indent: usize) {
        let path = statement.path.clone().unwrap_or_else(|| self.path.clone());
        let source = self.source(&path).and_then(|source| source.line(statement.line));
        let is_silent = statement.changes.is_empty() && statement.calls.is_empty();
        if is_silent && source.as_deref().is_some_and(is_frame) {
            return;
        }
        let mut line = format!("{}{}", "  ".repeat(indent), statement.line);
        if let Some(other) = &statement.path {
            line.push_str(&format!(" of {}", other.rsplit('/').next().unwrap_or(other)));
        }
        if self.with_source
            && let Some(source) = source
        {
            line.push_str(&format!(" {}", cut(&source, MAX_SOURCE_CHARS)));
        }
        if statement.times > 2 {
            line.push_str(&format!(" ({} times)", statement.times));
        }
        let mut effects: Vec<String> = Vec::new();
        let followed = statement.calls.iter().any(|call| call.followed);
        for call in statement.calls.iter().filter(|call| !call.followed) {
            effects.push(self.call(call));
        }
        for (name, value) in &statement.changes {
            effects.push(format!("{name}={}", cut(value, MAX_VALUE_CHARS)));
        }
        if !effects.is_empty() {
            line.push_str(&format!(" => {}", effects.join("; ")));
        }
        self.lines.push(line);
        if followed {
            self.inner(statement, indent);
        }
    }

    /// The statements of the calls of a statement.
    fn inner(&mut self, statement: &ExecutedStatement, indent: usize) {
        let mut inner = statement.inner.iter();
        let followed: Vec<&FollowedFunction> = statement.calls.iter().filter(|call| call.followed).collect();
        let is_block = |call: &&FollowedFunction| call.name.starts_with("block ");
        if followed.len() > 1 && followed.iter().all(is_block) {
            let rounds = statement.inner.iter().map(|statements| fold(statements.clone()));
            return self.rounds(&Loop { line: statement.line, rounds: rounds.collect() }, indent + 1);
        }
        for call in followed {
            let text = self.call(call);
            self.lines.push(format!("{}> {text}", "  ".repeat(indent + 1)));
            if let Some(statements) = inner.next() {
                let items = fold(statements.clone());
                self.items(&items, indent + 2);
            }
        }
    }

    fn rounds(&mut self, of: &Loop, indent: usize) {
        let space = "  ".repeat(indent);
        let count = of.rounds.len();
        self.lines.push(format!("{space}loop at {}, {count} rounds:", of.line));
        let (mut shown, mut at): (Vec<Vec<u64>>, usize) = (Vec::new(), 0);
        while let Some(round) = of.rounds.get(at) {
            let shape = fold::shape(round);
            if !shown.contains(&shape) && shown.len() < MAX_ROUNDS {
                self.lines.push(format!("{space} round {}:", at + 1));
                self.items(round, indent + 1);
                shown.push(shape);
                at += 1;
                continue;
            }
            let like = shown.iter().position(|one| *one == shape);
            let same = of.rounds.iter().skip(at).take_while(|next| {
                let next = fold::shape(next);
                if like.is_some() { next == shape } else { !shown.contains(&next) }
            });
            let alike: Vec<&Vec<FoldedItem>> = same.collect();
            let name = match alike.len() {
                1 => format!("{space} round {}", at + 1),
                many => format!("{space} rounds {}-{}", at + 1, at + many),
            };
            let first = like.and_then(|like| {
                let example = shown.get(like)?;
                of.rounds.iter().position(|round| fold::shape(round) == *example)
            });
            let how = first.map_or_else(|| "in other ways".into(), |first| format!("as {}", first + 1));
            self.lines.push(format!("{name} {how}: {}", values(&alike)));
            at += alike.len();
        }
    }
}

/// Whether a line only begins or ends a block or a function.
fn is_frame(line: &str) -> bool {
    let begins = ["def ", "async def ", "func ", "fn ", "pub fn "];
    line.chars().all(|one| "{}();,".contains(one))
        || line == "end"
        || begins.iter().any(|begin| line.starts_with(begin))
}

/// The values over several rounds, by variable.
fn values(rounds: &[&Vec<FoldedItem>]) -> String {
    let mut columns: Vec<(String, Vec<Option<String>>)> = Vec::new();
    for (at, round) in rounds.iter().enumerate() {
        for (name, value) in fold::changes(round) {
            let column = match columns.iter().position(|(own, _)| *own == name) {
                Some(found) => found,
                None => {
                    columns.push((name, vec![None; rounds.len()]));
                    columns.len() - 1
                }
            };
            if let Some(cell) = columns.get_mut(column).and_then(|(_, cells)| cells.get_mut(at)) {
                *cell = Some(value);
            }
        }
    }
    if columns.is_empty() {
        return "nothing changes".into();
    }
    let columns = columns.into_iter().map(|(name, cells)| format!("{name}={}", column(&cells)));
    columns.collect::<Vec<_>>().join("; ")
}

fn column(cells: &[Option<String>]) -> String {
    let long = cells.iter().flatten().any(|cell| cell.chars().count() > MAX_ROUND_VALUE_CHARS);
    let shown = |cell: &Option<String>| {
        cell.as_ref().map_or_else(
            || "-".to_owned(),
            |cell| cut(cell, if long { MAX_VALUE_CHARS } else { MAX_ROUND_VALUE_CHARS }),
        )
    };
    let most = if long { (1, 1) } else { MAX_FIRST_AND_LAST_VALUES };
    if cells.len() <= most.0 + most.1 {
        return cells.iter().map(shown).collect::<Vec<_>>().join(",");
    }
    let first: Vec<String> = cells.iter().take(most.0).map(shown).collect();
    let last: Vec<String> = cells.iter().skip(cells.len() - most.1).map(shown).collect();
    format!("{} … {}", first.join(","), last.join(","))
}

/// The path of a source; empty without one.
fn path_of(source: Option<&Source>) -> &str {
    source.and_then(|source| source.path.as_deref()).unwrap_or_default()
}

fn cut(text: &str, most: usize) -> String {
    let text = text.replace('\n', " ");
    match text.char_indices().nth(most) {
        Some((end, _)) => format!("{}…", text.get(..end).unwrap_or_default()),
        None => text,
    }
}

#[cfg(test)]
mod tests {
    use serde_json::{Value, json};
    use tandem_wire::types;

    use super::*;

    fn statement(line: u64, changes: &[(&str, &str)]) -> Value {
        let changes: Vec<Value> =
            changes.iter().map(|(name, value)| json!({ "name": name, "value": value })).collect();
        json!({ "line": line, "changes": changes })
    }

    fn write_lines(statements: &[Value]) -> Vec<String> {
        lines(&types::read(&json!({ "call": {}, "statements": statements })), 100_000)
    }

    #[test]
    fn a_loop_has_its_first_round_and_those_that_take_another_way_and_the_values_of_the_others() {
        let mut statements = vec![statement(3, &[("drift", "1")])];
        for round in 0..9 {
            let (turn, drift) = (round.to_string(), (round * round).to_string());
            statements.push(statement(4, &[("turn", &turn)]));
            statements.push(statement(5, &[("drift", &drift)]));
            if round == 6 {
                statements.push(statement(6, &[("seen", "true")]));
            }
        }
        statements.push(statement(4, &[]));
        statements.push(statement(7, &[]));
        assert_eq!(
            write_lines(&statements),
            [
                "3 => drift=1",
                "loop at 4, 9 rounds:",
                " round 1:",
                "  4 => turn=0",
                "  5 => drift=0",
                " rounds 2-6 as 1: turn=1,2,3,4,5; drift=1,4,9,16,25",
                " round 7:",
                "  4 => turn=6",
                "  5 => drift=36",
                "  6 => seen=true",
                " rounds 8-9 as 1: turn=7,8; drift=49,64",
                "7",
            ]
        );
    }

    #[test]
    fn a_loop_in_a_loop_is_folded_in_each_of_its_rounds() {
        let mut statements = Vec::new();
        for outer in 0..3 {
            statements.push(statement(1, &[("i", &outer.to_string())]));
            for inner in 0..4 {
                statements.push(statement(2, &[("j", &inner.to_string())]));
                statements.push(statement(3, &[("sum", &(outer * 4 + inner).to_string())]));
            }
            statements.push(statement(2, &[]));
        }
        statements.push(statement(1, &[]));
        assert_eq!(
            write_lines(&statements),
            [
                "loop at 1, 3 rounds:",
                " round 1:",
                "  1 => i=0",
                "  loop at 2, 4 rounds:",
                "   round 1:",
                "    2 => j=0",
                "    3 => sum=0",
                "   rounds 2-4 as 1: j=1,2,3; sum=1,2,3",
                " rounds 2-3 as 1: i=1,2; j=3,3; sum=7,11",
            ]
        );
    }

    #[test]
    fn a_call_that_is_followed_has_its_statements_below() {
        let call = json!({ "name": "Mill.nudge", "returned": "72", "followed": true,
            "variables": [{ "name": "force", "value": "3" }] });
        let statements = [
            json!({ "line": 1, "calls": [call], "changes": [{ "name": "x", "value": "72" }] }),
            json!({ "line": 9, "depth": 1, "begins": true }),
            json!({ "line": 2, "calls": [{ "name": "f", "variables": [], "returned": "None" }] }),
        ];
        assert_eq!(
            write_lines(&statements),
            ["1 => x=72", "  > nudge(force=3) = 72", "    9", "2 => f() = None"]
        );
    }
}
