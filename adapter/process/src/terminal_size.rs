//! The size of Tandem's terminal, as clients set it. Not here: the terminal ([`super::terminal`]).

use std::os::fd::AsFd;

use rustix::termios::{Winsize, tcsetwinsize};
use serde_json::Value;
use tandem_error::Failure;

/// Maximum size of a terminal, in characters: the memory of the terminal's picture grows with it.
const MAX_COLUMNS: u16 = 1000;
const MAX_ROWS: u16 = 500;

/// The size of Tandem's terminal in characters. Programs lay out their output for it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct TerminalSize {
    columns: u16,
    rows: u16,
}

impl Default for TerminalSize {
    fn default() -> Self {
        Self { columns: 120, rows: 40 }
    }
}

impl TerminalSize {
    /// Reads `columns` and `rows`: the arguments of `processResizeTerminal`, or the attribute `terminalSize`.
    ///
    /// # Errors
    /// `INVALID_PARAMETER` for a size that no terminal has.
    pub fn parse(value: &Value) -> Result<Self, Failure> {
        let length = |key: &str, max: u16| {
            let given = &value[key];
            let length = given.as_u64().and_then(|given| u16::try_from(given).ok());
            length.filter(|length| (1..=max).contains(length)).ok_or_else(|| {
                Failure::invalid(format!(
                    "the terminal's `{key}` must be a whole number from 1 to {max}, not {given}"
                ))
            })
        };
        Ok(Self { columns: length("columns", MAX_COLUMNS)?, rows: length("rows", MAX_ROWS)? })
    }

    /// Lines that the terminal shows.
    pub(super) const fn rows(self) -> u16 {
        self.rows
    }

    /// Characters that a line has.
    pub(super) const fn columns(self) -> u16 {
        self.columns
    }

    /// Applies the size to a terminal. If it differs, the kernel sends SIGWINCH to the terminal's foreground
    /// processes.
    ///
    /// # Errors
    /// If `terminal` is not a terminal.
    pub(super) fn apply(self, terminal: impl AsFd) -> std::io::Result<()> {
        let size = Winsize { ws_row: self.rows, ws_col: self.columns, ws_xpixel: 0, ws_ypixel: 0 };
        Ok(tcsetwinsize(terminal, size)?)
    }
}
