//! Stacks and scopes: the frames of a thread, marks for what the runtime does between them, and behind them the methods
//! that wait for the async one the thread runs ([`awaiting`]), and those that first threw the exception it stopped at.

pub(super) mod awaiting;
mod marks;

use cordebug::frame::Frame;
use cordebug::thread::Thread;
use dap_wire::Failure;
use serde_json::{Value, json};

use super::cor;
use super::exceptions::Place;
use super::memory;
use super::modules::Loaded;
use super::session::Session;
use super::sources;
use super::types::Ty;
use super::values::Node;
use awaiting::Waiting;
pub(super) use marks::LIGHTWEIGHT;

/// Deepest stack that is walked.
pub(super) const DEEPEST: usize = 10_000;
/// What stands where the walk ended before the stack did.
const MORE: &str = "[More Frames]";
/// Numbers of frames from here on are those of async callers; those of the thread's own frames count from 0.
pub(super) const WAITING: usize = 1 << 20;
/// Numbers from here on are those of rows that are no frame.
pub(super) const MARK: usize = 2 << 20;
/// Numbers from here on are those of methods that have thrown and ended.
const ENDED: usize = 3 << 20;

/// One row of a stack as clients see it.
enum Row {
    /// A frame of the thread, by its index.
    Own(usize),
    /// A method that awaits, by its place in the chain.
    Waiting(usize),
    /// A place where the exception was thrown, or that it passed.
    Ended(usize),
    /// What lies between frames.
    Mark(&'static str),
}

impl Session {
    /// `stackTrace`. As long as nobody asked how far the async callers go, `totalFrames` says that there are more.
    pub(super) fn stack_trace(&mut self, arguments: &Value) -> Result<Value, Failure> {
        let id = self.thread_of(arguments)?;
        let number =
            |key: &str| arguments[key].as_u64().map_or(0, |number| usize::try_from(number).unwrap_or(0));
        let (start, levels) = (number("startFrame"), number("levels"));
        let frames = self.frames(id)?;
        let mut rows = self.marked(id, &frames);
        if frames.len() == DEEPEST {
            rows.push(Row::Mark(MORE));
        }
        let origin = self.origin(id, &frames);
        let wanted = if levels == 0 { usize::MAX } else { levels };
        // Each caller takes a while to find: editors ask for the top frame first, and for the others when somebody looks.
        if start.saturating_add(wanted) <= rows.len() && !self.is_known_who_waits(id) {
            let more = usize::from(self.is_resumed(&frames) || !origin.is_empty());
            let total = rows.len() + more;
            let list = self.page(id, &rows, start, wanted, &frames, &[], &[]);
            return Ok(json!({ "stackFrames": list, "totalFrames": total }));
        }
        let waiting = self.waiting(id, &frames);
        if !waiting.is_empty() {
            rows.push(Row::Mark("[Async Call Stack]"));
            rows.extend((0..waiting.len()).map(Row::Waiting));
            if waiting.len() == awaiting::LONGEST {
                rows.push(Row::Mark("[More Async Callers]"));
            }
        }
        if !origin.is_empty() {
            rows.push(Row::Mark("[Exception Thrown At]"));
            rows.extend((0..origin.len()).map(Row::Ended));
        }
        let list = self.page(id, &rows, start, wanted, &frames, &waiting, &origin);
        Ok(json!({ "stackFrames": list, "totalFrames": rows.len() }))
    }

    /// DAP `StackFrame`s of a part of a stack.
    #[expect(clippy::too_many_arguments, reason = "the page, and one list for each kind of row")]
    fn page(
        &mut self,
        thread: u32,
        rows: &[Row],
        start: usize,
        count: usize,
        frames: &[Frame],
        waiting: &[Waiting],
        origin: &[Place],
    ) -> Vec<Value> {
        let mut list = Vec::new();
        for (place, row) in rows.iter().enumerate().skip(start).take(count) {
            list.extend(match row {
                Row::Own(index) => frames.get(*index).map(|frame| {
                    let reference = self.references.frame(thread, *index);
                    let mut body = self.frame_body(frame, reference, *index == 0);
                    if let Ok((_, address)) = frame.native() {
                        body["instructionPointerReference"] = memory::reference(address).into();
                    }
                    body
                }),
                Row::Waiting(index) => waiting.get(*index).map(|at| {
                    let reference = self.references.frame(thread, WAITING + index);
                    let arguments: Vec<String> = at.arguments.iter().map(|ty| self.csharp(ty)).collect();
                    self.method_body(&at.loaded, at.method, at.il, &arguments, reference, false)
                }),
                Row::Ended(index) => origin.get(*index).map(|at| {
                    let reference = self.references.frame(thread, ENDED + index);
                    let mut body = self.method_body(&at.loaded, at.method, at.il, &[], reference, false);
                    body["hasEnded"] = json!(true);
                    body
                }),
                Row::Mark(text) => {
                    let reference = self.references.frame(thread, MARK + place);
                    Some(json!({ "id": reference, "name": text, "line": 0, "column": 0,
                        "presentationHint": "label" }))
                }
            });
        }
        list
    }

    /// All managed frames of a thread, top first.
    pub(super) fn frames(&self, thread: u32) -> Result<Vec<Frame>, Failure> {
        let frames = self.thread(thread)?.frames(DEEPEST).map_err(cor("walk the stack"))?;
        Ok(self.without_left(thread, frames))
    }

    fn frame_body(&self, frame: &Frame, reference: i64, on_top: bool) -> Value {
        let unknown = |name: &str| {
            json!({ "id": reference, "name": name, "line": 0, "column": 0, "presentationHint": "subtle",
                "source": external(name) })
        };
        let Ok(function) = frame.function() else {
            let made = if frame.is_compiled() { LIGHTWEIGHT } else { "[Native Code]" };
            return unknown(frame.internal().map_or(made, marks::name));
        };
        let (Ok(token), Ok(module)) = (function.token(), function.module()) else {
            return unknown("[Unknown Code]");
        };
        let Some(loaded) = self.modules.of(&module) else { return unknown("[Unknown Module]") };
        let arguments = self.generic_arguments(frame);
        self.method_body(&loaded, token, frame.il_offset().ok(), &arguments, reference, on_top)
    }

    /// DAP `StackFrame` of a place in a method. Editors fold frames whose source is `deemphasize`d, and do not go there at a
    /// stop: code that is not the user's is, but not when it is where the thread stands and there is something to see. Where there
    /// is nothing, just-my-code or not, they go to the nearest frame that has something.
    fn method_body(
        &self,
        loaded: &Loaded,
        method: u32,
        il: Option<u32>,
        arguments: &[String],
        reference: i64,
        on_top: bool,
    ) -> Value {
        let name = self.method_display_with(loaded, method, arguments);
        let point = loaded.pdb.as_ref().ok().and_then(|pdb| pdb.point_at(method, il?));
        let Some(point) = point else {
            return json!({ "id": reference, "name": name, "line": 0, "column": 0, "presentationHint": "subtle",
                "source": external(&loaded.name()), "moduleId": loaded.id });
        };
        let mut body = json!({ "id": reference, "name": name,
            "source": self.source_body(loaded, point.document),
            "line": point.line, "column": point.column, "endLine": point.end_line,
            "endColumn": point.end_column, "moduleId": loaded.id });
        if self.is_users(loaded, method) {
            return body;
        }
        let is_shown = !self.just_my_code && !loaded.hidden().contains(&method);
        if !is_shown {
            body["presentationHint"] = json!("subtle");
        }
        if !(is_shown || on_top) || !sources::is_here(&body["source"]) {
            body["source"]["presentationHint"] = json!("deemphasize");
            body["source"]["origin"] = json!(EXTERNAL);
        }
        body
    }

    /// Whether a method is the user's own code.
    pub(super) fn is_users(&self, loaded: &Loaded, method: u32) -> bool {
        loaded.is_user_code && !loaded.hidden().contains(&method)
    }

    /// Whether a frame is in the user's own code; none when that cannot be known.
    pub(super) fn is_user_frame(&self, frame: &Frame) -> Option<bool> {
        let function = frame.function().ok()?;
        let loaded = self.modules.of(&function.module().ok()?)?;
        Some(self.is_users(&loaded, function.token().ok()?))
    }

    /// The generic arguments of a frame, as C# spells them: its class's, then its own. None when they are not known.
    fn generic_arguments(&self, frame: &Frame) -> Vec<String> {
        let actual: Vec<Ty> =
            frame.type_parameters().unwrap_or_default().iter().map(|kind| self.ty_of_runtime(kind)).collect();
        let spelled: Vec<String> = actual.iter().map(|ty| self.csharp(ty)).collect();
        // One body serves all reference types; which one it was is not kept.
        let known = spelled.iter().all(|name| !name.contains("__Canon"));
        if known { spelled } else { Vec::new() }
    }

    pub(super) fn has_user_code(&self, thread: &Thread) -> bool {
        thread.frames(64).unwrap_or_default().iter().any(|frame| {
            let module = frame.function().and_then(|function| function.module());
            module.ok().and_then(|module| self.modules.of(&module)).is_some_and(|loaded| loaded.is_user_code)
        })
    }

    /// Refuses a frame whose method has ended.
    pub(super) fn is_alive(frame: usize) -> Result<(), Failure> {
        if frame < ENDED {
            return Ok(());
        }
        let text = "this method has thrown the exception and ended: it has no variables any more";
        Err(Failure::invalid(text).hint("look at `$exception` in the top frame of the thread").quiet())
    }

    pub(super) fn scopes(&mut self, arguments: &Value) -> Result<Value, Failure> {
        let frame = arguments["frameId"].as_i64().and_then(|id| self.references.frame_of(id));
        let Some((thread, index)) = frame else {
            return Err(Failure::invalid(format!("there is no frame {}", arguments["frameId"])));
        };
        Self::is_alive(index)?;
        if index >= MARK {
            return Ok(json!({ "scopes": [] }));
        }
        let reference = self.references.add(Node::Locals { thread, index });
        Ok(
            json!({ "scopes": [{ "name": "Locals", "presentationHint": "locals", "variablesReference": reference,
            "expensive": false }] }),
        )
    }
}

/// Where code is that is not the user's and has no source.
const EXTERNAL: &str = "external code";

/// DAP `Source` of code without source: editors fold its frames.
fn external(name: &str) -> Value {
    json!({ "name": name, "presentationHint": "deemphasize", "origin": EXTERNAL })
}
