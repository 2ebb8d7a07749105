//! The interface that starts the processes of tests: directly, or under a debugger that a client drives.
//! Frameworks define the commands and read their output; they do not know which of the two it is, beyond the
//! switches that a debugged run needs.

use std::ffi::OsString;
use std::future::Future;
use std::path::Path;
use std::pin::Pin;
use std::time::Duration;

use serde::Serialize;
use serde_json::{Map, Value};
use tandem_wire::{Failure, types};
use tandem_workspace::process::{ProcessCommand, ProcessExit, Sink};
use tokio::sync::oneshot;
use tokio_util::sync::CancellationToken;

/// A future of a trait's method.
pub type BoxFuture<'a, T> = Pin<Box<dyn Future<Output = T> + Send + 'a>>;

/// A process that runs tests.
#[derive(Debug)]
pub struct ProcessLaunch {
    /// The program, its arguments, folder and environment.
    pub command: ProcessCommand,
    /// The debug adapter that knows such programs.
    pub engine: &'static str,
    /// Launch attributes that differ from the command's, such as `module`.
    pub attributes: Map<String, Value>,
    /// Stops of a debugger for failing tests.
    pub stops: Stops,
    /// Receives the process id once it is known.
    pub started: Option<oneshot::Sender<u32>>,
}

/// Stops that a debugger makes when a test fails.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct Stops {
    /// Exception filters of the engine, with their conditions.
    pub filters: Vec<(&'static str, Option<String>)>,
    /// Functions that frameworks call for a check that failed, with a condition.
    pub functions: Vec<(&'static str, Option<&'static str>)>,
    /// The framework's sources exist here and look like the user's: only frames in the
    /// project's folder are shown.
    pub own_frames: bool,
    /// Whether a test that fails without a stop runs once more, to stop where its exception is thrown.
    pub retries: bool,
    /// Prefixes of lines that the runner prints itself, which the first answer omits.
    pub preamble: &'static [&'static str],
    /// Reason why the framework has no such place.
    pub note: Option<&'static str>,
}

/// The attributes that launch a command.
#[derive(Serialize)]
struct CommandAttributes<'a> {
    program: String,
    args: Vec<String>,
    cwd: &'a Path,
    env: Map<String, Value>,
    engine: &'static str,
}

impl ProcessLaunch {
    /// A process of this command under that engine.
    pub fn new(command: ProcessCommand, engine: &'static str) -> Self {
        Self { command, engine, attributes: Map::new(), stops: Stops::default(), started: None }
    }

    /// Sets an attribute that differs from the command's, or removes one (`None`).
    pub fn set_attribute(&mut self, name: &str, value: &(impl Serialize + ?Sized)) {
        self.attributes.insert(name.to_owned(), serde_json::to_value(value).unwrap_or_default());
    }

    /// The attributes of a launch under a debugger, by the names of launch configurations.
    pub fn debug_attributes(&self) -> Value {
        let text = |word: &OsString| word.to_string_lossy().into_owned();
        let variable = |(name, value): &(OsString, Option<OsString>)| {
            (text(name), value.as_ref().map(text).map_or(Value::Null, Value::from))
        };
        let mut attributes = types::body(&CommandAttributes {
            program: text(&self.command.program),
            args: self.command.arguments.iter().map(text).collect(),
            cwd: &self.command.folder,
            env: self.command.environment.iter().map(variable).collect(),
            engine: self.engine,
        });
        if let Some(own) = attributes.as_object_mut() {
            for (name, value) in &self.attributes {
                match value {
                    Value::Null => drop(own.remove(name)),
                    value => drop(own.insert(name.clone(), value.clone())),
                }
            }
        }
        attributes
    }
}

/// Starts processes that run tests.
pub trait ProcessLauncher: Send + Sync {
    /// Whether a debugger starts them.
    fn is_debugger(&self) -> bool;

    /// Runs a process to its end; `sink` receives its output. A debugger passes the output on at the end,
    /// when the process was ended by the debugger, too.
    ///
    /// # Errors
    /// When it cannot be started; `TIMEOUT`, `CANCELLED`.
    fn run<'a>(
        &'a self,
        launch: ProcessLaunch,
        sink: &'a mut dyn Sink,
        deadline: Duration,
        cancel: &'a CancellationToken,
    ) -> BoxFuture<'a, Result<ProcessExit, Failure>>;
}

/// The system starts them.
#[derive(Debug, Clone, Copy, Default)]
pub struct DirectLauncher;

impl ProcessLauncher for DirectLauncher {
    fn is_debugger(&self) -> bool {
        false
    }

    fn run<'a>(
        &'a self,
        launch: ProcessLaunch,
        sink: &'a mut dyn Sink,
        deadline: Duration,
        cancel: &'a CancellationToken,
    ) -> BoxFuture<'a, Result<ProcessExit, Failure>> {
        Box::pin(async move {
            let ProcessLaunch { command, started, .. } = launch;
            let report = |pid| {
                if let Some(started) = started {
                    started.send(pid).unwrap_or_default();
                }
            };
            command.run_reporting(sink, deadline, cancel, report).await
        })
    }
}
