//! From types as they are written to types.

use super::binder::{Bind, Binder, Part, wrong};
use crate::syntax::tree::{Name, TypeKind, TypeName};
use crate::types::{OBJECT, TupleNames, Ty, kind_of_keyword};

impl Binder<'_> {
    /// A type as it is written.
    pub(super) fn type_of_name(&mut self, name: &TypeName) -> Bind<Ty> {
        match &name.kind {
            TypeKind::Keyword(word) => match kind_of_keyword(word) {
                Some(kind) => Ok(Ty::Primitive(kind)),
                None => Ok(self.types.decimal()),
            },
            TypeKind::Nullable(of) => {
                let of = self.type_of_name(of)?;
                // `string?` is `string`.
                Ok(self.types.nullable_of(&of))
            }
            TypeKind::Array(of, ranks) => {
                let mut ty = self.type_of_name(of)?;
                for rank in ranks.iter().rev() {
                    ty = if *rank == 1 { ty.vector() } else { Ty::Array(Box::new(ty), *rank) };
                }
                Ok(ty)
            }
            TypeKind::Pointer(of) => Ok(Ty::Pointer(Box::new(self.type_of_name(of)?))),
            TypeKind::Tuple(elements) => {
                let mut types = Vec::new();
                for (ty, _) in elements {
                    types.push(self.type_of_name(ty)?);
                }
                let names = TupleNames::new(elements.iter().map(|(_, name)| name.clone()).collect());
                match self.types.tuple_of(types, names) {
                    Some(ty) => Ok(ty),
                    None => wrong(
                        "CS8179",
                        "Predefined type 'System.ValueTuple' is not defined for so many elements",
                        name.span,
                    ),
                }
            }
            TypeKind::Named(names, is_global) => self.named_type(names, *is_global),
            TypeKind::Inferred => wrong(
                "CS0825",
                "The contextual keyword 'var' may only appear within a local variable declaration",
                name.span,
            ),
        }
    }

    fn named_type(&mut self, names: &[Name], is_global: bool) -> Bind<Ty> {
        let mut part: Option<Part> = is_global.then(|| Part::Namespace(String::new()));
        for name in names {
            let types = name.arguments.iter().map(|ty| self.type_of_name(ty)).collect::<Bind<Vec<_>>>()?;
            let found = match &part {
                None => self.first_of_type(name, types),
                Some(Part::Namespace(space)) => self.in_namespace(space, &name.text, types, name.open),
                Some(Part::Type(ty)) => self.nested_type(ty, &name.text, types, name.open).map(Part::Type),
                Some(_) => None,
            };
            let Some(found) = found else {
                return match &part {
                    Some(Part::Namespace(space)) if !space.is_empty() => wrong(
                        "CS0234",
                        format!(
                            "The type or namespace name '{}' does not exist in the namespace '{space}'",
                            name.text
                        ),
                        name.span,
                    ),
                    _ => wrong(
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
            Some(Part::Type(ty)) => Ok(ty),
            Some(Part::Namespace(space)) => {
                wrong("CS0118", format!("'{space}' is a namespace but is used like a type"), span)
            }
            _ => wrong("CS0246", "The type or namespace name could not be found", span),
        }
    }

    fn first_of_type(&self, name: &Name, types: Vec<Ty>) -> Option<Part> {
        if name.arity() == 0 {
            if let Some((_, ty)) = self.scope.type_parameters.iter().find(|(own, _)| *own == *name.text) {
                return Some(Part::Type(ty.clone()));
            }
            if &*name.text == "dynamic" {
                return Some(Part::Type(OBJECT));
            }
            // They are names, unlike the other primitives.
            if matches!(&*name.text, "nint" | "nuint") {
                return kind_of_keyword(&name.text).map(|kind| Part::Type(Ty::Primitive(kind)));
            }
        }
        if let Some(ty) = self.visible_type(&name.text, types, name.open) {
            return Some(Part::Type(ty));
        }
        let aliases = &self.scope.imports.namespace_aliases;
        if let Some((_, space)) = aliases.iter().find(|(alias, _)| *alias == *name.text) {
            return Some(Part::Namespace(space.clone()));
        }
        self.types.system.is_namespace(&name.text).then(|| Part::Namespace(name.text.to_string()))
    }
}
