//! Signatures of fields, methods, properties and locals (ECMA-335 II.23.2). Their types are unresolved
//! tokens. Not here: their text in C# ([`crate::metadata::signature_text`]).

use crate::bytes::ByteReader;

/// Maximum depth of a type in a signature.
const MAX_DEPTH: usize = 32;
/// Maximum number of parameters, locals or generic arguments.
const MAX_ITEMS: u32 = 4096;

/// A type in a signature.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub enum Signature {
    /// A primitive, `void`, `string` or `object`: its element type (II.23.1.16).
    Primitive(u32),
    /// A class or struct: a TypeDef, TypeRef or TypeSpec token.
    Named {
        /// TypeDef, TypeRef or TypeSpec token.
        token: u32,
        /// Whether it is a struct.
        is_value: bool,
        /// The generic arguments, in order.
        arguments: Vec<Signature>,
    },
    /// An array with one dimension that begins at 0.
    Vector(Box<Signature>),
    /// Any other array, with its rank.
    Array(Box<Signature>, u32),
    /// A pointer to a type: `T*`.
    Pointer(Box<Signature>),
    /// A reference to a variable: `ref T`.
    Reference(Box<Signature>),
    /// A generic parameter of the class, by number.
    Var(u32),
    /// A generic parameter of the method, by number.
    MethodVar(u32),
    /// A function pointer: `delegate*<…>`.
    FunctionPointer,
    /// A type without a name in C#.
    Other,
}

/// The signature of a method, or of the getter of a property.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct MethodSignature {
    /// Whether the method has a `this`.
    pub has_this: bool,
    /// Number of generic parameters of the method.
    pub generic: u32,
    /// The type of the result.
    pub result: Signature,
    /// The types of the parameters, in order.
    pub parameters: Vec<Signature>,
}

impl Signature {
    fn read(reader: &mut ByteReader<'_>, deeper: usize) -> Option<Self> {
        let deeper = deeper.checked_sub(1)?;
        let boxed = |reader: &mut ByteReader<'_>| Self::read(reader, deeper).map(Box::new);
        Some(match reader.u8()? {
            kind @ (0x01..=0x0e | 0x16 | 0x18 | 0x19 | 0x1c) => Self::Primitive(u32::from(kind)),
            0x0f => Self::Pointer(boxed(reader)?),
            0x10 => Self::Reference(boxed(reader)?),
            kind @ (0x11 | 0x12) => Self::Named {
                token: type_token(reader.compressed()?),
                is_value: kind == 0x11,
                arguments: vec![],
            },
            0x13 => Self::Var(reader.compressed()?),
            0x1e => Self::MethodVar(reader.compressed()?),
            0x14 => {
                let element = boxed(reader)?;
                let rank = reader.compressed()?;
                for _ in 0..2 {
                    for _ in 0..reader.compressed()?.min(MAX_ITEMS) {
                        reader.compressed()?;
                    }
                }
                Self::Array(element, rank)
            }
            0x1d => Self::Vector(boxed(reader)?),
            0x15 => {
                let is_value = reader.u8()? == 0x11;
                let token = type_token(reader.compressed()?);
                let count = reader.compressed()?.min(MAX_ITEMS);
                let arguments = (0..count).map(|_| Self::read(reader, deeper)).collect::<Option<_>>()?;
                Self::Named { token, is_value, arguments }
            }
            0x1b => {
                method(reader, deeper)?;
                Self::FunctionPointer
            }
            // Modifiers, pinned, sentinel: the type follows them.
            0x1f | 0x20 => {
                reader.compressed()?;
                return Self::read(reader, deeper);
            }
            0x41 | 0x45 => return Self::read(reader, deeper),
            _ => Self::Other,
        })
    }
}

/// TypeDefOrRef, II.23.2.8: two bits of table, then the row.
pub(crate) fn type_token(coded: u32) -> u32 {
    let table = match coded & 3 {
        0 => 0x0200_0000,
        1 => 0x0100_0000,
        _ => 0x1b00_0000,
    };
    table | coded >> 2
}

fn method(reader: &mut ByteReader<'_>, deeper: usize) -> Option<MethodSignature> {
    let convention = reader.u8()?;
    let generic = if convention & 0x10 != 0 { reader.compressed()? } else { 0 };
    let count = reader.compressed()?.min(MAX_ITEMS);
    let result = Signature::read(reader, deeper)?;
    let parameters = (0..count).map(|_| Signature::read(reader, deeper)).collect::<Option<_>>()?;
    Some(MethodSignature { has_this: convention & 0x20 != 0, generic, result, parameters })
}

/// Parses a MethodDefSig, MethodRefSig or PropertySig, which have the same form.
pub fn method_signature(blob: &[u8]) -> Option<MethodSignature> {
    method(&mut ByteReader::new(blob), MAX_DEPTH)
}

/// Parses a FieldSig: the type of a field.
pub fn field_signature(blob: &[u8]) -> Option<Signature> {
    let mut reader = ByteReader::new(blob);
    (reader.u8()? == 0x06).then_some(())?;
    Signature::read(&mut reader, MAX_DEPTH)
}

/// Parses a TypeSpec: a type.
pub fn type_signature(blob: &[u8]) -> Option<Signature> {
    Signature::read(&mut ByteReader::new(blob), MAX_DEPTH)
}

/// Parses a LocalVarSig: the types of the locals by slot.
pub fn local_signature(blob: &[u8]) -> Vec<Signature> {
    let mut reader = ByteReader::new(blob);
    if reader.u8() != Some(0x07) {
        return Vec::new();
    }
    let count = reader.compressed().unwrap_or(0).min(MAX_ITEMS);
    (0..count).map_while(|_| Signature::read(&mut reader, MAX_DEPTH)).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_method_signature_is_read_with_its_generic_arguments() {
        // Generic instance method <T>(List<T>, int[,]) : string; TypeRef row 5 is List.
        let blob = [0x30, 1, 2, 0x0e, 0x15, 0x12, 5 << 2 | 1, 1, 0x1e, 0, 0x14, 0x08, 2, 0, 2, 0, 0];
        let read = method_signature(&blob).unwrap();
        assert_eq!((read.has_this, read.generic), (true, 1));
        assert_eq!(read.result, Signature::Primitive(0x0e));
        assert_eq!(
            read.parameters,
            [
                Signature::Named {
                    token: 0x0100_0005,
                    is_value: false,
                    arguments: vec![Signature::MethodVar(0)]
                },
                Signature::Array(Box::new(Signature::Primitive(8)), 2)
            ]
        );
    }

    #[test]
    fn endless_nesting_ends() {
        assert_eq!(type_signature(&[0x1d; 4096]), None);
    }
}
