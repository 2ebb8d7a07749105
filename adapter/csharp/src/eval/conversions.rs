//! Conversions of values.
//!
//! Does not choose conversions: the typed tree has them (`bind::conversions`).

use super::EvaluationTarget;
use super::evaluator::{Evaluator, Res};
use super::values::{TypedValue, ValueLocation, ValueOrSequence};
use crate::bind::typed::{ConversionKind, Typed};
use crate::constant::Constant;
use crate::types::{OBJECT, Ty};

impl<T: EvaluationTarget> Evaluator<'_, T> {
    pub(crate) fn convert(
        &mut self,
        value: ValueOrSequence<T::Location>,
        how: &ConversionKind,
        to: &Ty,
        of: &Typed,
    ) -> Res<T, ValueOrSequence<T::Location>> {
        let val = match value {
            ValueOrSequence::Value(val) => val,
            // A local sequence can be viewed as one of its interfaces; for another type it must be created in
            // the program.
            ValueOrSequence::Local(local, ty)
                if matches!(how, ConversionKind::Same | ConversionKind::Down)
                    && self.types().derives(&ty, to) =>
            {
                return Ok(ValueOrSequence::Local(local, ty));
            }
            local => self.create_in_program(local)?,
        };
        self.convert_val(val, how, to, of).map(ValueOrSequence::Value)
    }

    fn convert_val(
        &mut self,
        val: TypedValue<T::Location>,
        how: &ConversionKind,
        to: &Ty,
        of: &Typed,
    ) -> Res<T, TypedValue<T::Location>> {
        match how {
            ConversionKind::Same => Ok(match val.ty.is_value() && !to.is_value() {
                true => val,
                false => TypedValue { ty: to.clone(), ..val },
            }),
            // A boxed value keeps its type.
            ConversionKind::Box => self.box_value(val, to),
            ConversionKind::Number { checked } => {
                let constant = self.load_constant(&val, of)?;
                self.number(&constant, to, *checked, &val.ty)
                    .map(|constant| TypedValue::constant_of(constant, to.clone()))
            }
            ConversionKind::Unbox => self.unbox_value(val, to),
            ConversionKind::Down => {
                if self.target.is_null(&val)? || self.is_of(&val, to)? {
                    return Ok(match val.ty.is_value() && !to.is_value() {
                        true => val,
                        false => TypedValue { ty: to.clone(), ..val },
                    });
                }
                let actual = self.target.actual_type(&val)?;
                let (from, to) = (self.types().type_text(&actual), self.types().type_text(to));
                self.fail(format!(
                    "InvalidCastException: Unable to cast object of type '{from}' to type '{to}'"
                ))
            }
            ConversionKind::Wrap => Ok(TypedValue { ty: to.clone(), ..val }),
            ConversionKind::Unwrap => {
                if self.target.is_null(&val)? {
                    let source = self.source(of);
                    return self.fail(format!(
                        "InvalidOperationException: Nullable object must have a value: `{source}` is null"
                    ));
                }
                let inner = self.target.nullable_value(&val)?;
                Ok(TypedValue { ty: to.clone(), ..inner })
            }
            ConversionKind::Lift(steps) => {
                if self.target.is_null(&val)? {
                    return Ok(TypedValue::null_of(to.clone()));
                }
                let mut inner = self.target.nullable_value(&val)?;
                for (how, ty) in steps.iter() {
                    inner = self.convert_val(inner, how, ty, of)?;
                }
                Ok(TypedValue { ty: to.clone(), ..inner })
            }
            ConversionKind::User(method) => match self.target.call(method, None, &[val], false)? {
                Some(result) => Ok(TypedValue { ty: method.result.direct().clone(), ..result }),
                None => self.fail("a conversion returned nothing"),
            },
            ConversionKind::Tuple(elements) => {
                let mut items = Vec::new();
                for (at, steps) in elements.iter().enumerate() {
                    let mut item = self.target.tuple_element(&val, at)?;
                    for (how, ty) in steps {
                        item = self.convert_val(item, how, ty, of)?;
                    }
                    items.push(item);
                }
                self.target.new_tuple(to, items)
            }
        }
    }

    /// Boxes a value. A nullable is boxed as its value.
    fn box_value(&mut self, val: TypedValue<T::Location>, to: &Ty) -> Res<T, TypedValue<T::Location>> {
        let Some(inner) = self.types().nullable(&val.ty) else { return Ok(val) };
        if self.target.is_null(&val)? {
            return Ok(TypedValue::null_of(to.clone()));
        }
        let out = self.target.nullable_value(&val)?;
        Ok(TypedValue { ty: inner, ..out })
    }

    fn unbox_value(&mut self, val: TypedValue<T::Location>, to: &Ty) -> Res<T, TypedValue<T::Location>> {
        let inner = self.types().nullable(to);
        if self.target.is_null(&val)? {
            return match inner {
                Some(_) => Ok(TypedValue::null_of(to.clone())),
                None => self.fail(format!(
                    "NullReferenceException: null cannot be unboxed to `{}`",
                    self.types().type_text(to)
                )),
            };
        }
        let target = inner.unwrap_or_else(|| to.clone());
        let actual = self.target.actual_type(&val)?;
        // Enums are converted as their underlying type.
        let stored = |ty: &Ty| self.types().enum_storage(ty).map_or(ty.clone(), Ty::Primitive);
        if stored(&actual) != stored(&target) {
            let (from, to) = (self.types().type_text(&actual), self.types().type_text(to));
            return self.fail(format!("InvalidCastException: the object is a boxed `{from}`, not a `{to}`"));
        }
        match self.target.load(&val)? {
            Some(constant) => Ok(TypedValue::constant_of(constant, to.clone())),
            None => Ok(TypedValue { ty: to.clone(), ..val }),
        }
    }

    pub(crate) fn number(&self, constant: &Constant, to: &Ty, checked: bool, from: &Ty) -> Res<T, Constant> {
        let null_pointer = Constant::Int(crate::types::kind::U8, 0);
        let is_null = *constant == Constant::Null;
        let constant = if is_null && matches!(from, Ty::Pointer(_)) { &null_pointer } else { constant };
        if *constant == Constant::Null {
            let to = self.types().type_text(to);
            return self.fail(format!("InvalidOperationException: null cannot be converted to `{to}`"));
        }
        let types = self.types();
        let kind = match to {
            Ty::Pointer(_) => Some(crate::types::kind::U8),
            to => to.kind().or_else(|| types.enum_storage(to)),
        };
        let converted = match kind {
            Some(kind) => constant.cast(kind, checked),
            None => constant.to_decimal(true).map(Constant::Decimal),
        };
        match converted {
            Some(converted) => Ok(converted),
            None => {
                let is_real = matches!(constant, Constant::Single(_) | Constant::Double(_));
                let (value, to) = (constant.invariant_text(), types.type_text(to));
                match is_real && kind.is_some() && !checked {
                    true => self.fail(format!(
                        "{value} does not fit into `{to}`; C# does not define the result of an unchecked cast"
                    )),
                    false => self.fail(format!(
                        "OverflowException: the `{}` {value} does not fit into `{to}`",
                        types.type_text(from)
                    )),
                }
            }
        }
    }

    /// Whether a value is a constant in the debugger, not in the program.
    pub(crate) fn is_local_constant(val: &TypedValue<T::Location>) -> bool {
        matches!(val.data, ValueLocation::Constant(_))
    }

    /// Checks that a value still has the run-time type that it had at binding.
    pub(crate) fn narrow(&mut self, inner: &Typed, ty: &Ty) -> Res<T, ValueOrSequence<T::Location>> {
        let val = match self.value(inner)? {
            ValueOrSequence::Value(val) => val,
            local => return Ok(local),
        };
        if self.target.is_null(&val)? {
            let source = self.source(inner);
            return self.fail(format!("NullReferenceException: `{source}` is null"));
        }
        let actual = self.target.actual_type(&val)?;
        if actual != *ty && !self.types().derives(&actual, ty) {
            return Err(self.target.stale_error());
        }
        Ok(TypedValue { ty: ty.clone(), ..val }.into())
    }

    /// Changes the static type of a value to that of a variable. A boxed value keeps its type.
    pub(crate) fn view_as(
        &self,
        value: ValueOrSequence<T::Location>,
        ty: &Ty,
    ) -> ValueOrSequence<T::Location> {
        match value {
            ValueOrSequence::Value(val) if val.ty.is_value() && !ty.is_value() => ValueOrSequence::Value(val),
            ValueOrSequence::Value(val) if *ty != OBJECT && *ty != Ty::Null => {
                ValueOrSequence::Value(TypedValue { ty: ty.clone(), ..val })
            }
            other => other,
        }
    }

    pub(crate) fn as_type(&mut self, of: &Typed, ty: &Ty) -> Res<T, ValueOrSequence<T::Location>> {
        let value = self.value(of)?;
        let is = match &value {
            ValueOrSequence::Value(val) => {
                self.is_of(val, &self.types().nullable(ty).unwrap_or_else(|| ty.clone()))?
            }
            ValueOrSequence::Local(_, own) => self.types().derives(own, ty),
        };
        Ok(match (is, value) {
            (false, _) => TypedValue::null_of(ty.clone()).into(),
            // A boxed value keeps its type.
            (true, ValueOrSequence::Value(val)) if val.ty.is_value() && !ty.is_value() => {
                ValueOrSequence::Value(val)
            }
            (true, ValueOrSequence::Value(val)) => TypedValue { ty: ty.clone(), ..val }.into(),
            (true, local) => local,
        })
    }

    /// Whether a value is of a type, as for `is`.
    pub(crate) fn is_of(&self, val: &TypedValue<T::Location>, ty: &Ty) -> Res<T, bool> {
        if self.target.is_null(val)? {
            return Ok(false);
        }
        let actual = self.target.actual_type(val)?;
        Ok(actual == *ty || self.types().derives(&actual, ty))
    }
}
