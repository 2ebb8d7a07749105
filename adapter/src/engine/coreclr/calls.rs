//! Running code of the program for us: getters, indexers, methods, new strings.
//!
//! The thread of the stop runs the code while everything else runs too. Each call has a deadline; one that passes it is
//! aborted. Requests that come meanwhile wait; stops and exceptions inside the call are not the clients'.

use std::sync::mpsc::{Receiver, RecvTimeoutError};
use std::time::{Duration, Instant};

use cordebug::callback::Callback;
use cordebug::eval::Eval;
use cordebug::frame::Function;
use cordebug::value::{Type, Value as ClrValue};
use dap_wire::{ErrorCode, Failure};
use serde_json::{Value, json};

use super::cor;
use super::session::{Input, Session};
use super::values::{Path, Root, bare};

/// How long a call may run.
const CALL_LIMIT: Duration = Duration::from_secs(5);
/// How long an aborted call may take to end.
const ABORT_LIMIT: Duration = Duration::from_secs(2);
/// How often a call looks whether the session ends.
const SLICE: Duration = Duration::from_millis(50);

enum Outcome {
    Value(Option<ClrValue>),
    Threw(Option<ClrValue>),
}

impl Session {
    /// Calls a method by name on the value at a path; gives the way to the result.
    pub(super) fn call_method(
        &mut self,
        thread: u32,
        on: &Path,
        method: &str,
        arguments: &[Argument],
        inputs: &Receiver<Input>,
    ) -> Result<Produced, Failure> {
        let shown = format!("{}.{}", on.name, method.strip_prefix("get_").unwrap_or(method));
        // Strings are made first: making one runs the program, and every other value dies then.
        let mut strings = Vec::new();
        for argument in arguments {
            if let Argument::Text(text) = argument {
                strings.push(self.new_string(thread, text, inputs)?);
            }
        }
        let this = self.fetch(on)?;
        let inner = bare(&this).ok_or_else(|| {
            Failure::new(
                ErrorCode::EvaluationFailed,
                format!("`{}` is null, so `{shown}` has no value", on.name),
            )
        })?;
        let (function, types) = self.find_method(&inner, method, arguments.len()).ok_or_else(|| {
            Failure::new(
                ErrorCode::EvaluationFailed,
                format!(
                    "`{}` has no member `{}` with {} argument(s)",
                    self.type_of(&this),
                    method,
                    arguments.len()
                ),
            )
        })?;
        let eval = self.thread(thread)?.create_eval().map_err(cor("prepare a call"))?;
        // A boxed or plain struct is passed as it is, an object by its reference.
        let receiver = if this.as_reference().is_some()
            && inner.element_type() == Ok(cordebug::value::element::VALUETYPE)
        {
            inner
        } else {
            this
        };
        let mut values = vec![receiver];
        let mut made = strings.iter();
        for argument in arguments {
            values.push(match argument {
                Argument::Text(_) => match made.next() {
                    Some(handle) => handle.value().map_err(cor("use a string"))?,
                    None => return Err(Failure::invalid("a string argument got lost")),
                },
                Argument::Bits(kind, bytes) => {
                    let value = eval.create_value(*kind).map_err(cor("make an argument"))?;
                    value.set_bytes(bytes).map_err(cor("set an argument"))?;
                    value
                }
                Argument::Null => {
                    eval.create_value(cordebug::value::element::CLASS).map_err(cor("make an argument"))?
                }
                Argument::At(path) => self.fetch(path)?,
            });
        }
        eval.call(&function, &types, &values).map_err(cor(format!("call `{shown}`")))?;
        drop(values);
        match self.finish(&eval, inputs, &shown)? {
            Outcome::Value(value) => self.keep(value, shown),
            Outcome::Threw(thrown) => {
                let (name, message) = match &thrown {
                    Some(thrown) => (self.type_of(thrown), self.text_field(thrown, "_message")),
                    None => ("an exception".into(), None),
                };
                let message = message.map_or(String::new(), |message| format!(": {message}"));
                Err(Failure::new(ErrorCode::EvaluationFailed, format!("`{shown}` threw {name}{message}")))
            }
        }
    }

    fn new_string(
        &mut self,
        thread: u32,
        text: &str,
        inputs: &Receiver<Input>,
    ) -> Result<std::rc::Rc<cordebug::value::Handle>, Failure> {
        let eval = self.thread(thread)?.create_eval().map_err(cor("prepare a string"))?;
        eval.new_string(text).map_err(cor("make a string"))?;
        let lost = || Failure::new(ErrorCode::EvaluationFailed, "the program could not make a string");
        match self.finish(&eval, inputs, "new string")? {
            Outcome::Value(Some(value)) => {
                let handle = bare(&value).ok_or_else(lost)?.handle().map_err(cor("keep a string"))?;
                Ok(self.references.keep(handle))
            }
            _ => Err(lost()),
        }
    }

    /// The way to a new string, for an assignment.
    pub(super) fn string_at(
        &mut self,
        thread: u32,
        text: &str,
        inputs: &Receiver<Input>,
    ) -> Result<Path, Failure> {
        let handle = self.new_string(thread, text, inputs)?;
        Ok(Path { root: Root::Handle(handle), steps: Vec::new(), name: "new string".into() })
    }

    /// Objects are kept by a handle; everything else is shown at once, for it dies with the next resume.
    fn keep(&mut self, value: Option<ClrValue>, name: String) -> Result<Produced, Failure> {
        let Some(value) = value else { return Ok(Produced::Nothing) };
        let heap = value.as_reference().filter(|reference| reference.is_null() == Ok(false));
        let object = heap.and_then(|reference| reference.dereference().ok());
        match object.and_then(|object| object.handle().ok()) {
            Some(handle) => {
                let root = Root::Handle(self.references.keep(handle));
                Ok(Produced::At(Path { root, steps: Vec::new(), name }))
            }
            None => Ok(Produced::Value(value)),
        }
    }

    /// Looks for a method along the base types.
    fn find_method(&self, value: &ClrValue, name: &str, count: usize) -> Option<(Function, Vec<Type>)> {
        let mut kind = value.exact_type().ok();
        for _ in 0..64 {
            let current = kind?;
            if let Some((loaded, token)) = self.class_of(&current)
                && let Some(image) = loaded.image()
            {
                let metadata = &image.metadata;
                let found = metadata.methods(token).find(|method| {
                    metadata.method_name(*method) == name
                        && !metadata.is_static(*method)
                        && metadata.parameter_count(*method) as usize == count
                });
                if let Some(method) = found {
                    let function = loaded.module.function(method).ok()?;
                    return Some((function, current.parameters().unwrap_or_default()));
                }
            }
            kind = current.base().ok();
        }
        None
    }

    /// Lets the program run until the call is complete.
    fn finish(&mut self, eval: &Eval, inputs: &Receiver<Input>, what: &str) -> Result<Outcome, Failure> {
        let process = self.process()?;
        let go_on = || process.resume().map_err(cor(format!("run `{what}`")));
        go_on()?;
        let start = Instant::now();
        let mut aborted: Option<Instant> = None;
        loop {
            match inputs.recv_timeout(SLICE) {
                Ok(Input::Callback(Callback::EvalComplete { eval, .. })) if aborted.is_none() => {
                    return Ok(Outcome::Value(eval.result()));
                }
                Ok(Input::Callback(Callback::EvalException { eval, .. })) if aborted.is_none() => {
                    return Ok(Outcome::Threw(eval.result()));
                }
                Ok(Input::Callback(Callback::EvalComplete { .. } | Callback::EvalException { .. })) => {
                    return Err(timed_out(what));
                }
                Ok(Input::Callback(callback @ Callback::ExitProcess)) => {
                    self.postponed.push_back(Input::Callback(callback));
                    return Err(Failure::new(
                        ErrorCode::EvaluationFailed,
                        format!("the program ended during `{what}`"),
                    ));
                }
                Ok(Input::Callback(callback)) => {
                    self.bookkeeping(callback);
                    go_on()?;
                }
                Ok(other) => self.postponed.push_back(other),
                Err(RecvTimeoutError::Timeout) => {}
                Err(RecvTimeoutError::Disconnected) => return Err(timed_out(what)),
            }
            match aborted {
                None if start.elapsed() > CALL_LIMIT || self.is_ending() => {
                    process.stop().map_err(cor("stop a call that takes too long"))?;
                    eval.abort().map_err(cor("abort a call that takes too long"))?;
                    go_on()?;
                    aborted = Some(Instant::now());
                }
                Some(since) if since.elapsed() > ABORT_LIMIT => {
                    process.stop().map_err(cor("stop a call that cannot be aborted"))?;
                    // Last resort: the thread is unwound without its handlers.
                    eval.rude_abort().map_err(cor("abort a call that does not end"))?;
                    go_on()?;
                    aborted = Some(Instant::now() + Duration::from_secs(3600));
                }
                _ => {}
            }
        }
    }

    /// The one row of a lazy property.
    pub(super) fn property_row(&mut self, of: &Path, name: &str, inputs: &Receiver<Input>) -> Value {
        let super::session::Run::Stopped { thread } = self.run else {
            return json!({ "name": name, "value": "<the program runs>", "variablesReference": 0 });
        };
        let way = format!("{}.{name}", of.name);
        match self.call_method(thread, of, &format!("get_{name}"), &[], inputs) {
            Ok(Produced::At(path)) => {
                let mut row = self.row(name, &path);
                row["evaluateName"] = json!(way);
                row
            }
            Ok(Produced::Value(value)) => {
                let shown = self.show(&value);
                json!({ "name": name, "value": shown.text, "type": shown.kind, "evaluateName": way,
                    "variablesReference": 0 })
            }
            Ok(Produced::Nothing) => json!({ "name": name, "value": "", "variablesReference": 0 }),
            Err(failure) => json!({ "name": name, "value": format!("<{failure}>"), "variablesReference": 0,
                "presentationHint": { "attributes": ["failedEvaluation"] } }),
        }
    }
}

/// An argument of a call.
pub(super) enum Argument {
    /// A primitive: element type and bytes.
    Bits(u32, Vec<u8>),
    Text(String),
    Null,
    At(Path),
}

/// What a call gave.
pub(super) enum Produced {
    /// Nothing: a void method.
    Nothing,
    /// An object that stays reachable until the program runs on.
    At(Path),
    /// A value that dies with the next resume.
    Value(ClrValue),
}

fn timed_out(what: &str) -> Failure {
    Failure::new(
        ErrorCode::EvaluationTimeout,
        format!("`{what}` did not end within {} s and was aborted", CALL_LIMIT.as_secs()),
    )
    .hint("it may wait for a lock that a stopped thread holds")
}
