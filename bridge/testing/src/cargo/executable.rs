//! Test programs: Cargo builds them and reports them as artifacts. Each runs in the environment that
//! `cargo test` sets.
//!
//! Not here: the tests in a program ([`super::listing`]).

use std::path::{Path, PathBuf};

use tandem_wire::Failure;
use tandem_workspace::build::readers::OutputParser;
use tandem_workspace::build::report::CargoArtifact;
use tandem_workspace::build::steps::BuildStep;
use tandem_workspace::process::ProcessCommand;

use super::arguments::CargoArguments;
use super::command::cargo;
use super::own_harness;
use crate::run::FrameworkRun;

/// A test executable that cargo built.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct TestExecutable {
    /// `package`, `package::name` of an integration test, `package::bin/name`.
    pub(super) name: String,
    file: PathBuf,
    /// The package's folder, where its tests run.
    folder: PathBuf,
    /// Source file of its root module.
    pub(super) source: PathBuf,
    /// Whether the package is a library whose manifest turns the tests in its documentation off.
    is_untested_documentation: bool,
    /// Whether its manifest says `harness = false`.
    pub(super) has_own_harness: bool,
}

impl TestExecutable {
    fn of(artifact: CargoArtifact) -> Option<Self> {
        let CargoArtifact { manifest_path, package_id, target, profile, executable } = artifact;
        if !profile.test {
            return None;
        }
        let manifest = PathBuf::from(manifest_path);
        let folder = manifest.parent()?.to_owned();
        let package = package(&package_id, &folder);
        let kind = target.kind.first()?.as_str();
        let has_own_harness = own_harness::is_in(&manifest, kind, &target.name);
        let name = match kind {
            "test" => format!("{package}::{}", target.name),
            kind @ ("bin" | "example" | "bench") => format!("{package}::{kind}/{}", target.name),
            _ => package,
        };
        Some(Self {
            name,
            file: PathBuf::from(executable?),
            folder,
            source: PathBuf::from(target.src_path),
            is_untested_documentation: target.doctest == Some(false),
            has_own_harness,
        })
    }

    /// The package's folder.
    pub(super) fn folder(&self) -> &Path {
        &self.folder
    }

    /// Whether it has the tests of a library, whose documentation may have tests, too.
    pub(super) fn is_library(&self) -> bool {
        !self.name.contains("::")
    }

    /// Whether `cargo test` runs the tests in its documentation.
    pub(super) fn tests_documentation(&self) -> bool {
        self.is_library() && !self.is_untested_documentation
    }

    /// The command with the environment that `cargo test` sets.
    pub(super) fn command(&self, run: &FrameworkRun<'_>) -> ProcessCommand {
        let mut command = ProcessCommand::new(&self.file, &self.folder)
            .env("CARGO_MANIFEST_DIR", &self.folder)
            .env("CARGO", "cargo")
            .env("RUST_BACKTRACE", std::env::var_os("RUST_BACKTRACE").unwrap_or_else(|| "0".into()));
        // Where the compiler's own libraries, and those of the workspace, are found.
        let deps = self.file.parent().map(Path::to_owned).unwrap_or_default();
        let own = [deps.parent().map(Path::to_owned).unwrap_or_default(), deps.clone()];
        let before = std::env::var_os("LD_LIBRARY_PATH").unwrap_or_default();
        let all =
            own.into_iter().chain(std::env::split_paths(&before).filter(|path| !path.as_os_str().is_empty()));
        if let Ok(path) = std::env::join_paths(all) {
            command = command.env("LD_LIBRARY_PATH", path);
        }
        command.envs(&run.options.env)
    }
}

/// `path+file:///w/calc#0.1.0`, `path+file:///w#calc@0.1.0`, `calc 0.1.0 (path+…)`.
fn package(id: &str, folder: &Path) -> String {
    let own = || folder.file_name().unwrap_or_default().to_string_lossy().into_owned();
    match id.rsplit_once('#') {
        Some((_, rest)) => rest.split_once('@').map_or_else(own, |(name, _)| name.to_owned()),
        None => id.split(' ').next().map_or_else(own, str::to_owned),
    }
}

/// Builds the programs of tests; none where only tests in documentation are meant.
pub(super) async fn programs(run: &mut FrameworkRun<'_>) -> Result<Vec<TestExecutable>, Failure> {
    let arguments = CargoArguments::of(run);
    if arguments.is_documentation_only {
        return Ok(Vec::new());
    }
    let command = cargo(run).args(["--no-run", "--message-format=json"]).args(&arguments.build);
    run.report.artifacts.clear();
    let step = BuildStep { command, reader: OutputParser::cargo(&run.project.folder) };
    if !run.build(step, "cargo test --no-run").await? {
        return Ok(Vec::new());
    }
    let mut programs: Vec<TestExecutable> =
        std::mem::take(&mut run.report.artifacts).into_iter().filter_map(TestExecutable::of).collect();
    // Cargo lists them in the order of compilation, which differs from build to build: sort them for paging.
    programs.sort_by(|one, other| one.name.cmp(&other.name));
    Ok(programs)
}

#[cfg(test)]
mod tests {
    use serde_json::{Value, json};

    use super::*;

    #[test]
    fn a_package_is_named_by_its_id_of_any_form() {
        let folder = Path::new("/w/calc");
        for id in [
            "path+file:///w/calc#0.1.0",
            "path+file:///w/other#calc@0.1.0",
            "calc 0.1.0 (path+file:///w/calc)",
        ] {
            assert_eq!(package(id, folder), "calc", "{id}");
        }
    }

    #[test]
    fn a_program_of_tests_is_named_by_package_and_kind() {
        let executable = |artifact: Value| TestExecutable::of(serde_json::from_value(artifact).unwrap());
        let artifact = |kind: &str, name: &str| {
            json!({ "profile": { "test": true }, "manifest_path": "/w/calc/Cargo.toml",
                "package_id": "path+file:///w/calc#0.1.0",
                "target": { "kind": [kind], "name": name, "src_path": "/w/calc/x.rs" },
                "executable": "/w/target/debug/deps/x" })
        };
        let mut untested = artifact("lib", "calc");
        assert!(executable(untested.clone()).unwrap().tests_documentation());
        untested["target"]["doctest"] = json!(false);
        assert!(!executable(untested).unwrap().tests_documentation());
        assert!(!executable(artifact("test", "it")).unwrap().tests_documentation());
        for (kind, name, expected) in
            [("lib", "calc", "calc"), ("test", "it", "calc::it"), ("bin", "calc", "calc::bin/calc")]
        {
            assert_eq!(executable(artifact(kind, name)).unwrap().name, expected);
        }
        assert_eq!(executable(json!({ "profile": { "test": false } })), None);
    }
}
