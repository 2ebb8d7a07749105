//! Sources of Ruby tests, by which minitest and RSpec are distinguished.
//!
//! Not here: the tests in a source, which only its framework knows ([`super::minitest`], [`super::rspec`]).

use std::path::{Path, PathBuf};

use tandem_workspace::bounded;
use tandem_workspace::build::project::Project;

/// Maximum number and size of the sources that are read to distinguish the frameworks.
const MAX_SOURCES: usize = 100;
const MAX_SOURCE: u64 = 1 << 20;

/// The file of Ruby that was named.
pub(super) fn named_file(project: &Project) -> Option<&PathBuf> {
    project.file.as_ref().filter(|file| file.extension().is_some_and(|ending| ending == "rb"))
}

/// Files of tests below the project's folders, or the one that was named.
pub(super) fn sources(project: &Project) -> Vec<PathBuf> {
    if let Some(file) = named_file(project) {
        return vec![file.clone()];
    }
    let within = project.file.as_ref().filter(|folder| folder.is_dir()).cloned();
    let mut folders = match within {
        Some(folder) => vec![folder],
        None => ["test", "tests", "spec"].map(|name| project.folder.join(name)).to_vec(),
    };
    let mut found: Vec<PathBuf> = files_of(&project.folder).filter(|path| is_test(path)).collect();
    while let Some(folder) = folders.pop() {
        for path in files_of(&folder) {
            if path.is_dir() {
                folders.push(path);
            } else if is_test(&path) {
                found.push(path);
            }
        }
    }
    found.sort();
    found.dedup();
    found
}

fn files_of(folder: &Path) -> impl Iterator<Item = PathBuf> {
    std::fs::read_dir(folder).into_iter().flatten().flatten().map(|entry| entry.path())
}

/// Whether a file holds tests, by its name.
fn is_test(path: &Path) -> bool {
    let name = path.file_name().and_then(|name| name.to_str()).unwrap_or_default();
    name.ends_with("_test.rb")
        || name.ends_with("_spec.rb")
        || name.starts_with("test_") && name.ends_with(".rb")
}

fn is_spec(path: &Path) -> bool {
    path.to_string_lossy().ends_with("_spec.rb")
}

fn file_contains(file: &Path, text: &str) -> bool {
    bounded::read(file, MAX_SOURCE).is_ok_and(|bytes| String::from_utf8_lossy(&bytes).contains(text))
}

/// Whether the project's specs are RSpec's; minitest has some, too.
pub(super) fn is_rspec(project: &Project) -> bool {
    let specs: Vec<PathBuf> = sources(project).into_iter().filter(|path| is_spec(path)).collect();
    let minitest = specs.iter().take(MAX_SOURCES).any(|file| file_contains(file, "minitest/"));
    let only = sources(project).iter().all(|path| is_spec(path));
    !specs.is_empty()
        && !minitest
        && (only || project.folder.join(".rspec").is_file() || project.folder.join("spec").is_dir())
}

/// Whether the project's tests are minitest's: neither RSpec's nor test-unit's.
pub(super) fn is_minitest(project: &Project) -> bool {
    let sources = sources(project);
    let looked_at = || sources.iter().take(MAX_SOURCES);
    !sources.is_empty() && !is_rspec(project) && !looked_at().any(|file| file_contains(file, "test/unit"))
}

#[cfg(test)]
mod tests {
    use tandem_workspace::build::project::BuildTool;

    use super::*;

    fn project(files: &[(&str, &str)]) -> (tempfile::TempDir, Project) {
        let folder = tempfile::tempdir().unwrap();
        for (name, text) in files {
            let path = folder.path().join(name);
            std::fs::create_dir_all(path.parent().unwrap()).unwrap();
            std::fs::write(path, text).unwrap();
        }
        let project = Project { kind: BuildTool::Ruby, folder: folder.path().to_owned(), file: None };
        (folder, project)
    }

    #[test]
    fn frameworks_of_ruby_are_distinguished_by_their_sources() {
        for (files, minitest, rspec) in [
            (vec![("test/a_test.rb", "require 'minitest/autorun'")], true, false),
            (vec![("spec/a_spec.rb", "RSpec.describe Cart do")], false, true),
            (vec![("spec/a_spec.rb", "require 'minitest/spec'")], true, false),
            (vec![("test/test_a.rb", "require 'test/unit'")], false, false),
            (vec![("lib/a.rb", "")], false, false),
        ] {
            let (_folder, project) = project(&files);
            assert_eq!((is_minitest(&project), is_rspec(&project)), (minitest, rspec), "{files:?}");
        }
    }
}
