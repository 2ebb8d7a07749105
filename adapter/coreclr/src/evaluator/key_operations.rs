//! Operations on keys, compared as in the program: its own LINQ does that, on positions. Not here: reading
//! the items of a sequence ([`super::sequence_items`]).
//!
//! A stopped program cannot create a lambda, but it can create a delegate to an existing method:
//! `List<K>.get_Item` of a list of the keys maps a position to its key.

use std::rc::Rc;

use tandem_csharp::eval::{Grouping, SortKeys};
use tandem_wire::Failure;

use super::object_creation::SEQUENCE;
use super::{Constant, TypedValue, failed};
use crate::bare_value::bare;
use crate::func_eval::EvalContext;
use crate::session::ClrSession;
use crate::stop_context::StopContext;
use crate::types::ClrTypeSystem;
use crate::types::Ty;
use crate::types::ty::{INT, OBJECT, STRING};
use crate::value_path::Path;
use tokio_util::sync::CancellationToken;

const LINQ: &str = "System.Linq.Enumerable";
const FUNCTION: &str = "System.Func`2";
const COMPARER: &str = "System.Collections.Generic.IComparer`1";
const EQUALITY: &str = "System.Collections.Generic.IEqualityComparer`1";

impl ClrSession {
    /// The positions of the items in the order of their keys, the first level first.
    pub(super) fn order_in(
        &mut self,
        count: usize,
        levels: &[SortKeys<Path>],
        site: &EvalContext,
    ) -> Result<Vec<usize>, Failure> {
        let mut positions = self.positions(count, site)?;
        for (at, level) in levels.iter().enumerate() {
            let (first, end) = (
                if at == 0 { "OrderBy" } else { "ThenBy" },
                if level.is_descending { "Descending" } else { "" },
            );
            let of = self.program.types.common_ty(&level.keys);
            let key = self.by_position(level.keys.clone(), &of, site)?;
            let sequence = if at == 0 { SEQUENCE } else { "System.Linq.IOrderedEnumerable`1" };
            let name = format!("{first}{end}");
            let mut given = vec![positions, key];
            let mut takes = vec![sequence, FUNCTION];
            if let Some(comparer) = &level.comparer {
                given.push(comparer.clone());
                takes.push(COMPARER);
            }
            positions = self.call_known(LINQ, &name, vec![INT, of], &takes, None, &given, site)?;
        }
        self.whole_numbers(&positions, site)
    }

    /// Positions grouped by equal keys, in order of appearance.
    pub(super) fn group_equal_keys(
        &mut self,
        keys: &[TypedValue],
        comparer: Option<&TypedValue>,
        site: &EvalContext,
    ) -> Result<Vec<Vec<usize>>, Failure> {
        let positions = self.positions(keys.len(), site)?;
        let of = self.program.types.common_ty(keys);
        let key = self.by_position(keys.to_vec(), &of, site)?;
        let (mut given, mut takes) = (vec![positions, key], vec![SEQUENCE, FUNCTION]);
        if let Some(comparer) = comparer {
            given.push(comparer.clone());
            takes.push(EQUALITY);
        }
        let groups = self.call_known(LINQ, "GroupBy", vec![INT, of.clone()], &takes, None, &given, site)?;
        let grouping = self.program.types.ty_generic("System.Linq.IGrouping`2", vec![of, INT]);
        let grouping = grouping.ok_or_else(|| failed("there are no groups here"))?;
        let groups = TypedValue { ty: self.program.types.sequence_of(&grouping)?, ..groups };
        let (groups, _) = self.items_in(&groups, keys.len(), site)?;
        let mut all = Vec::new();
        for group in groups {
            all.push(self.at_stop().positions_in(&self.hub.request.cancel, &group)?);
        }
        Ok(all)
    }

    /// A new dictionary of these keys and values.
    pub(super) fn dictionary_of(
        &mut self,
        ty: &Ty,
        pairs: Vec<(TypedValue, TypedValue)>,
        comparer: Option<&TypedValue>,
        site: &EvalContext,
    ) -> Result<TypedValue, Failure> {
        let [key_ty, value_ty] = ty.arguments() else { return Err(failed("this is not a dictionary")) };
        let (keys, values): (Vec<TypedValue>, Vec<TypedValue>) = pairs.into_iter().unzip();
        let positions = self.positions(keys.len(), site)?;
        let key = self.by_position(keys, key_ty, site)?;
        let value = self.by_position(values, value_ty, site)?;
        let (mut given, mut takes) = (vec![positions, key, value], vec![SEQUENCE, FUNCTION, FUNCTION]);
        if let Some(comparer) = comparer {
            given.push(comparer.clone());
            takes.push(EQUALITY);
        }
        let types = vec![INT, key_ty.clone(), value_ty.clone()];
        let made = self.call_known(LINQ, "ToDictionary", types, &takes, None, &given, site)?;
        Ok(TypedValue { ty: ty.clone(), ..made })
    }

    /// Groups in the form that the program has them: a lookup, an array of its groups, or one of them.
    pub(super) fn groups_of(
        &mut self,
        ty: &Ty,
        groups: &[Rc<Grouping<Path>>],
        site: &EvalContext,
    ) -> Result<TypedValue, Failure> {
        let grouping = match self.program.types.full_name(ty).as_str() {
            "System.Linq.IGrouping`2" | "System.Linq.ILookup`2" | "System.Linq.Lookup`2" => ty.clone(),
            _ => self.program.types.item_of(ty).unwrap_or(Ty::Other),
        };
        let [key_ty, item_ty] = grouping.arguments() else { return Err(failed("these are not groups")) };
        let (mut keys, mut items) = (Vec::new(), Vec::new());
        for group in groups {
            let own = group.vals().ok_or_else(|| failed("cannot create a group of groups"))?;
            keys.extend(own.iter().map(|_| group.key.clone()));
            items.extend(own);
        }
        let positions = self.positions(keys.len(), site)?;
        let key = self.by_position(keys, key_ty, site)?;
        let item = self.by_position(items, item_ty, site)?;
        let takes = [SEQUENCE, FUNCTION, FUNCTION];
        let types = vec![INT, key_ty.clone(), item_ty.clone()];
        let lookup = self.call_known(LINQ, "ToLookup", types, &takes, None, &[positions, key, item], site)?;
        if self.program.types.full_name(ty).ends_with("Lookup`2") {
            return Ok(TypedValue { ty: ty.clone(), ..lookup });
        }
        let of =
            self.program.types.ty_generic("System.Linq.IGrouping`2", vec![key_ty.clone(), item_ty.clone()]);
        let of = of.ok_or_else(|| failed("there are no groups here"))?;
        let given = [lookup];
        let array = self.call_known(LINQ, "ToArray", vec![of.clone()], &[SEQUENCE], None, &given, site)?;
        if self.program.types.full_name(ty) != "System.Linq.IGrouping`2" {
            return Ok(TypedValue { ty: of.vector(), ..array });
        }
        let first = TypedValue { ty: of.vector(), ..array };
        self.at_stop().element_in(&first, &[0]).map(|group| TypedValue { ty: ty.clone(), ..group })
    }

    /// `Enumerable.Range(0, count)`.
    fn positions(&mut self, count: usize, site: &EvalContext) -> Result<TypedValue, Failure> {
        self.load_linq(site)?;
        let count = TypedValue::int(i32::try_from(count).unwrap_or(i32::MAX));
        let takes = ["System.Int32", "System.Int32"];
        self.call_known(LINQ, "Range", Vec::new(), &takes, None, &[TypedValue::int(0), count], site)
    }

    /// A `Func<int, T>` of the program that maps positions to these values.
    fn by_position(
        &mut self,
        values: Vec<TypedValue>,
        of: &Ty,
        site: &EvalContext,
    ) -> Result<TypedValue, Failure> {
        // New strings work as well as keys, and are much faster to create than to copy existing ones into an
        // array.
        let values = if *of == STRING { self.at_stop().texts(values)? } else { values };
        let count = i64::try_from(values.len()).unwrap_or(i64::MAX);
        let array = self.array_with(of, &[count], values, site)?;
        let lost = || failed("there are no lists of these here");
        let list = self.list_of(of, array, site)?;
        let function = self.program.types.ty_generic(FUNCTION, vec![INT, of.clone()]).ok_or_else(lost)?;
        let ty = self.type_object(&function, site)?;
        let takes = ["System.Type", "System.Object", "System.String"];
        let given = [ty, list, TypedValue::text("get_Item")];
        let made =
            self.call_known("System.Delegate", "CreateDelegate", Vec::new(), &takes, None, &given, site)?;
        Ok(TypedValue { ty: function, ..made })
    }
}

impl StopContext<'_> {
    /// Strings as constants; unchanged if one cannot be written as a constant.
    fn texts(&self, values: Vec<TypedValue>) -> Result<Vec<TypedValue>, Failure> {
        let mut texts = Vec::new();
        for val in &values {
            texts.push(match self.load(val)? {
                Some(Constant::Text(text)) if !text.contains('\u{fffd}') => TypedValue::text(text),
                Some(Constant::Null) => TypedValue::null_of(STRING),
                _ => return Ok(values),
            });
        }
        Ok(texts)
    }

    /// The positions in one group.
    fn positions_in(&self, cancel: &CancellationToken, group: &TypedValue) -> Result<Vec<usize>, Failure> {
        let lost = || failed("a group got lost");
        let path = group.path().ok_or_else(lost)?.clone();
        let value = bare(&self.fetch(&path)?).ok_or_else(lost)?;
        let mut all = Vec::new();
        for (_, item) in self.items(cancel, &value, &path, 0, usize::MAX).ok_or_else(lost)? {
            match self.load(&TypedValue::at(item, INT))? {
                Some(Constant::Int(_, at)) => all.extend(usize::try_from(at)),
                _ => return Err(lost()),
            }
        }
        Ok(all)
    }
}

impl ClrTypeSystem {
    /// A type among those of several values that fits all of them.
    fn common_ty(&self, values: &[TypedValue]) -> Ty {
        let is_of = |from: &Ty, to: &Ty| {
            from == to || (*from == Ty::Null && !to.is_value()) || (!to.is_value() && self.derives(from, to))
        };
        let own = values.iter().map(|value| &value.ty).filter(|ty| **ty != Ty::Null);
        let mut all = own.filter(|to| values.iter().all(|value| is_of(&value.ty, to)));
        all.next().cloned().unwrap_or(OBJECT)
    }
}
