//! Types encoded for the compiler's process: by modules and tokens, with generic parameters left open. The
//! process works out what they mean in C#. Not here: the format of messages
//! (`compiler::wire`).

use std::rc::Rc;

use clr_metadata::signature::Signature;

use crate::compiler::HelperMessage;
use crate::modules::LoadedModule;
use crate::types::ty::primitive_name;
use crate::types::{ClrTypeSystem, Ty};

/// Deepest nesting of a type sent to the compiler.
const MAX_DEPTH: usize = 48;

/// A type as it is sent to the compiler's process.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum EncodedType {
    /// A primitive, by its element type (ECMA-335 II.23.1.16).
    Primitive(u32),
    Named {
        /// `Loaded::id` of the module of the token.
        module: usize,
        /// Token of a TypeDef or TypeRef.
        token: u32,
        arguments: Vec<EncodedType>,
    },
    Vector(Box<EncodedType>),
    Array(Box<EncodedType>, u32),
    Pointer(Box<EncodedType>),
    Reference(Box<EncodedType>),
    /// A generic parameter of the frame's code: those of its types from the outside in, then the method's.
    Parameter(u32),
    /// A function pointer, which a call by the debugger cannot pass.
    FunctionPointer,
    /// C# has no name for it, or it could not be read.
    Unknown,
}

/// Arguments for the generic parameters of a signature.
#[derive(Clone, Copy, Default)]
pub(super) struct GenericArguments<'a> {
    pub(super) class: &'a [EncodedType],
    pub(super) method: &'a [EncodedType],
}

impl EncodedType {
    /// A type of a module's signature.
    pub(super) fn of(loaded: &LoadedModule, signature: &Signature, arguments: GenericArguments<'_>) -> Self {
        Self::read(loaded, signature, arguments, MAX_DEPTH)
    }

    fn read(
        loaded: &LoadedModule,
        signature: &Signature,
        arguments: GenericArguments<'_>,
        deeper: usize,
    ) -> Self {
        let Some(deeper) = deeper.checked_sub(1) else { return Self::Unknown };
        let inner = |of: &Signature| Box::new(Self::read(loaded, of, arguments, deeper));
        let parameter = |of: &[Self], at: u32| of.get(at as usize).cloned().unwrap_or(Self::Unknown);
        match signature {
            Signature::Primitive(kind) => Self::Primitive(*kind),
            Signature::Vector(of) => Self::Vector(inner(of)),
            Signature::Array(of, rank) => Self::Array(inner(of), *rank),
            Signature::Pointer(of) => Self::Pointer(inner(of)),
            Signature::Reference(of) => Self::Reference(inner(of)),
            Signature::Var(at) => parameter(arguments.class, *at),
            Signature::MethodVar(at) => parameter(arguments.method, *at),
            Signature::Named { token, arguments: own, .. } => {
                let own = own.iter().map(|of| *inner(of)).collect();
                Self::of_token(loaded, *token, own, arguments, deeper)
            }
            Signature::FunctionPointer => Self::FunctionPointer,
            Signature::Other => Self::Unknown,
        }
    }

    fn of_token(
        loaded: &LoadedModule,
        token: u32,
        own: Vec<Self>,
        arguments: GenericArguments<'_>,
        deeper: usize,
    ) -> Self {
        match token >> 24 {
            0x1b => match loaded.image().and_then(|image| image.metadata.type_spec(token)) {
                Some(spec) => Self::read(loaded, &spec, arguments, deeper),
                None => Self::Unknown,
            },
            _ => Self::Named { module: loaded.id, token, arguments: own },
        }
    }

    /// A TypeDef, TypeRef or TypeSpec of a module, without generic arguments.
    pub(super) fn of_plain_token(loaded: &LoadedModule, token: u32) -> Self {
        Self::of_token(loaded, token, Vec::new(), GenericArguments::default(), MAX_DEPTH)
    }

    /// The encoding of a type.
    pub(super) fn of_ty(ty: &Ty) -> Self {
        let inner = |of: &Ty| Box::new(Self::of_ty(of));
        match ty {
            Ty::Primitive(kind) if primitive_name(*kind).is_some() => Self::Primitive(*kind),
            Ty::Named(named) => Self::Named {
                module: named.module,
                token: named.token,
                arguments: named.arguments.iter().map(Self::of_ty).collect(),
            },
            Ty::Vector(of) => Self::Vector(inner(of)),
            Ty::Array(of, rank) => Self::Array(inner(of), *rank),
            Ty::Pointer(of) => Self::Pointer(inner(of)),
            Ty::Reference(of) => Self::Reference(inner(of)),
            _ => Self::Unknown,
        }
    }

    /// The type without `ref`.
    pub(super) fn direct(self) -> Self {
        match self {
            Self::Reference(of) => *of,
            other => other,
        }
    }

    /// The type of a field that is declared `up` base types above.
    pub(super) fn field(&self, types: &ClrTypeSystem, up: usize, token: u32) -> Option<Self> {
        let mut owner = self.clone();
        for _ in 0..up {
            owner = owner.base_of(types)?;
        }
        let (loaded, _, class) = owner.definition(types)?;
        let signature = loaded.image()?.metadata.field_type(token)?;
        Some(Self::of(&loaded, &signature, GenericArguments { class: &class, method: &[] }))
    }

    pub(super) fn base_of(&self, types: &ClrTypeSystem) -> Option<Self> {
        let (loaded, token, class) = self.definition(types)?;
        let base = loaded.image()?.metadata.base_token(token)?;
        let arguments = GenericArguments { class: &class, method: &[] };
        Some(Self::of_token(&loaded, base, Vec::new(), arguments, MAX_DEPTH))
    }

    /// The module, the TypeDef token, and the generic arguments.
    pub(super) fn definition(&self, types: &ClrTypeSystem) -> Option<(Rc<LoadedModule>, u32, Vec<Self>)> {
        let Self::Named { module, token, arguments } = self else { return None };
        let loaded = types.modules.by_id(*module)?;
        match types.ty_of_token(&loaded, *token, None, Vec::new()) {
            Ty::Named(named) => Some((types.modules.by_id(named.module)?, named.token, arguments.clone())),
            _ => None,
        }
    }

    pub(super) fn write(&self, message: &mut HelperMessage) {
        match self {
            Self::Primitive(kind) => {
                message.byte(b'P').byte(u8::try_from(*kind).unwrap_or_default());
            }
            Self::Named { module, token, arguments } => {
                let module = u32::try_from(*module).unwrap_or(u32::MAX);
                message.byte(b'N').number(module).number(*token);
                message.list(arguments, |message, argument| argument.write(message));
            }
            Self::Vector(of) => of.write(message.byte(b'V')),
            Self::Array(of, rank) => of.write(message.byte(b'A').number(*rank)),
            Self::Pointer(of) => of.write(message.byte(b'*')),
            Self::Reference(of) => of.write(message.byte(b'&')),
            Self::Parameter(at) => {
                message.byte(b'T').number(*at);
            }
            Self::FunctionPointer => {
                message.byte(b'F');
            }
            Self::Unknown => {
                message.byte(b'?');
            }
        }
    }
}
