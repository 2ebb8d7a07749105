//! Programs that the program starts and that are debugged too: each becomes a separate session. If the
//! adapter debugs everything in such a child (js-debug), the first one *is* this session's program.
//!
//! Not here: child processes of .NET programs (`coreclr::children`).

use std::path::PathBuf;
use std::sync::{Arc, Mutex};

use serde::{Deserialize, Serialize};
use serde_json::Value;
use tandem_wire::peer::{Incoming, Peer};
use tandem_wire::types::{self, StartDebuggingRequestArguments};
use tandem_wire::{ErrorCode, Failure};
use tokio::net::TcpListener;
use tokio::sync::{mpsc, watch};

use super::super::ChildEngine;
use super::super::connection::{AdapterConnection, AdapterProcess};
use super::super::debuggee::{self, DebuggeeProcess};
use super::super::launch_plan::{LaunchPlan, ProgramIo, Quirks, Transport};
use super::super::nodelay;
use super::super::socket;
use super::super::state::{ChildEvent, Link};
use super::super::target::Target;
use super::launch::initialize_arguments;
use super::{AdapterSession, INITIALIZE_TIMEOUT, LAUNCH_TIMEOUT};
use tandem_engine::{BreakpointSnapshot, ChildSession, EngineEvent};
use tandem_process::{Child, SpawnSpec};
use tandem_wire::types::ConnectAttribute;

/// A connection to an adapter for a program that another process has started.
pub(super) struct SubprocessConnection {
    pub(super) plan: LaunchPlan,
    pub(super) target: Target,
    pub(super) connection: AdapterConnection,
    pub(super) incoming: mpsc::UnboundedReceiver<Incoming>,
}

/// The fields of a `startDebugging` configuration that describe a further program.
#[derive(Debug, Default, Deserialize)]
#[serde(default, rename_all = "camelCase")]
struct ChildConfiguration {
    #[serde(deserialize_with = "types::optional")]
    name: Option<String>,
    #[serde(deserialize_with = "types::optional")]
    sub_process_id: Option<u32>,
}

/// The launch of a child session, as its host has it.
#[derive(Debug, Serialize)]
struct ChildLaunch {
    program: PathBuf,
    engine: String,
}

impl AdapterSession {
    /// A process that connects to the port that the program connected to is a descendant of it.
    pub(super) fn accept_children(self: &Arc<Self>, listener: TcpListener) {
        let session = self.clone();
        tokio::spawn(async move {
            loop {
                let accepted = tokio::select! {
                    accepted = socket::accept(&listener) => accepted,
                    () = session.closing.cancelled() => return,
                };
                match accepted {
                    Ok(((peer, incoming), inode)) => {
                        let name =
                            session.name_of_child(None, move || debuggee::with_socket(inode).next()).await;
                        session.start_child_session(&name, None, peer, incoming).await;
                    }
                    Err(error) => tracing::warn!(%error, "a subprocess could not connect"),
                }
            }
        });
    }

    /// `startDebugging`: the adapter has another program to debug, on a separate connection.
    pub(super) fn start_debugging(self: &Arc<Self>, arguments: &Value) -> Result<Value, Failure> {
        let StartDebuggingRequestArguments { configuration, request, .. } = types::read(arguments);
        let ChildConfiguration { name, sub_process_id } = types::read(&configuration);
        let port = ConnectAttribute::of(&configuration).port;
        let reported_port = port.as_u64().and_then(|port| u16::try_from(port).ok());
        let Some(place) =
            self.live().as_ref().and_then(|live| live.connection.further_endpoint(reported_port))
        else {
            let message = "the adapter has another program to debug, but does not listen on a port";
            return Err(Failure::new(ErrorCode::Unsupported, message));
        };
        let command = if request == "launch" { "launch" } else { "attach" };
        let session = self.clone();
        tokio::spawn(async move {
            let pid = name.as_deref().and_then(pid_in);
            if session.profile.has_slow_connections() {
                session.set_nodelay(pid).await;
            }
            match place.connect().await {
                Ok((peer, incoming)) if session.waits_for_first_child() => {
                    // The program runs no code before it is configured.
                    session.record_image_of(pid);
                    session.become_child(command, configuration, peer, incoming).await;
                }
                Ok((peer, incoming)) => {
                    // debugpy's own name is only a number.
                    let name = session.name_of_child(name, move || sub_process_id).await;
                    session.start_child_session(&name, Some((command, configuration)), peer, incoming).await;
                }
                Err(error) => tracing::warn!(%error, ?place, "a further program cannot be debugged"),
            }
        });
        Ok(types::empty())
    }

    /// Sets `TCP_NODELAY` on the connections between the adapter and a program. js-debug does not name the
    /// process of one that it is attached to.
    pub(super) async fn set_nodelay(&self, pid: Option<u32>) {
        let adapter = self.live().as_ref().and_then(|live| live.connection.process.child().map(Child::pid));
        let setting = tokio::task::spawn_blocking(move || match (pid, adapter) {
            (Some(pid), _) => nodelay::set_nodelay(pid, adapter),
            (None, Some(adapter)) => nodelay::set_nodelay_of_adapter(adapter),
            (None, None) => {}
        });
        drop(setting.await);
    }

    /// A program and its process id, or what the adapter reported, for people.
    async fn name_of_child(
        self: &Arc<Self>,
        reported_name: Option<String>,
        find: impl FnOnce() -> Option<u32> + Send + 'static,
    ) -> String {
        let parent = self.live().as_ref().map(|live| live.target.program.clone()).unwrap_or_default();
        let profile = self.profile.clone();
        let finding = tokio::task::spawn_blocking(move || {
            let pid = find()?;
            let name = profile.name_of_child(&debuggee::command_line_of(pid), &parent)?;
            Some(format!("{name} [{pid}]"))
        });
        // A process that has ended already has no name any more.
        finding.await.ok().flatten().or(reported_name).unwrap_or_else(|| "subprocess".into())
    }

    /// Makes a connection a separate session.
    async fn start_child_session(
        self: &Arc<Self>,
        name: &str,
        request: Option<(&'static str, Value)>,
        peer: Peer,
        incoming: mpsc::UnboundedReceiver<Incoming>,
    ) {
        // The kernel names the process of a connection to our port; of others the adapter does.
        let is_reported = request.is_some();
        let Some((plan, target, lines, mut origins)) = self.live().as_ref().map(|live| {
            let (command, arguments) = request.unwrap_or_else(|| ("attach", live.plan.arguments.clone()));
            let plan = LaunchPlan {
                spec: SpawnSpec::default(),
                transport: Transport::Stdio,
                program_io: ProgramIo::Elsewhere,
                adapter_id: live.plan.adapter_id.clone(),
                command,
                arguments,
                launched: false,
                quirks: Quirks {
                    ends_silently: true,
                    emits_own_stdout: live.plan.quirks.emits_own_stdout,
                    ..Quirks::default()
                },
                opened: None,
            };
            (plan, live.target.clone(), live.connection.process.lines(), live.origins())
        }) else {
            return;
        };
        if let Some(process) = pid_in(name).and_then(DebuggeeProcess::of)
            && (!is_reported || self.owns(process.pid()).await)
        {
            origins.push(process.pid());
            let mut ended = self.state(|state| state.subprocesses().to_vec());
            ended.retain(|known| !known.is_there());
            self.handle(ChildEvent::SubprocessStarted { process, ended });
        }
        let program: PathBuf = target.program.clone();
        let process = AdapterProcess::Elsewhere { lines, origins };
        let connection = AdapterConnection { peer, process, listener: None, place: None, scratch: None };
        let subprocess = SubprocessConnection { plan, target, connection, incoming };
        let (profile, started) = (self.profile.clone(), self.profile.started());
        let launch = types::body(&ChildLaunch { program, engine: started.name.clone() });
        let marks: watch::Receiver<BreakpointSnapshot> = self.marks.subscribe();
        let spawned = ChildSession::new(name.to_owned(), started, launch, marks, move |broker, events| {
            let session = AdapterSession {
                subprocess: Mutex::new(Some(subprocess)),
                ..AdapterSession::new(profile, broker, events)
            };
            Arc::new(ChildEngine::of(session))
        });
        // A hub that has ended needs no report.
        drop(self.events.send(EngineEvent::ChildSession(spawned)));
    }

    /// Whether the program of this session is still to come, as a child of what was launched.
    pub(super) fn waits_for_first_child(&self) -> bool {
        self.live()
            .as_ref()
            .is_some_and(|live| live.plan.quirks.first_child_is_program && live.parent.is_none())
    }

    /// Configures a launched process that is only the parent of the program: no client takes part.
    pub(super) fn configure_parent(self: &Arc<Self>) {
        let session = self.clone();
        tokio::spawn(async move {
            session.wait_for_state(INITIALIZE_TIMEOUT, |now| now.is_launch_sent() || now.is_over()).await;
            let Ok(peer) = session.peer() else { return };
            if let Err(failure) = peer.request("configurationDone", types::empty(), LAUNCH_TIMEOUT).await {
                tracing::warn!(%failure, "the adapter could not be configured");
            }
        });
    }

    /// From now on requests go to the child, which sends `initialized` when it can be configured.
    async fn become_child(
        self: Arc<Self>,
        command: &'static str,
        configuration: Value,
        peer: Peer,
        incoming: mpsc::UnboundedReceiver<Incoming>,
    ) {
        let adapter_id = match self.live().as_mut() {
            Some(live) => {
                live.parent = Some(std::mem::replace(&mut live.connection.peer, peer.clone()));
                live.plan.adapter_id.clone()
            }
            None => return,
        };
        tokio::spawn(self.clone().listen(Link::Program, peer.clone(), incoming));
        match peer.request("initialize", initialize_arguments(&adapter_id), INITIALIZE_TIMEOUT).await {
            Ok(capabilities) => self.learn_capabilities(&capabilities),
            Err(failure) => return tracing::warn!(%failure, "the program's own connection does not answer"),
        }
        // Answered once the clients have configured. Who listens to the connection sees to its end.
        let taken_over = peer.request(command, configuration, super::FOREVER).await;
        if taken_over.is_ok() {
            self.note_takeover();
        } else if let Err(failure) = taken_over
            && !peer.is_closed()
        {
            tracing::warn!(%failure, "the program could not be taken over");
            self.finish().await;
        }
    }
}

/// The process id in what js-debug calls a program: `app.js [4711]`.
fn pid_in(name: &str) -> Option<u32> {
    name.strip_suffix(']')?.rsplit_once('[')?.1.parse().ok().filter(|pid| *pid > 0)
}

#[cfg(test)]
mod tests {
    use super::pid_in;

    #[test]
    fn a_name_may_hold_a_process_id() {
        assert_eq!(pid_in("app.js [4711]"), Some(4711));
        for none in ["app.js", "[worker 1]", "Remote Process [0]", "a]", "[]"] {
            assert_eq!(pid_in(none), None, "{none}");
        }
    }
}
