//! Fields of objects, by name and along their base types.
//!
//! Not here: properties (`values::properties`).

use std::rc::Rc;

use clr_metadata::members::Access;
use cordebug::module::Class;
use cordebug::value::Value as ClrValue;

use crate::bare_value::bare;
use crate::modules::LoadedModule;
use crate::types::ClrTypeSystem;
use crate::value_path::PathSegment;

/// Deepest chain of base types that is followed.
pub(crate) const MAX_BASE_DEPTH: usize = 64;
/// Longest text that is read from a field, UTF-16 units.
const MAX_TEXT_LEN: u32 = 4096;
/// Most exceptions of a chain that a failure names.
const MAX_CHAIN_LEN: usize = 4;

/// A field of an object, declared in its class or a base.
pub(crate) struct InstanceField {
    /// Its name in the source: for an auto-property's field, the property's.
    pub(crate) name: String,
    pub(crate) step: PathSegment,
    pub(crate) loaded: Rc<LoadedModule>,
    /// TypeDef token of the class that declares it.
    pub(crate) class: u32,
    /// Token of its FieldDef row.
    pub(crate) token: u32,
    pub(crate) access: Access,
    pub(crate) read_only: bool,
}

impl ClrTypeSystem {
    /// The instance fields of an object, its base types' last.
    pub(crate) fn members(&self, value: &ClrValue) -> Vec<InstanceField> {
        let mut members = Vec::new();
        let mut kind = value.exact_type().ok();
        for up in 0..MAX_BASE_DEPTH {
            let Some(current) = kind else { break };
            if let Some((loaded, class)) = self.class_of(&current)
                && let Some(image) = loaded.image()
            {
                let metadata = &image.metadata;
                for field in metadata.fields(class).into_iter().filter(|field| !field.is_static) {
                    members.push(InstanceField {
                        name: source_name(&field.name).to_owned(),
                        step: PathSegment::Field { up, token: field.token },
                        loaded: loaded.clone(),
                        class,
                        token: field.token,
                        access: metadata.field_access(field.token),
                        read_only: metadata.is_read_only(field.token),
                    });
                }
            }
            kind = current.base().ok();
        }
        members
    }

    /// The step to a field by its name.
    pub(crate) fn member(&self, value: &ClrValue, name: &str) -> Option<PathSegment> {
        let mut kind = value.exact_type().ok()?;
        for up in 0..MAX_BASE_DEPTH {
            let (loaded, class) = self.class_of(&kind)?;
            let fields = loaded.image()?.metadata.fields(class);
            let hit = fields.into_iter().find(|field| !field.is_static && source_name(&field.name) == name);
            if let Some(field) = hit {
                return Some(PathSegment::Field { up, token: field.token });
            }
            kind = kind.base().ok()?;
        }
        None
    }

    /// The field that a segment of a path leads to; `None` for other segments.
    pub(crate) fn field_at(&self, value: &ClrValue, step: PathSegment) -> Option<ClrValue> {
        match step {
            PathSegment::Field { up, token } => value.field(&class_up(value, up).ok()?, token).ok(),
            PathSegment::Element(_) | PathSegment::Behind => None,
        }
    }

    pub(crate) fn field_named(&self, value: &ClrValue, name: &str) -> Option<ClrValue> {
        let inner = bare(value)?;
        self.field_at(&inner, self.member(&inner, name)?)
    }

    pub(crate) fn text_field(&self, value: &ClrValue, name: &str) -> Option<String> {
        bare(&self.field_named(value, name)?)?.as_string()?.text(MAX_TEXT_LEN).ok()
    }

    pub(crate) fn number_field(&self, value: &ClrValue, name: &str) -> Option<u32> {
        let bytes = self.field_named(value, name)?.bytes().ok()?;
        bytes.get(..4)?.try_into().ok().map(u32::from_le_bytes)
    }

    pub(crate) fn is_null(&self, value: &ClrValue) -> bool {
        bare(value).is_none()
    }

    /// The type of the current value, as C# spells it.
    pub(crate) fn type_of(&self, value: &ClrValue) -> String {
        self.csharp(&self.actual_ty(value))
    }

    /// An exception and its inner ones, with their messages: a static constructor's says nothing itself.
    pub(crate) fn exception_chain(&self, thrown: &ClrValue) -> String {
        let inner = |of: &ClrValue| bare(&self.field_named(of, "_innerException")?);
        let chain = std::iter::successors(bare(thrown), inner).take(MAX_CHAIN_LEN);
        let text = |of: ClrValue| match self.text_field(&of, "_message") {
            Some(message) => format!("{}: {message}", self.type_of(&of)),
            None => self.type_of(&of),
        };
        let texts: Vec<String> = chain.map(text).collect();
        texts.join(", because of ")
    }
}

/// The class `up` base types above that of a value.
pub(crate) fn class_up(value: &ClrValue, up: usize) -> cordebug::Result<Class> {
    let mut kind = value.exact_type()?;
    for _ in 0..up {
        kind = kind.base()?;
    }
    kind.class()
}

/// The property of an auto-property's field, the parameter of a primary constructor, otherwise
/// the field's own name.
pub(crate) fn source_name(field: &str) -> &str {
    let generated = field.strip_suffix(">k__BackingField").or_else(|| field.strip_suffix(">P"));
    generated.and_then(|name| name.strip_prefix('<')).filter(|name| !name.is_empty()).unwrap_or(field)
}

#[cfg(test)]
mod tests {
    use super::source_name;

    #[test]
    fn compiler_generated_fields_have_source_names() {
        for (field, name) in
            [("<Name>k__BackingField", "Name"), ("<count>P", "count"), ("<>P", "<>P"), ("plain", "plain")]
        {
            assert_eq!(source_name(field), name);
        }
    }
}
