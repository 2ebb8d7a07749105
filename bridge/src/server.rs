//! The bridge: its options, and the sessions of one MCP client. It resolves which session a call refers to.
//!
//! Not here: MCP's requests ([`crate::handler`]).

#![allow(deprecated, reason = "what the newest MCP gives up, every client there is still uses")]

use std::collections::{HashMap, HashSet};
use std::sync::{Arc, Mutex, PoisonError, Weak};

use rmcp::model::LoggingLevel;
use rmcp::{Peer, RoleServer};
use tandem_registry::SessionRecord;
use tandem_wire::{ErrorCode, Failure};
use tandem_workspace::jobs::Jobs;
use tokio::sync::watch;
use tokio::task::AbortHandle;
use tokio_util::task::TaskTracker;

use crate::breakpoint_requests::EarlyRequests;
use crate::bridge_options::BridgeOptions;
use crate::client_log::ClientLog;
use crate::session::AgentSession;
use crate::session::relation::SessionRelation;
use crate::snapshot::ProgramState;
use crate::test_run::{BegunTests, TestRun};
use crate::trigger::Triggers;

#[derive(Debug, Default)]
struct BridgeState {
    sessions: Vec<Arc<AgentSession>>,
    current: Option<String>,
    early: EarlyRequests,
    /// The MCP client's name.
    client: Option<String>,
    /// The clients that watch each resource.
    subscriptions: HashMap<String, AbortHandle>,
    /// Sessions of children that are just being joined.
    joining: HashSet<String>,
    last_breakpoint: u64,
}

/// The bridge; clones share it.
#[derive(Debug, Clone)]
pub struct Bridge {
    /// Options from the command line.
    pub options: Arc<BridgeOptions>,
    /// Builds and commands that are running.
    pub jobs: Arc<Jobs>,
    /// Triggers that agents have started for their waits.
    pub triggers: Arc<Triggers>,
    begun_tests: Arc<BegunTests>,
    log: Arc<ClientLog>,
    inner: Arc<Mutex<BridgeState>>,
    /// Changes when a session appears, stops or ends.
    stirred: Arc<watch::Sender<()>>,
    last: Option<Arc<BridgeGuard>>,
}

/// Held by every clone of a bridge. When the last clone is dropped, as at the end of an MCP session over
/// HTTP, everything the bridge started ends, too.
#[derive(Debug)]
pub(crate) struct BridgeGuard {
    inner: Arc<Mutex<BridgeState>>,
    jobs: Arc<Jobs>,
    triggers: Arc<Triggers>,
    begun_tests: Arc<BegunTests>,
    endings: TaskTracker,
}

impl BridgeGuard {
    /// Ends what there is; nothing is left for a second time.
    fn end(&self) -> impl Future<Output = ()> + Send + 'static {
        let mut inner = self.inner.lock().unwrap_or_else(PoisonError::into_inner);
        let sessions = std::mem::take(&mut inner.sessions);
        inner.current = None;
        let jobs = Arc::clone(&self.jobs);
        self.begun_tests.end();
        self.triggers.close();
        async move {
            jobs.close().await;
            for session in sessions {
                if let Err(failure) = session.leave(None).await {
                    tracing::debug!(%failure, "left a session that was gone");
                }
            }
        }
    }
}

impl Drop for BridgeGuard {
    fn drop(&mut self) {
        // Outside of the runtime nothing can do it.
        if tokio::runtime::Handle::try_current().is_ok() {
            let ending = self.end();
            self.endings.spawn(ending);
        }
    }
}

impl Bridge {
    /// A bridge without sessions.
    pub fn new(options: BridgeOptions) -> Self {
        let (jobs, inner) = (Arc::<Jobs>::default(), Arc::<Mutex<BridgeState>>::default());
        let endings = options.endings.clone();
        let begun_tests = Arc::<BegunTests>::default();
        let triggers = Arc::<Triggers>::default();
        let last = BridgeGuard {
            inner: inner.clone(),
            jobs: jobs.clone(),
            triggers: triggers.clone(),
            begun_tests: begun_tests.clone(),
            endings,
        };
        let last = Some(Arc::new(last));
        let stirred = Arc::new(watch::Sender::new(()));
        Self {
            options: Arc::new(options),
            jobs,
            triggers,
            begun_tests,
            log: Arc::default(),
            inner,
            stirred,
            last,
        }
    }

    /// Returns a clone that does not keep the sessions alive, and a weak reference to what does.
    pub(crate) fn without_last(&self) -> (Self, Weak<BridgeGuard>) {
        let last = self.last.as_ref().map(Arc::downgrade).unwrap_or_default();
        (Self { last: None, ..self.clone() }, last)
    }

    /// Returns a clone that keeps the sessions alive.
    pub(crate) fn with_last(&self, last: Arc<BridgeGuard>) -> Self {
        Self { last: Some(last), ..self.clone() }
    }

    /// Removes and returns a run of tests that is being built.
    pub(crate) fn begun_test(&self, key: &str) -> Option<Arc<TestRun>> {
        self.begun_tests.take(key)
    }

    /// Keeps a run of tests that is being built.
    pub(crate) fn begin_test(&self, run: Arc<TestRun>) {
        self.begun_tests.put(run);
    }

    /// The log that the MCP client gets.
    pub(crate) fn log(&self) -> Arc<ClientLog> {
        self.log.clone()
    }

    /// Returns a receiver to wait until a session appears, stops or ends.
    pub(crate) fn watch_changes(&self) -> watch::Receiver<()> {
        self.stirred.subscribe()
    }

    /// Notifies waiting calls that a session appeared, stopped or ended.
    pub(crate) fn notify_change(&self) {
        self.stirred.send_replace(());
    }

    /// Marks a session as being joined; false when another call is joining it already.
    pub(crate) fn begin_joining(&self, id: &str) -> bool {
        self.with(|inner| inner.joining.insert(id.to_owned()))
    }

    /// Records that a child session was joined, or is gone.
    pub(crate) fn end_joining(&self, id: &str) {
        self.with(|inner| inner.joining.remove(id));
    }

    fn with<T>(&self, work: impl FnOnce(&mut BridgeState) -> T) -> T {
        work(&mut self.inner.lock().unwrap_or_else(PoisonError::into_inner))
    }

    /// Returns the session that a call refers to: the named one (joined if necessary), else
    /// the current one.
    ///
    /// # Errors
    /// `NO_SESSION` if there is none, or this agent may not join it.
    pub async fn session(&self, named: Option<&str>) -> Result<Arc<AgentSession>, Failure> {
        let is_named = named.is_some();
        let named = named.map(str::to_owned).or_else(|| self.with(|inner| inner.current.clone()));
        let Some(id) = named else {
            return Err(Failure::new(ErrorCode::NoSession, "there is no debug session")
                .hint("use debug_launch, or debug_sessions to join one"));
        };
        let known = self.with(|inner| inner.sessions.iter().find(|session| session.id == id).cloned());
        match known {
            // Until it is forgotten: the call does not mean a program that has ended.
            Some(session) if !is_named => Ok(session.root_after_end().unwrap_or(session)),
            Some(session) => Ok(session),
            // Many agents share this process: naming another agent's session does not join it.
            None if self.options.with_sessions && !self.is_child_of_ours(&id) => {
                let message = format!("this agent is not in the session `{id}`");
                Err(Failure::new(ErrorCode::NoSession, message)
                    .hint(format!("debug_sessions {{\"select\": \"{id}\"}} joins it, if it is running")))
            }
            None => self.join(&id).await,
        }
    }

    /// Whether a program of one of this agent's sessions started the program of that one.
    fn is_child_of_ours(&self, id: &str) -> bool {
        let parent = tandem_registry::find(id).and_then(|entry| entry.parent);
        parent.is_some_and(|parent| self.joined_sessions().iter().any(|session| session.id == parent))
    }

    /// The current session, if there is one.
    pub fn current(&self) -> Option<Arc<AgentSession>> {
        self.with(|inner| {
            let current = inner.current.clone()?;
            inner.sessions.iter().find(|session| session.id == current).cloned()
        })
    }

    /// Whether there is no session, or the current one's program has ended.
    pub fn is_before_a_launch(&self) -> bool {
        self.current().is_none_or(|session| session.snapshot().state == ProgramState::Exited)
    }

    /// All sessions that this agent has joined.
    pub fn joined_sessions(&self) -> Vec<Arc<AgentSession>> {
        self.with(|inner| inner.sessions.clone())
    }

    /// Joins a live session and makes it the current one.
    ///
    /// # Errors
    /// `NO_SESSION` if no live session has this id.
    pub async fn join(&self, id: &str) -> Result<Arc<AgentSession>, Failure> {
        let entry = tandem_registry::find(id).ok_or_else(|| {
            Failure::new(ErrorCode::NoSession, format!("there is no live session `{id}`"))
                .hint("debug_sessions lists the live ones")
        })?;
        self.join_record(&entry, true).await
    }

    /// Joins a running session; `current` makes it the current one.
    ///
    /// # Errors
    /// `NO_SESSION` if the session ended in the meantime.
    pub(crate) async fn join_record(
        &self,
        entry: &SessionRecord,
        current: bool,
    ) -> Result<Arc<AgentSession>, Failure> {
        let parent =
            self.joined_sessions().into_iter().find(|session| Some(&session.id) == entry.parent.as_ref());
        let root = parent.map(|parent| parent.relation.root.clone().unwrap_or(parent));
        let relation = SessionRelation {
            title: entry.title.clone(),
            parent: entry.parent.clone(),
            root,
            children: Vec::new(),
        };
        let session =
            AgentSession::join(entry, &self.client(), relation, self.options.offer.read_only).await?;
        Ok(self.insert_session(session, current))
    }

    /// Adds a session and makes it the current one.
    pub fn add(&self, session: AgentSession) -> Arc<AgentSession> {
        self.insert_session(session, true)
    }

    fn insert_session(&self, session: AgentSession, current: bool) -> Arc<AgentSession> {
        let session = Arc::new(session);
        self.with(|inner| {
            inner.sessions.retain(|other| other.id != session.id);
            inner.sessions.push(session.clone());
            if current {
                inner.current = Some(session.id.clone());
            }
        });
        self.follow(&session);
        session
    }

    /// The MCP client said its name.
    pub fn set_client_name(&self, name: &str) {
        let name: String = name.chars().filter(|one| !one.is_control()).take(60).collect();
        self.with(|inner| inner.client = Some(name).filter(|name| !name.trim().is_empty()));
    }

    /// Sets the client that gets the log.
    pub fn log_to(&self, peer: Peer<RoleServer>) {
        self.log.log_to(peer);
    }

    /// Sends nothing below this level.
    pub fn set_log_level(&self, level: LoggingLevel) {
        self.log.set_level(level);
    }

    /// A client subscribes to a resource.
    pub fn add_subscription(&self, uri: String, watching: impl Future<Output = ()> + Send + 'static) {
        let handle = tokio::spawn(watching).abort_handle();
        if let Some(before) = self.with(|inner| inner.subscriptions.insert(uri, handle)) {
            before.abort();
        }
    }

    /// A client unsubscribes from it.
    pub fn remove_subscription(&self, uri: &str) {
        if let Some(watching) = self.with(|inner| inner.subscriptions.remove(uri)) {
            watching.abort();
        }
    }

    /// Makes a session the current one.
    pub fn select(&self, id: &str) {
        self.with(|inner| inner.current = Some(id.to_owned()));
    }

    /// Forgets a session that was left. If it was the current one, the one whose program started its program
    /// is, or else the newest that is not a child session.
    pub fn forget(&self, id: &str) {
        self.with(|inner| {
            let root = inner.sessions.iter().find(|session| session.id == id);
            let root = root.map(|session| session.root().id.clone());
            inner.sessions.retain(|session| session.id != id);
            if inner.current.as_deref() == Some(id) {
                let known = |id: &String| inner.sessions.iter().any(|session| session.id == *id);
                let first = inner.sessions.iter().rev().find(|session| session.relation.root.is_none());
                let newest = first.or(inner.sessions.last()).map(|session| session.id.clone());
                inner.current = root.filter(known).or(newest);
            }
        });
    }

    /// Ends a session that no agent will know of. Its breakpoints are kept for the next one.
    pub fn abandon(&self, session: Arc<AgentSession>) {
        let requested = session.with_requested(|requested| requested.clone());
        self.with_early_requests(|early| early.requested.extend(requested));
        let mut ended = self.related_sessions(&session);
        ended.push(session);
        for session in ended {
            self.forget(&session.id);
            tokio::spawn(async move {
                if let Err(failure) = session.leave(None).await {
                    tracing::debug!(%failure, session = session.id,
                        "the session of a cancelled call did not end in order");
                }
            });
        }
    }

    /// A new id for a breakpoint.
    pub fn next_breakpoint(&self) -> u64 {
        self.with(|inner| {
            inner.last_breakpoint += 1;
            inner.last_breakpoint
        })
    }

    /// The breakpoints and filters for the next session: those of the current one, if its program has ended,
    /// and those requested since.
    pub fn early_requests(&self) -> EarlyRequests {
        let early = self.with_early_requests(|early| early.clone());
        let ended = self.current().filter(|session| session.snapshot().state == ProgramState::Exited);
        let Some(session) = ended.map(|session| session.relation.root.clone().unwrap_or(session)) else {
            return EarlyRequests { requested: early.requested.for_next_program(), ..early };
        };
        let mut requested = session.with_requested(|requested| requested.for_next_program());
        requested.extend(early.requested.for_next_program());
        EarlyRequests { requested, filters: early.filters.or(session.with_plan(|plan| plan.filters.clone())) }
    }

    /// Accesses the requests that were made before there was a session.
    pub fn with_early_requests<T>(&self, work: impl FnOnce(&mut EarlyRequests) -> T) -> T {
        self.with(|inner| work(&mut inner.early))
    }

    /// This agent's name for the other clients.
    pub fn client(&self) -> String {
        self.with(|inner| inner.client.clone()).unwrap_or_else(|| "agent".into())
    }

    /// Whether the file tools could read this file.
    pub fn may_read(&self, path: &str) -> bool {
        let real = std::fs::canonicalize(path);
        real.is_ok_and(|real| self.options.roots.paths().any(|root| real.starts_with(root)))
    }

    /// Leaves every session and ends every build and program that the bridge started.
    pub async fn close(&self) {
        if let Some(last) = &self.last {
            last.end().await;
        }
    }
}
