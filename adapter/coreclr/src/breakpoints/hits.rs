//! Hits of breakpoints: which are at a site, their counts, and the expressions of their log messages.
//!
//! Not here: evaluating conditions and messages ([`crate::breakpoint_hits`]).

use cordebug::frame::RuntimeBreakpoint;

use super::{Breakpoints, ClrBreakpointRequest, CodeOffset};

/// A place in the program that was hit, and the breakpoints that are bound to it.
pub(crate) struct HitSite {
    /// The module, the method and the IL offset, for a condition that is evaluated there.
    pub(crate) place: (usize, u32, Option<u32>),
    /// The breakpoints with their ids.
    pub(crate) requests: Vec<(i64, ClrBreakpointRequest)>,
}

impl Breakpoints {
    /// The site of a hit; `None` if none of the clients' breakpoints is there.
    pub(crate) fn site_of(&self, hit: &RuntimeBreakpoint) -> Option<HitSite> {
        let key = self.sites.iter().find(|site| site.breakpoint.is(hit))?.key;
        let il = if let CodeOffset::Il(il) = key.2 { Some(il) } else { None };
        let here = self.lists.values().flatten().filter(|breakpoint| breakpoint.sites.contains(&key));
        let requests = here.map(|breakpoint| (breakpoint.id, breakpoint.request.clone())).collect();
        Some(HitSite { place: (key.0, key.1, il), requests })
    }

    /// Counts a hit; returns whether the hit condition holds.
    pub(crate) fn count_hit(&mut self, id: i64, request: &ClrBreakpointRequest) -> bool {
        let breakpoint = self.lists.values_mut().flatten().find(|breakpoint| breakpoint.id == id);
        let Some(breakpoint) = breakpoint else { return false };
        breakpoint.hits += 1;
        let hits = breakpoint.hits;
        request.hit_test().is_ok_and(|test| test.is_none_or(|test| test.holds(hits)))
    }

    /// Whether a breakpoint's condition failed with another error than last time.
    pub(crate) fn is_new_problem(&mut self, id: i64, problem: &str) -> bool {
        let Some(breakpoint) = self.lists.values_mut().flatten().find(|breakpoint| breakpoint.id == id)
        else {
            return true;
        };
        let is_new = breakpoint.condition_problem.as_deref() != Some(problem);
        breakpoint.condition_problem = Some(problem.to_owned());
        is_new
    }
}

/// The expression in the braces of a log message; an alignment or format is written as C# would.
pub(crate) fn in_csharp(expression: &str) -> String {
    match clauses(expression) {
        Some((value, clauses)) => format!("$\"{{({value}){clauses}}}\""),
        None => expression.to_owned(),
    }
}

/// Cuts `total,8:F2` before its alignment or format; `None` if it has neither. The colon of `a ? b : c`
/// does not start a format.
fn clauses(expression: &str) -> Option<(&str, &str)> {
    let (mut open, mut choices) = (0usize, 0usize);
    let mut letters = expression.char_indices().peekable();
    while let Some((at, letter)) = letters.next() {
        let next = letters.peek().map(|(_, next)| *next);
        match letter {
            '"' | '\'' => skip_literal(letter, &mut letters),
            '(' | '[' | '{' => open += 1,
            ')' | ']' | '}' => open = open.saturating_sub(1),
            _ if open > 0 => {}
            '?' if matches!(next, Some('?' | '.' | '[')) => {
                letters.next_if(|(_, next)| *next == '?');
            }
            '?' => choices += 1,
            ':' if next == Some(':') => {
                letters.next();
            }
            ':' if choices > 0 => choices -= 1,
            ':' => return expression.split_at_checked(at),
            ',' => {
                let width = expression.get(at + 1..)?.split(':').next()?.trim();
                if width.parse::<i32>().is_ok() {
                    return expression.split_at_checked(at);
                }
            }
            _ => {}
        }
    }
    None
}

/// Skips to the end of a literal, past its closing quote.
fn skip_literal(quote: char, letters: &mut impl Iterator<Item = (usize, char)>) {
    while let Some((_, letter)) = letters.next() {
        match letter {
            '\\' => drop(letters.next()),
            _ if letter == quote => return,
            _ => {}
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn alignment_and_format_are_distinguished_from_lookalikes() {
        for (text, cut) in [
            ("x:D3", Some(("x", ":D3"))),
            ("total,8:F2", Some(("total", ",8:F2"))),
            ("name, -6", Some(("name", ", -6"))),
            ("when:HH:mm:ss", Some(("when", ":HH:mm:ss"))),
            ("map[\"a:b\"]:X", Some(("map[\"a:b\"]", ":X"))),
            ("a?.B ?? c:D2", Some(("a?.B ?? c", ":D2"))),
            ("f(a, 5)", None),
            ("a ? b : c", None),
            ("(a ? b : c):D3", Some(("(a ? b : c)", ":D3"))),
            ("global::N.C.Field", None),
            ("x,h", None),
            ("'\\'', 3", Some(("'\\''", ", 3"))),
            ("", None),
        ] {
            assert_eq!(clauses(text), cut, "{text}");
        }
    }
}
