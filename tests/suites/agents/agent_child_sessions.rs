//! Child processes of the agent's program: their stops end a wait for the program, and they are inspected,
//! stepped and changed like the program itself.

use std::collections::HashMap;

use anyhow::Context;
use serde_json::{Value, json};
use tandem_harness::agent::Agent;
use tandem_harness::child::{self, Subject};
use tandem_harness::client::DapClient;
use tandem_harness::deadline::deadline;
use tandem_harness::transcript::Transcript;

async fn agent(folder: &tempfile::TempDir) -> anyhow::Result<Agent> {
    Agent::in_folder("agent", folder.path(), &[], &Transcript::default()).await
}

fn launch(more: Value) -> Value {
    let mut launch = child::python("workers.py");
    if let (Some(launch), Value::Object(more)) = (launch.as_object_mut(), more) {
        launch.extend(more);
    }
    launch
}

fn line(marker: &str) -> i64 {
    child::line(&child::source("workers.py"), marker)
}

#[tokio::test]
async fn a_stop_in_a_worker_is_reported_and_continued_from() -> anyhow::Result<()> {
    let folder = tempfile::tempdir()?;
    let mut agent = agent(&folder).await?;
    let source = child::source("workers.py");
    let breakpoints = json!([{ "sourceFile": source, "text": "return result" }]);
    let hit = agent.call("debug_launch", launch(json!({ "run": true, "breakpoints": breakpoints }))).await?;
    let (event, parent) = (&hit["event"], hit["session"].clone());
    assert_eq!((&hit["state"], &event["type"]), (&json!("stopped"), &json!("breakpointHit")), "{hit}");
    assert_eq!(
        (&event["line"], &event["breakpointId"]),
        (&json!(line("result")), &hit["breakpoints"][0]["id"])
    );
    let worker = event["session"].as_str().context("it does not say where it stopped")?.to_owned();
    assert_ne!(json!(worker), parent);
    // The message is the first field.
    let first = hit.as_object().and_then(|hit| hit.keys().next().cloned());
    assert_eq!(first.as_deref(), Some("message"), "{hit}");
    assert!(hit["message"].as_str().is_some_and(|message| message.contains(&worker)), "{hit}");

    let listed = agent.call("debug_sessions", json!({})).await?;
    let of = |id: &Value| listed["sessions"].as_array()?.iter().find(|one| one["session"] == *id).cloned();
    let (first, second) = (of(&parent).context("no parent")?, of(&json!(worker)).context("no worker")?);
    assert_eq!((&first["state"], &first["launchedBy"]), (&json!("running"), &json!("you")), "{listed}");
    assert_eq!(
        (&second["state"], &second["parent"], &second["current"]),
        (&json!("stopped"), &parent, &json!(true)),
        "{listed}"
    );
    assert_eq!(second["place"]["line"], line("result"), "{listed}");

    // Without `session`, calls refer to the session that stopped: its variables, its steps.
    let set = agent.call("debug_set_variable", json!({ "name": "result", "value": "100" })).await?;
    assert_eq!(set["value"], "100", "{set}");
    let again = agent.call("debug_continue", json!({})).await?;
    let changed = again["event"]["changed"].to_string();
    assert!(changed.contains("16"), "{again}");
    // A breakpoint that is set while a worker is selected applies to the whole program.
    let done = json!({ "sourceFile": source, "text": "all done" });
    let done = agent.call("debug_set_breakpoint", done).await?;
    let outcome = agent.call("debug_continue", json!({})).await?;
    assert_eq!(outcome["event"]["breakpointId"], done["id"], "{outcome}");
    assert_eq!(outcome["event"]["output"]["stdout"], "squares [100, 16]\n", "{outcome}");
    let ended = agent.call("debug_continue", json!({})).await?;
    assert_eq!((&ended["state"], &ended["event"]["exitCode"]), (&json!("exited"), &json!(0)), "{ended}");
    let status = agent.call("debug_status", json!({})).await?;
    assert_eq!(status["session"], parent, "{status}");
    agent.finish().await
}

#[tokio::test]
async fn two_stopped_workers_are_reported_in_turn() -> anyhow::Result<()> {
    let folder = tempfile::tempdir()?;
    let script = folder.path().join("two.py");
    let text = "import subprocess, sys\nif len(sys.argv) > 1:\n    name = sys.argv[1]\n    print(name)\n\
        else:\n    \
                both = [subprocess.Popen([sys.executable, __file__, name]) for name in ['a', 'b']]\n    \
                for one in both: one.wait()\n";
    std::fs::write(&script, text)?;
    let mut agent = agent(&folder).await?;
    let mut arguments = Subject::Python.with(json!({ "program": script, "run": true }));
    arguments["breakpoints"] = json!([{ "sourceFile": script, "line": 4 }]);
    let first = agent.call("debug_launch", arguments).await?;
    // At a known stop the wait answers at once, until the other one is stopped.
    let other = async {
        loop {
            let result = agent.call("debug_wait", json!({})).await?;
            if result["event"]["session"] != first["event"]["session"] {
                return anyhow::Ok(result);
            }
        }
    };
    let second = tokio::time::timeout(deadline(60), other).await??;
    let (one, two) = (first["event"]["session"].clone(), second["event"]["session"].clone());
    assert!(one.is_string() && two.is_string() && one != two, "{first} {second}");
    assert_eq!(second["alsoStopped"][0]["session"], one, "{second}");
    assert_eq!(second["alsoStopped"][0]["pid"], first["event"]["pid"], "{second}");
    assert!(first["event"]["pid"].is_u64() && first["event"]["pid"] != second["event"]["pid"], "{second}");
    // It continues the named session, and reports only new events of the other.
    let ended = agent.call("debug_continue", json!({ "session": one })).await?;
    assert_eq!(ended["state"], "exited", "{ended}");
    let ended = agent.call("debug_continue", json!({})).await?;
    assert_eq!((&ended["state"], &ended["event"]["exitCode"]), (&json!("exited"), &json!(0)), "{ended}");
    let printed = ended["event"]["output"]["stdout"].as_str().unwrap_or_default();
    assert!(printed.contains('a') || printed.contains('b'), "{ended}");
    agent.finish().await
}

#[tokio::test]
async fn a_stop_in_a_child_of_a_javascript_program_is_reported() -> anyhow::Result<()> {
    let folder = tempfile::tempdir()?;
    let script = folder.path().join("main.js");
    let text = "const { fork } = require('child_process');\nif (process.argv[2]) {\n  const double = \
        process.argv[2] * 2;\n  \
                console.log('child', double);\n} else {\n  \
                fork(__filename, ['21']).on('exit', (code) => console.log('ended', code));\n}\n";
    std::fs::write(&script, text)?;
    let mut agent = agent(&folder).await?;
    let mut arguments = Subject::Js.with(json!({ "program": script, "run": true }));
    arguments["breakpoints"] = json!([{ "sourceFile": script, "line": 4 }]);
    let hit = agent.call("debug_launch", arguments).await?;
    assert!(hit["event"]["session"].is_string() && hit["event"]["line"] == 4, "{hit}");
    let value = agent.call("debug_evaluate", json!({ "expression": "double" })).await?;
    assert_eq!(value["result"], "42", "{value}");
    let ended = agent.call("debug_continue", json!({})).await?;
    assert_eq!(ended["state"], "exited", "{ended}");
    let read = agent.call("process_read_output", json!({})).await?;
    assert_eq!(read["stdout"], "child 42\nended 0\n", "{read}");
    agent.finish().await
}

#[tokio::test]
async fn agents_have_the_same_access_to_a_programs_workers() -> anyhow::Result<()> {
    let mut editor = DapClient::start_in("editor", HashMap::new(), &Transcript::default())?;
    let source = child::source("workers.py");
    let arguments = launch(json!({ "agentAccess": "readOnly", "stopOnEntry": true }));
    editor.launch_child(arguments, &source, &[line("result")]).await?;
    let (thread, _) = editor.stop().await?;
    let folder = tempfile::tempdir()?;
    let mut agent = agent(&folder).await?;
    let info = editor.ok("sessionInfo", json!({})).await?;
    agent.call("debug_sessions", json!({ "select": info["id"] })).await?;
    editor.ok("continue", json!({ "threadId": thread })).await?;
    // A worker of another client's program is followed, too.
    let result = agent.call("debug_wait", json!({})).await?;
    assert!(result["event"]["session"].is_string(), "{result}");
    // Inspection may not run code of the program, which reading a Python object can do.
    let looked = agent.call("debug_variables", json!({})).await?;
    assert_eq!(looked["error"]["code"], "ACCESS_DENIED", "{looked}");
    let refused = agent.call("debug_set_variable", json!({ "name": "result", "value": "1" })).await?;
    assert_eq!(refused["error"]["code"], "ACCESS_DENIED", "{refused}");
    agent.finish().await?;
    editor.finish().await
}
