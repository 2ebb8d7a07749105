//! Tests of the order of requests, each of which a script answers.

use std::sync::Arc;

use tokio::sync::mpsc;
use tokio::time::Instant;

use super::*;

/// Requests whose messages and answers the test orders.
struct Script {
    order: RequestOrder,
    stops: u64,
    next_stop: CancellationToken,
    begun: mpsc::UnboundedReceiver<&'static str>,
    begins: mpsc::UnboundedSender<&'static str>,
}

/// A request under way; it has its answer when this is dropped.
struct Underway {
    send: Arc<tokio::sync::Notify>,
    cancel: CancellationToken,
    end: CancellationToken,
    outcome: tokio::task::JoinHandle<Result<(), Failure>>,
}

impl Underway {
    async fn send(&self) {
        self.send.notify_one();
        settle().await;
    }

    async fn end(self) {
        self.end.cancel();
        settle().await;
    }
}

/// Lets every task go as far as it can.
async fn settle() {
    for _ in 0..20 {
        tokio::task::yield_now().await;
    }
}

impl Script {
    fn new() -> Self {
        let (begins, begun) = mpsc::unbounded_channel();
        Self { order: RequestOrder::default(), stops: 1, next_stop: CancellationToken::new(), begun, begins }
    }

    async fn request(&self, command: &'static str) -> Underway {
        let turn = self.order.take_turn(command, self.stops);
        let (send, end) = (Arc::new(tokio::sync::Notify::new()), CancellationToken::new());
        let cancel = CancellationToken::new();
        let (begins, sends, ends) = (self.begins.clone(), send.clone(), end.clone());
        let (next_stop, cancelled) = (self.next_stop.clone(), cancel.clone());
        let request = async move {
            begins.send(command).unwrap();
            let sending = async {
                sends.notified().await;
                note_sent(command);
                std::future::pending::<()>().await;
            };
            tokio::select! {
                () = ends.cancelled() => {}
                () = sending => {}
            }
            Ok(())
        };
        let outcome =
            tokio::spawn(
                async move { turn.carry_out(&cancelled, next_stop.cancelled_owned(), request).await },
            );
        settle().await;
        Underway { send, cancel, end, outcome }
    }

    /// The requests that have begun since the last look.
    fn begun(&mut self) -> Vec<&'static str> {
        std::iter::from_fn(|| self.begun.try_recv().ok()).collect()
    }
}

#[tokio::test]
async fn a_resume_waits_for_breakpoints_and_assignments_and_a_read_for_assignments() {
    for (change, later, waits) in [
        ("setBreakpoints", "continue", true),
        ("setFunctionBreakpoints", "next", true),
        ("setBreakpoints", "stackTrace", false),
        ("setBreakpoints", "setInstructionBreakpoints", true),
        ("setVariable", "evaluate", true),
        ("setVariable", "setExpression", true),
        ("setExpression", "variables", true),
        ("setExpression", "stepIn", true),
        ("writeMemory", "readMemory", true),
        ("writeMemory", "disassemble", true),
        ("setVariable", "threads", false),
        ("setVariable", "setBreakpoints", false),
        ("setVariable", "terminate", false),
        ("setVariable", "disconnect", false),
        ("setVariable", "pause", false),
        ("setBreakpoints", "configurationDone", false),
    ] {
        let mut script = Script::new();
        let first = script.request(change).await;
        first.send().await;
        let _later = script.request(later).await;
        let expected = if waits { vec![change] } else { vec![change, later] };
        assert_eq!(script.begun(), expected, "{later} after {change}");
        first.end().await;
        assert_eq!(script.begun(), if waits { vec![later] } else { vec![] }, "{later} after {change}");
    }
}

#[tokio::test]
async fn what_is_one_message_is_waited_for_until_the_adapter_has_it() {
    for (first, later) in [
        ("evaluate", "variables"),
        ("evaluate", "continue"),
        ("variables", "setVariable"),
        ("stackTrace", "next"),
        ("next", "stackTrace"),
        ("continue", "pause"),
        ("continue", "setBreakpoints"),
        ("goto", "continue"),
        ("pause", "continue"),
        ("itsOwn", "next"),
    ] {
        let mut script = Script::new();
        let hangs = script.request(first).await;
        let _later = script.request(later).await;
        assert_eq!(script.begun(), [first], "{later} after {first}");
        hangs.send().await;
        assert_eq!(script.begun(), [later], "{later} after {first}");
    }
}

#[tokio::test]
async fn a_message_that_prepares_a_request_is_not_the_request() {
    let order = RequestOrder::default();
    let (evaluation, step) = (order.take_turn("evaluate", 0), order.take_turn("next", 0));
    let sent = (evaluation.sent.clone(), step.sent.clone());
    let never = CancellationToken::new();
    let request = async {
        prepare(async { note_sent("evaluate") }).await;
        assert!(!sent.0.is_cancelled());
        note_sent("evaluate");
        assert!(sent.0.is_cancelled());
        Ok(())
    };
    evaluation.carry_out(&never, std::future::pending(), request).await.unwrap();
    let request = async {
        note_sent("threads");
        assert!(!sent.1.is_cancelled());
        // An adapter that keeps an interrupted step continues it.
        note_sent("continue");
        assert!(sent.1.is_cancelled());
        Ok(())
    };
    step.carry_out(&never, std::future::pending(), request).await.unwrap();
}

#[tokio::test(start_paused = true)]
async fn a_pause_interrupts_an_assignment_that_hangs_though_a_resume_waits_for_it() {
    let mut script = Script::new();
    let _hangs = script.request("setVariable").await;
    let _resume = script.request("continue").await;
    let start = Instant::now();
    let _pause = script.request("pause").await;
    assert_eq!(script.begun(), ["setVariable"]);
    assert_eq!(script.begun.recv().await, Some("pause"));
    assert_eq!(start.elapsed().as_millis(), MAX_PAUSE_DELAY.as_millis());
}

#[tokio::test]
async fn a_request_that_waits_can_be_cancelled() {
    let mut script = Script::new();
    let _hangs = script.request("setVariable").await;
    let waits = script.request("variables").await;
    waits.cancel.cancel();
    let failure = waits.outcome.await.unwrap().unwrap_err();
    assert_eq!(failure.code, Failure::cancelled().code);
    assert_eq!(script.begun(), ["setVariable"]);
}

/// The program can stop in code that an assignment calls, and clients look at it and resume it there.
#[tokio::test]
async fn nothing_waits_for_an_assignment_in_which_the_program_has_stopped() {
    let mut script = Script::new();
    let _nested = script.request("setVariable").await;
    let _waits = script.request("stackTrace").await;
    assert_eq!(script.begun(), ["setVariable"]);
    script.stops += 1;
    script.next_stop.cancel();
    settle().await;
    assert_eq!(script.begun(), ["stackTrace"]);
    let _later = script.request("continue").await;
    assert_eq!(script.begun(), ["continue"]);
}
