//! Tests of answers about a stop, with the engine in the hands of the test.

use serde_json::{Value, json};
use tandem_wire::Event;

use super::*;
use crate::session::test_connection::{connect, receive};

#[tokio::test]
async fn a_program_without_a_debugger_is_not_to_be_paused() {
    let (session, _adapter, _requests) = connect();
    let apply = |event: &str, body: Value| {
        session.listener.snapshot.send_modify(|snapshot| {
            snapshot.apply_event(&Event::new(event, body));
        });
    };
    let hint = || stopped_thread(&session).unwrap_err().hint.unwrap_or_default();
    apply("process", json!({ "name": "a" }));
    assert!(hint().contains("use debug_pause"));
    apply("output", json!({ "category": "console", "output": "exec", "debuggerEnded": true }));
    assert!(!hint().contains("debug_pause"), "{}", hint());
}

#[tokio::test]
async fn an_exception_that_cannot_be_read_is_named_in_the_event() {
    let (session, adapter, mut requests) = connect();
    session.listener.snapshot.send_modify(|snapshot| {
        let body = json!({ "reason": "exception", "threadId": 1 });
        snapshot.apply_event(&Event::new("stopped", body));
    });
    let answering = async {
        loop {
            let request = receive(&mut requests).await;
            let answer = match request.command.as_str() {
                "exceptionInfo" => Err(Failure::new(ErrorCode::EngineFailed, "no traceback")),
                _ => Ok(json!({ "stackFrames": [] })),
            };
            adapter.respond(&request, answer);
        }
    };
    let snapshot = session.snapshot();
    let event = tokio::select! {
        event = stop_event(&session, &snapshot) => event,
        () = answering => panic!("it never ends"),
    };
    assert_eq!(json!(event.unreadable), json!({ "exception": "no traceback" }));
}

#[test]
fn a_stop_without_frames_says_why_no_code_is_shown() {
    let mut event = StopEvent::default();
    explain_missing_frame(&mut event);
    assert_eq!(event.hint, None);
    event.frame.top_frame = Some(TopFrame::Absent { id: (), function: () });
    explain_missing_frame(&mut event);
    assert!(event.hint.unwrap().contains("on no stack"));
}
