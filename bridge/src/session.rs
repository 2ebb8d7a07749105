//! One debug session over DAP: the adapter we started, or the socket we joined.

use std::collections::BTreeMap;
use std::path::Path;
use std::process::Stdio;
use std::sync::{Mutex, PoisonError};
use std::time::Duration;

use dap_wire::peer::Peer;
use dap_wire::{ErrorCode, Failure};
use serde_json::{Value, json};
use tokio::sync::watch;
use tokio_util::sync::CancellationToken;

use crate::observer::{Picture, Snapshot, State, observe};
use crate::registry::Entry;

/// How long an ordinary request may take.
pub const DEADLINE: Duration = Duration::from_secs(30);
/// A launch may build first.
const LAUNCH_DEADLINE: Duration = Duration::from_secs(15 * 60);

/// A breakpoint this agent wants.
#[derive(Debug, Clone)]
pub struct Wanted {
    /// The agent's id for it.
    pub id: u64,
    /// The session's id, once it was told.
    pub dap: Option<i64>,
    /// DAP `SourceBreakpoint`.
    pub wish: Value,
    /// The session's last word on it.
    pub state: Value,
}

/// Breakpoints by source path.
pub type Wishes = BTreeMap<String, Vec<Wanted>>;

/// A session.
#[derive(Debug)]
pub struct Session {
    /// Its id, as published.
    pub id: String,
    /// We started it, so we end it.
    pub launched: bool,
    peer: Peer,
    picture: Picture,
    wishes: Mutex<Wishes>,
    /// Behind the output the agent has seen.
    cursor: Mutex<Option<String>>,
    adapter: tokio::sync::Mutex<Option<tokio::process::Child>>,
}

impl Session {
    /// Starts an adapter and launches or attaches in it; `prepare` may set breakpoints before the program runs.
    ///
    /// # Errors
    /// The adapter's own, or that it cannot be started.
    pub async fn start(
        adapter: &Path,
        attach: bool,
        arguments: Value,
        wishes: Wishes,
        cancel: &CancellationToken,
    ) -> Result<Self, Failure> {
        let failed = |reason: String| {
            Failure::new(ErrorCode::EngineNotFound, format!("cannot start `{}`: {reason}", adapter.display()))
        };
        let mut command = tokio::process::Command::new(adapter);
        command.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::null()).kill_on_drop(true);
        let mut child = command.spawn().map_err(|error| failed(error.to_string()))?;
        let (Some(stdin), Some(stdout)) = (child.stdin.take(), child.stdout.take()) else {
            return Err(failed("it has no stdio".into()));
        };
        let (peer, incoming) = Peer::start(stdout, stdin);
        let picture = observe(incoming, peer.clone());
        initialize(&peer).await?;
        let name = if attach { "attach" } else { "launch" };
        let asking = peer.clone();
        let asked = cancel.clone();
        let mut launching =
            tokio::spawn(
                async move { asking.request_or_cancel(name, arguments, LAUNCH_DEADLINE, &asked).await },
            );
        // A launch may fail before `initialized` comes; one that works may be answered before or after it.
        let ready = async {
            let ready = |picture: &Snapshot| picture.initialized || picture.state == State::Exited;
            picture.subscribe().wait_for(ready).await.is_ok()
        };
        let mut answered = tokio::select! {
            biased;
            _ = ready => None,
            answer = &mut launching => Some(answer),
        };
        if let Some(Ok(Err(failure))) = answered {
            return Err(failure);
        }
        let session = Self {
            id: String::new(),
            launched: true,
            peer,
            picture,
            wishes: Mutex::new(wishes),
            cursor: Mutex::new(None),
            adapter: tokio::sync::Mutex::new(Some(child)),
        };
        let files: Vec<String> = session.with_wishes(|wishes| wishes.keys().cloned().collect());
        for file in files {
            session.send_breakpoints(&file).await?;
        }
        // A launch that fails now takes the handshake with it: its own answer says more.
        let configured = session.ask("configurationDone", Value::Null).await;
        if answered.is_none() {
            answered = Some(launching.await);
        }
        if let Some(answer) = answered {
            settle(answer)?;
        }
        configured?;
        session.named().await
    }

    /// Joins a session that lives.
    ///
    /// # Errors
    /// `NO_SESSION` when it is gone.
    pub async fn join(entry: &Entry) -> Result<Self, Failure> {
        let socket = tokio::net::UnixStream::connect(&entry.socket).await.map_err(|error| {
            Failure::new(ErrorCode::NoSession, format!("cannot join session `{}`: {error}", entry.id))
                .hint("`debug_sessions` lists the live ones")
        })?;
        let (reader, writer) = socket.into_split();
        let (peer, incoming) = Peer::start(reader, writer);
        let picture = observe(incoming, peer.clone());
        initialize(&peer).await?;
        peer.request("attach", json!({}), DEADLINE).await?;
        let mut watching = picture.subscribe();
        let ready = watching.wait_for(|picture| picture.initialized || picture.state == State::Exited);
        tokio::time::timeout(DEADLINE, ready).await.map(drop).map_err(|_| {
            Failure::new(ErrorCode::Timeout, format!("session `{}` is not ready to be joined", entry.id))
        })?;
        peer.request("configurationDone", Value::Null, DEADLINE).await?;
        let session = Self {
            id: entry.id.clone(),
            launched: false,
            peer,
            picture,
            wishes: Mutex::default(),
            cursor: Mutex::new(None),
            adapter: tokio::sync::Mutex::new(None),
        };
        session.named().await
    }

    /// Learns its id and where it stands: events before we came are in the answer.
    async fn named(mut self) -> Result<Self, Failure> {
        let info = self.ask("sessionInfo", json!({})).await?;
        self.id = info["id"].as_str().unwrap_or_default().to_owned();
        Ok(self)
    }

    /// Asks within the usual deadline.
    ///
    /// # Errors
    /// The session's own.
    pub async fn ask(&self, command: &str, arguments: Value) -> Result<Value, Failure> {
        self.peer.request(command, arguments, DEADLINE).await
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
        self.peer.request_or_cancel(command, arguments, deadline, cancel).await
    }

    /// Where the program stands now.
    pub fn snapshot(&self) -> Snapshot {
        self.picture.borrow().clone()
    }

    /// To wait for changes.
    pub fn picture(&self) -> watch::Receiver<Snapshot> {
        self.picture.subscribe()
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
        self.picture.send_modify(|picture| {
            if picture.state == State::Stopped {
                picture.state = State::Running;
            }
        });
        let answer = self.ask_or_cancel(command, arguments, DEADLINE, cancel).await;
        if answer.is_err() {
            self.picture.send_modify(|picture| {
                if picture.news == before.news && picture.state == State::Running {
                    picture.state = before.state;
                }
            });
        }
        answer
    }

    /// Looks at or changes this agent's breakpoints, in their latest state.
    pub fn with_wishes<T>(&self, work: impl FnOnce(&mut Wishes) -> T) -> T {
        let mut wishes = self.wishes.lock().unwrap_or_else(PoisonError::into_inner);
        let picture = self.picture.borrow();
        for wanted in wishes.values_mut().flatten() {
            if let Some(told) = wanted.dap.and_then(|id| picture.breakpoints.get(&id)) {
                wanted.state = told.clone();
            }
        }
        // Who sees an agent's breakpoint may remove it: it is not to come back with the next list.
        for list in wishes.values_mut() {
            list.retain(|wanted| wanted.dap.is_none_or(|id| !picture.removed.contains(&id)));
        }
        drop(picture);
        work(&mut wishes)
    }

    /// Sends the whole list of one file, as DAP wants it, and takes in the answers.
    ///
    /// # Errors
    /// The session's own.
    pub async fn send_breakpoints(&self, file: &str) -> Result<(), Failure> {
        let list: Vec<Value> = self
            .with_wishes(|wishes| {
                wishes.get(file).map(|list| list.iter().map(|wanted| wanted.wish.clone()).collect())
            })
            .unwrap_or_default();
        let answer =
            self.ask("setBreakpoints", json!({ "source": { "path": file }, "breakpoints": list })).await?;
        self.with_wishes(|wishes| {
            let told = answer["breakpoints"].as_array().into_iter().flatten();
            for (wanted, told) in wishes.entry(file.to_owned()).or_default().iter_mut().zip(told) {
                wanted.dap = told["id"].as_i64();
                wanted.state = told.clone();
            }
            wishes.retain(|_, list| !list.is_empty());
        });
        Ok(())
    }

    /// What the program printed since the agent last saw it, at most `limit` bytes per stream.
    pub async fn new_output(&self, limit: usize) -> Value {
        let since = self.cursor.lock().unwrap_or_else(PoisonError::into_inner).clone();
        let read = self.ask("processReadOutput", json!({ "since": since, "maxBytes": limit })).await;
        let Ok(read) = read else { return Value::Null };
        if let Some(cursor) = read["cursor"].as_str() {
            *self.cursor.lock().unwrap_or_else(PoisonError::into_inner) = Some(cursor.to_owned());
        }
        let mut output = json!({});
        for stream in ["stdout", "stderr"] {
            if read[stream].as_str().is_some_and(|text| !text.is_empty()) {
                output[stream] = read[stream].clone();
            }
        }
        if read["dropped"].as_u64().is_some_and(|dropped| dropped > 0) {
            output["dropped"] = read["dropped"].clone();
        }
        output
    }

    /// Behind the output the agent has seen.
    pub fn cursor(&self) -> Option<String> {
        self.cursor.lock().unwrap_or_else(PoisonError::into_inner).clone()
    }

    /// Ends the session or leaves it; waits until the adapter we started is gone.
    ///
    /// # Errors
    /// The session's own.
    pub async fn leave(&self, terminate: Option<bool>) -> Result<(), Failure> {
        let outcome = if self.peer.is_closed() {
            Ok(Value::Null)
        } else {
            if terminate == Some(true) && !self.launched {
                self.ask("terminate", json!({})).await?;
            }
            self.ask("disconnect", json!({ "terminateDebuggee": terminate })).await
        };
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

fn settle(answer: Result<Result<Value, Failure>, tokio::task::JoinError>) -> Result<(), Failure> {
    match answer {
        Ok(answer) => answer.map(drop),
        Err(error) => Err(Failure::new(ErrorCode::LaunchFailed, error.to_string())),
    }
}

async fn initialize(peer: &Peer) -> Result<Value, Failure> {
    let arguments = json!({ "clientID": "tandem-mcp", "clientName": "agent", "adapterID": "tandem",
        "pathFormat": "path", "linesStartAt1": true, "columnsStartAt1": true, "supportsVariableType": true,
        "supportsVariablePaging": true });
    peer.request("initialize", arguments, DEADLINE).await
}
