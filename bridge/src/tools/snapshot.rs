//! Snapshot of a stop in one call, and the differences between two snapshots.
//!
//! Not here: one variable or expression at a time ([`super::inspect`]).

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};
use tandem_wire::{Failure, types};

use super::answer;
use super::frames::{CallStack, ShownFrames, frame_of};
use super::run_answer::{RunAnswer, RunEvent};
use super::shown_frame::locals_scopes;
use super::snapshot_difference::SnapshotDifference;
use super::stop_exception::exception_of;
use super::stops::{report, stopped_thread};
use super::unreadable::UnreadableParts;
use super::values::{ReadValue, VariablePage, VariableReader, VariableRow, flatten, limit_depth, scopes_of};
use crate::agent_view::{SnapshotPlace, StoredSnapshot, Values};
use crate::arguments::schema::ArgumentSchema;
use crate::bounds::Budget;
use crate::call::ToolCall;
use crate::program_event::{StopEvent, StopKind};
use crate::session::AgentSession;
use crate::snapshot::ProgramState;
use crate::source::{ShownPlace, SourceText};
use crate::tool::{AnswerField, StopUse, Tool, ToolEffect, ToolGroup, run};

/// Rows of one snapshot, over all depths.
const MAX_ROWS: usize = 400;
/// Variables of one snapshot.
const MAX_VARIABLES: u64 = 100;
/// Frames of one snapshot.
const MAX_FRAMES: u64 = 20;
/// Lines of source on each side.
const LINES_AROUND: u64 = 5;

/// The tools for snapshots.
pub const GROUP: ToolGroup = ToolGroup {
    name: "snapshots",
    tools: &[
        Tool {
            name: "debug_snapshot",
            core: true,
            effect: ToolEffect::ReadOnly,
            stop: StopUse::Inspects,
            description: "State at this stop: place, source lines, stack, variables, exception, new output.",
            input: ArgumentSchema::of::<SnapshotArguments>,
            output: &[
                AnswerField::text("state"),
                AnswerField::object("event"),
                AnswerField::list("frames"),
                AnswerField::list("variables"),
                AnswerField::object("exception"),
                AnswerField::integer("snapshot"),
            ],
            run: run!(snapshot),
        },
        Tool {
            name: "debug_snapshot_diff",
            core: false,
            effect: ToolEffect::ReadOnly,
            stop: StopUse::Inspects,
            description: "Variables that differ between two snapshots (default: the last and now).",
            input: ArgumentSchema::of::<SnapshotDiffArguments>,
            output: &[
                AnswerField::object("from"),
                AnswerField::object("to"),
                AnswerField::list("added"),
                AnswerField::list("removed"),
                AnswerField::list("changed"),
                AnswerField::integer("unchanged"),
            ],
            run: run!(diff),
        },
    ],
};

/// What could be read of a stop.
struct StopContents {
    stack: Option<CallStack>,
    variables: Option<VariablePage>,
    unreadable: UnreadableParts,
}

#[derive(Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
#[schemars(extend("x-unlisted" = ["frameId"]))]
struct SnapshotArguments {
    #[schemars(extend("default" = 1))]
    depth: Option<u64>,
    source: Option<bool>,
    max_tokens: Option<u64>,
    frame_id: Option<u64>,
}

#[derive(Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
#[schemars(extend("x-unlisted" = ["depth", "frameId"]))]
struct SnapshotDiffArguments {
    from: Option<u64>,
    to: Option<u64>,
    depth: Option<u64>,
    frame_id: Option<u64>,
}

/// Stack and variables of the stop.
async fn take(session: &AgentSession, frame_id: Option<u64>, depth: u64) -> Result<StopContents, Failure> {
    let thread = stopped_thread(session)?;
    let mut unreadable = UnreadableParts::default();
    let stack = CallStack::read_folded(session, thread).await;
    let stack = unreadable.take(session, "frames", stack)?;
    let variables = read_variables(session, frame_id, depth).await;
    let variables = unreadable.take(session, "variables", variables)?;
    Ok(StopContents { stack, variables, unreadable })
}

async fn read_variables(
    session: &AgentSession,
    frame_id: Option<u64>,
    depth: u64,
) -> Result<VariablePage, Failure> {
    let scopes = session.send(&scopes_of(frame_of(frame_id, session).await?)?).await?.scopes;
    let scopes: Vec<ReadValue> = locals_scopes(&scopes).into_iter().map(ReadValue::scope).collect();
    VariableReader::new(session, MAX_ROWS).read_scopes(&scopes, 0, MAX_VARIABLES, depth).await
}

async fn snapshot(call: &ToolCall, arguments: SnapshotArguments) -> Result<Value, Failure> {
    let session = call.session().await?;
    let (depth, message) = limit_depth(arguments.depth);
    let budget = Budget::of(arguments.max_tokens);
    let with_source = arguments.source.unwrap_or(true);
    let mut run = report(&session).await;
    if session.snapshot().state != ProgramState::Stopped {
        return answer(&run);
    }
    let mut taken = take(&session, arguments.frame_id, depth).await?;
    let stop = run.event.as_mut().and_then(RunEvent::stop_mut);
    let (mut is_exception, mut place) = (false, SnapshotPlace::default());
    if let Some(stop) = stop {
        show_more_lines(stop, with_source);
        is_exception = stop.kind == StopKind::Exception;
        place = place_of(stop);
    }
    let mut contents = SnapshotContents { message, ..SnapshotContents::default() };
    if is_exception {
        let info = session.ask("exceptionInfo", types::body(&exception_of(stopped_thread(&session)?))).await;
        contents.exception = taken.unreadable.take(&session, "exception", info)?;
    }
    let (mut more_variables, mut more_frames) = (None, None);
    if let Some(VariablePage { rows, next }) = taken.variables {
        let mut values = Values::new();
        flatten(&rows, "", &mut values);
        let page = budget.part(60).page(rows, 0);
        more_variables = match (page.omitted, page.next) {
            (Some(count), Some(next)) => Some(format!("{count} more or so; continue with start {next}")),
            _ => next.map(|_| "there are more".to_owned()),
        };
        contents.variables = Some(page.rows);
        // Without variables there is nothing to compare later.
        contents.snapshot = Some(session.agent_view.keep(depth, place, values));
    }
    if let Some(stack) = taken.stack {
        let page = stack.page(budget.part(30), MAX_FRAMES);
        more_frames = page.next.map(|next| format!("continue with start {next}"));
        (contents.frames, contents.total_frames) = (Some(page.frames), page.total_frames);
    }
    if more_variables.is_some() || more_frames.is_some() {
        contents.omitted = Some(OmittedRows {
            variables: more_variables,
            frames: more_frames,
            how: "debug_variables and debug_stacktrace take start; or raise maxTokens",
        });
    }
    taken.unreadable.put(&mut contents.unreadable);
    answer(&SnapshotAnswer { run, contents })
}

/// Shows more lines around the place of a stop, or none. The variables follow in full.
fn show_more_lines(stop: &mut StopEvent, with_source: bool) {
    (stop.frame.locals, stop.frame.more) = (None, None);
    stop.unreadable.clear();
    if !with_source {
        stop.frame.lines = None;
    } else if let (Some(path), Some(line)) = (stop.file(), stop.line())
        && let (Some(source), Ok(line)) = (SourceText::read(path), u64::try_from(line))
    {
        stop.frame.lines = Some(source.around(line, LINES_AROUND));
    }
}

/// The place of a stop, to compare with others.
fn place_of(stop: &StopEvent) -> SnapshotPlace {
    let ShownPlace { function, file, line, .. } = stop.frame.place.clone().unwrap_or_default();
    SnapshotPlace { function, file, line }
}

/// The answer of `debug_snapshot`.
#[derive(Serialize)]
struct SnapshotAnswer {
    #[serde(flatten)]
    run: RunAnswer,
    #[serde(flatten)]
    contents: SnapshotContents,
}

/// The fields that a snapshot adds to the answer about a stop.
#[derive(Default, Serialize)]
#[serde(rename_all = "camelCase")]
struct SnapshotContents {
    /// The answer of the adapter about the exception.
    #[serde(skip_serializing_if = "Option::is_none")]
    exception: Option<Value>,
    /// A limit that applied to the request.
    #[serde(skip_serializing_if = "Option::is_none")]
    message: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    variables: Option<Vec<VariableRow>>,
    #[serde(skip_serializing_if = "Option::is_none")]
    frames: Option<Vec<ShownFrames>>,
    #[serde(skip_serializing_if = "Option::is_none")]
    total_frames: Option<i64>,
    #[serde(skip_serializing_if = "Option::is_none")]
    omitted: Option<OmittedRows>,
    /// Its id, to compare with later.
    #[serde(skip_serializing_if = "Option::is_none")]
    snapshot: Option<u64>,
    /// The parts that could not be read, each with the reason.
    #[serde(skip_serializing_if = "Map::is_empty")]
    unreadable: Map<String, Value>,
}

/// The rows that do not fit into a snapshot, and how to read them.
#[derive(Serialize)]
struct OmittedRows {
    #[serde(skip_serializing_if = "Option::is_none")]
    variables: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    frames: Option<String>,
    how: &'static str,
}

async fn diff(call: &ToolCall, arguments: SnapshotDiffArguments) -> Result<Value, Failure> {
    let session = call.session().await?;
    let kept = |id: Option<u64>| {
        session.agent_view.stored_snapshot(id).ok_or_else(|| {
            let (what, ids) = (
                id.map_or("no snapshot".into(), |id| format!("no snapshot {id}")),
                session.agent_view.snapshot_ids(),
            );
            Failure::invalid(format!("there is {what} to compare with"))
                .hint(format!("debug_snapshot takes one; kept are {ids:?}"))
        })
    };
    let from = kept(arguments.from)?;
    let to = match arguments.to {
        Some(id) => kept(Some(id))?,
        None => {
            // Compare to the same depth: a difference in depth is not a change.
            let depth = arguments.depth.map_or(from.depth, |depth| limit_depth(Some(depth)).0);
            let rows = read_variables(&session, arguments.frame_id, depth).await?.rows;
            let mut values = Values::new();
            flatten(&rows, "", &mut values);
            let place = report(&session).await.stop().map(place_of).unwrap_or_default();
            let id = session.agent_view.keep(depth, place.clone(), values.clone());
            StoredSnapshot { id, depth, place, values }
        }
    };
    answer(&SnapshotDifference::of(&from, &to))
}

#[cfg(test)]
mod tests {
    use serde_json::json;
    use tandem_wire::ErrorCode;

    use super::*;
    use crate::session::test_connection::{connect, receive};

    /// Takes the contents of a stop from an adapter that answers `variables` with this failure.
    async fn take_with(failure: Failure) -> Result<StopContents, Failure> {
        let (session, adapter, mut requests) = connect();
        session.listener.snapshot.send_modify(|snapshot| {
            snapshot.state = ProgramState::Stopped;
            snapshot.stop = types::StoppedEventBody { thread_id: Some(1), ..Default::default() };
        });
        let answering = async {
            loop {
                let request = receive(&mut requests).await;
                let answer = match request.command.as_str() {
                    "stackTrace" => Ok(json!({ "stackFrames": [{ "id": 7, "name": "main" }] })),
                    "scopes" => Ok(json!({ "scopes": [{ "name": "Locals", "variablesReference": 3 }] })),
                    _ => Err(failure.clone()),
                };
                adapter.respond(&request, answer);
            }
        };
        tokio::select! {
            taken = take(&session, None, 1) => taken,
            () = answering => panic!("it never ends"),
        }
    }

    #[tokio::test]
    async fn variables_that_cannot_be_read_leave_the_stack_and_the_reason() {
        let failure = Failure::new(ErrorCode::EngineFailed, "no debug information").hint("update it");
        let taken = take_with(failure).await.unwrap();
        assert!(taken.stack.is_some() && taken.variables.is_none());
        let mut reasons = Map::new();
        taken.unreadable.put(&mut reasons);
        assert_eq!(json!(reasons), json!({ "variables": "no debug information; update it" }));
    }

    #[tokio::test]
    async fn a_program_that_was_resumed_has_no_contents_of_a_stop() {
        let taken = take_with(Failure::new(ErrorCode::NotStopped, "it runs")).await;
        assert_eq!(taken.err().map(|failure| failure.code), Some(ErrorCode::NotStopped));
    }
}
