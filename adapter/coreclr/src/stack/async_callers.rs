//! Async callers: the callers of a resumed async method are not on any thread's stack, but in the
//! continuations of its task. Everything is read from fields; nothing runs.

use std::rc::Rc;

use clr_metadata::il::state_at_yield;
use cordebug::frame::Frame;
use cordebug::value::Value as ClrValue;

use crate::bare_value::bare;
use crate::code_position::CodePosition;
use crate::frame_numbers::FIRST_AWAITING_FRAME;
use crate::modules::LoadedModule;
use crate::options::SessionOptions;
use crate::stop_context::StopContext;
use crate::types::ClrTypeSystem;
use crate::types::Ty;
use crate::value_path::{Path, PathRoot};
use crate::value_store::{AwaitingMethod, ValueStore};

/// Longest chain that is followed.
pub(super) const MAX_CHAIN_LEN: usize = 200;
/// Most objects between a task and the state machine that awaits it.
const MAX_LINKS: usize = 64;
/// Most waiters of one task that are read.
const MAX_WAITERS: u32 = 16;
/// Most frames of a stack that are searched for an async method.
const MAX_FRAMES: usize = 256;
/// The field of a box with the state machine.
const MACHINE: &str = "StateMachine";
/// Fields of an async iterator, or a pooled state machine, that awaiting code waits for instead of a task.
const SOURCES: [&str; 2] = [ITEM, "_valueTaskSource"];
/// The field that the consumer of a stream waits for.
pub(crate) const ITEM: &str = "<>v__promiseOfValueOrEnd";
/// A task's field with the continuation that runs when it completes.
const CONTINUATION: &str = "m_continuationObject";
/// Fields of other objects that lead towards the continuing state machine, in the order in which
/// they are tried: of a value task's source, of a delegate, of the wrappers that carry a context
/// or a name for tracing.
const LINKS: [&str; 6] = ["_continuationState", "_target", "m_action", "_continuation", "_action", "m_task"];

/// Code that continues after an async method.
pub(crate) enum Continuation {
    /// The method that awaits it.
    Directly,
    /// A method beyond others that no step ends in, with its state machine.
    In(Box<AwaitingMethod>, ClrValue),
    /// Only code that no step ends in awaits it.
    Nowhere,
    /// No code is known to await it.
    Unknown,
}

impl StopContext<'_> {
    /// The async callers of the method a thread was resumed in, innermost first; found once per stop.
    pub(super) fn async_callers(&self, thread: u32, frames: &[Frame]) -> Rc<Vec<AwaitingMethod>> {
        if let Some(known) = self.values.references.kept_callers(thread) {
            return known;
        }
        let mut list = Vec::new();
        let mut machine = self.types.resumed_machine(frames);
        while let Some(current) = machine.take().filter(|_| list.len() < MAX_CHAIN_LEN) {
            let Some((waiting, next)) = self.awaiter(&current) else { break };
            list.push(waiting);
            machine = Some(next);
        }
        self.values.references.keep_waiting(thread, list)
    }

    /// The method that awaits the one with this state machine, and its own.
    fn awaiter(&self, machine: &ClrValue) -> Option<(AwaitingMethod, ClrValue)> {
        let outcome = self.types.outcome_of(machine)?;
        let holder = self.types.next_box(&outcome, &mut { MAX_LINKS })?;
        self.waits_in(&holder)
    }

    /// The code that continues, and that a step can end in, when the async method with
    /// this state machine ends.
    pub(crate) fn continuation_of(&self, options: &SessionOptions, machine: &ClrValue) -> Continuation {
        let mut found = Continuation::Unknown;
        let mut machine = machine.clone();
        for _ in 0..MAX_CHAIN_LEN {
            let Some((waiting, next)) = self.awaiter(&machine) else { break };
            if self.types.can_stop_in(options, &waiting) {
                let is_direct = matches!(found, Continuation::Unknown);
                return if is_direct {
                    Continuation::Directly
                } else {
                    Continuation::In(Box::new(waiting), next)
                };
            }
            found = Continuation::Nowhere;
            machine = next;
        }
        found
    }

    /// The nearest method that can stop and waits for something on a stack: an async method, or a task such
    /// as that of `Task.Run`. The method on top is excluded.
    pub(crate) fn find_waiting_method(
        &self,
        options: &SessionOptions,
        frames: &[Frame],
    ) -> Option<(AwaitingMethod, ClrValue)> {
        for frame in frames.iter().skip(1) {
            let Ok(object) = frame.argument(0) else { continue };
            let mut next = self.awaiter(&object);
            if next.is_none() && self.types.field_named(&object, CONTINUATION).is_some() {
                let holder = self.types.next_box(&object, &mut { MAX_LINKS });
                next = holder.and_then(|holder| self.waits_in(&holder));
            }
            for _ in 0..MAX_CHAIN_LEN {
                let Some((waiting, machine)) = next else { break };
                if self.types.can_stop_in(options, &waiting) {
                    return Some((waiting, machine));
                }
                next = self.awaiter(&machine);
            }
        }
        None
    }

    /// The method that waits for the next item of the stream whose method was resumed and is on top, and its
    /// state machine. `None` for another method, or while no code waits.
    pub(crate) fn waits_for_item(&self, frames: &[Frame]) -> Option<(AwaitingMethod, ClrValue)> {
        let machine = frames.first()?.argument(0).ok()?;
        let item = self.types.field_named(&machine, ITEM)?;
        let holder = self.types.next_box(&item, &mut { MAX_LINKS })?;
        self.waits_in(&holder)
    }

    /// The module, method and generic arguments of a frame, or of an async caller.
    pub(crate) fn code_at(&self, thread: u32, frame: usize) -> Option<(Rc<LoadedModule>, u32, Vec<Ty>)> {
        if frame >= FIRST_AWAITING_FRAME {
            let take = |at: &AwaitingMethod| (at.loaded.clone(), at.method, at.arguments.clone());
            return self.values.waiting_at(thread, frame, take);
        }
        let frame = self.frame_at(thread, frame).ok()?;
        let (loaded, method) = self.types.method_of(&frame)?;
        let arguments = frame.type_parameters().unwrap_or_default();
        Some((loaded, method, arguments.iter().map(|of| self.types.ty_of_runtime(of)).collect()))
    }

    /// The module, method and IL offset of a frame, or of an async caller; `None` if the offset is not known.
    pub(crate) fn place_at(&self, thread: u32, frame: usize) -> Option<(Rc<LoadedModule>, u32, u32)> {
        if frame >= FIRST_AWAITING_FRAME {
            let take = |at: &AwaitingMethod| Some((at.loaded.clone(), at.method, at.il?));
            return self.values.waiting_at(thread, frame, take)?;
        }
        let frame = self.frame_at(thread, frame).ok()?;
        let (loaded, method) = self.types.method_of(&frame)?;
        Some((loaded, method, frame.il_offset().ok()?))
    }

    /// The waiting method in a box, and its state machine.
    fn waits_in(&self, holder: &ClrValue) -> Option<(AwaitingMethod, ClrValue)> {
        let object = bare(holder)?;
        let step = self.types.member(&object, MACHINE)?;
        let machine = self.types.field_at(&object, step)?;
        let kind = bare(&machine)?.exact_type().ok()?;
        let (loaded, class) = self.types.class_of(&kind)?;
        let metadata = &loaded.image()?.metadata;
        let method = metadata.methods(class).find(|method| metadata.method_name(*method) == "MoveNext")?;
        let state = self.types.number_field(&machine, "<>1__state").map(|state| state as i32);
        let il = state.and_then(|state| yield_of(&loaded, method, state));
        let arguments = self.types.ty_of_runtime(&kind).arguments().to_vec();
        // In optimised code the state machine is a struct: only its box can be held.
        let root = PathRoot::Handle(self.values.references.keep(object.handle().ok()?));
        let path = Path::new(root, "this").step(step, "this".into());
        Some((AwaitingMethod { loaded, method, il, arguments, machine: path }, machine))
    }
}

impl ValueStore {
    /// Whether a thread's async callers were searched for at this stop.
    pub(super) fn has_searched_async_callers(&self, thread: u32) -> bool {
        self.references.kept_callers(thread).is_some()
    }

    /// An async caller by the number of its frame.
    pub(crate) fn waiting_at<T>(
        &self,
        thread: u32,
        frame: usize,
        look: impl FnOnce(&AwaitingMethod) -> T,
    ) -> Option<T> {
        let index = frame.checked_sub(FIRST_AWAITING_FRAME)?;
        self.references.kept_callers(thread)?.get(index).map(look)
    }
}

impl ClrTypeSystem {
    /// Whether a step may end where a method waits.
    fn can_stop_in(&self, options: &SessionOptions, waiting: &AwaitingMethod) -> bool {
        let has_source = waiting.il.is_some_and(|il| {
            waiting.loaded.pdb.as_ref().is_ok_and(|pdb| pdb.point_at(waiting.method, il).is_some())
        });
        has_source && (!options.just_my_code || self.modules.is_users(&waiting.loaded, waiting.method))
    }

    /// The task that a stack runs, such as that of `Task.Run`.
    pub(crate) fn task_on(&self, frames: &[Frame]) -> Option<ClrValue> {
        let tasks = frames.iter().skip(1).filter_map(|frame| frame.argument(0).ok());
        tasks.into_iter().find(|object| self.field_named(object, CONTINUATION).is_some())
    }

    /// Whether a thread resumes an async method, which may have async callers.
    pub(super) fn is_resumed(&self, frames: &[Frame]) -> bool {
        self.resumed_machine(frames).is_some()
    }

    /// Whether the async method on top has not yielded yet since its caller entered it: the next frame
    /// outside the framework is the method that started it, or that requested the next item of a stream.
    pub(crate) fn is_called_by_its_beginning(&self, frames: &[Frame]) -> bool {
        let mut own = frames
            .iter()
            .filter_map(|frame| self.modules.position_of(frame))
            .filter(|at| !at.loaded.is_framework);
        let (Some(top), Some(below)) = (own.next(), own.next()) else { return false };
        if below.loaded.id != top.loaded.id || below.method == top.method {
            return false;
        }
        let kickoff = top.loaded.pdb.as_ref().ok().and_then(|pdb| pdb.kickoff(top.method));
        let owner = |at: &CodePosition| Some(at.loaded.image()?.metadata.owner_of(at.method));
        kickoff == Some(below.method) || owner(&below) == owner(&top)
    }

    /// The task of a state machine: its builder's.
    pub(crate) fn task_of(&self, machine: &ClrValue) -> Option<ClrValue> {
        let mut builder = self.field_named(machine, "<>t__builder")?;
        // A builder of another kind of task contains one of the plain kind.
        for _ in 0..4 {
            let task = self.field_named(&builder, "m_task").or_else(|| self.field_named(&builder, "_task"));
            if let Some(task) = task {
                return bare(&task).map(|_| task);
            }
            let inner = self.field_named(&builder, "m_builder");
            builder = inner.or_else(|| self.field_named(&builder, "_methodBuilder"))?;
        }
        None
    }

    /// The state machine of the topmost async method that its caller on this stack did not start.
    fn resumed_machine(&self, frames: &[Frame]) -> Option<ClrValue> {
        let frames = frames.get(..frames.len().min(MAX_FRAMES))?;
        for (index, frame) in frames.iter().enumerate() {
            let Some((loaded, method)) = self.method_of(frame) else { continue };
            let Ok(pdb) = &loaded.pdb else { continue };
            let is_async = pdb.kickoff(method).is_some() && !pdb.await_steps(method).is_empty();
            if is_async && !self.is_called_by_its_beginning(frames.get(index..)?) {
                return frame.argument(0).ok();
            }
        }
        None
    }

    /// The object that the awaiter of a method waits for: its task, or a substitute.
    fn outcome_of(&self, machine: &ClrValue) -> Option<ClrValue> {
        SOURCES.iter().find_map(|source| self.field_named(machine, source)).or_else(|| self.task_of(machine))
    }

    /// The box of the state machine that continues when something completes: the first of several; for a task
    /// that represents others (`WhenAll`, `Unwrap`, `ContinueWith`), the one after it.
    fn next_box(&self, completing: &ClrValue, left: &mut usize) -> Option<ClrValue> {
        let object = bare(completing)?;
        let source = SOURCES.iter().find_map(|source| self.field_named(&object, source));
        let object = source.unwrap_or(object);
        let next = match self.field_named(&object, CONTINUATION) {
            Some(continuation) => continuation,
            None => LINKS
                .iter()
                .find_map(|link| self.field_named(&object, link).filter(|next| bare(next).is_some()))?,
        };
        self.box_behind(&next, left)
    }

    fn box_behind(&self, value: &ClrValue, left: &mut usize) -> Option<ClrValue> {
        *left = left.checked_sub(1)?;
        let object = bare(value)?;
        let (loaded, class) = self.class_of(&object.exact_type().ok()?)?;
        let name = loaded.image()?.metadata.simple_name(class);
        if name.contains("StateMachineBox") {
            return Some(value.clone());
        }
        if name == "List`1" {
            let items = bare(&self.field_named(&object, "_items")?)?.as_array()?;
            let count = items.count().ok()?.min(MAX_WAITERS);
            return (0..count).find_map(|at| self.box_behind(&items.element(at).ok()?, left));
        }
        self.next_box(&object, left)
    }
}

/// The IL offset where a method waits in this state.
fn yield_of(loaded: &LoadedModule, method: u32, state: i32) -> Option<u32> {
    let awaits = loaded.pdb.as_ref().ok()?.await_steps(method);
    let body = loaded.module.function(method).and_then(|function| function.il_bytes()).unwrap_or_default();
    let states: Vec<Option<i32>> = awaits.iter().map(|at| state_at_yield(&body, at.yield_il)).collect();
    let position = match states.iter().any(Option::is_some) {
        true => states.iter().position(|own| *own == Some(state)),
        // Usually they are numbered in the order of the symbols; awaits in unreachable code have a number,
        // too.
        false => usize::try_from(state).ok(),
    };
    position.and_then(|position| awaits.get(position)).map(|at| at.yield_il)
}
