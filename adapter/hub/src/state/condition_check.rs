//! Stops of which no client was notified yet, and what is known of the one that is being checked.
//!
//! Not here: the checks ([`super::conditions`]).

use std::collections::{BTreeSet, VecDeque};

use tandem_engine::FailedCondition;
use tandem_engine::hit_condition::CONDITION_FAILED;
use tandem_wire::types::StoppedEventBody;

use super::hit_output::HitOutput;
use crate::breakpoints::Candidate;
use crate::event::ClientId;

/// Stops of which no client was notified.
#[derive(Debug, Default)]
pub(super) struct ConditionChecks {
    pub(super) current: Option<ConditionCheck>,
    /// Stops of other threads that came meanwhile, each with the condition that could not be evaluated.
    pub(super) next: VecDeque<(StoppedEventBody, Option<FailedCondition>)>,
    /// A client requested a pause that has not come.
    pub(super) pause_wanted: bool,
    /// The breakpoints at which this program has stopped.
    pub(super) stopped_at: BTreeSet<i64>,
    /// The command with which a client resumed the program last.
    pub(super) last_resume: String,
    /// A stop that no owner wants, until all simultaneous stops are checked.
    pub(super) unwanted: Option<StoppedEventBody>,
    /// Counts queries: a reply that comes after its stop is over belongs to no check.
    pub(super) queries: u64,
}

/// A stop that is being checked.
#[derive(Debug)]
pub(super) struct ConditionCheck {
    /// The engine's `stopped`.
    pub(super) stop: StoppedEventBody,
    /// The condition that the engine could not evaluate.
    pub(super) failure: Option<FailedCondition>,
    /// The engine's id of the top frame, once it is known.
    pub(super) frame: Option<i64>,
    /// Breakpoints that may want the stop; `None` until the location is known.
    pub(super) candidates: Option<VecDeque<Candidate>>,
    /// The check of the first candidate.
    pub(super) step: CheckStep,
    /// Breakpoints that want the stop.
    pub(super) stops_for: Vec<i64>,
    /// Conditions that could not be evaluated, each with the reason.
    pub(super) failed: Vec<String>,
    /// The stop names only breakpoints that are removed, or that have other ids by now.
    pub(super) late: bool,
    /// The query whose reply it waits for.
    pub(super) query: u64,
}

#[derive(Debug)]
pub(super) enum CheckStep {
    /// The location of the stop.
    Frame,
    /// Whether the condition holds.
    Condition,
    /// The values of a log message or a trace.
    Values(HitOutput),
}

impl ConditionCheck {
    /// Begins with a stop whose location is not known. `candidates`: the breakpoints that the engine names.
    pub(super) fn new(
        stop: StoppedEventBody,
        failure: Option<FailedCondition>,
        candidates: Option<VecDeque<Candidate>>,
        late: bool,
    ) -> Self {
        Self {
            stop,
            failure,
            frame: None,
            candidates,
            step: CheckStep::Frame,
            stops_for: Vec::new(),
            failed: Vec::new(),
            late,
            query: 0,
        }
    }
}

/// A trace replaces its owner's own breakpoints on its line: those would end it at the first hit.
pub(super) fn remove_traced(candidates: &mut Vec<Candidate>) {
    let traces = |candidate: &Candidate| candidate.request.trace.is_some();
    let tracing: BTreeSet<ClientId> = candidates
        .iter()
        .filter(|candidate| traces(candidate))
        .flat_map(|candidate| candidate.owners.clone())
        .collect();
    if !tracing.is_empty() {
        candidates.retain(|candidate| traces(candidate) || !candidate.owners.is_subset(&tracing));
    }
}

/// A stop at a condition that failed says so: the location alone looks as if the condition held.
pub(super) fn name_failed(stop: &mut StoppedEventBody, failed: &[String]) {
    if !failed.is_empty() {
        stop.description = Some(CONDITION_FAILED.into());
        stop.text = Some(failed.join("\n"));
    }
}

pub(super) fn ids(candidates: &[Candidate]) -> Vec<i64> {
    candidates.iter().map(|candidate| candidate.id).collect()
}
