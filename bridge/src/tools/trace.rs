//! Values at a line, hit by hit, as a table. The session evaluates them where the program came by and lets it go on, so nobody sees
//! it stop; here the rows are collected. What an expression means is the engine's, exactly as for `debug_evaluate`.

use std::time::Duration;

use dap_wire::{ErrorCode, Event, Failure};
use serde_json::{Value, json};
use tokio::sync::broadcast::error::RecvError;
use tokio::time::Instant;

use super::execution::{limit, unseen};
use super::stops::{add_output, output, report, stopped_thread};
use super::values::LONGEST;
use crate::bounds::{Budget, cut};
use crate::call::Call;
use crate::observer::State;
use crate::session::Session;
use crate::tool::{Effect, Family, Tool, run};
use crate::wishes::{FUNCTIONS, Purpose};

/// Hits unless asked otherwise, and at most.
const HITS: (u64, u64) = (20, 1000);
/// Most expressions.
const EXPRESSIONS: usize = 20;
/// How long the last rows may be on their way once the program stands.
const LATE: Duration = Duration::from_millis(50);
/// How long the stop after the last row may take to be told.
const SOON: Duration = Duration::from_secs(5);

/// Tracing.
pub const FAMILY: Family = Family {
    name: "tracing",
    of_session: true,
    tools: &[Tool {
        name: "debug_trace",
        core: true,
        effect: Effect::Acts,
        about: "Values of expressions each time a line is reached, as a table, without stopping; ends stopped at the \
                last of `hits`, at a stop, or on time-out.",
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
    if session.snapshot().state == State::Exited {
        return stopped_thread(&session);
    }
    if !session.can("supportsTracePoints") {
        return Err(Failure::new(ErrorCode::Unsupported, "this debug adapter has no traces")
            .hint("set a breakpoint and use debug_continue and debug_evaluate"));
    }
    let columns = call.arguments.texts("expressions")?;
    if columns.is_empty() || columns.len() > EXPRESSIONS {
        return Err(Failure::invalid(format!("`expressions` must have 1 to {EXPRESSIONS} expressions")));
    }
    let (hits, until) =
        (call.arguments.number("hits")?.unwrap_or(HITS.0).clamp(1, HITS.1), Instant::now() + limit(call)?);
    let budget = Budget::of(&call.arguments)?;
    let mut wish = session.wish(&call.arguments, &call.bridge.options.roots).await?;
    if wish.file == FUNCTIONS {
        return Err(Failure::invalid("a trace needs a line: give `sourceFile` with `line` or `text`"));
    }
    if let Some(answer) = unseen(&session).await {
        return Ok(answer);
    }
    let id = call.bridge.next_breakpoint();
    wish.dap["trace"] = json!({ "expressions": columns, "hits": hits });
    let file = wish.file.clone();
    let events = session.observed.events();
    session.with_wishes(|wishes| wishes.add(wish, id, Purpose::Trace));
    let mut table = Table::default();
    let outcome = async {
        session.send_breakpoints(&file).await?;
        let bound = bound(&session, id)?;
        table.breakpoint = bound["dap"].as_i64();
        let before = session.snapshot();
        if before.state == State::Stopped {
            let thread = json!({ "threadId": before.stop["threadId"] });
            session.resume("continue", thread, &call.cancel).await?;
        }
        let collecting = table.collect(call, &session, events, before.news, hits, until);
        let ended = call.progress.during("tracing", None, collecting).await?;
        answer(&session, std::mem::take(&mut table), &columns, bound, ended, budget).await
    }
    .await;
    let taken = session.drop_breakpoints(Purpose::Trace).await;
    let answer = outcome?;
    // A session that is over has no breakpoints to take out.
    if let Err(failure) = taken
        && session.snapshot().state != State::Exited
    {
        return Err(failure);
    }
    Ok(answer)
}

/// What became of the breakpoint that collects the rows: its body, with the session's id as `dap`.
fn bound(session: &Session, id: u64) -> Result<Value, Failure> {
    session.with_wishes(|wishes| {
        let Some((file, wanted)) = wishes.find(id) else { return Ok(Value::Null) };
        if wanted.state["verified"] != true && wanted.state["reason"] == "failed" {
            let why = wanted.state["message"].as_str().unwrap_or("the engine refuses the breakpoint");
            return Err(Failure::invalid(format!("nothing can be traced there: {why}")));
        }
        let mut body = wanted.body(file);
        body["dap"] = json!(wanted.dap);
        Ok(body)
    })
}

async fn answer(
    session: &Session,
    table: Table,
    columns: &[String],
    mut bound: Value,
    ended: &str,
    budget: Budget,
) -> Result<Value, Failure> {
    let state = session.snapshot().state;
    let mut answer = json!({ "columns": columns, "hits": table.rows.len(), "ended": ended });
    if table.missed > 0 {
        answer["missed"] = json!(table.missed);
    }
    if table.rows.is_empty()
        && let Some(bound) = bound.as_object_mut()
    {
        bound.shift_remove("dap");
        answer["breakpoint"] = json!(bound);
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

#[derive(Default)]
struct Table {
    /// The session's id of the breakpoint whose rows these are.
    breakpoint: Option<i64>,
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
                // Rows from before the stop may still be on their way through the channel.
                while let Ok(Ok(event)) = tokio::time::timeout(LATE, events.recv()).await {
                    self.take(&event);
                }
                let exited = session.snapshot().state == State::Exited;
                let all = self.rows.len() as u64 >= hits;
                return Ok(if exited {
                    "exited"
                } else if all {
                    "hits"
                } else {
                    "stopped"
                });
            };
            match next {
                Ok(event) => self.take(&event),
                Err(RecvError::Lagged(missed)) => self.missed += missed,
                Err(RecvError::Closed) => return Ok("exited"),
            }
            if self.rows.len() as u64 >= hits {
                // The session stops the program with the last row.
                let stands = picture.wait_for(|picture| picture.news > seen);
                drop(tokio::time::timeout(SOON, stands).await);
                return Ok("hits");
            }
        }
    }

    /// Takes in a row: for each expression its value as text, or an object with its error.
    fn take(&mut self, event: &Event) {
        if event.event != "traced" || event.body["breakpointId"].as_i64() != self.breakpoint {
            return;
        }
        let cells = event.body["values"].as_array().into_iter().flatten();
        let row: Vec<Value> = cells
            .map(|cell| match &cell["error"] {
                Value::Null => json!(cut(&cell["value"], LONGEST)),
                error => json!({ "error": cut(error, LONGEST) }),
            })
            .collect();
        self.rows.push(json!(row));
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn rows_have_values_as_they_are_and_errors_apart_from_them() {
        let mut table = Table { breakpoint: Some(7), ..Table::default() };
        let values =
            json!([{ "value": "x=y", "type": "str" }, { "error": "no `nope`" }, { "value": "'%s {}'" }]);
        table.take(&Event::new("traced", json!({ "breakpointId": 7, "hit": 1, "values": values })));
        table.take(&Event::new("traced", json!({ "breakpointId": 8, "hit": 1, "values": values })));
        table.take(&Event::new("output", json!({ "category": "stdout", "output": "x=y" })));
        assert_eq!(json!(table.rows), json!([["x=y", { "error": "no `nope`" }, "'%s {}'"]]));
    }
}
