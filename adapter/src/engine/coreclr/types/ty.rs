//! What a type is.

use clr_metadata::signature::Signature;
use cordebug::value::element;

use crate::engine::coreclr::modules::Loaded;
use crate::engine::coreclr::names::{keyword, spelled_generic};
use crate::engine::coreclr::session::Session;

/// A class, struct, interface, enum or delegate.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub(crate) struct Named {
    /// `Loaded::id` of its module.
    pub(crate) module: usize,
    /// TypeDef token.
    pub(crate) token: u32,
    pub(crate) is_value: bool,
    /// Generic arguments, those of enclosing classes first.
    pub(crate) arguments: Vec<Ty>,
}

/// A type.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub(crate) enum Ty {
    /// A primitive, `void`, `string` or `object`, by its element type.
    Primitive(u32),
    Named(Named),
    /// An array with one dimension.
    Vector(Box<Ty>),
    /// An array with this many dimensions.
    Array(Box<Ty>, u32),
    Pointer(Box<Ty>),
    Reference(Box<Ty>),
    /// Generic parameter of the class, where it is not known what stands for it.
    Var(u32),
    /// Generic parameter of the method.
    MethodVar(u32),
    /// Of `null`.
    Null,
    /// One that C# cannot name, or that could not be found.
    Other,
}

/// Longest name of a type, characters.
const LONGEST_NAME: usize = 2000;
/// What a type without a name is called.
const ANONYMOUS: &str = "<Anonymous Type>";

pub(crate) const OBJECT: Ty = Ty::Primitive(element::OBJECT);
pub(crate) const STRING: Ty = Ty::Primitive(element::STRING);
pub(crate) const BOOL: Ty = Ty::Primitive(element::BOOLEAN);
pub(crate) const INT: Ty = Ty::Primitive(element::I4);

/// Full names of the types that are keywords.
const PRIMITIVES: [(&str, u32); 17] = [
    ("System.Void", element::VOID),
    ("System.Boolean", element::BOOLEAN),
    ("System.Char", element::CHAR),
    ("System.SByte", element::I1),
    ("System.Byte", element::U1),
    ("System.Int16", element::I2),
    ("System.UInt16", element::U2),
    ("System.Int32", element::I4),
    ("System.UInt32", element::U4),
    ("System.Int64", element::I8),
    ("System.UInt64", element::U8),
    ("System.Single", element::R4),
    ("System.Double", element::R8),
    ("System.String", element::STRING),
    ("System.Object", element::OBJECT),
    ("System.IntPtr", element::I),
    ("System.UIntPtr", element::U),
];

/// The element type of a primitive's full name.
pub(crate) fn primitive_named(full: &str) -> Option<u32> {
    PRIMITIVES.iter().find(|(name, _)| *name == full).map(|(_, kind)| *kind)
}

/// The full name of a primitive.
pub(crate) fn primitive_name(kind: u32) -> Option<&'static str> {
    PRIMITIVES.iter().find(|(_, own)| *own == kind).map(|(name, _)| *name)
}

impl Ty {
    pub(crate) fn vector(self) -> Self {
        Self::Vector(Box::new(self))
    }

    /// Without `ref`.
    pub(crate) fn direct(&self) -> &Self {
        match self {
            Self::Reference(inner) => inner,
            other => other,
        }
    }

    /// Whether variables of it hold the value itself.
    pub(crate) fn is_value(&self) -> bool {
        match self {
            Self::Primitive(kind) => !matches!(*kind, element::STRING | element::OBJECT),
            Self::Named(named) => named.is_value,
            Self::Pointer(_) => true,
            _ => false,
        }
    }

    pub(crate) fn is_open(&self) -> bool {
        match self {
            Self::Var(_) | Self::MethodVar(_) => true,
            Self::Named(named) => named.arguments.iter().any(Self::is_open),
            Self::Vector(of) | Self::Array(of, _) | Self::Pointer(of) | Self::Reference(of) => of.is_open(),
            _ => false,
        }
    }

    /// With generic parameters replaced by what stands for them; those that nothing stands for stay.
    pub(crate) fn with(&self, class: &[Ty], method: &[Ty]) -> Self {
        let inner = |of: &Ty| Box::new(of.with(class, method));
        match self {
            Self::Var(at) => class.get(*at as usize).unwrap_or(self).clone(),
            Self::MethodVar(at) => match method.get(*at as usize) {
                None | Some(Self::Other) => self.clone(),
                Some(known) => known.clone(),
            },
            Self::Named(named) => Self::Named(Named {
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

    /// Generic arguments.
    pub(crate) fn arguments(&self) -> &[Ty] {
        match self {
            Self::Named(named) => &named.arguments,
            _ => &[],
        }
    }
}

impl Session {
    /// A type of a module's signature. Generic parameters stay open.
    pub(crate) fn ty_of(&self, loaded: &Loaded, signature: &Signature) -> Ty {
        let boxed = |of: &Signature| Box::new(self.ty_of(loaded, of));
        match signature {
            Signature::Primitive(kind) => Ty::Primitive(*kind),
            Signature::Vector(of) => Ty::Vector(boxed(of)),
            Signature::Array(of, rank) => Ty::Array(boxed(of), *rank),
            Signature::Pointer(of) => Ty::Pointer(boxed(of)),
            Signature::Reference(of) => Ty::Reference(boxed(of)),
            Signature::Var(at) => Ty::Var(*at),
            Signature::MethodVar(at) => Ty::MethodVar(*at),
            Signature::Named { token, is_value, arguments } => {
                let arguments = arguments.iter().map(|of| self.ty_of(loaded, of)).collect();
                self.ty_of_token(loaded, *token, Some(*is_value), arguments)
            }
            Signature::Other => Ty::Other,
        }
    }

    /// A TypeDef, TypeRef or TypeSpec token of a module with these generic arguments.
    pub(crate) fn ty_of_token(
        &self,
        loaded: &Loaded,
        token: u32,
        is_value: Option<bool>,
        arguments: Vec<Ty>,
    ) -> Ty {
        let Some(image) = loaded.image() else { return Ty::Other };
        match token >> 24 {
            0x02 => self.defined(loaded, token, is_value, arguments),
            0x01 => {
                let key = (loaded.id, token);
                let known = self.known.references.borrow().get(&key).copied();
                let found = known.or_else(|| {
                    let (name, assembly) = image.metadata.type_ref(token);
                    let (found, token) = self.type_in(assembly, &name)?;
                    Some((found.id, token))
                });
                let Some((module, token)) = found else { return Ty::Other };
                self.known.references.borrow_mut().insert(key, (module, token));
                match self.modules.by_id(module) {
                    Some(found) => self.defined(&found, token, is_value, arguments),
                    None => Ty::Other,
                }
            }
            _ => match image.metadata.type_spec(token) {
                Some(spec) => self.ty_of(loaded, &spec),
                None => Ty::Other,
            },
        }
    }

    /// A TypeDef of a module.
    pub(crate) fn defined(
        &self,
        loaded: &Loaded,
        token: u32,
        is_value: Option<bool>,
        arguments: Vec<Ty>,
    ) -> Ty {
        let Some(image) = loaded.image() else { return Ty::Other };
        if loaded.is_core()
            && let Some(kind) = primitive_named(&image.metadata.type_name(token))
        {
            return Ty::Primitive(kind);
        }
        let is_value = is_value.unwrap_or_else(|| {
            matches!(image.metadata.base_name(token).as_deref(), Some("System.ValueType" | "System.Enum"))
                && !(loaded.is_core() && image.metadata.type_name(token) == "System.Enum")
        });
        Ty::Named(Named { module: loaded.id, token, is_value, arguments })
    }

    /// The module and TypeDef token behind a type; of a primitive the class in the core library.
    pub(crate) fn definition(&self, ty: &Ty) -> Option<(std::rc::Rc<Loaded>, u32)> {
        match ty {
            Ty::Named(named) => Some((self.modules.by_id(named.module)?, named.token)),
            Ty::Primitive(kind) => self.type_named(primitive_name(*kind)?),
            Ty::Vector(_) | Ty::Array(..) => self.type_named("System.Array"),
            Ty::Reference(of) => self.definition(of),
            _ => None,
        }
    }

    /// Full name with arity, as the metadata spells it; empty for types without one.
    pub(crate) fn full_name(&self, ty: &Ty) -> String {
        match ty {
            Ty::Primitive(kind) => primitive_name(*kind).unwrap_or_default().into(),
            Ty::Named(named) => {
                let loaded = self.modules.by_id(named.module);
                let name = loaded.and_then(|loaded| Some(loaded.image()?.metadata.type_name(named.token)));
                name.unwrap_or_default()
            }
            _ => String::new(),
        }
    }

    /// As C# spells it, with namespace; cut where nobody reads on.
    pub(crate) fn csharp(&self, ty: &Ty) -> String {
        let spelled = self.spelled(ty);
        match spelled.char_indices().nth(LONGEST_NAME) {
            Some((at, _)) => format!("{}…", spelled.get(..at).unwrap_or_default()),
            None => spelled,
        }
    }

    /// The elements of a tuple with these arguments: the eighth and those behind it are in a tuple inside the tuple.
    fn elements<'a>(&self, arguments: &'a [Ty]) -> Vec<&'a Ty> {
        match arguments {
            [first @ .., rest]
                if first.len() == 7 && self.full_name(rest).starts_with("System.ValueTuple`") =>
            {
                first.iter().chain(self.elements(rest.arguments())).collect()
            }
            all => all.iter().collect(),
        }
    }

    fn spelled(&self, ty: &Ty) -> String {
        match ty {
            Ty::Primitive(kind) => keyword(*kind).unwrap_or("?").into(),
            Ty::Vector(_) | Ty::Array(..) => {
                // `int[][,]` is an array of `int[,]`: brackets read from the outside in.
                let (mut of, mut brackets) = (ty, String::new());
                loop {
                    match of {
                        Ty::Vector(inner) => {
                            brackets.push_str("[]");
                            of = inner;
                        }
                        Ty::Array(inner, rank) => {
                            let commas = ",".repeat(rank.saturating_sub(1).min(32) as usize);
                            brackets.push_str(&format!("[{commas}]"));
                            of = inner;
                        }
                        _ => break format!("{}{brackets}", self.csharp(of)),
                    }
                }
            }
            Ty::Pointer(of) => format!("{}*", self.csharp(of)),
            Ty::Reference(of) => format!("ref {}", self.csharp(of)),
            Ty::Var(at) | Ty::MethodVar(at) => format!("T{at}"),
            Ty::Null => "object".into(),
            Ty::Other => "?".into(),
            Ty::Named(named) => {
                let name = self.full_name(ty);
                let arguments: Vec<String> = named.arguments.iter().map(|of| self.csharp(of)).collect();
                match (name.as_str(), arguments.as_slice()) {
                    ("System.Decimal", _) => "decimal".into(),
                    (name, _) if name.starts_with("<>f__AnonymousType") => ANONYMOUS.into(),
                    ("System.Nullable`1", [inner]) => format!("{inner}?"),
                    (name, [_, _, ..]) if name.starts_with("System.ValueTuple`") => {
                        let elements = self.elements(&named.arguments).into_iter();
                        let elements: Vec<String> = elements.map(|of| self.csharp(of)).collect();
                        format!("({})", elements.join(", "))
                    }
                    (name, arguments) => spelled_generic(name, arguments),
                }
            }
        }
    }
}
