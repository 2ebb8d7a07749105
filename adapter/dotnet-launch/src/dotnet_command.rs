//! `dotnet` as the program of a launch: `dotnet run …` means the project, `dotnet app.dll …` the assembly.
//! Its other commands are programs like any other. Runs nothing; [`super::program`] uses the result.

use std::path::{Path, PathBuf};

use serde_json::{Value, json};

/// Options of `dotnet run` with a value, and the launch attribute that means the same.
const VALUES: [(&[&str], &str); 6] = [
    (&["-c", "--configuration"], "configuration"),
    (&["-f", "--framework"], "framework"),
    (&["-r", "--runtime"], "runtimeIdentifier"),
    (&["-lp", "--launch-profile"], "launchSettingsProfile"),
    (&["--project", "-p"], "project"),
    (&["--file"], "project"),
];
/// Options of `dotnet run` that apply to its build: those with a value first.
const BUILDS: [&str; 4] = ["-v", "--verbosity", "-a", "--arch"];
const SWITCHES: [&str; 6] =
    ["--no-restore", "--self-contained", "--sc", "--no-self-contained", "--force", "--no-cache"];

/// The attributes that a launch of `dotnet` with arguments is equivalent to; `None` if it is a
/// program like any other.
pub fn equivalent_launch(attributes: &Value) -> Option<Value> {
    let program = Path::new(attributes["program"].as_str()?);
    if program.file_name()? != "dotnet" {
        return None;
    }
    let words: Vec<&str> = attributes["args"].as_array()?.iter().map(Value::as_str).collect::<Option<_>>()?;
    let (first, rest) = words.split_first()?;
    let mut meant = match *first {
        "run" => run(rest, attributes),
        "exec" => of_assembly(rest)?,
        _ => of_assembly(&words)?,
    };
    let own = meant.as_object_mut()?;
    for (name, value) in attributes.as_object()? {
        if !["program", "args"].contains(&name.as_str()) && !own.contains_key(name) {
            own.insert(name.clone(), value.clone());
        }
    }
    Some(meant)
}

/// Whether a launch runs a command of the SDK whose child processes are the programs to debug:
/// `dotnet test`, `dotnet run`.
pub fn starts_programs(attributes: &Value) -> bool {
    let is_dotnet = attributes["program"]
        .as_str()
        .is_some_and(|program| Path::new(program).file_name().is_some_and(|name| name == "dotnet"));
    let first = attributes["args"][0].as_str();
    is_dotnet
        && first.is_some_and(|first| first != "exec" && !first.ends_with(".dll") && !first.starts_with('-'))
}

fn of_assembly(words: &[&str]) -> Option<Value> {
    let (first, rest) = words.split_first()?;
    first.ends_with(".dll").then(|| json!({ "program": first, "args": rest }))
}

fn run(words: &[&str], attributes: &Value) -> Value {
    let mut meant = json!({});
    let (mut builds, mut own) = (Vec::new(), Vec::new());
    let mut env = attributes["env"].as_object().cloned().unwrap_or_default();
    let mut words = words.iter().copied().peekable();
    let mut file = None;
    while let Some(word) = words.next() {
        if word == "--" {
            own.extend(words);
            break;
        }
        let property =
            ["-p:", "--property:", "-property:", "/p:"].iter().any(|begin| word.starts_with(begin));
        let (name, value) = match word.split_once(['=', ':']).filter(|_| word.starts_with('-') && !property) {
            Some((name, value)) => (name, Some(value.to_owned())),
            None => (word, None),
        };
        let mut value = || value.clone().or_else(|| words.next().map(str::to_owned)).unwrap_or_default();
        if let Some((_, attribute)) = VALUES.iter().find(|(names, _)| names.contains(&name)) {
            meant[*attribute] = json!(value());
        } else if BUILDS.contains(&name) {
            builds.extend([name.to_owned(), value()]);
        } else if property || SWITCHES.contains(&name) {
            builds.push(word.to_owned());
        } else if ["-e", "--environment"].contains(&name) {
            let pair = value();
            let (name, value) = pair.split_once('=').unwrap_or((&pair, ""));
            env.insert(name.to_owned(), json!(value));
        } else if name == "--no-build" {
            meant["noBuild"] = json!(true);
        } else if name == "--no-launch-profile" {
            meant["launchSettingsProfile"] = json!("");
        } else if file.is_none() && own.is_empty() && is_file(word, attributes) {
            file = Some(word);
        } else {
            // Unknown options belong to the program.
            own.push(word);
        }
    }
    // The default project is that of the working directory.
    let folder =
        attributes["cwd"].as_str().or_else(|| attributes["__workspaceFolder"].as_str()).unwrap_or(".");
    let project = meant["project"].as_str().or(file).unwrap_or(folder).to_owned();
    if let Some(meant) = meant.as_object_mut() {
        meant.remove("project");
    }
    meant["program"] = json!(project);
    meant["args"] = json!(own);
    meant["env"] = json!(env);
    if !builds.is_empty() {
        let given = attributes["buildArguments"].as_array().into_iter().flatten().cloned();
        meant["buildArguments"] = given.chain(builds.into_iter().map(Value::from)).collect();
    }
    meant
}

/// Whether `dotnet run` treats a word as a C# file.
fn is_file(word: &str, attributes: &Value) -> bool {
    let folder = attributes["cwd"].as_str().map_or_else(PathBuf::new, PathBuf::from);
    word.ends_with(".cs") && folder.join(word).is_file()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn of(words: &[&str]) -> Value {
        equivalent_launch(
            &json!({ "program": "/usr/bin/dotnet", "args": words, "cwd": "/p", "stopOnEntry": true }),
        )
        .unwrap_or_default()
    }

    #[test]
    fn dotnet_run_launches_the_project_with_its_options() {
        let plain = of(&["run"]);
        assert_eq!(
            (&plain["program"], &plain["args"], &plain["stopOnEntry"]),
            (&json!("/p"), &json!([]), &json!(true))
        );
        let all = of(&[
            "run",
            "-c",
            "Release",
            "--framework=net8.0",
            "--project",
            "app/app.csproj",
            "--no-build",
            "-p:X=1",
            "-e",
            "A=b=c",
            "--no-launch-profile",
            "one",
            "--mine",
            "--",
            "-c",
            "two",
        ]);
        let expected = json!({ "program": "app/app.csproj", "args": ["one", "--mine", "-c", "two"],
            "cwd": "/p",
            "stopOnEntry": true, "configuration": "Release", "framework": "net8.0", "noBuild": true,
            "buildArguments": ["-p:X=1"], "env": { "A": "b=c" }, "launchSettingsProfile": "" });
        assert_eq!(all, expected);
    }

    #[test]
    fn dotnet_with_an_assembly_launches_it_and_other_commands_run_as_given() {
        assert_eq!(of(&["bin/app.dll", "x"])["program"], "bin/app.dll");
        assert_eq!(of(&["exec", "bin/app.dll", "x"])["args"], json!(["x"]));
        for other in [&["test"][..], &["watch", "run"], &[], &["--version"]] {
            assert_eq!(of(other), Value::Null, "{other:?}");
        }
        assert_eq!(equivalent_launch(&json!({ "program": "app.dll", "args": ["run"] })), None);
    }

    #[test]
    fn sdk_commands_start_the_programs_to_debug() {
        let starts =
            |program: &str, args: Value| starts_programs(&json!({ "program": program, "args": args }));
        for command in ["test", "run", "watch"] {
            assert!(starts("/usr/bin/dotnet", json!([command, "-c", "Release"])), "{command}");
        }
        for args in [
            json!(["app.dll", "test"]),
            json!(["exec", "app.dll"]),
            json!(["--info"]),
            json!([]),
            json!(null),
        ] {
            assert!(!starts("dotnet", args.clone()), "{args}");
        }
        assert!(!starts("app", json!(["test"])));
    }
}
