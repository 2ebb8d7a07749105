//! Which of several methods a call means (language specification, 12.6.4), generic arguments inferred.

use std::rc::Rc;

use cordebug::value::element;

use super::conversions::Fit;
use super::{Constant, Data, Val};
use crate::engine::coreclr::calls::supply::Method;
use crate::engine::coreclr::modules::Loaded;
use crate::engine::coreclr::session::Session;
use crate::engine::coreclr::types::Ty;

/// Where a parameter's value comes from.
#[derive(Debug, Clone, PartialEq)]
pub(super) enum Slot {
    /// The argument at this position.
    Argument(usize),
    /// It was left out.
    Default(Constant),
    /// These arguments, in an array.
    Rest(Vec<usize>),
}

/// A method that could be meant.
struct Candidate {
    method: Method,
    slots: Vec<Slot>,
    /// How well each argument fits, and what it becomes.
    fits: Vec<(Fit, Ty)>,
    generic: bool,
}

impl Session {
    /// The best method for positional arguments, with its parameters closed.
    pub(super) fn best(&self, methods: Vec<Method>, arguments: &[Val]) -> Option<(Method, Vec<Slot>)> {
        self.choose(methods, &[], arguments, &[])
    }

    /// The best method; `names` are those of the arguments that have one, from the last positional on.
    pub(super) fn choose(
        &self,
        methods: Vec<Method>,
        types: &[Ty],
        arguments: &[Val],
        names: &[Option<String>],
    ) -> Option<(Method, Vec<Slot>)> {
        let mut candidates: Vec<Candidate> = methods
            .into_iter()
            .filter_map(|method| self.candidate(method, types, arguments, names))
            .collect();
        let mut best = 0;
        for challenger in 1..candidates.len() {
            if let (Some(new), Some(old)) = (candidates.get(challenger), candidates.get(best))
                && self.is_better(new, old)
            {
                best = challenger;
            }
        }
        (best < candidates.len())
            .then(|| candidates.swap_remove(best))
            .map(|found| (found.method, found.slots))
    }

    fn candidate(
        &self,
        method: Method,
        types: &[Ty],
        arguments: &[Val],
        names: &[Option<String>],
    ) -> Option<Candidate> {
        self.in_form(&method, types, arguments, names, false)
            .or_else(|| self.in_form(&method, types, arguments, names, true))
    }

    fn in_form(
        &self,
        method: &Method,
        types: &[Ty],
        arguments: &[Val],
        names: &[Option<String>],
        expanded: bool,
    ) -> Option<Candidate> {
        let metadata = &method.loaded.image()?.metadata;
        let count = method.parameters.len();
        let last = count.checked_sub(1);
        if expanded && !last.is_some_and(|last| metadata.is_params(method.token, last as u32)) {
            return None;
        }
        let parameter_names = metadata.parameters(method.token);
        let mut slots: Vec<Option<Slot>> = vec![None; count];
        for (at, _) in arguments.iter().enumerate() {
            let named = names.get(at).and_then(Option::as_ref);
            let position = match named {
                Some(name) => parameter_names.iter().position(|own| own == name)?,
                None => at,
            };
            if expanded && named.is_none() && Some(position) >= last {
                match slots.get_mut(last?)? {
                    Some(Slot::Rest(list)) => list.push(at),
                    slot => *slot = Some(Slot::Rest(vec![at])),
                }
                continue;
            }
            let slot = slots.get_mut(position)?;
            slot.is_none().then_some(())?;
            *slot = Some(Slot::Argument(at));
        }
        let slots: Vec<Slot> = slots
            .into_iter()
            .enumerate()
            .map(|(position, slot)| match slot {
                Some(slot) => Some(slot),
                None if expanded && Some(position) == last => Some(Slot::Rest(Vec::new())),
                None => {
                    let (kind, bytes) = metadata.default_of(method.token, position as u32)?;
                    Some(Slot::Default(Constant::of_literal(kind, bytes).unwrap_or(Constant::Null)))
                }
            })
            .collect::<Option<_>>()?;
        // Which parameter type each argument meets.
        let mut met: Vec<(usize, Ty)> = Vec::new();
        for (slot, parameter) in slots.iter().zip(&method.parameters) {
            match slot {
                Slot::Argument(at) => met.push((*at, parameter.clone())),
                Slot::Rest(list) => {
                    let Ty::Vector(element) = parameter else { return None };
                    met.extend(list.iter().map(|at| (*at, (**element).clone())));
                }
                Slot::Default(_) => {}
            }
        }
        let generic = metadata.generic_parameters(method.token).len();
        let mut own: Vec<Ty> = types.to_vec();
        if types.is_empty() && generic > 0 {
            for deeper in [false, true] {
                for (at, parameter) in &met {
                    let argument = arguments.get(*at)?;
                    let ty = if deeper { self.actual(argument).ok()? } else { argument.ty.clone() };
                    let mut found = own.clone();
                    self.infer(parameter, &ty, &mut found);
                    if !deeper || own.contains(&Ty::Other) || own.len() < generic {
                        own = found;
                    }
                }
                own.resize(generic, Ty::Other);
                if !own.contains(&Ty::Other) {
                    break;
                }
            }
        }
        if own.len() != generic || own.contains(&Ty::Other) {
            return None;
        }
        let close = |ty: &Ty| ty.with(&[], &own);
        let mut fits = vec![(Fit::Same, Ty::Other); arguments.len()];
        for (at, parameter) in &met {
            let parameter = close(parameter);
            if parameter.is_open()
                || matches!(parameter, Ty::Pointer(_)) && !matches!(arguments.get(*at)?.ty, Ty::Pointer(_))
            {
                return None;
            }
            let argument = arguments.get(*at)?;
            let fit =
                self.fit(argument, &parameter).or_else(|| self.fits_by_definition(argument, &parameter))?;
            *fits.get_mut(*at)? = (fit, parameter);
        }
        let closed = Method {
            parameters: method.parameters.iter().map(close).collect(),
            result: close(&method.result),
            types: own,
            ..method.clone()
        };
        Some(Candidate { method: closed, slots, fits, generic: generic > 0 })
    }

    fn fits_by_definition(&self, val: &Val, to: &Ty) -> Option<Fit> {
        let owners = [&val.ty, to];
        let found = owners.iter().any(|owner| {
            matches!(owner, Ty::Named(_))
                && self.methods_named(owner, "op_Implicit").iter().any(|method| {
                    method.result == *to
                        && method.parameters.first().is_some_and(|own| self.fit(val, own) == Some(Fit::Same))
                })
        });
        found.then_some(Fit::Defined)
    }

    fn is_better(&self, new: &Candidate, old: &Candidate) -> bool {
        let (mut better, mut worse) = (false, false);
        for (new, old) in new.fits.iter().zip(&old.fits) {
            match new.0.cmp(&old.0) {
                std::cmp::Ordering::Less => better = true,
                std::cmp::Ordering::Greater => worse = true,
                std::cmp::Ordering::Equal if new.1 != old.1 => {
                    let (to_old, to_new) = (self.widens(&new.1, &old.1), self.widens(&old.1, &new.1));
                    better |= (to_old && !to_new) || (to_old == to_new && prefers_sign(&new.1, &old.1));
                    worse |= (to_new && !to_old) || (to_old == to_new && prefers_sign(&old.1, &new.1));
                }
                std::cmp::Ordering::Equal => {}
            }
        }
        if better != worse {
            return better;
        }
        if worse {
            return false;
        }
        let rest = |candidate: &Candidate| candidate.slots.iter().any(|slot| matches!(slot, Slot::Rest(_)));
        let left_out = |candidate: &Candidate| {
            candidate.slots.iter().filter(|slot| matches!(slot, Slot::Default(_))).count()
        };
        (new.generic, rest(new), left_out(new)) < (old.generic, rest(old), left_out(old))
    }

    /// Whether any module has an extension method of this name, or LINQ has, which can be loaded.
    pub(super) fn has_extension(&self, name: &str) -> bool {
        LINQ.contains(&name) || self.extended_modules(name).next().is_some()
    }

    /// Extension methods of this name.
    pub(super) fn extensions_named(&self, name: &str) -> Vec<Method> {
        let mut found = Vec::new();
        for loaded in self.extended_modules(name) {
            let Some(image) = loaded.image() else { continue };
            for token in image.metadata.extensions().get(name).into_iter().flatten() {
                let owner = self.defined(&loaded, image.metadata.owner_of(*token), Some(false), Vec::new());
                found.extend(self.method(&loaded, &owner, *token));
            }
        }
        found
    }

    /// Modules with an extension method of this name: the user's and LINQ's, and only where there is none the runtime's others
    /// (`AsSpan`), for that costs a look at each file.
    fn extended_modules(&self, name: &str) -> std::vec::IntoIter<Rc<Loaded>> {
        let has_it = |loaded: &&Rc<Loaded>| {
            loaded.image().is_some_and(|image| image.metadata.extensions().contains_key(name))
        };
        let is_near = |loaded: &&Rc<Loaded>| {
            let stem = loaded.path.file_stem().unwrap_or_default().to_string_lossy().into_owned();
            let near = ["System.Linq", "System.Linq.Queryable", "System.Collections.Immutable"];
            !loaded.is_framework() || near.contains(&stem.as_str())
        };
        let all = self.modules.all();
        let mut found: Vec<Rc<Loaded>> = all.iter().filter(is_near).filter(has_it).cloned().collect();
        if found.is_empty() {
            found.extend(all.iter().filter(|loaded| !is_near(loaded)).filter(has_it).cloned());
        }
        found.into_iter()
    }
}

/// Extension methods of System.Linq that people use on lists, with those that older runtimes lack and that are worked out here.
pub(super) const LINQ: [&str; 53] = [
    "Aggregate",
    "All",
    "Any",
    "Append",
    "Average",
    "Cast",
    "Concat",
    "Contains",
    "Count",
    "DefaultIfEmpty",
    "Distinct",
    "DistinctBy",
    "ElementAt",
    "ElementAtOrDefault",
    "Except",
    "First",
    "FirstOrDefault",
    "GroupBy",
    "Intersect",
    "Join",
    "Last",
    "LastOrDefault",
    "LongCount",
    "Max",
    "MaxBy",
    "Min",
    "MinBy",
    "OfType",
    "OrderBy",
    "OrderByDescending",
    "Prepend",
    "Reverse",
    "Select",
    "SelectMany",
    "SequenceEqual",
    "Single",
    "SingleOrDefault",
    "Skip",
    "SkipLast",
    "SkipWhile",
    "Sum",
    "Take",
    "TakeLast",
    "TakeWhile",
    "ThenBy",
    "ThenByDescending",
    "ToArray",
    "ToDictionary",
    "ToHashSet",
    "ToList",
    "ToLookup",
    "Where",
    "Zip",
];

/// Of two numbers neither of which widens to the other, the signed one is better.
fn prefers_sign(new: &Ty, old: &Ty) -> bool {
    let signed = |ty: &Ty| matches!(ty, Ty::Primitive(kind) if super::constant::is_signed(*kind));
    let unsigned = |ty: &Ty| {
        matches!(ty, Ty::Primitive(element::U1 | element::U2 | element::U4 | element::U8 | element::U))
    };
    signed(new) && unsigned(old)
}

impl Slot {
    /// A left-out parameter as a value.
    pub(super) fn default_val(constant: &Constant, ty: &Ty) -> Val {
        Val { data: Data::Constant(constant.clone()), ty: ty.clone(), literal: true }
    }
}
