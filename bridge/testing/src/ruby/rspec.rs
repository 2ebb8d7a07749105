//! RSpec: the script `rspec` loads the specs, with Tandem's formatter.
//!
//! Not here: which files are specs ([`super::sources`]).

use std::path::{Path, PathBuf};

use tandem_wire::{ErrorCode, Failure};
use tandem_workspace::build::project::{BuildTool, Project};
use tandem_workspace::process::ProcessCommand;

use super::sources::{is_rspec, named_file};
use super::{ENGINE, HELPERS, stops, with_environment};
use crate::framework::{ChosenTests, TestFramework};
use crate::host::{BoxFuture, ProcessLaunch};
use crate::model::TestItem;
use crate::run::output::NullReader;
use crate::run::{FrameworkRun, ProcessPurpose};

/// Holds in the block in which RSpec raises a failed expectation.
const FAILS: &str = "binding.local_variable_defined?(:failure) && defined?(TandemFormatter) && \
    TandemFormatter.first_raised?(failure)";

/// The test framework RSpec.
pub(crate) struct Rspec;

impl TestFramework for Rspec {
    fn name(&self) -> &'static str {
        "rspec"
    }

    fn kind(&self) -> BuildTool {
        BuildTool::Ruby
    }

    fn detects(&self, project: &Project) -> bool {
        is_rspec(project)
    }

    fn list<'a>(&'a self, run: &'a mut FrameworkRun<'_>) -> BoxFuture<'a, Result<Vec<TestItem>, Failure>> {
        Box::pin(async move {
            let files = named_file(run.project).cloned().into_iter().collect();
            Self::rspec(run, files, Vec::new(), None, ProcessPurpose::List).await
        })
    }

    fn run<'a>(
        &'a self,
        run: &'a mut FrameworkRun<'_>,
        chosen: &'a ChosenTests,
    ) -> BoxFuture<'a, Result<(), Failure>> {
        Box::pin(async move {
            let named = || named_file(run.project).cloned().into_iter().collect();
            let (files, more, names) = match chosen {
                ChosenTests::Everything => (named(), Vec::new(), None),
                ChosenTests::Filter(filter) => (named(), vec!["--example".into(), filter.clone()], None),
                ChosenTests::Tests(tests) => {
                    let mut files: Vec<PathBuf> =
                        tests.iter().filter_map(|test| spec_of(&run.project.folder, test)).collect();
                    files.sort();
                    files.dedup();
                    let names = tests.iter().map(|test| test.name.as_deref().unwrap_or(&test.id)).collect();
                    (files, Vec::new(), Some(names))
                }
            };
            Self::rspec(run, files, more, names, ProcessPurpose::Run).await.map(drop)
        })
    }

    fn plans(&self) -> bool {
        true
    }

    fn is_id(&self, text: &str) -> bool {
        text.contains("::")
    }
}

impl Rspec {
    async fn rspec(
        run: &mut FrameworkRun<'_>,
        files: Vec<PathBuf>,
        more: Vec<String>,
        names: Option<Vec<&str>>,
        purpose: ProcessPurpose,
    ) -> Result<Vec<TestItem>, Failure> {
        let (helpers, mut reports) = run.prepare_helpers(&HELPERS)?;
        let bundled = run.project.folder.join("Gemfile.lock").is_file();
        let mut command = match bundled && !run.host.is_debugger() {
            true => ProcessCommand::new("bundle", &run.project.folder).args(["exec", "rspec"]),
            false => ProcessCommand::new(program(), &run.project.folder),
        };
        command = command.arg("--no-color").arg("--require").arg(helpers.join("tandem_rspec.rb"));
        if purpose == ProcessPurpose::Run {
            command = command.args(["--format", "progress"]);
        }
        command = command.args(["--format", "TandemFormatter", "--out", "/dev/null"]);
        if purpose == ProcessPurpose::List {
            command = command.arg("--dry-run");
        }
        command = command.args(more).args(&run.options.arguments).args(files);
        if let Some(names) = names {
            command = command.env("TANDEM_TEST_NAMES", run.write_json("names.json", &names)?);
        }
        if bundled && run.host.is_debugger() {
            command = command.env("RUBYOPT", "-rbundler/setup");
        }
        let command = with_environment(command, run, &reports);
        let mut launch = ProcessLaunch::new(command, ENGINE);
        launch.stops = stops(FAILS, run.options.known.as_ref());
        let outcome = run.process(purpose, launch, "rspec", &mut NullReader, &mut reports).await;
        outcome.map_err(|failure| match failure.code {
            ErrorCode::CommandFailed => failure.hint("install it: gem install rspec, or bundle install"),
            _ => failure,
        })?;
        Ok(run.collect(&mut reports, "rspec"))
    }
}

/// The file that runs a test, with which its id begins. A shared example is written in another one.
fn spec_of(folder: &Path, test: &TestItem) -> Option<PathBuf> {
    let named = test.id.split_once("::").map(|(file, _)| folder.join(file)).filter(|file| file.is_file());
    named.or_else(|| test.file.as_ref().map(PathBuf::from))
}

/// `rspec` on the PATH, by its path: a debugger is to start the script.
fn program() -> PathBuf {
    let path = std::env::var_os("PATH").unwrap_or_default();
    let found = std::env::split_paths(&path).map(|folder| folder.join("rspec")).find(|file| file.is_file());
    found.unwrap_or_else(|| PathBuf::from("rspec"))
}
