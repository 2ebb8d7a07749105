//! Static members: constants, fields, properties and methods of a type, and types inside it.

use std::rc::Rc;

use cordebug::value::Value as ClrValue;
use dap_wire::Failure;

use super::members::Property;
use super::tuples::tuple_names;
use super::{Constant, Data, Found, Scope, Val, failed};
use crate::engine::coreclr::modules::Loaded;
use crate::engine::coreclr::session::Session;
use crate::engine::coreclr::types::Ty;
use crate::engine::coreclr::values::{Path, Root};

impl Session {
    pub(super) fn static_member(
        &mut self,
        ty: &Ty,
        name: &str,
        types: &[Ty],
        scope: &Scope<'_>,
    ) -> Result<Option<Found>, Failure> {
        for owner in self.chain(ty) {
            let Some((loaded, token)) = self.definition(&owner) else { continue };
            let Some(image) = loaded.image() else { continue };
            let metadata = &image.metadata;
            if types.is_empty() {
                let fields = metadata.fields(token);
                if let Some(field) = fields.iter().find(|field| field.is_static && field.name == name) {
                    return self.static_field(&loaded, &owner, field, scope).map(|val| Some(Found::Val(val)));
                }
                if let Some(property) = self.property_of(&owner, name, true) {
                    let shown = format!("{}.{name}", self.csharp(&owner));
                    let getter = property
                        .info
                        .getter
                        .ok_or_else(|| failed(format!("`{shown}` can only be written")))?;
                    if let Some(val) = self.backing_field(&property, name, scope) {
                        return Ok(Some(Found::Val(val)));
                    }
                    let method = self.method(&loaded, &owner, getter);
                    let method = method
                        .ok_or_else(|| failed(format!("`{shown}` has a getter that cannot be read")))?;
                    return self
                        .call(&scope.site, &method, None, &[], &shown)
                        .map(|val| Some(Found::Val(val)));
                }
            }
            if self.has_method(&owner, name, true) {
                return Ok(Some(Found::Group {
                    target: None,
                    ty: owner,
                    name: name.to_owned(),
                    types: types.to_vec(),
                }));
            }
            let arity = if types.is_empty() { String::new() } else { format!("`{}", types.len()) };
            let nested = metadata.find_type(&format!("{}.{name}{arity}", metadata.type_name(token)));
            if let Some(nested) = nested {
                let mut arguments = owner.arguments().to_vec();
                arguments.extend(types.iter().cloned());
                return Ok(Some(Found::Type(self.defined(&loaded, nested, None, arguments))));
            }
        }
        Ok(None)
    }

    /// A static auto-property is its field.
    fn backing_field(&mut self, property: &Property, name: &str, scope: &Scope<'_>) -> Option<Val> {
        let (loaded, token) = self.definition(&property.owner)?;
        let backing = format!("<{name}>k__BackingField");
        let field = loaded
            .image()?
            .metadata
            .fields(token)
            .into_iter()
            .find(|field| field.is_static && field.name == backing)?;
        let val = self.static_field(&loaded, &property.owner, &field, scope).ok()?;
        let shown = format!("{}.{name}", self.csharp(&property.owner));
        match val.data {
            Data::At(path) => Some(Val { data: Data::At(Path { name: shown, ..path }), ..val }),
            _ => Some(val),
        }
    }

    /// A constant, or a field of a type; the class is initialised first where it was not yet.
    pub(super) fn static_field(
        &mut self,
        loaded: &Rc<Loaded>,
        owner: &Ty,
        field: &clr_metadata::metadata::Field,
        scope: &Scope<'_>,
    ) -> Result<Val, Failure> {
        let shown = format!("{}.{}", self.csharp(owner), field.name);
        let lost = || failed(format!("`{shown}` cannot be read"));
        let metadata = &loaded.image().ok_or_else(lost)?.metadata;
        let declared =
            metadata.field_type(field.token).map_or(Ty::Other, |signature| self.ty_of(loaded, &signature));
        let declared = declared.with(owner.arguments(), &[]);
        if field.is_literal {
            let (kind, bytes) = metadata.literal(field.token).ok_or_else(lost)?;
            let constant = Constant::of_literal(kind, bytes).ok_or_else(lost)?;
            return Ok(Val { data: Data::Constant(constant), ty: declared, literal: true });
        }
        let root = Root::Static {
            thread: scope.site.thread,
            frame: scope.site.frame,
            ty: self.runtime_type(scope.site.thread, owner)?,
            token: field.token,
        };
        let mut path = Path::new(root, &shown);
        path.tuple = tuple_names(metadata.tuple_names(field.token));
        // A field of zeros may be one whose class nobody has used yet; in C# looking at it would initialise the class.
        // Who only looks leaves it to the next who evaluates.
        let is_there = |session: &Self| {
            session.fetch(&path).is_ok_and(|value| !is_unset(&value) || !session.may_await(owner))
        };
        if scope.site.runs && !is_there(self) {
            self.initialise(owner, scope)?;
            self.known.initialised.borrow_mut().insert(owner.clone());
        }
        self.fetch(&path)
            .map_err(|_| failed(format!("`{shown}` has no value yet: its class is not initialised")))?;
        match declared {
            Ty::Other => self.val_at(path),
            declared => Ok(Val::at(path, declared)),
        }
    }

    /// Whether a class has a static constructor that may not have run.
    fn may_await(&self, owner: &Ty) -> bool {
        !self.known.initialised.borrow().contains(owner) && self.has_method(owner, ".cctor", true)
    }

    /// Runs a class's static constructor, as its first use in the program would.
    fn initialise(&mut self, owner: &Ty, scope: &Scope<'_>) -> Result<(), Failure> {
        let helpers = Found::Type(
            self.ty_named("System.Runtime.CompilerServices.RuntimeHelpers")
                .ok_or_else(|| failed("no RuntimeHelpers"))?,
        );
        let ty = self.type_object(owner, scope)?;
        let handle = self.member_of(Found::Val(ty), "TypeHandle", Vec::new(), scope)?;
        let Found::Val(handle) = handle else { return Err(failed("a type has no handle")) };
        let group = self.member_of(helpers, "RunClassConstructor", Vec::new(), scope)?;
        self.invoke_with(group, vec![handle], scope).map(drop)
    }
}

/// Whether a value is null or nothing but zeros.
fn is_unset(value: &ClrValue) -> bool {
    match value.as_reference() {
        Some(reference) => reference.is_null().unwrap_or(false),
        None => value.bytes().is_ok_and(|bytes| bytes.iter().all(|byte| *byte == 0)),
    }
}
