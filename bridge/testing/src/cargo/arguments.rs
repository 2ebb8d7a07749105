//! Arguments of `cargo test`, divided for the build, the test programs and the tests in documentation, which
//! are separate commands here. Not here: the commands ([`super::command`], [`super::executable`]).

use crate::run::FrameworkRun;

/// Options of Cargo whose value is the next word. Those that may lack a value take the next word, too.
const VALUES: &[&str] = &[
    "--artifact-dir",
    "--bench",
    "--bin",
    "--color",
    "--config",
    "--example",
    "--exclude",
    "--features",
    "--jobs",
    "--lockfile-path",
    "--manifest-path",
    "--package",
    "--profile",
    "--target",
    "--target-dir",
    "--test",
    "-C",
    "-F",
    "-Z",
    "-j",
    "-p",
];
/// Options that choose targets: with one of these, `cargo test` runs no tests in documentation.
const TARGETS: &[&str] = &[
    "--all-targets",
    "--bench",
    "--benches",
    "--bin",
    "--bins",
    "--example",
    "--examples",
    "--lib",
    "--test",
    "--tests",
];
/// Options of libtest that change its output, which Tandem reads, and whether a value follows.
const OUTPUT_OPTIONS: &[(&str, bool)] =
    &[("--quiet", false), ("-q", false), ("--format", true), ("--color", true)];

/// Arguments of `cargo test`, by the commands that take them.
#[derive(Debug, Default, PartialEq, Eq)]
pub(super) struct CargoArguments {
    /// Those of Cargo, without `--doc`.
    pub(super) build: Vec<String>,
    /// A part of the names of the tests to run.
    pub(super) filter: Option<String>,
    /// Those of the test programs.
    pub(super) program: Vec<String>,
    /// Whether only tests in documentation run (`--doc`).
    pub(super) is_documentation_only: bool,
    /// Whether targets are named (`--lib`, `--test NAME`), so that tests in documentation do not run.
    pub(super) has_targets: bool,
}

impl CargoArguments {
    /// The arguments of a call.
    pub(super) fn of(run: &FrameworkRun<'_>) -> Self {
        Self::read(&run.options.arguments)
    }

    /// Divides the arguments that `cargo test` would take.
    fn read(words: &[String]) -> Self {
        let mut read = Self::default();
        let mut words = words.iter();
        while let Some(word) = words.next() {
            let name = word.split_once('=').map_or(word.as_str(), |(name, _)| name);
            read.has_targets |= TARGETS.contains(&name);
            match word.as_str() {
                "--" => {
                    read.program = program_arguments(words.as_slice());
                    break;
                }
                "--doc" => read.is_documentation_only = true,
                // Tandem reads the messages, which have one format.
                "--message-format" => drop(words.next()),
                _ if name == "--message-format" => {}
                _ if VALUES.contains(&word.as_str()) => {
                    read.build.push(word.clone());
                    let value = words.as_slice().first().filter(|value| !value.starts_with('-'));
                    read.build.extend(value.cloned());
                    words = words.as_slice().get(usize::from(value.is_some())..).unwrap_or_default().iter();
                }
                _ if word.starts_with('-') => read.build.push(word.clone()),
                _ => read.filter = Some(word.clone()),
            }
        }
        read
    }

    /// The arguments of the programs without the switches that Tandem adds.
    pub(super) fn program_without<'a>(&'a self, added: &'a [&str]) -> impl Iterator<Item = &'a String> {
        self.program.iter().filter(|word| !added.contains(&word.as_str()))
    }

    /// Whether a program has this argument, or one that begins so.
    pub(super) fn program_has(&self, start: &str) -> bool {
        self.program.iter().any(|word| word.starts_with(start))
    }
}

/// Arguments of libtest without those that change its output.
fn program_arguments(words: &[String]) -> Vec<String> {
    let mut words = words.iter();
    let mut kept = Vec::new();
    while let Some(word) = words.next() {
        let name = word.split_once('=').map_or(word.as_str(), |(name, _)| name);
        match OUTPUT_OPTIONS.iter().find(|(option, _)| *option == name) {
            Some((_, true)) if name == word => drop(words.next()),
            Some(_) => {}
            None => kept.push(word.clone()),
        }
    }
    kept
}

#[cfg(test)]
mod tests {
    use super::*;

    fn read(line: &str) -> CargoArguments {
        let words: Vec<String> = line.split_whitespace().map(str::to_owned).collect();
        CargoArguments::read(&words)
    }

    #[test]
    fn arguments_are_divided_between_cargo_and_its_programs() {
        let read =
            read("-p shop --features a --test it adds --message-format short -- --skip slow -q --color x");
        assert_eq!(read.build.join(" "), "-p shop --features a --test it");
        assert_eq!((read.filter.as_deref(), read.program.join(" ").as_str()), (Some("adds"), "--skip slow"));
        assert!(read.has_targets && !read.is_documentation_only);
        assert_eq!(read.program_without(&["--skip"]).collect::<Vec<_>>(), ["slow"]);
        assert!(read.program_has("--sk") && !read.program_has("--exact"));
    }

    #[test]
    fn targets_exclude_documentation_and_documentation_excludes_programs() {
        let doc = read("--doc --release");
        assert!(doc.is_documentation_only && !doc.has_targets && doc.build == ["--release"]);
        for target in ["--lib", "--bins", "--bin=a", "--test x", "--examples", "--benches", "--all-targets"] {
            let read = read(target);
            assert!(read.has_targets && read.filter.is_none(), "{target}");
        }
        // An option that may lack a value, before another option.
        assert_eq!(read("--test --release").build, ["--test", "--release"]);
    }
}
