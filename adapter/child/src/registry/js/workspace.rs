//! The folder in which js-debug looks for compiled files and their source maps. Does not start js-debug.

use std::path::Path;
use std::path::PathBuf;

use super::super::super::target::{Target, WORKSPACE};
use super::loaders::is_of_a_package;

/// Files that mark a project's folder.
const PROJECT: [&str; 3] = ["tsconfig.json", "package.json", ".git"];

/// The folder below which js-debug looks for compiled files, and without which no breakpoint in a source
/// binds: the first of what the client has open and the working directory that the project lies in, else the
/// project's own. All of a home folder is too much.
pub(super) fn of_target(target: &Target) -> PathBuf {
    let home = target.variable("HOME").map(PathBuf::from);
    // A package's program works for the project that it is installed in.
    let is_installed = is_of_a_package(&target.program);
    let program = target.program.parent().filter(|_| !target.program.as_os_str().is_empty() && !is_installed);
    let start = program.unwrap_or(&target.cwd);
    let is_project = |folder: &&Path| PROJECT.iter().any(|name| folder.join(name).exists());
    let project = start.ancestors().filter(|folder| Some(*folder) != home.as_deref()).find(is_project);
    let project = project.unwrap_or(start);
    let holds = |folder: &&Path| {
        folder.parent().is_some() && Some(*folder) != home.as_deref() && project.starts_with(folder)
    };
    let open = target.attribute(WORKSPACE).as_str().map(Path::new);
    open.into_iter().chain([target.cwd.as_path()]).find(holds).unwrap_or(project).to_path_buf()
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn folder_of_compiled_files_contains_the_project_and_is_not_the_home() {
        let home = tempfile::tempdir().unwrap();
        let project = home.path().join("repo/app");
        std::fs::create_dir_all(project.join("src")).unwrap();
        std::fs::write(project.join("package.json"), "{}").unwrap();
        std::fs::write(project.join("src/a.js"), "").unwrap();
        let found = |open: &Path, cwd: &Path| {
            let attributes = json!({ "program": project.join("src/a.js"), "cwd": cwd, "env": {
                "HOME": home.path() },
                WORKSPACE: open });
            of_target(&Target::parse(&attributes).unwrap())
        };
        let repo = home.path().join("repo");
        let inside = project.join("src");
        assert_eq!(found(&repo, &inside), repo);
        assert_eq!(found(&inside, &project), project);
        // Elsewhere, or too much to look through.
        assert_eq!(found(&home.path().join("other"), &repo), repo);
        for open in [home.path(), Path::new("/")] {
            assert_eq!(found(open, &inside), project);
        }
    }
}
