//! Events of the adapter, and those it failed to send: `initialized` and `process` come once, in time.
//!
//! Not here: requests of the adapter ([`super::reverse`]).

use std::sync::Arc;

use serde_json::Value;
use tandem_wire::message::EXTRA_FIELDS;
use tandem_wire::peer::{Incoming, Peer};
use tandem_wire::types::{
    self, CapabilitiesEventBody, ProcessEventBody, StoppedEventBody, ThreadsResponseBody,
};
use tokio::sync::mpsc;
use tokio_util::sync::CancellationToken;

use super::super::debuggee::{self, DebuggeeProcess};
use super::super::launch_plan::ProgramIo;
use super::super::plain_text;
use super::super::state::{ChildEvent, ChildState, Link};
use super::super::translate;
use super::conditions::QUERY_TIMEOUT;
use super::origins::Origins;
use super::{
    AdapterSession, INITIALIZE_TIMEOUT, LAUNCH_TIMEOUT, POLL_INTERVAL, PROCESS_EVENT_GRACE, READY_TIMEOUT,
};
use tandem_engine::EngineEvent;
use tandem_process::Child;

impl AdapterSession {
    /// Handles all messages of the adapter, until it hangs up.
    pub(super) async fn listen(
        self: Arc<Self>,
        link: Link,
        peer: Peer,
        mut incoming: mpsc::UnboundedReceiver<Incoming>,
    ) {
        while let Some(message) = incoming.recv().await {
            match message {
                Incoming::Response(response) => {
                    if let Err(failure) = response.result()
                        && let Some(stop) = self.profile.stop_in_late_failure(failure)
                    {
                        tokio::spawn(self.clone().report_lost_stop(stop));
                    }
                }
                Incoming::Event(event) => self.handle_event(event).await,
                Incoming::Request(request) => self.handle_reverse_request(link, &peer, request),
            }
        }
        self.handle(ChildEvent::HungUp);
    }

    /// Reports a stop that the adapter has not reported, in a thread that may have caused it.
    async fn report_lost_stop(self: Arc<Self>, mut stop: StoppedEventBody) {
        let (asked, never) = (Value::Null, CancellationToken::new());
        let answer = tokio::time::timeout(QUERY_TIMEOUT, self.ask("threads", asked, &never)).await;
        let ThreadsResponseBody { threads, .. } =
            types::read(&answer.ok().and_then(Result::ok).unwrap_or_default());
        stop.thread_id = self.profile.thread_of_late_stop(&threads);
        if self.state(ChildState::is_running) {
            self.handle_event(tandem_wire::Event::new("stopped", types::body(&stop))).await;
        }
    }

    async fn handle_event(self: &Arc<Self>, tandem_wire::Event { event, mut body, .. }: tandem_wire::Event) {
        self.learn(|known| {
            known.threads.learn(&body);
            if event == "stopped" {
                let stop = types::read(&body);
                known.step.stop(&stop);
                known.throwing.stop(&stop);
                known.scopes.forget();
                known.lower_frames.stop(&body);
            }
        });
        plain_text::strip_messages(&mut body);
        self.profile.adapt_incoming(&event, &mut body);
        match event.as_str() {
            "initialized" if self.waits_for_first_child() => self.configure_parent(),
            "initialized" => {
                // Some adapters send it before they get `launch`.
                self.wait_for_state(INITIALIZE_TIMEOUT, |now| now.is_launch_sent() || now.is_over()).await;
                self.prepare_adapter().await;
                self.handle(ChildEvent::Initialized);
            }
            "capabilities" => {
                let CapabilitiesEventBody { capabilities, .. } = types::read(&body);
                self.learn_capabilities(&capabilities);
            }
            "process" => self.process(body).await,
            "exited" if self.profile.reports_exec(&body) => self.handle(ChildEvent::Replaced),
            "exited" => self.handle(ChildEvent::Exited(body)),
            "terminated" => self.handle(ChildEvent::Terminated(body)),
            "output" => self.output(body),
            "stopped" => {
                let stop: StoppedEventBody = types::read(&body);
                if !(self.profile.repeats_stops() && self.state(|now| now.has_reported(&stop))) {
                    self.handle_in_place(ChildEvent::StopReported(stop)).await;
                }
            }
            _ => self.send_event(&event, body),
        }
    }

    /// Whether the adapter runs this program without ever being ready to be configured.
    pub(super) fn skips_initialized(&self) -> bool {
        self.live().as_ref().is_some_and(|live| live.plan.quirks.skips_initialized_without_debug)
    }

    async fn process(self: &Arc<Self>, mut body: Value) {
        if let Some(live) = self.live().as_ref()
            && let ProgramIo::ExecShim(_) = live.plan.program_io
        {
            // To the adapter it is our stub.
            types::set(&mut body, "name", live.target.program.display().to_string());
        }
        let ProcessEventBody { system_process_id, .. } = types::read(&body);
        let pid = system_process_id.and_then(|pid| u32::try_from(pid).ok());
        let foreign = match pid.and_then(DebuggeeProcess::of) {
            Some(process) => !self.owns(process.pid()).await,
            None => false,
        };
        if foreign {
            tracing::info!(pid, "the adapter's program does not run on this machine");
            types::set(&mut body, "isLocalProcess", false);
        }
        if let (Some(live), Some(pid)) = (self.live().as_mut(), pid.filter(|_| !foreign)) {
            live.debuggee = DebuggeeProcess::of(pid);
            if live.image.0 != pid {
                live.image = (pid, debuggee::image_of(pid));
            }
            if live.named_pipes.is_some() {
                tokio::spawn(self.clone().wait_until_pipes_opened(pid));
            }
            self.broker.set_reader(pid);
            if self.profile.has_slow_connections() {
                let session = self.clone();
                tokio::spawn(async move { session.set_nodelay(Some(pid)).await });
            }
        }
        self.handle(ChildEvent::Process(body));
    }

    /// Whether a process that the adapter reports belongs to this session.
    pub(super) async fn owns(&self, pid: u32) -> bool {
        let known = self.live().as_ref().map(|live| (live.origins(), live.target.clone()));
        let Some((processes, target)) = known else { return false };
        let looking = tokio::task::spawn_blocking(move || Origins { processes, target }.include(pid));
        looking.await.unwrap_or(false)
    }

    /// The program is reported before it has opened its pipes: its starter reports it first.
    async fn wait_until_pipes_opened(self: Arc<Self>, pid: u32) {
        let taken = || {
            let mut live = self.live();
            live.as_mut()
                .and_then(|live| live.named_pipes.as_mut())
                .is_none_or(|named_pipes| named_pipes.release_to(pid))
        };
        while !taken() && !self.state(ChildState::is_over) {
            tokio::time::sleep(POLL_INTERVAL).await;
        }
    }

    /// Some adapters never say `initialized`, and some nothing of the process. One that does say it is waited
    /// for: what is configured before it is ready may hold its program forever.
    pub(super) async fn supply_missing_events(self: Arc<Self>) {
        self.look_for_program().await;
        let limit = if self.profile.sends_initialized() { LAUNCH_TIMEOUT } else { READY_TIMEOUT };
        if self.skips_initialized()
            || !self.wait_for_state(limit, |now| now.is_initialized() || now.is_over()).await
        {
            self.handle(ChildEvent::Initialized);
        }
        self.until(|now| now.is_configured() || now.is_over()).await;
        let started = async {
            // Of an adapter that never reports the process nothing better comes than what is known of it
            // here.
            while self.profile.reports_process() || self.launched_pid().is_none() {
                tokio::time::sleep(POLL_INTERVAL).await;
            }
        };
        let reported =
            self.wait_for_state(PROCESS_EVENT_GRACE, |now| now.is_process_reported() || now.is_over());
        let reported = tokio::select! {
            reported = reported => reported,
            () = started => false,
        };
        if reported {
            return;
        }
        let launched = self.launched_pid();
        let (pid, name, how) = match self.live().as_ref() {
            Some(live) if !live.plan.launched => {
                let pid = live.target.process_id().ok();
                let known = || live.target.program.display().to_string();
                (pid, pid.map_or_else(known, debuggee::name_of), "attach")
            }
            Some(live) => (launched, live.target.program.display().to_string(), "launch"),
            None => return,
        };
        self.process(types::body(&ProcessEventBody {
            name,
            system_process_id: pid.map(i64::from),
            is_local_process: Some(true),
            start_method: Some(how.into()),
            ..ProcessEventBody::default()
        }))
        .await;
    }

    /// The process id of the program that was launched, as far as it is known.
    fn launched_pid(&self) -> Option<u32> {
        let live = self.live();
        let live = live.as_ref().filter(|live| live.plan.launched)?;
        let inherited = live.plan.program_io == ProgramIo::Inherited && !live.plan.quirks.forwards_stdio;
        let inherited = inherited.then(|| live.connection.process.child().map(Child::pid)).flatten();
        let ours = live.program.as_ref().map(Child::pid);
        ours.or(inherited).or_else(|| live.debuggee.as_ref().map(DebuggeeProcess::pid))
    }

    /// Delve before 1.25 has started the program and says nothing of it: it is the one process below.
    /// Unknown, it would outlive a Delve that is killed.
    async fn look_for_program(&self) {
        let adapter = self.live().as_ref().filter(|live| live.plan.launched).and_then(|live| {
            let above = live.plan.quirks.forwards_stdio && live.debuggee.is_none();
            above.then(|| live.connection.process.child().map(Child::pid)).flatten()
        });
        let Some(adapter) = adapter else { return };
        let looking = tokio::task::spawn_blocking(move || debuggee::children_of(adapter));
        if let [program] = looking.await.unwrap_or_default().as_slice()
            && let Some(live) = self.live().as_mut()
        {
            live.debuggee = DebuggeeProcess::of(*program);
        }
    }

    pub(super) fn learn_capabilities(&self, more: &Value) {
        let mut known = match self.live().as_mut() {
            Some(live) => {
                match (Arc::make_mut(&mut live.capabilities), more) {
                    (Value::Object(known), Value::Object(more)) => known.extend(more.clone()),
                    (known, more) => *known = more.clone(),
                }
                Value::clone(&live.capabilities)
            }
            None => return,
        };
        if let Some(known) = known.as_object_mut() {
            known.shift_remove(EXTRA_FIELDS);
        }
        self.profile.complete_capabilities(&mut known);
        self.offer_panics(&mut known);
        if self.profile.is_native() {
            // Of a panic and a signal we know it ourselves.
            types::set(&mut known, "supportsExceptionInfoRequest", true);
        }
        if self.profile.expression_assignment().is_some() {
            types::set(&mut known, "supportsSetExpression", true);
        }
        if !self.profile.counts_hits()
            && let Some(count) = known.get_mut("supportsHitConditionalBreakpoints")
        {
            *count = Value::Bool(false);
        }
        // A hub that has ended needs no report.
        drop(self.events.send(EngineEvent::Capabilities(known)));
    }

    fn output(self: &Arc<Self>, mut body: Value) {
        let category = body["category"].as_str().unwrap_or_default();
        let (is_program_output, own_word) = match self.live().as_ref() {
            // The program's output goes into our pipes: this is the adapter's (gdb: "No source file named").
            Some(live) if matches!(live.plan.program_io, ProgramIo::PipePaths | ProgramIo::ExecShim(_)) => {
                (false, matches!(category, "stdout" | "stderr"))
            }
            Some(live) => (
                live.plan.program_io == ProgramIo::OutputEvents,
                live.plan.quirks.emits_own_stdout && category == "stdout",
            ),
            None => (false, false),
        };
        if own_word {
            types::set(&mut body, "category", "console");
            plain_text::strip_messages(&mut body);
        }
        if let Some(failed) = self.profile.failed_condition_in(body["output"].as_str().unwrap_or_default()) {
            // It is reported with the stop, which does not wait for a later event.
            if !self.profile.rechecks_conditions() {
                self.learn(|known| known.conditions.failed(failed));
            }
            return;
        }
        if let Some(text) = body["output"].as_str().filter(|_| body["category"] != "telemetry")
            && !self.state(ChildState::is_launched)
        {
            self.handle(ChildEvent::Printed(text.to_owned()));
        }
        if let Some(code) = self.profile.exit_code_in(body["output"].as_str().unwrap_or_default()) {
            self.handle(ChildEvent::ExitCode(code));
        }
        match translate::plain_output(&body) {
            Some((category, text)) if is_program_output => self.broker.feed(category == "stderr", text),
            _ => self.send_event("output", body),
        }
    }
}
