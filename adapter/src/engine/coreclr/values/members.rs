//! Fields of objects, by name and along their base types.

use std::rc::Rc;

use cordebug::value::{Type, Value as ClrValue};

use super::LONGEST_TEXT;
use super::path::{Step, bare, class_up};
use crate::engine::coreclr::modules::Loaded;
use crate::engine::coreclr::session::Session;

/// Deepest chain of base types that is followed.
pub(crate) const DEEPEST_BASE: usize = 64;

/// A field of an object, wherever it was declared.
pub(crate) struct Member {
    pub(crate) name: String,
    pub(crate) step: Step,
}

impl Session {
    /// The instance fields of an object, its base types' last.
    pub(crate) fn members(&self, value: &ClrValue) -> Vec<Member> {
        let mut members = Vec::new();
        let mut kind = value.exact_type().ok();
        for up in 0..DEEPEST_BASE {
            let Some(current) = kind else { break };
            if let Some((loaded, token)) = self.class_of(&current)
                && let Some(image) = loaded.image()
            {
                for field in image.metadata.fields(token).into_iter().filter(|field| !field.is_static) {
                    let step = Step::Field { up, token: field.token };
                    members.push(Member { name: source_name(&field.name).to_owned(), step });
                }
            }
            kind = current.base().ok();
        }
        members
    }

    pub(crate) fn class_of(&self, kind: &Type) -> Option<(Rc<Loaded>, u32)> {
        let class = kind.class().ok()?;
        Some((self.modules.of(&class.module().ok()?)?, class.token().ok()?))
    }

    /// The way to a field by its name.
    pub(crate) fn member(&self, value: &ClrValue, name: &str) -> Option<Step> {
        self.members(value).into_iter().find(|member| member.name == name).map(|member| member.step)
    }

    pub(crate) fn field_named(&self, value: &ClrValue, name: &str) -> Option<ClrValue> {
        let inner = bare(value)?;
        match self.member(&inner, name)? {
            Step::Field { up, token } => inner.field(&class_up(&inner, up).ok()?, token).ok(),
            Step::Element(_) => None,
        }
    }

    pub(crate) fn text_field(&self, value: &ClrValue, name: &str) -> Option<String> {
        bare(&self.field_named(value, name)?)?.as_string()?.text(LONGEST_TEXT).ok()
    }

    pub(crate) fn number_field(&self, value: &ClrValue, name: &str) -> Option<u32> {
        let bytes = self.field_named(value, name)?.bytes().ok()?;
        bytes.get(..4)?.try_into().ok().map(u32::from_le_bytes)
    }

    pub(crate) fn is_null(&self, value: &ClrValue) -> bool {
        bare(value).is_none()
    }

    pub(crate) fn type_of(&self, value: &ClrValue) -> String {
        let inner = bare(value);
        let kind = inner.as_ref().unwrap_or(value).exact_type();
        kind.map_or_else(|_| "object".into(), |kind| self.spelled(&kind))
    }
}

/// The property an auto-property's field belongs to, else the field's own name.
pub(crate) fn source_name(field: &str) -> &str {
    field.strip_suffix(">k__BackingField").and_then(|name| name.strip_prefix('<')).unwrap_or(field)
}
