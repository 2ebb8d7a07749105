//! The debugger and the process it debugs: ICorDebug, ICorDebugProcess.

use crate::callback::{self, Callback};
use crate::com::{ComPtr, call, get};
use crate::imports::end;
use crate::imports::memory::{WrittenRange, record_writes};
use crate::long_strings;
use crate::raw;
use crate::thread::Thread;
use crate::value::Value;
use crate::{CorError, Result};

/// ICorDebug of one process; whether its runtime is older than .NET 5.
pub struct Debugger(pub(crate) ComPtr<raw::ICorDebug>, pub(crate) bool);

impl Debugger {
    /// Initialises it and sends every callback to `sink`, on a thread of the debugging library.
    ///
    /// # Errors
    /// From the runtime.
    pub fn start(&self, sink: impl Fn(Callback) + Send + Sync + 'static) -> Result<()> {
        // The end of an earlier program is none of this one's.
        end::debugs_nothing();
        call!(self.0, ICorDebug.Initialize())?;
        let object = callback::object(Box::new(sink))?;
        call!(self.0, ICorDebug.SetManagedHandler(object.as_ptr())).map(drop)
    }

    /// Whether the runtime is .NET Core, older than .NET 5.
    pub fn is_core(&self) -> bool {
        self.1
    }

    /// Attaches to the process. Callbacks begin; each must be answered by [`Process::resume`].
    ///
    /// # Errors
    /// From the runtime; `CORDBG_E_TIMEOUT` when its debugging pipes cannot be reached.
    pub fn attach(&self, pid: u32) -> Result<Process> {
        end::debugs(pid);
        let process: ComPtr<raw::ICorDebugProcess> = get!(self.0, ICorDebug.DebugActiveProcess(pid, 0))?;
        long_strings::debugs(Some(process.clone()));
        Ok(Process(process, core::cell::Cell::new(0)))
    }

    /// Releases everything, after the process has ended or was detached from.
    ///
    /// # Errors
    /// From the runtime.
    pub fn terminate(&self) -> Result<()> {
        let this = self.0.as_ptr();
        // Also when the program has ended, which no other call is made after.
        // SAFETY: `this` is a live ICorDebug.
        let hresult = unsafe { ((*(*this).vtbl).Terminate)(this) };
        CorError::check("ICorDebug::Terminate", hresult).map(drop)
    }
}

/// Reads memory of a process; returns what could be read, from the start.
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
        long_strings::debugs(None);
    }
}

impl Process {
    /// Answers one callback, or undoes one [`Process::stop`]. All values, frames and steppers' results become
    /// stale.
    ///
    /// # Errors
    /// From the runtime.
    pub fn resume(&self) -> Result<()> {
        self.1.set(self.1.get() + 1);
        call!(self.0, ICorDebugController.Continue(0)).map(drop)
    }

    /// Suspends all threads but one for the next resume, or undoes that. The process must be stopped.
    ///
    /// # Errors
    /// From the runtime.
    pub fn hold_others(&self, but: &Thread, hold: bool) -> Result<()> {
        // CorDebugThreadState: THREAD_RUN is 0, THREAD_SUSPEND 1.
        call!(self.0, ICorDebugController.SetAllThreadsDebugState(u32::from(hold), but.0.as_ptr())).map(drop)
    }

    /// Lets every thread run at the next resume. The process must be stopped.
    ///
    /// # Errors
    /// From the runtime.
    pub fn hold_nobody(&self) -> Result<()> {
        call!(self.0, ICorDebugController.SetAllThreadsDebugState(0, core::ptr::null_mut())).map(drop)
    }

    /// How often it was resumed: frames and values of an earlier count are stale.
    pub fn resumes(&self) -> u64 {
        self.1.get()
    }

    /// Reads memory; returns what could be read, from the start.
    ///
    /// # Errors
    /// From the runtime, when nothing can be read there.
    pub fn read_memory(&self, address: u64, count: u32) -> Result<Vec<u8>> {
        read_memory(&self.0, address, count)
    }

    /// The object at this address, good until the next resume.
    ///
    /// # Errors
    /// From the runtime; also when there is none.
    pub fn object_at(&self, address: u64) -> Result<Value> {
        let process: ComPtr<raw::ICorDebugProcess5> = self.0.cast()?;
        let object: ComPtr<raw::ICorDebugObjectValue> = get!(process, ICorDebugProcess5.GetObject(address))?;
        object.cast().map(Value::from)
    }

    /// The type behind the handle that a `System.RuntimeType` keeps (`ICorDebugProcess5::GetTypeForTypeID`).
    ///
    /// # Errors
    /// From the runtime; also when the handle is of no type, or of one with open generic parameters.
    pub fn type_at(&self, handle: u64) -> Result<crate::types::Type> {
        let process: ComPtr<raw::ICorDebugProcess5> = self.0.cast()?;
        let id = raw::COR_TYPEID { token1: handle, token2: 0 };
        get!(process, ICorDebugProcess5.GetTypeForTypeID(id)).map(crate::types::Type)
    }

    /// Writes bytes to the process's memory.
    ///
    /// # Errors
    /// From the runtime.
    pub fn write_memory(&self, address: u64, bytes: &[u8]) -> Result<usize> {
        let (mut copy, mut done) = (bytes.to_vec(), 0usize);
        call!(
            self.0,
            ICorDebugProcess.WriteMemory(address, copy.len() as u32, copy.as_mut_ptr(), &raw mut done)
        )?;
        Ok(done)
    }

    /// Stops the process, wherever it is, and waits until it is stopped.
    ///
    /// # Errors
    /// From the runtime.
    pub fn stop(&self) -> Result<()> {
        call!(self.0, ICorDebugController.Stop(0)).map(drop)
    }

    /// Whether callbacks wait that happened before the stop.
    ///
    /// # Errors
    /// From the runtime.
    pub fn has_queued_callbacks(&self) -> Result<bool> {
        let mut queued = 0;
        call!(self.0, ICorDebugController.HasQueuedCallbacks(core::ptr::null_mut(), &raw mut queued))?;
        Ok(queued != 0)
    }

    /// All managed threads of the process.
    ///
    /// # Errors
    /// From the runtime.
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

    /// Sets whether exceptions are reported that no user code has thrown or seen, and where each is thrown.
    /// The default is yes; exceptions that user code sees, and uncaught ones, are reported either way. The
    /// process must be stopped.
    ///
    /// Returns the address of the runtime's own note of it, a number of four bytes in the program's memory;
    /// none where the library could not be seen to write it.
    ///
    /// # Errors
    /// From the runtime.
    pub fn tell_exceptions_outside_user_code(&self, told: bool) -> Result<Option<u64>> {
        let process: ComPtr<raw::ICorDebugProcess8> = self.0.cast()?;
        let told = i32::from(told);
        let (done, written) =
            record_writes(|| call!(process, ICorDebugProcess8.EnableExceptionCallbacksOutsideOfMyCode(told)));
        done?;
        Ok(match written[..] {
            [WrittenRange { address, length: 4 }] => Some(address),
            _ => None,
        })
    }

    /// Lets it run on without a debugger. It must be stopped.
    ///
    /// # Errors
    /// From the runtime.
    pub fn detach(&self) -> Result<()> {
        call!(self.0, ICorDebugController.Detach()).map(drop)
    }

    /// Ends the process with this exit code.
    ///
    /// # Errors
    /// From the runtime.
    pub fn terminate(&self, exit_code: u32) -> Result<()> {
        call!(self.0, ICorDebugController.Terminate(exit_code)).map(drop)
    }
}
