//! Instructions around an address for an adapter that disassembles forward only: lldb-dap takes the number of
//! instructions to go back for a number of bytes, and ignores the offset.
//!
//! Not here: gdb's answers, which its own Python corrects (`registry/gdb/memory.py`).

use serde_json::Value;
use tandem_wire::types::{self, DisassembleArguments, DisassembleResponseBody, DisassembledInstruction};
use tandem_wire::{ErrorCode, Failure};
use tokio_util::sync::CancellationToken;

use super::AdapterSession;

/// Most instructions of one answer, and most that one may begin away from its address.
const MAX_INSTRUCTIONS: i64 = 10_000;
/// Bytes to go back for each instruction: more than most need, so that the first ones, which may be out of
/// step, are not shown.
const BYTES_BACK: u64 = 8;
/// The shortest way back.
const MIN_BYTES_BACK: u64 = 64;
/// The length of the longest instruction: one of so many addresses in a row begins an instruction.
const MAX_INSTRUCTION_LEN: u64 = 15;

/// Answers `disassemble` with exactly the requested number of rows.
pub(super) async fn disassemble(
    session: &AdapterSession,
    arguments: Value,
    cancel: &CancellationToken,
) -> Result<Value, Failure> {
    let request: DisassembleArguments = types::read(&arguments);
    let Some(address) = address_of(&request) else {
        // The adapter says what is wrong with it.
        return session.ask("disassemble", arguments, cancel).await;
    };
    let count = request.instruction_count.clamp(0, MAX_INSTRUCTIONS);
    let first = request.instruction_offset.unwrap_or_default().clamp(-MAX_INSTRUCTIONS, MAX_INSTRUCTIONS);
    let before = match u64::try_from(-first) {
        Ok(back) if back > 0 => instructions_before(session, &request, address, back, cancel).await?,
        _ => Vec::new(),
    };
    let after = match first + count {
        wanted if wanted > 0 => instructions_at(session, &request, address, wanted, cancel).await?,
        _ => Vec::new(),
    };
    let instructions = rows(address, &before, &after, first, count);
    Ok(types::body(&DisassembleResponseBody { instructions, ..DisassembleResponseBody::default() }))
}

async fn instructions_at(
    session: &AdapterSession,
    request: &DisassembleArguments,
    address: u64,
    count: i64,
    cancel: &CancellationToken,
) -> Result<Vec<DisassembledInstruction>, Failure> {
    let arguments = DisassembleArguments {
        memory_reference: format!("0x{address:x}"),
        offset: None,
        instruction_offset: None,
        instruction_count: count,
        ..request.clone()
    };
    match session.ask("disassemble", types::body(&arguments), cancel).await {
        Ok(answer) => Ok(types::read::<DisassembleResponseBody>(&answer).instructions),
        // No memory is there.
        Err(failure) if failure.code == ErrorCode::EngineFailed && session.peer().is_ok() => Ok(Vec::new()),
        Err(failure) => Err(failure),
    }
}

/// The instructions that lead to an address: from each of some addresses before it, until they do.
async fn instructions_before(
    session: &AdapterSession,
    request: &DisassembleArguments,
    address: u64,
    count: u64,
    cancel: &CancellationToken,
) -> Result<Vec<DisassembledInstruction>, Failure> {
    let mut back = (count * BYTES_BACK).max(MIN_BYTES_BACK);
    // Nearer, there may be memory.
    while back >= MAX_INSTRUCTION_LEN {
        for start in (0..MAX_INSTRUCTION_LEN).filter_map(|shift| address.checked_sub(back - shift)) {
            let most = i64::try_from(back).unwrap_or(i64::MAX);
            let mut found = instructions_at(session, request, start, most, cancel).await?;
            if found.is_empty() {
                break;
            }
            if let Some(at) = found.iter().position(|row| number(&row.address) == Some(address)) {
                found.truncate(at);
                return Ok(found);
            }
        }
        back /= 2;
    }
    Ok(Vec::new())
}

fn address_of(request: &DisassembleArguments) -> Option<u64> {
    let address = number(&request.memory_reference)?;
    address.checked_add_signed(request.offset.unwrap_or_default())
}

fn number(text: &str) -> Option<u64> {
    u64::from_str_radix(text.strip_prefix("0x")?, 16).ok()
}

/// The rows from `first` on, counted from an address; one without an instruction where there is none.
fn rows(
    address: u64,
    before: &[DisassembledInstruction],
    after: &[DisassembledInstruction],
    first: i64,
    count: i64,
) -> Vec<DisassembledInstruction> {
    let row = |index: i64| {
        let known = match usize::try_from(index) {
            Ok(index) => after.get(index),
            Err(_) => types::integer(before.len())
                .checked_add(index)
                .and_then(|index| before.get(usize::try_from(index).ok()?)),
        };
        known.cloned().unwrap_or_else(|| {
            let (base, distance) = if index < 0 {
                (before.first().and_then(|row| number(&row.address)), index + types::integer(before.len()))
            } else {
                // Past the longest instruction.
                let len = types::integer(after.len());
                let past = if after.is_empty() { 0 } else { MAX_INSTRUCTION_LEN.cast_signed() };
                (after.last().and_then(|row| number(&row.address)), index - len + past)
            };
            let address = base.unwrap_or(address).wrapping_add_signed(distance);
            DisassembledInstruction {
                address: format!("0x{address:x}"),
                instruction: "??".to_owned(),
                presentation_hint: Some("invalid".to_owned()),
                ..DisassembledInstruction::default()
            }
        })
    };
    (first..first + count).map(row).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_answer_has_each_row_at_its_distance_from_the_address() {
        let instruction = |address: &&str| DisassembledInstruction {
            address: (*address).to_owned(),
            instruction: "nop".to_owned(),
            ..DisassembledInstruction::default()
        };
        let before: Vec<_> = ["0xFE", "0xff"].iter().map(instruction).collect();
        let after: Vec<_> = ["0x100", "0x101"].iter().map(instruction).collect();
        let shown = |before: &[_], after: &[_], first, count| {
            let rows = rows(0x100, before, after, first, count).into_iter();
            rows.map(|row| format!("{} {}", row.address, row.instruction)).collect::<Vec<_>>()
        };
        assert_eq!(shown(&before, &after, -1, 2), ["0xff nop", "0x100 nop"]);
        assert_eq!(shown(&before, &after, -2, 1), ["0xFE nop"]);
        assert_eq!(shown(&before, &after, 1, 1), ["0x101 nop"]);
        assert_eq!(shown(&before, &after, -4, 3), ["0xfc ??", "0xfd ??", "0xFE nop"]);
        assert_eq!(shown(&before, &after, 1, 3), ["0x101 nop", "0x110 ??", "0x111 ??"]);
        assert_eq!(shown(&[], &[], -1, 3), ["0xff ??", "0x100 ??", "0x101 ??"]);
        assert!(shown(&before, &after, 0, 0).is_empty());
    }

    #[test]
    fn an_address_has_its_offset() {
        let at = |memory_reference: &str, offset| {
            let memory_reference = memory_reference.to_owned();
            address_of(&DisassembleArguments { memory_reference, offset, ..DisassembleArguments::default() })
        };
        assert_eq!(at("0xFF", Some(-15)), Some(0xf0));
        assert_eq!(at("0x10", None), Some(0x10));
        assert_eq!(at("0x10", Some(-17)), None);
        assert_eq!(at("ten", None), None);
    }
}
