//! Groups of members, as in Visual Studio: which members belong to one, the rows that open to them, and the
//! members that a dynamic object reports. Static members are in [`super::properties`].

use clr_metadata::members::Access;
use tandem_wire::Failure;

use super::rows::{RowContent, VariableEntry};
use crate::bare_value::bare;
use crate::func_eval::EvalContext;
use crate::modules::LoadedModule;
use crate::session::ClrSession;
use crate::stop_context::StopContext;
use crate::typed_value::TypedValue;
use crate::types::ClrTypeSystem;
use crate::types::Ty;
use crate::value_path::{Path, PathSegment};
use crate::value_store::Node;

pub(super) const NON_PUBLIC: &str = "Non-Public members";
pub(super) const RAW_VIEW: &str = "Raw View";
/// Framework class whose objects' own members come before the dynamic ones.
const OWN_TOO: &str = "System.Dynamic.DynamicObject";
const DYNAMIC: &str = "System.Dynamic.IDynamicMetaObjectProvider";
/// The view of C#'s own library for debuggers: it requests the members of a dynamic object.
const VIEW: &str = "Microsoft.CSharp.RuntimeBinder.DynamicMetaObjectProviderDebugView";
const DICTIONARY: &str = "System.Collections.Generic.IDictionary<string, object>";
/// Most members of a dynamic object that are shown.
const MAX_DYNAMIC: u32 = 1_000;

/// Whether a member belongs to the group of non-public members: the private members of libraries. A member
/// with an attribute that tells debuggers how to show it is shown.
pub(super) fn is_grouped(declaring: &LoadedModule, access: Access, browsable: Option<i64>) -> bool {
    let is_private = !matches!(access, Access::Public | Access::Protected);
    is_private && !declaring.is_user_code && browsable.is_none()
}

/// The row that opens to the non-public members.
pub(super) fn non_public(path: &Path) -> VariableEntry {
    let way = format!("{},hidden", path.name);
    VariableEntry::new(
        NON_PUBLIC,
        RowContent::Group(Node::NonPublic(path.clone()), String::new(), Some(way)),
        "virtual",
    )
}

/// The row that opens to the fields of an object that is shown in another form.
pub(super) fn raw_view(path: &Path) -> VariableEntry {
    let way = format!("{},raw", path.name);
    VariableEntry::new(
        RAW_VIEW,
        RowContent::Group(Node::Raw(path.clone()), String::new(), Some(way)),
        "virtual",
    )
}

/// Whether a row is a group of the object, not one of its members.
pub(super) fn is_group(row: &VariableEntry) -> bool {
    [NON_PUBLIC, RAW_VIEW].contains(&row.name.as_str())
}

impl ClrSession {
    /// The members that a dynamic object reports.
    pub(super) fn dynamic_rows(
        &mut self,
        path: &Path,
        site: &EvalContext,
    ) -> Result<Vec<VariableEntry>, Failure> {
        let view = self
            .program
            .types
            .ty_named(VIEW)
            .ok_or_else(|| Failure::invalid("Microsoft.CSharp is not loaded"))?;
        let ty = self.at_stop().val_at(path.clone())?.ty;
        let made = self.wrap_object(&view, path, &ty, site)?;
        let made = made.path().cloned().unwrap_or_else(|| path.clone());
        let items = match self.property_value(&made, "Items", site) {
            Ok(items) => items,
            // It throws if there are none.
            Err(failure) => {
                return Ok(vec![VariableEntry::new("…", RowContent::Message(failure.message), "virtual")]);
            }
        };
        let Some(all) = items.path().cloned() else { return Ok(Vec::new()) };
        let value = self.at_stop().fetch(&all)?;
        let array = bare(&value).and_then(|array| array.as_array());
        let count = array.map_or(0, |array| array.count().unwrap_or(0)).min(MAX_DYNAMIC);
        let actual = bare(&self.at_stop().fetch(path)?).map(|object| self.program.types.declared_ty(&object));
        let is_dictionary = actual.is_some_and(|ty| {
            self.program
                .types
                .interfaces_of(&ty)
                .iter()
                .any(|interface| self.program.types.csharp(interface) == DICTIONARY)
        });
        Ok((0..count).filter_map(|at| self.at_stop().dynamic_row(path, &all, at, is_dictionary)).collect())
    }
}

impl StopContext<'_> {
    /// One of them: the library stores a name and a value.
    fn dynamic_row(&self, path: &Path, all: &Path, at: u32, is_dictionary: bool) -> Option<VariableEntry> {
        let item = all.step(PathSegment::Element(at), format!("new {VIEW}({}).Items[{at}]", path.name));
        let kept = bare(&self.fetch(&item).ok()?)?;
        let name =
            bare(&self.types.field_named(&kept, "name")?)?.as_string()?.text(super::MAX_TEXT_LEN).ok()?;
        let way = match is_dictionary {
            true => format!("(({DICTIONARY}){})[{}]", path.name, super::primitive::quoted(&name)),
            false => format!("{}.value", item.name),
        };
        let inner = item.step(self.types.member(&kept, "value")?, way.clone());
        let value = TypedValue::at(inner, crate::types::ty::OBJECT);
        let mut row = VariableEntry::new(name, RowContent::Here(value, way), "property");
        if !is_dictionary {
            // The stored value is a copy.
            row.attributes.push("readOnly");
        }
        Some(row)
    }
}

impl ClrTypeSystem {
    /// The row that opens to the static members.
    pub(super) fn static_members(&self, ty: Ty) -> VariableEntry {
        let text = self.csharp(&ty);
        let group = RowContent::Group(Node::statics(ty), text.clone(), Some(text));
        VariableEntry::new("Static members", group, "class")
    }

    /// Whether objects of a type report their members themselves, before those that the type declares.
    pub(super) fn has_own_members(&self, ty: &Ty) -> bool {
        let is_answering =
            self.interfaces_of(ty).iter().any(|interface| self.full_name(interface) == DYNAMIC);
        is_answering && !self.chain(ty).iter().any(|base| self.full_name(base) == OWN_TOO)
    }

    /// The row that opens to a dynamic object's members; `None` for other objects, and if the program has not
    /// loaded C#'s library for such objects.
    pub(super) fn dynamic_view(&self, path: &Path, interfaces: &[Ty]) -> Option<VariableEntry> {
        let is_dynamic = interfaces.iter().any(|interface| self.full_name(interface) == DYNAMIC);
        if !is_dynamic || self.ty_named(VIEW).is_none() {
            return None;
        }
        let way = format!("new {VIEW}({}).Items", path.name);
        Some(VariableEntry::new("Dynamic View", RowContent::Lazy(Node::Dynamic(path.clone()), way), "method"))
    }
}
