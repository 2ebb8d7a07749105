//! What an editor shows of the others: who is in the session, and that merely looking at one is no coming and going.

use serde_json::json;
use tests::client::DapClient;
use tests::fixture::Runtime;
use tests::transcript::Transcript;

stories! {
    each_client_knows_which_one_it_is_and_looking_is_not_joining,
}

async fn each_client_knows_which_one_it_is_and_looking_is_not_joining(
    runtime: Runtime,
) -> anyhow::Result<()> {
    let story = Transcript::default();
    let mut first = DapClient::start("first", runtime, &story)?;
    first.launch("echo", &[], json!({})).await?;
    first.ok("sessionInfo", json!({ "subscribe": true })).await?;
    let socket = first.socket().await?;
    // As whoever lists sessions does.
    drop(std::os::unix::net::UnixStream::connect(&socket)?);
    let mut second = DapClient::connect("second", &socket, &story).await?;
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
