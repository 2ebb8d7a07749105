//! Messages that serde cannot read: each request is answered once, over DAP and MCP. JSON that is not Unicode
//! is read, from clients and from adapters.

use std::collections::HashMap;

use anyhow::Context;
use serde_json::{Value, json};
use tandem_harness::agent::Agent;
use tandem_harness::child::{self, Subject};
use tandem_harness::client::DapClient;
use tandem_harness::http::Server;
use tandem_harness::transcript::Transcript;

fn editor() -> anyhow::Result<DapClient> {
    DapClient::start_in("editor", HashMap::new(), &Transcript::default())
}

/// Odd arguments, and whether they can be read.
fn odd_messages() -> Vec<(String, bool)> {
    let deep = "[".repeat(200) + &"]".repeat(200);
    vec![
        (r#"{"expression":"\ud83d","context":"repl"}"#.into(), true),
        (r#"{"expression":"'\udc00\ud800'","\ud800":1}"#.into(), true),
        (format!(r#"{{"expression":"1","deep":{deep}}}"#), false),
        (r#"{"expression":"1","number":1e999}"#.into(), false),
        (r#"{"expression":tru}"#.into(), false),
    ]
}

#[tokio::test]
async fn requests_that_cannot_be_read_are_answered_once() -> anyhow::Result<()> {
    let mut editor = editor()?;
    let source = Subject::Python.source();
    editor.launch_child(Subject::Python.launch(), &source, &[Subject::Python.line("handle")]).await?;
    editor.ok("processWriteInput", json!({ "data": "x\n" })).await?;
    editor.stop().await?;
    for (seq, (arguments, readable)) in (5000..).zip(odd_messages()) {
        let body =
            format!(r#"{{"seq":{seq},"type":"request","command":"evaluate","arguments":{arguments}}}"#);
        editor.send_raw(format!("Content-Length: {}\r\n\r\n{body}", body.len()).as_bytes()).await?;
        let answer = editor.response(seq).await?;
        let code = &answer.body["error"]["variables"]["code"];
        assert_eq!(code == "INVALID_PARAMETER", !readable, "{arguments}: {}", answer.body);
        assert_eq!(answer.command, "evaluate");
        // The user need not see the error.
        assert!(answer.success || answer.body["error"]["showUser"] == false, "{}", answer.body);
    }
    editor.ok("threads", json!({})).await?;
    assert!(!editor.unclaimed_messages().contains(&"evaluate".to_owned()), "answered twice");
    editor.finish().await
}

/// A thread, a folder and variables whose names no Rust string can hold.
#[tokio::test]
async fn names_that_are_not_unicode_are_shown_escaped() -> anyhow::Result<()> {
    let mut editor = editor()?;
    let source = child::source("odd_names.py");
    editor.launch_child(child::python("odd_names.py"), &source, &[child::line(&source, "odd")]).await?;
    let thread = editor.event("stopped").await?["threadId"].clone();
    let threads = editor.ok("threads", json!({})).await?;
    assert!(threads.to_string().contains(r"odd \\ud800"), "{threads}");
    let stack = editor.ok("stackTrace", json!({ "threadId": thread })).await?;
    assert!(stack.to_string().contains(r"bad\\udcff"), "{stack}");
    let frame = &stack["stackFrames"][0]["id"];
    let scopes = editor.ok("scopes", json!({ "frameId": frame })).await?;
    let locals = json!({ "variablesReference": scopes["scopes"][0]["variablesReference"] });
    let rows = editor.ok("variables", locals).await?;
    assert!(rows.to_string().contains(r"\\ud83d"), "{rows}");
    editor.finish().await
}

fn code(answer: &Value) -> (Value, Value) {
    (answer["id"].clone(), answer["error"]["code"].clone())
}

#[tokio::test]
async fn lines_that_cannot_be_read_are_answered_once_over_stdio() -> anyhow::Result<()> {
    let folder = tempfile::tempdir()?;
    let mut agent = Agent::in_folder("agent", folder.path(), &[], &Transcript::default()).await?;
    let deep = "[".repeat(200) + &"]".repeat(200);
    let call = |id: i64, arguments: &str| {
        let params = format!(r#"{{"name":"debug_status","arguments":{arguments}}}"#);
        format!(r#"{{"jsonrpc":"2.0","id":{id},"method":"tools/call","params":{params}}}"#)
    };
    for (line, expected) in [
        ("{x}".to_owned(), (Value::Null, json!(-32700))),
        (call(5001, &deep), (json!(5001), json!(-32700))),
        (call(5002, r#"{"x":1e999}"#), (json!(5002), json!(-32700))),
        (r#"{"jsonrpc":"2.0","id":5003}"#.into(), (json!(5003), json!(-32600))),
        (call(5004, "5"), (json!(5004), json!(-32602))),
        (
            r#"{"jsonrpc":"2.0","id":5005,"method":"prompts/get","params":[]}"#.into(),
            (json!(5005), json!(-32602)),
        ),
        (r#"{"jsonrpc":"2.0","id":5006,"method":"no/such"}"#.into(), (json!(5006), json!(-32601))),
        (call(5007, r#"{"session":"\ud83d"}"#), (json!(5007), Value::Null)),
    ] {
        agent.send_line(line.as_bytes()).await?;
        let answer = agent.message().await?;
        assert_eq!(code(&answer), expected, "{line}: {answer}");
    }
    agent.finish().await
}

#[tokio::test]
async fn a_large_message_is_served_and_a_giant_is_refused_over_stdio() -> anyhow::Result<()> {
    let folder = tempfile::tempdir()?;
    let mut agent = Agent::in_folder("agent", folder.path(), &[], &Transcript::default()).await?;
    let content = "x".repeat(20 << 20);
    let written = agent.call("write_file", json!({ "path": "large", "content": content })).await?;
    assert_eq!(written["success"], true, "{written}");
    assert_eq!(std::fs::metadata(folder.path().join("large"))?.len(), 20 << 20);
    // The id is the last field, as some clients write it.
    let content = "y".repeat(65 << 20);
    let params = format!(r#"{{"name":"write_file","arguments":{{"path":"x","content":"{content}"}}}}"#);
    let giant = format!(r#"{{"method":"tools/call","params":{params},"jsonrpc":"2.0","id":77}}"#);
    agent.send_line(giant.as_bytes()).await?;
    let answer = agent.message().await?;
    assert_eq!(code(&answer), (json!(77), json!(-32600)), "{answer}");
    assert_eq!(agent.call("debug_status", json!({})).await?["state"], "idle");
    agent.finish().await
}

#[tokio::test]
async fn bodies_that_cannot_be_read_are_answered_over_http() -> anyhow::Result<()> {
    let (folder, token) = (tempfile::tempdir()?, "a-token-for-these-tests");
    let server = Server::start(folder.path(), &[], token).await?;
    let bearer = format!("Bearer {token}");
    let headers = [("Authorization", bearer.as_str())];
    for (body, id) in
        [("{x}", Value::Null), (r#"{"jsonrpc":"2.0","id":7,"method":"ping","params":{"a":1e999}}"#, json!(7))]
    {
        let answer = server.post("/mcp", &headers, body.as_bytes()).await?;
        let error: Value = serde_json::from_str(&answer.body).with_context(|| answer.text.clone())?;
        assert_eq!((answer.status, code(&error)), (400, (id, json!(-32700))), "{}", answer.text);
    }
    // No body is read before the token is checked.
    assert_eq!(server.post("/mcp", &[], b"{x}").await?.status, 401);
    let mut agent = server.agent(token).await?;
    let call = concat!(
        r#"{"jsonrpc":"2.0","id":9,"method":"tools/call","#,
        r#""params":{"name":"debug_status","arguments":{"session":"\ud83d"}}}"#,
    );
    let answer = agent.post_raw(call.as_bytes()).await?;
    assert!(answer.body.contains("NO_SESSION"), "{}", answer.text);
    let malformed =
        r#"{"jsonrpc":"2.0","id":9,"method":"tools/call","params":{"name":"debug_status","arguments":5}}"#;
    let answer = agent.post_raw(malformed.as_bytes()).await?;
    assert!(answer.body.contains("-32602"), "{}", answer.text);
    server.stop().await
}
