//! The way to the program's stdin: a pipe, or a terminal with its rules for lines and for the end of input.
//!
//! Not here: the order of writers and their time limits ([`super::stdin`]).

use rustix::termios::{LocalModes, tcgetattr};
use tandem_error::{ErrorCode, Failure};
use tokio::io::AsyncWriteExt;
use tokio::net::unix::pipe;

use super::terminal::END_OF_INPUT;

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

/// A line that the program's terminal cannot take.
#[derive(Debug, PartialEq, Eq)]
pub(super) struct TooLongLine {
    /// Where it begins in what is to be written.
    pub(super) start: usize,
    len: usize,
}

impl TooLongLine {
    /// The refusal of a write with this line.
    pub(super) fn failure(&self) -> Failure {
        let message = format!(
            "the program's terminal takes lines of at most {MAX_LINE_LEN} bytes, and this one has {}; it was \
            not written, nor was what follows it",
            self.len
        );
        Failure::new(ErrorCode::InvalidParameter, message).hint(
            "write shorter lines, or launch the program without `pty`: a pipe takes lines of any length",
        )
    }
}

impl InputSink {
    pub(super) async fn write(&mut self, data: &[u8]) -> std::io::Result<usize> {
        match self {
            Self::Pipe(pipe) => pipe.write(data).await,
            Self::Terminal { ours, line_len } => {
                let written = ours.write(data).await?;
                let typed = data.get(..written).unwrap_or(data);
                *line_len = typed.iter().fold(*line_len, |len, key| line_len_after(len, *key));
                Ok(written)
            }
        }
    }

    /// The first line that would lose its end in this terminal, if the program reads lines now.
    pub(super) fn too_long_line(&self, data: &[u8]) -> Option<TooLongLine> {
        match self {
            Self::Terminal { ours, line_len } if takes_lines(ours) => first_too_long_line(*line_len, data),
            Self::Terminal { .. } | Self::Pipe(_) => None,
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

fn takes_lines(terminal: &pipe::Sender) -> bool {
    tcgetattr(terminal).is_ok_and(|modes| modes.local_modes.contains(LocalModes::ICANON))
}

fn line_len_after(len: usize, key: u8) -> usize {
    match key {
        ERASE => len.saturating_sub(1),
        key if LINE_ENDS.contains(&key) => 0,
        _ => len + 1,
    }
}

/// The first line of `data` that does not fit, after a line of `open_len` bytes that has no end yet.
fn first_too_long_line(open_len: usize, data: &[u8]) -> Option<TooLongLine> {
    let (mut start, mut len) = (0, open_len);
    for (at, key) in data.iter().enumerate() {
        len = line_len_after(len, *key);
        if len == 0 {
            start = at + 1;
        } else if len > MAX_LINE_LEN {
            let rest = data.get(at + 1..).unwrap_or_default();
            let rest = rest.iter().take_while(|key| !LINE_ENDS.contains(*key)).count();
            return Some(TooLongLine { start, len: len + rest });
        }
    }
    None
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_line_that_a_terminal_would_cut_is_found_wherever_it_begins() {
        let line = |len: usize, end: &str| "x".repeat(len) + end;
        let found = |open_len: usize, data: &str| {
            first_too_long_line(open_len, data.as_bytes()).map(|line| (line.start, line.len))
        };
        for fits in [
            line(4095, "\n"),
            line(4095, ""),
            line(4095, "\r") + &line(4095, "\x04"),
            line(5000, "").replace("xxxxx", "xxx\x7f\x7f"),
        ] {
            assert_eq!(found(0, &fits), None);
        }
        assert_eq!(found(0, &line(4096, "\n")), Some((0, 4096)));
        assert_eq!(found(0, &(line(9, "\n") + &line(5000, "\nmore\n"))), Some((10, 5000)));
        // Keys that take the line away, and a line that an earlier write began.
        assert_eq!(found(0, &(line(3000, "\x15") + &line(3000, "\x03") + &line(3000, ""))), None);
        assert_eq!(found(4000, &line(96, "\n")), Some((0, 4096)));
        assert_eq!(found(4000, "\nx"), None);
    }
}
