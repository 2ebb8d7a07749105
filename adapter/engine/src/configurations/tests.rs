//! Configurations as people have them, and the table as the documentation shows it.

use serde_json::json;

use super::*;

fn translate(mut configuration: Value) -> (Value, Vec<String>) {
    let remarks = translate_configuration(&mut configuration).expect("nothing of it is refused");
    (configuration, remarks)
}

fn refusal_of(mut configuration: Value) -> String {
    let failure = translate_configuration(&mut configuration).expect_err("it is refused");
    assert_eq!(failure.code, ErrorCode::Unsupported);
    assert!(failure.hint.is_some(), "{failure}");
    failure.message
}

#[test]
fn a_configuration_of_each_type_becomes_one_of_ours() {
    for (theirs, ours) in [
        (
            json!({ "type": "coreclr", "request": "launch", "program": "a.dll", "console": "internalConsole",
                "stopAtEntry": false }),
            json!({ "type": "coreclr", "request": "launch", "program": "a.dll", "stopAtEntry": false,
                "console": "piped", "engine": "coreclr" }),
        ),
        (
            json!({ "type": "coreclr", "program": "a.dll", "args": "--name 'a b'",
                "logging": { "moduleLoad": true }, "targetArchitecture": "x86_64",
                "launchSettingsProfile": null, "targetOutputLogPath": "log.txt" }),
            json!({ "type": "coreclr", "program": "a.dll", "logging": { "moduleLoad": true },
                "targetArchitecture": "x86_64", "launchSettingsProfile": "", "args": ["--name", "a b"],
                "stdio": { "stdout": "log.txt", "stderr": "log.txt" }, "engine": "coreclr" }),
        ),
        (
            json!({ "type": "node", "runtimeExecutable": "npm", "runtimeArgs": ["run", "start"],
                "args": ["--port"] }),
            json!({ "type": "node", "program": "npm", "args": ["run", "start", "--port"], "engine": "js" }),
        ),
        (
            json!({ "type": "node", "program": "a.js", "runtimeExecutable": "tsx", "runtimeArgs": ["-q"] }),
            json!({ "type": "node", "program": "a.js", "runtimeExecutable": "tsx", "runtimeArgs": ["-q"],
                "engine": "js" }),
        ),
        (
            json!({ "type": "coreclr", "program": "a.dll", "console": "integratedTerminal",
                "targetOutputLogPath": "log.txt" }),
            json!({ "type": "coreclr", "program": "a.dll", "console": "integratedTerminal",
                "engine": "coreclr" }),
        ),
        (
            json!({ "type": "dotnet", "projectPath": "shop.csproj",
                "launchConfigurationId": "TargetFramework=net10.0;https" }),
            json!({ "type": "dotnet", "project": "shop.csproj", "framework": "net10.0",
                "launchSettingsProfile": "https", "engine": "coreclr" }),
        ),
        (
            json!({ "type": "dotnet", "projectPath": "shop.csproj",
                "launchConfigurationId": "TargetFramework=;" }),
            json!({ "type": "dotnet", "project": "shop.csproj", "engine": "coreclr" }),
        ),
        (
            json!({ "type": "python", "module": "flask", "pythonPath": "py", "flask": true, "sudo": false,
                "console": "integratedTerminal" }),
            json!({ "type": "python", "module": "flask", "console": "integratedTerminal", "python": "py",
                "jinja": true, "engine": "debugpy" }),
        ),
        (
            json!({ "type": "debugpy", "request": "attach", "host": "h", "port": 5678 }),
            json!({ "type": "debugpy", "request": "attach", "connect": { "host": "h", "port": 5678 },
                "engine": "debugpy" }),
        ),
        (
            json!({ "type": "lldb", "program": "a", "terminal": "external", "stdio": [null, null, null],
                "pid": 5, "initCommands": ["x"] }),
            json!({ "type": "lldb", "program": "a", "stdio": [null, null, null], "initCommands": ["x"],
                "console": "externalTerminal",
                "processId": 5, "engine": "lldb" }),
        ),
        (
            json!({ "type": "lldb", "program": "a", "args": "one two", "stdio": [null, "log"],
                "env": { "A": "1" }, "breakpointMode": "path" }),
            json!({ "type": "lldb", "program": "a", "args": ["one", "two"], "env": { "A": "1" },
                "stdio": [null, "log", "log"], "engine": "lldb" }),
        ),
        (
            json!({ "type": "lldb-dap", "program": "a", "env": ["A=1", "B=x=y", "C"], "runInTerminal": true,
                "stdio": "/dev/null", "attachCommands": [] }),
            json!({ "type": "lldb-dap", "program": "a", "env": { "A": "1", "B": "x=y", "C": "" },
                "attachCommands": [], "console": "integratedTerminal",
                "stdio": ["/dev/null", "/dev/null", "/dev/null"], "engine": "lldb" }),
        ),
        (
            json!({ "type": "go", "program": ".", "stdinFrom": "in", "stderrTo": "err" }),
            json!({ "type": "go", "program": ".", "stdio": { "stdin": "in", "stderr": "err" },
                "engine": "delve" }),
        ),
        (
            json!({ "type": "cppdbg", "program": "a", "environment": [{ "name": "A", "value": "1" }],
                "externalConsole": false, "MIMode": "lldb",
                "setupCommands": [{ "text": "-enable-pretty-printing", "ignoreFailures": true }, {
                    "text": "settings set x y" }] }),
            json!({ "type": "cppdbg", "program": "a", "env": { "A": "1" }, "engine": "lldb",
                "initCommands": ["settings set x y"] }),
        ),
        (
            json!({ "type": "cppdbg", "program": "a", "MIMode": "gdb", "miDebuggerPath": "/usr/bin/gdb",
                "coreDumpPath": "core" }),
            json!({ "type": "cppdbg", "program": "a", "enginePath": "/usr/bin/gdb", "coreFile": "core",
                "engine": "gdb" }),
        ),
        (
            json!({ "type": "go", "mode": "auto", "program": ".", "buildFlags": "-tags=x" }),
            json!({ "type": "go", "program": ".", "buildFlags": "-tags=x", "engine": "delve" }),
        ),
        (
            json!({ "type": "go", "mode": "test", "program": "." }),
            json!({ "type": "go", "program": ".", "mode": "test", "engine": "delve" }),
        ),
        (
            json!({ "type": "pwa-node", "program": "a.js", "skipFiles": ["<node_internals>/**"],
                "engine": "other" }),
            json!({ "type": "pwa-node", "program": "a.js", "skipFiles": ["<node_internals>/**"],
                "engine": "other" }),
        ),
        (
            json!({ "type": "rdbg", "script": "a.rb", "debugPort": "h:12" }),
            json!({ "type": "rdbg", "program": "a.rb", "connect": { "host": "h", "port": 12 },
                "engine": "rdbg" }),
        ),
        (
            json!({ "type": "rdbg", "debugPort": 12 }),
            json!({ "type": "rdbg", "connect": { "host": "127.0.0.1", "port": 12 }, "engine": "rdbg" }),
        ),
        (
            json!({ "type": "rdbg", "debugPort": "/s" }),
            json!({ "type": "rdbg", "connect": { "socket": "/s" }, "engine": "rdbg" }),
        ),
        (
            json!({ "type": "tandem", "__configurationType": "cppdbg", "program": "a" }),
            json!({ "type": "tandem", "__configurationType": "cppdbg", "program": "a", "engine": "gdb" }),
        ),
        (
            json!({ "type": "rdbg", "script": "a.rb", "command": "bundle exec ruby" }),
            json!({ "type": "rdbg", "program": "a.rb", "engine": "rdbg" }),
        ),
        (
            json!({ "type": "debugpy", "program": "a.py", "debugStdLib": true }),
            json!({ "type": "debugpy", "program": "a.py", "justMyCode": false, "engine": "debugpy" }),
        ),
        (
            json!({ "type": "debugpy", "connect": "h:1", "host": "h", "port": 5678 }),
            json!({ "type": "debugpy", "connect": "h:1", "engine": "debugpy" }),
        ),
        (
            json!({ "type": "debugpy", "connect": null, "host": "h" }),
            json!({ "type": "debugpy", "connect": { "host": "h" }, "engine": "debugpy" }),
        ),
        (json!({ "type": "tandem", "sudo": true }), json!({ "type": "tandem", "sudo": true })),
        (json!({ "program": "a" }), json!({ "program": "a" })),
    ] {
        assert_eq!(translate(theirs), (ours, Vec::new()));
    }
}

#[test]
fn omitted_attributes_are_reported_and_unsupported_ones_are_refused_by_name() {
    let (ours, remarks) =
        translate(json!({ "type": "coreclr", "program": "a.dll", "checkForDevCert": true }));
    assert_eq!(ours, json!({ "type": "coreclr", "program": "a.dll", "engine": "coreclr" }));
    assert_eq!(
        remarks,
        ["`checkForDevCert` of a `coreclr` configuration is ignored: no certificate is made: `dotnet \
                dev-certs https --trust` does it once"]
    );
    assert_eq!(
        refusal_of(json!({ "type": "lldb", "reverseDebugging": true })),
        "`reverseDebugging` of a `lldb` configuration is not supported"
    );
    assert_eq!(
        refusal_of(json!({ "type": "python", "sudo": true })),
        "`sudo` of a `debugpy` configuration is not supported"
    );
    assert_eq!(
        refusal_of(json!({ "type": "rdbg", "command": "rails s" })),
        "`command` of a `rdbg` configuration is not supported"
    );
    assert_eq!(
        refusal_of(json!({ "type": "lldb", "breakpointMode": "file" })),
        "`breakpointMode` of a `lldb` configuration is not supported"
    );
}

#[test]
fn size_of_a_terminal_is_reported_where_there_is_no_terminal() {
    let size = json!({ "columns": 80, "rows": 24 });
    let without = explain_attribute_without_effect(&json!({ "program": "a", "terminalSize": size }));
    assert!(without.is_some_and(|text| text.starts_with("`terminalSize` has no effect without `pty`")));
    for launch in [json!({ "program": "a" }), json!({ "program": "a", "pty": true, "terminalSize": size })] {
        assert_eq!(explain_attribute_without_effect(&launch), None, "{launch}");
    }
}

/// The table as Markdown: a row for each attribute, in the table's order, with what it is for whom.
fn documented() -> String {
    let mut text = String::from("| attribute | of | here |\n|---|---|---|\n");
    for Attribute { families, name, meaning } in TABLE {
        let whose: Vec<String> =
            families.iter().map(|family| format!("`{}`", family.types().join("`, `"))).collect();
        let whose =
            if families.len() == DebuggerFamily::ALL.len() { "all".to_owned() } else { whose.join(", ") };
        let here = match meaning {
            AttributeTranslation::Same => "honoured".to_owned(),
            AttributeTranslation::Named(ours) => format!("mapped to `{ours}`"),
            AttributeTranslation::Mapped(words, _) => format!("mapped to {words}"),
            AttributeTranslation::Ignored(why) => format!("left out: {why}"),
            AttributeTranslation::Refused(instead) => format!("refused: {instead}"),
            AttributeTranslation::RefusedUnless(values, instead) => {
                format!("refused, unless `{}`: {instead}", values.join("`, `"))
            }
            AttributeTranslation::Editor => "the editor's".to_owned(),
        };
        text.push_str(&format!("| `{name}` | {whose} | {here} |\n"));
    }
    text
}

#[test]
fn the_documentation_has_the_table() {
    let (before, after) = ("<!-- configurations -->\n", "<!-- end of configurations -->");
    let path = concat!(env!("CARGO_MANIFEST_DIR"), "/../../docs/launch-configuration.md");
    let text = std::fs::read_to_string(path).expect("the page is there");
    let (head, rest) = text.split_once(before).expect("where the table begins");
    let (table, tail) = rest.split_once(after).expect("where it ends");
    let expected = documented();
    if std::env::var_os("INSTA_UPDATE").is_some_and(|value| value == "always") {
        std::fs::write(path, format!("{head}{before}{expected}{after}{tail}")).expect("it is written");
    } else {
        assert_eq!(table, expected, "run this test with INSTA_UPDATE=always");
    }
}

#[test]
fn no_attribute_has_two_meanings_for_one_debugger() {
    for family in DebuggerFamily::ALL {
        let mut names: Vec<&str> =
            TABLE.iter().filter(|one| one.families.contains(&family)).map(|one| one.name).collect();
        let all = names.len();
        names.sort_unstable();
        names.dedup();
        assert_eq!(names.len(), all, "{family:?}");
    }
}
