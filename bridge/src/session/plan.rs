//! The parameters of a launch or an attach, to start a session with, and to start it again.

use std::path::{Path, PathBuf};

use serde_json::Value;
use tandem_testing::host::Stops;
use tandem_wire::types::DebuggeeAttributes;

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
        let debuggee = DebuggeeAttributes::of(&self.attributes).debuggee();
        debuggee.trim_end_matches('/').rsplit('/').next().unwrap_or(&debuggee).to_owned()
    }

    /// The program that it starts, if it names one.
    pub(crate) fn program(&self) -> Option<String> {
        DebuggeeAttributes::of(&self.attributes).program
    }

    /// Folders that may hold sources of its program: those of the program and its
    /// project, and its working folder.
    pub fn folders(&self) -> Vec<PathBuf> {
        let names = DebuggeeAttributes::of(&self.attributes);
        let paths = [names.program, names.project, names.cwd].into_iter().flatten();
        paths
            .filter_map(|path| {
                let path = Path::new(&path);
                if path.is_dir() { Some(path) } else { path.parent() }.map(Path::to_owned)
            })
            .collect()
    }
}
