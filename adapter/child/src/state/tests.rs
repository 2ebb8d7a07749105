//! Orders of events that decide what the hub learns, and how often.

mod execution_state;
mod simulation;

use tandem_wire::command::Execution;
use tandem_wire::{ErrorCode, Request};

use super::*;

fn reported(effects: &[ChildEffect]) -> Vec<&str> {
    let events = effects.iter().filter_map(|effect| match effect {
        ChildEffect::SendEvent { event, .. } => Some(event.as_str()),
        _ => None,
    });
    events.collect()
}

fn after(events: impl IntoIterator<Item = ChildEvent>) -> ChildState {
    let mut state = ChildState::default();
    for event in events {
        drop(state.handle(event));
    }
    state
}

fn stop_for(reason: &str) -> StoppedEventBody {
    StoppedEventBody { reason: reason.into(), ..StoppedEventBody::default() }
}

fn stopped() -> ChildEvent {
    ChildEvent::Stopped { stop: StoppedEventBody::default(), failed: None }
}

fn failure(message: &str) -> Failure {
    Failure::new(ErrorCode::EngineFailed, message)
}

#[test]
fn initialized_is_reported_once() {
    let mut state = after([ChildEvent::LaunchSent]);
    assert_eq!(reported(&state.handle(ChildEvent::Initialized)), ["initialized"]);
    assert_eq!(state.handle(ChildEvent::Initialized), []);
    drop(state.handle(ChildEvent::Configured));
    assert_eq!(state.handle(ChildEvent::Initialized), []);
    assert!(state.is_configured());
}

#[test]
fn launch_may_be_answered_before_and_after_configuration() {
    let early =
        [ChildEvent::LaunchSent, ChildEvent::Launched, ChildEvent::Initialized, ChildEvent::Configured];
    let late =
        [ChildEvent::LaunchSent, ChildEvent::Initialized, ChildEvent::Configured, ChildEvent::Launched];
    for events in [early, late] {
        let state = after(events);
        assert!(state.is_launch_sent() && state.is_initialized() && state.is_configured());
        assert!(state.is_launched());
    }
    assert!(!after([ChildEvent::LaunchSent, ChildEvent::Initialized, ChildEvent::Configured]).is_launched());
}

#[test]
fn a_late_launch_does_not_undo_the_handshake() {
    // An adapter may say `initialized` before it gets `launch`.
    let state = after([ChildEvent::Initialized, ChildEvent::LaunchSent]);
    assert!(state.is_initialized());
}

#[test]
fn output_before_the_launch_response_is_kept() {
    let printed = |text: &str| ChildEvent::Printed(text.into());
    let mut state = after([printed("no such file\n"), printed("bye\n")]);
    assert_eq!(state.printed(), "no such file\nbye\n");
    for _ in 0..4 {
        drop(state.handle(printed(&"x".repeat(MAX_STDERR_TAIL_LEN))));
    }
    assert!(state.printed().len() <= 2 * MAX_STDERR_TAIL_LEN);
    drop(state.handle(ChildEvent::Launched));
    assert_eq!(state.printed(), "");
}

#[test]
fn the_first_refusal_counts() {
    let state = after([ChildEvent::Refused(failure("no runtime")), ChildEvent::Refused(failure("later"))]);
    assert_eq!(state.refusal().map(|failure| failure.message.as_str()), Some("no runtime"));
}

#[test]
fn a_program_may_end_before_its_process_is_reported() {
    let state = after([ChildEvent::ProgramGone]);
    assert!(state.is_gone() && !state.is_process_reported());
    let process = || ChildEvent::Process(json!({ "name": "a" }));
    for events in [[ChildEvent::ProgramGone, process()], [process(), ChildEvent::ProgramGone]] {
        let state = after(events);
        assert!(state.is_gone() && state.is_process_reported());
    }
    assert!(!after([process()]).is_gone());
}

#[test]
fn a_pause_is_reported_only_if_nothing_else_has_stopped_the_program() {
    let found = |before| ChildEvent::FoundStopped { before, stop: stop_for("pause") };
    let mut state = after([stopped()]);
    assert_eq!(state.handle(found(0)), []);
    assert_eq!(state.stops(), 1);
    assert_eq!(reported(&state.handle(found(1))), ["stopped"]);
    assert_eq!(state.stops(), 2);
    assert_eq!(state.handle(found(1)), []);
}

#[test]
fn a_stop_at_a_condition_that_fails_is_reported_with_the_reason_unless_the_session_is_over() {
    let failure = FailedCondition {
        condition: Some("x > 1".into()),
        reason: "no such name".into(),
        ..FailedCondition::default()
    };
    let stopped = || ChildEvent::Stopped { stop: stop_for("breakpoint"), failed: Some(failure.clone()) };
    let mut state = ChildState::default();
    let expected =
        ChildEffect::ReportFailedCondition { stop: stop_for("breakpoint"), failure: failure.clone() };
    assert_eq!(state.handle(stopped()), [expected]);
    assert_eq!(state.stops(), 1);
    assert_eq!(after([ChildEvent::Released]).handle(stopped()), []);
}

#[test]
fn subprocesses_that_still_run_are_killed_once() {
    let first = DebuggeeProcess::of(1).expect("every system has a first process");
    let started = |ended: &[DebuggeeProcess]| ChildEvent::SubprocessStarted {
        process: first.clone(),
        ended: ended.to_vec(),
    };
    let mut state = after([started(&[]), started(&[])]);
    assert_eq!(state.subprocesses().len(), 2);
    drop(state.handle(started(std::slice::from_ref(&first))));
    let kill = state.handle(ChildEvent::SubprocessesEnd);
    assert_eq!(kill, [ChildEffect::KillSubprocesses(vec![first])]);
    assert_eq!(state.handle(ChildEvent::SubprocessesEnd), []);
}

#[test]
fn one_task_sees_to_the_end() {
    let ways = || {
        [
            ChildEvent::Exited(json!({ "exitCode": 3 })),
            ChildEvent::Terminated(Value::Null),
            ChildEvent::HungUp,
            ChildEvent::EndNoticed,
        ]
    };
    for first in 0..ways().len() {
        let mut state = ChildState::default();
        let mut ways = ways();
        ways.rotate_left(first);
        let effects: Vec<ChildEffect> = ways.into_iter().flat_map(|way| state.handle(way)).collect();
        assert_eq!(effects, [ChildEffect::EndSession]);
        assert!(state.is_ending() && !state.is_over());
        assert_eq!(state.exit_code(), Some(3));
        assert!(state.is_terminated() && state.has_hung_up());
    }
}

#[test]
fn the_end_is_reported_once_and_nothing_after_it() {
    let mut state = after([
        ChildEvent::Exited(json!({ "exitCode": 1, "extra": true })),
        ChildEvent::Exited(json!({ "exitCode": 2 })),
        ChildEvent::Terminated(json!({ "restart": 7 })),
        ChildEvent::Terminated(Value::Null),
    ]);
    assert_eq!(
        state.handle(ChildEvent::EndKnown(Some(134))),
        [
            ChildEffect::SendEvent {
                event: "exited".into(),
                body: json!({ "exitCode": 134, "extra": true })
            },
            ChildEffect::SendEvent { event: "terminated".into(), body: json!({ "restart": 7 }) },
        ]
    );
    assert!(state.is_over());
    for late in [
        ChildEvent::EndKnown(Some(0)),
        ChildEvent::Terminated(Value::Null),
        ChildEvent::HungUp,
        ChildEvent::EndNoticed,
        stopped(),
        ChildEvent::Process(Value::Null),
        ChildEvent::Initialized,
        ChildEvent::Report { event: "output".into(), body: Value::Null },
    ] {
        assert_eq!(state.handle(late), []);
    }
}

#[test]
fn the_signal_that_ended_the_program_is_named_where_it_is_known() {
    let told = |code| ChildEvent::Exited(json!({ "exitCode": code }));
    for (events, code, signal) in [
        (vec![ChildEvent::KernelCode(139), ChildEvent::EndedBySignal(11)], 139, json!("SIGSEGV")),
        (vec![told(0), ChildEvent::EndedBySignal(15)], 143, json!("SIGTERM")),
        (vec![told(-9)], 137, json!("SIGKILL")),
        (vec![told(-9), ChildEvent::KernelCode(-1)], 137, json!("SIGKILL")),
        (vec![told(-9), ChildEvent::KernelCode(0)], 0, Value::Null),
        // The program's own exit code.
        (vec![told(137)], 137, Value::Null),
        (vec![ChildEvent::KernelCode(137)], 137, Value::Null),
        (vec![told(-1)], -1, Value::Null),
    ] {
        let mut state = after(events);
        let effects = state.handle(ChildEvent::EndKnown(Some(code)));
        let Some(ChildEffect::SendEvent { body, .. }) = effects.first() else { panic!("{effects:?}") };
        assert_eq!((&body["exitCode"], &body["signal"]), (&json!(code), &signal));
    }
}

#[test]
fn an_end_without_a_code_has_no_exited_event() {
    let mut state = after([ChildEvent::Terminated(Value::Null)]);
    assert_eq!(reported(&state.handle(ChildEvent::EndKnown(None))), ["terminated"]);
}

#[test]
fn program_that_the_hub_releases_is_not_reported() {
    let mut state = after([ChildEvent::LaunchSent, ChildEvent::Launched, ChildEvent::Released]);
    assert!(state.is_ending());
    assert_eq!(state.handle(ChildEvent::HungUp), []);
    assert_eq!(state.handle(ChildEvent::EndKnown(Some(137))), []);
}

#[test]
fn an_adapter_that_broke_is_reported_once_the_launch_has_succeeded() {
    let mut state = after([ChildEvent::LaunchSent, ChildEvent::HungUp]);
    assert_eq!(state.handle(ChildEvent::AdapterBroke(failure("crashed"))), []);
    // The response to the launch reports it, until the hub disconnects.
    assert!(!state.is_over());
    let mut state = after([ChildEvent::LaunchSent, ChildEvent::Launched, ChildEvent::HungUp]);
    assert_eq!(
        state.handle(ChildEvent::AdapterBroke(failure("crashed"))),
        [ChildEffect::Died(failure("crashed"))]
    );
    assert!(state.is_over());
}

#[test]
fn an_end_without_a_word_of_the_adapter_is_its_failure_unless_that_is_its_way() {
    let gone = after([ChildEvent::Launched, ChildEvent::HungUp]);
    assert!(gone.hung_up_without_a_word());
    assert_eq!(gone.end_kind(false), EndKind::AdapterBroke);
    assert_eq!(gone.end_kind(true), EndKind::NoExitCode);
    let seen = after([ChildEvent::Launched, ChildEvent::HungUp, ChildEvent::KernelCode(0)]);
    assert_eq!(seen.end_kind(false), EndKind::ExitCode);
    let terminated = after([ChildEvent::Terminated(Value::Null), ChildEvent::HungUp]);
    assert!(!terminated.hung_up_without_a_word());
    assert_eq!(terminated.end_kind(false), EndKind::NoExitCode);
    let code = after([ChildEvent::ExitCode(0), ChildEvent::HungUp]);
    assert!(!code.hung_up_without_a_word());
    assert_eq!(code.end_kind(false), EndKind::ExitCode);
}

#[test]
fn an_exit_code_that_the_adapter_has_lost_is_the_kernels() {
    // Delve 1.20 and 1.27, whose program exits while its first thread is stopped at a signal.
    let old = || vec![ChildEvent::Terminated(Value::Null), ChildEvent::ExitCode(-1)];
    let new = || vec![ChildEvent::Exited(json!({ "exitCode": 0 })), ChildEvent::Terminated(Value::Null)];
    for words in [old, new] {
        for at in 0..=words().len() {
            let mut events = words();
            events.insert(at, ChildEvent::KernelCode(7));
            let state = after(events);
            assert_eq!(state.known_code(), Some(7));
            assert_eq!(state.end_kind(false), EndKind::ExitCode);
        }
    }
}

#[test]
fn an_exit_code_that_the_kernel_has_lost_is_the_adapters() {
    let exited_with = |code| ChildEvent::Exited(json!({ "exitCode": code }));
    assert_eq!(after([ChildEvent::KernelCode(-1), exited_with(7)]).known_code(), Some(7));
    assert_eq!(after([exited_with(0), ChildEvent::KernelCode(-1)]).known_code(), Some(0));
    assert_eq!(after([ChildEvent::KernelCode(-1)]).known_code(), Some(-1));
    assert_eq!(after([exited_with(-1)]).known_code(), Some(-1));
    assert_eq!(after([exited_with(-9)]).known_code(), Some(137));
    assert_eq!(after([]).known_code(), None);
}

#[test]
fn an_adapter_that_was_disconnected_stays_so() {
    let mut state = after([ChildEvent::LaunchSent, ChildEvent::Launched]);
    assert!(!state.is_disconnected());
    state.handle(ChildEvent::Disconnected);
    assert!(state.is_disconnected() && !state.has_hung_up());
    state.handle(ChildEvent::HungUp);
    state.handle(ChildEvent::Disconnected);
    assert!(state.is_disconnected() && state.has_hung_up());
}
