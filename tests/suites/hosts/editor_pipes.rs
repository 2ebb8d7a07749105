//! Connections of an editor to its session: its pipe or socket is passed to the host, any other file is
//! copied. Whichever process ends first, no process is left and none hangs.

use std::fs::File;
use std::os::fd::{AsFd, AsRawFd, OwnedFd};
use std::os::unix::net::UnixStream;
use std::process::Stdio;
use std::time::{Duration, Instant};

use anyhow::Context;
use futures::{SinkExt, StreamExt};
use serde_json::json;
use tandem_harness::deadline::deadline;
use tandem_harness::fixture;
use tandem_wire::codec::DapCodec;
use tandem_wire::{Message, Request};
use tokio::io::AsyncReadExt;
use tokio::process::{Child, ChildStdin, ChildStdout, Command};
use tokio_util::codec::{Encoder, FramedRead, FramedWrite};

/// The deadline of each wait, s.
const TIMEOUT_SECS: u64 = 30;

/// `tandem-dap` as an editor starts it.
struct StartedAdapter(Child);

impl StartedAdapter {
    fn with(stdin: impl Into<Stdio>, stdout: impl Into<Stdio>) -> anyhow::Result<Self> {
        let mut command = Command::new(fixture::binary("tandem-dap"));
        command.stdin(stdin).stdout(stdout).stderr(Stdio::piped()).kill_on_drop(true);
        Ok(Self(command.spawn()?))
    }

    /// The process of its session, while there is one.
    async fn host(&self) -> anyhow::Result<u32> {
        let pid = self.0.id().context("the relay has ended")?;
        let children = format!("/proc/{pid}/task/{pid}/children");
        wait_until("the host", || std::fs::read_to_string(&children).ok()?.trim().parse().ok()).await
    }

    /// Whether the host itself has this open.
    async fn host_has(&self, inode: &str) -> anyhow::Result<bool> {
        let open = std::fs::read_dir(format!("/proc/{}/fd", self.host().await?))?.flatten();
        let open = open.filter_map(|entry| std::fs::read_link(entry.path()).ok());
        Ok(open.into_iter().any(|open| open.as_os_str() == inode))
    }

    /// Neither relay nor host is left: both have the pipe that is our stderr. Nor has one complained.
    async fn all_end(self) -> anyhow::Result<()> {
        let (status, stderr) = self.end().await?;
        anyhow::ensure!(status.success() && stderr.is_empty(), "{status}, and it said: {stderr}");
        Ok(())
    }

    /// Returns the exit status of the relay, and its stderr.
    async fn end(mut self) -> anyhow::Result<(std::process::ExitStatus, String)> {
        let status = tokio::time::timeout(deadline(TIMEOUT_SECS), self.0.wait())
            .await
            .context("the relay is still there")??;
        let mut stderr = self.0.stderr.take().context("no stderr")?;
        let mut text = String::new();
        let read = tokio::time::timeout(deadline(TIMEOUT_SECS), stderr.read_to_string(&mut text)).await;
        read.context("the host is still there")??;
        Ok((status, text))
    }

    /// Kills the host, and waits until it is gone.
    async fn kill_host(&self) -> anyhow::Result<()> {
        let host = self.host().await?;
        let killed = std::process::Command::new("kill").args(["-9", &host.to_string()]).status()?;
        anyhow::ensure!(killed.success());
        wait_until("its end", || (!fixture::is_running(u64::from(host))).then_some(())).await
    }
}

/// The name of one of this process's descriptors in /proc.
fn inode(descriptor: impl AsFd) -> anyhow::Result<String> {
    let link = std::fs::read_link(format!("/proc/self/fd/{}", descriptor.as_fd().as_raw_fd()))?;
    Ok(link.display().to_string())
}

async fn wait_until<T>(what: &str, there: impl Fn() -> Option<T>) -> anyhow::Result<T> {
    let end = Instant::now() + deadline(TIMEOUT_SECS);
    loop {
        if let Some(found) = there() {
            return Ok(found);
        }
        anyhow::ensure!(Instant::now() < end, "waited in vain for {what}");
        tokio::time::sleep(Duration::from_millis(5)).await;
    }
}

fn request(seq: i64, command: &str) -> Message {
    Message::Request(Request { seq, command: command.into(), arguments: json!({ "clientID": "test" }) })
}

fn bytes_of(messages: &[Message]) -> anyhow::Result<Vec<u8>> {
    let mut bytes = bytes::BytesMut::new();
    for message in messages {
        DapCodec::default().encode(message, &mut bytes)?;
    }
    Ok(bytes.to_vec())
}

fn does_not_wait(descriptor: impl AsFd) -> anyhow::Result<bool> {
    let info = std::fs::read_to_string(format!("/proc/self/fdinfo/{}", descriptor.as_fd().as_raw_fd()))?;
    let flags = info.lines().find_map(|line| line.strip_prefix("flags:")).context("no flags")?;
    // O_NONBLOCK, fcntl.h.
    Ok(i32::from_str_radix(flags.trim(), 8)? & 0o4000 != 0)
}

/// Waits for the response to a request of this name; events may come before it.
async fn answered<R: tokio::io::AsyncRead + Unpin>(
    from: &mut FramedRead<R, DapCodec>,
    command: &str,
) -> anyhow::Result<()> {
    loop {
        let next = tokio::time::timeout(deadline(TIMEOUT_SECS), from.next())
            .await
            .context("no answer")?
            .context("hung up")?;
        if matches!(next??, Message::Response(response) if response.command == command) {
            return Ok(());
        }
    }
}

type To = FramedWrite<ChildStdin, DapCodec>;
type From = FramedRead<ChildStdout, DapCodec>;

/// An editor over pipes, after the handshake.
async fn over_pipes() -> anyhow::Result<(StartedAdapter, To, From)> {
    let mut started = StartedAdapter::with(Stdio::piped(), Stdio::piped())?;
    let stdin = started.0.stdin.take().context("no stdin")?;
    let stdout = started.0.stdout.take().context("no stdout")?;
    let (input_pipe, output_pipe) = (inode(&stdin)?, inode(&stdout)?);
    let mut to = FramedWrite::new(stdin, DapCodec::default());
    let mut from = FramedRead::new(stdout, DapCodec::default());
    to.send(&request(1, "initialize")).await?;
    answered(&mut from, "initialize").await?;
    assert!(
        started.host_has(&input_pipe).await? && started.host_has(&output_pipe).await?,
        "the pipes are copied"
    );
    Ok((started, to, from))
}

async fn expect_hang_up(from: &mut From) -> anyhow::Result<()> {
    let end = tokio::time::timeout(deadline(TIMEOUT_SECS), from.next())
        .await
        .context("the connection stays open")?;
    anyhow::ensure!(end.is_none(), "{end:?}");
    Ok(())
}

#[tokio::test]
async fn host_uses_an_editors_pipes_directly_and_keeps_long_messages_whole() -> anyhow::Result<()> {
    let (started, mut to, mut from) = over_pipes().await?;
    // More than a pipe holds, both ways; the response has the command's name.
    let long = "x".repeat(1 << 20);
    to.send(&request(2, &long)).await?;
    answered(&mut from, &long).await?;
    to.send(&request(3, "disconnect")).await?;
    answered(&mut from, "disconnect").await?;
    // The end of the stream arrives although this editor keeps its own end open.
    expect_hang_up(&mut from).await?;
    started.all_end().await
}

#[tokio::test]
async fn an_editor_that_closes_the_adapters_stdin_has_left() -> anyhow::Result<()> {
    let (started, to, mut from) = over_pipes().await?;
    drop(to);
    expect_hang_up(&mut from).await?;
    started.all_end().await
}

#[tokio::test]
async fn an_editor_that_reads_no_more_has_left() -> anyhow::Result<()> {
    let (started, mut to, from) = over_pipes().await?;
    drop(from);
    // Noticed when there is something to tell it.
    to.send(&request(2, "threads")).await?;
    started.all_end().await
}

#[tokio::test]
async fn an_editor_that_kills_its_adapter_has_left() -> anyhow::Result<()> {
    let (mut started, _to, mut from) = over_pipes().await?;
    started.0.start_kill()?;
    expect_hang_up(&mut from).await?;
    let (_, stderr) = started.end().await?;
    anyhow::ensure!(stderr.is_empty(), "it said: {stderr}");
    Ok(())
}

/// Expects the relay to report the death of the host, and to fail.
async fn expect_death_report<R: tokio::io::AsyncRead + Unpin>(
    started: StartedAdapter,
    from: &mut FramedRead<R, DapCodec>,
) -> anyhow::Result<()> {
    let mut events = Vec::new();
    while let Some(next) =
        tokio::time::timeout(deadline(TIMEOUT_SECS), from.next()).await.context("no end")?
    {
        match next?? {
            Message::Event(event) => events.push((event.event, event.body)),
            other => anyhow::bail!("{other:?}"),
        }
    }
    let names: Vec<_> = events.iter().map(|(name, _)| name.as_str()).collect();
    assert_eq!(names, ["output", "terminated"]);
    let text = events[0].1["output"].as_str().context("no text")?;
    anyhow::ensure!(text.contains("died") && text.contains("signal: 9"), "{text}");
    let (status, stderr) = started.end().await?;
    anyhow::ensure!(!status.success() && stderr.contains("signal: 9"), "{status}: {stderr}");
    Ok(())
}

#[tokio::test]
async fn an_editor_is_notified_of_a_host_that_is_killed() -> anyhow::Result<()> {
    let (started, _to, mut from) = over_pipes().await?;
    started.kill_host().await?;
    expect_death_report(started, &mut from).await
}

/// The host's unfinished message is completed first: the editor reads whole messages.
#[tokio::test]
async fn an_editor_is_notified_of_a_host_that_is_killed_in_the_middle_of_a_message() -> anyhow::Result<()> {
    let (started, mut to, mut from) = over_pipes().await?;
    let long = "x".repeat(200 << 10);
    to.send(&request(2, &long)).await?;
    // The pipe is full: FIONREAD, ioctl_pipe(2).
    let output_pipe = from.get_ref().as_fd().try_clone_to_owned()?;
    let held = || rustix::io::ioctl_fionread(&output_pipe).ok().filter(|bytes| *bytes >= 60 << 10);
    wait_until("the message", held).await?;
    tokio::time::sleep(Duration::from_millis(50)).await;
    started.kill_host().await?;
    answered(&mut from, &long).await?;
    expect_death_report(started, &mut from).await
}

#[tokio::test]
async fn an_editor_whose_bytes_are_copied_is_notified_of_a_host_that_is_killed() -> anyhow::Result<()> {
    let folder = tempfile::tempdir()?;
    let path = folder.path().join("fifo");
    anyhow::ensure!(std::process::Command::new("mkfifo").arg(&path).status()?.success());
    let both = File::options().read(true).write(true).open(&path)?;
    let mut started = StartedAdapter::with(File::open(&path)?, Stdio::piped())?;
    let mut from = FramedRead::new(started.0.stdout.take().context("no stdout")?, DapCodec::default());
    std::io::Write::write_all(&mut &both, &bytes_of(&[request(1, "initialize")])?)?;
    answered(&mut from, "initialize").await?;
    started.kill_host().await?;
    expect_death_report(started, &mut from).await
}

#[tokio::test]
async fn a_socket_is_handed_over_and_still_waits_for_others_who_share_it() -> anyhow::Result<()> {
    // As sshd does it: one socket for both directions, which other processes of that shell have as well.
    let (ours, theirs) = UnixStream::pair()?;
    let shared = theirs.try_clone()?;
    let started = StartedAdapter::with(OwnedFd::from(theirs.try_clone()?), OwnedFd::from(theirs))?;
    ours.set_nonblocking(true)?;
    let (from, to) = tokio::net::UnixStream::from_std(ours)?.into_split();
    let mut to = FramedWrite::new(to, DapCodec::default());
    let mut from = FramedRead::new(from, DapCodec::default());
    to.send(&request(1, "initialize")).await?;
    answered(&mut from, "initialize").await?;
    assert!(started.host_has(&inode(&shared)?).await?, "copied");
    assert!(!does_not_wait(&shared)?, "the flags of a shared socket were changed");
    let long = "x".repeat(1 << 20);
    to.send(&request(2, &long)).await?;
    answered(&mut from, &long).await?;
    to.send(&request(3, "disconnect")).await?;
    answered(&mut from, "disconnect").await?;
    started.all_end().await?;
    assert!(!does_not_wait(&shared)?, "the flags of a shared socket were changed");
    Ok(())
}

#[tokio::test]
async fn files_are_copied() -> anyhow::Result<()> {
    let folder = tempfile::tempdir()?;
    let (input_file, output_file) = (folder.path().join("input"), folder.path().join("output"));
    std::fs::write(&input_file, bytes_of(&[request(1, "initialize"), request(2, "disconnect")])?)?;
    let stdin = File::open(&input_file)?;
    let started = StartedAdapter::with(stdin, File::create(&output_file)?)?;
    started.all_end().await?;
    let output = std::fs::read(&output_file)?;
    let mut answers = FramedRead::new(output.as_slice(), DapCodec::default());
    answered(&mut answers, "initialize").await?;
    answered(&mut answers, "disconnect").await
}

#[tokio::test]
async fn a_named_pipe_whose_writer_has_gone_already_ends_the_session() -> anyhow::Result<()> {
    let folder = tempfile::tempdir()?;
    let path = folder.path().join("fifo");
    anyhow::ensure!(std::process::Command::new("mkfifo").arg(&path).status()?.success());
    // Opened for both directions, so that neither open blocks; then all writers are closed.
    let both = File::options().read(true).write(true).open(&path)?;
    let stdin = File::open(&path)?;
    drop(both);
    StartedAdapter::with(stdin, Stdio::piped())?.all_end().await
}
