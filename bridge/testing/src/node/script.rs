//! The command of the script `test` that starts a runner: its environment, the options of node, and its
//! arguments. Tandem's runs take over those that decide which tests there are, and whether they load.
//!
//! Not here: which framework a package uses ([`super::Manifest`]).

/// Options of node with a value that may be the next word.
const NODE_VALUES: [&str; 6] = ["--import", "--require", "-r", "--loader", "--experimental-loader", "-C"];
/// Options of node's runner that a file which runs by itself needs, too.
const NODE_TEST_SWITCHES: [&str; 2] = ["--test-only", "--test-force-exit"];
/// Options of jest and vitest with a value, which choose the configuration or the tests.
const RUNNER_VALUES: [&str; 11] = [
    "-c",
    "-r",
    "--config",
    "--dir",
    "--env",
    "--environment",
    "--mode",
    "--preset",
    "--project",
    "--root",
    "--rootDir",
];
/// The same with any number of values.
const RUNNER_LISTS: [&str; 5] = ["--projects", "--roots", "--selectProjects", "--testMatch", "--testRegex"];
/// The same without a value.
const RUNNER_SWITCHES: [&str; 1] = ["--globals"];

/// A command of a script.
#[derive(Debug, Default, PartialEq)]
pub(super) struct ScriptCommand {
    /// The variables that the script sets.
    pub environment: Vec<(String, Option<String>)>,
    /// Options of node, other than those of its test runner.
    pub node: Vec<String>,
    /// The words after the runner, without options of node.
    arguments: Vec<String>,
}

impl ScriptCommand {
    /// The command that starts this runner, where `--test` names that of node; empty if no command does.
    pub(super) fn of(script: &str, runner: &str) -> Self {
        commands(script).into_iter().find_map(|words| Self::read(words, runner)).unwrap_or_default()
    }

    fn read(words: Vec<String>, runner: &str) -> Option<Self> {
        let mut command = Self::default();
        let mut words = words.into_iter().peekable();
        let (mut is_node, mut is_found) = (false, false);
        while let Some(word) = words.next() {
            let name = word.rsplit('/').next().unwrap_or_default();
            let is_option = word.starts_with('-') && word != runner;
            if is_found && (runner != "--test" || !is_option) {
                command.arguments.push(word);
            } else if is_option {
                // Other options belong to what runs the command, such as `npx` and `c8`.
                let is_other = word.starts_with("--test-") && !NODE_TEST_SWITCHES.contains(&word.as_str());
                let is_kept = is_node && word != "--watch" && !is_other;
                let value = words.next_if(|_| is_node && NODE_VALUES.contains(&word.as_str()));
                command.node.extend(Some(word).into_iter().chain(value).filter(|_| is_kept));
            } else if runs(name, runner) {
                is_found = true;
            } else if name == "node" || name == "tsx" {
                is_node = true;
                let loader = ["--import", "tsx"].map(str::to_owned);
                command.node.extend(loader.into_iter().filter(|_| name == "tsx"));
            } else {
                command.environment.extend(assignment(&word));
            }
        }
        is_found.then_some(command)
    }

    /// The arguments of jest or vitest that choose the configuration or the tests. Those `given` in a call
    /// replace them.
    pub(super) fn settings(&self, given: &[String]) -> Vec<String> {
        let mut kept = Vec::new();
        let mut words = self.arguments.iter().peekable();
        while let Some(word) = words.next() {
            let (name, is_complete) =
                word.split_once('=').map_or((word.as_str(), false), |(name, _)| (name, true));
            let count = match name {
                _ if RUNNER_SWITCHES.contains(&name) => 0,
                _ if RUNNER_VALUES.contains(&name) => usize::from(!is_complete),
                _ if RUNNER_LISTS.contains(&name) => usize::MAX,
                _ => continue,
            };
            let mut own = vec![word.clone()];
            while own.len() <= count
                && let Some(value) = words.next_if(|next| !next.starts_with('-'))
            {
                own.push(value.clone());
            }
            if !given.iter().any(|one| one.split('=').next() == Some(name)) {
                kept.extend(own);
            }
        }
        kept
    }

    /// The words after the runner. Those of node's runner are files, folders and patterns.
    pub(super) fn arguments(&self) -> &[String] {
        &self.arguments
    }
}

/// Whether a word starts this runner: `jest`, `jest.js`, `vitest.mjs`, `--test`.
fn runs(name: &str, runner: &str) -> bool {
    name.strip_prefix(runner).is_some_and(|end| ["", ".js", ".mjs", ".cjs"].contains(&end))
}

/// The variable of an assignment: `NAME=VALUE`.
fn assignment(word: &str) -> Option<(String, Option<String>)> {
    let (name, value) = word.split_once('=')?;
    let is_name = |letter: char| letter.is_ascii_alphanumeric() || letter == '_';
    (!name.is_empty() && name.chars().all(is_name)).then(|| (name.to_owned(), Some(value.to_owned())))
}

/// The words of each command of a script, without quotes. Expands nothing.
fn commands(script: &str) -> Vec<Vec<String>> {
    let (mut all, mut words, mut word, mut quote) = (Vec::new(), Vec::new(), None::<String>, None::<char>);
    let mut letters = script.chars();
    while let Some(letter) = letters.next() {
        match (quote, letter) {
            (Some(open), letter) if letter == open => quote = None,
            (None | Some('"'), '\\') => word.get_or_insert_default().extend(letters.next()),
            (None, '\'' | '"') => {
                quote = Some(letter);
                word.get_or_insert_default();
            }
            (None, '&' | ';' | '|' | '\n') => {
                words.extend(word.take());
                all.push(std::mem::take(&mut words));
            }
            (None, letter) if letter.is_whitespace() => words.extend(word.take()),
            (_, letter) => word.get_or_insert_default().push(letter),
        }
    }
    words.extend(word);
    all.push(words);
    all
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn options_and_files_of_node_s_runner_are_those_of_the_script() {
        for (script, options, files) in [
            ("node --import tsx --test --test-timeout=3 'test/*.ts'", "--import tsx", "test/*.ts"),
            ("c8 -r text node --enable-source-maps --test", "--enable-source-maps", ""),
            ("tsc && node --test test/", "", "test/"),
            ("tsx --test \"src/**/*.check.ts\" more", "--import tsx", "src/**/*.check.ts more"),
            ("npx tsx --test --watch --test-only src", "--import tsx --test-only", "src"),
            ("node --test -r ./setup.js a.js", "-r ./setup.js", "a.js"),
            ("node test.js", "", ""),
        ] {
            let command = ScriptCommand::of(script, "--test");
            assert_eq!(
                (command.node.join(" "), command.arguments().join(" ")),
                (options.into(), files.into())
            );
        }
    }

    #[test]
    fn the_environment_and_the_settings_of_a_runner_are_those_of_the_script() {
        let modules = "--experimental-vm-modules";
        for (script, runner, environment, node, settings) in [
            ("NODE_OPTIONS=--experimental-vm-modules jest --ci", "jest", &[modules][..], "", ""),
            (
                "cross-env NODE_OPTIONS='-r x' A= npx jest -c unit.js -w 1",
                "jest",
                &["-r x", ""],
                "",
                "-c unit.js",
            ),
            (
                "node --experimental-vm-modules x/bin/jest.js --config=a.js",
                "jest",
                &[],
                modules,
                "--config=a.js",
            ),
            ("tsc -p . && vitest run --root pkg --coverage", "vitest", &[], "", "--root pkg"),
            ("jest --projects a b --roots c", "jest", &[], "", "--projects a b"),
            ("mocha", "jest", &[], "", ""),
        ] {
            let command = ScriptCommand::of(script, runner);
            let values: Vec<&str> =
                command.environment.iter().filter_map(|(_, value)| value.as_deref()).collect();
            assert_eq!((values.as_slice(), command.node.join(" ")), (environment, node.into()), "{script}");
            assert_eq!(command.settings(&["--roots=d".into()]).join(" "), settings, "{script}");
        }
    }
}
