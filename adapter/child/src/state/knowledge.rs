//! Threads and values as the adapter has reported them. Nothing follows from them by itself, and nothing
//! waits for them.

use std::collections::{BTreeSet, HashMap, HashSet};

use serde::Deserialize;
use serde_json::Value;
use tandem_wire::command::{self, BodyValues};
use tandem_wire::types::{
    self, DapVariable, ExceptionInfoResponseBody, ScopesResponseBody, SetBreakpointsResponseBody,
    StoppedEventBody, ThreadsResponseBody, optional,
};

use super::conditions::Conditions;
use super::lower_frames::LowerFrames;
use super::panics::PanicFilter;

/// How many values are remembered to have elements.
const MAX_KNOWN: usize = 50_000;

/// Most ids that an adapter is made to skip.
const MAX_SKIPPED_IDS: i64 = 10_000;

/// Facts that the session has collected.
#[derive(Debug, Default)]
pub(in super::super) struct Knowledge {
    pub(in super::super) threads: Threads,
    pub(in super::super) throwing: ThrowingThreads,
    pub(in super::super) elements: Elements,
    pub(in super::super) breakpoints: HeldBreakpoints,
    pub(in super::super) conditions: Conditions,
    pub(in super::super) panics: PanicFilter,
    /// The debugger inside the program was configured for showing objects, or is being.
    pub(in super::super) summarizes: bool,
    pub(in super::super) correction: Correction,
    pub(in super::super) step: KeptStep,
    pub(in super::super) scopes: Scopes,
    pub(in super::super) lower_frames: LowerFrames,
    /// The thread that is stopped at a signal, and its `exceptionInfo`.
    pub(in super::super) signal: Option<(Option<i64>, ExceptionInfoResponseBody)>,
}

/// The breakpoints that the adapter holds, until its program becomes another one in which none of them stops.
#[derive(Debug, Default)]
pub(in super::super) struct HeldBreakpoints {
    /// The adapter's ids, per place.
    ids: HashMap<String, Vec<i64>>,
    /// It numbers its next breakpoints from the start.
    is_renumbering: bool,
    lost: Option<&'static str>,
}

impl HeldBreakpoints {
    /// Learns the breakpoints of a place from the adapter's answer.
    pub(in super::super) fn hold(&mut self, place: String, answer: &Value) {
        let SetBreakpointsResponseBody { breakpoints, .. } = types::read(answer);
        self.ids.insert(place, breakpoints.into_iter().filter_map(|breakpoint| breakpoint.id).collect());
    }

    /// The adapter numbers its next breakpoints from the start, with ids that others may have.
    pub(in super::super) fn renumber(&mut self) {
        self.is_renumbering = true;
    }

    /// How many ids the adapter has to skip so that each breakpoint has its own; asked once.
    pub(in super::super) fn take_used_ids(&mut self) -> i64 {
        let is_renumbering = std::mem::take(&mut self.is_renumbering);
        let last = self.ids.values().flatten().max().filter(|_| is_renumbering);
        last.map_or(0, |last| last.saturating_add(1).clamp(0, MAX_SKIPPED_IDS))
    }

    /// Records why they no longer stop; returns the ids of those that clients have to be informed of.
    pub(in super::super) fn lose(&mut self, reason: &'static str) -> Vec<i64> {
        self.lost = Some(reason);
        self.ids.drain().flat_map(|(_, ids)| ids).collect()
    }

    /// Why no breakpoint stops any more.
    pub(in super::super) fn lost(&self) -> Option<&'static str> {
        self.lost
    }
}

/// The thread that an event or a request names.
#[derive(Debug, Default, Deserialize)]
#[serde(rename_all = "camelCase", default)]
struct OfThread {
    #[serde(deserialize_with = "optional")]
    thread_id: Option<i64>,
}

/// Ids of frames by the references of their scopes, at this stop.
#[derive(Debug, Default)]
pub(in super::super) struct Scopes {
    scopes: HashMap<i64, i64>,
    values: HashMap<i64, i64>,
}

impl Scopes {
    /// Learns from the answer to `scopes` of this frame; other answers have none.
    pub(in super::super) fn learn(&mut self, frame: i64, answer: &Value) {
        let ScopesResponseBody { scopes, .. } = types::read(answer);
        self.scopes.extend(scopes.iter().map(|scope| (scope.variables_reference, frame)));
    }

    /// Learns the frame of a value with rows.
    pub(in super::super) fn learn_value(&mut self, reference: i64, frame: Option<i64>) {
        if self.values.len() >= MAX_KNOWN {
            self.values.clear();
        }
        self.values.extend(frame.filter(|_| reference != 0).map(|frame| (reference, frame)));
    }

    /// The program has stopped once more: references are used again.
    pub(in super::super) fn forget(&mut self) {
        self.scopes.clear();
        self.values.clear();
    }

    /// The frame of a scope.
    pub(in super::super) fn frame_of(&self, reference: i64) -> Option<i64> {
        self.scopes.get(&reference).copied()
    }

    /// The frame of a scope, or of a value in one.
    pub(in super::super) fn frame_of_value(&self, reference: i64) -> Option<i64> {
        self.frame_of(reference).or_else(|| self.values.get(&reference).copied())
    }
}

/// The last step that was requested of the adapter, until it ends, and the threads of those that stops have
/// interrupted.
#[derive(Debug, Default)]
pub(in super::super) struct KeptStep {
    thread: Option<i64>,
    is_interrupted: bool,
    /// Threads whose steps a stop has interrupted since the program was last resumed without a step.
    interrupted_threads: BTreeSet<i64>,
}

impl KeptStep {
    /// Records the thread of a step request.
    pub(in super::super) fn begin(&mut self, arguments: &Value) {
        let OfThread { thread_id } = types::read(arguments);
        (self.thread, self.is_interrupted) = (thread_id, false);
    }

    /// The adapter reports a stop: a breakpoint in another thread interrupts the step,
    /// any other stop ends it.
    pub(in super::super) fn stop(&mut self, stop: &StoppedEventBody) {
        if stop.reason != "step" {
            self.interrupted_threads.extend(self.thread);
        }
        if stop.reason.ends_with("breakpoint") && stop.thread_id != self.thread {
            self.is_interrupted = true;
        } else {
            (self.thread, self.is_interrupted) = (None, false);
        }
    }

    /// The threads whose steps any stop has interrupted, for an adapter that is to forget these steps.
    pub(in super::super) fn take_interrupted(&mut self) -> BTreeSet<i64> {
        std::mem::take(self).interrupted_threads
    }

    /// The thread whose step a breakpoint in another thread has interrupted.
    pub(in super::super) fn interrupted(&self) -> Option<i64> {
        self.thread.filter(|_| self.is_interrupted)
    }
}

/// Whether the debugger in an attached program needs corrections.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub(in super::super) enum Correction {
    /// No correction is needed.
    #[default]
    None,
    /// It could not be corrected yet.
    Due,
    /// It is corrected before the program resumes.
    DueBeforeResuming,
    Made,
}

/// Ids of threads that the adapter has named.
#[derive(Debug, Default)]
pub(in super::super) struct Threads(HashSet<i64>);

impl Threads {
    /// Learns from the body of an event (`stopped`, `thread`).
    pub(in super::super) fn learn(&mut self, body: &Value) {
        self.0.extend(types::read::<OfThread>(body).thread_id);
    }

    /// Learns from the answer to `threads`.
    pub(in super::super) fn learn_all(&mut self, answer: &Value) {
        let ThreadsResponseBody { threads, .. } = types::read(answer);
        self.0.extend(threads.iter().map(|thread| thread.id));
    }

    pub(in super::super) fn have(&self, id: i64) -> bool {
        self.0.contains(&id)
    }
}

/// Threads that an exception has stopped.
#[derive(Debug, Default)]
pub(in super::super) struct ThrowingThreads(HashSet<i64>);

impl ThrowingThreads {
    /// The adapter reports a stop.
    pub(in super::super) fn stop(&mut self, stop: &StoppedEventBody) {
        let Some(thread) = stop.thread_id else { return };
        if stop.reason == "exception" {
            self.0.insert(thread);
        } else {
            self.0.remove(&thread);
        }
    }

    pub(in super::super) fn have(&self, thread: i64) -> bool {
        self.0.contains(&thread)
    }
}

/// How many elements a value has announced, by its reference, and the expressions of values.
#[derive(Debug, Default)]
pub(in super::super) struct Elements {
    counts: HashMap<i64, usize>,
    pub(in super::super) expressions: ValueExpressions,
}

impl Elements {
    /// Learns from an answer which values have elements.
    pub(in super::super) fn learn(&mut self, command: &str, answer: &Value) {
        match command::find(command).map_or(BodyValues::None, |row| row.values) {
            BodyValues::Items(list) | BodyValues::Counts(list) => {
                answer[list].as_array().into_iter().flatten().for_each(|row| self.learn_value(row));
            }
            BodyValues::Body => self.learn_value(answer),
            BodyValues::None => {}
        }
    }

    fn learn_value(&mut self, value: &Value) {
        // The fields are the same in all bodies with a value.
        let DapVariable { variables_reference: reference, indexed_variables, .. } = types::read(value);
        if reference == 0 {
            return;
        }
        match types::unsigned(indexed_variables) {
            Some(count @ 1..) => {
                if self.counts.len() >= MAX_KNOWN {
                    self.counts.clear();
                }
                self.counts.insert(reference, count);
            }
            // References are used again.
            _ => drop(self.counts.remove(&reference)),
        }
    }

    /// How many the value with this reference has.
    pub(in super::super) fn of(&self, reference: i64) -> usize {
        self.counts.get(&reference).copied().unwrap_or(0)
    }
}

/// The expressions and types of values with rows, by their references.
#[derive(Debug, Default)]
pub(in super::super) struct ValueExpressions(HashMap<i64, (String, String)>);

impl ValueExpressions {
    /// Learns the expression of a value. References are used again.
    pub(in super::super) fn learn(&mut self, reference: i64, expression: Option<&str>, kind: Option<&str>) {
        self.0.remove(&reference);
        if reference == 0 {
            return;
        }
        if self.0.len() >= MAX_KNOWN {
            self.0.clear();
        }
        let kind = kind.unwrap_or_default().to_owned();
        self.0.extend(expression.map(|expression| (reference, (expression.to_owned(), kind))));
    }

    pub(in super::super) fn of(&self, reference: i64) -> Option<(String, String)> {
        self.0.get(&reference).cloned()
    }
}

#[cfg(test)]
mod tests;
