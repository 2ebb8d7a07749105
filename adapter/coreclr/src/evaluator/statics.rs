//! Static fields and properties. In C#, reading a static field initialises its class. Not here: members of
//! instances ([`super::member_access`]).

use std::rc::Rc;

use clr_metadata::metadata::FieldDef;
use cordebug::value::Value as ClrValue;
use tandem_csharp::bind::{FieldRef, PropertyRef};
use tandem_wire::Failure;

use super::method_calls::with_call_name;
use super::{Constant, TypedValue, failed};
use crate::bare_value::bare;
use crate::func_eval::EvalContext;
use crate::modules::LoadedModule;
use crate::session::ClrSession;
use crate::stop_context::StopContext;
use crate::types::Ty;
use crate::value_path::{Path, PathRoot};

/// The exception for uses of a class whose static constructor threw.
const FAILED_CLASS: &str = "System.TypeInitializationException";
/// Most such classes that are kept.
const MAX_FAILED_CLASSES: usize = 1000;

/// A static field with its declaring type.
pub(super) struct StaticField<'a> {
    pub(super) owner: &'a Ty,
    pub(super) token: u32,
    pub(super) name: &'a str,
    pub(super) ty: Ty,
}

impl ClrSession {
    /// A static field that a typed tree names.
    pub(super) fn resolve_static(
        &mut self,
        field: &FieldRef,
        site: &EvalContext,
        initialises: bool,
    ) -> Result<TypedValue, Failure> {
        let ty = field.field.ty.with(field.owner.arguments(), &[]);
        let (owner, token, name) = (&field.owner, field.field.token, &*field.field.name);
        self.static_field(&StaticField { owner, token, name, ty }, site, initialises)
    }

    /// A static property: an auto-property is read as its field, any other is called.
    pub(super) fn static_property(
        &mut self,
        property: &PropertyRef,
        site: &EvalContext,
        initialises: bool,
    ) -> Result<TypedValue, Failure> {
        let (name, owner) = (&*property.property.name, &property.owner);
        let shown = format!("{}.{name}", self.program.types.csharp(owner));
        let lost = || failed(format!("`{shown}` is in no module that is loaded"));
        let loaded = self.program.types.modules.by_id(property.property.owner.module).ok_or_else(lost)?;
        let getter = property.property.getter;
        let getter = getter.ok_or_else(|| failed(format!("`{shown}` can only be written")))?;
        if let Some(token) = property.property.backing {
            let field = StaticField { owner, token, name, ty: property.ty.clone() };
            if let Ok(val) = self.static_field(&field, site, initialises) {
                return Ok(with_call_name(val, &shown));
            }
        }
        let method = self.program.types.method(&loaded, owner, getter).ok_or_else(lost)?;
        self.call(site, &method, None, &[], &shown)
    }

    /// A static field's value, for its row: its class is not initialised.
    pub(crate) fn static_value(
        &mut self,
        loaded: &Rc<LoadedModule>,
        owner: &Ty,
        field: &FieldDef,
        site: &EvalContext,
    ) -> Result<TypedValue, Failure> {
        let lost = || failed(format!("`{}.{}` cannot be read", self.program.types.csharp(owner), field.name));
        let metadata = &loaded.image().ok_or_else(lost)?.metadata;
        let declared =
            metadata.field_type(field.token).map_or(Ty::Other, |of| self.program.types.ty_of(loaded, &of));
        let ty = self
            .program
            .types
            .with_names(declared.with(owner.arguments(), &[]), metadata.tuple_names(field.token));
        if field.is_literal {
            let (kind, bytes) = metadata.literal(field.token).ok_or_else(lost)?;
            let constant = Constant::of_literal(kind, bytes).ok_or_else(lost)?;
            return Ok(TypedValue::constant_of(constant, ty));
        }
        let (token, name) = (field.token, field.name.as_str());
        self.static_field(&StaticField { owner, token, name, ty }, site, false)
    }

    fn static_field(
        &mut self,
        field: &StaticField<'_>,
        site: &EvalContext,
        initialises: bool,
    ) -> Result<TypedValue, Failure> {
        let shown = format!("{}.{}", self.program.types.csharp(field.owner), field.name);
        if let Some(thrown) = self.at_stop().failure_of_class(field.owner) {
            let owner = self.program.types.csharp(field.owner);
            return Err(failed(format!(
                "`{shown}` cannot be read: the static constructor of `{owner}` threw {thrown}"
            )));
        }
        let root = PathRoot::Static {
            thread: site.thread,
            frame: site.frame,
            ty: self.program.types.runtime_type(&self.program.debuggee, site.thread, field.owner)?,
            token: field.token,
        };
        let mut path = Path::new(root, &shown);
        path.tuple = self.program.types.names_in(&field.ty);
        // A field of zeros may belong to a class that the program has not used yet; in C#, reading it would
        // initialise the class. An evaluation that only looks leaves that to the next one that may run code.
        let is_there = |session: &Self| {
            session
                .at_stop()
                .fetch(&path)
                .is_ok_and(|value| !is_unset(&value) || !session.at_stop().may_await(field.owner))
        };
        if initialises && site.runs && !is_there(self) {
            self.initialise(field.owner, site)?;
            self.program.values.initialised.borrow_mut().insert(field.owner.clone());
        }
        self.at_stop()
            .fetch(&path)
            .map_err(|_| failed(format!("`{shown}` has no value yet: its class is not initialised")))?;
        match field.ty.direct() {
            Ty::Other => self.at_stop().val_at(path),
            ty if ty.is_open() => self.at_stop().val_at(path),
            ty => Ok(TypedValue::at(path, ty.clone())),
        }
    }

    /// Runs a class's static constructor, as its first use in the program would.
    fn initialise(&mut self, owner: &Ty, site: &EvalContext) -> Result<(), Failure> {
        let ty = self.type_object(owner, site)?;
        let handle =
            self.call_known("System.Type", "get_TypeHandle", Vec::new(), &[], Some(&ty), &[], site)?;
        let (class, takes) = ("System.Runtime.CompilerServices.RuntimeHelpers", ["System.RuntimeTypeHandle"]);
        self.call_known(class, "RunClassConstructor", Vec::new(), &takes, None, &[handle], site).map(drop)
    }
}

impl StopContext<'_> {
    /// An exception was thrown, by the program or a call. If the runtime throws it because a static
    /// constructor failed, keeps the class: its fields have values that the program can never read.
    pub(crate) fn note_failed_class(&self, thrown: &ClrValue) {
        let Some(thrown) = bare(thrown) else { return };
        let class = thrown.exact_type().ok().and_then(|kind| self.types.class_of(&kind));
        let name = class.and_then(|(loaded, token)| Some(loaded.image()?.metadata.type_name(token)));
        if name.as_deref() != Some(FAILED_CLASS) {
            return;
        }
        let Some(class) = self.types.text_field(&thrown, "_typeName") else { return };
        let why = self.types.field_named(&thrown, "_innerException").as_ref().and_then(bare);
        let text = self.types.exception_chain(&why.unwrap_or(thrown));
        let mut classes = self.values.failed_classes.borrow_mut();
        if classes.len() < MAX_FAILED_CLASSES {
            classes.insert(class.replace('+', "."), text);
        }
    }

    /// The exception of a class's static constructor. It does not name type arguments, so a generic class is
    /// unknown here.
    fn failure_of_class(&self, owner: &Ty) -> Option<String> {
        let classes = self.values.failed_classes.borrow();
        if classes.is_empty() || !owner.arguments().is_empty() {
            return None;
        }
        classes.get(&self.types.full_name(owner).replace('+', ".")).cloned()
    }

    /// Whether a class has a static constructor that may not have run.
    fn may_await(&self, owner: &Ty) -> bool {
        !self.values.initialised.borrow().contains(owner) && self.types.has_method(owner, ".cctor", true)
    }
}

/// Whether a value is null or all zeros.
fn is_unset(value: &ClrValue) -> bool {
    match value.as_reference() {
        Some(reference) => reference.is_null().unwrap_or(false),
        None => value.bytes().is_ok_and(|bytes| bytes.iter().all(|byte| *byte == 0)),
    }
}
