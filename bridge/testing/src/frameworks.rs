//! The list of all test frameworks, from which a caller chooses the one of a project.
//!
//! Stands above the frameworks: none of them imports it. A request gets the chosen one
//! ([`crate::request::TestRequest`]). Not here: the interface of a framework ([`crate::framework`]).

use tandem_workspace::build::project::Project;

use crate::cargo::Cargo;
use crate::cmake::Cmake;
use crate::dotnet::Dotnet;
use crate::framework::TestFramework;
use crate::go::Go;
use crate::node::jest::Jest;
use crate::node::mocha::Mocha;
use crate::node::runner::NodeTest;
use crate::node::vitest::Vitest;
use crate::python::{Pytest, Unittest};
use crate::ruby::minitest::Minitest;
use crate::ruby::rspec::Rspec;

/// All frameworks; if several detect a project, the first is used.
pub const ALL: &[&dyn TestFramework] =
    &[&Dotnet, &Cargo, &Go, &Jest, &Vitest, &Mocha, &NodeTest, &Pytest, &Unittest, &Rspec, &Minitest, &Cmake];

/// The framework of a project's tests.
pub fn of(project: &Project) -> Option<&'static dyn TestFramework> {
    ALL.iter().copied().find(|framework| framework.kind() == project.kind && framework.detects(project))
}

/// The framework of this name.
pub fn by_name(name: &str) -> Option<&'static dyn TestFramework> {
    ALL.iter().copied().find(|framework| framework.name() == name)
}

#[cfg(test)]
mod tests {
    use tandem_workspace::build::project::BuildTool;

    use super::*;

    #[test]
    fn frameworks_have_different_names() {
        for framework in ALL {
            let found = by_name(framework.name()).map(|found| (found.name(), found.kind()));
            assert_eq!(found, Some((framework.name(), framework.kind())));
        }
    }

    #[test]
    fn frameworks_of_node_are_distinguished_by_the_manifest() {
        for (manifest, expected) in [
            (r#"{"scripts":{"test":"jest --coverage"}}"#, Some("jest")),
            (r#"{"scripts":{"test":"vitest run"},"devDependencies":{"jest":"1"}}"#, Some("vitest")),
            (r#"{"scripts":{"test":"node_modules/.bin/jest"}}"#, Some("jest")),
            (r#"{"devDependencies":{"vitest":"1"}}"#, Some("vitest")),
            (r#"{"scripts":{"test":"c8 mocha"},"devDependencies":{"jest":"1"}}"#, Some("mocha")),
            (r#"{"scripts":{"test":"ava"},"devDependencies":{"mocha":"1"}}"#, None),
            (r#"{"scripts":{"test":"node --import tsx --test test/"}}"#, Some("node")),
            (r#"{"scripts":{"test":"node test.js"}}"#, None),
            ("broken", None),
        ] {
            let folder = tempfile::tempdir().unwrap();
            std::fs::write(folder.path().join("package.json"), manifest).unwrap();
            let project = Project { kind: BuildTool::Npm, folder: folder.path().to_owned(), file: None };
            assert_eq!(of(&project).map(|framework| framework.name()), expected, "{manifest}");
        }
    }
}
