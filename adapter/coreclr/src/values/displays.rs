//! Displays that types define: `DebuggerDisplay`, `DebuggerTypeProxy`, and `ToString` if the launch allows
//! it.
//!
//! A display may run code of the program, because the type's author intended that; its time is limited, and
//! one that takes too long is not called again in this session. Displays of the framework's types are
//! evaluated in the same way, except for types that are shown from their fields: some displays would change
//! the program (`Task.Id` creates an id) or wait for a lock (`ConcurrentDictionary.Count`).

use clr_metadata::attribute_argument::AttributeArgument;
use tandem_wire::ErrorCode;

use super::formatted_value::FormattedValue;
use crate::bare_value::bare;
use crate::func_eval::EvalContext;
use crate::session::ClrSession;
use crate::typed_value::{Constant, Format};
use crate::types::ClrTypeSystem;
use crate::types::Ty;
use crate::value_path::{NameType, Path, PathRoot};

const DISPLAY: &str = "System.Diagnostics.DebuggerDisplayAttribute";
const PROXY: &str = "System.Diagnostics.DebuggerTypeProxyAttribute";
/// Classes of the framework without a display whose `ToString` is shown.
const UNDISPLAYED: [&str; 2] = ["System.Reflection.MemberInfo", "System.Reflection.Assembly"];
/// Deepest nesting of displays that show objects with displays.
const MAX_DEPTH: u32 = 3;
/// Longest display, characters.
const MAX_DISPLAY_LEN: usize = 1000;

/// The patterns of a `DebuggerDisplay`, or their results: for the value, the row and the type.
pub(super) struct Display {
    pub(super) value: Option<String>,
    pub(super) name: Option<String>,
    pub(super) kind: Option<String>,
}

impl ClrSession {
    /// Shows an object as its type defines: its display, its members with theirs, or its `ToString`.
    pub(super) fn format_by_type(
        &mut self,
        path: &Path,
        format: &Format,
        site: &EvalContext,
        shown: &mut FormattedValue,
    ) {
        let deep = self.program.values.depth.get();
        if deep >= MAX_DEPTH {
            return;
        }
        self.program.values.depth.set(deep + 1);
        let is_plain = shown.text == format!("{{{}}}", shown.kind.trim_end_matches('?'));
        if let Some(display) = self.find_display(path, is_plain, site) {
            shown.text = display.value.unwrap_or(std::mem::take(&mut shown.text));
            shown.kind = display.kind.unwrap_or(std::mem::take(&mut shown.kind));
            shown.name = display.name;
        } else if let Some(text) = self.compose_again(path, &shown.text, format, site) {
            shown.text = text;
        } else if is_plain && let Some(text) = self.own_text(path, site) {
            shown.text = format!("{{{text}}}");
        }
        self.program.values.depth.set(deep);
    }

    /// The text of a pair, tuple or record with the displays of its members; `None` if its
    /// fields are sufficient.
    fn compose_again(
        &mut self,
        path: &Path,
        text: &str,
        format: &Format,
        site: &EvalContext,
    ) -> Option<String> {
        text.contains(['{', '…']).then_some(())?;
        let value = bare(&self.at_stop().fetch(path).ok()?)?;
        let ty = self.program.types.declared_ty(&value);
        let composed = self.program.types.compose(&value, &ty, &self.program.types.full_name(&ty))?;
        drop(value);
        Some(self.composed_display(path, &composed, format, site))
    }

    /// The display of an object's type; a framework type's default display if the object
    /// has no text otherwise.
    fn find_display(&mut self, path: &Path, is_plain: bool, site: &EvalContext) -> Option<Display> {
        let value = bare(&self.at_stop().fetch(path).ok()?)?;
        let ty = self.program.types.declared_ty(&value);
        drop(value);
        let (owner, patterns) = self.program.types.display_of(&ty)?;
        let key = self.program.types.full_name(&owner);
        if self.program.values.mute.borrow().contains(&key)
            || !(is_plain || self.program.types.is_user_type(&owner))
        {
            return None;
        }
        // A value shows which part of it fails. A name is also used to set the value.
        let shows_errors = site.runs && self.program.types.is_user_type(&owner);
        let mut fill = |pattern: Option<String>, shows_errors: bool| {
            let filled = pattern
                .map(|pattern| self.fill_display(&pattern, path, &owner, site, shows_errors))
                .transpose();
            filled.map(|text| text.map(|text| text.chars().take(MAX_DISPLAY_LEN).collect()))
        };
        let all = || {
            Ok(Display {
                value: fill(patterns.value, shows_errors)?,
                name: fill(patterns.name, false)?,
                kind: fill(patterns.kind, false)?,
            })
        };
        let filled: Result<Display, tandem_wire::Failure> = all();
        match filled {
            Ok(display) => Some(display),
            Err(failure) => {
                if site.runs && self.program.types.is_user_type(&owner) {
                    self.report_display(&key, &failure);
                }
                self.suppress_display(format!("The display of `{key}`"), key, &failure);
                None
            }
        }
    }

    /// The object's own text: its `ToString`, if its class defines one and the launch allows calling it.
    pub(super) fn own_text(&mut self, path: &Path, site: &EvalContext) -> Option<String> {
        if !self.options.allow_to_string || !site.runs {
            return None;
        }
        let value = bare(&self.at_stop().fetch(path).ok()?)?;
        let ty = self.program.types.declared_ty(&value);
        drop(value);
        let key = format!("{}.ToString()", self.program.types.full_name(&ty));
        if self.program.values.mute.borrow().contains(&key) {
            return None;
        }
        match self.own_to_string(path, &ty, site) {
            Ok(text) => text.map(|text| text.chars().take(MAX_DISPLAY_LEN).collect()),
            Err(failure) => {
                tracing::debug!(%failure, key, "an object returned no text");
                self.suppress_display(format!("`{key}`"), key, &failure);
                None
            }
        }
    }

    /// Reports a display that fails, once: the rows of its objects do not show the reason.
    fn report_display(&mut self, key: &str, failure: &tandem_wire::Failure) {
        if failure.code == ErrorCode::EvaluationFailed
            && self.program.values.mute.borrow_mut().insert(format!("the display of {key} fails"))
        {
            self.hub
                .outbox
                .note(&format!("the display of `{key}` fails, so its fields are shown: {failure}"));
        }
    }

    /// Prevents further calls of a display that took too long.
    fn suppress_display(&mut self, what: String, key: String, failure: &tandem_wire::Failure) {
        if failure.code == ErrorCode::EvaluationTimeout {
            self.hub
                .outbox
                .note(&format!("{what} took too long and is not evaluated again in this session: {failure}"));
            self.program.values.mute.borrow_mut().insert(key);
        }
    }

    /// Fills in `Name = {Name,nq}`: text with expressions in braces.
    fn fill_display(
        &mut self,
        pattern: &str,
        path: &Path,
        ty: &Ty,
        site: &EvalContext,
        shows_errors: bool,
    ) -> Result<String, tandem_wire::Failure> {
        let (mut text, mut rest) = (String::new(), pattern);
        while let Some(at) = rest.find(['{', '\\']) {
            let (before, after) = rest.split_at(at);
            text.push_str(before);
            if let Some(escaped) = after.strip_prefix('\\') {
                let letter = escaped.chars().next().unwrap_or('\\');
                text.push(letter);
                rest = escaped.get(letter.len_utf8()..).unwrap_or_default();
                continue;
            }
            let Some(end) = after.find('}') else {
                text.push_str(after);
                return Ok(text);
            };
            let hole = after.get(1..end).unwrap_or_default();
            match self.fill_hole(hole, path, ty, site) {
                Err(failure) if shows_errors && failure.code == ErrorCode::EvaluationFailed => {
                    text.push_str(&format!("<{failure}>"));
                }
                filled => text.push_str(&filled?),
            }
            rest = after.get(end + 1..).unwrap_or_default();
        }
        text.push_str(rest);
        Ok(text)
    }

    /// The text for one expression of a display.
    fn fill_hole(
        &mut self,
        hole: &str,
        path: &Path,
        ty: &Ty,
        site: &EvalContext,
    ) -> Result<String, tandem_wire::Failure> {
        let (expression, format) = Format::split(hole);
        let val = self.value_on(expression, path, ty, site)?;
        Ok(match (self.at_stop().load(&val)?, val.path().cloned()) {
            (Some(Constant::Null), _) => "null".to_owned(),
            (Some(constant), _) => self.program.types.show_constant(&constant, &val.ty, &format).text,
            (None, Some(inner)) => self.present(&inner, &format, site)?.0.text,
            (None, None) => String::new(),
        })
    }

    /// The proxy of an object, if its type has one: an object that is created now,
    /// because a client expands it.
    pub(super) fn proxy(&mut self, path: &Path, ty: &Ty, site: &EvalContext) -> Option<Path> {
        let named = self.program.types.chain(ty).into_iter().find_map(|owner| {
            let (loaded, token) = self.program.types.definition(&owner)?;
            match loaded.image()?.metadata.attribute_text(token, PROXY)?.0 {
                AttributeArgument::Text(Some(name)) => Some((owner, loaded, name)),
                _ => None,
            }
        });
        let (owner, loaded, name) = named?;
        // A type's name as reflection spells it: `Ns.Outer+Inner, Assembly`.
        let full = name.split(',').next().unwrap_or_default().trim().replace('+', ".");
        let token = loaded.image()?.metadata.find_type(&full);
        let (module, token) = match token {
            Some(token) => (loaded, token),
            None => self.program.types.type_named(&full)?,
        };
        let proxy = self.program.types.defined(&module, token, None, owner.arguments().to_vec());
        // Its constructor may take the object's type, not the declared type of the variable or field, which a
        // handle does not know.
        let is_declared = match path.steps.is_empty() {
            true => {
                !matches!(path.root, PathRoot::Handle(_))
                    && self.at_stop().val_at(path.clone()).is_ok_and(|val| val.ty == *ty)
            }
            false => self.at_stop().type_of_place(path).is_some_and(|declared| *declared.direct() == *ty),
        };
        let is_declared = is_declared || path.name_type == NameType::Actual;
        let argument = match is_declared {
            true => path.name.clone(),
            false => format!("({}){}", self.program.types.csharp(ty), path.name),
        };
        match self.wrap_object(&proxy, path, ty, site) {
            Ok(made) => made.path().map(|made| {
                let spelled = self.program.types.csharp(&proxy);
                let name = match spelled.contains('@') {
                    // F#'s compiler writes this proxy: it has the object's own members.
                    true => format!("({argument})"),
                    false => format!("new {spelled}({argument})"),
                };
                Path { name, ..made.clone() }
            }),
            Err(failure) => {
                tracing::debug!(%failure, proxy = full, "no proxy could be made");
                None
            }
        }
    }
}

impl ClrTypeSystem {
    /// The nearest type in the chain with a display, and that display.
    fn display_of(&self, ty: &Ty) -> Option<(Ty, Display)> {
        self.chain(ty).into_iter().find_map(|owner| {
            let (loaded, token) = self.definition(&owner)?;
            if loaded.is_core() && UNDISPLAYED.contains(&self.full_name(&owner).as_str()) {
                let format = Some("\\{{ToString(),nq}\\}".to_owned());
                return Some((owner, Display { value: format, name: None, kind: None }));
            }
            let (first, named) = loaded.image()?.metadata.attribute_text(token, DISPLAY)?;
            let text = |argument: &AttributeArgument| match argument {
                AttributeArgument::Text(text) => text.clone().filter(|text| !text.is_empty()),
                _ => None,
            };
            let named = |key: &str| named.iter().find(|(name, _)| name == key).and_then(|(_, at)| text(at));
            Some((owner, Display { value: text(&first), name: named("Name"), kind: named("Type") }))
        })
    }
}
