//! Random orders of everything that the adapter, the kernel, the clients and the hub can report: some things
//! hold in each of them.

use std::collections::BTreeSet;

use proptest::prelude::*;

use super::*;

/// Observations of one order of events.
#[derive(Default)]
struct Observed {
    state: ChildState,
    trace: Vec<String>,
    /// Names of the reported events, in order.
    events: Vec<String>,
    deaths: usize,
    ends: usize,
    /// Numbers of the adapter's requests that a client carries out.
    asked: BTreeSet<i64>,
    stops: u64,
}

impl Observed {
    /// One event, chosen by two numbers.
    fn step(&mut self, what: u8, how: u8) {
        let stop = || stop_for(if how.is_multiple_of(2) { "breakpoint" } else { "step" });
        let failed = || FailedCondition { reason: "no such name".into(), ..FailedCondition::default() };
        let process = || DebuggeeProcess::of(1).expect("every system has a first process");
        let request = || Request { seq: 1, command: "runInTerminal".into(), arguments: json!({}) };
        let event = match what % 27 {
            0 => ChildEvent::LaunchSent,
            1 => ChildEvent::Initialized,
            2 => ChildEvent::Configured,
            3 => ChildEvent::Launched,
            4 => ChildEvent::Refused(failure("no runtime")),
            5 => ChildEvent::Printed("x".into()),
            6 => ChildEvent::Process(json!({ "name": "a" })),
            7 => ChildEvent::ProgramGone,
            8 => ChildEvent::RequestSent(Execution::Continue),
            9 => ChildEvent::RequestSent(Execution::Pause),
            10 => ChildEvent::Resumed,
            11 => ChildEvent::StoppedAtConnection,
            12 => ChildEvent::StopReported(stop()),
            13 => ChildEvent::Stopped { stop: stop(), failed: how.is_multiple_of(3).then(failed) },
            14 => ChildEvent::FoundStopped { before: u64::from(how % 4), stop: stop() },
            15 => ChildEvent::SignalOwed,
            16 => ChildEvent::LeftDebugger { again: how.is_multiple_of(2) },
            17 => ChildEvent::SubprocessStarted { process: process(), ended: Vec::new() },
            18 => ChildEvent::SubprocessesEnd,
            19 => ChildEvent::WantsTerminal { link: Link::First, request: request(), external: false },
            20 => ChildEvent::ClientAnswered { id: i64::from(how % 4), result: Ok(json!({})) },
            21 => ChildEvent::Exited(json!({ "exitCode": how })),
            22 => ChildEvent::Terminated(Value::Null),
            23 => ChildEvent::KernelCode(i64::from(how) - 1),
            24 if how.is_multiple_of(2) => ChildEvent::HungUp,
            24 => ChildEvent::Disconnected,
            25 if how.is_multiple_of(4) => ChildEvent::AdapterBroke(failure("it crashed")),
            25 => ChildEvent::EndKnown(Some(i64::from(how))),
            _ if how.is_multiple_of(8) => ChildEvent::Released,
            _ => ChildEvent::Report { event: "output".into(), body: json!({ "output": "x" }) },
        };
        self.trace.push(format!("{event:?}"));
        let (was_over, before) =
            (self.state.is_over(), [self.state.is_launched(), self.state.is_configured()]);
        let effects = self.state.handle(event);
        for effect in effects {
            self.observe(&effect, was_over);
        }
        let now = [self.state.is_launched(), self.state.is_configured()];
        self.check(before.iter().zip(now).all(|(before, now)| now || !before), "the handshake went back");
        self.check(self.state.stops() >= self.stops, "a stop was forgotten");
        self.check(self.state.is_over() || !was_over, "the session began again");
        self.stops = self.state.stops();
    }

    fn observe(&mut self, effect: &ChildEffect, was_over: bool) {
        match effect {
            ChildEffect::SendEvent { event, .. } => self.events.push(event.clone()),
            ChildEffect::ReportFailedCondition { .. } => self.events.push("stopped".into()),
            ChildEffect::Died(_) => self.deaths += 1,
            ChildEffect::EndSession => self.ends += 1,
            ChildEffect::AskClient { id, .. } => {
                let is_new = self.asked.insert(*id);
                self.check(is_new, "a number was used twice");
            }
            ChildEffect::Respond { .. } => {}
            ChildEffect::KillSubprocesses(all) => self.check(!all.is_empty(), "nothing was to be killed"),
            ChildEffect::Examine { .. } | ChildEffect::AwaitOutside { .. } | ChildEffect::SignalProgram => {}
        }
        let reports = matches!(
            effect,
            ChildEffect::SendEvent { .. } | ChildEffect::ReportFailedCondition { .. } | ChildEffect::Died(_)
        );
        self.check(!(reports && was_over), "something was reported after the end");
    }

    fn count(&self, event: &str) -> usize {
        self.events.iter().filter(|one| *one == event).count()
    }

    fn check(&self, holds: bool, problem: &str) {
        assert!(holds, "{problem}:\n{}", self.trace.join("\n"));
    }

    /// Things that hold of the whole order.
    fn check_all(&self) {
        for once in ["initialized", "exited", "terminated"] {
            self.check(self.count(once) <= 1, &format!("`{once}` was reported twice"));
        }
        self.check(self.ends <= 1, "the session was ended twice");
        self.check(self.deaths + self.count("terminated") <= 1, "the end was reported twice");
        let at = |event: &str| self.events.iter().position(|one| one == event);
        let (exited, terminated) = (at("exited"), at("terminated"));
        self.check(terminated.is_none() || exited < terminated, "`terminated` came before `exited`");
    }
}

proptest! {
    #[test]
    fn each_order_of_reports_has_one_end(events in prop::collection::vec(any::<(u8, u8)>(), 0..80)) {
        let mut observed = Observed::default();
        for (what, how) in events {
            observed.step(what, how);
        }
        observed.check_all();
    }
}
