//! The items of a sequence, for as long as people look at one, and new sequences of items.

use dap_wire::Failure;

use super::{Data, Found, Scope, Val, failed};
use crate::engine::coreclr::session::Session;
use crate::engine::coreclr::types::Ty;
use crate::engine::coreclr::types::ty::OBJECT;
use crate::engine::coreclr::values::{Path, bare};

/// Longest sequence a lambda is evaluated over.
pub(super) const LONGEST: usize = 10_000;
/// What has methods of its own that take a lambda.
const LIST: &str = "System.Collections.Generic.List`1";

/// The items of a collection.
pub(super) struct Items {
    pub(super) list: Vec<Val>,
    /// Their type.
    pub(super) of: Ty,
    /// There are more.
    pub(super) is_cut: bool,
    /// The array or list they are in.
    pub(super) source: Val,
}

impl Items {
    /// For those that must see all of them.
    pub(super) fn whole(self) -> Result<Vec<Val>, Failure> {
        if self.is_cut { Err(too_many()) } else { Ok(self.list) }
    }
}

impl Session {
    /// The items of a collection and their type.
    pub(super) fn items_of(&mut self, target: &Val, scope: &Scope<'_>) -> Result<Items, Failure> {
        let mut target = target.clone();
        let is_array = |session: &Self, val: &Val| -> Result<Option<Ty>, Failure> {
            Ok(match session.actual(val)? {
                Ty::Vector(of) => Some(*of),
                ty if session.full_name(&ty) == LIST => ty.arguments().first().cloned(),
                _ => None,
            })
        };
        let of = match is_array(self, &target)? {
            Some(of) => of,
            None => {
                // Whatever it is, LINQ makes an array of it.
                let group = self.member_of(Found::Val(target.clone()), "ToArray", Vec::new(), scope)?;
                let Found::Val(array) = self.invoke_with(group, Vec::new(), scope)? else {
                    return Err(failed("the sequence has no items"));
                };
                target = array;
                is_array(self, &target)?.ok_or_else(|| failed("the sequence has no items"))?
            }
        };
        let path = target.path().ok_or_else(|| failed("the sequence is not in the program"))?.clone();
        let value = bare(&self.fetch(&path)?).ok_or_else(|| failed("the sequence is null"))?;
        let names = path.tuple.as_ref().and_then(|names| self.names_within(names, &target.ty, &of));
        let items = self.items(&value, &path, 0, LONGEST + 1).unwrap_or_default();
        let is_cut = items.len() > LONGEST;
        let item = |(_, path): (String, Path)| Val::at(Path { tuple: names.clone(), ..path }, of.clone());
        let list = items.into_iter().take(LONGEST).map(item).collect();
        Ok(Items { list, of, is_cut, source: target })
    }

    /// A new array of what a lambda gave; `otherwise` is the type of its items when there are none.
    pub(super) fn array_of_made(
        &mut self,
        made: Vec<Val>,
        otherwise: &Ty,
        scope: &Scope<'_>,
    ) -> Result<Val, Failure> {
        let ty = if made.is_empty() { otherwise.clone() } else { self.common_ty(&made).unwrap_or(OBJECT) };
        // All come from one expression: the names of the first one's elements are everybody's.
        let tuple = made.first().and_then(|first| first.path()?.tuple.clone());
        let array = self.array_with(&ty, made, scope)?;
        Ok(match array.data {
            Data::At(path) => Val { data: Data::At(Path { tuple, ..path }), ..array },
            _ => array,
        })
    }

    /// The type of one of several values that all of them fit into.
    pub(super) fn common_ty(&self, items: &[Val]) -> Option<Ty> {
        let fits_all = |ty: &Ty| *ty != Ty::Null && items.iter().all(|item| self.fit(item, ty).is_some());
        items.iter().map(|item| item.ty.clone()).find(fits_all)
    }

    /// What methods of `List<T>` itself give is a list.
    pub(super) fn as_list_like(
        &mut self,
        array: Val,
        target: &Val,
        scope: &Scope<'_>,
    ) -> Result<Val, Failure> {
        let Ty::Vector(of) = &array.ty else { return Ok(array) };
        match self.full_name(&self.actual(target)?) == LIST {
            true => {
                let list = self.ty_generic(LIST, vec![(**of).clone()]);
                let list = list.ok_or_else(|| failed("there are no lists here"))?;
                let made = self.made(&list, vec![array.clone()], &[], scope)?;
                Ok(self.named_as_in(made, &array))
            }
            false => Ok(array),
        }
    }
}

/// Why the end of a sequence was not reached.
pub(super) fn too_many() -> Failure {
    failed(format!("the sequence has more than {LONGEST} items; a lambda is not evaluated for so many"))
}
