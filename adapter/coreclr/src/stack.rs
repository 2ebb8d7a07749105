//! Stacks and scopes: the frames of a thread, marks for transitions into the runtime, and below them the
//! methods that await the running async one ([`async_callers`]), and those that first threw the exception of
//! the stop. Not here: the variables of a scope ([`super::values`]).

pub(super) mod async_callers;
mod transitions;

use clr_metadata::pdb::Pdb;
use cordebug::frame::Frame;
use serde_json::Value;
use tandem_wire::Failure;
use tandem_wire::types::{
    self, DapScope, EndedFrame, ScopesArguments, ScopesResponseBody, Source, StackFrame, StackTraceArguments,
    StackTraceResponseBody,
};

use super::exceptions::ThrowLocation;
use super::frame_numbers::{FIRST_AWAITING_FRAME, FIRST_ENDED_FRAME, FIRST_LABEL_FRAME, MAX_DEPTH, is_alive};
use super::memory;
use super::modules::LoadedModule;
use super::session::ClrSession;
use super::sources::{self, Sources};
use super::types::Ty;
use crate::names::LIGHTWEIGHT;
use crate::options::SessionOptions;
use crate::types::ClrTypeSystem;
use crate::value_store::{AwaitingMethod, Node, ValueStore};

/// The last row of a stack whose walk ended early.
const MORE: &str = "[More Frames]";

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
        let id = self.program.debuggee.thread_of(arguments)?;
        let StackTraceArguments { start_frame, levels, .. } = types::read(arguments);
        let start = types::unsigned(start_frame).unwrap_or(0);
        let levels = types::unsigned(levels).unwrap_or(0);
        let frames = self.program.debuggee.frames(id)?;
        let mut rows = self.program.debuggee.insert_transitions(id, &frames);
        if frames.len() == MAX_DEPTH {
            rows.push(StackEntry::Mark(MORE));
        }
        let origin = self.exceptions.origin(&self.program.debuggee, &self.program.types, id, &frames);
        let max_count = if levels == 0 { usize::MAX } else { levels };
        // Each caller takes time to find: editors request the top frame first, and the others when the user
        // opens them.
        if start.saturating_add(max_count) <= rows.len()
            && !self.program.values.has_searched_async_callers(id)
        {
            let more = usize::from(self.program.types.is_resumed(&frames) || !origin.is_empty());
            let total = rows.len() + more;
            let list = self.page(id, &rows, start, max_count, &frames, &[], &origin);
            return Ok(stack_body(list, total));
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
        Ok(stack_body(list, rows.len()))
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
    ) -> Vec<StackFrame> {
        let mut list = Vec::new();
        for (place, row) in rows.iter().enumerate().skip(start).take(count) {
            list.extend(match row {
                StackEntry::Own(index) => frames.get(*index).map(|frame| {
                    let reference = self.program.values.references.frame(thread, *index);
                    let il = self.program.types.il_shown(frame, origin);
                    let mut body = self.program.types.frame_body(
                        &self.options,
                        &self.sources,
                        frame,
                        il,
                        FramePresentation { reference, on_top: *index == 0 },
                    );
                    if let Ok((_, address)) = frame.native() {
                        body.instruction_pointer_reference = Some(memory::reference(address));
                    }
                    body
                }),
                StackEntry::Awaiting(index) => waiting.get(*index).map(|at| {
                    let reference =
                        self.program.values.references.frame(thread, FIRST_AWAITING_FRAME + index);
                    let arguments: Vec<String> =
                        at.arguments.iter().map(|ty| self.program.types.csharp(ty)).collect();
                    self.program.types.method_body(
                        &self.options,
                        &self.sources,
                        CodePlace { loaded: &at.loaded, method: at.method, il: at.il, arguments: &arguments },
                        FramePresentation { reference, on_top: false },
                    )
                }),
                StackEntry::Ended(index) => origin.get(*index).map(|at| {
                    let reference = self.program.values.references.frame(thread, FIRST_ENDED_FRAME + index);
                    let mut body = self.program.types.method_body(
                        &self.options,
                        &self.sources,
                        CodePlace { loaded: &at.loaded, method: at.method, il: at.il, arguments: &[] },
                        FramePresentation { reference, on_top: false },
                    );
                    body.rest = types::fields(&EndedFrame { has_ended: true });
                    body
                }),
                StackEntry::Mark(text) => {
                    let reference = self.program.values.references.frame(thread, FIRST_LABEL_FRAME + place);
                    Some(StackFrame {
                        id: reference,
                        name: (*text).to_owned(),
                        presentation_hint: Some("label".to_owned()),
                        ..StackFrame::default()
                    })
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
        sources: &Sources,
        frame: &Frame,
        il: Option<u32>,
        FramePresentation { reference, on_top }: FramePresentation,
    ) -> StackFrame {
        let unknown = |name: &str| StackFrame {
            id: reference,
            name: name.to_owned(),
            presentation_hint: Some(SUBTLE.to_owned()),
            source: Some(external(name)),
            ..StackFrame::default()
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
        self.method_body(options, sources, place, FramePresentation { reference, on_top })
    }

    /// DAP `StackFrame` of a position in a method. Editors fold frames whose source is `deemphasize`d, and
    /// do not go there at a stop. Code of libraries is deemphasized, except in the frame where the thread
    /// is executing if it has a source. If that frame has none, just-my-code or not, editors go to the
    /// nearest frame that has one.
    fn method_body(
        &self,
        options: &SessionOptions,
        sources: &Sources,
        CodePlace { loaded, method, il, arguments }: CodePlace<'_>,
        FramePresentation { reference, on_top }: FramePresentation,
    ) -> StackFrame {
        let name = loaded.method_display_with(method, arguments);
        let point = loaded.pdb.as_ref().ok().and_then(|pdb| pdb.point_at(method, il?));
        let Some(point) = point else {
            let mut source = external(&loaded.name());
            if loaded.pdb.is_err() && sources.retrieval.decompilation.is_possible(loaded) {
                source.source_reference = Some(sources::reference_of_method(loaded.id, method));
                source.origin = Some("decompiled when it is opened".to_owned());
                source.adapter_data = sources::not_here();
            }
            return StackFrame {
                id: reference,
                name,
                presentation_hint: Some(SUBTLE.to_owned()),
                source: Some(source),
                module_id: Some(loaded.id.into()),
                ..StackFrame::default()
            };
        };
        let mut body = StackFrame {
            id: reference,
            name,
            source: sources.source_body(loaded, point.document),
            line: point.line.into(),
            column: point.column.into(),
            end_line: Some(point.end_line.into()),
            end_column: Some(point.end_column.into()),
            module_id: Some(loaded.id.into()),
            ..StackFrame::default()
        };
        if self.modules.is_users(loaded, method) {
            return body;
        }
        let is_shown = !options.just_my_code && !loaded.hidden_methods().contains(&method);
        if !is_shown {
            body.presentation_hint = Some(SUBTLE.to_owned());
        }
        if let Some(source) = &mut body.source
            && (!(is_shown || on_top) || !sources::is_text_available(source))
        {
            source.presentation_hint = Some(DEEMPHASIZED.to_owned());
            // An existing origin, which says where the source can be obtained, is more useful.
            if source.source_reference.is_none() && !loaded.is_decompiled() {
                source.origin = Some(EXTERNAL.to_owned());
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
        let ScopesArguments { frame_id, .. } = types::read(arguments);
        let Some((thread, index)) = self.references.frame_of(frame_id) else {
            return Err(Failure::invalid(format!("there is no frame {frame_id}")));
        };
        is_alive(index)?;
        let mut body = ScopesResponseBody::default();
        if index < FIRST_LABEL_FRAME {
            body.scopes.push(DapScope {
                name: "Locals".to_owned(),
                presentation_hint: Some("locals".to_owned()),
                variables_reference: self.references.add(Node::Locals { thread, index }),
                ..DapScope::default()
            });
        }
        Ok(types::body(&body))
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

/// `presentationHint` of a frame that is not in the user's code.
const SUBTLE: &str = "subtle";
/// `presentationHint` of a source that editors do not open at a stop.
const DEEMPHASIZED: &str = "deemphasize";

/// DAP `Source` of code without source: editors fold its frames.
fn external(name: &str) -> Source {
    Source {
        name: Some(name.to_owned()),
        presentation_hint: Some(DEEMPHASIZED.to_owned()),
        origin: Some(EXTERNAL.to_owned()),
        ..Source::default()
    }
}

fn stack_body(stack_frames: Vec<StackFrame>, total: usize) -> Value {
    let total_frames = Some(types::integer(total));
    types::body(&StackTraceResponseBody { stack_frames, total_frames, ..StackTraceResponseBody::default() })
}
