//! Sources that lie elsewhere than where the program was built or runs: breakpoints bind, and stops are
//! shown, at the paths here.

use std::collections::HashMap;
use std::path::Path;
use std::process::Command;

use serde_json::{Value, json};
use tandem_harness::child::{self, Subject};
use tandem_harness::client::DapClient;
use tandem_harness::transcript::Transcript;

/// The spellings that a configuration of another debugger may have.
fn spellings(there: &Path, here: &Path) -> [Value; 3] {
    let mut map = json!({});
    map[there.display().to_string()] = json!(here);
    [
        json!({ "sourceFileMap": map }),
        json!({ "pathMappings": [{ "localRoot": here, "remoteRoot": there }] }),
        json!({ "substitutePath": [{ "from": here, "to": there }] }),
    ]
}

async fn expect_stop(mut launch: Value, map: &Value, source: &Path) -> anyhow::Result<()> {
    for (key, value) in map.as_object().into_iter().flatten() {
        launch[key] = value.clone();
    }
    let mut editor = DapClient::start_in("editor", HashMap::new(), &Transcript::default())?;
    editor.launch_child(launch, source, &[2]).await?;
    let (thread, frame) = editor.stop().await?;
    assert_eq!((&frame["source"]["path"], &frame["line"]), (&json!(source), &json!(2)), "{map}");
    editor.ok("continue", json!({ "threadId": thread })).await?;
    editor.event("exited").await?;
    editor.event("terminated").await?;
    editor.finish().await
}

#[tokio::test]
async fn a_python_program_that_runs_elsewhere_stops_at_the_source_here() -> anyhow::Result<()> {
    let folder = tempfile::tempdir()?;
    let folder = folder.path().canonicalize()?;
    let (here, there) = (folder.join("here"), folder.join("there"));
    for place in [&here, &there] {
        std::fs::create_dir(place)?;
        std::fs::write(place.join("main.py"), "answer = 42\nprint(answer)\n")?;
    }
    for map in spellings(&there, &here) {
        let launch = Subject::Python.with(json!({ "program": there.join("main.py") }));
        expect_stop(launch, &map, &here.join("main.py")).await?;
    }
    Ok(())
}

#[tokio::test]
async fn a_native_program_that_was_built_elsewhere_stops_at_the_source_here() -> anyhow::Result<()> {
    let folder = tempfile::tempdir()?;
    let here = folder.path().canonicalize()?.join("he re");
    std::fs::create_dir(&here)?;
    std::fs::write(here.join("main.c"), "int main(void) {\n    return 3;\n}\n")?;
    let (program, there) = (here.join("main"), Path::new("/built/elsewhere"));
    let prefix = format!("-ffile-prefix-map={}={}", here.display(), there.display());
    let mut compiler = Command::new("cc");
    compiler.args(["-g", &prefix, "-o"]).arg(&program).arg(here.join("main.c"));
    for subject in [Subject::Lldb, Subject::Gdb] {
        anyhow::ensure!(compiler.status()?.success(), "not compiled");
        for map in spellings(there, &here) {
            expect_stop(subject.with(json!({ "program": program })), &map, &here.join("main.c")).await?;
        }
    }
    Ok(())
}

#[tokio::test]
async fn a_go_program_that_was_built_elsewhere_stops_at_the_source_here() -> anyhow::Result<()> {
    let folder = tempfile::tempdir()?;
    let there = child::source("go-echo");
    let here = folder.path().canonicalize()?;
    std::fs::copy(there.join("main.go"), here.join("main.go"))?;
    let line = Subject::Delve.line("handle");
    for map in spellings(&there, &here) {
        let mut launch = Subject::Delve.launch();
        for (key, value) in map.as_object().into_iter().flatten() {
            launch[key] = value.clone();
        }
        let mut editor = DapClient::start_in("editor", HashMap::new(), &Transcript::default())?;
        editor.launch_child(launch, &here.join("main.go"), &[line]).await?;
        editor.ok("processWriteInput", json!({ "data": "hello\n" })).await?;
        let (_, frame) = editor.stop().await?;
        assert_eq!((&frame["source"]["path"], &frame["line"]), (&json!(here.join("main.go")), &json!(line)));
        editor.finish().await?;
    }
    Ok(())
}
