//! Guard of the commands that `tandem-dap` or `tandem-mcp` runs (builds, tests, git): while it is held, its
//! command ends with the program, also when the program is killed. One watchdog serves all of them.
//!
//! Not here: ending a command that is cancelled, which its caller does.

use std::collections::BTreeSet;
use std::path::PathBuf;
use std::sync::{Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use super::watchdog::TreeWatchdog;

/// The commands of this process. Without a program there is no watchdog: in tests of libraries.
static COMMANDS: Mutex<Commands> =
    Mutex::new(Commands { program: None, watchdog: None, leaders: BTreeSet::new() });

struct Commands {
    program: Option<PathBuf>,
    watchdog: Option<TreeWatchdog>,
    leaders: BTreeSet<u32>,
}

impl Commands {
    fn lock() -> MutexGuard<'static, Self> {
        COMMANDS.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Starts the watchdog if there is none, with the commands that run.
    fn ensure_watchdog(&mut self) {
        let (None, Some(program)) = (&self.watchdog, &self.program) else { return };
        let started = TreeWatchdog::start(program).and_then(|mut watchdog| {
            self.leaders.iter().try_for_each(|leader| watchdog.add(*leader, Duration::ZERO))?;
            Ok(watchdog)
        });
        match started {
            Ok(watchdog) => self.watchdog = Some(watchdog),
            Err(error) => tracing::warn!(%error, "cannot start the watchdog of commands"),
        }
    }

    /// Does something with the watchdog. One that has ended is replaced for the next command.
    fn tell(&mut self, what: impl FnOnce(&mut TreeWatchdog) -> std::io::Result<()>) {
        if let Some(Err(error)) = self.watchdog.as_mut().map(what) {
            tracing::warn!(%error, "the watchdog of commands has ended");
            self.watchdog = None;
        }
    }
}

/// Lets this process guard its commands. Its program calls [`super::watchdog::run`] for
/// [`super::watchdog::SUBCOMMAND`].
pub fn enable() {
    match std::env::current_exe() {
        Ok(program) => Commands::lock().program = Some(program),
        Err(error) => tracing::warn!(%error, "cannot find this program: commands have no watchdog"),
    }
}

/// Whether the process `leader` is guarded, or would be if this process had a program for the watchdog.
pub fn is_watched(leader: u32) -> bool {
    Commands::lock().leaders.contains(&leader)
}

/// Keeps its command from outliving this process.
#[derive(Debug, Default)]
pub struct CommandGuard(Option<u32>);

impl CommandGuard {
    /// A guard without a command yet. Its watchdog runs before the command is started, so that no time is
    /// lost between the command's start and [`watch`](Self::watch).
    pub fn new() -> Self {
        Commands::lock().ensure_watchdog();
        Self(None)
    }

    /// Names the command's process, which leads its group.
    pub fn watch(&mut self, leader: u32) {
        let mut commands = Commands::lock();
        commands.leaders.insert(leader);
        commands.tell(|watchdog| watchdog.add(leader, Duration::ZERO));
        self.0 = Some(leader);
    }
}

impl Drop for CommandGuard {
    fn drop(&mut self) {
        let Some(leader) = self.0 else { return };
        let mut commands = Commands::lock();
        commands.leaders.remove(&leader);
        commands.tell(|watchdog| watchdog.remove(leader));
    }
}
