//! Machine code that the runtime made of a method: ICorDebugCode, ICorDebugCode2, ICorDebugCode3,
//! ICorDebugNativeFrame. Where it lies and what of the IL it is; not its instructions.

use crate::com::{ComPtr, call, get};
use crate::frame::{Frame, Function, RuntimeBreakpoint};
use crate::hresult::CORDBG_E_CODE_NOT_AVAILABLE;
use crate::{CorError, Result, raw};

/// Longest map from IL to machine code, entries.
const MAX_MAP_LEN: u32 = 256 * 1024;
/// Most places where what one call returned can be read.
const MAX_OFFSETS: u32 = 16;
/// Most pieces of one method's code.
const MAX_CHUNKS: u32 = 64;

/// A piece of the machine code: CodeChunkInfo. Most methods are one piece.
#[repr(C)]
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct CodeChunk {
    /// Address of its first byte.
    pub start: u64,
    /// The length of the code, in bytes.
    pub size: u32,
}

/// Part of the machine code and the IL it was made of: COR_DEBUG_IL_TO_NATIVE_MAP.
#[repr(C)]
#[derive(Debug, Clone, Copy, Default)]
pub struct IlToNative {
    il: u32,
    /// Offset of its first byte, counted through all chunks.
    pub start: u32,
    /// Offset behind its last byte.
    pub end: u32,
}

impl IlToNative {
    /// Offset of the IL; none for what the compiler added: prologue, epilogue.
    pub fn il(&self) -> Option<u32> {
        (i32::try_from(self.il).is_ok()).then_some(self.il)
    }
}

/// The machine code of a method.
#[derive(Clone)]
pub struct NativeCode(ComPtr<raw::ICorDebugCode>);

impl NativeCode {
    /// Of a function, when it has been compiled.
    ///
    /// # Errors
    /// From the runtime; `CORDBG_E_CODE_NOT_AVAILABLE` when it was not compiled yet.
    pub fn of(function: &Function) -> Result<Self> {
        get!(function.0, ICorDebugFunction.GetNativeCode()).map(Self)
    }

    /// The function that this code belongs to.
    ///
    /// # Errors
    /// From the runtime.
    pub fn function(&self) -> Result<Function> {
        get!(self.0, ICorDebugCode.GetFunction()).map(Function)
    }

    /// Its pieces, in the order in which offsets count.
    ///
    /// # Errors
    /// From the runtime.
    pub fn chunks(&self) -> Result<Vec<CodeChunk>> {
        let second: ComPtr<raw::ICorDebugCode2> = self.0.cast()?;
        let mut count = 0;
        call!(second, ICorDebugCode2.GetCodeChunks(0, &raw mut count, core::ptr::null_mut()))?;
        let mut chunks = vec![CodeChunk::default(); count.min(MAX_CHUNKS) as usize];
        let (room, list) = (chunks.len() as u32, chunks.as_mut_ptr().cast());
        call!(second, ICorDebugCode2.GetCodeChunks(room, &raw mut count, list))?;
        chunks.truncate(count as usize);
        Ok(chunks)
    }

    /// An active breakpoint at an offset, counted through all chunks, where an instruction begins.
    ///
    /// # Errors
    /// From the runtime.
    pub fn set_breakpoint(&self, offset: u32) -> Result<RuntimeBreakpoint> {
        let breakpoint: ComPtr<raw::ICorDebugFunctionBreakpoint> =
            get!(self.0, ICorDebugCode.CreateBreakpoint(offset))?;
        call!(breakpoint, ICorDebugBreakpoint.Activate(1))?;
        Ok(RuntimeBreakpoint(breakpoint.cast()?))
    }

    /// The offsets where the value that the call at an IL offset returned can be read, by
    /// [`Frame::return_value`]: behind each copy of the call. GetReturnValueLiveOffset.
    ///
    /// # Errors
    /// From the runtime: for a call that returns nothing, or a value that fits in no register, and in
    /// optimised code.
    pub fn return_value_offsets(&self, call_il: u32) -> Result<Vec<u32>> {
        let third: ComPtr<raw::ICorDebugCode3> = self.0.cast()?;
        let (mut count, none) = (0, core::ptr::null_mut());
        call!(third, ICorDebugCode3.GetReturnValueLiveOffset(call_il, 0, &raw mut count, none))?;
        let mut offsets = vec![0; count.min(MAX_OFFSETS) as usize];
        let (room, list) = (offsets.len() as u32, offsets.as_mut_ptr());
        call!(third, ICorDebugCode3.GetReturnValueLiveOffset(call_il, room, &raw mut count, list))?;
        offsets.truncate(count as usize);
        Ok(offsets)
    }

    /// What of the IL became which part, in the compiler's order.
    ///
    /// # Errors
    /// From the runtime.
    pub fn map(&self) -> Result<Vec<IlToNative>> {
        let mut count = 0;
        call!(self.0, ICorDebugCode.GetILToNativeMapping(0, &raw mut count, core::ptr::null_mut()))?;
        let mut map = vec![IlToNative::default(); count.min(MAX_MAP_LEN) as usize];
        let (room, list) = (map.len() as u32, map.as_mut_ptr().cast());
        call!(self.0, ICorDebugCode.GetILToNativeMapping(room, &raw mut count, list))?;
        map.truncate(count as usize);
        Ok(map)
    }
}

impl Frame {
    /// The machine code that it runs, and its current address.
    ///
    /// # Errors
    /// From the runtime; frames of the runtime's own have none.
    pub fn native(&self) -> Result<(NativeCode, u64)> {
        let frame: ComPtr<raw::ICorDebugNativeFrame> = self.0.cast()?;
        let mut offset = 0;
        call!(frame, ICorDebugNativeFrame.GetIP(&raw mut offset))?;
        let code = NativeCode(get!(frame, ICorDebugFrame.GetCode())?);
        let chunks = code.chunks()?;
        let mut rest = offset;
        for (index, chunk) in chunks.iter().enumerate() {
            // A call that never returns may be the last instruction: its frame's address is after it.
            if rest < chunk.size || index + 1 == chunks.len() {
                return Ok((code, chunk.start.wrapping_add(u64::from(rest))));
            }
            rest -= chunk.size;
        }
        Err(CorError { call: "ICorDebugCode2::GetCodeChunks", hresult: CORDBG_E_CODE_NOT_AVAILABLE })
    }
}
