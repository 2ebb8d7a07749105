//! One debug session over DAP: the adapter we started, or the socket we joined.
//!
//! Not here: the sessions of an MCP client ([`crate::server`]).

mod adapter_release;
pub mod breakpoints;
mod connection;
mod exception_filters;
mod plan;
pub mod relation;
pub mod requests;
#[cfg(test)]
pub(crate) mod test_connection;

use std::path::{Path, PathBuf};
use std::process::Stdio;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use serde_json::{Value, json};
use tandem_registry::SessionRecord;
use tandem_wire::peer::Peer;
use tandem_wire::types::{
    self, ChildProgram, DisconnectArguments, ExceptionInfoArguments, FollowCallBody, SessionInfoArguments,
    SessionInfoBody,
};
use tandem_wire::{ErrorCode, Failure};
use tokio::sync::watch;
use tokio_util::sync::CancellationToken;

use crate::agent_view::AgentView;
use crate::event_listener::{EventListener, listen};
use crate::progress::ProgressReporter;
use crate::snapshot::{ProgramState, Snapshot};
use crate::test_run::TestRun;
use connection::{body, connect, initialize};
use exception_filters::{OfferedFilter, exceptions, uncaught_filters};
pub use plan::SessionPlan;
use relation::SessionRelation;
use requests::{DapRequest, FollowCallArguments, ReadOutputArguments};

/// Time limit of an ordinary request.
pub const REQUEST_TIMEOUT: Duration = Duration::from_secs(30);
/// Time limit for a session to describe itself to a client that only lists it.
const LOOK_TIMEOUT: Duration = Duration::from_secs(2);
/// A launch may build first.
pub const LAUNCH_TIMEOUT: Duration = Duration::from_secs(15 * 60);

/// A debug session that this agent launched or joined.
#[derive(Debug)]
pub struct AgentSession {
    /// Its id, as published.
    pub id: String,
    /// This agent's name for the other clients.
    pub client: String,
    /// We started it, so we end it.
    pub launched: bool,
    /// The engine that debugs its program, as the session says.
    pub engine: String,
    /// Its relation to the sessions of the programs that its program starts, or that started it.
    pub relation: SessionRelation,
    /// State that its messages have reported.
    pub listener: Arc<EventListener>,
    /// State as last reported to the agent.
    pub agent_view: AgentView,
    peer: Peer,
    plan: Mutex<SessionPlan>,
    /// Held while a list of breakpoints is sent and answered.
    sending_breakpoints: tokio::sync::Mutex<()>,
    /// The test run of which the program is a part, when it is a test host.
    run: Mutex<Option<Arc<TestRun>>>,
    adapter: tokio::sync::Mutex<Option<tokio::process::Child>>,
}

impl AgentSession {
    /// Starts an adapter and launches or attaches in it; `client` is this agent's name for the others.
    ///
    /// # Errors
    /// The adapter's own, that it cannot be started, or `UNSUPPORTED` for one of another release.
    pub async fn start(
        adapter: &Path,
        client: &str,
        plan: SessionPlan,
        cancel: &CancellationToken,
        progress: &ProgressReporter,
    ) -> Result<Self, Failure> {
        let failed = |reason: String| {
            Failure::new(ErrorCode::EngineNotFound, format!("cannot start `{}`: {reason}", adapter.display()))
        };
        adapter_release::check(adapter).await?;
        let mut command = tokio::process::Command::new(adapter);
        command.env_remove(tandem_workspace::process::TOKEN_VARIABLE);
        command.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::null()).kill_on_drop(true);
        let mut child = command.spawn().map_err(|error| failed(error.to_string()))?;
        let (Some(stdin), Some(stdout)) = (child.stdin.take(), child.stdout.take()) else {
            return Err(failed("it has no stdio".into()));
        };
        let (peer, incoming) = Peer::start_in_order(stdout, stdin);
        let listener = listen(incoming, peer.clone());
        initialize(&peer, client, false).await?;
        let relation = SessionRelation { title: plan.title(), ..SessionRelation::default() };
        let mut session = Self {
            launched: true,
            relation,
            plan: Mutex::new(plan),
            adapter: tokio::sync::Mutex::new(Some(child)),
            ..Self::of(peer, listener, client)
        };
        let (name, attributes, filters) = session.with_plan(|plan| {
            (if plan.attach { "attach" } else { "launch" }, plan.attributes.clone(), plan.filters.clone())
        });
        let what =
            if name == "attach" { "attaching" } else { "starting (building first, if it is a project)" };
        let launching = session.peer.request_or_cancel(name, attributes, LAUNCH_TIMEOUT, cancel);
        let configuring = async {
            let mut snapshot = session.listener.snapshot.subscribe();
            let ready = |snapshot: &Snapshot| {
                snapshot.adapter.is_initialized || snapshot.state == ProgramState::Exited
            };
            match snapshot.wait_for(ready).await {
                Ok(now) if now.adapter.is_initialized => {}
                // The program has ended before it could be configured, for example at a syntax error.
                Ok(_) | Err(_) => return Ok(Value::Null),
            }
            for file in session.with_requested(|requested| requested.files()) {
                session.send_breakpoints(&file).await?;
            }
            let stops = session.with_plan(|plan| plan.stops.clone());
            let filters = filters.or_else(|| uncaught_filters(&session));
            if let Some(arguments) = exceptions(&session, filters, stops.as_ref()) {
                session.send(&arguments).await?;
            }
            session.ask("configurationDone", Value::Null).await
        };
        let progress_result = progress.during(what, Some(session.listener.events()), async {
            tokio::pin!(launching, configuring);
            // A launch may fail before `initialized` comes; one that works may be answered before or after
            // it.
            tokio::select! {
                biased;
                answer = &mut launching => { answer?; configuring.await }
                // A launch that fails now breaks the handshake as well; its own response explains more.
                configured = &mut configuring => { launching.await?; configured }
            }
        });
        progress_result.await?;
        session.identify().await?;
        Ok(session)
    }

    /// Joins a running session; with `looks_only`, read-only, even if agents may do more in it.
    ///
    /// # Errors
    /// `NO_SESSION` when it is gone.
    pub async fn join(
        entry: &SessionRecord,
        client: &str,
        relation: SessionRelation,
        looks_only: bool,
    ) -> Result<Self, Failure> {
        let (reader, writer) = connect(entry).await?.into_split();
        let (peer, incoming) = Peer::start_in_order(reader, writer);
        let listener = listen(incoming, peer.clone());
        initialize(&peer, client, looks_only).await?;
        peer.request("attach", json!({}), REQUEST_TIMEOUT).await?;
        let mut watching = listener.snapshot.subscribe();
        let ready = watching
            .wait_for(|snapshot| snapshot.adapter.is_initialized || snapshot.state == ProgramState::Exited);
        let ready = tokio::time::timeout(REQUEST_TIMEOUT, ready).await.map_err(|_| {
            Failure::new(ErrorCode::Timeout, format!("session `{}` is not ready to be joined", entry.id))
        })?;
        if ready.is_ok_and(|now| now.adapter.is_initialized) {
            peer.request("configurationDone", Value::Null, REQUEST_TIMEOUT).await?;
        }
        let mut session = Self { id: entry.id.clone(), relation, ..Self::of(peer, listener, client) };
        session.identify().await?;
        Ok(session)
    }

    /// Returns a session's own report without joining it; `None` if it does not answer soon.
    pub async fn query_info(entry: &SessionRecord, client: &str) -> Option<SessionInfoBody> {
        let looking = async {
            let (reader, writer) = connect(entry).await.ok()?.into_split();
            // Dropped at the end: events are not read.
            let (peer, _incoming) = Peer::start(reader, writer);
            initialize(&peer, client, false).await.ok()?;
            let arguments = types::body(&SessionInfoArguments::default());
            let info = peer.request("sessionInfo", arguments, LOOK_TIMEOUT).await.ok();
            peer.close();
            info.map(|info| types::read(&info))
        };
        tokio::time::timeout(LOOK_TIMEOUT, looking).await.ok().flatten()
    }

    /// A session on a connection, before its id is known.
    fn of(peer: Peer, listener: Arc<EventListener>, client: &str) -> Self {
        Self {
            id: String::new(),
            client: client.to_owned(),
            launched: false,
            engine: String::new(),
            relation: SessionRelation::default(),
            listener,
            agent_view: AgentView::default(),
            peer,
            plan: Mutex::default(),
            sending_breakpoints: tokio::sync::Mutex::default(),
            run: Mutex::default(),
            adapter: tokio::sync::Mutex::default(),
        }
    }

    /// Learns its id, and subscribes to `sessionChanged`.
    async fn identify(&mut self) -> Result<(), Failure> {
        let subscribe = SessionInfoArguments { subscribe: Some(true), ..SessionInfoArguments::default() };
        match self.send(&subscribe).await {
            Ok(info) => {
                (self.id, self.engine) = (info.id, info.engine.unwrap_or_default());
                let children = info.children.iter().map(types::read::<ChildProgram>);
                let children = children.filter_map(|child| child.session);
                self.relation.children = children.collect();
            }
            Err(failure) if self.peer.is_closed() => return Err(failure),
            // Any other DAP adapter, named with `--adapter`: it has no sessions to join.
            Err(failure) => {
                tracing::debug!(%failure, "an adapter that is not Tandem's");
                self.id = format!("adapter{}", std::process::id());
            }
        }
        Ok(())
    }

    /// Sends a request, with the usual deadline; its arguments determine the command and the body.
    ///
    /// # Errors
    /// The error that the session responds with.
    pub async fn send<R: DapRequest>(&self, request: &R) -> Result<R::Body, Failure> {
        self.ask(R::COMMAND, types::body(request)).await.map(|body| types::read(&body))
    }

    /// Sends a request as [`send`](Self::send) does, with a deadline and a cancellation.
    ///
    /// # Errors
    /// The session's own, `CANCELLED`, `TIMEOUT`.
    pub async fn send_or_cancel<R: DapRequest>(
        &self,
        request: &R,
        deadline: Duration,
        cancel: &CancellationToken,
    ) -> Result<R::Body, Failure> {
        let body = self.ask_or_cancel(R::COMMAND, types::body(request), deadline, cancel).await?;
        Ok(types::read(&body))
    }

    /// Sends a request whose body passes through, with the usual deadline.
    ///
    /// # Errors
    /// The error that the session responds with.
    pub async fn ask(&self, command: &str, arguments: Value) -> Result<Value, Failure> {
        self.peer.request(command, arguments, REQUEST_TIMEOUT).await.map(body)
    }

    /// Sends a request whose body passes through, with a deadline and a cancellation.
    ///
    /// # Errors
    /// The session's own, `CANCELLED`, `TIMEOUT`.
    pub async fn ask_or_cancel(
        &self,
        command: &str,
        arguments: Value,
        deadline: Duration,
        cancel: &CancellationToken,
    ) -> Result<Value, Failure> {
        self.peer.request_or_cancel(command, arguments, deadline, cancel).await.map(body)
    }

    /// Returns the current state of the program.
    pub fn snapshot(&self) -> Snapshot {
        self.listener.snapshot.borrow().clone()
    }

    /// Returns a receiver to wait for changes of the snapshot.
    pub fn watch_snapshot(&self) -> watch::Receiver<Snapshot> {
        self.listener.snapshot.subscribe()
    }

    /// Resumes, steps or pauses a thread. After a resume, the snapshot shows the program as running before
    /// this returns.
    ///
    /// # Errors
    /// The error that the session responds with.
    pub async fn control(
        &self,
        command: &str,
        thread: i64,
        cancel: &CancellationToken,
    ) -> Result<(), Failure> {
        let arguments = types::body(&ExceptionInfoArguments { thread_id: thread, ..Default::default() });
        self.ask_or_cancel(command, arguments, REQUEST_TIMEOUT, cancel).await.map(drop)
    }

    /// Follows a call; the snapshot shows the program as running meanwhile.
    ///
    /// # Errors
    /// The error that the session responds with, `TIMEOUT`, `CANCELLED`.
    pub async fn follow_call(
        &self,
        arguments: &FollowCallArguments,
        deadline: Duration,
        cancel: &CancellationToken,
    ) -> Result<FollowCallBody, Failure> {
        self.listener.begin_following();
        self.send_or_cancel(arguments, deadline, cancel).await
    }

    /// Accesses the launch parameters in their latest state.
    pub fn with_plan<T>(&self, work: impl FnOnce(&mut SessionPlan) -> T) -> T {
        work(&mut self.plan.lock().unwrap_or_else(PoisonError::into_inner))
    }

    /// Whether the engine has a capability; its latest announcement counts.
    pub fn can(&self, capability: &str) -> bool {
        self.capability(capability) == true
    }

    /// A capability in its latest state, as the engine reported it.
    pub fn capability(&self, name: &str) -> Value {
        self.listener.snapshot.borrow().adapter.capabilities.get(name).cloned().unwrap_or_default()
    }

    /// The exceptions that the engine recommends to stop at, as editors do: a crash is then seen where it
    /// happens. `None` when there are none to choose.
    pub fn usual_filters(&self) -> Option<Vec<String>> {
        let usual = self.offered_filters().into_iter().filter(|filter| filter.default);
        let usual: Vec<String> = usual.map(|filter| filter.filter).collect();
        Some(usual).filter(|usual| !usual.is_empty())
    }

    /// The exception filters that the engine offers.
    pub fn offered_filters(&self) -> Vec<OfferedFilter> {
        let offered = self.capability("exceptionBreakpointFilters");
        offered.as_array().into_iter().flatten().map(types::read).collect()
    }

    /// Keeps the run of tests the program is a part of; it ends with the session.
    pub fn set_test_run(&self, run: Arc<TestRun>) {
        *self.run.lock().unwrap_or_else(PoisonError::into_inner) = Some(run);
    }

    /// The folder whose sources alone are the user's, where a framework's look the same.
    pub fn own_folder(&self) -> Option<PathBuf> {
        let root = self.root();
        let own = root.with_plan(|plan| plan.stops.as_ref().is_some_and(|stops| stops.own_frames));
        root.test_run().filter(|_| own).map(|run| PathBuf::from(&run.folder))
    }

    /// The run of tests the program is a part of.
    pub fn test_run(&self) -> Option<Arc<TestRun>> {
        self.run.lock().unwrap_or_else(PoisonError::into_inner).clone()
    }

    /// Contents of the program's terminal, as text; `None` when Tandem does not own its terminal.
    pub async fn screen(&self) -> Option<String> {
        let request = ReadOutputArguments { screen: true, ..ReadOutputArguments::default() };
        self.send(&request).await.ok()?.screen
    }

    /// Ends the program of a session that another client launched. If the session
    /// refuses, the agent stays in it.
    ///
    /// # Errors
    /// The error that the session responds with.
    pub async fn terminate(&self) -> Result<(), Failure> {
        self.ask("terminate", json!({})).await.map(drop)
    }

    /// Ends the session or leaves it; waits until the adapter that the bridge started has ended.
    ///
    /// # Errors
    /// The error that the session responds with.
    pub async fn leave(&self, terminate: Option<bool>) -> Result<(), Failure> {
        let outcome = if self.peer.is_closed() {
            Ok(Value::Null)
        } else {
            let arguments =
                DisconnectArguments { terminate_debuggee: terminate, ..DisconnectArguments::default() };
            self.ask("disconnect", types::body(&arguments)).await
        };
        drop(self.run.lock().unwrap_or_else(PoisonError::into_inner).take());
        self.peer.close();
        if let Some(mut adapter) = self.adapter.lock().await.take()
            && tokio::time::timeout(Duration::from_secs(5), adapter.wait()).await.is_err()
        {
            // It does not end by itself; its host cleans up when the connection is gone.
            adapter.start_kill().unwrap_or_default();
        }
        outcome.map(drop)
    }
}
