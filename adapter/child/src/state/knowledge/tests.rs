//! Facts that are learned from answers and events, and when they are forgotten.

use serde_json::json;

use super::*;

#[test]
fn threads_are_learned_from_events_and_lists() {
    let mut threads = Threads::default();
    threads.learn(&json!({ "threadId": 3 }));
    threads.learn(&json!({ "reason": "pause" }));
    threads.learn_all(&json!({ "threads": [{ "id": 5 }] }));
    assert!(threads.have(3) && threads.have(5));
    assert!(!threads.have(0));
}

#[test]
fn ids_that_would_be_given_out_again_are_skipped_once() {
    let mut held = HeldBreakpoints::default();
    held.renumber();
    assert_eq!(held.take_used_ids(), 0);
    held.hold("a.js".into(), &json!({ "breakpoints": [{ "id": 1 }, { "id": 4 }] }));
    held.hold("b.js".into(), &json!({ "breakpoints": [{ "id": 2 }, {}] }));
    assert_eq!(held.take_used_ids(), 0);
    held.renumber();
    assert_eq!((held.take_used_ids(), held.take_used_ids()), (5, 0));
}

#[test]
fn exceptions_are_those_of_the_last_stops_of_threads() {
    let mut threads = ThrowingThreads::default();
    let stop = |reason: &str, thread| {
        let thread_id = Some(thread);
        StoppedEventBody { thread_id, ..StoppedEventBody::because(reason) }
    };
    threads.stop(&stop("exception", 1));
    threads.stop(&stop("pause", 2));
    assert!(threads.have(1) && !threads.have(2));
    threads.stop(&stop("goto", 1));
    assert!(!threads.have(1));
}

#[test]
fn a_scope_belongs_to_its_frame_until_the_next_stop() {
    let mut scopes = Scopes::default();
    scopes.learn(4, &json!({ "scopes": [{ "variablesReference": 9 }, { "name": "no reference" }] }));
    scopes.learn(5, &json!({ "result": "1", "variablesReference": 8 }));
    scopes.learn_value(7, Some(4));
    scopes.learn_value(6, None);
    assert_eq!((scopes.frame_of(9), scopes.frame_of(8)), (Some(4), None));
    assert_eq!([9, 7, 6].map(|value| scopes.frame_of_value(value)), [Some(4), Some(4), None]);
    scopes.forget();
    assert_eq!(scopes.frame_of(9), None);
}

#[test]
fn a_step_is_kept_while_a_breakpoint_in_another_thread_interrupts_it() {
    let mut step = KeptStep::default();
    let stop = |reason: &str, thread: i64| StoppedEventBody {
        reason: reason.into(),
        thread_id: Some(thread),
        ..StoppedEventBody::default()
    };
    step.stop(&stop("breakpoint", 2));
    assert_eq!(step.interrupted(), None);
    for end in [stop("step", 1), stop("breakpoint", 1), stop("pause", 2), stop("exception", 2)] {
        step.begin(&json!({ "threadId": 1 }));
        assert_eq!(step.interrupted(), None);
        step.stop(&stop("function breakpoint", 2));
        step.stop(&stop("breakpoint", 3));
        assert_eq!(step.interrupted(), Some(1));
        step.stop(&end);
        assert_eq!(step.interrupted(), None, "{end:?}");
    }
}

#[test]
fn a_step_that_a_stop_has_interrupted_is_named_once() {
    let mut step = KeptStep::default();
    let stop = |reason: &str| StoppedEventBody { thread_id: Some(1), ..StoppedEventBody::because(reason) };
    step.stop(&stop("breakpoint"));
    step.begin(&json!({ "threadId": 1 }));
    step.stop(&stop("step"));
    assert!(step.take_interrupted().is_empty());
    for reason in ["pause", "breakpoint", "exception", "data breakpoint"] {
        step.begin(&json!({ "threadId": 1 }));
        step.stop(&stop(reason));
        // A step within it ends, and another is interrupted.
        step.begin(&json!({ "threadId": 1 }));
        step.stop(&stop("step"));
        step.begin(&json!({ "threadId": 2 }));
        step.stop(&stop(reason));
        assert_eq!(step.take_interrupted(), BTreeSet::from([1, 2]), "{reason}");
        assert!(step.take_interrupted().is_empty());
    }
}

#[test]
fn a_reference_that_is_used_again_has_the_expression_of_its_last_value() {
    let mut expressions = ValueExpressions::default();
    expressions.learn(9, Some("m"), Some("Map"));
    assert_eq!(expressions.of(9), Some(("m".to_owned(), "Map".to_owned())));
    expressions.learn(9, None, Some("Map"));
    expressions.learn(0, Some("n"), None);
    assert_eq!((expressions.of(9), expressions.of(0)), (None, None));
}

#[test]
fn a_reference_that_is_used_again_has_the_elements_of_its_last_value() {
    let mut elements = Elements::default();
    let row = |count: u64| json!({ "variablesReference": 9, "indexedVariables": count });
    elements.learn("variables", &json!({ "variables": [row(4), { "variablesReference": 0 }] }));
    assert_eq!(elements.of(9), 4);
    elements.learn("evaluate", &row(7));
    assert_eq!(elements.of(9), 7);
    elements.learn("stackTrace", &row(1));
    assert_eq!(elements.of(9), 7);
    elements.learn("setVariable", &json!({ "variablesReference": 9 }));
    assert_eq!(elements.of(9), 0);
}
