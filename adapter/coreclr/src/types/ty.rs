//! Types of the program: how they are read from signatures and declarations, and how they are displayed. Not
//! here: finding one by name ([`super::lookup`]).

use clr_metadata::signature::Signature;
use tandem_csharp::types::TupleNames;
pub(crate) use tandem_csharp::types::{
    BOOL, INT, NamedType, OBJECT, STRING, Ty, VOID, primitive_name, primitive_named,
};

use crate::modules::LoadedModule;
use crate::names::{is_anonymous, keyword, spell_generic};
use crate::types::ClrTypeSystem;

/// Longest name of a type, characters.
const MAX_NAME_LEN: usize = 2000;
/// Display name of a type without a name.
const ANONYMOUS: &str = "<Anonymous Type>";

impl ClrTypeSystem {
    /// A type of a module's signature. Generic parameters stay open.
    pub(crate) fn ty_of(&self, loaded: &LoadedModule, signature: &Signature) -> Ty {
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
            Signature::FunctionPointer | Signature::Other => Ty::Other,
        }
    }

    /// A TypeDef, TypeRef or TypeSpec token of a module with these generic arguments.
    pub(crate) fn ty_of_token(
        &self,
        loaded: &LoadedModule,
        token: u32,
        is_value: Option<bool>,
        arguments: Vec<Ty>,
    ) -> Ty {
        let Some(image) = loaded.image() else { return Ty::Other };
        match token >> 24 {
            0x02 => self.defined(loaded, token, is_value, arguments),
            0x01 => {
                let key = (loaded.id, token);
                let known = self.references.borrow().get(&key).copied();
                let found = known.or_else(|| {
                    let (name, assembly) = image.metadata.type_ref(token);
                    let (found, token) = self.type_in(loaded, assembly, &name)?;
                    Some((found.id, token))
                });
                let Some((module, token)) = found else { return Ty::Other };
                self.references.borrow_mut().insert(key, (module, token));
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
        loaded: &LoadedModule,
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
        Ty::Named(NamedType { module: loaded.id, token, is_value, arguments, names: Default::default() })
    }

    /// The module and TypeDef token of a type; for a primitive, the class in the core library.
    pub(crate) fn definition(&self, ty: &Ty) -> Option<(std::rc::Rc<LoadedModule>, u32)> {
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

    /// As C# spells it, with namespace; truncated at the longest readable length.
    pub(crate) fn csharp(&self, ty: &Ty) -> String {
        let spelled = self.type_text(ty);
        match spelled.char_indices().nth(MAX_NAME_LEN) {
            Some((at, _)) => format!("{}…", spelled.get(..at).unwrap_or_default()),
            None => spelled,
        }
    }

    /// The elements of a tuple with these arguments: the eighth and later ones are in a nested tuple.
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

    fn type_text(&self, ty: &Ty) -> String {
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
                    (name, _) if is_anonymous(name) || ty.replaces_anonymous() => ANONYMOUS.into(),
                    ("System.Nullable`1", [inner]) => format!("{inner}?"),
                    (name, [_, _, ..]) if name.starts_with("System.ValueTuple`") => {
                        let elements = self.elements(&named.arguments).into_iter();
                        let elements: Vec<String> = elements.map(|of| self.csharp(of)).collect();
                        format!("({})", elements.join(", "))
                    }
                    (name, arguments) => spell_generic(name, arguments),
                }
            }
        }
    }

    /// A type with the names that its declaration gives to tuple elements, from the outside in
    /// and from left to right.
    pub(crate) fn with_names(&self, ty: Ty, names: Vec<Option<String>>) -> Ty {
        if names.iter().all(Option::is_none) {
            return ty;
        }
        let mut left = names.into_iter();
        self.named_from(ty, &mut left)
    }

    fn named_from(&self, ty: Ty, names: &mut std::vec::IntoIter<Option<String>>) -> Ty {
        match ty {
            Ty::Named(named) => {
                let arity = self.arity(&Ty::Named(named.clone()));
                let own: Vec<_> = names.by_ref().take(arity).map(|name| name.map(Into::into)).collect();
                let arguments = named.arguments.into_iter().map(|of| self.named_from(of, names)).collect();
                Ty::Named(NamedType { arguments, names: TupleNames::new(own), ..named })
            }
            Ty::Vector(of) => Ty::Vector(Box::new(self.named_from(*of, names))),
            Ty::Array(of, rank) => Ty::Array(Box::new(self.named_from(*of, names)), rank),
            Ty::Pointer(of) => Ty::Pointer(Box::new(self.named_from(*of, names))),
            Ty::Reference(of) => Ty::Reference(Box::new(self.named_from(*of, names))),
            other => other,
        }
    }
}
