//! Machine code that the runtime compiled from a method: ICorDebugCode, ICorDebugCode2, ICorDebugCode3,
//! ICorDebugNativeFrame. Its addresses and its map to the IL; not its instructions.

use crate::com::{ComPtr, call, get};
use crate::frame::{Frame, Function, RuntimeBreakpoint};
use crate::hresult::CORDBG_E_CODE_NOT_AVAILABLE;
use crate::{CorError, Result, raw};

/// Maximum number of entries of a map from IL to machine code.
const MAX_MAP_LEN: u32 = 256 * 1024;
/// Maximum number of offsets at which the value that one call returned can be read.
const MAX_OFFSETS: u32 = 16;
/// Maximum number of chunks of one method's code.
const MAX_CHUNKS: u32 = 64;

/// A contiguous part of the machine code: CodeChunkInfo. Most methods have one chunk.
#[repr(C)]
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct CodeChunk {
    /// Address of the first byte.
    pub start: u64,
    /// The length of the code, in bytes.
    pub size: u32,
}

/// A range of the machine code and the IL offset that it was compiled from: COR_DEBUG_IL_TO_NATIVE_MAP.
#[repr(C)]
#[derive(Debug, Clone, Copy, Default)]
pub struct IlToNative {
    il: u32,
    /// Offset of the first byte, counted through all chunks.
    pub start: u32,
    /// Offset after the last byte, counted through all chunks.
    pub end: u32,
}

impl IlToNative {
    /// The IL offset; `None` for code that the compiler added: prologue, epilogue.
    pub fn il(&self) -> Option<u32> {
        (i32::try_from(self.il).is_ok()).then_some(self.il)
    }
}

/// The machine code of a method.
#[derive(Clone)]
pub struct NativeCode(ComPtr<raw::ICorDebugCode>);

impl NativeCode {
    /// The code of a function that has been compiled.
    ///
    /// # Errors
    /// From `ICorDebugFunction::GetNativeCode`; `CORDBG_E_CODE_NOT_AVAILABLE` before it is compiled.
    pub fn of(function: &Function) -> Result<Self> {
        get!(function.0, ICorDebugFunction.GetNativeCode()).map(Self)
    }

    /// The function from which the code was compiled.
    ///
    /// # Errors
    /// From `ICorDebugCode::GetFunction`.
    pub fn function(&self) -> Result<Function> {
        get!(self.0, ICorDebugCode.GetFunction()).map(Function)
    }

    /// The chunks of the code, in the order in which offsets count.
    ///
    /// # Errors
    /// From `ICorDebugCode2::GetCodeChunks`.
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

    /// Sets an active breakpoint at the beginning of an instruction. The offset is
    /// counted through all chunks.
    ///
    /// # Errors
    /// From `ICorDebugCode::CreateBreakpoint` or `ICorDebugBreakpoint::Activate`.
    pub fn set_breakpoint(&self, offset: u32) -> Result<RuntimeBreakpoint> {
        let breakpoint: ComPtr<raw::ICorDebugFunctionBreakpoint> =
            get!(self.0, ICorDebugCode.CreateBreakpoint(offset))?;
        call!(breakpoint, ICorDebugBreakpoint.Activate(1))?;
        Ok(RuntimeBreakpoint(breakpoint.cast()?))
    }

    /// The offsets where the value that the call at an IL offset returned can be read, by
    /// [`Frame::return_value`]: after each copy of the call. GetReturnValueLiveOffset.
    ///
    /// # Errors
    /// From `ICorDebugCode3::GetReturnValueLiveOffset`: for a call that returns nothing, or a value that fits
    /// in no register, and in optimised code.
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

    /// The map from IL to machine code, in the compiler's order.
    ///
    /// # Errors
    /// From `ICorDebugCode::GetILToNativeMapping`.
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
    /// The machine code that the frame runs, and its current address.
    ///
    /// # Errors
    /// From `ICorDebugNativeFrame::GetIP`, `ICorDebugFrame::GetCode` or [`NativeCode::chunks`]; also for an
    /// internal frame, which has no code.
    pub fn native(&self) -> Result<(NativeCode, u64)> {
        let frame: ComPtr<raw::ICorDebugNativeFrame> = self.0.cast()?;
        let mut offset = 0;
        call!(frame, ICorDebugNativeFrame.GetIP(&raw mut offset))?;
        let code = NativeCode(get!(frame, ICorDebugFrame.GetCode())?);
        let chunks = code.chunks()?;
        let mut rest = offset;
        for (index, chunk) in chunks.iter().enumerate() {
            // A call that never returns may be the last instruction. The address of its frame is then after
            // the code.
            if rest < chunk.size || index + 1 == chunks.len() {
                return Ok((code, chunk.start.wrapping_add(u64::from(rest))));
            }
            rest -= chunk.size;
        }
        Err(CorError { call: "ICorDebugCode2::GetCodeChunks", hresult: CORDBG_E_CODE_NOT_AVAILABLE })
    }
}
