//! The method whose machine code contains an address: one of a frame that was shown, or one found earlier.
//! Decodes no instruction ([`super::instructions`]).

use std::rc::Rc;

use cordebug::code::{CodeChunk, IlToNative, NativeCode};

use super::Disassembly;
use super::instructions::{self, Instruction, MAX_INSTRUCTION_LEN};
use crate::debuggee::ClrDebuggee;
use crate::modules::LoadedModule;
use crate::types::ClrTypeSystem;

/// Most bytes of one method that are shown.
const MAX_METHOD_BYTES: u32 = 1 << 20;
/// Most threads, and frames of each, that are searched for an address.
const MAX_THREADS: usize = 256;
const MAX_FRAMES: usize = 1024;
/// Most memory that is read around an address outside of all methods, bytes.
const MAX_AROUND: u64 = 256 * 1024;
/// Memory is mapped in pages.
const PAGE_SIZE: u64 = 4096;

/// The machine code of a method.
pub(crate) struct CompiledMethod {
    pub(crate) loaded: Rc<LoadedModule>,
    /// Token of its MethodDef row.
    pub(crate) token: u32,
    pub(crate) code: NativeCode,
    chunks: Vec<CodeChunk>,
    /// By the offset where each part begins.
    map: Vec<IlToNative>,
}

impl CompiledMethod {
    fn has(&self, address: u64) -> bool {
        self.offset_of(address).is_some()
    }

    pub(super) fn begins_at(&self, address: u64) -> bool {
        self.offset_of(address) == Some(0)
    }

    /// The offset of an address, counted through all chunks.
    pub(crate) fn offset_of(&self, address: u64) -> Option<u32> {
        let mut before = 0u32;
        for chunk in &self.chunks {
            match address.checked_sub(chunk.start) {
                Some(within) if within < u64::from(chunk.size) => return before.checked_add(within as u32),
                _ => before = before.checked_add(chunk.size)?,
            }
        }
        None
    }

    /// Offset of the IL of an instruction; `None` for code that the compiler added.
    pub(crate) fn il_at(&self, address: u64) -> Option<u32> {
        self.part_at(self.offset_of(address)?)?.il()
    }

    /// Offset of the IL whose only machine code begins at this offset.
    pub(crate) fn il_that_begins_at(&self, offset: u32) -> Option<u32> {
        let il = self.part_at(offset).filter(|part| part.start == offset)?.il()?;
        let of_it = self.map.iter().filter(|part| part.il() == Some(il) && part.end > part.start);
        (of_it.count() == 1).then_some(il)
    }

    fn part_at(&self, offset: u32) -> Option<&IlToNative> {
        let behind = self.map.partition_point(|part| part.start <= offset);
        self.map.get(behind.checked_sub(1)?)
    }
}

impl Disassembly {
    /// The method whose code has this address.
    pub(crate) fn method_around(
        &mut self,
        debuggee: &ClrDebuggee,
        types: &ClrTypeSystem,
        address: u64,
    ) -> Option<Rc<CompiledMethod>> {
        let known = self.compiled.iter().find(|method| method.has(address));
        if let Some(known) = known {
            return Some(known.clone());
        }
        let found = debuggee.frame_code(address).and_then(|code| types.compiled_of(&code)).map(Rc::new)?;
        if !found.has(address) {
            return None;
        }
        self.compiled.push(found.clone());
        Some(found)
    }
}

impl ClrTypeSystem {
    fn compiled_of(&self, code: &NativeCode) -> Option<CompiledMethod> {
        let function = code.function().ok()?;
        let loaded = self.modules.of(&function.module().ok()?)?;
        // Instructions without a map are still useful.
        let mut map = code.map().unwrap_or_default();
        map.sort_by_key(|part| part.start);
        let (token, chunks) = (function.token().ok()?, code.chunks().ok()?);
        Some(CompiledMethod { loaded, token, code: code.clone(), chunks, map })
    }
}

impl ClrDebuggee {
    fn frame_code(&self, address: u64) -> Option<NativeCode> {
        let threads = self.process().ok()?.threads().ok()?;
        threads.iter().take(MAX_THREADS).find_map(|thread| {
            let frames = thread.frames(MAX_FRAMES).ok()?;
            frames.iter().filter_map(|frame| frame.native().ok()).map(|(code, _)| code).find(|code| {
                let has = |chunk: &CodeChunk| address.wrapping_sub(chunk.start) < u64::from(chunk.size);
                code.chunks().is_ok_and(|chunks| chunks.iter().any(has))
            })
        })
    }

    /// Whether an instruction begins at this address of the method.
    pub(crate) fn is_instruction(&self, method: &CompiledMethod, address: u64) -> bool {
        self.instructions_of(method).iter().any(|at| at.address == address && at.is_valid)
    }

    pub(super) fn instructions_of(&self, method: &CompiledMethod) -> Vec<Instruction> {
        let Ok(process) = self.process() else { return Vec::new() };
        let mut list = Vec::new();
        for chunk in &method.chunks {
            let bytes =
                process.read_memory(chunk.start, chunk.size.min(MAX_METHOD_BYTES)).unwrap_or_default();
            list.extend(instructions::decode(&bytes, chunk.start));
        }
        list.sort_by_key(|instruction| instruction.address);
        list
    }

    /// Instructions around an address outside of all known methods, as far as the memory can be read.
    pub(super) fn instructions_around(&self, address: u64, first: i64, count: i64) -> Vec<Instruction> {
        let Ok(process) = self.process() else { return Vec::new() };
        let room = |instructions: i64| (instructions.max(0) as u64 * MAX_INSTRUCTION_LEN).min(MAX_AROUND);
        let after = room(first.saturating_add(count)) as u32;
        let after = process.read_memory(address, after).unwrap_or_default();
        if after.is_empty() {
            return Vec::new();
        }
        // The readable memory may begin inside an instruction.
        let mut start = address.saturating_sub(room(-first) + u64::from(first < 0) * MAX_INSTRUCTION_LEN);
        let mut before = Vec::new();
        while start < address {
            before = process.read_memory(start, (address - start) as u32).unwrap_or_default();
            if before.len() as u64 == address - start {
                break;
            }
            before.clear();
            start = (start / PAGE_SIZE + 1) * PAGE_SIZE;
        }
        let begin = address - before.len() as u64;
        instructions::decode_around(&[before, after].concat(), begin, address)
    }
}
