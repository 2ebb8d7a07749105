//! Flags from the command line that decide which tools a bridge offers. [`crate::catalog`] applies them to
//! its tools.

/// Which tools a bridge offers.
#[derive(Debug, Clone, Copy, Default)]
pub struct ToolFilter {
    /// Offers only the most important tools.
    pub core: bool,
    /// Offers only tools that change nothing.
    pub read_only: bool,
    /// Also offers the tool that runs any program.
    pub commands: bool,
}
