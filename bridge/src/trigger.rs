//! Actions that an agent starts while it waits for a stop: a command, an HTTP request to this machine, or
//! input for the program. A trigger runs next to the wait, in the bridge, and its result is in the answer of
//! the call that sees it end. The tool defines the stop that it waits for; `--allow-commands` decides about
//! commands. Not here: the HTTP request ([`http`]), the process of a command (`workspace-tools`).

mod http;

use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use dap_wire::{ErrorCode, Failure};
use schemars::JsonSchema;
use serde::Deserialize;
use serde_json::{Value, json};
use tokio::sync::{oneshot, watch};
use tokio::time::Instant;
use tokio_util::sync::CancellationToken;
use workspace_tools::process::ProcessCommand;
use workspace_tools::{command_line, commands};

use crate::arguments::schema::{self, ObjectOrText};
use crate::call::SharedArguments;
use crate::server::Bridge;
use crate::session::REQUEST_TIMEOUT;
use http::HttpRequest;

/// Tools that wait for a stop, and so take a `trigger`.
pub const WAITING: [&str; 13] = [
    "debug_launch",
    "debug_launch_test",
    "debug_restart",
    "debug_continue",
    "debug_step",
    "debug_step_over",
    "debug_step_into",
    "debug_step_out",
    "debug_run_to",
    "debug_pause",
    "debug_wait",
    "debug_trace",
    "debug_follow",
];
/// Maximum number of triggers that run at once.
const MAX_TRIGGERS: usize = 8;
/// Output of a command, bytes of each stream.
const MAX_OUTPUT_BYTES: usize = 2048;
/// Time limit for the program to read the input.
const INPUT_TIMEOUT: Duration = Duration::from_secs(600);
/// Time that an answer waits for a trigger that is about to end.
const TRIGGER_TIMEOUT: Duration = Duration::from_millis(50);

#[derive(Debug)]
enum TriggerAction {
    Command(ProcessCommand),
    Http(HttpRequest),
    Input { data: String, close: bool },
}

/// A trigger that was started.
#[derive(Debug)]
pub struct Trigger {
    /// Description for the answer.
    what: String,
    /// Sends the signal to start.
    go: Mutex<Option<oneshot::Sender<()>>>,
    /// Its result, once it has ended.
    result: watch::Receiver<Option<Value>>,
    task: tokio::task::AbortHandle,
    cancel: CancellationToken,
}

/// The triggers of a bridge whose end no answer has reported yet. Those that still run are ended with it.
#[derive(Debug, Default)]
pub struct Triggers(Mutex<Vec<Arc<Trigger>>>);

impl Drop for Trigger {
    fn drop(&mut self) {
        self.cancel.cancel();
        self.task.abort();
    }
}

impl Trigger {
    /// Starts the trigger, once: its tool has set up everything that it waits for.
    pub fn fire(&self) {
        let go = self.go.lock().unwrap_or_else(PoisonError::into_inner).take();
        if go.is_some_and(|go| go.send(()).is_err()) {
            tracing::debug!(what = self.what, "a trigger is over before it began");
        }
    }

    /// Waits until the trigger has ended.
    pub async fn wait_until_ended(&self) {
        let mut result = self.result.clone();
        // Without a sender it has ended, too.
        drop(result.wait_for(Option::is_some).await);
    }

    fn outcome(&self) -> Option<Value> {
        let mut result = self.result.borrow().clone()?;
        result["what"] = json!(self.what);
        Some(result)
    }
}

/// Makes ready what a call triggers, if it does; [`Trigger::fire`] starts it.
///
/// # Errors
/// `INVALID_PARAMETER`, `ACCESS_DENIED` for a command that is not allowed; `CANCELLED` never.
pub fn prepare(
    bridge: &Bridge,
    tool: &str,
    shared: &SharedArguments,
) -> Result<Option<Arc<Trigger>>, Failure> {
    let Some(ObjectOrText(given)) = shared.trigger.as_ref().filter(|_| WAITING.contains(&tool)) else {
        return Ok(None);
    };
    let kind = TriggerAction::parse(given, bridge)?;
    let what = kind.description();
    let (sender, result) = watch::channel(None);
    let cancel = CancellationToken::new();
    let (go, gone) = oneshot::channel();
    // A weak handle: a trigger that never ends must not keep the sessions alive.
    let (weak, _) = bridge.without_last();
    let (session, token) = (shared.session.clone(), cancel.clone());
    let running = tokio::spawn(async move {
        if gone.await.is_err() {
            return;
        }
        let began = Instant::now();
        let outcome = kind.run(&weak, session.as_deref(), token).await;
        let mut result = outcome.unwrap_or_else(|failure| {
            json!({ "state": "failed", "error": { "code": failure.code.as_str(),
                "message": failure.message } })
        });
        result["durationMs"] = json!(u64::try_from(began.elapsed().as_millis()).unwrap_or(u64::MAX));
        sender.send_replace(Some(result));
    });
    let trigger =
        Arc::new(Trigger { what, go: Mutex::new(Some(go)), result, task: running.abort_handle(), cancel });
    bridge.triggers.add(&trigger)?;
    Ok(Some(trigger))
}

/// An object in the argument `trigger`. [`HttpRequest`] reads the rest of a request.
#[derive(Default, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
struct TriggerOptions {
    command: Option<String>,
    #[serde(default)]
    args: Vec<String>,
    working_directory: Option<String>,
    url: Option<String>,
    // Empty input may close the program's stdin.
    #[schemars(length(min = 0))]
    input: Option<String>,
    #[serde(default)]
    close: bool,
}

impl TriggerAction {
    fn parse(given: &Value, bridge: &Bridge) -> Result<Self, Failure> {
        let options = match given {
            Value::String(line) if line.starts_with("http://") => {
                return HttpRequest::parse(&json!({ "url": line })).map(Self::Http);
            }
            Value::String(line) => {
                TriggerOptions { command: Some(line.clone()), ..TriggerOptions::default() }
            }
            given => schema::read(given.as_object().cloned().unwrap_or_default())?,
        };
        match (&options.command, &options.url, options.input) {
            (Some(line), None, None) => {
                Self::command(line, options.args, options.working_directory.as_deref(), bridge)
            }
            (None, Some(_), None) => HttpRequest::parse(given).map(Self::Http),
            (None, None, Some(data)) => Ok(Self::Input { data, close: options.close }),
            _ => Err(Failure::invalid(format!(
                "`trigger` is {given}; it must have one of `command`, `url` \
                and `input`"
            ))
            .hint(
                "{command: \"curl …\"}, {url: \"http://127.0.0.1:5000/\", method?, body?} or {input: \
                    \"text\\n\"}",
            )),
        }
    }

    fn command(
        line: &str,
        more: Vec<String>,
        folder: Option<&str>,
        bridge: &Bridge,
    ) -> Result<Self, Failure> {
        let options = &bridge.options;
        if !options.offer.commands {
            return Err(Failure::new(
                ErrorCode::AccessDenied,
                "`trigger.command` is off: tandem-mcp was started without `--allow-commands`",
            )
            .hint(
                "trigger a request (`url`) or input (`input`); only the user who starts tandem-mcp can \
                allow commands",
            ));
        }
        let (program, words) = command_line::parse(line)?;
        let folder = options.roots.folder(folder)?;
        Ok(Self::Command(ProcessCommand::new(program, folder).args(words).args(more)))
    }

    fn description(&self) -> String {
        match self {
            Self::Command(command) => command.line(),
            Self::Http(request) => request.description(),
            Self::Input { data, .. } => format!("input of {} bytes", data.len()),
        }
    }

    async fn run(
        self,
        bridge: &Bridge,
        session: Option<&str>,
        cancel: CancellationToken,
    ) -> Result<Value, Failure> {
        match self {
            Self::Command(command) => {
                let output = commands::run(command, MAX_OUTPUT_BYTES, cancel, Arc::new(|_: &str| ())).await?;
                let mut result = json!({ "state": "ended" });
                for key in ["exitCode", "stdout", "stderr"] {
                    if output[key] != "" {
                        result[key] = output[key].clone();
                    }
                }
                Ok(result)
            }
            Self::Http(request) => request.send().await,
            Self::Input { data, close } => {
                let session = bridge.session(session).await?;
                let bytes = json!({ "data": data, "closeAfter": close });
                let root = session.root();
                let body = root
                    .ask_or_cancel("processWriteInput", bytes, INPUT_TIMEOUT + REQUEST_TIMEOUT, &cancel)
                    .await?;
                root.agent_view.forget_input_wait();
                Ok(json!({ "state": "ended", "bytesWritten": body["bytesWritten"] }))
            }
        }
    }
}

impl Triggers {
    fn with<T>(&self, work: impl FnOnce(&mut Vec<Arc<Trigger>>) -> T) -> T {
        work(&mut self.0.lock().unwrap_or_else(PoisonError::into_inner))
    }

    fn add(&self, trigger: &Arc<Trigger>) -> Result<(), Failure> {
        self.with(|all| {
            if all.len() >= MAX_TRIGGERS {
                let running: Vec<&str> = all.iter().map(|one| one.what.as_str()).collect();
                return Err(Failure::invalid(format!("{MAX_TRIGGERS} triggers run already"))
                    .data(json!({ "triggers": running }))
                    .hint("debug_wait reports their ends"));
            }
            all.push(Arc::clone(trigger));
            Ok(())
        })
    }

    /// Removes a trigger that the tool did not start, because the tool failed.
    pub fn forget(&self, own: Option<&Arc<Trigger>>) {
        let unfired = own.filter(|own| own.go.lock().unwrap_or_else(PoisonError::into_inner).is_some());
        if let Some(own) = unfired {
            self.with(|all| all.retain(|one| !Arc::ptr_eq(one, own)));
        }
    }

    /// Aborts all running triggers.
    pub fn close(&self) {
        self.with(Vec::clear);
    }

    /// Adds to an answer the results of triggers that have ended since the last one, and whether the
    /// call's own is still running.
    pub async fn report(&self, tool: &str, own: Option<&Arc<Trigger>>, answer: &mut Value) {
        if !WAITING.contains(&tool) || !answer.is_object() {
            return;
        }
        if let Some(own) = own {
            // This tool had nothing to wait for.
            own.fire();
            drop(tokio::time::timeout(TRIGGER_TIMEOUT, own.wait_until_ended()).await);
        }
        let ended: Vec<Value> = self.with(|all| {
            let ended = all.iter().filter_map(|one| one.outcome()).collect();
            all.retain(|one| one.outcome().is_none());
            ended
        });
        let running = own.filter(|own| own.outcome().is_none());
        let running = running.map(|own| json!({ "state": "running", "what": own.what }));
        let mut results: Vec<Value> = ended.into_iter().chain(running).collect();
        match results.len() {
            0 => {}
            1 => answer["trigger"] = results.remove(0),
            _ => answer["triggers"] = json!(results),
        }
    }
}
