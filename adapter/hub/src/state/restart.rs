//! `restart`: another program in the same session. Clients, their breakpoints and the output stay; no client
//! is notified of an end of the session, because it does not end.
//!
//! The hub does it for every engine: the old engine ends its program, a new one is made and gets the launch
//! and all breakpoints. What adapters call restart differs too much (some forget breakpoints, or whose stdio
//! it is).

use serde_json::Value;
use tandem_wire::types::{self, DisconnectArguments};
use tandem_wire::{ErrorCode, Failure};

use super::lifecycle::ENDING_TIMEOUT;
use super::start_up::LAUNCH_TIMEOUT;
use super::{Configuration, Phase, State, output_line};
use crate::event::{ClientRequest, HubEffect};
use crate::launch::Launch;
use crate::pending::ReplyAction;
use tandem_engine::EngineEvent;

/// A restart in progress.
#[derive(Debug)]
pub(super) struct Restart {
    /// The request that waits for its response.
    request: ClientRequest,
    /// The launch of the new program.
    launch: Launch,
    /// The old engine has ended its program; events are the new engine's.
    relaunched: bool,
}

impl State {
    pub(super) fn restart(&mut self, request: ClientRequest, arguments: &Value) {
        let checked = self.program.need_program().and_then(|()| match &self.end.restart {
            // Not every engine can attach again to a process from which it detached; a new host always can.
            None if self.start.launch.attached => Err(Failure::new(
                ErrorCode::Unsupported,
                "a process that was attached to cannot be restarted: this session did not start it",
            )
            .hint("disconnect and attach again")),
            Some(restart) => {
                let name = self.name_of(restart.request.client);
                Err(restart_refusal(format!("{name} restarts the program already")))
            }
            None if !self.start.is_configured()
                || *self.program.phase() == Phase::Starting
                || self.end.is_ending =>
            {
                Err(restart_refusal("the program is just being started or ended".into()))
            }
            None => Ok(()),
        });
        // A client that joined sends its own `attach` arguments here: only attributes that can launch replace
        // the launch.
        let new = &arguments["arguments"];
        let launches = ["program", "project"].iter().any(|key| !new[key].is_null());
        let attributes = if launches { new } else { &self.start.launch.attributes };
        let launch = checked.and_then(|()| Launch::parse(attributes.clone(), false));
        let launch = match launch {
            Ok(launch) => launch,
            Err(failure) => return self.refuse(&request, failure),
        };
        self.start.launch.terminate_timeout = launch.terminate_timeout;
        let by = self.name_of(request.client);
        self.forget_program(&by);
        self.report_change(request.client, "restarted", &Value::Null);
        self.end.restart = Some(Restart { request, launch, relaunched: false });
        let disconnect = types::body(&DisconnectArguments {
            restart: Some(true),
            terminate_debuggee: Some(true),
            ..DisconnectArguments::default()
        });
        self.request_engine(ReplyAction::RestartDisconnect, "disconnect", disconnect, ENDING_TIMEOUT);
    }

    /// Forgets the old program: nothing that was reported of it holds for the new one.
    fn forget_program(&mut self, by: &str) {
        self.abandon_reverse_requests();
        self.abandon_following();
        self.refuse_engine_requests(&format!("{by} restarted the program"));
        self.end.terminating = None;
        self.checks.stopped_at.clear();
        if self.program.is_stopped() {
            let continued = self.continued();
            self.broadcast("continued", &continued);
        }
        self.set_running(None);
        self.program.start();
        self.end_progress();
        for (event, body) in self.program.replay.retraction_events() {
            self.broadcast(event, &body);
        }
        self.program.replay = Default::default();
        self.forget_engine_breakpoints();
        self.engine.expect_initialized();
    }

    /// Refuses all requests in flight after `happened`: the engine that they were sent to
    /// replies to nothing any more.
    pub(super) fn refuse_engine_requests(&mut self, happened: &str) {
        self.engine.held.clear();
        for (ticket, action) in self.engine.pending.take_engine_requests() {
            self.effects.push(HubEffect::Cancel { ticket });
            match action {
                ReplyAction::SessionInfo(request) => self.respond_with_session_info(&request, None),
                other => {
                    if let Some(request) = other.request() {
                        let message = format!("{happened} before `{}` was answered", request.command);
                        self.refuse(request, Failure::new(ErrorCode::Cancelled, message).quiet());
                    }
                }
            }
        }
    }

    /// Whether an event is the old engine's, and so means nothing any more. Its output does.
    pub(super) fn is_outdated(&self, event: &EngineEvent) -> bool {
        let is_output = matches!(event, EngineEvent::Dap { event, .. } if event == "output");
        self.end.restart.as_ref().is_some_and(|restart| !restart.relaunched) && !is_output
    }

    /// The old engine has ended its program; the actor has killed it when the engine did not.
    pub(super) fn relaunch(&mut self) {
        let Some(mut restart) = self.end.restart.take() else { return };
        // Requests that came meanwhile.
        self.refuse_engine_requests(&format!(
            "{} restarted the program",
            self.name_of(restart.request.client)
        ));
        restart.relaunched = true;
        self.start.configuration = Configuration::Repeat;
        self.start.launch = restart.launch.clone();
        self.end.restart = Some(restart);
        let arguments = self.start.launch.attributes.clone();
        self.effects.push(HubEffect::StartEngine { arguments: arguments.clone() });
        self.request_engine(ReplyAction::RestartLaunch, "launch", arguments, LAUNCH_TIMEOUT);
    }

    /// Configures the new engine, which has all breakpoints; the clients have configured long ago.
    /// It may have replied to the launch already (DAP leaves the order open), and with it the
    /// restart has its response.
    pub(super) fn configure_relaunched(&mut self) {
        if self.start.configuration == Configuration::Repeat {
            self.start.configuration = Configuration::Due;
            self.configure_engine();
        }
    }

    /// The new program runs, or there is none: then the session has ended, for the old one is gone.
    pub(super) fn receive_relaunch_reply(&mut self, result: Result<Value, Failure>) {
        let Some(restart) = self.end.restart.take() else { return };
        if let Err(failure) = &result {
            let line = format!("the program could not be started again: {failure}");
            self.broadcast_to_joined("output", &output_line("important", &line));
        }
        let failed = result.is_err();
        self.respond(&restart.request, result.map(|_| Value::Null));
        if failed {
            self.effects.push(HubEffect::KillProgram);
            self.finish_program(Value::Null);
            self.end_if_done();
        }
    }

    /// Gives up the restart because the session ends first.
    pub(super) fn abandon_restart(&mut self) {
        if let Some(restart) = self.end.restart.take() {
            let failure =
                Failure::new(ErrorCode::Cancelled, "the session ends before the program was restarted");
            self.refuse(&restart.request, failure);
        }
    }
}

fn restart_refusal(why: String) -> Failure {
    Failure::new(ErrorCode::NotRunning, why).hint("wait until it runs, then restart it").quiet()
}
