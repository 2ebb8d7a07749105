//! Tests of pytest and unittest.

use super::*;

#[test]
fn a_name_from_the_results_is_an_id() {
    let folder = tempfile::tempdir().unwrap();
    std::fs::create_dir(folder.path().join("tests")).unwrap();
    std::fs::write(folder.path().join("tests/test_a.py"), "").unwrap();
    let below = Some(folder.path().join("tests"));
    let project = Project { kind: BuildTool::Pytest, folder: folder.path().to_owned(), file: below };
    let id = |text| id_of(&project, text);
    let is = |name: &str| Some(name.to_owned());
    assert_eq!(id("tests.test_a.test_b"), is("tests/test_a.py::test_b"));
    assert_eq!(id("tests.test_a.TestC.test_d[1.5-x]"), is("tests/test_a.py::TestC::test_d[1.5-x]"));
    assert_eq!(id("tests/test_a.py::test_b"), is("tests/test_a.py::test_b"));
    assert!(id("test_a.py::test_b").unwrap().ends_with("/tests/test_a.py::test_b"));
    assert_eq!(id("test_b and not slow"), None);
    for named in ["tests/test_a.py", "test_a.py"] {
        assert_eq!(id(named), is("tests/test_a.py"));
    }
    assert_eq!(id("test_b.py"), None);
}

#[test]
fn a_virtual_environment_above_the_tests_is_used() {
    let folder = tempfile::tempdir().unwrap();
    let tests = folder.path().join("tests/unit");
    std::fs::create_dir_all(&tests).unwrap();
    assert_eq!(python_above(&tests).filter(|python| python.starts_with(folder.path())), None);
    let python = folder.path().join(".venv/bin/python");
    std::fs::create_dir_all(python.parent().unwrap()).unwrap();
    std::fs::write(&python, "").unwrap();
    assert_eq!(python_above(&tests), Some(python));
}

#[test]
fn pytest_says_why_it_does_not_run() {
    let printed =
        "collected 15 items\n\nERROR: Wrong expression passed to '-k': (: at column 2: expected x\n\n";
    assert_eq!(
        refusal(printed).as_deref(),
        Some("Wrong expression passed to '-k': (: at column 2: expected x")
    );
    let printed =
        "ERROR: usage: python -m pytest [options]\npython -m pytest: error: unrecognized arguments: -n\n";
    assert_eq!(refusal(printed).as_deref(), Some("unrecognized arguments: -n"));
    assert_eq!(refusal("usage: u\nunittest: error: no -n\n").as_deref(), Some("no -n"));
    let printed = "ERROR: Error importing plugin \"x\": No module named 'x'\n\n";
    assert_eq!(refusal(printed).as_deref(), Some("Error importing plugin \"x\": No module named 'x'"));
    assert_eq!(refusal("ERROR: file or directory not found: test_z.py\n"), None);
    assert_eq!(refusal("ERROR: not found: /w/test_a.py::test_z\n(no match in any of [])\n"), None);
}

#[test]
fn unittest_is_what_nothing_of_pytest_is_in() {
    let folder = tempfile::tempdir().unwrap();
    let project = Project { kind: BuildTool::Pytest, folder: folder.path().to_owned(), file: None };
    let write = |name: &str, text: &str| std::fs::write(folder.path().join(name), text).unwrap();
    write("test_a.py", "import unittest\nclass A(unittest.TestCase):\n    def test_a(self): pass\n");
    assert!(is_unittest(&project));
    write("test_a.py", "from unittest import TestCase\nclass A(TestCase):\n    def test_a(self): pass\n");
    assert!(is_unittest(&project));
    write("test_b.py", "def test_b():\n    pass\n");
    assert!(!is_unittest(&project));
    write("test_b.py", "");
    write("conftest.py", "");
    assert!(!is_unittest(&project));
}
