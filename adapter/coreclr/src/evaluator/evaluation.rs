//! The evaluation of one expression: its context and its limits, and the types that it supplies to the
//! binder. Not here: what it reads, calls and writes for the evaluator ([`target`]), the rules of C#
//! ([`tandem_csharp`]).

mod target;

use std::cell::{Cell, RefCell, RefMut};
use std::rc::Rc;
use std::time::Instant;

use tandem_csharp::bind::{Effects, Member, Method, Property, TypeInfo, TypeProvider, Typed};
use tandem_csharp::types::Def;
use tandem_wire::Failure;

use super::TypedValue;
use crate::expression_binding::ResolvedScope;
use crate::func_eval::EvalContext;
use crate::session::ClrSession;
use crate::types::Ty;
use crate::value_path::Path;

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
        self.session().program.types.type_info(def)
    }

    fn members(&self, def: Def, name: &str) -> Rc<[Member]> {
        self.session().program.types.members_named(def, name)
    }

    fn indexers(&self, def: Def) -> Rc<[Rc<Property>]> {
        self.session().program.types.indexers_of(def)
    }

    fn all_members(&self, def: Def) -> Vec<Member> {
        self.session().program.types.read_members(def, None)
    }

    fn find(&self, full_name: &str) -> Option<Def> {
        self.session()
            .program
            .types
            .type_named(full_name)
            .map(|(loaded, token)| Def { module: loaded.id, token })
    }

    fn find_from(&self, from: Def, full_name: &str) -> Option<Def> {
        let session = self.session();
        let types = &session.program.types;
        types.file_type(from, full_name).or_else(|| {
            let found = types.type_seen_from(from.module, full_name);
            found.map(|(loaded, token)| Def { module: loaded.id, token })
        })
    }

    fn is_visible_from(&self, from: Def, def: Def) -> bool {
        self.session().program.types.is_visible_from(from.module, def.module, def.token)
    }

    fn anonymous_type(&self, from: Option<Def>, properties: &[Rc<str>]) -> Option<Def> {
        self.session().program.types.anonymous_type(from.map(|from| from.module), properties)
    }

    fn find_nested(&self, def: Def, name: &str) -> Option<Def> {
        let loaded = self.session().program.types.modules.by_id(def.module)?;
        let metadata = &loaded.image()?.metadata;
        let token = metadata.find_type(&format!("{}.{name}", metadata.type_name(def.token)))?;
        Some(Def { module: def.module, token })
    }

    fn find_unique(&self, name: &str) -> Option<Def> {
        self.session().program.types.only_type(name)
    }

    fn is_namespace(&self, name: &str) -> bool {
        self.session().program.types.is_namespace(name)
    }

    fn namespaces_in(&self, space: &str) -> Vec<String> {
        self.session().program.types.namespaces_in(space)
    }

    fn extensions(&self, from: Option<Def>, name: &str) -> Vec<Rc<Method>> {
        self.session().program.types.extensions_seen_from(from, name)
    }

    fn extension_getters(&self, from: Option<Def>, property: &str) -> Vec<Rc<Method>> {
        self.session().program.types.extension_getters_seen_from(from, property)
    }

    fn type_names(&self, within: Result<&str, Def>, prefix: &str) -> Vec<String> {
        self.session().program.types.type_names_in(within, prefix)
    }

    fn all_extensions(&self) -> Vec<Rc<Method>> {
        self.session().program.types.extensions_of_the_user()
    }

    fn runtime_type(&self, of: &Typed) -> Option<Ty> {
        let before = self.is_look_only.replace(true);
        let found = tandem_csharp::eval::current_type(of, self);
        self.is_look_only.set(before);
        found.ok().flatten()
    }
}
