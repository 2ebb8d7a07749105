//! The options of a bridge, from the command line.

use std::path::PathBuf;
use std::sync::Arc;

use tandem_workspace::roots::Roots;
use tokio_util::task::TaskTracker;

use crate::tool_filter::ToolFilter;

/// Options from the command line.
#[derive(Debug, Clone, Default)]
pub struct BridgeOptions {
    /// The adapter to start.
    pub adapter: PathBuf,
    /// Which tools there are.
    pub offer: ToolFilter,
    /// Folders for the file, git and build tools.
    pub roots: Arc<Roots>,
    /// Sessions that end after their bridge; awaited at the end of the process.
    pub endings: TaskTracker,
    /// MCP sessions are required: protocol versions without sessions are rejected.
    pub with_sessions: bool,
}
