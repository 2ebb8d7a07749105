//! Callbacks of the runtime: our callback object turns each call into a [`Callback`] and passes it on.
//!
//! The library calls it on a thread of the library. That thread only adds references and passes the message
//! on; the engine's thread does the work and answers each callback with `Process::resume`.

use core::ffi::c_void;
use core::sync::atomic::{AtomicU32, Ordering};

use crate::Result;
use crate::com::{ComPtr, Guid, IUnknown, IUnknownVtbl, Interface};
use crate::eval::Eval;
use crate::frame::{Frame, RuntimeBreakpoint};
use crate::hresult::E_NOINTERFACE;
use crate::module::Module;
use crate::raw::*;
use crate::stream::ComStream;
use crate::thread::{Stepper, Thread};

/// Kinds of [`Callback::Exception`]: CorDebugExceptionCallbackType.
pub mod exception {
    /// The exception was just thrown.
    pub const FIRST_CHANCE: u32 = 1;
    /// The search for a handler reached user code.
    pub const USER_FIRST_CHANCE: u32 = 2;
    /// The search ended: a handler will catch the exception.
    pub const CATCH_HANDLER_FOUND: u32 = 3;
    /// The search ended without a handler.
    pub const UNHANDLED: u32 = 4;
}

/// Where a step ended, in [`Callback::StepComplete`]: CorDebugStepReason.
pub mod step {
    /// The step ended in the frame in which it began.
    pub const NORMAL: u32 = 0;
    /// The step ended in a caller of the stepped function.
    pub const RETURN: u32 = 1;
}

/// One call of the runtime. Each must be answered by exactly one `Process::resume`, but for
/// [`Callback::ExitProcess`].
#[allow(missing_docs, reason = "named after the methods of ICorDebugManagedCallback")]
pub enum Callback {
    Breakpoint {
        thread: Thread,
        breakpoint: RuntimeBreakpoint,
    },
    /// `reason`: one of [`step`].
    StepComplete {
        thread: Thread,
        stepper: Stepper,
        reason: u32,
    },
    Break {
        thread: Thread,
    },
    /// `frame`: the frame that threw the exception, or the one with the handler; `None` in native code. `il`:
    /// the IL offset there; of a handler, its first offset.
    Exception {
        thread: Thread,
        frame: Option<Frame>,
        il: u32,
        kind: u32,
    },
    EvalComplete {
        thread: Thread,
        eval: Eval,
    },
    EvalException {
        thread: Thread,
        eval: Eval,
    },
    ExitProcess,
    CreateThread {
        thread: Thread,
    },
    ExitThread {
        thread: Thread,
    },
    LoadModule {
        module: Module,
    },
    UnloadModule {
        module: Module,
    },
    /// A module without a file has been given symbols.
    UpdateModuleSymbols {
        module: Module,
        symbols: ComStream,
    },
    LogMessage {
        category: String,
        message: String,
    },
    DebuggerError {
        hresult: u32,
    },
    /// Any other callback, by its name: it only needs an answer.
    Other(&'static str),
}

// SAFETY: the one place where COM pointers cross threads. mscordbi's objects count references atomically and
// lock inside; a callback's pointers are moved to the engine's thread, which is the only one that uses or
// releases them.
unsafe impl Send for Callback {}

type Sink = Box<dyn Fn(Callback) + Send + Sync>;

/// Four interfaces, one object: a pointer to `vtables[n]` is the object as ICorDebugManagedCallback(n+1).
#[repr(C)]
struct CallbackObject {
    first: *const ICorDebugManagedCallbackVtbl,
    second: *const ICorDebugManagedCallback2Vtbl,
    third: *const ICorDebugManagedCallback3Vtbl,
    fourth: *const ICorDebugManagedCallback4Vtbl,
    references: AtomicU32,
    sink: Sink,
}

/// Creates the object, with one reference, as a pointer to its first interface.
pub(crate) fn object(sink: Sink) -> Result<ComPtr<ICorDebugManagedCallback>> {
    let object = Box::new(CallbackObject {
        first: &FIRST,
        second: &SECOND,
        third: &THIRD,
        fourth: &FOURTH,
        references: AtomicU32::new(1),
        sink,
    });
    // SAFETY: the object begins with the first vtable pointer, and its one reference is handed over.
    unsafe { ComPtr::own("callback object", Box::into_raw(object).cast()) }
}

/// The object behind a pointer to its `N`th interface.
///
/// # Safety
/// `this` must be such a pointer.
unsafe fn callback_object<const N: usize>(this: *mut c_void) -> *mut CallbackObject {
    // SAFETY: the vtable pointers lie side by side at the start of the object.
    unsafe { this.cast::<*const c_void>().sub(N).cast() }
}

unsafe extern "C" fn query_interface<const N: usize>(
    this: *mut IUnknown,
    iid: *const Guid,
    out: *mut *mut c_void,
) -> i32 {
    // SAFETY: the caller passes one of our interfaces and valid pointers, as COM demands.
    unsafe {
        let object = callback_object::<N>(this.cast());
        let requested = *iid;
        let index = if requested == IUnknown::IID || requested == ICorDebugManagedCallback::IID {
            0
        } else if requested == ICorDebugManagedCallback2::IID {
            1
        } else if requested == ICorDebugManagedCallback3::IID {
            2
        } else if requested == ICorDebugManagedCallback4::IID {
            3
        } else {
            *out = core::ptr::null_mut();
            return E_NOINTERFACE as i32;
        };
        *out = object.cast::<*const c_void>().add(index).cast();
        (*object).references.fetch_add(1, Ordering::Relaxed);
    }
    0
}

unsafe extern "C" fn add_ref<const N: usize>(this: *mut IUnknown) -> u32 {
    // SAFETY: the caller holds a reference, so the object lives.
    unsafe { (*callback_object::<N>(this.cast())).references.fetch_add(1, Ordering::Relaxed) + 1 }
}

unsafe extern "C" fn release<const N: usize>(this: *mut IUnknown) -> u32 {
    // SAFETY: the caller gives back a reference it holds; the last one frees what `object` boxed.
    unsafe {
        let object = callback_object::<N>(this.cast());
        let left = (*object).references.fetch_sub(1, Ordering::AcqRel) - 1;
        if left == 0 {
            drop(Box::from_raw(object));
        }
        left
    }
}

const fn unknown<const N: usize>() -> IUnknownVtbl {
    IUnknownVtbl { QueryInterface: query_interface::<N>, AddRef: add_ref::<N>, Release: release::<N> }
}

/// Adds a reference to an object that the runtime passes for the duration of the call.
///
/// # Safety
/// `pointer` must be null or live.
unsafe fn retain<T: Interface>(pointer: *mut T) -> Option<ComPtr<T>> {
    // SAFETY: the caller's promise.
    unsafe { ComPtr::borrow(pointer) }
}

/// # Safety
/// `text` must be null or end with a zero.
unsafe fn text(text: *const u16) -> String {
    if text.is_null() {
        return String::new();
    }
    let mut length = 0;
    // SAFETY: the text ends with a zero, so every unit up to it is readable.
    unsafe {
        while *text.add(length) != 0 {
            length += 1;
        }
        String::from_utf16_lossy(core::slice::from_raw_parts(text, length))
    }
}

/// One method: `forward!(interface index, Interface, (parameters) => message)`.
macro_rules! forward {
    ($index:literal, $interface:ident, ($($name:ident : $kind:ty),*) => $message:expr) => {{
        unsafe extern "C" fn method(this: *mut $interface, $($name: $kind),*) -> i32 {
            // SAFETY: the runtime calls the method on the object it was given, with live arguments.
            unsafe {
                let object = callback_object::<$index>(this.cast());
                let message: Option<Callback> = $message;
                // A message without its objects cannot be acted upon, but must be answered like any other.
                ((*object).sink)(message.unwrap_or(Callback::Other("incomplete")));
            }
            0
        }
        method
    }};
}

/// A method whose callback only gets an answer.
macro_rules! ignore {
    ($index:literal, $interface:ident, $name:literal, ($($argument:ident : $kind:ty),*)) => {
        forward!($index, $interface, ($($argument: $kind),*) => {
            $(let _ = $argument;)*
            Some(Callback::Other($name))
        })
    };
}

type Domain = *mut ICorDebugAppDomain;
type Threads = *mut ICorDebugThread;
type Processes = *mut ICorDebugProcess;
type First = ICorDebugManagedCallback;
type Second = ICorDebugManagedCallback2;

static FIRST: ICorDebugManagedCallbackVtbl = ICorDebugManagedCallbackVtbl {
    base: unknown::<0>(),
    Breakpoint: forward!(0, First, (_domain: Domain, thread: Threads, breakpoint: *mut ICorDebugBreakpoint) =>
        retain(thread).zip(retain(breakpoint)).map(|(thread, breakpoint)| Callback::Breakpoint {
            thread: Thread(thread), breakpoint: RuntimeBreakpoint(breakpoint) })),
    StepComplete: forward!(0, First, (_domain: Domain, thread: Threads, stepper: *mut ICorDebugStepper,
        reason: u32) =>
        retain(thread).zip(retain(stepper)).map(|(thread, stepper)| Callback::StepComplete {
            thread: Thread(thread), stepper: Stepper(stepper), reason })),
    Break: forward!(0, First, (_domain: Domain, thread: Threads) =>
        retain(thread).map(|thread| Callback::Break { thread: Thread(thread) })),
    // The older form of ICorDebugManagedCallback2::Exception, which has more details.
    Exception: ignore!(0, First, "Exception", (_domain: Domain, _thread: Threads, _unhandled: i32)),
    EvalComplete: forward!(0, First, (_domain: Domain, thread: Threads, eval: *mut ICorDebugEval) =>
        retain(thread).zip(retain(eval)).map(|(thread, eval)| Callback::EvalComplete {
            thread: Thread(thread), eval: Eval(eval) })),
    EvalException: forward!(0, First, (_domain: Domain, thread: Threads, eval: *mut ICorDebugEval) =>
        retain(thread).zip(retain(eval)).map(|(thread, eval)| Callback::EvalException {
            thread: Thread(thread), eval: Eval(eval) })),
    CreateProcess: ignore!(0, First, "CreateProcess", (_process: Processes)),
    ExitProcess: forward!(0, First, (_process: Processes) => Some(Callback::ExitProcess)),
    CreateThread: forward!(0, First, (_domain: Domain, thread: Threads) =>
        retain(thread).map(|thread| Callback::CreateThread { thread: Thread(thread) })),
    ExitThread: forward!(0, First, (_domain: Domain, thread: Threads) =>
        retain(thread).map(|thread| Callback::ExitThread { thread: Thread(thread) })),
    LoadModule: forward!(0, First, (_domain: Domain, module: *mut ICorDebugModule) =>
        retain(module).map(|module| Callback::LoadModule { module: Module(module) })),
    UnloadModule: forward!(0, First, (_domain: Domain, module: *mut ICorDebugModule) =>
        retain(module).map(|module| Callback::UnloadModule { module: Module(module) })),
    LoadClass: ignore!(0, First, "LoadClass", (_domain: Domain, _class: *mut ICorDebugClass)),
    UnloadClass: ignore!(0, First, "UnloadClass", (_domain: Domain, _class: *mut ICorDebugClass)),
    DebuggerError: forward!(0, First, (_process: Processes, hresult: i32, _code: u32) =>
        Some(Callback::DebuggerError { hresult: hresult as u32 })),
    LogMessage: forward!(0, First,
        (_domain: Domain, _thread: Threads, _level: i32, category: *mut u16, message: *mut u16) =>
        Some(Callback::LogMessage { category: text(category), message: text(message) })),
    LogSwitch: ignore!(0, First, "LogSwitch",
        (_domain: Domain, _thread: Threads, _level: i32, _reason: u32, _switch: *mut u16, _parent: *mut u16)),
    CreateAppDomain: ignore!(0, First, "CreateAppDomain", (_process: Processes, _domain: Domain)),
    ExitAppDomain: ignore!(0, First, "ExitAppDomain", (_process: Processes, _domain: Domain)),
    LoadAssembly: ignore!(0, First, "LoadAssembly", (_domain: Domain, _assembly: *mut ICorDebugAssembly)),
    UnloadAssembly: ignore!(0, First, "UnloadAssembly", (_domain: Domain, _assembly: *mut ICorDebugAssembly)),
    ControlCTrap: ignore!(0, First, "ControlCTrap", (_process: Processes)),
    NameChange: ignore!(0, First, "NameChange", (_domain: Domain, _thread: Threads)),
    UpdateModuleSymbols: forward!(0, First, (_domain: Domain, module: *mut ICorDebugModule,
        stream: *mut c_void) =>
        retain(module).zip(retain(stream.cast())).map(|(module, stream)| Callback::UpdateModuleSymbols {
            module: Module(module), symbols: ComStream(stream) })),
    EditAndContinueRemap: ignore!(0, First, "EditAndContinueRemap",
        (_domain: Domain, _thread: Threads, _function: *mut ICorDebugFunction, _accurate: i32)),
    BreakpointSetError: ignore!(0, First, "BreakpointSetError",
        (_domain: Domain, _thread: Threads, _breakpoint: *mut ICorDebugBreakpoint, _error: u32)),
};

static SECOND: ICorDebugManagedCallback2Vtbl = ICorDebugManagedCallback2Vtbl {
    base: unknown::<1>(),
    FunctionRemapOpportunity: ignore!(1, Second, "FunctionRemapOpportunity",
        (_domain: Domain, _thread: Threads, _old: *mut ICorDebugFunction, _new: *mut ICorDebugFunction,
            _offset: u32)),
    CreateConnection: ignore!(1, Second, "CreateConnection", (_process: Processes, _id: u32,
        _name: *mut u16)),
    ChangeConnection: ignore!(1, Second, "ChangeConnection", (_process: Processes, _id: u32)),
    DestroyConnection: ignore!(1, Second, "DestroyConnection", (_process: Processes, _id: u32)),
    Exception: forward!(1, Second,
        (_domain: Domain, thread: Threads, frame: *mut ICorDebugFrame, il: u32, kind: u32, _flags: u32) =>
        retain(thread).map(|thread| Callback::Exception {
            thread: Thread(thread), frame: retain(frame).map(Frame), il, kind })),
    ExceptionUnwind: ignore!(1, Second, "ExceptionUnwind", (_domain: Domain, _thread: Threads, _kind: u32,
        _flags: u32)),
    FunctionRemapComplete: ignore!(1, Second, "FunctionRemapComplete",
        (_domain: Domain, _thread: Threads, _function: *mut ICorDebugFunction)),
    MDANotification: ignore!(1, Second, "MDANotification",
        (_controller: *mut ICorDebugController, _thread: Threads, _mda: *mut ICorDebugMDA)),
};

static THIRD: ICorDebugManagedCallback3Vtbl = ICorDebugManagedCallback3Vtbl {
    base: unknown::<2>(),
    CustomNotification: ignore!(2, ICorDebugManagedCallback3, "CustomNotification", (_thread: Threads,
        _domain: Domain)),
};

static FOURTH: ICorDebugManagedCallback4Vtbl = ICorDebugManagedCallback4Vtbl {
    base: unknown::<3>(),
    BeforeGarbageCollection: ignore!(3, ICorDebugManagedCallback4, "BeforeGarbageCollection",
        (_process: Processes)),
    AfterGarbageCollection: ignore!(3, ICorDebugManagedCallback4, "AfterGarbageCollection",
        (_process: Processes)),
    DataBreakpoint: ignore!(3, ICorDebugManagedCallback4, "DataBreakpoint",
        (_process: Processes, _thread: Threads, _context: *mut u8, _size: u32)),
};

#[cfg(test)]
mod tests {
    use std::sync::{Arc, Mutex};

    use super::*;
    use crate::com::call;

    #[test]
    fn each_interface_is_the_same_object_and_reports_to_the_same_sink() {
        let received = Arc::new(Mutex::new(Vec::new()));
        let listener = received.clone();
        let first = object(Box::new(move |callback| {
            listener.lock().unwrap().push(match callback {
                Callback::Other(name) => name.to_owned(),
                Callback::ExitProcess => "exit".to_owned(),
                Callback::LogMessage { message, .. } => message,
                _ => "?".to_owned(),
            });
        }))
        .unwrap();
        let second: ComPtr<ICorDebugManagedCallback2> = first.cast().unwrap();
        let third: ComPtr<ICorDebugManagedCallback3> = second.cast().unwrap();
        let fourth: ComPtr<ICorDebugManagedCallback4> = third.cast().unwrap();
        let back: ComPtr<ICorDebugManagedCallback> = fourth.cast().unwrap();
        assert_eq!(first.as_ptr(), back.as_ptr());
        assert!(first.cast::<ICorDebugProcess>().is_err());
        fn null<T>() -> *mut T {
            core::ptr::null_mut()
        }
        let mut text: Vec<u16> = "hé\0".encode_utf16().collect();
        call!(first, ICorDebugManagedCallback.ExitProcess(null())).unwrap();
        call!(first, ICorDebugManagedCallback.LogMessage(null(), null(), 0, null(), text.as_mut_ptr()))
            .unwrap();
        call!(second, ICorDebugManagedCallback2.ExceptionUnwind(null(), null(), 0, 0)).unwrap();
        call!(third, ICorDebugManagedCallback3.CustomNotification(null(), null())).unwrap();
        call!(fourth, ICorDebugManagedCallback4.AfterGarbageCollection(null())).unwrap();
        // Without a thread there is nothing to act upon, but the call must still be answered.
        call!(first, ICorDebugManagedCallback.Break(null(), null())).unwrap();
        assert_eq!(
            *received.lock().unwrap(),
            ["exit", "hé", "ExceptionUnwind", "CustomNotification", "AfterGarbageCollection", "incomplete"]
        );
        drop((first, second, third, fourth, back));
        assert_eq!(Arc::strong_count(&received), 1, "the last reference frees the object");
    }
}
