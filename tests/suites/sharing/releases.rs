//! Sessions of other releases: an older one is joined, a newer one is refused by name, by adapter and bridge
//! alike.

use anyhow::Context;
use serde_json::{Value, json};
use tandem_harness::agent::Agent;
use tandem_harness::client::DapClient;
use tandem_harness::fixture::Runtime;
use tandem_harness::transcript::Transcript;

dotnet_tests! { a_session_of_a_newer_release_is_refused_by_name, a_session_of_an_older_release_is_joined }

/// A running session, its id and the file that lists it.
async fn session(runtime: Runtime) -> anyhow::Result<(DapClient, String, std::path::PathBuf)> {
    let mut editor = DapClient::start("editor", runtime, &Transcript::default())?;
    editor.launch("spin", &[], json!({})).await?;
    let file = editor.socket().await?.with_extension("json");
    let id = file.file_stem().and_then(|name| name.to_str()).context("a session without an id")?.to_owned();
    Ok((editor, id, file))
}

/// Writes the session's file as a host of another release would have.
fn rewrite(
    file: &std::path::Path,
    change: impl FnOnce(&mut serde_json::Map<String, Value>),
) -> anyhow::Result<()> {
    let mut entry: Value = serde_json::from_slice(&std::fs::read(file)?)?;
    change(entry.as_object_mut().context("no object")?);
    Ok(std::fs::write(file, serde_json::to_vec(&entry)?)?)
}

async fn a_session_of_a_newer_release_is_refused_by_name(runtime: Runtime) -> anyhow::Result<()> {
    let (editor, id, file) = session(runtime).await?;
    rewrite(&file, |entry| {
        entry.insert("protocol".into(), json!(99));
        entry.insert("version".into(), json!("9.8.7"));
    })?;
    let mut late = DapClient::start("late", runtime, &Transcript::default())?;
    late.ok("initialize", json!({ "clientID": "other" })).await?;
    let refused = late.ask("attach", json!({ "session": id })).await?;
    let mut agent = Agent::start("agent", runtime, &Transcript::default()).await?;
    let selected = agent.call("debug_sessions", json!({ "select": id })).await?;
    for error in [&refused.body["error"]["variables"], &selected["error"]] {
        assert_eq!(error["code"], "UNSUPPORTED", "{error}");
        let message = error["message"].as_str().context("no message")?;
        assert!(message.contains("Tandem 9.8.7 started it") && message.contains("protocol 99"), "{error}");
        assert!(error["hint"].as_str().context("no hint")?.contains("update"), "{error}");
    }
    // It is still listed, and both are usable afterwards.
    let listed = agent.call("debug_sessions", json!({})).await?;
    assert!(
        listed["sessions"].as_array().context("no list")?.iter().any(|one| one["session"] == json!(id)),
        "{listed}"
    );
    assert_eq!(late.refused("attach", json!({ "session": "no-such" })).await?, "NO_SESSION");
    agent.finish().await?;
    late.finish().await?;
    editor.finish().await
}

async fn a_session_of_an_older_release_is_joined(runtime: Runtime) -> anyhow::Result<()> {
    let (editor, id, file) = session(runtime).await?;
    rewrite(&file, |entry| {
        entry.retain(|name, _| name != "protocol" && name != "version");
    })?;
    let mut late = DapClient::start("late", runtime, &Transcript::default())?;
    late.ok("initialize", json!({ "clientID": "other" })).await?;
    late.ok("attach", json!({ "session": id })).await?;
    let mut agent = Agent::start("agent", runtime, &Transcript::default()).await?;
    let selected = agent.call("debug_sessions", json!({ "select": id })).await?;
    assert_eq!(selected["state"], "running", "{selected}");
    agent.finish().await?;
    late.finish().await?;
    editor.finish().await
}
