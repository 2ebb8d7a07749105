//! Strings: ICorDebugStringValue, and those that are too long for the debugging library to copy. Not here:
//! the memory of a long string ([`crate::long_strings`]).

use crate::Result;
use crate::com::{ComPtr, call};
use crate::long_strings::LongString;
use crate::raw;

/// A string of the program, short or long.
pub struct StringValue(pub(super) StringContents);

pub(super) enum StringContents {
    /// A string that the debugging library has copied.
    Copied(ComPtr<raw::ICorDebugStringValue>),
    Long(LongString),
}

impl StringValue {
    /// Length in UTF-16 units.
    ///
    /// # Errors
    /// From `ICorDebugStringValue::GetLength`.
    pub fn length(&self) -> Result<u32> {
        match &self.0 {
            StringContents::Long(long) => Ok(long.length()),
            StringContents::Copied(string) => {
                let mut length = 0;
                call!(string, ICorDebugStringValue.GetLength(&raw mut length))?;
                Ok(length)
            }
        }
    }

    /// The text from the start, at most `limit` UTF-16 units. Unpaired surrogates become U+FFFD.
    ///
    /// # Errors
    /// As for [`StringValue::units`].
    pub fn text(&self, limit: u32) -> Result<String> {
        Ok(String::from_utf16_lossy(&self.units(limit)?))
    }

    /// The UTF-16 units from the start, at most `limit`.
    ///
    /// # Errors
    /// From `ICorDebugStringValue::GetString`.
    pub fn units(&self, limit: u32) -> Result<Vec<u16>> {
        let string = match &self.0 {
            StringContents::Long(long) => return long.units(0, limit),
            StringContents::Copied(string) => string,
        };
        let length = self.length()?.min(limit);
        let mut units = vec![0u16; length as usize + 1];
        let mut got = 0;
        call!(string, ICorDebugStringValue.GetString(length + 1, &raw mut got, units.as_mut_ptr()))?;
        units.truncate(length as usize);
        Ok(units)
    }

    /// The UTF-16 unit at a position; `None` at or after the end.
    ///
    /// # Errors
    /// As for [`StringValue::units`].
    pub fn unit(&self, at: u32) -> Result<Option<u16>> {
        match &self.0 {
            StringContents::Long(long) => Ok(long.units(at, 1)?.first().copied()),
            StringContents::Copied(_) => Ok(self.units(at.saturating_add(1))?.get(at as usize).copied()),
        }
    }
}
