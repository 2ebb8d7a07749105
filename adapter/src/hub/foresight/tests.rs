//! What is asked ahead and who gets it, stop by stop.

use super::*;
use serde_json::json;

/// An adapter and its clients, by hand: tickets are numbers.
#[derive(Default)]
struct Table {
    foresight: Foresight,
    last: u64,
}

impl Table {
    fn stop(&mut self, thread: i64) {
        let body = json!({ "reason": "step", "threadId": thread, "allThreadsStopped": true });
        self.foresight.stopped(&body);
    }

    fn ticket(&mut self) -> Ticket {
        self.last += 1;
        Ticket(self.last)
    }

    /// A client asks; what it gets at once, or else whom it waits with.
    fn ask(&mut self, command: &str, arguments: Value) -> (Ticket, Option<Reception>) {
        let follower = self.ticket();
        (follower, self.foresight.wanted(follower, command, &arguments, &[]))
    }

    /// A client asks, the engine is asked and answers.
    fn look(&mut self, command: &str, arguments: Value, body: Value) {
        let (follower, reception) = self.ask(command, arguments.clone());
        assert_eq!(reception, Some(Reception::Ask), "{command}");
        let ticket = self.ticket();
        self.foresight.sent(ticket, command, arguments, vec![follower]);
        let outcome = self.foresight.answered(ticket, Ok(body.clone()));
        assert_eq!(outcome, Outcome::For(vec![follower], Ok(body)));
    }

    /// All that an editor asks at a stop of this thread, with these ids.
    fn look_at_all(&mut self, thread: i64, frame: i64, scope: i64) {
        self.look("threads", Value::Null, json!({ "threads": [] }));
        let stack = json!({ "threadId": thread, "startFrame": 0, "levels": 20, "own": { "field": true } });
        self.look("stackTrace", stack, json!({ "stackFrames": [{ "id": frame }, { "id": 77 }] }));
        let scopes = json!({ "scopes": [
            { "name": "Locals", "variablesReference": scope }, { "name": "Globals", "variablesReference": 88 }] });
        self.look("scopes", json!({ "frameId": frame }), scopes);
        self.look(
            "variables",
            json!({ "variablesReference": scope, "count": 9 }),
            json!({ "variables": [] }),
        );
    }

    /// What is asked ahead now, each with its ticket.
    fn ahead(&mut self) -> Vec<(Ticket, &'static str, Value)> {
        let mut asked = Vec::new();
        while let Some((command, arguments)) = self.foresight.next_ahead() {
            let ticket = self.ticket();
            self.foresight.sent(ticket, command, arguments.clone(), Vec::new());
            asked.push((ticket, command, arguments));
        }
        asked
    }

    /// A stop at which `threads` was asked, and the next one, at which it is asked ahead.
    fn threads_ahead() -> (Self, Ticket) {
        let mut table = Self::default();
        table.stop(1);
        table.look("threads", Value::Null, json!({ "threads": [1] }));
        table.stop(1);
        let ahead = table.ahead();
        let [(ticket, "threads", Value::Null)] = ahead.as_slice() else { panic!("{ahead:?}") };
        let ticket = *ticket;
        (table, ticket)
    }
}

#[test]
fn what_was_asked_at_a_stop_is_asked_ahead_at_the_next_with_its_own_ids() {
    let mut table = Table::default();
    table.stop(1);
    assert_eq!(table.ahead(), [], "nobody asked for anything yet");
    table.look_at_all(1, 10, 20);

    table.stop(2);
    let ahead = table.ahead();
    let [(threads, "threads", Value::Null), (stack, "stackTrace", arguments)] = ahead.as_slice() else {
        panic!("{ahead:?}");
    };
    assert_eq!(*arguments, json!({ "threadId": 2, "startFrame": 0, "levels": 20, "own": { "field": true } }));
    let told = json!({ "threads": ["now"] });
    assert_eq!(table.foresight.answered(*threads, Ok(told.clone())), Outcome::Kept);
    let frames = json!({ "stackFrames": [{ "id": 11 }] });
    assert_eq!(table.foresight.answered(*stack, Ok(frames)), Outcome::Kept);

    // Now the frame is known, and then its scopes.
    let ahead = table.ahead();
    let [(scopes, "scopes", arguments)] = ahead.as_slice() else { panic!("{ahead:?}") };
    assert_eq!(*arguments, json!({ "frameId": 11 }));
    let named = json!({ "scopes": [{ "name": "Globals", "variablesReference": 31 },
        { "name": "Locals", "variablesReference": 32 }] });
    assert_eq!(table.foresight.answered(*scopes, Ok(named)), Outcome::Kept);
    let ahead = table.ahead();
    let [(_, "variables", arguments)] = ahead.as_slice() else { panic!("{ahead:?}") };
    assert_eq!(*arguments, json!({ "variablesReference": 32, "count": 9 }));

    assert_eq!(table.ask("threads", Value::Null).1, Some(Reception::Known(told)));
    // Given away once.
    assert_eq!(table.ask("threads", Value::Null).1, Some(Reception::Ask));
}

#[test]
fn what_nobody_wanted_at_the_last_stop_is_not_asked_ahead() {
    let mut table = Table::default();
    table.stop(1);
    table.look_at_all(1, 10, 20);
    table.stop(1);
    table.ahead();
    // They only step.
    table.stop(1);
    assert_eq!(table.ahead(), []);
}

#[test]
fn only_equal_requests_get_an_answer_ahead() {
    let (mut table, ticket) = Table::threads_ahead();
    assert_eq!(table.ask("threads", json!({})).1, Some(Reception::Ask), "other arguments");
    let (follower, joined) = table.ask("threads", Value::Null);
    assert_eq!(joined, Some(Reception::Joined));
    let body = json!({ "threads": [2] });
    assert_eq!(table.foresight.answered(ticket, Ok(body.clone())), Outcome::For(vec![follower], Ok(body)));
}

#[test]
fn what_may_have_changed_is_asked_anew() {
    let (mut table, answered) = Table::threads_ahead();
    assert_eq!(table.foresight.answered(answered, Ok(json!({ "threads": ["old"] }))), Outcome::Kept);
    table.foresight.upset();
    assert_eq!(table.ask("threads", Value::Null).1, Some(Reception::Ask));
    assert_eq!(table.ahead(), [], "nothing more at this stop");

    let (mut table, under_way) = Table::threads_ahead();
    table.foresight.upset();
    assert_eq!(table.ask("threads", Value::Null).1, Some(Reception::Ask));
    assert_eq!(
        table.foresight.answered(under_way, Ok(Value::Null)),
        Outcome::For(Vec::new(), Ok(Value::Null))
    );

    // Who waited already keeps its place.
    let (mut table, under_way) = Table::threads_ahead();
    let (first, _) = table.ask("threads", Value::Null);
    table.foresight.upset();
    assert_eq!(table.ask("threads", Value::Null).1, Some(Reception::Ask));
    let outcome = table.foresight.answered(under_way, Ok(Value::Null));
    assert_eq!(outcome, Outcome::For(vec![first], Ok(Value::Null)));
}

#[test]
fn a_client_is_answered_in_the_order_in_which_it_asks() {
    let (mut table, answered) = Table::threads_ahead();
    let (slow, later) = (table.ticket(), table.ticket());
    assert_eq!(table.foresight.answered(answered, Ok(Value::Null)), Outcome::Kept);
    let reception = table.foresight.wanted(later, "threads", &Value::Null, &[slow]);
    assert_eq!(reception, Some(Reception::Ask), "it would overtake");
    assert_eq!(table.ask("threads", Value::Null).1, Some(Reception::Known(Value::Null)), "for another");

    // The engine has answered what it was asked before when it answers this.
    let (mut table, under_way) = Table::threads_ahead();
    let (asked_later, follower) = (table.ticket(), table.ticket());
    let reception = table.foresight.wanted(follower, "threads", &Value::Null, &[asked_later]);
    assert_eq!(reception, Some(Reception::Ask), "it would overtake");
    let reception = table.foresight.wanted(follower, "threads", &Value::Null, &[Ticket(0)]);
    assert_eq!(reception, Some(Reception::Joined));
    assert!(under_way > Ticket(0));
}

#[test]
fn answers_are_not_kept_for_long() {
    let (mut table, ticket) = Table::threads_ahead();
    assert!(table.foresight.starts_clock());
    assert!(!table.foresight.starts_clock(), "once for each stop");
    assert_eq!(table.foresight.answered(ticket, Ok(Value::Null)), Outcome::Kept);
    table.foresight.let_answers_go();
    assert_eq!(table.ask("threads", Value::Null).1, Some(Reception::Ask));

    // One that is under way then is new when it comes, but waits for nobody.
    let (mut table, ticket) = Table::threads_ahead();
    table.foresight.let_answers_go();
    let (follower, joined) = table.ask("threads", Value::Null);
    assert_eq!(joined, Some(Reception::Joined));
    let outcome = table.foresight.answered(ticket, Ok(Value::Null));
    assert_eq!(outcome, Outcome::For(vec![follower], Ok(Value::Null)));
}

#[test]
fn a_refusal_ahead_is_asked_again_but_not_a_time_out_and_not_at_another_stop() {
    let refused = || Err(Failure::new(ErrorCode::EngineFailed, "too early"));
    let (mut table, ticket) = Table::threads_ahead();
    let (follower, _) = table.ask("threads", Value::Null);
    let again =
        Outcome::Again { command: "threads".into(), arguments: Value::Null, followers: vec![follower] };
    assert_eq!(table.foresight.answered(ticket, refused()), again);
    // The second time it is the client's own request, and the refusal its answer.
    let real = table.ticket();
    table.foresight.sent(real, "threads", Value::Null, vec![follower]);
    assert_eq!(table.foresight.answered(real, refused()), Outcome::For(vec![follower], refused()));

    let late = || Err(Failure::new(ErrorCode::Timeout, "no answer"));
    let (mut table, ticket) = Table::threads_ahead();
    let (follower, _) = table.ask("threads", Value::Null);
    assert_eq!(table.foresight.answered(ticket, late()), Outcome::For(vec![follower], late()));

    let (mut table, ticket) = Table::threads_ahead();
    let (follower, _) = table.ask("threads", Value::Null);
    table.stop(1);
    assert_eq!(table.foresight.answered(ticket, refused()), Outcome::For(vec![follower], refused()));
}

#[test]
fn who_gives_up_takes_nothing_from_others() {
    let (mut table, ticket) = Table::threads_ahead();
    let (first, _) = table.ask("threads", Value::Null);
    let (second, _) = table.ask("threads", Value::Null);
    assert_eq!(table.foresight.gave_up(first), GaveUp::OthersWait);
    assert_eq!(table.foresight.gave_up(first), GaveUp::NotMine);
    assert_eq!(table.foresight.gave_up(second), GaveUp::Cancel(ticket));
    // It is being cancelled: nobody else waits for it, and its refusal is what was wanted.
    assert_eq!(table.ask("threads", Value::Null).1, Some(Reception::Ask));
    let cancelled = || Err(Failure::cancelled());
    assert_eq!(table.foresight.answered(ticket, cancelled()), Outcome::For(vec![second], cancelled()));
}

#[test]
fn nothing_is_asked_ahead_where_other_threads_run() {
    let (mut table, _) = Table::threads_ahead();
    table.ask("threads", Value::Null);
    table.foresight.stopped(&json!({ "reason": "step", "threadId": 1, "allThreadsStopped": false }));
    assert_eq!(table.ahead(), []);
    assert_eq!(table.ask("threads", Value::Null).1, None);
}

#[test]
fn another_thread_another_frame_and_a_variable_inside_are_no_habits() {
    let mut table = Table::default();
    table.stop(1);
    table.look("stackTrace", json!({ "threadId": 2 }), json!({ "stackFrames": [{ "id": 5 }] }));
    table.look("stackTrace", json!({ "threadId": 1 }), json!({ "stackFrames": [{ "id": 6 }, { "id": 7 }] }));
    table.look("scopes", json!({ "frameId": 7 }), json!({ "scopes": [] }));
    table.look("variables", json!({ "variablesReference": 99 }), json!({ "variables": [] }));
    table.stop(3);
    let ahead = table.ahead();
    let [(_, "stackTrace", arguments)] = ahead.as_slice() else { panic!("{ahead:?}") };
    assert_eq!(*arguments, json!({ "threadId": 3 }));
}
