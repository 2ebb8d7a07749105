//! Evaluation of each node of a typed tree. Not here: operators ([`super::operations`]), conversions
//! ([`super::conversions`]), calls ([`super::calls`]).

use super::EvaluationTarget;
use super::values::{TypedValue, ValueLocation, ValueOrSequence};
use crate::bind::TypeRelations;
use crate::bind::typed::*;
use crate::constant::Constant;
use crate::types::{STRING, Ty, kind};

/// Maximum number of items of a sequence that is evaluated in the debugger.
pub(crate) const MAX_ITEMS: usize = 10_000;

/// Maximum number of elements of an array that an expression creates.
const MAX_ARRAY_LENGTH: i64 = 1 << 24;

pub(crate) struct Evaluator<'a, T: EvaluationTarget> {
    pub(crate) target: &'a T,
    text: &'a str,
    slots: Vec<Option<ValueOrSequence<T::Location>>>,
    /// Slots with a struct that nothing else refers to.
    own_slots: Vec<u32>,
    /// Whether the expression writes to the program.
    pub(crate) is_writing: bool,
}

pub(crate) type Res<T, V> = Result<V, <T as EvaluationTarget>::Error>;

impl<'a, T: EvaluationTarget> Evaluator<'a, T> {
    pub(crate) fn new(target: &'a T, text: &'a str, slots: u32) -> Self {
        let slots = (0..slots).map(|_| None).collect();
        Self { target, text, slots, own_slots: Vec::new(), is_writing: false }
    }

    pub(crate) fn types(&self) -> TypeRelations<'a>
    where
        T: 'a,
    {
        TypeRelations::new(self.target)
    }

    pub(crate) fn fail<V>(&self, message: impl Into<String>) -> Res<T, V> {
        Err(self.target.error(message.into()))
    }

    /// The source text of a part.
    pub(crate) fn source(&self, of: &Typed) -> &'a str {
        self.text.get(of.span.start..of.span.end).unwrap_or_default()
    }

    pub(crate) fn set(&mut self, slot: u32, value: ValueOrSequence<T::Location>) {
        self.own_slots.retain(|own| *own != slot);
        if let Some(own) = self.slots.get_mut(slot as usize) {
            *own = Some(value);
        }
    }

    /// The value of a slot, for a write. A struct in it is copied before the first one.
    fn own_slot(&mut self, slot: u32) -> Res<T, ValueOrSequence<T::Location>> {
        if !self.own_slots.contains(&slot) {
            if let ValueOrSequence::Value(val) = self.slot(slot)? {
                let copied = self.target.copy_struct(&val)?;
                self.set(slot, copied.into());
            }
            self.own_slots.push(slot);
        }
        self.slot(slot)
    }

    pub(crate) fn slot(&self, slot: u32) -> Res<T, ValueOrSequence<T::Location>> {
        match self.slots.get(slot as usize).and_then(Option::as_ref) {
            Some(value) => Ok(value.clone()),
            None => self.fail("a variable of the expression has no value yet"),
        }
    }

    /// Evaluates a part to a value in the program or a constant. A local sequence is created in the program.
    pub(crate) fn val(&mut self, of: &Typed) -> Res<T, TypedValue<T::Location>> {
        let value = self.value(of)?;
        self.create_in_program(value)
    }

    /// Evaluates a part to a constant.
    pub(crate) fn constant(&mut self, of: &Typed) -> Res<T, Constant> {
        if let TypedKind::Constant(constant) = &of.kind {
            return Ok(constant.clone());
        }
        let val = self.val(of)?;
        self.load_constant(&val, of)
    }

    pub(crate) fn load_constant(&self, val: &TypedValue<T::Location>, of: &Typed) -> Res<T, Constant> {
        match self.target.load(val)? {
            Some(constant) => Ok(constant),
            None => self.fail(format!(
                "`{}` cannot be read as a `{}`",
                self.source(of),
                self.types().type_text(&of.ty)
            )),
        }
    }

    pub(crate) fn truth(&mut self, of: &Typed) -> Res<T, bool> {
        Ok(self.constant(of)? == Constant::Bool(true))
    }

    pub(crate) fn integer(&mut self, of: &Typed) -> Res<T, i64> {
        match self.constant(of)? {
            Constant::Int(_, value) => Ok(i64::try_from(value).unwrap_or(i64::MAX)),
            _ => self.fail(format!("`{}` is not a whole number", self.source(of))),
        }
    }

    pub(crate) fn is_null(&self, value: &ValueOrSequence<T::Location>) -> Res<T, bool> {
        match value {
            ValueOrSequence::Value(val) => self.target.is_null(val),
            ValueOrSequence::Local(..) => Ok(false),
        }
    }

    /// Evaluates the object whose member is accessed, which must not be null.
    pub(crate) fn receiver(&mut self, of: &Typed, member: &str) -> Res<T, TypedValue<T::Location>> {
        let val = self.val(of)?;
        let may_be_null = !of.ty.is_value() || self.types().nullable(&of.ty).is_some();
        if !of.ty.is_value() && may_be_null && self.target.is_null(&val)? {
            let source = self.source(of);
            return self
                .fail(format!("NullReferenceException: `{source}` is null, so `{member}` has no value"));
        }
        Ok(val)
    }

    fn known(&self, constant: Constant, of: &Typed) -> ValueOrSequence<T::Location> {
        TypedValue::constant_of(constant, of.ty.clone()).into()
    }

    /// Evaluates a part. The result is a place if the part is one.
    pub(crate) fn value(&mut self, of: &Typed) -> Res<T, ValueOrSequence<T::Location>> {
        let ty = &of.ty;
        Ok(match &of.kind {
            TypedKind::Constant(constant) => self.known(constant.clone(), of),
            TypedKind::Default => {
                match ty.is_value() && self.types().nullable(ty).is_none() && !matches!(ty, Ty::Pointer(_)) {
                    true => self.target.new_zeroed(ty)?.into(),
                    false => TypedValue::null_of(ty.clone()).into(),
                }
            }
            TypedKind::Variable(at) => self.target.variable(*at)?.into(),
            TypedKind::Slot(slot) => {
                let value = self.slot(*slot)?;
                self.view_as(value, ty)
            }
            TypedKind::OwnSlot(slot) => {
                let value = self.own_slot(*slot)?;
                self.view_as(value, ty)
            }
            TypedKind::StructCopy(inner) => {
                let val = self.val(inner)?;
                self.target.copy_struct(&val)?.into()
            }
            TypedKind::This => self.target.this()?.into(),
            TypedKind::Exception => self.target.exception()?.into(),
            TypedKind::ThreadId => TypedValue::int(self.target.thread_id()).into(),
            TypedKind::Field(None, field) => self.target.field(None, field)?.into(),
            TypedKind::Field(Some(inner), field) => {
                let val = self.receiver(inner, &field.field.name)?;
                self.target.field(Some(&val), field)?.into()
            }
            TypedKind::Property(inner, property) => return self.property(inner.as_deref(), property),
            TypedKind::Indexer(inner, property, arguments) => {
                return self.element_access(inner, property, arguments);
            }
            TypedKind::Length(inner) => {
                let val = self.receiver(inner, "Length")?;
                match &val.data {
                    ValueLocation::Constant(Constant::Text(text)) => {
                        let length = text.encode_utf16().count();
                        TypedValue::int(i32::try_from(length).unwrap_or(i32::MAX)).into()
                    }
                    _ => TypedValue::int(self.target.length(&val)?).into(),
                }
            }
            TypedKind::HasValue(inner) => {
                let val = self.val(inner)?;
                TypedValue::bool(!self.target.is_null(&val)?).into()
            }
            TypedKind::IsNull(inner) => {
                let value = self.value(inner)?;
                TypedValue::bool(self.is_null(&value)?).into()
            }
            TypedKind::Element(inner, indexes) => self.element(inner, indexes)?.into(),
            TypedKind::TupleElement(inner, at) => {
                let val = self.val(inner)?;
                self.target.tuple_element(&val, *at)?.into()
            }
            TypedKind::Deref(inner) => {
                let pointer = self.val(inner)?;
                self.target.element(&pointer, &[0])?.into()
            }
            TypedKind::AddressOf(inner) => {
                let val = self.val(inner)?;
                let address = self.target.address(&val)?;
                self.known(Constant::Int(kind::U8, i128::from(address)), of)
            }
            TypedKind::Call(call) => return self.call(call, of),
            TypedKind::New(constructor, arguments) => {
                let (arguments, _) = self.arguments(arguments)?;
                let made = self.target.construct(constructor, &arguments)?;
                TypedValue { ty: ty.clone(), ..made }.into()
            }
            TypedKind::NewText(arguments) => self.new_text(arguments)?.into(),
            TypedKind::NewArray { of: element, lengths, items } => {
                self.new_array(element, lengths, items.as_deref())?.into()
            }
            TypedKind::Tuple(items) => {
                let vals = self.operands(items)?;
                self.target.new_tuple(ty, vals)?.into()
            }
            TypedKind::Convert(inner, how) => {
                let value = self.value(inner)?;
                self.convert(value, how, ty, inner)?
            }
            TypedKind::Unary(op, inner, overflow) => self.unary(*op, inner, *overflow, of)?,
            TypedKind::Binary(op, a, b, overflow) => self.binary(*op, (a, b), *overflow, of)?,
            TypedKind::Same(a, b) => TypedValue::bool(self.same(a, b)?).into(),
            TypedKind::Concat(parts) => TypedValue::text(self.concatenate(parts)?).into(),
            TypedKind::Text(inner, _) => TypedValue::text(self.text_of_part(inner)?).into(),
            TypedKind::Interpolated(pieces) => TypedValue::text(self.interpolated_string(pieces)?).into(),
            TypedKind::And(a, b) => TypedValue::bool(self.truth(a)? && self.truth(b)?).into(),
            TypedKind::Or(a, b) => TypedValue::bool(self.truth(a)? || self.truth(b)?).into(),
            TypedKind::Choice(condition, a, b) => {
                let chosen = if self.truth(condition)? { a } else { b };
                return self.value(chosen);
            }
            TypedKind::Coalesce(first, slot, value, other) => {
                let first = self.value(first)?;
                if self.is_null(&first)? {
                    return self.value(other);
                }
                self.set(*slot, first);
                return self.value(value);
            }
            TypedKind::Conditional(inner, slot, then) => {
                let value = self.value(inner)?;
                if self.is_null(&value)? {
                    return Ok(TypedValue::null_of(ty.clone()).into());
                }
                let value = match (value, self.types().nullable(&inner.ty)) {
                    (ValueOrSequence::Value(val), Some(_)) => self.target.nullable_value(&val)?.into(),
                    (value, _) => value,
                };
                self.set(*slot, value);
                return self.value(then);
            }
            TypedKind::Let(slot, value, then) => {
                let value = self.value(value)?;
                self.set(*slot, value);
                return self.value(then);
            }
            TypedKind::Copy(inner) => match self.value(inner)? {
                ValueOrSequence::Value(val) => self.copied(&val)?.into(),
                local => local,
            },
            TypedKind::Sequence(all) => {
                let mut last = TypedValue::null().into();
                for one in all {
                    last = self.value(one)?;
                }
                last
            }
            TypedKind::Is(inner, slot, test) => {
                let value = self.input(inner)?;
                self.set(*slot, value);
                TypedValue::bool(self.holds(test, *slot)?).into()
            }
            TypedKind::As(inner) => self.as_type(inner, ty)?,
            TypedKind::Switch(inner, slot, arms) => {
                let value = self.input(inner)?;
                self.set(*slot, value);
                for arm in arms {
                    if self.holds(&arm.test, *slot)?
                        && arm.when.as_ref().map_or(Ok(true), |when| self.truth(when))?
                    {
                        return self.value(&arm.value);
                    }
                }
                return self.fail("SwitchExpressionException: no arm fits");
            }
            TypedKind::Assign(place, value) => self.assign(place, value)?,
            TypedKind::Slice(inner, start, end) => self.slice(inner, start, end)?.into(),
            TypedKind::TypeOf(inner) => {
                let object = self.target.type_object(inner)?;
                TypedValue { ty: ty.clone(), ..object }.into()
            }
            TypedKind::SizeOf(inner) => TypedValue::int(self.target.size_of(inner)?).into(),
            TypedKind::Throw(inner) => {
                let thrown = self.val(inner)?;
                return Err(self.target.exception_error(&thrown));
            }
            TypedKind::Linq(linq) => return self.linq(linq, of),
            TypedKind::Query(query) => return self.query(query, of),
            TypedKind::Narrow(inner) => self.narrow(inner, ty)?,
        })
    }

    fn element(&mut self, of: &Typed, indexes: &[Typed]) -> Res<T, TypedValue<T::Location>> {
        let val = self.receiver(of, "[]")?;
        let mut all = Vec::new();
        for index in indexes {
            all.push(self.integer(index)?);
        }
        if let (ValueLocation::Constant(Constant::Text(text)), [index]) = (&val.data, all.as_slice()) {
            let unit = usize::try_from(*index).ok().and_then(|index| text.encode_utf16().nth(index));
            return match unit {
                Some(unit) => Ok(TypedValue::plain(Constant::Int(kind::CHAR, i128::from(unit)))),
                None => self.fail(format!("IndexOutOfRangeException: the string has no character {index}")),
            };
        }
        self.target.element(&val, &all)
    }

    fn new_array(
        &mut self,
        of: &Ty,
        lengths: &[Typed],
        items: Option<&[Typed]>,
    ) -> Res<T, TypedValue<T::Location>> {
        let mut all = Vec::new();
        for length in lengths {
            let length = self.integer(length)?;
            if length < 0 {
                return self.fail("OverflowException: the length of an array is negative");
            }
            all.push(length);
        }
        let total = all.iter().try_fold(1i64, |total, length| total.checked_mul((*length).max(1)));
        if total.is_none_or(|total| total > MAX_ARRAY_LENGTH) {
            let shown: Vec<String> = all.iter().map(i64::to_string).collect();
            return self.fail(format!(
                "cannot create an array of {} elements: an expression may create at most {MAX_ARRAY_LENGTH}",
                shown.join(" * ")
            ));
        }
        let items = match items {
            None => None,
            Some(items) => {
                let vals = self.operands(items)?;
                if all.is_empty() {
                    all.push(i64::try_from(vals.len()).unwrap_or(i64::MAX));
                }
                Some(vals)
            }
        };
        self.target.new_array(of, &all, items)
    }

    fn slice(&mut self, of: &Typed, start: &Typed, end: &Typed) -> Res<T, TypedValue<T::Location>> {
        let val = self.receiver(of, "[..]")?;
        let (start, end) = (self.integer(start)?, self.integer(end)?);
        let length = match &val.data {
            ValueLocation::Constant(Constant::Text(text)) => {
                i64::try_from(text.encode_utf16().count()).unwrap_or(i64::MAX)
            }
            _ => i64::from(self.target.length(&val)?),
        };
        if start < 0 || end > length || start > end {
            let source = self.source(of);
            return self.fail(format!(
                "ArgumentOutOfRangeException: {start}..{end} is outside of the \
                {length} elements of `{source}`"
            ));
        }
        if of.ty == STRING {
            let Some(Constant::Text(text)) = self.target.load(&val)? else {
                return self.fail("the text is too long to be cut here");
            };
            let units: Vec<u16> = text
                .encode_utf16()
                .skip(usize::try_from(start).unwrap_or(0))
                .take(usize::try_from(end - start).unwrap_or(0))
                .collect();
            return Ok(TypedValue::text(String::from_utf16_lossy(&units)));
        }
        let Ty::Vector(element) = &of.ty else {
            return self.fail("only arrays and strings can be cut here");
        };
        let mut items = Vec::new();
        for at in start..end {
            self.target.check_cancellation()?;
            items.push(self.target.element(&val, &[at])?);
        }
        self.target.new_array(element, &[end - start], Some(items))
    }
}
