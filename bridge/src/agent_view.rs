//! Everything the agent has seen of a session: its results contain only new output, changed variables and new
//! stops.

use std::collections::BTreeMap;
use std::sync::{Mutex, PoisonError};

use serde::Serialize;
use tandem_wire::types::DapVariable;

use crate::bounds::cut;
use crate::program_event::{StopEvent, VariableChange};

/// Snapshots kept to compare with.
const MAX_SNAPSHOTS: usize = 20;
/// Maximum characters of a value that is compared and shown among changed variables.
const MAX_VALUE_LEN: usize = 120;

/// Values of a stop by the way to them.
pub type Values = BTreeMap<String, String>;

/// One `debug_snapshot`, to compare with.
#[derive(Debug, Clone)]
pub struct StoredSnapshot {
    /// Number that `debug_snapshot` returned, to compare with later.
    pub id: u64,
    /// Depth to which variables were expanded.
    pub depth: u64,
    /// The location of the stop.
    pub place: SnapshotPlace,
    /// Values of the variables at that stop.
    pub values: Values,
}

/// The location of a stop, as snapshots name it: what is unknown is `null`.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize)]
pub struct SnapshotPlace {
    /// The name of the function.
    pub function: Option<String>,
    /// The source, if it has a path.
    pub file: Option<String>,
    /// The line in that source, from 1.
    pub line: Option<i64>,
}

/// The call followed last, for answers that continue it.
#[derive(Debug, Default)]
pub struct FollowedCall {
    /// The statements that it ran, a line each.
    pub lines: Vec<String>,
    /// The call, with its arguments and its result.
    pub head: String,
    /// The call has not ended: it can be followed on from the stop with this number.
    pub open: Option<u64>,
}

#[derive(Debug, Default)]
struct AgentViewState {
    /// The position after the output that the agent has seen.
    cursor: Option<String>,
    /// The last stop or end that was reported to the agent.
    news: u64,
    /// The last run was answered with `pending`.
    pending: bool,
    /// Whether the last run was answered with a stop that the agent had not seen, so that nothing ran.
    held_back: bool,
    /// The wait for input that was reported, if nothing was written since.
    input_wait: Option<InputWait>,
    /// Number of reported child programs, and whether an answer has explained how to debug them.
    started: (u64, bool),
    /// The last reported event, with its `news`.
    event: Option<(u64, StopEvent)>,
    /// The function of the last stop and its variables.
    variables: Option<(String, Values)>,
    snapshots: Vec<StoredSnapshot>,
    last_snapshot: u64,
    followed: FollowedCall,
}

/// Identity of one wait for input. It changes when the program has stopped, printed or received input.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct InputWait {
    /// Stops and ends before it.
    pub news: u64,
    /// Id of the wait that the session assigned.
    pub id: String,
}

/// State of one session as last reported to the agent.
#[derive(Debug, Default)]
pub struct AgentView(Mutex<AgentViewState>);

impl AgentView {
    fn with<T>(&self, work: impl FnOnce(&mut AgentViewState) -> T) -> T {
        work(&mut self.0.lock().unwrap_or_else(PoisonError::into_inner))
    }

    /// The position after the output that the agent has seen.
    pub fn cursor(&self) -> Option<String> {
        self.with(|inner| inner.cursor.clone())
    }

    /// Records that the agent has seen the output before this position.
    pub fn set_cursor(&self, cursor: &str) {
        self.with(|inner| inner.cursor = Some(cursor.to_owned()));
    }

    /// Records that the agent has read the output of one or both streams up to `cursor`, starting at `since`
    /// or at the end of its last read. That part is not shown again. If the read starts later, the part
    /// before it remains unseen.
    pub fn read_up_to(&self, cursor: &str, since: Option<&str>, stream: Option<&str>) {
        let Some(end) = positions(cursor) else { return };
        self.with(|inner| {
            let seen = inner.cursor.as_deref().and_then(positions).unwrap_or_default();
            let start = since.and_then(positions).unwrap_or(seen);
            let past = |name: &str, at: fn(Positions) -> u64| {
                let is_selected = stream.is_none_or(|stream| stream == name || stream == "both");
                let (seen, end) = (at(seen), at(end));
                if is_selected && at(start) <= seen { seen.max(end) } else { seen }
            };
            inner.cursor = Some(format!("o{}.e{}", past("stdout", |at| at.0), past("stderr", |at| at.1)));
        });
    }

    /// Records whether the last run was answered with `pending`.
    pub fn set_pending(&self, pending: bool) {
        self.with(|inner| inner.pending = pending);
    }

    /// Whether the last run was answered with `pending`.
    pub fn pending(&self) -> bool {
        self.with(|inner| inner.pending)
    }

    /// Whether a run is answered with a stop that the agent has not seen yet, instead of resuming from there.
    /// Never twice in a row: a repeated request resumes.
    pub fn holds_back(&self, news: u64) -> bool {
        self.with(|inner| {
            inner.held_back = inner.news < news && !inner.held_back;
            inner.held_back
        })
    }

    /// Another program runs now: forgets what was reported about the old one.
    pub fn forget_run(&self, news: u64) {
        self.record_report(news);
        self.with(|inner| {
            (inner.input_wait, inner.held_back, inner.event, inner.variables) = (None, false, None, None);
        });
    }

    /// Records that this wait for input is reported.
    pub fn record_input_wait(&self, wait: InputWait) {
        self.with(|inner| inner.input_wait = Some(wait));
    }

    /// The program was given input.
    pub fn forget_input_wait(&self) {
        self.with(|inner| inner.input_wait = None);
    }

    /// Whether a wait for input was reported since the program was last given input.
    pub fn has_reported_input_wait(&self) -> bool {
        self.with(|inner| inner.input_wait.is_some())
    }

    /// Whether this very wait was reported: the agent waits for the other threads that the program may have.
    pub fn knows_input_wait(&self, wait: &InputWait) -> bool {
        self.with(|inner| inner.input_wait.as_ref() == Some(wait))
    }

    /// Records that this stop or end is reported to the agent.
    pub fn record_report(&self, news: u64) {
        self.with(|inner| {
            inner.news = inner.news.max(news);
            inner.pending = false;
        });
    }

    /// Records that so many started programs are reported; returns how many of them are new.
    pub fn record_started(&self, count: u64) -> u64 {
        self.with(|inner| count.saturating_sub(std::mem::replace(&mut inner.started.0, count)))
    }

    /// Records that the answer explains how to debug started programs; returns whether that is new.
    pub fn record_explanation(&self) -> bool {
        self.with(|inner| !std::mem::replace(&mut inner.started.1, true))
    }

    /// Records that the agent has seen this stop, through a tool that does not run anything.
    pub fn record_seen(&self, news: u64) {
        self.with(|inner| inner.news = inner.news.max(news));
    }

    /// The last stop or end that was reported to the agent.
    pub fn last_reported(&self) -> u64 {
        self.with(|inner| inner.news)
    }

    /// Whether this stop or end was reported to the agent.
    pub fn knows(&self, news: u64) -> bool {
        self.with(|inner| inner.news >= news)
    }

    /// The reported event of a stop, if there is one.
    pub fn event(&self, news: u64) -> Option<StopEvent> {
        self.with(|inner| inner.event.as_ref().filter(|(of, _)| *of == news).map(|(_, event)| event.clone()))
    }

    /// Keeps the event of a stop.
    pub fn keep_event(&self, news: u64, event: &StopEvent) {
        self.with(|inner| inner.event = Some((news, event.clone())));
    }

    /// A client has changed a variable: what was reported about this stop is stale.
    pub fn forget_event(&self) {
        self.with(|inner| inner.event = None);
    }

    /// Compares the variables of a stop with those of the last one. In the same function, what is new or
    /// different; in another, all of them, and `false`.
    pub fn compare_variables(&self, function: &str, rows: &[DapVariable]) -> (Vec<VariableChange>, bool) {
        let shown = |row: &DapVariable| (row.name.clone(), cut(&row.value, MAX_VALUE_LEN));
        let now: Vec<(String, String)> = rows.iter().map(shown).collect();
        self.with(|inner| {
            let before = inner.variables.take().filter(|(of, _)| of == function).map(|(_, values)| values);
            let mut changes = Vec::new();
            for (name, value) in &now {
                match before.as_ref().map(|before| before.get(name)) {
                    Some(Some(was)) if was == value => {}
                    was => {
                        let (name, value) = (name.clone(), value.clone());
                        changes.push(VariableChange { name, value, was: was.flatten().cloned() });
                    }
                }
            }
            inner.variables = Some((function.to_owned(), now.into_iter().collect()));
            (changes, before.is_some())
        })
    }

    /// Reads or replaces the call that was followed last.
    pub fn with_followed<T>(&self, work: impl FnOnce(&mut FollowedCall) -> T) -> T {
        self.with(|inner| work(&mut inner.followed))
    }

    /// Keeps a snapshot; returns its id.
    pub fn keep(&self, depth: u64, place: SnapshotPlace, values: Values) -> u64 {
        self.with(|inner| {
            inner.last_snapshot += 1;
            let id = inner.last_snapshot;
            inner.snapshots.push(StoredSnapshot { id, depth, place, values });
            if inner.snapshots.len() > MAX_SNAPSHOTS {
                inner.snapshots.remove(0);
            }
            id
        })
    }

    /// A snapshot that is still kept; the latest without an id.
    pub fn stored_snapshot(&self, id: Option<u64>) -> Option<StoredSnapshot> {
        self.with(|inner| {
            inner.snapshots.iter().rev().find(|kept| id.is_none_or(|id| kept.id == id)).cloned()
        })
    }

    /// Ids of the snapshots that are kept.
    pub fn snapshot_ids(&self) -> Vec<u64> {
        self.with(|inner| inner.snapshots.iter().map(|kept| kept.id).collect())
    }
}

/// Bytes of stdout and stderr that were read.
type Positions = (u64, u64);

/// A cursor as `processReadOutput` writes it.
fn positions(cursor: &str) -> Option<Positions> {
    let (stdout, stderr) = cursor.strip_prefix('o')?.split_once(".e")?;
    Some((stdout.parse().ok()?, stderr.parse().ok()?))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_what_changed_is_repeated_within_a_function() {
        let view = AgentView::default();
        let row = |name: &str, value: &str| DapVariable {
            name: name.into(),
            value: value.into(),
            ..DapVariable::default()
        };
        let all = view.compare_variables("f", &[row("a", "1"), row("b", "2")]);
        assert_eq!((all.0.len(), all.1), (2, false));
        let some = view.compare_variables("f", &[row("a", "1"), row("b", "3"), row("c", "4")]);
        let changes = r#"[{"name":"b","value":"3","was":"2"},{"name":"c","value":"4"}]"#;
        assert_eq!((serde_json::to_string(&some.0).unwrap().as_str(), some.1), (changes, true));
        assert!(!view.compare_variables("g", &[row("a", "1")]).1);
    }

    #[test]
    fn output_that_was_read_is_not_shown_again_and_what_comes_before_it_is() {
        let view = AgentView::default();
        view.read_up_to("o10.e0", None, None);
        assert_eq!(view.cursor().as_deref(), Some("o10.e0"));
        // The gap after the agent's last read remains to be shown.
        view.read_up_to("o90.e5", Some("o50.e0"), None);
        assert_eq!(view.cursor().as_deref(), Some("o10.e5"));
        view.read_up_to("o20.e9", Some("o0.e0"), Some("stdout"));
        assert_eq!(view.cursor().as_deref(), Some("o20.e5"));
        view.read_up_to("o3.e3", Some("o0.e0"), None);
        view.read_up_to("nonsense", None, None);
        assert_eq!(view.cursor().as_deref(), Some("o20.e5"), "an old part does not move the cursor back");
    }

    #[test]
    fn a_wait_for_input_is_known_until_the_program_has_stopped_printed_or_got_input() {
        let view = AgentView::default();
        let wait = InputWait { news: 1, id: "o6.e0.i0".into() };
        assert!(!view.knows_input_wait(&wait));
        view.record_input_wait(wait.clone());
        assert!(view.knows_input_wait(&wait));
        for other in
            [InputWait { news: 2, ..wait.clone() }, InputWait { id: "o9.e0.i0".into(), ..wait.clone() }]
        {
            assert!(!view.knows_input_wait(&other));
        }
        view.forget_input_wait();
        assert!(!view.knows_input_wait(&wait) && !view.has_reported_input_wait());
    }

    #[test]
    fn a_pending_run_is_over_once_its_outcome_was_reported() {
        let view = AgentView::default();
        view.set_pending(true);
        view.record_report(1);
        assert!(!view.pending());
    }

    #[test]
    fn a_run_is_held_back_by_an_unknown_stop_and_never_twice_in_a_row() {
        let view = AgentView::default();
        assert!(!view.holds_back(0));
        assert!(view.holds_back(1));
        // Another client stopped it elsewhere ; the agent repeats its request.
        view.record_report(1);
        assert!(!view.holds_back(2));
        view.record_report(2);
        assert!(view.holds_back(3));
    }
}
