//! A CMake project as the program of a launch: configured into `build`, built, and queried for its programs
//! (cmake-file-api(7)). Not here: parsing the messages ([`super::readers`]), and Makefiles ([`super`]).

use std::path::{Path, PathBuf};

use serde::Deserialize;
use tandem_wire::{ErrorCode, Failure, types};

use super::{Build, readers, single_program};

impl Build<'_> {
    /// Builds it; returns its program if it has only one, and builds nothing if it has several. When
    /// `program` says what to run, it may have any number.
    pub(super) fn cmake(&self, folder: &Path) -> Result<Option<PathBuf>, Failure> {
        let out = folder.join("build");
        let query = out.join(".cmake/api/v1/query");
        let written =
            std::fs::create_dir_all(&query).and_then(|()| std::fs::write(query.join("codemodel-v2"), ""));
        written.map_err(|error| {
            Failure::new(ErrorCode::BuildFailed, format!("cannot write to `{}`: {error}", out.display()))
        })?;
        let mut configure = self.command("cmake", folder)?;
        configure.arg("-S").arg(folder).arg("-B").arg(&out).arg("-DCMAKE_BUILD_TYPE=Debug");
        self.run(configure, folder, readers::cmake)?;
        // CMake names the programs once it has configured: a folder that has several is refused before it is
        // built.
        let named = self.target.text("project")?.is_some() && !self.target.program.as_os_str().is_empty();
        let only = match programs(&out) {
            found if found.is_empty() || named => None,
            found => Some(single_program(
                folder,
                &found,
                "name the folder as `project`, and one of them as `program`",
            )?),
        };
        let mut build = self.command("cmake", folder)?;
        build.arg("--build").arg(&out);
        self.run(build, folder, readers::cmake)?;
        Ok(only)
    }
}

/// A target of the reply.
#[derive(Debug, Default, Deserialize)]
#[serde(default)]
struct CmakeTarget {
    name: String,
    #[serde(rename = "type")]
    kind: String,
    #[serde(deserialize_with = "types::list")]
    artifacts: Vec<CmakeArtifact>,
}

/// A file that a target is built to.
#[derive(Debug, Deserialize)]
struct CmakeArtifact {
    path: String,
}

/// Targets that are executables, from the reply; none when there is no reply that can be read.
fn programs(out: &Path) -> Vec<(String, PathBuf)> {
    let reply = out.join(".cmake/api/v1/reply");
    let read =
        |path: PathBuf| -> Option<CmakeTarget> { serde_json::from_slice(&std::fs::read(path).ok()?).ok() };
    let files = std::fs::read_dir(&reply).into_iter().flatten().flatten().map(|entry| entry.path());
    let about_target =
        |path: &PathBuf| path.file_name().is_some_and(|name| name.to_string_lossy().starts_with("target-"));
    let mut found: Vec<(String, PathBuf)> = files
        .filter(about_target)
        .filter_map(read)
        .filter(|target| target.kind == "EXECUTABLE")
        .filter_map(|target| {
            let artifact = target.artifacts.into_iter().next()?;
            Some((target.name, out.join(artifact.path)))
        })
        .collect();
    found.sort();
    found
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_executables_are_programs() {
        let out = tempfile::tempdir().unwrap();
        assert_eq!(programs(out.path()), []);
        let reply = out.path().join(".cmake/api/v1/reply");
        std::fs::create_dir_all(&reply).unwrap();
        let write = |name: &str, text: &str| std::fs::write(reply.join(name), text).unwrap();
        write(
            "target-a-Debug.json",
            r#"{ "type": "EXECUTABLE", "name": "a", "artifacts": [{ "path": "bin/a" }] }"#,
        );
        write(
            "target-l-Debug.json",
            r#"{ "type": "STATIC_LIBRARY", "name": "l", "artifacts": [{ "path": "l.a" }] }"#,
        );
        write("target-broken.json", "{");
        write("codemodel-v2.json", r#"{ "type": "EXECUTABLE" }"#);
        assert_eq!(programs(out.path()), [("a".to_owned(), out.path().join("bin/a"))]);
    }
}
