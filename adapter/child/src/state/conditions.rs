//! Breakpoint conditions: results of checks, and conditions that failed. Runs no check
//! (`session/conditions.rs`).

use std::collections::HashMap;

use tandem_engine::FailedCondition;
use tandem_wire::types::StoppedEventBody;

/// Texts whose check is remembered.
const MAX_CHECKED: usize = 256;

/// Conditions that the adapter evaluates.
#[derive(Debug, Default)]
pub(in super::super) struct Conditions {
    /// The error of each checked condition, `None` if it is valid.
    checked: HashMap<String, Option<String>>,
    /// By the adapter's id: the conditions of the breakpoints it holds, per place.
    held: HashMap<String, HashMap<i64, String>>,
    /// The adapter reported that one failed; the stop follows.
    failed: Option<FailedCondition>,
}

impl Conditions {
    /// The result of checking this condition.
    pub(in super::super) fn checked(&self, condition: &str) -> Option<Option<String>> {
        self.checked.get(condition).cloned()
    }

    pub(in super::super) fn remember_check(&mut self, condition: String, problem: Option<String>) {
        if self.checked.len() >= MAX_CHECKED {
            self.checked.clear();
        }
        self.checked.insert(condition, problem);
    }

    /// Stores a failure that the adapter reported.
    pub(in super::super) fn failed(&mut self, failed: FailedCondition) {
        self.failed = Some(failed);
    }

    /// The condition whose failure the adapter reported before this stop.
    pub(in super::super) fn take_failed(&mut self) -> Option<FailedCondition> {
        self.failed.take()
    }

    /// The condition of the breakpoint at which the program has stopped.
    pub(in super::super) fn of_stop(&self, stop: &StoppedEventBody) -> Option<String> {
        let ids = stop.hit_breakpoint_ids.iter().flatten();
        let mut all = ids.filter_map(|id| self.held.values().find_map(|place| place.get(id)));
        all.next().cloned()
    }

    /// The only condition there is, for an adapter that does not say which breakpoint it stopped at.
    pub(in super::super) fn only(&self) -> Option<String> {
        let mut all = self.held.values().flat_map(HashMap::values);
        let first = all.next()?;
        all.all(|other| other == first).then(|| first.clone())
    }

    pub(in super::super) fn any(&self) -> bool {
        self.held.values().any(|place| !place.is_empty())
    }

    /// The adapter holds these at a place: its ids, with their conditions. It may not name
    /// again what is as it was.
    pub(in super::super) fn hold(
        &mut self,
        place: String,
        sent: Vec<(i64, String)>,
        requested: &[Option<String>],
    ) {
        let held = self.held.entry(place).or_default();
        held.retain(|_, condition| requested.iter().flatten().any(|requested| requested == condition));
        held.extend(sent);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn stop_at(ids: &[i64]) -> StoppedEventBody {
        StoppedEventBody { hit_breakpoint_ids: Some(ids.to_vec()), ..StoppedEventBody::default() }
    }

    #[test]
    fn stop_is_explained_by_the_condition_of_its_breakpoint() {
        let mut conditions = Conditions::default();
        assert!(!conditions.any());
        let (first, second) = ("i > 1".to_owned(), "j > 1".to_owned());
        conditions.hold("a".into(), vec![(4, first.clone())], &[Some(first.clone())]);
        assert_eq!(conditions.only(), Some(first.clone()));
        conditions.hold("b".into(), vec![(5, second.clone())], &[None, Some(second.clone())]);
        assert_eq!(conditions.only(), None);
        assert_eq!(conditions.of_stop(&stop_at(&[3, 5])), Some(second));
        assert_eq!(conditions.of_stop(&stop_at(&[3])), None);
        // The adapter does not name again what it has kept.
        conditions.hold("a".into(), Vec::new(), &[Some(first.clone())]);
        assert_eq!(conditions.of_stop(&stop_at(&[4])), Some(first));
        conditions.hold("a".into(), Vec::new(), &[]);
        assert_eq!(conditions.of_stop(&stop_at(&[4])), None);
    }

    #[test]
    fn a_failure_belongs_to_one_stop_and_a_check_is_remembered() {
        let mut conditions = Conditions::default();
        conditions.failed(FailedCondition { reason: "no such name".into(), ..FailedCondition::default() });
        assert_eq!(conditions.take_failed().map(|failed| failed.reason), Some("no such name".into()));
        assert_eq!(conditions.take_failed(), None);
        conditions.remember_check("x".into(), None);
        assert_eq!(conditions.checked("x"), Some(None));
        for text in 0..MAX_CHECKED {
            conditions.remember_check(text.to_string(), Some("bad".into()));
        }
        assert_eq!(conditions.checked("x"), None);
    }
}
