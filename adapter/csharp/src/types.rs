//! Types of .NET as plain data, which are compared by the identity of their definitions.
//! [`crate::bind::TypeProvider`] provides definitions and members. Not here: relations between types
//! ([`crate::bind::TypeRelations`]).

use std::hash::{Hash, Hasher};
use std::rc::Rc;

/// Element types of primitives (ECMA-335 II.23.1.16).
pub mod kind {
    pub const VOID: u32 = 0x01;
    pub const BOOLEAN: u32 = 0x02;
    pub const CHAR: u32 = 0x03;
    pub const I1: u32 = 0x04;
    pub const U1: u32 = 0x05;
    pub const I2: u32 = 0x06;
    pub const U2: u32 = 0x07;
    pub const I4: u32 = 0x08;
    pub const U4: u32 = 0x09;
    pub const I8: u32 = 0x0a;
    pub const U8: u32 = 0x0b;
    pub const R4: u32 = 0x0c;
    pub const R8: u32 = 0x0d;
    pub const STRING: u32 = 0x0e;
    pub const CLASS: u32 = 0x12;
    pub const I: u32 = 0x18;
    pub const U: u32 = 0x19;
    pub const OBJECT: u32 = 0x1c;
}

/// A type definition: a module of the program and a TypeDef token in it.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct Def {
    /// The module, by its number in the type provider.
    pub module: usize,
    /// The token in that module.
    pub token: u32,
}

/// Names of a tuple's elements. They are not part of a type's identity: tuples that differ
/// only in names are equal.
#[derive(Debug, Clone, Default)]
pub struct TupleNames {
    all: Option<Rc<[Option<Rc<str>>]>>,
    /// Whether the tuple has the members of an anonymous object whose type the program does not have.
    is_anonymous: bool,
}

impl TupleNames {
    /// Names for each element, with the elements of nested tuples in sequence; empty if
    /// no element has a name.
    pub fn new(names: Vec<Option<Rc<str>>>) -> Self {
        Self { all: names.iter().any(Option::is_some).then(|| names.into()), is_anonymous: false }
    }

    /// Names of the properties of an anonymous type that the program does not have.
    pub(crate) fn anonymous(names: Vec<Rc<str>>) -> Self {
        Self { all: Some(names.into_iter().map(Some).collect()), is_anonymous: true }
    }

    /// The name of an element, by its position from 0.
    pub fn name(&self, at: usize) -> Option<&str> {
        self.all.as_ref()?.get(at)?.as_deref()
    }

    /// The position of the element of this name.
    pub fn position(&self, name: &str) -> Option<usize> {
        self.all.as_ref()?.iter().position(|known| known.as_deref() == Some(name))
    }

    /// Whether any element has a name.
    pub fn is_some(&self) -> bool {
        self.all.is_some()
    }

    /// The names of all elements; empty if no element has a name.
    pub fn all(&self) -> impl Iterator<Item = Option<&str>> {
        self.all.iter().flat_map(|names| names.iter().map(Option::as_deref))
    }
}

impl PartialEq for TupleNames {
    fn eq(&self, _: &Self) -> bool {
        true
    }
}

impl Eq for TupleNames {}

impl Hash for TupleNames {
    fn hash<H: Hasher>(&self, _: &mut H) {}
}

/// A class, struct, interface, enum or delegate.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub struct NamedType {
    /// The module of the definition, as in [`Def`].
    pub module: usize,
    /// TypeDef token of the definition.
    pub token: u32,
    /// Whether it is a value type, whose variables contain the value.
    pub is_value: bool,
    /// Generic arguments, those of enclosing classes first.
    pub arguments: Vec<Ty>,
    /// Names of the elements of a `ValueTuple`.
    pub names: TupleNames,
}

impl NamedType {
    /// The definition of the type.
    pub fn def(&self) -> Def {
        Def { module: self.module, token: self.token }
    }
}

/// A type of .NET, as C# distinguishes them.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub enum Ty {
    /// A primitive, `void`, `string` or `object`, by its [`kind`].
    Primitive(u32),
    /// A class, struct, interface, enum or delegate.
    Named(NamedType),
    /// An array with one dimension.
    Vector(Box<Ty>),
    /// An array with this many dimensions.
    Array(Box<Ty>, u32),
    /// A pointer to a type: `T*`.
    Pointer(Box<Ty>),
    /// A reference to a variable: `ref T`.
    Reference(Box<Ty>),
    /// Generic parameter of the class, if its argument is not known.
    Var(u32),
    /// Generic parameter of the method.
    MethodVar(u32),
    /// The type of the literal `null`.
    Null,
    /// A type that C# cannot name, or that could not be found.
    Other,
}

/// The type `System.Object`.
pub const OBJECT: Ty = Ty::Primitive(kind::OBJECT);
/// The type `System.String`.
pub const STRING: Ty = Ty::Primitive(kind::STRING);
/// The type `System.Boolean`.
pub const BOOL: Ty = Ty::Primitive(kind::BOOLEAN);
/// The type `System.Int32`.
pub const INT: Ty = Ty::Primitive(kind::I4);
/// The type `System.Char`.
pub const CHAR: Ty = Ty::Primitive(kind::CHAR);
/// The type `System.Void`.
pub const VOID: Ty = Ty::Primitive(kind::VOID);

/// The full names of types with keywords, their keywords and their kinds.
const PRIMITIVES: [(&str, &str, u32); 17] = [
    ("System.Void", "void", kind::VOID),
    ("System.Boolean", "bool", kind::BOOLEAN),
    ("System.Char", "char", kind::CHAR),
    ("System.SByte", "sbyte", kind::I1),
    ("System.Byte", "byte", kind::U1),
    ("System.Int16", "short", kind::I2),
    ("System.UInt16", "ushort", kind::U2),
    ("System.Int32", "int", kind::I4),
    ("System.UInt32", "uint", kind::U4),
    ("System.Int64", "long", kind::I8),
    ("System.UInt64", "ulong", kind::U8),
    ("System.Single", "float", kind::R4),
    ("System.Double", "double", kind::R8),
    ("System.String", "string", kind::STRING),
    ("System.Object", "object", kind::OBJECT),
    ("System.IntPtr", "nint", kind::I),
    ("System.UIntPtr", "nuint", kind::U),
];

/// The kind of a primitive by its full name.
pub fn primitive_named(full: &str) -> Option<u32> {
    PRIMITIVES.iter().find(|(name, ..)| *name == full).map(|(.., kind)| *kind)
}

/// The full name of a primitive.
pub fn primitive_name(kind: u32) -> Option<&'static str> {
    PRIMITIVES.iter().find(|(.., own)| *own == kind).map(|(name, ..)| *name)
}

/// The kind of a keyword such as `int` or `string`. `decimal` is a keyword, but its type is not a primitive.
pub fn kind_of_keyword(word: &str) -> Option<u32> {
    PRIMITIVES.iter().find(|(_, keyword, _)| *keyword == word).map(|(.., kind)| *kind)
}

/// The keyword of a kind.
pub fn keyword_of(kind: u32) -> Option<&'static str> {
    PRIMITIVES.iter().find(|(.., own)| *own == kind).map(|(_, keyword, _)| *keyword)
}

/// Whether a kind is a number or a character.
pub fn is_numeric(kind: u32) -> bool {
    (kind::CHAR..=kind::R8).contains(&kind) || matches!(kind, kind::I | kind::U)
}

/// Whether a kind is an integer or a character.
pub fn is_integral(kind: u32) -> bool {
    is_numeric(kind) && !matches!(kind, kind::R4 | kind::R8)
}

/// Whether a cast converts an integer of this kind to a pointer, and back (24.5): not a `char`.
pub fn casts_to_pointer(kind: u32) -> bool {
    is_integral(kind) && kind != kind::CHAR
}

/// Whether C# has an implicit numeric conversion between two kinds (language specification, 10.2.3).
pub fn widens(from: u32, to: u32) -> bool {
    use kind::{CHAR, I, I1, I2, I4, I8, R4, R8, U, U1, U2, U4, U8};
    from == to
        || match from {
            I1 => matches!(to, I2 | I4 | I8 | I | R4 | R8),
            U1 => matches!(to, I2 | U2 | I4 | U4 | I8 | U8 | I | U | R4 | R8),
            I2 => matches!(to, I4 | I8 | I | R4 | R8),
            U2 => matches!(to, I4 | U4 | I8 | U8 | I | U | R4 | R8),
            CHAR => matches!(to, U2 | I4 | U4 | I8 | U8 | I | U | R4 | R8),
            I4 => matches!(to, I8 | I | R4 | R8),
            U4 => matches!(to, I8 | U8 | U | R4 | R8),
            I => matches!(to, I8 | R4 | R8),
            U => matches!(to, U8 | R4 | R8),
            I8 | U8 => matches!(to, R4 | R8),
            R4 => to == R8,
            _ => false,
        }
}

impl Ty {
    /// An array type with this element type.
    #[must_use]
    pub fn vector(self) -> Self {
        Self::Vector(Box::new(self))
    }

    /// The type without `ref`.
    pub fn direct(&self) -> &Self {
        match self {
            Self::Reference(inner) => inner,
            other => other,
        }
    }

    /// Whether it is a value type, whose variables contain the value.
    pub fn is_value(&self) -> bool {
        match self {
            Self::Primitive(kind) => !matches!(*kind, kind::STRING | kind::OBJECT),
            Self::Named(named) => named.is_value,
            Self::Pointer(_) => true,
            _ => false,
        }
    }

    /// Whether it contains a generic parameter without an argument.
    pub fn is_open(&self) -> bool {
        match self {
            Self::Var(_) | Self::MethodVar(_) => true,
            Self::Named(named) => named.arguments.iter().any(Self::is_open),
            Self::Vector(of) | Self::Array(of, _) | Self::Pointer(of) | Self::Reference(of) => of.is_open(),
            _ => false,
        }
    }

    /// Replaces generic parameters by their arguments. Parameters without an argument stay.
    #[must_use]
    pub fn with(&self, class: &[Ty], method: &[Ty]) -> Self {
        let inner = |of: &Ty| Box::new(of.with(class, method));
        match self {
            Self::Var(at) => class.get(*at as usize).unwrap_or(self).clone(),
            Self::MethodVar(at) => match method.get(*at as usize) {
                None | Some(Self::Other) => self.clone(),
                Some(known) => known.clone(),
            },
            Self::Named(named) => Self::Named(NamedType {
                arguments: named.arguments.iter().map(|of| of.with(class, method)).collect(),
                ..named.clone()
            }),
            Self::Vector(of) => Self::Vector(inner(of)),
            Self::Array(of, rank) => Self::Array(inner(of), *rank),
            Self::Pointer(of) => Self::Pointer(inner(of)),
            Self::Reference(of) => Self::Reference(inner(of)),
            other => other.clone(),
        }
    }

    /// The generic arguments of the type.
    pub fn arguments(&self) -> &[Ty] {
        match self {
            Self::Named(named) => &named.arguments,
            _ => &[],
        }
    }

    /// The names of a tuple's elements, if it has any.
    pub fn names(&self) -> Option<&TupleNames> {
        match self {
            Self::Named(named) if named.names.is_some() => Some(&named.names),
            _ => None,
        }
    }

    /// Whether it replaces an anonymous type that the program does not have: only its members are meant.
    pub fn replaces_anonymous(&self) -> bool {
        self.names().is_some_and(|names| names.is_anonymous)
    }

    /// Whether such a type is it or a part of it.
    pub fn contains_anonymous(&self) -> bool {
        self.replaces_anonymous()
            || match self {
                Self::Named(named) => named.arguments.iter().any(Self::contains_anonymous),
                Self::Vector(of) | Self::Array(of, _) | Self::Pointer(of) | Self::Reference(of) => {
                    of.contains_anonymous()
                }
                _ => false,
            }
    }

    /// The kind of a primitive.
    pub fn kind(&self) -> Option<u32> {
        match self {
            Self::Primitive(kind) => Some(*kind),
            _ => None,
        }
    }

    /// The kind of a number or character.
    pub fn number(&self) -> Option<u32> {
        self.kind().filter(|kind| is_numeric(*kind))
    }
}
