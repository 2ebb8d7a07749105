//! Tests of the launch through the adapter, and of values.

use super::*;

#[test]
fn a_value_without_code_is_refused() {
    let kept = |value| Debugpy.kept_value(value).unwrap().keep;
    for blank in ["", "  ", "# comment", "\n # one\n\t# two\n"] {
        assert!(kept(blank).ends_with("'tandem_value', eval(''))"), "{}", kept(blank));
    }
    for value in ["1, 2", "()", "# first\n5", "'#'"] {
        assert!(kept(value).ends_with(&format!("'tandem_value', ({value}\n))")), "{}", kept(value));
    }
}

#[test]
fn the_adapter_is_not_configured_where_it_only_runs_the_program() {
    let skips = |command, no_debug| {
        let attributes = serde_json::json!({ "program": "/bin/ls", "noDebug": no_debug });
        let target = Target::parse(&attributes).unwrap();
        let python = interpreter::Python {
            interpreter: "/bin/sh".into(),
            is_of_tool: false,
            options: Vec::new(),
            debugpy: Vec::new(),
        };
        let plan = through_adapter(&target, &python, command, usual_attributes(&target)).unwrap();
        plan.quirks.skips_initialized_without_debug
    };
    assert!(skips("launch", true));
    assert!(!skips("launch", false) && !skips("attach", true));
}

#[test]
fn options_of_the_interpreter_precede_its_arguments() {
    use std::os::unix::fs::PermissionsExt;

    let folder = tempfile::tempdir().unwrap();
    let python = folder.path().join("python");
    std::fs::write(&python, "#!/bin/sh\n").unwrap();
    std::fs::set_permissions(&python, std::fs::Permissions::from_mode(0o700)).unwrap();
    let plan = |through_adapter: bool| {
        let attributes = serde_json::json!({ "module": "app", "cwd": folder.path(), "pythonArgs": ["-u"],
            "python": [&python, "-X", "dev"], "engineOptions": { "throughAdapter": through_adapter } });
        Debugpy.launch(&Target::parse(&attributes).unwrap()).unwrap()
    };
    let direct = plan(false);
    assert_eq!(direct.spec.program, python);
    assert_eq!(direct.spec.args[..6], ["-Xfrozen_modules=off", "-X", "dev", "-u", "-m", "debugpy"]);
    let adapter = plan(true);
    assert_eq!(adapter.arguments["python"], serde_json::json!([&python, "-X", "dev"]));
    assert_eq!(adapter.arguments["pythonArgs"], serde_json::json!(["-u"]));
}
