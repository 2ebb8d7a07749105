//! The list of tests that ctest prints as JSON. Reading is lenient: a field of another type counts as absent.
//!
//! Not here: the runs of these tests ([`super`]).

use std::path::{Path, PathBuf};

use serde::Deserialize;
use serde_json::Value;
use tandem_wire::types;

use super::CmakeTest;
use crate::model::{TestHandle, TestItem};

/// A test of ctest's list.
#[derive(Debug, Clone, Default, PartialEq)]
pub(super) struct CtestEntry {
    pub(super) name: String,
    pub(super) command: Vec<String>,
    pub(super) folder: PathBuf,
    pub(super) env: Vec<String>,
    pub(super) labels: Vec<String>,
    pub(super) place: Option<(String, u32)>,
    pub(super) disabled: bool,
    /// Whether it passes when its program fails.
    pub(super) will_fail: bool,
}

/// The list of `ctest --show-only=json-v1`.
#[derive(Default, Deserialize)]
#[serde(rename_all = "camelCase", default)]
pub(super) struct CtestList {
    #[serde(deserialize_with = "types::list")]
    pub(super) tests: Vec<CtestItem>,
    #[serde(deserialize_with = "types::required")]
    pub(super) backtrace_graph: BacktraceGraph,
}

/// A test, as ctest describes it.
#[derive(Default, Deserialize)]
#[serde(default)]
pub(super) struct CtestItem {
    #[serde(deserialize_with = "types::optional")]
    pub(super) name: Option<String>,
    #[serde(deserialize_with = "types::list")]
    pub(super) command: Vec<String>,
    /// Index of the node that defines the test.
    #[serde(deserialize_with = "types::optional")]
    pub(super) backtrace: Option<usize>,
    #[serde(deserialize_with = "types::list")]
    pub(super) properties: Vec<CtestProperty>,
}

#[derive(Default, Deserialize)]
#[serde(default)]
pub(super) struct CtestProperty {
    #[serde(deserialize_with = "types::required")]
    pub(super) name: String,
    pub(super) value: Value,
}

/// The calls in CMake files that define tests.
#[derive(Default, Deserialize)]
#[serde(default)]
pub(super) struct BacktraceGraph {
    #[serde(deserialize_with = "types::required")]
    files: Vec<String>,
    #[serde(deserialize_with = "types::required")]
    nodes: Vec<BacktraceNode>,
}

#[derive(Default, Deserialize)]
#[serde(default)]
struct BacktraceNode {
    /// Index of the file of the call.
    #[serde(deserialize_with = "types::optional")]
    file: Option<usize>,
    #[serde(deserialize_with = "types::optional")]
    line: Option<u32>,
}

impl BacktraceGraph {
    /// The line of the CMake file at a node.
    pub(super) fn place(&self, node: usize) -> Option<(String, u32)> {
        let node = self.nodes.get(node)?;
        Some((self.files.get(node.file?)?.clone(), node.line?))
    }
}

impl CtestEntry {
    /// The test of an item; `None` if it has no name.
    pub(super) fn of(item: CtestItem, graph: &BacktraceGraph, build: &Path) -> Option<Self> {
        let property = |name: &str| {
            let found = item.properties.iter().find(|property| property.name == name);
            found.map_or(&Value::Null, |property| &property.value)
        };
        let texts = |name: &str| -> Vec<String> {
            let all = property(name).as_array().into_iter().flatten();
            all.filter_map(|text| text.as_str().map(str::to_owned)).collect()
        };
        let folder = property("WORKING_DIRECTORY").as_str();
        Some(Self {
            folder: folder.map_or_else(|| build.to_owned(), PathBuf::from),
            env: texts("ENVIRONMENT"),
            labels: texts("LABELS"),
            place: item.backtrace.and_then(|node| graph.place(node)),
            disabled: property("DISABLED") == true,
            will_fail: property("WILL_FAIL") == true,
            name: item.name?,
            command: item.command,
        })
    }

    /// The program and the name inside it, of a test that `gtest_discover_tests` has found.
    pub(super) fn discovered_test(&self) -> Option<(String, String)> {
        let filter = self.command.iter().find_map(|word| word.strip_prefix("--gtest_filter="))?;
        Some((self.command.first()?.clone(), filter.to_owned()))
    }

    pub(super) fn test(&self) -> TestItem {
        let (file, line) = self.place.clone().unzip();
        TestItem {
            id: self.name.clone(),
            file,
            line,
            traits: self.labels.clone(),
            skipped: self.disabled.then(|| "DISABLED".to_owned()),
            class: "ctest".into(),
            handle: TestHandle::new(CmakeTest {
                command: self.command.clone(),
                folder: self.folder.clone(),
                env: self.env.clone(),
                will_fail: self.will_fail,
                name: None,
            }),
            ..TestItem::default()
        }
    }
}
