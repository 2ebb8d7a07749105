//! The program's memory by address: `readMemory`, and the memory references of clients. Values and
//! instructions are shown elsewhere.

use crate::debuggee::ClrDebuggee;
use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use serde_json::Value;
use tandem_wire::types::{self, ReadMemoryArguments, ReadMemoryResponseBody};
use tandem_wire::{ErrorCode, Failure};

use super::debuggee::RunState;

/// Most bytes one request reads: its answer fits several times into the queue of a client.
const MAX_READ: u32 = 8 << 20;

/// DAP's memory reference of an address.
pub(super) fn reference(address: u64) -> String {
    format!("0x{address:x}")
}

/// The address of a request: a memory reference, and an offset from it in bytes.
///
/// # Errors
/// `INVALID_PARAMETER` if it is not an address.
pub(super) fn address(text: &str, offset: Option<i64>) -> Result<u64, Failure> {
    let address = text.strip_prefix("0x").and_then(|hex| u64::from_str_radix(hex, 16).ok());
    let address = address.ok_or_else(|| Failure::invalid(format!("`{text}` is not a memory reference")))?;
    let address = address.checked_add_signed(offset.unwrap_or(0));
    address.ok_or_else(|| Failure::invalid("the offset leads out of memory"))
}

impl ClrDebuggee {
    /// `readMemory`: up to the end of readable memory.
    pub(super) fn read_memory(&self, arguments: &Value) -> Result<Value, Failure> {
        let count: i64 = types::require(arguments, "count")?;
        let memory: String = types::require(arguments, "memoryReference")?;
        let ReadMemoryArguments { offset, .. } = types::read(arguments);
        let address = address(&memory, offset)?;
        // Clients take a shorter answer for the end of readable memory.
        let count = u32::try_from(count).ok().filter(|count| *count <= MAX_READ).ok_or_else(|| {
            Failure::invalid(format!("`count` is {count}; it must be from 0 to {MAX_READ}"))
                .hint("read the memory in several requests")
        })?;
        self.require_stop("memory can be read")?;
        let bytes = match count {
            0 => Vec::new(),
            count => self.process()?.read_memory(address, count).unwrap_or_default(),
        };
        Ok(types::body(&ReadMemoryResponseBody {
            address: reference(address),
            data: Some(STANDARD.encode(&bytes)),
            unreadable_bytes: Some(i64::from(count) - types::integer(bytes.len())),
            ..ReadMemoryResponseBody::default()
        }))
    }

    /// Refuses a request that needs a stopped program.
    pub(super) fn require_stop(&self, what: &str) -> Result<(), Failure> {
        match self.run {
            RunState::Stopped { .. } => Ok(()),
            _ => Err(Failure::new(ErrorCode::NotStopped, format!("{what} at a stop only")).quiet()),
        }
    }
}
