//! Expressions that the C# compiler of an SDK evaluates: a separate process compiles them, and the program
//! runs the result like any other call of an evaluation. Other modules decide which expressions those are.
//!
//! In reading order: [`Compiler`] (owns all of it), [`frame`] and [`encoded_types`] (what an expression can
//! use), [`sdk`] (whose compiler), [`program`] (the compiler's host program, built once) and [`process`]
//! (that program as it runs), [`wire`] (messages to it), [`expressions`] (its cached answers), [`injection`]
//! (loads compiled code into the program). `helper/` is the host program's source in C#, `in_program/` runs
//! in the debugged program.

mod encoded_types;
mod expressions;
mod frame;
mod injection;
mod process;
mod program;
mod sdk;
mod wire;

use std::collections::HashSet;
use std::path::PathBuf;
use std::rc::Rc;
use std::time::Duration;

use dap_wire::{ErrorCode, Failure};
use serde_json::Value;

use self::expressions::{CompileResult, CompiledExpression, CompilerResponse, ExpressionCache};
use self::frame::{CompilationContext, EXCEPTION};
use self::injection::LoadStrategy;
use self::process::{CompilerProcess, CompilerProcessError};
use self::program::CompilerHelper;
use self::sdk::{CompilerChoice, CompilerSdk};
use self::wire::{HelperMessage, MessageReader};
use super::calls::EvalContext;
use super::evaluator::TypedValue;
use super::modules::LoadedModule;
use super::session::ClrSession;
use super::types::Ty;

pub(super) use expressions::CSharpDiagnostic;
pub(super) use injection::is_injected;

/// How long the compiler's process may take to report that it is ready, and to answer a request. The first
/// takes seconds on a busy machine.
const START_TIMEOUT: Duration = Duration::from_secs(20);
const ANSWER_TIMEOUT: Duration = Duration::from_secs(20);
/// Version of the messages.
const PROTOCOL: u32 = 1;
/// The exception of compiled code when one of its `await`s takes too long, and the length of one wait.
/// `helper/Wrapper.cs` has both, too.
const LATE: &str = "__tandemLate";
const WAIT_INTERVAL: Duration = Duration::from_millis(50);
/// Longest expression, bytes.
const MAX_TEXT: usize = 64 * 1024;

/// Outcome of an expression.
pub(super) enum CompiledOutcome {
    Value(TypedValue),
    /// It was called for its effect.
    Nothing,
}

/// Reason for not having a value.
pub(super) enum CompiledFailure {
    /// There is no compiler, or the program cannot load code.
    Unavailable(Unavailable),
    /// The compiler has rejected the expression with these errors.
    Diagnostics(Vec<CSharpDiagnostic>),
    /// It was refused, failed, or took too long.
    Failed(Failure),
}

impl From<Failure> for CompiledFailure {
    fn from(failure: Failure) -> Self {
        Self::Failed(failure)
    }
}

impl CompiledFailure {
    /// The failure that answers a request.
    pub(super) fn into_failure(self, text: &str) -> Failure {
        match self {
            Self::Unavailable(why) => {
                why.explain(Failure::new(ErrorCode::EvaluationFailed, format!("`{text}` is not understood")))
            }
            Self::Diagnostics(diagnostics) => expressions::failure(text, &diagnostics),
            Self::Failed(failure) => failure,
        }
    }
}

/// Why there is no compiler, for people.
#[derive(Debug, Clone)]
pub(super) struct Unavailable {
    why: String,
    /// The remedy; `None` if there is none.
    hint: Option<&'static str>,
}

impl Unavailable {
    /// The reason is that no SDK can be used.
    fn sdk(why: String) -> Self {
        let hint =
            "install a .NET SDK, or name the folder of one in the launch attribute `expressionCompiler`";
        Self { why, hint: Some(hint) }
    }

    /// Refuses something that only a compiler understands.
    pub(super) fn compiler_required(&self, what: &str) -> Failure {
        let message = format!("{what} needs the C# compiler of a .NET SDK: {}", self.why);
        let failure = Failure::new(ErrorCode::EvaluationFailed, message);
        match self.hint {
            Some(hint) => failure.hint(hint),
            None => failure,
        }
    }

    /// Adds to a failure the requirements of a compiler, which was missing.
    pub(super) fn explain(&self, failure: Failure) -> Failure {
        let message =
            format!("{}; the expression needs the C# compiler of a .NET SDK: {}", failure.message, self.why);
        let hints = self.hint.into_iter().chain(failure.hint.as_deref()).collect::<Vec<_>>().join("; ");
        let failure = Failure { message, hint: None, ..failure };
        if hints.is_empty() { failure } else { failure.hint(hints) }
    }
}

/// The compiler's process, and the modules that it has received.
struct Helper {
    process: CompilerProcess,
    sent: HashSet<usize>,
}

/// The compiler of an SDK, and all expressions compiled for one program.
#[derive(Default)]
pub(super) struct Compiler {
    choice: CompilerChoice,
    /// Variables that name the folders of SDKs and of the cache.
    roots: Vec<PathBuf>,
    cache: Vec<(String, String)>,
    // Dropped before its program, whose folder may be removed.
    helper: Option<Helper>,
    program: Option<CompilerHelper>,
    /// Why there is no compiler, once it is known.
    unavailable: Option<Unavailable>,
    expressions: ExpressionCache,
    /// How assemblies are loaded into the program, once it is known.
    way: Option<LoadStrategy>,
    /// File names of the assemblies that the program can load.
    platform: Option<Vec<String>>,
    /// Number of the latest assembly.
    number: u32,
}

impl Compiler {
    /// Reads the attribute of a launch or attach. `variable` looks up the environment of that.
    ///
    /// # Errors
    /// `INVALID_PARAMETER` if the attribute is malformed.
    pub(super) fn parse(
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

    /// Whether the compiler has seen a text before, in this method.
    fn knows(&self, session: &ClrSession, site: &EvalContext, text: &str) -> bool {
        let at = || {
            let (loaded, method, _) = session.at_stop().code_at(site.thread, site.frame)?;
            Some(self.expressions.knows(loaded.id, method, &text.replace("$exception", EXCEPTION)))
        };
        !self.expressions.is_empty() && at().unwrap_or(false)
    }

    fn evaluate(
        &mut self,
        session: &mut ClrSession,
        site: &EvalContext,
        text: &str,
    ) -> Result<CompiledOutcome, CompiledFailure> {
        if text.len() > MAX_TEXT {
            return Err(length_failure().into());
        }
        self.require_sdk()?;
        let shown = text;
        let text = &text.replace("$exception", EXCEPTION);
        let frame = CompilationContext::at(session, site, text)?;
        let modules = session.types.modules.count();
        let (loaded, code) =
            match self.expressions.find(&frame, text, modules).filter(|kept| is_there(session, kept)) {
                Some(CompileResult::Loaded(loaded, code)) => (loaded, code),
                Some(CompileResult::Refused(diagnostics)) => {
                    return Err(CompiledFailure::Diagnostics(diagnostics));
                }
                Some(CompileResult::Failed(why)) => return Err(failed(why).into()),
                None => self.compile(session, site, &frame, text)?,
            };
        call(session, site, &frame, (&loaded, &code), shown).map_err(CompiledFailure::Failed)
    }

    /// Finds out whether there is a compiler, before anything of the program runs for it.
    fn require_sdk(&mut self) -> Result<(), CompiledFailure> {
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

    fn compile(
        &mut self,
        session: &mut ClrSession,
        site: &EvalContext,
        frame: &CompilationContext,
        text: &str,
    ) -> Result<(Rc<LoadedModule>, Rc<CompiledExpression>), CompiledFailure> {
        if !injection::is_possible(session) {
            let why = "the program cannot load code: `Assembly.Load(byte[])` was trimmed away".to_owned();
            return Err(CompiledFailure::Unavailable(Unavailable { why, hint: None }));
        }
        self.make_room(session, site)?;
        self.number += 1;
        let name = format!("{}{}", injection::EXPRESSION, self.number);
        let (ids, response) = match self.request_expression(session, site, frame, text) {
            // It may have ended long ago, or may be ending during this request.
            Err(CompiledFailure::Failed(failure))
                if self.helper.is_none() && failure.code == ErrorCode::EngineFailed =>
            {
                self.request_expression(session, site, frame, text)?
            }
            outcome => outcome?,
        };
        let keep = |compiler: &mut Self, compiled: CompileResult| {
            compiler.expressions.keep(frame, text, session.types.modules.count(), compiled);
        };
        match response {
            CompilerResponse::Code(code) => {
                let code = Rc::new(code);
                let way = self.load_strategy(session, site, &ids)?;
                let loaded = injection::load(session, site, &way, &frame.loaded, (&name, &code.image))?;
                // Modules were loaded, including injected ones.
                let count = session.types.modules.count();
                self.expressions.keep(
                    frame,
                    text,
                    count,
                    CompileResult::Loaded(loaded.clone(), code.clone()),
                );
                Ok((loaded, code))
            }
            CompilerResponse::Diagnostics(diagnostics) => {
                keep(self, CompileResult::Refused(diagnostics.clone()));
                Err(CompiledFailure::Diagnostics(diagnostics))
            }
            CompilerResponse::Refusal(why) => {
                keep(self, CompileResult::Failed(why.clone()));
                Err(failed(why).into())
            }
            CompilerResponse::Library(_) => {
                Err(self.drop_process("its answer does not match the request").into())
            }
        }
    }

    /// Asks the compiler about an expression; also returns the modules that the compiler knows.
    fn request_expression(
        &mut self,
        session: &mut ClrSession,
        site: &EvalContext,
        frame: &CompilationContext,
        text: &str,
    ) -> Result<(Vec<u32>, CompilerResponse), CompiledFailure> {
        let ids = self.load_modules(session, site, &frame.loaded)?;
        let mut request = HelperMessage::new(b'E');
        request.number(self.number).number(waits(site)).text(text);
        let is_users =
            |id: &&u32| session.types.modules.by_id(**id as usize).is_some_and(|module| module.pdb.is_ok());
        let users: Vec<u32> = ids.iter().filter(is_users).copied().collect();
        frame.write((&ids, &users), &mut request);
        request.flag(false);
        let response = self.ask(session, request)?;
        Ok((ids, response))
    }

    /// Unloads compiled expressions if there are too many.
    fn make_room(&mut self, session: &mut ClrSession, site: &EvalContext) -> Result<(), Failure> {
        if !self.expressions.is_full() {
            return Ok(());
        }
        self.expressions.clear();
        match &self.way {
            Some(way) => injection::unload(session, site, way),
            None => Ok(()),
        }
    }

    /// Makes sure that the compiler's process knows the program's modules. Returns their ids, the
    /// most important first.
    fn load_modules(
        &mut self,
        session: &mut ClrSession,
        site: &EvalContext,
        own: &Rc<LoadedModule>,
    ) -> Result<Vec<u32>, CompiledFailure> {
        if self.platform.is_none() {
            self.platform = Some(injection::platform(session, site)?);
        }
        if self.helper.as_ref().is_some_and(|helper| helper.process.has_ended()) {
            self.helper = None;
        }
        if self.helper.is_none() {
            self.helper = Some(self.start(session)?);
        }
        let mut modules: Vec<Rc<LoadedModule>> = vec![own.clone()];
        let (users, others): (Vec<_>, Vec<_>) = session
            .types
            .modules
            .all()
            .iter()
            .filter(|module| module.id != own.id)
            .cloned()
            .partition(|module| module.pdb.is_ok());
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
    fn start(&mut self, session: &ClrSession) -> Result<Helper, CompiledFailure> {
        if let Some(program) = &self.program {
            let spec = program.spec();
            return self.begin(session, &spec).map_err(|no| process_start_failure(no).into());
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
            match self.start_with(session, &sdk) {
                Ok(helper) => return Ok(helper),
                Err(failure) if failure.code == ErrorCode::Cancelled => return Err(failure.into()),
                Err(failure) => reasons.push(failure.message),
            }
        }
        let why = Unavailable::sdk(reasons.join("; "));
        Err(CompiledFailure::Unavailable(self.unavailable.insert(why).clone()))
    }

    fn start_with(&mut self, session: &ClrSession, sdk: &CompilerSdk) -> Result<Helper, Failure> {
        let variable =
            |name: &str| self.cache.iter().find(|(known, _)| known == name).map(|(_, value)| value.clone());
        // A program that does not work may be damaged: it is built once more.
        for is_last in [false, true] {
            let program = CompilerHelper::for_sdk(sdk, &variable, &|| should_give_up(session))?;
            match self.begin(session, &program.spec()) {
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

    fn begin(
        &self,
        session: &ClrSession,
        spec: &tandem_process::SpawnSpec,
    ) -> Result<Helper, CompilerProcessError> {
        let process = CompilerProcess::start(&session.broker, spec).map_err(|failure| {
            tracing::warn!(%failure, "the C# compiler's process cannot be started");
            CompilerProcessError::Ended
        })?;
        let hello = process.receive(START_TIMEOUT, &|| should_give_up(session)).inspect_err(|_| {
            tracing::warn!(complaint = process.complaint(), "the C# compiler's process does not answer");
        })?;
        if MessageReader::of(&hello).number() != Some(PROTOCOL) {
            return Err(CompilerProcessError::Ended);
        }
        let executable =
            session.debuggee.pid.and_then(|pid| std::fs::read_link(format!("/proc/{pid}/exe")).ok());
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
    fn ask(&mut self, session: &ClrSession, request: HelperMessage) -> Result<CompilerResponse, Failure> {
        let Some(helper) = &self.helper else { return Err(self.drop_process("it is gone")) };
        helper.process.send(request.finish());
        let response = helper.process.receive(ANSWER_TIMEOUT, &|| should_give_up(session));
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
    fn drop_process(&mut self, why: &str) -> Failure {
        self.helper = None;
        Failure::new(ErrorCode::EngineFailed, format!("cannot query the C# compiler: {why}"))
            .hint("the next expression restarts it")
    }

    /// How assemblies are loaded into the program; the first call loads the loader.
    fn load_strategy(
        &mut self,
        session: &mut ClrSession,
        site: &EvalContext,
        ids: &[u32],
    ) -> Result<LoadStrategy, Failure> {
        if let Some(way) = &self.way {
            return Ok(way.clone());
        }
        let mut request = HelperMessage::new(b'L');
        request.text(injection::LOADER).text(injection::LOADER_SOURCE).list(ids, |message, id| {
            message.number(*id);
        });
        let way = match self.ask(session, request)? {
            CompilerResponse::Library(image) => {
                LoadStrategy::Loader(injection::load_plainly(session, site, (injection::LOADER, &image))?)
            }
            CompilerResponse::Refusal(why) => {
                tracing::debug!(why, "the program lacks what the loader of expressions needs");
                LoadStrategy::Plain
            }
            _ => return Err(self.drop_process("its answer does not match the request")),
        };
        Ok(self.way.insert(way).clone())
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

/// Calls the compiled form of an expression.
fn call(
    session: &mut ClrSession,
    site: &EvalContext,
    frame: &CompilationContext,
    (loaded, code): (&Rc<LoadedModule>, &CompiledExpression),
    text: &str,
) -> Result<CompiledOutcome, Failure> {
    let lost = || failed("the compiled expression is damaged");
    let mut method =
        injection::method_with(session, loaded, code.method, frame.types.clone()).ok_or_else(lost)?;
    if frame.types.contains(&Ty::Other) {
        return Err(failed("the runtime does not say what the generic parameters of this code stand for"));
    }
    if code.is_any {
        method.result = Ty::Other;
    }
    let mut arguments = Vec::new();
    for (index, is_reference) in &code.arguments {
        let path = frame.variables.get(*index).and_then(|variable| variable.path.clone()).ok_or_else(lost)?;
        let val = session.at_stop().val_at(path)?;
        arguments.push(match is_reference {
            true => TypedValue { ty: Ty::Reference(Box::new(val.ty.direct().clone())), ..val },
            false => val,
        });
    }
    let shown: String = text.trim().chars().take(100).collect();
    let val = session.call_with_others(site, &method, (None, &arguments), &shown, code.waits).map_err(
        |failure| match code.waits && failure.message.ends_with(LATE) {
            true => Failure::new(
                ErrorCode::EvaluationTimeout,
                format!("`{shown}` did not end within {} ms, and was abandoned", site.limit.as_millis()),
            )
            .hint("resume the program if it waits for a stopped thread, or evaluate less"),
            false => failure,
        },
    )?;
    Ok(if code.is_void { CompiledOutcome::Nothing } else { CompiledOutcome::Value(val) })
}

/// Whether the compiled form is still loaded.
fn is_there(session: &ClrSession, compiled: &CompileResult) -> bool {
    match compiled {
        CompileResult::Loaded(loaded, _) => session.types.modules.by_id(loaded.id).is_some(),
        _ => true,
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

/// How many waits an `await` may take before the call would be aborted.
fn waits(site: &EvalContext) -> u32 {
    let limit = site.limit.saturating_sub(site.limit / 10);
    u32::try_from(limit.as_millis() / WAIT_INTERVAL.as_millis()).unwrap_or(u32::MAX)
}

fn number(id: usize) -> u32 {
    u32::try_from(id).unwrap_or(u32::MAX)
}

fn should_give_up(session: &ClrSession) -> bool {
    session.cancel.is_cancelled() || session.is_ending()
}

fn length_failure() -> Failure {
    failed(format!("the expression is longer than {MAX_TEXT} bytes"))
}

fn failed(message: impl Into<String>) -> Failure {
    Failure::new(ErrorCode::EvaluationFailed, message)
}

impl ClrSession {
    /// Evaluates an expression with the C# compiler of an SDK, which runs code of the program. `site`: the
    /// frame, and the time limit of the code.
    pub(super) fn evaluate_compiled(
        &mut self,
        text: &str,
        site: &EvalContext,
    ) -> Result<CompiledOutcome, CompiledFailure> {
        let mut compiler = std::mem::take(&mut self.compiler);
        let outcome = compiler.evaluate(self, site, text);
        self.compiler = compiler;
        outcome
    }

    /// Whether the compiler has evaluated an expression in the method of a frame before.
    pub(super) fn was_compiled(&self, text: &str, site: &EvalContext) -> bool {
        self.compiler.knows(self, site, text)
    }
}
