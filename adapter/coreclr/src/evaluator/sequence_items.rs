//! Items of sequences of the program, and items written back into it. Not here: their order and equality
//! ([`super::key_operations`]).

use tandem_wire::Failure;

use super::object_creation::{LIST, SEQUENCE};
use super::{Constant, TypedValue, failed};
use crate::bare_value::bare;
use crate::func_eval::EvalContext;
use crate::session::ClrSession;
use crate::types::ClrTypeSystem;
use crate::types::Ty;
use crate::types::ty::{INT, OBJECT};
use crate::value_path::{Path, PathSegment};

/// Collections whose items are read from their fields in the order in which they are enumerated.
const READ: [&str; 8] = [
    LIST,
    "System.Collections.Generic.Queue`1",
    "System.Collections.Generic.Stack`1",
    "System.Collections.Generic.HashSet`1",
    "System.Collections.Generic.LinkedList`1",
    "System.Collections.Immutable.ImmutableArray`1",
    "System.ArraySegment`1",
    "System.Collections.ObjectModel.ReadOnlyCollection`1",
];

impl ClrSession {
    /// The first items of a sequence, and whether there are more: read from fields if their layout is known;
    /// otherwise the program creates a list of them, if it may run.
    pub(super) fn items_in(
        &mut self,
        of: &TypedValue,
        most: usize,
        site: &EvalContext,
    ) -> Result<(Vec<TypedValue>, bool), Failure> {
        let mut of = of.clone();
        let mut actual = self.at_stop().actual(&of)?;
        let item = self.program.types.item_of(&of.ty).or_else(|| self.program.types.item_of(&actual));
        if !self.program.types.is_read(&actual) {
            let item = item.clone().unwrap_or(OBJECT);
            of = self.make_list(of, &actual, &item, most, site)?;
            actual = self.at_stop().actual(&of)?;
        }
        let item = match &actual {
            Ty::Array(own, _) => Some((**own).clone()),
            // Tuple names come from the declaration.
            other => item.or_else(|| self.program.types.item_of(other)),
        };
        let path = of.path().ok_or_else(|| failed("the sequence is not in the program"))?.clone();
        let value = bare(&self.at_stop().fetch(&path)?).ok_or_else(|| failed("the sequence is null"))?;
        let items = self
            .at_stop()
            .items(&self.hub.request.cancel, &value, &path, 0, most.saturating_add(1))
            .unwrap_or_default();
        let is_cut = items.len() > most;
        let val = |(_, path): (String, Path)| match &item {
            Some(ty) => TypedValue::at(path, ty.clone()),
            None => TypedValue::at(path, OBJECT),
        };
        Ok((items.into_iter().take(most).map(val).collect(), is_cut))
    }

    /// A list of the items of a sequence. An endless sequence is truncated.
    fn make_list(
        &mut self,
        of: TypedValue,
        actual: &Ty,
        item: &Ty,
        most: usize,
        site: &EvalContext,
    ) -> Result<TypedValue, Failure> {
        let is_known = self.program.types.item_of(actual).is_some();
        let has_end = std::iter::once(actual.clone())
            .chain(self.program.types.interfaces_of(actual))
            .any(|ty| self.program.types.full_name(&ty) == "System.Collections.Generic.ICollection`1");
        let enumerable = "System.Linq.Enumerable";
        let mut of = of;
        if !is_known {
            self.load_linq(site)?;
            let takes = ["System.Collections.IEnumerable"];
            of = self.call_known(enumerable, "Cast", vec![OBJECT], &takes, None, &[of], site)?;
        }
        let item = if is_known { item.clone() } else { OBJECT };
        if !has_end {
            self.load_linq(site)?;
            let takes = [SEQUENCE, "System.Int32"];
            let given = [of, TypedValue::int(i32::try_from(most.saturating_add(1)).unwrap_or(i32::MAX))];
            of = self.call_known(enumerable, "Take", vec![item.clone()], &takes, None, &given, site)?;
        }
        self.list_of(&item, of, site)
    }

    /// The first items of a sequence, for the view of its results.
    pub(crate) fn sequence(
        &mut self,
        val: &TypedValue,
        most: usize,
        site: &EvalContext,
    ) -> Result<(Vec<TypedValue>, bool), Failure> {
        let actual = self.at_stop().actual(val)?;
        let of = TypedValue { ty: actual, ..val.clone() };
        self.items_in(&of, most, site)
    }

    /// Replaces the items of a list or array.
    pub(super) fn replace_items(
        &mut self,
        of: &TypedValue,
        items: Vec<TypedValue>,
        site: &EvalContext,
    ) -> Result<(), Failure> {
        let lost = || failed("the items cannot be written");
        let actual = self.at_stop().actual(of)?;
        let item = self.program.types.item_of(&actual).unwrap_or(OBJECT);
        let path = of.path().ok_or_else(lost)?.clone();
        let count = items.len();
        // Items are read in place: they are copied before they are overwritten.
        let aside = self.array_with(&item, &[i64::try_from(count).unwrap_or(i64::MAX)], items, site)?;
        let aside = aside.path().ok_or_else(lost)?.clone();
        let place = match self.program.types.full_name(&actual) == LIST {
            true => {
                let value = bare(&self.at_stop().fetch(&path)?).ok_or_else(lost)?;
                let size = self.program.types.number_field(&value, "_size").unwrap_or(0);
                let (count, size) = (count as u64, u64::from(size));
                if count < size {
                    let number = |number: u64| TypedValue::int(i32::try_from(number).unwrap_or(i32::MAX));
                    let method = self.program.types.known_method(
                        &actual,
                        "RemoveRange",
                        Vec::new(),
                        &["System.Int32", "System.Int32"],
                    );
                    let method = method.ok_or_else(lost)?;
                    let given = [number(count), number(size - count)];
                    self.call(site, &method, Some(of), &given, "RemoveRange(…)")?;
                }
                let value = bare(&self.at_stop().fetch(&path)?).ok_or_else(lost)?;
                path.step(self.program.types.member(&value, "_items").ok_or_else(lost)?, String::new())
            }
            false => path,
        };
        for at in 0..u32::try_from(count).unwrap_or(u32::MAX) {
            let from = TypedValue::at(aside.step(PathSegment::Element(at), format!("[{at}]")), item.clone());
            self.at_stop().write(&place.step(PathSegment::Element(at), format!("[{at}]")), &from, &item)?;
        }
        Ok(())
    }

    /// The integers of a sequence of the program.
    pub(super) fn whole_numbers(
        &mut self,
        of: &TypedValue,
        site: &EvalContext,
    ) -> Result<Vec<usize>, Failure> {
        let of = TypedValue { ty: self.program.types.sequence_of(&INT)?, ..of.clone() };
        let (items, _) = self.items_in(&of, 1 << 20, site)?;
        let mut numbers = Vec::new();
        for at in items {
            match self.at_stop().load(&at)? {
                Some(Constant::Int(_, at)) => numbers.extend(usize::try_from(at)),
                _ => return Err(failed("a position got lost")),
            }
        }
        Ok(numbers)
    }
}

impl ClrTypeSystem {
    fn is_read(&self, actual: &Ty) -> bool {
        matches!(actual, Ty::Vector(_) | Ty::Array(..))
            || READ.contains(&self.full_name(actual).as_str())
            || self.full_name(actual) == "System.Collections.ArrayList"
    }

    /// The item type of a sequence type.
    pub(crate) fn item_of(&self, ty: &Ty) -> Option<Ty> {
        self.items_of(ty).into_iter().next()
    }

    /// The item types of a sequence type; a class may implement `IEnumerable<T>` for several `T`.
    pub(crate) fn items_of(&self, ty: &Ty) -> Vec<Ty> {
        if let Ty::Vector(of) | Ty::Array(of, _) = ty {
            return vec![(**of).clone()];
        }
        let all = std::iter::once(ty.clone()).chain(self.interfaces_of(ty));
        let mut items = Vec::new();
        for item in all.filter(|ty| self.full_name(ty) == SEQUENCE) {
            items.extend(item.arguments().first().filter(|item| !items.contains(*item)).cloned());
        }
        items
    }

    /// The type `IEnumerable<T>`.
    pub(super) fn sequence_of(&self, of: &Ty) -> Result<Ty, Failure> {
        self.ty_generic(SEQUENCE, vec![of.clone()]).ok_or_else(|| failed("there are no sequences here"))
    }
}
