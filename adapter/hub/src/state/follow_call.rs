//! `followCall`: the engine steps through a call, and no client sees a stop until it is over. [`Follow`]
//! decides on the next request; here are the stops, the replies, the time and the clients.

#[cfg(test)]
mod tests;

use std::time::Duration;

use serde_json::Value;
use tandem_wire::Failure;
use tandem_wire::types::{self, StoppedEventBody};

use super::session_changes::ResumedBy;
use super::{ENGINE_TIMEOUT, Phase, State};
use crate::event::{ClientId, ClientRequest, HubEffect, Timer};
use crate::follow::{Follow, FollowAction, FollowEnd, is_followed};
use crate::pending::ReplyAction;
use tandem_engine::result_names::ResultNames;

/// How long a program may take to stop after the time limit.
const PAUSE_TIMEOUT: Duration = Duration::from_secs(5);

/// A call that is followed.
#[derive(Debug)]
struct FollowRequest {
    request: ClientRequest,
    follow: Follow,
    /// Number of the request to the engine, so that a late reply is not mistaken for the current one's.
    number: u64,
    /// The last stop, which clients are to see when it is over, with the breakpoints that were hit.
    stop: StoppedEventBody,
    hit: Vec<i64>,
    /// A step is on its way: the engine will report a stop.
    steps: bool,
    /// The reason to end at the next stop, if there is one.
    ending: Option<FollowEnd>,
}

/// Calls that are followed, one at a time.
#[derive(Debug, Default)]
pub(super) struct Following {
    current: Option<FollowRequest>,
    /// Counts calls that were followed.
    count: u64,
}

impl State {
    /// Begins to follow the call in which a thread is stopped.
    pub(super) fn follow_call(&mut self, request: ClientRequest, mut arguments: Value) {
        let follow = match self.following.current {
            Some(_) => Err(is_followed()),
            None => self
                .prepare(&request, &mut arguments)
                .and_then(|()| Follow::parse(&arguments, self.stopped_thread(), self.result_names())),
        };
        let mut follow = match follow {
            Ok(follow) => follow,
            Err(failure) => return self.refuse(&request, failure),
        };
        let Phase::Stopped { stop } = self.program.phase().clone() else { return };
        let by = self.name_of(request.client);
        self.abandon_checks();
        // A stop on the way that no owner wants ends the step.
        self.checks.last_resume = "stepIn".into();
        let continued = self.continued();
        self.set_running(Some(by));
        self.broadcast_except(Some(request.client), "continued", &continued);
        self.report_change(request.client, "resumed", &ResumedBy::of(&request));
        self.following.count += 1;
        let after = Duration::from_millis(follow.timeout_ms());
        self.effects.push(HubEffect::StartTimer { timer: Timer::Follow(self.following.count), after });
        let thread = Some(follow.thread());
        let next = follow.stopped(thread);
        self.following.current = Some(FollowRequest {
            request,
            follow,
            number: 0,
            stop,
            hit: Vec::new(),
            steps: false,
            ending: None,
        });
        self.continue_following(next);
    }

    fn result_names(&self) -> ResultNames {
        self.engine.started().map(|engine| engine.results.clone()).unwrap_or_default()
    }

    /// Requests what is next of the engine, or ends.
    fn continue_following(&mut self, next: FollowAction) {
        let Some(following) = &mut self.following.current else { return };
        let next = match (following.ending, next) {
            // At a stop nothing more is learnt than that it ends.
            (Some(ended), FollowAction::Step(_)) => FollowAction::End(ended),
            (_, next) => next,
        };
        following.number += 1;
        following.steps = matches!(next, FollowAction::Step(_));
        let action = ReplyAction::Follow(following.number);
        match next {
            FollowAction::Query(command, arguments) => {
                self.request_engine(action, command, arguments, ENGINE_TIMEOUT);
            }
            FollowAction::Step(command) => {
                let arguments = types::of_thread(Some(following.follow.thread()));
                self.request_engine(action, command, arguments, ENGINE_TIMEOUT);
            }
            FollowAction::End(ended) => self.end_following(ended, None),
        }
    }

    /// The engine replied to a query or a step.
    pub(super) fn receive_follow_reply(&mut self, number: u64, result: Result<Value, Failure>) {
        let Some(following) = self.following.current.as_mut().filter(|following| following.number == number)
        else {
            return;
        };
        if following.steps {
            if let Err(failure) = result {
                self.end_following(FollowEnd::Failed, Some(&failure));
            }
            return;
        }
        match following.follow.receive(result) {
            Ok(next) => self.continue_following(next),
            Err(failure) => self.end_following(FollowEnd::Failed, Some(&failure)),
        }
    }

    /// Takes a stop that belongs to the call that is followed; returns any other.
    pub(super) fn take_followed_stop(
        &mut self,
        stop: StoppedEventBody,
        hit: &[i64],
    ) -> Option<StoppedEventBody> {
        let Some(following) = &mut self.following.current else { return Some(stop) };
        let by = following.request.client;
        let is_own = |id: &i64| {
            self.breakpoints
                .find(*id)
                .is_some_and(|breakpoint| breakpoint.owners.iter().all(|owner| *owner == by))
        };
        let is_thread = stop.thread_id == Some(following.follow.thread());
        let is_way = match stop.reason.as_str() {
            "step" => true,
            // Its own breakpoints, on the lines that it follows.
            reason if reason.ends_with("breakpoint") => {
                is_thread && !hit.is_empty() && hit.iter().all(is_own)
            }
            _ => false,
        };
        let ended = match stop.reason.as_str() {
            "exception" => FollowEnd::Exception,
            _ => FollowEnd::Stopped,
        };
        let (thread, ending) = (stop.thread_id, following.ending);
        (following.stop, following.hit) = (stop, hit.to_vec());
        following.steps = false;
        if is_way && ending.is_none() {
            let next = following.follow.stopped(thread);
            self.continue_following(next);
        } else {
            self.end_following(ending.unwrap_or(ended), None);
        }
        None
    }

    /// Ends it: clients see where the program is stopped, and the requesting client gets its response.
    fn end_following(&mut self, ended: FollowEnd, failure: Option<&Failure>) {
        let Some(following) = self.following.current.take() else { return };
        let FollowRequest { request, follow, stop, hit, .. } = following;
        self.abandon_checks();
        self.report_stop(stop, &hit);
        self.respond(&request, Ok(follow.body(ended, failure)));
    }

    /// The program has ended, or is being replaced.
    pub(super) fn abandon_following(&mut self) {
        if let Some(FollowRequest { request, follow, .. }) = self.following.current.take() {
            self.respond(&request, Ok(follow.body(FollowEnd::Exited, None)));
        }
    }

    /// The time limit has passed: pauses the program.
    pub(super) fn time_out_following(&mut self, number: u64) {
        if self.following.count != number {
            return;
        }
        match self.following.current.as_ref().map(|following| following.ending) {
            None => {}
            Some(None) => drop(self.interrupt_following(FollowEnd::Timeout)),
            // It does not stop.
            Some(Some(ended)) => {
                if let Some(FollowRequest { request, follow, .. }) = self.following.current.take() {
                    self.respond(&request, Ok(follow.body(ended, None)));
                }
            }
        }
    }

    /// Ends it at the next stop, which comes at once. Returns whether a call is followed.
    pub(super) fn interrupt_following(&mut self, ended: FollowEnd) -> bool {
        let Some(following) = &mut self.following.current else { return false };
        if following.ending.is_some() {
            return true;
        }
        following.ending = Some(ended);
        let timer = Timer::Follow(self.following.count);
        self.effects.push(HubEffect::StartTimer { timer, after: PAUSE_TIMEOUT });
        if following.steps {
            let arguments = types::of_thread(Some(following.follow.thread()));
            self.request_engine(ReplyAction::Ignore, "pause", arguments, ENGINE_TIMEOUT);
        }
        true
    }

    /// A client cancels its `followCall`, or has left.
    pub(super) fn cancel_following(&mut self, client: ClientId, seq: Option<i64>) {
        let is_it = self.following.current.as_ref().is_some_and(|following| {
            following.request.client == client && seq.is_none_or(|seq| following.request.seq == seq)
        });
        if is_it {
            self.interrupt_following(FollowEnd::Cancelled);
        }
    }
}
