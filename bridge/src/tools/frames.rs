//! The call stack as tools answer it: the user's frames, with runs of frames of libraries folded into a row
//! each; and which frame and scope a call means. Variables of a frame are not here.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::Value;
use tandem_wire::types::StackFrame;
use tandem_wire::{ErrorCode, Failure};

use super::answer;
use super::shown_frame::{has_ended, locals_scopes, shown_frame, stack};
use super::stops::{named_thread, stopped_thread};
use super::values::scopes_of;
use crate::bounds::Budget;
use crate::call::ToolCall;
use crate::session::AgentSession;
use crate::source::ShownPlace;

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
    total: Option<i64>,
}

/// A frame, or a run of them.
struct FrameRow {
    /// Number of its first frame, from 0 at the top.
    at: u64,
    shown: ShownFrames,
}

/// A row of a stack, as tools answer it.
#[derive(Debug, Serialize)]
#[serde(untagged)]
pub(super) enum ShownFrames {
    Frame {
        id: i64,
        #[serde(flatten)]
        place: ShownPlace,
    },
    /// Frames of libraries: their number, and the number of the first.
    Folded { folded: usize, start: u64 },
}

/// A part of a call stack in an answer.
#[derive(Debug, Default, Serialize)]
#[serde(rename_all = "camelCase")]
pub(super) struct StackPage {
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(super) total_frames: Option<i64>,
    /// The number of the frame where the stack continues.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(super) next: Option<u64>,
    pub(super) frames: Vec<ShownFrames>,
}

impl CallStack {
    /// Reads a part of a thread's stack, without folding.
    ///
    /// # Errors
    /// The error that the session responds with.
    async fn read(session: &AgentSession, thread: i64, start: u64, count: u64) -> Result<Self, Failure> {
        let body = stack(session, thread, start, count).await?;
        let frames = body.stack_frames;
        let rows = (start..).zip(&frames).map(|(at, frame)| FrameRow { at, shown: frame.into() });
        Ok(Self { rows: rows.collect(), end: start + frames.len() as u64, total: body.total_frames })
    }

    /// Reads a thread's stack from the top and folds frames outside the user's code.
    ///
    /// # Errors
    /// The error that the session responds with.
    pub(super) async fn read_folded(session: &AgentSession, thread: i64) -> Result<Self, Failure> {
        let body = stack(session, thread, 0, MAX_FRAMES).await?;
        let frames = body.stack_frames;
        Ok(Self { rows: fold_frames(&frames), end: frames.len() as u64, total: body.total_frames })
    }

    /// At most `count` of its rows, with `next` where the stack continues.
    pub(super) fn page(self, budget: Budget, count: u64) -> StackPage {
        let Self { rows, end, total } = self;
        let (starts, mut frames): (Vec<u64>, Vec<ShownFrames>) =
            rows.into_iter().map(|row| (row.at, row.shown)).unzip();
        let fits = budget.rows(&frames).min(usize::try_from(count).unwrap_or(usize::MAX));
        let has_more = total.is_some_and(|total| i64::try_from(end).is_ok_and(|end| end < total));
        let next = starts.get(fits).copied().or(has_more.then_some(end));
        frames.truncate(fits);
        StackPage { total_frames: total, next, frames }
    }
}

/// The rows of a stack from its top. Where no frame is the user's nothing is folded: then these frames are
/// what there is to see.
fn fold_frames(frames: &[StackFrame]) -> Vec<FrameRow> {
    let hint = |frame: &StackFrame, hint: &str| frame.presentation_hint.as_deref() == Some(hint);
    let is_foreign = |frame: &StackFrame| hint(frame, "subtle");
    let any = frames.iter().any(|frame| !is_foreign(frame) && !hint(frame, "label"));
    let mut rows = Vec::new();
    let mut at = 0;
    for run in frames.chunk_by(|one, other| is_foreign(one) && is_foreign(other)) {
        let top = usize::from(at == 0);
        let is_run = any && run.len() >= MAX_UNFOLDED_FRAMES + top;
        let shown = if is_run { top } else { run.len() };
        rows.extend((at..).zip(run).take(shown).map(|(at, frame)| FrameRow { at, shown: frame.into() }));
        if is_run {
            let start = at + shown as u64;
            let folded = ShownFrames::Folded { folded: run.len() - shown, start };
            rows.push(FrameRow { at: start, shown: folded });
        }
        at += run.len() as u64;
    }
    rows
}

impl From<&StackFrame> for ShownFrames {
    fn from(frame: &StackFrame) -> Self {
        Self::Frame { id: frame.id, place: frame.into() }
    }
}

/// The answer of `debug_stacktrace`.
#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
struct StackAnswer {
    thread_id: i64,
    #[serde(flatten)]
    page: StackPage,
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
        Some(start) => CallStack::read(&session, thread, start, count).await?,
        None => CallStack::read_folded(&session, thread).await?,
    };
    if arguments.start.unwrap_or(0) == 0 {
        session.agent_view.record_seen(news);
    }
    answer(&StackAnswer { thread_id: thread, page: stack.page(budget, count) })
}

/// The frame with the id that a call names, else the one whose variables and place the agent was shown.
pub(super) async fn frame_of(frame_id: Option<u64>, session: &AgentSession) -> Result<Option<i64>, Failure> {
    if let Some(frame) = frame_id {
        // No engine has a frame with a larger id.
        return Ok(Some(i64::try_from(frame).unwrap_or(i64::MAX)));
    }
    let found = shown_frame(session, stopped_thread(session)?).await?;
    // A frame that has ended has no variables; `$exception` is the thread's.
    Ok(found.map(|(top, shown)| if has_ended(&shown) { top.id } else { shown.id }))
}

/// The named scope, else those with arguments and locals.
pub(super) async fn scope(
    scope_name: Option<&str>,
    session: &AgentSession,
    frame: Option<i64>,
) -> Result<Vec<i64>, Failure> {
    let list = session.send(&scopes_of(frame)?).await?.scopes;
    let named = |prefix: &str| {
        list.iter()
            .find(|scope| scope.name.to_lowercase().starts_with(prefix))
            .map(|scope| vec![scope.variables_reference])
    };
    match scope_name.map(str::to_lowercase).filter(|name| name != "all") {
        Some(name) => {
            // Many engines have arguments and `this` among the locals.
            let found = named(&name)
                .or_else(|| LOCALS_ALIASES.contains(&name.as_str()).then(|| locals_scopes(&list)));
            found.ok_or_else(|| {
                let names: Vec<&str> = list.iter().map(|scope| scope.name.as_str()).collect();
                Failure::invalid(format!("this frame has no scope `{name}`"))
                    .hint(format!("it has {}", names.join(", ")))
            })
        }
        None => Some(locals_scopes(&list))
            .filter(|found| !found.is_empty())
            .ok_or_else(|| Failure::new(ErrorCode::EngineFailed, "this frame has no variables").quiet()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn frames(hints: &[&str]) -> Vec<StackFrame> {
        let frame = |(id, hint): (i64, &&str)| StackFrame {
            id,
            presentation_hint: Some((*hint).into()),
            ..StackFrame::default()
        };
        (0..).zip(hints).map(frame).collect()
    }

    fn shown_rows(hints: &[&str]) -> Vec<String> {
        let rows = fold_frames(&frames(hints));
        let row = |row: &FrameRow| match &row.shown {
            ShownFrames::Folded { folded, start } => format!("{folded} from {start}"),
            ShownFrames::Frame { id, .. } => id.to_string(),
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
        let frames = frames(&["normal", "subtle", "subtle", "normal", "normal"]);
        let page = |count| {
            let stack = CallStack { rows: fold_frames(&frames), end: 5, total: Some(9) };
            let page = stack.page(Budget::of(None), count);
            (page.frames.len(), page.next)
        };
        assert_eq!(page(1), (1, Some(1)));
        assert_eq!(page(2), (2, Some(3)));
        assert_eq!(page(9), (4, Some(5)));
    }
}
