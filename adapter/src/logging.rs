//! Where the log goes: stderr or a file, never stdout; and how messages stand in it.
//!
//! A log may be handed to others. So no level shows what a program is given or gives: arguments, environment, stdin, output,
//! values and files are named by their fields ([`shape`]), never shown.

use std::fs::OpenOptions;
use std::path::PathBuf;
use std::sync::Mutex;

use anyhow::Context;
use serde_json::Value;
use tracing_subscriber::EnvFilter;

/// Fields named in one line of the log.
const MOST_FIELDS: usize = 24;

/// What a message consists of, without what it says: its fields with their numbers, truth values and sizes.
pub fn shape(body: &Value) -> String {
    let Some(fields) = body.as_object() else { return size(body) };
    let mut shown: Vec<String> =
        fields.iter().take(MOST_FIELDS).map(|(name, value)| format!("{name}: {}", size(value))).collect();
    if fields.len() > MOST_FIELDS {
        shown.push(format!("and {} more", fields.len() - MOST_FIELDS));
    }
    format!("{{{}}}", shown.join(", "))
}

/// A number or truth value as it is; of anything else only how large it is.
fn size(value: &Value) -> String {
    match value {
        Value::Null | Value::Bool(_) | Value::Number(_) => value.to_string(),
        Value::String(text) => format!("text of {}", text.len()),
        Value::Array(items) => format!("list of {}", items.len()),
        Value::Object(fields) => format!("{} fields", fields.len()),
    }
}

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

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn a_message_is_named_and_not_shown() {
        let body = json!({ "frameId": 7, "data": "secret", "env": { "KEY": "secret" }, "args": ["secret"], "pty": true });
        assert_eq!(shape(&body), "{frameId: 7, data: text of 6, env: 1 fields, args: list of 1, pty: true}");
        assert_eq!(shape(&json!("secret")), "text of 6");
    }
}
