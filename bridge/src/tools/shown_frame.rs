//! The frame that the answer about a stop shows: the one that helps the user most, the lines around it, and
//! its variables, compared with those of the stop before.
//!
//! Not here: the rest of the answer ([`super::stops`]).

use std::path::Path;

use dap_wire::Failure;
use serde_json::{Value, json};

use super::unreadable::UnreadableParts;
use super::values::{MAX_VALUE_LEN, add_visible};
use crate::bounds::cut;
use crate::session::AgentSession;
use crate::source::{SourceText, place};

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
/// nearest that names a source; else the top one.
///
/// # Errors
/// The error that the session responds with.
pub(super) async fn shown_frame(session: &AgentSession, thread: &Value) -> Result<(Value, Value), Failure> {
    let top = stack(session, thread, 0, 1).await?["stackFrames"][0].clone();
    let own = session.own_folder();
    if has_source(&top) && own.as_ref().map_or_else(|| !is_library(&top), |own| is_project_frame(&top, own)) {
        return Ok((top.clone(), top));
    }
    let deeper = stack(session, thread, 0, MAX_FRAME_DEPTH).await?;
    let frames = deeper["stackFrames"].as_array().map(Vec::as_slice).unwrap_or_default();
    if let Some(shown) = own.and_then(|own| frames.iter().find(|frame| is_project_frame(frame, &own))) {
        return Ok((top, shown.clone()));
    }
    let shown = nearest(frames).unwrap_or(&top).clone();
    Ok((top, shown))
}

/// The frame of these that helps most. A library's frame may name a source of the machine it was built on.
fn nearest(frames: &[Value]) -> Option<&Value> {
    let is_users = |frame: &&Value| has_source(frame) && !is_library(frame);
    let named = |frame: &&Value| !frame["source"]["path"].is_null();
    let readable = || frames.iter().find(|frame| has_source(frame));
    frames.iter().find(is_users).or_else(readable).or_else(|| frames.iter().find(named))
}

/// Whether a frame is outside the user's code. Some adapters mark only its source.
fn is_library(frame: &Value) -> bool {
    frame["presentationHint"] == "subtle" || frame["source"]["presentationHint"] == "deemphasize"
}

/// Folders of a project that have others' sources.
const LIBRARY_FOLDERS: [&str; 3] = ["node_modules", "site-packages", "vendor"];

/// Whether a frame is in a source below a folder, and of the project's own.
fn is_project_frame(frame: &Value, folder: &Path) -> bool {
    let path = frame["source"]["path"].as_str().unwrap_or_default();
    let own = |below: &Path| !below.iter().any(|part| LIBRARY_FOLDERS.iter().any(|name| part == *name));
    has_source(frame) && Path::new(path).strip_prefix(folder).is_ok_and(own)
}

/// Whether the lines of a frame can be read here at once: some sources must be fetched or decompiled first.
pub(super) fn has_source(frame: &Value) -> bool {
    frame["source"]["path"].as_str().is_some_and(|path| Path::new(path).is_file())
        || frame["source"]["sourceReference"].as_i64().unwrap_or(0) > 0
            && frame["source"]["adapterData"]["notHere"] != true
}

/// Whether the method of a frame has ended, so that it has no variables: it threw an exception that
/// another stack throws again.
pub(super) fn has_ended(frame: &Value) -> bool {
    frame["hasEnded"] == true
}

/// Place, lines around it and changed variables of the frame that is shown.
pub(super) async fn add_place(
    session: &AgentSession,
    thread: &Value,
    event: &mut Value,
) -> Result<(), Failure> {
    let (top, frame) = shown_frame(session, thread).await?;
    event["topFrame"] = json!({ "id": top["id"] });
    place(event, &frame);
    // If the top frame is the one that is shown, its function and file are already in the answer.
    if top["source"]["path"].is_null() || top["id"] != frame["id"] {
        event["topFrame"]["function"] = top["name"].clone();
    } else {
        event["topFrame"]["line"] = event["line"].clone();
    }
    let read = frame["source"]["path"].as_str().and_then(SourceText::read);
    if let (Some(source), Some(line)) = (read, frame["line"].as_u64()) {
        event["lines"] = json!(source.around(line, LINES_AROUND));
    }
    let details = json!({ "function": event["function"], "file": event["file"], "line": event["line"] });
    session.listener.event_log(|event_log| event_log.complete(&["stopped", "exception"], details));
    if has_ended(&frame) {
        event["hasEnded"] = json!(true);
        return Ok(());
    }
    let mut unreadable = UnreadableParts::default();
    let read = add_variables(session, &frame, event).await;
    unreadable.take(session, "variables", read)?;
    unreadable.put(event);
    Ok(())
}

async fn add_variables(session: &AgentSession, frame: &Value, event: &mut Value) -> Result<(), Failure> {
    let scopes = session.ask("scopes", json!({ "frameId": frame["id"] })).await?;
    let (mut rows, mut returned) = (Vec::new(), Vec::new());
    for reference in locals_scopes(&scopes) {
        let arguments =
            json!({ "variablesReference": reference, "start": 0, "count": MAX_COMPARED_VARIABLES });
        let body = session.ask("variables", arguments).await?;
        let mut variables = body["variables"].as_array().cloned().unwrap_or_default();
        // Of one name there may be several, and none hides another.
        returned.extend(take_returned(&mut variables));
        add_visible(&mut rows, variables);
    }
    // Code without a source rarely has readable variables, so an error says nothing about the stop.
    if !has_source(frame) {
        let failed = |row: &Value| {
            let attributes = row["presentationHint"]["attributes"].as_array().into_iter().flatten();
            attributes.clone().any(|attribute| attribute == "failedEvaluation")
        };
        rows.retain(|row| !failed(row));
    }
    // Groups an adapter makes up (`special variables`) have no value that could change, nor have static
    // members.
    let is_group = |row: &Value| row["value"] == "" || row["presentationHint"]["kind"] == "class";
    rows.retain(|row| !is_group(row) || row["variablesReference"].as_i64().unwrap_or(0) == 0);
    // Variables that pytest adds to explain an assertion.
    rows.retain(|row| !row["name"].as_str().is_some_and(|name| name.starts_with("@py_")));
    if !returned.is_empty() {
        event["returned"] = json!(returned);
    }
    let (mut comparison, same) =
        session.agent_view.compare_variables(frame["name"].as_str().unwrap_or_default(), &rows);
    if comparison.len() > MAX_VARIABLES {
        event["more"] = json!(format!("{} more: debug_variables", comparison.len() - MAX_VARIABLES));
        comparison.truncate(MAX_VARIABLES);
    }
    if !comparison.is_empty() {
        event[if same { "changed" } else { "locals" }] = json!(comparison);
    }
    Ok(())
}

/// Removes the values that the calls of a step returned from the variables of a frame: rows such as `Total
/// returned`, which is not a valid variable name.
fn take_returned(rows: &mut Vec<Value>) -> Vec<Value> {
    let name = |row: &Value| row["name"].as_str()?.strip_suffix(RETURNED).map(str::to_owned);
    let taken = rows.extract_if(.., |row| name(row).is_some());
    taken
        .map(|row| {
            json!({ "name": name(&row), "value": cut(&row["value"], MAX_VALUE_LEN),
            "type": row["type"] })
        })
        .collect()
}

/// The scopes with arguments and locals, the innermost first: JavaScript has one for each block, and gdb
/// keeps arguments apart.
pub(super) fn locals_scopes(scopes: &Value) -> Vec<Value> {
    let list = scopes["scopes"].as_array().map(Vec::as_slice).unwrap_or_default();
    let is_local = |scope: &&Value| {
        matches!(scope["presentationHint"].as_str(), Some("locals" | "arguments"))
            && scope["expensive"] != true
    };
    let mut found: Vec<&Value> = list.iter().filter(is_local).take(MAX_SCOPES).collect();
    if found.is_empty() {
        found.extend(list.first());
    }
    found.into_iter().map(|scope| scope["variablesReference"].clone()).collect()
}

/// `levels` frames of a thread from `start` on.
pub(super) async fn stack(
    session: &AgentSession,
    thread: &Value,
    start: u64,
    levels: u64,
) -> Result<Value, Failure> {
    session.ask("stackTrace", json!({ "threadId": thread, "startFrame": start, "levels": levels })).await
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_frame_that_is_shown_is_the_nearest_of_the_users_whose_source_is_here() {
        let here = std::env::current_exe().unwrap().display().to_string();
        let at = |id: u64, path: &str, hint: Value| {
            json!({ "id": id, "source": { "path": path },
            "presentationHint": hint })
        };
        let shown = |frames: &[Value]| nearest(frames).map(|frame| frame["id"].clone()).unwrap_or_default();
        let (bare, gone) = (json!({ "id": 1 }), at(2, "/_/src/EqualityAsserts.cs", Value::Null));
        let (library, own) = (at(3, &here, json!("subtle")), at(4, &here, Value::Null));
        assert_eq!(shown(&[bare.clone(), gone.clone(), library.clone(), own.clone()]), 4);
        let mut runtime = at(5, &here, Value::Null);
        runtime["source"]["presentationHint"] = json!("deemphasize");
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
        assert_eq!(shown(&[bare]), Value::Null);
        let remote = json!({ "source": { "path": "/_/a.cs", "sourceReference": 3, "adapterData": {
            "notHere": true } } });
        assert!(!has_source(&remote));
        let embedded = json!({ "source": { "path": "/_/a.cs", "sourceReference": 3 } });
        assert!(has_source(&embedded) && !has_source(&json!({ "source": { "path": "/_/a.cs" } })));
    }
}
