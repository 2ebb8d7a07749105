//! Launch configurations written for other debuggers, as editors send them, with the real debuggers.

use std::collections::HashMap;

use serde_json::{Value, json};
use tandem_harness::child::{self, Subject, interpreter};
use tandem_harness::client::DapClient;
use tandem_harness::fixture::{self, Runtime};
use tandem_harness::transcript::Transcript;

fn editor() -> anyhow::Result<DapClient> {
    DapClient::start_in("editor", HashMap::new(), &Transcript::default())
}

/// Runs it to its end, without a stop: exit code and stdout.
async fn run_to_end(mut editor: DapClient) -> anyhow::Result<(Value, String)> {
    let (event, body) = editor.any_event(&["stopped", "exited"]).await?;
    anyhow::ensure!(event == "exited", "it stopped: {body}");
    editor.event("terminated").await?;
    let stdout = editor.output[0].clone();
    editor.finish().await?;
    Ok((body["exitCode"].clone(), stdout))
}

#[tokio::test]
async fn a_python_configuration_has_its_variables_from_its_file() -> anyhow::Result<()> {
    let folder = tempfile::tempdir()?;
    let program = folder.path().join("shown.py");
    std::fs::write(
        &program,
        "import os, sys\nprint(os.environ['FROM_FILE'], os.environ['BOTH'], sys.argv[1:])\n",
    )?;
    std::fs::write(folder.path().join(".env"), "FROM_FILE=\"a b\"\nBOTH=file\n")?;
    let mut editor = editor()?;
    let configuration = json!({ "type": "debugpy", "request": "launch", "name": "Python: this file",
        "program": program,
        "console": "internalConsole", "pythonPath": interpreter("python"),
        "envFile": folder.path().join(".env"),
        "env": { "BOTH": "env" }, "args": ["x"], "justMyCode": true, "django": false, "redirectOutput": true,
        "subProcess": true });
    editor.launch_child(configuration, folder.path(), &[]).await?;
    let (code, stdout) = run_to_end(editor).await?;
    assert_eq!((code, stdout.as_str()), (json!(0), "a b env ['x']\n"));
    Ok(())
}

#[tokio::test]
async fn a_cppdbg_configuration_is_debugged_by_gdb_and_its_commands_are_run() -> anyhow::Result<()> {
    let folder = tempfile::tempdir()?;
    let source = folder.path().join("shown.c");
    let text = "#include <stdio.h>\n#include <stdlib.h>\nint main(void) { const char *from = \
        getenv(\"FROM_GDB\");\n  \
                printf(\"%s %s\\n\", getenv(\"A\"), from ? from : \"none\"); return 4; }\n";
    std::fs::write(&source, text)?;
    let gdb = Subject::Gdb.with(json!({}))["enginePath"].clone();
    let mark = folder.path().join("mark");
    let mut editor = editor()?;
    let configuration = json!({ "type": "cppdbg", "request": "launch", "name": "gcc", "program": source,
        "MIMode": "gdb",
        "miDebuggerPath": gdb, "environment": [{ "name": "A", "value": "1" }], "stopAtEntry": false,
        "externalConsole": false,
        "setupCommands": [{ "description": "pretty", "text": "-enable-pretty-printing",
            "ignoreFailures": true },
            { "text": format!("shell touch {}", mark.display()) }] });
    editor.launch_child(configuration, folder.path(), &[]).await?;
    let (code, stdout) = run_to_end(editor).await?;
    assert_eq!((code, stdout.as_str()), (json!(4), "1 none\n"));
    assert!(mark.exists(), "gdb did not run the command");
    Ok(())
}

#[tokio::test]
async fn unsupported_settings_are_refused_by_name_and_ignored_settings_are_reported() -> anyhow::Result<()> {
    let mut editor = editor()?;
    editor.ok("initialize", json!({ "clientID": "test", "adapterID": "tandem" })).await?;
    let cargo =
        json!({ "type": "lldb", "request": "launch", "name": "Debug", "cargo": { "args": ["build"] } });
    let refused = editor.ask("launch", cargo).await?;
    let text = format!("{refused:?}");
    assert!(
        !refused.success && text.contains("`cargo` of a `lldb` configuration is not supported"),
        "{text}"
    );
    // The same editor may try again.
    let script = json!({ "type": "rdbg", "request": "launch", "script": child::source("echo.rb"),
        "useTerminal": true });
    let launch = editor.send("launch", script).await?;
    let event = editor.event("output").await?;
    let text = event["output"].as_str().unwrap_or_default();
    assert!(text.starts_with("`useTerminal` of a `rdbg` configuration is ignored:"), "{event}");
    editor.initialized(launch).await?;
    editor.ok("disconnect", json!({ "terminateDebuggee": true })).await?;
    Ok(())
}

#[tokio::test]
async fn a_coreclr_configuration_stops_at_entry() -> anyhow::Result<()> {
    let mut editor = DapClient::start("editor", Runtime::Net9, &Transcript::default())?;
    editor.ok("initialize", json!({ "clientID": "test", "adapterID": "coreclr" })).await?;
    let configuration = json!({ "type": "coreclr", "request": "launch", "name": ".NET Core Launch (console)",
        "program": fixture::program("tour"), "args": [], "console": "internalConsole", "stopAtEntry": true,
        "justMyCode": true,
        "logging": { "moduleLoad": false } });
    let launch = editor.send("launch", configuration).await?;
    editor.initialized(launch).await?;
    editor.ok("configurationDone", Value::Null).await?;
    let (_thread, frame) = editor.stop().await?;
    assert!(frame["name"].as_str().unwrap_or_default().contains("Main"), "{frame}");
    editor.ok("disconnect", json!({ "terminateDebuggee": true })).await?;
    Ok(())
}
