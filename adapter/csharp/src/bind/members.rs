//! Members of values, types and namespaces (language specification, 12.8.7): fields, properties, tuple
//! elements, groups of methods.

use std::rc::Rc;

use super::binder::{Bind, Binder, Classification, leave_to_compiler, reject};
use super::overloads::{SourceArgument, SourceArgumentValue};
use super::system::{Field, Member, Method, Property};
use super::typed::{FieldRef, How, MethodRef, PropertyRef, Typed, TypedKind};
use crate::constant::Constant;
use crate::syntax::Span;
use crate::syntax::tree::{Expr, ExprKind, Mode, SimpleName};
use crate::types::{BOOL, INT, OBJECT, STRING, Ty, kind};

/// What says itself what members it has; a class of the framework's for that whose own members count first;
/// one that is a dictionary.
const ANSWERING: &str = "System.Dynamic.IDynamicMetaObjectProvider";
const OWN_TOO: &str = "System.Dynamic.DynamicObject";
const EXPANDO: &str = "System.Dynamic.ExpandoObject";
const DICTIONARY: &str = "System.Collections.Generic.IDictionary`2";

impl Binder<'_> {
    /// `of.name`.
    pub(super) fn member(&mut self, of: &Expr, name: &SimpleName, span: Span) -> Bind<Classification> {
        let part = self.part(of)?;
        self.member_of_part(part, of, name, span)
    }

    /// A member of what an expression means.
    pub(super) fn member_of_part(
        &mut self,
        part: Classification,
        of: &Expr,
        name: &SimpleName,
        span: Span,
    ) -> Bind<Classification> {
        let types = name.arguments.iter().map(|ty| self.type_of_name(ty)).collect::<Bind<Vec<_>>>()?;
        match part {
            Classification::Namespace(space) => match self.in_namespace(&space, &name.text, types, name.open)
            {
                Some(part) => Ok(part),
                None => reject(
                    "CS0234",
                    format!(
                        "The type or namespace name '{}' does not exist in the namespace '{space}'",
                        name.text
                    ),
                    name.span,
                ),
            },
            Classification::Type(ty) => match self.static_member(&ty, &name.text, &types, span)? {
                Some(part) => Ok(part),
                None => match self.nested_type(&ty, &name.text, types, name.open) {
                    Some(nested) => Ok(Classification::Type(nested)),
                    None => {
                        let owner = self.spelled(&ty);
                        reject(
                            "CS0117",
                            format!("'{owner}' does not contain a definition for '{}'", name.text),
                            name.span,
                        )
                    }
                },
            },
            Classification::Group(group) => {
                let message = format!(
                    "Operator '.' cannot be applied to operand of type 'method group' ('{}')",
                    group.name
                );
                reject("CS0023", message, group.span)
            }
            Classification::Value(value) => {
                // `Color.Red` where a property `Color` is of type `Color`.
                if let ExprKind::Name(of_name) = &of.kind
                    && self.types.info(&value.ty).is_some_and(|info| *info.name == *of_name.text)
                    && self.own_member(&value, &name.text, &types, span)?.is_none()
                    && let Some(part) = self.static_member(&value.ty.clone(), &name.text, &types, span)?
                {
                    return Ok(part);
                }
                let is_base = matches!(of.kind, ExprKind::Base);
                let found = self.member_of(value, &name.text, &types, name.span, span)?;
                Ok(if is_base { as_base(found) } else { found })
            }
        }
    }

    pub(super) fn member_of_value(
        &mut self,
        of: Typed,
        name: &SimpleName,
        span: Span,
    ) -> Bind<Classification> {
        let types = name.arguments.iter().map(|ty| self.type_of_name(ty)).collect::<Bind<Vec<_>>>()?;
        self.member_of(of, &name.text, &types, name.span, span)
    }

    /// A member of a value, or why there is none.
    pub(super) fn member_of(
        &mut self,
        of: Typed,
        name: &str,
        types: &[Ty],
        at: Span,
        span: Span,
    ) -> Bind<Classification> {
        if of.is_void() {
            return reject("CS0023", "Operator '.' cannot be applied to operand of type 'void'", of.span);
        }
        if of.is_null() {
            return reject("CS0023", "Operator '.' cannot be applied to operand of type '<null>'", of.span);
        }
        if self.is_dynamic_value(&of)
            && let Some(part) = self.member_of_dynamic(&of, name, types, span)?
        {
            return Ok(part);
        }
        if let Some(part) = self.own_member(&of, name, types, span)? {
            return Ok(part);
        }
        if let Some(part) = self.constrained_member(&of, name, types, span)? {
            return Ok(part);
        }
        // The actual type may have more members than the declared one: a debugger knows it.
        let narrow = self.narrowed(&of);
        let more = match &narrow {
            Some(narrow) => self.own_member(narrow, name, types, span)?,
            None => None,
        };
        if let Some(part @ Classification::Value(_)) = more {
            return Ok(part);
        }
        let extends = !self.types.system.extensions(self.place(), name).is_empty()
            || crate::linq::named(name, crate::linq::On::Sequence).next().is_some();
        if extends {
            return Ok(self.group(Some(of.clone()), &of.ty, name, types, span));
        }
        if let Some(part) = more {
            return Ok(part);
        }
        let owner = self.spelled(&of.ty);
        reject("CS1061", format!("'{owner}' does not contain a definition for '{name}'"), at)
    }

    /// A member that a value has because its type stands for a generic parameter, whose constraints have it.
    fn constrained_member(
        &mut self,
        of: &Typed,
        name: &str,
        types: &[Ty],
        span: Span,
    ) -> Bind<Option<Classification>> {
        let of_type = |(argument, _): &&(Ty, Vec<Ty>)| *argument == of.ty;
        let bounds: Vec<Ty> =
            self.scope.constraints.iter().filter(of_type).flat_map(|(_, bounds)| bounds.clone()).collect();
        for bound in bounds {
            let has_it = self.types.lineage(&bound).iter().any(|owner| {
                self.types.def(owner).is_some_and(|def| !self.types.system.members(def, name).is_empty())
            });
            if has_it {
                let cast = self.cast_value(of.clone(), &bound, of.span)?;
                return self.own_member(&cast, name, types, span);
            }
        }
        Ok(None)
    }

    /// A member of a `dynamic` value that says itself what members it has; none of any other value. C#'s
    /// library for such values asks it first, unless it is a `DynamicObject`, which has its own members, too.
    fn member_of_dynamic(
        &mut self,
        of: &Typed,
        name: &str,
        types: &[Ty],
        span: Span,
    ) -> Bind<Option<Classification>> {
        let Some(narrow) = self.narrowed(of) else { return Ok(None) };
        let chain = self.types.chain(&narrow.ty);
        let is = |ty: &Ty, name: &str| self.types.is_named(ty, name);
        if !chain.iter().any(|base| self.types.interfaces(base).iter().any(|ty| is(ty, ANSWERING))) {
            return Ok(None);
        }
        if chain.iter().any(|base| is(base, OWN_TOO))
            && let Some(part) = self.own_member(&narrow, name, types, span)?
        {
            return Ok(Some(part));
        }
        // Its members are the entries of a dictionary: reading one runs nothing else.
        if is(&narrow.ty, EXPANDO)
            && let Some(dictionary) = self.types.named(DICTIONARY, vec![STRING, OBJECT])
        {
            let entries = self.cast_value(narrow, &dictionary, span)?;
            let key = self.literal(Constant::Text(name.to_owned()), span);
            let given = [SourceArgument {
                name: None,
                mode: Mode::Value,
                value: SourceArgumentValue::Value(key),
                span,
            }];
            return Ok(Some(Classification::Value(self.indexed(entries, &given, span)?)));
        }
        leave_to_compiler("a member of a `dynamic` object", span)
    }

    /// A value as the debugger sees that it is, where it is more than it was declared as.
    pub(super) fn narrowed(&self, of: &Typed) -> Option<Typed> {
        if of.ty.is_value() || of.ty == STRING || of.effects() > super::Effects::Getters {
            return None;
        }
        let actual = self.types.system.actual(of)?;
        let is_more = actual != of.ty && actual != Ty::Null && actual != Ty::Other && !actual.is_open();
        is_more.then(|| Typed::new(TypedKind::Narrow(of.clone().boxed()), actual, of.span))
    }

    /// A member that a type of the value declares: no extension method, which a name by itself never means.
    pub(super) fn own_member(
        &self,
        of: &Typed,
        name: &str,
        types: &[Ty],
        span: Span,
    ) -> Bind<Option<Classification>> {
        if types.is_empty()
            && let Some(value) = self.intrinsic_member(of, name, span)
        {
            return Ok(Some(Classification::Value(value)));
        }
        for owner in self.types.lineage(&of.ty) {
            let Some(def) = self.types.def(&owner) else { continue };
            let members = self.types.system.members(def, name);
            for member in members.iter() {
                match member {
                    Member::Field(field) if !field.is_static && types.is_empty() => {
                        return Ok(Some(Classification::Value(self.field(
                            Some(of.clone()),
                            field,
                            &owner,
                            span,
                        ))));
                    }
                    Member::Property(property) if !property.is_static && types.is_empty() => {
                        return Ok(Some(Classification::Value(self.property(
                            Some(of.clone()),
                            property,
                            &owner,
                            span,
                        ))));
                    }
                    Member::Method(_) => {
                        return Ok(Some(self.group(Some(of.clone()), &of.ty, name, types, span)));
                    }
                    _ => {}
                }
            }
        }
        // A parameter of a primary constructor is a field that only the compiler can name.
        let parameter = format!("<{name}>P");
        for owner in self.types.chain(&of.ty) {
            let Some(def) = self.types.def(&owner) else { continue };
            for member in self.types.system.members(def, &parameter).iter() {
                if let Member::Field(field) = member {
                    return Ok(Some(Classification::Value(self.field(
                        Some(of.clone()),
                        field,
                        &owner,
                        span,
                    ))));
                }
            }
        }
        Ok(None)
    }

    /// Members that need no looking up: lengths, nullables, elements of tuples.
    fn intrinsic_member(&self, of: &Typed, name: &str, span: Span) -> Option<Typed> {
        let boxed = || of.clone().boxed();
        match (&of.ty, name) {
            (Ty::Vector(_) | Ty::Array(..) | Ty::Primitive(kind::STRING), "Length") => {
                // The length of a constant is not one itself.
                return Some(Typed::new(TypedKind::Length(boxed()), INT, span));
            }
            (Ty::Vector(_) | Ty::Array(..), "LongLength") => {
                let length = Typed::new(TypedKind::Length(boxed()), INT, span);
                let how = How::Number { checked: false };
                return Some(Typed::new(
                    TypedKind::Convert(length.boxed(), how),
                    Ty::Primitive(kind::I8),
                    span,
                ));
            }
            (Ty::Vector(_), "Rank") => return Some(self.int(1, span)),
            (Ty::Array(_, rank), "Rank") => return Some(self.int(i32::try_from(*rank).unwrap_or(1), span)),
            _ => {}
        }
        if let Some(inner) = self.types.nullable(&of.ty) {
            return match name {
                "HasValue" => Some(Typed::new(TypedKind::HasValue(boxed()), BOOL, span)),
                "Value" => Some(Typed::new(TypedKind::Convert(boxed(), How::Unwrap), inner, span)),
                _ => None,
            };
        }
        let elements = self.types.tuple(&of.ty)?;
        let named = of.ty.names().and_then(|names| names.position(name));
        let at = named.or_else(|| name.strip_prefix("Item")?.parse::<usize>().ok()?.checked_sub(1))?;
        let ty = elements.get(at)?.clone();
        Some(Typed::new(TypedKind::TupleElement(boxed(), at), ty, span))
    }

    /// A static member of a type or of one of its bases.
    pub(super) fn static_member(
        &self,
        ty: &Ty,
        name: &str,
        types: &[Ty],
        span: Span,
    ) -> Bind<Option<Classification>> {
        for owner in self.types.chain(ty) {
            let Some(def) = self.types.def(&owner) else { continue };
            for member in self.types.system.members(def, name).iter() {
                match member {
                    Member::Field(field) if field.is_static && types.is_empty() => {
                        return Ok(Some(Classification::Value(self.field(None, field, &owner, span))));
                    }
                    Member::Property(property) if property.is_static && types.is_empty() => {
                        return Ok(Some(Classification::Value(self.property(None, property, &owner, span))));
                    }
                    Member::Method(_) => return Ok(Some(self.group(None, &owner, name, types, span))),
                    _ => {}
                }
            }
            if let Some(nested) = self.nested_type(&owner, name, types.to_vec(), 0) {
                return Ok(Some(Classification::Type(nested)));
            }
        }
        Ok(None)
    }

    pub(super) fn field(&self, of: Option<Typed>, field: &Rc<Field>, owner: &Ty, span: Span) -> Typed {
        // A `ref` field is what it refers to.
        let ty = field.ty.with(owner.arguments(), &[]).direct().clone();
        if let Some(constant) = &field.constant {
            return Typed::new(TypedKind::Constant(constant.clone()), constant_type(constant, ty), span);
        }
        let field = FieldRef { field: field.clone(), owner: owner.clone() };
        Typed::new(TypedKind::Field(of.map(Typed::boxed), Box::new(field)), ty, span)
    }

    pub(super) fn property(
        &self,
        of: Option<Typed>,
        property: &Rc<Property>,
        owner: &Ty,
        span: Span,
    ) -> Typed {
        let property = self.property_ref(property, owner);
        let ty = property.ty.direct().clone();
        Typed::new(TypedKind::Property(of.map(Typed::boxed), Box::new(property)), ty, span)
    }

    pub(super) fn property_ref(&self, property: &Rc<Property>, owner: &Ty) -> PropertyRef {
        let ty = property.ty.with(owner.arguments(), &[]);
        PropertyRef { property: property.clone(), owner: owner.clone(), ty, is_base: false }
    }

    /// A method of a type, its own generic parameters open.
    pub(super) fn method_ref(&self, method: &Rc<Method>, owner: &Ty, types: Vec<Ty>) -> MethodRef {
        let close = |ty: &Ty| ty.with(owner.arguments(), &types);
        let by = |parameter: &super::Parameter| match parameter.pass {
            super::Pass::Value => close(&parameter.ty),
            _ => Ty::Reference(Box::new(close(&parameter.ty))),
        };
        MethodRef {
            parameters: method.parameters.iter().map(by).collect(),
            result: close(&method.result),
            method: method.clone(),
            owner: match owner {
                Ty::Vector(_) | Ty::Array(..) => self.types.base(owner).unwrap_or_else(|| owner.clone()),
                other => other.clone(),
            },
            types,
        }
    }
}

/// The type of a constant field: its own, but that of a number where metadata says less.
fn constant_type(constant: &Constant, declared: Ty) -> Ty {
    match (&declared, constant) {
        (Ty::Other, constant) => constant.ty(),
        _ => declared,
    }
}

/// As `base.` calls it: the member of the base itself.
fn as_base(part: Classification) -> Classification {
    match part {
        Classification::Group(group) => {
            Classification::Group(super::binder::MethodGroup { is_base: true, ..group })
        }
        Classification::Value(Typed { kind: TypedKind::Property(of, property), ty, span }) => {
            let property = Box::new(PropertyRef { is_base: true, ..*property });
            Classification::Value(Typed::new(TypedKind::Property(of, property), ty, span))
        }
        other => other,
    }
}
