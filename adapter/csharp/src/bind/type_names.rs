//! Type names in the source, resolved to types.
//!
//! Not here: names that may be variables or members ([`super::lookup`]).

use super::binder::{Bind, Binder, reject};
use super::classification::Classification;
use crate::syntax::tree::{SimpleName, TypeName, TypeNameKind};
use crate::types::{OBJECT, TupleNames, Ty, kind_of_keyword};

impl Binder<'_> {
    /// Binds a type name to the type that it refers to.
    pub(super) fn type_of_name(&mut self, name: &TypeName) -> Bind<Ty> {
        match &name.kind {
            TypeNameKind::Keyword(word) => match kind_of_keyword(word) {
                Some(kind) => Ok(Ty::Primitive(kind)),
                None => Ok(self.types.decimal()),
            },
            TypeNameKind::Nullable(of) => {
                let of = self.type_of_name(of)?;
                // `string?` is `string`.
                Ok(self.types.nullable_of(&of))
            }
            TypeNameKind::Array(of, ranks) => {
                let mut ty = self.type_of_name(of)?;
                for rank in ranks.iter().rev() {
                    ty = if *rank == 1 { ty.vector() } else { Ty::Array(Box::new(ty), *rank) };
                }
                Ok(ty)
            }
            TypeNameKind::Pointer(of) => Ok(Ty::Pointer(Box::new(self.type_of_name(of)?))),
            TypeNameKind::Tuple(elements) => {
                let mut types = Vec::new();
                for (ty, _) in elements {
                    types.push(self.type_of_name(ty)?);
                }
                let names = TupleNames::new(elements.iter().map(|(_, name)| name.clone()).collect());
                match self.types.tuple_of(types, names) {
                    Some(ty) => Ok(ty),
                    None => reject(
                        "CS8179",
                        "Predefined type 'System.ValueTuple' is not defined for so many elements",
                        name.span,
                    ),
                }
            }
            TypeNameKind::Named(names, is_global) => self.named_type(names, *is_global),
            TypeNameKind::Inferred => reject(
                "CS0825",
                "The contextual keyword 'var' may only appear within a local variable declaration",
                name.span,
            ),
        }
    }

    fn named_type(&mut self, names: &[SimpleName], is_global: bool) -> Bind<Ty> {
        let mut part: Option<Classification> = is_global.then(|| Classification::Namespace(String::new()));
        for name in names {
            let types = name.arguments.iter().map(|ty| self.type_of_name(ty)).collect::<Bind<Vec<_>>>()?;
            let found = match &part {
                None => self.first_of_type(name, types),
                Some(Classification::Namespace(space)) => {
                    self.in_namespace(space, &name.text, types, name.open)
                }
                Some(Classification::Type(ty)) => {
                    self.nested_type(ty, &name.text, types, name.open).map(Classification::Type)
                }
                Some(_) => None,
            };
            let Some(found) = found else {
                return match &part {
                    Some(Classification::Namespace(space)) if !space.is_empty() => reject(
                        "CS0234",
                        format!(
                            "The type or namespace name '{}' does not exist in the namespace '{space}'",
                            name.text
                        ),
                        name.span,
                    ),
                    _ => reject(
                        "CS0246",
                        format!("The type or namespace name '{}' could not be found", name.text),
                        name.span,
                    ),
                };
            };
            part = Some(found);
        }
        let span = names.last().map(|name| name.span).unwrap_or_default();
        match part {
            Some(Classification::Type(ty)) => Ok(ty),
            Some(Classification::Namespace(space)) => {
                reject("CS0118", format!("'{space}' is a namespace but is used like a type"), span)
            }
            _ => reject("CS0246", "The type or namespace name could not be found", span),
        }
    }

    fn first_of_type(&self, name: &SimpleName, types: Vec<Ty>) -> Option<Classification> {
        if name.arity() == 0 {
            if let Some((_, ty)) = self.scope.type_parameters.iter().find(|(own, _)| *own == *name.text) {
                return Some(Classification::Type(ty.clone()));
            }
            if &*name.text == "dynamic" {
                return Some(Classification::Type(OBJECT));
            }
            // These are names, unlike the keywords of other primitives.
            if matches!(&*name.text, "nint" | "nuint") {
                return kind_of_keyword(&name.text).map(|kind| Classification::Type(Ty::Primitive(kind)));
            }
        }
        if let Some(ty) = self.visible_type(&name.text, types, name.open) {
            return Some(Classification::Type(ty));
        }
        let aliases = &self.scope.imports.namespace_aliases;
        if let Some((_, space)) = aliases.iter().find(|(alias, _)| *alias == *name.text) {
            return Some(Classification::Namespace(space.clone()));
        }
        self.namespace_in_scope(&name.text).map(Classification::Namespace)
    }
}
