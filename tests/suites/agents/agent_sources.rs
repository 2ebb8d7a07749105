//! `debug_source` for code whose source is not on this machine, and its error if there is no source.

use anyhow::Context;
use serde_json::{Value, json};
use tandem_harness::agent::Agent;
use tandem_harness::decompiler::Decompiler;
use tandem_harness::distant::{self, DistantSources, SERVED};
use tandem_harness::fixture::Runtime;
use tandem_harness::transcript::Transcript;
use tandem_harness::web::{Reply, WebServer};

net10_tests! {
    an_agent_reads_a_source_that_was_fetched,
    an_agent_reads_what_was_decompiled,
    an_agent_learns_how_a_source_would_be_had,
}

async fn agent(distant: &DistantSources) -> anyhow::Result<Agent> {
    let mut command = tokio::process::Command::new(tandem_harness::fixture::binary("tandem-mcp"));
    command.envs(&distant.environment).current_dir(distant.path("bin"));
    Agent::spawn("agent", command, &Transcript::default()).await
}

/// Launches, and runs to a function of the library; returns the frame of it.
async fn in_library(agent: &mut Agent, distant: &DistantSources, more: Value) -> anyhow::Result<Value> {
    let mut launch =
        distant.arguments(json!({ "breakpoints": [{ "function": "Distant.Counter.Count" }], "run": true }));
    if let (Some(launch), Some(more)) = (launch.as_object_mut(), more.as_object()) {
        launch.extend(more.clone());
    }
    let launched = agent.call("debug_launch", launch).await?;
    assert_eq!(launched["state"], "stopped", "{launched}");
    let stack = agent.call("debug_stacktrace", json!({})).await?;
    let frame = stack["frames"][0].clone();
    assert!(frame["function"].as_str().is_some_and(|name| name.contains("Counter.Count")), "{stack}");
    Ok(frame)
}

async fn an_agent_reads_a_source_that_was_fetched(runtime: Runtime) -> anyhow::Result<()> {
    let web = WebServer::start_tls(|path| {
        if path == SERVED { Reply::Body(distant::text().into()) } else { Reply::absent() }
    })
    .await?;
    let distant = DistantSources::with_sources(runtime, &web).await?;
    let mut agent = agent(&distant).await?;
    let allowed = json!({ "sourceLinkOptions": { "https://sources.example/*": { "enabled": true } } });
    let frame = in_library(&mut agent, &distant, allowed).await?;
    assert_eq!(web.requests().len(), 0);
    let source = agent.call("debug_source", json!({ "frameId": frame["id"], "count": 5 })).await?;
    assert_eq!((&source["file"], &source["success"]), (&json!(distant::COMPILED), &json!(true)), "{source}");
    assert_eq!(source["origin"], json!(format!("at https://sources.example{SERVED}")));
    let lines = source["lines"].to_string();
    assert!(
        lines.contains(&format!(">  {} ", distant::line("first"))) && lines.contains("int letters = 0;"),
        "{lines}"
    );
    agent.call("debug_disconnect", json!({ "terminate": true })).await?;
    agent.finish().await
}

async fn an_agent_reads_what_was_decompiled(runtime: Runtime) -> anyhow::Result<()> {
    let mut distant = DistantSources::new(runtime)?;
    let own = distant.take_pdb()?;
    let decompiler = Decompiler::new(&distant, &own, "cp \"$made\" \"$out/$name.pdb\"")?;
    distant.environment.insert("PATH".into(), decompiler.path());
    let mut agent = agent(&distant).await?;
    let frame = in_library(&mut agent, &distant, json!({ "justMyCode": true })).await?;
    let source = agent.call("debug_source", json!({ "frameId": frame["id"], "count": 5 })).await?;
    assert_eq!((&source["origin"], &source["success"]), (&json!("decompiled"), &json!(true)), "{source}");
    let lines = source["lines"].to_string();
    assert!(lines.contains(&format!(">  {} ", distant::line("first"))), "{lines}");
    let file = source["file"].as_str().context("a file in the cache")?;
    assert!(std::path::Path::new(file).is_file(), "{file}");
    agent.call("debug_disconnect", json!({ "terminate": true })).await?;
    agent.finish().await
}

async fn an_agent_learns_how_a_source_would_be_had(runtime: Runtime) -> anyhow::Result<()> {
    let mut distant = DistantSources::new(runtime)?;
    distant.environment.insert("PATH".into(), "/usr/bin:/bin".into());
    for has_symbols in [true, false] {
        if !has_symbols {
            distant.take_pdb()?;
        }
        let mut agent = agent(&distant).await?;
        let frame = in_library(&mut agent, &distant, json!({})).await?;
        let refused = agent.call("debug_source", json!({ "frameId": frame["id"] })).await?;
        let error = &refused["error"];
        let code = if has_symbols { "ACCESS_DENIED" } else { "NOT_FOUND" };
        assert_eq!((&refused["success"], &error["code"]), (&json!(false), &json!(code)), "{refused}");
        let ways: Vec<&str> =
            error["ways"].as_array().into_iter().flatten().filter_map(|way| way["way"].as_str()).collect();
        let hint = error["hint"].as_str().context("a hint")?;
        if has_symbols {
            assert_eq!(ways, ["file", "sourceLink", "decompiler"]);
            assert!(hint.contains(&format!("https://sources.example{SERVED}")), "{hint}");
            assert!(
                hint.contains("`sourceLinkOptions: {\"https://sources.example/*\":{\"enabled\":true}}`"),
                "{hint}"
            );
        } else {
            assert_eq!(ways, ["symbolServer", "decompiler"]);
            assert!(hint.contains("searchNuGetOrgSymbolServer"), "{hint}");
        }
        assert!(hint.contains("dotnet tool install --global ilspycmd"), "{hint}");
        agent.call("debug_disconnect", json!({ "terminate": true })).await?;
        agent.finish().await?;
    }
    Ok(())
}
