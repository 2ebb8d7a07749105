//! Tests of launch attributes: which reach the adapter, and where a program runs.

use serde_json::json;

use super::*;

#[test]
fn unknown_attributes_reach_the_adapter_unchanged_and_engine_options_win() {
    let target = Target::parse(&json!({
        "program": "/bin/ls", "engine": "lldb", "pty": false, "sourceFileMap": [["/a", "/b"]],
        "initCommands": ["x"], "engineOptions": { "initCommands": ["y"], "odd": { "deep": null } },
    }))
    .unwrap();
    assert_eq!(
        target.for_adapter(json!({ "runInTerminal": true })),
        json!({ "program": "/bin/ls", "sourceFileMap": [["/a", "/b"]], "initCommands": ["y"],
            "runInTerminal": true, "odd": { "deep": null } })
    );
}

#[test]
fn a_program_runs_in_its_project_else_where_the_client_works_else_where_it_lies() {
    let folder = tempfile::tempdir().unwrap();
    let (root, tool) = (folder.path(), folder.path().join("tool"));
    for made in ["open/sub", "tool"] {
        std::fs::create_dir_all(root.join(made)).unwrap();
    }
    for file in ["tool/main.py", "tool/Cargo.toml"] {
        std::fs::write(root.join(file), "").unwrap();
    }
    let cwd = |mut attributes: Value, open: bool| {
        if open {
            attributes[WORKSPACE] = serde_json::json!(root.join("open"));
        }
        Target::parse(&attributes).unwrap().cwd
    };
    let script = json!({ "program": tool.join("main.py") });
    assert_eq!((cwd(script.clone(), false), cwd(script, true)), (tool.clone(), root.join("open")));
    for project in [json!({ "program": tool.join("Cargo.toml") }), json!({ "project": tool })] {
        assert_eq!(cwd(project, true), tool);
    }
    assert_eq!(cwd(json!({ "program": "/x.py", "cwd": "sub" }), true), root.join("open/sub"));
    let here = std::env::current_dir().unwrap();
    for homeless in [json!({ "module": "pytest" }), json!({ "program": "sh" })] {
        assert_eq!((cwd(homeless.clone(), false), cwd(homeless, true)), (here.clone(), root.join("open")));
    }
}

#[test]
fn a_command_is_looked_for_in_the_projects_environment_then_on_path() {
    let folder = tempfile::tempdir().unwrap();
    let bin = folder.path().join(".venv/bin");
    std::fs::create_dir_all(&bin).unwrap();
    let program = |name: &str| {
        let attributes = json!({ "program": name, "cwd": folder.path(), "env": { "PATH": "/usr/bin:/bin" } });
        Target::parse(&attributes).unwrap().program
    };
    assert!(program("sh").ends_with("bin/sh") && program("sh").is_file());
    std::os::unix::fs::symlink("/bin/sh", bin.join("sh")).unwrap();
    assert_eq!(program("sh"), bin.join("sh"));
    std::fs::write(folder.path().join("sh"), "").unwrap();
    assert_eq!(program("sh"), folder.path().join("sh"));
    assert_eq!(program("no-such-command"), folder.path().join("no-such-command"));
    assert_eq!(program("./no-such"), folder.path().join("./no-such"));
}

#[test]
fn engine_options_override_attributes_that_tandem_reads_itself() {
    let options = json!({ "subProcess": false, "mode": "test", "pty": true, "justMyCode": null });
    let attributes = json!({ "program": "/bin/ls", "engineOptions": options, "mode": "debug",
        "pty": false,
        "justMyCode": false, "dlvFlags": ["a"] });
    let target = Target::parse(&attributes).unwrap();
    assert_eq!(target.attribute("subProcess"), false);
    assert_eq!(target.text("mode"), Ok(Some("test")));
    assert_eq!(target.attribute("dlvFlags"), &json!(["a"]));
    assert_eq!(target.flag("justMyCode", true), Ok(false));
    // To an adapter it means something else.
    assert_eq!(target.flag("pty", false), Ok(false));
    assert!(target.names_any(&["subProcess"]));
}

#[test]
fn numbers_and_booleans_in_the_environment_are_text() {
    let env = json!({ "N": 1, "B": true, "T": "x", "U": null });
    let target = Target::parse(&json!({ "program": "/bin/ls", "env": env.clone() })).unwrap();
    let variable = |name: &str, value: &str| (name.to_owned(), Some(value.to_owned()));
    let given = [variable("N", "1"), variable("B", "true"), variable("T", "x"), ("U".into(), None)];
    assert_eq!(target.env, given);
    let text = json!({ "N": "1", "B": "true", "T": "x", "U": null });
    assert_eq!(target.for_adapter(json!({}))["env"], text);
    let own = |env: Value| {
        let attributes = json!({ "program": "/bin/ls", "engineOptions": { "env": env } });
        Target::parse(&attributes).unwrap().for_adapter(json!({}))["env"].clone()
    };
    assert_eq!(own(env), text);
    for unchanged in [json!(["N=1"]), Value::Null] {
        assert_eq!(own(unchanged.clone()), unchanged);
    }
}

#[test]
fn each_bad_attribute_is_named() {
    for (attributes, name) in [
        (json!({ "args": "x" }), "args"),
        (json!({ "env": { "A": [1] } }), "env"),
        (json!({ "env": { "A=B": "" } }), "env"),
        (json!({ "engineOptions": { "env": { "A=B": "" } } }), "engineOptions.env"),
        (json!({ "engineOptions": { "env": 1 } }), "engineOptions.env"),
        (json!({ "pty": "yes" }), "pty"),
        (json!({ "console": "window" }), "console"),
        (json!({ "cwd": 1 }), "cwd"),
    ] {
        let failure = Target::parse(&attributes).unwrap_err();
        assert_eq!(failure.code, ErrorCode::InvalidParameter);
        assert!(failure.message.contains(&format!("`{name}`")), "{failure}");
    }
}
