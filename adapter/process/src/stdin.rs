//! The program's stdin, as clients write it: in order, with time limits, and without blocking other work.
//!
//! Not here: whether the program waits for input ([`super::input_wait`]).

use std::fs::File;
use std::io::Read;
use std::os::fd::OwnedFd;
use std::path::{Path, PathBuf};
use std::sync::{Mutex, PoisonError};
use std::time::{Duration, Instant};

use tandem_error::{ErrorCode, Failure};
use tokio::net::unix::pipe;
use tokio_util::sync::CancellationToken;

use super::blocking_calls::InputFile;
use super::input_sink::InputSink;
use super::terminal;
use super::text;

/// How long a writer waits for the program to take what is in the full pipe.
pub const WRITE_TIMEOUT: Duration = Duration::from_secs(10);

/// Bytes of a file that are written at once, so that what clients write comes in between.
const MAX_FEED_LEN: usize = 64 * 1024;

/// Bytes that a pipe takes whole or not at all (`PIPE_BUF`).
const MAX_WHOLE_LEN: usize = 4096;

/// Number of clients' input bytes that are kept.
const MAX_KEPT_INPUT: usize = 1 << 20;

/// The clients' input to the program, in order, so that another run can get the same.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct InputRecord {
    /// The beginning, as far as it is kept.
    pub data: Vec<u8>,
    /// The total number of bytes.
    pub bytes: u64,
    /// A client has closed it.
    pub closed: bool,
}

impl InputRecord {
    fn add(&mut self, data: &[u8]) {
        // Data after a gap would be useless.
        if self.bytes == self.data.len() as u64 {
            let room = MAX_KEPT_INPUT - self.data.len();
            self.data.extend_from_slice(data.get(..room).unwrap_or(data));
        }
        self.bytes += data.len() as u64;
    }
}

/// Our end of the program's stdin.
#[derive(Debug)]
pub struct ProgramStdin {
    /// The lock is fair: writers get it in the order of their requests.
    /// The only copy of the descriptor: when it goes, the program sees the end of its input.
    pipe: tokio::sync::Mutex<Option<InputSink>>,
    name: PathBuf,
    input: InputFile,
    /// The time of the latest write.
    typed: Mutex<Option<Instant>>,
    given: Mutex<InputRecord>,
}

impl ProgramStdin {
    /// Takes over the write end. Must be called inside a tokio runtime.
    ///
    /// # Errors
    /// `IO_FAILED` when the descriptor cannot be prepared.
    pub fn new(stdin: File, terminal: Option<&Path>) -> Result<Self, Failure> {
        let failed = |error: std::io::Error| {
            Failure::new(ErrorCode::IoFailed, format!("cannot prepare the program's stdin: {error}"))
        };
        rustix::io::ioctl_fionbio(&stdin, true).map_err(|error| failed(error.into()))?;
        let (name, way) = match terminal {
            Some(path) => {
                // A terminal is not a pipe, but is waited for and written to as one.
                let ours = pipe::Sender::from_owned_fd_unchecked(OwnedFd::from(stdin)).map_err(failed)?;
                (path.to_path_buf(), InputSink::Terminal { ours, line_len: 0 })
            }
            None => {
                let inode = rustix::fs::fstat(&stdin).map_err(|error| failed(error.into()))?.st_ino;
                let sender = pipe::Sender::from_owned_fd(OwnedFd::from(stdin)).map_err(failed)?;
                (format!("pipe:[{inode}]").into(), InputSink::Pipe(sender))
            }
        };
        Ok(Self {
            pipe: tokio::sync::Mutex::new(Some(way)),
            input: InputFile::new(&name),
            name,
            typed: Mutex::new(None),
            given: Mutex::default(),
        })
    }

    /// The input that the program reads.
    pub(super) fn input(&self) -> &InputFile {
        &self.input
    }

    /// The clients' input, without input from a file.
    pub fn input_record(&self) -> InputRecord {
        self.given.lock().unwrap_or_else(PoisonError::into_inner).clone()
    }

    /// How many bytes clients wrote.
    pub fn bytes_given(&self) -> u64 {
        self.given.lock().unwrap_or_else(PoisonError::into_inner).bytes
    }

    /// Whether there was a write within this time.
    pub fn was_typed_within(&self, time: Duration) -> bool {
        let typed = *self.typed.lock().unwrap_or_else(PoisonError::into_inner);
        typed.is_some_and(|typed| typed.elapsed() < time)
    }

    /// Whether it is a terminal.
    pub fn is_terminal(&self) -> bool {
        self.name.starts_with("/dev")
    }

    /// Whether everything written was read by the program, and it can still read.
    pub fn is_empty_and_open(&self) -> bool {
        // During a write it is not empty, or will not be.
        let Ok(pipe) = self.pipe.try_lock() else { return false };
        match pipe.as_ref() {
            Some(InputSink::Pipe(pipe)) => rustix::io::ioctl_fionread(pipe).is_ok_and(|unread| unread == 0),
            // The rest of a line that has no end yet cannot be read.
            Some(InputSink::Terminal { .. }) => terminal::has_nothing_unread(&self.name),
            None => false,
        }
    }

    /// Whether it is a terminal that the program has switched from lines to single keys (no `ICANON`), and
    /// every key was read. A program that polls for keys does that, and is never found reading.
    pub fn takes_keys(&self) -> bool {
        let Ok(pipe) = self.pipe.try_lock() else { return false };
        match pipe.as_ref() {
            Some(InputSink::Terminal { ours, .. }) => terminal::has_no_key_left(ours, &self.name),
            _ => false,
        }
    }

    /// Writes all of `data`, then closes stdin if `close` is set. Returns whether stdin is closed now.
    ///
    /// # Errors
    /// `STDIN_CLOSED`, `TIMEOUT` (says how much the program took), `CANCELLED`, `IO_FAILED`.
    pub async fn write(&self, data: &[u8], close: bool, cancel: &CancellationToken) -> Result<bool, Failure> {
        let mut written = 0;
        let work = self.push(data, close, Some(&self.given), &mut written);
        let outcome = tokio::select! {
            outcome = work => Some(outcome),
            () = cancel.cancelled() => None,
            () = tokio::time::sleep(WRITE_TIMEOUT) => None,
        };
        outcome.unwrap_or_else(|| {
            if cancel.is_cancelled() {
                return Err(Failure::cancelled().data(bytes_written(written)));
            }
            let is_cut = data.get(written).is_some_and(|byte| is_inside_character(*byte));
            let rest = match is_cut {
                true => {
                    "write the rest, from `bytesWritten` on, as base64 when the program reads: it begins \
                    inside a character"
                }
                false => "write the rest, from `bytesWritten` on, when the program reads",
            };
            Err(Failure::new(
                ErrorCode::Timeout,
                format!(
                    "the program took {written} of {} bytes within {} s; its stdin is full",
                    data.len(),
                    WRITE_TIMEOUT.as_secs()
                ),
            )
            .data(bytes_written(written))
            .hint(rest))
        })
    }

    /// Writes what a file holds, however slowly the program reads, and closes. Ends when the
    /// program closes its stdin.
    ///
    /// # Errors
    /// `STDIN_CLOSED`, `IO_FAILED`.
    pub async fn feed(&self, mut file: File) -> Result<(), Failure> {
        let mut block = vec![0; MAX_FEED_LEN];
        loop {
            let count = match file.read(&mut block) {
                Ok(count) => count,
                Err(error) if error.kind() == std::io::ErrorKind::Interrupted => continue,
                Err(error) => {
                    let message = format!("reading the file for the program's stdin failed: {error}");
                    return Err(Failure::new(ErrorCode::IoFailed, message));
                }
            };
            self.push(block.get(..count).unwrap_or_default(), count == 0, None, &mut 0).await?;
            if count == 0 {
                return Ok(());
            }
        }
    }

    /// Writes all of `data`, counting the bytes that the program took, then closes stdin if `close` is set.
    /// Returns whether stdin is closed now.
    async fn push(
        &self,
        data: &[u8],
        close: bool,
        given: Option<&Mutex<InputRecord>>,
        written: &mut usize,
    ) -> Result<bool, Failure> {
        // The lock of the pipe, which is held meanwhile, keeps what several clients write in its order.
        let note = |work: &dyn Fn(&mut InputRecord)| {
            if let Some(given) = given {
                work(&mut given.lock().unwrap_or_else(PoisonError::into_inner));
            }
        };
        let mut guard = self.pipe.lock().await;
        let Some(pipe) = guard.as_mut() else { return Err(closed_failure("it was closed before")) };
        while let Some(rest) = data.get(*written..).filter(|rest| !rest.is_empty()) {
            let rest = whole_part(rest);
            match pipe.write(rest).await {
                Ok(count) => {
                    note(&|given| given.add(rest.get(..count).unwrap_or(rest)));
                    *written += count;
                    *self.typed.lock().unwrap_or_else(PoisonError::into_inner) = Some(Instant::now());
                }
                Err(error) if error.kind() == std::io::ErrorKind::BrokenPipe => {
                    *guard = None;
                    return Err(
                        closed_failure("the program closed it or has ended").data(bytes_written(*written))
                    );
                }
                Err(error) => {
                    return Err(Failure::new(
                        ErrorCode::IoFailed,
                        format!("writing to the program's stdin failed after {written} bytes: {error}"),
                    )
                    .data(bytes_written(*written)));
                }
            }
        }
        if close {
            if let Some(way) = guard.as_mut() {
                way.end().await.map_err(|error| {
                    let message = format!("ending the program's input failed: {error}");
                    Failure::new(ErrorCode::IoFailed, message)
                })?;
            }
            *guard = None;
            note(&|given| given.closed = true);
        }
        Ok(guard.is_none())
    }
}

/// The beginning of input that a pipe does not split, and that ends with a whole character if it is text: a
/// client can write only whole ones when it continues.
fn whole_part(data: &[u8]) -> &[u8] {
    let Some(part) = data.get(..MAX_WHOLE_LEN).filter(|part| part.len() < data.len()) else { return data };
    let end = part.len() - text::incomplete_tail(part);
    part.get(..end).unwrap_or(part)
}

/// Whether a byte of UTF-8 continues a character.
fn is_inside_character(byte: u8) -> bool {
    (0x80..=0xBF).contains(&byte)
}

/// The number of bytes the program's stdin took, for a client that wants to write the rest.
pub(super) fn bytes_written(written: usize) -> serde_json::Value {
    // A number is always JSON.
    serde_json::to_value(InputProgress { bytes_written: written }).unwrap_or_default()
}

/// `data` of the failure of a write that may have written a part.
#[derive(Debug, Default, serde::Serialize, serde::Deserialize)]
#[serde(default, rename_all = "camelCase")]
pub struct InputProgress {
    /// The number of bytes that the program's stdin took.
    pub bytes_written: usize,
}

pub(super) fn closed_failure(why: &str) -> Failure {
    Failure::new(ErrorCode::StdinClosed, format!("the program's stdin is closed: {why}"))
        .hint("restart the program to send it more input")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[tokio::test]
    async fn input_of_clients_is_kept_and_input_from_a_file_is_not() {
        let (reader, writer) = std::io::pipe().unwrap();
        let stdin = ProgramStdin::new(File::from(OwnedFd::from(writer)), None).unwrap();
        let cancel = CancellationToken::new();
        stdin.write(b"one\n", false, &cancel).await.unwrap();
        assert_eq!(stdin.input_record(), InputRecord { data: b"one\n".to_vec(), bytes: 4, closed: false });
        assert!(stdin.write(b"two", true, &cancel).await.unwrap());
        assert_eq!(stdin.input_record(), InputRecord { data: b"one\ntwo".to_vec(), bytes: 7, closed: true });
        assert!(stdin.write(b"x", false, &cancel).await.is_err());
        assert_eq!(stdin.input_record().bytes, 7);
        drop(reader);

        let (reader, writer) = std::io::pipe().unwrap();
        let stdin = ProgramStdin::new(File::from(OwnedFd::from(writer)), None).unwrap();
        let file = tempfile::NamedTempFile::new().unwrap();
        std::fs::write(file.path(), "from a file").unwrap();
        stdin.feed(file.reopen().unwrap()).await.unwrap();
        assert_eq!(stdin.input_record(), InputRecord::default());
        drop(reader);
    }

    #[tokio::test]
    async fn a_full_pipe_takes_whole_characters() {
        use std::io::Read as _;
        for text in ["x".to_owned() + &"é".repeat(100_000), "€".repeat(100_000), "a".repeat(100_000)] {
            let (mut reader, writer) = std::io::pipe().unwrap();
            let stdin = ProgramStdin::new(File::from(OwnedFd::from(writer)), None).unwrap();
            let cancel = CancellationToken::new();
            let (ended, ()) = tokio::join!(stdin.write(text.as_bytes(), false, &cancel), async {
                // The pipe is full by then.
                tokio::time::sleep(Duration::from_millis(50)).await;
                cancel.cancel();
            });
            let taken = usize::try_from(ended.unwrap_err().data["bytesWritten"].as_u64().unwrap()).unwrap();
            assert!(taken > 0 && text.is_char_boundary(taken), "{taken}");
            drop(stdin);
            let mut read = String::new();
            reader.read_to_string(&mut read).unwrap();
            assert_eq!(read, text[..taken]);
        }
    }

    #[test]
    fn input_is_split_between_characters() {
        let longest = |text: &str| whole_part(text.as_bytes()).len();
        assert_eq!(longest(&"a".repeat(MAX_WHOLE_LEN)), MAX_WHOLE_LEN);
        assert_eq!(longest(&"a".repeat(MAX_WHOLE_LEN + 1)), MAX_WHOLE_LEN);
        assert_eq!(longest(&("x".to_owned() + &"é".repeat(MAX_WHOLE_LEN))), MAX_WHOLE_LEN - 1);
        // Bytes that are not text are written unchanged.
        assert_eq!(whole_part(&[0x80; 2 * MAX_WHOLE_LEN]).len(), MAX_WHOLE_LEN);
    }

    #[test]
    fn only_the_beginning_of_much_input_is_kept() {
        let mut given = InputRecord::default();
        given.add(&vec![1; MAX_KEPT_INPUT - 1]);
        given.add(&[2, 3, 4]);
        given.add(&[5]);
        assert_eq!(
            (given.data.len(), given.bytes, given.data.last()),
            (MAX_KEPT_INPUT, MAX_KEPT_INPUT as u64 + 3, Some(&2))
        );
    }
}
