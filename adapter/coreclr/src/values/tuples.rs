//! Names of tuple elements. The compiler writes them next to the declaration of a variable, field, parameter
//! or result, for all tuples in its type; this module selects those of a part of that type: of an element, an
//! item of a list, a result. Not here: the text of a tuple ([`super::composite_text`]).

use std::ops::Range;
use std::rc::Rc;

use crate::types::ClrTypeSystem;
use crate::types::Ty;

/// Most parts of a type that are visited.
const MAX_PARTS: usize = 256;

/// Names of the elements of all tuples in a type, from the outside in and from left to right
/// (TupleElementNamesAttribute).
pub(crate) type TupleNames = Rc<Vec<Option<String>>>;

/// The names, or `None` if there are none.
pub(crate) fn tuple_names(names: Vec<Option<String>>) -> Option<TupleNames> {
    names.iter().any(Option::is_some).then(|| Rc::new(names))
}

/// The types directly inside a type: its generic arguments or its element type.
fn parts(ty: &Ty) -> &[Ty] {
    match ty {
        Ty::Named(named) => &named.arguments,
        Ty::Vector(of) | Ty::Array(of, _) | Ty::Pointer(of) | Ty::Reference(of) => std::slice::from_ref(of),
        _ => &[],
    }
}

impl ClrTypeSystem {
    /// The number of elements in a tuple; 0 for any other type.
    pub(crate) fn arity(&self, ty: &Ty) -> usize {
        if !self.full_name(ty).starts_with("System.ValueTuple`") {
            return 0;
        }
        match ty.arguments() {
            // The eighth and later elements are in a nested tuple.
            [first @ .., rest] if first.len() == 7 => 7 + self.arity(rest),
            all => all.len(),
        }
    }

    /// The number of names for a type.
    fn slots(&self, ty: &Ty) -> usize {
        self.arity(ty) + parts(ty).iter().map(|part| self.slots(part)).sum::<usize>()
    }

    /// The names for each part of a type, itself among them.
    fn split_names(&self, ty: &Ty, from: usize, found: &mut Vec<(Ty, Range<usize>)>) -> usize {
        let mut end = from + self.arity(ty);
        for part in parts(ty) {
            end = self.split_names(part, end, found);
        }
        if found.len() < MAX_PARTS {
            found.push((ty.clone(), from..end));
        }
        end
    }

    /// The names that a type carries, for all tuples in it.
    pub(crate) fn names_in(&self, ty: &Ty) -> Option<TupleNames> {
        let mut all = Vec::new();
        self.gather_names(ty, 0, &mut all);
        tuple_names(all)
    }

    fn gather_names(&self, ty: &Ty, deep: usize, found: &mut Vec<Option<String>>) {
        if deep > MAX_PARTS {
            return;
        }
        let names = ty.names();
        found.extend((0..self.arity(ty)).map(|at| names.and_then(|names| names.name(at)).map(str::to_owned)));
        for part in parts(ty) {
            self.gather_names(part, deep + 1, found);
        }
    }

    /// The names for the type of a tuple's element, by its position from 0.
    pub(crate) fn names_of_element(&self, names: &TupleNames, tuple: &Ty, at: usize) -> Option<TupleNames> {
        let before: usize = tuple.arguments().iter().take(at).map(|part| self.slots(part)).sum();
        let from = self.arity(tuple) + before;
        let share = names.get(from..from + self.slots(tuple.arguments().get(at)?))?;
        tuple_names(share.to_vec())
    }

    /// The names for a part of another type: of `List<(int a, int b)>` those for its items, or for an array
    /// of these. `None` for parts that would have several.
    pub(crate) fn names_within(&self, names: &TupleNames, from: &Ty, to: &Ty) -> Option<TupleNames> {
        let mut shares = Vec::new();
        (self.split_names(from, 0, &mut shares) == names.len()).then_some(())?;
        let mut found = Vec::new();
        self.gather(names, &shares, to, &mut found);
        tuple_names(found)
    }

    fn gather(
        &self,
        names: &TupleNames,
        shares: &[(Ty, Range<usize>)],
        to: &Ty,
        found: &mut Vec<Option<String>>,
    ) {
        let mut fitting =
            shares.iter().filter(|(ty, _)| ty == to).filter_map(|(_, at)| names.get(at.clone()));
        match fitting.next() {
            Some(share) if fitting.all(|other| other == share) => found.extend_from_slice(share),
            Some(_) => found.resize(found.len() + self.slots(to), None),
            None => {
                found.resize(found.len() + self.arity(to), None);
                for part in parts(to) {
                    self.gather(names, shares, part, found);
                }
            }
        }
    }
}
