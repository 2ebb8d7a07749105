//! Names, and types as they are written.

use cordebug::value::element;
use dap_wire::Failure;
use tree_sitter::Node as Syntax;

use super::walk::{child, inner};
use super::{Constant, Found, Scope, Val, failed};
use crate::engine::coreclr::names::element_of_keyword;
use crate::engine::coreclr::session::Session;
use crate::engine::coreclr::types::Ty;
use crate::engine::coreclr::types::ty::OBJECT;
use crate::engine::coreclr::values::{Path, Root};

impl Session {
    /// A simple name: what a lambda binds, locals, members of `this`, types, namespaces.
    pub(super) fn name(&mut self, name: &str, scope: &Scope<'_>) -> Result<Found, Failure> {
        let site = &scope.site;
        let bound =
            scope.bindings.borrow().iter().rev().find(|(known, _)| known == name).map(|(_, val)| val.clone());
        if let Some(val) = bound {
            return Ok(Found::Val(val));
        }
        match name {
            "$exception" => {
                let path = Path::new(Root::Exception { thread: site.thread }, name);
                let value = self.fetch(&path).map_err(|_| failed("this thread throws no exception"))?;
                let ty = self.actual_ty(&value);
                return Ok(Found::Val(Val::at(path, ty)));
            }
            "$threadid" => {
                return Ok(Found::Val(Val::plain(Constant::Int(element::I4, i128::from(site.thread)))));
            }
            _ => {}
        }
        let own_this =
            scope.bindings.borrow().iter().find(|(known, _)| known == "this").map(|(_, val)| val.clone());
        let locals = match &own_this {
            // An expression about one object: locals of the frame are not its.
            Some(this) => this.path().map(|path| vec![("this".to_owned(), path.clone())]).unwrap_or_default(),
            None => self.locals(site.thread, site.frame)?,
        };
        let name = name.strip_prefix('@').unwrap_or(name);
        if let Some((_, path)) = locals.iter().find(|(known, _)| known == name) {
            return self.val_at(path.clone()).map(Found::Val);
        }
        if own_this.is_none() {
            let constants = self.constants(site.thread, site.frame);
            if let Some((_, val)) = constants.into_iter().rfind(|(known, _)| known == name) {
                return Ok(Found::Val(val));
            }
        }
        let class = scope.class(self);
        // Optimised code forgets it; other names are not worse for that.
        let mut unreadable = None;
        let this =
            locals.iter().find(|(known, _)| known == "this").map(|(_, this)| self.val_at(this.clone()));
        let this = this.and_then(|read| read.map_err(|failure| unreadable = Some(failure)).ok());
        if let Some(mut this) = this {
            if let Some(class) = &class
                && let Some(path) = this.path()
            {
                let shown = if own_this.is_some() { path.name.clone() } else { "this".into() };
                this = Val::at(Path { name: shown, ..path.clone() }, class.clone());
            }
            if let Some(found) = self.own_member(&this, name, &[], scope)? {
                // What is a member of `this` is called by its own name.
                return Ok(match found {
                    Found::Val(Val { data: super::Data::At(path), ty, literal }) => {
                        let name = path.name.strip_prefix("this.").map_or(path.name.clone(), str::to_owned);
                        Found::Val(Val { data: super::Data::At(Path { name, ..path }), ty, literal })
                    }
                    other => other,
                });
            }
        }
        let mut around = class.clone();
        while let Some(ty) = around {
            if let Some(found) = self.member_if_any(&Found::Type(ty.clone()), name, &[], scope)? {
                return Ok(found);
            }
            around = self.enclosing(&ty);
        }
        if let Some(ty) = self.visible_type(name, Vec::new(), scope) {
            return Ok(Found::Type(ty));
        }
        let (module, imports) = scope.imports(self);
        if let Some((_, space)) = imports.namespace_aliases.iter().find(|(alias, _)| alias == name) {
            return Ok(Found::Namespace(space.clone()));
        }
        // `using static`: the members of those types are visible by themselves.
        for token in &imports.types {
            let ty = module.as_ref().map(|module| self.ty_of_token(module, *token, None, Vec::new()));
            if let Some(ty) = ty
                && let Some(found) = self.member_if_any(&Found::Type(ty), name, &[], scope)?
            {
                return Ok(found);
            }
        }
        if let Some(ty) = self.generic_parameter(name, scope) {
            return Ok(Found::Type(ty));
        }
        if self.is_namespace(name) {
            return Ok(Found::Namespace(name.to_owned()));
        }
        if let Some(failure) = unreadable {
            return Err(failed(format!("there is no `{name}` here that can be read: {failure}")));
        }
        Err(failed(nothing_named(name)).hint(
            "names of arguments, locals, members of `this`, static members of this class and types are known",
        ))
    }

    /// `this` with the type of its base class.
    pub(super) fn base_value(&mut self, scope: &Scope<'_>) -> Result<Found, Failure> {
        let Found::Val(this) = self.name("this", scope)? else {
            return Err(failed("there is no `base` here"));
        };
        let base = scope.class(self).and_then(|class| self.base_of(&class));
        Ok(Found::Val(Val { ty: base.unwrap_or(this.ty), ..this }))
    }

    fn enclosing(&self, ty: &Ty) -> Option<Ty> {
        let (loaded, token) = self.definition(ty)?;
        let outer = loaded.image()?.metadata.enclosing_type(token)?;
        let wanted = loaded.image()?.metadata.generic_parameters(outer).len();
        let arguments = ty.arguments().iter().take(wanted).cloned().collect();
        Some(self.defined(&loaded, outer, None, arguments))
    }

    /// `T` of the generic class or method the code is in.
    fn generic_parameter(&self, name: &str, scope: &Scope<'_>) -> Option<Ty> {
        let (loaded, method, arguments) = self.code_at(scope.site.thread, scope.site.frame)?;
        let metadata = &loaded.image()?.metadata;
        let mut names = metadata.generic_parameters(metadata.owner_of(method));
        names.extend(metadata.generic_parameters(method));
        let position = names.iter().position(|known| known == name)?;
        arguments.into_iter().nth(position)
    }

    /// Name and generic arguments of `name` or `name<types>`.
    pub(super) fn member_name(
        &mut self,
        node: Syntax<'_>,
        scope: &Scope<'_>,
    ) -> Result<(String, Vec<Ty>), Failure> {
        if node.kind() != "generic_name" {
            return Ok((scope.of(node).trim_start_matches('@').to_owned(), Vec::new()));
        }
        let parts = inner(node);
        let name = parts.first().map(|name| scope.of(*name).to_owned()).unwrap_or_default();
        let list = parts.get(1).map(|list| inner(*list)).unwrap_or_default();
        let types = list.into_iter().map(|ty| self.type_at(ty, scope)).collect::<Result<_, _>>()?;
        Ok((name, types))
    }

    /// A name with generic arguments, or another type where a value might stand.
    pub(super) fn generic_or_type(&mut self, node: Syntax<'_>, scope: &Scope<'_>) -> Result<Found, Failure> {
        match self.type_at(node, scope) {
            Ok(ty) => Ok(Found::Type(ty)),
            Err(failure) if node.kind() == "alias_qualified_name" => {
                // `global::System…`
                let name = scope.of(child(node, "name")?);
                if self.is_namespace(name) { Ok(Found::Namespace(name.to_owned())) } else { Err(failure) }
            }
            Err(failure) => Err(failure),
        }
    }

    /// A type as it is written.
    pub(super) fn type_at(&mut self, node: Syntax<'_>, scope: &Scope<'_>) -> Result<Ty, Failure> {
        let text = scope.of(node);
        let unknown = || {
            failed(format!("there is no type `{text}`"))
                .hint("write it with its namespace; it must be in a module that is loaded")
        };
        match node.kind() {
            "predefined_type" => match element_of_keyword(text) {
                Some(kind) => Ok(Ty::Primitive(kind)),
                None if text == "decimal" => self.ty_named("System.Decimal").ok_or_else(unknown),
                None => Err(unknown()),
            },
            "nullable_type" => {
                let inner = self.type_at(child(node, "type")?, scope)?;
                // `string?` is `string`.
                match inner.is_value() {
                    true => self.ty_generic("System.Nullable`1", vec![inner]).ok_or_else(unknown),
                    false => Ok(inner),
                }
            }
            "array_type" => {
                let of = self.type_at(child(node, "type")?, scope)?;
                let rank = scope.of(child(node, "rank")?).matches(',').count() as u32 + 1;
                // `int[][,]`: the grammar nests from the left, C# reads from the left too.
                Ok(append_rank(of, rank))
            }
            "pointer_type" => Ok(Ty::Pointer(Box::new(self.type_at(child(node, "type")?, scope)?))),
            "tuple_type" => {
                let mut types = Vec::new();
                for element in inner(node) {
                    let ty = element.child_by_field_name("type").or_else(|| element.named_child(0));
                    types.push(self.type_at(ty.ok_or_else(unknown)?, scope)?);
                }
                let name = format!("System.ValueTuple`{}", types.len());
                self.ty_generic(&name, types).ok_or_else(unknown)
            }
            "identifier" => {
                if let Some(kind) = element_of_keyword(text) {
                    return Ok(Ty::Primitive(kind));
                }
                if let Some(ty) = self.generic_parameter(text, scope) {
                    return Ok(ty);
                }
                if text == "dynamic" {
                    // Members are looked up by what an object is anyway.
                    return Ok(OBJECT);
                }
                self.visible_type(text, Vec::new(), scope).ok_or_else(unknown)
            }
            "generic_name" => {
                if let Some((name, list)) =
                    text.split_once('<').filter(|(_, list)| list.trim_start_matches([',', ' ']) == ">")
                {
                    // `List<>`, as `typeof` takes it.
                    let (_, imports) = scope.imports(self);
                    let class = scope.class(self);
                    let arity = list.matches(',').count() + 1;
                    let found = self.type_visible(name.trim(), arity, class.as_ref(), &imports);
                    let (loaded, token) = found.ok_or_else(unknown)?;
                    return Ok(self.defined(&loaded, token, None, Vec::new()));
                }
                let (name, types) = self.member_name(node, scope)?;
                self.visible_type(&name, types, scope).ok_or_else(unknown)
            }
            "alias_qualified_name" => self.type_at(child(node, "name")?, scope),
            "qualified_name" | "member_access_expression" => {
                let (full, types) = self.dotted(node, scope)?;
                match self.type_named(&full) {
                    Some((loaded, token)) => Ok(self.defined(&loaded, token, None, types)),
                    None => self.visible_dotted(&full, types, scope).ok_or_else(unknown),
                }
            }
            _ => Err(unknown()),
        }
    }

    /// A type by a simple name.
    fn visible_type(&self, name: &str, types: Vec<Ty>, scope: &Scope<'_>) -> Option<Ty> {
        let (module, imports) = scope.imports(self);
        if let Some((_, token)) = imports.type_aliases.iter().find(|(alias, _)| alias == name) {
            return module.map(|module| self.ty_of_token(&module, *token, None, Vec::new()));
        }
        let class = scope.class(self);
        let (loaded, token) = self.type_visible(name, types.len(), class.as_ref(), &imports)?;
        Some(self.defined(&loaded, token, None, types))
    }

    /// A type by a dotted name, with arities, that does not begin with a namespace's root.
    fn visible_dotted(&self, full: &str, types: Vec<Ty>, scope: &Scope<'_>) -> Option<Ty> {
        let (first, rest) = full.split_once('.')?;
        let (name, arity) = first.split_once('`').unwrap_or((first, "0"));
        let arity: usize = arity.parse().ok()?;
        let outer = self.visible_type(name, types.get(..arity)?.to_vec(), scope)?;
        let (loaded, token) = self.definition(&outer)?;
        let metadata = &loaded.image()?.metadata;
        let token = metadata.find_type(&format!("{}.{rest}", metadata.type_name(token)))?;
        Some(self.defined(&loaded, token, None, types))
    }

    /// A dotted name with arities, and its generic arguments.
    fn dotted(&mut self, node: Syntax<'_>, scope: &Scope<'_>) -> Result<(String, Vec<Ty>), Failure> {
        let first = node.child_by_field_name("qualifier").or_else(|| node.child_by_field_name("expression"));
        let Some(first) = first else {
            if node.kind() == "alias_qualified_name" {
                return self.dotted(child(node, "name")?, scope);
            }
            let (name, types) = self.member_name(node, scope)?;
            let arity = if types.is_empty() { String::new() } else { format!("`{}", types.len()) };
            return Ok((format!("{name}{arity}"), types));
        };
        let (mut full, mut all) = self.dotted(first, scope)?;
        let (name, types) = self.dotted(child(node, "name")?, scope)?;
        full.push('.');
        full.push_str(&name);
        all.extend(types);
        Ok((full, all))
    }
}

/// What is said of a name that nothing bears.
pub(super) fn nothing_named(name: &str) -> String {
    format!("there is no `{name}` here")
}

/// The rank behind all others: `int[]` and `,` make `int[][,]`, an array of `int[,]`.
fn append_rank(of: Ty, rank: u32) -> Ty {
    match of {
        Ty::Vector(inner) => Ty::Vector(Box::new(append_rank(*inner, rank))),
        Ty::Array(inner, own) => Ty::Array(Box::new(append_rank(*inner, rank)), own),
        inner if rank == 1 => inner.vector(),
        inner => Ty::Array(Box::new(inner), rank),
    }
}
