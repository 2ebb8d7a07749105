//! Command lines of interpreters, and the launches that they become.

use serde_json::json;

use super::super::translate_configuration;

#[test]
fn a_script_that_its_interpreter_runs_is_the_program() {
    for (program, args, expected) in [
        ("python3", json!(["a.py", "-x"]), json!({ "program": "a.py", "args": ["-x"], "engine": "debugpy" })),
        (
            ".venv/bin/python",
            json!(["-u", "-X", "dev", "-m", "app", "1"]),
            json!({ "module": "app", "args": ["1"], "engine": "debugpy", "python": ".venv/bin/python",
                "pythonArgs": ["-u", "-X", "dev"] }),
        ),
        (
            "python3.11",
            json!(["-c", "print(1)"]),
            json!({ "code": "print(1)", "args": [], "engine": "debugpy", "python": "python3.11" }),
        ),
        (
            "/usr/bin/node",
            json!(["--import", "tsx", "--no-warnings", "a.ts"]),
            json!({ "program": "a.ts", "args": [], "engine": "js", "runtimeExecutable": "/usr/bin/node",
                "runtimeArgs": ["--import", "tsx", "--no-warnings"] }),
        ),
        ("node", json!(["--", "-a.js"]), json!({ "program": "-a.js", "args": [], "engine": "js" })),
        (
            "python3",
            json!(["-Xdev", "-uIm", "app", "-c"]),
            json!({ "module": "app", "args": ["-c"], "engine": "debugpy",
                "pythonArgs": ["-Xdev", "-uI"] }),
        ),
        (
            "python3",
            json!(["-OW", "error", "-cprint(1)"]),
            json!({ "code": "print(1)", "args": [], "engine": "debugpy",
                "pythonArgs": ["-OW", "error"] }),
        ),
        ("ruby3.1", json!(["a.rb"]), json!({ "program": "a.rb", "args": [], "engine": "rdbg" })),
        (
            "ruby",
            json!(["-w", "-r", "set", "-Ilib", "-W:no-deprecated", "--yjit", "a.rb", "-x"]),
            json!({ "program": "a.rb", "args": ["-x"], "engine": "rdbg",
                "rubyArgs": ["-w", "-r", "set", "-Ilib", "-W:no-deprecated", "--yjit"] }),
        ),
        (
            "sh",
            json!(["run", "1"]),
            json!({ "program": "run", "args": ["1"], "engine": "bash", "bashArgs": [] }),
        ),
        (
            "/bin/bash",
            json!(["-euo", "pipefail", "+B", "-O", "extglob", "--", "-a.sh"]),
            json!({ "program": "-a.sh", "args": [], "engine": "bash",
                "bashArgs": ["-euo", "pipefail", "+B", "-O", "extglob"] }),
        ),
        (
            "perl",
            json!(["-Ilib", "-w", "a.pl"]),
            json!({ "program": "a.pl", "args": [], "engine": "perl", "perlArgs": ["-Ilib", "-w"] }),
        ),
    ] {
        let mut launch = json!({ "program": program, "args": args, "cwd": "/w" });
        let remarks = translate_configuration(&mut launch).unwrap();
        assert_eq!(remarks.len(), 1, "{remarks:?}");
        let mut expected = expected;
        expected["cwd"] = "/w".into();
        assert_eq!(launch, expected, "{program}");
    }
}

#[test]
fn attributes_of_the_launch_stay() {
    let mut launch = json!({ "type": "python", "program": "python3", "args": ["-O", "a.py"],
        "python": "/opt/python", "pythonArgs": ["-u"], "cwd": null });
    translate_configuration(&mut launch).unwrap();
    let expected = json!({ "type": "python", "program": "a.py", "args": [], "python": "/opt/python",
        "pythonArgs": ["-u", "-O"], "cwd": ".", "engine": "debugpy" });
    assert_eq!(launch, expected);
}

#[test]
fn other_programs_stay() {
    for launch in [
        json!({ "program": "python3", "args": [] }),
        json!({ "program": "python3", "args": ["-"] }),
        json!({ "program": "python3", "args": ["-m"] }),
        json!({ "program": "python3", "args": ["-uV", "a.py"] }),
        json!({ "program": "python3", "args": ["a.py"], "engine": "lldb" }),
        json!({ "program": "python3", "args": ["a.py"], "processId": 7 }),
        json!({ "program": "python3", "args": [1] }),
        json!({ "program": "python3", "args": "a.py" }),
        json!({ "program": "./node", "args": ["a.js"] }),
        json!({ "program": "node", "args": ["-e", "1"] }),
        json!({ "program": "node", "args": ["inspect", "a.js"] }),
        json!({ "program": "bash", "args": ["-c", "echo"] }),
        json!({ "program": "bash", "args": ["-ec", "echo"] }),
        json!({ "program": "ruby", "args": ["-e", "1"] }),
        json!({ "program": "ruby", "args": ["-C", "lib", "a.rb"] }),
        json!({ "program": "perl", "args": ["-ne", "print"] }),
        json!({ "program": "pythonista", "args": ["a.py"] }),
        json!({ "program": "/", "args": ["a.py"] }),
    ] {
        let mut same = launch.clone();
        assert_eq!(translate_configuration(&mut same), Ok(Vec::new()));
        assert_eq!(same, launch);
    }
}
