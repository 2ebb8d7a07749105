//! The MCP side: lists tools, takes calls, gives structured answers. Which session a call means is decided here.

use std::borrow::Cow;
use std::path::PathBuf;
use std::sync::{Arc, Mutex, PoisonError};

use dap_wire::{ErrorCode, Failure};
use rmcp::model::{
    CallToolRequestParams, CallToolResponse, CallToolResult, Implementation, InitializeRequestParams,
    InitializeResult, ListToolsResult, PaginatedRequestParams, ProtocolVersion, ServerCapabilities,
    ServerConfig,
};
use rmcp::service::RequestContext;
use rmcp::{ErrorData, RoleServer, ServerHandler};
use serde_json::{Value, json};
use tokio_util::task::TaskTracker;
use workspace::jobs::Jobs;
use workspace::roots::Roots;

use crate::arguments::Arguments;
use crate::call::{Call, Progress};
use crate::catalog::Offer;
use crate::registry;
use crate::session::Session;
use crate::wishes::Wishes;

/// What the flags decided.
#[derive(Debug, Clone, Default)]
pub struct Options {
    /// The adapter to start.
    pub adapter: PathBuf,
    /// Which tools there are.
    pub offer: Offer,
    /// Where the file, git and build tools may work.
    pub roots: Arc<Roots>,
    /// Sessions of bridges that are gone, on their way out; to be waited for at the end.
    pub endings: TaskTracker,
    /// MCP sessions are wanted: protocol versions that have none are not spoken.
    pub with_sessions: bool,
}

/// What was wished for before there was a session.
#[derive(Debug, Clone, Default)]
pub struct Early {
    /// Breakpoints.
    pub wishes: Wishes,
    /// Exception filters, if the agent chose.
    pub filters: Option<Vec<String>>,
}

#[derive(Debug, Default)]
struct Inner {
    sessions: Vec<Arc<Session>>,
    current: Option<String>,
    early: Early,
    /// The MCP client's name.
    client: Option<String>,
    last_breakpoint: u64,
}

/// The bridge; clones share it.
#[derive(Debug, Clone)]
pub struct Bridge {
    /// What the flags decided.
    pub options: Arc<Options>,
    /// Builds and commands that are running.
    pub jobs: Arc<Jobs>,
    inner: Arc<Mutex<Inner>>,
    last: Arc<Last>,
}

/// Held by every clone of a bridge. When the last goes (an MCP session over HTTP ends so), what it started ends too.
#[derive(Debug)]
struct Last {
    inner: Arc<Mutex<Inner>>,
    jobs: Arc<Jobs>,
    endings: TaskTracker,
}

impl Last {
    /// Ends what there is; nothing is left for a second time.
    fn end(&self) -> impl Future<Output = ()> + Send + 'static {
        let mut inner = self.inner.lock().unwrap_or_else(PoisonError::into_inner);
        let sessions = std::mem::take(&mut inner.sessions);
        inner.current = None;
        let jobs = Arc::clone(&self.jobs);
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

impl Drop for Last {
    fn drop(&mut self) {
        // Outside of the runtime nobody is left to do it.
        if tokio::runtime::Handle::try_current().is_ok() {
            let ending = self.end();
            self.endings.spawn(ending);
        }
    }
}

impl Bridge {
    /// A bridge without sessions.
    pub fn new(options: Options) -> Self {
        let (jobs, inner) = (Arc::<Jobs>::default(), Arc::<Mutex<Inner>>::default());
        let endings = options.endings.clone();
        let last = Arc::new(Last { inner: inner.clone(), jobs: jobs.clone(), endings });
        Self { options: Arc::new(options), jobs, inner, last }
    }

    fn with<T>(&self, work: impl FnOnce(&mut Inner) -> T) -> T {
        work(&mut self.inner.lock().unwrap_or_else(PoisonError::into_inner))
    }

    /// The session a call means: the one it names (joined when it is not ours yet), else the current one.
    ///
    /// # Errors
    /// `NO_SESSION`.
    pub async fn session(&self, arguments: &Arguments) -> Result<Arc<Session>, Failure> {
        let wanted = arguments.text("session")?;
        let wanted = wanted.or_else(|| self.with(|inner| inner.current.clone()));
        let Some(wanted) = wanted else {
            return Err(Failure::new(ErrorCode::NoSession, "there is no debug session")
                .hint("use debug_launch, or debug_sessions to join one"));
        };
        let known = self.with(|inner| inner.sessions.iter().find(|session| session.id == wanted).cloned());
        match known {
            Some(session) => Ok(session),
            None => self.join(&wanted).await,
        }
    }

    /// The current session, if there is one.
    pub fn current(&self) -> Option<Arc<Session>> {
        self.with(|inner| {
            let current = inner.current.clone()?;
            inner.sessions.iter().find(|session| session.id == current).cloned()
        })
    }

    /// All sessions this agent is in.
    pub fn joined(&self) -> Vec<Arc<Session>> {
        self.with(|inner| inner.sessions.clone())
    }

    /// Joins a live session and makes it the current one.
    ///
    /// # Errors
    /// `NO_SESSION`.
    pub async fn join(&self, id: &str) -> Result<Arc<Session>, Failure> {
        let entry = registry::live().into_iter().find(|entry| entry.id == id).ok_or_else(|| {
            Failure::new(ErrorCode::NoSession, format!("there is no live session `{id}`"))
                .hint("debug_sessions lists the live ones")
        })?;
        Ok(self.add(Session::join(&entry, &self.client()).await?))
    }

    /// Takes a session in and makes it the current one.
    pub fn add(&self, session: Session) -> Arc<Session> {
        let session = Arc::new(session);
        self.with(|inner| {
            inner.sessions.retain(|other| other.id != session.id);
            inner.sessions.push(session.clone());
            inner.current = Some(session.id.clone());
        });
        session
    }

    /// Makes a session the current one.
    pub fn select(&self, id: &str) {
        self.with(|inner| inner.current = Some(id.to_owned()));
    }

    /// Forgets a session that was left.
    pub fn forget(&self, id: &str) {
        self.with(|inner| {
            inner.sessions.retain(|session| session.id != id);
            if inner.current.as_deref() == Some(id) {
                inner.current = inner.sessions.last().map(|session| session.id.clone());
            }
        });
    }

    /// A new id for a breakpoint.
    pub fn next_breakpoint(&self) -> u64 {
        self.with(|inner| {
            inner.last_breakpoint += 1;
            inner.last_breakpoint
        })
    }

    /// What was wished for before there was a session.
    pub fn with_early<T>(&self, work: impl FnOnce(&mut Early) -> T) -> T {
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

    /// Leaves every session and ends every build: what we started ends.
    pub async fn close(&self) {
        self.last.end().await;
    }
}

impl ServerHandler for Bridge {
    fn get_info(&self) -> ServerConfig {
        ServerConfig::new(ServerCapabilities::builder().enable_tools().build())
            .with_server_info(Implementation::new("tandem-mcp", env!("CARGO_PKG_VERSION")))
            .with_instructions(
                "Debug programs, alone or in one session with a person's editor. Start with debug_launch, or join with \
                 debug_sessions. Runs answer with where the program stands; nothing needs polling.",
            )
    }

    async fn initialize(
        &self,
        request: InitializeRequestParams,
        context: RequestContext<RoleServer>,
    ) -> Result<InitializeResult, ErrorData> {
        let name: String =
            request.client_info.name.chars().filter(|one| !one.is_control()).take(60).collect();
        self.with(|inner| inner.client = Some(name).filter(|name| !name.trim().is_empty()));
        context.peer.set_peer_info(request.clone());
        self.negotiate_initialize(&request)
    }

    fn supported_protocol_versions(&self) -> Cow<'static, [ProtocolVersion]> {
        match self.options.with_sessions {
            true => Cow::Borrowed(ProtocolVersion::known_up_to(&ProtocolVersion::V_2025_11_25)),
            false => Cow::Borrowed(ProtocolVersion::KNOWN_VERSIONS),
        }
    }

    async fn list_tools(
        &self,
        _: Option<PaginatedRequestParams>,
        _: RequestContext<RoleServer>,
    ) -> Result<ListToolsResult, ErrorData> {
        Ok(ListToolsResult::with_all_items(self.options.offer.list()))
    }

    async fn call_tool(
        &self,
        request: CallToolRequestParams,
        context: RequestContext<RoleServer>,
    ) -> Result<CallToolResponse, ErrorData> {
        let Some(tool) = self.options.offer.find(&request.name) else {
            return Err(ErrorData::invalid_params(format!("there is no tool `{}`", request.name), None));
        };
        let tool = match tool {
            Ok(tool) => tool,
            Err(failure) => return Ok(CallToolResult::structured_error(refusal(&failure)).into()),
        };
        let call = Call {
            bridge: self.clone(),
            arguments: Arguments::new(request.arguments),
            cancel: context.ct.clone(),
            progress: Progress::new(context.peer.clone(), context.meta.get_progress_token()),
        };
        let outcome = tokio::select! {
            outcome = (tool.run)(call) => outcome,
            // A tool that waits passes the cancellation on; it gets a moment to do so.
            () = async {
                context.ct.cancelled().await;
                tokio::time::sleep(std::time::Duration::from_secs(1)).await;
            } => Err(Failure::cancelled()),
        };
        Ok(match outcome {
            Ok(mut answer) => {
                // A tool that did its work and has bad news (a build that fails) says all it says otherwise, and `error`.
                let good = answer.get("error").is_none();
                answer["success"] = json!(good);
                if good {
                    CallToolResult::structured(answer)
                } else {
                    CallToolResult::structured_error(answer)
                }
            }
            Err(failure) => CallToolResult::structured_error(refusal(&failure)),
        }
        .into())
    }
}

/// `{success: false, error: {code, message, hint?, …data}}`.
fn refusal(failure: &Failure) -> Value {
    let mut error = json!({ "code": failure.code.as_str(), "message": failure.message });
    if let Some(hint) = &failure.hint {
        error["hint"] = json!(hint);
    }
    if let (Some(error), Some(data)) = (error.as_object_mut(), failure.data.as_object()) {
        error.extend(data.clone());
    }
    json!({ "success": false, "error": error })
}
