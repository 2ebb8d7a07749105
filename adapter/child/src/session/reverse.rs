//! Reverse requests of an adapter: to start the program, which we do unless the launch wants a client's
//! terminal, and to debug another. Not here: the command and variables of the program ([`crate::terminal`]),
//! and the session of another program ([`super::subprocesses`]).

use std::sync::Arc;

use serde_json::Value;
use tandem_wire::peer::Peer;
use tandem_wire::types::{self, RunInTerminalResponseBody};
use tandem_wire::{ErrorCode, Failure, Request};

use super::super::launch_plan::ProgramIo;
use super::super::state::{ChildEvent, Link};
use super::super::terminal;
use super::AdapterSession;
use tandem_engine::console::Console;

impl AdapterSession {
    pub(super) fn handle_reverse_request(self: &Arc<Self>, link: Link, peer: &Peer, request: Request) {
        let outcome = match request.command.as_str() {
            "runInTerminal" => match self.console() {
                Console::Piped => self.run_program(&request.arguments),
                Console::Terminal { external } => {
                    return self.handle(ChildEvent::WantsTerminal { link, request, external });
                }
            },
            "startDebugging" => self.start_debugging(&request.arguments),
            other => {
                let message = format!("`{other}` is not a request that an adapter can send to Tandem");
                Err(Failure::new(ErrorCode::Unsupported, message))
            }
        };
        if let Err(failure) = &outcome {
            tracing::warn!(%failure, command = request.command, "an adapter's request was refused");
        }
        peer.respond(&request, outcome);
    }

    fn console(&self) -> Console {
        self.live().as_ref().map_or(Console::Piped, |live| live.target.console)
    }

    /// The program gets our pipes, or our terminal.
    fn run_program(self: &Arc<Self>, arguments: &Value) -> Result<Value, Failure> {
        let mut live = self.live();
        let Some(live) = live.as_mut() else { return Err(Failure::cancelled()) };
        if !live.plan.launched {
            let message = "an adapter that was attached to may not start programs";
            return Err(Failure::new(ErrorCode::AccessDenied, message));
        }
        let mut spec = terminal::spec(arguments, &live.target, &live.plan.spec)?;
        // Killed with us, a launcher would leave the program that it has started in another group; alone, it
        // ends that first.
        spec.ends_by_itself = live.plan.quirks.has_launcher;
        let mut child = self.broker.spawn(&spec)?;
        child.release()?;
        let pid = child.pid();
        // An adapter that seemed to keep the program's stdio has given them to us.
        live.plan.program_io = ProgramIo::Terminal;
        self.watch(&child);
        live.program = Some(child);
        let process_id = Some(i64::from(pid));
        Ok(types::body(&RunInTerminalResponseBody { process_id, ..RunInTerminalResponseBody::default() }))
    }

    /// Handles the client's response.
    pub(in super::super) fn receive_response(self: &Arc<Self>, id: i64, result: Result<Value, Failure>) {
        self.handle(ChildEvent::ClientAnswered { id, result });
    }
}
