//! An annotated demo: an editor and an agent in one live .NET session. Exits with a
//! non-zero code if a step fails.

use serde_json::json;
use tandem_harness::agent::Agent;
use tandem_harness::client::DapClient;
use tandem_harness::fixture::{self, Runtime};
use tandem_harness::transcript::Transcript;

#[tokio::main(flavor = "current_thread")]
async fn main() -> anyhow::Result<()> {
    // Set-up's own two, or the user's newest.
    let own = [Runtime::Net9, Runtime::Net31];
    let runtimes = if own.iter().all(|runtime| runtime.dotnet().is_some()) {
        own.to_vec()
    } else {
        [Runtime::Net10, Runtime::Net9, Runtime::Net8]
            .into_iter()
            .filter(|runtime| runtime.dotnet().is_some())
            .take(1)
            .collect()
    };
    anyhow::ensure!(!runtimes.is_empty(), "no .NET runtime is set up: run `scripts/setup --demo`");
    for runtime in runtimes {
        eprintln!("\nAn editor and an agent debug `tour` on {}:", runtime.name());
        tell(runtime).await?;
    }
    eprintln!("\nIt works.");
    Ok(())
}

async fn tell(runtime: Runtime) -> anyhow::Result<()> {
    let transcript = Transcript::printing();
    let mut editor = DapClient::start("editor", runtime, &transcript)?;
    editor.launch("tour", &["loop"], json!({})).await?;
    transcript.note("the agent joins the session the editor started");
    let id = editor.ok("sessionInfo", json!({})).await?["id"].clone();
    let mut agent = Agent::start("agent ", runtime, &transcript).await?;
    agent.call("debug_sessions", json!({ "select": id })).await?;
    transcript.note("the program asks for a name; the agent answers, both see the stop");
    agent.call("debug_wait", json!({})).await?;
    agent.call("process_write_input", json!({ "data": "world\n" })).await?;
    agent.call("debug_wait", json!({})).await?;
    let (thread, frame) = editor.stop().await?;
    transcript.note("the editor looks at variables; the agent evaluates and steps");
    let scopes = editor.ok("scopes", json!({ "frameId": frame["id"] })).await?;
    editor
        .ok("variables", json!({ "variablesReference": scopes["scopes"][0]["variablesReference"] }))
        .await?;
    agent.call("debug_evaluate", json!({ "expression": "person.Doubled + 1" })).await?;
    agent.call("debug_step_into", json!({})).await?;
    editor.event("continued").await?;
    editor.stop().await?;
    transcript.note("the editor clears its breakpoint and lets the program run to its end; both see it");
    editor.break_at("tour", &[]).await?;
    editor.ok("continue", json!({ "threadId": thread })).await?;
    let ended = agent.call("debug_wait", json!({})).await?;
    anyhow::ensure!(ended["event"]["exitCode"] == 3, "the program ended with {}", ended["event"]);
    let exited = editor.event("exited").await?;
    anyhow::ensure!(exited["exitCode"] == 3, "the editor received {exited}");
    anyhow::ensure!(
        editor.output[0] == "welcome\nname? hello world: 6\n",
        "the output was {:?}",
        editor.output[0]
    );
    agent.finish().await?;
    editor.finish().await?;
    transcript.note(&format!("program: {}", fixture::source("tour")));
    Ok(())
}
