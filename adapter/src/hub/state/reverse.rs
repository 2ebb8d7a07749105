//! What the engine asks of a client: `runInTerminal` and `startDebugging` go to one that said it can.
//!
//! The client that launched comes first, then whoever came first. Agents do not run things on a person's screen, so
//! one that did not launch is asked only with full access. A client that leaves before it answers is followed by the
//! next; one that is only silent is not, since it may have opened the terminal already. The engine gets one answer.

use std::collections::{BTreeMap, BTreeSet};
use std::time::Duration;

use dap_wire::{ErrorCode, Failure, Message, Request, Response};
use serde_json::{Value, json};

use super::{Phase, State};
use crate::engine::CHILD_SESSION;
use crate::hub::access::AgentAccess;
use crate::hub::clients::Stage;
use crate::hub::event::{Ask, ClientId, Effect, Timer};

/// How long a client may take to open a terminal or to start a session.
const ASK_DEADLINE: Duration = Duration::from_secs(30);

/// Reverse requests without an answer.
#[derive(Debug, Default)]
pub(super) struct Reverse {
    pub(super) open: BTreeMap<Ask, Open>,
    last: i64,
}

/// One of them, while a client has it.
#[derive(Debug)]
pub(super) struct Open {
    /// The engine's number for it.
    engine: i64,
    command: String,
    arguments: Value,
    client: ClientId,
    /// Who has been asked, so that nobody is asked twice.
    asked: BTreeSet<ClientId>,
}

impl State {
    pub(super) fn engine_asks(&mut self, engine: i64, command: String, arguments: Value) {
        if self.ending || matches!(self.phase, Phase::Over { .. }) {
            return self
                .effects
                .push(Effect::AnswerEngine { ask: engine, result: Err(Failure::cancelled()) });
        }
        if engine == CHILD_SESSION {
            self.child_came(&arguments["configuration"]);
        }
        self.reverse.last += 1;
        let ask = Ask(self.reverse.last);
        let open = Open { engine, command, arguments, client: ClientId(0), asked: BTreeSet::new() };
        if self.ask_next_client(ask, open) {
            self.effects.push(Effect::StartTimer { timer: Timer::Ask(ask), after: ASK_DEADLINE });
        }
    }

    /// A program that this one started has a session now. One client is asked to open it; all who subscribed are told, so
    /// that whoever waits for a stop can wait there, too.
    fn child_came(&mut self, configuration: &Value) {
        let id = &configuration["session"];
        let name = configuration["name"].as_str().unwrap_or_default();
        let name = name.strip_suffix(&format!(" ({})", id.as_str().unwrap_or_default())).unwrap_or(name);
        let child = json!({ "session": id, "name": name });
        self.facts.note_child(child.clone());
        let changed = json!({ "session": self.session, "change": "child", "child": child });
        self.tell_all("sessionChanged", &changed);
    }

    /// Passes the request to the first capable client that has not had it; without one the engine is told so.
    fn ask_next_client(&mut self, ask: Ask, mut open: Open) -> bool {
        let mut capable: Vec<_> = self
            .clients
            .iter()
            .filter(|client| (Stage::Joined..Stage::Leaving).contains(&client.stage))
            .filter(|client| self.access_of(client) == AgentAccess::Full)
            .filter(|client| client.serves(&open.command) && !open.asked.contains(&client.id))
            .collect();
        capable.sort_by_key(|client| (!client.launched, client.id));
        let Some(client) = capable.first() else {
            let message = format!("no client of this session can carry out `{}`", open.command);
            let failure = Failure::new(ErrorCode::Unsupported, message)
                .hint("a client says that it can when it introduces itself in `initialize`");
            self.effects.push(Effect::AnswerEngine { ask: open.engine, result: Err(failure) });
            return false;
        };
        let mut arguments = open.arguments.clone();
        if !client.announced.shell
            && let Some(arguments) = arguments.as_object_mut()
        {
            arguments.shift_remove("argsCanBeInterpretedByShell");
        }
        open.client = client.id;
        open.asked.insert(client.id);
        // The writer numbers it anew and the reader undoes that: in here its number is ours.
        let request = Request { seq: ask.0, command: open.command.clone(), arguments };
        self.effects.push(Effect::Send { client: client.id, message: Message::Request(request) });
        self.reverse.open.insert(ask, open);
        true
    }

    /// A client answered a reverse request. Too late, or not asked, is no answer.
    pub(super) fn client_answered(&mut self, client: ClientId, response: Response) {
        let ask = Ask(response.request_seq);
        if self.reverse.open.get(&ask).is_none_or(|open| open.client != client) {
            tracing::debug!(%client, command = response.command, "an answer nobody waits for");
            return;
        }
        if let Some(open) = self.reverse.open.remove(&ask) {
            self.effects.push(Effect::AnswerEngine { ask: open.engine, result: response.into_result() });
        }
    }

    pub(super) fn ask_timed_out(&mut self, ask: Ask) {
        let Some(open) = self.reverse.open.remove(&ask) else { return };
        let message = format!(
            "{} did not answer `{}` within {} s",
            self.name_of(open.client),
            open.command,
            ASK_DEADLINE.as_secs()
        );
        let failure = Failure::new(ErrorCode::Timeout, message);
        self.effects.push(Effect::AnswerEngine { ask: open.engine, result: Err(failure) });
    }

    /// A client left: what it was asked goes to the next one.
    pub(super) fn pass_asks_of(&mut self, client: ClientId) {
        let its: Vec<Ask> =
            self.reverse.open.iter().filter(|(_, open)| open.client == client).map(|(ask, _)| *ask).collect();
        for ask in its {
            if let Some(open) = self.reverse.open.remove(&ask) {
                self.ask_next_client(ask, open);
            }
        }
    }

    /// Nobody needs the answers any more; the engine still gets one for each.
    pub(super) fn abandon_asks(&mut self, failure: &Failure) {
        for open in std::mem::take(&mut self.reverse.open).into_values() {
            self.effects.push(Effect::AnswerEngine { ask: open.engine, result: Err(failure.clone()) });
        }
    }
}
