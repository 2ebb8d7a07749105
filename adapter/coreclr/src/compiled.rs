//! Expressions that the C# compiler of an SDK evaluates: a separate process compiles them, and the program
//! runs the result like any other call of an evaluation. Not here: which expressions those are
//! (`evaluator/compiler_fallback.rs`), and the compiler ([`super::compiler`]).
//!
//! In reading order: [`frame`] and [`encoded_types`] (what an expression can use), [`injection`] (loads
//! compiled code into the program). `in_program/` runs in the debugged program.

mod encoded_types;
mod frame;
mod injection;

use std::rc::Rc;
use std::time::Duration;

use tandem_wire::{ErrorCode, Failure};

use self::frame::{CompilationContext, EXCEPTION};
use super::compiler::{
    CompileResult, CompiledExpression, CompiledFailure, CompiledOutcome, Compiler, CompilerHost,
    CompilerResponse, HelperMessage, LoadStrategy, Unavailable,
};
use super::expression_syntax::failed;
use super::func_eval::EvalContext;
use super::modules::LoadedModule;
use super::modules::injected::{EXPRESSION, LOADER};
use super::session::ClrSession;
use super::typed_value::TypedValue;
use super::types::Ty;

/// The exception of compiled code when one of its `await`s takes too long, and the length of one wait.
/// `helper/Wrapper.cs` has both, too.
const LATE: &str = "__tandemLate";
const WAIT_INTERVAL: Duration = Duration::from_millis(50);
/// Longest expression, bytes.
const MAX_TEXT: usize = 64 * 1024;

impl Compiler {
    fn evaluate(
        &mut self,
        session: &mut ClrSession,
        site: &EvalContext,
        text: &str,
    ) -> Result<CompiledOutcome, CompiledFailure> {
        if text.len() > MAX_TEXT {
            return Err(length_failure().into());
        }
        self.connection.require_sdk()?;
        let shown = text;
        let text = &text.replace("$exception", EXCEPTION);
        let frame = CompilationContext::at(session.at_stop(), site, text)?;
        let modules = session.program.types.modules.count();
        let (loaded, code) =
            match self.expressions.find(&frame.place(), text, modules).filter(|kept| is_there(session, kept))
            {
                Some(CompileResult::Loaded(loaded, code)) => (loaded, code),
                Some(CompileResult::Refused(diagnostics)) => {
                    return Err(CompiledFailure::Diagnostics(diagnostics));
                }
                Some(CompileResult::Failed(why)) => return Err(CompiledFailure::Refused(failed(why))),
                None => self.compile(session, site, &frame, text)?,
            };
        call(session, site, &frame, (&loaded, &code), shown).map_err(CompiledFailure::Failed)
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
        let name = format!("{}{}", EXPRESSION, self.number);
        let (ids, response) = match self.request_expression(session, site, frame, text) {
            // It may have ended long ago, or may be ending during this request.
            Err(CompiledFailure::Failed(failure))
                if self.connection.is_lost() && failure.code == ErrorCode::EngineFailed =>
            {
                self.request_expression(session, site, frame, text)?
            }
            outcome => outcome?,
        };
        let keep = |compiler: &mut Self, compiled: CompileResult| {
            compiler.expressions.keep(frame.place(), text, session.program.types.modules.count(), compiled);
        };
        match response {
            CompilerResponse::Code(code) => {
                let code = Rc::new(code);
                let way = self.load_strategy(session, site, &ids)?;
                let loaded = injection::load(session, site, &way, &frame.loaded, (&name, &code.image))?;
                // Modules were loaded, including injected ones.
                let count = session.program.types.modules.count();
                self.expressions.keep(
                    frame.place(),
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
                Err(CompiledFailure::Refused(failed(why)))
            }
            CompilerResponse::Library(_) => {
                Err(self.connection.drop_process("its answer does not match the request").into())
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
        if self.connection.lacks_platform() {
            self.connection.set_platform(injection::platform(session, site)?);
        }
        let ids = session.with_compiler_host(|host| {
            self.connection.load_modules(host, &session.program.types.modules, &frame.loaded)
        })?;
        let mut request = HelperMessage::new(b'E');
        request.number(self.number).number(waits(site)).text(text);
        let is_users = |id: &&u32| {
            session.program.types.modules.by_id(**id as usize).is_some_and(|module| module.pdb.is_ok())
        };
        let users: Vec<u32> = ids.iter().filter(is_users).copied().collect();
        frame.write((&ids, &users), &mut request);
        request.flag(false);
        let response = session.with_compiler_host(|host| self.connection.ask(host, request))?;
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
        request.text(LOADER).text(injection::LOADER_SOURCE).list(ids, |message, id| {
            message.number(*id);
        });
        let way = match session.with_compiler_host(|host| self.connection.ask(host, request))? {
            CompilerResponse::Library(image) => {
                LoadStrategy::Loader(injection::load_plainly(session, site, (LOADER, &image))?)
            }
            CompilerResponse::Refusal(why) => {
                tracing::debug!(why, "the program lacks what the loader of expressions needs");
                LoadStrategy::Plain
            }
            _ => return Err(self.connection.drop_process("its answer does not match the request")),
        };
        Ok(self.way.insert(way).clone())
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
        CompileResult::Loaded(loaded, _) => session.program.types.modules.by_id(loaded.id).is_some(),
        _ => true,
    }
}

/// How many waits an `await` may take before the call would be aborted.
fn waits(site: &EvalContext) -> u32 {
    let limit = site.limit.saturating_sub(site.limit / 10);
    u32::try_from(limit.as_millis() / WAIT_INTERVAL.as_millis()).unwrap_or(u32::MAX)
}

fn length_failure() -> Failure {
    failed(format!("the expression is longer than {MAX_TEXT} bytes"))
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
        let expressions = &self.compiler.expressions;
        let knows = || {
            let (loaded, method, _) = self.at_stop().code_at(site.thread, site.frame)?;
            Some(expressions.knows(loaded.id, method, &text.replace("$exception", EXCEPTION)))
        };
        !expressions.is_empty() && knows().unwrap_or(false)
    }

    /// Lends the compiler's process what it needs of the session.
    fn with_compiler_host<T>(&self, work: impl FnOnce(&CompilerHost<'_>) -> T) -> T {
        let should_give_up = || self.hub.request.is_abandoned();
        let (broker, pid) = (&self.program.debuggee.broker, self.program.debuggee.pid);
        work(&CompilerHost { broker, pid, should_give_up: &should_give_up })
    }
}
