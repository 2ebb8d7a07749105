//! The rules that each simulation must keep: the messages each client may receive, and the state when nothing
//! is under way.

use serde_json::Value;
use tandem_wire::{Message, types};

use super::view::{ShownBreakpoint, receive_breakpoint};
use super::{FILES, Simulation};
use crate::breakpoints::BreakpointScope;
use crate::event::{ClientId, HubEvent, Timer};

impl Simulation {
    /// An engine that keeps one breakpoint per line is never asked for two.
    pub(super) fn check_list(&self, command: &str, arguments: &Value) {
        if self.several || command != "setBreakpoints" {
            return;
        }
        let list = arguments["breakpoints"].as_array().cloned().unwrap_or_default();
        let positions: Vec<(Value, Value)> =
            list.iter().map(|request| (request["line"].clone(), request["column"].clone())).collect();
        let distinct = positions.iter().enumerate().all(|(at, position)| !positions[..at].contains(position));
        assert!(distinct, "two on one spot: {list:?}");
    }

    pub(super) fn receive(&mut self, client: ClientId, message: &Message) {
        self.trace.push(format!("{client} ← {message:?}"));
        let view = self.clients.get_mut(&client).expect("a client that never came is reported something");
        assert!(view.here, "{client} has left and is still reported {message:?}");
        match message {
            Message::Response(response) => {
                let request = self.unanswered.remove(&(client, response.request_seq));
                assert!(request.is_some(), "{client} is answered twice or unasked: {response:?}");
                let body = &response.body;
                for breakpoint in body["breakpoints"].as_array().into_iter().flatten() {
                    view.known.extend(breakpoint["id"].as_i64());
                }
                match response.command.as_str() {
                    "setBreakpoints" if !response.success => view.refused = true,
                    "configurationDone" if response.success => view.ready = true,
                    "continue" | "next" | "stepOut" if response.success => {
                        view.stopped = false;
                        view.stepped = response.command != "continue";
                    }
                    _ => {}
                }
            }
            Message::Event(event) => {
                let early = matches!(event.event.as_str(), "initialized" | "capabilities" | "output");
                // An end before the program was started is reported at once.
                let ends = matches!(event.event.as_str(), "exited" | "terminated")
                    && !self.state.start.is_configured();
                assert!(early || ends || view.ready, "{client} gets {} before it is ready", event.event);
                let late = matches!(
                    event.event.as_str(),
                    "output" | "sessionChanged" | "capabilities" | "invalidated"
                );
                assert!(late || !view.terminated, "{client} gets {} after its end", event.event);
                match event.event.as_str() {
                    "stopped" => (view.stopped, view.stepped) = (true, false),
                    "continued" => {
                        // An editor may have to learn that its step lets every thread run.
                        let steps = std::mem::take(&mut view.stepped);
                        assert!(
                            view.stopped || steps,
                            "{client} is notified that a running program continues"
                        );
                        view.stopped = false;
                    }
                    "exited" => {
                        assert!(
                            !std::mem::replace(&mut view.exited, true),
                            "{client} is reported an exit twice"
                        )
                    }
                    "terminated" => {
                        view.terminated = true;
                        // Where it wants one itself, which of them it keeps is more than this player knows.
                        let wants = |mirror: &ShownBreakpoint| {
                            view.own
                                .keys()
                                .any(|file| FILES.get(*file).is_some_and(|file| mirror.path == *file))
                        };
                        assert!(
                            view.uncertain || view.shown.values().all(wants),
                            "{client} is left with {:?}",
                            view.shown
                        );
                    }
                    "breakpoint" => receive_breakpoint(client, view, &event.body),
                    _ => {}
                }
            }
            Message::Request(request) => panic!("the hub asks a client: {request:?}"),
        }
    }

    pub(super) fn check_always(&self) {
        for (client, view) in self.clients.iter().filter(|(_, view)| view.here && view.ready) {
            let stopped = self.state.program.is_stopped();
            assert!(
                view.terminated || view.stopped == stopped,
                "{client} thinks stopped is {}",
                view.stopped
            );
        }
    }

    /// Everything that is under way arrives; then all must fit.
    pub(super) fn deliver_all(&mut self) {
        for _ in 0..2_000 {
            if self.requests.is_empty() || self.ended {
                break;
            }
            self.reply(0, 0);
            self.check_always();
        }
        if self.timers.contains(&Timer::EarlyLaunchReply) {
            self.feed(HubEvent::TimerFired(Timer::EarlyLaunchReply));
        }
        if self.ended {
            return;
        }
        assert!(self.requests.is_empty(), "the hub never stops asking: {:?}", self.requests);
        assert!(self.unanswered.is_empty(), "never answered: {:?}", self.unanswered);
        if self.state.engine.is_initialized()
            && self.state.program.is_live()
            && !self.state.end.is_ending
            && !self.dead
        {
            if self.state.skipped_breakpoints().is_empty() {
                self.check_union();
            }
            self.check_views();
            let stopped = self.state.program.is_stopped();
            assert_eq!(stopped, self.stopped, "the clients do not know whether the program is stopped");
        }
    }

    pub(super) fn check_union(&self) {
        for file in FILES.into_iter().filter(|file| !self.refused.contains(*file)) {
            let held = self.held.get(&("setBreakpoints".into(), file.into()));
            let held: Vec<&Value> = held.into_iter().flatten().map(|(request, _)| request).collect();
            let requested = self.state.breakpoints.requests(&BreakpointScope::of_path(file));
            let requested: Vec<Value> = requested.into_iter().map(types::body).collect();
            if self.several {
                assert_eq!(
                    held,
                    requested.iter().collect::<Vec<_>>(),
                    "the engine does not hold the union of {file}"
                );
            } else {
                let position = |request: &Value| (request["line"].clone(), request["column"].clone());
                let mut positions: Vec<_> = requested.iter().map(position).collect();
                positions.dedup();
                assert!(
                    held.iter().all(|held| positions.contains(&position(held))),
                    "too much in {file}: {held:?}"
                );
                assert!(
                    positions.iter().all(|position_| held.iter().any(|held| position(held) == *position_)),
                    "too little in {file}"
                );
            }
        }
    }

    /// Every client sees a breakpoint on each line where any client has one.
    pub(super) fn check_views(&self) {
        for (id, view) in self
            .clients
            .iter()
            .filter(|(_, view)| view.here && view.ready && !view.uncertain && !view.refused)
        {
            for (client, bodies) in
                self.clients.keys().map(|other| (other, self.state.breakpoints.owned_by(*other)))
            {
                for body in bodies.iter().filter(|body| body["source"].is_object() && client != id) {
                    let own = self.state.breakpoints.owned_by(*id);
                    let path = body["source"]["path"].as_str().unwrap_or_default();
                    // Its own there may have moved from or to the line, and hides what else is on it.
                    let mine = own.iter().any(|own| own["source"]["path"] == path);
                    let shown = view.shown.values().any(|mirror| mirror.path == path);
                    assert!(mine || shown, "{id} does not see {body} of {client}");
                }
            }
        }
    }
}
