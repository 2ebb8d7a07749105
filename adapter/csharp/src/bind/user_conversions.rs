//! User-defined conversions (language specification, 10.5). Not here: the standard conversions before and
//! after them ([`super::conversions`]).

use std::rc::Rc;

use super::binder::Binder;
use super::conversions::ConversionSteps;
use super::system::{Member, Method};
use super::typed::{ConversionKind, MethodRef, Typed, TypedKind};
use crate::types::{OBJECT, Ty};

/// Maximum depth of nested conversions around a user-defined one.
const MAX_DEPTH: usize = 3;

impl Binder<'_> {
    /// The conversion that `from` or `to` define, with the standard conversions before and after it.
    pub(super) fn user_defined_conversion(
        &self,
        value: &Typed,
        to: &Ty,
        explicit: bool,
    ) -> Option<ConversionSteps> {
        let from = &value.ty;
        if value.is_null()
            || *from == OBJECT
            || *to == OBJECT
            || self.types.is_interface(from)
            || self.types.is_interface(to)
        {
            return None;
        }
        let (source, target) = (self.types.inside(from), self.types.inside(to));
        let candidates = self.conversions_of(&source, &target, explicit);
        if candidates.is_empty() {
            return None;
        }
        // On the value itself, or on the value of its nullable.
        let is_lifted = source != *from;
        let inner = if is_lifted {
            Typed::new(TypedKind::Default, source.clone(), value.span)
        } else {
            value.clone()
        };
        let fits = |method: &MethodRef| {
            let parameter = method.parameters.first()?;
            let before = match explicit {
                true => self
                    .standard_conversion(&inner, parameter)
                    .or_else(|| self.explicit_of_types(&inner.ty, parameter, MAX_DEPTH)),
                false => self.standard_conversion(&inner, parameter),
            }?;
            let behind = match explicit {
                true => self.explicit_of_types(&method.result, &target, MAX_DEPTH),
                false => self.implicit_of_types(&method.result, &target, MAX_DEPTH),
            }?;
            Some((before, behind))
        };
        let fitting: Vec<(MethodRef, ConversionSteps, ConversionSteps)> = candidates
            .into_iter()
            .filter_map(|method| fits(&method).map(|(before, behind)| (method, before, behind)))
            .collect();
        let sources: Vec<Ty> =
            fitting.iter().filter_map(|(method, ..)| method.parameters.first().cloned()).collect();
        let results: Vec<Ty> = fitting.iter().map(|(method, ..)| method.result.clone()).collect();
        let best_source = self.most_encompassed(&sources, &source)?;
        let best_result = self.most_encompassing(&results, &target)?;
        let (method, before, behind) = fitting.into_iter().find(|(method, ..)| {
            method.parameters.first() == Some(&best_source) && method.result == best_result
        })?;
        let mut steps = before;
        let result = method.result.clone();
        steps.push((ConversionKind::User(Rc::new(method)), result));
        steps.extend(behind);
        if is_lifted && self.types.nullable(to).is_some() {
            return Some(vec![(ConversionKind::Lift(steps.into()), to.clone())]);
        }
        if is_lifted {
            if !explicit {
                return None;
            }
            steps.insert(0, (ConversionKind::Unwrap, source));
        }
        if target != *to {
            steps.push((ConversionKind::Wrap, to.clone()));
        }
        Some(steps)
    }

    /// The methods `op_Implicit` of both types, and with `explicit` also `op_Explicit`.
    fn conversions_of(&self, from: &Ty, to: &Ty, explicit: bool) -> Vec<MethodRef> {
        let names: &[&str] = if explicit { &["op_Implicit", "op_Explicit"] } else { &["op_Implicit"] };
        let mut owners: Vec<Ty> = Vec::new();
        for ty in [from, to] {
            for owner in self.types.chain(ty) {
                if matches!(owner, Ty::Named(_)) && !self.types.is_decimal(&owner) && !owners.contains(&owner)
                {
                    owners.push(owner);
                }
            }
        }
        let mut found = Vec::new();
        for owner in &owners {
            let Some(def) = self.types.def(owner) else { continue };
            for name in names {
                for member in self.types.system.members(def, name).iter() {
                    if let Member::Method(method) = member
                        && is_conversion(method)
                    {
                        found.push(self.method_ref(method, owner, Vec::new()));
                    }
                }
            }
        }
        found
    }

    /// The type itself, or the candidate from which all others convert.
    fn most_encompassed(&self, types: &[Ty], own: &Ty) -> Option<Ty> {
        if types.contains(own) {
            return Some(own.clone());
        }
        types.iter().find(|ty| types.iter().all(|other| self.types.widens(ty, other))).cloned()
    }

    fn most_encompassing(&self, types: &[Ty], own: &Ty) -> Option<Ty> {
        if types.contains(own) {
            return Some(own.clone());
        }
        types.iter().find(|ty| types.iter().all(|other| self.types.widens(other, ty))).cloned()
    }
}

fn is_conversion(method: &Method) -> bool {
    method.is_static && method.parameters.len() == 1 && method.generics.is_empty()
}
