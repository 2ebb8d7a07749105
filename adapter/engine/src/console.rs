//! The launch attribute `console`: the owner of the program's stdin, stdout and stderr. Opens no pipe and no
//! terminal ([`tandem_process`]).

use tandem_wire::Failure;

/// The owner of the program's stdio.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Console {
    /// Tandem owns stdin, stdout and stderr.
    Piped,
    /// A client's terminal (DAP `runInTerminal`).
    Terminal {
        /// A new terminal window instead of one inside the editor.
        external: bool,
    },
}

impl Console {
    /// Reads the attribute; absent is `piped`.
    ///
    /// # Errors
    /// `INVALID_PARAMETER` for anything else than the three.
    pub fn parse(text: Option<&str>) -> Result<Self, Failure> {
        match text {
            None | Some("piped" | "internalConsole") => Ok(Self::Piped),
            Some("integratedTerminal") => Ok(Self::Terminal { external: false }),
            Some("externalTerminal") => Ok(Self::Terminal { external: true }),
            Some(other) => Err(Failure::invalid(format!(
                "`console` is `{other}`; it must be `piped`, `integratedTerminal` or `externalTerminal`"
            ))),
        }
    }
}
