//! Texts composed of members' texts: pairs `[key, value]`, tuples `(1, "a")`, and records in their own
//! format, `{Song { Title = Home, Year = 1999 }}`. Not here: displays that types define
//! ([`super::displays`]).

use clr_metadata::members::Access;
use cordebug::value::Value as ClrValue;

use crate::debuggee::ClrDebuggee;
use crate::fields::source_name;
use crate::func_eval::EvalContext;
use crate::session::ClrSession;
use crate::typed_value::{Format, ValueLocation};
use crate::types::ClrTypeSystem;
use crate::types::Ty;
use crate::value_path::{Path, PathSegment};

/// Most members that are shown in a row.
const MAX_MEMBERS: usize = 16;
/// Text of a member that must run to be known.
const UNKNOWN: &str = "…";
pub(crate) const GENERATED: &str = "System.Runtime.CompilerServices.CompilerGeneratedAttribute";
const PRINT: &str = "PrintMembers";

/// A text composed of members' texts.
pub(super) struct ComposedText {
    open: String,
    parts: Vec<ComposedPart>,
    close: &'static str,
    is_record: bool,
}

struct ComposedPart {
    /// The text before the member's.
    label: String,
    way: MemberSource,
}

/// How a member is read.
enum MemberSource {
    Steps(Vec<PathSegment>),
    /// A computed property of this class.
    Property(Ty, String),
}

impl ComposedText {
    /// The whole text; `text_of` returns the text of a member.
    fn text(&self, mut text_of: impl FnMut(&MemberSource) -> Option<String>) -> String {
        let shown = self.parts.iter().take(MAX_MEMBERS).map(|part| {
            let text = text_of(&part.way).unwrap_or_else(|| UNKNOWN.into());
            // A record inside a record is shown without its own braces.
            let inner = text
                .strip_prefix('{')
                .and_then(|text| text.strip_suffix(" }}").map(|text| format!("{text} }}")));
            let text = inner.filter(|_| self.is_record).unwrap_or(text);
            format!("{}{text}", part.label)
        });
        let mut shown: Vec<String> = shown.collect();
        if self.parts.len() > MAX_MEMBERS {
            shown.push(UNKNOWN.into());
        }
        format!("{}{}{}", self.open, shown.join(", "), self.close)
    }
}

impl ClrSession {
    /// The same with the displays of members, and with properties that compute from fields.
    pub(super) fn composed_display(
        &mut self,
        path: &Path,
        composed: &ComposedText,
        format: &Format,
        site: &EvalContext,
    ) -> String {
        let format = Format { bare: composed.is_record, ..*format };
        composed.text(|way| match way {
            MemberSource::Steps(steps) => {
                let way = steps.iter().fold(path.clone(), |way, step| way.step(*step, path.name.clone()));
                Some(self.present(&way, &format, site).ok()?.0.text)
            }
            MemberSource::Property(owner, name) => {
                let val = self.known_property(path, owner, name, site)?;
                match &val.data {
                    ValueLocation::Constant(constant) => {
                        Some(self.program.types.show_constant(constant, &val.ty, &format).text)
                    }
                    ValueLocation::At(inner) => Some(self.present(inner, &format, site).ok()?.0.text),
                }
            }
        })
    }
}

impl ClrTypeSystem {
    /// The text of a composed value, from fields alone.
    pub(super) fn composed_text(
        &self,
        debuggee: &ClrDebuggee,
        value: &ClrValue,
        composed: &ComposedText,
        format: &Format,
        deeper: usize,
    ) -> String {
        let format = Format { bare: composed.is_record, ..*format };
        composed.text(|way| match way {
            MemberSource::Steps(steps) => {
                let field =
                    steps.iter().try_fold(value.clone(), |value, step| self.field_at(&value, *step))?;
                Some(self.show_as(debuggee, &field, &format, deeper.checked_sub(1)?).text)
            }
            MemberSource::Property(..) => None,
        })
    }

    /// The parts of a value's text; `None` for a value that is not a pair, tuple or record.
    pub(super) fn compose(&self, value: &ClrValue, ty: &Ty, name: &str) -> Option<ComposedText> {
        let fields = |open: &str, names: &[&str], close: &'static str| {
            let part = |field: &&str| {
                let steps = vec![self.member(value, field)?];
                Some(ComposedPart { label: String::new(), way: MemberSource::Steps(steps) })
            };
            let parts = names.iter().map(part).collect::<Option<_>>()?;
            Some(ComposedText { open: open.to_owned(), parts, close, is_record: false })
        };
        match name {
            "System.Collections.Generic.KeyValuePair`2" => fields("[", &["key", "value"], "]"),
            "System.Collections.DictionaryEntry" => fields("[", &["_key", "_value"], "]"),
            _ if name.starts_with("System.ValueTuple`") || name.starts_with("System.Tuple`") => {
                let elements = self.tuple_elements(value, ty)?.into_iter();
                let part = |steps| ComposedPart { label: String::new(), way: MemberSource::Steps(steps) };
                let parts = elements.map(part).collect();
                Some(ComposedText { open: "(".into(), parts, close: ")", is_record: false })
            }
            _ => self.record(value, ty),
        }
    }

    /// The steps to each element of a tuple. The eighth and later ones are in a nested tuple.
    pub(crate) fn tuple_elements(&self, value: &ClrValue, ty: &Ty) -> Option<Vec<Vec<PathSegment>>> {
        let is_class = self.full_name(ty).starts_with("System.Tuple`");
        let field = |name: &str| self.member(value, &format!("{}{name}", if is_class { "m_" } else { "" }));
        let count = ty.arguments().len();
        let own = (1..=count.min(7)).map(|at| Some(vec![field(&format!("Item{at}"))?]));
        let mut elements: Vec<Vec<PathSegment>> = own.collect::<Option<_>>()?;
        if count > 7 {
            let rest = field("Rest")?;
            let inner = crate::bare_value::bare(&self.field_at(value, rest)?)?;
            let deeper = self.tuple_elements(&inner, &self.declared_ty(&inner))?;
            elements.extend(deeper.into_iter().map(|steps| [&[rest][..], &steps].concat()));
        }
        Some(elements)
    }

    /// The members that a record prints: its public fields and properties, those of its bases first. `None`
    /// if its author wrote the printing method.
    fn record(&self, value: &ClrValue, ty: &Ty) -> Option<ComposedText> {
        let is_record = |owner: &Ty| self.is_generated(owner, PRINT);
        if !self.is_user_type(ty) || is_record(ty) != Some(true) {
            return None;
        }
        let chain = self.chain(ty);
        let printer = chain.iter().find_map(|owner| self.is_generated(owner, "ToString"));
        if printer != Some(true) || chain.iter().any(|owner| is_record(owner) == Some(false)) {
            return None;
        }
        let mut parts = Vec::new();
        for owner in chain.iter().rev().filter(|owner| is_record(owner) == Some(true)) {
            self.printed_members(value, &chain, owner, &mut parts);
        }
        let (loaded, token) = self.definition(ty)?;
        let name = crate::names::without_arity(loaded.image()?.metadata.simple_name(token));
        if parts.is_empty() {
            return Some(ComposedText { open: format!("{{{name} {{"), parts, close: " }}", is_record: true });
        }
        Some(ComposedText { open: format!("{{{name} {{ "), parts, close: " }}", is_record: true })
    }

    /// Whether a class's own method of this name is compiler-generated; `None` if it declares none.
    fn is_generated(&self, owner: &Ty, name: &str) -> Option<bool> {
        let (loaded, token) = self.definition(owner)?;
        let metadata = &loaded.image()?.metadata;
        let parameters = u32::from(name == PRINT);
        let mut methods = metadata.methods(token).filter(|method| {
            metadata.method_name(*method) == name && metadata.parameter_count(*method) == parameters
        });
        Some(metadata.has_attribute(methods.next()?, GENERATED))
    }

    fn printed_members(&self, value: &ClrValue, chain: &[Ty], owner: &Ty, parts: &mut Vec<ComposedPart>) {
        let Some((loaded, token)) = self.definition(owner) else { return };
        let Some(image) = loaded.image() else { return };
        let metadata = &image.metadata;
        for info in metadata.property_infos(token) {
            let Some(getter) = info.getter else { continue };
            let is_printed = metadata.method_access(getter) == Access::Public
                && !metadata.is_static(getter)
                && metadata.parameter_count(getter) == 0
                && !metadata.is_override(getter);
            if !is_printed {
                continue;
            }
            // A derived class may override it.
            let nearest = chain.iter().find(|class| self.has_property(class, &info.name)).unwrap_or(owner);
            let field = if metadata.is_virtual(getter) {
                self.backing(value, chain, nearest, &info.name)
            } else {
                self.backing(value, chain, owner, &info.name)
            };
            let way = match field {
                Some(step) => MemberSource::Steps(vec![step]),
                None => MemberSource::Property(nearest.clone(), info.name.clone()),
            };
            parts.push(ComposedPart { label: format!("{} = ", info.name), way });
        }
        for field in metadata.fields(token).into_iter().filter(|field| !field.is_static) {
            let up = chain.iter().position(|class| class == owner);
            if let Some(up) = up
                && metadata.field_access(field.token) == Access::Public
            {
                let way = MemberSource::Steps(vec![PathSegment::Field { up, token: field.token }]);
                parts.push(ComposedPart { label: format!("{} = ", field.name), way });
            }
        }
    }

    fn has_property(&self, class: &Ty, name: &str) -> bool {
        let found = || {
            let (loaded, token) = self.definition(class)?;
            let metadata = &loaded.image()?.metadata;
            metadata.property_infos(token).into_iter().find(|info| info.name == name)
        };
        found().is_some()
    }

    /// The field of a class's auto-property.
    fn backing(&self, value: &ClrValue, chain: &[Ty], class: &Ty, name: &str) -> Option<PathSegment> {
        let up = chain.iter().position(|other| other == class)?;
        let (loaded, token) = self.definition(class)?;
        let metadata = &loaded.image()?.metadata;
        let info = metadata.property_infos(token).into_iter().find(|info| info.name == name)?;
        if !self.returns_its_field(&loaded, info.getter?) {
            return None;
        }
        let fields = metadata.fields(token);
        let is_its = |field: &clr_metadata::metadata::FieldDef| {
            !field.is_static && field.name.starts_with('<') && source_name(&field.name) == name
        };
        let step = PathSegment::Field { up, token: fields.into_iter().find(is_its)?.token };
        self.field_at(value, step).is_some().then_some(step)
    }
}
