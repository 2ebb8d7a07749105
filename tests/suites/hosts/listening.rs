//! `--listen` and the session folder: isolation, tokens, browsers, and the list of live sessions.

use std::process::Stdio;

use anyhow::Context;
use serde_json::{Value, json};
use tandem_harness::client::DapClient;
use tandem_harness::deadline::deadline;
use tandem_harness::fixture::{self, Runtime};
use tandem_harness::transcript::Transcript;
use tokio::io::{AsyncBufReadExt, AsyncReadExt, AsyncWriteExt, BufReader, Lines};
use tokio::process::{Child, ChildStderr};

dotnet_tests! {
    a_listener_serves_sessions_that_do_not_hurt_each_other,
    a_listener_with_a_token_serves_nobody_without_it,
    live_sessions_are_listed_for_people_and_for_scripts,
}

/// `tandem-dap --listen`.
struct ListeningAdapter {
    child: Child,
    stderr: Lines<BufReader<ChildStderr>>,
    port: u16,
}

impl ListeningAdapter {
    async fn start(runtime: Runtime, flags: &[&str], token: Option<&str>) -> anyhow::Result<Self> {
        let mut command = tokio::process::Command::new(fixture::binary("tandem-dap"));
        command.envs(runtime.environment().context("no runtime")?).kill_on_drop(true);
        if let Some(token) = token {
            command.env("TANDEM_TOKEN", token);
        }
        let mut child = command.args(flags).stdin(Stdio::null()).stderr(Stdio::piped()).spawn()?;
        let mut stderr = BufReader::new(child.stderr.take().context("no stderr")?).lines();
        let line = stderr.next_line().await?.context("it said nothing")?;
        let port = line.rsplit(':').next().and_then(|port| port.parse().ok());
        Ok(Self { child, stderr, port: port.with_context(|| format!("no port in `{line}`"))? })
    }

    async fn connect(&self, name: &'static str) -> anyhow::Result<DapClient> {
        DapClient::connect_tcp(name, self.port, &Transcript::default()).await
    }
}

/// Launches `spin` and gives its process id.
async fn launch_spin(editor: &mut DapClient) -> anyhow::Result<Value> {
    editor.launch("spin", &[], json!({})).await?;
    Ok(editor.event("process").await?["systemProcessId"].clone())
}

fn parent(pid: &Value) -> anyhow::Result<String> {
    let stat = std::fs::read_to_string(format!("/proc/{pid}/stat"))?;
    let parent = stat.rsplit(')').next().and_then(|rest| rest.split_ascii_whitespace().nth(1));
    Ok(parent.context("no parent")?.to_owned())
}

async fn a_listener_serves_sessions_that_do_not_hurt_each_other(runtime: Runtime) -> anyhow::Result<()> {
    let mut listener = ListeningAdapter::start(runtime, &["--listen", "127.0.0.1:0"], None).await?;
    let (mut one, mut two) = (listener.connect("one").await?, listener.connect("two").await?);
    let (first, second) = (launch_spin(&mut one).await?, launch_spin(&mut two).await?);
    let host = parent(&first)?;
    assert_ne!(host, parent(&second)?);
    // A browser: later messages of it are ignored.
    for hello in [
        "GET / HTTP/1.1\r\nHost: x\r\n\r\n".to_owned(),
        "POST / HTTP/1.1\r\nContent-Length: 2\r\n\r\n{}".to_owned(),
        "Content-Length: 2\r\nOrigin: http://evil.example\r\n\r\n{}".to_owned(),
    ] {
        let mut browser = tokio::net::TcpStream::connect(("127.0.0.1", listener.port)).await?;
        browser.write_all(hello.as_bytes()).await?;
        let mut answer = Vec::new();
        // Hung up on, or reset.
        drop(browser.read_to_end(&mut answer).await);
        assert_eq!(String::from_utf8_lossy(&answer), "");
    }
    anyhow::ensure!(std::process::Command::new("kill").args(["-9", &host]).status()?.success());
    assert!(one.ask("threads", json!({})).await.is_err(), "its host is gone");
    two.ok("pause", json!({})).await?;
    two.event("stopped").await?;
    two.ok("disconnect", json!({})).await?;
    // The listener outlives both.
    let mut three = listener.connect("three").await?;
    three.ok("initialize", json!({ "clientID": "test" })).await?;
    three.ok("disconnect", json!({})).await?;
    Ok(listener.child.kill().await?)
}

async fn a_listener_with_a_token_serves_nobody_without_it(runtime: Runtime) -> anyhow::Result<()> {
    let mut refused = tokio::process::Command::new(fixture::binary("tandem-dap"));
    let refused = refused.args(["--listen", "0.0.0.0:0"]).output().await?;
    assert!(!refused.status.success());
    assert!(String::from_utf8_lossy(&refused.stderr).contains("--remote"), "{refused:?}");

    // Generated, and printed once to stderr.
    let mut listener = ListeningAdapter::start(runtime, &["--listen", "0.0.0.0:0", "--remote"], None).await?;
    let line = listener.stderr.next_line().await?.context("it says no token")?;
    let token = line.split('"').rev().nth(1).context("no token in what it says")?.to_owned();
    assert!(token.len() >= 32, "{line}");
    let mut editor = listener.connect("editor").await?;
    editor.ok("initialize", json!({ "clientID": "test" })).await?;
    let program = fixture::program("tour");
    assert_eq!(editor.refused("launch", json!({ "program": program })).await?, "ACCESS_DENIED");
    assert_eq!(editor.refused("threads", json!({})).await?, "ACCESS_DENIED");
    let launch = editor.send("launch", json!({ "program": program, "token": token })).await?;
    editor.event("initialized").await?;
    editor.ok("configurationDone", json!({})).await?;
    assert!(editor.response(launch).await?.success);
    editor.finish().await?;

    let mut thief = listener.connect("thief").await?;
    thief.ok("initialize", json!({ "clientID": "test" })).await?;
    let wrong = json!({ "program": program, "token": "0".repeat(token.len()) });
    assert_eq!(thief.refused("launch", wrong).await?, "ACCESS_DENIED");
    // One guess a connection.
    assert!(thief.ask("launch", json!({ "program": program, "token": token })).await.is_err());
    listener.child.kill().await?;

    // Set by the user, and required on loopback too; `initialize` may carry it.
    let mut listener =
        ListeningAdapter::start(runtime, &["--listen", "127.0.0.1:0"], Some("a secret of 16 b")).await?;
    let mut editor = listener.connect("editor").await?;
    editor.ok("initialize", json!({ "clientID": "test", "token": "a secret of 16 b" })).await?;
    let pid = {
        let launch = editor.send("launch", json!({ "program": fixture::program("spin") })).await?;
        editor.event("initialized").await?;
        editor.ok("configurationDone", json!({})).await?;
        assert!(editor.response(launch).await?.success);
        editor.event("process").await?["systemProcessId"].clone()
    };
    // The program does not inherit the secret, nor does its host have it where `ps` could show it.
    for (process, file) in
        [(pid.to_string(), "environ"), (parent(&pid)?, "environ"), (parent(&pid)?, "cmdline")]
    {
        let text = std::fs::read(format!("/proc/{process}/{file}"))?;
        assert!(!String::from_utf8_lossy(&text).contains("a secret"), "{process} {file}");
    }
    editor.finish().await?;
    Ok(listener.child.kill().await?)
}

async fn live_sessions_are_listed_for_people_and_for_scripts(runtime: Runtime) -> anyhow::Result<()> {
    let mut editor = DapClient::start("editor", runtime, &Transcript::default())?;
    let pid = launch_spin(&mut editor).await?;
    let id = editor.ok("sessionInfo", json!({})).await?["id"].as_str().unwrap_or_default().to_owned();
    let list = |flags: &'static [&'static str]| {
        let mut command = std::process::Command::new(fixture::binary("tandem-dap"));
        let listed = command.arg("sessions").args(flags).output()?;
        anyhow::ensure!(listed.status.success(), "{listed:?}");
        Ok(String::from_utf8(listed.stdout)?)
    };
    let entries: Vec<Value> = serde_json::from_str(&list(&["--json"])?)?;
    let entry = entries.iter().find(|entry| entry["id"] == id).context("it is not listed")?;
    assert_eq!(entry["program"], fixture::program("spin"));
    assert_eq!((&entry["engine"], &entry["title"]), (&json!("coreclr"), &json!("spin.dll")));
    assert_eq!(entry["pid"].to_string(), parent(&pid)?);
    let table = list(&[])?;
    assert!(table.lines().next().is_some_and(|head| head.starts_with("SESSION")), "{table}");
    let row = table.lines().find(|line| line.starts_with(&format!("{id} "))).context("no row")?;
    assert!(row.contains("coreclr") && row.ends_with(&fixture::program("spin")), "{row}");
    editor.finish().await?;
    assert!(!list(&[])?.contains(&format!("{id} ")));
    Ok(())
}

/// A listener that is killed cannot remove its socket. The socket of a running listener is not taken over.
#[tokio::test]
async fn a_socket_that_a_listener_left_behind_is_taken_over() -> anyhow::Result<()> {
    let folder = tempfile::tempdir()?;
    let path = folder.path().join("tandem.sock");
    let address = format!("unix:{}", path.display());
    let start = || {
        let mut command = tokio::process::Command::new(fixture::binary("tandem-dap"));
        command.args(["--listen", &address]).stdin(Stdio::null()).stderr(Stdio::piped()).kill_on_drop(true);
        command.spawn()
    };
    for _ in 0..2 {
        let mut child = start()?;
        let mut stderr = BufReader::new(child.stderr.take().context("no stderr")?).lines();
        let line = stderr.next_line().await?.context("it said nothing")?;
        assert_eq!(line, format!("tandem-dap: listening on {address}"));
        let second = tokio::time::timeout(deadline(30), start()?.wait_with_output()).await??;
        let text = String::from_utf8_lossy(&second.stderr).into_owned();
        assert!(!second.status.success() && text.contains("it exists; remove it"), "{text}");
        child.kill().await?;
        assert!(path.exists());
    }
    // A file that is not a socket is never removed.
    std::fs::remove_file(&path)?;
    std::fs::write(&path, "notes")?;
    let refused = tokio::time::timeout(deadline(30), start()?.wait_with_output()).await??;
    assert!(!refused.status.success());
    assert_eq!(std::fs::read_to_string(&path)?, "notes");
    Ok(())
}

#[tokio::test]
async fn a_listener_that_gets_a_signal_to_end_removes_its_socket() -> anyhow::Result<()> {
    let folder = tempfile::tempdir()?;
    let path = folder.path().join("tandem.sock");
    for signal in [rustix::process::Signal::TERM, rustix::process::Signal::INT, rustix::process::Signal::HUP]
    {
        let mut command = tokio::process::Command::new(fixture::binary("tandem-dap"));
        command.args(["--listen", &format!("unix:{}", path.display())]).stdin(Stdio::null());
        let mut child = command.stderr(Stdio::piped()).kill_on_drop(true).spawn()?;
        let mut stderr = BufReader::new(child.stderr.take().context("no stderr")?).lines();
        stderr.next_line().await?.context("it said nothing")?;
        assert!(path.exists());
        let pid = child.id().and_then(|pid| rustix::process::Pid::from_raw(i32::try_from(pid).ok()?));
        rustix::process::kill_process(pid.context("it has ended")?, signal)?;
        let ended = tokio::time::timeout(deadline(30), child.wait()).await??;
        assert!(ended.success(), "{signal:?}: {ended}");
        assert!(!path.exists(), "{signal:?}");
    }
    Ok(())
}
