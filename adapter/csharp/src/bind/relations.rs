//! Relations between types: bases, interfaces, nullables, enums, constraints, and reference conversions.
//!
//! Not here: conversions of values ([`super::conversions`]).

use std::cmp::Ordering;
use std::rc::Rc;

use super::system::{Member, Method, TypeInfo, TypeKind, TypeProvider, Variance};
use crate::types::{Def, NamedType, OBJECT, TupleNames, Ty, kind, primitive_name, widens};

/// Maximum number of base types that are followed.
const MAX_BASES: usize = 64;
/// Maximum number of interfaces of one type.
const MAX_INTERFACES: usize = 256;

/// Computes relations between the types of a provider.
#[derive(Clone, Copy)]
pub struct TypeRelations<'a> {
    pub(crate) system: &'a dyn TypeProvider,
}

impl<'a> TypeRelations<'a> {
    /// Creates it for the types of a provider.
    pub fn new(system: &'a dyn TypeProvider) -> Self {
        Self { system }
    }

    /// The definition of a type; for a primitive, the one in the core library.
    pub fn def(&self, ty: &Ty) -> Option<Def> {
        match ty {
            Ty::Named(named) => Some(named.def()),
            Ty::Primitive(kind) => self.system.find(primitive_name(*kind)?),
            Ty::Vector(_) | Ty::Array(..) => self.system.find("System.Array"),
            Ty::Reference(of) => self.def(of),
            _ => None,
        }
    }

    /// The data of a type's definition.
    pub fn info(&self, ty: &Ty) -> Option<Rc<TypeInfo>> {
        self.system.info(self.def(ty)?)
    }

    /// Constructs a type with these generic arguments.
    pub(crate) fn make(&self, def: Def, arguments: Vec<Ty>) -> Ty {
        let Some(info) = self.system.info(def) else { return Ty::Other };
        if let Some(kind) = crate::types::primitive_named(&info.full_name)
            && self.system.find(&info.full_name) == Some(def)
        {
            return Ty::Primitive(kind);
        }
        let is_value = matches!(info.kind, TypeKind::Struct | TypeKind::Enum(_));
        let names = TupleNames::default();
        Ty::Named(NamedType { module: def.module, token: def.token, is_value, arguments, names })
    }

    /// A type by its full name.
    pub(crate) fn named(&self, full_name: &str, arguments: Vec<Ty>) -> Option<Ty> {
        Some(self.make(self.system.find(full_name)?, arguments))
    }

    /// Whether its definition has this full name.
    pub fn is_named(&self, ty: &Ty, full_name: &str) -> bool {
        matches!(ty, Ty::Named(_)) && self.info(ty).is_some_and(|info| *info.full_name == *full_name)
    }

    /// The nullable type `T?` of a value type.
    pub(crate) fn nullable_of(&self, ty: &Ty) -> Ty {
        if !ty.is_value() || self.nullable(ty).is_some() || matches!(ty, Ty::Pointer(_)) {
            return ty.clone();
        }
        self.named("System.Nullable`1", vec![ty.clone()]).unwrap_or_else(|| ty.clone())
    }

    /// The underlying type of a nullable type.
    pub fn nullable(&self, ty: &Ty) -> Option<Ty> {
        match ty {
            Ty::Named(named) if named.is_value && named.arguments.len() == 1 => {
                self.is_named(ty, "System.Nullable`1").then(|| named.arguments.first().cloned()).flatten()
            }
            _ => None,
        }
    }

    /// The type without its `?`.
    pub(crate) fn inside(&self, ty: &Ty) -> Ty {
        self.nullable(ty).unwrap_or_else(|| ty.clone())
    }

    /// The underlying type of an enum, as a [`kind`].
    pub fn enum_storage(&self, ty: &Ty) -> Option<u32> {
        match ty {
            Ty::Named(named) if named.is_value => match self.system.info(named.def())?.kind {
                TypeKind::Enum(kind) => Some(kind),
                _ => None,
            },
            _ => None,
        }
    }

    pub(crate) fn is_decimal(&self, ty: &Ty) -> bool {
        matches!(ty, Ty::Named(named) if named.is_value && named.arguments.is_empty())
            && self.is_named(ty, "System.Decimal")
    }

    pub(crate) fn decimal(&self) -> Ty {
        self.named("System.Decimal", Vec::new()).unwrap_or(Ty::Other)
    }

    pub(crate) fn is_interface(&self, ty: &Ty) -> bool {
        matches!(ty, Ty::Named(named) if !named.is_value)
            && self.info(ty).is_some_and(|info| info.kind == TypeKind::Interface)
    }

    pub(crate) fn is_delegate(&self, ty: &Ty) -> bool {
        matches!(ty, Ty::Named(named) if !named.is_value)
            && self.info(ty).is_some_and(|info| info.kind == TypeKind::Delegate)
    }

    pub(crate) fn is_by_ref(&self, ty: &Ty) -> bool {
        matches!(ty, Ty::Named(named) if named.is_value) && self.info(ty).is_some_and(|info| info.is_by_ref)
    }

    pub(crate) fn is_struct(&self, ty: &Ty) -> bool {
        matches!(ty, Ty::Named(named) if named.is_value)
            && self.info(ty).is_some_and(|info| info.kind == TypeKind::Struct)
    }

    /// Whether a type is `Span<T>` or `ReadOnlySpan<T>`.
    pub(crate) fn is_span(&self, ty: &Ty) -> bool {
        let is_span = |name: &str| matches!(name, "System.Span`1" | "System.ReadOnlySpan`1");
        self.info(ty).is_some_and(|info| is_span(&info.full_name))
    }

    /// Whether the language itself has operators for a type.
    pub(crate) fn is_built_in(&self, ty: &Ty) -> bool {
        match ty {
            Ty::Primitive(kind) => !matches!(*kind, kind::OBJECT | kind::VOID),
            other => self.is_decimal(other) || self.enum_storage(other).is_some(),
        }
    }

    /// The elements of a tuple, including those of the nested tuple of a long one.
    pub(crate) fn tuple(&self, ty: &Ty) -> Option<Vec<Ty>> {
        let Ty::Named(named) = ty else { return None };
        (named.is_value && !named.arguments.is_empty()).then_some(())?;
        let is_tuple = self.info(ty).is_some_and(|info| info.full_name.starts_with("System.ValueTuple`"));
        is_tuple.then_some(())?;
        match named.arguments.as_slice() {
            [first @ .., rest] if first.len() == 7 => {
                let mut all = first.to_vec();
                all.extend(self.tuple(rest)?);
                Some(all)
            }
            all => Some(all.to_vec()),
        }
    }

    /// The tuple type of these elements; long ones are nested.
    pub(crate) fn tuple_of(&self, elements: Vec<Ty>, names: TupleNames) -> Option<Ty> {
        if elements.len() > 7 {
            return None;
        }
        match self.named(&format!("System.ValueTuple`{}", elements.len()), elements)? {
            Ty::Named(named) => Some(Ty::Named(NamedType { names, ..named })),
            _ => None,
        }
    }

    /// The base type; `None` for `object` and interfaces.
    pub(crate) fn base(&self, ty: &Ty) -> Option<Ty> {
        match ty {
            Ty::Primitive(kind::OBJECT) => None,
            Ty::Vector(_) | Ty::Array(..) => self.named("System.Array", Vec::new()),
            _ => Some(self.info(ty)?.base.as_ref()?.with(ty.arguments(), &[])),
        }
    }

    /// A type and its bases, the type itself first.
    pub(crate) fn chain(&self, ty: &Ty) -> Vec<Ty> {
        let mut chain = vec![ty.direct().clone()];
        while chain.len() < MAX_BASES
            && let Some(base) = chain.last().and_then(|last| self.base(last))
        {
            chain.push(base);
        }
        chain
    }

    /// The types in which members of a value are looked up: its bases; for an interface, the interfaces that
    /// it extends, and `object`.
    pub(crate) fn lineage(&self, ty: &Ty) -> Vec<Ty> {
        let mut all = self.chain(ty);
        if self.is_interface(ty) {
            all.extend(self.interfaces(ty));
            all.push(OBJECT);
        }
        all
    }

    /// All interfaces that a type implements.
    pub(crate) fn interfaces(&self, ty: &Ty) -> Vec<Ty> {
        let mut found: Vec<Ty> = Vec::new();
        if let Ty::Vector(of) = ty {
            for name in
                ["IList`1", "ICollection`1", "IEnumerable`1", "IReadOnlyList`1", "IReadOnlyCollection`1"]
            {
                found.extend(self.named(&format!("System.Collections.Generic.{name}"), vec![(**of).clone()]));
            }
        }
        for class in self.chain(ty) {
            self.declared_interfaces(&class, &mut found);
        }
        found
    }

    fn declared_interfaces(&self, ty: &Ty, found: &mut Vec<Ty>) {
        let Some(info) = self.info(ty) else { return };
        for interface in &info.interfaces {
            let interface = interface.with(ty.arguments(), &[]);
            if interface != Ty::Other && !found.contains(&interface) && found.len() < MAX_INTERFACES {
                found.push(interface.clone());
                self.declared_interfaces(&interface, found);
            }
        }
    }

    /// The interface with this full name that a type implements or is, with its generic arguments.
    pub(crate) fn as_interface(&self, ty: &Ty, full_name: &str) -> Option<Ty> {
        if self.is_named(ty, full_name) {
            return Some(ty.clone());
        }
        self.interfaces(ty).into_iter().find(|interface| self.is_named(interface, full_name))
    }

    /// The type of the items of a sequence.
    pub(crate) fn item_of(&self, ty: &Ty) -> Option<Ty> {
        match ty {
            Ty::Vector(of) => Some((**of).clone()),
            Ty::Primitive(kind::STRING) => Some(crate::types::CHAR),
            _ => {
                let sequence = self.as_interface(ty, "System.Collections.Generic.IEnumerable`1")?;
                sequence.arguments().first().cloned()
            }
        }
    }

    /// Whether a reference of one type, or its boxed value, is a reference of the other type: by classes,
    /// interfaces, variance, arrays.
    pub fn derives(&self, from: &Ty, to: &Ty) -> bool {
        if from == to || *to == OBJECT && !matches!(from, Ty::Pointer(_)) {
            return true;
        }
        match (from, to) {
            (Ty::Null, to) => !to.is_value() || self.nullable(to).is_some() || matches!(to, Ty::Pointer(_)),
            (Ty::Vector(from), Ty::Vector(to)) => {
                !from.is_value() && !to.is_value() && self.derives(from, to)
            }
            (Ty::Array(from, rank), Ty::Array(to, other)) => {
                rank == other && !from.is_value() && !to.is_value() && self.derives(from, to)
            }
            (_, Ty::Named(target)) if !target.is_value => {
                if self.is_interface(to) || self.is_delegate(to) {
                    return self.fits_variant(from, to)
                        || self.interfaces(from).iter().any(|own| own == to || self.fits_variant(own, to));
                }
                self.chain(from).contains(to)
            }
            _ => false,
        }
    }

    /// Whether a variance conversion exists: `IEnumerable<string>` is an `IEnumerable<object>`, and an array
    /// is a sequence of its items.
    fn fits_variant(&self, from: &Ty, to: &Ty) -> bool {
        let (Ty::Named(from), Ty::Named(to)) = (from, to) else { return false };
        if from.def() != to.def() || from.arguments.is_empty() {
            return false;
        }
        let Some(info) = self.system.info(from.def()) else { return false };
        let pairs = from.arguments.iter().zip(&to.arguments).enumerate();
        pairs.into_iter().all(|(at, (from, to))| {
            if from == to {
                return true;
            }
            if from.is_value() || to.is_value() {
                return false;
            }
            match info.parameters.get(at) {
                Some(Variance::Out) => self.derives(from, to),
                Some(Variance::In) => self.derives(to, from),
                _ => false,
            }
        })
    }

    /// Whether an implicit conversion exists for all values: to wider numbers, base types, nullables and
    /// boxes (language specification, 10.2, without conversions of constants and user-defined ones).
    pub(crate) fn widens(&self, from: &Ty, to: &Ty) -> bool {
        if from == to {
            return true;
        }
        match (from, to) {
            (Ty::Primitive(a), Ty::Primitive(b)) if from.number().is_some() && to.number().is_some() => {
                return widens(*a, *b);
            }
            (Ty::Primitive(kind), to) if from.number().is_some() && self.is_decimal(to) => {
                return !matches!(*kind, kind::R4 | kind::R8);
            }
            (Ty::Pointer(_), Ty::Pointer(of)) => return **of == Ty::Primitive(kind::VOID),
            _ => {}
        }
        if let Some(inner) = self.nullable(to) {
            return *from == Ty::Null || self.widens(&self.inside(from), &inner);
        }
        if self.is_by_ref(from) || matches!(from, Ty::Pointer(_)) || *from == Ty::Primitive(kind::VOID) {
            return false;
        }
        !to.is_value() && self.derives(&self.inside(from), to)
    }

    /// Whether generic arguments satisfy the constraints of the method.
    pub(crate) fn satisfies(&self, method: &Method, owner: &Ty, types: &[Ty]) -> bool {
        method.generics.iter().zip(types).all(|(generic, ty)| {
            if generic.is_struct && (!ty.is_value() || self.nullable(ty).is_some()) {
                return false;
            }
            if generic.is_class && ty.is_value() {
                return false;
            }
            generic.bounds.iter().all(|bound| {
                let bound = bound.with(owner.arguments(), types);
                bound == Ty::Other
                    || bound.is_open()
                    || bound == OBJECT
                    || self.is_named(&bound, "System.ValueType") && ty.is_value()
                    || self.widens(ty, &bound)
            })
        })
    }

    /// Whether a parameter takes a lambda or a method: a delegate, or an expression tree.
    pub(crate) fn takes_lambda(&self, ty: &Ty) -> bool {
        let Some(info) = self.info(ty) else { return false };
        info.kind == TypeKind::Delegate
            || matches!(&*info.full_name, "System.Delegate" | "System.MulticastDelegate")
            || info.full_name.starts_with("System.Linq.Expressions.Expression`")
    }

    /// Whether a type is unmanaged: a struct without references, also in its fields.
    pub(crate) fn is_unmanaged(&self, ty: &Ty, deeper: usize) -> bool {
        match ty {
            Ty::Primitive(kind) => !matches!(*kind, kind::STRING | kind::OBJECT),
            Ty::Pointer(_) => true,
            Ty::Named(named) if named.is_value && deeper > 0 => {
                self.enum_storage(ty).is_some()
                    || self.system.all_members(named.def()).iter().all(|member| match member {
                        Member::Field(field) if !field.is_static => {
                            let of = field.ty.with(&named.arguments, &[]);
                            of != *ty && self.is_unmanaged(&of, deeper - 1)
                        }
                        _ => true,
                    })
            }
            _ => false,
        }
    }

    /// Compares two types as conversion targets (12.6.4.7).
    pub(crate) fn better_type(&self, a: &Ty, b: &Ty) -> Ordering {
        let to_b = self.widens(a, b);
        let to_a = self.widens(b, a);
        match (to_b, to_a) {
            (true, false) => return Ordering::Greater,
            (false, true) => return Ordering::Less,
            _ => {}
        }
        let (a, b) = (self.inside(a), self.inside(b));
        let signed = |ty: &Ty| ty.kind().is_some_and(crate::constant::is_signed);
        let unsigned =
            |ty: &Ty| matches!(ty, Ty::Primitive(kind::U1 | kind::U2 | kind::U4 | kind::U8 | kind::U));
        match (signed(&a) && unsigned(&b), unsigned(&a) && signed(&b)) {
            (true, _) => Ordering::Greater,
            (_, true) => Ordering::Less,
            _ => Ordering::Equal,
        }
    }
}
