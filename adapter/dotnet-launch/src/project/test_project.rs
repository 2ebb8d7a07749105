//! A test project as the program of a launch: its tests are debugged. With Microsoft.Testing.Platform, the
//! project's own program runs them; with VSTest, the SDK starts a host for them, which is then followed.
//! Tests are selected by the runner's own arguments. Runs nothing; [`super`] makes the command.

use std::ffi::OsString;
use std::path::{Path, PathBuf};

use super::sdk::Properties;

/// The runner of a project's tests.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum TestRunner {
    /// The project's own program.
    Itself,
    /// A host that the SDK starts.
    VsTest,
}

/// The runner of the tests of a project with these properties; `None` if it is not a test project.
pub(super) fn runner(properties: &Properties) -> Option<TestRunner> {
    if properties.is("IsTestingPlatformApplication") {
        return Some(TestRunner::Itself);
    }
    properties.is("IsTestProject").then_some(TestRunner::VsTest)
}

/// The message about a test project before it starts.
pub(super) fn announcement(project: &Path, runner: TestRunner) -> String {
    let name = project.file_name().unwrap_or_default().to_string_lossy();
    match runner {
        TestRunner::Itself => {
            format!("{name} is a project of tests: debugging its tests; `args` are its runner's")
        }
        TestRunner::VsTest => format!(
            "{name} is a project of tests: debugging its tests in the host of VSTest; `args` are those of \
                `dotnet vstest` \
             (`--TestCaseFilter:NAME`)"
        ),
    }
}

/// The arguments of `dotnet` that run the tests of an assembly.
pub(super) fn vstest(assembly: PathBuf) -> Vec<OsString> {
    vec!["vstest".into(), assembly.into_os_string()]
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn project_properties_determine_the_test_runner() {
        for (properties, expected) in [
            (json!({ "OutputType": "Exe" }), None),
            (json!({ "IsTestProject": "false", "IsTestingPlatformApplication": "" }), None),
            (json!({ "IsTestProject": "true", "OutputType": "Exe" }), Some(TestRunner::VsTest)),
            (
                json!({ "IsTestProject": "true", "IsTestingPlatformApplication": "True" }),
                Some(TestRunner::Itself),
            ),
        ] {
            assert_eq!(runner(&Properties::of(properties.clone())), expected, "{properties}");
        }
    }
}
