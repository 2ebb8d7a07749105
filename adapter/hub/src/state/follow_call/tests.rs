//! A call that is followed, with a scripted engine: what the engine is requested, and what each client sees
//! of it.

use serde_json::{Value, json};

use crate::event::{HubEvent, Timer};
use crate::state::races::{AGENT, EDITOR, TwoClients};

/// A session that is stopped in `f`, which `main` called on line 20.
fn stopped() -> TwoClients {
    let mut session = TwoClients::started_with("launch", true, json!({}));
    session.emit("stopped", json!({ "reason": "breakpoint", "threadId": 7 }));
    session.take_received();
    session
}

fn frame(name: &str, line: i64) -> Value {
    json!({ "id": line, "name": name, "line": line, "column": 1, "source": { "path": "/x.c" } })
}

/// The engine replies to all queries of a stop in this stack, with these variables.
fn reply_with_frames(session: &mut TwoClients, stack: &[Value], variables: Value) {
    session.reply("stackTrace", Ok(json!({ "stackFrames": stack })));
    session.reply(
        "scopes",
        Ok(json!({ "scopes": [{ "name": "Locals", "presentationHint": "locals",
        "variablesReference": 3 }] })),
    );
    session.reply("variables", Ok(json!({ "variables": variables })));
}

fn step(session: &mut TwoClients, command: &str) {
    assert_eq!(session.requested(), [command]);
    session.reply(command, Ok(Value::Null));
    session.emit("stopped", json!({ "reason": "step", "threadId": 7 }));
}

#[test]
fn no_client_sees_a_stop_until_the_call_has_returned() {
    let mut session = stopped();
    session.request(AGENT, "followCall", json!({ "threadId": 7 }));
    assert_eq!(session.take_received(), ["editor: continued"]);
    reply_with_frames(
        &mut session,
        &[frame("f", 3), frame("main", 20)],
        json!([{ "name": "x", "value": "1" }]),
    );
    step(&mut session, "stepIn");
    // It has entered a call.
    reply_with_frames(
        &mut session,
        &[frame("g", 9), frame("f", 3), frame("main", 20)],
        json!([{ "name": "y", "value": "5" }]),
    );
    step(&mut session, "stepOut");
    reply_with_frames(
        &mut session,
        &[frame("f", 3), frame("main", 20)],
        json!([{ "name": "g returned", "value": "6" }, { "name": "x", "value": "6" }]),
    );
    step(&mut session, "stepIn");
    reply_with_frames(
        &mut session,
        &[frame("f", 4), frame("main", 20)],
        json!([{ "name": "x", "value": "6" }]),
    );
    assert_eq!(session.take_received(), Vec::<String>::new());
    step(&mut session, "stepIn");
    reply_with_frames(&mut session, &[frame("main", 20)], json!([{ "name": "f returned", "value": "60" }]));
    assert_eq!(
        session.take_received(),
        ["editor: stopped step null", "agent: stopped step null", "agent: ok followCall"]
    );
}

#[test]
fn a_pause_of_another_client_ends_it_where_the_program_is() {
    let mut session = stopped();
    session.request(AGENT, "followCall", json!({}));
    reply_with_frames(&mut session, &[frame("f", 3), frame("main", 20)], json!([]));
    session.take_received();
    session.request(EDITOR, "pause", json!({ "threadId": 7 }));
    session.emit("stopped", json!({ "reason": "pause", "threadId": 7 }));
    let received = session.take_received();
    assert!(received.contains(&"agent: ok followCall".to_owned()), "{received:?}");
    assert!(received.contains(&"editor: stopped pause null".to_owned()), "{received:?}");
    // Nothing of it is left.
    session.request(EDITOR, "continue", json!({ "threadId": 7 }));
    assert!(session.requested().contains(&"continue"));
}

#[test]
fn the_end_of_the_program_answers_it() {
    let mut session = stopped();
    session.request(AGENT, "followCall", json!({}));
    session.emit("exited", json!({ "exitCode": 1 }));
    assert!(session.take_received().contains(&"agent: ok followCall".to_owned()));
}

#[test]
fn timeout_pauses_the_program_and_an_engine_that_does_not_pause_blocks_no_client() {
    let mut session = stopped();
    session.request(AGENT, "followCall", json!({}));
    reply_with_frames(&mut session, &[frame("f", 3), frame("main", 20)], json!([]));
    session.take_received();
    let timer = Timer::Follow(1);
    session.feed(HubEvent::TimerFired(timer));
    assert_eq!(session.requested(), ["stepIn", "pause"]);
    session.feed(HubEvent::TimerFired(timer));
    assert_eq!(session.take_received(), ["agent: ok followCall"]);
}

#[test]
fn second_request_and_invalid_arguments_are_refused() {
    let mut session = stopped();
    for wrong in [
        json!({ "maxSteps": 0 }),
        json!({ "depth": 100 }),
        json!({ "depth": "x" }),
        json!({ "maxSteps": -1 }),
    ] {
        session.request(AGENT, "followCall", wrong);
        assert_eq!(session.take_received(), ["agent: no followCall: INVALID_PARAMETER"]);
    }
    session.request(AGENT, "followCall", json!({}));
    session.take_received();
    session.request(EDITOR, "followCall", json!({}));
    assert_eq!(session.take_received(), ["editor: no followCall: NOT_STOPPED"]);
}
