//! Contents of a value: items, fields, properties, proxies, statics.
//!
//! Not here: the rows of members ([`super::member_rows`]), and the answers to requests
//! ([`super::variables`]).

use clr_metadata::members::Access;
use tandem_wire::Failure;

use super::UNNAMED;
use super::groups::{is_group, raw_view};
use super::member_rows::MemberRows;
use super::rows::{EVERYTHING, RowContent, VariableEntry, VariablesPage, rest_entry};
use crate::bare_value::bare;
use crate::func_eval::EvalContext;
use crate::session::ClrSession;
use crate::typed_value::Format;
use crate::types::Ty;
use crate::value_path::{Path, PathSegment};
use crate::value_store::{MemberSelection, Node, Returned, ValueStore};

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
                let mut rows: Vec<VariableEntry> = self.program.values.returned_rows(*thread, *index);
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
                    && self.program.types.has_statics(&class)
                {
                    rows.push(self.program.types.static_members(class));
                }
                rows.extend(self.at_stop().type_variables_row(*thread, *index));
                Ok(page.cut(rows))
            }
            Node::Types { thread, index } => {
                let row = |(name, text)| VariableEntry::new(name, RowContent::Message(text), "data");
                Ok(page.cut(self.at_stop().type_variables(*thread, *index).into_iter().map(row).collect()))
            }
            Node::Inside(path, format) => {
                let path = self.at_stop().cast_to_actual(path);
                self.rows_inside(&path, format, page, site)
            }
            Node::Rest(path, format, from) => {
                let path = self.at_stop().cast_to_actual(path);
                let page = VariablesPage {
                    start: from.saturating_add(page.start),
                    filter: Some("indexed"),
                    ..*page
                };
                self.rows_inside(&path, format, &page, site)
            }
            Node::Raw(path) => {
                let path = self.at_stop().cast_to_actual(path);
                MemberRows::of(self, &path, MemberSelection::Shown, site).map(|rows| page.cut(rows))
            }
            Node::NonPublic(path) => {
                MemberRows::of(self, path, MemberSelection::NonPublic, site).map(|rows| page.cut(rows))
            }
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
        if let Ty::Pointer(_) = self.program.types.declared_ty(&inner) {
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
        let ty = self.program.types.declared_ty(&inner);
        // A nullable is shown as its value.
        if self.program.types.nullable(&ty).is_some()
            && let Some(step) = self.program.types.member(&inner, "value")
        {
            return self.rows_inside(&path.step(step, format!("{}.Value", path.name)), format, page, site);
        }
        let most = page.count.min(page.most);
        // One more than is shown, to find out whether there are more.
        let count = if page.wants_indexed() { most.saturating_add(1) } else { 0 };
        let items = if format.raw {
            None
        } else {
            self.at_stop().items(&self.hub.request.cancel, &inner, path, page.start, count)
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
                        self.program.types.names_within(
                            names,
                            &ty,
                            &self.program.types.declared_ty(&self.at_stop().fetch(&item).ok()?),
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
            && let Some(rows) = self.program.types.span_rows(&self.program.debuggee, &inner, path, page)
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
        let is_counted = !format.raw
            && self.program.types.proxied_items(&inner, &self.program.types.full_name(&ty)).is_some();
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
                let mut rows = MemberRows::of(self, &proxy, MemberSelection::Shown, site)?;
                rows.retain(|row| row.access.is_none_or(|access| access == Access::Public) && !is_group(row));
                if self.program.types.is_span(&ty) {
                    // A struct without a variable can only be read through the proxy.
                    let of = ty.arguments().first();
                    let is_read =
                        of.is_some_and(|of| !of.is_value() || self.program.types.number_kind(of).is_some());
                    rows.iter_mut().for_each(|row| element_of(path, row, is_read));
                }
                rows.push(raw_view(path));
                return Ok(page.cut(rows));
            }
        }
        let part = if format.hidden { MemberSelection::All } else { MemberSelection::Shown };
        MemberRows::of(self, path, part, site).map(|rows| page.cut(rows))
    }

    /// The array of the items that the proxy of a collection creates.
    fn items_of_proxy(&mut self, proxy: &Path, site: &EvalContext) -> Option<Path> {
        let items = self.property_value(proxy, "Items", site).ok()?;
        let path = items.path()?;
        bare(&self.at_stop().fetch(path).ok()?)?.as_array()?;
        Some(Path { name: format!("{}.Items", proxy.name), ..path.clone() })
    }

    /// The members of a member that is replaced by them in the list. A cycle ends at a maximal depth.
    pub(super) fn expand_root_hidden(
        &mut self,
        way: &Path,
        site: &EvalContext,
    ) -> Result<Vec<VariableEntry>, Failure> {
        let deep = self.program.values.rooted.get();
        if deep >= MAX_DEPTH {
            return Ok(Vec::new());
        }
        self.program.values.rooted.set(deep + 1);
        let way = self.at_stop().cast_to_actual(way);
        let rows = self.rows_inside(&way, &Format::default(), &EVERYTHING, site);
        self.program.values.rooted.set(deep);
        rows
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
