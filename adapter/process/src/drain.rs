//! One stream of the program: its pipe or terminal, and its ring buffer. Draining never waits for a client.
//!
//! Not here: the thread that drains it ([`super::drain_thread`]).

use std::fs::File;
use std::os::fd::AsFd;
use std::time::{Duration, Instant};

use rustix::event::{PollFd, PollFlags, poll};

use super::output_copy::OutputCopy;
use super::ring::RingBuffer;
use super::terminal_answers::TerminalAnswers;
use super::terminal_size::TerminalSize;

/// Bytes read at once; also what the pipe is enlarged to, so that a program that prints fast blocks less.
const READ_LEN: usize = 1024 * 1024;

/// The state of a stream after it was drained.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum DrainStep {
    Open,
    /// No process has the terminal open any more, but the program has not ended.
    HungUp,
    StillHungUp,
    Ended,
}

/// One stream of the program: its pipe and the kept output.
#[derive(Debug)]
pub struct DrainedStream {
    pipe: Option<File>,
    attached: u64,
    block: Vec<u8>,
    /// No process has the terminal open now. One that has it as its own may open `/dev/tty` again.
    hung_up: bool,
    /// The time of the latest output.
    printed: Option<Instant>,
    /// For a terminal: the answers to the program's queries.
    answers: Option<TerminalAnswers>,
    /// A file that also gets all output.
    copy: Option<OutputCopy>,
    /// What users do not know yet about a fault of the stream or its copy.
    warning: Option<String>,
    /// The newest output, which clients read.
    pub ring: RingBuffer,
}

impl DrainedStream {
    /// A stream without a program yet.
    pub fn new(capacity: usize) -> Self {
        Self {
            pipe: None,
            attached: 0,
            block: Vec::new(),
            hung_up: false,
            printed: None,
            answers: None,
            copy: None,
            warning: None,
            ring: RingBuffer::new(capacity),
        }
    }

    /// Also writes further output to this file.
    pub(super) fn copy_to(&mut self, copy: Option<OutputCopy>) {
        self.copy = copy;
    }

    /// Appends output to the ring and the copy.
    pub fn push(&mut self, bytes: &[u8]) {
        self.ring.push(bytes);
        if let Some(copy) = &mut self.copy
            && let Err(warning) = copy.write(bytes)
        {
            self.warning = Some(warning);
            self.copy = None;
        }
    }

    /// Takes what users must know about a fault of the stream or its copy.
    pub(super) fn take_warning(&mut self) -> Option<String> {
        self.warning.take()
    }

    /// Takes over a read end; returns what the draining thread polls. With `answers` it is a terminal, and
    /// they are typed into it.
    ///
    /// # Errors
    /// From duplicating the descriptor or making it non-blocking.
    pub(super) fn attach(&mut self, pipe: File, answers: Option<TerminalAnswers>) -> std::io::Result<File> {
        self.answers = answers;
        rustix::io::ioctl_fionbio(&pipe, true)?;
        // An unprivileged user may have used up the pages for pipes; a smaller pipe only costs speed.
        rustix::pipe::fcntl_setpipe_size(&pipe, READ_LEN).unwrap_or_default();
        let polled = pipe.try_clone()?;
        self.pipe = Some(pipe);
        self.hung_up = false;
        self.attached += 1;
        Ok(polled)
    }

    /// Changes the size of the program's terminal, unless it has ended. For a pipe it does nothing.
    ///
    /// # Errors
    /// From setting the size.
    pub(super) fn resize(&mut self, size: TerminalSize) -> std::io::Result<()> {
        let (Some(answers), Some(terminal)) = (&mut self.answers, &self.pipe) else { return Ok(()) };
        answers.resize(size);
        size.apply(terminal)
    }

    /// How many pipes were attached until now, one for each start of the program.
    pub fn attached(&self) -> u64 {
        self.attached
    }

    /// Whether there was output within this time.
    pub fn has_printed_within(&self, time: Duration) -> bool {
        self.printed.is_some_and(|printed| printed.elapsed() < time)
    }

    /// Types the answers to what the program asked. Those that do not fit now, because the program does not
    /// read, follow with later ones.
    fn answer_queries(&mut self, printed: &[u8]) {
        let (Some(answers), Some(pipe)) = (&mut self.answers, &self.pipe) else { return };
        answers.print(printed);
        while !answers.untyped().is_empty() {
            match rustix::io::write(pipe, answers.untyped()) {
                Ok(0) | Err(rustix::io::Errno::AGAIN) => return,
                Ok(count) => answers.note_typed(count),
                Err(rustix::io::Errno::INTR) => {}
                Err(error) => {
                    tracing::debug!(%error, "the program's terminal takes no answers");
                    return answers.note_typed(usize::MAX);
                }
            }
        }
    }

    /// Whether the stream has ended, or may have: see `is_closed`.
    pub fn at_end(&self) -> bool {
        self.pipe.is_none() || self.hung_up
    }

    /// Whether nothing can come any more. A terminal stays open until `close`.
    pub(super) fn is_closed(&self) -> bool {
        self.pipe.is_none()
    }

    /// Closes the pipe or our end of the terminal.
    pub(super) fn close(&mut self) {
        self.pipe = None;
        self.block = Vec::new();
        if let Some(warning) = self.copy.take().and_then(OutputCopy::finish) {
            self.warning = Some(warning);
        }
    }

    /// Reads what is in the pipe now, at most one block; returns whether there may be more. At the
    /// end, closes a pipe.
    pub fn drain(&mut self) -> bool {
        let Some(pipe) = &self.pipe else { return false };
        if self.block.is_empty() {
            self.block = vec![0; 256 * 1024];
        }
        match rustix::io::read(pipe, &mut self.block[..]) {
            Ok(0) => {
                self.close();
                false
            }
            Ok(count) => {
                self.hung_up = false;
                let block = std::mem::take(&mut self.block);
                let printed = block.get(..count).unwrap_or_default();
                self.push(printed);
                self.answer_queries(printed);
                self.block = block;
                self.printed = Some(Instant::now());
                true
            }
            Err(rustix::io::Errno::AGAIN) => {
                self.hung_up = false;
                false
            }
            Err(rustix::io::Errno::INTR) => true,
            // The error of a terminal that no process has open.
            Err(rustix::io::Errno::IO) => {
                self.hung_up = true;
                false
            }
            Err(error) => {
                self.close();
                self.warning = Some(format!(
                    "cannot read the program's output: {error}; what follows is lost; restart the program"
                ));
                false
            }
        }
    }
}

/// Waits until there is data to drain or all writers have closed the pipe.
pub fn wait_readable(pipe: &File) {
    let mut descriptors = [PollFd::from_borrowed_fd(pipe.as_fd(), PollFlags::IN)];
    // An interrupted wait is a short wait: the caller tries to read and comes back.
    poll(&mut descriptors, None).unwrap_or_default();
}

#[cfg(test)]
mod tests {
    use std::fs::OpenOptions;
    use std::io::Write;
    use std::os::unix::fs::OpenOptionsExt;

    use rustix::fs::OFlags;

    use super::super::terminal::PseudoTerminal;
    use super::*;

    #[test]
    fn a_terminal_that_no_process_has_open_can_be_opened_again() {
        let PseudoTerminal { ours, programs, path } = PseudoTerminal::open().unwrap();
        let mut stream = DrainedStream::new(100);
        drop(stream.attach(ours, None).unwrap());
        File::from(programs.try_clone().unwrap()).write_all(b"ready ").unwrap();
        drop(programs);
        while stream.drain() {}
        assert!(stream.at_end() && !stream.is_closed());

        let flags = i32::try_from(OFlags::NOCTTY.bits()).unwrap();
        let mut again = OpenOptions::new().write(true).custom_flags(flags).open(path).unwrap();
        stream.drain();
        assert!(!stream.at_end());
        again.write_all(b"name? ").unwrap();
        drop(again);
        while stream.drain() {}
        assert_eq!(stream.ring.read(0, 100).bytes, b"ready name? ");
        assert!(stream.at_end() && !stream.is_closed());
    }
}
