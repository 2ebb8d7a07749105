//! The program as the evaluator of expressions sees it: values are read, methods called and variables
//! written. Not here: types for the binder, and the limits of an evaluation ([`super`]).

use std::rc::Rc;

use tandem_csharp::bind::{FieldRef, MethodRef, PropertyRef};
use tandem_csharp::eval::{EvaluationTarget, Grouping, NO_PLACE, SortKeys};
use tandem_wire::{ErrorCode, Failure};

use super::ExpressionEvaluation;
use crate::evaluator::base_calls::BaseCall;
use crate::evaluator::marshal_in::is_variable;
use crate::evaluator::{Constant, TypedValue, failed};
use crate::types::Ty;
use crate::types::ty::OBJECT;
use crate::value_path::{Path, PathRoot};

/// Most iterations of loops and items in one evaluation.
const MAX_ROUNDS: usize = 1_000_000;

impl EvaluationTarget for ExpressionEvaluation<'_> {
    type Location = Path;
    type Error = Failure;

    fn error(&self, message: String) -> Failure {
        failed(message)
    }

    fn stale_error(&self) -> Failure {
        self.stale.set(true);
        failed("an object is not any more of the type it was seen to be of")
    }

    fn check_cancellation(&self) -> Result<(), Failure> {
        if self.session().hub.request.is_cancelled() {
            return Err(Failure::cancelled());
        }
        let round = self.rounds.get() + 1;
        self.rounds.set(round);
        if round > MAX_ROUNDS || self.since.elapsed() > self.site.limit {
            let message =
                format!("a loop did not end within {} ms and {round} rounds", self.site.limit.as_millis());
            return Err(Failure::new(ErrorCode::EvaluationTimeout, message));
        }
        Ok(())
    }

    fn variable(&self, at: u32) -> Result<TypedValue, Failure> {
        let lost = || failed("a variable got lost");
        let at = at as usize;
        let variable = self.sight.scope.variables.get(at).ok_or_else(lost)?;
        let way = self.sight.ways.get(at).and_then(Option::as_ref).ok_or_else(lost)?;
        Ok(TypedValue::at(self.sight.rebase(way, &self.site), variable.ty.clone()))
    }

    fn this(&self) -> Result<TypedValue, Failure> {
        let ty = self.sight.scope.this.clone();
        match (self.about.or(self.sight.this.as_ref()), ty) {
            (Some(way), Some(ty)) => Ok(TypedValue::at(self.sight.rebase(way, &self.site), ty)),
            _ => Err(self.sight.lost.clone().unwrap_or_else(|| failed("there is no `this` here"))),
        }
    }

    fn exception(&self) -> Result<TypedValue, Failure> {
        let path = Path::new(PathRoot::Exception { thread: self.site.thread }, "$exception");
        Ok(TypedValue::at(path, self.sight.scope.exception.clone().unwrap_or(OBJECT)))
    }

    fn thread_id(&self) -> i32 {
        self.site.thread as i32
    }

    fn load(&self, val: &TypedValue) -> Result<Option<Constant>, Failure> {
        self.session().at_stop().load(val)
    }

    fn is_null(&self, val: &TypedValue) -> Result<bool, Failure> {
        self.session().at_stop().is_null_val(val)
    }

    fn actual_type(&self, val: &TypedValue) -> Result<Ty, Failure> {
        self.session().at_stop().actual(val)
    }

    fn identity(&self, val: &TypedValue) -> Result<Option<u64>, Failure> {
        self.session().at_stop().identity_of(val)
    }

    fn is_interned(&self, text: &TypedValue) -> Result<bool, Failure> {
        self.session().is_interned(text, &self.site())
    }

    fn equal_texts(&self, a: &TypedValue, b: &TypedValue) -> Result<bool, Failure> {
        self.session().are_equal_texts(a, b, &self.calling_site())
    }

    fn field(&self, of: Option<&TypedValue>, field: &FieldRef) -> Result<TypedValue, Failure> {
        match of {
            Some(of) => {
                let found = self.session().at_stop().field_in(of, field)?;
                let found = found.ok_or_else(|| self.stale_error())?;
                // Enums in generic classes are the only values whose class the runtime may not have loaded.
                if found.ty.is_value()
                    && !found.ty.arguments().is_empty()
                    && let Some(path) = found.path()
                {
                    let site = self.site();
                    self.session().load_type_of(path, &site);
                }
                Ok(found)
            }
            None => self.session().resolve_static(field, &self.site(), self.initialises()),
        }
    }

    fn property(&self, of: Option<&TypedValue>, property: &PropertyRef) -> Result<TypedValue, Failure> {
        match of {
            Some(of) => self.session().property_in(of, property, &self.site()),
            None => self.session().static_property(property, &self.site(), self.initialises()),
        }
    }

    fn indexer(
        &self,
        of: &TypedValue,
        property: &PropertyRef,
        arguments: &[TypedValue],
    ) -> Result<TypedValue, Failure> {
        let arguments = self.load_all(arguments)?;
        self.session().read_indexer(of, property, &arguments, &self.site())
    }

    fn length(&self, of: &TypedValue) -> Result<i32, Failure> {
        self.session().at_stop().length_in(of)
    }

    fn element(&self, of: &TypedValue, indexes: &[i64]) -> Result<TypedValue, Failure> {
        let mut session = self.session();
        if let (Ty::Pointer(to), [index]) = (&of.ty, indexes)
            && *index != 0
            && session.at_stop().pointee_size(of, to).is_none()
        {
            let size = session.size_in(to, &self.calling_site())?;
            return session.at_stop().read_pointee(of, to, *index, u64::try_from(size).ok());
        }
        session.at_stop().element_in(of, indexes)
    }

    fn tuple_element(&self, of: &TypedValue, at: usize) -> Result<TypedValue, Failure> {
        self.session().at_stop().element_of_tuple(of, at)
    }

    fn nullable_value(&self, of: &TypedValue) -> Result<TypedValue, Failure> {
        self.session().at_stop().out_of_nullable(of.clone())
    }

    fn address(&self, of: &TypedValue) -> Result<u64, Failure> {
        self.session().at_stop().address_in(of)
    }

    fn call(
        &self,
        method: &MethodRef,
        of: Option<&TypedValue>,
        arguments: &[TypedValue],
        is_base: bool,
    ) -> Result<Option<TypedValue>, Failure> {
        let arguments = self.load_all(arguments)?;
        let of = of.map(|of| self.session().at_stop().read_if_in_memory(of)).transpose()?;
        self.session().call_method(method, of.as_ref(), &arguments, is_base, &self.site())
    }

    fn construct(&self, constructor: &MethodRef, arguments: &[TypedValue]) -> Result<TypedValue, Failure> {
        let arguments = self.load_all(arguments)?;
        self.session().construct_object(constructor, &arguments, &self.site())
    }

    fn new_variable(&self, ty: &Ty) -> Result<TypedValue, Failure> {
        self.session().variable_of(ty, &self.site())
    }

    fn new_array(
        &self,
        of: &Ty,
        lengths: &[i64],
        items: Option<Vec<TypedValue>>,
    ) -> Result<TypedValue, Failure> {
        match items {
            Some(items) => {
                let items = self.load_all(&items)?;
                self.session().array_with(of, lengths, items, &self.site())
            }
            None => self.session().array_of(of, lengths, &self.site()),
        }
    }

    fn new_list(&self, ty: &Ty, array: TypedValue) -> Result<TypedValue, Failure> {
        let of = ty.arguments().first().cloned().unwrap_or(OBJECT);
        let made = self.session().list_of(&of, array, &self.site())?;
        Ok(TypedValue { ty: ty.clone(), ..made })
    }

    fn new_tuple(&self, ty: &Ty, items: Vec<TypedValue>) -> Result<TypedValue, Failure> {
        let items = self.load_all(&items)?;
        self.session().tuple_of(ty, items, &self.site())
    }

    fn new_zeroed(&self, ty: &Ty) -> Result<TypedValue, Failure> {
        self.session().zero(ty, &self.site())
    }

    fn copy(&self, val: &TypedValue) -> Result<TypedValue, Failure> {
        self.session().at_stop().copy_value(val)
    }

    fn copy_struct(&self, val: &TypedValue) -> Result<TypedValue, Failure> {
        self.session().copy_struct_of(val, &self.site())
    }

    fn is_variable(&self, val: &TypedValue) -> bool {
        // References are only written where the garbage collector knows.
        let is_writable =
            |path: &Path| path.memory().is_none() || self.session().program.types.is_unmanaged(&val.ty);
        val.path().is_some_and(|path| is_variable(path, &val.ty) && is_writable(path))
    }

    fn write(&self, place: &TypedValue, value: &TypedValue) -> Result<TypedValue, Failure> {
        let path = place.path();
        let path = path.ok_or_else(|| failed(format!("this {NO_PLACE}")))?;
        let ty = match place.ty.direct() {
            Ty::Null | Ty::Other => &value.ty,
            ty => ty,
        };
        self.session().store(path, value, ty, &self.site())
    }

    fn set_property(
        &self,
        of: Option<&TypedValue>,
        property: &PropertyRef,
        arguments: &[TypedValue],
        value: &TypedValue,
    ) -> Result<(), Failure> {
        let arguments = self.load_all(arguments)?;
        let mut session = self.session();
        let value = session.at_stop().read_if_in_memory(value)?;
        if let (Some(of), [_]) = (of, arguments.as_slice())
            && let Some(place) = session.at_stop().stored_item(of, &arguments)?
        {
            drop(session);
            return self.write(&place, &value).map(drop);
        }
        let (name, def) = (&property.property.name, property.property.owner);
        // Nothing can be called on a struct in memory.
        let is_in_memory = of.and_then(TypedValue::path).is_some_and(|path| path.memory().is_some());
        let is_auto = |setter: &u32| {
            let loaded = session.program.types.modules.by_id(def.module);
            loaded.is_some_and(|loaded| session.program.types.returns_its_field(&loaded, *setter))
        };
        let setter = property.property.setter.filter(|setter| !is_in_memory || !is_auto(setter));
        let Some(setter) = setter else {
            let backing = property.property.backing;
            let backing = backing.ok_or_else(|| failed(format!("`{name}` has no setter")))?;
            drop(session);
            return self.write_backing(of, property, backing, &value);
        };
        let lost = || failed(format!("the setter of `{name}` cannot be read"));
        let loaded = session.program.types.modules.by_id(def.module).ok_or_else(lost)?;
        let method = session.program.types.method(&loaded, &property.owner, setter).ok_or_else(lost)?;
        let mut given = arguments;
        given.push(value);
        if let Some(of) = of.filter(|of| property.is_base && session.at_stop().is_overridden(&method, of)) {
            let call = BaseCall { method: &method, of, name, site: &self.site() };
            return call.run(&mut session, &given).map(drop);
        }
        session.call(&self.site(), &method, of, &given, &format!("{name} = …")).map(drop)
    }

    fn type_object(&self, ty: &Ty) -> Result<TypedValue, Failure> {
        self.session().type_object(ty, &self.site())
    }

    fn size_of(&self, ty: &Ty) -> Result<i32, Failure> {
        self.session().size_in(ty, &self.calling_site())
    }

    fn text_of(&self, val: &TypedValue) -> Result<String, Failure> {
        self.session().call_to_string(val, &self.site()).map(Option::unwrap_or_default)
    }

    fn format(&self, val: &TypedValue, format: &str) -> Result<String, Failure> {
        let mut session = self.session();
        let val = session.at_stop().read_if_in_memory(val)?;
        session.format_in_program(&val, format, &self.site())
    }

    fn enum_name(&self, ty: &Ty, number: i128) -> Option<String> {
        self.session().program.types.enum_name(ty, number)
    }

    fn exception_error(&self, val: &TypedValue) -> Failure {
        self.session().exception_thrown(val, &self.site())
    }

    fn items(&self, of: &TypedValue, most: usize) -> Result<(Vec<TypedValue>, bool), Failure> {
        self.session().items_in(of, most, &self.calling_site())
    }

    fn order(&self, count: usize, levels: &[SortKeys<Path>]) -> Result<Vec<usize>, Failure> {
        self.session().order_in(count, levels, &self.calling_site())
    }

    fn group_equal_keys(
        &self,
        keys: &[TypedValue],
        comparer: Option<&TypedValue>,
    ) -> Result<Vec<Vec<usize>>, Failure> {
        self.session().group_equal_keys(keys, comparer, &self.calling_site())
    }

    fn new_dictionary(
        &self,
        ty: &Ty,
        pairs: Vec<(TypedValue, TypedValue)>,
        comparer: Option<&TypedValue>,
    ) -> Result<TypedValue, Failure> {
        self.session().dictionary_of(ty, pairs, comparer, &self.calling_site())
    }

    fn new_groups(&self, ty: &Ty, groups: &[Rc<Grouping<Path>>]) -> Result<TypedValue, Failure> {
        self.session().groups_of(ty, groups, &self.calling_site())
    }

    fn replace_items(&self, of: &TypedValue, items: Vec<TypedValue>) -> Result<(), Failure> {
        let items = self.load_all(&items)?;
        self.session().replace_items(of, items, &self.site())
    }
}

impl ExpressionEvaluation<'_> {
    /// Writes to the field of an auto-property without a setter.
    fn write_backing(
        &self,
        of: Option<&TypedValue>,
        property: &PropertyRef,
        token: u32,
        value: &TypedValue,
    ) -> Result<(), Failure> {
        let own = &property.property;
        let field = tandem_csharp::bind::Field {
            owner: own.owner,
            token,
            name: own.name.clone(),
            ty: own.ty.clone(),
            is_static: own.is_static,
            constant: None,
            is_readonly: false,
            is_accessible: true,
        };
        let field = FieldRef { field: Rc::new(field), owner: property.owner.clone() };
        let place = self.field(of, &field)?;
        self.write(&place, value).map(drop)
    }
}
