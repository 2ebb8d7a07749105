//! `disassemble`: the machine code of compiled methods with their source lines, and of any other memory
//! without.
//!
//! The runtime tells where a method's code is ([`methods`]), a decoder what its bytes mean
//! ([`instructions`]).

mod instructions;
mod methods;

use std::rc::Rc;

use serde_json::Value;
use tandem_wire::Failure;
use tandem_wire::types::{self, DisassembleArguments, DisassembleResponseBody, DisassembledInstruction};

use super::debuggee::ClrDebuggee;
use super::memory;
use super::types::ClrTypeSystem;
use crate::sources::Sources;
use instructions::Instruction;
pub(super) use methods::CompiledMethod;

/// Most instructions one request gets.
const MAX_INSTRUCTIONS: i64 = 10_000;

/// `presentationHint` of a row that is not an instruction.
const INVALID: &str = "invalid";

/// Machine code seen so far.
#[derive(Default)]
pub(super) struct Disassembly {
    /// Methods whose code was disassembled.
    compiled: Vec<Rc<CompiledMethod>>,
}

impl Disassembly {
    /// `disassemble`: `instructionCount` instructions from `memoryReference` + `offset` bytes +
    /// `instructionOffset` instructions on. Missing ones, before or after a method, are marked as such (DAP:
    /// exactly as many as requested).
    pub(super) fn disassemble(
        &mut self,
        debuggee: &ClrDebuggee,
        types: &ClrTypeSystem,
        sources: &Sources,
        arguments: &Value,
    ) -> Result<Value, Failure> {
        let count: i64 = types::require(arguments, "instructionCount")?;
        let arguments: DisassembleArguments = types::read(arguments);
        let address = memory::address(&arguments.memory_reference, arguments.offset)?;
        let first = arguments.instruction_offset.unwrap_or(0);
        if !(0..=MAX_INSTRUCTIONS).contains(&count)
            || !(-MAX_INSTRUCTIONS..=MAX_INSTRUCTIONS).contains(&first)
        {
            return Err(Failure::invalid(format!(
                "`instructionCount` must be from 0 to {MAX_INSTRUCTIONS}, `instructionOffset` from \
                    -{MAX_INSTRUCTIONS} to {MAX_INSTRUCTIONS}"
            )));
        }
        debuggee.require_stop("code can be disassembled")?;
        let method = self.method_around(debuggee, types, address);
        let list = match &method {
            Some(method) => debuggee.instructions_of(method),
            None => debuggee.instructions_around(address, first, count),
        };
        // An address inside an instruction means that instruction.
        let at = list.partition_point(|instruction| instruction.end() <= address);
        let mut body = DisassembleResponseBody::default();
        let mut shown = None;
        for place in first..first + count {
            let index = (at as i64).checked_add(place).and_then(|index| usize::try_from(index).ok());
            body.instructions.push(match index.and_then(|index| list.get(index)) {
                Some(instruction) => sources.row(instruction, method.as_deref(), &mut shown),
                None => placeholder_row(&list, address, at as i64 + place),
            });
        }
        Ok(types::body(&body))
    }
}

impl Sources {
    /// DAP `DisassembledInstruction`. `shown` is the document of the previous row, whose
    /// name is not repeated.
    fn row(
        &self,
        instruction: &Instruction,
        method: Option<&CompiledMethod>,
        shown: &mut Option<u32>,
    ) -> DisassembledInstruction {
        let mut row = DisassembledInstruction {
            address: memory::reference(instruction.address),
            instruction_bytes: Some(instruction.bytes_text()),
            instruction: instruction.text.clone(),
            presentation_hint: (!instruction.is_valid).then(|| INVALID.into()),
            ..DisassembledInstruction::default()
        };
        let Some(method) = method else { return row };
        if method.begins_at(instruction.address) {
            row.symbol = Some(method.loaded.method_display(method.token));
        }
        let il = method.il_at(instruction.address);
        let point =
            il.and_then(|il| method.loaded.pdb.as_ref().ok().and_then(|pdb| pdb.point_at(method.token, il)));
        if let Some(point) = point {
            if *shown != Some(point.document) {
                row.location = self.source_body(&method.loaded, point.document);
                *shown = Some(point.document);
            }
            row.line = Some(point.line.into());
            row.column = Some(point.column.into());
            row.end_line = Some(point.end_line.into());
            row.end_column = Some(point.end_column.into());
        }
        row
    }
}

/// A row without an instruction, at an address that differs from all others, as far from the
/// last row as its index is.
fn placeholder_row(list: &[Instruction], requested: u64, index: i64) -> DisassembledInstruction {
    let address = match (list.first(), list.last()) {
        (Some(first), _) if index < 0 => first.address.wrapping_add_signed(index),
        (_, Some(last)) => last.end().wrapping_add_signed(index - list.len() as i64),
        _ => requested.wrapping_add_signed(index),
    };
    DisassembledInstruction {
        address: memory::reference(address),
        instruction: "??".into(),
        presentation_hint: Some(INVALID.into()),
        ..DisassembledInstruction::default()
    }
}
