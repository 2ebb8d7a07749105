//! `restart`: another program in the same session. Clients, their breakpoints and the output stay; nobody is told that
//! the session ended, because it did not.
//!
//! The hub does it for every engine: the old engine lets go of its program, a new one is made and gets the launch and
//! everybody's breakpoints. What an adapter calls restart differs too much (some forget breakpoints, or whose stdio it is).

use dap_wire::{ErrorCode, Failure};
use serde_json::{Value, json};

use super::lifecycle::{ENDING_DEADLINE, LAUNCH_DEADLINE};
use super::{ENGINE_DEADLINE, Phase, State, terminate};
use crate::engine::EngineEvent;
use crate::hub::event::Effect;
use crate::hub::pending::{Asked, Waiter};

/// A restart under way.
#[derive(Debug)]
pub(super) struct Restart {
    /// Who is owed the answer.
    asked: Asked,
    /// What the new program is launched with.
    arguments: Value,
    /// The old engine has let go; what is said now is said by the new one.
    relaunched: bool,
}

impl State {
    pub(super) fn restart(&mut self, asked: Asked, arguments: &Value) {
        let checked = self.need_program().and_then(|()| match &self.restart {
            // Not every engine can come back to a process it let go of; a new host always can.
            None if self.attached => Err(Failure::new(
                ErrorCode::Unsupported,
                "a process that was attached to cannot be restarted: this session did not start it",
            )
            .hint("disconnect, and attach again")),
            Some(restart) => {
                let name = self.name_of(restart.asked.client);
                Err(not_now(format!("{name} restarts the program already")))
            }
            None if !self.configured || self.phase == Phase::Starting || self.ending => {
                Err(not_now("the program is just being started or ended".into()))
            }
            None => Ok(()),
        });
        if let Err(failure) = checked {
            return self.refuse(&asked, failure);
        }
        // A client that joined has its own `attach` for its arguments: only what can stand alone replaces the launch.
        let new = &arguments["arguments"];
        let whole = ["program", "project"].iter().any(|key| !new[key].is_null());
        let arguments = if whole { new.clone() } else { self.launch.clone() };
        self.limit = match terminate::limit(&arguments, false) {
            Ok(limit) => limit,
            Err(failure) => return self.refuse(&asked, failure),
        };
        let by = self.name_of(asked.client);
        self.forget_program(&by);
        self.tell_deed(asked.client, "restarted", &Value::Null);
        self.restart = Some(Restart { asked, arguments, relaunched: false });
        let goodbye = json!({ "restart": true, "terminateDebuggee": true });
        self.ask_engine(Waiter::Restarting, "disconnect", goodbye, ENDING_DEADLINE);
    }

    /// Nothing that was said of the old program holds for the new one.
    fn forget_program(&mut self, by: &str) {
        self.abandon_asks(&Failure::cancelled());
        self.forget_questions(by);
        self.terminating = None;
        self.judging.stopped_at.clear();
        if matches!(self.phase, Phase::Stopped { .. }) {
            let continued = json!({ "threadId": self.stopped_thread(), "allThreadsContinued": true });
            self.tell_all("continued", &continued);
        }
        self.running(None);
        self.phase = Phase::Starting;
        self.end_progress();
        for (event, body) in self.facts.farewell() {
            self.tell_all(event, &body);
        }
        self.facts = Default::default();
        self.forget_engine_breakpoints();
        (self.engine_ready, self.told_exit, self.farewell) = (false, false, Value::Null);
    }

    /// The engine of the old program answers nothing any more.
    fn forget_questions(&mut self, by: &str) {
        for (ticket, waiter) in self.pending.take_engines() {
            self.effects.push(Effect::Cancel { ticket });
            match waiter {
                Waiter::SessionInfo(asked) => self.session_info_with_place(&asked, None),
                other => {
                    if let Some(asked) = other.asked() {
                        let message =
                            format!("{by} restarted the program before `{}` was answered", asked.command);
                        self.refuse(asked, Failure::new(ErrorCode::Cancelled, message).quiet());
                    }
                }
            }
        }
    }

    /// What the engine of the old program still says is nobody's news. Its output is.
    pub(super) fn is_old_news(&self, event: &EngineEvent) -> bool {
        let is_output = matches!(event, EngineEvent::Dap { event, .. } if event == "output");
        self.restart.as_ref().is_some_and(|restart| !restart.relaunched) && !is_output
    }

    /// The old engine has let go of its program; the actor has seen to it when it did not.
    pub(super) fn relaunch(&mut self) {
        let Some(mut restart) = self.restart.take() else { return };
        // What was asked while it let go.
        self.forget_questions(&self.name_of(restart.asked.client));
        restart.relaunched = true;
        self.unconfigured = true;
        self.launch = restart.arguments.clone();
        self.restart = Some(restart);
        self.effects.push(Effect::StartEngine { arguments: self.launch.clone() });
        self.ask_engine(Waiter::Relaunched, "launch", self.launch.clone(), LAUNCH_DEADLINE);
    }

    /// The new engine has everybody's breakpoints; the clients have configured long ago. It may have answered the launch
    /// already (DAP leaves the order open), and with it the restart.
    pub(super) fn configure_relaunched(&mut self) {
        if std::mem::take(&mut self.unconfigured) {
            self.ask_engine(Waiter::Nobody, "configurationDone", Value::Null, ENGINE_DEADLINE);
        }
    }

    /// The new program runs, or there is none: then the session is over, for the old one is gone.
    pub(super) fn relaunched(&mut self, result: Result<Value, Failure>) {
        let Some(restart) = self.restart.take() else { return };
        if let Err(failure) = &result {
            let text = format!("the program could not be started again: {failure}\n");
            self.note_all(&json!({ "category": "important", "output": text }));
        }
        let failed = result.is_err();
        self.answer(&restart.asked, result.map(|_| Value::Null));
        if failed {
            self.effects.push(Effect::KillProgram);
            self.over(None);
            self.end_if_done();
        }
    }

    /// The session ends first.
    pub(super) fn abandon_restart(&mut self) {
        if let Some(restart) = self.restart.take() {
            let failure =
                Failure::new(ErrorCode::Cancelled, "the session ends before the program was restarted");
            self.refuse(&restart.asked, failure);
        }
    }
}

fn not_now(why: String) -> Failure {
    Failure::new(ErrorCode::NotRunning, why).hint("wait until it runs, then restart it").quiet()
}
