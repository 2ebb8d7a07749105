//! Outputs of a build: their project, whether they are programs, and which is the newest. For SDKs that
//! cannot be asked. Runs no SDK ([`super::sdk`]).

use std::path::{Path, PathBuf};

use tandem_wire::{ErrorCode, Failure};

use super::diagnostics::Output;
use super::options::BuildOptions;
use super::sdk::folder_of;

/// How deep under `bin` outputs are searched for, in folders.
const MAX_DEPTH: u32 = 6;

/// Whether an output belongs to this project.
pub(super) fn belongs_to(output: &Output, project: &Path) -> bool {
    project.file_stem().is_some_and(|name| name == output.project.as_str())
}

/// Whether an assembly is a program, and not a test project, whose packages include a program.
pub(super) fn is_runnable(assembly: &Path) -> bool {
    assembly.with_extension("runtimeconfig.json").exists() && !is_of_tests(assembly)
}

/// Whether an assembly has tests, by the packages of a program with tests.
pub(super) fn is_of_tests(assembly: &Path) -> bool {
    let dependencies = std::fs::read_to_string(assembly.with_extension("deps.json")).unwrap_or_default();
    let tests = ["\"Microsoft.NET.Test.Sdk/", "\"Microsoft.Testing.Platform/"];
    tests.iter().any(|name| dependencies.contains(name))
}

/// The program that a build of a project reports; if it reports none, the newest assembly with a
/// `.runtimeconfig.json` under the project's `bin`.
pub(super) fn newest(project: &Path, outputs: &[Output], options: &BuildOptions) -> Result<PathBuf, Failure> {
    let written = |path: &Path| path.metadata().and_then(|found| found.modified()).ok();
    let is_meant = |path: &Path| {
        let parts = [&options.configuration, &options.framework, &options.runtime].into_iter().flatten();
        parts.into_iter().all(|part| path.iter().any(|folder| folder.eq_ignore_ascii_case(part)))
    };
    let programs = outputs.iter().filter(|output| belongs_to(output, project)).map(|output| &output.assembly);
    let programs =
        programs.filter(|path| path.with_extension("runtimeconfig.json").exists() && is_meant(path));
    if let Some(program) = programs.max_by_key(|path| written(path)) {
        return Ok(program.clone());
    }
    let mut newest: Option<(std::time::SystemTime, PathBuf)> = None;
    let mut folders = vec![(folder_of(project).join("bin"), 0)];
    while let Some((folder, depth)) = folders.pop() {
        for file in std::fs::read_dir(&folder).into_iter().flatten().flatten() {
            let path = file.path();
            if path.is_dir() {
                if depth < MAX_DEPTH {
                    folders.push((path, depth + 1));
                }
                continue;
            }
            let Some(stem) = path.to_str().and_then(|path| path.strip_suffix(".runtimeconfig.json")) else {
                continue;
            };
            let assembly = PathBuf::from(format!("{stem}.dll"));
            let fits = assembly.file_stem() == project.file_stem() && is_meant(&assembly);
            if let Some(when) = written(&assembly)
                && fits
                && newest.as_ref().is_none_or(|(newer, _)| when > *newer)
            {
                newest = Some((when, assembly));
            }
        }
    }
    newest.map(|(_, assembly)| assembly).ok_or_else(|| {
        let built = if options.no_build { "is not built" } else { "was built" };
        let for_what = options.describe();
        let message =
            format!("`{}` {built}{for_what}, and no program was found under `bin`", project.display());
        Failure::new(ErrorCode::LaunchFailed, message)
            .hint("name the built .dll as `program`; libraries cannot be launched")
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn newest_matching_output_starts_if_the_sdk_reports_none() {
        let folder = tempfile::tempdir().unwrap();
        let project = folder.path().join("shop.csproj");
        let build = |part: &str| {
            let place = folder.path().join("bin").join(part);
            std::fs::create_dir_all(&place).unwrap();
            std::fs::write(place.join("shop.dll"), "").unwrap();
            std::fs::write(place.join("shop.runtimeconfig.json"), "{}").unwrap();
            place.join("shop.dll")
        };
        let options = |configuration: &str| BuildOptions {
            configuration: Some(configuration.into()),
            ..BuildOptions::default()
        };
        assert!(newest(&project, &[], &BuildOptions::default()).is_err());
        let debug = build("Debug/net9.0");
        let release = build("Release/net9.0");
        assert_eq!(newest(&project, &[], &options("debug")).unwrap(), debug);
        assert_eq!(newest(&project, &[], &options("Release")).unwrap(), release);
        // The build's own report overrides a newer file.
        let reported = Output { project: "shop".into(), assembly: debug.clone() };
        assert_eq!(newest(&project, &[reported], &BuildOptions::default()).unwrap(), debug);
    }
}
