//! A web site of ASP.NET Core and EF Core: its controller, minimal API, middleware, Razor page, hub and
//! background service are debugged by an editor and an agent at once, while real requests come.

use std::path::PathBuf;

use anyhow::Context;
use serde_json::{Value, json};
use tandem_harness::agent::Agent;
use tandem_harness::client::DapClient;
use tandem_harness::deadline::{deadline, deadline_ms};
use tandem_harness::fixture::{self, Runtime};
use tandem_harness::transcript::Transcript;
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::TcpStream;
use tokio::task::JoinHandle;

net10_tests! {
    each_part_of_a_web_site_is_debugged_by_an_editor_and_an_agent_at_once,
}

/// No request is held longer, s.
const TIMEOUT_SECS: u64 = 60;

/// A place of the program where a request stops it.
struct RequestStop {
    /// The source below the program's folder.
    file: &'static str,
    /// A text that is on that line alone.
    text: &'static str,
    /// The method of the frame, or a part of its name.
    method: &'static str,
    /// Expressions that the agent evaluates there, and the results.
    evaluated: &'static [(&'static str, &'static str)],
}

const MIDDLEWARE: RequestStop = RequestStop::at(
    "Visits.cs",
    "// BP visit",
    "InvokeAsync",
    &[("visit", "1"), ("context.Request.Path.Value", "\"/orders/1\"")],
);

const CONTROLLER: RequestStop = RequestStop::at(
    "OrdersController.cs",
    "// BP found",
    "Show",
    &[
        ("order.Lines.Select(line => line.Goods).ToArray()[1]", "\"pen\""),
        // The database counts: nothing more is tracked than before.
        ("shop.Orders.Count(one => one.Lines.Any(line => line.Count > 3))", "1"),
        ("shop.ChangeTracker.Entries().Count()", "3"),
        ("Request.Method", "\"GET\""),
    ],
);

const MINIMAL: RequestStop = RequestStop::at(
    "Program.cs",
    "// BP minimal",
    "<lambda>",
    &[("names[0]", "\"ann\""), ("least + 1", "3"), ("await shop.Orders.CountAsync()", "2")],
);

const RAZOR: RequestStop = RequestStop::at(
    "Pages/Index.cshtml",
    "<li>",
    "ExecuteAsync",
    &[("pieces", "6"), ("order.Customer", "\"ann\"")],
);

const HUB: RequestStop = RequestStop::at(
    "Prices.cs",
    "// BP quote",
    "Quote",
    &[("price * count", "4.5"), ("Context.ConnectionId.Length > 0", "true")],
);

const SERVICE: RequestStop = RequestStop::at(
    "Packing.cs",
    "// BP packs",
    "ExecuteAsync",
    &[("order.Lines[0].Goods", "\"ink\""), ("shop.Database.IsRelational()", "true")],
);

impl RequestStop {
    const fn at(
        file: &'static str,
        text: &'static str,
        method: &'static str,
        evaluated: &'static [(&'static str, &'static str)],
    ) -> Self {
        Self { file, text, method, evaluated }
    }

    fn source(&self) -> PathBuf {
        fixture::root().join("fixtures/programs/modern/website").join(self.file)
    }

    /// The line of the marker, from 1.
    fn line(&self) -> anyhow::Result<usize> {
        let text = std::fs::read_to_string(self.source())?;
        let at = text.lines().position(|line| line.contains(self.text));
        Ok(at.with_context(|| format!("`{}` is not in {}", self.text, self.file))? + 1)
    }

    /// A request that stops here: the agent evaluates and steps, the editor sees the step and continues.
    async fn stops(&self, editor: &mut DapClient, agent: &mut Agent) -> anyhow::Result<()> {
        let line = self.line()?;
        let (_, frame) = editor.stop().await?;
        assert_eq!(
            (&frame["source"]["path"], &frame["line"]),
            (&json!(self.source()), &json!(line)),
            "{frame}"
        );
        let place = |frame: &Value| [frame["line"].clone(), frame["column"].clone()];
        let here = place(&frame);
        let name = frame["name"].as_str().unwrap_or_default();
        assert!(name.contains(self.method), "{name}");
        let hit = agent.call("debug_wait", json!({})).await?;
        assert_eq!(
            (&hit["event"]["type"], &hit["event"]["line"]),
            (&json!("breakpointHit"), &json!(line)),
            "{hit}"
        );
        for (expression, result) in self.evaluated {
            let answer = agent.call("debug_evaluate", json!({ "expression": expression })).await?;
            assert_eq!(answer["result"], *result, "{}: {expression}: {answer}", self.file);
        }
        let stepped = agent.call("debug_step", json!({})).await?;
        assert_eq!(stepped["event"]["reason"], "step", "{}: {stepped}", self.file);
        editor.event("continued").await?;
        let (thread, frame) = editor.stop().await?;
        assert_eq!(frame["source"]["path"], json!(self.source()), "{frame}");
        // A view has several statements on a line.
        assert_ne!(place(&frame), here, "{frame}");
        // It is hit once: the next request passes.
        self.clear(editor).await?;
        editor.ok("continue", json!({ "threadId": thread })).await?;
        Ok(())
    }

    async fn set(&self, editor: &mut DapClient) -> anyhow::Result<()> {
        self.put(editor, json!([{ "line": self.line()? }])).await
    }

    async fn clear(&self, editor: &mut DapClient) -> anyhow::Result<()> {
        self.put(editor, json!([])).await
    }

    async fn put(&self, editor: &mut DapClient, breakpoints: Value) -> anyhow::Result<()> {
        let arguments = json!({ "source": { "path": self.source() }, "breakpoints": breakpoints });
        editor.ok("setBreakpoints", arguments).await.map(drop)
    }
}

/// Sends a request in the background; returns the server's response.
fn requested(address: &str, method: &str, path: &str) -> JoinHandle<anyhow::Result<String>> {
    let (address, head) =
        (address.to_owned(), format!("{method} {path} HTTP/1.1\r\nHost: x\r\nConnection: close"));
    tokio::spawn(async move {
        let mut stream = TcpStream::connect(address).await?;
        stream.write_all(format!("{head}\r\nContent-Length: 0\r\n\r\n").as_bytes()).await?;
        let mut answer = String::new();
        tokio::time::timeout(deadline(TIMEOUT_SECS), stream.read_to_string(&mut answer))
            .await
            .context("not answered")??;
        Ok(answer)
    })
}

/// Calls a hub over a WebSocket; returns its messages up to the result.
fn called(address: &str) -> JoinHandle<anyhow::Result<String>> {
    let address = address.to_owned();
    tokio::spawn(async move {
        let mut stream = TcpStream::connect(address).await?;
        let head = "GET /prices HTTP/1.1\r\nHost: x\r\nConnection: Upgrade\r\nUpgrade: websocket\r\n\
                    Sec-WebSocket-Version: 13\r\nSec-WebSocket-Key: AAAAAAAAAAAAAAAAAAAAAA==\r\n\r\n";
        stream.write_all(head.as_bytes()).await?;
        let call = r#"{"type":1,"invocationId":"1","target":"Quote","arguments":["ink",3]}"#;
        for message in [r#"{"protocol":"json","version":1}"#, call] {
            let length = u8::try_from(message.len() + 1)?;
            // A whole text message, masked by zeros.
            stream.write_all(&[0x81, 0x80 | length, 0, 0, 0, 0]).await?;
            stream.write_all(message.as_bytes()).await?;
            stream.write_all(&[0x1e]).await?;
        }
        let mut text = String::new();
        let result = async {
            while !text.contains(r#""type":3"#) {
                let mut part = [0; 1024];
                let read = stream.read(&mut part).await?;
                anyhow::ensure!(read > 0, "it ends: {text}");
                text += &String::from_utf8_lossy(part.get(..read).unwrap_or_default());
            }
            Ok(text)
        };
        tokio::time::timeout(deadline(TIMEOUT_SECS), result).await.context("not answered")?
    })
}

async fn each_part_of_a_web_site_is_debugged_by_an_editor_and_an_agent_at_once(
    runtime: Runtime,
) -> anyhow::Result<()> {
    let mut editor = DapClient::start("editor", runtime, &Transcript::default())?;
    editor.ok("initialize", json!({ "clientID": "test", "adapterID": "tandem" })).await?;
    let launch = editor.send("launch", json!({ "program": fixture::modern_program("website") })).await?;
    editor.initialized(launch).await?;
    for part in [MIDDLEWARE, CONTROLLER, MINIMAL, RAZOR, HUB, SERVICE] {
        part.set(&mut editor).await?;
    }
    editor.ok("configurationDone", Value::Null).await?;
    let launched = editor.response(launch).await?;
    anyhow::ensure!(launched.success, "the launch failed: {}", launched.body);
    let session = editor.ok("sessionInfo", json!({})).await?["id"].clone();
    let mut agent = Agent::start("agent", runtime, &Transcript::default()).await?;
    agent.call("debug_sessions", json!({ "select": session })).await?;
    let up = json!({ "waitFor": "http://[0-9.:]+", "timeoutMs": deadline_ms(60) });
    let up = agent.call("process_read_output", up).await?;
    let address =
        up["matched"].as_str().and_then(|url| url.strip_prefix("http://")).context("no address")?.to_owned();

    let answer = requested(&address, "GET", "/orders/1");
    MIDDLEWARE.stops(&mut editor, &mut agent).await?;
    CONTROLLER.stops(&mut editor, &mut agent).await?;
    assert!(answer.await??.contains("ann: 6"));
    let answer = requested(&address, "GET", "/customers/2");
    MINIMAL.stops(&mut editor, &mut agent).await?;
    assert!(answer.await??.contains("ann"));
    let answer = requested(&address, "GET", "/");
    RAZOR.stops(&mut editor, &mut agent).await?;
    assert!(answer.await??.contains("bob has 2"));
    let answer = called(&address);
    HUB.stops(&mut editor, &mut agent).await?;
    assert!(answer.await??.contains(r#""result":4.5"#));
    let answer = requested(&address, "POST", "/orders/2");
    SERVICE.stops(&mut editor, &mut agent).await?;
    assert!(answer.await??.contains("202 Accepted"));
    // Threads that evaluations held back continue: the one that writes the log, for example.
    let packed = json!({ "waitFor": "packed 1 lines for bob", "timeoutMs": deadline_ms(20) });
    let packed = agent.call("process_read_output", packed).await?;
    assert_eq!(packed["matched"], "packed 1 lines for bob", "{packed}");
    // It ends in order on `terminate`, although an agent is in the session.
    editor.ok("terminate", json!({})).await?;
    editor.event("exited").await?;
    editor.event("terminated").await?;
    agent.finish().await?;
    editor.finish().await
}
