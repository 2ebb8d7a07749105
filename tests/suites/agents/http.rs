//! MCP over HTTP: access, the lifetimes of sessions and programs, and the official client on both transports.

use std::path::Path;
use std::time::Duration;

use anyhow::Context;
use serde_json::{Value, json};
use tandem_harness::agent::Agent;
use tandem_harness::deadline::deadline;
use tandem_harness::fixture::{self, Runtime};
use tandem_harness::http::Server;
use tandem_harness::transcript::Transcript;
use tokio::io::AsyncReadExt;

const TOKEN: &str = "a-token-for-these-tests";
/// The deadline of each wait, s.
const TIMEOUT_SECS: u64 = 60;

fn initialize() -> Value {
    json!({ "jsonrpc": "2.0", "id": 1, "method": "initialize", "params": { "protocolVersion": "2025-06-18",
        "capabilities": {}, "clientInfo": { "name": "test", "version": "1" } } })
}

fn call(id: u64, tool: &str, arguments: &Value) -> Value {
    json!({ "jsonrpc": "2.0", "id": id, "method": "tools/call", "params": { "name": tool,
        "arguments": arguments } })
}

/// Runs the official client's script.
async fn official(folder: &Path, arguments: &[&str]) -> anyhow::Result<Value> {
    let script = fixture::root().join("tests/clients/official_client.py");
    let mut command = tokio::process::Command::new(tandem_harness::child::interpreter("python"));
    command.arg(script).args(arguments).current_dir(folder).env("PYTHONPATH", fixture::python_packages());
    let done = tokio::time::timeout(deadline(2 * TIMEOUT_SECS), command.kill_on_drop(true).output())
        .await
        .context("it hangs")??;
    let words = String::from_utf8_lossy(&done.stderr).into_owned();
    anyhow::ensure!(done.status.success(), "the official client fails: {words}");
    serde_json::from_slice(&done.stdout).with_context(|| words)
}

fn check(report: &Value, version: &str) {
    assert_eq!(
        (&report["version"], &report["server"]),
        (&json!(version), &json!("tandem-mcp")),
        "{report:#}"
    );
    assert!(report["tools"].as_array().is_some_and(|tools| tools.len() > 30), "{report:#}");
    assert_eq!(report["withoutSchema"], json!([]));
    assert_eq!(report["read"]["content"], "one\ntwo\n");
    assert_eq!(
        (&report["outside"]["isError"], &report["outside"]["error"]["code"]),
        (&json!(true), &json!("PATH_NOT_ALLOWED"))
    );
    assert_eq!(report["status"]["state"], "idle");
    assert!(report["progress"].as_u64() >= Some(1), "{report:#}");
    assert_eq!(report["built"], json!(["compiling\ndone\n", true]), "{report:#}");
    assert_eq!(report["tests"], json!([1, 1]), "{report:#}");
    assert_eq!((&report["left"], &report["after"]["exists"]), (&json!(false), &json!(true)), "{report:#}");
}

#[tokio::test]
async fn official_client_is_served_over_stdio() -> anyhow::Result<()> {
    let bridge = fixture::binary("tandem-mcp").display().to_string();
    for (mode, version) in [("auto", "2026-07-28"), ("legacy", "2025-11-25")] {
        let folder = tempfile::tempdir()?;
        let report = official(folder.path(), &["stdio", mode, &bridge, "--allow-commands"]).await?;
        check(&report, version);
    }
    Ok(())
}

#[tokio::test]
async fn official_client_is_served_over_http() -> anyhow::Result<()> {
    for mode in ["auto", "legacy"] {
        let folder = tempfile::tempdir()?;
        let server = Server::start(folder.path(), &["--allow-commands"], TOKEN).await?;
        let report = official(folder.path(), &["http", mode, &server.url(), TOKEN]).await?;
        check(&report, "2025-11-25");
        server.stop().await?;
    }
    Ok(())
}

#[tokio::test]
async fn http_serves_only_clients_with_the_token_and_no_web_page() -> anyhow::Result<()> {
    let folder = tempfile::tempdir()?;
    let server = Server::start(folder.path(), &[], TOKEN).await?;
    let body = initialize().to_string();
    let bearer = format!("Bearer {TOKEN}");
    let lower = format!("bearer {TOKEN}");
    let wrong = format!("Bearer {TOKEN}x");
    let port = server.port();
    let own = format!("127.0.0.1:{port}");
    let origin = format!("http://{own}");
    for (status, headers) in [
        (401, vec![]),
        (401, vec![("Authorization", "Bearer ")]),
        (401, vec![("Authorization", wrong.as_str())]),
        (401, vec![("Authorization", TOKEN)]),
        (401, vec![("Authorization", "Basic YTpi")]),
        (401, vec![("Authorization", bearer.as_str()), ("Authorization", "Bearer other")]),
        (403, vec![("Authorization", bearer.as_str()), ("Host", "evil.example")]),
        (403, vec![("Authorization", bearer.as_str()), ("Origin", "http://evil.example")]),
        (403, vec![("Authorization", bearer.as_str()), ("Origin", "http://localhost:1234")]),
        (403, vec![("Authorization", bearer.as_str()), ("Origin", "null")]),
        (400, vec![("Authorization", bearer.as_str()), ("Host", own.as_str()), ("Host", "evil.example")]),
        (400, vec![("Authorization", bearer.as_str()), ("Host", own.as_str()), ("Host", own.as_str())]),
        (200, vec![("Authorization", bearer.as_str()), ("Origin", origin.as_str())]),
        (
            403,
            vec![
                ("Authorization", bearer.as_str()),
                ("Origin", origin.as_str()),
                ("Origin", "http://evil.example"),
            ],
        ),
        (
            403,
            vec![
                ("Authorization", bearer.as_str()),
                ("Host", "evil.example"),
                ("Origin", "http://evil.example"),
            ],
        ),
        (200, vec![("Authorization", bearer.as_str())]),
        (200, vec![("Authorization", lower.as_str()), ("Host", own.as_str())]),
    ] {
        let answer = server.post("/mcp", &headers, body.as_bytes()).await?;
        assert_eq!(answer.status, status, "{headers:?}: {}", answer.body);
        assert!(!answer.text.contains(TOKEN));
    }
    let authorized = [("Authorization", bearer.as_str())];
    assert_eq!(server.post("/", &authorized, body.as_bytes()).await?.status, 404);
    assert_eq!(server.post("/mcp", &authorized, b"{").await?.status / 100, 4);
    assert_eq!(server.post("/mcp", &authorized, &vec![b' '; 17 << 20]).await?.status, 413);
    for raw in [
        &b"\0\0\0\0\r\n\r\n"[..],
        b"GET / HTTP/9.9\r\n\r\n",
        b"POST /mcp HTTP/1.1\r\nContent-Length: -1\r\n\r\n",
    ] {
        drop(server.raw(raw).await);
    }
    let unknown = [("Authorization", bearer.as_str()), ("Mcp-Session-Id", "no-such-session")];
    let listed = call(2, "debug_status", &json!({})).to_string();
    assert_eq!(server.post("/mcp", &unknown, listed.as_bytes()).await?.status, 404);
    assert_eq!(server.post("/mcp", &authorized, body.as_bytes()).await?.status, 200, "it still serves");
    server.stop().await
}

#[tokio::test]
async fn slow_or_abusive_connections_do_not_delay_others() -> anyhow::Result<()> {
    let folder = tempfile::tempdir()?;
    let server = Server::start(folder.path(), &[], TOKEN).await?;
    let head = format!(
        "POST /mcp HTTP/1.1\r\nHost: 127.0.0.1\r\nAuthorization: Bearer {TOKEN}\r\n\
            Content-Type: application/json\r\n\
         Accept: application/json, text/event-stream\r\n"
    );
    let mut held = Vec::new();
    for part in [
        String::new(),
        "POST /mcp HTTP/1.1\r\nHost: 127".to_owned(),
        format!("{head}Content-Length: 1000\r\n\r\n{{\"jsonrpc\""),
        format!("{head}Transfer-Encoding: chunked\r\n\r\n9\r\n{{\"json"),
    ] {
        for _ in 0..30 {
            held.push(server.open(part.as_bytes()).await?);
        }
    }
    let mut agent = server.agent(TOKEN).await?;
    assert_eq!(agent.call("debug_status", &json!({})).await?["state"], "idle");

    let body = initialize().to_string();
    let long = format!("GET /mcp HTTP/1.1\r\nX: {}\r\n\r\n", "x".repeat(1 << 20));
    let many = format!("GET /mcp HTTP/1.1\r\n{}\r\n", "X: y\r\n".repeat(10_000));
    let two = format!(
        "{head}Content-Length: 5\r\nTransfer-Encoding: chunked\r\n\r\n0\r\n\r\nGET / HTTP/1.1\r\n\r\n"
    );
    let old = format!(
        "POST /mcp HTTP/1.0\r\nAuthorization: Bearer {TOKEN}\r\nContent-Length: {}\r\n\r\n{body}",
        body.len()
    );
    for raving in [
        b"\x16\x03\x01\x02\x00\x01\x00\x01\xfc\x03\x03 hello\r\n\r\n".as_slice(),
        b"\xff\xfe\xfd\r\n\r\n",
        b"POST /mcp HTTP/1.1\r\nHost: a\r\nHost: b\r\nContent-Length: 0\r\n\r\n",
        long.as_bytes(),
        many.as_bytes(),
        two.as_bytes(),
        // No host, and no token it may be led astray by.
        old.as_bytes(),
    ] {
        // It is refused, or hung up on.
        let line = server.first_line(raving).await?;
        assert!(line.is_empty() || line.contains(" 4"), "{:?}: {line}", raving.get(..40));
    }
    assert_eq!(agent.call("debug_status", &json!({})).await?["state"], "idle");
    // It ends although they are there.
    server.stop().await?;
    drop(held);
    Ok(())
}

#[tokio::test]
async fn a_token_is_made_shown_once_and_kept_by_its_owner() -> anyhow::Result<()> {
    use std::os::unix::fs::PermissionsExt;
    let folder = tempfile::tempdir()?;
    let file = folder.path().join("state/token");
    let flags = ["--http-token-file", file.to_str().context("no text")?];
    let server = Server::start(folder.path(), &flags, "").await?;
    let token = std::fs::read_to_string(&file)?;
    assert_eq!(std::fs::metadata(&file)?.permissions().mode() & 0o777, 0o600);
    assert_eq!(server.stderr().matches(&token).count(), 1);
    let bearer = format!("Bearer {token}");
    let answer =
        server.post("/mcp", &[("Authorization", &bearer)], initialize().to_string().as_bytes()).await?;
    assert_eq!(answer.status, 200);
    server.stop().await?;
    let again = Server::start(folder.path(), &flags, "").await?;
    assert!(!again.stderr().contains(&token));
    again.stop().await?;
    // A file that others can read is not trusted.
    std::fs::set_permissions(&file, std::fs::Permissions::from_mode(0o644))?;
    let refused = Server::start(folder.path(), &flags, "").await.err().context("it starts")?;
    assert!(format!("{refused:#}").contains("others can read it"), "{refused:#}");
    Ok(())
}

/// A wrong flag is reported before any file is created for it.
#[tokio::test]
async fn an_invalid_flag_is_refused_and_creates_nothing() -> anyhow::Result<()> {
    let folder = tempfile::tempdir()?;
    let run = async |program: &str, flags: &[&str]| -> anyhow::Result<(Option<i32>, String)> {
        let mut command = tokio::process::Command::new(fixture::binary(program));
        command.args(flags).current_dir(folder.path()).env("XDG_STATE_HOME", folder.path());
        let done = command.env_remove("TANDEM_MCP_TOKEN").stdin(std::process::Stdio::null()).output();
        let done = tokio::time::timeout(deadline(60), done).await??;
        Ok((done.status.code(), String::from_utf8_lossy(&done.stderr).into_owned()))
    };
    for (program, flags, expected) in [
        ("tandem-mcp", ["--http", "nonsense"], "not HOST:PORT"),
        ("tandem-mcp", ["--http", "127.0.0.1:99999"], "not HOST:PORT"),
        ("tandem-mcp", ["--log-level", "bogus"], "not one of error, warn"),
        ("tandem-dap", ["--log-level", "bogus"], "not one of error, warn"),
        ("tandem-dap", ["--listen", "unix:"], "the path after `unix:` is missing"),
        ("tandem-dap", ["--listen", "nonsense"], "neither HOST:PORT nor unix:PATH"),
    ] {
        let (code, stderr) = run(program, &flags).await?;
        assert!(code == Some(2) && stderr.contains(expected), "{program} {flags:?}: {code:?} {stderr}");
    }
    let (code, stderr) = run("tandem-mcp", &["--http", "0.0.0.0:0"]).await?;
    assert!(code == Some(1) && stderr.contains("--http-allow-remote"), "{code:?} {stderr}");
    assert_eq!(std::fs::read_dir(folder.path())?.count(), 0, "a token was made, and shown for nothing");
    Ok(())
}

#[tokio::test]
async fn other_machines_are_accepted_only_when_allowed() -> anyhow::Result<()> {
    let folder = tempfile::tempdir()?;
    let refused = Server::at("0.0.0.0:0", folder.path(), &[], TOKEN).await.err().context("it starts")?;
    assert!(format!("{refused:#}").contains("--http-allow-remote"), "{refused:#}");
    let flags = ["--http-allow-remote", "--http-host", "tandem.example"];
    let server = Server::at("0.0.0.0:0", folder.path(), &flags, TOKEN).await?;
    let bearer = format!("Bearer {TOKEN}");
    let body = initialize().to_string();
    for (host, status) in [("tandem.example", 200), ("other.example", 403)] {
        let headers = [("Authorization", bearer.as_str()), ("Host", host)];
        assert_eq!(server.post("/mcp", &headers, body.as_bytes()).await?.status, status, "{host}");
    }
    server.stop().await
}

#[tokio::test]
async fn log_at_the_finest_level_contains_no_secret() -> anyhow::Result<()> {
    let folder = tempfile::tempdir()?;
    let log = folder.path().join("log");
    let flags = ["--log-level", "trace", "--log", log.to_str().context("no text")?, "--allow-commands"];
    let server = Server::start(folder.path(), &flags, TOKEN).await?;
    let mut agent = server.agent(TOKEN).await?;
    // Neither the log nor a program that is started learns the token.
    let environment = agent.call("run_command", &json!({ "command": "env" })).await?;
    assert_eq!(environment["exitCode"], 0);
    assert!(!environment.to_string().contains(TOKEN), "{environment:#}");
    server.stop().await?;
    let text = std::fs::read_to_string(&log)?;
    assert!(!text.is_empty() && !text.contains(TOKEN));
    Ok(())
}

#[tokio::test]
async fn programs_of_an_mcp_session_end_with_it_and_with_no_other() -> anyhow::Result<()> {
    let environment = Runtime::Net9.environment().context("no .NET 9")?;
    let folder = tempfile::tempdir()?;
    let server =
        Server::with("127.0.0.1:0", folder.path(), &["--allow-commands"], TOKEN, &environment).await?;
    let (mut one, mut two) = (server.agent(TOKEN).await?, server.agent(TOKEN).await?);
    let launch = json!({ "program": fixture::program("tour"), "args": ["loop"] });
    let (first, second) =
        (one.call("debug_launch", &launch).await?, two.call("debug_launch", &launch).await?);
    let pid = |answer: &Value| answer["pid"].as_u64().context("no pid");
    let (first, second) = (pid(&first)?, pid(&second)?);
    assert_ne!(first, second);
    let slow = json!({ "command": "sh -c", "args": ["echo $$ > pid; exec sleep 1000"], "timeoutMs": 1 });
    assert_eq!(one.call("run_command", &slow).await?["pending"], true);
    let until = std::time::Instant::now() + deadline(TIMEOUT_SECS);
    let command = loop {
        let text = std::fs::read_to_string(folder.path().join("pid")).unwrap_or_default();
        if let Ok(pid) = text.trim().parse::<u64>() {
            break pid;
        }
        anyhow::ensure!(std::time::Instant::now() < until, "the command does not start");
        tokio::time::sleep(Duration::from_millis(10)).await;
    };
    one.delete().await?;
    wait_for_end(first).await?;
    wait_for_end(command).await?;
    // Two calls at once, each on its own connection: the first is about the stop that the second ends.
    let looking = two.start_call("debug_stacktrace", &json!({})).await?;
    let resuming = two.start_call("debug_continue", &json!({ "timeoutMs": 1 })).await?;
    for ((id, mut connection), expected) in [(looking, "Main"), (resuming, "running")] {
        let mut answer = String::new();
        tokio::time::timeout(deadline(TIMEOUT_SECS), connection.read_to_string(&mut answer)).await??;
        assert!(answer.contains(&format!("\"id\":{id},")) && answer.contains(expected), "{answer}");
    }
    assert_eq!(two.call("debug_status", &json!({})).await?["state"], "running");
    assert!(fixture::is_running(second));
    server.stop().await?;
    wait_for_end(second).await
}

/// Only an explicit request joins a session: a tool that names a session of another agent does nothing there.
#[tokio::test]
async fn naming_a_session_of_another_agent_does_not_join_it() -> anyhow::Result<()> {
    let folder = tempfile::tempdir()?;
    let sessions = folder.path().join("tandem");
    tandem_registry::prepare(&sessions)?;
    let entry = tandem_registry::SessionRecord {
        id: "fox7".into(),
        pid: std::process::id(),
        title: "app".into(),
        program: "/app.py".into(),
        engine: "debugpy".into(),
        cwd: None,
        version: String::new(),
        protocol: 0,
        started: 0,
        socket: Default::default(),
        launched_by: tandem_registry::SessionLauncher {
            client: Some("another".into()),
            kind: Some("agent".into()),
        },
        parent: None,
    };
    // It is running, and sends nothing to its clients.
    let (_published, listener) = tandem_registry::PublishedSession::new(&sessions, entry)?;
    let environment = std::collections::HashMap::from([(
        "XDG_RUNTIME_DIR".to_owned(),
        folder.path().display().to_string(),
    )]);
    let server = Server::with("127.0.0.1:0", folder.path(), &[], TOKEN, &environment).await?;
    let mut agent = server.agent(TOKEN).await?;
    let listed = agent.call("debug_sessions", &json!({})).await?;
    assert_eq!(listed["sessions"][0]["session"], "fox7", "{listed}");
    for tool in ["debug_status", "debug_threads", "debug_pause", "process_read_output", "debug_disconnect"] {
        let report = agent.call(tool, &json!({ "session": "fox7" })).await?;
        assert_eq!(report["error"]["code"], "NO_SESSION", "{tool}: {report}");
        assert!(report.to_string().contains("select"), "{report}");
    }
    listener.set_nonblocking(true)?;
    // A client that lists sessions connects to see whether they exist, and may ask for their state; it does
    // not join.
    while let Ok((mut connection, _)) = listener.accept() {
        let mut stderr = Vec::new();
        drop(std::io::Read::read_to_end(&mut connection, &mut stderr));
        assert!(!String::from_utf8_lossy(&stderr).contains("\"attach\""));
    }
    server.stop().await
}

async fn wait_for_end(pid: u64) -> anyhow::Result<()> {
    let until = std::time::Instant::now() + deadline(TIMEOUT_SECS);
    while fixture::is_running(pid) {
        anyhow::ensure!(std::time::Instant::now() < until, "process {pid} is left");
        tokio::time::sleep(Duration::from_millis(10)).await;
    }
    Ok(())
}

#[tokio::test]
async fn fifty_agents_are_served_at_once() -> anyhow::Result<()> {
    let folder = tempfile::tempdir()?;
    std::fs::write(folder.path().join("a.txt"), "text")?;
    let server = Server::start(folder.path(), &[], TOKEN).await?;
    let agents = (0..50).map(|_| async {
        let mut agent = server.agent(TOKEN).await?;
        for _ in 0..4 {
            let read = agent.call("read_file", &json!({ "path": "a.txt" })).await?;
            anyhow::ensure!(read["content"] == "text", "{read}");
        }
        agent.delete().await
    });
    futures::future::try_join_all(agents).await?;
    server.stop().await
}

#[tokio::test]
async fn a_signal_ends_the_bridge_and_what_it_started() -> anyhow::Result<()> {
    let folder = tempfile::tempdir()?;
    let mut agent =
        Agent::in_folder("agent", folder.path(), &["--allow-commands"], &Transcript::default()).await?;
    let script = "trap '' TERM; echo $$ > pid; sleep 1000 & wait; wait";
    let slow = json!({ "command": "sh -c", "args": [script], "timeoutMs": 1 });
    agent.call("run_command", slow).await?;
    let until = std::time::Instant::now() + deadline(TIMEOUT_SECS);
    let command = loop {
        let text = std::fs::read_to_string(folder.path().join("pid")).unwrap_or_default();
        if let Ok(pid) = text.trim().parse::<u64>() {
            break pid;
        }
        anyhow::ensure!(std::time::Instant::now() < until, "the command does not start");
        tokio::time::sleep(Duration::from_millis(10)).await;
    };
    agent.signal("TERM").await?;
    wait_for_end(command).await
}
