//! Programs that print too much, hang, leave others behind or refuse to end.

use super::output::CapturedOutput;
use super::*;

const LONG: Duration = Duration::from_secs(60);

fn sh(script: &str) -> ProcessCommand {
    ProcessCommand::new("sh", ".").arg("-c").arg(script)
}

/// Whether a process exists and is not a zombie.
fn alive(pid: &str) -> bool {
    assert!(pid.trim().parse::<u32>().is_ok(), "no process id: {pid:?}");
    let status = std::fs::read_to_string(format!("/proc/{}/stat", pid.trim())).unwrap_or_default();
    status.rsplit(')').next().is_some_and(|rest| !rest.trim().is_empty() && !rest.trim().starts_with('Z'))
}

async fn gone(pid: &str) {
    let until = Instant::now() + LONG;
    while alive(pid) {
        assert!(Instant::now() < until, "process {pid} is left");
        tokio::time::sleep(Duration::from_millis(5)).await;
    }
}

#[tokio::test]
async fn both_pipes_are_drained_at_once_and_bounded() {
    let mut sink = CapturedOutput::new(1000, 1000);
    let script = "head -c 3000000 /dev/zero | tr '\\0' x; head -c 3000000 /dev/zero | tr '\\0' y >&2; \
        printf end; exit 3";
    let ended = sh(script).run(&mut sink, LONG, &CancellationToken::new()).await.unwrap();
    assert_eq!(ended, ProcessExit { code: 3 });
    assert_eq!((sink.out.total(), sink.err.total()), (3_000_003, 3_000_000));
    let text = sink.out.text();
    assert!(
        text.starts_with("xxx") && text.ends_with("xend") && text.contains("2999003 bytes left out"),
        "{text}"
    );
}

#[tokio::test]
async fn input_is_given_and_a_signal_is_a_code() {
    let mut sink = CapturedOutput::new(1000, 1000);
    let mut command = sh("cat; kill -9 $$");
    command.input = b"hello".to_vec();
    let ended = command.run(&mut sink, LONG, &CancellationToken::new()).await.unwrap();
    assert_eq!((ended.code, sink.out.text().as_str()), (137, "hello"));
}

#[tokio::test]
async fn a_deadline_and_a_cancellation_end_the_whole_group() {
    let endless = "trap '' TERM; sleep 1000 & echo $!; sleep 1000 & wait; wait";
    // As long as a busy machine takes to start it.
    let mut deadline = Duration::from_millis(300);
    let pid = loop {
        let mut sink = CapturedOutput::new(1000, 1000);
        let failure = sh(endless).run(&mut sink, deadline, &CancellationToken::new()).await.unwrap_err();
        assert_eq!(failure.code, ErrorCode::Timeout);
        match sink.out.text() {
            nothing if nothing.is_empty() && deadline < LONG => deadline *= 4,
            pid => break pid,
        }
    };
    gone(&pid).await;

    let cancel = CancellationToken::new();
    let mut sink = CancelOnLine { output: Vec::new(), cancel: cancel.clone() };
    let failure = sh("sleep 1000 & echo $!; wait").run(&mut sink, LONG, &cancel).await.unwrap_err();
    assert_eq!(failure.code, ErrorCode::Cancelled);
    gone(&String::from_utf8(sink.output).unwrap()).await;
}

/// Cancels as soon as a line was output.
struct CancelOnLine {
    output: Vec<u8>,
    cancel: CancellationToken,
}

impl Sink for CancelOnLine {
    fn take(&mut self, _: OutputStream, bytes: &[u8]) {
        self.output.extend_from_slice(bytes);
        if self.output.ends_with(b"\n") {
            self.cancel.cancel();
        }
    }
}

#[tokio::test]
async fn a_background_process_with_a_pipe_is_killed_without_waiting_for_it() {
    let mut sink = CapturedOutput::new(1000, 1000);
    let ended = sh("sleep 1000 & echo $!").run(&mut sink, LONG, &CancellationToken::new()).await.unwrap();
    assert!(ended.success());
    gone(&sink.out.text()).await;
}

#[tokio::test]
async fn a_call_that_is_dropped_ends_its_program() {
    let file = tempfile::NamedTempFile::new().unwrap();
    let script = format!("sleep 1000 & echo $! > {}; wait", file.path().display());
    let task = tokio::spawn(async move {
        let mut sink = CapturedOutput::new(1000, 1000);
        drop(sh(&script).run(&mut sink, LONG, &CancellationToken::new()).await);
    });
    let until = Instant::now() + LONG;
    let pid = loop {
        let text = std::fs::read_to_string(file.path()).unwrap();
        if text.ends_with('\n') {
            break text;
        }
        assert!(Instant::now() < until);
        tokio::time::sleep(Duration::from_millis(5)).await;
    };
    task.abort();
    gone(&pid).await;
}

#[tokio::test]
async fn a_program_that_is_not_there_is_named() {
    let mut sink = CapturedOutput::new(1, 1);
    let none = ProcessCommand::new("no-such-program", ".");
    let failure = none.run(&mut sink, LONG, &CancellationToken::new()).await.unwrap_err();
    assert_eq!(failure.code, ErrorCode::CommandFailed);
    assert!(failure.message.contains("`no-such-program`: not found in PATH"), "{failure}");
}

#[test]
fn variables_of_a_call_are_set_or_unset_after_those_before() {
    let own = [("A".to_owned(), Some("2".to_owned())), ("B".to_owned(), None)];
    let command = ProcessCommand::new("x", ".").env("A", "1").envs(&own);
    let expected = [("A", Some("1")), ("A", Some("2")), ("B", None)];
    assert_eq!(command.environment, expected.map(|(name, value)| (name.into(), value.map(Into::into))));
}
