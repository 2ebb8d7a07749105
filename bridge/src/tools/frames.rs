//! The call stack as tools answer it: the user's frames, with runs of frames of libraries folded into a row
//! each; and which frame and scope a call means. Variables of a frame are not here.

use dap_wire::{ErrorCode, Failure};
use schemars::JsonSchema;
use serde::Deserialize;
use serde_json::{Value, json};

use super::shown_frame::{has_ended, locals_scopes, shown_frame, stack};
use super::stops::{named_thread, stopped_thread};
use crate::bounds::Budget;
use crate::call::ToolCall;
use crate::session::AgentSession;
use crate::source::place;

/// Scopes that other engines call so; here they are among the locals.
const LOCALS_ALIASES: [&str; 4] = ["locals", "arguments", "args", "this"];
/// Frames of one answer by default.
const DEFAULT_FRAMES: u64 = 20;
/// Frames of one answer at most, and frames that are read to fold them.
const MAX_FRAMES: u64 = 200;
/// Maximum number of consecutive library frames that stay unfolded: folding one or two saves nothing.
const MAX_UNFOLDED_FRAMES: usize = 2;

/// A part of a call stack.
pub(super) struct CallStack {
    rows: Vec<FrameRow>,
    /// The number of the first frame after the part.
    end: u64,
    /// Frames of the whole stack, where the engine says that.
    total: Option<u64>,
}

/// A frame, or a run of them.
struct FrameRow {
    /// Number of its first frame, from 0 at the top.
    at: u64,
    body: Value,
}

impl CallStack {
    /// Reads a part of a thread's stack, without folding.
    ///
    /// # Errors
    /// The error that the session responds with.
    async fn read(session: &AgentSession, thread: &Value, start: u64, count: u64) -> Result<Self, Failure> {
        let stack_body = stack(session, thread, start, count).await?;
        let frames = stack_body["stackFrames"].as_array().map(Vec::as_slice).unwrap_or_default();
        let rows = (start..).zip(frames).map(|(at, frame)| FrameRow { at, body: body(frame) });
        Ok(Self {
            rows: rows.collect(),
            end: start + frames.len() as u64,
            total: stack_body["totalFrames"].as_u64(),
        })
    }

    /// Reads a thread's stack from the top and folds frames outside the user's code.
    ///
    /// # Errors
    /// The error that the session responds with.
    pub(super) async fn read_folded(session: &AgentSession, thread: &Value) -> Result<Self, Failure> {
        let stack_body = stack(session, thread, 0, MAX_FRAMES).await?;
        let frames = stack_body["stackFrames"].as_array().map(Vec::as_slice).unwrap_or_default();
        Ok(Self {
            rows: fold_frames(frames),
            end: frames.len() as u64,
            total: stack_body["totalFrames"].as_u64(),
        })
    }

    /// Puts at most `count` rows into an answer, with `next` where the stack continues.
    pub(super) fn put(self, answer: &mut Value, budget: Budget, count: u64) {
        let Self { mut rows, end, total } = self;
        let bodies: Vec<Value> = rows.iter().map(|row| row.body.clone()).collect();
        let fits = budget.rows(&bodies).min(usize::try_from(count).unwrap_or(usize::MAX));
        let goes_on = total.is_some_and(|total| end < total).then_some(end);
        let next = rows.get(fits).map(|row| row.at).or(goes_on);
        rows.truncate(fits);
        if let Some(total) = total {
            answer["totalFrames"] = json!(total);
        }
        if let Some(next) = next {
            answer["next"] = json!(next);
        }
        answer["frames"] = rows.into_iter().map(|row| row.body).collect();
    }
}

/// The rows of a stack from its top. Where no frame is the user's nothing is folded: then these frames are
/// what there is to see.
fn fold_frames(frames: &[Value]) -> Vec<FrameRow> {
    let is_foreign = |frame: &Value| frame["presentationHint"] == "subtle";
    let any = frames.iter().any(|frame| !is_foreign(frame) && frame["presentationHint"] != "label");
    let mut rows = Vec::new();
    let mut at = 0;
    for run in frames.chunk_by(|one, other| is_foreign(one) && is_foreign(other)) {
        let top = usize::from(at == 0);
        let is_run = any && run.len() >= MAX_UNFOLDED_FRAMES + top;
        let shown = if is_run { top } else { run.len() };
        rows.extend((at..).zip(run).take(shown).map(|(at, frame)| FrameRow { at, body: body(frame) }));
        if is_run {
            let start = at + shown as u64;
            rows.push(FrameRow { at: start, body: json!({ "folded": run.len() - shown, "start": start }) });
        }
        at += run.len() as u64;
    }
    rows
}

fn body(frame: &Value) -> Value {
    let mut shown = json!({ "id": frame["id"] });
    place(&mut shown, frame);
    shown
}

#[derive(Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
#[schemars(extend("x-unlisted" = ["maxTokens"]))]
pub(super) struct StackArguments {
    thread_id: Option<u64>,
    start: Option<u64>,
    #[schemars(extend("default" = DEFAULT_FRAMES))]
    count: Option<u64>,
    max_tokens: Option<u64>,
}

/// `debug_stacktrace`: frames of libraries are not folded if the call names where to begin.
pub(super) async fn stacktrace(call: &ToolCall, arguments: StackArguments) -> Result<Value, Failure> {
    let session = call.session().await?;
    let thread = match named_thread(arguments.thread_id, &session).await? {
        Some(thread) => thread,
        None => stopped_thread(&session)?,
    };
    let count = arguments.count.unwrap_or(DEFAULT_FRAMES).clamp(1, MAX_FRAMES);
    let budget = Budget::of(arguments.max_tokens);
    let news = session.snapshot().news;
    let stack = match arguments.start {
        Some(start) => CallStack::read(&session, &thread, start, count).await?,
        None => CallStack::read_folded(&session, &thread).await?,
    };
    if arguments.start.unwrap_or(0) == 0 {
        session.agent_view.record_seen(news);
    }
    let mut answer = json!({ "threadId": thread });
    stack.put(&mut answer, budget, count);
    Ok(answer)
}

/// The frame with the id that a call names, else the one whose variables and place the agent was shown.
pub(super) async fn frame_of(frame_id: Option<u64>, session: &AgentSession) -> Result<Value, Failure> {
    if let Some(frame) = frame_id {
        return Ok(json!(frame));
    }
    let (top, shown) = shown_frame(session, &stopped_thread(session)?).await?;
    // A frame that has ended has no variables; `$exception` is the thread's.
    Ok(if has_ended(&shown) { top["id"].clone() } else { shown["id"].clone() })
}

/// The named scope, else those with arguments and locals.
pub(super) async fn scope(
    scope_name: Option<&str>,
    session: &AgentSession,
    frame: &Value,
) -> Result<Vec<Value>, Failure> {
    let scopes = session.ask("scopes", json!({ "frameId": frame })).await?;
    let list = scopes["scopes"].as_array().cloned().unwrap_or_default();
    let named = |prefix: &str| {
        list.iter()
            .find(|scope| scope["name"].as_str().is_some_and(|name| name.to_lowercase().starts_with(prefix)))
            .map(|scope| vec![scope["variablesReference"].clone()])
    };
    match scope_name.map(str::to_lowercase).filter(|name| name != "all") {
        Some(name) => {
            // Many engines have arguments and `this` among the locals.
            let found = named(&name)
                .or_else(|| LOCALS_ALIASES.contains(&name.as_str()).then(|| locals_scopes(&scopes)));
            found.ok_or_else(|| {
                let names: Vec<&str> = list.iter().filter_map(|scope| scope["name"].as_str()).collect();
                Failure::invalid(format!("this frame has no scope `{name}`"))
                    .hint(format!("it has {}", names.join(", ")))
            })
        }
        None => Some(locals_scopes(&scopes))
            .filter(|found| !found.is_empty())
            .ok_or_else(|| Failure::new(ErrorCode::EngineFailed, "this frame has no variables").quiet()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn shown_rows(hints: &[&str]) -> Vec<String> {
        let frames: Vec<Value> = (0..)
            .zip(hints)
            .map(|(id, hint)| json!({ "id": id, "name": "f", "presentationHint": hint }))
            .collect();
        let rows = fold_frames(&frames);
        let row = |row: &FrameRow| match row.body["folded"].as_u64() {
            Some(count) => format!("{count} from {}", row.at),
            None => row.body["id"].to_string(),
        };
        rows.iter().map(row).collect()
    }

    #[test]
    fn runs_of_library_frames_are_folded_and_the_top_frame_is_not() {
        let (own, library, label) = ("normal", "subtle", "label");
        assert_eq!(shown_rows(&[own, library, library, library, own]), ["0", "3 from 1", "4"]);
        assert_eq!(shown_rows(&[library, library, library, own]), ["0", "2 from 1", "3"]);
        assert_eq!(shown_rows(&[library, library, own, library, own]), ["0", "1", "2", "3", "4"]);
        assert_eq!(
            shown_rows(&[own, library, library, label, library, library, own]),
            ["0", "2 from 1", "3", "2 from 4", "6"]
        );
        assert_eq!(
            shown_rows(&[library, library, label, library]),
            ["0", "1", "2", "3"],
            "nothing is the user's"
        );
        assert!(shown_rows(&[]).is_empty());
    }

    #[test]
    fn a_page_ends_where_the_next_frame_is() {
        let frames: Vec<Value> = ["normal", "subtle", "subtle", "normal", "normal"]
            .iter()
            .map(|hint| json!({ "id": 1, "name": "f", "presentationHint": hint }))
            .collect();
        let page = |count| {
            let mut answer = json!({});
            let stack = CallStack { rows: fold_frames(&frames), end: 5, total: Some(9) };
            stack.put(&mut answer, Budget::of(None), count);
            (answer["frames"].as_array().unwrap().len(), answer["next"].clone())
        };
        assert_eq!(page(1), (1, json!(1)));
        assert_eq!(page(2), (2, json!(3)));
        assert_eq!(page(9), (4, json!(5)));
    }
}
