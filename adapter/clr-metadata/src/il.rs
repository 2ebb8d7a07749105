//! Calls and branches in IL (ECMA-335 III), by which a step knows where a statement may continue, the uses of
//! a variable, and the `catch` clauses of a method.
//!
//! Not here: source lines ([`crate::pdb`]).

use crate::bytes::ByteReader;

/// A call instruction and the method it calls.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct CallInstruction {
    /// IL offset of the instruction.
    pub il: u32,
    /// MethodDef, MemberRef or MethodSpec token of the called method.
    pub token: u32,
}

/// An instruction after which execution may continue at another one than the next.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct BranchInstruction {
    /// IL offset of the instruction.
    pub il: u32,
    /// IL offset of the instruction to which it branches.
    pub target: u32,
}

/// Where a method keeps a variable of its source.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum IlVariable {
    /// A slot of the frame, by its number in the signature of the locals.
    Local(u32),
    /// A field of a closure or state machine: its token, or that of a reference to it.
    Field(u32),
}

/// A `catch` clause that catches exceptions of a type.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct CatchClause {
    /// IL offset of the first instruction of the handler.
    pub il: u32,
    /// IL offset after the last instruction of the handler.
    pub end: u32,
    /// TypeDef, TypeRef or TypeSpec token of the exception type.
    pub class: u32,
}

/// Size of the fat header before a method's IL, in bytes. Only a method with this header has
/// exception clauses (II.25.4.3).
pub const FAT_HEADER: u32 = 12;

/// Whether a section with a method's exception clauses follows its IL, by its fat header.
pub fn has_clauses(header: &[u8]) -> bool {
    // CorILMethod_FatFormat, CorILMethod_MoreSects
    header.first().is_some_and(|flags| flags & 0x0b == 0x0b)
}

/// Size of a section of exception clauses in bytes, by its first four bytes; `None` for another section.
pub fn section_size(begin: &[u8]) -> Option<u32> {
    let begin = ByteReader::new(begin).u32()?;
    // CorILMethod_Sect_EHTable, CorILMethod_Sect_FatFormat
    match begin & 0x41 {
        0x41 => Some(begin >> 8),
        0x01 => Some(begin >> 8 & 0xff),
        _ => None,
    }
}

/// The typed `catch` clauses of a method, from the section of its exception clauses (II.25.4.5), in order.
pub fn catch_clauses(section: &[u8]) -> Vec<CatchClause> {
    let mut reader = ByteReader::new(section);
    let is_fat = reader.u32().is_some_and(|begin| begin & 0x40 != 0);
    let mut found = Vec::new();
    let mut next = || -> Option<()> {
        let (flags, il, length, class);
        if is_fat {
            flags = reader.u32()?;
            reader.take(8)?;
            (il, length, class) = (reader.u32()?, reader.u32()?, reader.u32()?);
        } else {
            flags = u32::from(reader.u16()?);
            reader.take(3)?;
            (il, length, class) = (u32::from(reader.u16()?), u32::from(reader.u8()?), reader.u32()?);
        }
        // COR_ILEXCEPTION_CLAUSE_EXCEPTION
        if flags == 0 {
            found.push(CatchClause { il, end: il.saturating_add(length), class });
        }
        Some(())
    };
    while next().is_some() {}
    found
}

/// The calls of a method body, in order. Ends at the first byte that is not an instruction.
pub fn calls(body: &[u8]) -> Vec<CallInstruction> {
    let mut found = Vec::new();
    // call, callvirt, newobj
    instructions(body, |il, opcode, operand| {
        if let (0x28 | 0x6f | 0x73, Some(token)) = (opcode, ByteReader::new(operand).u32()) {
            found.push(CallInstruction { il, token });
        }
    });
    found
}

/// The methods whose address a body loads, for example for a delegate, in order. Ends at the first byte that
/// is not an instruction.
pub fn method_pointers(body: &[u8]) -> Vec<CallInstruction> {
    let mut found = Vec::new();
    // ldftn, ldvirtftn
    instructions(body, |il, opcode, operand| {
        if let (0xfe06 | 0xfe07, Some(token)) = (opcode, ByteReader::new(operand).u32()) {
            found.push(CallInstruction { il, token });
        }
    });
    found
}

/// IL offsets of the instructions that assign a variable. Ends at the first byte that is not an instruction.
pub fn stores(body: &[u8], is_it: impl Fn(IlVariable) -> bool) -> Vec<u32> {
    let mut found = Vec::new();
    instructions(body, |il, opcode, operand| {
        let stored = match opcode {
            // stloc.0 to stloc.3, stloc.s, stloc, stfld
            0x0a..=0x0d => Some(IlVariable::Local(u32::from(opcode) - 0x0a)),
            0x13 | 0xfe0e => slot(operand).map(IlVariable::Local),
            0x7d => ByteReader::new(operand).u32().map(IlVariable::Field),
            _ => None,
        };
        if stored.is_some_and(&is_it) {
            found.push(il);
        }
    });
    found
}

/// Tokens of the methods of interfaces that a body calls on a struct in a variable, without arguments and
/// without a box. Ends at the first byte that is not an instruction.
pub fn constrained_calls(body: &[u8], is_it: impl Fn(IlVariable) -> bool) -> Vec<u32> {
    let (mut found, mut loaded, mut is_constrained) = (Vec::new(), None, false);
    instructions(body, |_, opcode, operand| match opcode {
        // constrained. is a prefix of the call
        0xfe16 => is_constrained = loaded.is_some_and(&is_it),
        _ => {
            if let (true, 0x6f, Some(token)) = (is_constrained, opcode, ByteReader::new(operand).u32()) {
                found.push(token);
            }
            is_constrained = false;
            loaded = match opcode {
                // ldloca.s, ldloca, ldflda
                0x12 | 0xfe0d => slot(operand).map(IlVariable::Local),
                0x7c => ByteReader::new(operand).u32().map(IlVariable::Field),
                _ => None,
            };
        }
    });
    found
}

/// The slot in the operand of an instruction for a local variable.
fn slot(operand: &[u8]) -> Option<u32> {
    match operand {
        [short] => Some(u32::from(*short)),
        [low, high] => Some(u32::from(u16::from_le_bytes([*low, *high]))),
        _ => None,
    }
}

/// Whether the code from an offset up to `end` returns from the method, and branches to no other code.
pub fn only_returns(body: &[u8], from: u32, end: u32) -> bool {
    let mut last = None;
    instructions(body, |il, opcode, _| {
        if (from..end).contains(&il) {
            last = Some(opcode);
        }
    });
    let leads_out =
        |at: &BranchInstruction| (from..end).contains(&at.il) && !(from..end).contains(&at.target);
    last == Some(0x2a) && !branches(body).iter().any(leads_out)
}

/// The branches of a method body, also out of `try`, in order; a `switch` counts once for each of its
/// targets. Ends at the first byte that is not an instruction.
pub fn branches(body: &[u8]) -> Vec<BranchInstruction> {
    let mut found = Vec::new();
    instructions(body, |il, opcode, operand| {
        let next = il.saturating_add(if opcode > 0xff { 2 } else { 1 }).saturating_add(operand.len() as u32);
        let mut reader = ByteReader::new(operand);
        match opcode {
            // br.s to blt.un.s, leave.s; br to blt.un, leave
            0x2b..=0x37 | 0xde | 0x38..=0x44 | 0xdd => {}
            // switch: after the count
            0x45 => drop(reader.u32()),
            _ => return,
        }
        let mut distance = || match operand.len() {
            1 => reader.u8().map(|short| i32::from(short.cast_signed())),
            _ => reader.u32().map(u32::cast_signed),
        };
        while let Some(distance) = distance() {
            found.extend(next.checked_add_signed(distance).map(|target| BranchInstruction { il, target }));
        }
    });
    found
}

/// Whether the code from an offset up to `end` has only branches.
pub fn only_branches(body: &[u8], from: u32, end: u32) -> bool {
    let mut only = true;
    instructions(body, |il, opcode, _| {
        // nop; br.s, br; leave, leave.s
        only &= il < from || il >= end || matches!(opcode, 0x00 | 0x2b | 0x38 | 0xdd | 0xde);
    });
    only
}

/// Passes each instruction to `show`: its IL offset, its opcode and its operand.
pub(crate) fn instructions(body: &[u8], mut show: impl FnMut(u32, u16, &[u8])) {
    let mut reader = ByteReader::new(body);
    let mut next = || -> Option<()> {
        let il = u32::try_from(reader.position()).ok()?;
        let opcode = match reader.u8()? {
            0xfe => 0xfe00 | u16::from(reader.u8()?),
            plain => u16::from(plain),
        };
        let begin = reader.position();
        match opcode {
            // switch: a count and as many targets
            0x45 => drop(reader.u32().and_then(|count| reader.take((count as usize).checked_mul(4)?))?),
            other => drop(reader.take(operand(other)?)?),
        }
        show(il, opcode, body.get(begin..reader.position())?);
        Some(())
    };
    while next().is_some() {}
}

/// The number of the state in which a state machine yields at this offset. The code before it stores that
/// number: `ldarg.0; ldc.i4 state; dup; stloc; stfld`. `None` for any other instructions.
pub fn state_at_yield(body: &[u8], yield_il: u32) -> Option<i32> {
    let before = body.get(..usize::try_from(yield_il).ok()?)?;
    let (&[store, ..], before) =
        before.split_at_checked(before.len().checked_sub(5)?).map(|(a, b)| (b, a))?
    else {
        return None;
    };
    (store == 0x7d).then_some(())?;
    let before = match before {
        [rest @ .., 0x0a..=0x0d] | [rest @ .., 0x13, _] => rest,
        _ => return None,
    };
    match before.strip_suffix(&[0x25])? {
        [.., 0x02, short @ 0x16..=0x1e] => Some(i32::from(*short) - 0x16),
        [.., 0x02, 0x1f, small] => Some(i32::from(*small as i8)),
        [.., 0x02, 0x20, a, b, c, d] => Some(i32::from_le_bytes([*a, *b, *c, *d])),
        _ => None,
    }
}

/// Size of an instruction's operand, in bytes; `None` for an invalid opcode.
fn operand(opcode: u16) -> Option<usize> {
    Some(match opcode {
        0x0e..=0x13 | 0x1f | 0x2b..=0x37 | 0xde | 0xfe12 | 0xfe19 => 1,
        0xfe09..=0xfe0e => 2,
        0x20 | 0x22 | 0x27..=0x29 | 0x38..=0x44 | 0x6f..=0x75 | 0x79 | 0x7b..=0x81 => 4,
        0x8c | 0x8d | 0x8f | 0xa3..=0xa5 | 0xc2 | 0xc6 | 0xd0 | 0xdd => 4,
        0xfe06 | 0xfe07 | 0xfe15 | 0xfe16 | 0xfe1c => 4,
        0x21 | 0x23 => 8,
        0x00..=0x0d | 0x14..=0x1e | 0x25 | 0x26 | 0x2a | 0x46..=0x6e | 0x76 | 0x7a | 0x82..=0x8b | 0x8e => 0,
        0x90..=0xa2 | 0xb3..=0xba | 0xc3 | 0xd1..=0xdc | 0xdf | 0xe0 => 0,
        0xfe00..=0xfe05 | 0xfe0f | 0xfe11 | 0xfe13 | 0xfe14 | 0xfe17 | 0xfe18 | 0xfe1a | 0xfe1d | 0xfe1e => 0,
        _ => return None,
    })
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    #[test]
    fn calls_are_found_between_other_instructions() {
        // ldarg.0; ldc.i4.s 40; switch (1); call 0A000001; ldstr; callvirt 06000002; constrained.; newobj
        // 06000003; ret
        let body = [
            0x02, 0x1f, 0x28, 0x45, 1, 0, 0, 0, 0x6f, 0, 0, 0, 0x28, 1, 0, 0, 0x0a, 0x72, 0x28, 0, 0, 0x70,
            0x6f, 2, 0, 0, 6, 0xfe, 0x16, 0x73, 0, 0, 2, 0x73, 3, 0, 0, 6, 0x2a,
        ];
        let call = |il, token| CallInstruction { il, token };
        assert_eq!(calls(&body), [call(12, 0x0a00_0001), call(22, 0x0600_0002), call(33, 0x0600_0003)]);
    }

    #[test]
    fn stores_and_constrained_calls_of_a_variable_are_found() {
        use IlVariable::{Field, Local};
        // stloc.2; stloc.s 2; stloc 300; ldarg.0; ldloc.0; stfld 04000005
        let body = [0x0c, 0x13, 2, 0xfe, 0x0e, 44, 1, 0x02, 0x06, 0x7d, 5, 0, 0, 4];
        for (variable, at) in
            [(Local(2), vec![0, 1]), (Local(300), vec![3]), (Field(0x0400_0005), vec![9]), (Local(5), vec![])]
        {
            assert_eq!(stores(&body, |stored| stored == variable), at, "{variable:?}");
        }
        // ldloca.s 1; constrained. 02000002; callvirt 0A000001; ldloca.s 1; call 06000002; ldarg.0;
        // ldflda 04000005; constrained. 02000002; callvirt 0A000003
        let body = [
            0x12, 1, 0xfe, 0x16, 2, 0, 0, 2, 0x6f, 1, 0, 0, 0x0a, 0x12, 1, 0x28, 2, 0, 0, 6, 0x02, 0x7c, 5,
            0, 0, 4, 0xfe, 0x16, 2, 0, 0, 2, 0x6f, 3, 0, 0, 0x0a,
        ];
        let called = |variable| constrained_calls(&body, |used| used == variable);
        assert_eq!(called(Local(1)), [0x0a00_0001]);
        assert_eq!(called(Field(0x0400_0005)), [0x0a00_0003]);
        assert!(called(Local(0)).is_empty());
    }

    #[test]
    fn method_pointers_and_bare_returns_are_found() {
        // ldnull; ldftn 06000002; brtrue.s +1; nop; ret
        let body = [0x14, 0xfe, 0x06, 2, 0, 0, 6, 0x2d, 1, 0x00, 0x2a];
        assert_eq!(method_pointers(&body), [CallInstruction { il: 1, token: 0x0600_0002 }]);
        assert!(only_returns(&body, 0, 11) && only_returns(&body, 10, 11));
        assert!(!only_returns(&body, 0, 10), "the branch leads behind it");
        assert!(!only_returns(&body, 9, 10) && !only_returns(&body, 11, 11));
    }

    #[test]
    fn catches_are_read_from_small_and_fat_sections() {
        // A `finally`, and a `catch` of a type.
        let small = [
            &[0x01, 28, 0, 0][..],
            &[2, 0, 1, 0, 9, 10, 0, 2, 0, 0, 0, 0],
            &[0, 0, 1, 0, 9, 0x20, 1, 5, 7, 0, 0, 1],
        ]
        .concat();
        let catch = CatchClause { il: 0x120, end: 0x125, class: 0x0100_0007 };
        assert_eq!((section_size(&small), catch_clauses(&small)), (Some(28), vec![catch]));
        let words = [0u32, 1, 0x200, 0x120, 5, 0x0100_0007];
        let mut fat = vec![0x41, 28, 0, 0];
        fat.extend(words.iter().flat_map(|word| word.to_le_bytes()));
        assert_eq!((section_size(&fat), catch_clauses(&fat)), (Some(28), vec![catch]));
        fat.truncate(20);
        assert_eq!(catch_clauses(&fat), []);
        assert_eq!(section_size(&[0x02, 28, 0, 0]), None);
        assert!(has_clauses(&[0x1b, 0x30]) && !has_clauses(&[0x13, 0x30]) && !has_clauses(&[]));
    }

    #[test]
    fn branches_lead_forwards_and_back() {
        // nop; br.s +1; nop; brtrue -7; switch (0, -1); leave.s +0; ret
        let body = [
            0x00, 0x2b, 0x01, 0x00, 0x3a, 0xf9, 0xff, 0xff, 0xff, 0x45, 2, 0, 0, 0, 0, 0, 0, 0, 0xff, 0xff,
            0xff, 0xff, 0xde, 0, 0x2a,
        ];
        let branch = |il, target| BranchInstruction { il, target };
        assert!(only_branches(&body, 22, 24) && only_branches(&body, 0, 4) && !only_branches(&body, 0, 5));
        assert_eq!(
            branches(&body),
            [branch(1, 4), branch(4, 2), branch(9, 22), branch(9, 21), branch(22, 24)]
        );
    }

    #[test]
    fn the_state_of_a_yield_is_stored_before_it() {
        for (push, state) in
            [(vec![0x16], 0), (vec![0x1e], 8), (vec![0x1f, 0x16], 22), (vec![0x20, 0, 1, 0, 0], 256)]
        {
            for store in [vec![0x0a], vec![0x13, 7]] {
                let body =
                    [&[0x00, 0x02], push.as_slice(), &[0x25], &store, &[0x7d, 1, 0, 0, 4, 0x02]].concat();
                let at = u32::try_from(body.len()).unwrap() - 1;
                assert_eq!(state_at_yield(&body, at), Some(state));
                assert_eq!(state_at_yield(&body, at - 1), None);
            }
        }
    }

    proptest! {
        #[test]
        fn any_place_in_any_bytes_has_a_state_or_none(
            body in proptest::collection::vec(any::<u8>(), 0..40),
            at in 0..50u32,
        ) {
            state_at_yield(&body, at);
        }

        #[test]
        fn any_bytes_end(body in proptest::collection::vec(any::<u8>(), 0..200)) {
            branches(&body);
            let found = calls(&body);
            prop_assert!(found.iter().all(|call| (call.il as usize) < body.len()));
        }
    }
}
