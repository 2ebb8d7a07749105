//! Rows of an object's members: fields, then properties, then the groups of the others.
//!
//! Not here: which of a value's contents are shown ([`super::contents`]), the groups ([`super::groups`]).

use std::collections::HashMap;

use clr_metadata::members::PropertyInfo;
use cordebug::value::Value as ClrValue;
use tandem_wire::Failure;

use super::groups::{is_group, is_grouped, non_public};
use super::rows::{RowContent, VariableEntry};
use super::tuples::tuple_names;
use crate::bare_value::bare;
use crate::func_eval::EvalContext;
use crate::names::{escape_keyword, replace_parameters};
use crate::session::ClrSession;
use crate::typed_value::{TypedValue, ValueLocation};
use crate::types::{ClrTypeSystem, Ty};
use crate::value_path::{Path, PathRoot, PathSegment};
use crate::value_store::{MemberSelection, Node};

/// DebuggerBrowsableState: never, and "its items instead of it".
pub(super) const NEVER: i64 = 0;
const ROOT_HIDDEN: i64 = 3;
pub(super) const BROWSABLE: &str = "System.Diagnostics.DebuggerBrowsableAttribute";

/// The rows of the members of one object, while they are collected.
pub(super) struct MemberRows<'a> {
    path: &'a Path,
    part: MemberSelection,
    site: &'a EvalContext,
    rows: Vec<VariableEntry>,
    /// The names so far: a member of a derived class hides those of its bases.
    names: Vec<String>,
    /// Whether a member belongs to the group of non-public members.
    has_hidden: bool,
}

impl MemberRows<'_> {
    /// Fields, then properties: those whose getters only read a field immediately, others on request.
    pub(super) fn of(
        session: &mut ClrSession,
        path: &Path,
        part: MemberSelection,
        site: &EvalContext,
    ) -> Result<Vec<VariableEntry>, Failure> {
        let value = session.at_stop().fetch(path)?;
        let Some(inner) = bare(&value) else { return Ok(Vec::new()) };
        let actual = session.program.types.declared_ty(&inner);
        // The member's name may mean another member of the dynamic object.
        let named = match path.is_dynamic && session.program.types.has_own_members(&actual) {
            true => Some(Path {
                name: format!("(({}){})", session.program.types.csharp(&actual), path.name),
                is_dynamic: false,
                ..path.clone()
            }),
            false => None,
        };
        let path = named.as_ref().unwrap_or(path);
        let chain = session.program.types.chain(&actual);
        let mut found =
            MemberRows { path, part, site, rows: Vec::new(), names: Vec::new(), has_hidden: false };
        found.add_fields(session, &inner, &actual, &chain)?;
        for owner in &chain {
            found.add_properties(session, owner)?;
        }
        if part != MemberSelection::NonPublic {
            let has_group = found.has_hidden && part == MemberSelection::Shown;
            session.program.types.group_rows(path, &actual, has_group, &mut found.rows);
        }
        Ok(found.rows)
    }

    /// Adds the fields of a class and its bases, and the properties that they store.
    fn add_fields(
        &mut self,
        session: &mut ClrSession,
        inner: &ClrValue,
        actual: &Ty,
        chain: &[Ty],
    ) -> Result<(), Failure> {
        let members = session.program.types.members(inner);
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
                && !session.program.types.returns_its_field(&member.loaded, getter)
            {
                continue;
            }
            let derived = match member.step {
                PathSegment::Field { up, .. } => chain.get(..up).unwrap_or_default(),
                _ => &[],
            };
            // The value of the property now differs from the field of the one that it overrides.
            if auto.and_then(|info| info.getter).is_some_and(|getter| {
                metadata.is_virtual(getter)
                    && derived.iter().any(|ty| session.program.types.overrides(ty, &member.name))
            }) {
                continue;
            }
            let hidden = self.names.contains(&member.name);
            let access = auto.and_then(|info| info.getter).map(|getter| metadata.method_access(getter));
            let access = access.unwrap_or(member.access);
            let is_grouped = is_grouped(&member.loaded, access, browsable);
            self.has_hidden |= is_grouped;
            if !self.part.takes(is_grouped) {
                self.names.push(member.name.clone());
                continue;
            }
            let owner = match member.step {
                PathSegment::Field { up, .. } => chain.get(up).cloned(),
                _ => None,
            };
            let of = match (&owner, shared.contains(&member.name)) {
                (Some(owner), true) => {
                    format!("(({}){})", session.program.types.csharp(owner), self.path.name)
                }
                _ => self.path.name.clone(),
            };
            let shown = match (&owner, hidden) {
                (Some(owner), true) => format!("{} ({})", member.name, session.program.types.csharp(owner)),
                _ => member.name.clone(),
            };
            let mut way = self.path.step(member.step, format!("{of}.{}", escape_keyword(&member.name)));
            let tuple_of = auto.map_or(member.token, |info| info.token);
            way.tuple = tuple_names(metadata.tuple_names(tuple_of))
                .or_else(|| tuple_names(metadata.tuple_names(member.token)));
            let position = || member.name.strip_prefix("Item")?.parse::<usize>().ok()?.checked_sub(1);
            if let (Some(names), Some(at)) = (&self.path.tuple, position()) {
                way.tuple = session.program.types.names_of_element(names, actual, at);
            }
            self.names.push(member.name.clone());
            if browsable == Some(ROOT_HIDDEN) {
                let inside = session.expand_root_hidden(&way, self.site)?;
                self.rows.extend(inside.into_iter().filter(|row| !is_group(row)));
                continue;
            }
            let tuple_name = self.path.tuple.as_ref().and_then(|names| {
                let position: usize = member.name.strip_prefix("Item")?.parse().ok()?;
                names.get(position.checked_sub(1)?)?.clone()
            });
            let kind = if is_auto { "property" } else { "data" };
            let mut row = VariableEntry::new(tuple_name.unwrap_or(shown), RowContent::At(way), kind);
            row.access = Some(access);
            if member.read_only && auto.is_none_or(|info| info.setter.is_none()) {
                row.attributes.push("readOnly");
            }
            self.rows.push(row);
        }
        Ok(())
    }

    /// Adds the properties that a class declares.
    fn add_properties(&mut self, session: &mut ClrSession, owner: &Ty) -> Result<(), Failure> {
        let Some((loaded, token)) = session.program.types.definition(owner) else { return Ok(()) };
        let Some(image) = loaded.image() else { return Ok(()) };
        let metadata = &image.metadata;
        for info in metadata.property_infos(token) {
            let Some(getter) = info.getter else { continue };
            let is_plain = !metadata.is_static(getter) && metadata.parameter_count(getter) == 0;
            if !is_plain || self.names.contains(&info.name) {
                continue;
            }
            self.names.push(info.name.clone());
            let browsable = metadata.attribute_number(info.token, BROWSABLE);
            if browsable == Some(NEVER) {
                continue;
            }
            let is_grouped = is_grouped(&loaded, metadata.method_access(getter), browsable);
            self.has_hidden |= is_grouped;
            if !self.part.takes(is_grouped) {
                continue;
            }
            // An explicit implementation is accessed through its interface.
            let short = info.name.rsplit('.').next().unwrap_or(&info.name).to_owned();
            let explicit = info.name.rsplit_once('.').map(|(interface, _)| {
                let parameters = metadata.generic_parameters(token);
                let texts = owner.arguments().iter().map(|argument| session.program.types.csharp(argument));
                replace_parameters(interface, &parameters.into_iter().zip(texts).collect::<Vec<_>>())
            });
            let way = match &explicit {
                Some(interface) => format!("(({interface}){}).{short}", self.path.name),
                None => format!("{}.{short}", self.path.name),
            };
            let known = session.known_property(self.path, owner, &info.name, self.site);
            if browsable == Some(ROOT_HIDDEN) {
                let val = match known {
                    Some(val) => Ok(val),
                    None => session.property_value(self.path, &info.name, self.site),
                };
                if let Ok(TypedValue { data: ValueLocation::At(inner), .. }) = val {
                    let inner = Path { name: way, ..inner };
                    let inside = session.expand_root_hidden(&inner, self.site)?;
                    self.rows.extend(inside.into_iter().filter(|row| !is_group(row)));
                }
                continue;
            }
            let what = match known {
                Some(val) => match val.data {
                    // It may return an object of a more derived type.
                    ValueLocation::At(inner) if matches!(inner.root, PathRoot::Handle(_)) => {
                        let inner = session.at_stop().with_name_type(inner, &val.ty);
                        RowContent::At(Path { name: way, ..inner })
                    }
                    ValueLocation::At(inner) => RowContent::At(Path { name: way, ..inner }),
                    _ => RowContent::Here(val, way),
                },
                None => RowContent::Lazy(
                    Node::Property { of: self.path.clone(), name: info.name.clone(), way: way.clone() },
                    way,
                ),
            };
            let mut row = VariableEntry::new(info.name.clone(), what, "property");
            row.access = Some(metadata.method_access(getter));
            if info.setter.is_none() {
                row.attributes.push("readOnly");
            }
            self.rows.push(row);
        }
        Ok(())
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
}
