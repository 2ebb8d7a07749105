//! What `go` prints as JSON. Reading is lenient: a field of another type counts as absent.
//!
//! Not here: what the events mean ([`super::events`]).

use serde::Deserialize;
use tandem_wire::types;

/// A package as `go list -json` prints it.
#[derive(Default, Deserialize)]
#[serde(rename_all = "PascalCase", default)]
pub(super) struct ListedPackage {
    #[serde(deserialize_with = "types::optional")]
    pub(super) import_path: Option<String>,
    #[serde(deserialize_with = "types::optional")]
    pub(super) dir: Option<String>,
    #[serde(deserialize_with = "types::list")]
    pub(super) test_go_files: Vec<String>,
    #[serde(deserialize_with = "types::list")]
    pub(super) x_test_go_files: Vec<String>,
}

/// An event of `go test -json`.
#[derive(Default, Deserialize)]
#[serde(rename_all = "PascalCase", default)]
pub(super) struct GoEvent {
    #[serde(deserialize_with = "types::required")]
    pub(super) action: String,
    #[serde(deserialize_with = "types::required")]
    pub(super) package: String,
    /// Empty for an event of the whole package.
    #[serde(deserialize_with = "types::required")]
    pub(super) test: String,
    #[serde(deserialize_with = "types::required")]
    pub(super) output: String,
    /// Seconds that the test took.
    #[serde(deserialize_with = "types::optional")]
    pub(super) elapsed: Option<f64>,
}
