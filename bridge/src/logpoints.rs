//! Lines that log messages of breakpoints wrote since the agent last read them. Bounded: the oldest lines are
//! dropped first, and counted. The program's own output is in the session's buffers, not here.

use std::collections::VecDeque;

/// Maximum length of the kept text, in bytes.
const MAX_BYTES: usize = 4096;
/// Maximum characters of a line that are kept.
const MAX_LINE_LEN: usize = 400;

/// Lines that wait for the agent.
#[derive(Debug, Default)]
pub struct LogpointBuffer {
    lines: VecDeque<String>,
    bytes: usize,
    dropped: u64,
}

impl LogpointBuffer {
    /// Adds a line, and drops the oldest ones beyond the limit.
    pub fn push(&mut self, line: &str) {
        let line: String = line.trim_end_matches('\n').chars().take(MAX_LINE_LEN).collect();
        self.bytes += line.len() + 1;
        self.lines.push_back(line);
        while self.bytes > MAX_BYTES
            && let Some(oldest) = self.lines.pop_front()
        {
            self.bytes -= oldest.len() + 1;
            self.dropped += 1;
        }
    }

    /// Removes and returns the lines, and how many older ones were dropped. `None` when there are no lines.
    pub fn take(&mut self) -> Option<(Vec<String>, u64)> {
        let Self { lines, dropped, .. } = std::mem::take(self);
        (!lines.is_empty()).then(|| (lines.into(), dropped))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_newest_lines_are_kept_and_the_others_counted() {
        let mut logged = LogpointBuffer::default();
        logged.push("i = 1\n");
        logged.push(&"ü".repeat(1000));
        let (lines, dropped) = logged.take().unwrap();
        assert_eq!((lines[0].as_str(), dropped), ("i = 1", 0));
        assert_eq!(lines[1].chars().count(), MAX_LINE_LEN);
        assert!(logged.take().is_none());
        for number in 0..2000 {
            logged.push(&format!("line {number}"));
        }
        let (lines, dropped) = logged.take().unwrap();
        assert_eq!(lines.last().unwrap(), "line 1999");
        assert_eq!(lines.len() as u64 + dropped, 2000);
        assert!(lines.iter().map(|line| line.len() + 1).sum::<usize>() <= MAX_BYTES);
    }
}
