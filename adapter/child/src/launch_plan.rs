//! The plan of a launch or attach: the process to start, how DAP reaches it, how the program gets its stdio,
//! and the requests that the adapter gets.
//!
//! Not here: who makes it ([`super::profile::Profile`]) and who carries it out ([`super::session`]).

use std::path::PathBuf;

use serde_json::Value;
use tandem_wire::Failure;

use super::inspector::OpenedPort;
use super::socket::Endpoint;
use super::target::Target;
use tandem_process::SpawnSpec;

/// The placeholders for the paths of the program's pipes.
const PIPES: [&str; 3] = ["{stdin}", "{stdout}", "{stderr}"];

/// How DAP reaches the adapter.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum Transport {
    /// The adapter uses its stdin and stdout.
    Stdio,
    /// It connects to our port, which replaces `{port}` in its arguments.
    DialsBack,
    /// It listens on the port that replaces `{port}` in its arguments.
    Listens,
    /// It listens on the socket that replaces `{socket}` in its arguments, in a folder that
    /// only this user may enter.
    ListensLocally,
    /// The adapter already runs and listens at this address: no process is started.
    Runs(Endpoint),
}

/// How the program gets its stdin, stdout and stderr.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum ProgramIo {
    /// The adapter asks us with `runInTerminal` to start the program; we do, with our pipes.
    Terminal,
    /// The process that we start is the program, or passes its own stdio on to it.
    Inherited,
    /// The adapter starts the program with our pipes, which replace `{stdin}`, `{stdout}` and `{stderr}`.
    PipePaths,
    /// The adapter starts the program we name after its own arguments and `--`: a stub, which becomes this
    /// program with our pipes.
    ExecShim(SpawnSpec),
    /// They belong to the session whose program started this one.
    Elsewhere,
    /// The adapter keeps them: it sends `output` events, and there is no stdin.
    OutputEvents,
}

/// The process to start for a launch, and the requests that it gets.
#[derive(Debug, Clone)]
pub(super) struct LaunchPlan {
    /// The adapter, or the program that has it inside.
    pub(super) spec: SpawnSpec,
    pub(super) transport: Transport,
    /// How the program gets its stdio.
    pub(super) program_io: ProgramIo,
    /// `adapterID` of our `initialize`.
    pub(super) adapter_id: String,
    /// `launch` or `attach`: the request that the adapter gets.
    pub(super) command: &'static str,
    /// The arguments of `command`.
    pub(super) arguments: Value,
    /// We launch the program: it ends with the session.
    pub(super) launched: bool,
    /// Behaviour in which the adapter differs from others.
    pub(super) quirks: Quirks,
    /// A debugger that Tandem opened in a running program, to be closed again.
    pub(super) opened: Option<OpenedPort>,
}

/// Behaviour of an adapter that its capabilities do not announce.
#[derive(Debug, Clone, Copy, Default)]
pub(super) struct Quirks {
    /// The started process is not the program but passes its stdio on: its exit code is not the program's.
    pub(super) forwards_stdio: bool,
    /// Its connection closes with the program, without an event.
    pub(super) ends_silently: bool,
    /// The launched process is not the program: the program is its first child.
    pub(super) first_child_is_program: bool,
    /// The adapter makes us start a launcher, which runs the program in a new process group before the
    /// adapter reports the process.
    pub(super) has_launcher: bool,
    /// Its `stdout` output is the adapter's (log points): the program's output comes through our pipes.
    pub(super) emits_own_stdout: bool,
    /// Its attributes contain the paths of the program's pipes.
    pub(super) accepts_pipe_paths: bool,
    /// It answers `launch` immediately, and starts the program when it is configured: the answer to
    /// `configurationDone` reports the result.
    pub(super) starts_when_configured: bool,
    /// Without a debugger (`noDebug`) it starts the program immediately, does not send `initialized`, and
    /// must not be configured.
    pub(super) skips_initialized_without_debug: bool,
    /// The program is Rust's: its panics are exceptions to stop at.
    pub(super) panics: bool,
    /// The contents of the file whose path replaces `{socket}.rb` in its arguments.
    pub(super) socket_script: Option<&'static str>,
    /// It leaves temporary files behind when it is killed: it gets a folder that is removed with the session.
    pub(super) leaves_temp_files: bool,
    /// It listens with `SO_REUSEADDR`: the port stays reserved while it starts. Otherwise another process may
    /// get the port meanwhile, even another session that waits there for its own adapter.
    pub(super) reuses_address: bool,
}

impl LaunchPlan {
    /// Puts the paths of the program's pipes where they belong.
    pub(super) fn substitute_pipe_paths(&mut self, paths: &[PathBuf; 3]) {
        let filled = |text: &str| {
            PIPES
                .iter()
                .zip(paths)
                .fold(text.to_owned(), |text, (name, path)| text.replace(name, &path.display().to_string()))
        };
        for argument in &mut self.spec.args {
            *argument = filled(&argument.to_string_lossy()).into();
        }
        if self.quirks.accepts_pipe_paths {
            replace_pipe_names(&mut self.arguments, &filled);
        }
    }

    /// To attach through an adapter that runs already; `None` when the attributes name none (`connect`).
    ///
    /// # Errors
    /// `INVALID_PARAMETER` for an invalid address, `PROCESS_NOT_FOUND` for an unknown host.
    pub(super) fn to_running(
        target: &Target,
        adapter_id: &str,
        ours: Value,
    ) -> Result<Option<Self>, Failure> {
        let Some(place) = target.connect()? else { return Ok(None) };
        Ok(Some(Self {
            spec: SpawnSpec { program: place.to_string().into(), ..SpawnSpec::default() },
            transport: Transport::Runs(place),
            program_io: ProgramIo::OutputEvents,
            adapter_id: adapter_id.to_owned(),
            command: "attach",
            arguments: target.for_adapter(ours),
            launched: false,
            quirks: Quirks::default(),
            opened: None,
        }))
    }
}

/// Replaces strings that consist only of the name of a pipe.
fn replace_pipe_names(value: &mut Value, filled: &impl Fn(&str) -> String) {
    match value {
        Value::String(text) if PIPES.contains(&text.as_str()) => *text = filled(text),
        Value::Array(list) => list.iter_mut().for_each(|item| replace_pipe_names(item, filled)),
        Value::Object(object) => object.values_mut().for_each(|item| replace_pipe_names(item, filled)),
        _ => {}
    }
}

/// Whether there is such a string.
pub(super) fn contains_pipe_name(value: &Value) -> bool {
    match value {
        Value::String(text) => PIPES.contains(&text.as_str()),
        Value::Array(list) => list.iter().any(contains_pipe_name),
        Value::Object(object) => object.values().any(contains_pipe_name),
        _ => false,
    }
}
