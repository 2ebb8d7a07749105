//! What types say about their own display: `DebuggerDisplay`, `DebuggerTypeProxy`, and `ToString` where the launch allows it.
//!
//! A display of a user's type may run code of the program, for its author asked for that; it gets little time, and one that
//! takes too long is not asked again in this session. Displays of the runtime's own types are shown when nothing must run.

use clr_metadata::members::Argument;
use dap_wire::ErrorCode;

use super::path::{Path, bare};
use crate::engine::coreclr::calls::Site;
use crate::engine::coreclr::expression::{Constant, Format};
use crate::engine::coreclr::session::Session;
use crate::engine::coreclr::types::Ty;

const DISPLAY: &str = "System.Diagnostics.DebuggerDisplayAttribute";
const PROXY: &str = "System.Diagnostics.DebuggerTypeProxyAttribute";
/// Deepest nesting of displays that show objects with displays.
const DEEPEST: u32 = 3;
/// Longest display, characters.
const LONGEST: usize = 1000;

/// The patterns of a `DebuggerDisplay`, or what they give: for the value, the row and the type.
pub(super) struct Display {
    pub(super) value: Option<String>,
    pub(super) name: Option<String>,
    pub(super) kind: Option<String>,
}

impl Session {
    /// How an object's type wants it to be shown.
    pub(super) fn displayed(&mut self, path: &Path, site: &Site<'_>) -> Option<Display> {
        let value = bare(&self.fetch(path).ok()?)?;
        let ty = self.declared_ty(&value);
        drop(value);
        let (owner, patterns) = self.display_of(&ty)?;
        let key = self.full_name(&owner);
        if self.known.mute.borrow().contains(&key) {
            return None;
        }
        let deep = self.known.depth.get();
        if deep >= DEEPEST {
            return None;
        }
        self.known.depth.set(deep + 1);
        let runs = site.runs && self.is_user_type(&owner);
        let site = Site { runs, ..*site };
        let mut fill = |pattern: Option<String>| {
            let filled = pattern.map(|pattern| self.filled(&pattern, path, &ty, &site)).transpose();
            filled.map(|text| text.map(|text| text.chars().take(LONGEST).collect()))
        };
        let all = || {
            Ok(Display {
                value: fill(patterns.value)?,
                name: fill(patterns.name)?,
                kind: fill(patterns.kind)?,
            })
        };
        let filled: Result<Display, dap_wire::Failure> = all();
        self.known.depth.set(deep);
        match filled {
            Ok(display) => Some(display),
            Err(failure) => {
                self.mute(format!("The display of `{key}`"), key, &failure);
                None
            }
        }
    }

    /// What an object says of itself: its `ToString`, if it is its own, and if the launch said that it may be asked.
    pub(super) fn own_text(&mut self, path: &Path, site: &Site<'_>) -> Option<String> {
        if !self.allow_to_string || !site.runs {
            return None;
        }
        let value = bare(&self.fetch(path).ok()?)?;
        let ty = self.declared_ty(&value);
        drop(value);
        let key = format!("{}.ToString()", self.full_name(&ty));
        if self.known.mute.borrow().contains(&key) {
            return None;
        }
        match self.said_by(path, &ty, site) {
            Ok(text) => text.map(|text| text.chars().take(LONGEST).collect()),
            Err(failure) => {
                tracing::debug!(%failure, key, "an object gave no text");
                self.mute(format!("`{key}`"), key, &failure);
                None
            }
        }
    }

    /// What took too long is not asked again.
    fn mute(&mut self, what: String, key: String, failure: &dap_wire::Failure) {
        if failure.code == ErrorCode::EvaluationTimeout {
            self.note(&format!("{what} took too long and is not asked again in this session: {failure}"));
            self.known.mute.borrow_mut().insert(key);
        }
    }

    /// The nearest type in the chain with a display, and what it says.
    fn display_of(&self, ty: &Ty) -> Option<(Ty, Display)> {
        self.chain(ty).into_iter().find_map(|owner| {
            let (loaded, token) = self.definition(&owner)?;
            let (first, named) = loaded.image()?.metadata.attribute_text(token, DISPLAY)?;
            let text = |argument: &Argument| match argument {
                Argument::Text(text) => text.clone().filter(|text| !text.is_empty()),
                _ => None,
            };
            let named =
                |wanted: &str| named.iter().find(|(name, _)| name == wanted).and_then(|(_, at)| text(at));
            Some((owner, Display { value: text(&first), name: named("Name"), kind: named("Type") }))
        })
    }

    /// `Name = {Name,nq}`: text with expressions in braces.
    fn filled(
        &mut self,
        pattern: &str,
        path: &Path,
        ty: &Ty,
        site: &Site<'_>,
    ) -> Result<String, dap_wire::Failure> {
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
            let (expression, format) = Format::split(hole);
            let val = self.value_on(expression, path, ty, site)?;
            match self.load(&val)? {
                Some(Constant::Null) => text.push_str("null"),
                Some(constant) => text.push_str(&self.show_constant(&constant, &val.ty, &format).text),
                None => {
                    if let Some(inner) = val.path().cloned() {
                        text.push_str(&self.present(&inner, &format, site)?.0.text);
                    }
                }
            }
            rest = after.get(end + 1..).unwrap_or_default();
        }
        text.push_str(rest);
        Ok(text)
    }

    /// The proxy of an object, when its type has one: an object that is made now, for somebody looks inside.
    pub(super) fn proxy(&mut self, path: &Path, ty: &Ty, site: &Site<'_>) -> Option<Path> {
        let named = self.chain(ty).into_iter().find_map(|owner| {
            let (loaded, token) = self.definition(&owner)?;
            match loaded.image()?.metadata.attribute_text(token, PROXY)?.0 {
                Argument::Text(Some(name)) => Some((owner, loaded, name)),
                _ => None,
            }
        });
        let (owner, loaded, name) = named?;
        // A type's name as reflection writes it: `Ns.Outer+Inner, Assembly`.
        let full = name.split(',').next().unwrap_or_default().trim().replace('+', ".");
        let token = loaded.image()?.metadata.find_type(&full);
        let (module, token) = match token {
            Some(token) => (loaded, token),
            None => self.type_named(&full)?,
        };
        let proxy = self.defined(&module, token, None, owner.arguments().to_vec());
        match self.made_of(&proxy, path, ty, site) {
            Ok(made) => made.path().map(|made| Path {
                name: format!("new {}({})", self.csharp(&proxy), path.name),
                ..made.clone()
            }),
            Err(failure) => {
                tracing::debug!(%failure, proxy = full, "no proxy could be made");
                None
            }
        }
    }
}
