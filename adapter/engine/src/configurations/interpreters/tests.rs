//! Command lines of interpreters, and the launches that they become.

use serde_json::json;
use tandem_wire::ErrorCode;

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
        (
            "node",
            json!(["--no-warnings", "-e", "f()", "x"]),
            json!({ "args": ["x"], "engine": "js", "runtimeArgs": ["--no-warnings", "-e", "f()"] }),
        ),
        (
            "uv",
            json!(["run", "--with", "rich", "-q", "--extra=dev", "a.py", "-x"]),
            json!({ "program": "a.py", "args": ["-x"], "engine": "debugpy",
                "python": ["uv", "run", "--with", "rich", "-q", "--extra=dev", "python"] }),
        ),
        (
            "uv",
            json!(["run", "-m", "app", "1"]),
            json!({ "module": "app", "args": ["1"], "engine": "debugpy", "python": ["uv", "run", "python"] }),
        ),
        (
            "/opt/bin/poetry",
            json!(["run", "python3", "-u", "a.py"]),
            json!({ "program": "a.py", "args": [], "engine": "debugpy", "pythonArgs": ["-u"],
                "python": ["/opt/bin/poetry", "run", "python3"] }),
        ),
        (
            "pipenv",
            json!(["run", "--", "flask", "run"]),
            json!({ "program": "flask", "args": ["run"], "engine": "debugpy",
                "python": ["pipenv", "run", "python"] }),
        ),
        (
            "conda",
            json!(["run", "-n", "env", "--no-capture-output", "python", "-m", "app"]),
            json!({ "module": "app", "args": [], "engine": "debugpy",
                "python": ["conda", "run", "-n", "env", "--no-capture-output", "python"] }),
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
fn code_without_a_file_is_refused_unless_it_runs_without_a_debugger() {
    for (program, args, engine) in [
        ("perl", json!(["-Mstrict", "-e", "1"]), "perl"),
        ("perl", json!(["-lne", "print"]), "perl"),
        ("/usr/bin/perl", json!(["-E1"]), "perl"),
        ("ruby", json!(["-rset", "-ne", "1"]), "rdbg"),
        ("bash", json!(["-c", "echo"]), "bash"),
        ("sh", json!(["-o", "pipefail", "-ec", "echo"]), "bash"),
    ] {
        let launch = json!({ "program": program, "args": args });
        let failure = translate_configuration(&mut launch.clone()).unwrap_err();
        assert_eq!(failure.code, ErrorCode::Unsupported);
        assert!(failure.message.contains(&format!("`{engine}`")), "{failure}");
        for more in [json!({ "noDebug": true }), json!({ "engine": "lldb" })] {
            let mut same = launch.clone();
            same.as_object_mut().unwrap().extend(more.as_object().cloned().unwrap());
            assert_eq!(translate_configuration(&mut same), Ok(Vec::new()), "{program} {args}");
        }
    }
}

#[test]
fn a_tool_that_runs_something_else_is_refused_with_the_attribute_to_set() {
    for (program, args) in [
        ("uv", json!(["run", "--directory", "x", "a.py"])),
        ("uv", json!(["run", "python", "-i"])),
        ("uv", json!(["run", "./build.sh"])),
        ("poetry", json!(["run", "a.py"])),
        ("poetry", json!(["run"])),
    ] {
        let failure = translate_configuration(&mut json!({ "program": program, "args": args })).unwrap_err();
        assert_eq!(failure.code, ErrorCode::Unsupported);
        assert!(failure.hint.is_some_and(|hint| hint.contains("`python`")), "{program} {args}");
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
        json!({ "program": "node", "args": ["inspect", "a.js"] }),
        json!({ "program": "uv", "args": ["pip", "list"] }),
        json!({ "program": "uv", "args": ["run", "a.py"], "engine": "lldb" }),
        json!({ "program": "ruby", "args": ["-C", "lib", "a.rb"] }),
        json!({ "program": "pythonista", "args": ["a.py"] }),
        json!({ "program": "/", "args": ["a.py"] }),
    ] {
        let mut same = launch.clone();
        assert_eq!(translate_configuration(&mut same), Ok(Vec::new()));
        assert_eq!(same, launch);
    }
}
