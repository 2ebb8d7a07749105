//! `new` arrays: of one dimension or several, jagged, with their items or with zeros.

use dap_wire::Failure;
use tree_sitter::Node as Syntax;

use super::walk::{child, inner};
use super::{Constant, Data, Found, Scope, Val, failed};
use crate::engine::coreclr::session::Session;
use crate::engine::coreclr::types::Ty;
use crate::engine::coreclr::values::{Path, Step};

/// Longest array that is made.
const LONGEST: i128 = 1 << 24;

impl Session {
    pub(super) fn new_array(&mut self, node: Syntax<'_>, scope: &Scope<'_>) -> Result<Found, Failure> {
        let initializer = inner(node).into_iter().find(|part| part.kind() == "initializer_expression");
        let written = node.child_by_field_name("type");
        let wanted = written.map(|written| self.type_at(written, scope)).transpose()?;
        let rank = match &wanted {
            Some(Ty::Array(_, rank)) => *rank as usize,
            Some(_) => 1,
            // `new[,] { … }`
            None => scope.of(node).split('{').next().unwrap_or_default().matches(',').count() + 1,
        };
        let given = match written {
            Some(written) => self.lengths_written(written, scope)?,
            None => Vec::new(),
        };
        let of = match wanted {
            Some(Ty::Vector(of) | Ty::Array(of, _)) => Some(*of),
            Some(other) => return Err(failed(format!("`{}` is no array", self.csharp(&other)))),
            None => None,
        };
        if let Some(initializer) = initializer {
            let (mut items, mut lengths) = (Vec::new(), vec![None; rank]);
            self.items_written(initializer, of.as_ref(), (&mut items, &mut lengths), scope)?;
            let lengths: Vec<i128> =
                lengths.into_iter().map(|length| length.map_or(0, |length: usize| length as i128)).collect();
            if !given.is_empty() && given != lengths {
                return Err(failed("there are not as many items as the array's length says"));
            }
            let of = of.or_else(|| self.common_ty(&items));
            let of = of.ok_or_else(|| failed("the items have no common type; write `new Type[] { … }`"))?;
            if rank == 1 {
                return self.array_with(&of, items, scope).map(Found::Val);
            }
            let array = self.array_of_ranks(&of, &lengths, scope)?;
            return self.filled_with(array, &of, items, scope).map(Found::Val);
        }
        let of = of.ok_or_else(|| failed("the array needs items or a type"))?;
        match given.as_slice() {
            [length] => {
                let length = u32::try_from(*length).unwrap_or(u32::MAX);
                self.array_of(&of, length, scope).map(Found::Val)
            }
            [] => Err(failed("the array needs a length")),
            lengths => self.array_of_ranks(&of, lengths, scope).map(Found::Val),
        }
    }

    /// The items between braces, row by row, and how many there are on each level.
    fn items_written(
        &mut self,
        initializer: Syntax<'_>,
        of: Option<&Ty>,
        (items, lengths): (&mut Vec<Val>, &mut [Option<usize>]),
        scope: &Scope<'_>,
    ) -> Result<(), Failure> {
        let parts = inner(initializer);
        let Some((length, deeper)) = lengths.split_first_mut() else {
            return Err(failed("the items are nested too deeply"));
        };
        if length.replace(parts.len()).is_some_and(|known| known != parts.len()) {
            return Err(failed("the rows of an array must be equally long"));
        }
        for part in parts {
            match (part.kind() == "initializer_expression", deeper.is_empty()) {
                (true, false) => self.items_written(part, of, (items, deeper), scope)?,
                (false, true) => items.push(match of {
                    Some(of) => self.value_for(of, part, scope)?,
                    None => self.value(part, scope)?,
                }),
                _ => return Err(failed(format!("`{}` is not on the level of the items", scope.of(part)))),
            }
        }
        Ok(())
    }

    /// The lengths in the first brackets: `new int[2][]` is an array of two arrays.
    fn lengths_written(&mut self, ty: Syntax<'_>, scope: &Scope<'_>) -> Result<Vec<i128>, Failure> {
        let mut first = ty;
        while let Some(deeper) =
            first.child_by_field_name("type").filter(|deeper| deeper.kind() == "array_type")
        {
            first = deeper;
        }
        let mut lengths = Vec::new();
        for length in inner(child(first, "rank")?) {
            let length = self.value(length, scope)?;
            let Some(Constant::Int(_, length)) = self.load(&length)? else {
                return Err(failed("a length must be a number"));
            };
            lengths.push(length);
        }
        let all = lengths.iter().try_fold(1i128, |all, length| all.checked_mul((*length).max(1)));
        match lengths.iter().any(|length| *length < 0) || all.is_none_or(|all| all > LONGEST) {
            true => Err(failed("OverflowException: the length is negative or too large")),
            false => Ok(lengths),
        }
    }

    /// A new array of several dimensions, of zeros.
    fn array_of_ranks(&mut self, of: &Ty, lengths: &[i128], scope: &Scope<'_>) -> Result<Val, Failure> {
        let number = |length: &i128| Val::int(i32::try_from(*length).unwrap_or(i32::MAX));
        let element = self.type_object(of, scope)?;
        let lengths_val =
            self.array_with(&number(&0).ty.clone(), lengths.iter().map(number).collect(), scope)?;
        let ty = self.ty_named("System.Array").ok_or_else(|| failed("there are no arrays here"))?;
        let create = Found::Group { target: None, ty, name: "CreateInstance".into(), types: Vec::new() };
        match self.invoke_with(create, vec![element, lengths_val], scope)? {
            Found::Val(made) => {
                let rank = u32::try_from(lengths.len()).unwrap_or(u32::MAX);
                Ok(Val { ty: Ty::Array(Box::new(of.clone()), rank), ..made })
            }
            _ => Err(failed("the array cannot be made")),
        }
    }

    fn filled_with(
        &mut self,
        array: Val,
        of: &Ty,
        items: Vec<Val>,
        scope: &Scope<'_>,
    ) -> Result<Val, Failure> {
        let mut ready = Vec::new();
        for item in items {
            let item = self.converted(item, of, scope)?;
            ready.push(self.in_program(item, of, scope)?);
        }
        let Data::At(path) = &array.data else { return Err(failed("the new array got lost")) };
        for (position, item) in (0u32..).zip(ready) {
            let place: Path = path.step(Step::Element(position), format!("[{position}]"));
            self.write(&place, &item, of)?;
        }
        Ok(array)
    }
}
