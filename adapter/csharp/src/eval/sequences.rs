//! Sequences: their items here, and the methods that are worked out on them.

use std::rc::Rc;

use super::Target;
use super::evaluator::{Evaluator, MAX_ITEMS, Res};
use super::values::{Data, Local, Val, Value};
use super::values::{Group, Level};
use crate::bind::typed::{Lambda, Linq, LinqArgument, Typed};
use crate::constant::Constant;
use crate::linq::Intrinsic;
use crate::types::CHAR;

/// Items, and whether there are more than are looked at.
pub(crate) struct Items<P> {
    pub(crate) list: Vec<Value<P>>,
    pub(crate) is_cut: bool,
}

impl<T: Target> Evaluator<'_, T> {
    pub(crate) fn items_of(&mut self, value: &Value<T::Place>, source: &str) -> Res<T, Items<T::Place>> {
        match value {
            Value::Local(local, _) => Ok(match local.as_ref() {
                Local::Items(list, is_cut) => Items { list: list.clone(), is_cut: *is_cut },
                Local::Ordered(list, levels) => Items { list: self.in_order(list, levels)?, is_cut: false },
                Local::Group(group) => Items { list: group.items.clone(), is_cut: false },
                Local::Lookup(groups) => {
                    let ty = self.types().item_of(&self.type_of(value)).unwrap_or(crate::Ty::Other);
                    let one = |group: &Rc<Group<T::Place>>| {
                        Value::Local(Rc::new(Local::Group(group.clone())), ty.clone())
                    };
                    Items { list: groups.iter().map(one).collect(), is_cut: false }
                }
            }),
            Value::Val(val) => {
                if self.target.is_null(val)? {
                    return self.failed(format!("ArgumentNullException: the sequence `{source}` is null"));
                }
                let text = match &val.data {
                    Data::Constant(Constant::Text(text)) => Some(text.clone()),
                    Data::At(_) if val.ty == crate::types::STRING => match self.target.load(val)? {
                        Some(Constant::Text(text)) => Some(text),
                        _ => None,
                    },
                    _ => None,
                };
                if let Some(text) = text {
                    let unit = |unit| {
                        Val::constant_of(Constant::Int(crate::types::kind::CHAR, i128::from(unit)), CHAR)
                            .into()
                    };
                    let list: Vec<Value<T::Place>> =
                        text.encode_utf16().take(MAX_ITEMS + 1).map(unit).collect();
                    let is_cut = list.len() > MAX_ITEMS;
                    return Ok(Items { list, is_cut });
                }
                let (list, is_cut) = self.target.items(val, MAX_ITEMS)?;
                Ok(Items { list: list.into_iter().map(Value::Val).collect(), is_cut })
            }
        }
    }

    /// All items of a sequence; too many are refused.
    pub(crate) fn all_items_of(&mut self, of: &Typed) -> Res<T, Vec<Value<T::Place>>> {
        let value = self.value(of)?;
        let source = self.source(of);
        let items = self.items_of(&value, source)?;
        if items.is_cut { self.too_many() } else { Ok(items.list) }
    }

    /// Items in the order of their keys.
    pub(crate) fn in_order(
        &mut self,
        items: &[Value<T::Place>],
        levels: &[Level<T::Place>],
    ) -> Res<T, Vec<Value<T::Place>>> {
        let order = self.order(items.len(), levels)?;
        Ok(order.into_iter().filter_map(|at| items.get(at).cloned()).collect())
    }

    /// A method of a sequence.
    pub(crate) fn linq(&mut self, linq: &Linq, of: &Typed) -> Res<T, Value<T::Place>> {
        let sequence = self.value(&linq.of)?;
        if let (Some(call), Value::Val(_)) = (&linq.otherwise, &sequence) {
            return self.value(call);
        }
        let mut lambdas: Vec<Rc<Lambda>> = Vec::new();
        let mut values: Vec<Value<T::Place>> = Vec::new();
        for argument in &linq.arguments {
            match argument {
                LinqArgument::Lambda(lambda) => lambdas.push(lambda.clone()),
                LinqArgument::Value(value) => values.push(self.value(value)?),
            }
        }
        if matches!(linq.intrinsic, Intrinsic::Sort | Intrinsic::RemoveAll) {
            return self.in_place(linq, sequence, &lambdas);
        }
        let ordered = match (&sequence, linq.intrinsic) {
            (Value::Local(local, _), Intrinsic::ThenBy | Intrinsic::ThenByDescending) => Some(local.clone()),
            (_, Intrinsic::ThenBy | Intrinsic::ThenByDescending) => {
                return self.failed("`ThenBy` must follow its `OrderBy` in the same expression");
            }
            _ => None,
        };
        let source = self.source(&linq.of);
        let items = match &ordered {
            Some(local) => match local.as_ref() {
                Local::Ordered(items, _) => Items { list: items.clone(), is_cut: false },
                _ => {
                    return self.failed("`ThenBy` must follow its `OrderBy` in the same expression");
                }
            },
            None => self.items_of(&sequence, source)?,
        };
        let given = crate::linq::Given {
            intrinsic: linq.intrinsic,
            lambdas,
            values,
            item: linq.item.clone(),
            ty: of.ty.clone(),
        };
        self.intrinsic(&given, items, ordered)
    }

    /// A value as one of the program.
    pub(crate) fn plain(&mut self, value: Value<T::Place>) -> Res<T, Val<T::Place>> {
        self.in_program(value)
    }
}
