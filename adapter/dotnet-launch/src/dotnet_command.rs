//! `dotnet` as the program of a launch: `dotnet run …` means the project, `dotnet app.dll …` the assembly.
//! Its other commands are programs like any other. Runs nothing; [`super::program`] uses the result.

use std::path::{Path, PathBuf};

use serde::Deserialize;
use serde_json::{Map, Value};
use tandem_wire::types;

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

/// The attributes of a launch that say what `dotnet` runs. One of another type counts as absent: it is
/// refused where it is used.
#[derive(Debug, Default, Deserialize)]
#[serde(default, rename_all = "camelCase")]
struct DotnetAttributes {
    #[serde(deserialize_with = "types::optional")]
    program: Option<String>,
    #[serde(deserialize_with = "types::optional")]
    args: Option<Vec<Value>>,
    #[serde(deserialize_with = "types::optional")]
    cwd: Option<String>,
    #[serde(deserialize_with = "types::optional")]
    env: Option<Map<String, Value>>,
    #[serde(deserialize_with = "types::optional")]
    build_arguments: Option<Vec<Value>>,
    /// The folder that the editor has open.
    #[serde(rename = "__workspaceFolder", deserialize_with = "types::optional")]
    open: Option<String>,
}

impl DotnetAttributes {
    fn is_of_dotnet(&self) -> bool {
        let program = self.program.as_deref().map(Path::new);
        program.and_then(Path::file_name).is_some_and(|name| name == "dotnet")
    }
}

/// The attributes that a launch of `dotnet` with arguments is equivalent to; `None` if it is a
/// program like any other.
pub fn equivalent_launch(attributes: &Value) -> Option<Value> {
    let given: DotnetAttributes = types::read(attributes);
    if !given.is_of_dotnet() {
        return None;
    }
    let words: Vec<&str> = given.args.as_ref()?.iter().map(Value::as_str).collect::<Option<_>>()?;
    let (first, rest) = words.split_first()?;
    let mut meant = match *first {
        "run" => run(rest, &given),
        "exec" => of_assembly(rest)?,
        _ => of_assembly(&words)?,
    };
    for (name, value) in attributes.as_object()? {
        if !["program", "args"].contains(&name.as_str()) && !meant.contains_key(name) {
            meant.insert(name.clone(), value.clone());
        }
    }
    Some(Value::Object(meant))
}

/// Whether a launch runs a command of the SDK whose child processes are the programs to debug:
/// `dotnet test`, `dotnet run`.
pub fn starts_programs(attributes: &Value) -> bool {
    let given: DotnetAttributes = types::read(attributes);
    let first = given.args.as_ref().and_then(|args| args.first()?.as_str());
    given.is_of_dotnet()
        && first.is_some_and(|first| first != "exec" && !first.ends_with(".dll") && !first.starts_with('-'))
}

fn of_assembly(words: &[&str]) -> Option<Map<String, Value>> {
    let (first, rest) = words.split_first()?;
    let meant = [("program".to_owned(), Value::from(*first)), ("args".to_owned(), rest.into())];
    first.ends_with(".dll").then(|| Map::from_iter(meant))
}

/// The attributes that `dotnet run` with these words is equivalent to.
fn run(words: &[&str], given: &DotnetAttributes) -> Map<String, Value> {
    let mut meant = Map::new();
    let mut project = None;
    let (mut builds, mut own) = (Vec::new(), Vec::new());
    let mut env = given.env.clone().unwrap_or_default();
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
            match *attribute {
                "project" => project = Some(value()),
                attribute => drop(meant.insert(attribute.into(), value().into())),
            }
        } else if BUILDS.contains(&name) {
            builds.extend([name.to_owned(), value()]);
        } else if property || SWITCHES.contains(&name) {
            builds.push(word.to_owned());
        } else if ["-e", "--environment"].contains(&name) {
            let pair = value();
            let (name, value) = pair.split_once('=').unwrap_or((&pair, ""));
            env.insert(name.to_owned(), value.into());
        } else if name == "--no-build" {
            meant.insert("noBuild".into(), true.into());
        } else if name == "--no-launch-profile" {
            meant.insert("launchSettingsProfile".into(), "".into());
        } else if file.is_none() && own.is_empty() && is_file(word, given.cwd.as_deref()) {
            file = Some(word);
        } else {
            // Unknown options belong to the program.
            own.push(word);
        }
    }
    // The default project is that of the working directory.
    let folder = given.cwd.as_deref().or(given.open.as_deref()).unwrap_or(".");
    let program = project.as_deref().or(file).unwrap_or(folder);
    meant.insert("program".into(), program.into());
    meant.insert("args".into(), own.into());
    meant.insert("env".into(), env.into());
    if !builds.is_empty() {
        let given = given.build_arguments.iter().flatten().cloned();
        let all = given.chain(builds.into_iter().map(Value::from)).collect();
        meant.insert("buildArguments".into(), all);
    }
    meant
}

/// Whether `dotnet run` treats a word as a C# file.
fn is_file(word: &str, cwd: Option<&str>) -> bool {
    let folder = cwd.map_or_else(PathBuf::new, PathBuf::from);
    word.ends_with(".cs") && folder.join(word).is_file()
}

#[cfg(test)]
mod tests {
    use serde_json::json;

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
