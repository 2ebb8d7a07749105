//! Bases and interfaces of types, reference conversions between them, and special types (spans, enums,
//! nullables). Not here: the conversions that C# defines ([`tandem_csharp`]).

use cordebug::value::element;

use super::Ty;
use super::ty::OBJECT;
use crate::types::ClrTypeSystem;

/// Deepest chain of base types that is followed.
const MAX_DEPTH: usize = 64;

impl ClrTypeSystem {
    /// Whether values of a type exist on stacks only.
    pub(crate) fn is_ref_struct(&self, ty: &Ty) -> bool {
        matches!(ty, Ty::Named(named) if named.is_value
            && self.type_info(named.def()).is_some_and(|info| info.is_by_ref))
    }

    pub(crate) fn is_span(&self, ty: &Ty) -> bool {
        ["System.Span`1", "System.ReadOnlySpan`1"].contains(&self.full_name(ty).as_str())
    }

    /// Whether objects of a type can be enumerated; `interfaces`: those that it implements.
    pub(crate) fn is_sequence(&self, ty: &Ty, interfaces: &[Ty]) -> bool {
        matches!(ty, Ty::Named(named) if !named.is_value)
            && interfaces
                .iter()
                .any(|interface| self.full_name(interface) == "System.Collections.Generic.IEnumerable`1")
    }

    /// The base type; `None` for `object` and interfaces.
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
        while chain.len() < MAX_DEPTH
            && let Some(base) = chain.last().and_then(|last| self.base_of(last))
        {
            chain.push(base);
        }
        chain
    }

    /// All interfaces of a type, its own first.
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

    /// The element type that an enum is stored as; `None` for any other type.
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

    /// The underlying type of a nullable type.
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

    /// Whether a reference, or a boxed value, of one type converts to another: classes,
    /// interfaces, variance, arrays.
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

    /// Whether a type's module is the user's.
    pub(crate) fn is_user_type(&self, ty: &Ty) -> bool {
        matches!(ty, Ty::Named(_)) && self.definition(ty).is_some_and(|(loaded, _)| !loaded.is_framework())
    }
}
