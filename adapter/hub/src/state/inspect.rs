//! Requests that pass to the engine: only the ids change on the way.
//!
//! Not here: requests that resume the program ([`super::control`]) or set breakpoints
//! ([`super::breakpoints`]).

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use serde::Deserialize;
use serde_json::Value;
use tandem_wire::command::{self, ChangedState, RequiredState};
use tandem_wire::types::{
    self, CancelArguments, EvaluateArguments, EvaluationEffects, MemoryEventBody, WriteMemoryArguments,
    WriteMemoryResponseBody,
};
use tandem_wire::{ErrorCode, Failure};

use super::session_changes::{EvaluationReport, MemoryWritten, ValueSet, excerpt};
use super::{ENGINE_TIMEOUT, SOURCE_TIMEOUT, State, invalidated};
use crate::access::AgentAccess;
use crate::clients::ClientKind;
use crate::event::{ClientId, ClientRequest, HubEffect};
use crate::look_only;
use crate::pending::{ReplyAction, SideEffect};
use tandem_engine::{EngineRequest, builds};

/// Whether an evaluation must not change the program.
fn forbids_effects(arguments: &Value) -> bool {
    types::read::<EvaluationEffects>(arguments).allow_side_effects == Some(false)
}

/// The effect that a request of this kind of client may have.
fn side_effect(kind: ClientKind, request: &EngineRequest) -> SideEffect {
    let (command, arguments) = (request.command(), request.arguments());
    let text = |key: &str| arguments[key].as_str().map(excerpt);
    match command::find(command).map_or(ChangedState::Nothing, |row| row.changes) {
        ChangedState::Value(name) => {
            let set = ValueSet { name: text(name), value: text("value") };
            SideEffect::Values("valueSet", types::body(&set))
        }
        ChangedState::Evaluation => {
            let evaluate: EvaluateArguments = types::read(arguments);
            // An expression that a person types may assign or call; a watch or a hover must not, and an
            // editor evaluates them at each stop. An agent's expression may, in any context.
            let may_change = match evaluate.context.as_deref() {
                _ if forbids_effects(arguments) => false,
                _ if matches!(request, EngineRequest::LookOnly { .. }) => false,
                None | Some("repl") => true,
                Some("hover") => false,
                Some(_) => kind == ClientKind::Agent,
            };
            if may_change {
                let evaluated = EvaluationReport { expression: text("expression") };
                SideEffect::Values("evaluated", types::body(&evaluated))
            } else {
                SideEffect::None
            }
        }
        ChangedState::Memory => {
            let WriteMemoryArguments { memory_reference, offset, data, .. } = types::read(arguments);
            SideEffect::Memory(MemoryEventBody {
                memory_reference,
                offset: offset.unwrap_or_default(),
                count: STANDARD.decode(data).map_or(0, |data| types::integer(data.len())),
            })
        }
        ChangedState::Breakpoints | ChangedState::Nothing => SideEffect::None,
    }
}

/// Whether a request for data names no frame and no variable of a stop: by DAP it is about the global scope.
fn is_of_global_data(request: &EngineRequest) -> bool {
    let DataScope { frame_id, variables_reference } = types::read(request.arguments());
    request.command() == "dataBreakpointInfo"
        && frame_id.is_none()
        && variables_reference.unwrap_or_default() == 0
}

/// The arguments of `dataBreakpointInfo` (DAP), as far as they name a stop.
#[derive(Debug, Default, Deserialize)]
#[serde(default, rename_all = "camelCase")]
struct DataScope {
    #[serde(deserialize_with = "types::optional")]
    frame_id: Option<i64>,
    #[serde(deserialize_with = "types::optional")]
    variables_reference: Option<i64>,
}

impl State {
    /// Prepares a request for the engine: the program is in the phase that the command needs, and the
    /// arguments get the engine's ids.
    pub(super) fn prepare(&self, request: &ClientRequest, arguments: &mut Value) -> Result<(), Failure> {
        match command::needs(&request.command) {
            RequiredState::Stop => self.program.need_stop(&request.command)?,
            RequiredState::Program | RequiredState::Nothing => self.program.need_program()?,
        }
        if request.command == "evaluate" && forbids_effects(arguments) {
            self.need_known_effects()?;
        }
        match self.clients.get(request.client) {
            Some(client) => client.protocol.ids.to_engine(arguments),
            None => Ok(()),
        }
    }

    /// Refuses an evaluation without side effects where the engine does not know what an expression does.
    fn need_known_effects(&self) -> Result<(), Failure> {
        match self.engine.started() {
            Some(engine) if !engine.look_only.include("evaluate") => Err(Failure::new(
                ErrorCode::Unsupported,
                format!("the engine {} does not know whether an expression has side effects", engine.name),
            )
            .hint("evaluate it without `allowSideEffects: false`, or look at variables")),
            _ => Ok(()),
        }
    }

    /// Passes a request to the engine with the engine's ids.
    pub(super) fn inspect(&mut self, request: ClientRequest, mut arguments: Value) {
        if let Err(failure) = self.prepare(&request, &mut arguments) {
            return self.refuse(&request, failure);
        }
        let client = self.clients.get(request.client);
        let kind = client.map_or(ClientKind::Editor, |client| client.identity.kind);
        let is_look_only = client.is_some_and(|client| self.access.of(client) != AgentAccess::Full);
        let command = request.command.as_str();
        let engine_request = match is_look_only {
            true => look_only::engine_request(command, arguments),
            false => EngineRequest::dap(command, arguments),
        };
        let effect = side_effect(kind, &engine_request);
        let belongs_to_stop = command::needs_stop(command) && !is_of_global_data(&engine_request);
        let stop = belongs_to_stop.then_some(self.program.stop_count());
        let fetches =
            command == "source" && self.engine.started().is_some_and(|engine| engine.fetches_sources);
        let deadline = if fetches { SOURCE_TIMEOUT } else { ENGINE_TIMEOUT };
        self.send_to_engine(ReplyAction::Inspect { request, stop, effect }, engine_request, deadline);
    }

    /// Passes the engine's reply to the client with the client's ids; `stop` is the stop of the request.
    pub(super) fn receive_inspect_reply(
        &mut self,
        request: &ClientRequest,
        stop: Option<u64>,
        effect: SideEffect,
        result: Result<Value, Failure>,
    ) {
        let result = result.and_then(|mut body| {
            // The stop of the request is over: its frames and variables would be stale from the start.
            if stop.is_some_and(|stop| stop != self.program.stop_count()) {
                let message = format!("the program resumed before `{}` was answered", request.command);
                return Err(Failure::new(ErrorCode::NotStopped, message).quiet());
            }
            if request.command == "dataBreakpointInfo" {
                self.record_data_id(&body, stop);
            }
            if let Some(client) = self.clients.get_mut(request.client) {
                client.protocol.ids.to_client(&mut self.counter, &request.command, &mut body);
            }
            Ok(body)
        });
        let is_look_only = self
            .clients
            .get(request.client)
            .is_some_and(|client| self.access.of(client) != AgentAccess::Full);
        if is_look_only && result.as_ref().is_err_and(|failure| failure.code == ErrorCode::AccessDenied) {
            self.report_refused(request);
        }
        let written = result.as_ref().ok().map(|body| match &effect {
            SideEffect::Memory(_) => types::read::<WriteMemoryResponseBody>(body).bytes_written,
            SideEffect::Values(..) | SideEffect::None => None,
        });
        self.respond(request, result);
        if let Some(written) = written {
            self.report_side_effect(request.client, effect, written);
        }
    }

    /// Notifies all other clients of what a request changed. `written`: bytes of memory; an engine need not
    /// return them when it has written all.
    fn report_side_effect(&mut self, by: ClientId, effect: SideEffect, written: Option<i64>) {
        match effect {
            SideEffect::None => return,
            SideEffect::Memory(body) => {
                let bytes = written.unwrap_or(body.count);
                let body = MemoryEventBody { count: bytes, ..body };
                self.broadcast_except(Some(by), "memory", &types::body(&body));
                let name = body.memory_reference;
                self.report_change(by, "valueSet", &MemoryWritten { name, bytes });
            }
            SideEffect::Values(change, details) => self.report_change(by, change, &details),
        }
        self.broadcast_except(Some(by), "invalidated", &invalidated("variables"));
    }

    /// Cancels the launch or restart that waits for a build, and the build with it. The client must have the
    /// access to end the program.
    fn cancel_build(&mut self, by: ClientId, progress_id: &str) {
        let may = self.clients.get(by).is_some_and(|client| self.access.of(client) == AgentAccess::Full);
        if may && progress_id.starts_with(builds::PROGRESS) && self.program.replay.is_in_progress(progress_id)
        {
            self.cancel_all(self.engine.pending.launches());
        }
    }

    /// `cancel`: the cancelled request gets its own response; cancelling what is over is not an error.
    pub(super) fn cancel(&mut self, request: &ClientRequest, arguments: &Value) {
        let cancel: CancelArguments = types::read(arguments);
        if let Some(seq) = cancel.request_id
            && let Some(ticket) = self.engine.pending.of_request(request.client, seq)
        {
            self.effects.push(HubEffect::Cancel { ticket });
        }
        if cancel.request_id.is_some() {
            self.cancel_following(request.client, cancel.request_id);
        }
        if let Some(id) = cancel.progress_id {
            self.cancel_build(request.client, &id);
        }
        self.respond(request, Ok(Value::Null));
    }
}
