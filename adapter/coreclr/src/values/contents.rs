//! Contents of a value: items, fields, properties, proxies, statics.
//!
//! Not here: the rows that show them ([`super::variables`]).

use std::collections::HashMap;

use clr_metadata::members::{Access, PropertyInfo};
use dap_wire::Failure;

use super::UNNAMED;
use super::groups::{is_group, is_grouped, non_public, raw_view};
use super::rows::{EVERYTHING, RowContent, VariableEntry, VariablesPage, rest_entry};
use crate::bare_value::bare;
use crate::func_eval::EvalContext;
use crate::names::escape_keyword;
use crate::session::ClrSession;
use crate::typed_value::{Format, TypedValue, ValueLocation};
use crate::types::ClrTypeSystem;
use crate::types::Ty;
use crate::value_path::{Path, PathSegment};
use crate::value_store::{MemberSelection, Node, Returned, ValueStore};

/// DebuggerBrowsableState: never, and "its items instead of it".
pub(super) const NEVER: i64 = 0;
const ROOT_HIDDEN: i64 = 3;
pub(super) const BROWSABLE: &str = "System.Diagnostics.DebuggerBrowsableAttribute";
/// Deepest nesting of members that are replaced by their own members.
const MAX_DEPTH: usize = 4;

impl ClrSession {
    /// The child rows of a node.
    pub(super) fn rows_of(
        &mut self,
        node: &Node,
        page: &VariablesPage<'_>,
        site: &EvalContext,
    ) -> Result<Vec<VariableEntry>, Failure> {
        match node {
            Node::Locals { thread, index } => {
                let mut rows: Vec<VariableEntry> = self.values.returned_rows(*thread, *index);
                let locals = self.at_stop().locals(*thread, *index)?;
                let has_this = locals.iter().any(|(name, _)| name == "this");
                rows.extend(
                    locals
                        .into_iter()
                        .map(|(name, path)| VariableEntry::new(name, RowContent::At(path), "data")),
                );
                for (name, val) in self.at_stop().constants(*thread, *index) {
                    let mut row = VariableEntry::new(name.clone(), RowContent::Here(val, name), "data");
                    row.attributes.push("constant");
                    rows.push(row);
                }
                if !has_this
                    && let Some(class) = self.at_stop().class_at(*thread, *index)
                    && self.types.has_statics(&class)
                {
                    rows.push(self.types.static_members(class));
                }
                rows.extend(self.at_stop().type_variables_row(*thread, *index));
                Ok(page.cut(rows))
            }
            Node::Types { thread, index } => {
                let row = |(name, text)| VariableEntry::new(name, RowContent::Message(text), "data");
                Ok(page.cut(self.at_stop().type_variables(*thread, *index).into_iter().map(row).collect()))
            }
            Node::Inside(path, format) => self.rows_inside(path, format, page, site),
            Node::Rest(path, format, from) => {
                let page = VariablesPage {
                    start: from.saturating_add(page.start),
                    filter: Some("indexed"),
                    ..*page
                };
                self.rows_inside(path, format, &page, site)
            }
            Node::Raw(path) => self
                .fields_and_properties(path, MemberSelection::Shown, MAX_DEPTH, site)
                .map(|rows| page.cut(rows)),
            Node::NonPublic(path) => self
                .fields_and_properties(path, MemberSelection::NonPublic, MAX_DEPTH, site)
                .map(|rows| page.cut(rows)),
            Node::Dynamic(path) => self.dynamic_rows(path, site).map(|rows| page.cut(rows)),
            Node::Property { of, name, way } => {
                let what = match self.property_value(of, name, site) {
                    Ok(val) => RowContent::Here(val, way.clone()),
                    Err(failure) => RowContent::Failed(failure),
                };
                Ok(vec![VariableEntry::new(name.rsplit('.').next().unwrap_or(name), what, "property")])
            }
            Node::Results(path) => {
                let items = self.results(path, site)?;
                Ok(page.cut(items))
            }
            Node::Statics(ty, part) => self.statics(ty, *part, site).map(|rows| page.cut(rows)),
            Node::Evaluated { name, way } => {
                let what = match self.value_of(way, site) {
                    Ok(val) => RowContent::Here(val, way.clone()),
                    Err(failure) => RowContent::Failed(failure),
                };
                Ok(vec![VariableEntry::new(name, what, "property")])
            }
        }
    }

    fn rows_inside(
        &mut self,
        path: &Path,
        format: &Format,
        page: &VariablesPage<'_>,
        site: &EvalContext,
    ) -> Result<Vec<VariableEntry>, Failure> {
        let value = self.at_stop().fetch(path)?;
        let Some(inner) = bare(&value) else { return Ok(Vec::new()) };
        if let Ty::Pointer(_) = self.types.declared_ty(&inner) {
            let way = path.step(PathSegment::Behind, format!("(*{})", path.name));
            return Ok(vec![VariableEntry::new(format!("*{}", path.name), RowContent::At(way), "data")]);
        }
        if format.results {
            let is_wanted = page.wants_indexed();
            return if is_wanted {
                self.results(path, site).map(|rows| page.cut(rows))
            } else {
                Ok(Vec::new())
            };
        }
        let ty = self.types.declared_ty(&inner);
        // A nullable is shown as its value.
        if self.types.nullable(&ty).is_some()
            && let Some(step) = self.types.member(&inner, "value")
        {
            return self.rows_inside(&path.step(step, format!("{}.Value", path.name)), format, page, site);
        }
        let most = page.count.min(page.most);
        // One more than is shown, to find out whether there are more.
        let count = if page.wants_indexed() { most.saturating_add(1) } else { 0 };
        let items = if format.raw {
            None
        } else {
            self.at_stop().items(&self.request.cancel, &inner, path, page.start, count)
        };
        if let Some(mut items) = items {
            let mut rows = Vec::new();
            let is_cut = items.len() > most && page.count > most;
            items.truncate(most);
            if page.wants_indexed() {
                let read = self.at_stop().read_in_bulk(&items).map(|(ty, read)| (ty, read.into_iter()));
                let (ty_read, mut read) = read.unzip();
                rows.extend(items.into_iter().map(|(name, item)| {
                    // Items have tuple names from the collection's declaration.
                    let tuple = path.tuple.as_ref().and_then(|names| {
                        self.types.names_within(
                            names,
                            &ty,
                            &self.types.declared_ty(&self.at_stop().fetch(&item).ok()?),
                        )
                    });
                    let mut row = VariableEntry::new(name, RowContent::At(Path { tuple, ..item }), "data");
                    row.read = ty_read.clone().zip(read.as_mut().and_then(Iterator::next));
                    row
                }));
            }
            if is_cut {
                rows.push(rest_entry(path, format, page.start.saturating_add(most)));
            }
            if page.wants_named() && inner.as_array().is_none() {
                rows.push(raw_view(path));
            }
            return Ok(rows);
        }
        if !format.raw
            && let Some(rows) = self.types.span_rows(&self.debuggee, &inner, path, page)
        {
            return Ok(rows);
        }
        if !format.raw
            && let Some(mut rows) = self.synthetic_rows(&inner, path, page, site)
        {
            if page.wants_named() {
                rows.push(raw_view(path));
            }
            return Ok(rows);
        }
        let is_counted =
            !format.raw && self.types.proxied_items(&inner, &self.types.full_name(&ty)).is_some();
        if !page.wants_named() && !is_counted {
            return Ok(Vec::new());
        }
        if !format.raw {
            drop((value, inner));
            if let Some(proxy) = self.proxy(path, &ty, site) {
                if is_counted && let Some(items) = self.items_of_proxy(&proxy, site) {
                    let wanted = page.wants_indexed();
                    let items = wanted.then(|| self.rows_inside(&items, &Format::default(), page, site));
                    let mut rows = items.transpose()?.unwrap_or_default();
                    rows.extend(page.wants_named().then(|| raw_view(path)));
                    return Ok(rows);
                }
                let mut rows = self.fields_and_properties(&proxy, MemberSelection::Shown, MAX_DEPTH, site)?;
                rows.retain(|row| row.access.is_none_or(|access| access == Access::Public) && !is_group(row));
                if self.types.is_span(&ty) {
                    // A struct without a variable can only be read through the proxy.
                    let of = ty.arguments().first();
                    let is_read = of.is_some_and(|of| !of.is_value() || self.types.number_kind(of).is_some());
                    rows.iter_mut().for_each(|row| element_of(path, row, is_read));
                }
                rows.push(raw_view(path));
                return Ok(page.cut(rows));
            }
        }
        let part = if format.hidden { MemberSelection::All } else { MemberSelection::Shown };
        self.fields_and_properties(path, part, MAX_DEPTH, site).map(|rows| page.cut(rows))
    }

    /// The array of the items that the proxy of a collection creates.
    fn items_of_proxy(&mut self, proxy: &Path, site: &EvalContext) -> Option<Path> {
        let items = self.property_value(proxy, "Items", site).ok()?;
        let path = items.path()?;
        bare(&self.at_stop().fetch(path).ok()?)?.as_array()?;
        Some(Path { name: format!("{}.Items", proxy.name), ..path.clone() })
    }

    /// Fields, then properties: those whose getters only read a field immediately, others on request.
    fn fields_and_properties(
        &mut self,
        path: &Path,
        part: MemberSelection,
        deeper: usize,
        site: &EvalContext,
    ) -> Result<Vec<VariableEntry>, Failure> {
        let value = self.at_stop().fetch(path)?;
        let Some(inner) = bare(&value) else { return Ok(Vec::new()) };
        let (mut rows, mut names, mut has_hidden) = (Vec::new(), Vec::<String>::new(), false);
        let actual = self.types.declared_ty(&inner);
        // The member's name may mean another member of the dynamic object.
        let named = match path.is_dynamic && self.types.has_own_members(&actual) {
            true => Some(Path {
                name: format!("(({}){})", self.types.csharp(&actual), path.name),
                is_dynamic: false,
                ..path.clone()
            }),
            false => None,
        };
        let path = named.as_ref().unwrap_or(path);
        let chain = self.types.chain(&actual);
        let members = self.types.members(&inner);
        let mut all: Vec<&str> = members.iter().map(|member| member.name.as_str()).collect();
        all.sort_unstable();
        // Names that several classes in the chain use: the meaning depends on the static type.
        let shared: Vec<String> =
            all.windows(2).filter(|two| two[0] == two[1]).map(|two| two[0].to_owned()).collect();
        let mut properties: HashMap<(usize, u32), HashMap<String, PropertyInfo>> = HashMap::new();
        for member in members {
            let Some(image) = member.loaded.image() else { continue };
            let metadata = &image.metadata;
            let is_auto = metadata.field_name(member.token).starts_with('<');
            let auto = if is_auto {
                // The properties of a class are listed once: objects with a hundred are common.
                let own = properties.entry((member.loaded.id, member.class)).or_insert_with(|| {
                    let infos = metadata.property_infos(member.class).into_iter().rev();
                    infos.map(|info| (info.name.clone(), info)).collect()
                });
                own.get(&member.name)
            } else {
                None
            };
            // An auto-property has its attributes on the property.
            let browsable = auto
                .and_then(|info| metadata.attribute_number(info.token, BROWSABLE))
                .or_else(|| metadata.attribute_number(member.token, BROWSABLE).filter(|_| !is_auto));
            if browsable == Some(NEVER) {
                continue;
            }
            if is_auto && auto.is_none() && member.name.starts_with('<') {
                continue;
            }
            if let Some(getter) = auto.and_then(|info| info.getter)
                && !self.types.returns_its_field(&member.loaded, getter)
            {
                continue;
            }
            let derived = match member.step {
                PathSegment::Field { up, .. } => chain.get(..up).unwrap_or_default(),
                _ => &[],
            };
            // The value of the property now differs from the field of the one that it overrides.
            if auto.and_then(|info| info.getter).is_some_and(|getter| {
                metadata.is_virtual(getter) && derived.iter().any(|ty| self.types.overrides(ty, &member.name))
            }) {
                continue;
            }
            let hidden = names.contains(&member.name);
            let access = auto.and_then(|info| info.getter).map(|getter| metadata.method_access(getter));
            let access = access.unwrap_or(member.access);
            let is_grouped = is_grouped(&member.loaded, access, browsable);
            has_hidden |= is_grouped;
            if !part.takes(is_grouped) {
                names.push(member.name.clone());
                continue;
            }
            let owner = match member.step {
                PathSegment::Field { up, .. } => chain.get(up).cloned(),
                _ => None,
            };
            let of = match (&owner, shared.contains(&member.name)) {
                (Some(owner), true) => format!("(({}){})", self.types.csharp(owner), path.name),
                _ => path.name.clone(),
            };
            let shown = match (&owner, hidden) {
                (Some(owner), true) => format!("{} ({})", member.name, self.types.csharp(owner)),
                _ => member.name.clone(),
            };
            let mut way = path.step(member.step, format!("{of}.{}", escape_keyword(&member.name)));
            let tuple_of = auto.map_or(member.token, |info| info.token);
            way.tuple = super::tuples::tuple_names(metadata.tuple_names(tuple_of))
                .or_else(|| super::tuples::tuple_names(metadata.tuple_names(member.token)));
            let position = || member.name.strip_prefix("Item")?.parse::<usize>().ok()?.checked_sub(1);
            if let (Some(names), Some(at)) = (&path.tuple, position()) {
                way.tuple = self.types.names_of_element(names, &actual, at);
            }
            names.push(member.name.clone());
            if browsable == Some(ROOT_HIDDEN) && deeper > 0 {
                let inside = self.expand_root_hidden(&way, site)?;
                rows.extend(inside.into_iter().filter(|row| !is_group(row)));
                continue;
            }
            let tuple_name = path.tuple.as_ref().and_then(|names| {
                let position: usize = member.name.strip_prefix("Item")?.parse().ok()?;
                names.get(position.checked_sub(1)?)?.clone()
            });
            let kind = if is_auto { "property" } else { "data" };
            let mut row = VariableEntry::new(tuple_name.unwrap_or(shown), RowContent::At(way), kind);
            row.access = Some(access);
            if member.read_only && auto.is_none_or(|info| info.setter.is_none()) {
                row.attributes.push("readOnly");
            }
            rows.push(row);
        }
        for owner in &chain {
            has_hidden |= self.property_rows(path, owner, part, &mut names, &mut rows, deeper, site)?;
        }
        if part != MemberSelection::NonPublic {
            self.types.group_rows(path, &actual, has_hidden && part == MemberSelection::Shown, &mut rows);
        }
        Ok(rows)
    }

    /// The members of a member that is replaced by them in the list. A cycle ends at a maximal depth.
    fn expand_root_hidden(&mut self, way: &Path, site: &EvalContext) -> Result<Vec<VariableEntry>, Failure> {
        let deep = self.values.rooted.get();
        if deep >= MAX_DEPTH {
            return Ok(Vec::new());
        }
        self.values.rooted.set(deep + 1);
        let rows = self.rows_inside(way, &Format::default(), &EVERYTHING, site);
        self.values.rooted.set(deep);
        rows
    }

    /// Adds the properties that a class declares; returns whether any of them belongs to the group
    /// of non-public members.
    #[expect(clippy::too_many_arguments, reason = "the rows so far, and what is wanted of the class")]
    fn property_rows(
        &mut self,
        path: &Path,
        owner: &Ty,
        part: MemberSelection,
        names: &mut Vec<String>,
        rows: &mut Vec<VariableEntry>,
        deeper: usize,
        site: &EvalContext,
    ) -> Result<bool, Failure> {
        let Some((loaded, token)) = self.types.definition(owner) else { return Ok(false) };
        let Some(image) = loaded.image() else { return Ok(false) };
        let metadata = &image.metadata;
        let mut has_hidden = false;
        for info in metadata.property_infos(token) {
            let Some(getter) = info.getter else { continue };
            let is_plain = !metadata.is_static(getter) && metadata.parameter_count(getter) == 0;
            if !is_plain || names.contains(&info.name) {
                continue;
            }
            names.push(info.name.clone());
            let browsable = metadata.attribute_number(info.token, BROWSABLE);
            if browsable == Some(NEVER) {
                continue;
            }
            let is_grouped = is_grouped(&loaded, metadata.method_access(getter), browsable);
            has_hidden |= is_grouped;
            if !part.takes(is_grouped) {
                continue;
            }
            // An explicit implementation is accessed through its interface.
            let short = info.name.rsplit('.').next().unwrap_or(&info.name).to_owned();
            let explicit = info.name.rsplit_once('.').map(|(interface, _)| interface.to_owned());
            let way = match &explicit {
                Some(interface) => format!("(({interface}){}).{short}", path.name),
                None => format!("{}.{short}", path.name),
            };
            let known = self.known_property(path, owner, &info.name, site);
            if browsable == Some(ROOT_HIDDEN) && deeper > 0 {
                let val = match known {
                    Some(val) => Ok(val),
                    None => self.property_value(path, &info.name, site),
                };
                if let Ok(TypedValue { data: ValueLocation::At(inner), .. }) = val {
                    let inner = Path { name: way, ..inner };
                    let inside = self.expand_root_hidden(&inner, site)?;
                    rows.extend(inside.into_iter().filter(|row| !is_group(row)));
                }
                continue;
            }
            let what = match known {
                Some(val) => match val.data {
                    ValueLocation::At(inner) => RowContent::At(Path { name: way, ..inner }),
                    _ => RowContent::Here(val, way),
                },
                None => RowContent::Lazy(
                    Node::Property { of: path.clone(), name: info.name.clone(), way: way.clone() },
                    way,
                ),
            };
            let mut row = VariableEntry::new(info.name.clone(), what, "property");
            row.access = Some(metadata.method_access(getter));
            if info.setter.is_none() {
                row.attributes.push("readOnly");
            }
            rows.push(row);
        }
        Ok(has_hidden)
    }
}

impl ValueStore {
    /// Return values of the calls in the last step, in the frame where it ended.
    fn returned_rows(&self, thread: u32, index: usize) -> Vec<VariableEntry> {
        let here = self.references.returned.iter().filter(|(of, _)| (*of, 0) == (thread, index));
        let row = |returned: &Returned| {
            let what = RowContent::Here(returned.val.clone(), UNNAMED.into());
            let mut row = VariableEntry::new(format!("{} returned", returned.name), what, "data");
            row.attributes.push("readOnly");
            row
        };
        here.flat_map(|(_, all)| all).map(row).collect()
    }
}

impl ClrTypeSystem {
    /// The groups of an object's members.
    fn group_rows(&self, path: &Path, actual: &Ty, has_hidden: bool, rows: &mut Vec<VariableEntry>) {
        if self.has_statics(actual) {
            rows.push(self.static_members(actual.clone()));
        }
        if has_hidden {
            rows.push(non_public(path));
        }
        let interfaces = self.interfaces_of(actual);
        if self.is_sequence(actual, &interfaces) {
            let way = format!("{},results", path.name);
            rows.push(VariableEntry::new(
                "Results View",
                RowContent::Lazy(Node::Results(path.clone()), way),
                "method",
            ));
        }
        rows.extend(self.dynamic_view(path, &interfaces));
    }

    /// Whether a type overrides a property of one of its bases.
    fn overrides(&self, ty: &Ty, name: &str) -> bool {
        let found = || {
            let (loaded, token) = self.definition(ty)?;
            let metadata = &loaded.image()?.metadata;
            let info = metadata.property_infos(token).into_iter().find(|info| info.name == name)?;
            let getter = info.getter?;
            Some(metadata.is_virtual(getter) && !metadata.is_new_slot(getter))
        };
        found().unwrap_or(false)
    }

    /// Whether a type's module is the user's.
    pub(super) fn is_user_type(&self, ty: &Ty) -> bool {
        matches!(ty, Ty::Named(_)) && self.definition(ty).is_some_and(|(loaded, _)| !loaded.is_framework())
    }
}

/// Turns a row of a span's proxy, which has copies of the elements, into one of the span's
/// own, if that can be read.
fn element_of(span: &Path, row: &mut VariableEntry, is_read: bool) {
    if let RowContent::At(path) = &mut row.what
        && row.name.starts_with('[')
    {
        if is_read {
            path.name = format!("{}{}", span.name, row.name);
        }
        path.is_copy = true;
    }
}
