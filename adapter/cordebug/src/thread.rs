//! Threads, their stacks and steps: ICorDebugThread, ICorDebugStackWalk, ICorDebugStepper.

use crate::Result;
use crate::com::{ComPtr, call, get};
use crate::eval::Eval;
use crate::frame::{Frame, Internal};
use crate::raw;
use crate::value::Value;

/// A managed thread of the program.
#[derive(Clone)]
pub struct Thread(pub(crate) ComPtr<raw::ICorDebugThread>);

/// CORDBG_S_AT_END_OF_STACK.
const END_OF_STACK: i32 = 0x0013_1324;
/// Of CorDebugUserState.
const WAIT_SLEEP_JOIN: u32 = 0x20;
/// Of CorDebugUnmappedStop and CorDebugIntercept: nothing.
const NONE: u32 = 0;
/// Of CorDebugUnmappedStop: prologue, epilogue, code without a map, other code without IL. Native code is
/// refused.
const ALL_MANAGED: u32 = 0x0f;

impl Thread {
    /// The operating system's thread id.
    ///
    /// # Errors
    /// From the runtime.
    pub fn id(&self) -> Result<u32> {
        let mut id = 0;
        call!(self.0, ICorDebugThread.GetID(&raw mut id))?;
        Ok(id)
    }

    /// Managed frames from the top, at most `limit`. A handler (`catch`, `finally`) has a frame of its own on
    /// the stack, and its method another: the first represents both, and frames that the exception left
    /// between them are omitted. A filter (`when`) runs while all of them still exist.
    ///
    /// # Errors
    /// From the runtime.
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
                    // Its method may be a handler of another one itself.
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

    /// The runtime's own frames, from the top: what they are and where on the stack they lie. None when there
    /// are more than `limit`: the runtime gives all or nothing.
    ///
    /// # Errors
    /// From the runtime.
    pub fn internal_frames(&self, limit: u32) -> Result<Vec<(Internal, u64)>> {
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
        // SAFETY: the call gave us one reference to each of them, or null.
        let frames = list.into_iter().map(|frame| unsafe { ComPtr::own(what, frame) });
        // Each is taken over before one that cannot be read ends this.
        let frames: Vec<Result<ComPtr<raw::ICorDebugInternalFrame2>>> = frames.collect();
        frames.into_iter().map(|frame| Internal::placed(&frame?)).collect()
    }

    /// The exception it is throwing.
    ///
    /// # Errors
    /// From the runtime; also when there is none.
    pub fn current_exception(&self) -> Result<Value> {
        get!(self.0, ICorDebugThread.GetCurrentException()).map(Value::from)
    }

    /// The managed `Thread` object.
    ///
    /// # Errors
    /// From the runtime; also when it has none yet.
    pub fn object(&self) -> Result<Value> {
        get!(self.0, ICorDebugThread.GetObject()).map(Value::from)
    }

    /// Whether it waits in the runtime: sleeps, joins another thread, waits for a lock or an event.
    ///
    /// # Errors
    /// From the runtime.
    pub fn waits(&self) -> Result<bool> {
        let mut state = 0;
        call!(self.0, ICorDebugThread.GetUserState(&raw mut state))?;
        Ok(state & WAIT_SLEEP_JOIN != 0)
    }

    /// An evaluation on this thread.
    ///
    /// # Errors
    /// From the runtime.
    pub fn create_eval(&self) -> Result<Eval> {
        get!(self.0, ICorDebugThread.CreateEval()).map(Eval)
    }

    /// A stepper that stops at mapped code only, and with `just_my_code` in user code only.
    ///
    /// # Errors
    /// From the runtime.
    pub fn create_stepper(&self, just_my_code: bool) -> Result<Stepper> {
        let stepper: ComPtr<raw::ICorDebugStepper> = get!(self.0, ICorDebugThread.CreateStepper())?;
        call!(stepper, ICorDebugStepper.SetInterceptMask(NONE))?;
        call!(stepper, ICorDebugStepper.SetUnmappedStopMask(NONE))?;
        let second: ComPtr<raw::ICorDebugStepper2> = stepper.cast()?;
        call!(second, ICorDebugStepper2.SetJMC(i32::from(just_my_code)))?;
        Ok(Stepper(stepper))
    }
}

/// A step in preparation or under way.
#[derive(Clone)]
pub struct Stepper(pub(crate) ComPtr<raw::ICorDebugStepper>);

#[repr(C)]
struct StepRange {
    start: u32,
    end: u32,
}

impl Stepper {
    /// Steps until the thread leaves these IL ranges, each `[start, end)`; into calls when `into`.
    ///
    /// # Errors
    /// From the runtime.
    pub fn step_ranges(&self, into: bool, ranges: &[(u32, u32)]) -> Result<()> {
        let mut ranges: Vec<StepRange> =
            ranges.iter().map(|(start, end)| StepRange { start: *start, end: *end }).collect();
        let (list, count) = (ranges.as_mut_ptr().cast(), ranges.len() as u32);
        call!(self.0, ICorDebugStepper.StepRange(i32::from(into), list, count)).map(drop)
    }

    /// Steps one machine instruction, into calls when `into`; comes to rest anywhere.
    ///
    /// # Errors
    /// From the runtime.
    pub fn step_instruction(&self, into: bool) -> Result<()> {
        call!(self.0, ICorDebugStepper.SetUnmappedStopMask(ALL_MANAGED))?;
        call!(self.0, ICorDebugStepper.Step(i32::from(into))).map(drop)
    }

    /// Steps out of the current function.
    ///
    /// # Errors
    /// From the runtime.
    pub fn step_out(&self) -> Result<()> {
        call!(self.0, ICorDebugStepper.StepOut()).map(drop)
    }

    /// Whether both are the same step.
    pub fn is(&self, other: &Self) -> bool {
        self.0.is_same(&other.0)
    }

    /// Abandons the current step.
    ///
    /// # Errors
    /// From the runtime; harmless when the step is over.
    pub fn deactivate(&self) -> Result<()> {
        call!(self.0, ICorDebugStepper.Deactivate()).map(drop)
    }
}
