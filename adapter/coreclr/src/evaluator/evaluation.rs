//! The evaluation of one expression: supplies types to the binder, and reads, calls and writes for the
//! evaluator. Not here: the rules of C# ([`csharp_expr`]).

use std::cell::{Cell, RefCell, RefMut};
use std::rc::Rc;
use std::time::Instant;

use csharp_expr::bind::{
    Effects, FieldRef, Member, Method, MethodRef, Property, PropertyRef, TypeInfo, TypeProvider, Typed,
};
use csharp_expr::eval::{EvaluationTarget, Grouping, NO_PLACE, SortKeys};
use csharp_expr::types::Def;
use dap_wire::{ErrorCode, Failure};

use super::marshal_in::is_variable;
use super::{Constant, TypedValue, failed};
use crate::expression_binding::ResolvedScope;
use crate::func_eval::EvalContext;
use crate::session::ClrSession;
use crate::types::Ty;
use crate::types::ty::OBJECT;
use crate::value_path::{Path, PathRoot};

/// Most iterations of loops and items in one evaluation.
const MAX_ROUNDS: usize = 1_000_000;

pub(super) struct ExpressionEvaluation<'a> {
    session: RefCell<&'a mut ClrSession>,
    site: EvalContext,
    sight: &'a ResolvedScope,
    /// Effects that the evaluation may have.
    allowed: Effects,
    /// The object that the expression is about, if it is not evaluated in a frame.
    about: Option<&'a Path>,
    since: Instant,
    rounds: Cell<usize>,
    /// Nothing runs while types are resolved.
    is_look_only: Cell<bool>,
    /// An object was not of the type that it was bound as.
    stale: Cell<bool>,
}

impl<'a> ExpressionEvaluation<'a> {
    pub(super) fn new(
        session: &'a mut ClrSession,
        site: &EvalContext,
        sight: &'a ResolvedScope,
        allowed: Effects,
        about: Option<&'a Path>,
    ) -> Self {
        Self {
            session: RefCell::new(session),
            site: *site,
            sight,
            allowed,
            about,
            since: Instant::now(),
            rounds: Cell::new(0),
            is_look_only: Cell::new(false),
            stale: Cell::new(false),
        }
    }

    /// Whether the tree must be bound again.
    pub(super) fn is_stale(&self) -> bool {
        self.stale.get()
    }

    fn session(&self) -> RefMut<'_, &'a mut ClrSession> {
        self.session.borrow_mut()
    }

    fn site(&self) -> EvalContext {
        EvalContext { runs: self.site.runs && !self.is_look_only.get(), ..self.site }
    }

    /// The context of code that the expression runs without calling it by name.
    fn calling_site(&self) -> EvalContext {
        let site = self.site();
        EvalContext { runs: site.runs && self.allowed >= Effects::Calls, ..site }
    }

    /// Whether classes are initialised that the program has not used yet.
    fn initialises(&self) -> bool {
        self.allowed >= Effects::Calls && !self.is_look_only.get()
    }

    /// Values in the form in which they are passed and stored.
    fn load_all(&self, vals: &[TypedValue]) -> Result<Vec<TypedValue>, Failure> {
        let session = self.session();
        let one = |val: &TypedValue| {
            if matches!(val.ty, Ty::Reference(_)) {
                Ok(val.clone())
            } else {
                session.at_stop().read_if_in_memory(val)
            }
        };
        vals.iter().map(one).collect()
    }
}

impl TypeProvider for ExpressionEvaluation<'_> {
    fn info(&self, def: Def) -> Option<Rc<TypeInfo>> {
        self.session().types.type_info(def)
    }

    fn members(&self, def: Def, name: &str) -> Rc<[Member]> {
        self.session().types.members_named(def, name)
    }

    fn indexers(&self, def: Def) -> Rc<[Rc<Property>]> {
        self.session().types.indexers_of(def)
    }

    fn all_members(&self, def: Def) -> Vec<Member> {
        self.session().types.read_members(def, None)
    }

    fn find(&self, full_name: &str) -> Option<Def> {
        self.session().types.type_named(full_name).map(|(loaded, token)| Def { module: loaded.id, token })
    }

    fn find_from(&self, from: Def, full_name: &str) -> Option<Def> {
        let found = self.session().types.type_seen_from(from.module, full_name);
        found.map(|(loaded, token)| Def { module: loaded.id, token })
    }

    fn is_visible_from(&self, from: Def, def: Def) -> bool {
        self.session().types.is_visible_from(from.module, def.module, def.token)
    }

    fn find_nested(&self, def: Def, name: &str) -> Option<Def> {
        let loaded = self.session().types.modules.by_id(def.module)?;
        let metadata = &loaded.image()?.metadata;
        let token = metadata.find_type(&format!("{}.{name}", metadata.type_name(def.token)))?;
        Some(Def { module: def.module, token })
    }

    fn find_unique(&self, name: &str) -> Option<Def> {
        self.session().types.only_type(name)
    }

    fn is_namespace(&self, name: &str) -> bool {
        self.session().types.is_namespace(name)
    }

    fn extensions(&self, from: Option<Def>, name: &str) -> Vec<Rc<Method>> {
        self.session().types.extensions_seen_from(from, name)
    }

    fn type_names(&self, within: Result<&str, Def>, prefix: &str) -> Vec<String> {
        self.session().types.type_names_in(within, prefix)
    }

    fn all_extensions(&self) -> Vec<Rc<Method>> {
        self.session().types.extensions_of_the_user()
    }

    fn runtime_type(&self, of: &Typed) -> Option<Ty> {
        let before = self.is_look_only.replace(true);
        let found = csharp_expr::eval::current_type(of, self);
        self.is_look_only.set(before);
        found.ok().flatten()
    }
}

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
        if self.session().request.is_cancelled() {
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
        self.session().at_stop().element_in(of, indexes)
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

    fn is_variable(&self, val: &TypedValue) -> bool {
        // References are only written where the garbage collector knows.
        let is_writable = |path: &Path| path.memory().is_none() || self.session().types.is_unmanaged(&val.ty);
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
            let loaded = session.types.modules.by_id(def.module);
            loaded.is_some_and(|loaded| session.types.returns_its_field(&loaded, *setter))
        };
        let setter = property.property.setter.filter(|setter| !is_in_memory || !is_auto(setter));
        let Some(setter) = setter else {
            let backing = property.property.backing;
            let backing = backing.ok_or_else(|| failed(format!("`{name}` has no setter")))?;
            drop(session);
            return self.write_backing(of, property, backing, &value);
        };
        let lost = || failed(format!("the setter of `{name}` cannot be read"));
        let loaded = session.types.modules.by_id(def.module).ok_or_else(lost)?;
        let method = session.types.method(&loaded, &property.owner, setter).ok_or_else(lost)?;
        let mut given = arguments;
        given.push(value);
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
        self.session().types.enum_name(ty, number)
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
        let field = csharp_expr::bind::Field {
            owner: own.owner,
            token,
            name: own.name.clone(),
            ty: own.ty.clone(),
            is_static: own.is_static,
            constant: None,
            is_accessible: true,
        };
        let field = FieldRef { field: Rc::new(field), owner: property.owner.clone() };
        let place = self.field(of, &field)?;
        self.write(&place, value).map(drop)
    }
}
