//! Threads, their stacks and steps: ICorDebugThread, ICorDebugStackWalk, ICorDebugStepper.
//!
//! Not here: the contents of a frame ([`crate::frame`]).

use crate::Result;
use crate::com::{ComPtr, call, get};
use crate::eval::Eval;
use crate::frame::{Frame, InternalFrame};
use crate::raw;
use crate::value::Value;

/// A managed thread of the program.
#[derive(Clone)]
pub struct Thread(pub(crate) ComPtr<raw::ICorDebugThread>);

/// CORDBG_S_AT_END_OF_STACK.
const END_OF_STACK: i32 = 0x0013_1324;
/// CorDebugUserState: USER_WAIT_SLEEP_JOIN.
const WAIT_SLEEP_JOIN: u32 = 0x20;
/// CorDebugUnmappedStop: STOP_NONE; CorDebugIntercept: INTERCEPT_NONE.
const NONE: u32 = 0;
/// CorDebugUnmappedStop: prologue, epilogue, code without a map, other code without IL. The
/// library refuses native code.
const ALL_MANAGED: u32 = 0x0f;

impl Thread {
    /// The id of the thread in the operating system.
    ///
    /// # Errors
    /// From `ICorDebugThread::GetID`.
    pub fn id(&self) -> Result<u32> {
        let mut id = 0;
        call!(self.0, ICorDebugThread.GetID(&raw mut id))?;
        Ok(id)
    }

    /// Managed frames from the top, at most `limit`. A handler (`catch`, `finally`) has a frame on the stack,
    /// and its method has another. The first represents both, and frames that the exception left between them
    /// are omitted. A filter (`when`) runs while all of them still exist.
    ///
    /// # Errors
    /// From `ICorDebugThread3::CreateStackWalk` or `ICorDebugStackWalk::Next`.
    pub fn frames(&self, limit: usize) -> Result<Vec<Frame>> {
        let thread: ComPtr<raw::ICorDebugThread3> = self.0.cast()?;
        let walk: ComPtr<raw::ICorDebugStackWalk> = get!(thread, ICorDebugThread3.CreateStackWalk())?;
        let mut frames = Vec::new();
        let mut handler: Option<Frame> = None;
        while frames.len() < limit {
            // S_FALSE and no frame: native code between managed frames.
            if let Ok(frame) = get!(walk, ICorDebugStackWalk.GetFrame()).map(Frame) {
                match handler.take() {
                    None => {
                        handler = frame.is_handler().then(|| frame.clone());
                        frames.push(frame);
                    }
                    // Its method may itself be a handler of another method.
                    Some(own) if own.is_handler_of(&frame) => {
                        handler = frame.is_handler().then_some(frame);
                    }
                    own => handler = own,
                }
            }
            // Frames below the last one are not needed, and each frame costs.
            if frames.len() == limit || call!(walk, ICorDebugStackWalk.Next())? == END_OF_STACK {
                break;
            }
        }
        Ok(frames)
    }

    /// Internal frames of the runtime from the top, with their addresses on the stack. Empty if there are
    /// more than `limit`, because the runtime returns all or none.
    ///
    /// # Errors
    /// From `ICorDebugThread3::GetActiveInternalFrames`.
    pub fn internal_frames(&self, limit: u32) -> Result<Vec<(InternalFrame, u64)>> {
        let thread: ComPtr<raw::ICorDebugThread3> = self.0.cast()?;
        let (mut count, none) = (0, core::ptr::null_mut());
        call!(thread, ICorDebugThread3.GetActiveInternalFrames(0, &raw mut count, none))?;
        if count == 0 || count > limit {
            return Ok(Vec::new());
        }
        let mut list = vec![core::ptr::null_mut(); count as usize];
        let (room, out) = (count, list.as_mut_ptr());
        call!(thread, ICorDebugThread3.GetActiveInternalFrames(room, &raw mut count, out))?;
        list.truncate(count as usize);
        let what = "ICorDebugThread3::GetActiveInternalFrames";
        // SAFETY: the call returned one reference to each of them, or null.
        let frames = list.into_iter().map(|frame| unsafe { ComPtr::own(what, frame) });
        // All references are owned before the first frame that cannot be read ends the loop.
        let frames: Vec<Result<ComPtr<raw::ICorDebugInternalFrame2>>> = frames.collect();
        frames.into_iter().map(|frame| InternalFrame::with_address(&frame?)).collect()
    }

    /// The exception that the thread is throwing.
    ///
    /// # Errors
    /// From `ICorDebugThread::GetCurrentException`; also if the thread throws no exception.
    pub fn current_exception(&self) -> Result<Value> {
        get!(self.0, ICorDebugThread.GetCurrentException()).map(Value::from)
    }

    /// The managed `Thread` object.
    ///
    /// # Errors
    /// From `ICorDebugThread::GetObject`; also if the thread has no object yet.
    pub fn object(&self) -> Result<Value> {
        get!(self.0, ICorDebugThread.GetObject()).map(Value::from)
    }

    /// Whether the thread waits in the runtime: it sleeps, joins another thread, or waits
    /// for a lock or an event.
    ///
    /// # Errors
    /// From `ICorDebugThread::GetUserState`.
    pub fn is_waiting(&self) -> Result<bool> {
        let mut state = 0;
        call!(self.0, ICorDebugThread.GetUserState(&raw mut state))?;
        Ok(state & WAIT_SLEEP_JOIN != 0)
    }

    /// Creates an evaluation on this thread.
    ///
    /// # Errors
    /// From `ICorDebugThread::CreateEval`.
    pub fn create_eval(&self) -> Result<Eval> {
        get!(self.0, ICorDebugThread.CreateEval()).map(Eval)
    }

    /// Creates a stepper that stops only at mapped code, and with `just_my_code` only in user code.
    ///
    /// # Errors
    /// From `ICorDebugThread::CreateStepper`, or from a method that configures the stepper.
    pub fn create_stepper(&self, just_my_code: bool) -> Result<Stepper> {
        let stepper: ComPtr<raw::ICorDebugStepper> = get!(self.0, ICorDebugThread.CreateStepper())?;
        call!(stepper, ICorDebugStepper.SetInterceptMask(NONE))?;
        call!(stepper, ICorDebugStepper.SetUnmappedStopMask(NONE))?;
        let second: ComPtr<raw::ICorDebugStepper2> = stepper.cast()?;
        call!(second, ICorDebugStepper2.SetJMC(i32::from(just_my_code)))?;
        Ok(Stepper(stepper))
    }
}

/// A step that is being prepared or under way.
#[derive(Clone)]
pub struct Stepper(pub(crate) ComPtr<raw::ICorDebugStepper>);

#[repr(C)]
struct StepRange {
    start: u32,
    end: u32,
}

impl Stepper {
    /// Steps until the thread leaves these IL ranges, each `[start, end)`. With `into`, it steps into calls.
    ///
    /// # Errors
    /// From `ICorDebugStepper::StepRange`.
    pub fn step_ranges(&self, into: bool, ranges: &[(u32, u32)]) -> Result<()> {
        let mut ranges: Vec<StepRange> =
            ranges.iter().map(|(start, end)| StepRange { start: *start, end: *end }).collect();
        let (list, count) = (ranges.as_mut_ptr().cast(), ranges.len() as u32);
        call!(self.0, ICorDebugStepper.StepRange(i32::from(into), list, count)).map(drop)
    }

    /// Steps one machine instruction. With `into`, it steps into calls. The step may end in any managed code.
    ///
    /// # Errors
    /// From `ICorDebugStepper::SetUnmappedStopMask` or `ICorDebugStepper::Step`.
    pub fn step_instruction(&self, into: bool) -> Result<()> {
        call!(self.0, ICorDebugStepper.SetUnmappedStopMask(ALL_MANAGED))?;
        call!(self.0, ICorDebugStepper.Step(i32::from(into))).map(drop)
    }

    /// Steps out of the current function.
    ///
    /// # Errors
    /// From `ICorDebugStepper::StepOut`.
    pub fn step_out(&self) -> Result<()> {
        call!(self.0, ICorDebugStepper.StepOut()).map(drop)
    }

    /// Whether both are the same step.
    pub fn is(&self, other: &Self) -> bool {
        self.0.is_same(&other.0)
    }

    /// Cancels the current step.
    ///
    /// # Errors
    /// From `ICorDebugStepper::Deactivate`; harmless when the step is over.
    pub fn deactivate(&self) -> Result<()> {
        call!(self.0, ICorDebugStepper.Deactivate()).map(drop)
    }
}
