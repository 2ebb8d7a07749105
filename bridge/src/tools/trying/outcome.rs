//! The outcome of one run of an experiment. [`super::difference`] compares two.

/// Outcome of one run of an experiment.
#[derive(Debug, Default)]
pub(super) struct ExperimentRun {
    /// Whether it reached the location.
    pub(super) came: bool,
    /// Number of times it passed or reached the location.
    pub(super) hits: u64,
    /// Why the breakpoint at the place is not set, if it is not.
    pub(super) unbound: Option<String>,
    /// Values of the names to set: before, and as set.
    pub(super) was: Vec<(String, String)>,
    pub(super) set: Vec<(String, String)>,
    /// The line at which it continued, when statements were skipped.
    pub(super) went_to: Option<u64>,
    /// Values of the expressions at the location, after the change; empty if the run did not reach it.
    pub(super) at_place: Vec<(String, String)>,
    pub(super) end: ExperimentEnd,
    pub(super) values: Vec<(String, String)>,
    /// stdout and stderr before the place, and after it.
    pub(super) before: [String; 2],
    pub(super) after: [String; 2],
}

/// How and where a run ended.
#[derive(Debug, Default)]
pub(super) struct ExperimentEnd {
    /// `reached`, `exited`, `exception`, `stopped`, `waitingForInput` or `timeout`.
    pub(super) how: &'static str,
    pub(super) exit_code: Option<i64>,
    /// The signal that ended the program.
    pub(super) signal: Option<String>,
    /// The exception or the reason of the stop.
    pub(super) why: Option<String>,
    /// `file:line in function`.
    pub(super) at: Option<String>,
}
