//! Breakpoints of a step across `await`, and the state machine that identifies a call of an async method. Not
//! here: where they are set (`stepping::awaits`, `stepping::continuations`).

use std::rc::Rc;

use clr_metadata::pdb::AwaitStep;
use cordebug::frame::RuntimeBreakpoint;
use cordebug::thread::Thread;
use cordebug::value::{Handle, Value as ClrValue};

use crate::modules::LoadedModule;

/// Breakpoints that a step waits for besides its stepper.
pub(crate) enum AwaitBreakpoints {
    Nothing,
    /// The method may yield within the statement.
    Yield {
        loaded: Rc<LoadedModule>,
        places: Vec<(RuntimeBreakpoint, AwaitStep)>,
        machine: StateMachineRef,
    },
    /// It has yielded; it resumes here.
    Resume {
        breakpoint: RuntimeBreakpoint,
        machine: StateMachineRef,
    },
    /// The method's task completes.
    Completion(RuntimeBreakpoint),
    /// The method returns an item, or its end, to its consumer, which resumes here.
    Consumer {
        breakpoint: RuntimeBreakpoint,
        machine: StateMachineRef,
    },
}

impl AwaitBreakpoints {
    /// Removes its breakpoints from the program.
    pub(crate) fn clear(self) {
        let remove = |breakpoint: RuntimeBreakpoint| breakpoint.remove().unwrap_or_default();
        match self {
            Self::Nothing => {}
            Self::Yield { places, machine, .. } => {
                places.into_iter().for_each(|(breakpoint, _)| remove(breakpoint));
                machine.release();
            }
            Self::Resume { breakpoint, machine } | Self::Consumer { breakpoint, machine } => {
                remove(breakpoint);
                machine.release();
            }
            Self::Completion(breakpoint) => remove(breakpoint),
        }
    }

    pub(crate) fn is_hit_by(&self, hit: &RuntimeBreakpoint) -> bool {
        match self {
            Self::Nothing => false,
            Self::Yield { places, .. } => places.iter().any(|(breakpoint, _)| breakpoint.is(hit)),
            Self::Resume { breakpoint, .. }
            | Self::Consumer { breakpoint, .. }
            | Self::Completion(breakpoint) => breakpoint.is(hit),
        }
    }
}

/// The state machine of a call of an async method, which identifies the call.
pub(crate) enum StateMachineRef {
    Object(Handle),
    /// In optimised code it is a struct, at this address until it yields for the first time.
    Struct(u64),
    Unknown,
}

impl StateMachineRef {
    /// The state machine of a method, by its `this`.
    pub(crate) fn of(this: &ClrValue) -> Self {
        let find = || {
            let object = this.as_reference()?.dereference().ok()?;
            match object.handle() {
                Ok(handle) => Some(Self::Object(handle)),
                Err(_) => object.address().ok().map(Self::Struct),
            }
        };
        find().unwrap_or(Self::Unknown)
    }

    fn release(self) {
        if let Self::Object(handle) = self {
            handle.dispose().unwrap_or_default();
        }
    }

    /// Whether it is the one on top of a thread's stack. `moved`: it has yielded since, so that a
    /// struct has another address.
    pub(crate) fn runs_on(&self, thread: &Thread, moved: bool) -> bool {
        let address = |value: &ClrValue| value.as_reference()?.dereference().ok()?.address().ok();
        let here = || address(&own_argument(thread)?);
        match self {
            Self::Object(handle) => {
                let known = handle.value().ok().as_ref().and_then(address);
                known.is_some() && known == here()
            }
            Self::Struct(place) => moved || here() == Some(*place),
            Self::Unknown => true,
        }
    }
}

/// `this` of the method on top.
pub(crate) fn own_argument(thread: &Thread) -> Option<ClrValue> {
    thread.frames(1).ok()?.first()?.argument(0).ok()
}
