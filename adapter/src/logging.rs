//! The flags of the log, which a relay or listener passes to its hosts.
//!
//! Writes no log: `tandem-log` does.

use std::path::PathBuf;

/// The settings of `--log` and `--log-level`.
#[derive(Debug, Clone)]
pub struct LogSettings {
    /// A file to append to; stderr when absent.
    pub file: Option<PathBuf>,
    /// A level, or a filter in the syntax of `tracing-subscriber`.
    pub level: String,
}

impl LogSettings {
    /// The settings as command line flags.
    pub fn flags(&self) -> Vec<std::ffi::OsString> {
        let mut flags = vec!["--log-level".into(), self.level.clone().into()];
        if let Some(file) = &self.file {
            flags.extend(["--log".into(), file.clone().into_os_string()]);
        }
        flags
    }
}
