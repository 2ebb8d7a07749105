//! The parameters of a launch or an attach, to start a session with, and to start it again.

use std::path::{Path, PathBuf};

use serde_json::Value;
use test_frameworks::host::Stops;

use crate::breakpoint_requests::BreakpointRequests;
use crate::repeat::Repeat;

/// Parameters with which a session is started; kept, to start it again.
#[derive(Debug, Clone, Default)]
pub struct SessionPlan {
    /// Attach instead of launch.
    pub attach: bool,
    /// Attributes of DAP's `launch` or `attach`.
    pub attributes: Value,
    /// Breakpoints to set before the program runs.
    pub requested: BreakpointRequests,
    /// Exception filters; the engine's own when `None`.
    pub filters: Option<Vec<String>>,
    /// Stops for failing tests, in addition to `filters`.
    pub stops: Option<Stops>,
    /// Repetition of the launch; `None` for a single run.
    pub repeat: Option<Repeat>,
    /// Stop where it fails, also where the engine recommends no exception filters.
    pub uncaught: bool,
}

impl SessionPlan {
    /// Name of the program that it starts or attaches to, for messages.
    pub(super) fn title(&self) -> String {
        let attributes = &self.attributes;
        let named = ["program", "project", "module", "coreFile"];
        let named = named.into_iter().find_map(|key| attributes[key].as_str());
        match (named, &attributes["processId"]) {
            (Some(named), _) => named.trim_end_matches('/').rsplit('/').next().unwrap_or(named).to_owned(),
            (None, Value::Null) => attributes["connect"].to_string(),
            (None, pid) => format!("process {pid}"),
        }
    }

    /// Folders that may hold sources of its program: those of the program and its
    /// project, and its working folder.
    pub fn folders(&self) -> Vec<PathBuf> {
        let paths = ["program", "project", "cwd"].into_iter().filter_map(|key| self.attributes[key].as_str());
        paths
            .map(Path::new)
            .filter_map(|path| if path.is_dir() { Some(path) } else { path.parent() }.map(Path::to_owned))
            .collect()
    }
}
