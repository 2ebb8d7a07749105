//! Arguments of a call. Objects that must be created in the program are created first, because creating one
//! makes every other value stale; then all are fetched at once. [`super::execution`] runs the call.

use cordebug::frame::Function;
use cordebug::types::Type;
use cordebug::value::element;
use tandem_wire::{ErrorCode, Failure};

use super::marshalled_argument::{MarshalledArgument, finish};
use crate::bare_value::bare;
use crate::cor;
use crate::debuggee::ClrDebuggee;
use crate::func_eval::EvalContext;
use crate::session::ClrSession;
use crate::typed_value::{Constant, TypedValue, ValueLocation};
use crate::types::ClrTypeSystem;
use crate::types::Ty;
use crate::types::members::MethodInstance;
use crate::types::ty::OBJECT;
use crate::value_path::Path;

impl ClrSession {
    /// Calls a method. Arguments must have been converted to its parameters' types.
    pub(crate) fn call(
        &mut self,
        site: &EvalContext,
        method: &MethodInstance,
        this: Option<&TypedValue>,
        arguments: &[TypedValue],
        what: &str,
    ) -> Result<TypedValue, Failure> {
        self.call_with_others(site, method, (this, arguments), what, false)
    }

    /// Calls a method; `with_others`: the other threads run from the beginning.
    pub(crate) fn call_with_others(
        &mut self,
        site: &EvalContext,
        method: &MethodInstance,
        (this, arguments): (Option<&TypedValue>, &[TypedValue]),
        what: &str,
        with_others: bool,
    ) -> Result<TypedValue, Failure> {
        let values = self.marshal_arguments(site, method, this, arguments)?;
        let (function, types) = self.program.types.function_of(&self.program.debuggee, site, method)?;
        let fetched = self.at_stop().all(&values)?;
        let given = self.run_with_others(site, what, Some(&function), with_others, |eval| {
            eval.call(&function, &types, &finish(fetched, eval)?)
        })?;
        self.at_stop().wrap_result(given, &method.result, what)
    }

    /// Creates an object with a constructor.
    pub(crate) fn construct(
        &mut self,
        site: &EvalContext,
        constructor: &MethodInstance,
        arguments: &[TypedValue],
        what: &str,
    ) -> Result<TypedValue, Failure> {
        let values = self.marshal_arguments(site, constructor, None, arguments)?;
        let (function, types) = self.program.types.function_of(&self.program.debuggee, site, constructor)?;
        let fetched = self.at_stop().all(&values)?;
        let given = self.run_in(site, what, Some(&function), |eval| {
            eval.new_object(&function, &types, &finish(fetched, eval)?)
        })?;
        self.at_stop().wrap_result(given, &constructor.owner, what)
    }

    fn marshal_arguments(
        &mut self,
        site: &EvalContext,
        method: &MethodInstance,
        this: Option<&TypedValue>,
        arguments: &[TypedValue],
    ) -> Result<Vec<MarshalledArgument>, Failure> {
        self.pass_first_calls();
        let mut values = Vec::new();
        if let Some(this) = this {
            values.push(self.receiver(site, this, method)?);
        }
        for (argument, ty) in arguments.iter().zip(&method.parameters) {
            let ready = self.marshal_argument(site, argument, ty.direct())?;
            values.push(match (ready, ty) {
                (ready, Ty::Reference(_)) => ready,
                (MarshalledArgument::Inside(path), _) => MarshalledArgument::Copy(path),
                (ready, _) => ready,
            });
        }
        Ok(values)
    }

    /// `this` of a call: a reference to an object, the location of a struct, a box around a primitive.
    /// Methods declared by classes (`Enum.ToString`) get the box itself.
    fn receiver(
        &mut self,
        site: &EvalContext,
        this: &TypedValue,
        method: &MethodInstance,
    ) -> Result<MarshalledArgument, Failure> {
        let wants_box = !method.owner.is_value();
        if self.program.types.nullable(&method.owner).is_some()
            && let Some(whole) = self.whole_nullable(site, this, &method.owner)?
        {
            return Ok(MarshalledArgument::Inside(whole));
        }
        let unboxed =
            |path| if wants_box { MarshalledArgument::As(path) } else { MarshalledArgument::Inside(path) };
        match &this.data {
            ValueLocation::At(path) => {
                let value = self.at_stop().fetch(path)?;
                let inner = bare(&value)
                    .ok_or_else(|| failed(format!("NullReferenceException: `{}` is null", path.name)))?;
                let actual = self.program.types.declared_ty(&inner);
                let is_struct = actual.is_value();
                // The runtime accepts a primitive as `this` only in a box.
                if let (Ty::Primitive(_), true, Some(constant)) =
                    (&actual, is_struct, self.program.types.constant_of(&inner))
                {
                    return self.box_constant(site, &constant, &actual).map(unboxed);
                }
                Ok(if is_struct && !(wants_box && value.as_reference().is_some()) {
                    MarshalledArgument::Inside(path.clone())
                } else {
                    MarshalledArgument::As(path.clone())
                })
            }
            ValueLocation::Constant(Constant::Text(text)) => {
                self.new_string(site, text).map(MarshalledArgument::As)
            }
            ValueLocation::Constant(Constant::Null) => {
                Err(failed("NullReferenceException: the object is null"))
            }
            ValueLocation::Constant(constant) => self.box_constant(site, constant, &this.ty).map(unboxed),
        }
    }

    /// A nullable for a method of the nullable itself, if the value does not exist in the program yet.
    fn whole_nullable(
        &mut self,
        site: &EvalContext,
        this: &TypedValue,
        ty: &Ty,
    ) -> Result<Option<Path>, Failure> {
        if let ValueLocation::At(path) = &this.data
            && let Some(inner) = bare(&self.at_stop().fetch(path)?)
            && self.program.types.nullable(&self.program.types.declared_ty(&inner)).is_some()
        {
            return Ok(None);
        }
        match self.at_stop().load(this)? {
            Some(Constant::Null) => self.new_zeroed(site, ty).map(Some),
            Some(constant) => self.filled_nullable(site, &constant, ty).map(Some),
            None => {
                let made = self.new_zeroed(site, ty)?;
                self.at_stop().write(&made, this, ty)?;
                Ok(Some(made))
            }
        }
    }

    /// An argument in the form that a parameter of this type requires.
    fn marshal_argument(
        &mut self,
        site: &EvalContext,
        argument: &TypedValue,
        to: &Ty,
    ) -> Result<MarshalledArgument, Failure> {
        if let (Ty::Reference(_), ValueLocation::At(path)) = (&argument.ty, &argument.data) {
            // The runtime passes the address of a variable if the method requires one.
            return Ok(MarshalledArgument::As(path.clone()));
        }
        if let Ty::Pointer(_) = to
            && let Some(address) = self.at_stop().load(argument)?
            && let Some(bytes) = self.program.types.bytes_as(&address, to)
        {
            return Ok(MarshalledArgument::Bits(element::U, bytes));
        }
        let is_nullable = self.program.types.nullable(to).is_some();
        match &argument.data {
            ValueLocation::Constant(Constant::Null) if is_nullable => {
                self.new_zeroed(site, to).map(MarshalledArgument::Inside)
            }
            ValueLocation::Constant(Constant::Null) => Ok(MarshalledArgument::Null),
            ValueLocation::Constant(constant) if is_nullable => {
                self.filled_nullable(site, constant, to).map(MarshalledArgument::Inside)
            }
            ValueLocation::Constant(Constant::Text(text)) => {
                self.new_string(site, text).map(MarshalledArgument::As)
            }
            ValueLocation::Constant(constant) => match to {
                Ty::Primitive(kind) if *kind != element::OBJECT => {
                    let bits = constant.cast(*kind, false).and_then(|constant| constant.bytes());
                    let (kind, bytes) = bits.ok_or_else(|| {
                        conversion_failure(
                            &self.program.types.csharp(&argument.ty),
                            &self.program.types.csharp(to),
                        )
                    })?;
                    Ok(MarshalledArgument::Bits(kind, bytes))
                }
                to if to.is_value() => self.box_constant(site, constant, to).map(MarshalledArgument::Inside),
                _ => self.box_constant(site, constant, &argument.ty).map(MarshalledArgument::As),
            },
            ValueLocation::At(path) => {
                let value = self.at_stop().fetch(path)?;
                let Some(inner) = bare(&value) else {
                    return match is_nullable {
                        true => self.new_zeroed(site, to).map(MarshalledArgument::Inside),
                        false => Ok(MarshalledArgument::Null),
                    };
                };
                let actual = self.program.types.declared_ty(&inner);
                if is_nullable && self.program.types.nullable(&actual).is_none() {
                    // The runtime would read beyond a value that is shorter than the parameter.
                    let made = self.new_zeroed(site, to)?;
                    self.at_stop().write(&made, argument, to)?;
                    return Ok(MarshalledArgument::Inside(made));
                }
                if to.is_value() {
                    return Ok(MarshalledArgument::Inside(path.clone()));
                }
                if actual.is_value() && value.as_reference().is_none() {
                    if let (Ty::Primitive(_), Some(constant)) =
                        (&actual, self.program.types.constant_of(&inner))
                    {
                        return self.box_constant(site, &constant, &actual).map(MarshalledArgument::As);
                    }
                    return self.boxed_copy(site, path).map(MarshalledArgument::As);
                }
                Ok(MarshalledArgument::As(path.clone()))
            }
        }
    }

    /// A new box of a primitive, enum or decimal.
    pub(crate) fn box_constant(
        &mut self,
        site: &EvalContext,
        constant: &Constant,
        ty: &Ty,
    ) -> Result<Path, Failure> {
        if let Constant::Text(text) = constant {
            return self.new_string(site, text);
        }
        let ty = if *ty == OBJECT || *ty == Ty::Null { constant.ty() } else { ty.clone() };
        let ty = self.program.types.nullable(&ty).unwrap_or(ty);
        let ty = match constant {
            Constant::Decimal(_) => self.program.types.ty_named("System.Decimal").unwrap_or(ty),
            _ => ty,
        };
        let bytes = self.program.types.bytes_as(constant, &ty);
        let bytes = bytes
            .ok_or_else(|| conversion_failure(&constant.invariant_text(), &self.program.types.csharp(&ty)))?;
        let path = self.new_zeroed(site, &ty)?;
        let place = bare(&self.at_stop().fetch(&path)?).ok_or_else(|| failed("a new box is null"))?;
        place.set_bytes(&bytes).map_err(cor("fill a box"))?;
        Ok(path)
    }

    /// A new zeroed object; a struct in a box.
    pub(crate) fn new_zeroed(&mut self, site: &EvalContext, ty: &Ty) -> Result<Path, Failure> {
        let name = self.program.types.csharp(ty);
        let lost = || failed(format!("cannot create an object of `{name}`"));
        let (loaded, token) = self.program.types.definition(ty).ok_or_else(lost)?;
        let class = loaded.module.class(token).map_err(cor(format_args!("find `{name}`")))?;
        let types = ty
            .arguments()
            .iter()
            .map(|of| self.program.types.runtime_type(&self.program.debuggee, site.thread, of));
        let types = types.collect::<Result<Vec<_>, _>>()?;
        let made = self.run_in(site, &format!("new {name}"), None, |eval| eval.new_zeroed(&class, &types))?;
        self.program.values.hold_object(&made.ok_or_else(lost)?, &name).ok_or_else(lost)
    }

    /// Has the runtime load the type of a value that it cannot read before. Returns whether it did.
    pub(crate) fn load_type_of(&mut self, path: &Path, site: &EvalContext) -> bool {
        let unloaded = self.at_stop().type_not_loaded(path).filter(|ty| site.runs && ty.is_value());
        unloaded.is_some_and(|ty| self.new_zeroed(site, &ty).is_ok())
    }

    fn filled_nullable(&mut self, site: &EvalContext, constant: &Constant, to: &Ty) -> Result<Path, Failure> {
        let inner = self.program.types.nullable(to).unwrap_or(OBJECT);
        let lost = || conversion_failure(&constant.invariant_text(), &self.program.types.csharp(to));
        let bytes = self.program.types.bytes_as(constant, &inner).ok_or_else(lost)?;
        let path = self.new_zeroed(site, to)?;
        let place = self.at_stop().fetch(&path)?;
        let fill = || {
            self.program.types.field_named(&place, "hasValue")?.set_bytes(&[1]).ok()?;
            self.program.types.field_named(&place, "value")?.set_bytes(&bytes).ok()
        };
        fill()
            .ok_or_else(|| conversion_failure(&constant.invariant_text(), &self.program.types.csharp(to)))?;
        Ok(path)
    }

    /// A box with a copy of a struct: the runtime boxes `this` for methods that only `object` declares.
    pub(crate) fn boxed_copy(&mut self, site: &EvalContext, path: &Path) -> Result<Path, Failure> {
        let lost = || failed(format!("`{}` cannot be boxed", path.name));
        let function = self.program.types.clone_method().ok_or_else(lost)?;
        let value = bare(&self.at_stop().fetch(path)?).ok_or_else(lost)?;
        let made =
            self.run_in(site, &path.name, Some(&function), |eval| eval.call(&function, &[], &[value]))?;
        self.program.values.hold_object(&made.ok_or_else(lost)?, &path.name).ok_or_else(lost)
    }
}

impl ClrTypeSystem {
    fn function_of(
        &self,
        debuggee: &ClrDebuggee,
        site: &EvalContext,
        method: &MethodInstance,
    ) -> Result<(Function, Vec<Type>), Failure> {
        let function = method.loaded.module.function(method.token).map_err(cor("find a method"))?;
        let types = method.owner.arguments().iter().chain(&method.types);
        let types =
            types.map(|ty| self.runtime_type(debuggee, site.thread, ty)).collect::<Result<Vec<_>, _>>()?;
        Ok((function, types))
    }

    fn clone_method(&self) -> Option<Function> {
        let (loaded, token) = self.type_named("System.Object")?;
        let metadata = &loaded.image()?.metadata;
        let clone =
            metadata.methods(token).find(|method| metadata.method_name(*method) == "MemberwiseClone")?;
        loaded.module.function(clone).ok()
    }
}

fn failed(message: impl Into<String>) -> Failure {
    Failure::new(ErrorCode::EvaluationFailed, message)
}

fn conversion_failure(from: &str, to: &str) -> Failure {
    failed(format!("`{from}` does not fit into `{to}`"))
}
