//! Command lines of Python processes that debugpy has changed. Not here: those of launches ([`super`]).

/// The program of a Python process whose command line debugpy has changed. `None` if the command line has no
/// debugger in it: a fork.
pub(super) fn program(words: &[String]) -> Option<String> {
    if let Some(at) = words.iter().position(|word| word.ends_with("/pydevd.py")) {
        let mut rest = words.iter().skip(at).skip_while(|word| *word != "--file").skip(1);
        let file = rest.next()?;
        // A program that restarts itself (Flask's reloader) starts debugpy as it was started.
        let program = if file == "debugpy" { debugpy_target(rest) } else { None };
        let file = program.unwrap_or(file);
        return Some(file.rsplit('/').next().unwrap_or(file).to_owned());
    }
    let mut options = words.iter().skip(1);
    let code = loop {
        match options.next()?.as_str() {
            "-c" => break options.next()?,
            "-X" | "-W" => drop(options.next()),
            option if option.starts_with('-') && option != "-m" => {}
            _ => return None,
        }
    };
    // The workers of `multiprocessing`, and what counts their resources.
    let module = code.split_once("from multiprocessing.").and_then(|(_, rest)| rest.split([' ', ';']).next());
    Some(module.map_or_else(|| "python -c".into(), |module| format!("multiprocessing.{module}")))
}

/// The module or file in the words behind `debugpy`.
fn debugpy_target<'a>(mut words: impl Iterator<Item = &'a String>) -> Option<&'a String> {
    loop {
        let word = words.next()?;
        match word.as_str() {
            "-m" => return words.next(),
            "--connect" | "--listen" | "--log-to" => drop(words.next()),
            option if option.starts_with("--configure-") => drop(words.next()),
            option if option.starts_with('-') => {}
            _ => return Some(word),
        }
    }
}

#[cfg(test)]
mod tests {
    use std::path::Path;

    use super::super::Debugpy;
    use crate::profile::Profile;

    #[test]
    fn a_python_process_is_called_by_what_it_runs() {
        let own = "/venv/debugpy/_vendored/pydevd/pydevd.py";
        let worker =
            "import pydevd; pydevd.settrace(1); from multiprocessing.spawn import spawn_main; spawn_main()";
        for (words, name) in [
            (
                vec!["python", own, "--port", "1", "--multiprocess", "--file", "/a/b.py", "--file", "x"],
                "b.py",
            ),
            (vec!["python", own, "--module", "--port", "1", "--file", "tool", "-c"], "tool"),
            (
                vec![
                    "python",
                    own,
                    "--file",
                    "debugpy",
                    "--connect",
                    "a:1",
                    "--wait-for-client",
                    "-m",
                    "flask",
                    "run",
                ],
                "flask",
            ),
            (
                vec!["python", "-B", "-X", "frozen_modules=off", "-c", worker, "--multiprocessing-fork"],
                "multiprocessing.spawn",
            ),
            (vec!["python", "-c", "import pydevd; print(1)"], "python -c"),
            (
                vec!["python", "-Xa=b", "-m", "debugpy", "--wait-for-client", "/a/parent.py", "-c", "x"],
                "parent.py",
            ),
            (vec!["python", own], "parent.py"),
            (vec!["python"], "parent.py"),
            (vec![], "parent.py"),
        ] {
            let words: Vec<String> = words.into_iter().map(str::to_owned).collect();
            assert_eq!(
                Debugpy.name_of_child(&words, Path::new("/a/parent.py")).as_deref(),
                Some(name),
                "{words:?}"
            );
        }
    }
}
