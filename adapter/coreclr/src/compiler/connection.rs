//! The connection to the compiler: it finds an SDK, starts the compiler's process, tells it the program's
//! modules, and asks it. A process that does not answer is killed; the next request starts another.
//!
//! Not here: what is asked, and what becomes of an answer ([`crate::compiled`]).

use std::collections::HashSet;
use std::path::PathBuf;
use std::rc::Rc;
use std::time::Duration;

use serde_json::Value;
use tandem_process::{Broker, SpawnSpec};
use tandem_wire::{ErrorCode, Failure};

use super::expressions::CompilerResponse;
use super::outcome::{CompiledFailure, Unavailable};
use super::process::{CompilerProcess, CompilerProcessError};
use super::program::CompilerHelper;
use super::sdk::{self, CompilerChoice, CompilerSdk};
use super::wire::{HelperMessage, MessageReader};
use crate::expression_syntax::failed;
use crate::modules::injected::is_injected;
use crate::modules::{LoadedModule, Modules};

/// How long the compiler's process may take to report that it is ready, and to answer a request. The first
/// takes seconds on a busy machine.
const START_TIMEOUT: Duration = Duration::from_secs(20);
const ANSWER_TIMEOUT: Duration = Duration::from_secs(20);
/// Version of the messages.
const PROTOCOL: u32 = 1;

/// The parts of a session that the compiler's process needs.
pub(crate) struct CompilerHost<'a> {
    pub(crate) broker: &'a Broker,
    /// The program's process.
    pub(crate) pid: Option<u32>,
    /// Whether the request was cancelled, or the session ends.
    pub(crate) should_give_up: &'a dyn Fn() -> bool,
}

/// The compiler's process, and the modules that it has received.
struct Helper {
    process: CompilerProcess,
    sent: HashSet<usize>,
}

/// The way to the compiler of an SDK.
#[derive(Default)]
pub(crate) struct CompilerConnection {
    choice: CompilerChoice,
    /// Variables that name the folders of SDKs and of the cache.
    roots: Vec<PathBuf>,
    cache: Vec<(String, String)>,
    // Dropped before its program, whose folder may be removed.
    helper: Option<Helper>,
    program: Option<CompilerHelper>,
    /// Why there is no compiler, once it is known.
    unavailable: Option<Unavailable>,
    /// File names of the assemblies that the program can load.
    platform: Option<Vec<String>>,
}

impl CompilerConnection {
    /// Reads the attribute of a launch or attach. `variable` looks up the environment of that.
    ///
    /// # Errors
    /// `INVALID_PARAMETER` if the attribute is malformed.
    pub(crate) fn parse(
        attributes: &Value,
        variable: &dyn Fn(&str) -> Option<String>,
    ) -> Result<Self, Failure> {
        let cache = ["XDG_CACHE_HOME", "HOME"].into_iter();
        Ok(Self {
            choice: CompilerChoice::parse(&attributes["expressionCompiler"])?,
            roots: sdk::roots(variable),
            // The variables of the user, independent of the program's environment.
            cache: cache.filter_map(|name| Some((name.to_owned(), std::env::var(name).ok()?))).collect(),
            ..Self::default()
        })
    }

    /// Whether no process runs any more.
    pub(crate) fn is_lost(&self) -> bool {
        self.helper.is_none()
    }

    /// Finds out whether there is a compiler, before anything of the program runs for it.
    pub(crate) fn require_sdk(&mut self) -> Result<(), CompiledFailure> {
        if self.program.is_none()
            && self.unavailable.is_none()
            && let Err(why) = sdk::find(&self.choice, &self.roots)
        {
            self.unavailable = Some(Unavailable::sdk(why));
        }
        match &self.unavailable {
            Some(why) => Err(CompiledFailure::Unavailable(why.clone())),
            None => Ok(()),
        }
    }

    /// Whether it is still to be found out which assemblies the program can load.
    pub(crate) fn lacks_platform(&self) -> bool {
        self.platform.is_none()
    }

    /// Takes the paths of the assemblies that the program can load.
    pub(crate) fn set_platform(&mut self, paths: Vec<String>) {
        self.platform = Some(paths);
    }

    /// Makes sure that the compiler's process knows the program's modules. Returns their ids, the
    /// most important first.
    pub(crate) fn load_modules(
        &mut self,
        host: &CompilerHost<'_>,
        modules: &Modules,
        own: &Rc<LoadedModule>,
    ) -> Result<Vec<u32>, CompiledFailure> {
        if self.helper.as_ref().is_some_and(|helper| helper.process.has_ended()) {
            self.helper = None;
        }
        if self.helper.is_none() {
            self.helper = Some(self.start(host)?);
        }
        let others = modules.all().iter().filter(|module| module.id != own.id).cloned();
        let (users, others): (Vec<_>, Vec<_>) = others.partition(|module| module.pdb.is_ok());
        let mut modules: Vec<Rc<LoadedModule>> = vec![own.clone()];
        modules.extend(users.into_iter().chain(others));
        modules.retain(|module| !module.is_dynamic() && !is_injected(&module.path));
        let Some(helper) = &mut self.helper else { return Err(self.drop_process("it is gone").into()) };
        let gone: Vec<usize> =
            helper.sent.iter().copied().filter(|id| !modules.iter().any(|module| module.id == *id)).collect();
        for id in gone {
            helper.sent.remove(&id);
            let mut message = HelperMessage::new(b'R');
            message.number(number(id));
            helper.process.send(message.finish());
        }
        for module in &modules {
            if helper.sent.insert(module.id) {
                helper.process.send(reference(module));
            }
        }
        Ok(modules.iter().map(|module| number(module.id)).collect())
    }

    /// Starts the compiler's process with the first SDK that works.
    fn start(&mut self, host: &CompilerHost<'_>) -> Result<Helper, CompiledFailure> {
        if let Some(program) = &self.program {
            let spec = program.spec();
            return self.begin(host, &spec).map_err(|no| process_start_failure(no).into());
        }
        let sdks = match sdk::find(&self.choice, &self.roots) {
            Ok(sdks) => sdks,
            Err(why) => {
                let why = Unavailable::sdk(why);
                return Err(CompiledFailure::Unavailable(self.unavailable.insert(why).clone()));
            }
        };
        let mut reasons = Vec::new();
        for sdk in sdks {
            match self.start_with(host, &sdk) {
                Ok(helper) => return Ok(helper),
                Err(failure) if failure.code == ErrorCode::Cancelled => return Err(failure.into()),
                Err(failure) => reasons.push(failure.message),
            }
        }
        let why = Unavailable::sdk(reasons.join("; "));
        Err(CompiledFailure::Unavailable(self.unavailable.insert(why).clone()))
    }

    fn start_with(&mut self, host: &CompilerHost<'_>, sdk: &CompilerSdk) -> Result<Helper, Failure> {
        let variable =
            |name: &str| self.cache.iter().find(|(known, _)| known == name).map(|(_, value)| value.clone());
        // A program that does not work may be damaged: it is built once more.
        for is_last in [false, true] {
            let program = CompilerHelper::for_sdk(sdk, &variable, host.should_give_up)?;
            match self.begin(host, &program.spec()) {
                Ok(helper) => {
                    tracing::debug!(version = sdk.version, "the C# compiler's process is up");
                    self.program = Some(program);
                    return Ok(helper);
                }
                Err(no) if is_last || no != CompilerProcessError::Ended => {
                    return Err(process_start_failure(no));
                }
                Err(_) => program.discard(),
            }
        }
        Err(failed("the C# compiler's process does not start"))
    }

    fn begin(&self, host: &CompilerHost<'_>, spec: &SpawnSpec) -> Result<Helper, CompilerProcessError> {
        let process = CompilerProcess::start(host.broker, spec).map_err(|failure| {
            tracing::warn!(%failure, "the C# compiler's process cannot be started");
            CompilerProcessError::Ended
        })?;
        let hello = process.receive(START_TIMEOUT, host.should_give_up).inspect_err(|_| {
            tracing::warn!(complaint = process.complaint(), "the C# compiler's process does not answer");
        })?;
        if MessageReader::of(&hello).number() != Some(PROTOCOL) {
            return Err(CompilerProcessError::Ended);
        }
        let executable = host.pid.and_then(|pid| std::fs::read_link(format!("/proc/{pid}/exe")).ok());
        let bundle = executable.filter(|path| !path.ends_with("dotnet")).unwrap_or_default();
        let mut message = HelperMessage::new(b'P');
        message.list(self.platform.as_deref().unwrap_or_default(), |message, path| {
            message.text(path);
        });
        message.text(&bundle.to_string_lossy());
        process.send(message.finish());
        Ok(Helper { process, sent: HashSet::new() })
    }

    /// Sends a request and waits for its answer. A process that does not answer is killed; the next
    /// request starts another.
    pub(crate) fn ask(
        &mut self,
        host: &CompilerHost<'_>,
        request: HelperMessage,
    ) -> Result<CompilerResponse, Failure> {
        let Some(helper) = &self.helper else { return Err(self.drop_process("it is gone")) };
        helper.process.send(request.finish());
        let response = helper.process.receive(ANSWER_TIMEOUT, host.should_give_up);
        match response {
            Ok(message) => match CompilerResponse::read(&message) {
                Some(response) => Ok(response),
                None => Err(self.drop_process("its answer cannot be read")),
            },
            Err(CompilerProcessError::Cancelled) => {
                self.helper = None;
                Err(Failure::cancelled())
            }
            Err(CompilerProcessError::TimedOut) => {
                self.helper = None;
                let message =
                    format!("the C# compiler did not answer within {} ms", ANSWER_TIMEOUT.as_millis());
                Err(Failure::new(ErrorCode::EvaluationTimeout, message))
            }
            Err(CompilerProcessError::Ended) => {
                let complaint = helper.process.complaint();
                let why = if complaint.is_empty() {
                    "its process ended".into()
                } else {
                    format!("its process ended: {complaint}")
                };
                Err(self.drop_process(&why))
            }
        }
    }

    /// Drops the compiler's process, which is no longer usable.
    pub(crate) fn drop_process(&mut self, why: &str) -> Failure {
        self.helper = None;
        Failure::new(ErrorCode::EngineFailed, format!("cannot query the C# compiler: {why}"))
            .hint("the next expression restarts it")
    }
}

fn process_start_failure(no: CompilerProcessError) -> Failure {
    match no {
        CompilerProcessError::Cancelled => Failure::cancelled(),
        CompilerProcessError::TimedOut => {
            failed(format!("the C# compiler's process did not start within {} s", START_TIMEOUT.as_secs()))
        }
        CompilerProcessError::Ended => failed("the C# compiler's process ended as soon as it was started"),
    }
}

/// A module, encoded for the compiler's process.
fn reference(module: &LoadedModule) -> Vec<u8> {
    let file = module.is_framework().then_some(&module.path).filter(|path| path.is_absolute());
    match (file, module.image()) {
        (Some(path), _) => {
            let mut message = HelperMessage::new(b'F');
            message.number(number(module.id)).text(&path.to_string_lossy());
            message.finish()
        }
        // The bytes as they were loaded: the file may have changed.
        (None, Some(image)) => {
            let mut message = HelperMessage::new(b'M');
            message.number(number(module.id)).bytes(image.metadata.bytes());
            message.finish()
        }
        (None, None) => HelperMessage::new(b'R').finish(),
    }
}

fn number(id: usize) -> u32 {
    u32::try_from(id).unwrap_or(u32::MAX)
}
