//! The debugger and the process it debugs: ICorDebug, ICorDebugProcess.
//!
//! Not here: finding a runtime and loading its debugging library ([`crate::runtime`]).

use crate::callback::{self, Callback};
use crate::com::{ComPtr, call, get};
use crate::imports::memory::{WrittenRange, record_writes};
use crate::imports::process_exit;
use crate::long_strings;
use crate::raw;
use crate::thread::Thread;
use crate::value::Value;
use crate::{CorError, Result};

/// Maximum number of fields that are read of a struct.
const MAX_STRUCT_FIELDS: u32 = 1 << 12;

/// COR_TYPE_LAYOUT, the layout of a type.
#[repr(C)]
#[derive(Default)]
struct TypeLayout {
    parent: raw::COR_TYPEID,
    size: u32,
    field_count: u32,
    box_offset: u32,
    element_type: u32,
}

/// COR_FIELD, a field in a layout.
#[repr(C)]
#[derive(Clone, Copy, Default)]
struct TypeField {
    token: u32,
    offset: u32,
    of: raw::COR_TYPEID,
    element_type: u32,
}

/// ICorDebug for one process, and whether its runtime is older than .NET 5.
pub struct Debugger(pub(crate) ComPtr<raw::ICorDebug>, pub(crate) bool);

impl Debugger {
    /// Initialises the library, which sends each callback to `sink` on a thread of the library.
    ///
    /// # Errors
    /// From `ICorDebug::Initialize` or `ICorDebug::SetManagedHandler`.
    pub fn start(&self, sink: impl Fn(Callback) + Send + Sync + 'static) -> Result<()> {
        // An earlier program may have ended; this one has not.
        process_exit::clear_debugged();
        call!(self.0, ICorDebug.Initialize())?;
        let object = callback::object(Box::new(sink))?;
        call!(self.0, ICorDebug.SetManagedHandler(object.as_ptr())).map(drop)
    }

    /// Whether the runtime is .NET Core, which is older than .NET 5.
    pub fn is_core(&self) -> bool {
        self.1
    }

    /// Attaches to the process. Callbacks begin, and [`Process::resume`] must answer each of them.
    ///
    /// # Errors
    /// From `ICorDebug::DebugActiveProcess`; `CORDBG_E_TIMEOUT` when the debugging pipes of the
    /// process cannot be reached.
    pub fn attach(&self, pid: u32) -> Result<Process> {
        process_exit::set_debugged(pid);
        let process: ComPtr<raw::ICorDebugProcess> = get!(self.0, ICorDebug.DebugActiveProcess(pid, 0))?;
        long_strings::set_process(Some(process.clone()));
        Ok(Process(process, core::cell::Cell::new(0)))
    }

    /// Releases all objects of the library, after the process has ended or was detached.
    ///
    /// # Errors
    /// From `ICorDebug::Terminate`.
    pub fn terminate(&self) -> Result<()> {
        let this = self.0.as_ptr();
        // Allowed after the program has ended, as the only call.
        // SAFETY: `this` is a live ICorDebug.
        let hresult = unsafe { ((*(*this).vtbl).Terminate)(this) };
        CorError::check("ICorDebug::Terminate", hresult).map(drop)
    }
}

/// Reads memory of a process. Returns the readable bytes from the start, which may be fewer.
pub(crate) fn read_memory(
    process: &ComPtr<raw::ICorDebugProcess>,
    address: u64,
    count: u32,
) -> Result<Vec<u8>> {
    let (mut bytes, mut got) = (vec![0u8; count as usize], 0usize);
    call!(process, ICorDebugProcess.ReadMemory(address, count, bytes.as_mut_ptr(), &raw mut got))?;
    bytes.truncate(got);
    Ok(bytes)
}

/// The debugged process.
pub struct Process(pub(crate) ComPtr<raw::ICorDebugProcess>, core::cell::Cell<u64>);

impl Drop for Process {
    fn drop(&mut self) {
        long_strings::set_process(None);
    }
}

impl Process {
    /// Answers one callback, or undoes one [`Process::stop`]. All values and frames become stale.
    ///
    /// # Errors
    /// From `ICorDebugController::Continue`.
    pub fn resume(&self) -> Result<()> {
        self.1.set(self.1.get() + 1);
        call!(self.0, ICorDebugController.Continue(0)).map(drop)
    }

    /// Suspends all threads but one for the next resume, or undoes this. The process must be stopped.
    ///
    /// # Errors
    /// From `ICorDebugController::SetAllThreadsDebugState`.
    pub fn suspend_others(&self, but: &Thread, suspend: bool) -> Result<()> {
        // CorDebugThreadState: THREAD_RUN is 0, THREAD_SUSPEND 1.
        call!(self.0, ICorDebugController.SetAllThreadsDebugState(u32::from(suspend), but.0.as_ptr()))
            .map(drop)
    }

    /// Undoes [`Process::suspend_others`]: every thread runs at the next resume. The process must be stopped.
    ///
    /// # Errors
    /// From `ICorDebugController::SetAllThreadsDebugState`.
    pub fn unsuspend_all(&self) -> Result<()> {
        call!(self.0, ICorDebugController.SetAllThreadsDebugState(0, core::ptr::null_mut())).map(drop)
    }

    /// Number of times that the process was resumed. Frames and values of an earlier count are stale.
    pub fn resume_count(&self) -> u64 {
        self.1.get()
    }

    /// Reads memory. Returns the readable bytes from the start, which may be fewer.
    ///
    /// # Errors
    /// From `ICorDebugProcess::ReadMemory`, when no byte can be read there.
    pub fn read_memory(&self, address: u64, count: u32) -> Result<Vec<u8>> {
        read_memory(&self.0, address, count)
    }

    /// The object at this address, good until the next resume.
    ///
    /// # Errors
    /// From `ICorDebugProcess5::GetObject`; also when no object is at this address.
    pub fn object_at(&self, address: u64) -> Result<Value> {
        let process: ComPtr<raw::ICorDebugProcess5> = self.0.cast()?;
        let object: ComPtr<raw::ICorDebugObjectValue> = get!(process, ICorDebugProcess5.GetObject(address))?;
        object.cast().map(Value::from)
    }

    /// The type of a handle that a `System.RuntimeType` keeps (`ICorDebugProcess5::GetTypeForTypeID`).
    ///
    /// # Errors
    /// From `ICorDebugProcess5::GetTypeForTypeID`; also when the handle is not that of a type, or the type
    /// has open generic parameters.
    pub fn type_at(&self, handle: u64) -> Result<crate::types::Type> {
        let process: ComPtr<raw::ICorDebugProcess5> = self.0.cast()?;
        let id = raw::COR_TYPEID { token1: handle, token2: 0 };
        get!(process, ICorDebugProcess5.GetTypeForTypeID(id)).map(crate::types::Type)
    }

    /// The instance fields of a struct that is loaded: their tokens, and their offsets from its start in
    /// bytes. Fields of a base type are not among them.
    ///
    /// # Errors
    /// From `ICorDebugType2::GetTypeID`, `ICorDebugProcess5::GetTypeLayout` or `GetTypeFields`; also when the
    /// runtime has not loaded the type.
    pub fn struct_fields(&self, of: &crate::types::Type) -> Result<Vec<(u32, u32)>> {
        let of: ComPtr<raw::ICorDebugType2> = of.0.cast()?;
        let process: ComPtr<raw::ICorDebugProcess5> = self.0.cast()?;
        let (mut id, mut layout) = (raw::COR_TYPEID::default(), TypeLayout::default());
        call!(of, ICorDebugType2.GetTypeID(&raw mut id))?;
        call!(process, ICorDebugProcess5.GetTypeLayout(id, (&raw mut layout).cast()))?;
        let count = layout.field_count.min(MAX_STRUCT_FIELDS);
        let (mut fields, mut needed) = (vec![TypeField::default(); count as usize], 0);
        if count > 0 {
            let out = fields.as_mut_ptr().cast();
            call!(process, ICorDebugProcess5.GetTypeFields(id, count, out, &raw mut needed))?;
        }
        Ok(fields.iter().map(|field| (field.token, field.offset)).collect())
    }

    /// Writes bytes to the memory of the process. Returns how many were written.
    ///
    /// # Errors
    /// From `ICorDebugProcess::WriteMemory`.
    pub fn write_memory(&self, address: u64, bytes: &[u8]) -> Result<usize> {
        let (mut copy, mut done) = (bytes.to_vec(), 0usize);
        call!(
            self.0,
            ICorDebugProcess.WriteMemory(address, copy.len() as u32, copy.as_mut_ptr(), &raw mut done)
        )?;
        Ok(done)
    }

    /// Stops the process and waits until it is stopped.
    ///
    /// # Errors
    /// From `ICorDebugController::Stop`.
    pub fn stop(&self) -> Result<()> {
        call!(self.0, ICorDebugController.Stop(0)).map(drop)
    }

    /// Whether callbacks are queued that happened before the stop.
    ///
    /// # Errors
    /// From `ICorDebugController::HasQueuedCallbacks`.
    pub fn has_queued_callbacks(&self) -> Result<bool> {
        let mut queued = 0;
        call!(self.0, ICorDebugController.HasQueuedCallbacks(core::ptr::null_mut(), &raw mut queued))?;
        Ok(queued != 0)
    }

    /// All managed threads of the process.
    ///
    /// # Errors
    /// From `ICorDebugController::EnumerateThreads` or `ICorDebugThreadEnum::Next`.
    pub fn threads(&self) -> Result<Vec<Thread>> {
        let list: ComPtr<raw::ICorDebugThreadEnum> = get!(self.0, ICorDebugController.EnumerateThreads())?;
        let mut threads = Vec::new();
        loop {
            let (mut next, mut count) = (core::ptr::null_mut(), 0);
            call!(list, ICorDebugThreadEnum.Next(1, &raw mut next, &raw mut count))?;
            if count == 0 {
                return Ok(threads);
            }
            // SAFETY: the enumerator gave us one reference.
            threads.push(Thread(unsafe { ComPtr::own("ICorDebugThreadEnum::Next", next) }?));
        }
    }

    /// Sets whether the runtime reports exceptions that user code neither throws nor sees, and the throw of
    /// each exception. The default is yes. The runtime always reports exceptions that user code sees, and
    /// uncaught ones. The process must be stopped.
    ///
    /// Returns the address of the setting in the program's memory, a number of four bytes; `None` if the
    /// library was not seen to write it.
    ///
    /// # Errors
    /// From `ICorDebugProcess8::EnableExceptionCallbacksOutsideOfMyCode`.
    pub fn report_exceptions_outside_user_code(&self, enabled: bool) -> Result<Option<u64>> {
        let process: ComPtr<raw::ICorDebugProcess8> = self.0.cast()?;
        let enabled = i32::from(enabled);
        let (done, written) = record_writes(|| {
            call!(process, ICorDebugProcess8.EnableExceptionCallbacksOutsideOfMyCode(enabled))
        });
        done?;
        Ok(match written[..] {
            [WrittenRange { address, length: 4 }] => Some(address),
            _ => None,
        })
    }

    /// Detaches from the process, which continues without a debugger. It must be stopped.
    ///
    /// # Errors
    /// From `ICorDebugController::Detach`.
    pub fn detach(&self) -> Result<()> {
        call!(self.0, ICorDebugController.Detach()).map(drop)
    }

    /// Terminates the process with this exit code.
    ///
    /// # Errors
    /// From `ICorDebugController::Terminate`.
    pub fn terminate(&self, exit_code: u32) -> Result<()> {
        call!(self.0, ICorDebugController.Terminate(exit_code)).map(drop)
    }
}
