//! Which of pytest and unittest the tests of a project are written for: its configuration and its sources say
//! it. Not here: running either ([`super`]).

use std::path::{Path, PathBuf};

use tandem_workspace::bounded;
use tandem_workspace::build::project::Project;

/// Maximum number and size of the sources that are read.
const MAX_SOURCES: usize = 200;
const MAX_SOURCE: u64 = 1 << 20;

/// Whether nothing here is written for pytest: no file configures it or imports it, and some use unittest.
pub(super) fn is_unittest(project: &Project) -> bool {
    let configured =
        ["pytest.ini", ".pytest.ini", "conftest.py"].iter().any(|name| project.folder.join(name).exists())
            || ["pyproject.toml", "tox.ini", "setup.cfg", "requirements.txt"]
                .iter()
                .any(|name| file_contains(&project.folder.join(name), "pytest"));
    if configured {
        return false;
    }
    let sources = sources(project);
    let imports = |name: &str| sources.iter().any(|file| file_contains(file, name));
    imports("unittest")
        && imports("TestCase")
        && !imports("import pytest")
        && !sources.iter().any(|file| has_bare_test(file))
}

fn file_contains(file: &Path, text: &str) -> bool {
    bounded::read(file, MAX_SOURCE).is_ok_and(|bytes| String::from_utf8_lossy(&bytes).contains(text))
}

/// A test that is a function of its module is pytest's.
fn has_bare_test(file: &Path) -> bool {
    let text = bounded::read(file, MAX_SOURCE).unwrap_or_default();
    String::from_utf8_lossy(&text)
        .lines()
        .any(|line| line.starts_with("def test") || line.starts_with("async def test"))
}

/// Sources of tests in the folder and its folders `test` and `tests`.
fn sources(project: &Project) -> Vec<PathBuf> {
    let folders = ["", "test", "tests"].map(|name| project.folder.join(name));
    let files = folders.iter().filter_map(|folder| std::fs::read_dir(folder).ok()).flatten().flatten();
    let is_test = |path: &PathBuf| {
        let name = path.file_name().and_then(|name| name.to_str()).unwrap_or_default();
        name.ends_with(".py") && (name.starts_with("test") || name.ends_with("_test.py"))
    };
    files.map(|file| file.path()).filter(is_test).take(MAX_SOURCES).collect()
}
