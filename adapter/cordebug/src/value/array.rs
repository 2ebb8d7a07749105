//! Arrays: ICorDebugArrayValue. Not here: what the elements are ([`super::Value`]).

use super::Value;
use crate::Result;
use crate::com::{ComPtr, call, get};
use crate::raw;

/// An array of any rank.
pub struct Array(pub(super) ComPtr<raw::ICorDebugArrayValue>);

impl Array {
    /// The number of elements in all dimensions.
    ///
    /// # Errors
    /// From `ICorDebugArrayValue::GetCount`.
    pub fn count(&self) -> Result<u32> {
        let mut count = 0;
        call!(self.0, ICorDebugArrayValue.GetCount(&raw mut count))?;
        Ok(count)
    }

    /// Number of elements in each dimension.
    ///
    /// # Errors
    /// From `ICorDebugArrayValue::GetRank` or `ICorDebugArrayValue::GetDimensions`.
    pub fn dimensions(&self) -> Result<Vec<u32>> {
        let mut rank = 0;
        call!(self.0, ICorDebugArrayValue.GetRank(&raw mut rank))?;
        let mut dimensions = vec![0u32; rank.min(32) as usize];
        call!(self.0, ICorDebugArrayValue.GetDimensions(dimensions.len() as u32, dimensions.as_mut_ptr()))?;
        Ok(dimensions)
    }

    /// Lowest index of each dimension, which is 0 for almost all arrays.
    ///
    /// # Errors
    /// From `ICorDebugArrayValue::HasBaseIndicies` or `ICorDebugArrayValue::GetBaseIndicies`.
    pub fn lowest(&self) -> Result<Vec<u32>> {
        let mut has = 0;
        call!(self.0, ICorDebugArrayValue.HasBaseIndicies(&raw mut has))?;
        let mut lowest = vec![0u32; self.dimensions()?.len()];
        if has != 0 {
            call!(self.0, ICorDebugArrayValue.GetBaseIndicies(lowest.len() as u32, lowest.as_mut_ptr()))?;
        }
        Ok(lowest)
    }

    /// The element at a position, counted in row-major order.
    ///
    /// # Errors
    /// From `ICorDebugArrayValue::GetElementAtPosition`.
    pub fn element(&self, position: u32) -> Result<Value> {
        get!(self.0, ICorDebugArrayValue.GetElementAtPosition(position)).map(Value::from)
    }
}
