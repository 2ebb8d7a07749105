//! Completions at a cursor: members after a dot, names in scope elsewhere.

use std::rc::Rc;

use super::binder::{Bind, Binder, reject};
use super::classification::Classification;
use super::inference::TypeInference;
use super::scope::{COMMON_NAMESPACES, Scope};
use super::system::{Member, TypeKind, TypeProvider};
use super::typed::Typed;
use crate::syntax::tree::Expr;
use crate::syntax::{Span, cursor_text, parse_until};
use crate::types::Ty;

/// Maximum number of completions.
const MAX_COMPLETIONS: usize = 1000;

/// Keywords that begin or join expressions.
const KEYWORDS: [&str; 24] = [
    "as",
    "await",
    "base",
    "bool",
    "checked",
    "decimal",
    "default",
    "double",
    "false",
    "from",
    "int",
    "is",
    "long",
    "nameof",
    "new",
    "null",
    "object",
    "out",
    "string",
    "this",
    "true",
    "typeof",
    "unchecked",
    "var",
];

/// One completion at the cursor.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub struct Completion {
    /// The text that the editor inserts.
    pub label: String,
    /// The kind, a DAP `CompletionItemType`: `method`, `property`, `field`, `variable`,
    /// `class`, `module`, `keyword`.
    pub kind: &'static str,
}

/// The names in scope at the cursor.
#[derive(Debug, Clone)]
pub(super) struct CompletionScope {
    of: Option<Classification>,
    locals: Vec<Rc<str>>,
}

/// Completions at a byte offset of a text, and the part of the text that they replace.
pub fn complete(
    text: &str,
    cursor: usize,
    scope: &Scope,
    types: &dyn TypeProvider,
) -> (Vec<Completion>, Span) {
    let before = text.get(..cursor).unwrap_or_default();
    let Some(typed) = cursor_text(before) else {
        return (Vec::new(), Span { start: cursor, end: cursor });
    };
    let mut binder = Binder::new(scope, types);
    let length: usize = before
        .chars()
        .rev()
        .take_while(|letter| letter.is_alphanumeric() || matches!(letter, '_' | '$'))
        .map(char::len_utf8)
        .sum();
    let span = Span { start: cursor - length, end: cursor };
    let word = before.get(span.start..).unwrap_or_default();
    let mut scopes = typed.candidates.iter().filter_map(|candidate| {
        let expr = parse_until(candidate, candidate.len())?;
        // The result does not matter; binding collects the scope at the cursor.
        drop(binder.meaning(&expr));
        binder.completion_scope.take()
    });
    let Some(scope) = scopes.next() else { return (Vec::new(), span) };
    drop(scopes);
    let mut found = match &scope.of {
        Some(Classification::Value(value)) => binder.members_to_offer(value),
        Some(Classification::Type(ty)) => binder.statics_to_offer(ty, word),
        Some(Classification::Namespace(space)) => {
            [binder.types_to_offer(space, word), binder.namespaces_to_offer(space)].concat()
        }
        Some(Classification::Group(_)) => Vec::new(),
        None => binder.names_to_offer(&scope.locals, word),
    };
    if typed.is_initializer {
        found.retain(|one| ["field", "property"].contains(&one.kind));
    }
    let prefix = word.to_lowercase();
    found.retain(|one| one.label.to_lowercase().starts_with(&prefix));
    found.sort_by(|a, b| (!a.label.starts_with(word), a).cmp(&(!b.label.starts_with(word), b)));
    found.dedup_by(|a, b| a.label == b.label);
    found.truncate(MAX_COMPLETIONS);
    (found, span)
}

fn completion(label: impl Into<String>, kind: &'static str) -> Completion {
    Completion { label: label.into(), kind }
}

impl Binder<'_> {
    pub(super) fn cursor(&mut self, of: Option<&Expr>, _word: &str, span: Span) -> Bind<Classification> {
        let of = match of {
            Some(of) => Some(self.part(of)?),
            None => None,
        };
        if self.completion_scope.is_none() {
            let locals = self.locals.iter().map(|local| local.name.clone()).collect();
            self.completion_scope = Some(CompletionScope { of, locals });
        }
        reject("CS1001", "Identifier expected", span)
    }

    fn members_to_offer(&self, value: &Typed) -> Vec<Completion> {
        let mut found = Vec::new();
        let narrow = self.narrow(value);
        for value in [Some(value), narrow.as_ref()].into_iter().flatten() {
            let constraints = self.bounds(&value.ty);
            for owner in std::iter::once(&value.ty).chain(&constraints).flat_map(|ty| self.types.lineage(ty))
            {
                self.declared_members(&owner, false, &mut found);
            }
            found.extend(
                value
                    .ty
                    .names()
                    .into_iter()
                    .flat_map(|names| names.all())
                    .flatten()
                    .map(|name| completion(name, "field")),
            );
            if self.types.item_of(&value.ty).is_some() {
                found.extend(crate::linq::names().map(|name| completion(name, "method")));
            }
            let spaces = self.namespaces_in_scope();
            for method in self.types.system.all_extensions() {
                let Some(first) = method.parameters.first() else { continue };
                let owner = self.types.make(method.owner, Vec::new());
                if !method.is_public && !self.is_in_namespaces(&owner, &spaces) {
                    continue;
                }
                let pair = (first.ty.clone(), value.ty.clone());
                let inference = TypeInference::new(self.types, method.generics.len());
                let types = inference.arguments(std::slice::from_ref(&pair)).unwrap_or_default();
                let receiver_type = first.ty.with(&[], &types);
                if !receiver_type.is_open() && self.implicit_conversion(value, &receiver_type).is_some() {
                    found.push(match method.name.strip_prefix("get_") {
                        Some(property) => completion(property, "property"),
                        None => completion(&*method.name, "method"),
                    });
                }
            }
        }
        found
    }

    fn statics_to_offer(&self, ty: &Ty, word: &str) -> Vec<Completion> {
        let mut found = Vec::new();
        for owner in self.bounds(ty).iter().flat_map(|bound| self.types.lineage(bound)) {
            self.declared_members(&owner, true, &mut found);
        }
        for owner in self.types.chain(ty) {
            self.declared_members(&owner, true, &mut found);
            if let Some(def) = self.types.def(&owner) {
                found.extend(
                    self.types
                        .system
                        .type_names(Err(def), word)
                        .into_iter()
                        .map(|name| completion(name, "class")),
                );
            }
        }
        found
    }

    /// Members that a type itself declares and that an expression can name.
    fn declared_members(&self, owner: &Ty, is_static: bool, found: &mut Vec<Completion>) {
        let Some(def) = self.types.def(owner) else { return };
        let is_enum = self.types.system.info(def).is_some_and(|info| matches!(info.kind, TypeKind::Enum(_)));
        let own = self.scope.class.as_ref().is_some_and(|class| self.types.chain(class).contains(owner));
        let plain = |name: &str| !(name.contains(['<', '.']) || is_enum && name == "value__");
        for member in self.types.system.all_members(def) {
            let (name, kind, member_static, is_accessible) = match &member {
                Member::Field(field) => (&field.name, "field", field.is_static, field.is_accessible),
                Member::Property(property) if property.parameters.is_empty() => {
                    (&property.name, "property", property.is_static, property.is_accessible)
                }
                Member::Property(_) => continue,
                Member::Method(method) => (&method.name, "method", method.is_static, method.is_accessible),
            };
            let accessor = kind == "method"
                && ["get_", "set_", "add_", "remove_", "op_"].iter().any(|start| name.starts_with(start));
            if member_static == is_static && (is_accessible || own) && plain(name) && !accessor {
                found.push(completion(&**name, kind));
            }
        }
    }

    fn types_to_offer(&self, space: &str, word: &str) -> Vec<Completion> {
        let types = self.types.system.type_names(Ok(space), word);
        types.into_iter().map(|name| completion(name, "class")).collect()
    }

    fn namespaces_to_offer(&self, space: &str) -> Vec<Completion> {
        let spaces = self.types.system.namespaces_in(space);
        spaces.into_iter().map(|name| completion(name, "module")).collect()
    }

    fn names_to_offer(&self, locals: &[Rc<str>], word: &str) -> Vec<Completion> {
        let scope = self.scope;
        let mut found: Vec<Completion> = locals.iter().map(|name| completion(&**name, "variable")).collect();
        found.extend(scope.variables.iter().map(|variable| completion(&*variable.name, "variable")));
        if let Some(this) = &scope.this {
            found.push(completion("this", "variable"));
            for owner in self.types.chain(this) {
                self.declared_members(&owner, false, &mut found);
                self.parameters(&owner, &mut found);
            }
        }
        if let Some(class) = &scope.class {
            found.extend(self.statics_to_offer(class, word));
        }
        found.extend(scope.type_parameters.iter().map(|(name, _)| completion(name, "class")));
        found.extend(scope.imports.type_aliases.iter().map(|(name, _)| completion(name, "class")));
        found.extend(scope.imports.namespace_aliases.iter().map(|(name, _)| completion(name, "module")));
        for ty in &scope.imports.statics {
            self.declared_members(ty, true, &mut found);
        }
        found.extend(scope.local_functions.iter().map(|name| completion(&**name, "method")));
        found.extend(self.namespaces_around().iter().flat_map(|space| self.namespaces_to_offer(space)));
        found.extend(KEYWORDS.map(|word| completion(word, "keyword")));
        let mut spaces = self.namespaces_in_scope();
        spaces.extend(COMMON_NAMESPACES.iter().map(|space| (*space).to_owned()));
        spaces.sort();
        spaces.dedup();
        for space in spaces {
            found.extend(self.types_to_offer(&space, word));
        }
        found
    }

    /// Parameters of a primary constructor, whose fields have names that an expression cannot use.
    fn parameters(&self, owner: &Ty, found: &mut Vec<Completion>) {
        let Some(def) = self.types.def(owner) else { return };
        for member in self.types.system.all_members(def) {
            if let Member::Field(field) = member
                && let Some(name) = field.name.strip_prefix('<').and_then(|name| name.strip_suffix(">P"))
                && !name.is_empty()
            {
                found.push(completion(name, "variable"));
            }
        }
    }
}
