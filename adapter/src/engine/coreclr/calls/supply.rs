//! Arguments of a call. Whatever must be made in the program is made first, because making it makes every other value
//! stale; then all are fetched at once.

use std::rc::Rc;

use cordebug::eval::Eval;
use cordebug::frame::Function;
use cordebug::types::Type;
use cordebug::value::{Value as ClrValue, element};
use dap_wire::{ErrorCode, Failure};

use super::Site;
use crate::engine::coreclr::cor;
use crate::engine::coreclr::expression::{Constant, Data, Val};
use crate::engine::coreclr::modules::Loaded;
use crate::engine::coreclr::session::Session;
use crate::engine::coreclr::types::Ty;
use crate::engine::coreclr::types::ty::OBJECT;
use crate::engine::coreclr::values::{Path, bare};

/// A method with everything that is generic filled in.
#[derive(Clone)]
pub(crate) struct Method {
    pub(crate) loaded: Rc<Loaded>,
    pub(crate) token: u32,
    /// The type that declares it.
    pub(crate) owner: Ty,
    /// Its own generic arguments.
    pub(crate) types: Vec<Ty>,
    pub(crate) parameters: Vec<Ty>,
    pub(crate) result: Ty,
    pub(crate) is_static: bool,
}

/// An argument that is ready in the program.
enum Ready {
    Bits(u32, Vec<u8>),
    /// The value as it is: a reference.
    As(Path),
    /// What is behind it: a struct, out of its box.
    Inside(Path),
    Null,
}

impl Session {
    /// Calls a method. Arguments must have been converted to its parameters' types.
    pub(crate) fn call(
        &mut self,
        site: &Site<'_>,
        method: &Method,
        this: Option<&Val>,
        arguments: &[Val],
        what: &str,
    ) -> Result<Val, Failure> {
        if site.supposes {
            return Ok(self.sample(&method.result));
        }
        let values = self.ready(site, method, this, arguments)?;
        let (function, types) = self.function_of(site, method)?;
        let fetched = self.all(&values)?;
        let given = self.run_in(site, what, Some(&function), |eval| {
            eval.call(&function, &types, &finish(fetched, eval)?)
        })?;
        self.given(given, &method.result, what)
    }

    /// Makes an object with a constructor.
    pub(crate) fn construct(
        &mut self,
        site: &Site<'_>,
        constructor: &Method,
        arguments: &[Val],
        what: &str,
    ) -> Result<Val, Failure> {
        if site.supposes {
            return Ok(self.sample(&constructor.owner));
        }
        let values = self.ready(site, constructor, None, arguments)?;
        let (function, types) = self.function_of(site, constructor)?;
        let fetched = self.all(&values)?;
        let given = self.run_in(site, what, Some(&function), |eval| {
            eval.new_object(&function, &types, &finish(fetched, eval)?)
        })?;
        self.given(given, &constructor.owner, what)
    }

    fn ready(
        &mut self,
        site: &Site<'_>,
        method: &Method,
        this: Option<&Val>,
        arguments: &[Val],
    ) -> Result<Vec<Ready>, Failure> {
        self.pass_beginners(site.inputs);
        let mut values = Vec::new();
        if let Some(this) = this {
            values.push(self.receiver(site, this, method)?);
        }
        for (argument, ty) in arguments.iter().zip(&method.parameters) {
            values.push(self.supplied(site, argument, ty.direct())?);
        }
        Ok(values)
    }

    fn function_of(&self, site: &Site<'_>, method: &Method) -> Result<(Function, Vec<Type>), Failure> {
        let function = method.loaded.module.function(method.token).map_err(cor("find a method"))?;
        let types = method.owner.arguments().iter().chain(&method.types);
        let types = types.map(|ty| self.runtime_type(site.thread, ty)).collect::<Result<Vec<_>, _>>()?;
        Ok((function, types))
    }

    /// `this` of a call: an object by its reference, a struct by its place, a primitive in a box. What classes declare
    /// (`Enum.ToString`) gets the box itself.
    fn receiver(&mut self, site: &Site<'_>, this: &Val, method: &Method) -> Result<Ready, Failure> {
        let wants_box = !method.owner.is_value();
        if self.nullable(&method.owner).is_some()
            && let Some(whole) = self.whole_nullable(site, this, &method.owner)?
        {
            return Ok(Ready::Inside(whole));
        }
        let unboxed = |path| if wants_box { Ready::As(path) } else { Ready::Inside(path) };
        match &this.data {
            Data::At(path) => {
                let value = self.fetch(path)?;
                let inner = bare(&value)
                    .ok_or_else(|| failed(format!("NullReferenceException: `{}` is null", path.name)))?;
                let actual = self.declared_ty(&inner);
                let is_struct = actual.is_value();
                // The runtime takes a primitive as `this` only out of a box.
                if let (Ty::Primitive(_), true, Some(constant)) =
                    (&actual, is_struct, self.constant_of(&inner))
                {
                    return self.boxed(site, &constant, &actual).map(unboxed);
                }
                Ok(if is_struct && !(wants_box && value.as_reference().is_some()) {
                    Ready::Inside(path.clone())
                } else {
                    Ready::As(path.clone())
                })
            }
            Data::Constant(Constant::Text(text)) => self.new_string(site, text).map(Ready::As),
            Data::Constant(Constant::Null) => Err(failed("NullReferenceException: the object is null")),
            Data::Constant(constant) => self.boxed(site, constant, &this.ty).map(unboxed),
        }
    }

    /// A nullable for a method of its own, where the value is not one in the program.
    fn whole_nullable(&mut self, site: &Site<'_>, this: &Val, ty: &Ty) -> Result<Option<Path>, Failure> {
        if let Data::At(path) = &this.data
            && let Some(inner) = bare(&self.fetch(path)?)
            && self.nullable(&self.declared_ty(&inner)).is_some()
        {
            return Ok(None);
        }
        match self.load(this)? {
            Some(Constant::Null) => self.zeroed(site, ty).map(Some),
            Some(constant) => self.filled_nullable(site, &constant, ty).map(Some),
            None => Ok(None),
        }
    }

    /// An argument in the shape a parameter of this type wants.
    fn supplied(&mut self, site: &Site<'_>, argument: &Val, to: &Ty) -> Result<Ready, Failure> {
        if let (Ty::Reference(_), Data::At(path)) = (&argument.ty, &argument.data) {
            // The runtime passes the address of a variable where the method wants one.
            return Ok(Ready::As(path.clone()));
        }
        let is_nullable = self.nullable(to).is_some();
        match &argument.data {
            Data::Constant(Constant::Null) if is_nullable => self.zeroed(site, to).map(Ready::Inside),
            Data::Constant(Constant::Null) => Ok(Ready::Null),
            Data::Constant(constant) if is_nullable => {
                self.filled_nullable(site, constant, to).map(Ready::Inside)
            }
            Data::Constant(Constant::Text(text)) => self.new_string(site, text).map(Ready::As),
            Data::Constant(constant) => match to {
                Ty::Primitive(kind) if *kind != element::OBJECT => {
                    let bits = constant.cast(*kind, false).and_then(|constant| constant.bytes());
                    let (kind, bytes) =
                        bits.ok_or_else(|| misfit(&self.csharp(&argument.ty), &self.csharp(to)))?;
                    Ok(Ready::Bits(kind, bytes))
                }
                to if to.is_value() => self.boxed(site, constant, to).map(Ready::Inside),
                _ => self.boxed(site, constant, &argument.ty).map(Ready::As),
            },
            Data::At(path) => {
                let value = self.fetch(path)?;
                let Some(inner) = bare(&value) else {
                    return match is_nullable {
                        true => self.zeroed(site, to).map(Ready::Inside),
                        false => Ok(Ready::Null),
                    };
                };
                if to.is_value() {
                    return Ok(Ready::Inside(path.clone()));
                }
                let actual = self.declared_ty(&inner);
                if actual.is_value() && value.as_reference().is_none() {
                    if let (Ty::Primitive(_), Some(constant)) = (&actual, self.constant_of(&inner)) {
                        return self.boxed(site, &constant, &actual).map(Ready::As);
                    }
                    return self.boxed_copy(site, path).map(Ready::As);
                }
                Ok(Ready::As(path.clone()))
            }
        }
    }

    /// A new box of a primitive, enum or decimal.
    pub(crate) fn boxed(&mut self, site: &Site<'_>, constant: &Constant, ty: &Ty) -> Result<Path, Failure> {
        if let Constant::Text(text) = constant {
            return self.new_string(site, text);
        }
        let ty = if *ty == OBJECT || *ty == Ty::Null { constant.ty() } else { ty.clone() };
        let ty = self.nullable(&ty).unwrap_or(ty);
        let ty = match constant {
            Constant::Decimal(_) => self.ty_named("System.Decimal").unwrap_or(ty),
            _ => ty,
        };
        let bytes = self.bytes_as(constant, &ty);
        let bytes = bytes.ok_or_else(|| misfit(&constant.plain(), &self.csharp(&ty)))?;
        let path = self.zeroed(site, &ty)?;
        let place = bare(&self.fetch(&path)?).ok_or_else(|| failed("a new box is null"))?;
        place.set_bytes(&bytes).map_err(cor("fill a box"))?;
        Ok(path)
    }

    /// A constant's bytes in a variable of this type.
    pub(crate) fn bytes_as(&self, constant: &Constant, ty: &Ty) -> Option<Vec<u8>> {
        if self.is_decimal(ty) {
            return constant.to_decimal(false).map(|value| Constant::decimal_bytes(&value));
        }
        let kind = match ty {
            Ty::Primitive(kind) => *kind,
            other => self.enum_storage(other)?,
        };
        constant.cast(kind, false)?.bytes().map(|(_, bytes)| bytes)
    }

    /// A new object of zeros; a struct in a box.
    pub(crate) fn zeroed(&mut self, site: &Site<'_>, ty: &Ty) -> Result<Path, Failure> {
        let name = self.csharp(ty);
        let lost = || failed(format!("no object of `{name}` can be made"));
        let (loaded, token) = self.definition(ty).ok_or_else(lost)?;
        let class = loaded.module.class(token).map_err(cor(format!("find `{name}`")))?;
        let types = ty.arguments().iter().map(|of| self.runtime_type(site.thread, of));
        let types = types.collect::<Result<Vec<_>, _>>()?;
        let made = self.run_in(site, &format!("new {name}"), None, |eval| eval.new_zeroed(&class, &types))?;
        self.held(&made.ok_or_else(lost)?, &name).ok_or_else(lost)
    }

    fn filled_nullable(&mut self, site: &Site<'_>, constant: &Constant, to: &Ty) -> Result<Path, Failure> {
        let inner = self.nullable(to).unwrap_or(OBJECT);
        let lost = || misfit(&constant.plain(), &self.csharp(to));
        let bytes = self.bytes_as(constant, &inner).ok_or_else(lost)?;
        let path = self.zeroed(site, to)?;
        let place = self.fetch(&path)?;
        let fill = || {
            self.field_named(&place, "hasValue")?.set_bytes(&[1]).ok()?;
            self.field_named(&place, "value")?.set_bytes(&bytes).ok()
        };
        fill().ok_or_else(|| misfit(&constant.plain(), &self.csharp(to)))?;
        Ok(path)
    }

    /// A box with a copy of a struct: the runtime boxes `this` of a method that only `object` has.
    pub(crate) fn boxed_copy(&mut self, site: &Site<'_>, path: &Path) -> Result<Path, Failure> {
        let lost = || failed(format!("`{}` cannot be boxed", path.name));
        let function = self.clone_method().ok_or_else(lost)?;
        let value = bare(&self.fetch(path)?).ok_or_else(lost)?;
        let made =
            self.run_in(site, &path.name, Some(&function), |eval| eval.call(&function, &[], &[value]))?;
        self.held(&made.ok_or_else(lost)?, &path.name).ok_or_else(lost)
    }

    fn clone_method(&self) -> Option<Function> {
        let (loaded, token) = self.type_named("System.Object")?;
        let metadata = &loaded.image()?.metadata;
        let clone =
            metadata.methods(token).find(|method| metadata.method_name(*method) == "MemberwiseClone")?;
        loaded.module.function(clone).ok()
    }

    /// Fetches what is ready; nothing may run after this and before the call.
    fn all(&self, values: &[Ready]) -> Result<Vec<Fetched>, Failure> {
        let fetch = |value: &Ready| {
            Ok(match value {
                Ready::Bits(kind, bytes) => Fetched::Bits(*kind, bytes.clone()),
                Ready::Null => Fetched::Null,
                Ready::As(path) => Fetched::Value(self.fetch(path)?),
                Ready::Inside(path) => {
                    let inner = bare(&self.fetch(path)?);
                    Fetched::Value(inner.ok_or_else(|| failed(format!("`{}` is null", path.name)))?)
                }
            })
        };
        values.iter().map(fetch).collect()
    }
}

enum Fetched {
    Bits(u32, Vec<u8>),
    Null,
    Value(ClrValue),
}

fn finish(list: Vec<Fetched>, eval: &Eval) -> cordebug::Result<Vec<ClrValue>> {
    list.into_iter()
        .map(|part| match part {
            Fetched::Value(value) => Ok(value),
            Fetched::Null => eval.create_value(element::CLASS),
            Fetched::Bits(kind, bytes) => {
                let value = eval.create_value(kind)?;
                value.set_bytes(&bytes)?;
                Ok(value)
            }
        })
        .collect()
}

fn failed(message: impl Into<String>) -> Failure {
    Failure::new(ErrorCode::EvaluationFailed, message)
}

fn misfit(from: &str, to: &str) -> Failure {
    failed(format!("`{from}` does not fit into `{to}`"))
}
