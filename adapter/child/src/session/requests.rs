//! Sends requests to the adapter, and explains with the end of its stderr why it did not answer.
//!
//! Not here: requests of the adapter ([`super::reverse`]).

use std::path::PathBuf;
use std::sync::Arc;
use std::time::Duration;

use serde_json::Value;
use tandem_wire::command::{Execution, execution, find};
use tandem_wire::peer::Peer;
use tandem_wire::{ErrorCode, Failure, types};
use tokio::sync::watch;
use tokio_util::sync::CancellationToken;

use super::super::capability_gate;
use super::super::connection::{
    self, AdapterProcess, LastLines, MAX_STDERR_TAIL_LEN, STDERR_TAIL_TIMEOUT, with_stderr_tail,
};
use super::super::plain_text;
use super::super::profile::Profile;
use super::super::request_order;
use super::super::state::{ChildEvent, ChildState};
use super::{AdapterSession, REQUEST_TIMEOUT, suspension};
use tandem_process::{Broker, Child, ExitInfo};

/// How long the end of a program may take to be noticed after its adapter has refused to resume it.
const LATE_END_GRACE: Duration = Duration::from_millis(500);

/// Whether the program runs after this request.
pub(super) fn resumes(command: &str) -> bool {
    matches!(execution(command), Execution::Continue | Execution::Step)
}

/// A dead adapter cannot resume anything, even if it has answered that it does.
pub(super) fn core_does_not_run(command: &str) -> Failure {
    let message = format!("`{command}` needs a program that runs; this session looks at a core file");
    Failure::new(ErrorCode::Unsupported, message).hint("launch the program to run it").quiet()
}

impl AdapterSession {
    /// Whether the program is a core file.
    pub(super) fn is_core(&self) -> bool {
        self.live().as_ref().is_some_and(|live| !live.plan.launched && live.target.names_any(&["coreFile"]))
    }

    /// Whether the adapter announced it as a capability.
    pub(super) fn can(&self, capability: &str) -> bool {
        self.live().as_ref().is_some_and(|live| live.capabilities[capability] == true)
    }

    /// Whether the adapter has this capability, and does not only announce it.
    pub(super) fn offers(&self, capability: &str) -> bool {
        let mut known = Value::clone(&self.capabilities());
        self.profile.complete_capabilities(&mut known);
        known[capability] == true
    }

    pub(super) fn capabilities(&self) -> Arc<Value> {
        self.live().as_ref().map(|live| live.capabilities.clone()).unwrap_or_default()
    }

    pub(super) fn peer(&self) -> Result<Peer, Failure> {
        let gone = || Failure::new(ErrorCode::EngineFailed, "the debug adapter is not running");
        self.live().as_ref().map(|live| live.connection.peer.clone()).ok_or_else(gone)
    }

    /// Sends a request to the adapter; a failure of the adapter itself quotes the last lines of its stderr.
    pub(super) async fn ask(
        &self,
        command: &str,
        mut arguments: Value,
        cancel: &CancellationToken,
    ) -> Result<Value, Failure> {
        self.profile.adapt_request(command, &mut arguments);
        match execution(command) {
            Execution::Unchanged => {}
            Execution::Step => {
                self.learn(|known| known.step.begin(&arguments));
                drop(self.decide(ChildEvent::RequestSent(Execution::Step)));
            }
            // It has no effects.
            moves => drop(self.decide(ChildEvent::RequestSent(moves))),
        }
        let (peer, context) = (self.peer()?, self.exit_context());
        let asked = self.assigns_in_top_frame_only().then(|| arguments.clone());
        let outcome = tokio::select! {
            biased;
            outcome = peer.request_or_cancel(command, arguments, REQUEST_TIMEOUT, cancel) => outcome,
            failure = async {
                // The request was sent when it was polled, before this.
                request_order::note_sent(command);
                suspension::wait_for_suspension(self, command).await
            } => return Err(failure),
        };
        let silent = self.live().as_ref().is_some_and(|live| {
            // An adapter inside the program ends with it, wherever the program calls `_exit`.
            live.plan.quirks.ends_silently || matches!(live.connection.process, AdapterProcess::Program(_))
        });
        match outcome {
            // The program resumed, and the adapter ended before it could answer.
            Err(_) if silent && peer.is_closed() && resumes(command) => Ok(Value::Null),
            Err(failure) if cancel.is_cancelled() && !resumes(command) => Err(given_up(failure, command)),
            Err(failure) if peer.is_closed() && failure.code == ErrorCode::EngineFailed => {
                let when = format!("before it answered `{command}`");
                Err(match context {
                    Some(witness) => Box::pin(witness.explain_exit(&when)).await,
                    None => failure,
                })
            }
            // Nor can an adapter resume a program that it finds gone.
            Err(failure)
                if resumes(command) && failure.code != ErrorCode::Cancelled && self.program_ends().await =>
            {
                tracing::debug!(%failure, command, "the program ended as it resumed");
                Ok(Value::Null)
            }
            Err(failure) if failure.code == ErrorCode::Timeout => {
                let words = Box::pin(self.stderr_tail()).await;
                let quoted = if words.is_empty() { words } else { format!("; end of its stderr: {words}") };
                Err(Failure { message: format!("{}{quoted}", failure.message), ..failure })
            }
            // A refusal of what was typed: no dialog for the user.
            Err(failure) if find(command).is_some_and(|spec| spec.typed) => {
                let failure = plain_text::strip_failure(failure);
                Err(evaluation_failed(self.profile.explain_failure(failure), command))
            }
            Err(failure) => Err(self.profile.explain_failure(plain_text::strip_failure(failure))),
            Ok(mut answer) => {
                plain_text::strip_messages(&mut answer);
                if let Some(failure) = self.profile.failure_in_answer(command, &answer) {
                    return Err(failure);
                }
                self.profile.adapt_incoming(command, &mut answer);
                self.learn(|known| {
                    known.elements.learn(command, &answer);
                    if let Some(arguments) = asked {
                        known.lower_frames.learn(command, &arguments, &answer);
                    }
                });
                Ok(answer)
            }
        }
    }

    /// Whether the program has ended, or ends within a moment.
    async fn program_ends(&self) -> bool {
        let exit = self.own_exit();
        let exited = async {
            match exit {
                Some(mut exit) => drop(connection::wait_for_exit(&mut exit).await),
                None => std::future::pending().await,
            }
        };
        tokio::select! {
            () = exited => true,
            reported = self.wait_for_state(LATE_END_GRACE, ChildState::is_end_reported) => reported,
        }
    }

    /// Has objects shown by their fields, before the first request for variables. If that fails
    /// they are shown as before.
    pub(super) async fn prepare_summaries(&self, frame: Option<i64>, cancel: &CancellationToken) {
        if frame.is_none() || self.learn(|known| std::mem::replace(&mut known.summarizes, true)) {
            return;
        }
        let Some(expression) = self.profile.summaries() else { return };
        let arguments = types::watch(&expression, frame);
        if let Err(failure) = request_order::prepare(self.ask("evaluate", arguments, cancel)).await {
            tracing::debug!(%failure, "objects are shown without their fields");
            self.learn(|known| known.summarizes = !cancel.is_cancelled());
        }
    }

    /// Sends a request that is not DAP's, to an adapter that may not know it either.
    pub(super) async fn ask_its_own(
        &self,
        command: &str,
        arguments: Value,
        cancel: &CancellationToken,
    ) -> Result<Value, Failure> {
        let lines = self.live().as_ref().and_then(|live| live.connection.process.lines());
        let Some(lines) = lines else { return self.ask(command, arguments, cancel).await };
        let before = lines.count();
        tokio::select! {
            biased;
            outcome = self.ask(command, arguments, cancel) => outcome,
            () = lines.wait_for_line(before, |line| self.profile.unknown_request_in(line) == Some(command)) =>
                Err(capability_gate::refusal(command, self.profile.name())),
        }
    }

    /// The source of the reason why the adapter broke, also after the session has released it.
    fn exit_context(&self) -> Option<ExitContext> {
        self.live().as_ref().map(|live| ExitContext {
            program: live.plan.spec.program.clone(),
            profile: self.profile.clone(),
            peer: live.connection.peer.clone(),
            exit: live.connection.process.child().map(Child::exit),
            lines: live.connection.process.lines(),
            inside: matches!(live.connection.process, AdapterProcess::Program(_))
                .then(|| self.broker.clone()),
        })
    }

    pub(super) async fn stderr_tail(&self) -> String {
        match self.exit_context() {
            Some(witness) => witness.stderr_tail().await,
            None => String::new(),
        }
    }

    pub(super) async fn explain_exit(&self, when: &str) -> Failure {
        match self.exit_context() {
            Some(witness) => witness.explain_exit(when).await,
            None => {
                with_stderr_tail(format!("the debug adapter `{}` hung up {when}", self.profile.name()), "")
            }
        }
    }
}

/// Data to explain the adapter's exit. It is collected before a request waits: the first task that notices
/// the exit clears the session, and the others must still be able to explain it.
struct ExitContext {
    /// Nothing when it is another session's.
    program: PathBuf,
    profile: Arc<dyn Profile>,
    peer: Peer,
    exit: Option<watch::Receiver<Option<ExitInfo>>>,
    lines: Option<LastLines>,
    /// When the adapter is inside the program: the program's stderr is its own.
    inside: Option<Broker>,
}

impl ExitContext {
    async fn stderr_tail(&self) -> String {
        match (&self.lines, &self.inside) {
            (Some(lines), _) => {
                lines.wait_for_output_end().await;
                lines.text()
            }
            (None, Some(broker)) => {
                broker.drain_output();
                broker.stderr_tail(MAX_STDERR_TAIL_LEN)
            }
            (None, None) => String::new(),
        }
    }

    async fn explain_exit(mut self, when: &str) -> Failure {
        let words = self.stderr_tail().await;
        let mut code = None;
        if let Some(exit) = &mut self.exit {
            // It has hung up; most likely it has ended too.
            code = tokio::time::timeout(STDERR_TAIL_TIMEOUT, connection::wait_for_exit(exit)).await.ok();
        }
        let how = match (self.peer.protocol_error(), code) {
            (Some(why), _) => format!("broke the protocol ({why})"),
            (None, Some(info)) => format!("ended with {info}"),
            (None, None) => "hung up".into(),
        };
        let name = match self.program.display().to_string() {
            none if none.is_empty() => self.profile.name().to_owned(),
            program => program,
        };
        with_stderr_tail(format!("the debug adapter `{name}` {how} {when}"), &words)
    }
}

/// The failure of a cancelled request. An adapter that gives one up says so in its own way, or only how that
/// failed.
fn given_up(failure: Failure, command: &str) -> Failure {
    tracing::debug!(%failure, command, "the adapter gave up a cancelled request");
    Failure::cancelled()
}

/// An adapter's refusal of something typed.
fn evaluation_failed(mut failure: Failure, command: &str) -> Failure {
    if failure.code == ErrorCode::EngineFailed && command != "completions" {
        failure.code = ErrorCode::EvaluationFailed;
    }
    if let Some(foreign) = &mut failure.foreign
        && let Some(show) = foreign.body.pointer_mut("/error/showUser")
    {
        *show = Value::Bool(false);
    }
    failure.quiet()
}
