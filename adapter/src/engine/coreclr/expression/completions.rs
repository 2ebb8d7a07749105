//! `completions`: what may follow in an expression. Looks, and runs nothing.

use std::sync::mpsc::Receiver;

use clr_metadata::members::Access;
use dap_wire::Failure;
use serde_json::{Value, json};

use super::{Found, Val};
use crate::engine::coreclr::calls::supply::Method;
use crate::engine::coreclr::calls::{CALL_LIMIT, Site};
use crate::engine::coreclr::session::{Input, Session};
use crate::engine::coreclr::types::Ty;

/// Most suggestions of one answer.
const MOST: usize = 200;
/// Most extension methods of one module that are looked at.
const MOST_EXTENSIONS: usize = 5000;
/// Words that begin an expression.
const KEYWORDS: [&str; 10] =
    ["true", "false", "null", "new", "typeof", "nameof", "default", "this", "base", "checked"];

impl Session {
    pub(crate) fn completions(
        &mut self,
        arguments: &Value,
        inputs: &Receiver<Input>,
    ) -> Result<Value, Failure> {
        let text = arguments["text"].as_str().ok_or_else(|| Failure::invalid("`text` is missing"))?;
        let column = arguments["column"].as_u64().unwrap_or(1).saturating_sub(1) as usize;
        // Columns count UTF-16 units.
        let mut units = 0;
        let end = text.char_indices().find(|(_, letter)| {
            let here = units >= column;
            units += letter.len_utf16();
            here
        });
        let typed = text.get(..end.map_or(text.len(), |(at, _)| at)).unwrap_or_default();
        let (of, prefix) = split(typed);
        let (thread, frame) = self.frame_asked(arguments)?;
        let site = Site { thread, frame, inputs, runs: false, supposes: false, limit: CALL_LIMIT };
        let mut found: Vec<(String, &'static str)> = Vec::new();
        let class = self.class_at(thread, frame);
        match of {
            Some(of) => match self.found_or_supposed(of, &site) {
                Ok(Found::Val(val)) => {
                    self.members_to_offer(&val, class.as_ref(), &mut found);
                    self.extensions_to_offer(&val, &mut found);
                }
                Ok(Found::Type(ty)) => self.statics_to_offer(&ty, class.as_ref(), &mut found),
                Ok(Found::Namespace(space)) => self.types_to_offer(&space, prefix, &mut found),
                _ => {}
            },
            None => {
                let locals = self.locals(thread, frame)?;
                found.extend(locals.iter().map(|(name, _)| (name.clone(), "variable")));
                found.extend(self.constants(thread, frame).into_iter().map(|(name, _)| (name, "variable")));
                if let Some((_, path)) = locals.iter().find(|(name, _)| name == "this")
                    && let Ok(this) = self.val_at(path.clone())
                {
                    self.members_to_offer(&this, class.as_ref(), &mut found);
                }
                if let Some(class) = &class {
                    self.statics_to_offer(class, Some(class), &mut found);
                }
                found.extend(KEYWORDS.map(|word| (word.to_owned(), "keyword")));
                let spaces = self.spaces_at(class.as_ref(), thread, frame);
                for space in &spaces {
                    self.types_to_offer(space, prefix, &mut found);
                }
            }
        }
        let wanted = prefix.to_lowercase();
        let mut targets: Vec<Value> = Vec::new();
        let mut seen = std::collections::HashSet::new();
        let start = typed.encode_utf16().count() - prefix.encode_utf16().count();
        found.retain(|(label, _)| label.to_lowercase().starts_with(&wanted));
        found.sort_by(|(a, _), (b, _)| (!a.starts_with(prefix), a).cmp(&(!b.starts_with(prefix), b)));
        for (label, kind) in found {
            if seen.insert(label.clone()) && targets.len() < MOST {
                targets.push(json!({ "label": label, "type": kind, "start": start,
                    "length": prefix.encode_utf16().count() }));
            }
        }
        Ok(json!({ "targets": targets }))
    }

    /// What an expression stands for; where that cannot be had without running code, or there is nothing yet (`args[0]` of none), a
    /// sample of it: its type is what matters.
    fn found_or_supposed(&mut self, of: &str, site: &Site<'_>) -> Result<Found, Failure> {
        match self.find(of, site) {
            Ok(Found::Val(val)) if val.ty != Ty::Null => Ok(Found::Val(val)),
            Ok(found @ (Found::Type(_) | Found::Namespace(_))) => Ok(found),
            _ => self.find(of, &Site { supposes: true, ..*site }),
        }
    }

    /// Namespaces whose types code in a frame may name as they are.
    fn spaces_at(&self, class: Option<&Ty>, thread: u32, frame: usize) -> Vec<String> {
        let mut spaces: Vec<String> =
            ["", "System", "System.Collections.Generic", "System.Linq"].map(str::to_owned).into();
        spaces.extend(
            self.imports_at(thread, frame).map(|(_, imports)| imports.namespaces).unwrap_or_default(),
        );
        let mut full = class.map(|class| self.full_name(class)).unwrap_or_default();
        while let Some(at) = full.rfind('.') {
            full.truncate(at);
            spaces.push(full.clone());
        }
        spaces.sort();
        spaces.dedup();
        spaces
    }

    /// The user's extension methods that take this value.
    fn extensions_to_offer(&self, val: &Val, found: &mut Vec<(String, &'static str)>) {
        for loaded in self.modules.all().iter().filter(|loaded| !loaded.is_framework()) {
            let Some(image) = loaded.image() else { continue };
            for (name, tokens) in image.metadata.extensions().iter().take(MOST_EXTENSIONS) {
                let takes_it = tokens.iter().any(|token| {
                    let owner =
                        self.defined(loaded, image.metadata.owner_of(*token), Some(false), Vec::new());
                    self.method(loaded, &owner, *token).is_some_and(|method| self.extends(&method, val))
                });
                if takes_it {
                    found.push((name.to_owned(), "method"));
                }
            }
        }
    }

    fn extends(&self, method: &Method, val: &Val) -> bool {
        let Some(parameter) = method.parameters.first() else { return false };
        let mut types = Vec::new();
        self.infer(parameter, &val.ty, &mut types);
        let parameter = parameter.with(&[], &types);
        !parameter.is_open() && self.fit(val, &parameter).is_some()
    }

    fn members_to_offer(&self, val: &Val, class: Option<&Ty>, found: &mut Vec<(String, &'static str)>) {
        for ty in self.searched(val) {
            for owner in self.lineage(&ty) {
                self.declared_to_offer(&owner, false, class, found);
            }
        }
        if let Some(names) = val.path().and_then(|path| path.tuple.as_ref()) {
            found.extend(names.iter().flatten().map(|name| (name.clone(), "field")));
        }
        let is_sequence = self.searched(val).iter().any(|ty| {
            self.interfaces_of(ty)
                .iter()
                .any(|interface| self.full_name(interface).ends_with("IEnumerable`1"))
        });
        if is_sequence {
            found.extend(super::overloads::LINQ.map(|name| (name.to_owned(), "method")));
        }
    }

    fn statics_to_offer(&self, ty: &Ty, class: Option<&Ty>, found: &mut Vec<(String, &'static str)>) {
        for owner in self.chain(ty) {
            self.declared_to_offer(&owner, true, class, found);
        }
        if let Some((loaded, token)) = self.definition(ty)
            && let Some(image) = loaded.image()
        {
            let nested = image
                .metadata
                .type_tokens()
                .filter(|inner| image.metadata.enclosing_type(*inner) == Some(token));
            for inner in nested {
                let name = image.metadata.simple_name(inner);
                // TypeAttributes: nested public, and everything of the user's.
                let is_visible = image.metadata.type_flags(inner) & 7 == 2 || !loaded.is_framework();
                if is_visible && !name.starts_with('<') {
                    found.push((name.split('`').next().unwrap_or(name).to_owned(), "class"));
                }
            }
        }
    }

    fn declared_to_offer(
        &self,
        owner: &Ty,
        wants_static: bool,
        class: Option<&Ty>,
        found: &mut Vec<(String, &'static str)>,
    ) {
        let Some((loaded, token)) = self.definition(owner) else { return };
        let Some(image) = loaded.image() else { return };
        let metadata = &image.metadata;
        let plain = |name: &str| !name.contains(['<', '.']);
        // Of the user's types everything; of others what code here may use.
        let is_own = class.is_some_and(|class| self.chain(class).contains(owner));
        let visible = |access: Access| {
            !loaded.is_framework() || access == Access::Public || (is_own && access == Access::Protected)
        };
        for field in metadata.fields(token) {
            let is_meant = field.is_static == wants_static && visible(metadata.field_access(field.token));
            if is_meant && plain(&field.name) && field.name != "value__" {
                found.push((field.name, "field"));
            }
        }
        for info in metadata.property_infos(token) {
            let method = info.getter.or(info.setter).unwrap_or(0);
            let is_meant =
                metadata.is_static(method) == wants_static && visible(metadata.method_access(method));
            if is_meant && plain(&info.name) && info.name != "Item" {
                found.push((info.name, "property"));
            }
        }
        for method in metadata.methods(token) {
            let name = metadata.method_name(method);
            let accessor =
                ["get_", "set_", "add_", "remove_", "op_"].iter().any(|start| name.starts_with(start));
            let is_meant =
                metadata.is_static(method) == wants_static && visible(metadata.method_access(method));
            if is_meant && plain(name) && !accessor {
                found.push((name.to_owned(), "method"));
            }
        }
    }

    fn types_to_offer(&self, space: &str, prefix: &str, found: &mut Vec<(String, &'static str)>) {
        let wanted = prefix.to_lowercase();
        for loaded in self.modules.all() {
            // There are too many of the runtime's to offer without a word of them.
            if loaded.is_framework() && prefix.len() < 2 {
                continue;
            }
            let Some(image) = loaded.image() else { continue };
            for token in image.metadata.type_tokens() {
                let name = image.metadata.simple_name(token);
                // TypeAttributes: public, and everything of the user's.
                let is_visible = image.metadata.type_flags(token) & 7 == 1 || !loaded.is_framework();
                if is_visible
                    && image.metadata.namespace(token) == space
                    && image.metadata.enclosing_type(token).is_none()
                    && !name.starts_with('<')
                    && name.to_lowercase().starts_with(&wanted)
                {
                    found.push((name.split('`').next().unwrap_or(name).to_owned(), "class"));
                }
                if found.len() > 10 * MOST {
                    return;
                }
            }
        }
    }
}

/// The expression before the last dot, and what is typed behind it.
fn split(typed: &str) -> (Option<&str>, &str) {
    let start = typed
        .char_indices()
        .rev()
        .take_while(|(_, letter)| letter.is_alphanumeric() || matches!(letter, '_' | '$' | '@'))
        .last()
        .map_or(typed.len(), |(at, _)| at);
    let (before, prefix) = typed.split_at(start);
    let Some(before) = before.strip_suffix('.') else { return (None, prefix) };
    let before = before.strip_suffix('?').unwrap_or(before);
    // Back to where the operand begins: brackets in pairs, words, dots.
    let mut depth = 0i32;
    let mut start = before.len();
    for (at, letter) in before.char_indices().rev() {
        match letter {
            ')' | ']' => depth += 1,
            '(' | '[' if depth == 0 => break,
            '(' | '[' => depth -= 1,
            letter
                if depth > 0
                    || letter.is_alphanumeric()
                    || matches!(letter, '_' | '$' | '@' | '.' | '?' | '"') => {}
            _ => break,
        }
        start = at;
    }
    let operand = before.get(start..).unwrap_or_default().trim();
    ((!operand.is_empty()).then_some(operand), prefix)
}

#[cfg(test)]
mod tests {
    #[test]
    fn the_operand_before_the_dot_is_found() {
        for (typed, of, prefix) in [
            ("per", None, "per"),
            ("1 + person.Na", Some("person"), "Na"),
            ("f(a, list[0].", Some("list[0]"), ""),
            ("a.F(b, c)?.x", Some("a.F(b, c)"), "x"),
            ("\"text\".Le", Some("\"text\""), "Le"),
        ] {
            assert_eq!(super::split(typed), (of, prefix), "{typed}");
        }
    }
}
