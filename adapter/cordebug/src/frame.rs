//! Frames, functions, code and breakpoints: ICorDebugFrame, ICorDebugFunction, ICorDebugCode, ICorDebugBreakpoint.

use crate::Result;
use crate::com::{ComPtr, call, get};
use crate::module::Module;
use crate::raw;
use crate::types::{Type, types_of};
use crate::value::Value;

/// A frame of a managed stack; stale after the process ran.
#[derive(Clone)]
pub struct Frame(pub(crate) ComPtr<raw::ICorDebugFrame>);

impl Frame {
    /// Its function.
    ///
    /// # Errors
    /// From the runtime; native frames have none.
    pub fn function(&self) -> Result<Function> {
        get!(self.0, ICorDebugFrame.GetFunction()).map(Function)
    }

    fn il(&self) -> Result<ComPtr<raw::ICorDebugILFrame>> {
        self.0.cast()
    }

    /// Offset of the IL instruction it stands at.
    ///
    /// # Errors
    /// From the runtime.
    pub fn il_offset(&self) -> Result<u32> {
        let (mut offset, mut mapping) = (0, 0);
        call!(self.il()?, ICorDebugILFrame.GetIP(&raw mut offset, &raw mut mapping))?;
        Ok(offset)
    }

    /// The argument with this index; `this` is the first.
    ///
    /// # Errors
    /// From the runtime; `CORDBG_E_IL_VAR_NOT_AVAILABLE` when the code was optimised.
    pub fn argument(&self, index: u32) -> Result<Value> {
        get!(self.il()?, ICorDebugILFrame.GetArgument(index)).map(Value)
    }

    /// The local variable in this slot.
    ///
    /// # Errors
    /// As [`Frame::argument`].
    pub fn local(&self, slot: u32) -> Result<Value> {
        get!(self.il()?, ICorDebugILFrame.GetLocalVariable(slot)).map(Value)
    }

    /// Generic arguments of its class, then of its method.
    ///
    /// # Errors
    /// From the runtime.
    pub fn type_parameters(&self) -> Result<Vec<Type>> {
        let frame: ComPtr<raw::ICorDebugILFrame2> = self.0.cast()?;
        types_of(&get!(frame, ICorDebugILFrame2.EnumerateTypeParameters())?)
    }

    /// The stack addresses it covers: its identity while it lives.
    ///
    /// # Errors
    /// From the runtime.
    pub fn stack_range(&self) -> Result<(u64, u64)> {
        let (mut start, mut end) = (0, 0);
        call!(self.0, ICorDebugFrame.GetStackRange(&raw mut start, &raw mut end))?;
        Ok((start, end))
    }
}

/// A method.
pub struct Function(pub(crate) ComPtr<raw::ICorDebugFunction>);

impl Function {
    /// Its MethodDef token.
    ///
    /// # Errors
    /// From the runtime.
    pub fn token(&self) -> Result<u32> {
        let mut token = 0;
        call!(self.0, ICorDebugFunction.GetToken(&raw mut token))?;
        Ok(token)
    }

    /// The module it is in.
    ///
    /// # Errors
    /// From the runtime.
    pub fn module(&self) -> Result<Module> {
        get!(self.0, ICorDebugFunction.GetModule()).map(Module)
    }

    fn il_code(&self) -> Result<ComPtr<raw::ICorDebugCode>> {
        get!(self.0, ICorDebugFunction.GetILCode())
    }

    /// Size of its IL, bytes.
    ///
    /// # Errors
    /// From the runtime.
    pub fn il_size(&self) -> Result<u32> {
        let mut size = 0;
        call!(self.il_code()?, ICorDebugCode.GetSize(&raw mut size))?;
        Ok(size)
    }

    /// StandAloneSig token of its locals' types; 0 when it has none.
    ///
    /// # Errors
    /// From the runtime.
    pub fn locals_token(&self) -> Result<u32> {
        let mut token = 0;
        call!(self.0, ICorDebugFunction.GetLocalVarSigToken(&raw mut token))?;
        Ok(token)
    }

    /// Its IL, at most 64 KiB.
    ///
    /// # Errors
    /// From the runtime.
    pub fn il_bytes(&self) -> Result<Vec<u8>> {
        let code = self.il_code()?;
        let size = self.il_size()?.min(64 * 1024);
        let (mut bytes, mut got) = (vec![0u8; size as usize], 0);
        call!(code, ICorDebugCode.GetCode(0, size, size, bytes.as_mut_ptr(), &raw mut got))?;
        bytes.truncate(got as usize);
        Ok(bytes)
    }

    /// An active breakpoint at an IL offset.
    ///
    /// # Errors
    /// From the runtime.
    pub fn set_breakpoint(&self, il_offset: u32) -> Result<Breakpoint> {
        let breakpoint: ComPtr<raw::ICorDebugFunctionBreakpoint> =
            get!(self.il_code()?, ICorDebugCode.CreateBreakpoint(il_offset))?;
        call!(breakpoint, ICorDebugBreakpoint.Activate(1))?;
        Ok(Breakpoint(breakpoint.cast()?))
    }
}

/// A breakpoint in the program.
#[derive(Clone)]
pub struct Breakpoint(pub(crate) ComPtr<raw::ICorDebugBreakpoint>);

impl Breakpoint {
    /// Removes it from the program.
    ///
    /// # Errors
    /// From the runtime; harmless when the process has ended.
    pub fn remove(&self) -> Result<()> {
        call!(self.0, ICorDebugBreakpoint.Activate(0)).map(drop)
    }

    /// Whether both are the same breakpoint.
    pub fn is(&self, other: &Self) -> bool {
        self.0.is_same(&other.0)
    }
}
