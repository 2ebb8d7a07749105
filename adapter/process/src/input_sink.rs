//! The way to the program's stdin: a pipe, or a terminal with its rules for lines and for the end of input.
//!
//! Not here: the order of writers and their time limits ([`super::stdin`]).

use std::io::{Error, ErrorKind};

use rustix::termios::{LocalModes, SpecialCodeIndex, tcgetattr};
use tokio::io::AsyncWriteExt;
use tokio::net::unix::pipe;

use super::terminal::END_OF_INPUT;
use super::text;

/// How often end of file is written to a terminal.
const MAX_END_OF_FILE_WRITES: u8 = 8;

/// The bytes of one line that a terminal keeps for a program that reads lines. It drops further ones.
const MAX_LINE_LEN: usize = 4095;

/// Keys that end a line or take it away: Ctrl+C, Ctrl+D, the two line breaks, Ctrl+U, Ctrl+Z, Ctrl+\.
const LINE_ENDS: [u8; 7] = [0x03, END_OF_INPUT, b'\n', b'\r', 0x15, 0x1a, 0x1c];

/// The key that takes a character away.
const ERASE: u8 = 0x7f;

/// The program's end of stdin that input is written to.
#[derive(Debug)]
pub(super) enum InputSink {
    Pipe(pipe::Sender),
    Terminal {
        ours: pipe::Sender,
        /// The length of the line that has no end yet.
        line_len: usize,
    },
}

impl InputSink {
    /// Writes the beginning of `data`; returns its length. In a terminal, a long line goes in parts that the
    /// terminal keeps, each passed on to the program with the key for the end of input: in the middle of a
    /// line that key ends a read, not the input (termios(3), `VEOF`).
    pub(super) async fn write(&mut self, data: &[u8]) -> std::io::Result<usize> {
        match self {
            Self::Pipe(pipe) => pipe.write(data).await,
            Self::Terminal { ours, line_len } => {
                let Some(end_key) = line_end_key(ours) else {
                    // Single keys are not kept for a line.
                    *line_len = 0;
                    return ours.write(data).await;
                };
                let mut part = part_in_line(*line_len, data);
                if part.is_empty() && !data.is_empty() {
                    if end_key == 0 {
                        return Err(no_end_key());
                    }
                    ours.write_all(&[end_key]).await?;
                    *line_len = 0;
                    part = part_in_line(0, data);
                }
                let written = ours.write(part).await?;
                let typed = part.get(..written).unwrap_or(part);
                *line_len = typed.iter().fold(*line_len, |len, key| line_len_after(len, *key));
                Ok(written)
            }
        }
    }

    /// A pipe ends when it is dropped. A terminal gets end of file: once more in the middle of a line, for
    /// what is there, and several times, since it forgets, and some programs (Python) read on after the end
    /// of a line without one.
    pub(super) async fn end(&mut self) -> std::io::Result<()> {
        if let Self::Terminal { line_len, .. } = self {
            for _ in 0..MAX_END_OF_FILE_WRITES + u8::from(*line_len > 0) {
                self.write(&[END_OF_INPUT]).await?;
            }
        }
        Ok(())
    }
}

/// The key for the end of input of a terminal whose program reads lines, 0 if it has switched the key off;
/// `None` while it reads single keys.
fn line_end_key(terminal: &pipe::Sender) -> Option<u8> {
    let modes = tcgetattr(terminal).ok()?;
    let reads_lines = modes.local_modes.contains(LocalModes::ICANON);
    reads_lines.then(|| modes.special_codes[SpecialCodeIndex::VEOF])
}

fn no_end_key() -> Error {
    let message = format!(
        "its terminal takes lines of at most {MAX_LINE_LEN} bytes, and the program has switched off the key \
        for the end of input; write shorter lines"
    );
    Error::new(ErrorKind::InvalidInput, message)
}

fn line_len_after(len: usize, key: u8) -> usize {
    match key {
        ERASE => len.saturating_sub(1),
        key if LINE_ENDS.contains(&key) => 0,
        _ => len + 1,
    }
}

/// The beginning of `data` that a terminal keeps after a line of `open_len` bytes that has no end yet. It
/// does not split a character.
fn part_in_line(open_len: usize, data: &[u8]) -> &[u8] {
    let mut len = open_len;
    let end = data.iter().position(|key| {
        len = line_len_after(len, *key);
        len > MAX_LINE_LEN
    });
    let Some(part) = end.and_then(|end| data.get(..end)) else { return data };
    part.get(..part.len() - text::incomplete_tail(part)).unwrap_or(part)
}

#[cfg(test)]
mod tests {
    use std::io::{BufRead, BufReader};
    use std::os::fd::OwnedFd;
    use std::time::Duration;

    use super::super::terminal::PseudoTerminal;
    use super::*;

    #[test]
    fn a_line_is_split_where_a_terminal_would_drop_its_end() {
        let line = |len: usize, end: &str| "x".repeat(len) + end;
        let kept = |open_len: usize, data: &str| part_in_line(open_len, data.as_bytes()).len();
        for fits in [
            line(4095, "\n"),
            line(4095, ""),
            line(4095, "\r") + &line(4095, "\x04"),
            line(5000, "").replace("xxxxx", "xxx\x7f\x7f"),
            // Keys that take the line away.
            line(3000, "\x15") + &line(3000, "\x03") + &line(3000, ""),
        ] {
            assert_eq!(kept(0, &fits), fits.len());
        }
        assert_eq!(kept(0, &line(4096, "\n")), 4095);
        assert_eq!(kept(0, &(line(9, "\n") + &line(5000, "\nmore\n"))), 10 + 4095);
        assert_eq!(kept(0, &(line(4094, "") + "é\n")), 4094);
        // After a line that an earlier write began.
        assert_eq!(kept(4000, &line(96, "\n")), 95);
        assert_eq!((kept(4095, "x"), kept(4095, "\n"), kept(4000, "\nx")), (0, 1, 2));
    }

    #[tokio::test]
    async fn a_terminal_passes_on_lines_of_any_length_to_a_program_that_reads_later() {
        let PseudoTerminal { ours, programs, .. } = PseudoTerminal::open().unwrap();
        rustix::io::ioctl_fionbio(&ours, true).unwrap();
        let ours = pipe::Sender::from_owned_fd_unchecked(OwnedFd::from(ours)).unwrap();
        let mut sink = InputSink::Terminal { ours, line_len: 0 };
        let input = "é".repeat(100_000) + "\n" + &"x".repeat(4095) + "\nnext\n";
        let expected = input.clone();
        let reader = std::thread::spawn(move || {
            std::thread::sleep(Duration::from_millis(100));
            // A buffer that the parts fill exactly, or not.
            let mut lines = BufReader::with_capacity(4095, std::fs::File::from(programs));
            let mut read = String::new();
            while read.len() < expected.len() && lines.read_line(&mut read).unwrap() > 0 {}
            assert!(read == expected, "{} of {} bytes", read.len(), expected.len());
        });
        let mut rest = input.as_bytes();
        while !rest.is_empty() {
            let written = sink.write(rest).await.unwrap();
            rest = rest.get(written..).unwrap_or_default();
        }
        tokio::task::spawn_blocking(|| reader.join()).await.unwrap().unwrap();
    }
}
