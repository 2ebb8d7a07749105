//! Frames, functions, code and breakpoints: ICorDebugFrame, ICorDebugFunction, ICorDebugCode,
//! ICorDebugBreakpoint.
//!
//! Not here: machine code ([`crate::code`]), and the walk over a stack ([`crate::thread`]).

use crate::Result;
use crate::code::NativeCode;
use crate::com::{ComPtr, call, get};
use crate::module::Module;
use crate::raw;
use crate::types::{Type, types_of};
use crate::value::Value;

/// A frame of a managed stack. It is stale after the process ran.
#[derive(Clone)]
pub struct Frame(pub(crate) ComPtr<raw::ICorDebugFrame>);

impl Frame {
    /// The function that runs in this frame.
    ///
    /// # Errors
    /// From `ICorDebugFrame::GetFunction`; native frames have no function.
    pub fn function(&self) -> Result<Function> {
        get!(self.0, ICorDebugFrame.GetFunction()).map(Function)
    }

    fn il(&self) -> Result<ComPtr<raw::ICorDebugILFrame>> {
        self.0.cast()
    }

    /// Offset of the current IL instruction.
    ///
    /// # Errors
    /// From `ICorDebugILFrame::GetIP`.
    pub fn il_offset(&self) -> Result<u32> {
        let (mut offset, mut mapping) = (0, 0);
        call!(self.il()?, ICorDebugILFrame.GetIP(&raw mut offset, &raw mut mapping))?;
        Ok(offset)
    }

    /// Whether [`Frame::il_offset`] is exact, and not an earlier offset than the current instruction's.
    ///
    /// # Errors
    /// From `ICorDebugILFrame::GetIP`.
    pub fn is_exactly_mapped(&self) -> Result<bool> {
        let (mut offset, mut mapping) = (0, 0);
        call!(self.il()?, ICorDebugILFrame.GetIP(&raw mut offset, &raw mut mapping))?;
        // CorDebugMappingResult: MAPPING_PROLOG is 1, MAPPING_EXACT 0x10.
        Ok(matches!(mapping, 1 | 0x10))
    }

    /// Checks whether the next instruction may be set to this IL offset.
    ///
    /// # Errors
    /// From `ICorDebugILFrame::CanSetIP`, with the reason why not.
    pub fn can_set_il_offset(&self, offset: u32) -> Result<()> {
        call!(self.il()?, ICorDebugILFrame.CanSetIP(offset)).map(drop)
    }

    /// Sets the next instruction. All frames of the thread are stale then.
    ///
    /// # Errors
    /// From `ICorDebugILFrame::SetIP`.
    pub fn set_il_offset(&self, offset: u32) -> Result<()> {
        call!(self.il()?, ICorDebugILFrame.SetIP(offset)).map(drop)
    }

    /// Whether the frame runs code that the runtime compiled. If it has no function, the method
    /// was created at run time.
    pub fn is_compiled(&self) -> bool {
        self.0.cast::<raw::ICorDebugNativeFrame>().is_ok()
    }

    /// Whether the frame runs a handler (`catch`, `finally`), which has a frame apart from its method's.
    pub fn is_handler(&self) -> bool {
        let Ok(frame) = self.0.cast::<raw::ICorDebugNativeFrame2>() else { return false };
        let mut is_child = 0;
        call!(frame, ICorDebugNativeFrame2.IsChild(&raw mut is_child)).is_ok() && is_child != 0
    }

    /// Whether the frame runs a handler of the call that the other frame runs.
    pub(crate) fn is_handler_of(&self, method: &Self) -> bool {
        let (own, other) = (self.0.cast(), method.0.cast());
        let (Ok(own), Ok(other)): (Result<ComPtr<raw::ICorDebugNativeFrame2>>, Result<_>) = (own, other)
        else {
            return false;
        };
        let other: ComPtr<raw::ICorDebugNativeFrame2> = other;
        let mut is_parent = 0;
        let outcome =
            call!(own, ICorDebugNativeFrame2.IsMatchingParentFrame(other.as_ptr(), &raw mut is_parent));
        outcome.is_ok() && is_parent != 0
    }

    /// The kind of an internal frame of the runtime; `None` for a frame with code.
    pub fn internal(&self) -> Option<InternalFrame> {
        let frame: ComPtr<raw::ICorDebugInternalFrame> = self.0.cast().ok()?;
        InternalFrame::of(&frame).ok()
    }

    /// The argument with this index; `this` is the first.
    ///
    /// # Errors
    /// From `ICorDebugILFrame::GetArgument`; `CORDBG_E_IL_VAR_NOT_AVAILABLE` when the code was optimised.
    pub fn argument(&self, index: u32) -> Result<Value> {
        get!(self.il()?, ICorDebugILFrame.GetArgument(index)).map(Value::from)
    }

    /// The local variable in this slot.
    ///
    /// # Errors
    /// From `ICorDebugILFrame::GetLocalVariable`, as for [`Frame::argument`].
    pub fn local(&self, slot: u32) -> Result<Value> {
        get!(self.il()?, ICorDebugILFrame.GetLocalVariable(slot)).map(Value::from)
    }

    /// The value that the call at this IL offset has just returned ([`NativeCode::return_value_offsets`]).
    /// GetReturnValueForILOffset.
    ///
    /// [`NativeCode::return_value_offsets`]: crate::code::NativeCode::return_value_offsets
    ///
    /// # Errors
    /// From `ICorDebugILFrame3::GetReturnValueForILOffset`; also at any other location.
    pub fn return_value(&self, call_il: u32) -> Result<Value> {
        let frame: ComPtr<raw::ICorDebugILFrame3> = self.0.cast()?;
        get!(frame, ICorDebugILFrame3.GetReturnValueForILOffset(call_il)).map(Value::from)
    }

    /// Generic arguments of the class, then of the method.
    ///
    /// # Errors
    /// From `ICorDebugILFrame2::EnumerateTypeParameters`.
    pub fn type_parameters(&self) -> Result<Vec<Type>> {
        let frame: ComPtr<raw::ICorDebugILFrame2> = self.0.cast()?;
        types_of(&get!(frame, ICorDebugILFrame2.EnumerateTypeParameters())?)
    }

    /// The addresses of the frame on the stack, which identify it while it exists. For compiled code, the
    /// runtime returns the lowest address as both ends.
    ///
    /// # Errors
    /// From `ICorDebugFrame::GetStackRange`.
    pub fn stack_range(&self) -> Result<(u64, u64)> {
        let (mut start, mut end) = (0, 0);
        call!(self.0, ICorDebugFrame.GetStackRange(&raw mut start, &raw mut end))?;
        Ok((start, end))
    }
}

/// The kind of an internal frame of the runtime: CorDebugInternalFrameType.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum InternalFrame {
    /// A call from managed code to native code.
    ManagedToNative,
    /// A call from native code to managed code.
    NativeToManaged,
    /// A method that was created at run time and has no metadata.
    LightweightFunction,
    /// An evaluation by a debugger.
    FunctionEvaluation,
    /// A call of the runtime itself.
    InternalCall,
    /// The runtime runs a static constructor.
    ClassInitialization,
    /// The runtime dispatches an exception.
    Exception,
    /// The runtime compiles a method.
    Compilation,
    /// Any other kind, by its number in CorDebugInternalFrameType.
    Other(u32),
}

impl InternalFrame {
    fn of(frame: &ComPtr<raw::ICorDebugInternalFrame>) -> Result<Self> {
        let mut kind = 0;
        call!(frame, ICorDebugInternalFrame.GetFrameType(&raw mut kind))?;
        Ok(match kind {
            1 => Self::ManagedToNative,
            2 => Self::NativeToManaged,
            4 => Self::LightweightFunction,
            5 => Self::FunctionEvaluation,
            6 => Self::InternalCall,
            7 => Self::ClassInitialization,
            8 => Self::Exception,
            10 => Self::Compilation,
            other => Self::Other(other),
        })
    }

    /// The kind of an internal frame, and its address on the stack.
    pub(crate) fn with_address(frame: &ComPtr<raw::ICorDebugInternalFrame2>) -> Result<(Self, u64)> {
        let mut address = 0;
        call!(frame, ICorDebugInternalFrame2.GetAddress(&raw mut address))?;
        Ok((Self::of(&frame.cast()?)?, address))
    }
}

/// A method of a module.
pub struct Function(pub(crate) ComPtr<raw::ICorDebugFunction>);

impl Function {
    /// The MethodDef token of the method.
    ///
    /// # Errors
    /// From `ICorDebugFunction::GetToken`.
    pub fn token(&self) -> Result<u32> {
        let mut token = 0;
        call!(self.0, ICorDebugFunction.GetToken(&raw mut token))?;
        Ok(token)
    }

    /// The module that defines the method.
    ///
    /// # Errors
    /// From `ICorDebugFunction::GetModule`.
    pub fn module(&self) -> Result<Module> {
        get!(self.0, ICorDebugFunction.GetModule()).map(Module)
    }

    fn il_code(&self) -> Result<ComPtr<raw::ICorDebugCode>> {
        get!(self.0, ICorDebugFunction.GetILCode())
    }

    /// Size of the IL, in bytes.
    ///
    /// # Errors
    /// From `ICorDebugCode::GetSize`.
    pub fn il_size(&self) -> Result<u32> {
        let mut size = 0;
        call!(self.il_code()?, ICorDebugCode.GetSize(&raw mut size))?;
        Ok(size)
    }

    /// StandAloneSig token of the types of the locals; 0 for a method without locals.
    ///
    /// # Errors
    /// From `ICorDebugFunction::GetLocalVarSigToken`.
    pub fn locals_token(&self) -> Result<u32> {
        let mut token = 0;
        call!(self.0, ICorDebugFunction.GetLocalVarSigToken(&raw mut token))?;
        Ok(token)
    }

    /// The bytes of the IL, at most 64 KiB.
    ///
    /// # Errors
    /// From `ICorDebugCode::GetCode`.
    pub fn il_bytes(&self) -> Result<Vec<u8>> {
        let code = self.il_code()?;
        let size = self.il_size()?.min(64 * 1024);
        let (mut bytes, mut got) = (vec![0u8; size as usize], 0);
        call!(code, ICorDebugCode.GetCode(0, size, size, bytes.as_mut_ptr(), &raw mut got))?;
        bytes.truncate(got as usize);
        Ok(bytes)
    }

    /// The address of the IL in the program.
    ///
    /// # Errors
    /// From `ICorDebugCode::GetAddress`.
    pub fn il_address(&self) -> Result<u64> {
        let mut address = 0;
        call!(self.il_code()?, ICorDebugCode.GetAddress(&raw mut address))?;
        Ok(address)
    }

    /// Marks the method as user code or not, for steps with Just My Code.
    ///
    /// # Errors
    /// From `ICorDebugFunction2::SetJMCStatus`.
    pub fn set_user_code(&self, user: bool) -> Result<()> {
        let second: ComPtr<raw::ICorDebugFunction2> = self.0.cast()?;
        call!(second, ICorDebugFunction2.SetJMCStatus(i32::from(user))).map(drop)
    }

    /// The IL offset of an address in the machine code, by the compiler's map; `None` if the
    /// address is outside it.
    pub fn il_offset_of(&self, address: u64) -> Option<u32> {
        let code = NativeCode::of(self).ok()?;
        let chunk = *code.chunks().ok()?.first()?;
        let offset = u32::try_from(address.checked_sub(chunk.start)?).ok();
        let offset = offset.filter(|offset| *offset <= chunk.size)?;
        let map = code.map().ok()?;
        let before = map.iter().filter(|entry| entry.il().is_some() && entry.start <= offset);
        before.max_by_key(|entry| entry.start)?.il()
    }

    /// Sets an active breakpoint at an IL offset.
    ///
    /// # Errors
    /// From `ICorDebugCode::CreateBreakpoint` or `ICorDebugBreakpoint::Activate`.
    pub fn set_breakpoint(&self, il_offset: u32) -> Result<RuntimeBreakpoint> {
        let breakpoint: ComPtr<raw::ICorDebugFunctionBreakpoint> =
            get!(self.il_code()?, ICorDebugCode.CreateBreakpoint(il_offset))?;
        call!(breakpoint, ICorDebugBreakpoint.Activate(1))?;
        Ok(RuntimeBreakpoint(breakpoint.cast()?))
    }
}

/// A breakpoint in the program.
#[derive(Clone)]
pub struct RuntimeBreakpoint(pub(crate) ComPtr<raw::ICorDebugBreakpoint>);

impl RuntimeBreakpoint {
    /// Removes the breakpoint from the program.
    ///
    /// # Errors
    /// From `ICorDebugBreakpoint::Activate`; harmless when the process has ended.
    pub fn remove(&self) -> Result<()> {
        call!(self.0, ICorDebugBreakpoint.Activate(0)).map(drop)
    }

    /// Whether both are the same breakpoint.
    pub fn is(&self, other: &Self) -> bool {
        self.0.is_same(&other.0)
    }
}
