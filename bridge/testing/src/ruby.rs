//! Tests of Ruby: minitest and RSpec, each with a reporter that Tandem adds. test-unit has other commands
//! (`run_tests`).
//!
//! Not here: each framework's command ([`minitest`], [`rspec`]), the sources that tell them apart
//! ([`sources`]), the parser of reports ([`crate::reports`]).

use std::path::{Path, PathBuf};

use serde_json::Value;
use tandem_wire::{ErrorCode, Failure};
use tandem_workspace::process::ProcessCommand;

use crate::host::Stops;
use crate::reports::{ReportPipe, VARIABLE};
use crate::run::FrameworkRun;
use crate::run::options::KnownException;

pub mod minitest;
pub mod rspec;
mod sources;

/// Names and contents of Tandem's helper scripts.
const HELPERS: [(&str, &str); 3] = [
    ("tandem_reports.rb", include_str!("ruby/tandem_reports.rb")),
    ("tandem_minitest.rb", include_str!("ruby/tandem_minitest.rb")),
    ("tandem_rspec.rb", include_str!("ruby/tandem_rspec.rb")),
];

/// Loads these files of tests; minitest runs them when Ruby ends, with the arguments that are left.
const LOADER: &str = include_str!("ruby/load.rb");

/// Beginnings of minitest's lines before a test.
const PREAMBLE: &[&str] = &["Run options: ", "# Running:"];

/// Puts our helpers into the scratch folder, and a pipe for their reports.
fn prepare(run: &FrameworkRun<'_>) -> Result<(PathBuf, ReportPipe), Failure> {
    let folder = run.scratch.join("helpers");
    let written = std::fs::create_dir_all(&folder)
        .and_then(|()| HELPERS.iter().try_for_each(|(name, text)| std::fs::write(folder.join(name), text)))
        .and_then(|()| std::fs::write(folder.join("load.rb"), LOADER));
    written.map_err(|error| unwritable(&folder, &error))?;
    Ok((folder, ReportPipe::open(run.scratch)?))
}

fn unwritable(path: &Path, error: &std::io::Error) -> Failure {
    Failure::new(ErrorCode::IoFailed, format!("cannot write to `{}`: {error}", path.display()))
}

fn write(run: &FrameworkRun<'_>, name: &str, value: &Value) -> Result<PathBuf, Failure> {
    let file = run.scratch.join(name);
    std::fs::write(&file, value.to_string()).map_err(|error| unwritable(&file, &error))?;
    Ok(file)
}

/// Adds the path of the pipe and the environment of the call.
fn with_environment(command: ProcessCommand, run: &FrameworkRun<'_>, reports: &ReportPipe) -> ProcessCommand {
    command.env(VARIABLE, reports.path()).envs(&run.options.env)
}

/// Stops where an assertion fails. Any other exception that ends a test is known only by its message: once
/// that is known, every exception stops, and the client continues past the others.
fn stops(assertion: &str, known: Option<&KnownException>) -> Stops {
    let condition = known.is_none().then(|| assertion.to_owned());
    Stops {
        filters: vec![("any", condition)],
        retries: true,
        own_frames: true,
        preamble: PREAMBLE,
        ..Stops::default()
    }
}
