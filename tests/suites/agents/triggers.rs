//! `trigger`: an action that an agent starts while it waits for a stop. The answer contains the stop, and the
//! result of the trigger if that has ended. A trigger never delays the agent, and never outlives it.

use std::time::{Duration, Instant};

use anyhow::Context;
use serde_json::{Value, json};
use tandem_harness::agent::Agent;
use tandem_harness::child::Subject;
use tandem_harness::deadline::{deadline, deadline_ms};
use tandem_harness::transcript::Transcript;

/// A server that says where it listens; `/double?n=` doubles.
const SERVER: &str = "\
import http.server


class Handler(http.server.BaseHTTPRequestHandler):
    def do_GET(self):
        number = int(self.path.partition('=')[2] or 0)
        answer = number * 2
        self.send_response(200)
        self.end_headers()
        self.wfile.write(str(answer).encode())

    def log_message(self, *parts):
        pass


server = http.server.HTTPServer(('127.0.0.1', 0), Handler)
print('listening on http://127.0.0.1:%d' % server.server_port, flush=True)
server.serve_forever()
";

async fn agent_in(folder: &std::path::Path, flags: &[&str]) -> anyhow::Result<Agent> {
    Agent::in_folder("agent", folder, flags, &Transcript::default()).await
}

/// The agent's server, running, and where it listens.
async fn serving(agent: &mut Agent, folder: &std::path::Path) -> anyhow::Result<String> {
    let path = folder.join("server.py");
    std::fs::write(&path, SERVER)?;
    let mut launch = Subject::Python.launch();
    launch["program"] = json!(path);
    launch["run"] = json!(true);
    launch["waitFor"] = json!("listening on (\\S+)");
    let started = agent.call("debug_launch", launch).await?;
    Ok(started["urls"][0].as_str().with_context(|| format!("it does not listen: {started}"))?.to_owned())
}

#[tokio::test]
async fn a_request_is_sent_while_the_agent_waits_for_the_stop_in_its_handler() -> anyhow::Result<()> {
    let folder = tempfile::tempdir()?;
    let mut agent = agent_in(folder.path(), &[]).await?;
    let url = serving(&mut agent, folder.path()).await?;
    let place = json!({ "sourceFile": folder.path().join("server.py"), "text": "answer = number * 2" });
    agent.call("debug_set_breakpoint", place).await?;
    let request = json!({ "url": format!("{url}/double?n=21") });
    let stop = agent.call("debug_wait", json!({ "trigger": request })).await?;
    assert_eq!(stop["event"]["type"], "breakpointHit", "{stop}");
    assert_eq!(stop["trigger"]["state"], "running", "{stop}");
    let value = agent.call("debug_evaluate", json!({ "expressions": ["number"] })).await?;
    assert_eq!(value["results"][0]["result"], "21", "{value}");
    // It is answered when the program resumes; until then no wait reports it.
    agent.call("debug_remove_breakpoint", json!({ "all": true })).await?;
    let request = json!({ "timeoutMs": deadline_ms(3), "trigger": format!("{url}/double?n=4") });
    let on = agent.call("debug_continue", request).await?;
    let both = [on["trigger"].clone(), on["triggers"][0].clone(), on["triggers"][1].clone()];
    let mut bodies: Vec<&Value> =
        both.iter().map(|one| &one["body"]).filter(|body| !body.is_null()).collect();
    bodies.sort_by_key(|body| body.to_string());
    assert_eq!(json!(bodies), json!(["42", "8"]), "{on}");
    assert!(on["message"].as_str().is_some_and(|text| text.contains("has ended")), "{on}");
    // `debug_follow` accepts a trigger, too.
    let follow = json!({ "function": "do_GET", "trigger": format!("{url}/double?n=7") });
    let life = agent.call("debug_follow", follow).await?;
    assert!(life["life"].to_string().contains("answer=14"), "{life}");
    agent.finish().await
}

#[tokio::test]
async fn a_trace_ends_with_its_trigger_and_a_trigger_without_a_listener_is_reported() -> anyhow::Result<()> {
    let folder = tempfile::tempdir()?;
    let mut agent = agent_in(folder.path(), &[]).await?;
    let url = serving(&mut agent, folder.path()).await?;
    let trace = json!({ "sourceFile": folder.path().join("server.py"), "text": "answer = number * 2",
        "expressions": ["number"], "trigger": format!("{url}/double?n=5") });
    let table = agent.call("debug_trace", trace).await?;
    assert_eq!((&table["ended"], &table["rows"]), (&json!("triggered"), &json!([["5"]])), "{table}");
    assert_eq!(
        (&table["trigger"]["status"], &table["trigger"]["body"]),
        (&json!(200), &json!("10")),
        "{table}"
    );
    for (wrong, code) in [
        (json!("http://example.org/"), "ACCESS_DENIED"),
        (json!("https://localhost/"), "ACCESS_DENIED"),
        (json!({ "url": "nowhere" }), "INVALID_PARAMETER"),
        (json!({ "url": url, "input": "x" }), "INVALID_PARAMETER"),
        (json!({ "command": "true" }), "ACCESS_DENIED"),
    ] {
        let refused = agent.call("debug_wait", json!({ "trigger": wrong, "timeoutMs": 100 })).await?;
        assert_eq!(refused["error"]["code"], code, "{wrong}: {refused}");
    }
    agent.finish().await
}

#[tokio::test]
async fn input_is_written_while_the_agent_waits() -> anyhow::Result<()> {
    let folder = tempfile::tempdir()?;
    let mut agent = agent_in(folder.path(), &[]).await?;
    let subject = Subject::Python;
    let mut launch = subject.launch();
    launch["run"] = json!(true);
    launch["breakpoints"] = json!([{ "sourceFile": subject.source(), "line": subject.line("handle") }]);
    launch["trigger"] = json!({ "input": "one\n" });
    agent.call("debug_set_exception_breakpoints", json!({ "filters": [] })).await?;
    let stop = agent.call("debug_launch", launch).await?;
    assert_eq!(stop["event"]["type"], "breakpointHit", "{stop}");
    assert_eq!(stop["trigger"]["bytesWritten"], 4, "{stop}");
    let next =
        agent.call("debug_continue", json!({ "trigger": { "input": "two\n", "close": true } })).await?;
    assert_eq!(next["event"]["type"], "breakpointHit", "{next}");
    let end = agent.call("debug_continue", json!({})).await?;
    assert_eq!(end["event"]["exitCode"], 7, "{end}");
    agent.finish().await
}

#[tokio::test]
async fn a_command_that_never_ends_holds_nobody_and_ends_with_the_bridge() -> anyhow::Result<()> {
    let folder = tempfile::tempdir()?;
    let mut agent = agent_in(folder.path(), &["--allow-commands"]).await?;
    let subject = Subject::Python;
    let mut launch = subject.launch();
    launch["run"] = json!(true);
    launch["timeoutMs"] = json!(500);
    agent.call("debug_launch", launch).await?;
    // A duration that no other process uses.
    let time = format!("8{}", std::process::id());
    let wait = json!({ "trigger": { "command": format!("sleep {time}") }, "timeoutMs": 300 });
    let first = agent.call("debug_wait", wait.clone()).await?;
    assert_eq!(first["trigger"]["state"], "running", "{first}");
    for _ in 1..8 {
        agent.call("debug_wait", wait.clone()).await?;
    }
    let many = agent.call("debug_wait", wait).await?;
    assert_eq!(many["error"]["code"], "INVALID_PARAMETER", "{many}");
    let done = agent.call("debug_wait", json!({ "trigger": "false", "timeoutMs": 5000 })).await?;
    assert_eq!(done["error"]["code"], "INVALID_PARAMETER", "{done}");
    agent.finish().await?;
    let end = Instant::now() + deadline(20);
    while sleeps(&time)? {
        anyhow::ensure!(Instant::now() < end, "a command is left");
        tokio::time::sleep(Duration::from_millis(50)).await;
    }
    Ok(())
}

/// Whether a `sleep` of this time runs.
fn sleeps(time: &str) -> anyhow::Result<bool> {
    let expected = format!("sleep\0{time}\0");
    for process in std::fs::read_dir("/proc")?.flatten() {
        if std::fs::read(process.path().join("cmdline")).is_ok_and(|line| line == expected.as_bytes()) {
            return Ok(true);
        }
    }
    Ok(false)
}
