//! The scopes of a method: local variables, local constants, and variables that a state machine keeps in its
//! fields.
//!
//! Not here: the lines of a method ([`super`]), and the ranges of its statements ([`super::steps`]).

use super::Pdb;
use crate::bytes::ByteReader;
use crate::signature::type_token;
use crate::tables::table;

/// LocalVariableAttributes: DebuggerHidden, a variable that debuggers do not show.
const DEBUGGER_HIDDEN: u32 = 1;
/// Kind of CustomDebugInformation with the scopes of variables in a state machine:
/// {6DA9A61E-F8C7-4874-BE62-68BC5630DF71}.
const HOISTED_SCOPES: [u8; 16] =
    [0x1e, 0xa6, 0xa9, 0x6d, 0xc7, 0xf8, 0x74, 0x48, 0xbe, 0x62, 0x68, 0xbc, 0x56, 0x30, 0xdf, 0x71];
/// ELEMENT_TYPE_STRING of II.23.1.16.
const STRING: u8 = 0x0e;

/// A local variable of a method.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct LocalVariable {
    /// Its slot in the frame.
    pub slot: u32,
    /// Its row in the table of local variables.
    pub row: u32,
    /// Its name in the source.
    pub name: String,
}

/// A local `const`, which exists only in the symbols.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct LocalConstant {
    /// Its name in the source.
    pub name: String,
    /// The value of the constant.
    pub literal: Literal,
}

/// The value of a local constant (portable PDB format, "LocalConstantSig").
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Literal {
    /// A number, `bool` or `char`: its element type (II.23.1.16), its bytes, and the
    /// token of its enum, if any.
    Number(u32, Vec<u8>, Option<u32>),
    /// A string, from its UTF-16 units.
    Text(String),
    /// `null`, of any reference type.
    Null,
    /// A struct such as `decimal`: its token and its bytes.
    Struct(u32, Vec<u8>),
}

impl Pdb {
    /// Rows of LocalScope that cover an IL offset, outer ones first.
    fn scopes(&self, method: u32, il: u32) -> impl Iterator<Item = u32> {
        let row = method & 0x00ff_ffff;
        let cell = move |at, column| self.tables.cell(table::LOCAL_SCOPE, at, column);
        let count = self.tables.rows(table::LOCAL_SCOPE);
        // Sorted by method (portable PDB format, LocalScope).
        let (mut low, mut high) = (1, count + 1);
        while low < high {
            let middle = low + (high - low) / 2;
            if cell(middle, 0) < row { low = middle + 1 } else { high = middle }
        }
        (low..=count)
            .take_while(move |scope| cell(*scope, 0) == row)
            .filter(move |scope| il.checked_sub(cell(*scope, 4)).is_some_and(|into| into < cell(*scope, 5)))
    }

    /// Local variables alive at an IL offset, outer scopes first.
    pub fn locals(&self, method: u32, il: u32) -> Vec<LocalVariable> {
        let mut locals = Vec::new();
        for scope in self.scopes(method, il) {
            for variable in self.tables.list(table::LOCAL_SCOPE, scope, 2, table::LOCAL_VARIABLE) {
                let cell = |column| self.tables.cell(table::LOCAL_VARIABLE, variable, column);
                if cell(0) & DEBUGGER_HIDDEN == 0 {
                    locals.push(LocalVariable {
                        slot: cell(1),
                        row: variable,
                        name: self.tables.text(cell(2)).to_owned(),
                    });
                }
            }
        }
        locals
    }

    /// Local constants in scope at an IL offset, outer scopes first.
    pub fn constants(&self, method: u32, il: u32) -> Vec<LocalConstant> {
        let mut constants = Vec::new();
        for scope in self.scopes(method, il) {
            for row in self.tables.list(table::LOCAL_SCOPE, scope, 3, table::LOCAL_CONSTANT) {
                let cell = |column| self.tables.cell(table::LOCAL_CONSTANT, row, column);
                if let Some(literal) = literal(self.tables.blob(cell(1))) {
                    constants.push(LocalConstant { name: self.tables.text(cell(0)).to_owned(), literal });
                }
            }
        }
        constants
    }

    /// IL ranges, start and end, in which the variables in the fields of a state machine are in scope. Their
    /// index is the number at the end of the field's name, less one. `None` if the compiler wrote none.
    pub fn hoisted_scopes(&self, move_next: u32) -> Option<Vec<(u32, u32)>> {
        // HasCustomDebugInformation: tag 0 is a method, in 5 bits.
        let parent = (move_next & 0x00ff_ffff) << 5;
        let mut reader = ByteReader::new(self.debug_information(parent, HOISTED_SCOPES).next()?);
        let mut ranges = Vec::new();
        while let (Some(start), Some(length)) = (reader.u32(), reader.u32()) {
            ranges.push((start, start.saturating_add(length)));
        }
        Some(ranges)
    }
}

fn literal(blob: &[u8]) -> Option<Literal> {
    let mut reader = ByteReader::new(blob);
    let mut kind = reader.u8()?;
    while matches!(kind, 0x1f | 0x20) {
        reader.compressed()?;
        kind = reader.u8()?;
    }
    let rest = |reader: &ByteReader<'_>| blob.get(reader.position()..).unwrap_or_default().to_vec();
    Some(match kind {
        STRING => match rest(&reader).as_slice() {
            [0xff] => Literal::Null,
            bytes => {
                let units: Vec<u16> =
                    bytes.chunks_exact(2).map(|two| u16::from_le_bytes([two[0], two[1]])).collect();
                Literal::Text(String::from_utf16_lossy(&units))
            }
        },
        0x02..=0x0d => {
            let size = match kind {
                0x02 | 0x04 | 0x05 => 1,
                0x03 | 0x06 | 0x07 => 2,
                0x08 | 0x09 | 0x0c => 4,
                _ => 8,
            };
            let bytes = reader.take(size)?.to_vec();
            let of = if reader.is_at_end() { None } else { Some(type_token(reader.compressed()?)) };
            Literal::Number(u32::from(kind), bytes, of)
        }
        0x11 => {
            let token = type_token(reader.compressed()?);
            Literal::Struct(token, rest(&reader))
        }
        // A class, or object: a constant of these types is null.
        0x12 | 0x1c => Literal::Null,
        _ => return None,
    })
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    #[test]
    fn local_constants_are_read() {
        assert_eq!(literal(&[0x08, 5, 0, 0, 0]), Some(Literal::Number(8, vec![5, 0, 0, 0], None)));
        // An enum over bytes, TypeDef row 3.
        assert_eq!(literal(&[0x05, 7, 12]), Some(Literal::Number(5, vec![7], Some(0x0200_0003))));
        assert_eq!(literal(&[0x0e, b'a', 0, b'b', 0]), Some(Literal::Text("ab".into())));
        assert_eq!(literal(&[0x0e, 0xff]), Some(Literal::Null));
        assert_eq!(literal(&[0x12, 5]), Some(Literal::Null));
        assert_eq!(literal(&[0x11, 5, 1, 2]), Some(Literal::Struct(0x0100_0001, vec![1, 2])));
    }

    proptest! {
        #[test]
        fn any_bytes_end(blob in proptest::collection::vec(any::<u8>(), 0..40)) {
            literal(&blob);
        }
    }
}
