//! Options of the bash that runs a script, as the commands `set` and `shopt` that have the same effect: its
//! debugger is in `BASH_ENV`, which some options disable. Not here: how the adapter gets them.

use tandem_wire::Failure;

use super::super::super::interpreter_options;
use super::super::super::target::Target;

/// The letters that `set` knows, except `n`, with which bash runs nothing.
const LETTERS: &str = "abefhkmptuvxBCEHPT";

/// The commands that read the launch's own `BASH_ENV`, in whose place the debugger is.
pub(super) fn startup(target: &Target) -> String {
    let file = target.variable("BASH_ENV").unwrap_or_default();
    if file.is_empty() {
        return String::new();
    }
    let quoted = file.replace('\'', "'\\''");
    format!("export BASH_ENV='{quoted}'\n[[ ! -f $BASH_ENV ]] || . \"$BASH_ENV\"\n")
}

/// The commands that set the options.
///
/// # Errors
/// `INVALID_PARAMETER` for options that are not a list of strings.
pub(super) fn settings(target: &Target) -> Result<String, Failure> {
    // `-x` would trace the rest of the debugger's file.
    Ok(format!("{{\n:\n{}}} 2>/dev/null\n", commands(&of_target(target)?)))
}

/// The options of the launch; else those of the script's first line.
fn of_target(target: &Target) -> Result<Vec<String>, Failure> {
    let of_script = || interpreter_options::of_first_line(&target.program, &["bash", "sh", "dash"]);
    Ok(interpreter_options::of_launch(target, "bashArgs")?.unwrap_or_else(of_script))
}

/// A line for each option. Those that concern how bash starts have no command.
fn commands(options: &[String]) -> String {
    let mut lines = String::new();
    let mut words = options.iter().map(String::as_str);
    while let Some(word) = words.next() {
        let (switch, sign) = match word.chars().next() {
            Some('-') => ("-s", '-'),
            Some('+') => ("-u", '+'),
            _ => break,
        };
        match word {
            "-" | "--" => break,
            "--posix" => lines.push_str("set -o posix\n"),
            _ if word.starts_with("--") => {}
            "-O" | "+O" => {
                let name = words.next().filter(|name| is_name(name));
                lines.extend(name.map(|name| format!("shopt {switch} {name}\n")));
            }
            _ => {
                for letter in word.chars().skip(1) {
                    if letter == 'o' {
                        let name = words.next().filter(|name| is_name(name));
                        lines.extend(name.map(|name| format!("set {sign}o {name}\n")));
                    } else if LETTERS.contains(letter) {
                        lines.push_str(&format!("set {sign}{letter}\n"));
                    }
                }
            }
        }
    }
    lines
}

/// Whether a word names an option; any other would be code.
fn is_name(word: &str) -> bool {
    word.chars().all(|letter| letter.is_ascii_alphanumeric() || letter == '_' || letter == '-')
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn options_become_commands() {
        for (options, expected) in [
            (&["-eu", "-o", "pipefail"] as &[&str], "set -e\nset -u\nset -o pipefail\n"),
            (&["-euo", "pipefail", "+B"], "set -e\nset -u\nset -o pipefail\nset +B\n"),
            (&["-O", "extglob", "+O", "sourcepath"], "shopt -s extglob\nshopt -u sourcepath\n"),
            (&["--norc", "--posix", "-l", "-n", "--", "-e"], "set -o posix\n"),
            (&["-o", "x; touch y", "-"], ""),
            (&["-o"], ""),
            (&["run", "-e"], ""),
        ] {
            let options: Vec<String> = options.iter().map(ToString::to_string).collect();
            assert_eq!(commands(&options), expected, "{options:?}");
        }
    }

    #[test]
    fn the_first_line_has_options_unless_the_launch_does() {
        let folder = tempfile::tempdir().unwrap();
        let script = folder.path().join("a.sh");
        let options = |line: &str, given: serde_json::Value| {
            std::fs::write(&script, format!("{line}\necho\n")).unwrap();
            let attributes = json!({ "program": script, "bashArgs": given });
            of_target(&Target::parse(&attributes).unwrap())
        };
        for (line, expected) in [
            ("#!/bin/bash -eu", vec!["-eu"]),
            ("#!/usr/bin/env -S bash -e -u", vec!["-e", "-u"]),
            ("#!/bin/sh -e", vec!["-e"]),
            ("#!/usr/bin/env bash", vec![]),
            ("#!/usr/bin/python3 -u", vec![]),
            ("echo", vec![]),
        ] {
            assert_eq!(options(line, json!(null)).unwrap(), expected, "{line}");
        }
        assert!(options("#!/bin/bash -e", json!([])).unwrap().is_empty());
        assert!(options("#!/bin/bash -e", json!("-e")).is_err());
    }
}
