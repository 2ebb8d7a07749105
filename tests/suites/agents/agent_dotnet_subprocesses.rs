//! Agents and the .NET programs that their program starts: a stop in one is answered like one in the program
//! itself, and one that is not debugged is reported with the way to debug it.

use anyhow::Context;
use serde_json::{Value, json};
use tandem_harness::agent::Agent;
use tandem_harness::deadline::{deadline, deadline_ms};
use tandem_harness::fixture::{self, Runtime};
use tandem_harness::transcript::Transcript;

dotnet_tests! {
    an_agent_debugs_a_program_that_its_program_starts,
    an_agent_learns_how_a_program_that_was_started_is_debugged,
}
net10_tests! {
    an_agent_debugs_what_a_command_of_dotnet_runs,
}

async fn agent(runtime: Runtime) -> anyhow::Result<Agent> {
    Agent::start("agent", runtime, &Transcript::default()).await
}

fn launch_kin(text: &str, more: Value) -> Value {
    let breakpoint = json!({ "sourceFile": fixture::source("kin"), "text": text });
    let mut launch = json!({ "program": fixture::program("kin"), "run": true, "breakpoints": [breakpoint] });
    if let (Some(launch), Value::Object(more)) = (launch.as_object_mut(), more) {
        launch.extend(more);
    }
    launch
}

async fn an_agent_debugs_a_program_that_its_program_starts(runtime: Runtime) -> anyhow::Result<()> {
    let mut agent = agent(runtime).await?;
    let launch = launch_kin(
        "int twice = number * 2;",
        json!({ "args": ["start", "1", "child", "21"], "followChildren": true }),
    );
    let hit = agent.call("debug_launch", launch).await?;
    let (event, parent) = (&hit["event"], hit["session"].clone());
    assert_eq!((&hit["state"], &event["type"]), (&json!("stopped"), &json!("breakpointHit")), "{hit}");
    assert_eq!(event["line"], fixture::line("kin", "child"), "{hit}");
    let child = event["session"].clone();
    assert_ne!(child, parent, "{hit}");
    let listed = agent.call("debug_sessions", json!({})).await?;
    let listed = listed["sessions"].as_array().context("no sessions")?;
    let of = listed.iter().find(|one| one["session"] == child).context("the child is not listed")?;
    assert_eq!((&of["parent"], &of["state"]), (&parent, &json!("stopped")), "{of}");
    let number = agent.call("debug_evaluate", json!({ "expression": "number" })).await?;
    assert_eq!(number["result"], "21", "{number}");
    let stepped = agent.call("debug_step_over", json!({})).await?;
    assert_eq!(stepped["event"]["session"], child, "{stepped}");
    let ended = agent.call("debug_continue", json!({})).await?;
    assert_eq!((&ended["state"], &ended["event"]["exitCode"]), (&json!("exited"), &json!(0)), "{ended}");
    agent.finish().await
}

async fn an_agent_learns_how_a_program_that_was_started_is_debugged(runtime: Runtime) -> anyhow::Result<()> {
    let mut agent = agent(runtime).await?;
    // A program that ends at once may have ended before the engine checks for new processes: this one waits
    // for a file.
    let folder = tempfile::tempdir()?;
    let seen = folder.path().join("seen");
    let wait = format!("for i in $(seq 600); do [ -e '{}' ] && exit; sleep 0.1; done", seen.display());
    let args = json!(["start", "1", "run", "sh", "-c", wait]);
    let launch = launch_kin("int sum = started.Sum(Ended);", json!({ "args": args }));
    let hit = agent.call("debug_launch", launch).await?;
    assert_eq!(hit["event"]["type"], "breakpointHit", "{hit}");
    // The stop may arrive before that check.
    let mut reported = hit;
    let ready = async {
        while reported["startedPrograms"].is_null() {
            reported = agent.call("debug_wait", json!({ "timeoutMs": deadline_ms(1) })).await?;
        }
        anyhow::Ok(())
    };
    tokio::time::timeout(deadline(10), ready)
        .await
        .context("the program that was started is not reported")??;
    let started = &reported["startedPrograms"][0];
    assert_eq!((&started["program"], &started["debugged"]), (&json!("kin.dll"), &json!(false)), "{reported}");
    assert!(reported["message"].as_str().is_some_and(|text| text.contains("followChildren")), "{reported}");
    std::fs::write(seen, "")?;
    let ended = agent.call("debug_continue", json!({})).await?;
    assert_eq!(ended["event"]["exitCode"], 0, "{ended}");
    agent.finish().await
}

async fn an_agent_debugs_what_a_command_of_dotnet_runs(runtime: Runtime) -> anyhow::Result<()> {
    let projects = fixture::dotnet_test_projects();
    let mut command = tokio::process::Command::new(fixture::binary("tandem-mcp"));
    command.current_dir(&projects).envs(runtime.environment().context("no runtime")?);
    let mut agent = Agent::spawn("agent", command, &Transcript::default()).await?;
    let dotnet = runtime.dotnet().context("no runtime")?;
    let source = projects.join("Cart.cs");
    let breakpoint = json!({ "sourceFile": source, "text": "int sum = 0;" });
    let filter = "FullyQualifiedName=Tests.CartTests.Fails";
    // Nothing says `followChildren`: it is the default for commands of the SDK.
    let launch = json!({ "program": dotnet, "args": ["test", "xunit2", "--no-build", "--filter", filter],
        "cwd": projects, "run": true, "breakpoints": [breakpoint], "timeoutMs": deadline_ms(55) });
    let hit = agent.call("debug_launch", launch).await?;
    assert_eq!(hit["event"]["type"], "breakpointHit", "{hit}");
    assert_eq!(hit["event"]["function"], "Shop.Cart.Sum(int[] prices)", "{hit}");
    assert!(hit["event"]["program"].as_str().is_some_and(|name| name.starts_with("testhost of ")), "{hit}");
    // The exception filters of an agent hold there, too.
    let failed = agent.call("debug_continue", json!({ "timeoutMs": deadline_ms(55) })).await?;
    assert_eq!(failed["event"]["function"], "Tests.CartTests.Fails()", "{failed}");
    let ended = agent.call("debug_continue", json!({ "timeoutMs": deadline_ms(55) })).await?;
    assert_eq!((&ended["state"], &ended["event"]["exitCode"]), (&json!("exited"), &json!(1)), "{ended}");
    agent.finish().await
}
