//! Tests of .NET: xunit, NUnit, MSTest and TUnit, on Microsoft.Testing.Platform ([`mtp`]) or VSTest
//! ([`vstest`]), whichever each project is built for ([`build`]).
//!
//! Speaks neither protocol itself, and parses no filter ([`filter`]).

use std::collections::HashMap;
use std::path::{Path, PathBuf};

use tandem_wire::Failure;
use tandem_workspace::build::project::{BuildTool, Project};
use tandem_workspace::process::ProcessCommand;

use crate::framework::{ChosenTests, TestFramework};
use crate::host::{BoxFuture, Stops};
use crate::model::TestItem;
use crate::results::TestScope;
use crate::run::FrameworkRun;
use crate::run::options::KnownException;
use build::{DotnetTest, DotnetTestKey, TestProject};
use runner_lines::PREAMBLE;

mod build;
mod filter;
mod mtp;
mod names;
mod runner_lines;
mod settings;
mod vstest;
mod wire;

/// Exceptions of the frameworks' and the usual libraries' assertions. They are thrown in the test's own
/// frame; a test that has awaited something has left it when they arrive at the framework.
const ASSERTIONS: &str = "Xunit.Sdk.*, NUnit.Framework.AssertionException, \
    NUnit.Framework.MultipleAssertException, \
    Microsoft.VisualStudio.TestTools.UnitTesting.*, TUnit.Assertions.*, FluentAssertions.*, Shouldly.*";

/// The debug adapter of such programs.
const ENGINE: &str = "coreclr";

/// The test framework of .NET: VSTest or Microsoft.Testing.Platform.
pub(crate) struct Dotnet;

/// Stops for failing tests: at an assertion, or at the known exception, when it is thrown; at any other
/// exception when it leaves the user's code.
pub(crate) fn stops(known: Option<&KnownException>) -> Stops {
    let thrown = match known {
        Some(known) => format!("{ASSERTIONS}, {}", known.kind),
        None => ASSERTIONS.to_owned(),
    };
    // One stop for each.
    let others = format!("!{thrown}");
    if known.is_some_and(|known| known.kind.is_empty()) {
        return Stops {
            filters: vec![("all", None), ("unhandled", None)],
            retries: true,
            preamble: PREAMBLE,
            ..Stops::default()
        };
    }
    Stops {
        filters: vec![
            ("userUnhandled", Some(others.clone())),
            ("unhandled", Some(others)),
            ("all", Some(thrown)),
        ],
        retries: true,
        preamble: PREAMBLE,
        ..Stops::default()
    }
}

/// Path of the user's `dotnet`.
pub(crate) fn dotnet() -> PathBuf {
    let own = std::env::var_os("DOTNET_ROOT").map(|root| Path::new(&root).join("dotnet"));
    own.filter(|program| program.is_file()).unwrap_or_else(|| PathBuf::from("dotnet"))
}

/// A command with the environment that a call sets.
fn with_environment(mut command: ProcessCommand, run: &FrameworkRun<'_>) -> ProcessCommand {
    for (name, value) in [
        ("DOTNET_CLI_TELEMETRY_OPTOUT", "1"),
        ("TESTINGPLATFORM_TELEMETRY_OPTOUT", "1"),
        ("DOTNET_NOLOGO", "1"),
    ] {
        command = command.env(name, value);
    }
    command.envs(&run.options.env)
}

/// The call of a test's method as .NET prints it in a stack.
fn call_of(test: &TestItem) -> String {
    let (class, method) = names::of_test(test);
    format!("{class}.{}(", method.split(['(', ':', '#']).next().unwrap_or_default())
}

async fn list_tests(run: &mut FrameworkRun<'_>) -> Result<Vec<TestItem>, Failure> {
    let projects = build::projects(run).await?;
    let mut tests = Vec::new();
    for project in &projects {
        let found = match project.is_platform {
            true => mtp::list(run, project).await?,
            false => vstest::list(run, project).await?,
        };
        let with_project = |test: TestItem| TestItem { project: project.name.clone(), ..test };
        tests.extend(found.into_iter().map(with_project));
    }
    Ok(number_duplicates(tests))
}

/// Tests that share an id are numbered, in their order.
fn number_duplicates(mut tests: Vec<TestItem>) -> Vec<TestItem> {
    let mut seen = HashMap::new();
    for test in &mut tests {
        let key = (test.id.clone(), project_of(test).map(|project| project.target));
        let count = seen.entry(key).or_insert(0_u32);
        *count += 1;
        if *count > 1 {
            test.id = format!("{}#{count}", test.id);
        }
    }
    tests
}

/// The ids that [`number_duplicates`] may have changed, by what the platform calls the tests.
fn listed_ids(tests: &[TestItem]) -> HashMap<String, String> {
    let key = |test: &TestItem| {
        test.handle.get::<DotnetTest>().map(|handle| match &handle.key {
            DotnetTestKey::Vstest(case) => vstest::identity(case),
            DotnetTestKey::Platform { uid, .. } => uid.to_string(),
        })
    };
    let numbered = tests.iter().filter(|test| test.id.contains('#'));
    numbered.filter_map(|test| Some((key(test)?, test.id.clone()))).collect()
}

/// Gives a test of a result the id that the list has for it, if that differs in its number only. Rows that
/// are discovered during the run have other names than their test.
fn restore_number(test: &mut TestItem, listed: Option<&String>) {
    let is_numbered = |id: &&String| id.strip_prefix(&test.id).is_some_and(|rest| rest.starts_with('#'));
    if let Some(id) = listed.filter(is_numbered) {
        test.id.clone_from(id);
    }
}

/// The tests of each project, in their order.
fn by_project(tests: &[TestItem]) -> Vec<(TestProject, Vec<TestItem>)> {
    let mut projects: Vec<(TestProject, Vec<TestItem>)> = Vec::new();
    for test in tests {
        let Some(project) = project_of(test) else { continue };
        match projects.iter_mut().find(|(known, _)| *known == project) {
            Some((_, own)) => own.push(test.clone()),
            None => projects.push((project, vec![test.clone()])),
        }
    }
    projects
}

fn project_of(test: &TestItem) -> Option<TestProject> {
    test.handle.get::<DotnetTest>().map(|handle| handle.project.clone())
}

impl TestFramework for Dotnet {
    fn name(&self) -> &'static str {
        "dotnet"
    }

    fn kind(&self) -> BuildTool {
        BuildTool::Dotnet
    }

    fn detects(&self, _: &Project) -> bool {
        true
    }

    fn list<'a>(&'a self, run: &'a mut FrameworkRun<'_>) -> BoxFuture<'a, Result<Vec<TestItem>, Failure>> {
        Box::pin(list_tests(run))
    }

    fn run<'a>(
        &'a self,
        run: &'a mut FrameworkRun<'_>,
        chosen: &'a ChosenTests,
    ) -> BoxFuture<'a, Result<(), Failure>> {
        Box::pin(async move {
            for (project, tests) in by_project(chosen.tests()) {
                run.results
                    .enter(TestScope { framework: project.framework.clone(), project: project.name.clone() });
                match project.is_platform {
                    true => mtp::run(run, &project, tests).await?,
                    false => vstest::run(run, &project, &tests).await?,
                }
            }
            Ok(())
        })
    }

    fn filters_the_list(&self) -> bool {
        true
    }

    fn matches(&self, filter: &str, test: &TestItem) -> bool {
        filter::TestCaseFilter::parse(filter).holds(test)
    }
}
