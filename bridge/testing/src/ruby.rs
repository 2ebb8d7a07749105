//! Tests of Ruby: minitest and RSpec, each with a reporter that Tandem adds. test-unit has other commands
//! (`run_tests`).
//!
//! Not here: each framework's command ([`minitest`], [`rspec`]), the sources that tell them apart
//! ([`sources`]), the parser of reports ([`crate::reports`]).

use tandem_workspace::process::ProcessCommand;

use crate::host::Stops;
use crate::reports::{ReportPipe, VARIABLE};
use crate::run::FrameworkRun;
use crate::run::options::KnownException;

pub(crate) mod minitest;
pub(crate) mod rspec;
mod sources;

/// Names and contents of Tandem's helper scripts.
const HELPERS: [(&str, &str); 4] = [
    // Loads the files of tests; minitest runs them when Ruby ends, with the arguments that are left.
    ("load.rb", include_str!("ruby/load.rb")),
    ("tandem_reports.rb", include_str!("ruby/tandem_reports.rb")),
    ("tandem_minitest.rb", include_str!("ruby/tandem_minitest.rb")),
    ("tandem_rspec.rb", include_str!("ruby/tandem_rspec.rb")),
];

/// The debug adapter of such programs.
const ENGINE: &str = "rdbg";

/// Beginnings of minitest's lines before a test.
const PREAMBLE: &[&str] = &["Run options: ", "# Running:"];

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
