//! Selects tests of a list: by id, part of a name, class, file, trait, target framework or changed files. An
//! error names the ids nearest to an unknown one.
//!
//! Not here: running the selected tests ([`crate::request`]).

use std::path::{Path, PathBuf};

use tandem_wire::{ErrorCode, Failure};

use crate::model::TestItem;

/// Names that are suggested.
const MAX_NEAREST: usize = 5;
/// Tests whose names are compared.
const MAX_COMPARED: usize = 20_000;
/// Names less similar than this are not suggested.
const MIN_SIMILARITY: f64 = 0.45;

/// A selection of tests; all of them by default. A test must match every part that is set.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct TestSelection {
    /// Ids of the tests, complete.
    pub ids: Vec<String>,
    /// An id, or a part of the names in the language of the framework's runner.
    pub filter: Option<String>,
    /// The source they are in: a path, or the end of one.
    pub file: Option<String>,
    /// The class, module or suite they are in: its name, or the end of it.
    pub class: Option<String>,
    /// A trait they have: `name`, or `name=value`.
    pub traits: Vec<String>,
    /// Target framework; any when `None`.
    pub framework: Option<String>,
    /// Sources that have changed; absolute.
    pub changed: Option<Vec<PathBuf>>,
}

impl TestSelection {
    /// Whether the framework's own filter, or its ids, say it all.
    pub(crate) fn is_native(&self) -> bool {
        let Self { file, class, traits, changed, .. } = self;
        file.is_none() && class.is_none() && traits.is_empty() && changed.is_none()
    }

    /// Whether it selects every test.
    pub(crate) fn is_everything(&self) -> bool {
        self.is_native() && self.ids.is_empty() && self.filter.is_none() && self.framework.is_none()
    }

    /// The selection, for messages.
    pub(crate) fn describe(&self) -> String {
        let mut parts: Vec<String> = self.ids.iter().map(|id| format!("`{id}`")).collect();
        let named = [("filter", &self.filter), ("file", &self.file), ("class", &self.class)];
        parts.extend(
            named.into_iter().filter_map(|(name, value)| Some(format!("{name} `{}`", value.as_ref()?))),
        );
        parts.extend(self.traits.iter().map(|one| format!("trait `{one}`")));
        parts.extend(self.framework.iter().map(|one| format!("framework `{one}`")));
        parts.extend(self.changed.iter().map(|files| format!("{} changed files", files.len())));
        parts.join(", ")
    }

    /// Returns the selected tests. `matches` compares a test with the filter in the framework's own language.
    ///
    /// # Errors
    /// `NOT_FOUND`, with the nearest names, when an id or the whole matches none.
    pub(crate) fn pick(
        &self,
        tests: Vec<TestItem>,
        matches: impl Fn(&str, &TestItem) -> bool,
    ) -> Result<Vec<TestItem>, Failure> {
        let mut ids = Vec::new();
        for id in &self.ids {
            let known = if tests.iter().any(|test| is_named(test, id)) {
                Some(id.as_str())
            } else {
                theory_of(&tests, id)
            };
            ids.push(known.ok_or_else(|| none(&format!("there is no test `{id}`"), id, &tests))?);
        }
        // A filter that equals an id selects that test only, even if other names contain it.
        let is_exact = |filter: &str| tests.iter().any(|test| is_named(test, filter));
        let filter = self.filter.as_deref().map(|filter| match theory_of(&tests, filter) {
            Some(theory) if !is_exact(filter) && !tests.iter().any(|test| matches(filter, test)) => theory,
            _ => filter,
        });
        let exact = filter.is_some_and(is_exact);
        let holds = |test: &TestItem| {
            (ids.is_empty() || ids.iter().any(|id| is_named(test, id)))
                && filter.is_none_or(|filter| match exact {
                    true => is_named(test, filter),
                    false => matches(filter, test),
                })
                && self.file.as_ref().is_none_or(|file| is_in(test, file))
                && self.class.as_ref().is_none_or(|class| ends_with(&test.class, class))
                && self.traits.iter().all(|name| test.traits.iter().any(|own| is_trait(own, name)))
                && self.framework.as_ref().is_none_or(|name| {
                    test.framework.as_ref().is_none_or(|own| own.eq_ignore_ascii_case(name))
                })
                && self.changed.as_ref().is_none_or(|changed| has_changed(test, changed))
        };
        let picked: Vec<TestItem> = tests.iter().filter(|test| holds(test)).cloned().collect();
        if picked.is_empty() && !self.is_everything() {
            let name = [&self.filter, &self.class, &self.file].into_iter().flatten().next();
            let name = name.or(self.traits.first()).map_or("", String::as_str);
            return Err(none(&format!("no test matches {}", self.describe()), name, &tests));
        }
        Ok(picked)
    }
}

/// An id, or the name where that names one.
fn is_named(test: &TestItem, name: &str) -> bool {
    test.id == name || test.name.as_deref() == Some(name)
}

/// The id of the test that has this row. A framework that discovers rows only during the run lists just their
/// test, and runs all of them.
fn theory_of<'a>(tests: &'a [TestItem], row: &str) -> Option<&'a str> {
    let ids = tests.iter().map(|test| test.id.as_str());
    ids.filter(|id| row.strip_prefix(id).is_some_and(|rest| rest.starts_with('('))).max_by_key(|id| id.len())
}

fn is_in(test: &TestItem, file: &str) -> bool {
    let name = file.trim_start_matches("./");
    test.file.as_ref().is_some_and(|own| Path::new(own).ends_with(name))
}

/// `Shop.CartTests`, `CartTests`.
fn ends_with(class: &str, name: &str) -> bool {
    let rest = class.strip_suffix(name);
    rest.is_some_and(|rest| rest.is_empty() || rest.ends_with(['.', ':', '/', '+', ' ', '>']))
}

fn is_trait(own: &str, selected: &str) -> bool {
    own.eq_ignore_ascii_case(selected)
        || own.split_once('=').is_some_and(|(name, value)| {
            name.eq_ignore_ascii_case(selected) || value.eq_ignore_ascii_case(selected)
        })
}

fn has_changed(test: &TestItem, changed: &[PathBuf]) -> bool {
    test.file.as_ref().is_some_and(|own| changed.iter().any(|file| file == Path::new(own)))
}

/// Builds a `NOT_FOUND` failure with the names nearest to the requested one.
pub(crate) fn none(message: &str, name: &str, tests: &[TestItem]) -> Failure {
    let failure = Failure::new(ErrorCode::NotFound, message);
    if tests.is_empty() {
        return failure.hint("no tests were found at all: name their project or folder in `projectPath`");
    }
    let nearest = nearest(name, tests);
    if nearest.is_empty() {
        return failure.hint(format!("list_tests lists all {} tests", tests.len()));
    }
    failure.hint(format!("the nearest names: {}", nearest.join(", ")))
}

/// The ids most like a text.
fn nearest<'a>(text: &str, tests: &'a [TestItem]) -> Vec<&'a str> {
    let lower = text.to_lowercase();
    let last = |text: &str| {
        let start = text.split(['(', '[']).next().unwrap_or_default();
        start.rsplit(['.', ':', '#', ' ', '/']).next().unwrap_or_default().to_lowercase()
    };
    let last_part = last(text);
    let alike = |test: &TestItem| {
        let id = test.id.to_lowercase();
        let contained = !lower.is_empty() && id.contains(&lower);
        let whole = strsim::normalized_levenshtein(&id, &lower);
        let name = strsim::normalized_levenshtein(&last(&test.id), &last_part);
        if contained { 1.0 } else { whole.max(name) }
    };
    let mut found: Vec<(f64, &str)> =
        tests.iter().take(MAX_COMPARED).map(|test| (alike(test), test.id.as_str())).collect();
    found.retain(|(likeness, _)| *likeness >= MIN_SIMILARITY);
    found.sort_by(|left, right| right.0.total_cmp(&left.0).then(left.1.cmp(right.1)));
    found.dedup_by(|left, right| left.1 == right.1);
    found.into_iter().take(MAX_NEAREST).map(|(_, id)| id).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn tests() -> Vec<TestItem> {
        let test = |id: &str, class: &str, traits: &[&str]| TestItem {
            id: id.into(),
            class: class.into(),
            file: Some("/w/tests/CartTests.cs".into()),
            traits: traits.iter().map(|one| (*one).to_owned()).collect(),
            ..TestItem::default()
        };
        vec![
            test("Shop.CartTests.Adds", "Shop.CartTests", &[]),
            test("Shop.CartTests.Rows(\"a,b\")", "Shop.CartTests", &["speed=slow"]),
            test("Shop.OrderTests.Adds", "Shop.OrderTests", &["slow"]),
        ]
    }

    fn pick(selection: &TestSelection) -> Result<Vec<String>, Failure> {
        let part = |filter: &str, test: &TestItem| test.id.contains(filter);
        Ok(selection.pick(tests(), part)?.into_iter().map(|test| test.id).collect())
    }

    #[test]
    fn tests_are_chosen_by_what_they_are() {
        let all = TestSelection::default();
        assert_eq!(pick(&all).unwrap().len(), 3);
        for (selection, count) in [
            (TestSelection { filter: Some("Adds".into()), ..all.clone() }, 2),
            (TestSelection { filter: Some("Shop.CartTests.Adds".into()), ..all.clone() }, 1),
            (TestSelection { class: Some("CartTests".into()), ..all.clone() }, 2),
            (TestSelection { file: Some("tests/CartTests.cs".into()), ..all.clone() }, 3),
            (TestSelection { traits: vec!["slow".into()], ..all.clone() }, 2),
            (TestSelection { traits: vec!["speed=slow".into()], ..all.clone() }, 1),
            (TestSelection { ids: vec!["Shop.CartTests.Rows(\"a,b\")".into()], ..all.clone() }, 1),
            // A row that is not listed: its test is, and has all its rows.
            (TestSelection { ids: vec!["Shop.OrderTests.Adds(order: Order { })".into()], ..all.clone() }, 1),
            (TestSelection { filter: Some("Shop.OrderTests.Adds(order: 2)".into()), ..all.clone() }, 1),
            (TestSelection { changed: Some(vec!["/w/tests/CartTests.cs".into()]), ..all.clone() }, 3),
        ] {
            assert_eq!(pick(&selection).unwrap().len(), count, "{selection:?}");
        }
    }

    #[test]
    fn a_selection_without_matches_suggests_similar_names() {
        let wrong = TestSelection { filter: Some("Add5".into()), ..TestSelection::default() };
        let failure = pick(&wrong).unwrap_err();
        assert_eq!(failure.code, ErrorCode::NotFound);
        assert!(failure.hint.unwrap().contains("Shop.CartTests.Adds"));
        let wrong = TestSelection { ids: vec!["Shop.CartTests.Ads".into()], ..TestSelection::default() };
        assert!(pick(&wrong).unwrap_err().hint.unwrap().contains("Shop.CartTests.Adds"));
    }
}
