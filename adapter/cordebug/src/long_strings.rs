//! Long strings, read directly from the program's memory.
//!
//! The debugging library copies a whole string as soon as a reference to it is followed, and keeps the copy
//! until the program resumes: a string of 300 million characters costs it 600 MB at each stop. So a reference
//! to a long string is not followed. The string is recognised by the method table with which every object
//! begins. The library reads short strings.

use core::cell::RefCell;
use std::collections::HashSet;

use crate::Result;
use crate::com::{ComPtr, call};
use crate::debugger::read_memory;
use crate::hresult::CorError;
use crate::raw;

/// Maximum length of a string that the library reads, in UTF-16 units.
const MAX_COPIED_LEN: u32 = 1024;
/// Offsets of the length and of the first unit in a string, in bytes.
const LENGTH_OFFSET: u64 = 8;
const UNITS_OFFSET: u64 = 12;
/// Maximum number of method tables of other types that are remembered.
const MAX_OTHERS: usize = 256;

thread_local! {
    static PROGRAM: RefCell<Option<StringTypes>> = const { RefCell::new(None) };
}

/// The method tables that are known of the program that this thread debugs.
struct StringTypes {
    process: ComPtr<raw::ICorDebugProcess>,
    /// The method table of `System.String`, once known.
    strings: Option<u64>,
    /// Method tables of other types.
    others: HashSet<u64>,
}

/// Sets the process that this thread debugs from now on, if any.
pub(crate) fn set_process(process: Option<ComPtr<raw::ICorDebugProcess>>) {
    let program = process.map(|process| StringTypes { process, strings: None, others: HashSet::new() });
    // A thread that is ending has dropped it already.
    let before = PROGRAM.try_with(|known| {
        known.try_borrow_mut().ok().and_then(|mut known| core::mem::replace(&mut *known, program))
    });
    drop(before);
}

/// COR_ARRAY_LAYOUT: the offsets of the parts of an array or a string.
#[repr(C)]
#[derive(Default)]
struct ArrayLayout {
    component: raw::COR_TYPEID,
    kind: u32,
    first_at: u32,
    size: u32,
    count_at: u32,
    rank_size: u32,
    ranks: u32,
    rank_at: u32,
}

/// A string that the library does not copy.
#[derive(Clone)]
pub(crate) struct LongString {
    process: ComPtr<raw::ICorDebugProcess>,
    address: u64,
    length: u32,
}

impl LongString {
    /// The long string at this address; `None` for a short string or another object.
    pub(crate) fn at(address: u64) -> Option<Self> {
        if address == 0 {
            return None;
        }
        PROGRAM
            .try_with(|program| program.try_borrow_mut().ok()?.as_mut()?.long_string(address))
            .ok()
            .flatten()
    }

    pub(crate) fn address(&self) -> u64 {
        self.address
    }

    /// Length in UTF-16 units.
    pub(crate) fn length(&self) -> u32 {
        self.length
    }

    /// The UTF-16 units from `start`, at most `count`.
    pub(crate) fn units(&self, start: u32, count: u32) -> Result<Vec<u16>> {
        let count = count.min(self.length.saturating_sub(start)).min(u32::MAX / 2);
        if count == 0 {
            return Ok(Vec::new());
        }
        let from = self.address + UNITS_OFFSET + 2 * u64::from(start);
        let bytes = read_memory(&self.process, from, count * 2)?;
        if bytes.len() < count as usize * 2 {
            return Err(CorError::null("ICorDebugProcess::ReadMemory"));
        }
        let unit = |two: &[u8]| two.try_into().map_or(0, u16::from_le_bytes);
        Ok(bytes.chunks_exact(2).map(unit).collect())
    }
}

impl StringTypes {
    fn long_string(&mut self, address: u64) -> Option<LongString> {
        let head = read_memory(&self.process, address, UNITS_OFFSET as u32).ok()?;
        let table = u64::from_le_bytes(head.get(..8)?.try_into().ok()?);
        let length = u32::from_le_bytes(head.get(LENGTH_OFFSET as usize..)?.try_into().ok()?);
        if length <= MAX_COPIED_LEN || self.others.contains(&table) {
            return None;
        }
        if self.strings != Some(table) {
            if self.strings.is_some() || self.string_at(address) != Some(true) {
                if self.others.len() >= MAX_OTHERS {
                    self.others.clear();
                }
                self.others.insert(table);
                return None;
            }
            self.strings = Some(table);
        }
        Some(LongString { process: self.process.clone(), address, length })
    }

    /// Whether the object at this address is a string; `None` if that is unknown.
    fn string_at(&self, address: u64) -> Option<bool> {
        let process: ComPtr<raw::ICorDebugProcess5> = self.process.cast().ok()?;
        let mut id = raw::COR_TYPEID::default();
        call!(process, ICorDebugProcess5.GetTypeID(address, &raw mut id)).ok()?;
        let mut layout = ArrayLayout::default();
        call!(process, ICorDebugProcess5.GetArrayLayout(id, (&raw mut layout).cast())).ok()?;
        // An array of characters has its first element at another offset.
        let is_string =
            (u64::from(layout.count_at), u64::from(layout.first_at)) == (LENGTH_OFFSET, UNITS_OFFSET);
        Some(is_string)
    }
}
