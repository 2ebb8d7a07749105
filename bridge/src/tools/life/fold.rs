//! Loops among the statements of a call: a line that comes again begins a round.
//!
//! Not here: the text of an answer ([`super`]).

use tandem_wire::types::{FollowedFunction, FollowedStatement};

/// A statement, with those of the calls it made.
#[derive(Debug, Clone)]
pub(super) struct ExecutedStatement {
    pub(super) line: u64,
    pub(super) path: Option<String>,
    /// Number of consecutive executions of this line.
    pub(super) times: usize,
    pub(super) changes: Vec<(String, String)>,
    pub(super) calls: Vec<FollowedFunction>,
    /// The statements of each call that was followed.
    pub(super) inner: Vec<Vec<ExecutedStatement>>,
}

/// A statement, or a loop.
#[derive(Debug, Clone)]
pub(super) enum FoldedItem {
    Statement(ExecutedStatement),
    Loop(Loop),
}

#[derive(Debug, Clone)]
pub(super) struct Loop {
    /// The line with which each round begins.
    pub(super) line: u64,
    pub(super) rounds: Vec<Vec<FoldedItem>>,
}

impl FoldedItem {
    fn line(&self) -> u64 {
        match self {
            Self::Statement(statement) => statement.line,
            Self::Loop(of) => of.line,
        }
    }
}

/// Reads the statements of a `followCall` body.
pub(super) fn parse(statements: &[FollowedStatement]) -> Vec<ExecutedStatement> {
    let mut rows = statements.iter().peekable();
    level(&mut rows, 0)
}

fn level(
    rows: &mut std::iter::Peekable<std::slice::Iter<'_, FollowedStatement>>,
    depth: usize,
) -> Vec<ExecutedStatement> {
    let mut found: Vec<ExecutedStatement> = Vec::new();
    while let Some(row) = rows.peek() {
        let own = row.depth;
        if own < depth {
            break;
        }
        if own > depth {
            let inner = level(rows, own);
            if let Some(last) = found.last_mut() {
                last.inner.push(inner);
            }
            continue;
        }
        // The next call of the same statement.
        if depth > 0 && row.begins && !found.is_empty() {
            break;
        }
        found.push(statement(row));
        rows.next();
    }
    found
}

fn statement(row: &FollowedStatement) -> ExecutedStatement {
    ExecutedStatement {
        line: u64::try_from(row.line).unwrap_or_default(),
        path: row.source.as_ref().and_then(|source| source.path.clone()),
        times: 1,
        changes: row.changes.iter().map(|change| (change.name.clone(), change.value.clone())).collect(),
        calls: row.calls.clone(),
        inner: Vec::new(),
    }
}

/// Folds runs of similar statements into loops.
pub(super) fn fold(statements: Vec<ExecutedStatement>) -> Vec<FoldedItem> {
    let mut joined: Vec<ExecutedStatement> = Vec::new();
    for next in statements {
        match joined.last_mut() {
            // The parts of a line, such as those of a `for`.
            Some(last) if last.line == next.line && last.path == next.path => {
                last.times += 1;
                last.calls.extend(next.calls);
                last.inner.extend(next.inner);
                for (name, value) in next.changes {
                    set(&mut last.changes, name, value);
                }
            }
            _ => joined.push(next),
        }
    }
    fold_items(joined.into_iter().map(FoldedItem::Statement).collect())
}

fn set(changes: &mut Vec<(String, String)>, name: String, value: String) {
    match changes.iter_mut().find(|(own, _)| *own == name) {
        Some((_, own)) => *own = value,
        None => changes.push((name, value)),
    }
}

fn fold_items(mut items: Vec<FoldedItem>) -> Vec<FoldedItem> {
    while let Some(first) = first_repeated(&items) {
        let (rounds, end) = rounds(&items, first);
        let line = items.get(first).map(FoldedItem::line).unwrap_or_default();
        let rounds = rounds.into_iter().map(|mut round| {
            let rest = round.split_off(1.min(round.len()));
            round.extend(fold_items(rest));
            round
        });
        let folded = FoldedItem::Loop(Loop { line, rounds: rounds.collect() });
        items.splice(first..end, [folded]);
    }
    items
}

/// The index of the first item whose line occurs again.
fn first_repeated(items: &[FoldedItem]) -> Option<usize> {
    (1..items.len()).find_map(|at| {
        let line = items.get(at)?.line();
        items
            .get(..at)?
            .iter()
            .position(|item| item.line() == line && matches!(item, FoldedItem::Statement(_)))
    })
}

/// The rounds of the loop that begins with this item, and where it ends.
fn rounds(items: &[FoldedItem], first: usize) -> (Vec<Vec<FoldedItem>>, usize) {
    let line = items.get(first).map(FoldedItem::line).unwrap_or_default();
    let mut begins = vec![first];
    for (at, item) in items.iter().enumerate().skip(first + 1) {
        match item.line() {
            own if own == line => begins.push(at),
            // Out of the loop, and in again by an outer one.
            own if own < line => break,
            _ => {}
        }
    }
    let last = begins.last().copied().unwrap_or(first);
    let body = items.get(first..last).unwrap_or_default();
    let deepest = body.iter().map(FoldedItem::line).max().unwrap_or(line);
    let rest = items.iter().skip(last + 1).take_while(|item| item.line() > line && item.line() <= deepest);
    let end = last + 1 + rest.count();
    let mut rounds = Vec::new();
    for (at, begin) in begins.iter().enumerate() {
        let until = begins.get(at + 1).copied().unwrap_or(end);
        rounds.push(items.get(*begin..until).unwrap_or_default().to_vec());
    }
    // The last time its condition does not hold: a round only where something happened.
    if rounds.len() > 1
        && let Some([FoldedItem::Statement(only)]) = rounds.last().map(Vec::as_slice)
        && rounds.iter().any(|round| round.len() > 1)
    {
        let is_silent = only.changes.is_empty() && only.calls.is_empty();
        rounds.pop();
        return (rounds, if is_silent { end } else { last });
    }
    (rounds, end)
}

/// The way that a round takes: its lines.
pub(super) fn shape(round: &[FoldedItem]) -> Vec<u64> {
    round.iter().map(FoldedItem::line).collect()
}

/// Changes of a round: the last value of each variable.
pub(super) fn changes(round: &[FoldedItem]) -> Vec<(String, String)> {
    let mut found = Vec::new();
    for item in round {
        match item {
            FoldedItem::Statement(statement) => {
                for call in &statement.calls {
                    if let Some(value) = &call.returned {
                        let name = super::signature::base(&call.name);
                        set(&mut found, format!("{name}()"), value.clone());
                    }
                }
                for (name, value) in &statement.changes {
                    set(&mut found, name.clone(), value.clone());
                }
            }
            FoldedItem::Loop(of) => {
                for (name, value) in of.rounds.iter().flat_map(|round| changes(round)) {
                    set(&mut found, name, value);
                }
            }
        }
    }
    found
}
