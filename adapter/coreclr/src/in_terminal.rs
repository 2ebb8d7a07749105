//! A program in a client's terminal: requests the terminal, and waits until the program is held there.
//!
//! From then on it is launched, debugged and ended as any other ([`super::start`]). Not here: starting and
//! watching it in that terminal ([`tandem_process::terminal_launch`]).

use std::sync::mpsc::TryRecvError;
use std::time::{Duration, Instant};

use tandem_wire::types::{self, RunInTerminalRequestArguments};
use tandem_wire::{ErrorCode, Failure};

use super::session::ClrSession;
use tandem_dotnet_launch::program::LaunchSpec;
use tandem_dotnet_launch::services;
use tandem_engine::console::Console;
use tandem_process::Child;

/// How long a new terminal may take to start the program: its shell first reads its start-up files.
const START_TIMEOUT: Duration = Duration::from_secs(20);
/// Interval between two checks for a cancelled launch.
const CANCEL_CHECK_INTERVAL: Duration = Duration::from_millis(20);

impl ClrSession {
    /// Starts the program held, with Tandem's pipes or in a client's terminal.
    pub(super) fn start_held(
        &self,
        program: &LaunchSpec,
        give_up: &dyn Fn() -> bool,
    ) -> Result<Child, Failure> {
        let Console::Terminal { external } = program.console else {
            return self.program.debuggee.broker.spawn(&program.spec);
        };
        let launch = self.program.debuggee.broker.offer_terminal(program.spec.clone())?;
        let name = program.assembly.as_deref().unwrap_or(&program.spec.program);
        let title = name.file_name().unwrap_or(name.as_os_str()).to_string_lossy();
        self.hub.outbox.ask_client(
            "runInTerminal",
            types::body(&RunInTerminalRequestArguments {
                kind: Some(if external { "external" } else { "integrated" }.to_owned()),
                title: Some(title.to_string()),
                cwd: program.spec.cwd.to_string_lossy().into_owned(),
                args: launch.command().to_vec(),
                ..RunInTerminalRequestArguments::default()
            }),
        );
        let mut deadline = None;
        // The program may start before the client answers; then the answer is not needed.
        let child = loop {
            if let Some(child) = self.program.debuggee.broker.accept(&launch, CANCEL_CHECK_INTERVAL)? {
                break child;
            }
            match self.hub.inbox.client_answer() {
                Ok(Ok(_)) => deadline = Some(Instant::now() + START_TIMEOUT),
                Ok(Err(failure)) => return Err(no_terminal(&title, failure)),
                // The engine has ended, and its host with it.
                Err(TryRecvError::Disconnected) => return Err(Failure::cancelled()),
                Err(TryRecvError::Empty) => {}
            }
            if give_up() {
                return Err(Failure::cancelled());
            }
            if deadline.is_some_and(|deadline| Instant::now() > deadline) {
                let message = format!(
                    "the client opened a terminal for `{title}`, but nothing in it came back to the \
                        debugger within {} s",
                    START_TIMEOUT.as_secs()
                );
                return Err(Failure::new(ErrorCode::LaunchFailed, message)
                    .hint("the terminal must be on the debugger's machine; check its output"));
            }
        };
        if !self.program.debuggee.no_debug {
            services::refuse(child.pid())?;
        }
        Ok(child)
    }
}

/// The error for a terminal that the client did not provide.
fn no_terminal(title: &str, failure: Failure) -> Failure {
    let code = match failure.code {
        code @ (ErrorCode::Unsupported | ErrorCode::Timeout | ErrorCode::Cancelled) => code,
        _ => ErrorCode::LaunchFailed,
    };
    Failure::new(code, format!("there is no terminal of a client for `{title}`: {}", failure.message))
        .hint("omit `console`; Tandem then owns the program's input and output")
}
