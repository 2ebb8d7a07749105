//! Lists the other clients of a session in an editor. Inspecting a session does not count
//! as joining and leaving it.

use serde_json::json;
use tandem_harness::client::DapClient;
use tandem_harness::fixture::{self, Runtime, binary};
use tandem_harness::transcript::Transcript;

dotnet_tests! {
    each_client_knows_which_one_it_is_and_looking_is_not_joining,
    a_hook_that_joins_no_session_knows_which_one_is_stopped,
}

async fn each_client_knows_which_one_it_is_and_looking_is_not_joining(
    runtime: Runtime,
) -> anyhow::Result<()> {
    let transcript = Transcript::default();
    let mut first = DapClient::start("first", runtime, &transcript)?;
    first.launch("echo", &[], json!({})).await?;
    first.ok("sessionInfo", json!({ "subscribe": true })).await?;
    let socket = first.socket().await?;
    // As a client that lists sessions does.
    drop(std::os::unix::net::UnixStream::connect(&socket)?);
    let mut second = DapClient::connect("second", &socket, &transcript).await?;
    second.join(json!({ "clientID": "other", "clientName": "second" })).await?;
    let changed = first.event("sessionChanged").await?;
    assert_eq!((&changed["change"], &changed["client"]), (&json!("joined"), &json!("second")));
    for (client, name) in [(&mut first, "first"), (&mut second, "second")] {
        let info = client.ok("sessionInfo", json!({})).await?;
        let you: Vec<_> =
            info["clients"].as_array().into_iter().flatten().filter(|one| one["you"] == true).collect();
        assert_eq!(you.len(), 1, "{info}");
        assert_eq!(you[0]["name"], name);
    }
    second.finish().await?;
    let changed = first.event("sessionChanged").await?;
    assert_eq!((&changed["change"], &changed["client"]), (&json!("left"), &json!("second")));
    first.finish().await
}

/// The output of `tandem-mcp status`.
async fn status(flags: &[&str]) -> anyhow::Result<String> {
    let mut command = tokio::process::Command::new(binary("tandem-mcp"));
    let output = command.arg("status").args(flags).output().await?;
    anyhow::ensure!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    Ok(String::from_utf8(output.stdout)?)
}

async fn a_hook_that_joins_no_session_knows_which_one_is_stopped(runtime: Runtime) -> anyhow::Result<()> {
    let mut editor = DapClient::start("editor", runtime, &Transcript::default())?;
    editor.launch("tour", &["main"], json!({})).await?;
    editor.stop().await?;
    editor.ok("sessionInfo", json!({ "subscribe": true })).await?;
    let id = editor.ok("sessionInfo", json!({})).await?["id"].as_str().unwrap_or_default().to_owned();
    let mine = |text: &str| text.lines().find(|line| line.contains(&id)).map(str::to_owned);
    let line = mine(&status(&["--stops"]).await?).unwrap_or_default();
    let place = format!("Program.cs:{} in Program.Main", fixture::line("tour", "main"));
    assert!(line.contains("is stopped at ") && line.contains(&place), "{line}");
    let all: serde_json::Value = serde_json::from_str(&status(&["--json"]).await?)?;
    let listed = all["sessions"].as_array().into_iter().flatten();
    anyhow::ensure!(
        listed.filter(|one| one["session"] == id && one["state"] == "stopped").count() == 1,
        "{all}"
    );
    // Whether agents may look is the person's choice.
    editor.ok("sessionControl", json!({ "agentAccess": "none" })).await?;
    assert_eq!(mine(&status(&["--stops"]).await?), None);
    assert!(mine(&status(&[]).await?).is_some_and(|line| line.contains("Agents may not look at it")));
    // No client was seen to join or leave.
    let changed = editor.event("sessionChanged").await?;
    assert_eq!(changed["change"], "agentAccess", "{changed}");
    editor.finish().await
}
