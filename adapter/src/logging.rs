//! Where the log goes: stderr or a file, never stdout.

use std::fs::OpenOptions;
use std::path::PathBuf;
use std::sync::Mutex;

use anyhow::Context;
use tracing_subscriber::EnvFilter;

/// As the flags say it. A relay or listener gives the same to the hosts it starts.
#[derive(Debug, Clone)]
pub struct Logging {
    /// A file to append to; stderr when absent.
    pub file: Option<PathBuf>,
    /// A level, or a filter in the syntax of `tracing-subscriber`.
    pub level: String,
}

/// Takes a level, or a filter by targets (`adapter=debug`). A lone word would be taken for a target, and nothing be logged.
///
/// # Errors
/// When it is neither; in words for whoever typed it.
pub fn level(text: &str) -> Result<String, String> {
    let known = text.contains('=') || text.parse::<tracing_subscriber::filter::LevelFilter>().is_ok();
    known
        .then(|| text.to_owned())
        .ok_or_else(|| "it is none of error, warn, info, debug, trace, and no filter".into())
}

impl Logging {
    /// Starts logging. Once per process.
    ///
    /// # Errors
    /// When the file cannot be opened or the level is no filter.
    pub fn start(&self) -> anyhow::Result<()> {
        let filter = EnvFilter::try_new(&self.level)
            .with_context(|| format!("`--log-level {}` is no level and no filter", self.level))?;
        let builder = tracing_subscriber::fmt().with_env_filter(filter).with_ansi(false);
        match &self.file {
            None => builder.with_writer(std::io::stderr).init(),
            Some(path) => {
                let file = OpenOptions::new().create(true).append(true).open(path);
                let file = file.with_context(|| format!("cannot open the log file `{}`", path.display()))?;
                builder.with_writer(Mutex::new(file)).init();
            }
        }
        Ok(())
    }

    /// The same as flags.
    pub fn flags(&self) -> Vec<std::ffi::OsString> {
        let mut flags = vec!["--log-level".into(), self.level.clone().into()];
        if let Some(file) = &self.file {
            flags.extend(["--log".into(), file.clone().into_os_string()]);
        }
        flags
    }
}
