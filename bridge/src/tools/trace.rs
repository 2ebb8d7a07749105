//! Values at a line, hit by hit, as a table, without stopping: a log point whose messages are collected here.

use std::time::Duration;

use dap_wire::{ErrorCode, Event, Failure};
use serde_json::{Value, json};
use tokio::sync::broadcast::error::RecvError;
use tokio::time::Instant;

use super::execution::limit;
use super::stops::{add_output, output, report};
use crate::bounds::Budget;
use crate::call::Call;
use crate::observer::State;
use crate::session::Session;
use crate::tool::{Effect, Family, Tool, run};
use crate::wishes::{FUNCTIONS, Purpose};

/// Hits unless asked otherwise, and at most.
const HITS: (u64, u64) = (20, 1000);
/// Most expressions.
const EXPRESSIONS: usize = 20;
/// Between values of one message; no program prints it, and no console shows it.
const MARK: char = '\u{2063}';
/// How long the last messages may be on their way once the program stands.
const LATE: Duration = Duration::from_millis(50);

/// Tracing.
pub const FAMILY: Family = Family {
    name: "tracing",
    of_session: true,
    tools: &[Tool {
        name: "debug_trace",
        core: true,
        effect: Effect::Acts,
        about: "Values of expressions each time a line is reached, as a table, without stopping; ends after so many \
                hits, at a stop, or on time-out.",
        takes: &[
            "sourceFile:s!",
            "line:i",
            "text:s",
            "expressions:as!",
            "condition:s",
            "hits:i=20",
            "timeoutMs:i",
        ],
        gives: &["columns:a", "rows:a", "hits:i", "ended:s"],
        run: run!(trace),
    }],
};

async fn trace(call: &Call) -> Result<Value, Failure> {
    let session = call.bridge.session(&call.arguments).await?;
    if !session.can("supportsLogPoints") {
        return Err(Failure::new(ErrorCode::Unsupported, "this engine has no log points")
            .hint("set a breakpoint and use debug_continue and debug_evaluate"));
    }
    let columns = call.arguments.texts("expressions")?;
    if columns.is_empty() || columns.len() > EXPRESSIONS {
        return Err(Failure::invalid(format!("`expressions` must have 1 to {EXPRESSIONS} expressions")));
    }
    if let Some(braced) = columns.iter().find(|text| text.contains(['{', '}', MARK])) {
        return Err(Failure::invalid(format!("`{braced}` has a brace; a log message cannot carry it")));
    }
    let (hits, until) =
        (call.arguments.number("hits")?.unwrap_or(HITS.0).clamp(1, HITS.1), Instant::now() + limit(call)?);
    let budget = Budget::of(&call.arguments)?;
    let mut wish = session.wish(&call.arguments, &call.bridge.options.roots).await?;
    if wish.file == FUNCTIONS {
        return Err(Failure::invalid("a trace needs a line: give `sourceFile` with `line` or `text`"));
    }
    let id = call.bridge.next_breakpoint();
    let tag = format!("trace {id}{MARK}");
    wish.dap["logMessage"] = json!(message(&tag, &columns));
    let file = wish.file.clone();
    let events = session.observed.events();
    session.with_wishes(|wishes| wishes.add(wish, id, Purpose::Trace));
    let mut table = Table { tag, columns: columns.len(), rows: Vec::new(), missed: 0 };
    let outcome = async {
        session.send_breakpoints(&file).await?;
        let bound = session.with_wishes(|wishes| wishes.find(id).map(|(file, wanted)| wanted.body(file)));
        let before = session.snapshot();
        if before.state == State::Stopped {
            let thread = json!({ "threadId": before.stop["threadId"] });
            session.resume("continue", thread, &call.cancel).await?;
        }
        let what = "tracing";
        let ended = call
            .progress
            .during(what, None, table.collect(call, &session, events, before.news, hits, until))
            .await?;
        Ok((bound, ended))
    }
    .await;
    let taken = session.drop_breakpoints(Purpose::Trace).await;
    let (bound, ended) = outcome?;
    // A session that is over has no breakpoints to take out.
    if let Err(failure) = taken
        && session.snapshot().state != State::Exited
    {
        return Err(failure);
    }
    answer(&session, table, &columns, bound, ended, budget).await
}

async fn answer(
    session: &Session,
    table: Table,
    columns: &[String],
    bound: Option<Value>,
    ended: &str,
    budget: Budget,
) -> Result<Value, Failure> {
    let state = session.snapshot().state;
    let mut answer = json!({ "columns": columns, "hits": table.rows.len(), "ended": ended });
    if table.missed > 0 {
        answer["missed"] = json!(table.missed);
    }
    if table.rows.is_empty()
        && let Some(bound) = bound
    {
        answer["breakpoint"] = bound;
    }
    budget.part(80).put(&mut answer, "rows", table.rows, 0);
    answer["state"] = json!(state.as_str());
    if matches!(state, State::Stopped | State::Exited) {
        answer["event"] = report(session).await["event"].clone();
    } else {
        session.memory.set_pending(true);
        add_output(&mut answer, output(session).await);
    }
    Ok(answer)
}

/// `trace 3⁣i={i}⁣total={total}`: readable in an editor's console, and taken apart by the marks.
fn message(tag: &str, columns: &[String]) -> String {
    let values: Vec<String> = columns.iter().map(|text| format!("{text}={{{text}}}")).collect();
    format!("{tag}{}{MARK}", values.join(&format!("{MARK} ")))
}

struct Table {
    tag: String,
    columns: usize,
    rows: Vec<Value>,
    missed: u64,
}

impl Table {
    async fn collect(
        &mut self,
        call: &Call,
        session: &Session,
        mut events: tokio::sync::broadcast::Receiver<std::sync::Arc<Event>>,
        seen: u64,
        hits: u64,
        until: Instant,
    ) -> Result<&'static str, Failure> {
        let mut picture = session.picture();
        loop {
            let news = async { picture.wait_for(|picture| picture.news > seen).await.is_ok() };
            let next = tokio::select! {
                biased;
                () = call.cancel.cancelled() => return Err(Failure::cancelled()),
                next = events.recv() => Some(next),
                _ = news => None,
                () = tokio::time::sleep_until(until) => return Ok("timeout"),
            };
            let Some(next) = next else {
                // What was logged before the stop may still be on its way through the channel.
                while let Ok(Ok(event)) = tokio::time::timeout(LATE, events.recv()).await {
                    self.take(&event);
                }
                let exited = session.snapshot().state == State::Exited;
                return Ok(if exited { "exited" } else { "stopped" });
            };
            match next {
                Ok(event) => self.take(&event),
                Err(RecvError::Lagged(missed)) => self.missed += missed,
                Err(RecvError::Closed) => return Ok("exited"),
            }
            if self.rows.len() as u64 >= hits {
                return Ok("hits");
            }
        }
    }

    /// Takes in the rows of one `output` event; it may carry several lines.
    fn take(&mut self, event: &Event) {
        if event.event != "output" {
            return;
        }
        let text = event.body["output"].as_str().unwrap_or_default();
        for part in text.split(self.tag.as_str()).skip(1) {
            let values: Vec<Value> = part
                .split(MARK)
                .take(self.columns)
                .map(|value| json!(value.split_once('=').map_or(value, |(_, value)| value)))
                .collect();
            self.rows.push(json!(values));
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn messages_become_rows() {
        let columns = ["i".to_owned(), "a[0]".to_owned()];
        let tag = format!("trace 3{MARK}");
        let wish = message(&tag, &columns);
        let logged = wish.replace("{i}", "1").replace("{a[0]}", "\"x=y\"") + "\n";
        let mut table = Table { tag, columns: 2, rows: Vec::new(), missed: 0 };
        table.take(&Event::new("output", json!({ "category": "console", "output": logged.repeat(2) })));
        table.take(&Event::new("output", json!({ "category": "stdout", "output": "trace 3" })));
        assert_eq!(json!(table.rows), json!([["1", "\"x=y\""], ["1", "\"x=y\""]]));
    }
}
