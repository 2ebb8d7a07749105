//! A program that becomes another one (`exec`): its process runs on, with the same input and output, and the
//! debugger that was inside it is gone. The session lasts until that process ends. The other program may
//! connect by itself, and is then a separate session ([`super::subprocesses`]). Not here: the other ways in
//! which a session ends ([`super::ending`]).

use std::sync::Arc;

use serde_json::Value;
use tandem_wire::types::{self, OutputDetails, OutputEventBody, ThreadsResponseBody};
use tandem_wire::{ErrorCode, Failure};

use super::super::connection;
use super::super::debuggee::{self, DebuggeeProcess};
use super::super::state::ChildState;
use super::{AdapterSession, POLL_INTERVAL, no_debug};

const WHY: &str = "the program replaced itself (`exec`), and the debugger inside it ended";

impl AdapterSession {
    /// Whether the process of this session runs another program than the one that was debugged, and
    /// nothing debugs that here.
    fn is_replaced(&self) -> bool {
        if !self.profile.loses_replaced_programs() || !self.state(ChildState::is_debugging_over) {
            return false;
        }
        let Some(process) = self.process_of_launch() else { return false };
        let (pid, image) = self.live().as_ref().map(|live| live.image.clone()).unwrap_or_default();
        let now = debuggee::image_of(process.pid());
        let is_known = pid == process.pid() && !image.is_empty();
        let is_other = self.state(ChildState::is_replaced) || is_known && now != image;
        process.is_there() && !now.is_empty() && is_other
    }

    /// Remembers what the program's process runs before it runs any of its code.
    pub(super) fn record_image(&self) {
        if let Some(process) = self.process_of_launch()
            && let Some(live) = self.live().as_mut()
        {
            live.image = (process.pid(), debuggee::image_of(process.pid()));
        }
    }

    /// The same, of a process that the debugger has named.
    pub(super) fn record_image_of(&self, pid: Option<u32>) {
        if let (Some(pid), Some(live)) = (pid, self.live().as_mut()) {
            live.image = (pid, debuggee::image_of(pid));
        }
    }

    /// The process of the program, if this session has launched it. One that another program has started
    /// belongs to that one's session.
    pub(super) fn process_of_launch(&self) -> Option<DebuggeeProcess> {
        self.live().as_ref().filter(|live| live.plan.launched)?.program_itself()
    }

    /// Waits for the end of a program that took the place of this session's own; returns whether one did.
    pub(super) async fn wait_for_replacement(self: &Arc<Self>) -> bool {
        let Some(process) = self.process_of_launch().filter(|_| self.is_replaced()) else { return false };
        let text = "The program has become another one (exec), which keeps its input and output. \
                    If its debugger connects, it has a separate session.";
        let details = OutputDetails { debugger_ended: Some(true), ..OutputDetails::default() };
        let line = OutputEventBody { rest: types::fields(&details), ..OutputEventBody::console_line(text) };
        self.send_event("output", types::body(&line));
        self.lose_breakpoints(WHY);
        tokio::select! {
            () = self.wait_for_end(process) => {}
            () = self.until(ChildState::is_over) => {}
        }
        true
    }

    async fn wait_for_end(&self, process: DebuggeeProcess) {
        match self.own_exit() {
            Some(mut exit) => drop(connection::wait_for_exit(&mut exit).await),
            None => {
                while process.is_there() {
                    tokio::time::sleep(POLL_INTERVAL).await;
                }
            }
        }
    }

    /// The answer to a request that needs the debugger of a program that was replaced; `None` where there is
    /// one, or none is needed.
    pub(super) fn answer_of_replaced(
        &self,
        command: &str,
        arguments: &Value,
    ) -> Option<Result<Value, Failure>> {
        if matches!(command, "launch" | "attach" | "disconnect" | "terminate") || !self.is_replaced() {
            return None;
        }
        let failure = || {
            Failure::new(ErrorCode::Unsupported, format!("cannot answer `{command}`: {WHY}"))
                .hint("use the session of the other program, or launch that program")
        };
        Some(match command {
            "threads" => Ok(types::body(&ThreadsResponseBody::default())),
            "configurationDone" => Ok(Value::Null),
            _ => no_debug::answer(command, arguments, WHY).ok_or_else(failure),
        })
    }
}
