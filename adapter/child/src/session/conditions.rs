//! Breakpoints whose conditions fail. Adapters differ: some treat a failed condition as false, some stop
//! without a reason. Here conditions are checked before the adapter gets them, if the language can, and a
//! stop at a failed one names the reason. Conditions that the hub evaluates never come here.

use std::path::PathBuf;
use std::process::{Command, Stdio};
use std::sync::Arc;
use std::time::Duration;

use serde::Serialize;
use serde_json::Value;
use tandem_wire::Failure;
use tandem_wire::types::{
    self, Breakpoint, BreakpointEventBody, EvaluateResponseBody, SetBreakpointsResponseBody, Source,
    SourceBreakpoint, StackTraceResponseBody, StoppedEventBody,
};
use tokio_util::sync::CancellationToken;

use super::super::connection::MAX_STDERR_TAIL_LEN;
use super::super::signals;
use super::super::state::ChildEvent;
use super::super::translate;
use super::own_stops::resume_own_stop;
use super::{AdapterSession, LiveAdapter, console, subscripts};
use tandem_engine::hit_condition::HitTest;
use tandem_engine::{FailedCondition, JoinedConditions, path_map};

/// How long a check of a condition's text may take.
const CHECK_TIMEOUT: Duration = Duration::from_secs(5);
/// How long the question why a condition failed may take.
pub(super) const QUERY_TIMEOUT: Duration = Duration::from_secs(2);
/// A path that no program has: breakpoints there never bind.
const NO_SOURCE: &str = "/dev/null/no-source";
/// The reason if the adapter does not understand a condition as it is.
const NOT_COMPILED: &str = "the debugger does not compile it";
/// Maximum length of a condition's error message, in characters.
const MAX_MESSAGE_CHARS: usize = 400;

/// A breakpoint as the adapter gets it.
struct SentBreakpoint {
    /// Its position in the list that came.
    index: usize,
    breakpoint: Value,
    /// Its condition as the client has it, unless the hub evaluates it.
    condition: Option<String>,
    /// Whether its condition joins several.
    joined: bool,
}

/// Why a condition failed.
struct FailedReason {
    text: String,
    /// As in [`FailedCondition::is_for_hub`].
    is_for_hub: bool,
}

/// The arguments of a `setBreakpoints` that only uses up ids.
#[derive(Serialize)]
struct SkippedBreakpoints {
    source: Source,
    breakpoints: Vec<SourceBreakpoint>,
}

impl AdapterSession {
    /// Sets breakpoints of which some may have conditions.
    pub(super) async fn set_conditional(
        self: &Arc<Self>,
        command: &str,
        mut arguments: Value,
        joined: &[JoinedConditions],
        cancel: &CancellationToken,
    ) -> Result<Value, Failure> {
        let place = types::source_path(&arguments).unwrap_or_else(|| command.to_owned());
        if command == "setFunctionBreakpoints" {
            self.learn(|known| known.panics.note_functions(&arguments));
        }
        let requested =
            types::list_mut(&mut arguments, "breakpoints").map(std::mem::take).unwrap_or_default();
        if let Some(reason) = self.with_knowledge(|known| known.breakpoints.lost()) {
            // The adapter would write to the code of a program that it does not know.
            return Ok(translate::refuse_all(requested.len(), reason));
        }
        let (mut taken, mut sent) = (Vec::new(), Vec::new());
        for (index, mut breakpoint) in requested.into_iter().enumerate() {
            let SourceBreakpoint { line, condition, hit_condition, .. } = types::read(&breakpoint);
            let refuse = |message: String| {
                let line = Some(line).filter(|line| *line > 0);
                (index, types::body(&Breakpoint { line, ..Breakpoint::refused(message) }))
            };
            if let Err(problem) = HitTest::parse(hit_condition.as_deref().unwrap_or_default())
                && !self.profile.has_own_hit_conditions()
            {
                taken.push(refuse(problem));
                continue;
            }
            let several = joined.iter().find(|joined| joined.index == index);
            let condition = condition.filter(|_| several.is_none());
            if let Some(condition) = &condition {
                if let Some(problem) = self.problem_of(condition).await {
                    let message = format!("the condition `{condition}`: {problem}");
                    taken.push(refuse(message));
                    continue;
                }
                types::set(&mut breakpoint, "condition", self.profile.guarded_condition(condition));
            }
            let compiles = |condition: &String| self.profile.compiles_condition(condition, self.is_rust());
            let is_compiled = condition.iter().all(compiles)
                && several.is_none_or(|several| several.conditions.iter().all(compiles));
            let is_readable = match several {
                Some(several) => self.all_conditions_parse(&several.conditions).await,
                None => true,
            };
            if !is_compiled || !is_readable {
                drop_condition(&mut breakpoint);
            }
            sent.push(SentBreakpoint { index, breakpoint, condition, joined: several.is_some() });
        }
        if !sent.is_empty() {
            self.skip_used_ids(cancel).await;
        }
        let mut answer = self.send_breakpoints(command, &arguments, &sent, cancel).await?;
        let refused = if self.profile.refuses_conditions() { refused(&answer, &sent) } else { Vec::new() };
        if !refused.is_empty() {
            // Delve keeps what it has refused, and the next breakpoint there is never hit: it is taken back
            // first.
            let mut again = Vec::new();
            for (at, mut one) in std::mem::take(&mut sent).into_iter().enumerate() {
                if !refused.contains(&at) {
                    sent.push(one);
                } else if one.joined {
                    // One that cannot be read must not take away the breakpoint of the others: the hub
                    // evaluates each hit.
                    drop_condition(&mut one.breakpoint);
                    again.push(one);
                } else {
                    taken.push((one.index, answer["breakpoints"][at].clone()));
                }
            }
            answer = self.send_breakpoints(command, &arguments, &sent, cancel).await?;
            if !again.is_empty() {
                sent.extend(again);
                sent.sort_by_key(|one| one.index);
                answer = self.send_breakpoints(command, &arguments, &sent, cancel).await?;
            }
            taken.sort_by_key(|(index, _)| *index);
        }
        if command == "setBreakpoints" {
            self.correct_breakpoints(&place, &sent, &mut answer).await;
        }
        self.learn(|known| known.breakpoints.hold(place.clone(), &answer));
        let conditions: Vec<Option<String>> = sent.into_iter().map(|one| one.condition).collect();
        let SetBreakpointsResponseBody { breakpoints, .. } = types::read(&answer);
        let ids =
            breakpoints.iter().zip(&conditions).enumerate().filter_map(|(at, (breakpoint, condition))| {
                // Not every adapter numbers them.
                let id = breakpoint.id.unwrap_or_else(|| -1 - i64::try_from(at).unwrap_or_default());
                Some((id, condition.clone()?))
            });
        let checked = ids.collect();
        self.learn(|known| known.conditions.hold(place, checked, &conditions));
        translate::insert_answers(&mut answer, taken);
        Ok(answer)
    }

    /// Has the profile correct an answer about a source that is on this machine: the one of a launch.
    async fn correct_breakpoints(&self, source: &str, sent: &[SentBreakpoint], answer: &mut Value) {
        let is_local = |live: &LiveAdapter| {
            live.plan.launched && path_map::read(live.target.attributes()).is_ok_and(|map| map.is_empty())
        };
        if !self.live().as_ref().is_some_and(is_local) {
            return;
        }
        let lines =
            sent.iter().map(|one| types::read::<SourceBreakpoint>(&one.breakpoint).line).collect::<Vec<_>>();
        let (profile, source) = (self.profile.clone(), PathBuf::from(source));
        let mut body: SetBreakpointsResponseBody = types::read(answer);
        let correcting = tokio::task::spawn_blocking(move || {
            profile.correct_breakpoints(&source, &lines, &mut body.breakpoints);
            body
        });
        if let Ok(body) = correcting.await {
            *answer = types::body(&body);
        }
    }

    /// Reports that none of the adapter's breakpoints stops any more.
    pub(super) fn lose_breakpoints(self: &Arc<Self>, reason: &'static str) {
        for id in self.learn(|known| known.breakpoints.lose(reason)) {
            let lost = Breakpoint { id: Some(id), ..Breakpoint::refused(reason) };
            let event = BreakpointEventBody {
                reason: "changed".into(),
                breakpoint: lost,
                ..BreakpointEventBody::default()
            };
            self.send_event("breakpoint", types::body(&event));
        }
    }

    /// Makes the adapter skip the ids of breakpoints that it holds, before it uses them for others.
    async fn skip_used_ids(&self, cancel: &CancellationToken) {
        let used = self.learn(|known| known.breakpoints.take_used_ids());
        if used == 0 {
            return;
        }
        for count in [used, 0] {
            let lines = (1..=count).map(|line| SourceBreakpoint { line, ..SourceBreakpoint::default() });
            let skipped = SkippedBreakpoints {
                source: Source { path: Some(NO_SOURCE.into()), ..Source::default() },
                breakpoints: lines.collect(),
            };
            if let Err(failure) = self.ask("setBreakpoints", types::body(&skipped), cancel).await {
                tracing::debug!(%failure, "the adapter may use ids of breakpoints again");
            }
        }
    }

    async fn send_breakpoints(
        self: &Arc<Self>,
        command: &str,
        arguments: &Value,
        sent: &[SentBreakpoint],
        cancel: &CancellationToken,
    ) -> Result<Value, Failure> {
        let mut arguments = arguments.clone();
        let breakpoints: Vec<Value> = sent.iter().map(|one| one.breakpoint.clone()).collect();
        types::set(&mut arguments, "breakpoints", breakpoints);
        let panics = command == "setFunctionBreakpoints" && self.add_panic_breakpoint(&mut arguments);
        let mut answer = self.ask(command, arguments, cancel).await?;
        console::follow_breakpoints(self, cancel).await;
        if panics {
            self.learn(|known| known.panics.take_own(&mut answer));
        }
        Ok(answer)
    }

    /// Whether the language has nothing against the text of any of these conditions.
    async fn all_conditions_parse(self: &Arc<Self>, conditions: &[String]) -> bool {
        for condition in conditions {
            if self.problem_of(condition).await.is_some() {
                return false;
            }
        }
        true
    }

    /// Syntax error of a condition, as far as the language's own tools find it without the program.
    async fn problem_of(self: &Arc<Self>, condition: &str) -> Option<String> {
        if let Some(problem) = self.with_knowledge(|known| known.conditions.checked(condition)) {
            return problem;
        }
        let (session, text) = (self.clone(), condition.to_owned());
        let target = self.live().as_ref().map(|live| live.target.clone())?;
        let finding = tokio::task::spawn_blocking(move || session.profile.syntax_check(&target, &text));
        let problem = check_output(finding.await.ok()??).await;
        self.learn(|known| known.conditions.remember_check(condition.to_owned(), problem.clone()));
        problem
    }

    /// The program is stopped: finds out why, if a condition failed. `paused`: a client wants the stop.
    pub(super) async fn examine(self: Arc<Self>, mut stop: StoppedEventBody, paused: bool) {
        if resume_own_stop(&self, &stop, paused).await {
            return;
        }
        let reported = self.profile.failure_in_stop(&mut stop);
        self.profile.correct_stop(&mut stop, paused);
        if let Some(reason) = self.profile.breakpoint_loss(&stop) {
            self.lose_breakpoints(reason);
        }
        self.complete_panic(&mut stop).await;
        let signal = if self.profile.reports_signals() { signals::describe(&mut stop) } else { None };
        let failed_earlier = self.learn(|known| {
            known.signal = signal.map(|info| (stop.thread_id, info));
            known.panics.describe(&mut stop, || self.broker.stderr_tail(MAX_STDERR_TAIL_LEN));
            known.conditions.take_failed()
        });
        let at_breakpoint = matches!(stop.reason.as_str(), "breakpoint" | "function breakpoint");
        let mut failed = match (reported, failed_earlier) {
            (Some(failed), _) => Some(failed),
            (None, Some(failed)) if at_breakpoint => Some(failed),
            (None, None) if at_breakpoint => self.failure_reason(&stop).await,
            (None, _) => None,
        };
        if let Some(FailedCondition { condition: condition @ None, .. }) = &mut failed {
            *condition = self.with_knowledge(|known| known.conditions.only());
        }
        self.handle(ChildEvent::Stopped { stop, failed });
    }

    /// Finds out the reason for an adapter that stopped at a breakpoint with a condition
    /// and does not report it.
    async fn failure_reason(&self, stop: &StoppedEventBody) -> Option<FailedCondition> {
        if !self.with_knowledge(|known| known.conditions.any()) {
            return None;
        }
        let condition = self.with_knowledge(|known| known.conditions.of_stop(stop));
        if condition
            .as_deref()
            .is_some_and(|condition| !self.profile.compiles_condition(condition, self.is_rust()))
        {
            let reason = NOT_COMPILED.to_owned();
            return Some(FailedCondition { condition, reason, is_for_hub: true });
        }
        let query = match (self.profile.failure_query(), &condition) {
            (Some(query), _) => query,
            (None, Some(condition)) if self.profile.rechecks_conditions() => condition.as_str(),
            _ => return None,
        };
        let arguments = types::top_frames(stop.thread_id, 1);
        let never = CancellationToken::new();
        let reason = tokio::time::timeout(QUERY_TIMEOUT, async {
            let stack = self.ask("stackTrace", arguments, &never).await.ok()?;
            let stack: StackTraceResponseBody = types::read(&stack);
            let arguments = types::watch(query, stack.stack_frames.first().map(|frame| frame.id));
            match subscripts::find(self, &types::read(&arguments), &never).await {
                Err(failure) => return Some(FailedReason { text: failure.message, is_for_hub: false }),
                Ok(meant) if meant != query => {
                    return Some(FailedReason { text: NOT_COMPILED.to_owned(), is_for_hub: true });
                }
                Ok(_) => {}
            }
            let text = match (self.ask("evaluate", arguments, &never).await, self.profile.failure_query()) {
                (Ok(answer), Some(_)) => {
                    let answer: EvaluateResponseBody = types::read(&answer);
                    Some(unquoted(&answer.result)).filter(|text| !text.is_empty())
                }
                (Err(failure), None) => Some(failure.message),
                _ => None,
            };
            Some(FailedReason { text: text?, is_for_hub: false })
        });
        let FailedReason { text: reason, is_for_hub } = reason.await.ok()??;
        Some(FailedCondition { condition, reason, is_for_hub })
    }
}

fn drop_condition(breakpoint: &mut Value) {
    if let Some(breakpoint) = breakpoint.as_object_mut() {
        breakpoint.shift_remove("condition");
    }
}

/// Positions of breakpoints with conditions that the adapter has refused; one that waits for its
/// code is none of them.
fn refused(answer: &Value, sent: &[SentBreakpoint]) -> Vec<usize> {
    let SetBreakpointsResponseBody { breakpoints, .. } = types::read(answer);
    let answered = breakpoints.iter().zip(sent).enumerate();
    let refused = answered.filter(|(_, (breakpoint, one))| {
        types::read::<SourceBreakpoint>(&one.breakpoint).condition.is_some()
            && !breakpoint.verified
            && breakpoint.reason.as_deref() != Some("pending")
    });
    refused.map(|(at, _)| at).collect()
}

/// The text of a string as a debugger shows it.
fn unquoted(shown: &str) -> String {
    let inner = |quote: char| shown.strip_prefix(quote)?.strip_suffix(quote);
    inner('"').or_else(|| inner('\'')).unwrap_or(shown).to_owned()
}

/// The output of a check; `None` when it does not run, or takes too long.
async fn check_output(mut check: Command) -> Option<String> {
    check.stdin(Stdio::null()).current_dir("/");
    let mut check = tokio::process::Command::from(check);
    let output = tokio::time::timeout(CHECK_TIMEOUT, check.kill_on_drop(true).output()).await.ok()?.ok()?;
    let output_bytes = match output.stdout.is_empty() {
        true if output.status.success() => return None,
        true => output.stderr,
        false => output.stdout,
    };
    let text: String =
        String::from_utf8_lossy(&output_bytes).trim().chars().take(MAX_MESSAGE_CHARS).collect();
    (!text.is_empty()).then_some(text)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[tokio::test]
    async fn a_check_that_says_nothing_or_cannot_run_finds_nothing_wrong() {
        let run = |script: &str| {
            let mut command = Command::new("/bin/sh");
            command.args(["-c", script]);
            command
        };
        assert_eq!(check_output(run("exit 0")).await, None);
        assert_eq!(check_output(run("echo bad >&2; exit 1")).await.as_deref(), Some("bad"));
        assert_eq!(check_output(run("echo worse; exit 0")).await.as_deref(), Some("worse"));
        assert_eq!(check_output(run("echo a warning >&2")).await, None);
        assert_eq!(check_output(Command::new("/no/such")).await, None);
    }

    #[test]
    fn a_reason_is_read_without_its_quotes() {
        assert_eq!(unquoted("'ReferenceError: x'"), "ReferenceError: x");
        assert_eq!(unquoted("\"\""), "");
        assert_eq!(unquoted("plain"), "plain");
    }
}
