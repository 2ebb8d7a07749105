//! The program's memory by address: `readMemory`, and the memory references of clients. Values and
//! instructions are shown elsewhere.

use crate::debuggee::ClrDebuggee;
use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use dap_wire::{ErrorCode, Failure};
use serde_json::{Value, json};

use super::debuggee::RunState;

/// Most bytes one request reads.
const MAX_READ: u64 = 1 << 20;

/// DAP's memory reference of an address.
pub(super) fn reference(address: u64) -> String {
    format!("0x{address:x}")
}

/// The address of a request: a memory reference under `key`, plus `offset`, bytes.
///
/// # Errors
/// `INVALID_PARAMETER` if it is not an address.
pub(super) fn address(arguments: &Value, key: &str) -> Result<u64, Failure> {
    let text = arguments[key].as_str().unwrap_or_default();
    let address = text.strip_prefix("0x").and_then(|hex| u64::from_str_radix(hex, 16).ok());
    let address = address.ok_or_else(|| Failure::invalid(format!("`{text}` is not a memory reference")))?;
    let address = address.checked_add_signed(arguments["offset"].as_i64().unwrap_or(0));
    address.ok_or_else(|| Failure::invalid("the offset leads out of memory"))
}

impl ClrDebuggee {
    /// `readMemory`: up to the end of readable memory.
    pub(super) fn read_memory(&self, arguments: &Value) -> Result<Value, Failure> {
        let address = address(arguments, "memoryReference")?;
        let count = arguments["count"].as_u64().unwrap_or(0).min(MAX_READ) as u32;
        self.require_stop("memory can be read")?;
        let bytes = match count {
            0 => Vec::new(),
            count => self.process()?.read_memory(address, count).unwrap_or_default(),
        };
        Ok(json!({ "address": reference(address), "data": STANDARD.encode(&bytes),
            "unreadableBytes": count as usize - bytes.len() }))
    }

    /// Refuses a request that needs a stopped program.
    pub(super) fn require_stop(&self, what: &str) -> Result<(), Failure> {
        match self.run {
            RunState::Stopped { .. } => Ok(()),
            _ => Err(Failure::new(ErrorCode::NotStopped, format!("{what} at a stop only")).quiet()),
        }
    }
}
