//! The meaning of a simple name, of `this` and of `base`, and `nameof` (language specification, 12.8.4,
//! 12.8.14, 12.8.15 and 12.8.23).
//!
//! Not here: names after a dot ([`super::members`]).

use std::rc::Rc;

use super::binder::{Bind, Binder, leave_to_compiler, reject};
use super::classification::{Classification, MethodGroup};
use super::scope::COMMON_NAMESPACES;
use super::typed::{ConversionKind, Typed, TypedKind};
use crate::constant::Constant;
use crate::syntax::Span;
use crate::syntax::tree::{Expr, ExprKind, SimpleName};
use crate::types::{Def, INT, OBJECT, STRING, Ty};

impl Binder<'_> {
    pub(super) fn simple_name(&mut self, name: &SimpleName) -> Bind<Classification> {
        let types = name.arguments.iter().map(|ty| self.type_of_name(ty)).collect::<Bind<Vec<_>>>()?;
        match self.lookup_name(name, &types)? {
            Some(part) => Ok(part),
            None if self.scope.local_functions.contains(&name.text) => {
                leave_to_compiler(format!("the local function `{}`", name.text), name.span)
            }
            None => reject(
                "CS0103",
                format!("The name '{}' does not exist in the current context", name.text),
                name.span,
            ),
        }
    }

    /// The meaning of a name that is called. In Visual Basic, the variable for the result of a function has
    /// the function's name.
    pub(super) fn called_name(&mut self, name: &SimpleName) -> Bind<Classification> {
        let found = self.simple_name(name)?;
        if let Classification::Value(value) = &found
            && self.is_uncallable(value)
            && let Some(group @ Classification::Group(_)) = self.member_around(&name.text, &[], name.span)?
        {
            return Ok(group);
        }
        Ok(found)
    }

    /// Whether neither a value nor its object is a delegate.
    fn is_uncallable(&self, value: &Typed) -> bool {
        let is_delegate = |ty: &Ty| *ty == Ty::Other || self.types.is_delegate(ty);
        !is_delegate(&value.ty) && !self.narrow(value).is_some_and(|narrow| is_delegate(&narrow.ty))
    }

    /// The member of `this` or of the classes around the code that a name means.
    pub(super) fn member_around(
        &mut self,
        name: &str,
        types: &[Ty],
        span: Span,
    ) -> Bind<Option<Classification>> {
        if let Some(this) = self.scope.this.clone() {
            let this = Typed::new(TypedKind::This, this, span);
            if let Some(part) = self.own_member(&this, name, types, span)? {
                return Ok(Some(part));
            }
        }
        let mut around = self.scope.class.clone();
        while let Some(class) = around {
            if let Some(part) = self.static_member(&class, name, types, span)? {
                return Ok(Some(part));
            }
            around = self.enclosing(&class);
        }
        Ok(None)
    }

    /// The meaning of a name; `None` if nothing has this name.
    fn lookup_name(&mut self, name: &SimpleName, types: &[Ty]) -> Bind<Option<Classification>> {
        let (text, span) = (&name.text, name.span);
        if name.arity() == 0
            && let Some(variable) = self.variable(text, span)
        {
            return Ok(Some(Classification::Value(variable)));
        }
        if let Some(part) = self.member_around(text, types, span)? {
            return Ok(Some(part));
        }
        if name.arity() == 0
            && let Some((_, ty)) = self.scope.type_parameters.iter().find(|(own, _)| *own == **text)
        {
            return Ok(Some(Classification::Type(ty.clone())));
        }
        if let Some(ty) = self.visible_type(text, types.to_vec(), name.open) {
            return Ok(Some(Classification::Type(ty)));
        }
        let imports = &self.scope.imports;
        if let Some((_, space)) = imports.namespace_aliases.iter().find(|(alias, _)| *alias == **text) {
            return Ok(Some(Classification::Namespace(space.clone())));
        }
        // `using static`: the members of those types are in scope by their simple names.
        for ty in imports.statics.clone() {
            if let Some(part) = self.static_member(&ty, text, types, span)? {
                return Ok(Some(part));
            }
        }
        Ok(self.namespace_in_scope(text).map(Classification::Namespace))
    }

    /// A variable of the expression or of the scope.
    pub(super) fn variable(&self, name: &str, span: Span) -> Option<Typed> {
        if let Some(local) = self.locals.iter().rev().find(|local| *local.name == *name) {
            return Some(Typed::new(TypedKind::Slot(local.slot), local.ty.clone(), span));
        }
        match name {
            "$exception" => {
                return self.scope.exception.clone().map(|ty| Typed::new(TypedKind::Exception, ty, span));
            }
            "$threadid" => return Some(Typed::new(TypedKind::ThreadId, INT, span)),
            _ => {}
        }
        let at = self.scope.variables.iter().position(|variable| *variable.name == *name)?;
        let variable = self.scope.variables.get(at)?;
        Some(match &variable.constant {
            Some(constant) => Typed::new(TypedKind::Constant(constant.clone()), variable.ty.clone(), span),
            None => Typed::new(TypedKind::Variable(u32::try_from(at).ok()?), variable.ty.clone(), span),
        })
    }

    /// Methods of this name on the type of `this` or the class around.
    pub(super) fn group(
        &self,
        of: Option<Typed>,
        owner: &Ty,
        name: &str,
        types: &[Ty],
        span: Span,
    ) -> Classification {
        let (name, owner) = (Rc::from(name), owner.clone());
        Classification::Group(MethodGroup { name, of, owner, types: types.to_vec(), is_base: false, span })
    }

    /// The type in which a type is declared, with its part of the generic arguments.
    pub(super) fn enclosing(&self, ty: &Ty) -> Option<Ty> {
        let outer = self.types.info(ty)?.enclosing?;
        let count = self.types.system.info(outer)?.parameters.len();
        Some(self.types.make(outer, ty.arguments().iter().take(count).cloned().collect()))
    }

    /// The type of a simple name, as code in this scope would use it. `open` is the number of
    /// omitted generic arguments.
    pub(super) fn visible_type(&self, name: &str, types: Vec<Ty>, open: usize) -> Option<Ty> {
        let imports = &self.scope.imports;
        let arity = types.len().max(open);
        if arity == 0
            && let Some((_, ty)) = imports.type_aliases.iter().find(|(alias, _)| alias == name)
        {
            return Some(ty.clone());
        }
        let own = if arity > 0 { format!("{name}`{arity}") } else { name.to_owned() };
        // Types nested in the classes around the code and in their bases share the generic arguments of
        // those.
        let mut around = self.scope.class.clone();
        while let Some(class) = around {
            for holder in self.types.chain(&class) {
                if let Some(def) =
                    self.types.def(&holder).and_then(|def| self.types.system.find_nested(def, &own))
                {
                    let count = self.types.system.info(def)?.parameters.len();
                    let shared = count.saturating_sub(arity);
                    let mut arguments: Vec<Ty> = holder.arguments().iter().take(shared).cloned().collect();
                    arguments.extend(types);
                    return Some(self.types.make(def, arguments));
                }
            }
            around = self.enclosing(&class);
        }
        let mut found = self
            .namespaces_in_scope()
            .into_iter()
            .filter_map(|space| self.find_type_in_scope(&join(&space, &own)))
            .peekable();
        // Internals of other assemblies hide nothing. A user who debugs may still name one.
        let first = found.peek().copied();
        let visible = found.find(|def| self.may_name(*def));
        let def = visible.or(first).or_else(|| self.types.system.find_unique(&own))?;
        Some(self.types.make(def, types))
    }

    /// Whether the code in scope may name this type.
    fn may_name(&self, def: Def) -> bool {
        self.place().is_none_or(|place| self.types.system.is_visible_from(place, def))
    }

    /// A type by its full name, as the code in scope would find it.
    fn find_type_in_scope(&self, full_name: &str) -> Option<Def> {
        match self.place() {
            Some(place) => self.types.system.find_from(place, full_name),
            None => self.types.system.find(full_name),
        }
    }

    /// The definition of the class around.
    pub(super) fn place(&self) -> Option<Def> {
        self.scope.class.as_ref().and_then(|class| self.types.def(class))
    }

    /// Namespaces whose types are in scope: those around the code from the inside out, imported
    /// ones, and common ones.
    pub(super) fn namespaces_in_scope(&self) -> Vec<String> {
        let mut spaces = self.namespaces_around();
        spaces.extend(self.scope.imports.namespaces.iter().cloned());
        spaces.extend(COMMON_NAMESPACES.map(str::to_owned));
        spaces
    }

    /// The namespace of this name in one around the code.
    pub(super) fn namespace_in_scope(&self, name: &str) -> Option<String> {
        let mut full_names = self.namespaces_around().into_iter().map(|space| join(&space, name));
        full_names.find(|full| self.types.system.is_namespace(full))
    }

    /// The namespaces around the code, from the inside out; the last is the global one.
    pub(super) fn namespaces_around(&self) -> Vec<String> {
        let mut spaces = Vec::new();
        if let Some(info) = self.scope.class.as_ref().and_then(|class| self.types.info(class)) {
            let mut space = info.namespace.to_string();
            while !space.is_empty() {
                spaces.push(space.clone());
                space.truncate(space.rfind('.').unwrap_or(0));
            }
        }
        spaces.push(String::new());
        spaces
    }

    /// Binds the qualified name `alias::Name`.
    pub(super) fn qualified_name(&mut self, alias: &str, name: &SimpleName) -> Bind<Classification> {
        let space = match alias {
            "global" => Some(String::new()),
            _ => self
                .scope
                .imports
                .namespace_aliases
                .iter()
                .find(|(own, _)| own == alias)
                .map(|(_, space)| space.clone()),
        };
        let Some(space) = space else {
            return reject("CS0432", format!("Alias '{alias}' not found"), name.span);
        };
        let types = name.arguments.iter().map(|ty| self.type_of_name(ty)).collect::<Bind<Vec<_>>>()?;
        match self.in_namespace(&space, &name.text, types, name.open) {
            Some(part) => Ok(part),
            None => reject(
                "CS0400",
                format!(
                    "The type or namespace name '{}' could not be found in the global namespace",
                    name.text
                ),
                name.span,
            ),
        }
    }

    /// A type or namespace that is in a namespace.
    pub(super) fn in_namespace(
        &self,
        space: &str,
        name: &str,
        types: Vec<Ty>,
        open: usize,
    ) -> Option<Classification> {
        let full = join(space, name);
        let arity = types.len().max(open);
        let own = if arity > 0 { format!("{full}`{arity}") } else { full.clone() };
        match self.find_type_in_scope(&own) {
            Some(def) => Some(Classification::Type(self.types.make(def, types))),
            None => self.types.system.is_namespace(&full).then_some(Classification::Namespace(full)),
        }
    }

    /// A type that is nested in another type, or in one of its bases.
    pub(super) fn nested_type(&self, of: &Ty, name: &str, types: Vec<Ty>, open: usize) -> Option<Ty> {
        let arity = types.len().max(open);
        let own = if arity > 0 { format!("{name}`{arity}") } else { name.to_owned() };
        self.types.chain(of).iter().find_map(|holder| {
            let def: Def = self.types.system.find_nested(self.types.def(holder)?, &own)?;
            let mut arguments = holder.arguments().to_vec();
            arguments.extend(types.iter().cloned());
            Some(self.types.make(def, arguments))
        })
    }

    pub(super) fn this(&self, span: Span) -> Bind<Typed> {
        match &self.scope.this {
            Some(ty) => Ok(Typed::new(TypedKind::This, ty.clone(), span)),
            None => reject(
                "CS0026",
                "Keyword 'this' is not valid in a static property, static method, or static field \
                    initializer",
                span,
            ),
        }
    }

    pub(super) fn base(&self, span: Span) -> Bind<Typed> {
        let this = self.this(span)?;
        let class = self.scope.class.as_ref().unwrap_or(&this.ty);
        let ty = self.types.base(class).unwrap_or(OBJECT);
        Ok(Typed::new(TypedKind::Convert(this.boxed(), ConversionKind::Same), ty, span))
    }

    pub(super) fn name_of(&mut self, of: &Expr, span: Span) -> Bind<Typed> {
        let mut inner = of;
        while let ExprKind::Paren(of) = &inner.kind {
            inner = of;
        }
        let name = match &inner.kind {
            ExprKind::Name(name) | ExprKind::Member(_, name) | ExprKind::Qualified(_, name) => {
                name.text.clone()
            }
            ExprKind::Conditional(_, then) => match &then.kind {
                ExprKind::Member(_, name) => name.text.clone(),
                _ => return reject("CS8081", "Expression does not have a name", of.span),
            },
            _ => return reject("CS8081", "Expression does not have a name", of.span),
        };
        if let ExprKind::Name(_) = &inner.kind {
            // A name that does not exist is refused; a type with open arguments is not checked.
            if let Err(refusal) = self.part(inner)
                && !matches!(&inner.kind, ExprKind::Name(name) if name.arity() > 0)
            {
                return Err(refusal);
            }
        }
        Ok(Typed::new(TypedKind::Constant(Constant::Text(name.to_string())), STRING, span))
    }
}

/// A name in a namespace; the global one has no name.
fn join(space: &str, name: &str) -> String {
    if space.is_empty() { name.to_owned() } else { format!("{space}.{name}") }
}
