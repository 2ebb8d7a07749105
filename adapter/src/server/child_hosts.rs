//! The host processes of child sessions, and their ids: each debugs one process that the program of this
//! session has started.
//!
//! Not here: what a host does ([`super::host`]), and the client that launches the child session
//! ([`super::child_session_client`]).

use std::os::unix::net::UnixStream;
use std::path::PathBuf;
use std::process::{Child, ExitStatus};
use std::time::Duration;

use tandem_registry::ReservedId;
use tandem_wire::peer::Peer;
use tandem_wire::types::{self, SessionControlArguments};
use tandem_wire::{ErrorCode, Failure};
use tokio::sync::{oneshot, watch};
use tokio_util::sync::CancellationToken;
use tokio_util::task::TaskTracker;

use super::child_session_client;
use super::relay::{ChildOf, HostOptions, HostStdin, start_host};
use crate::logging::LogSettings;
use tandem_engine::{ChildProcess, DebuggerEnd};
use tandem_hub::clients::ParentClients;
use tandem_session::host::HostedChild;

/// Interval between two looks whether a child session can be joined.
const POLL_INTERVAL: Duration = Duration::from_millis(5);

/// The hosts that this host has started. Clones share the list of those that have not ended.
#[derive(Debug)]
pub(super) struct ChildHosts {
    session: String,
    folder: PathBuf,
    logging: LogSettings,
    running: TaskTracker,
}

impl ChildHosts {
    /// The hosts of child processes of this session, published in this folder.
    pub(super) fn new(session: String, folder: PathBuf, logging: LogSettings) -> Self {
        Self { session, folder, logging, running: TaskTracker::new() }
    }

    /// The hosts of another session in the same host process.
    pub(super) fn of_session(&self, session: String) -> Self {
        Self {
            running: self.running.clone(),
            ..Self::new(session, self.folder.clone(), self.logging.clone())
        }
    }

    /// An id for a child session.
    pub(super) fn new_id(&self) -> ReservedId {
        ReservedId::new(&self.folder)
    }

    /// The tasks that wait for the hosts.
    pub(super) fn task_tracker(&self) -> TaskTracker {
        self.running.clone()
    }

    /// Starts the host of a child session, which attaches to its process.
    ///
    /// # Errors
    /// `ENGINE_FAILED` when the process cannot be started.
    pub(super) fn start(
        &self,
        child: ChildProcess,
        clients: watch::Receiver<ParentClients>,
    ) -> Result<HostedChild, Failure> {
        let reserved = self.new_id();
        let id = reserved.to_string();
        let notice = child.end_notice();
        let ChildProcess { name: title, attach: mut arguments, breakpoints, detach, .. } = child;
        let child = ChildOf { parent: self.session.clone(), id: id.clone(), title };
        let (host, connection) = match self.start_process(&child) {
            Ok(started) => started,
            Err(error) => {
                let failure = Failure::new(ErrorCode::EngineFailed, format!("{error:#}"));
                if let Some(notice) = notice {
                    notice.send(DebuggerEnd::Refused(failure.clone()));
                }
                return Err(failure);
            }
        };
        let (reader, writer) = connection.into_split();
        let (peer, incoming) = Peer::start(reader, writer);
        // Clients that have joined stay when this process has ended.
        types::extend(
            &mut arguments,
            &SessionControlArguments { hand_over: Some(true), ..SessionControlArguments::default() },
        );
        let task = child_session_client::Task { command: "attach", arguments, detach };
        let session = child_session_client::run(
            peer,
            incoming,
            task,
            child_session_client::ParentState { breakpoints, clients },
        );
        let ended = CancellationToken::new();
        let has_ended = ended.clone();
        self.running.spawn(async move {
            let outcome = session.await;
            let status = wait_for(host).await;
            has_ended.cancel();
            drop(reserved);
            if let Some(notice) = notice {
                notice.send(end_of(status, outcome));
            }
        });
        Ok(HostedChild {
            joinable: Some(Box::pin(is_published(self.folder.join(format!("{id}.json")), ended))),
            id,
        })
    }

    fn start_process(&self, child: &ChildOf) -> anyhow::Result<(Child, tokio::net::UnixStream)> {
        let (ours, theirs) = UnixStream::pair()?;
        ours.set_nonblocking(true)?;
        let options = HostOptions { child: Some(child), ..HostOptions::default() };
        let host = start_host(theirs.into(), HostStdin::Client, &self.logging, options)?;
        Ok((host, tokio::net::UnixStream::from_std(ours)?))
    }
}

/// Waits for the end of a host without keeping the runtime's thread from its other tasks.
async fn wait_for(mut host: Child) -> std::io::Result<ExitStatus> {
    let (ended, has_ended) = oneshot::channel();
    // A separate thread: hundreds of hosts may run at once, and tokio needs its threads for other work.
    std::thread::Builder::new().name("child-host".into()).stack_size(64 * 1024).spawn(move || {
        let status = host.wait();
        let died = !status.as_ref().is_ok_and(ExitStatus::success);
        // There is no receiver any more when this host ends first.
        drop(ended.send(status));
        if died {
            super::stale_files::sweep_after_death();
        }
    })?;
    has_ended.await.unwrap_or_else(|_| Err(std::io::Error::other("the thread that waits for it has ended")))
}

fn end_of(status: std::io::Result<ExitStatus>, outcome: Result<(), Failure>) -> DebuggerEnd {
    match (status, outcome) {
        (Ok(status), _) if !status.success() => DebuggerEnd::Died(status.to_string()),
        (_, Err(failure)) => DebuggerEnd::Refused(failure),
        (_, Ok(())) => DebuggerEnd::Detached,
    }
}

/// Whether a session gets a file in the folder before `ended` is cancelled. Its socket exists by then.
pub(super) async fn is_published(file: PathBuf, ended: CancellationToken) -> bool {
    while !file.exists() {
        tokio::select! {
            () = tokio::time::sleep(POLL_INTERVAL) => {}
            () = ended.cancelled() => return false,
        }
    }
    true
}
