//! Kind of a launch target: a project, a solution, or a C# file that is a program by itself. Reads names and
//! files only; runs no SDK.

use std::path::{Path, PathBuf};

use serde::Serialize;
use tandem_wire::{ErrorCode, Failure, types};

/// How many folders above a C# file are searched for its project.
const MAX_FOLDERS_ABOVE: usize = 16;
/// Most bytes of a file that are read to classify it.
const MAX_START_BYTES: usize = 4096;

/// Kind of a launch target.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum LaunchTargetKind {
    Project(PathBuf),
    Solution(PathBuf),
    /// A C# file that is a program by itself.
    File(PathBuf),
}

impl LaunchTargetKind {
    /// The kind of `target`; `None` if it cannot be built. `open`: the folder that the client has open;
    /// folders above it are not searched for a project.
    ///
    /// # Errors
    /// `LAUNCH_FAILED` for a folder with several projects or none.
    pub fn of(target: &Path, open: Option<&Path>) -> Result<Option<Self>, Failure> {
        if target.is_dir() {
            return in_folder(target).map(Some);
        }
        if is_solution(target) {
            return Ok(Some(Self::Solution(target.to_path_buf())));
        }
        if is_project(target) {
            return Ok(Some(Self::Project(target.to_path_buf())));
        }
        let start = start_of(target);
        if has_ending(target, &["cs"]) {
            let directives = start.lines().any(|line| line.starts_with("#:"));
            let own = match start.starts_with("#!") || directives {
                true => None,
                false => project_above(target, open)?,
            };
            return Ok(Some(own.map_or_else(|| Self::File(target.to_path_buf()), Self::Project)));
        }
        let first = start.lines().next().unwrap_or_default();
        let is_script = first.starts_with("#!")
            && first.split(['/', ' ']).any(|word| word == "dotnet")
            && !target.with_extension("dll").exists();
        Ok(is_script.then(|| Self::File(target.to_path_buf())))
    }

    pub fn path(&self) -> &Path {
        match self {
            Self::Project(path) | Self::Solution(path) | Self::File(path) => path,
        }
    }
}

/// Whether `dotnet build` accepts a file with this name.
pub fn is_buildable(path: &Path) -> bool {
    is_project(path) || is_solution(path)
}

fn is_project(path: &Path) -> bool {
    has_ending(path, &["csproj", "fsproj", "vbproj"])
}

fn is_solution(path: &Path) -> bool {
    has_ending(path, &["sln", "slnx", "slnf"])
}

fn has_ending(path: &Path, endings: &[&str]) -> bool {
    let ending = path.extension().and_then(|ending| ending.to_str());
    ending.is_some_and(|ending| endings.iter().any(|known| ending.eq_ignore_ascii_case(known)))
}

/// The first bytes of a file, as text.
fn start_of(path: &Path) -> String {
    use std::io::Read;
    let mut start = Vec::new();
    let read =
        std::fs::File::open(path).and_then(|file| file.take(MAX_START_BYTES as u64).read_to_end(&mut start));
    if read.is_err() {
        String::new()
    } else {
        String::from_utf8_lossy(&start).trim_start_matches('\u{feff}').into()
    }
}

fn listed(folder: &Path, fits: fn(&Path) -> bool) -> Vec<PathBuf> {
    let entries = std::fs::read_dir(folder).into_iter().flatten().flatten();
    let mut found: Vec<PathBuf> =
        entries.map(|entry| entry.path()).filter(|path| fits(path) && path.is_file()).collect();
    found.sort();
    found
}

fn names(paths: &[PathBuf], folder: &Path) -> String {
    let names = paths.iter().map(|path| path.strip_prefix(folder).unwrap_or(path).display().to_string());
    names.collect::<Vec<_>>().join(", ")
}

/// The one project of a folder, else its one solution.
fn in_folder(folder: &Path) -> Result<LaunchTargetKind, Failure> {
    let (projects, solutions) = (listed(folder, is_project), listed(folder, is_solution));
    match (projects.as_slice(), solutions.as_slice()) {
        ([project], _) => Ok(LaunchTargetKind::Project(project.clone())),
        ([], [solution]) => Ok(LaunchTargetKind::Solution(solution.clone())),
        ([], []) => {
            let message = format!("`{}` has no .NET project or solution", folder.display());
            Err(Failure::new(ErrorCode::LaunchFailed, message)
                .hint("name a .csproj, .sln or .slnx, a C# file, or a built .dll as `program`"))
        }
        (projects, solutions) => {
            let all = if projects.is_empty() { solutions } else { projects };
            Err(ambiguous_programs(folder, all, folder))
        }
    }
}

/// `data` of a refusal to choose among several programs.
#[derive(Debug, Serialize)]
struct ProgramChoice<'a> {
    programs: &'a [PathBuf],
}

/// The refusal to choose among several programs of `whole`, by their names below `folder`: `LAUNCH_FAILED`
/// with `data.programs`.
pub(super) fn ambiguous_programs(whole: &Path, programs: &[PathBuf], folder: &Path) -> Failure {
    let message = format!("`{}` has several programs: {}", whole.display(), names(programs, folder));
    Failure::new(ErrorCode::LaunchFailed, message)
        .hint("name one of them as `program`")
        .data(types::body(&ProgramChoice { programs }))
}

/// The refusal to choose among the test projects of a solution that has no program: `LAUNCH_FAILED`
/// with `data.programs`.
pub(super) fn only_tests(solution: &Path, projects: &[PathBuf], folder: &Path) -> Failure {
    let message = format!(
        "cannot start `{}`: it has no program, only projects of tests: {}",
        solution.display(),
        names(projects, folder)
    );
    Failure::new(ErrorCode::LaunchFailed, message)
        .hint(
            "name one of them as `program` to debug its tests; an agent's debug_launch_test debugs those \
            of all",
        )
        .data(types::body(&ProgramChoice { programs: projects }))
}

/// The project that a C# file belongs to: the nearest one above it.
fn project_above(file: &Path, open: Option<&Path>) -> Result<Option<PathBuf>, Failure> {
    for folder in file.ancestors().skip(1).take(MAX_FOLDERS_ABOVE) {
        match listed(folder, is_project).as_slice() {
            [] => {}
            [project] => return Ok(Some(project.clone())),
            projects => return Err(ambiguous_programs(folder, projects, folder)),
        }
        if open == Some(folder) {
            break;
        }
    }
    Ok(None)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn target_kind_is_known_by_its_name_its_folder_and_its_first_lines() {
        let folder = tempfile::tempdir().unwrap();
        let file = |name: &str, text: &str| {
            let path = folder.path().join(name);
            std::fs::create_dir_all(path.parent().unwrap()).unwrap();
            std::fs::write(&path, text).unwrap();
            path
        };
        let of = |path: &Path| LaunchTargetKind::of(path, Some(folder.path()));
        let loose = file("loose/hello.cs", "Console.WriteLine();\n");
        assert_eq!(of(&loose).unwrap(), Some(LaunchTargetKind::File(loose.clone())));
        let project = file("app/app.csproj", "<Project />");
        let source = file("app/src/Program.cs", "return 0;\n");
        assert_eq!(of(&source).unwrap(), Some(LaunchTargetKind::Project(project.clone())));
        assert_eq!(of(&folder.path().join("app")).unwrap(), Some(LaunchTargetKind::Project(project)));
        let own = file("app/src/tool.cs", "\u{feff}#!/usr/bin/env dotnet\nreturn 0;\n");
        assert_eq!(of(&own).unwrap(), Some(LaunchTargetKind::File(own)));
        let script = file("bin/hello", "#!/usr/bin/env -S dotnet run\nreturn 0;\n");
        assert_eq!(of(&script).unwrap(), Some(LaunchTargetKind::File(script)));
        let solution = file("all.SLNX", "<Solution />");
        assert_eq!(of(folder.path()).unwrap(), Some(LaunchTargetKind::Solution(solution)));
        for other in [file("app.dll", ""), file("tool", "#!/bin/sh\ndotnet run\n"), file("empty", "")] {
            assert_eq!(of(&other).unwrap(), None, "{other:?}");
        }
        let second = file("app/second.fsproj", "<Project />");
        let several = of(&folder.path().join("app")).unwrap_err();
        assert!(several.message.ends_with("has several programs: app.csproj, second.fsproj"), "{several}");
        assert!(of(&source).is_err() && of(&second).is_ok());
        assert!(of(&folder.path().join("bin")).unwrap_err().message.contains("no .NET project"));
    }
}
