//! Independence of clients: many of them, some that do not read, slow evaluations, cancelling, and the
//! order of answers. None blocks another.

use anyhow::Context;
use serde_json::{Value, json};
use tandem_harness::client::DapClient;
use tandem_harness::deadline::deadline;
use tandem_harness::fixture::Runtime;
use tandem_harness::transcript::Transcript;

dotnet_tests! {
    sixty_four_clients_share_a_session_and_one_that_does_not_read_is_dropped,
    answers_come_in_an_order_a_client_can_rely_on,
    a_wait_is_cancelled_and_the_session_continues,
    a_slow_evaluation_keeps_no_other_waiting_and_is_cancelled,
    requests_right_after_a_step_do_not_lose_its_stop,
}

net8_tests! { requests_right_after_a_step_do_not_lose_its_stop }

/// `spin`, running, and its socket.
async fn launch_spin(runtime: Runtime) -> anyhow::Result<(DapClient, std::path::PathBuf)> {
    let mut editor = DapClient::start("editor", runtime, &Transcript::default())?;
    editor.launch("spin", &[], json!({})).await?;
    let socket = editor.socket().await?;
    Ok((editor, socket))
}

async fn sixty_four_clients_share_a_session_and_one_that_does_not_read_is_dropped(
    runtime: Runtime,
) -> anyhow::Result<()> {
    let (mut editor, socket) = launch_spin(runtime).await?;
    let mut clients = Vec::new();
    for _ in 0..62 {
        let mut client = DapClient::connect("other", &socket, &Transcript::default()).await?;
        client.join(json!({ "clientID": "other" })).await?;
        clients.push(client);
    }
    editor.ok("sessionInfo", json!({ "subscribe": true })).await?;
    // It keeps sending requests and never reads: its answers fill its socket, then its queue, and then it is
    // dropped.
    let mut stuck = DapClient::connect("stuck", &socket, &Transcript::default()).await?;
    stuck.join(json!({ "clientID": "other", "clientName": "stuck" })).await?;
    assert_eq!(editor.event("sessionChanged").await?["client"], "stuck");
    let flood = async {
        // Reads until the connection is closed; bounded by the deadline below.
        while stuck.send("sessionInfo", json!({})).await.is_ok() {}
    };
    tokio::time::timeout(deadline(60), flood).await.context("it is never dropped")?;
    let left = editor.event("sessionChanged").await?;
    assert_eq!((&left["change"], &left["client"]), (&json!("left"), &json!("stuck")));
    assert!(left["reason"].as_str().is_some_and(|reason| reason.contains("does not read")), "{left}");
    // All other clients still get the stop.
    clients.last_mut().context("no client")?.ok("pause", json!({})).await?;
    for client in &mut clients {
        client.event("stopped").await?;
    }
    editor.event("stopped").await?;
    editor.finish().await
}

async fn answers_come_in_an_order_a_client_can_rely_on(runtime: Runtime) -> anyhow::Result<()> {
    let mut editor = DapClient::start("editor", runtime, &Transcript::default())?;
    editor.launch("tour", &["loop"], json!({})).await?;
    editor.ok("processWriteInput", json!({ "data": "bob\n" })).await?;
    let (thread, frame) = editor.stop().await?;
    // All of these go to the engine; they come back as they went.
    let mut sent = Vec::new();
    for round in 0..20 {
        sent.push(editor.send("stackTrace", json!({ "threadId": thread })).await?);
        sent.push(editor.send("scopes", json!({ "frameId": frame["id"] })).await?);
        let expression = json!({ "expression": format!("{round}"), "frameId": frame["id"] });
        sent.push(editor.send("evaluate", expression).await?);
        sent.push(editor.send("threads", json!({})).await?);
    }
    let mut order = Vec::new();
    while order.len() < sent.len() {
        order.push(editor.next_response().await?.request_seq);
    }
    assert_eq!(order, sent);
    editor.finish().await
}

async fn a_wait_is_cancelled_and_the_session_continues(runtime: Runtime) -> anyhow::Result<()> {
    let (mut editor, _) = launch_spin(runtime).await?;
    let wait = json!({ "waitFor": "never printed", "timeoutMs": 600_000 });
    let waits = editor.send("processReadOutput", wait).await?;
    // Other requests do not wait for it.
    editor.ok("pause", json!({})).await?;
    editor.event("stopped").await?;
    editor.ok("cancel", json!({ "requestId": waits })).await?;
    let answer = editor.response(waits).await?;
    assert_eq!((answer.success, answer.message.as_deref()), (false, Some("cancelled")));
    assert_eq!(answer.body["error"]["variables"]["code"], "CANCELLED");
    // Cancelling a finished or unknown request is not an error (DAP: a best-effort request).
    editor.ok("cancel", json!({ "requestId": waits })).await?;
    editor.ok("cancel", json!({ "requestId": 99_999 })).await?;
    editor.ok("cancel", json!({})).await?;
    editor.finish().await
}

async fn a_slow_evaluation_keeps_no_other_waiting_and_is_cancelled(runtime: Runtime) -> anyhow::Result<()> {
    let transcript = Transcript::default();
    let mut first = DapClient::start("editor", runtime, &transcript)?;
    first.launch("spin", &[], json!({ "stopOnEntry": true })).await?;
    let (thread, _) = first.stop().await?;
    let mut second = DapClient::connect("second", &first.socket().await?, &transcript).await?;
    second.join(json!({ "clientID": "other", "clientName": "second" })).await?;
    second.event("stopped").await?;
    let mut frame = Value::Null;
    for _ in 0..2 {
        first.ok("next", json!({ "threadId": thread })).await?;
        (_, frame) = first.stop().await?;
        second.next_stop_of_another().await?;
    }
    let sleep = json!({ "expression": "System.Threading.Thread.Sleep(3000)", "frameId": frame["id"],
        "context": "repl" });
    let evaluates = first.send("evaluate", sleep).await?;
    second.ok("sessionControl", json!({})).await?;
    second.ok("processReadOutput", json!({})).await?;
    // The program is stopped for all clients, even while it runs code for one of them.
    assert_eq!(second.refused("pause", json!({ "threadId": thread })).await?, "NOT_RUNNING");
    first.ok("cancel", json!({ "requestId": evaluates })).await?;
    let answered = first.response(evaluates).await?;
    assert_eq!(answered.body["error"]["variables"]["code"], "CANCELLED", "{}", answered.body);
    second.ok("stackTrace", json!({ "threadId": thread, "levels": 1 })).await?;
    // Today's runtimes cannot end a call that has begun: the step runs after it.
    first.ok("next", json!({ "threadId": thread })).await?;
    first.stop().await?;
    second.next_stop_of_another().await?;
    second.finish().await?;
    first.finish().await
}

/// A client that does not wait for responses sends requests that reach the engine
/// during or just after the step.
async fn requests_right_after_a_step_do_not_lose_its_stop(runtime: Runtime) -> anyhow::Result<()> {
    let mut editor = DapClient::start("editor", runtime, &Transcript::default())?;
    editor.launch("ends", &["turn"], json!({ "args": ["never"] })).await?;
    for round in 0..60 {
        let (thread, frame) = editor.stop().await?;
        let step = editor.send("stepOut", json!({ "threadId": thread })).await?;
        let mut seqs = Vec::new();
        for _ in 0..=round {
            seqs.push(editor.send("stackTrace", json!({ "threadId": thread })).await?);
            let asks = json!({ "expression": "node.Doubled.Text", "frameId": frame["id"] });
            seqs.push(editor.send("evaluate", asks).await?);
        }
        anyhow::ensure!(editor.response(step).await?.success);
        for seq in seqs {
            editor.response(seq).await?;
        }
        assert_eq!(editor.event("stopped").await?["reason"], "step", "round {round}");
        editor.ok("continue", json!({ "threadId": thread })).await?;
    }
    editor.finish().await
}
