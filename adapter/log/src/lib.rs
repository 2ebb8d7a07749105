//! The log of both programs: stderr or a file, never stdout.
//!
//! Logging never waits. Many editors and agents start a program with a pipe as its stderr and do not read it;
//! once the pipe is full, a write to it blocks until the reader ends. So a bounded [`queue`] passes lines to
//! a writer thread. If it is full, lines are dropped and counted, and the count is logged. [`say`] is for the
//! few lines that a user must see.

mod queue;

use std::fs::OpenOptions;
use std::io::Write;
use std::path::Path;
use std::sync::mpsc;
use std::time::Duration;

use anyhow::Context;
use tracing_subscriber::EnvFilter;
use tracing_subscriber::filter::LevelFilter;

use queue::Queue;

/// Maximum time to write the last lines when the program ends.
const FLUSH_TIMEOUT: Duration = Duration::from_millis(500);
/// Maximum time to write a line of [`say`].
const SAY_TIMEOUT: Duration = Duration::from_secs(1);

/// Targets of the crates that each program consists of. A directive for the first one holds for all of them:
/// users know the program, not its crates.
const PROGRAM_TARGETS: [&[&str]; 2] = [
    &[
        "adapter",
        "clr_metadata",
        "cordebug",
        "tandem_cargo_messages",
        "tandem_child",
        "tandem_coreclr",
        "tandem_csharp",
        "tandem_dap",
        "tandem_dotnet_launch",
        "tandem_download",
        "tandem_engine",
        "tandem_error",
        "tandem_hub",
        "tandem_log",
        "tandem_pages",
        "tandem_peers",
        "tandem_process",
        "tandem_process_tree",
        "tandem_registry",
        "tandem_session",
        "tandem_wire",
    ],
    &["bridge", "tandem_mcp", "tandem_testing", "tandem_workspace"],
];

/// Parses a level, or a filter by targets (`adapter=debug`). Any other single word is rejected: it would be
/// the name of a target, and nothing would be logged.
///
/// # Errors
/// When the text is neither; the message is for the user who typed it.
pub fn level(text: &str) -> Result<String, String> {
    let known = text.contains('=') || text.parse::<LevelFilter>().is_ok();
    known
        .then(|| text.to_owned())
        .ok_or_else(|| "it is not one of error, warn, info, debug, trace, and not a filter".into())
}

/// Dropping it writes the last lines, if the reader reads them within half a second.
#[derive(Debug)]
#[must_use = "the last lines are written when it is dropped"]
pub struct LogGuard(Queue);

impl Drop for LogGuard {
    fn drop(&mut self) {
        self.0.flush(FLUSH_TIMEOUT);
    }
}

/// Starts logging, including panics, to the end of `file` or to stderr. `adapter` and `bridge` in `filter`
/// mean all crates of that program. `quiet` has directives (`rmcp=info`) that limit a `filter` with a level
/// below `info`. Call it once per process.
///
/// # Errors
/// When the file cannot be opened, `filter` is neither a level nor a filter, or no thread can be started.
pub fn start(filter: &str, quiet: &[&str], file: Option<&Path>) -> anyhow::Result<LogGuard> {
    let filter = bounded(filter, quiet)?;
    let to: Box<dyn Write + Send> = match file {
        None => Box::new(std::io::stderr()),
        Some(path) => {
            let file = OpenOptions::new().create(true).append(true).open(path);
            Box::new(file.with_context(|| format!("cannot open the log file `{}`", path.display()))?)
        }
    };
    let queue = Queue::start(to).context("cannot start the thread that writes the log")?;
    tracing_subscriber::fmt().with_env_filter(filter).with_ansi(false).with_writer(queue.clone()).init();
    // The default hook writes to stderr and waits for its reader.
    std::panic::set_hook(Box::new(|panic| tracing::error!("{panic}")));
    Ok(LogGuard(queue))
}

fn bounded(filter: &str, quiet: &[&str]) -> anyhow::Result<EnvFilter> {
    let parsed = EnvFilter::try_new(with_all_crates(filter))
        .with_context(|| format!("`--log-level {filter}` is not a level or a filter"))?;
    // A directive also raises the level of its target.
    if parsed.max_level_hint().is_some_and(|level| level <= LevelFilter::INFO) {
        return Ok(parsed);
    }
    quiet.iter().try_fold(parsed, |parsed, directive| {
        let directive = directive.parse().with_context(|| format!("`{directive}` is not a directive"))?;
        Ok(parsed.add_directive(directive))
    })
}

/// Repeats each directive for a program (`adapter=debug`) for the program's other crates.
fn with_all_crates(filter: &str) -> String {
    let mut directives: Vec<String> = Vec::new();
    for directive in filter.split(',') {
        let target = directive.split(['=', '[']).next().unwrap_or_default();
        let rest = directive.get(target.len()..).unwrap_or_default();
        match PROGRAM_TARGETS.iter().find(|targets| targets.first() == Some(&target.trim())) {
            Some(targets) => directives.extend(targets.iter().map(|target| format!("{target}{rest}"))),
            None => directives.push(directive.to_owned()),
        }
    }
    directives.join(",")
}

/// Writes a line for a user to stderr, independent of the log. Gives up after a second if stderr is not read.
pub fn say(line: &str) {
    let (done, written) = mpsc::channel();
    let line = format!("{line}\n");
    let writing = std::thread::Builder::new().name("stderr".into()).spawn(move || {
        // A closed stderr has no reader, and a caller that has given up does not receive the result.
        drop(std::io::stderr().write_all(line.as_bytes()));
        done.send(()).unwrap_or_default();
    });
    if writing.is_ok() {
        written.recv_timeout(SAY_TIMEOUT).unwrap_or_default();
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn bounds_of_a_filter_do_not_widen_it() -> anyhow::Result<()> {
        assert_eq!(bounded("warn", &["rmcp=info"])?.to_string(), "warn");
        assert_eq!(bounded("debug", &["rmcp=info"])?.to_string(), "rmcp=info,debug");
        Ok(())
    }

    #[test]
    fn a_directive_for_a_program_holds_for_all_its_crates() -> anyhow::Result<()> {
        let filter = bounded("warn,adapter=debug", &["rmcp=info"])?.to_string();
        let has = |wanted: &str| filter.split(',').any(|directive| directive == wanted);
        for target in PROGRAM_TARGETS[0] {
            assert!(has(&format!("{target}=debug")), "{filter}");
        }
        assert!(has("warn") && !filter.contains("bridge"), "{filter}");
        let unchanged = "info,adapter::cli=debug,my_adapter=trace,[span]=debug";
        assert_eq!(with_all_crates(unchanged), unchanged);
        assert!(with_all_crates("bridge[call]=trace").ends_with(",tandem_workspace[call]=trace"));
        Ok(())
    }

    #[test]
    fn single_word_is_not_a_filter() {
        for fine in ["warn", "adapter=debug", "info,rmcp=off"] {
            assert!(level(fine).is_ok_and(|taken| taken == fine));
        }
        assert!(level("loud").is_err());
    }
}
