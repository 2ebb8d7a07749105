//! Stops that only the hub can tell apart: a breakpoint of several owners on an engine that keeps one per
//! line, or a condition, hit count or log message that an engine does not support.
//!
//! The engine stops each time. No client is notified until it is known which owners want the stop: for each
//! owner's request the hub evaluates the condition in the top frame, counts the hit and writes the log
//! message. When no owner wants the stop the program resumes, and no client ever saw it stopped. A stop is
//! never hidden from a client that waits for one: a step that skips such a breakpoint ends there as a step,
//! and a pause that was requested meanwhile is a pause.

use std::time::Duration;

use serde_json::{Value, json};
use tandem_wire::Failure;
use tandem_wire::command::{Execution, execution};
use tandem_wire::types::{
    self, EvaluateArguments, EvaluateResponseBody, StackTraceResponseBody, StoppedEventBody, body,
};

use super::condition_check::{CheckStep, ConditionCheck, ids, name_failed, remove_traced};
use super::hit_output::{HitOutput, HitRecord};
use super::session_engine::HeldRequest;
use super::{ENGINE_TIMEOUT, State, output_line};
use crate::breakpoints::{Candidate, DATA_STOP};
use crate::pending::ReplyAction;
use tandem_engine::FailedCondition;
use tandem_engine::condition_language::ConditionLanguage;
use tandem_engine::hit_condition::{HitTest, condition_failed};
use tandem_engine::log_message::line_body;

/// Maximum time for one condition, or one expression of a log message.
const QUERY_TIMEOUT: Duration = Duration::from_secs(5);

impl State {
    /// The engine reports a stop, perhaps because it could not evaluate a condition.
    pub(super) fn receive_stop(&mut self, body: &Value, failure: Option<FailedCondition>) {
        self.finish_resume();
        self.withdraw_resumes();
        self.checks.next.push_back((types::read(body), failure));
        self.check_next_stop();
    }

    /// Removes the requests of the hub that would resume the program as soon as the engine has its
    /// breakpoints: it has stopped again, and clients may want that stop.
    fn withdraw_resumes(&mut self) {
        let resumes = |held: &mut HeldRequest| {
            matches!(execution(held.request.command()), Execution::Continue | Execution::Step)
        };
        for held in self.engine.held.extract_if(.., resumes) {
            if let Some(ReplyAction::Resumption { stop, .. }) = self.engine.pending.take(held.ticket) {
                self.checks.unwanted = Some(stop);
            }
        }
    }

    /// Takes up stops until one has to be checked; when all are known, the program resumes
    /// if no owner wants any.
    fn check_next_stop(&mut self) {
        while self.checks.current.is_none()
            && let Some((stop, failure)) = self.checks.next.pop_front()
        {
            self.check_stop(stop, failure);
        }
        if self.checks.current.is_none() {
            // If clients know of another stop the program is stopped, even if no client wants this one.
            if let Some(stop) = self.checks.unwanted.take()
                && !self.program.is_stopped()
            {
                self.resume_unwanted(stop);
            }
        }
    }

    /// Reports a stop, or finds out first which owners want it.
    fn check_stop(&mut self, mut stop: StoppedEventBody, mut failure: Option<FailedCondition>) {
        let engine_ids = stop.hit_breakpoint_ids.clone().unwrap_or_default();
        if stop.reason == "breakpoint" && self.breakpoints.are_at_instructions(&engine_ids) {
            // gdb does not distinguish them.
            stop.reason = "instruction breakpoint".into();
        }
        let at_data = stop.reason == DATA_STOP;
        let mut hit = match engine_ids.as_slice() {
            [] if at_data => self.breakpoints.only_data(),
            ids => self.breakpoints.hit_candidates(&stop.reason, ids),
        };
        let named = !engine_ids.is_empty() || !hit.is_empty();
        // A data breakpoint that is not named is at no line.
        let is_breakpoint = stop.reason.ends_with("breakpoint") && (named || !at_data);
        if let Some(reported) = failure.take() {
            // Of several conditions that the engine had as one, only some have failed.
            match named {
                true if hit.iter().any(Candidate::has_open_condition) => {}
                true if reported.is_for_hub => hit.iter_mut().for_each(Candidate::open_condition),
                false if is_breakpoint && self.breakpoints.need_hub() => failure = Some(reported),
                _ => return self.report_failed_condition(stop, reported),
            }
        }
        let late = hit.is_empty() && self.breakpoints.are_retired(&stop.reason, &engine_ids);
        remove_traced(&mut hit);
        let open = match named {
            true => late || hit.iter().any(|candidate| candidate.by_hub),
            false => self.breakpoints.need_hub(),
        };
        if !is_breakpoint || !open {
            return self.report_stop(stop, &ids(&hit));
        }
        let arguments = types::top_frames(stop.thread_id, 1);
        let candidates = (named && !late).then(|| hit.into());
        self.checks.current = Some(ConditionCheck::new(stop, failure, candidates, late));
        self.query("stackTrace", arguments);
    }

    /// Sends the engine a query about the current stop.
    fn query(&mut self, command: &str, arguments: Value) {
        self.checks.queries += 1;
        let query = self.checks.queries;
        if let Some(check) = &mut self.checks.current {
            check.query = query;
        }
        self.request_engine(ReplyAction::Query(query), command, arguments, QUERY_TIMEOUT);
    }

    /// The engine replied to a query.
    pub(super) fn receive_query_reply(&mut self, query: u64, result: Result<Value, Failure>) {
        let Some(mut check) = self.checks.current.take_if(|check| check.query == query) else { return };
        match std::mem::replace(&mut check.step, CheckStep::Frame) {
            CheckStep::Frame => self.receive_frame(check, result),
            CheckStep::Condition => self.receive_condition(check, result),
            CheckStep::Values(mut output) => {
                output.add(result.map(|body| types::read(&body)));
                self.collect_values(check, output);
            }
        }
    }

    fn receive_frame(&mut self, mut check: ConditionCheck, stack: Result<Value, Failure>) {
        let stack: StackTraceResponseBody = match stack {
            Ok(stack) => types::read(&stack),
            Err(failure) => {
                tracing::warn!(%failure, "a stop could not be checked: no stack");
                // Which of the conditions hold is not known: what may not have been hit is not named.
                let mut hit = check.candidates.unwrap_or_default();
                hit.retain(|candidate| !candidate.by_hub);
                self.report_stop(check.stop, &ids(hit.make_contiguous()));
                return self.check_next_stop();
            }
        };
        let top = stack.stack_frames.first();
        check.frame = top.map(|frame| frame.id);
        let path = top.and_then(|frame| Some((frame.source.as_ref()?.path.as_deref()?, frame.line)));
        let hit_here = |(path, line)| match &check.stop.hit_breakpoint_ids {
            Some(engine_ids) if check.late => self.breakpoints.hit_late_at(path, line, engine_ids),
            _ => self.breakpoints.hit_at(path, line),
        };
        let mut here = path.map(hit_here).unwrap_or_default();
        remove_traced(&mut here);
        let candidates = check.candidates.get_or_insert_with(|| here.into());
        if check.late && candidates.is_empty() {
            // The breakpoint was removed during the stop.
            self.checks.unwanted = Some(check.stop);
            return self.check_next_stop();
        }
        if !candidates.iter().any(Candidate::has_open_condition)
            && let Some(failure) = check.failure
        {
            self.report_failed_condition(check.stop, failure);
            return self.check_next_stop();
        }
        if !candidates.iter().any(|candidate| candidate.by_hub) {
            // It stopped for something that the hub does not evaluate.
            let hit = ids(candidates.make_contiguous());
            self.report_stop(check.stop, &hit);
            return self.check_next_stop();
        }
        self.check_candidate(check);
    }

    /// Takes up the first candidate that is left.
    fn check_candidate(&mut self, mut check: ConditionCheck) {
        let candidates = check.candidates.get_or_insert_default();
        while candidates.front().is_some_and(|candidate| !candidate.by_hub) {
            check.stops_for.extend(candidates.pop_front().map(|candidate| candidate.id));
        }
        let Some(candidate) = candidates.front() else { return self.finish_check(check) };
        match candidate.request.condition.clone() {
            Some(condition) => {
                check.step = CheckStep::Condition;
                let query = (self.condition_language().query)(&condition);
                self.evaluate_in_frame(check, query);
            }
            None => self.count_hit(check),
        }
    }

    fn condition_language(&self) -> ConditionLanguage {
        self.engine.started().map_or(ConditionLanguage::OTHER, |engine| engine.conditions)
    }

    fn evaluate_in_frame(&mut self, check: ConditionCheck, expression: String) {
        let arguments = body(&EvaluateArguments {
            expression,
            frame_id: check.frame,
            context: Some("watch".into()),
            ..EvaluateArguments::default()
        });
        self.checks.current = Some(check);
        self.query("evaluate", arguments);
    }

    fn receive_condition(&mut self, mut check: ConditionCheck, reply: Result<Value, Failure>) {
        let language = self.condition_language();
        match reply.map(|body| types::read::<EvaluateResponseBody>(&body)) {
            Ok(value) if !language.is_true(&value.result) => {
                check.candidates.get_or_insert_default().pop_front();
                self.check_candidate(check);
            }
            Ok(_) => self.count_hit(check),
            // Neither a count nor a log message hides it: it is not known what they should have done.
            Err(failure) => {
                if let Some(first) = check.candidates.get_or_insert_default().pop_front() {
                    let condition = first.request.condition.unwrap_or_default();
                    let problem = condition_failed(&condition, &failure.to_string());
                    self.write_console(&problem);
                    check.failed.push(problem);
                    check.stops_for.push(first.id);
                }
                self.check_candidate(check);
            }
        }
    }

    /// The engine stopped because it could not evaluate a condition; it reports the reason.
    fn report_failed_condition(&mut self, mut stop: StoppedEventBody, failure: FailedCondition) {
        let engine_ids = stop.hit_breakpoint_ids.as_deref().unwrap_or_default();
        let hit = ids(&self.breakpoints.hit_candidates(&stop.reason, engine_ids));
        let own = || hit.iter().find_map(|id| self.breakpoints.find(*id)?.request.condition.clone());
        let condition = failure.condition.or_else(own).unwrap_or_default();
        let problem = condition_failed(&condition, &failure.reason);
        self.write_console(&problem);
        name_failed(&mut stop, &[problem]);
        self.report_stop(stop, &hit);
    }

    /// The condition holds: the hit counts, and is logged or wanted.
    fn count_hit(&mut self, mut check: ConditionCheck) {
        let Some(candidate) = check.candidates.get_or_insert_default().front().cloned() else {
            return self.finish_check(check);
        };
        let hits = self.breakpoints.count_hit(candidate.id);
        let counts = match HitTest::parse(candidate.request.hit_condition.as_deref().unwrap_or_default()) {
            Ok(test) => test.is_none_or(|test: HitTest| test.holds(hits)),
            Err(problem) => {
                self.write_console(&format!("{problem}; so each hit counts"));
                true
            }
        };
        let hits = self.breakpoints.group_hits(candidate.id).unwrap_or(hits);
        match HitOutput::of(&candidate.request, hits) {
            Some(output) if counts => return self.collect_values(check, output),
            None if counts => check.stops_for.push(candidate.id),
            _ => {}
        }
        check.candidates.get_or_insert_default().pop_front();
        self.check_candidate(check);
    }

    /// Requests the next value of a log message or a trace; writes the message when all values are there.
    fn collect_values(&mut self, mut check: ConditionCheck, output: HitOutput) {
        if let Some(expression) = output.next().map(str::to_owned) {
            check.step = CheckStep::Values(output);
            return self.evaluate_in_frame(check, expression);
        }
        if let Some(candidate) = check.candidates.get_or_insert_default().pop_front() {
            match output.finish() {
                HitRecord::Line(line) => self.broadcast("output", &body(&line_body(&line))),
                HitRecord::Row { values, hit, last } => {
                    let body = json!({ "breakpointId": candidate.id, "threadId": check.stop.thread_id,
                        "hit": hit, "values": values });
                    candidate.owners.iter().for_each(|owner| self.send_event(*owner, "traced", &body));
                    if last {
                        check.stops_for.push(candidate.id);
                    }
                }
            }
        }
        self.check_candidate(check);
    }

    fn write_console(&mut self, line: &str) {
        self.broadcast("output", &output_line("console", line));
    }

    /// Everything about one stop is known.
    fn finish_check(&mut self, mut check: ConditionCheck) {
        name_failed(&mut check.stop, &check.failed);
        if check.stops_for.is_empty() {
            self.checks.unwanted = Some(check.stop);
        } else {
            self.report_stop(check.stop, &check.stops_for);
        }
        self.check_next_stop();
    }

    /// The program is stopped and clients are notified; `hit` are the session's ids.
    pub(super) fn report_stop(&mut self, mut stop: StoppedEventBody, hit: &[i64]) {
        if !hit.is_empty() || stop.hit_breakpoint_ids.is_some() {
            stop.hit_breakpoint_ids = Some(hit.to_vec());
        }
        if self.is_skipped(hit) {
            self.checks.unwanted = Some(stop);
            return;
        }
        let Some(stop) = self.take_followed_stop(stop, hit) else { return };
        self.checks.stopped_at.extend(hit);
        self.checks.pause_wanted = false;
        // A stop while stopped (another thread) is a new stop: what was requested before it is stale.
        self.leave_stop(None);
        let event = body(&stop);
        self.program.stop(stop);
        self.broadcast_after_output("stopped", &event);
    }

    /// No owner wants the stop.
    fn resume_unwanted(&mut self, mut stop: StoppedEventBody) {
        let reason = match execution(&self.checks.last_resume) {
            _ if self.checks.pause_wanted => "pause",
            Execution::Step => "step",
            _ => {
                let arguments = json!({ "threadId": stop.thread_id });
                let action = ReplyAction::Resumption { stop, stops: self.program.stop_count() };
                return self.request_engine(action, "continue", arguments, ENGINE_TIMEOUT);
            }
        };
        stop.reason = reason.into();
        (stop.hit_breakpoint_ids, stop.description) = (None, None);
        self.report_stop(stop, &[]);
    }

    /// The engine resumed the program after a stop that no owner wants, or would not: then it is stopped, and
    /// clients are notified. `stops`: how many stops were reported when it was requested; after another, the
    /// reply is out of date.
    pub(super) fn receive_resumption(
        &mut self,
        stop: StoppedEventBody,
        stops: u64,
        result: Result<Value, Failure>,
    ) {
        if let Err(failure) = result
            && self.program.is_live()
            && self.program.stop_count() == stops
            && self.checks.current.is_none()
            && !self.program.is_stopped()
        {
            tracing::warn!(%failure, "the program did not resume after a stop that no owner wants");
            self.report_stop(stop, &[]);
        }
    }

    /// A pause during the check of a stop: the program is already stopped.
    pub(super) fn pause_during_check(&mut self) -> bool {
        self.checks.pause_wanted = true;
        self.checks.current.is_some()
    }

    /// Stops that were not reported are over.
    pub(super) fn abandon_checks(&mut self) {
        let checks = std::mem::take(&mut self.checks);
        self.checks.queries = checks.queries;
        self.checks.stopped_at = checks.stopped_at;
        self.checks.last_resume = checks.last_resume;
    }
}
