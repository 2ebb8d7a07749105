//! A Go package, a file of one or its tests as the program of a launch. Not here: parsing the compiler's
//! messages ([`super::readers`]).

use std::path::Path;

use serde_json::Value;
use tandem_wire::{ErrorCode, Failure};

use super::{Build, BuiltProgram, own_folder, readers};
use crate::find;

/// The arguments that a program of Go's tests takes, for messages.
const TEST_PROGRAM: &str = "its test program (`-test.run=NAME`)";

impl Build<'_> {
    /// A Go package, one file, or the tests of a package, which one of their files or `mode: "test"` asks
    /// for; without optimisation, as `dlv` would build it.
    pub(super) fn go(&self, program: &Path) -> Result<BuiltProgram, Failure> {
        let folder = if program.is_dir() { program } else { program.parent().unwrap_or(program) };
        let tests = is_go_test(program) || self.target.attribute("mode") == "test";
        let mut name =
            program.file_stem().map(|stem| stem.to_string_lossy().into_owned()).unwrap_or_default();
        if tests && !is_go_test(program) {
            // Beside the program of the same package.
            name.push_str(".test");
        }
        let out = own_folder(folder)?.join(name);
        let mut build = self.command("go", folder)?;
        build.args(if tests { ["test", "-c"].as_slice() } else { &["build"] });
        build.args(["-gcflags=all=-N -l", "-o"]).arg(&out);
        if tests {
            // Without a test in it nothing is built, and what is there is of another time.
            drop(std::fs::remove_file(&out));
        }
        match self.target.attribute("buildFlags") {
            Value::String(flags) => drop(build.args(split_flags(flags))),
            Value::Array(flags) => drop(build.args(flags.iter().filter_map(Value::as_str))),
            _ => {}
        }
        build.arg(if program.is_dir() || tests { Path::new(".") } else { program });
        self.run(build, folder, readers::go)?;
        if find::is_executable(&out) {
            if tests {
                self.announce_tests(program, TEST_PROGRAM);
            }
            return Ok(BuiltProgram { path: out, test_folder: tests.then(|| folder.to_owned()) });
        }
        if tests {
            let message = format!("`{}` was built, but it has no tests", folder.display());
            return Err(Failure::new(ErrorCode::LaunchFailed, message)
                .hint("check the files' build constraints: `buildFlags: \"-tags=…\"`"));
        }
        let message = format!("`{}` was built, but it has no `package main`", folder.display());
        Err(Failure::new(ErrorCode::LaunchFailed, message).hint(
            "name the folder of a command as `program`; for its tests set `mode: \"test\"`, or name \
                a `_test.go` file",
        ))
    }
}

/// Whether it is a file of a Go package's tests: what is run is all of them.
fn is_go_test(program: &Path) -> bool {
    program.file_name().is_some_and(|name| name.to_string_lossy().ends_with("_test.go"))
}

/// The flags of a string, as a shell would divide it: quotes keep blanks together.
fn split_flags(text: &str) -> Vec<String> {
    let mut flags: Vec<String> = Vec::new();
    let (mut flag, mut quote): (Option<String>, Option<char>) = (None, None);
    for letter in text.chars() {
        match quote {
            Some(open) if open == letter => quote = None,
            Some(_) => flag.get_or_insert_default().push(letter),
            None if matches!(letter, '\'' | '"') => {
                quote = Some(letter);
                flag.get_or_insert_default();
            }
            None if letter.is_whitespace() => flags.extend(flag.take()),
            None => flag.get_or_insert_default().push(letter),
        }
    }
    flags.extend(flag);
    flags
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn flags_are_divided_as_a_shell_would() {
        for (text, flags) in [
            ("", &[][..]),
            ("  -race  -v ", &["-race", "-v"]),
            ("-ldflags '-X main.version=1.2 -s' -race", &["-ldflags", "-X main.version=1.2 -s", "-race"]),
            ("-ldflags=\"-X 'main.name=a b'\"", &["-ldflags=-X 'main.name=a b'"]),
            ("-tags '' x", &["-tags", "", "x"]),
            ("-tags 'a b", &["-tags", "a b"]),
        ] {
            assert_eq!(split_flags(text), flags, "{text}");
        }
    }
}
