//! Stops, resumes, the signal that asks the program to end, and requests of the adapter to a client.

use super::*;

fn paused(effects: Vec<ChildEffect>) -> (String, bool) {
    match effects.as_slice() {
        [ChildEffect::Examine { stop, paused }] => (stop.reason.clone(), *paused),
        other => panic!("{other:?}"),
    }
}

fn stop(reason: &str) -> ChildEvent {
    ChildEvent::StopReported(StoppedEventBody { thread_id: Some(1), ..stop_for(reason) })
}

#[test]
fn a_step_that_a_pause_made_is_a_pause() {
    let mut state =
        after([ChildEvent::RequestSent(Execution::Continue), ChildEvent::RequestSent(Execution::Pause)]);
    assert_eq!(paused(state.handle(stop("step"))), ("pause".to_owned(), true));
    // The stop has ended the pause.
    drop(state.handle(ChildEvent::RequestSent(Execution::Continue)));
    assert_eq!(paused(state.handle(stop("step"))), ("step".to_owned(), false));
}

#[test]
fn a_step_that_is_paused_may_still_be_a_step() {
    let mut state =
        after([ChildEvent::RequestSent(Execution::Step), ChildEvent::RequestSent(Execution::Pause)]);
    assert_eq!(paused(state.handle(stop("step"))), ("step".to_owned(), true));
    let mut state = after([ChildEvent::RequestSent(Execution::Pause)]);
    assert_eq!(paused(state.handle(stop("breakpoint"))), ("breakpoint".to_owned(), true));
}

#[test]
fn continue_may_stay_unanswered_only_after_our_own_stop() {
    let found = || ChildEvent::FoundStopped { before: 0, stop: StoppedEventBody::default() };
    let mut state = after([found()]);
    assert!(state.is_stop_unreported());
    drop(state.handle(ChildEvent::RequestSent(Execution::Continue)));
    assert!(!state.is_stop_unreported());
    // The adapter says it after all.
    let state = after([found(), stop("pause"), stopped()]);
    assert!(!state.is_stop_unreported());
    // Meanwhile the adapter has said it.
    assert!(!after([stopped(), found()]).is_stop_unreported());
}

#[test]
fn repeated_stop_at_the_connection_is_not_reported() {
    let mut state = after([ChildEvent::StoppedAtConnection, stopped()]);
    assert_eq!(state.handle(stop("pause")), []);
    drop(state.handle(ChildEvent::RequestSent(Execution::Continue)));
    drop(state.handle(ChildEvent::RequestSent(Execution::Pause)));
    assert_eq!(paused(state.handle(stop("pause"))), ("pause".to_owned(), true));
}

#[test]
fn unrequested_pause_repeats_a_stop_until_the_program_is_resumed() {
    let pause = stop_for("pause");
    let mut state = after([stop("breakpoint"), stopped()]);
    assert!(state.has_reported(&pause) && !state.has_reported(&stop_for("step")));
    drop(state.handle(ChildEvent::RequestSent(Execution::Continue)));
    assert!(!state.has_reported(&pause));
}

#[test]
fn an_owed_signal_is_sent_once_the_program_has_left_the_debugger() {
    let mut state = after([stopped(), ChildEvent::SignalOwed]);
    assert_eq!(state.handle(ChildEvent::Resumed), [ChildEffect::AwaitOutside { stops: 1 }]);
    assert_eq!(state.handle(ChildEvent::LeftDebugger { again: true }), []);
    drop(state.handle(stopped()));
    assert_eq!(state.handle(ChildEvent::Resumed), [ChildEffect::AwaitOutside { stops: 2 }]);
    assert_eq!(state.handle(ChildEvent::LeftDebugger { again: false }), [ChildEffect::SignalProgram]);
    assert_eq!(state.handle(ChildEvent::LeftDebugger { again: false }), []);
    assert_eq!(state.handle(ChildEvent::Resumed), []);
}

#[test]
fn a_program_that_stops_again_and_again_gets_its_signal_all_the_same() {
    let mut state = after([ChildEvent::SignalOwed]);
    let sent = (1..).find(|_| !state.handle(ChildEvent::LeftDebugger { again: true }).is_empty());
    assert_eq!(sent, Some(MAX_TRIES));
}

#[test]
fn a_client_answers_on_the_connection_that_asked_and_once() {
    let request = |seq| Request { seq, command: "runInTerminal".into(), arguments: json!({ "args": ["a"] }) };
    let wants = |link, seq, external| ChildEvent::WantsTerminal { link, request: request(seq), external };
    let mut state = ChildState::default();
    let effects = state.handle(wants(Link::First, 7, true));
    let arguments = json!({ "args": ["a"], "kind": "external" });
    assert_eq!(effects, [ChildEffect::AskClient { id: 1, command: "runInTerminal".into(), arguments }]);
    let arguments = json!({ "args": ["a"] });
    let effects = state.handle(wants(Link::Program, 8, false));
    assert_eq!(effects, [ChildEffect::AskClient { id: 2, command: "runInTerminal".into(), arguments }]);
    let answer = |id| ChildEvent::ClientAnswered { id, result: Ok(json!({ "processId": id })) };
    for (id, link, seq) in [(2, Link::Program, 8), (1, Link::First, 7)] {
        let result = Ok(json!({ "processId": id }));
        assert_eq!(state.handle(answer(id)), [ChildEffect::Respond { link, request: request(seq), result }]);
        assert_eq!(state.handle(answer(id)), []);
    }
}

#[test]
fn a_request_for_a_terminal_whose_arguments_are_not_an_object_reaches_the_client() {
    for arguments in [json!([]), json!(5), json!("x")] {
        let request = Request { seq: 1, command: "runInTerminal".into(), arguments: arguments.clone() };
        let mut state = ChildState::default();
        let effects = state.handle(ChildEvent::WantsTerminal { link: Link::First, request, external: true });
        assert_eq!(effects, [ChildEffect::AskClient { id: 1, command: "runInTerminal".into(), arguments }]);
    }
}
