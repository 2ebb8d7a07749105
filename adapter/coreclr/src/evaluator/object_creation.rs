//! New objects in the program: arrays, lists, tuples, variables; and the size of structs, measured on a new
//! one. Not here: writes to existing variables ([`super::marshal_in`]).

use std::time::Instant;

use cordebug::value::element;
use tandem_csharp::bind::MethodRef;
use tandem_wire::{ErrorCode, Failure};

use super::{Constant, TypedValue, ValueLocation, failed};
use crate::bare_value::bare;
use crate::cor;
use crate::func_eval::EvalContext;
use crate::session::ClrSession;
use crate::types::ClrTypeSystem;
use crate::types::Ty;
use crate::types::ty::{BOOL, INT, STRING};
use crate::value_path::{Path, PathRoot, PathSegment};

pub(super) const LIST: &str = "System.Collections.Generic.List`1";
pub(super) const SEQUENCE: &str = "System.Collections.Generic.IEnumerable`1";
/// Deepest nesting of structs that is searched.
const MAX_STRUCT_DEPTH: usize = 16;

impl ClrSession {
    /// Creates an object with a constructor of a typed tree.
    pub(super) fn construct_object(
        &mut self,
        constructor: &MethodRef,
        arguments: &[TypedValue],
        site: &EvalContext,
    ) -> Result<TypedValue, Failure> {
        let method = self.program.types.method_instance(constructor)?;
        let what = format!(
            "new {}({})",
            self.program.types.csharp(&constructor.owner),
            if arguments.is_empty() { "" } else { "…" }
        );
        self.construct(site, &method, arguments, &what)
    }

    /// Creates an object with the constructor that has these parameter types.
    pub(super) fn construct_with(
        &mut self,
        ty: &Ty,
        takes: &[&str],
        arguments: &[TypedValue],
        site: &EvalContext,
    ) -> Result<TypedValue, Failure> {
        let name = self.program.types.csharp(ty);
        let constructor = self.program.types.known_method(ty, ".ctor", Vec::new(), takes);
        let constructor = constructor.ok_or_else(|| failed(format!("cannot create a `{name}`")))?;
        let made = self.construct(site, &constructor, arguments, &format!("new {name}(…)"))?;
        Ok(TypedValue { ty: ty.clone(), ..made })
    }

    /// A new array of these items, in row-major order if it has several dimensions.
    pub(super) fn array_with(
        &mut self,
        of: &Ty,
        lengths: &[i64],
        items: Vec<TypedValue>,
        site: &EvalContext,
    ) -> Result<TypedValue, Failure> {
        if *of == STRING
            && lengths.len() == 1
            && items.len() > 2
            && let Some(texts) = texts_of(&items)
            && let Some(array) = self.array_of_texts(&texts, site)?
        {
            return Ok(array);
        }
        let since = Instant::now();
        let mut ready = Vec::new();
        for item in items {
            if self.hub.request.is_cancelled() {
                return Err(Failure::cancelled());
            }
            if since.elapsed() > site.limit {
                let message = format!(
                    "an array of `{}` was not filled within {} ms",
                    self.program.types.csharp(of),
                    site.limit.as_millis()
                );
                return Err(Failure::new(ErrorCode::EvaluationTimeout, message));
            }
            ready.push(self.in_program(item, of, site)?);
        }
        let array = self.array_of(of, lengths, site)?;
        for (position, item) in (0u32..).zip(ready) {
            let step = PathSegment::Element(position);
            let place = array.path().map(|path| path.step(step, format!("[{position}]")));
            let place = place.ok_or_else(|| failed("the new array got lost"))?;
            self.at_stop().write(&place, &item, of)?;
        }
        Ok(array)
    }

    /// An array of new strings: the program splits one long string, because creating
    /// each string costs a call.
    fn array_of_texts(
        &mut self,
        texts: &[Option<&str>],
        site: &EvalContext,
    ) -> Result<Option<TypedValue>, Failure> {
        let takes = ["System.Char", "System.StringSplitOptions"];
        let splits = self.program.types.known_method(&STRING, "Split", Vec::new(), &takes);
        let is_free = |letter: &char| texts.iter().flatten().all(|text| !text.contains(*letter));
        let between = ('\u{1}'..='\u{1f}').chain('\u{e000}'..='\u{f8ff}').find(is_free);
        let (Some(splits), Some(between)) = (splits, between) else { return Ok(None) };
        let parts: Vec<&str> = texts.iter().map(|text| text.unwrap_or_default()).collect();
        let all = TypedValue::text(parts.join(between.encode_utf8(&mut [0; 4])));
        let given = [
            TypedValue::plain(Constant::Int(element::CHAR, i128::from(u32::from(between)))),
            self.program.types.no_options(),
        ];
        let array = self.call(site, &splits, Some(&all), &given, "new string[]")?;
        let lost = || failed("cannot create the strings");
        for (position, _) in texts.iter().enumerate().filter(|(_, text)| text.is_none()) {
            let step = PathSegment::Element(u32::try_from(position).unwrap_or(u32::MAX));
            let place = array.path().map(|path| path.step(step, format!("[{position}]"))).ok_or_else(lost)?;
            self.at_stop().write(&place, &TypedValue::null_of(STRING), &STRING)?;
        }
        Ok(Some(array))
    }

    /// A new array with elements of type `of`, all zero, and one length for each dimension.
    pub(super) fn array_of(
        &mut self,
        of: &Ty,
        lengths: &[i64],
        site: &EvalContext,
    ) -> Result<TypedValue, Failure> {
        let [length] = lengths else { return self.array_of_ranks(of, lengths, site) };
        let length = u32::try_from(*length).unwrap_or(u32::MAX);
        let what = format!("new {}[{length}]", self.program.types.csharp(of));
        if of.is_value() && (!matches!(of, Ty::Primitive(_)) || self.program.types.is_decimal(of)) {
            return self.array_of_structs(of, length, &what, site);
        }
        let element = self.program.types.runtime_type(&self.program.debuggee, site.thread, of)?;
        let made = self.run_in(site, &what, None, |eval| eval.new_array(&element, length))?;
        self.at_stop().wrap_result(made, &of.clone().vector(), &what)
    }

    /// The runtime's evaluations cannot create arrays of structs; a list can.
    fn array_of_structs(
        &mut self,
        of: &Ty,
        length: u32,
        what: &str,
        site: &EvalContext,
    ) -> Result<TypedValue, Failure> {
        let lost = || failed(format!("`{what}` cannot be made"));
        let list = self.program.types.ty_generic(LIST, vec![of.clone()]).ok_or_else(lost)?;
        let length = TypedValue::plain(Constant::Int(element::I4, length.into()));
        let list = self.construct_with(&list, &["System.Int32"], &[length], site)?;
        let path = list.path().ok_or_else(lost)?;
        let value = bare(&self.at_stop().fetch(path)?).ok_or_else(lost)?;
        let step = self.program.types.member(&value, "_items").ok_or_else(lost)?;
        Ok(TypedValue::at(path.step(step, what.to_owned()), of.clone().vector()))
    }

    /// A new zeroed array of several dimensions.
    fn array_of_ranks(
        &mut self,
        of: &Ty,
        lengths: &[i64],
        site: &EvalContext,
    ) -> Result<TypedValue, Failure> {
        let number = |length: &i64| TypedValue::int(i32::try_from(*length).unwrap_or(i32::MAX));
        let element = self.type_object(of, site)?;
        let count = i64::try_from(lengths.len()).unwrap_or(i64::MAX);
        let lengths_val = self.array_with(&INT, &[count], lengths.iter().map(number).collect(), site)?;
        let (given, takes) = ([element, lengths_val], ["System.Type", "[]"]);
        let made =
            self.call_known("System.Array", "CreateInstance", Vec::new(), &takes, None, &given, site)?;
        let rank = u32::try_from(lengths.len()).unwrap_or(u32::MAX);
        Ok(TypedValue { ty: Ty::Array(Box::new(of.clone()), rank), ..made })
    }

    /// A new list of an array's items.
    pub(super) fn list_of(
        &mut self,
        of: &Ty,
        array: TypedValue,
        site: &EvalContext,
    ) -> Result<TypedValue, Failure> {
        let list = self.program.types.ty_generic(LIST, vec![of.clone()]);
        let list = list.ok_or_else(|| failed("there are no lists here"))?;
        self.construct_with(&list, &[SEQUENCE], &[array], site)
    }

    /// A new variable: evaluations have no locals, but an array with one element serves as one.
    pub(super) fn variable_of(&mut self, ty: &Ty, site: &EvalContext) -> Result<TypedValue, Failure> {
        let array = self.array_of(ty, &[1], site)?;
        let place = array.path().ok_or_else(|| failed("the new variable got lost"))?;
        Ok(TypedValue::at(place.step(PathSegment::Element(0), "_".into()), ty.clone()))
    }

    /// A new tuple: a zeroed struct whose elements are then written.
    pub(super) fn tuple_of(
        &mut self,
        ty: &Ty,
        items: Vec<TypedValue>,
        site: &EvalContext,
    ) -> Result<TypedValue, Failure> {
        let types = elements_of(ty);
        let mut ready = Vec::new();
        for (item, ty) in items.into_iter().zip(&types) {
            ready.push(self.in_program(item, ty, site)?);
        }
        let path = self.new_zeroed(site, ty)?;
        let lost = || failed("the new tuple lacks an element");
        let value = bare(&self.at_stop().fetch(&path)?).ok_or_else(lost)?;
        let places = self
            .program
            .types
            .tuple_elements(&value, &self.program.types.declared_ty(&value))
            .ok_or_else(lost)?;
        drop(value);
        for ((item, ty), steps) in ready.iter().zip(&types).zip(places) {
            let place = steps.into_iter().fold(path.clone(), |way, step| way.step(step, String::new()));
            self.at_stop().write(&place, item, ty)?;
        }
        Ok(TypedValue::at(path, ty.clone()))
    }

    /// A zeroed struct, or the zero of a type that exists here.
    pub(super) fn zero(&mut self, ty: &Ty, site: &EvalContext) -> Result<TypedValue, Failure> {
        match self.program.types.zero_of(ty) {
            Some(zero) => Ok(zero),
            None => self.new_zeroed(site, ty).map(|path| TypedValue::at(path, ty.clone())),
        }
    }

    /// `sizeof(T)`: the size of a struct is known only to the runtime, so one is created.
    pub(super) fn size_in(&mut self, ty: &Ty, site: &EvalContext) -> Result<i32, Failure> {
        let kind = match ty {
            Ty::Primitive(kind) => Some(*kind),
            Ty::Pointer(_) => Some(element::I),
            other => self.program.types.enum_storage(other),
        };
        let size = kind.and_then(super::width).or(self.program.types.is_decimal(ty).then_some(16));
        if let Some(size) = size.and_then(|size| i32::try_from(size).ok()) {
            return Ok(size);
        }
        let name = self.program.types.csharp(ty);
        if !self.program.types.is_unmanaged(ty) {
            return Err(failed(format!(
                "CS0208: Cannot take the size of a managed type ('{name}'): it has no size in C#"
            )));
        }
        let lost = || failed(format!("the size of `{name}` cannot be read"));
        let made = self.new_zeroed(site, ty)?;
        let size =
            bare(&self.at_stop().fetch(&made)?).and_then(|value| value.size().ok()).ok_or_else(lost)?;
        i32::try_from(size).map_err(|_| lost())
    }

    /// A value instead of a path into plain memory: a constant, or a copy of a struct in a box.
    pub(super) fn copy_if_in_memory(
        &mut self,
        val: &TypedValue,
        site: &EvalContext,
    ) -> Result<TypedValue, Failure> {
        let Some(Path { root: PathRoot::Memory { at, ty }, name, .. }) = val.path() else {
            return Ok(val.clone());
        };
        if self.program.types.is_number(ty) || !self.program.types.is_unmanaged(ty) || !site.runs {
            return self.at_stop().read_if_in_memory(val);
        }
        let lost = || failed(format!("`{name}` cannot be read"));
        let copy = self.new_zeroed(site, ty)?;
        let stop = self.at_stop();
        let contents = bare(&stop.fetch(&copy)?).ok_or_else(lost)?;
        let size = contents.size().map_err(cor(format_args!("find the size of `{name}`")))?;
        let bytes = stop
            .debuggee
            .process()?
            .read_memory(stop.memory_address(at)?, size)
            .map_err(cor("read memory"))?;
        if bytes.len() != size as usize {
            return Err(lost());
        }
        contents.set_bytes(&bytes).map_err(cor(format_args!("copy `{name}`")))?;
        Ok(TypedValue::at(Path { name: name.clone(), ..copy }, val.ty.clone()))
    }

    /// A new object of a class whose constructor takes the object at a path.
    pub(crate) fn wrap_object(
        &mut self,
        ty: &Ty,
        of: &Path,
        of_ty: &Ty,
        site: &EvalContext,
    ) -> Result<TypedValue, Failure> {
        let name = self.program.types.csharp(ty);
        let constructors = self.program.types.methods_named(ty, ".ctor").into_iter();
        let mut fitting = constructors.filter(|method| match method.parameters.as_slice() {
            [parameter] => !method.is_static && self.program.types.derives(of_ty, parameter.direct()),
            _ => false,
        });
        let constructor = fitting.next();
        drop(fitting);
        let constructor =
            constructor.ok_or_else(|| failed(format!("no constructor of `{name}` takes the object")))?;
        let given = [TypedValue::at(of.clone(), of_ty.clone())];
        let made = self.construct(site, &constructor, &given, &format!("new {name}(…)"))?;
        Ok(TypedValue { ty: ty.clone(), ..made })
    }
}

impl ClrTypeSystem {
    /// `StringSplitOptions.None`.
    fn no_options(&self) -> TypedValue {
        let ty = self.ty_named("System.StringSplitOptions").unwrap_or(INT);
        TypedValue::constant_of(Constant::int(0), ty)
    }

    /// Whether a struct and those in it hold no references.
    pub(super) fn is_unmanaged(&self, ty: &Ty) -> bool {
        self.is_unmanaged_in(ty, MAX_STRUCT_DEPTH)
    }

    fn is_unmanaged_in(&self, ty: &Ty, deeper: usize) -> bool {
        match ty {
            Ty::Primitive(kind) => !matches!(*kind, element::STRING | element::OBJECT),
            Ty::Pointer(_) => true,
            Ty::Named(named) if named.is_value && deeper > 0 => {
                let fields = || {
                    let (loaded, token) = self.definition(ty)?;
                    let metadata = &loaded.image()?.metadata;
                    let fields = metadata.fields(token).into_iter().filter(|field| !field.is_static);
                    let field_ty = |token| Some(self.ty_of(&loaded, &metadata.field_type(token)?));
                    fields.map(|field| field_ty(field.token)).collect::<Option<Vec<_>>>()
                };
                fields().is_some_and(|fields| {
                    fields.iter().all(|field| {
                        let field = field.with(ty.arguments(), &[]);
                        field != *ty && self.is_unmanaged_in(&field, deeper - 1)
                    })
                })
            }
            _ => false,
        }
    }

    /// The zero of a type as a constant; `None` for a struct that must be created.
    pub(super) fn zero_of(&self, ty: &Ty) -> Option<TypedValue> {
        let number = |kind: u32| Constant::int(0).cast(kind, false).unwrap_or(Constant::Null);
        let zero = match ty {
            ty if *ty == BOOL => Constant::Bool(false),
            Ty::Primitive(kind) if tandem_csharp::types::is_numeric(*kind) => number(*kind),
            other if self.is_decimal(other) => Constant::Decimal(rust_decimal::Decimal::ZERO),
            other => match self.enum_storage(other) {
                Some(kind) => number(kind),
                None if other.is_value() && self.nullable(other).is_none() => return None,
                None => Constant::Null,
            },
        };
        Some(TypedValue::constant_of(zero, ty.clone()))
    }
}

/// The types of a tuple's elements: the eighth and later ones are in a nested tuple.
fn elements_of(ty: &Ty) -> Vec<Ty> {
    match ty.arguments() {
        [first @ .., rest] if first.len() == 7 => first.iter().cloned().chain(elements_of(rest)).collect(),
        all => all.to_vec(),
    }
}

/// The texts of values if all of them are constants.
fn texts_of(items: &[TypedValue]) -> Option<Vec<Option<&str>>> {
    items
        .iter()
        .map(|item| match &item.data {
            ValueLocation::Constant(Constant::Text(text)) => Some(Some(text.as_str())),
            ValueLocation::Constant(Constant::Null) => Some(None),
            _ => None,
        })
        .collect()
}
