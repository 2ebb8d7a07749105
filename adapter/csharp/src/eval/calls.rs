//! Calls: evaluates arguments in their order in the source, and creates variables for `out`. A value is the
//! place of a variable; one that a later operand may change is copied.
//!
//! Does not choose methods: the typed tree has them (`bind::calls`).

use super::EvaluationTarget;
use super::evaluator::{Evaluator, Res};
use super::values::{LocalSequence, TypedValue, ValueOrSequence};
use crate::bind::typed::{PassedArgument, Typed, TypedArgument, TypedCall};
use crate::bind::{Effects, PropertyRef, TypeKind};
use crate::types::{STRING, Ty};

impl<T: EvaluationTarget> Evaluator<'_, T> {
    /// Evaluates operands in their order.
    pub(crate) fn operands<'t>(
        &mut self,
        operands: impl IntoIterator<Item = &'t Typed> + Clone,
    ) -> Res<T, Vec<TypedValue<T::Location>>> {
        let effects: Vec<Effects> = operands.clone().into_iter().map(Typed::effects).collect();
        let mut vals = Vec::new();
        for (operand, later) in operands.into_iter().zip(later_effects(&effects)) {
            self.target.check_cancellation()?;
            let val = self.val(operand)?;
            vals.push(self.keep_during(val, later)?);
        }
        Ok(vals)
    }

    /// Evaluates two operands in their order.
    pub(crate) fn pair(&mut self, a: &Typed, b: &Typed) -> Res<T, [TypedValue<T::Location>; 2]> {
        let first = self.val(a)?;
        let first = self.keep_during(first, b.effects())?;
        Ok([first, self.val(b)?])
    }

    /// A value that an evaluation with these effects does not change. A struct is copied only if variables
    /// are written to, because a copy runs code.
    pub(crate) fn keep_during(
        &mut self,
        val: TypedValue<T::Location>,
        effects: Effects,
    ) -> Res<T, TypedValue<T::Location>> {
        match effects {
            Effects::None | Effects::Getters => Ok(val),
            _ if !self.is_kept_by_copy(&val.ty) => Ok(val),
            Effects::Calls => self.target.copy(&val),
            Effects::Assigns => self.copied(&val),
        }
    }

    /// A copy of a value, which later writes to its place do not change.
    pub(crate) fn copied(&mut self, val: &TypedValue<T::Location>) -> Res<T, TypedValue<T::Location>> {
        if let Some(inner) = self.types().nullable(&val.ty) {
            if self.target.is_null(val)? {
                return Ok(TypedValue::null_of(val.ty.clone()));
            }
            let inside = self.target.nullable_value(val)?;
            let copied = self.copied(&TypedValue { ty: inner, ..inside })?;
            return Ok(TypedValue { ty: val.ty.clone(), ..copied });
        }
        let copied = self.target.copy(val)?;
        let is_struct = |ty: &Ty| {
            let info = if matches!(ty, Ty::Named(_)) { self.types().info(ty) } else { None };
            info.is_some_and(|info| info.kind == TypeKind::Struct && !info.is_by_ref)
        };
        match !Self::is_local_constant(&copied) && is_struct(&val.ty) {
            true => self.target.copy_struct(val),
            false => Ok(copied),
        }
    }

    /// Whether a copy of the value is the same value. A copy of a box, which an `object` or an interface may
    /// refer to, would lose its type.
    fn is_kept_by_copy(&self, ty: &Ty) -> bool {
        match ty {
            Ty::Vector(_) | Ty::Array(..) => true,
            Ty::Named(_) if !ty.is_value() => self.types().info(ty).is_some_and(|info| {
                matches!(info.kind, TypeKind::Class | TypeKind::Delegate)
                    && !matches!(&*info.full_name, "System.Enum" | "System.ValueType")
            }),
            ty => ty.is_value() || *ty == STRING,
        }
    }

    /// Evaluates arguments. Returns them in the order of the parameters, with the slots of the new variables.
    #[allow(clippy::type_complexity, reason = "values, and which of them have names")]
    pub(crate) fn arguments(
        &mut self,
        all: &[PassedArgument],
    ) -> Res<T, (Vec<TypedValue<T::Location>>, Vec<(u32, usize)>)> {
        let mut order: Vec<usize> = (0..all.len()).collect();
        order.sort_by_key(|at| all.get(*at).map_or(usize::MAX, |passed| passed.turn));
        let mut vals: Vec<Option<TypedValue<T::Location>>> = vec![None; all.len()];
        let mut new = Vec::new();
        let effects: Vec<Effects> = order.iter().filter_map(|at| all.get(*at)).map(effects_of).collect();
        for (at, later) in order.into_iter().zip(later_effects(&effects)) {
            let Some(passed) = all.get(at) else { continue };
            let val = match &passed.value {
                TypedArgument::Value(value) => {
                    let val = self.val(value)?;
                    self.keep_during(val, later)?
                }
                TypedArgument::Place(place) => {
                    let val = self.val(place)?;
                    if Self::is_local_constant(&val) {
                        let source = self.source(place);
                        return self.fail(format!(
                            "`{source}` is not a variable of the program, which `ref` and `out` need"
                        ));
                    }
                    TypedValue { ty: Ty::Reference(Box::new(place.ty.clone())), ..val }
                }
                TypedArgument::New(slot, ty) => {
                    let variable = self.target.new_variable(ty)?;
                    new.push((*slot, at));
                    TypedValue { ty: Ty::Reference(Box::new(ty.clone())), ..variable }
                }
            };
            if let Some(own) = vals.get_mut(at) {
                *own = Some(val);
            }
        }
        Ok((vals.into_iter().flatten().collect(), new))
    }

    pub(crate) fn call(&mut self, call: &TypedCall, of: &Typed) -> Res<T, ValueOrSequence<T::Location>> {
        let name = &call.method.method.name;
        let this = match &call.of {
            Some(this) => {
                let val = self.receiver(this, name)?;
                let effects = call.arguments.iter().map(effects_of).max().unwrap_or_default();
                // A struct is the variable itself, also after a write to it.
                Some(if this.ty.is_value() { val } else { self.keep_during(val, effects)? })
            }
            None => None,
        };
        let (arguments, new) = self.arguments(&call.arguments)?;
        let result = self.target.call(&call.method, this.as_ref(), &arguments, call.is_base)?;
        for (slot, at) in new {
            if let Some(val) = arguments.get(at) {
                let ty = val.ty.direct().clone();
                self.set(slot, TypedValue { ty, ..val.clone() }.into());
            }
        }
        Ok(match result {
            Some(val) => match val.ty.is_value() && !of.ty.is_value() {
                true => val.into(),
                false => TypedValue { ty: of.ty.clone(), ..val }.into(),
            },
            None => TypedValue::null().into(),
        })
    }

    pub(crate) fn property(
        &mut self,
        of: Option<&Typed>,
        property: &PropertyRef,
    ) -> Res<T, ValueOrSequence<T::Location>> {
        let name = &property.property.name;
        let Some(of) = of else { return self.target.property(None, property).map(ValueOrSequence::Value) };
        let value = self.value(of)?;
        // Values that exist only in the debugger have the members of sequences.
        if let ValueOrSequence::Local(local, _) = &value {
            let known = match (local.as_ref(), &**name) {
                (LocalSequence::Group(group), "Key") => Some(group.key.clone()),
                (LocalSequence::Items(items, false), "Count") => Some(count(items.len())),
                (LocalSequence::Lookup(groups), "Count") => Some(count(groups.len())),
                _ => None,
            };
            if let Some(known) = known {
                return Ok(known.into());
            }
        }
        let val = self.create_in_program(value)?;
        if !of.ty.is_value() && self.target.is_null(&val)? {
            let source = self.source(of);
            return self
                .fail(format!("NullReferenceException: `{source}` is null, so `{name}` has no value"));
        }
        self.target.property(Some(&val), property).map(ValueOrSequence::Value)
    }

    pub(crate) fn element_access(
        &mut self,
        of: &Typed,
        property: &PropertyRef,
        arguments: &[PassedArgument],
    ) -> Res<T, ValueOrSequence<T::Location>> {
        let value = self.value(of)?;
        if let ValueOrSequence::Local(local, _) = &value
            && let Some(item) = self.local_item(&local.clone(), arguments)?
        {
            return Ok(item);
        }
        let val = self.create_in_program(value)?;
        if !of.ty.is_value() && self.target.is_null(&val)? {
            let source = self.source(of);
            return self.fail(format!("NullReferenceException: `{source}` is null, so it has no elements"));
        }
        let (arguments, _) = self.arguments(arguments)?;
        self.target.indexer(&val, property, &arguments).map(ValueOrSequence::Value)
    }

    /// An item of a list or lookup that exists only in the debugger.
    fn local_item(
        &mut self,
        local: &LocalSequence<T::Location>,
        arguments: &[PassedArgument],
    ) -> Res<T, Option<ValueOrSequence<T::Location>>> {
        let [PassedArgument { value: TypedArgument::Value(index), .. }] = arguments else { return Ok(None) };
        match local {
            LocalSequence::Items(items, false) => {
                let at = self.integer(index)?;
                match usize::try_from(at).ok().and_then(|at| items.get(at)) {
                    Some(item) => Ok(Some(item.clone())),
                    None => self.fail(format!(
                        "ArgumentOutOfRangeException: the index {at} is outside of the {} items",
                        items.len()
                    )),
                }
            }
            LocalSequence::Lookup(groups) => {
                let key = self.val(index)?;
                let mut keys: Vec<TypedValue<T::Location>> =
                    groups.iter().map(|group| group.key.clone()).collect();
                keys.push(key);
                let last = keys.len() - 1;
                let alike = self.group_equal_keys(&keys, None)?;
                let found = alike.into_iter().find(|group| group.contains(&last)).unwrap_or_default();
                let at = found.into_iter().find(|at| *at != last);
                let items =
                    at.and_then(|at| groups.get(at)).map(|group| group.items.clone()).unwrap_or_default();
                let item =
                    groups.first().and_then(|group| group.items.first()).map(|item| self.type_of(item));
                let ty = item.and_then(|item| self.types().sequence(&item)).unwrap_or(Ty::Other);
                Ok(Some(ValueOrSequence::items(items, ty)))
            }
            _ => Ok(None),
        }
    }

    pub(crate) fn type_of(&self, value: &ValueOrSequence<T::Location>) -> Ty {
        match value {
            ValueOrSequence::Value(val) => val.ty.clone(),
            ValueOrSequence::Local(_, ty) => ty.clone(),
        }
    }
}

fn count<P>(count: usize) -> TypedValue<P> {
    TypedValue::int(i32::try_from(count).unwrap_or(i32::MAX))
}

/// For each operand, the strongest effect of those that are evaluated after it.
fn later_effects(effects: &[Effects]) -> Vec<Effects> {
    let mut later: Vec<Effects> = effects
        .iter()
        .rev()
        .scan(Effects::None, |strongest, own| {
            let before = *strongest;
            *strongest = before.max(*own);
            Some(before)
        })
        .collect();
    later.reverse();
    later
}

/// The effects of evaluating an argument.
fn effects_of(argument: &PassedArgument) -> Effects {
    match &argument.value {
        TypedArgument::Value(value) | TypedArgument::Place(value) => value.effects(),
        TypedArgument::New(..) => Effects::None,
    }
}
