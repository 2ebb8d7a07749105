//! Calls of the program's methods: those in a typed tree, and a few that the debugger itself needs.
//!
//! Not here: running a call within its deadline (`coreclr::calls`).

use tandem_csharp::bind::MethodRef;
use tandem_wire::Failure;

use super::base_calls::{BaseCall, seen_by_base};
use super::{Constant, TypedValue, ValueLocation, failed};
use crate::func_eval::EvalContext;
use crate::session::ClrSession;
use crate::stop_context::StopContext;
use crate::types::ClrTypeSystem;
use crate::types::Ty;
use crate::types::members::MethodInstance;
use crate::types::ty::{STRING, VOID};
use crate::value_path::Path;

impl ClrSession {
    /// Calls a method of a typed tree; `None` if it is `void`.
    pub(super) fn call_method(
        &mut self,
        method: &MethodRef,
        of: Option<&TypedValue>,
        arguments: &[TypedValue],
        is_base: bool,
        site: &EvalContext,
    ) -> Result<Option<TypedValue>, Failure> {
        let name = &method.method.name;
        let mut meant = self.program.types.method_instance(method)?;
        // A struct's own override is called directly: boxing a null nullable yields null.
        if let Some(of) = of.filter(|of| of.ty.is_value() && !meant.owner.is_value()) {
            let mut own = self.program.types.methods_named(&of.ty, name).into_iter();
            let overrides = |own: &MethodInstance| !own.is_static && own.parameters == meant.parameters;
            meant = own.find(overrides).filter(|own| own.types.len() == meant.types.len()).unwrap_or(meant);
        }
        if is_base {
            meant = seen_by_base(&self.at_stop(), meant, site);
        }
        if let Some(of) = of.filter(|_| is_base)
            && self.at_stop().is_overridden(&meant, of)
        {
            let val = BaseCall { method: &meant, of, name, site }.run(self, arguments)?;
            return Ok((meant.result != VOID).then_some(val));
        }
        let before = match of {
            Some(TypedValue { data: ValueLocation::At(path), .. }) => format!("{}.", path.name),
            Some(_) => String::new(),
            None => format!("{}.", self.program.types.csharp(&meant.owner)),
        };
        let what = format!("{before}{name}({})", if arguments.is_empty() { "" } else { "…" });
        let val = self.call(site, &meant, of, arguments, &what)?;
        Ok((meant.result != VOID).then_some(val))
    }

    /// Calls a method that the debugger knows.
    #[allow(clippy::too_many_arguments, reason = "a call has as many parts")]
    pub(super) fn call_known(
        &mut self,
        class: &str,
        name: &str,
        types: Vec<Ty>,
        takes: &[&str],
        this: Option<&TypedValue>,
        arguments: &[TypedValue],
        site: &EvalContext,
    ) -> Result<TypedValue, Failure> {
        let short = class.rsplit('.').next().unwrap_or(class);
        let lost = || failed(format!("this program has no `{short}.{name}`"));
        let owner = self.program.types.ty_named(class).ok_or_else(lost)?;
        let method = self.program.types.known_method(&owner, name, types, takes).ok_or_else(lost)?;
        self.call(site, &method, this, arguments, &format!("{short}.{name}(…)"))
    }

    /// The result of an object's `ToString`; `None` if it is null.
    pub(super) fn call_to_string(
        &mut self,
        val: &TypedValue,
        site: &EvalContext,
    ) -> Result<Option<String>, Failure> {
        let actual = self.at_stop().actual(val)?;
        let chain = self.program.types.chain(&actual);
        let method = chain
            .iter()
            .find_map(|owner| self.program.types.known_method(owner, "ToString", Vec::new(), &[]));
        let method = method.filter(|method| !method.is_static);
        let method = method.ok_or_else(|| failed("`ToString` was not found"))?;
        let of = val.path().map_or("", |path| path.name.as_str());
        // Only for a text: the struct itself must stay as it is.
        let is_changed = method.owner.is_value() && val.ty.is_value() && method.may_change_this();
        let val = if is_changed { &self.copy_struct_of(val, site)? } else { val };
        let returned = self.call(site, &method, Some(val), &[], &format!("{of}.ToString()"))?;
        if self.at_stop().is_null_val(&returned)? {
            Ok(None)
        } else {
            self.at_stop().returned_text(&returned).map(Some)
        }
    }

    /// A value with a format string, formatted by the program in its culture.
    pub(super) fn format_in_program(
        &mut self,
        val: &TypedValue,
        format: &str,
        site: &EvalContext,
    ) -> Result<String, Failure> {
        let given = [TypedValue::text(format!("{{0:{format}}}")), val.clone()];
        let takes = ["System.String", "System.Object"];
        let returned = self.call_known("System.String", "Format", Vec::new(), &takes, None, &given, site)?;
        self.at_stop().returned_text(&returned)
    }

    /// A copy of a struct, which a call may change. A struct in memory is already a copy.
    pub(super) fn copy_struct_of(
        &mut self,
        val: &TypedValue,
        site: &EvalContext,
    ) -> Result<TypedValue, Failure> {
        let Some(path) = val.path().filter(|path| path.memory().is_none()) else { return Ok(val.clone()) };
        let copied = self.boxed_copy(site, path)?;
        Ok(TypedValue::at(copied, val.ty.clone()))
    }

    /// Whether a string is the one that the runtime interned for its text.
    pub(super) fn is_interned(&mut self, text: &TypedValue, site: &EvalContext) -> Result<bool, Failure> {
        let (takes, given) = (["System.String"], [text.clone()]);
        let interned =
            self.call_known("System.String", "IsInterned", Vec::new(), &takes, None, &given, site)?;
        let (interned, own) = (self.at_stop().address(&interned)?, self.at_stop().address(text)?);
        Ok(own.is_some_and(|own| own != 0 && interned == Some(own)))
    }

    /// Whether two strings are equal that are too long to be read: identical objects are; otherwise the
    /// program compares them.
    pub(super) fn are_equal_texts(
        &mut self,
        a: &TypedValue,
        b: &TypedValue,
        site: &EvalContext,
    ) -> Result<bool, Failure> {
        if self.at_stop().address(a)?.is_some_and(|address| self.at_stop().address(b) == Ok(Some(address))) {
            return Ok(true);
        }
        let (takes, given) = (["System.String", "System.String"], [a.clone(), b.clone()]);
        let equal = self.call_known("System.String", "Equals", Vec::new(), &takes, None, &given, site)?;
        Ok(self.at_stop().load(&equal)? == Some(Constant::Bool(true)))
    }

    /// The message of an exception that an expression throws.
    pub(super) fn exception_thrown(&mut self, val: &TypedValue, site: &EvalContext) -> Failure {
        if self.at_stop().is_null_val(val).unwrap_or(true) {
            return failed("NullReferenceException: what is thrown is null");
        }
        let name = self
            .at_stop()
            .actual(val)
            .map_or_else(|_| "an exception".into(), |ty| self.program.types.csharp(&ty));
        let message = val.path().cloned().and_then(|path| self.property_value(&path, "Message", site).ok());
        match message.and_then(|message| self.at_stop().returned_text(&message).ok()) {
            Some(message) => failed(format!("{name}: {message}")),
            None => failed(name),
        }
    }

    /// Loads the static methods of LINQ, which a program may not have loaded yet.
    pub(super) fn load_linq(&mut self, site: &EvalContext) -> Result<(), Failure> {
        if self.program.types.type_named("System.Linq.Enumerable").is_some() {
            return Ok(());
        }
        let given = [TypedValue::constant_of(Constant::Text("System.Linq".into()), STRING)];
        let takes = ["System.String"];
        self.call_known("System.Reflection.Assembly", "Load", Vec::new(), &takes, None, &given, site)?;
        match self.program.types.type_named("System.Linq.Enumerable").is_some() {
            true => Ok(()),
            false => Err(failed("System.Linq cannot be loaded into the program")),
        }
    }
}

impl StopContext<'_> {
    /// Whether a call would run an override in one of the object's classes instead of this method.
    pub(super) fn is_overridden(&self, method: &MethodInstance, on: &TypedValue) -> bool {
        let Some(image) = method.loaded.image() else { return false };
        if !image.metadata.is_virtual(method.token) {
            return false;
        }
        let name = image.metadata.method_name(method.token).to_owned();
        let Ok(actual) = self.actual(on) else { return false };
        for owner in self.types.chain(&actual) {
            if owner == method.owner {
                return false;
            }
            let overrides = |other: &MethodInstance| {
                other.parameters.len() == method.parameters.len()
                    && other.loaded.image().is_some_and(|image| {
                        image.metadata.is_virtual(other.token) && !image.metadata.is_new_slot(other.token)
                    })
            };
            if self.types.methods_named(&owner, &name).iter().any(overrides) {
                return true;
            }
        }
        false
    }

    /// The string that a call returned.
    pub(super) fn returned_text(&self, returned: &TypedValue) -> Result<String, Failure> {
        match self.load(returned)? {
            Some(constant) => Ok(constant.invariant_text()),
            None => Err(failed("the text is longer than what is computed with here")),
        }
    }
}

impl ClrTypeSystem {
    /// The method of a typed tree, in the form that calls take.
    pub(super) fn method_instance(&self, method: &MethodRef) -> Result<MethodInstance, Failure> {
        let lost = || failed(format!("`{}` is in no module that is loaded", method.method.name));
        let loaded = self.modules.by_id(method.method.owner.module).ok_or_else(lost)?;
        Ok(MethodInstance {
            loaded,
            token: method.method.token,
            owner: method.owner.clone(),
            types: method.types.clone(),
            parameters: method.parameters.clone(),
            result: method.result.clone(),
            is_static: method.method.is_static,
        })
    }

    /// A method of a type by the full names of its parameter types: `[]` for an array, `T`
    /// for a generic parameter.
    pub(super) fn known_method(
        &self,
        owner: &Ty,
        name: &str,
        types: Vec<Ty>,
        takes: &[&str],
    ) -> Option<MethodInstance> {
        let shape = |ty: &Ty| match ty.direct() {
            Ty::Vector(_) => "[]".to_owned(),
            Ty::Var(_) | Ty::MethodVar(_) => "T".to_owned(),
            other => self.full_name(other),
        };
        let (loaded, token) = self.definition(owner)?;
        let metadata = &loaded.image()?.metadata;
        let mut named = metadata.methods(token).filter(|method| metadata.method_name(*method) == name);
        let open = |method: u32| {
            let signature = metadata.method_signature(method)?;
            let parameters: Vec<Ty> = signature.parameters.iter().map(|of| self.ty_of(&loaded, of)).collect();
            let fits = parameters.len() == takes.len()
                && signature.generic as usize == types.len()
                && parameters.iter().zip(takes).all(|(own, expected)| shape(own) == *expected);
            fits.then_some(method)
        };
        let found = named.find_map(open)?;
        let method = self.method(&loaded, owner, found)?;
        let close = |ty: &Ty| ty.with(&[], &types);
        Some(MethodInstance {
            parameters: method.parameters.iter().map(close).collect(),
            result: close(&method.result),
            types,
            ..method
        })
    }
}

/// The result of a call in a typed tree, under its name there.
pub(super) fn with_call_name(val: TypedValue, name: &str) -> TypedValue {
    match val.data {
        ValueLocation::At(path) => {
            let path = Path { name: name.to_owned(), ..path }.into_call_result(&val.ty);
            TypedValue { data: ValueLocation::At(path), ..val }
        }
        data => TypedValue { data, ..val },
    }
}
