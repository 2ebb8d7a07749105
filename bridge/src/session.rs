//! One debug session over DAP: the adapter we started, or the socket we joined.

pub mod breakpoints;

use std::path::{Path, PathBuf};
use std::process::Stdio;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use dap_wire::peer::{Incoming, Peer};
use dap_wire::{ErrorCode, Failure};
use registry::Entry;
use serde_json::{Value, json};
use tokio::sync::{mpsc, watch};
use tokio_util::sync::CancellationToken;

use crate::call::Progress;
use crate::family::Kin;
use crate::memory::Memory;
use crate::observer::{Observed, Snapshot, State, observe};
use crate::tools::test_run::TestRun;
use crate::wishes::Wishes;

/// How long an ordinary request may take.
pub const DEADLINE: Duration = Duration::from_secs(30);
/// How long a session may take to say what it is to somebody who only lists it.
const LOOK: Duration = Duration::from_secs(2);
/// A launch may build first.
pub const LAUNCH_DEADLINE: Duration = Duration::from_secs(15 * 60);

/// What a session is started with; kept, to start it again.
#[derive(Debug, Clone, Default)]
pub struct Plan {
    /// Attach instead of launch.
    pub attach: bool,
    /// DAP attributes.
    pub attributes: Value,
    /// Breakpoints to set before the program runs.
    pub wishes: Wishes,
    /// Exception filters; the engine's own when `None`.
    pub filters: Option<Vec<String>>,
}

impl Plan {
    /// For people: what it starts or attaches to.
    fn title(&self) -> String {
        let attributes = &self.attributes;
        let named = ["program", "project", "module", "coreFile"];
        let named = named.into_iter().find_map(|key| attributes[key].as_str());
        match (named, &attributes["processId"]) {
            (Some(named), _) => named.trim_end_matches('/').rsplit('/').next().unwrap_or(named).to_owned(),
            (None, Value::Null) => attributes["connect"].to_string(),
            (None, pid) => format!("process {pid}"),
        }
    }

    /// Where sources of its program may lie: beside it, in its project, where it works.
    pub fn folders(&self) -> Vec<PathBuf> {
        let paths = ["program", "project", "cwd"].into_iter().filter_map(|key| self.attributes[key].as_str());
        paths
            .map(Path::new)
            .filter_map(|path| if path.is_dir() { Some(path) } else { path.parent() }.map(Path::to_owned))
            .collect()
    }
}

/// A session.
#[derive(Debug)]
pub struct Session {
    /// Its id, as published.
    pub id: String,
    /// This agent's name for the other clients.
    pub client: String,
    /// We started it, so we end it.
    pub launched: bool,
    /// The engine that debugs its program, as the session says.
    pub engine: String,
    /// Where it stands among those of one program and the programs it starts.
    pub kin: Kin,
    /// What it said it can do before its engine was known.
    capabilities: Value,
    /// What was told of it.
    pub observed: Arc<Observed>,
    /// What the agent was told.
    pub memory: Memory,
    peer: Peer,
    plan: Mutex<Plan>,
    /// What the program is a part of, when it is a test host.
    run: Mutex<Option<TestRun>>,
    adapter: tokio::sync::Mutex<Option<tokio::process::Child>>,
}

impl Session {
    /// Starts an adapter and launches or attaches in it; `client` is this agent's name for the others.
    ///
    /// # Errors
    /// The adapter's own, or that it cannot be started.
    pub async fn start(
        adapter: &Path,
        client: &str,
        plan: Plan,
        cancel: &CancellationToken,
        progress: &Progress,
    ) -> Result<Self, Failure> {
        let failed = |reason: String| {
            Failure::new(ErrorCode::EngineNotFound, format!("cannot start `{}`: {reason}", adapter.display()))
        };
        let mut command = tokio::process::Command::new(adapter);
        command.env_remove(workspace::process::TOKEN_VARIABLE);
        command.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::null()).kill_on_drop(true);
        let mut child = command.spawn().map_err(|error| failed(error.to_string()))?;
        let (Some(stdin), Some(stdout)) = (child.stdin.take(), child.stdout.take()) else {
            return Err(failed("it has no stdio".into()));
        };
        let (peer, incoming) = Peer::start(stdout, stdin);
        let observed = observe(incoming, peer.clone());
        let capabilities = initialize(&peer, client, false).await?;
        let kin = Kin { title: plan.title(), ..Kin::default() };
        let mut session = Self {
            launched: true,
            kin,
            plan: Mutex::new(plan),
            adapter: tokio::sync::Mutex::new(Some(child)),
            ..Self::of(peer, observed, capabilities, client)
        };
        let (name, attributes, filters) = session.with_plan(|plan| {
            (if plan.attach { "attach" } else { "launch" }, plan.attributes.clone(), plan.filters.clone())
        });
        let what =
            if name == "attach" { "attaching" } else { "starting (building first, if it is a project)" };
        let launching = session.peer.request_or_cancel(name, attributes, LAUNCH_DEADLINE, cancel);
        let configuring = async {
            let mut picture = session.observed.picture.subscribe();
            let ready = |picture: &Snapshot| picture.initialized || picture.state == State::Exited;
            if picture.wait_for(ready).await.is_err() {
                return Ok(Value::Null);
            }
            for file in session.with_wishes(|wishes| wishes.files()) {
                session.send_breakpoints(&file).await?;
            }
            if let Some(filters) = filters.or_else(|| usual_filters(&session)) {
                session.ask("setExceptionBreakpoints", json!({ "filters": filters })).await?;
            }
            session.ask("configurationDone", Value::Null).await
        };
        let told = progress.during(what, Some(session.observed.events()), async {
            tokio::pin!(launching, configuring);
            // A launch may fail before `initialized` comes; one that works may be answered before or after it.
            tokio::select! {
                biased;
                answer = &mut launching => { answer?; configuring.await }
                // A launch that fails now takes the handshake with it: its own answer says more.
                configured = &mut configuring => { launching.await?; configured }
            }
        });
        told.await?;
        session.named().await?;
        Ok(session)
    }

    /// Joins a session that lives; to look only, whatever agents may do in it.
    ///
    /// # Errors
    /// `NO_SESSION` when it is gone.
    pub async fn join(entry: &Entry, client: &str, kin: Kin, looks_only: bool) -> Result<Self, Failure> {
        let (peer, incoming) = connect(entry).await?;
        let observed = observe(incoming, peer.clone());
        let capabilities = initialize(&peer, client, looks_only).await?;
        peer.request("attach", json!({}), DEADLINE).await?;
        let mut watching = observed.picture.subscribe();
        let ready = watching.wait_for(|picture| picture.initialized || picture.state == State::Exited);
        tokio::time::timeout(DEADLINE, ready).await.map(drop).map_err(|_| {
            Failure::new(ErrorCode::Timeout, format!("session `{}` is not ready to be joined", entry.id))
        })?;
        peer.request("configurationDone", Value::Null, DEADLINE).await?;
        let mut session =
            Self { id: entry.id.clone(), kin, ..Self::of(peer, observed, capabilities, client) };
        session.named().await?;
        Ok(session)
    }

    /// What a session says of itself to somebody who does not join it; `None` when it does not answer soon.
    pub async fn look(entry: &Entry, client: &str) -> Option<Value> {
        let looking = async {
            let (peer, _incoming) = connect(entry).await.ok()?;
            initialize(&peer, client, false).await.ok()?;
            let info = peer.request("sessionInfo", json!({}), LOOK).await.ok();
            peer.close();
            info.map(body)
        };
        tokio::time::timeout(LOOK, looking).await.ok().flatten()
    }

    /// A session behind a connection, which is not known to be ours.
    fn of(peer: Peer, observed: Arc<Observed>, capabilities: Value, client: &str) -> Self {
        Self {
            id: String::new(),
            client: client.to_owned(),
            launched: false,
            engine: String::new(),
            kin: Kin::default(),
            capabilities,
            observed,
            memory: Memory::default(),
            peer,
            plan: Mutex::default(),
            run: Mutex::default(),
            adapter: tokio::sync::Mutex::default(),
        }
    }

    /// Learns its id, and asks to be told who does what.
    async fn named(&mut self) -> Result<(), Failure> {
        match self.ask("sessionInfo", json!({ "subscribe": true })).await {
            Ok(info) => {
                info["id"].as_str().unwrap_or_default().clone_into(&mut self.id);
                info["engine"].as_str().unwrap_or_default().clone_into(&mut self.engine);
                let children = info["children"].as_array().into_iter().flatten();
                self.kin.children =
                    children.filter_map(|child| child["session"].as_str().map(str::to_owned)).collect();
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

    /// Asks within the usual deadline.
    ///
    /// # Errors
    /// The session's own.
    pub async fn ask(&self, command: &str, arguments: Value) -> Result<Value, Failure> {
        self.peer.request(command, arguments, DEADLINE).await.map(body)
    }

    /// Makes the picture current: what was sent to us before this answer has arrived with it. (`cancel` without ids asks
    /// for nothing, and the session answers it itself.)
    ///
    /// # Errors
    /// When the session is gone.
    pub async fn sync(&self) -> Result<(), Failure> {
        self.ask("cancel", json!({})).await?;
        // Lets the observer, which was woken first, run first.
        tokio::task::yield_now().await;
        Ok(())
    }

    /// Asks with a deadline and a way to give up.
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

    /// Where the program stands now.
    pub fn snapshot(&self) -> Snapshot {
        self.observed.picture.borrow().clone()
    }

    /// To wait for changes.
    pub fn picture(&self) -> watch::Receiver<Snapshot> {
        self.observed.picture.subscribe()
    }

    /// Resumes the program. DAP tells whoever resumed by the answer alone, so the picture is painted here; before the
    /// request, because the stop it leads to may come with its answer.
    ///
    /// # Errors
    /// The session's own.
    pub async fn resume(
        &self,
        command: &str,
        arguments: Value,
        cancel: &CancellationToken,
    ) -> Result<Value, Failure> {
        let before = self.snapshot();
        self.observed.picture.send_modify(|picture| {
            if picture.state == State::Stopped {
                picture.state = State::Running;
            }
        });
        let answer = self.ask_or_cancel(command, arguments, DEADLINE, cancel).await;
        if answer.is_err() {
            self.observed.picture.send_modify(|picture| {
                if picture.news == before.news && picture.state == State::Running {
                    picture.state = before.state;
                }
            });
        }
        answer
    }

    /// What it was started with, in its latest state.
    pub fn with_plan<T>(&self, work: impl FnOnce(&mut Plan) -> T) -> T {
        work(&mut self.plan.lock().unwrap_or_else(PoisonError::into_inner))
    }

    /// Whether the engine says it can do something: what it said last counts.
    pub fn can(&self, capability: &str) -> bool {
        self.capability(capability) == true
    }

    /// What the engine said last of a capability.
    pub fn capability(&self, name: &str) -> Value {
        let told = self.observed.picture.borrow().capabilities.get(name).cloned();
        told.unwrap_or_else(|| self.capabilities[name].clone())
    }

    /// Keeps the run of tests the program is a part of; it ends with the session.
    pub fn keep_run(&self, run: TestRun) {
        *self.run.lock().unwrap_or_else(PoisonError::into_inner) = Some(run);
    }

    /// Looks at the run of tests the program is a part of.
    pub fn with_run<T>(&self, look: impl FnOnce(&TestRun) -> T) -> Option<T> {
        self.run.lock().unwrap_or_else(PoisonError::into_inner).as_ref().map(look)
    }

    /// What the program printed since the agent last saw it, at most `limit` bytes per stream.
    pub async fn new_output(&self, limit: usize) -> Value {
        // A program that another one started has its pipes.
        let root = self.root();
        let since = root.memory.cursor();
        let read = root.ask("processReadOutput", json!({ "since": since, "maxBytes": limit })).await;
        let Ok(read) = read else { return Value::Null };
        if let Some(cursor) = read["cursor"].as_str() {
            root.memory.set_cursor(cursor);
        }
        let mut output = json!({});
        for stream in ["stdout", "stderr"] {
            if let Some(text) = read[stream].as_str().filter(|text| !text.is_empty()) {
                output[stream] = json!(anstream::adapter::strip_str(text).to_string());
                if text.len() + 4 > limit {
                    // The cursor stands behind what was given, so the next read goes on there.
                    output["more"] = json!("process_read_output {since: cursor} goes on");
                    output["cursor"] = read["cursor"].clone();
                }
            }
        }
        if read["dropped"].as_u64().is_some_and(|dropped| dropped > 0) {
            output["dropped"] = read["dropped"].clone();
        }
        output
    }

    /// What the program's terminal shows, as text; none where it has no terminal of Tandem's.
    pub async fn screen(&self) -> Option<String> {
        let read = self.ask("processReadOutput", json!({ "maxBytes": 0, "screen": true })).await.ok()?;
        read["screen"].as_str().map(str::to_owned)
    }

    /// Ends the program of a session that somebody else launched; nothing is left if that is refused.
    ///
    /// # Errors
    /// The session's own.
    pub async fn terminate(&self) -> Result<(), Failure> {
        self.ask("terminate", json!({})).await.map(drop)
    }

    /// Ends the session or leaves it; waits until the adapter we started is gone.
    ///
    /// # Errors
    /// The session's own.
    pub async fn leave(&self, terminate: Option<bool>) -> Result<(), Failure> {
        let outcome = if self.peer.is_closed() {
            Ok(Value::Null)
        } else {
            self.ask("disconnect", json!({ "terminateDebuggee": terminate })).await
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

/// The exceptions that the engine recommends to stop at, as editors do: a crash is then seen where it happens. `None` when
/// there are none to choose.
fn usual_filters(session: &Session) -> Option<Vec<String>> {
    let offered = session.capability("exceptionBreakpointFilters");
    let usual = offered.as_array()?.iter().filter(|filter| filter["default"] == true);
    let usual: Vec<String> =
        usual.filter_map(|filter| filter["filter"].as_str().map(str::to_owned)).collect();
    Some(usual).filter(|usual| !usual.is_empty())
}

/// What an adapter put beside a body is none of an agent's business.
fn body(mut body: Value) -> Value {
    if let Some(fields) = body.as_object_mut() {
        fields.shift_remove(dap_wire::BESIDE);
    }
    body
}

/// The way to a session that lives.
async fn connect(entry: &Entry) -> Result<(Peer, mpsc::UnboundedReceiver<Incoming>), Failure> {
    let socket = tokio::net::UnixStream::connect(&entry.socket).await.map_err(|error| {
        Failure::new(ErrorCode::NoSession, format!("cannot join session `{}`: {error}", entry.id))
            .hint("`debug_sessions` lists the live ones")
    })?;
    let (reader, writer) = socket.into_split();
    Ok(Peer::start(reader, writer))
}

async fn initialize(peer: &Peer, client: &str, looks_only: bool) -> Result<Value, Failure> {
    let mut arguments = json!({ "clientID": "tandem-mcp", "clientName": client, "adapterID": "tandem",
        "pathFormat": "path", "linesStartAt1": true, "columnsStartAt1": true, "supportsVariableType": true,
        "supportsVariablePaging": true, "supportsProgressReporting": true, "supportsInvalidatedEvent": true });
    if looks_only {
        arguments["tandemAccess"] = json!("readOnly");
    }
    peer.request("initialize", arguments, DEADLINE).await
}
