//! Programs from elsewhere, debugged by an agent. They are fetched by `scripts/real`, so these tests run only
//! when they are asked for: `scripts/real && cargo build --workspace && cargo nextest run --workspace
//! --run-ignored only -E 'test(real_agents)'`. The tests are in the children, by language; this module has
//! the steps that most of them share.

mod go;
mod javascript;
mod native;
mod on_net10;
mod python;
mod ruby;
mod shell;

use std::path::Path;

use anyhow::{Context, ensure};
use serde_json::{Value, json};
use tandem_harness::agent::Agent;
use tandem_harness::deadline::deadline_ms;
use tandem_harness::fixture;
use tandem_harness::transcript::Transcript;
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::task::JoinHandle;

/// A program that `scripts/real` has fetched: a value of its JSON.
fn fetched_path(pointer: &str) -> anyhow::Result<String> {
    let text = std::fs::read_to_string(fixture::cache().join("real-agents.json"))
        .context("run `scripts/real` first")?;
    let all: Value = serde_json::from_str(&text)?;
    all.pointer(pointer).and_then(Value::as_str).map(str::to_owned).with_context(|| format!("no `{pointer}`"))
}

/// A copy of what was fetched: the program writes into its folder.
fn copy_fetched(pointer: &str) -> anyhow::Result<tempfile::TempDir> {
    let folder = tempfile::tempdir()?;
    let mut copy = std::process::Command::new("cp");
    copy.arg("-R").arg(format!("{}/.", fetched_path(pointer)?)).arg(folder.path());
    ensure!(copy.status()?.success(), "`{copy:?}` fails");
    Ok(folder)
}

/// Requests a page of a server in the background, because the server may be stopped.
fn request(port: u16, path: &'static str) -> JoinHandle<anyhow::Result<String>> {
    tokio::spawn(async move {
        let mut stream = tokio::net::TcpStream::connect(("127.0.0.1", port)).await?;
        let request = format!("GET {path} HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n\r\n");
        stream.write_all(request.as_bytes()).await?;
        let mut answer = String::new();
        stream.read_to_string(&mut answer).await?;
        Ok(answer)
    })
}

/// An agent on its way through one of the programs.
struct AgentRun {
    agent: Agent,
    /// The breakpoints that its launch has set.
    breakpoints: Vec<Value>,
}

impl AgentRun {
    /// Starts an agent in the program's folder, with the tools of set-up on its `PATH`.
    async fn begin(folder: &Path) -> anyhow::Result<Self> {
        let mut command = tokio::process::Command::new(fixture::binary("tandem-mcp"));
        command.current_dir(folder);
        let tools = tandem_harness::child::with_tools(json!({}))?;
        for (name, value) in tools["env"].as_object().into_iter().flatten() {
            command.env(name, value.as_str().unwrap_or_default());
        }
        let agent = Agent::spawn("agent", command, &Transcript::default()).await?;
        Ok(Self { agent, breakpoints: Vec::new() })
    }

    /// A call that succeeds.
    async fn call(&mut self, tool: &str, arguments: Value) -> anyhow::Result<Value> {
        let answer = self.agent.call(tool, arguments).await?;
        ensure!(answer["success"] == true, "`{tool}`: {answer}");
        Ok(answer)
    }

    /// Checks that the program's own tests pass without a debugger. The first build may outlast one call.
    async fn passes(&mut self, tool: &str, arguments: Value) -> anyhow::Result<()> {
        let mut result = self.call("run_tests", arguments.clone()).await?;
        for _ in 0..5 {
            if result["pending"] != true {
                break;
            }
            result = self.call("run_tests", arguments.clone()).await?;
        }
        ensure!(
            result["tool"] == tool && result["tests"]["passed"] == 1 && result["tests"]["failed"] == 0,
            "{result}"
        );
        Ok(())
    }

    /// Starts it: `debug_launch` or `debug_launch_test`.
    async fn launch(&mut self, tool: &str, mut arguments: Value) -> anyhow::Result<Value> {
        // A build before it takes additional time: both together must be answered
        // within the agent's deadline.
        arguments["timeoutMs"] = json!(deadline_ms(25));
        let is_server = !arguments["waitFor"].is_null();
        let answer = self.call(tool, arguments).await?;
        let set = answer["breakpoints"].as_array().into_iter().flatten();
        self.breakpoints = set.map(|breakpoint| breakpoint["id"].clone()).collect();
        // A build may take longer than a call waits. A server that is up then stops nowhere yet.
        match answer["pending"] == true && !is_server {
            true => self.call("debug_wait", json!({ "timeoutMs": deadline_ms(50) })).await,
            false => Ok(answer),
        }
    }

    /// Checks that it is stopped at one of the agent's breakpoints, in this function.
    fn hits(&self, answer: &Value, function: &str) -> anyhow::Result<()> {
        let event = &answer["event"];
        ensure!(event["type"] == "breakpointHit", "no breakpoint is hit: {answer}");
        ensure!(self.breakpoints.contains(&event["breakpointId"]), "the answer does not name it: {answer}");
        ensure!(event["function"].as_str().is_some_and(|name| name.contains(function)), "{answer}");
        Ok(())
    }

    /// Waits for the breakpoint that a request to the program hits.
    async fn waits_for(&mut self, function: &str) -> anyhow::Result<Value> {
        let hit = self.call("debug_wait", json!({})).await?;
        self.hits(&hit, function)?;
        Ok(hit)
    }

    /// Expressions and their values.
    async fn check_values(&mut self, expected: &[(&str, &str)]) -> anyhow::Result<()> {
        let expressions: Vec<&str> = expected.iter().map(|(expression, _)| *expression).collect();
        let result = self.call("debug_evaluate", json!({ "expressions": expressions })).await?;
        for (at, (expression, value)) in expected.iter().enumerate() {
            ensure!(result["results"][at]["result"] == *value, "`{expression}` is not `{value}`: {result}");
        }
        Ok(())
    }

    /// Sets a variable to a value.
    async fn sets(&mut self, name: &str, value: &str) -> anyhow::Result<()> {
        self.call("debug_set_variable", json!({ "name": name, "value": value })).await.map(|_| ())
    }

    /// Steps, a few times if need be, until a step has changed this variable to this value.
    async fn steps_until(&mut self, name: &str, value: &str) -> anyhow::Result<Value> {
        let mut steps = Vec::new();
        for _ in 0..6 {
            let stepped = self.call("debug_step_over", json!({})).await?;
            let changed = stepped["event"]["changed"].as_array().into_iter().flatten();
            if changed.into_iter().any(|row| row["name"] == name && row["value"] == value) {
                return Ok(stepped);
            }
            steps.push(stepped);
        }
        anyhow::bail!("`{name}` does not become `{value}`: {steps:?}")
    }

    /// Removes the agent's breakpoints.
    async fn remove_breakpoints(&mut self) -> anyhow::Result<()> {
        for id in std::mem::take(&mut self.breakpoints) {
            self.call("debug_remove_breakpoint", json!({ "breakpointId": id })).await?;
        }
        Ok(())
    }

    /// Runs it to its end: its exit code, and what is somewhere in its output.
    async fn ends(mut self, code: i64, says: &str) -> anyhow::Result<()> {
        self.remove_breakpoints().await?;
        let ended = self.call("debug_continue", json!({ "timeoutMs": deadline_ms(50) })).await?;
        self.has_ended(&ended, code, says).await
    }

    /// Checks the exit code and the output of a program that has ended.
    async fn has_ended(mut self, ended: &Value, code: i64, says: &str) -> anyhow::Result<()> {
        ensure!(ended["state"] == "exited" && ended["event"]["exitCode"] == code, "{ended}");
        let read = self.call("process_read_output", json!({ "since": "o0.e0", "maxBytes": 200_000 })).await?;
        let has = |stream: &str| read[stream].as_str().is_some_and(|text| text.contains(says));
        ensure!(has("stdout") || has("stderr"), "`{says}` is not in {read}");
        self.agent.finish().await
    }

    /// Lets a server answer, and ends it.
    async fn serves(mut self, request: JoinHandle<anyhow::Result<String>>, says: &str) -> anyhow::Result<()> {
        self.remove_breakpoints().await?;
        self.call("debug_continue", json!({ "timeoutMs": 500 })).await?;
        let answer = request.await??;
        ensure!(answer.contains(says), "{answer}");
        self.call("debug_disconnect", json!({ "terminate": true })).await?;
        self.agent.finish().await
    }
}
