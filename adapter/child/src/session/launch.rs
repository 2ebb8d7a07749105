//! Launch and attach of an adapter's session: plan, connection, handshake. Not here: the adapter's command
//! line ([`crate::profile`]), and its start ([`crate::connection`]).

use std::sync::{Arc, PoisonError};

use serde_json::Value;
use tandem_wire::peer::Incoming;
use tandem_wire::types::{self, InitializeRequestArguments, OutputEventBody};
use tandem_wire::{ErrorCode, Failure};
use tokio::sync::mpsc;
use tokio_util::sync::CancellationToken;

use super::super::connection::{self, AdapterConnection, with_stderr_tail};
use super::super::find;
use super::super::launch_plan::{LaunchPlan, ProgramIo, Transport};
use super::super::profile::Profile;
use super::super::registry;
use super::super::state::{ChildEvent, ChildState, Link};
use super::super::target::Target;
use super::conditions::QUERY_TIMEOUT;
use super::subprocesses::SubprocessConnection;
use super::{AdapterSession, FOREVER, INITIALIZE_TIMEOUT, LAUNCH_TIMEOUT, LiveAdapter};
use tandem_engine::console::Console;
use tandem_engine::process_name::ProcessAttributes;
use tandem_engine::{EngineEvent, env_file, running_process};
use tandem_process::NamedPipes;
use tandem_wire::types::ConnectAttribute;

impl AdapterSession {
    pub(super) async fn launch(
        self: &Arc<Self>,
        attach: bool,
        attributes: &Value,
        cancel: &CancellationToken,
    ) -> Result<Value, Failure> {
        let outcome = tokio::select! {
            outcome = self.start(attach, attributes) => outcome,
            () = self.give_up.cancelled() => Err(Failure::cancelled()),
            () = cancel.cancelled() => Err(Failure::cancelled()),
        };
        if outcome.is_err() {
            // A build runs in its own thread.
            self.give_up.cancel();
            // An attach does not end the program.
            self.disconnect(!attach).await;
        }
        outcome.map_err(|failure| if attach { explain_attach(failure, attributes) } else { failure })
    }

    async fn start(self: &Arc<Self>, attach: bool, attributes: &Value) -> Result<Value, Failure> {
        let subprocess = self.subprocess.lock().unwrap_or_else(PoisonError::into_inner).take();
        let mut shim = None;
        let (plan, target, named_pipes, connection, incoming) = match subprocess {
            Some(subprocess) => {
                let SubprocessConnection { plan, target, connection, incoming } = subprocess;
                (plan, target, None, connection, incoming)
            }
            None => {
                let mut wrong = Vec::new();
                let mut attributes = env_file::merge(attributes, &mut |line| wrong.push(line.to_owned()))?;
                for line in wrong {
                    self.send_event("output", types::body(&OutputEventBody::console_line(line)));
                }
                if attach {
                    self.profile.description().check_attach(&attributes)?;
                    set_listen_attributes(&*self.profile, &mut attributes);
                    if let Some(pid) = types::read::<ProcessAttributes>(&attributes).pid() {
                        running_process::check(pid)?;
                        self.profile.description().check_process(pid)?;
                    }
                }
                let target = Target::parse(&attributes)?;
                let mut plan = self.plan(attach, &target).await?;
                let named_pipes = match &plan.program_io {
                    // A described adapter may have its own attribute `console`.
                    ProgramIo::Inherited | ProgramIo::PipePaths | ProgramIo::ExecShim(_)
                        if target.console != Console::Piped && !plan.quirks.accepts_pipe_paths =>
                    {
                        let what = "run a program in a client's terminal";
                        return Err(find::unsupported(self.profile.name(), &target, what)
                            .hint("omit `console`, and set `pty: true` for Tandem's own terminal"));
                    }
                    _ if attach || target.console != Console::Piped => {
                        self.broker.set_not_owned();
                        None
                    }
                    ProgramIo::OutputEvents => {
                        self.broker.expect_reported_output();
                        None
                    }
                    ProgramIo::PipePaths => Some(self.broker.create_named_pipes(target.pty)?),
                    ProgramIo::ExecShim(spec) => {
                        let named_pipes = self.broker.create_named_pipes(target.pty)?;
                        let place = self.broker.prepare_exec_shim(spec.clone(), named_pipes.paths.clone())?;
                        plan.spec.args.push("--".into());
                        plan.spec.args.extend_from_slice(place.command());
                        shim = Some(place);
                        Some(named_pipes)
                    }
                    ProgramIo::Inherited | ProgramIo::Terminal | ProgramIo::Elsewhere => None,
                };
                if let Some(named_pipes) = &named_pipes {
                    plan.substitute_pipe_paths(&named_pipes.paths);
                }
                let (connection, incoming) = connection::start(&plan, &self.broker).await?;
                (plan, target, named_pipes, connection, incoming)
            }
        };
        if let Some(shim) = shim {
            tokio::spawn(self.clone().watch_exec_shim(shim));
        }
        self.initialize(connection, plan, target, named_pipes, incoming).await
    }

    async fn plan(self: &Arc<Self>, attach: bool, target: &Target) -> Result<LaunchPlan, Failure> {
        let (session, profile, requested_target) = (self.clone(), self.profile.clone(), target.clone());
        let events = self.events.clone();
        let give_up = self.give_up.clone();
        let planning = self.planning.spawn_blocking(move || {
            let tell = |event: &str, body: Value| {
                // A hub that has ended listens to nothing.
                drop(events.send(EngineEvent::Dap { event: event.into(), body }));
            };
            let mut plan = if attach {
                profile.attach(&requested_target)?
            } else {
                profile.launch_built(&requested_target, &tell, &|| give_up.is_cancelled())?
            };
            session.keep_opened(plan.opened.take(), give_up.is_cancelled());
            if !matches!(plan.transport, Transport::Runs(_)) {
                find::has_interpreter(profile.name(), &plan.spec, registry::package_of)?;
            }
            Ok(plan)
        });
        planning.await.map_err(|error| {
            Failure::new(ErrorCode::EngineFailed, format!("preparing the launch failed: {error}"))
        })?
    }

    /// Initializes a connected adapter, and sends it `launch`.
    async fn initialize(
        self: &Arc<Self>,
        mut connection: AdapterConnection,
        plan: LaunchPlan,
        target: Target,
        named_pipes: Option<NamedPipes>,
        incoming: mpsc::UnboundedReceiver<Incoming>,
    ) -> Result<Value, Failure> {
        let peer = connection.peer.clone();
        let (command, arguments) = (plan.command, plan.arguments.clone());
        let hello = initialize_arguments(&plan.adapter_id);
        if let Some(listener) = connection.listener.take() {
            self.accept_children(listener);
        }
        *self.live() = Some(LiveAdapter {
            connection,
            plan,
            target,
            capabilities: Arc::default(),
            program: None,
            named_pipes,
            debuggee: None,
            image: Default::default(),
            parent: None,
        });
        tokio::spawn(self.clone().listen(Link::First, peer.clone(), incoming));
        let introduced = peer.request("initialize", hello, INITIALIZE_TIMEOUT).await;
        let capabilities = match introduced {
            Ok(capabilities) => capabilities,
            Err(_) if peer.is_closed() => return Err(self.explain_exit("before it introduced itself").await),
            Err(failure) => {
                return Err(with_stderr_tail(failure.message, &self.stderr_tail().await));
            }
        };
        self.learn_capabilities(&capabilities);
        self.record_image();
        let command = if Box::pin(self.correct_attached()).await { "launch" } else { command };
        self.handle(ChildEvent::LaunchSent);
        let answer = tokio::select! {
            answer = peer.request(command, arguments, FOREVER) => answer,
            stalled = self.wait_for_stall() => Err(with_stderr_tail(stalled, &self.stderr_tail().await)),
        };
        let body = match answer {
            Err(_) if peer.is_closed() => return Err(self.explain_exit("before the program ran").await),
            answer => answer.map_err(|failure| self.launch_failed(failure))?,
        };
        if self.live().as_ref().is_some_and(|live| live.plan.quirks.starts_when_configured) {
            self.until_started().await?;
        }
        if self.live().as_ref().is_some_and(|live| !live.plan.quirks.first_child_is_program) {
            self.note_takeover();
        }
        self.handle(ChildEvent::Launched);
        tokio::spawn(self.clone().supply_missing_events());
        Ok(body)
    }

    /// The adapter debugs the program from now on.
    pub(super) fn note_takeover(&self) {
        if self.profile.renumbers_breakpoints() {
            self.learn(|known| known.breakpoints.renumber());
        }
    }

    /// Waits until the configured adapter has started the program, or reports that it cannot.
    async fn until_started(&self) -> Result<(), Failure> {
        tokio::select! {
            _ = self.wait_for_state(FOREVER, |now| now.is_configured() || now.has_hung_up()) => {}
            reason = self.wait_for_stall() => return Err(with_stderr_tail(reason, &self.stderr_tail().await)),
        }
        match self.state(|state| state.refusal().cloned()) {
            Some(failure) if failure.code == ErrorCode::EngineFailed => {
                let message = format!("`{}` cannot debug it: {}", self.profile.name(), failure.message);
                Err(self.launch_failed(Failure { message, ..failure }).hint(
                    "check that the engine supports this program, and that the program starts its runtime",
                ))
            }
            Some(failure) => Err(failure),
            None if self.state(ChildState::has_hung_up) => {
                Err(self.explain_exit("before the program ran").await)
            }
            None => Ok(()),
        }
    }

    /// Resolves when the adapter takes too long to get ready or, once configured, to launch.
    async fn wait_for_stall(&self) -> String {
        if !self.wait_for_state(LAUNCH_TIMEOUT, ChildState::is_initialized).await {
            return format!("the debug adapter was not ready within {} s", LAUNCH_TIMEOUT.as_secs());
        }
        // Clients may take their time to configure.
        self.until(ChildState::is_configured).await;
        tokio::time::sleep(LAUNCH_TIMEOUT).await;
        format!("the debug adapter did not launch the program within {} s", LAUNCH_TIMEOUT.as_secs())
    }

    /// Prepares an adapter that is ready to be configured.
    pub(super) async fn prepare_adapter(&self) {
        let never = CancellationToken::new();
        for (command, arguments) in self.profile.settings() {
            match tokio::time::timeout(QUERY_TIMEOUT, self.ask(command, arguments, &never)).await {
                Ok(Ok(_)) => {}
                Ok(Err(failure)) => {
                    tracing::debug!(%failure, "the adapter does not support this `{command}`")
                }
                Err(_) => tracing::warn!("the adapter has not answered this `{command}`"),
            }
        }
    }

    pub(super) async fn configure(self: &Arc<Self>, cancel: &CancellationToken) -> Result<Value, Failure> {
        Box::pin(self.want_usual_panics(cancel)).await;
        if self.stays_stopped() {
            return Ok(Value::Null);
        }
        let outcome = if self.can("supportsConfigurationDoneRequest") && !self.skips_initialized() {
            tokio::select! {
                outcome = self.ask("configurationDone", types::empty(), cancel) => outcome,
                failure = self.wait_for_early_end() => Err(failure),
            }
        } else {
            Ok(Value::Null)
        };
        if let Err(failure) = &outcome {
            self.handle(ChildEvent::Refused(failure.clone()));
        }
        self.handle(ChildEvent::Configured);
        outcome
    }

    /// An adapter's refusal to launch, to be shown: as it is, or with the reason that the
    /// adapter only printed.
    fn launch_failed(&self, failure: Failure) -> Failure {
        let failure = self.profile.explain_failure(failure);
        if failure.code != ErrorCode::EngineFailed {
            return failure;
        }
        let words = self.state(|state| state.printed().trim().to_owned());
        if words.is_empty() {
            return Failure { code: ErrorCode::LaunchFailed, ..failure };
        }
        let message = format!("{}; it said: {words}", failure.message.trim_end_matches('.'));
        Failure::new(ErrorCode::LaunchFailed, message).data(failure.data)
    }
}

/// An adapter's failure to attach, with the reason why the kernel forbids it, which adapters often leave out.
/// Not before the attempt: the user's adapter may have rights that Tandem lacks.
fn explain_attach(failure: Failure, attributes: &Value) -> Failure {
    if !matches!(failure.code, ErrorCode::LaunchFailed | ErrorCode::EngineFailed) {
        return failure;
    }
    let pid = types::read::<ProcessAttributes>(attributes).pid();
    let Some(obstacle) = pid.and_then(running_process::attach_obstacle) else { return failure };
    let message = format!("{}; the debug adapter reports: {}", obstacle.message, failure.message);
    Failure { message, data: failure.data, ..obstacle }
}

/// Sets the adapter's own attributes for the debugger that `connect` names by host and port; values
/// already in these stay.
fn set_listen_attributes(profile: &dyn Profile, attributes: &mut Value) {
    let connect = ConnectAttribute::of(attributes);
    let own = match &connect.port {
        Value::Null => None,
        port => profile.connect_attributes(connect.host(), port),
    };
    if let (Some(Value::Object(own)), Some(attributes)) = (own, attributes.as_object_mut()) {
        attributes.shift_remove("connect");
        for (key, value) in own {
            attributes.entry(key).or_insert(value);
        }
    }
}

/// Arguments of our `initialize`: one for all clients, since the hub translates for each.
pub(super) fn initialize_arguments(adapter_id: &str) -> Value {
    let yes = Some(true);
    types::body(&InitializeRequestArguments {
        client_id: Some("tandem".into()),
        client_name: Some("Tandem".into()),
        adapter_id: adapter_id.to_owned(),
        locale: Some("en".into()),
        lines_start_at1: yes,
        columns_start_at1: yes,
        path_format: Some("path".into()),
        supports_variable_type: yes,
        supports_variable_paging: yes,
        supports_run_in_terminal_request: yes,
        supports_memory_references: yes,
        supports_progress_reporting: yes,
        supports_invalidated_event: yes,
        supports_memory_event: yes,
        supports_args_can_be_interpreted_by_shell: yes,
        supports_start_debugging_request: yes,
        supports_ansi_styling: yes,
        ..InitializeRequestArguments::default()
    })
}
