//! The frame that the answer about a stop shows: the one that helps the user most, the lines around it, and
//! its variables, compared with those of the stop before.
//!
//! Not here: the rest of the answer ([`super::stops`]).

use std::path::Path;

use tandem_wire::Failure;
use tandem_wire::types::{
    self, DapScope, DapVariable, SourceAvailability, StackFrame, StackTraceArguments, StackTraceResponseBody,
};

use super::unreadable::UnreadableParts;
use super::values::{VariableRow, add_visible, children, scopes_of};
use crate::program_event::{FrameDetails, ReturnedValue, TopFrame};
use crate::session::AgentSession;
use crate::source::{ShownPlace, SourceText};

/// Lines on each side of a stop.
const LINES_AROUND: u64 = 2;
/// Maximum number of variables that are compared.
const MAX_COMPARED_VARIABLES: u64 = 60;
/// Maximum number of scopes of a frame that are read.
const MAX_SCOPES: usize = 8;
/// Maximum number of variables in one answer.
const MAX_VARIABLES: usize = 20;
/// Suffix of the .NET engine after the name of a method, to show what it returned.
const RETURNED: &str = " returned";
/// Number of frames searched for the first one with a source: a web server's handlers may
/// be dozens of frames down.
const MAX_FRAME_DEPTH: u64 = 200;

/// The top frame of a thread, and the frame to show: the nearest with a readable source, in the user's own
/// code if there is one, because frames of a framework, a library or native code explain little; else the
/// nearest that names a source; else the top one. `None` if the thread has no frames.
///
/// # Errors
/// The error that the session responds with.
pub(super) async fn shown_frame(
    session: &AgentSession,
    thread: i64,
) -> Result<Option<(StackFrame, StackFrame)>, Failure> {
    let Some(top) = stack(session, thread, 0, 1).await?.stack_frames.into_iter().next() else {
        return Ok(None);
    };
    let own = session.own_folder();
    if has_source(&top) && own.as_ref().map_or_else(|| !is_library(&top), |own| is_project_frame(&top, own)) {
        return Ok(Some((top.clone(), top)));
    }
    let frames = stack(session, thread, 0, MAX_FRAME_DEPTH).await?.stack_frames;
    if let Some(shown) = own.and_then(|own| frames.iter().find(|frame| is_project_frame(frame, &own))) {
        return Ok(Some((top, shown.clone())));
    }
    let shown = nearest(&frames).unwrap_or(&top).clone();
    Ok(Some((top, shown)))
}

/// The frame of these that helps most. A library's frame may name a source of the machine it was built on.
fn nearest(frames: &[StackFrame]) -> Option<&StackFrame> {
    let is_users = |frame: &&StackFrame| has_source(frame) && !is_library(frame);
    let named = |frame: &&StackFrame| path_of(frame).is_some();
    let readable = || frames.iter().find(|frame| has_source(frame));
    frames.iter().find(is_users).or_else(readable).or_else(|| frames.iter().find(named))
}

/// The path of a frame's source, if it has one.
pub(super) fn path_of(frame: &StackFrame) -> Option<&str> {
    frame.source.as_ref()?.path.as_deref()
}

/// Whether a frame is outside the user's code. Some adapters mark only its source.
fn is_library(frame: &StackFrame) -> bool {
    let source = frame.source.as_ref().and_then(|source| source.presentation_hint.as_deref());
    frame.presentation_hint.as_deref() == Some("subtle") || source == Some("deemphasize")
}

/// Folders of a project that have others' sources.
const LIBRARY_FOLDERS: [&str; 3] = ["node_modules", "site-packages", "vendor"];

/// Whether a frame is in a source below a folder, and of the project's own.
fn is_project_frame(frame: &StackFrame, folder: &Path) -> bool {
    let path = path_of(frame).unwrap_or_default();
    let own = |below: &Path| !below.iter().any(|part| LIBRARY_FOLDERS.iter().any(|name| part == *name));
    has_source(frame) && Path::new(path).strip_prefix(folder).is_ok_and(own)
}

/// Whether the lines of a frame can be read here at once: some sources must be fetched or decompiled first.
pub(super) fn has_source(frame: &StackFrame) -> bool {
    let Some(source) = &frame.source else { return false };
    let is_available = || {
        let data = source.adapter_data.as_ref().map(types::read::<SourceAvailability>).unwrap_or_default();
        data.not_here != Some(true)
    };
    source.path.as_ref().is_some_and(|path| Path::new(path).is_file())
        || source.source_reference.is_some_and(|reference| reference > 0) && is_available()
}

/// Whether the method of a frame has ended, so that it has no variables: it threw an exception that
/// another stack throws again.
pub(super) fn has_ended(frame: &StackFrame) -> bool {
    frame.rest.get("hasEnded").is_some_and(|ended| *ended == true)
}

/// Reads the place of a stop, the lines around it and its changed variables. A part that cannot be read is
/// among `unreadable`.
///
/// # Errors
/// When the program is not stopped any more; what was read before is kept.
pub(super) async fn read_frame(
    session: &AgentSession,
    thread: i64,
    details: &mut FrameDetails,
    unreadable: &mut UnreadableParts,
) -> Result<(), Failure> {
    let Some((top, frame)) = shown_frame(session, thread).await? else {
        details.top_frame = Some(TopFrame::Absent { id: (), function: () });
        details.place = Some(ShownPlace::default());
        return Ok(());
    };
    let place = ShownPlace::from(&frame);
    // If the top frame is the one that is shown, its function and file are already in the answer.
    details.top_frame = Some(match path_of(&top).is_none() || top.id != frame.id {
        true => TopFrame::Other { id: top.id, function: top.name },
        false => TopFrame::Shown { id: top.id, line: place.line },
    });
    let read = path_of(&frame).and_then(SourceText::read);
    if let (Some(source), Ok(line)) = (read, u64::try_from(frame.line)) {
        details.lines = Some(source.around(line, LINES_AROUND));
    }
    session.listener.event_log(|event_log| event_log.add_place(&place));
    details.place = Some(place);
    details.has_ended = has_ended(&frame);
    if details.has_ended {
        return Ok(());
    }
    let read = read_variables(session, &frame, details).await;
    unreadable.take(session, "variables", read).map(drop)
}

async fn read_variables(
    session: &AgentSession,
    frame: &StackFrame,
    details: &mut FrameDetails,
) -> Result<(), Failure> {
    let scopes = session.send(&scopes_of(Some(frame.id))?).await?.scopes;
    let (mut rows, mut returned) = (Vec::new(), Vec::new());
    for reference in locals_scopes(&scopes) {
        let body = session.send(&children(reference, 0, MAX_COMPARED_VARIABLES)).await?;
        let mut variables = body.variables;
        // Of one name there may be several, and none hides another.
        returned.extend(take_returned(&mut variables));
        add_visible(&mut rows, variables, |row| &row.name);
    }
    let hint = |row: &DapVariable| row.presentation_hint.clone().unwrap_or_default();
    // Code without a source rarely has readable variables, so an error says nothing about the stop.
    if !has_source(frame) {
        let failed = |attribute: &String| attribute == "failedEvaluation";
        rows.retain(|row| !hint(row).attributes.iter().flatten().any(failed));
    }
    // Groups an adapter makes up (`special variables`) have no value that could change, nor have static
    // members.
    let is_group = |row: &DapVariable| row.value.is_empty() || hint(row).kind.as_deref() == Some("class");
    rows.retain(|row| !is_group(row) || row.variables_reference == 0);
    // Variables that pytest adds to explain an assertion.
    rows.retain(|row| !row.name.starts_with("@py_"));
    details.returned = returned;
    let (mut comparison, same) = session.agent_view.compare_variables(&frame.name, &rows);
    if comparison.len() > MAX_VARIABLES {
        details.more = Some(format!("{} more: debug_variables", comparison.len() - MAX_VARIABLES));
        comparison.truncate(MAX_VARIABLES);
    }
    if !comparison.is_empty() {
        *(if same { &mut details.changed } else { &mut details.locals }) = Some(comparison);
    }
    Ok(())
}

/// Removes the values that the calls of a step returned from the variables of a frame: rows such as `Total
/// returned`, which is not a valid variable name.
fn take_returned(rows: &mut Vec<DapVariable>) -> Vec<ReturnedValue> {
    let taken = rows.extract_if(.., |row| row.name.ends_with(RETURNED));
    taken
        .map(|row| {
            let VariableRow { name, value, kind, .. } = VariableRow::from(&row);
            let function = name.strip_suffix(RETURNED).map(str::to_owned);
            ReturnedValue { name: function.unwrap_or(name), value, kind }
        })
        .collect()
}

/// The scopes with arguments and locals, the innermost first: JavaScript has one for each block, and gdb
/// keeps arguments apart.
pub(super) fn locals_scopes(scopes: &[DapScope]) -> Vec<i64> {
    let is_local = |scope: &&DapScope| {
        matches!(scope.presentation_hint.as_deref(), Some("locals" | "arguments")) && !scope.expensive
    };
    let mut found: Vec<&DapScope> = scopes.iter().filter(is_local).take(MAX_SCOPES).collect();
    if found.is_empty() {
        found.extend(scopes.first());
    }
    found.into_iter().map(|scope| scope.variables_reference).collect()
}

/// `levels` frames of a thread from `start` on.
pub(super) async fn stack(
    session: &AgentSession,
    thread: i64,
    start: u64,
    levels: u64,
) -> Result<StackTraceResponseBody, Failure> {
    let arguments = StackTraceArguments {
        thread_id: thread,
        start_frame: i64::try_from(start).ok(),
        levels: i64::try_from(levels).ok(),
        ..StackTraceArguments::default()
    };
    session.send(&arguments).await
}

#[cfg(test)]
mod tests {
    use serde_json::{Value, json};

    use super::*;

    #[test]
    fn the_frame_that_is_shown_is_the_nearest_of_the_users_whose_source_is_here() {
        let here = std::env::current_exe().unwrap().display().to_string();
        let at = |id: i64, path: &str, hint: Option<&str>| {
            types::read::<StackFrame>(&json!({ "id": id, "source": { "path": path },
                "presentationHint": hint }))
        };
        let shown = |frames: &[StackFrame]| nearest(frames).map(|frame| frame.id).unwrap_or_default();
        let bare = StackFrame { id: 1, ..StackFrame::default() };
        let gone = at(2, "/_/src/EqualityAsserts.cs", None);
        let (library, own) = (at(3, &here, Some("subtle")), at(4, &here, None));
        assert_eq!(shown(&[bare.clone(), gone.clone(), library.clone(), own.clone()]), 4);
        let mut runtime = at(5, &here, None);
        runtime.source.as_mut().unwrap().presentation_hint = Some("deemphasize".into());
        assert_eq!(shown(&[runtime, own]), 4);
        assert_eq!(
            shown(&[bare.clone(), gone.clone(), library]),
            3,
            "a library's source is better than none"
        );
        assert_eq!(
            shown(&[bare.clone(), gone]),
            2,
            "sources of another machine: the name of one is better than none"
        );
        assert_eq!(shown(&[bare]), 0);
        let with = |source: Value| types::read::<StackFrame>(&json!({ "source": source }));
        let remote = json!({ "path": "/_/a.cs", "sourceReference": 3, "adapterData": { "notHere": true } });
        assert!(!has_source(&with(remote)));
        let embedded = with(json!({ "path": "/_/a.cs", "sourceReference": 3 }));
        assert!(has_source(&embedded) && !has_source(&with(json!({ "path": "/_/a.cs" }))));
    }
}
