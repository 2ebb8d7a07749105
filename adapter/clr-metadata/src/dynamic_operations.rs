//! Fields whose values a method passes to `dynamic` operations as `dynamic`, from its IL.
//!
//! The compiler does not record which variables of a state machine are `dynamic`. It describes each argument
//! of a dynamic operation instead (`CSharpArgumentInfo`): one that has no type before it runs is `dynamic`.
//! Not here: other fields and variables, which have attributes or symbols.

use std::collections::HashMap;

use crate::bytes::ByteReader;
use crate::il::{BranchInstruction, branches, instructions};
use crate::metadata::{Metadata, row};
use crate::signature::{MethodSignature, Signature, method_signature};
use crate::tables::table;

/// Class of the descriptions of arguments.
const ARGUMENT_INFO: &str = "Microsoft.CSharp.RuntimeBinder.CSharpArgumentInfo";
/// Beginning of the names of the classes that hold the call sites of a method.
const CALL_SITES: &str = "<>o__";
/// CSharpArgumentInfoFlags.UseCompileTimeType.
const HAS_TYPE: u32 = 1;
/// Element type of `void`.
const VOID: u32 = 1;
/// Maximum number of values on the stack, and of branches behind which it is not empty.
const MAX_STACK_LEN: usize = 512;
const MAX_TARGETS: usize = 1024;

/// A value on the evaluation stack.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum StackValue {
    Number(u32),
    /// Of the field with this token.
    Field(u32),
    /// Of the static field with this token.
    CallSite(u32),
    Other,
}

/// Whether the code of a method passes the value of a field to a dynamic operation as `dynamic`.
pub fn passes_as_dynamic(metadata: &Metadata, body: &[u8], field: u32) -> bool {
    let mut code = DynamicCode::new(metadata, body);
    instructions(body, |il, opcode, operand| code.run(il, opcode, operand));
    code.passed.iter().any(|used| is_field(metadata, *used, field))
}

/// Whether a token means this field: its own, or that of a reference to it, which the code of generic
/// methods has.
pub fn is_field(metadata: &Metadata, used: u32, field: u32) -> bool {
    if used >> 24 != 0x0a {
        return used == field;
    }
    let owner = metadata.simple_name(metadata.owner_of_field(field));
    let owner = owner.split('`').next().unwrap_or(owner);
    metadata
        .call_target(used)
        .is_some_and(|(class, name, _)| name == metadata.field_name(field) && class.contains(owner))
}

/// The signature of the method that a call's token means.
fn called_signature(metadata: &Metadata, token: u32) -> Option<MethodSignature> {
    let cell = |table, column| metadata.tables.cell(table, row(token), column);
    match token >> 24 {
        0x06 => metadata.method_signature(token),
        0x0a => method_signature(metadata.tables.blob(cell(table::MEMBER_REF, 2))),
        0x2b => {
            // MethodDefOrRef: tag 0 is a method, 1 a reference. So this recurses only once.
            let coded = cell(table::METHOD_SPEC, 0);
            let kind = if coded & 1 == 0 { 0x0600_0000 } else { 0x0a00_0000 };
            called_signature(metadata, kind | coded >> 1)
        }
        _ => None,
    }
}

fn is_call_site(metadata: &Metadata, field: u32) -> bool {
    let owner = match field >> 24 {
        0x04 => metadata.type_name(metadata.owner_of_field(field)),
        _ => metadata.call_target(field).map(|(class, ..)| class).unwrap_or_default(),
    };
    owner.contains(CALL_SITES)
}

/// The code of a method up to an instruction: what is on its stack, and which dynamic operations it has.
struct DynamicCode<'a> {
    metadata: &'a Metadata,
    branches: Vec<BranchInstruction>,
    stack: Vec<StackValue>,
    /// The stacks with which branches lead to later instructions.
    at_targets: HashMap<u32, Vec<StackValue>>,
    /// Whether the last instruction continues at the next.
    continues: bool,
    /// The flags of the arguments that the code has described for the next call site.
    described: Vec<u32>,
    /// The flags of the arguments of each call site.
    sites: HashMap<u32, Vec<u32>>,
    /// Tokens of the fields that were passed as `dynamic`.
    passed: Vec<u32>,
}

impl<'a> DynamicCode<'a> {
    fn new(metadata: &'a Metadata, body: &[u8]) -> Self {
        Self {
            metadata,
            branches: branches(body),
            stack: Vec::new(),
            at_targets: HashMap::new(),
            continues: true,
            described: Vec::new(),
            sites: HashMap::new(),
            passed: Vec::new(),
        }
    }

    fn run(&mut self, il: u32, opcode: u16, operand: &[u8]) {
        let joined = self.at_targets.remove(&il);
        match joined {
            Some(joined) if self.continues => {
                let ways = self.stack.iter_mut().zip(&joined);
                ways.filter(|(one, other)| *one != *other).for_each(|(one, _)| *one = StackValue::Other);
            }
            joined if !self.continues => self.stack = joined.unwrap_or_default(),
            _ => {}
        }
        let token = ByteReader::new(operand).u32().unwrap_or_default();
        match opcode {
            // call, callvirt, newobj
            0x28 | 0x6f | 0x73 => self.call(token, opcode == 0x73),
            // calli: how many arguments it takes is not known here
            0x29 => self.stack.clear(),
            0x25 => self.stack.extend(self.stack.last().copied()),
            _ => {
                let (pops, pushed) = effect(opcode, operand);
                self.stack.truncate(self.stack.len().saturating_sub(pops));
                // stsfld
                if opcode == 0x80 && is_call_site(self.metadata, token) {
                    self.sites.insert(token, std::mem::take(&mut self.described));
                }
                self.stack.extend(pushed.map(|pushed| match pushed {
                    StackValue::CallSite(field) if !self.sites.contains_key(&field) => StackValue::Other,
                    other => other,
                }));
            }
        }
        self.stack.truncate(MAX_STACK_LEN);
        self.branch(il);
        // jmp, ret, br.s, br, throw, endfinally, leave, leave.s, endfilter, rethrow
        self.continues =
            !matches!(opcode, 0x27 | 0x2a | 0x2b | 0x38 | 0x7a | 0xdc | 0xdd | 0xde | 0xfe11 | 0xfe1a);
    }

    /// Keeps the stack for the later instructions to which this one branches.
    fn branch(&mut self, il: u32) {
        let first = self.branches.partition_point(|branch| branch.il < il);
        let own = self.branches.iter().skip(first).take_while(|branch| branch.il == il);
        for branch in own.filter(|branch| branch.target > il) {
            if !self.stack.is_empty() && self.at_targets.len() < MAX_TARGETS {
                self.at_targets.insert(branch.target, self.stack.clone());
            }
        }
    }

    fn call(&mut self, token: u32, creates: bool) {
        let Some(signature) = called_signature(self.metadata, token) else { return self.stack.clear() };
        let count = signature.parameters.len() + usize::from(signature.has_this && !creates);
        let given = self.stack.split_off(self.stack.len().saturating_sub(count));
        if creates || signature.result != Signature::Primitive(VOID) {
            self.stack.push(StackValue::Other);
        }
        if let [StackValue::Number(flags), _] = *given
            && self.metadata.call_target(token).is_some_and(|(class, ..)| class == ARGUMENT_INFO)
        {
            self.described.push(flags);
        }
        let mut given = given.into_iter();
        let Some(StackValue::CallSite(site)) = given.find(|value| matches!(value, StackValue::CallSite(_)))
        else {
            return;
        };
        // A conversion has no description: it converts a `dynamic`.
        let flags = self.sites.get(&site).map(Vec::as_slice).unwrap_or_default();
        for (at, value) in given.enumerate() {
            if let StackValue::Field(field) = value
                && flags.get(at).is_none_or(|flags| flags & HAS_TYPE == 0)
            {
                self.passed.push(field);
            }
        }
    }
}

/// How many values an instruction takes from the stack, and the one that it puts there (III.3 and III.4).
/// Prefixes and calls do neither here.
fn effect(opcode: u16, operand: &[u8]) -> (usize, Option<StackValue>) {
    let token = || ByteReader::new(operand).u32().unwrap_or_default();
    let number = |number: u32| Some(StackValue::Number(number));
    let other = Some(StackValue::Other);
    match opcode {
        // ldc.i4.0 to ldc.i4.8, ldc.i4.s, ldc.i4, ldsfld
        0x16..=0x1e => (0, number(u32::from(opcode) - 0x16)),
        0x1f => (0, number(operand.first().copied().map_or(0, u32::from))),
        0x20 => (0, number(token())),
        0x7e => (0, Some(StackValue::CallSite(token()))),
        0x02..=0x09 | 0x0e | 0x0f | 0x11 | 0x12 | 0x14 | 0x15 | 0x21..=0x23 | 0x72 | 0x7f | 0xd0 => {
            (0, other)
        }
        0xfe00 | 0xfe06 | 0xfe09 | 0xfe0a | 0xfe0c | 0xfe0d | 0xfe1c => (0, other),
        0x0a..=0x0d | 0x10 | 0x13 | 0x26 | 0x2c | 0x2d | 0x39 | 0x3a | 0x45 | 0x80 => (1, None),
        0xfe0b | 0xfe0e | 0xfe15 => (1, None),
        // ldfld, ldflda
        0x7b | 0x7c => (1, Some(StackValue::Field(token()))),
        0x46..=0x50 | 0x65..=0x6e | 0x71 | 0x74..=0x76 | 0x79 | 0x82..=0x8e | 0xa5 | 0xb3..=0xba => {
            (1, other)
        }
        0xc2 | 0xc3 | 0xc6 | 0xd1..=0xd5 | 0xe0 | 0xfe07 | 0xfe0f | 0xfe1d => (1, other),
        0x2e..=0x37 | 0x3b..=0x44 | 0x51..=0x57 | 0x70 | 0x7d | 0x81 | 0xdf => (2, None),
        0x58..=0x64 | 0x8f..=0x9a | 0xa3 | 0xd6..=0xdb | 0xfe01..=0xfe05 => (2, other),
        0x9b..=0xa2 | 0xa4 | 0xfe17 | 0xfe18 => (3, None),
        _ => (0, None),
    }
}
