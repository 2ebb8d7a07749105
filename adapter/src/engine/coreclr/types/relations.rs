//! Bases, interfaces, conversions between types, and what a method's generic parameters must be.

use cordebug::value::element;

use super::Ty;
use super::ty::OBJECT;
use crate::engine::coreclr::session::Session;

/// Deepest chain of base types that is followed.
const DEEPEST: usize = 64;

impl Session {
    /// The base type; none for `object` and interfaces.
    pub(crate) fn base_of(&self, ty: &Ty) -> Option<Ty> {
        if matches!(ty, Ty::Primitive(element::OBJECT)) {
            return None;
        }
        if matches!(ty, Ty::Vector(_) | Ty::Array(..)) {
            return self.ty_named("System.Array");
        }
        let (loaded, token) = self.definition(ty)?;
        let base = loaded.image()?.metadata.base_token(token)?;
        Some(self.ty_of_token(&loaded, base, Some(false), Vec::new()).with(ty.arguments(), &[]))
    }

    /// A type and its bases, the type itself first.
    pub(crate) fn chain(&self, ty: &Ty) -> Vec<Ty> {
        let mut chain = vec![ty.direct().clone()];
        while chain.len() < DEEPEST
            && let Some(base) = chain.last().and_then(|last| self.base_of(last))
        {
            chain.push(base);
        }
        chain
    }

    /// All interfaces a type has, its own first.
    pub(crate) fn interfaces_of(&self, ty: &Ty) -> Vec<Ty> {
        let mut found: Vec<Ty> = Vec::new();
        if let Ty::Vector(of) = ty {
            for name in
                ["IList`1", "ICollection`1", "IEnumerable`1", "IReadOnlyList`1", "IReadOnlyCollection`1"]
            {
                let name = format!("System.Collections.Generic.{name}");
                found.extend(self.ty_generic(&name, vec![(**of).clone()]));
            }
        }
        for class in self.chain(ty) {
            self.declared_interfaces(&class, &mut found);
        }
        found
    }

    fn declared_interfaces(&self, ty: &Ty, found: &mut Vec<Ty>) {
        let Some((loaded, token)) = self.definition(ty) else { return };
        let Some(image) = loaded.image() else { return };
        for interface in image.metadata.interfaces(token) {
            let interface = self.ty_of_token(&loaded, interface, Some(false), Vec::new());
            let interface = interface.with(ty.arguments(), &[]);
            if interface != Ty::Other && !found.contains(&interface) && found.len() < 256 {
                found.push(interface.clone());
                self.declared_interfaces(&interface, found);
            }
        }
    }

    pub(crate) fn is_interface(&self, ty: &Ty) -> bool {
        matches!(ty, Ty::Named(_))
            && self.definition(ty).is_some_and(|(loaded, token)| {
                loaded.image().is_some_and(|image| image.metadata.is_interface(token))
            })
    }

    /// The element type an enum is stored as; `None` for what is no enum.
    pub(crate) fn enum_storage(&self, ty: &Ty) -> Option<u32> {
        let Ty::Named(named) = ty else { return None };
        named.is_value.then_some(())?;
        let loaded = self.modules.by_id(named.module)?;
        let metadata = &loaded.image()?.metadata;
        (metadata.base_name(named.token)? == "System.Enum").then_some(())?;
        let field = metadata.fields(named.token).into_iter().find(|field| !field.is_static)?;
        match metadata.field_type(field.token)? {
            clr_metadata::signature::Signature::Primitive(kind) => Some(kind),
            _ => None,
        }
    }

    /// What a nullable type may hold.
    pub(crate) fn nullable(&self, ty: &Ty) -> Option<Ty> {
        match ty {
            Ty::Named(named) if named.arguments.len() == 1 && self.full_name(ty) == "System.Nullable`1" => {
                named.arguments.first().cloned()
            }
            _ => None,
        }
    }

    pub(crate) fn is_decimal(&self, ty: &Ty) -> bool {
        matches!(ty, Ty::Named(named) if named.is_value) && self.full_name(ty) == "System.Decimal"
    }

    /// Whether a reference, or a boxed value, of one type is one of the other: classes, interfaces, variance, arrays.
    pub(crate) fn derives(&self, from: &Ty, to: &Ty) -> bool {
        if from == to || *to == OBJECT {
            return true;
        }
        match (from, to) {
            (Ty::Null, to) => !to.is_value() || self.nullable(to).is_some(),
            (Ty::Vector(from), Ty::Vector(to)) => {
                !from.is_value() && !to.is_value() && self.derives(from, to)
            }
            _ => {
                self.chain(from).contains(to)
                    || (self.is_interface(to)
                        && (self.fits_variant(from, to)
                            || self
                                .interfaces_of(from)
                                .iter()
                                .any(|own| own == to || self.fits_variant(own, to))))
            }
        }
    }

    /// `IEnumerable<string>` is an `IEnumerable<object>`.
    fn fits_variant(&self, from: &Ty, to: &Ty) -> bool {
        let (Ty::Named(from), Ty::Named(to)) = (from, to) else { return false };
        from.module == to.module
            && from.token == to.token
            && !from.arguments.is_empty()
            && from.arguments.iter().zip(&to.arguments).all(|(from, to)| {
                from == to
                    || (!from.is_value()
                        && !to.is_value()
                        && (self.derives(from, to) || self.derives(to, from)))
            })
    }

    /// Finds what the method's generic parameters must be for an argument of type `from` to fit `to`.
    pub(crate) fn infer(&self, to: &Ty, from: &Ty, found: &mut Vec<Ty>) {
        match (to, from) {
            (_, Ty::Null | Ty::Other) => {}
            (Ty::MethodVar(at), from) => {
                let at = *at as usize;
                if found.len() <= at {
                    found.resize(at + 1, Ty::Other);
                }
                // The wider of two candidates.
                if let Some(slot) = found.get_mut(at)
                    && (*slot == Ty::Other || (slot != from && self.widens(slot, from)))
                {
                    *slot = from.clone();
                }
            }
            (Ty::Vector(to), Ty::Vector(from))
            | (Ty::Pointer(to), Ty::Pointer(from))
            | (Ty::Reference(to), Ty::Reference(from)) => self.infer(to, from, found),
            (Ty::Array(to, rank), Ty::Array(from, other)) if rank == other => self.infer(to, from, found),
            (Ty::Reference(to), from) => self.infer(to, from, found),
            (Ty::Named(wanted), from) if to.is_open() => {
                let same = |ty: &Ty| matches!(ty, Ty::Named(own) if own.module == wanted.module && own.token == wanted.token);
                let chain = self.chain(from);
                let hit = chain.iter().find(|ty| same(ty)).cloned();
                let hit = hit.or_else(|| self.interfaces_of(from).into_iter().find(same));
                if let Some(Ty::Named(own)) = hit {
                    for (to, from) in wanted.arguments.iter().zip(&own.arguments) {
                        self.infer(to, from, found);
                    }
                }
            }
            _ => {}
        }
    }

    /// Whether every value of `from` is one of `to` without losing anything.
    pub(crate) fn widens(&self, from: &Ty, to: &Ty) -> bool {
        match (from, to) {
            (Ty::Primitive(from), Ty::Primitive(to)) if numeric(*from) && numeric(*to) => widens(*from, *to),
            (Ty::Primitive(from), to) if numeric(*from) && self.is_decimal(to) => {
                !matches!(*from, element::R4 | element::R8)
            }
            (from, to) => match self.nullable(to) {
                Some(inner) if self.nullable(from).is_none() => *from == inner || self.widens(from, &inner),
                Some(inner) => self.nullable(from).is_some_and(|from| self.widens(&from, &inner)),
                None => self.derives(from, to),
            },
        }
    }
}

/// Numbers and characters.
pub(crate) fn numeric(kind: u32) -> bool {
    (element::CHAR..=element::R8).contains(&kind) || matches!(kind, element::I | element::U)
}

/// C#'s implicit numeric conversions (language specification, 10.2.3).
pub(crate) fn widens(from: u32, to: u32) -> bool {
    use element::{CHAR, I, I1, I2, I4, I8, R4, R8, U, U1, U2, U4, U8};
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
