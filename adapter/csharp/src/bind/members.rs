//! Members of values, types and namespaces (language specification, 12.8.7): fields, properties, tuple
//! elements, groups of methods. Not here: simple names ([`super::lookup`]), calls ([`super::calls`]).

use std::rc::Rc;

use super::anonymous_types::require_member;
use super::binder::{Bind, Binder, leave_to_compiler, reject};
use super::classification::Classification;
use super::dynamic_members::member_of_dynamic;
use super::extension_properties::extension_property;
use super::interface_member::InterfaceMember;
use super::intrinsic_members::intrinsic_member;
use super::receivers::Receivers;
use super::refusals::reject_missing;
use super::system::{Field, Member, Method, Property};
use super::typed::{FieldRef, MethodRef, PropertyRef, Typed, TypedKind};
use crate::constant::Constant;
use crate::syntax::Span;
use crate::syntax::tree::{Expr, ExprKind, SimpleName};
use crate::types::{STRING, Ty};

impl Binder<'_> {
    /// Binds the member access `of.name`.
    pub(super) fn member(&mut self, of: &Expr, name: &SimpleName, span: Span) -> Bind<Classification> {
        let part = self.part(of)?;
        self.member_of_part(part, of, name, span)
    }

    /// A member of a value, type or namespace.
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
            Classification::Type(ty) => match self.static_member_of(of, &ty, &name.text, &types, span)? {
                Some(part) => Ok(part),
                None => match self.nested_type(&ty, &name.text, types, name.open) {
                    Some(nested) => Ok(Classification::Type(nested)),
                    None => reject_missing(self, &ty, &name.text, ("CS0117", false), name.span),
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
                Ok(if is_base { found.mark_base() } else { found })
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

    /// A member of a value; refused if it does not exist.
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
        require_member(&of, name)?;
        if super::dynamic_members::is_dynamic_value(self.scope, &of)
            && let Some(part) = member_of_dynamic(self, &of, name, types, span)?
        {
            return Ok(part);
        }
        if let Some(part) = self.explicit_member(&of, name, types, span)? {
            return Ok(part);
        }
        if let Some(part) = self.own_member(&of, name, types, span)? {
            return Ok(part);
        }
        if let Some(part) = self.constrained_member(&of, name, types, span)? {
            return Ok(part);
        }
        if types.is_empty()
            && let Some(value) = extension_property(self, &of, name, span)?
        {
            return Ok(Classification::Value(value));
        }
        // The run-time type may have more members than the declared one.
        let narrow = self.narrow(&of);
        let more = match &narrow {
            Some(narrow) => self.own_member(narrow, name, types, span)?,
            None => None,
        };
        if let Some(part @ Classification::Value(_)) = more {
            return Ok(part);
        }
        let extends = !self.types.system.extensions(self.place(), name).is_empty()
            || crate::linq::signatures(name, crate::linq::DeclaringType::Sequence).next().is_some();
        if extends {
            return Ok(self.group(Some(of.clone()), &of.ty, name, types, span));
        }
        if let Some(part) = more {
            return Ok(part);
        }
        reject_missing(self, &of.ty, name, ("CS1061", true), at)
    }

    /// A member of a value whose type is the argument of a generic parameter, from the
    /// constraints of that parameter.
    fn constrained_member(
        &mut self,
        of: &Typed,
        name: &str,
        types: &[Ty],
        span: Span,
    ) -> Bind<Option<Classification>> {
        for bound in self.bounds(&of.ty) {
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

    /// The constraints of a generic parameter with this argument.
    pub(super) fn bounds(&self, argument: &Ty) -> Vec<Ty> {
        let of_argument = |(own, _): &&(Ty, Vec<Ty>)| own == argument;
        self.scope.constraints.iter().filter(of_argument).flat_map(|(_, bounds)| bounds.clone()).collect()
    }

    /// A member of a value whose type is the argument of a generic parameter, and implements the member
    /// explicitly for a constraint of that parameter. A public member of the same name is another member.
    fn explicit_member(
        &mut self,
        of: &Typed,
        name: &str,
        types: &[Ty],
        span: Span,
    ) -> Bind<Option<Classification>> {
        for interface in self.bounds(&of.ty).iter().flat_map(|bound| self.types.lineage(bound)) {
            let member = InterfaceMember { types: self.types, interface: &interface, name };
            let Some(explicit) = member.explicit_name(&of.ty) else { continue };
            // A class may override the member. A struct is not copied to a box: the member may change it.
            if of.ty.is_value() {
                return self.own_member(of, &explicit, types, span);
            }
            let cast = self.cast_value(of.clone(), &interface, of.span)?;
            return self.own_member(&cast, name, types, span);
        }
        Ok(None)
    }

    /// A static member of a type, or one that the type implements explicitly for a constraint of the generic
    /// parameter whose argument it is.
    fn static_member_of(
        &mut self,
        of: &Expr,
        ty: &Ty,
        name: &str,
        types: &[Ty],
        span: Span,
    ) -> Bind<Option<Classification>> {
        let interfaces: Vec<Ty> =
            self.bounds(ty).iter().flat_map(|bound| self.types.lineage(bound)).collect();
        let relations = self.types;
        let member = |interface| InterfaceMember { types: relations, interface, name };
        let explicit = interfaces.iter().find_map(|interface| member(interface).explicit_name(ty));
        // By the name of the type itself, a public member of the same name is meant.
        let is_parameter = matches!(&of.kind, ExprKind::Name(own)
            if self.scope.type_parameters.iter().any(|(parameter, _)| **parameter == *own.text));
        if let Some(explicit) = explicit.as_ref().filter(|_| is_parameter) {
            return self.static_member(ty, explicit, types, span);
        }
        if let Some(part) = self.static_member(ty, name, types, span)? {
            return Ok(Some(part));
        }
        if let Some(explicit) = explicit {
            return self.static_member(ty, &explicit, types, span);
        }
        for interface in &interfaces {
            if let Some(part) = self.static_member(interface, name, types, span)? {
                if member(interface).is_implemented_by_interface(ty) {
                    return Ok(Some(part));
                }
                return leave_to_compiler("a static member that another interface implements", span);
            }
        }
        Ok(None)
    }

    /// A value with its run-time type, if that type is more derived than the declared one.
    pub(super) fn narrow(&self, of: &Typed) -> Option<Typed> {
        if of.ty.is_value() || of.ty == STRING || of.effects() > super::Effects::Getters {
            return None;
        }
        let actual = self.types.system.runtime_type(of)?;
        let is_more = actual != of.ty && actual != Ty::Null && actual != Ty::Other && !actual.is_open();
        is_more.then(|| Typed::new(TypedKind::Narrow(of.clone().boxed()), actual, of.span))
    }

    /// A member that a type of the value declares. A simple name never refers to an extension method.
    pub(super) fn own_member(
        &self,
        of: &Typed,
        name: &str,
        types: &[Ty],
        span: Span,
    ) -> Bind<Option<Classification>> {
        if types.is_empty()
            && let Some(value) = intrinsic_member(self.types, of, name, span)
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
                        )?)));
                    }
                    Member::Method(_) => {
                        return Ok(Some(self.group(Some(of.clone()), &of.ty, name, types, span)));
                    }
                    _ => {}
                }
            }
        }
        // The field of a primary constructor's parameter has a name that an expression cannot use.
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
                        return Ok(Some(Classification::Value(self.property(None, property, &owner, span)?)));
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
        // A `ref` field has the value of the variable to which it refers.
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
    ) -> Bind<Typed> {
        let mut property = self.property_ref(property, owner);
        self.check_place(&property.ty, Some(owner), span)?;
        let is_stored = property.property.is_readonly || property.property.backing.is_some();
        property.copies_receiver =
            !is_stored && of.as_ref().is_some_and(|of| Receivers { binder: self }.copies_for_getter(of));
        let ty = property.ty.direct().clone();
        Ok(Typed::new(TypedKind::Property(of.map(Typed::boxed), Box::new(property)), ty, span))
    }

    pub(super) fn property_ref(&self, property: &Rc<Property>, owner: &Ty) -> PropertyRef {
        let ty = property.ty.with(owner.arguments(), &[]);
        let (property, owner) = (property.clone(), owner.clone());
        PropertyRef { property, owner, ty, is_base: false, copies_receiver: false }
    }

    /// A method of a type, whose own generic parameters are open.
    pub(super) fn method_ref(&self, method: &Rc<Method>, owner: &Ty, types: Vec<Ty>) -> MethodRef {
        let close = |ty: &Ty| ty.with(owner.arguments(), &types);
        let by = |parameter: &super::Parameter| match parameter.pass {
            super::PassMode::Value => close(&parameter.ty),
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

/// The type of a constant field: the declared type, or the type of the constant if the
/// declared one is unknown.
fn constant_type(constant: &Constant, declared: Ty) -> Ty {
    match (&declared, constant) {
        (Ty::Other, constant) => constant.ty(),
        _ => declared,
    }
}
