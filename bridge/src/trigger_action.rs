//! Actions that an agent starts while it waits for a stop: a command, an HTTP request to this machine, or
//! input for the program. The tool defines the stop that it waits for; `--allow-commands` decides about
//! commands.

mod http;

use std::sync::Arc;
use std::time::Duration;

use schemars::JsonSchema;
use serde::Deserialize;
use serde_json::Value;
use tandem_wire::{ErrorCode, Failure};
use tandem_workspace::command_line;
use tandem_workspace::commands::{self, CommandResult};
use tandem_workspace::process::ProcessCommand;
use tokio_util::sync::CancellationToken;

use crate::arguments::schema::{self, ObjectOrText};
use crate::call::SharedArguments;
use crate::server::Bridge;
use crate::session::REQUEST_TIMEOUT;
use crate::session::requests::WriteInputArguments;
use crate::trigger::{Trigger, TriggerOutcome};
use http::HttpRequest;

/// Output of a command, bytes of each stream.
const MAX_OUTPUT_BYTES: usize = 2048;
/// Time limit for the program to read the input.
const INPUT_TIMEOUT: Duration = Duration::from_secs(600);

#[derive(Debug)]
enum TriggerAction {
    Command(ProcessCommand),
    Http(HttpRequest),
    Input { data: String, close: bool },
}

/// Makes ready what a call that waits for a stop triggers; [`Trigger::fire`] starts it.
///
/// # Errors
/// `INVALID_PARAMETER`, `ACCESS_DENIED` for a command that is not allowed; `CANCELLED` never.
pub fn prepare(bridge: &Bridge, shared: &SharedArguments) -> Result<Option<Arc<Trigger>>, Failure> {
    let Some(ObjectOrText(given)) = &shared.trigger else { return Ok(None) };
    let action = TriggerAction::parse(given, bridge)?;
    // A weak handle: a trigger that never ends must not keep the sessions alive.
    let (weak, _) = bridge.without_last();
    let session = shared.session.clone();
    let what = action.description();
    let trigger =
        Trigger::new(what, |cancel| async move { action.run(&weak, session.as_deref(), cancel).await });
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
                return HttpRequest::to_url(line).map(Self::Http);
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
    ) -> Result<TriggerOutcome, Failure> {
        match self {
            Self::Command(command) => {
                let output = commands::run(command, MAX_OUTPUT_BYTES, cancel, Arc::new(|_: &str| ())).await?;
                let CommandResult { exit_code, stdout, stderr, .. } = output;
                Ok(TriggerOutcome::Command { exit_code, stdout, stderr })
            }
            Self::Http(request) => request.send().await,
            Self::Input { data, close } => {
                let session = bridge.session(session).await?;
                let input = WriteInputArguments { data, close_after: close, encoding: None };
                let root = session.root();
                let body = root.send_or_cancel(&input, INPUT_TIMEOUT + REQUEST_TIMEOUT, &cancel).await?;
                root.agent_view.forget_input_wait();
                Ok(TriggerOutcome::Input { bytes_written: body.bytes_written })
            }
        }
    }
}
