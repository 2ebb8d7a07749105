//! Requests for the program's stdin and output: validated here, carried out by the broker.
//!
//! Not here: `output` events, which the writer of each client in `tandem-session` inserts.

use std::time::Duration;

use base64::Engine as _;
use serde::Deserialize;
use serde_json::Value;
use tandem_wire::Failure;
use tandem_wire::types::{
    self, EvaluateArguments, InputClosedBody, InputWaitBody, ReadInputBody, ReadOutputBody, WriteInputBody,
};

use super::{State, output_line};
use crate::event::{ClientRequest, IoAnswer, IoRequest, Ticket};
use crate::pending::{ClientInput, ReplyAction};
use tandem_process::input_wait::InputWaitKind;
use tandem_process::stdin::{InputProgress, InputRecord};
use tandem_process::terminal_size::TerminalSize;
use tandem_process::{OutputRead, ReadRequest, WaitPattern, WriteOutcome};

/// Maximum size of what one request may write, bytes.
const MAX_INPUT: usize = 16 * 1024 * 1024;
/// Maximum wait that a client may ask for.
const MAX_WAIT_TIMEOUT: Duration = Duration::from_secs(24 * 3600);

impl State {
    pub(super) fn write_input(&mut self, request: ClientRequest, arguments: &Value) {
        match write_arguments(arguments) {
            Ok(io) => self.request_io(request, io),
            Err(failure) => self.refuse(&request, failure),
        }
    }

    pub(super) fn read_output(&mut self, request: ClientRequest, arguments: &Value) {
        match read_arguments(arguments) {
            Ok(mut read) => {
                read.stopped = self.program.is_stopped();
                self.request_io(request, IoRequest::Read(read));
            }
            Err(failure) => self.refuse(&request, failure),
        }
    }

    pub(super) fn resize_terminal(&mut self, request: ClientRequest, arguments: &Value) {
        match TerminalSize::parse(arguments) {
            Ok(size) => self.request_io(request, IoRequest::Resize(size)),
            Err(failure) => self.refuse(&request, failure),
        }
    }

    /// A line with the prefix in the debug console is for the program; everything else is for the engine.
    pub(super) fn evaluate(&mut self, request: ClientRequest, arguments: Value) {
        let prefix = self.start.launch.console_input_prefix();
        let evaluate: EvaluateArguments = types::read(&arguments);
        if evaluate.context.as_deref() == Some("repl")
            && !prefix.is_empty()
            && let Some(line) = evaluate.expression.strip_prefix(&prefix)
        {
            let close = line == prefix;
            let data = if close { Vec::new() } else { format!("{line}\n").into_bytes() };
            return self.request_io(request, IoRequest::Write { data, close });
        }
        if types::require::<String>(&arguments, "expression").is_err() {
            return self.refuse(&request, Failure::invalid("`expression` is missing; it must be a string"));
        }
        self.inspect(request, arguments);
    }

    /// Sends the broker's reply to the client; reports input to the others.
    pub(super) fn receive_io_reply(&mut self, ticket: Ticket, result: Result<IoAnswer, Failure>) {
        match self.engine.pending.take(ticket) {
            Some(ReplyAction::Write { request, input }) => {
                self.report_written(&input, &result);
                self.respond(&request, result.map(body_of));
            }
            Some(ReplyAction::Io(request)) => self.respond(&request, result.map(body_of)),
            _ => {}
        }
    }

    /// Reports how much of a client's input the program's stdin took. A client that has left does not get the
    /// response, and cannot write the rest.
    fn report_written(&mut self, input: &ClientInput, result: &Result<IoAnswer, Failure>) {
        let InputProgress { bytes_written } = match result {
            Ok(IoAnswer::Written(written)) => {
                self.report_input(input, written.bytes_written, input.closes);
                if written.stdin_closed {
                    let body = InputClosedBody { client: input.author.name.clone() };
                    self.broadcast("inputClosed", &types::body(&body));
                }
                return;
            }
            Ok(_) => return,
            Err(failure) => types::read(&failure.data),
        };
        if bytes_written > 0 {
            self.report_input(input, bytes_written, false);
        }
        if self.clients.get(input.author.id).is_none() && self.program.is_live() {
            let ClientInput { author, size, .. } = input;
            let line = format!(
                "{} left while it wrote to the program's stdin, which took {bytes_written} of {size} bytes",
                author.name
            );
            self.broadcast_to_joined("output", &output_line("console", &line));
        }
    }
}

/// The body for the client.
fn body_of(answer: IoAnswer) -> Value {
    match answer {
        IoAnswer::Written(WriteOutcome { bytes_written, stdin_closed }) => {
            types::body(&WriteInputBody { bytes_written, stdin_closed, ..WriteInputBody::default() })
        }
        IoAnswer::Output(output) => types::body(&output_body(output)),
        IoAnswer::Input(input) => types::body(&input_body(input)),
        IoAnswer::Resized => types::body(&serde_json::Map::new()),
    }
}

fn output_body(output: OutputRead) -> ReadOutputBody {
    ReadOutputBody {
        cursor: output.cursor,
        dropped: output.dropped,
        wait: InputWaitBody {
            waiting_for_input: output.waiting_for_input.is_some(),
            takes_keys: output.waiting_for_input == Some(InputWaitKind::ForKeys),
            wait_id: output.wait_id,
        },
        suspended_process: output.suspended_process,
        exited: output.exited,
        screen: output.screen,
        stdout_bytes: output.stdout.as_ref().map(String::len),
        stdout: output.stdout,
        stderr_bytes: output.stderr.as_ref().map(String::len),
        stderr: output.stderr,
        skipped: output.skipped,
        matched: output.matched,
    }
}

/// The clients' input: text, or base64 if it is not text.
fn input_body(input: InputRecord) -> ReadInputBody {
    let (bytes, closed) = (input.bytes, input.closed);
    let complete = bytes == input.data.len() as u64;
    let (data, encoding) = match String::from_utf8(input.data) {
        Ok(text) => (text, "utf8"),
        Err(error) => (base64::engine::general_purpose::STANDARD.encode(error.into_bytes()), "base64"),
    };
    ReadInputBody { bytes, closed, complete, data, encoding: encoding.into() }
}

/// The arguments of `processWriteInput` without its flag.
#[derive(Debug, Default, Deserialize)]
#[serde(default)]
struct ProcessInputArguments {
    #[serde(deserialize_with = "types::optional")]
    data: Option<String>,
    #[serde(deserialize_with = "types::optional")]
    encoding: Option<String>,
}

fn write_arguments(arguments: &Value) -> Result<IoRequest, Failure> {
    let ProcessInputArguments { data, encoding } = types::read(arguments);
    let Some(text) = data else {
        return Err(Failure::invalid("`data` is missing; it must be a string"));
    };
    let data = match encoding.as_deref().unwrap_or("utf8") {
        "utf8" => text.into_bytes(),
        "base64" => base64::engine::general_purpose::STANDARD
            .decode(text)
            .map_err(|error| Failure::invalid(format!("`data` is not base64: {error}")))?,
        other => {
            return Err(Failure::invalid(format!("`encoding` is `{other}`; it must be `utf8` or `base64`")));
        }
    };
    if data.len() > MAX_INPUT {
        let message = format!("`data` has {} bytes; one request may write {MAX_INPUT}", data.len());
        return Err(Failure::invalid(message).hint("write it in parts"));
    }
    Ok(IoRequest::Write { data, close: flag(arguments, "closeAfter")? })
}

fn read_arguments(arguments: &Value) -> Result<ReadRequest, Failure> {
    let (stdout, stderr) = match &arguments["stream"] {
        Value::Null => (true, true),
        Value::String(stream) if stream == "both" => (true, true),
        Value::String(stream) if stream == "stdout" => (true, false),
        Value::String(stream) if stream == "stderr" => (false, true),
        other => {
            let text = other.as_str().map_or_else(|| other.to_string(), str::to_owned);
            return Err(Failure::invalid(format!(
                "invalid stream: '{text}'. Must be 'stdout', 'stderr', or 'both'"
            )));
        }
    };
    let wait_for = text(arguments, "waitFor")?.map(|text| WaitPattern::parse(&text)).transpose()?;
    let number = |key: &str| match &arguments[key] {
        Value::Null => Ok(None),
        value => value
            .as_u64()
            .map(Some)
            .ok_or_else(|| Failure::invalid(format!("`{key}` must be a number of at least 0, not {value}"))),
    };
    Ok(ReadRequest {
        stdout,
        stderr,
        clear: flag(arguments, "clear")?,
        since: text(arguments, "since")?,
        max_bytes: number("maxBytes")?.map(|bytes| usize::try_from(bytes).unwrap_or(usize::MAX)),
        newest: flag(arguments, "newest")?,
        wait_for,
        timeout: number("timeoutMs")?.map(|ms| Duration::from_millis(ms).min(MAX_WAIT_TIMEOUT)),
        screen: flag(arguments, "screen")?,
        stopped: false,
    })
}

fn flag(arguments: &Value, key: &str) -> Result<bool, Failure> {
    match &arguments[key] {
        Value::Null => Ok(false),
        Value::Bool(value) => Ok(*value),
        other => Err(Failure::invalid(format!("`{key}` must be true or false, not {other}"))),
    }
}

fn text(arguments: &Value, key: &str) -> Result<Option<String>, Failure> {
    match &arguments[key] {
        Value::Null => Ok(None),
        Value::String(text) => Ok(Some(text.clone())),
        other => Err(Failure::invalid(format!("`{key}` must be a string, not {other}"))),
    }
}
