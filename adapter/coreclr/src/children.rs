//! Child processes of the debugged program, from the view of the engine's thread: .NET programs among them
//! are debugged as well, each in a child session, or are reported.
//!
//! In reading order: [`follower`] (the thread that finds processes and holds their runtimes),
//! [`process_stage`] (how far it is with one), [`identity`] (of a process), [`exec_checks`], [`reports`] (to
//! the user), [`watchdog`] (the process that outlives a killed host). Not here: the sessions
//! (`server::child_hosts`).

mod exec_checks;
mod follower;
mod identity;
mod process_stage;
mod reports;
pub(super) mod watchdog;

use std::path::PathBuf;
use std::sync::mpsc::{Receiver, Sender, channel};
use std::time::Duration;

use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};
use tokio::sync::mpsc::UnboundedSender;
use tokio::sync::watch;

use super::inbox::EngineInput;
use follower::{Channels, Follower};
pub(super) use identity::is_of_sdk;
use tandem_engine::{BreakpointSnapshot, DebuggerEnd, EngineEvent, record_breakpoints};
use tandem_process::Broker;
use tandem_process_tree::descendants::Descendants;

/// The attributes of a child session's `attach` by which the parent session says what it knows of the
/// process.
#[derive(Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default)]
pub(super) struct ChildAttachAttributes {
    /// The program of the process.
    #[serde(rename = "tandemProgram")]
    pub(super) program: Option<PathBuf>,
    /// The runtime is held before its first code.
    #[serde(rename = "tandemHeld")]
    pub(super) is_held: bool,
}

/// Attributes of the parent session that apply to its child sessions.
const INHERITED: [&str; 10] = [
    "justMyCode",
    "enableStepFiltering",
    "expressionEvaluationOptions",
    "symbolPaths",
    "sourceFileMap",
    "pathMappings",
    "substitutePath",
    "sourceMap",
    "localRoot",
    "remoteRoot",
];

/// Maximum time for the end of all child processes.
const END_TIMEOUT: Duration = Duration::from_secs(3);

/// The process that is debugged.
#[derive(Debug, Clone, Copy)]
pub(super) struct RootProcess {
    pub(super) pid: u32,
    /// The debugger started it: its child processes end with the session.
    pub(super) launched: bool,
}

/// Treatment of child processes.
#[derive(Debug, Clone)]
pub(super) struct ChildProcessPolicy {
    /// They are debugged, not only reported.
    follow: bool,
    /// The `attach` of a child session, without the process.
    attach: Value,
    symbol_paths: Vec<PathBuf>,
}

impl ChildProcessPolicy {
    /// Treatment by the attributes of the parent session. `symbol_paths` are those of its runtime.
    pub(super) fn new(follow: bool, attributes: &Value, symbol_paths: &[PathBuf]) -> Self {
        let mut attach = Map::from_iter([("engine".to_owned(), "coreclr".into())]);
        for name in INHERITED.into_iter().filter(|name| !attributes[*name].is_null()) {
            attach.insert(name.to_owned(), attributes[name].clone());
        }
        Self { follow, attach: Value::Object(attach), symbol_paths: symbol_paths.to_vec() }
    }
}

/// A command to the follower's thread.
enum FollowerCommand {
    /// End all child processes. Replied to when that is done.
    Kill(Sender<()>),
    /// Detach from all child processes. Replied to when that is done.
    Detach(Sender<()>),
    /// Count the child processes that are debugged now, or soon will be.
    Count(Sender<usize>),
    /// The host of this child process has ended, or was never started.
    DebuggerEnded(u32, DebuggerEnd),
}

/// The processes that the debugged program starts. Dropping it detaches from them.
#[derive(Debug)]
pub(super) struct Children {
    breakpoints: watch::Sender<BreakpointSnapshot>,
    follower: Option<Sender<FollowerCommand>>,
}

impl Default for Children {
    fn default() -> Self {
        Self { breakpoints: watch::Sender::new(BreakpointSnapshot::new()), follower: None }
    }
}

impl Children {
    /// Starts finding child processes of this process.
    pub(super) fn watch(
        &mut self,
        root: RootProcess,
        following: ChildProcessPolicy,
        broker: &Broker,
        events: UnboundedSender<EngineEvent>,
        inbox: Sender<EngineInput>,
    ) {
        if let Err(error) = self.start(root, following, broker, events, inbox) {
            tracing::warn!(root = root.pid, %error, "child processes are not seen");
        }
    }

    fn start(
        &mut self,
        root: RootProcess,
        following: ChildProcessPolicy,
        broker: &Broker,
        events: UnboundedSender<EngineEvent>,
        inbox: Sender<EngineInput>,
    ) -> std::io::Result<()> {
        // A process that was attached to may have old child processes.
        let tree = match root.launched {
            true => Descendants::of(root.pid)?,
            false => Descendants::of_running(root.pid)?,
        };
        let (commands, receiver) = channel();
        let channels = Channels { hub: events, engine: inbox, commands: commands.clone() };
        let stub = broker.stub_path().to_path_buf();
        let breakpoints = self.breakpoints.subscribe();
        let follower = Follower::new(tree, root, following, stub, breakpoints, channels);
        std::thread::Builder::new().name("children".into()).spawn(move || follower.run(&receiver))?;
        self.follower = Some(commands);
        Ok(())
    }

    /// Records a breakpoint request of the session's clients, which applies to child processes, too.
    pub(super) fn record_breakpoints(&self, command: &str, arguments: &Value) {
        record_breakpoints(&self.breakpoints, command, arguments);
    }

    /// The number of child processes that are debugged now, or soon will be. When none is left, the engine's
    /// thread gets [`EngineInput::ChildrenEnded`].
    pub(super) fn count(&self) -> usize {
        let Some(follower) = &self.follower else { return 0 };
        let (counted, count) = channel();
        // A thread that has ended follows nothing.
        drop(follower.send(FollowerCommand::Count(counted)));
        count.recv_timeout(END_TIMEOUT).unwrap_or(0)
    }

    /// Ends all child processes, if they are debugged.
    pub(super) fn kill(&mut self) {
        self.finish(FollowerCommand::Kill);
    }

    /// Detaches from all child processes.
    pub(super) fn detach(&mut self) {
        self.finish(FollowerCommand::Detach);
    }

    fn finish(&mut self, command: fn(Sender<()>) -> FollowerCommand) {
        let Some(follower) = self.follower.take() else { return };
        let (done, is_done): (_, Receiver<()>) = channel();
        if follower.send(command(done)).is_ok() && is_done.recv_timeout(END_TIMEOUT * 2).is_err() {
            tracing::warn!("the child processes have not ended in time");
        }
    }
}

impl Drop for Children {
    fn drop(&mut self) {
        self.detach();
    }
}
