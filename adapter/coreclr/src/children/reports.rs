//! Reports to the user about child processes that are not debugged. They are limited, so that a program with
//! many child processes does not fill the debug console.
//!
//! Not here: which processes are debugged ([`super::follower`]).

use tandem_dotnet_launch::services;
use tandem_engine::{DebuggerEnd, EngineEvent};
use tandem_wire::types::OutputEventBody;
use tokio::sync::mpsc::UnboundedSender;

use super::identity::{Identity, ProgramInfo};

/// Child processes that are not .NET programs and are reported.
const MAX_REPORTED: usize = 20;

/// The reports so far, and the way to the hub.
pub(super) struct ChildReports {
    hub: UnboundedSender<EngineEvent>,
    /// Whether child processes are debugged, not only reported.
    is_following: bool,
    /// Processes that few users want to debug.
    minor: usize,
    /// It was reported that there are more processes than can be followed.
    has_said_full: bool,
    /// It was reported how such programs are debugged.
    has_said_how: bool,
}

impl ChildReports {
    pub(super) fn new(hub: UnboundedSender<EngineEvent>, is_following: bool) -> Self {
        Self { hub, is_following, minor: 0, has_said_full: false, has_said_how: false }
    }

    /// Reports a process that is not debugged, if a user may want to know.
    pub(super) fn report(&mut self, pid: u32, identity: &Identity) {
        match identity {
            Identity::Tool(name) if self.is_following => {
                self.minor(pid, &format!("{name} belongs to the .NET SDK and is not debugged."));
            }
            Identity::Undebuggable(name) => {
                let why = "its runtime comes without the library that debugs it";
                self.report_not_debugged(pid, name, &format!("{name} cannot be debugged: {why}."));
            }
            Identity::OtherUser { name, is_dotnet: true } => {
                self.report_not_debugged(
                    pid,
                    name,
                    &format!("{name} runs as another user and is not debugged."),
                );
            }
            Identity::OtherUser { name, .. } if self.is_following => {
                self.minor(pid, &format!("{name} runs as another user and is not debugged."));
            }
            Identity::Dotnet(program) if !self.is_following => self.report_dotnet(pid, &program.name),
            Identity::Other(program) if self.is_following => {
                self.minor(pid, &format!("{} is not a .NET program and is not debugged.", program.name));
            }
            Identity::Debugger
            | Identity::Tool(_)
            | Identity::Dotnet(_)
            | Identity::Other(_)
            | Identity::OtherUser { .. } => {}
        }
    }

    /// Reports a .NET program that has started no runtime that could be held.
    pub(super) fn report_silent(&self, pid: u32, identity: &Identity) {
        if let Identity::Dotnet(ProgramInfo { name, .. }) = identity
            && let Some(failure) = services::unreachable_because(pid)
        {
            self.report_not_debugged(pid, name, &format!("{name} is not debugged: {}", failure.message));
        }
    }

    /// Reports why a process is not debugged any more, or is ended; `is_held`: its runtime is still held.
    pub(super) fn report_debugger_end(&self, pid: u32, name: &str, end: &DebuggerEnd, is_held: bool) {
        match end {
            DebuggerEnd::Detached => {}
            DebuggerEnd::Refused(why) => {
                self.report_not_debugged(pid, name, &format!("{name} is not debugged: {why}"))
            }
            DebuggerEnd::Died(how) if is_held => {
                self.report_not_debugged(
                    pid,
                    name,
                    &format!(
                        "{name} is not debugged: the process that should have debugged it died ({how})."
                    ),
                );
            }
            DebuggerEnd::Died(how) => {
                // The runtime waits for its debugger at the next event, and accepts no other one.
                self.console(&format!(
                    "Child process {pid}: {name} is ended: the process that debugged it died ({how}), and \
                        without it the program \
                     cannot resume."
                ));
            }
        }
    }

    fn report_dotnet(&mut self, pid: u32, name: &str) {
        let how = match std::mem::replace(&mut self.has_said_how, true) {
            false => "; launch with `followChildren: true` to debug such programs",
            true => "",
        };
        self.report_not_debugged(pid, name, &format!("{name} is a .NET program and is not debugged{how}."));
    }

    /// Reports why a program is not debugged, if a user may want to debug it.
    pub(super) fn report_not_debugged(&self, pid: u32, name: &str, what: &str) {
        self.console(&format!("Child process {pid}: {what}"));
        drop(self.hub.send(EngineEvent::ChildNotDebugged { pid, name: name.to_owned() }));
    }

    /// Reports a process that few users want to debug, as long as there are few such processes.
    fn minor(&mut self, pid: u32, what: &str) {
        match self.minor {
            ..MAX_REPORTED => self.console(&format!("Child process {pid}: {what}")),
            MAX_REPORTED => self.console("Further child processes that are not debugged are not listed."),
            _ => return,
        }
        self.minor += 1;
    }

    pub(super) fn report_full(&mut self, text: &str) {
        if !std::mem::replace(&mut self.has_said_full, true) {
            self.console(text);
        }
    }

    /// A line in the debug console.
    pub(super) fn console(&self, text: &str) {
        // The hub may have ended.
        drop(self.hub.send(EngineEvent::of(&OutputEventBody::console_line(text))));
    }
}
