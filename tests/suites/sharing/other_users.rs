//! Other users of this machine, who have no access to anything. The tests need a real other user, so they
//! need root, as in CI.

use std::path::Path;
use std::process::Stdio;
use std::time::{Duration, Instant};

use anyhow::{Context, ensure};
use serde_json::json;
use tandem_harness::deadline::deadline;
use tandem_harness::fixture;
use tandem_harness::http::Server;
use tokio::io::{AsyncBufReadExt, AsyncReadExt, AsyncWriteExt, BufReader};
use tokio::net::TcpStream;
use tokio::process::{Child, Command};

/// The uid of `nobody`, which runs the other user's client.
const OTHER_UID: u32 = 65534;
/// Time limit for every step, even on a busy machine, s.
const TIMEOUT_SECS: u64 = 60;
const TOKEN: &str = "a-token-of-enough-bytes";

/// Fails when no other user can be had: a test that cannot run has failed.
fn can_be_another() -> anyhow::Result<()> {
    let can = rustix::process::geteuid().is_root();
    ensure!(can, "only root can run a client as another user: leave out `another_user_…`, as `check` does");
    Ok(())
}

/// A shell of another user.
fn other_user(script: &str, arguments: &[&str]) -> Command {
    let mut command = Command::new("bash");
    command.args(["-c", script, "stranger"]).args(arguments).current_dir("/").kill_on_drop(true);
    command.uid(OTHER_UID).gid(OTHER_UID).stdin(Stdio::piped()).stdout(Stdio::piped());
    command
}

fn frame(message: &serde_json::Value) -> String {
    let body = message.to_string();
    format!("Content-Length: {}\r\n\r\n{body}", body.len())
}

/// A session that runs `touch FILE` instead of an adapter.
fn hostile(file: &Path, token: Option<&str>) -> String {
    let hello = json!({ "seq": 1, "type": "request", "command": "initialize", "arguments": { "clientID": "x",
        "token": token } });
    let launch = json!({ "seq": 2, "type": "request", "command": "launch", "arguments": {
        "program": "/bin/true", "engine": { "command": "/usr/bin/touch", "args": [file] } } });
    frame(&hello) + &frame(&launch)
}

/// `tandem-dap --listen`, and where.
async fn listener(address: &str, token: Option<&str>) -> anyhow::Result<(Child, String)> {
    let mut command = Command::new(fixture::binary("tandem-dap"));
    if let Some(token) = token {
        command.env("TANDEM_TOKEN", token);
    }
    command.args(["--listen", address]).stdin(Stdio::null()).stderr(Stdio::piped()).kill_on_drop(true);
    let mut child = command.spawn()?;
    let mut stderr = BufReader::new(child.stderr.take().context("no stderr")?).lines();
    let line = stderr.next_line().await?.context("it said nothing")?;
    // Its messages about other users are read, so that it never blocks.
    tokio::spawn(async move { while let Ok(Some(_)) = stderr.next_line().await {} });
    let place = line.rsplit("listening on ").next().unwrap_or_default().to_owned();
    Ok((child, place))
}

fn port(place: &str) -> &str {
    place.rsplit(':').next().unwrap_or_default()
}

/// The answer to a stranger that sends this, and then either hangs up at once or reads to the end.
async fn answer(port: &str, says: &str, listens: bool) -> anyhow::Result<String> {
    let script = r#"exec 3<>"/dev/tcp/127.0.0.1/$1" || exit 1
        cat >&3; [ "$2" = listen ] && timeout "$3" head -c 200 <&3; exit 0"#;
    let patience = deadline(20).as_secs().to_string();
    let mut child = other_user(script, &[port, if listens { "listen" } else { "" }, &patience]).spawn()?;
    let mut stdin = child.stdin.take().context("no stdin")?;
    // A server that has already hung up need not read all of it.
    drop(stdin.write_all(says.as_bytes()).await);
    drop(stdin);
    let output = tokio::time::timeout(deadline(TIMEOUT_SECS), child.wait_with_output()).await??;
    Ok(String::from_utf8_lossy(&output.stdout).into_owned())
}

/// Waits until it holds.
async fn wait_until(what: &str, holds: impl Fn() -> bool) -> anyhow::Result<()> {
    let end = Instant::now() + deadline(TIMEOUT_SECS);
    while !holds() {
        ensure!(Instant::now() < end, "it never comes to this: {what}");
        tokio::time::sleep(Duration::from_millis(20)).await;
    }
    Ok(())
}

fn children(pid: u32) -> Vec<String> {
    let text = std::fs::read_to_string(format!("/proc/{pid}/task/{pid}/children")).unwrap_or_default();
    text.split_ascii_whitespace().map(str::to_owned).collect()
}

#[tokio::test]
async fn another_user_runs_nothing_through_a_listener() -> anyhow::Result<()> {
    can_be_another()?;
    let folder = tempfile::tempdir()?;
    let file = folder.path().join("pwned");
    let (child, place) = listener("127.0.0.1:0", None).await?;
    // A client that sends everything and hangs up at once leaves an orphaned socket, which the kernel shows
    // as root's.
    for listens in [true, false, false, false] {
        assert_eq!(answer(port(&place), &hostile(&file, None), listens).await?, "");
    }
    // Programs of this user are served after all of them: an accepted request would have run by now.
    let mut own = TcpStream::connect(place.as_str()).await?;
    own.write_all(hostile(&folder.path().join("own"), None).as_bytes()).await?;
    wait_until("our own adapter runs", || folder.path().join("own").exists()).await?;
    assert!(!file.exists(), "another user ran code as us");
    drop((own, child));

    // A token lets its holder in.
    let (child, place) = listener("127.0.0.1:0", Some("a secret of 16 b")).await?;
    let answered = answer(port(&place), &hostile(&file, Some("a secret of 16 b")), true).await?;
    assert!(answered.contains(r#""command":"initialize""#), "{answered}");
    drop(child);

    // Nor at a socket in a folder that is open to all.
    std::fs::set_permissions(folder.path(), std::os::unix::fs::PermissionsExt::from_mode(0o755))?;
    let path = folder.path().join("adapter.sock");
    let (_child, _) = listener(&format!("unix:{}", path.display()), None).await?;
    std::fs::set_permissions(&path, std::os::unix::fs::PermissionsExt::from_mode(0o777))?;
    let script = r#"import socket, sys
s = socket.socket(socket.AF_UNIX); s.connect(sys.argv[1]); s.settimeout(int(sys.argv[2]))
try:
    s.sendall(sys.stdin.buffer.read())
    sys.stdout.buffer.write(s.recv(65536))
except OSError: pass # A server that hung up need not read all of it."#;
    let mut child = other_user(
        r#"exec python3 -c "$@""#,
        &[script, &path.display().to_string(), &deadline(20).as_secs().to_string()],
    )
    .spawn()?;
    let mut stdin = child.stdin.take().context("no stdin")?;
    drop(stdin.write_all(hostile(&folder.path().join("third"), None).as_bytes()).await);
    drop(stdin);
    let output = tokio::time::timeout(deadline(TIMEOUT_SECS), child.wait_with_output()).await??;
    ensure!(output.status.success(), "{output:?}");
    assert_eq!(String::from_utf8_lossy(&output.stdout), "");
    assert!(!folder.path().join("third").exists());
    Ok(())
}

#[tokio::test]
async fn silent_connections_are_closed_without_starting_a_process() -> anyhow::Result<()> {
    let (child, place) = listener("127.0.0.1:0", None).await?;
    let pid = child.id().context("it has ended")?;
    let mut silent = Vec::new();
    for _ in 0..100 {
        silent.push(TcpStream::connect(place.as_str()).await?);
    }
    // One that sends requests is still accepted.
    let mut own = TcpStream::connect(place.as_str()).await?;
    let hello =
        json!({ "seq": 1, "type": "request", "command": "initialize", "arguments": { "clientID": "x" } });
    own.write_all(frame(&hello).as_bytes()).await?;
    let mut answer = [0; 14];
    tokio::time::timeout(deadline(TIMEOUT_SECS), own.read_exact(&mut answer)).await??;
    assert_eq!(&answer, b"Content-Length");
    assert_eq!(children(pid).len(), 1, "one host, for the one that spoke");
    for mut connection in silent {
        // Closed by the listener, whichever way.
        drop(
            tokio::time::timeout(deadline(TIMEOUT_SECS), connection.read(&mut [0]))
                .await
                .context("it stays open")?,
        );
    }
    drop(own);
    wait_until("its host ends", || children(pid).is_empty()).await
}

#[tokio::test]
async fn another_user_takes_no_place_from_an_agent() -> anyhow::Result<()> {
    can_be_another()?;
    let folder = tempfile::tempdir()?;
    let server = Server::start_with_files(256, folder.path(), TOKEN).await?;
    // The server closes connections beyond its limit, which may be before a request is written.
    let script = r#"trap '' PIPE
        for i in $(seq 300); do
            exec {fd}<>"/dev/tcp/127.0.0.1/$1" && printf 'POST /mcp HTTP/1.1\r\nHost: 127' >&$fd
        done
        echo ready; sleep 300"#;
    let mut child = other_user(script, &[&server.port().to_string()]).stderr(Stdio::null()).spawn()?;
    let mut lines = BufReader::new(child.stdout.take().context("no stdout")?).lines();
    let line = tokio::time::timeout(deadline(TIMEOUT_SECS), lines.next_line()).await??;
    assert_eq!(line.as_deref(), Some("ready"));
    let mut agent = server.agent(TOKEN).await?;
    assert_eq!(agent.call("debug_status", &json!({})).await?["state"], "idle");
    child.kill().await?;
    server.stop().await
}

#[tokio::test]
async fn a_header_that_never_ends_closes_its_connection() -> anyhow::Result<()> {
    let folder = tempfile::tempdir()?;
    let server = Server::start_with_files(256, folder.path(), TOKEN).await?;
    let mut held = Vec::new();
    // More than there are places.
    for _ in 0..100 {
        held.push(server.open(b"POST /mcp HTTP/1.1\r\nHost: 127").await?);
    }
    for mut connection in held {
        drop(
            tokio::time::timeout(deadline(TIMEOUT_SECS), connection.read_to_end(&mut Vec::new()))
                .await
                .context("it stays open")?,
        );
    }
    let mut agent = server.agent(TOKEN).await?;
    assert_eq!(agent.call("debug_status", &json!({})).await?["state"], "idle");
    server.stop().await
}
