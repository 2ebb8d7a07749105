//! This agent's breakpoints in a session: sent as whole lists, as DAP requires, and placed in the sources
//! that are meant.
//!
//! Not here: the requests and the lists ([`crate::breakpoint_requests`]), answers to the agent
//! ([`crate::tools::breakpoints`]).

use std::collections::HashMap;
use std::path::{Path, PathBuf};

use serde_json::{Value, json};
use tandem_wire::types::{Breakpoint, BreakpointRequest, Source, StackTraceArguments};
use tandem_wire::{ErrorCode, Event, Failure};
use tandem_workspace::roots::Roots;

use super::AgentSession;
use super::requests::{LoadedSourcesArguments, SetBreakpointsArguments, SetFunctionBreakpointsArguments};
use crate::breakpoint_body::BreakpointBody;
use crate::breakpoint_requests::{
    BreakpointArguments, BreakpointRequests, FUNCTIONS, Purpose, RequestedBreakpoint,
};
use crate::snapshot::ProgramState;
use crate::source::{absolute, below, in_folders};

/// File name extensions of programs that are also their sources.
const SCRIPTS: [&str; 7] = [".py", ".js", ".mjs", ".cjs", ".ts", ".rb", ".sh"];
/// Maximum number of files in a source's folder that are considered.
const MAX_OTHERS: usize = 500;

impl AgentSession {
    /// Looks at or changes this agent's breakpoints, in their latest state.
    pub fn with_requested<T>(&self, work: impl FnOnce(&mut BreakpointRequests) -> T) -> T {
        self.with_plan(|plan| {
            let snapshot = self.listener.snapshot.borrow();
            for breakpoint in plan.requested.all_mut() {
                if let Some(state) = breakpoint.dap.and_then(|id| snapshot.breakpoints.changed.get(&id)) {
                    breakpoint.state = state.clone();
                }
            }
            // Any client may remove an agent's breakpoint: the next list must not set it again.
            plan.requested.retain(|breakpoint| {
                breakpoint.dap.is_none_or(|id| !snapshot.breakpoints.removed.contains(&id))
            });
            drop(snapshot);
            work(&mut plan.requested)
        })
    }

    /// Sends the whole list of one file, or of functions, as DAP requires, and stores the
    /// responses. A response belongs to the breakpoint that was sent at its position: the list may
    /// change before it arrives.
    ///
    /// # Errors
    /// The error that the session responds with; `UNSUPPORTED` for functions where the engine has none.
    pub async fn send_breakpoints(&self, file: &str) -> Result<(), Failure> {
        // A list that is built later must not arrive earlier.
        let _in_order = self.sending_breakpoints.lock().await;
        let (ids, breakpoints): (Vec<u64>, Vec<BreakpointRequest>) = self.with_requested(|requested| {
            requested.of(file).iter().map(|breakpoint| (breakpoint.id, breakpoint.request.clone())).unzip()
        });
        let answer = if file != FUNCTIONS {
            let name = file.rsplit('/').next().map(str::to_owned);
            let source = Source { path: Some(file.to_owned()), name, ..Source::default() };
            self.send(&SetBreakpointsArguments { source, breakpoints }).await?
        } else if self.can("supportsFunctionBreakpoints") {
            self.send(&SetFunctionBreakpointsArguments { breakpoints }).await?
        } else {
            return Err(Failure::new(
                ErrorCode::Unsupported,
                "this engine does not support function breakpoints",
            )
            .hint("set it by `sourceFile` and `line` or `text`"));
        };
        self.with_requested(|requested| {
            let mut states: HashMap<u64, Breakpoint> = ids.into_iter().zip(answer.breakpoints).collect();
            for breakpoint in requested.of(file) {
                if let Some(state) = states.remove(&breakpoint.id) {
                    (breakpoint.dap, breakpoint.state) = (state.id, state);
                }
            }
            requested.sweep();
        });
        // DAP notifies every client but the one that set them; receivers that show this agent's breakpoints
        // need to know as well.
        self.listener.publish(Event::new("breakpoint", Value::Null));
        Ok(())
    }

    /// Fails when the engine refuses a breakpoint.
    ///
    /// # Errors
    /// `INVALID_PARAMETER`, with the engine's reason.
    pub fn check_accepted(&self, id: u64) -> Result<(), Failure> {
        self.with_requested(|requested| {
            match requested.find(id).and_then(|(_, breakpoint)| breakpoint.refusal()) {
                Some(why) => Err(Failure::invalid(format!("the program cannot stop there: {why}"))),
                None => Ok(()),
            }
        })
    }

    /// Readable sources of the program: those that the debugger knows, and those in the program's folder.
    pub async fn source_files(&self) -> Vec<String> {
        let mut known = self.known_sources().await;
        let is_source = |path: &str| SCRIPTS.iter().any(|ending| path.ends_with(ending));
        let program = self.with_plan(|plan| plan.program());
        known.extend(program.filter(|path| is_source(path)));
        known.retain(|path| Path::new(path).is_file());
        known.dedup();
        // Then the sources in the same folder.
        let beside = known.first().map(|first| sibling_sources(first)).unwrap_or_default();
        known.extend(beside.into_iter().filter(|path| !known.contains(path)).collect::<Vec<_>>());
        known
    }

    /// Removes the breakpoints with this purpose.
    ///
    /// # Errors
    /// The error that the session responds with.
    pub async fn drop_breakpoints(&self, purpose: Purpose) -> Result<(), Failure> {
        for file in self.with_requested(|requested| requested.take_all(purpose)) {
            self.send_breakpoints(&file).await?;
        }
        Ok(())
    }

    /// Reads a location as [`RequestedBreakpoint::read`] does. A file that does not exist by its path is
    /// searched for among the program's sources, because agents name files as users and stack traces do.
    ///
    /// # Errors
    /// `INVALID_PARAMETER`, also when several sources may be meant.
    pub async fn request(
        &self,
        arguments: &BreakpointArguments,
        roots: &Roots,
    ) -> Result<RequestedBreakpoint, Failure> {
        if let Some(named) = &arguments.place.source_file
            && !Path::new(&absolute(named)).exists()
        {
            // Sources that the debugger knows come first, then those of earlier calls, then files near the
            // program.
            let known = match self.known_source(named).await? {
                Some(known) => Some(known),
                None => {
                    let mut requested = self.with_requested(|requested| requested.files());
                    requested.retain(|file| Path::new(file).is_file());
                    the_source(named, requested)?
                }
            };
            let known = known.filter(|known| Path::new(known).is_absolute());
            let known =
                known.or_else(|| in_folders(named, self.with_plan(|plan| plan.folders()).into_iter()));
            if let Some(known) = known {
                return RequestedBreakpoint::read(&arguments.in_file(&known));
            }
            return RequestedBreakpoint::read(&locate_text(arguments, roots)?);
        }
        RequestedBreakpoint::read(arguments)
    }

    /// Lists the files of a breakpoint that names only the end of a path: engines bind
    /// it in each matching source.
    pub fn name_files(&self, body: &mut BreakpointBody) {
        let is_end = |named: &String| !named.is_empty() && Path::new(named).is_relative();
        let Some(named) = body.file.clone().filter(is_end) else { return };
        let folders = self.root().with_plan(|plan| plan.folders());
        let files = below(&named, folders.iter().map(PathBuf::as_path));
        if !body.verified || files.len() == 1 {
            return;
        }
        // Sources may be elsewhere than the folders of the launch.
        body.text.files = Some(files).filter(|files| !files.is_empty());
        body.message.get_or_insert_with(|| {
            format!(
                "it stops in each source of the program that ends in `{named}`; pass more of the path for \
                    one of them"
            )
        });
    }

    /// Paths of sources as the debugger knows them: a name alone, which a call has made up, is not one.
    async fn known_sources(&self) -> Vec<String> {
        let mut known: Vec<String> = self.with_requested(|requested| {
            let verified = requested.all().filter(|(_, breakpoint)| breakpoint.state.verified);
            verified.map(|(file, _)| file.to_owned()).collect()
        });
        let snapshot = self.snapshot();
        if snapshot.state == ProgramState::Stopped {
            let arguments = StackTraceArguments {
                thread_id: snapshot.stop.thread_id.unwrap_or_default(),
                start_frame: Some(0),
                levels: Some(200),
                ..StackTraceArguments::default()
            };
            if let Ok(stack) = self.send(&arguments).await {
                known.extend(stack.stack_frames.into_iter().filter_map(|frame| frame.source?.path));
            }
        }
        if self.can("supportsLoadedSourcesRequest")
            && let Ok(loaded) = self.send(&LoadedSourcesArguments {}).await
        {
            known.extend(loaded.sources.into_iter().filter_map(|source| source.path));
        }
        known
    }

    /// The path of a source that the debugger knows, by that path or by its end.
    ///
    /// # Errors
    /// `INVALID_PARAMETER` when several may be meant.
    pub async fn known_source(&self, file: &str) -> Result<Option<String>, Failure> {
        the_source(file, self.known_sources().await)
    }
}

/// The source among these that a path, or its end, means.
///
/// # Errors
/// `INVALID_PARAMETER` when several may be meant.
fn the_source(file: &str, mut known: Vec<String>) -> Result<Option<String>, Failure> {
    let end = format!("/{}", file.trim_start_matches("./"));
    let same = known.iter().any(|path| path == file);
    if same && Path::new(file).is_absolute() {
        return Ok(Some(file.to_owned()));
    }
    known.retain(|path| path.ends_with(&end));
    known.sort();
    known.dedup();
    if known.len() > 1 {
        known.truncate(20);
        return Err(Failure::invalid(format!("several sources of the program end in `{file}`"))
            .data(json!({ "files": known }))
            .hint("pass more of the path"));
    }
    // If the end of a path was accepted before the program's sources were known, it is the only name of the
    // source.
    Ok(known.pop().or_else(|| same.then(|| file.to_owned())))
}

/// Files of the same language in the same folder.
fn sibling_sources(path: &str) -> Vec<String> {
    let path = Path::new(path);
    let (Some(folder), Some(ending)) = (path.parent(), path.extension()) else { return Vec::new() };
    let entries = std::fs::read_dir(folder).into_iter().flatten().flatten().take(MAX_OTHERS);
    let same = entries.map(|entry| entry.path()).filter(|other| other.extension() == Some(ending));
    same.map(|path| path.display().to_string()).collect()
}

/// Resolves the file of a location that is given by the text of its line: the end of a path is
/// searched for below the roots.
///
/// # Errors
/// `INVALID_PARAMETER` when several files end so.
pub fn locate_text(arguments: &BreakpointArguments, roots: &Roots) -> Result<BreakpointArguments, Failure> {
    let place = &arguments.place;
    let named = place.source_file.as_deref();
    let Some(named) = named.filter(|named| place.text.is_some() && !Path::new(&absolute(named)).exists())
    else {
        return Ok(arguments.clone());
    };
    match below(named, roots.paths()).as_slice() {
        [] => Ok(arguments.clone()),
        [one] => Ok(arguments.in_file(one)),
        several => Err(Failure::invalid(format!("several files end in `{named}`"))
            .data(json!({ "files": several }))
            .hint("pass more of the path")),
    }
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use tandem_wire::Request;
    use tandem_wire::peer::Peer;

    use super::super::test_connection::{connect, receive};
    use super::*;

    const FILE: &str = "/src/app.py";

    fn add(session: &AgentSession, id: u64, line: u64) {
        let dap = BreakpointRequest::at_line(line);
        let request = RequestedBreakpoint { file: FILE.into(), dap, text: None };
        session.with_requested(|requested| requested.add(request, id, Purpose::Stop));
    }

    /// Answers as an adapter: a breakpoint's id is its line plus 1000.
    fn answer(adapter: &Peer, request: &Request) {
        let list = request.arguments["breakpoints"].as_array().unwrap();
        let one = |line: i64| json!({ "id": 1000 + line, "verified": true, "line": line });
        let answers: Vec<Value> =
            list.iter().map(|breakpoint| one(breakpoint["line"].as_i64().unwrap())).collect();
        adapter.respond(request, Ok(json!({ "breakpoints": answers })));
    }

    fn engine_ids(session: &AgentSession) -> Vec<(u64, Option<i64>)> {
        session.with_requested(|requested| {
            requested.all().map(|(_, breakpoint)| (breakpoint.id, breakpoint.dap)).collect()
        })
    }

    #[tokio::test]
    async fn an_answer_belongs_to_the_breakpoints_that_were_sent() {
        let (session, adapter, mut requests) = connect();
        add(&session, 1, 10);
        add(&session, 2, 20);
        let sending = tokio::spawn({
            let session = session.clone();
            async move { session.send_breakpoints(FILE).await }
        });
        let request = receive(&mut requests).await;
        // Before the answer comes, another call of the agent removes the first breakpoint and sets a third.
        session.with_requested(|requested| requested.take(1));
        add(&session, 3, 30);
        answer(&adapter, &request);
        sending.await.unwrap().unwrap();
        assert_eq!(engine_ids(&session), [(2, Some(1020)), (3, None)]);
    }

    #[tokio::test]
    async fn a_wrong_name_of_an_earlier_call_is_not_a_source() {
        let (session, _adapter, _requests) = connect();
        let set = |id: u64, file: &str, verified: bool| {
            let dap = BreakpointRequest::at_line(1);
            let request = RequestedBreakpoint { file: file.into(), dap, text: None };
            session.with_requested(|requested| {
                requested.add(request, id, Purpose::Stop);
                requested.of(file).iter_mut().for_each(|breakpoint| breakpoint.state.verified = verified);
            });
        };
        set(1, "/wrong/app.py", false);
        assert_eq!(session.known_source("app.py").await.unwrap(), None);
        assert_eq!(session.known_source("/wrong/app.py").await.unwrap(), None);
        set(2, "/src/app.py", true);
        assert_eq!(session.known_source("app.py").await.unwrap().as_deref(), Some("/src/app.py"));
        set(3, "/other/app.py", true);
        assert!(session.known_source("app.py").await.is_err());
    }

    #[tokio::test]
    async fn lists_of_one_session_are_sent_one_after_the_other() {
        let (session, adapter, mut requests) = connect();
        let send = |id: u64, line: u64| {
            add(&session, id, line);
            let session = session.clone();
            tokio::spawn(async move { session.send_breakpoints(FILE).await })
        };
        let first = send(1, 10);
        let one = receive(&mut requests).await;
        let second = send(2, 20);
        let early = tokio::time::timeout(Duration::from_millis(10), requests.recv()).await;
        assert!(early.is_err(), "the second list is sent before the first is answered");
        answer(&adapter, &one);
        let two = receive(&mut requests).await;
        assert_eq!(two.arguments["breakpoints"], json!([{ "line": 10 }, { "line": 20 }]));
        answer(&adapter, &two);
        first.await.unwrap().unwrap();
        second.await.unwrap().unwrap();
        assert_eq!(engine_ids(&session), [(1, Some(1010)), (2, Some(1020))]);
    }
}
