//! The compiler's process: starts it, sends requests, waits for answers within a time limit, ends it. Does
//! not know the meaning of requests.

use std::io::{Read, Write};
use std::sync::mpsc::{Receiver, RecvTimeoutError, Sender, SyncSender, channel, sync_channel};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::{Duration, Instant};

use tandem_wire::Failure;

use tandem_process::{Broker, Child, SpawnSpec};

/// Largest answer, bytes: an emitted assembly has a few thousand.
const MAX_ANSWER: u32 = 64 << 20;
/// Most answers that wait to be read; there is one for each request.
const MAX_UNREAD_ANSWERS: usize = 4;
/// How often to check whether the request was cancelled.
const CANCEL_CHECK_INTERVAL: Duration = Duration::from_millis(20);
/// Most bytes of its stderr that are kept.
const MAX_COMPLAINT: usize = 4096;
/// How long to wait for the end of its stderr, which may come after its last answer.
const COMPLAINT_TIMEOUT: Duration = Duration::from_millis(500);

/// Reason for not having an answer.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum CompilerProcessError {
    /// The process has ended, or wrote something that is not an answer.
    Ended,
    /// The time limit has passed.
    TimedOut,
    /// The caller cancelled the request, or the session is ending.
    Cancelled,
}

/// A process that answers messages. Dropping it kills it; so does the end of the thread that started it.
pub(super) struct CompilerProcess {
    child: Child,
    requests: Sender<Vec<u8>>,
    responses: Receiver<Vec<u8>>,
    complaint: Arc<Mutex<String>>,
    /// Closed when its stderr has been read completely.
    complained: Receiver<()>,
}

impl CompilerProcess {
    /// Starts the compiler's process.
    ///
    /// # Errors
    /// `LAUNCH_FAILED` if it cannot be started.
    pub(super) fn start(broker: &Broker, spec: &SpawnSpec) -> Result<Self, Failure> {
        let (mut child, pipes) = broker.spawn_helper(spec)?;
        child.release()?;
        let (requests, to_write) = channel::<Vec<u8>>();
        let (read, responses) = sync_channel(MAX_UNREAD_ANSWERS);
        let complaint = Arc::new(Mutex::new(String::new()));
        let kept = complaint.clone();
        let (complains_on, complained) = sync_channel(0);
        let (mut stdin, mut stdout, stderr) = (pipes.stdin, pipes.stdout, pipes.stderr);
        let writes = move || {
            // It may never read again: then it is killed, which ends this thread.
            while let Ok(request) = to_write.recv() {
                let length = u32::try_from(request.len()).unwrap_or(u32::MAX);
                if stdin.write_all(&length.to_le_bytes()).and_then(|()| stdin.write_all(&request)).is_err() {
                    break;
                }
            }
        };
        let reads = move || {
            while let Some(response) = next_message(&mut stdout) {
                if read.send(response).is_err() {
                    break;
                }
            }
        };
        let complains = move || {
            let _complains_on: SyncSender<()> = complains_on;
            let Some(mut stderr) = stderr else { return };
            let mut part = [0; 512];
            while let Ok(count @ 1..) = stderr.read(&mut part) {
                let mut kept = kept.lock().unwrap_or_else(PoisonError::into_inner);
                if kept.len() < MAX_COMPLAINT {
                    kept.push_str(&String::from_utf8_lossy(part.get(..count).unwrap_or_default()));
                }
            }
        };
        let thread = |work: Box<dyn FnOnce() + Send>| {
            std::thread::Builder::new().name("csharp-compiler".into()).spawn(work).map(drop)
        };
        let works: [Box<dyn FnOnce() + Send>; 3] = [Box::new(writes), Box::new(reads), Box::new(complains)];
        for work in works {
            thread(work).map_err(|error| {
                Failure::new(tandem_wire::ErrorCode::LaunchFailed, format!("cannot start a thread: {error}"))
            })?;
        }
        Ok(Self { child, requests, responses, complaint, complained })
    }

    /// Sends a request without an answer, or whose answer is read later. If the process has ended, the
    /// request is lost silently.
    pub(super) fn send(&self, request: Vec<u8>) {
        drop(self.requests.send(request));
    }

    /// Waits for the next answer.
    ///
    /// # Errors
    /// The reason why there is none; the process is then no longer usable.
    pub(super) fn receive(
        &self,
        limit: Duration,
        give_up: &dyn Fn() -> bool,
    ) -> Result<Vec<u8>, CompilerProcessError> {
        let deadline = Instant::now() + limit;
        loop {
            match self.responses.recv_timeout(CANCEL_CHECK_INTERVAL) {
                Ok(response) => return Ok(response),
                Err(RecvTimeoutError::Disconnected) => return Err(CompilerProcessError::Ended),
                Err(RecvTimeoutError::Timeout) if give_up() => return Err(CompilerProcessError::Cancelled),
                Err(RecvTimeoutError::Timeout) if Instant::now() > deadline => {
                    return Err(CompilerProcessError::TimedOut);
                }
                Err(RecvTimeoutError::Timeout) => {}
            }
        }
    }

    /// Whether it has ended, for any reason.
    pub(super) fn has_ended(&self) -> bool {
        self.child.exited().is_some()
    }

    /// The first line of its stderr; empty if there is none.
    pub(super) fn complaint(&self) -> String {
        // Disconnected or too late: in both cases nothing more will come.
        self.complained.recv_timeout(COMPLAINT_TIMEOUT).unwrap_or_default();
        let complaint = self.complaint.lock().unwrap_or_else(PoisonError::into_inner);
        complaint.lines().find(|line| !line.trim().is_empty()).unwrap_or_default().trim().to_owned()
    }
}

/// The next message; `None` at the end of the stream, or if it is malformed.
fn next_message(stdout: &mut impl Read) -> Option<Vec<u8>> {
    let mut length = [0; 4];
    stdout.read_exact(&mut length).ok()?;
    let length = u32::from_le_bytes(length);
    (length <= MAX_ANSWER).then_some(())?;
    let mut message = Vec::new();
    let read = stdout.take(u64::from(length)).read_to_end(&mut message).ok()?;
    (read == length as usize).then_some(message)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn messages_are_read_one_by_one_and_rubbish_is_rejected() {
        let mut sound: &[u8] = &[2, 0, 0, 0, 7, 8, 0, 0, 0, 0, 5, 0, 0, 0, 1];
        assert_eq!(next_message(&mut sound), Some(vec![7, 8]));
        assert_eq!(next_message(&mut sound), Some(vec![]));
        assert_eq!(next_message(&mut sound), None, "it is cut off");
        assert_eq!(next_message(&mut "Unhandled exception. ".as_bytes()), None);
    }
}
