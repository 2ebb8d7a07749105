//! Conversions that types define (language specification, 10.5).

use std::rc::Rc;

use super::binder::Binder;
use super::conversions::Steps;
use super::system::{Member, Method};
use super::typed::{How, MethodRef, Typed, TypedKind};
use crate::types::{OBJECT, Ty};

/// Deepest nesting of conversions around a user-defined one.
const MAX_DEPTH: usize = 3;

impl Binder<'_> {
    /// The conversion that `from` or `to` define, with the standard ones before and behind it.
    pub(super) fn user_defined(&self, value: &Typed, to: &Ty, explicit: bool) -> Option<Steps> {
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
        // On the value itself, or on what is in its nullable.
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
                    .standard(&inner, parameter)
                    .or_else(|| self.explicit_of_types(&inner.ty, parameter, MAX_DEPTH)),
                false => self.standard(&inner, parameter),
            }?;
            let behind = match explicit {
                true => self.explicit_of_types(&method.result, &target, MAX_DEPTH),
                false => self.implicit_of_types(&method.result, &target, MAX_DEPTH),
            }?;
            Some((before, behind))
        };
        let fitting: Vec<(MethodRef, Steps, Steps)> = candidates
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
        steps.push((How::User(Rc::new(method)), result));
        steps.extend(behind);
        if is_lifted && self.types.nullable(to).is_some() {
            return Some(vec![(How::Lift(steps.into()), to.clone())]);
        }
        if is_lifted {
            if !explicit {
                return None;
            }
            steps.insert(0, (How::Unwrap, source));
        }
        if target != *to {
            steps.push((How::Wrap, to.clone()));
        }
        Some(steps)
    }

    /// `op_Implicit`, and `op_Explicit` if wanted, of both types.
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

    /// The own type, or the one all others come from.
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
