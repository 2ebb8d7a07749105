//! Long strings, read from where they lie in the program.
//!
//! The debugging library copies a whole string as soon as a reference to it is followed, and keeps the copy
//! until the program runs on: a string of 300 million characters costs it 600 MB at each look. So a reference
//! to a long string is not followed: what is at its address is recognised by the method table that every
//! object begins with. Short strings are left to the library.

use core::cell::RefCell;
use std::collections::HashSet;

use crate::Result;
use crate::com::{ComPtr, call};
use crate::debugger::read_memory;
use crate::hresult::CorError;
use crate::raw;

/// Longer strings are not copied, UTF-16 units.
const LONG: u32 = 1024;
/// Where its length is in a string, and where its first unit is, bytes.
const LENGTH: u64 = 8;
const UNITS: u64 = 12;
/// So many tables of other types are remembered at a time.
const MAX_OTHERS: usize = 256;

thread_local! {
    static PROGRAM: RefCell<Option<StringTypes>> = const { RefCell::new(None) };
}

/// The program that this thread debugs.
struct StringTypes {
    process: ComPtr<raw::ICorDebugProcess>,
    /// The table of methods of strings.
    strings: Option<u64>,
    /// Tables of other types.
    others: HashSet<u64>,
}

/// From now on this thread debugs this process, or none.
pub(crate) fn debugs(process: Option<ComPtr<raw::ICorDebugProcess>>) {
    let program = process.map(|process| StringTypes { process, strings: None, others: HashSet::new() });
    // A thread that ends has forgotten it already.
    let before = PROGRAM.try_with(|known| {
        known.try_borrow_mut().ok().and_then(|mut known| core::mem::replace(&mut *known, program))
    });
    drop(before);
}

/// COR_ARRAY_LAYOUT: where an array or a string has what.
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

/// A string that is not copied.
#[derive(Clone)]
pub(crate) struct LongString {
    process: ComPtr<raw::ICorDebugProcess>,
    address: u64,
    length: u32,
}

impl LongString {
    /// The long string at this address; none for everything else.
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

    /// Its units from `start` on, at most `count`.
    pub(crate) fn units(&self, start: u32, count: u32) -> Result<Vec<u16>> {
        let count = count.min(self.length.saturating_sub(start)).min(u32::MAX / 2);
        if count == 0 {
            return Ok(Vec::new());
        }
        let from = self.address + UNITS + 2 * u64::from(start);
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
        let head = read_memory(&self.process, address, UNITS as u32).ok()?;
        let table = u64::from_le_bytes(head.get(..8)?.try_into().ok()?);
        let length = u32::from_le_bytes(head.get(LENGTH as usize..)?.try_into().ok()?);
        if length <= LONG || self.others.contains(&table) {
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

    /// Whether what is at this address is a string; none where that cannot be known.
    fn string_at(&self, address: u64) -> Option<bool> {
        let process: ComPtr<raw::ICorDebugProcess5> = self.process.cast().ok()?;
        let mut id = raw::COR_TYPEID::default();
        call!(process, ICorDebugProcess5.GetTypeID(address, &raw mut id)).ok()?;
        let mut layout = ArrayLayout::default();
        call!(process, ICorDebugProcess5.GetArrayLayout(id, (&raw mut layout).cast())).ok()?;
        // An array of characters has its first one elsewhere.
        let is_string = (u64::from(layout.count_at), u64::from(layout.first_at)) == (LENGTH, UNITS);
        Some(is_string)
    }
}
