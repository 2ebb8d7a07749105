//! A client's terminal: bash on a pseudo-terminal, into which commands are typed as VS Code does for
//! `runInTerminal`.

use std::collections::HashMap;
use std::fs::File;
use std::io::Write;
use std::os::fd::AsFd;
use std::process::{Child, Command};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, PoisonError};
use std::thread::JoinHandle;
use std::time::{Duration, Instant};

use anyhow::Context;
use rustix::event::{PollFd, PollFlags, Timespec, poll};
use rustix::pty::{OpenptFlags, grantpt, ioctl_tiocgptpeer, openpt, unlockpt};
use serde_json::Value;

use crate::deadline::deadline;
use crate::fixture;

/// Time limit for text to appear, even on a busy machine, s.
const TIMEOUT_SECS: u64 = 30;

/// A terminal and the shell in it. Dropping it closes the terminal, as a click on its cross does.
pub struct Terminal {
    ours: Arc<File>,
    shown: Arc<Mutex<String>>,
    closing: Arc<AtomicBool>,
    reader: Option<JoinHandle<()>>,
    shell: Child,
}

impl Terminal {
    /// Starts a shell with these extra variables. The calling thread must run as long as the test.
    ///
    /// # Errors
    /// When there is no terminal or no shell.
    pub fn open(environment: &HashMap<String, String>) -> anyhow::Result<Self> {
        let flags = OpenptFlags::RDWR | OpenptFlags::NOCTTY | OpenptFlags::CLOEXEC;
        let ours = openpt(flags)?;
        grantpt(&ours)?;
        unlockpt(&ours)?;
        let shells = ioctl_tiocgptpeer(&ours, flags)?;
        let ours: Arc<File> = Arc::new(ours.into());
        // Our own stub makes it the shell's controlling terminal, which takes no `unsafe` here.
        let mut command = Command::new(fixture::binary("tandem-dap"));
        command.args(["exec-held", "--terminal", "--", "bash", "--norc", "--noprofile", "-i"]);
        command.envs(environment).env("PS1", "$ ").env("TERM", "dumb");
        command.stdin(shells.try_clone()?).stdout(shells.try_clone()?).stderr(shells);
        let shell = command.spawn()?;
        drop(command);
        (&*ours).write_all(b"\n")?;
        let (shown, closing) = (Arc::<Mutex<String>>::default(), Arc::new(AtomicBool::new(false)));
        let (pty, screen, end) = (ours.clone(), shown.clone(), closing.clone());
        let reader = std::thread::spawn(move || {
            let mut block = [0u8; 4096];
            while !end.load(Ordering::Relaxed) {
                let mut descriptors = [PollFd::from_borrowed_fd(pty.as_fd(), PollFlags::IN)];
                let slice = Timespec { tv_sec: 0, tv_nsec: 10_000_000 };
                if poll(&mut descriptors, Some(&slice)) == Ok(1) {
                    match rustix::io::read(&*pty, &mut block) {
                        Ok(count @ 1..) => {
                            let text =
                                String::from_utf8_lossy(block.get(..count).unwrap_or_default()).into_owned();
                            screen.lock().unwrap_or_else(PoisonError::into_inner).push_str(&text);
                        }
                        _ => return,
                    }
                }
            }
        });
        Ok(Self { ours, shown, closing, reader: Some(reader), shell })
    }

    /// Runs the command of a `runInTerminal`.
    ///
    /// # Errors
    /// When it has no command, or the terminal is gone.
    pub fn run(&self, arguments: &Value) -> anyhow::Result<()> {
        let words = arguments["args"].as_array().context("no command")?.iter().chain([&arguments["cwd"]]);
        let quoted: Vec<String> = words
            .map(|word| Ok(format!("'{}'", word.as_str().context("not text")?.replace('\'', "'\\''"))))
            .collect::<anyhow::Result<_>>()?;
        let (cwd, command) = quoted.split_last().context("no folder")?;
        self.write(&format!("cd {cwd} && {}\n", command.join(" ")))
    }

    /// Types; `\u{3}` is Ctrl+C.
    ///
    /// # Errors
    /// When the terminal is gone.
    pub fn write(&self, text: &str) -> anyhow::Result<()> {
        Ok((&*self.ours).write_all(text.as_bytes())?)
    }

    /// Everything that was printed until now.
    pub fn screen_text(&self) -> String {
        self.shown.lock().unwrap_or_else(PoisonError::into_inner).clone()
    }

    /// Forgets the text shown so far: later waits do not match it.
    pub fn clear(&self) {
        self.shown.lock().unwrap_or_else(PoisonError::into_inner).clear();
    }

    /// Waits until it shows this.
    ///
    /// # Errors
    /// When it does not, with what it shows.
    pub async fn wait_for_text(&self, text: &str) -> anyhow::Result<()> {
        let end = Instant::now() + deadline(TIMEOUT_SECS);
        while !self.screen_text().contains(text) {
            anyhow::ensure!(
                Instant::now() < end,
                "no {text:?} in the terminal, but {:?}",
                self.screen_text()
            );
            tokio::time::sleep(Duration::from_millis(10)).await;
        }
        Ok(())
    }
}

impl Drop for Terminal {
    fn drop(&mut self) {
        self.closing.store(true, Ordering::Relaxed);
        if let Some(reader) = self.reader.take() {
            drop(reader.join());
        }
        // A terminal emulator sends it before it closes its end.
        if let Some(shell) = i32::try_from(self.shell.id()).ok().and_then(rustix::process::Pid::from_raw) {
            rustix::process::kill_process(shell, rustix::process::Signal::HUP).unwrap_or_default();
        }
        // The last holder closes the terminal, which ends the shell if nothing else did.
        self.ours = Arc::new(File::open("/dev/null").expect("it is there"));
        drop(self.shell.wait());
    }
}
