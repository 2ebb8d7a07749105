//! Stacks and scopes: the frames of a thread, marks for transitions into the runtime, and below them the
//! methods that await the running async one ([`async_callers`]), and those that first threw the exception of
//! the stop. Not here: the variables of a scope ([`super::values`]).

pub(super) mod async_callers;
mod transitions;

use clr_metadata::pdb::Pdb;
use cordebug::frame::Frame;
use cordebug::thread::Thread;
use dap_wire::Failure;
use serde_json::{Value, json};

use super::exceptions::ThrowLocation;
use super::memory;
use super::modules::LoadedModule;
use super::session::ClrSession;
use super::sources;
use super::types::Ty;
use super::values::Node;
use crate::modules::Modules;
use crate::names::LIGHTWEIGHT;
use crate::options::SessionOptions;
use crate::retrieval::Retrieval;
use crate::sources::SourceLocator;
use crate::types::ClrTypeSystem;
use crate::values::ValueStore;
use async_callers::AwaitingMethod;

/// Deepest stack that is walked.
pub(super) const MAX_DEPTH: usize = 10_000;
/// The last row of a stack whose walk ended early.
const MORE: &str = "[More Frames]";
/// Numbers of frames from here on belong to async callers; those of the thread's own frames count from 0.
pub(super) const FIRST_AWAITING_FRAME: usize = 1 << 20;
/// Numbers from here on belong to rows that are not frames.
pub(super) const FIRST_LABEL_FRAME: usize = 2 << 20;
/// Numbers from here on belong to methods that have thrown and ended.
const FIRST_ENDED_FRAME: usize = 3 << 20;

/// One row of a stack as clients see it.
enum StackEntry {
    /// A frame of the thread, by its index.
    Own(usize),
    /// A method that awaits, by its index in the chain.
    Awaiting(usize),
    /// A location where the exception was thrown, or that it passed.
    Ended(usize),
    /// A transition between frames.
    Mark(&'static str),
}

/// Refuses a frame whose method has ended.
pub(super) fn is_alive(frame: usize) -> Result<(), Failure> {
    if frame < FIRST_ENDED_FRAME {
        return Ok(());
    }
    let text = "this method has thrown the exception and ended: it has no variables any more";
    Err(Failure::invalid(text).hint("read `$exception` in the top frame of the thread").quiet())
}

/// A position in code, and the arguments of its generic parameters.
struct CodePlace<'a> {
    loaded: &'a LoadedModule,
    /// Token of the MethodDef row.
    method: u32,
    il: Option<u32>,
    arguments: &'a [String],
}

/// How a frame is shown: under which number, and whether the thread is executing it.
struct FramePresentation {
    reference: i64,
    on_top: bool,
}

impl ClrSession {
    /// `stackTrace`. Until a client has requested the async callers, `totalFrames` only
    /// says that there are more.
    pub(super) fn stack_trace(&mut self, arguments: &Value) -> Result<Value, Failure> {
        let id = self.debuggee.thread_of(arguments)?;
        let number =
            |key: &str| arguments[key].as_u64().map_or(0, |number| usize::try_from(number).unwrap_or(0));
        let (start, levels) = (number("startFrame"), number("levels"));
        let frames = self.debuggee.frames(id)?;
        let mut rows = self.debuggee.insert_transitions(id, &frames);
        if frames.len() == MAX_DEPTH {
            rows.push(StackEntry::Mark(MORE));
        }
        let origin = self.exceptions.origin(&self.debuggee, &self.types, id, &frames);
        let max_count = if levels == 0 { usize::MAX } else { levels };
        // Each caller takes time to find: editors request the top frame first, and the others when the user
        // opens them.
        if start.saturating_add(max_count) <= rows.len() && !self.values.has_searched_async_callers(id) {
            let more = usize::from(self.types.is_resumed(&frames) || !origin.is_empty());
            let total = rows.len() + more;
            let list = self.page(id, &rows, start, max_count, &frames, &[], &origin);
            return Ok(json!({ "stackFrames": list, "totalFrames": total }));
        }
        let waiting = self.at_stop().async_callers(id, &frames);
        if !waiting.is_empty() {
            rows.push(StackEntry::Mark("[Async Call Stack]"));
            rows.extend((0..waiting.len()).map(StackEntry::Awaiting));
            if waiting.len() == async_callers::MAX_CHAIN_LEN {
                rows.push(StackEntry::Mark("[More Async Callers]"));
            }
        }
        if !origin.is_empty() {
            rows.push(StackEntry::Mark("[Exception Thrown At]"));
            rows.extend((0..origin.len()).map(StackEntry::Ended));
        }
        let list = self.page(id, &rows, start, max_count, &frames, &waiting, &origin);
        Ok(json!({ "stackFrames": list, "totalFrames": rows.len() }))
    }

    /// DAP `StackFrame`s of a range of a stack.
    #[expect(clippy::too_many_arguments, reason = "the page, and one list for each kind of row")]
    fn page(
        &mut self,
        thread: u32,
        rows: &[StackEntry],
        start: usize,
        count: usize,
        frames: &[Frame],
        waiting: &[AwaitingMethod],
        origin: &[ThrowLocation],
    ) -> Vec<Value> {
        let mut list = Vec::new();
        for (place, row) in rows.iter().enumerate().skip(start).take(count) {
            list.extend(match row {
                StackEntry::Own(index) => frames.get(*index).map(|frame| {
                    let reference = self.values.references.frame(thread, *index);
                    let il = self.types.il_shown(frame, origin);
                    let mut body = self.types.frame_body(
                        &self.options,
                        &self.sources,
                        &self.retrieval,
                        frame,
                        il,
                        FramePresentation { reference, on_top: *index == 0 },
                    );
                    if let Ok((_, address)) = frame.native() {
                        body["instructionPointerReference"] = memory::reference(address).into();
                    }
                    body
                }),
                StackEntry::Awaiting(index) => waiting.get(*index).map(|at| {
                    let reference = self.values.references.frame(thread, FIRST_AWAITING_FRAME + index);
                    let arguments: Vec<String> =
                        at.arguments.iter().map(|ty| self.types.csharp(ty)).collect();
                    self.types.method_body(
                        &self.options,
                        &self.sources,
                        &self.retrieval,
                        CodePlace { loaded: &at.loaded, method: at.method, il: at.il, arguments: &arguments },
                        FramePresentation { reference, on_top: false },
                    )
                }),
                StackEntry::Ended(index) => origin.get(*index).map(|at| {
                    let reference = self.values.references.frame(thread, FIRST_ENDED_FRAME + index);
                    let mut body = self.types.method_body(
                        &self.options,
                        &self.sources,
                        &self.retrieval,
                        CodePlace { loaded: &at.loaded, method: at.method, il: at.il, arguments: &[] },
                        FramePresentation { reference, on_top: false },
                    );
                    body["hasEnded"] = json!(true);
                    body
                }),
                StackEntry::Mark(text) => {
                    let reference = self.values.references.frame(thread, FIRST_LABEL_FRAME + place);
                    Some(json!({ "id": reference, "name": text, "line": 0, "column": 0,
                        "presentationHint": "label" }))
                }
            });
        }
        list
    }
}

impl ClrTypeSystem {
    fn frame_body(
        &self,
        options: &SessionOptions,
        sources: &SourceLocator,
        retrieval: &Retrieval,
        frame: &Frame,
        il: Option<u32>,
        FramePresentation { reference, on_top }: FramePresentation,
    ) -> Value {
        let unknown = |name: &str| {
            json!({ "id": reference, "name": name, "line": 0, "column": 0, "presentationHint": "subtle",
                "source": external(name) })
        };
        let Ok(function) = frame.function() else {
            let made = if frame.is_compiled() { LIGHTWEIGHT } else { "[Native Code]" };
            return unknown(frame.internal().map_or(made, transitions::name));
        };
        let (Ok(token), Ok(module)) = (function.token(), function.module()) else {
            return unknown("[Unknown Code]");
        };
        let Some(loaded) = self.modules.of(&module) else { return unknown("[Unknown Module]") };
        let arguments = self.generic_arguments(frame);
        let il = il.map(|il| if on_top { il } else { call_offset(&loaded, token, il) });
        let place = CodePlace { loaded: &loaded, method: token, il, arguments: &arguments };
        self.method_body(options, sources, retrieval, place, FramePresentation { reference, on_top })
    }

    /// DAP `StackFrame` of a position in a method. Editors fold frames whose source is `deemphasize`d, and
    /// do not go there at a stop. Code of libraries is deemphasized, except in the frame where the thread
    /// is executing if it has a source. If that frame has none, just-my-code or not, editors go to the
    /// nearest frame that has one.
    fn method_body(
        &self,
        options: &SessionOptions,
        sources: &SourceLocator,
        retrieval: &Retrieval,
        CodePlace { loaded, method, il, arguments }: CodePlace<'_>,
        FramePresentation { reference, on_top }: FramePresentation,
    ) -> Value {
        let name = loaded.method_display_with(method, arguments);
        let point = loaded.pdb.as_ref().ok().and_then(|pdb| pdb.point_at(method, il?));
        let Some(point) = point else {
            let mut source = external(&loaded.name());
            if loaded.pdb.is_err() && retrieval.can_decompile(loaded) {
                source["sourceReference"] = json!(sources::reference_of_method(loaded.id, method));
                source["origin"] = json!("decompiled when it is opened");
                source["adapterData"] = json!({ "notHere": true });
            }
            return json!({ "id": reference, "name": name, "line": 0, "column": 0,
                "presentationHint": "subtle",
                "source": source, "moduleId": loaded.id });
        };
        let mut body = json!({ "id": reference, "name": name,
            "source": sources.source_body(retrieval, loaded, point.document),
            "line": point.line, "column": point.column, "endLine": point.end_line,
            "endColumn": point.end_column, "moduleId": loaded.id });
        if self.modules.is_users(loaded, method) {
            return body;
        }
        let is_shown = !options.just_my_code && !loaded.hidden_methods().contains(&method);
        if !is_shown {
            body["presentationHint"] = json!("subtle");
        }
        if !(is_shown || on_top) || !sources::is_text_available(&body["source"]) {
            body["source"]["presentationHint"] = json!("deemphasize");
            // An existing origin, which says where the source can be obtained, is more useful.
            if body["source"]["sourceReference"].is_null() && !loaded.is_decompiled() {
                body["source"]["origin"] = json!(EXTERNAL);
            }
        }
        body
    }

    /// The generic arguments of a frame, as C# spells them: its class's, then its own. Empty
    /// if they are not known.
    fn generic_arguments(&self, frame: &Frame) -> Vec<String> {
        let actual: Vec<Ty> =
            frame.type_parameters().unwrap_or_default().iter().map(|kind| self.ty_of_runtime(kind)).collect();
        let spelled: Vec<String> = actual.iter().map(|ty| self.csharp(ty)).collect();
        // One body serves all reference types; the actual one is not recorded.
        let known = spelled.iter().all(|name| !name.contains("__Canon"));
        if known { spelled } else { Vec::new() }
    }
}

impl ValueStore {
    pub(super) fn scopes(&mut self, arguments: &Value) -> Result<Value, Failure> {
        let frame = arguments["frameId"].as_i64().and_then(|id| self.references.frame_of(id));
        let Some((thread, index)) = frame else {
            return Err(Failure::invalid(format!("there is no frame {}", arguments["frameId"])));
        };
        is_alive(index)?;
        if index >= FIRST_LABEL_FRAME {
            return Ok(json!({ "scopes": [] }));
        }
        let reference = self.references.add(Node::Locals { thread, index });
        Ok(json!({ "scopes": [{ "name": "Locals", "presentationHint": "locals",
                "variablesReference": reference,
            "expensive": false }] }))
    }
}

impl Modules {
    /// Whether a method is the user's own code.
    pub(super) fn is_users(&self, loaded: &LoadedModule, method: u32) -> bool {
        loaded.is_user_code && !loaded.hidden_methods().contains(&method)
    }

    /// Whether a frame is in the user's own code; `None` if that is unknown.
    pub(super) fn is_user_frame(&self, frame: &Frame) -> Option<bool> {
        let function = frame.function().ok()?;
        let loaded = self.of(&function.module().ok()?)?;
        Some(self.is_users(&loaded, function.token().ok()?))
    }

    pub(super) fn has_user_code(&self, thread: &Thread) -> bool {
        thread.frames(64).unwrap_or_default().iter().any(|frame| {
            let module = frame.function().and_then(|function| function.module());
            module.ok().and_then(|module| self.of(&module)).is_some_and(|loaded| loaded.is_user_code)
        })
    }
}

/// An IL offset in the calling statement of a frame. The return address is after the call, and in optimised
/// code, which has no `nop` there, the next statement may begin at that very offset.
fn call_offset(loaded: &LoadedModule, method: u32, il: u32) -> u32 {
    let begins = |pdb: &Pdb| pdb.points(method).iter().any(|point| point.il == il);
    let is_behind = loaded.is_optimized && il > 0 && loaded.pdb.as_ref().is_ok_and(begins);
    if is_behind { il - 1 } else { il }
}

/// Display name of library code without a source.
const EXTERNAL: &str = "external code";

/// DAP `Source` of code without source: editors fold its frames.
fn external(name: &str) -> Value {
    json!({ "name": name, "presentationHint": "deemphasize", "origin": EXTERNAL })
}
