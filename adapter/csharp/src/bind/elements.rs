//! Elements: by indexes, by indexes from the end and by ranges (language specification, 12.8.12, 12.9.6 and
//! 12.10). Not here: indexers of types ([`super::indexers`]).

use super::binder::{Bind, Binder, leave_to_compiler, reject};
use super::classification::{Classification, mark_base};
use super::indexers::{IndexerAccess, has_indexer};
use super::operators::positional_arguments;
use super::source_argument::{SourceArgument, SourceArgumentValue};
use super::system::{ContiguousElements, Member};
use super::typed::{MethodRef, Typed, TypedKind};
use crate::operators::BinaryOp;
use crate::syntax::Span;
use crate::syntax::tree::{Argument, ArgumentMode, Expr, ExprKind};
use crate::types::{BOOL, CHAR, INT, STRING, Ty, kind};

impl Binder<'_> {
    /// Binds the element access `of[arguments]`.
    pub(super) fn index(&mut self, of: &Expr, arguments: &[Argument], span: Span) -> Bind<Typed> {
        let is_base = matches!(of.kind, ExprKind::Base);
        let of = match self.part(of)? {
            // `(List<int>)[1, 2]` is a cast.
            Classification::Type(_) if matches!(of.kind, ExprKind::Paren(_)) => {
                return leave_to_compiler("a collection expression", span);
            }
            part => self.require_value(part, of.span)?,
        };
        if of.is_void() {
            return reject("CS0815", "A call that returns void has no value", of.span);
        }
        if of.is_null() {
            return reject("CS0021", "Cannot apply indexing with [] to an expression of type '<null>'", span);
        }
        if let [only] = arguments
            && only.name.is_none()
        {
            match &super::equality::unparenthesized(&only.value).kind {
                ExprKind::FromEnd(_) | ExprKind::Range(..) if is_base => {
                    return leave_to_compiler("an index from the end, or a range, of `base`", span);
                }
                ExprKind::FromEnd(by) => return self.element_from_end(of, by, span),
                ExprKind::Range(from, to) => return self.slice(of, from.as_deref(), to.as_deref(), span),
                _ => {}
            }
        }
        let given = self.source_arguments(arguments)?;
        let element = self.element_access(of, &given, span)?;
        Ok(if is_base { mark_base(element) } else { element })
    }

    /// The element of a value at these indexes.
    pub(super) fn element_access(
        &mut self,
        of: Typed,
        given: &[SourceArgument<'_>],
        span: Span,
    ) -> Bind<Typed> {
        if let Some(value) = self.stored_element(&of, given, span)? {
            return Ok(value);
        }
        if let Some(indexer) = IndexerAccess::best(self, &of.ty, None, given, span)? {
            self.check_place(&indexer.property.ty, Some(&of.ty), span)?;
            return Ok(indexer.on(of, self, span));
        }
        // `System.Index` and `System.Range` as values, for types with a length.
        if let [SourceArgument { value: SourceArgumentValue::Value(index), .. }] = given {
            if self.types.is_named(&index.ty, "System.Index") {
                return self.by_index_value(of, index.clone(), span);
            }
            if self.types.is_named(&index.ty, "System.Range") {
                return self.by_range_value(of, index.clone(), span);
            }
        }
        if let Some(element) = self.constrained_element(&of, given, span)? {
            return Ok(element);
        }
        if let Some(narrow) = self.narrow(&of) {
            return self.element_access(narrow, given, span);
        }
        let name = self.type_text(&of.ty);
        if has_indexer(self.types, &of.ty)
            || matches!(of.ty, Ty::Vector(_) | Ty::Array(..) | Ty::Primitive(kind::STRING))
        {
            let passed: Vec<String> = given
                .iter()
                .map(|given| match &given.value {
                    SourceArgumentValue::Value(value) => self.type_text(&value.ty),
                    _ => "default or new".into(),
                })
                .collect();
            let passed = passed.join(", ");
            return reject(
                "CS1503",
                format!("Cannot convert from '{passed}' to what the indexer of '{name}' takes"),
                span,
            );
        }
        reject("CS0021", format!("Cannot apply indexing with [] to an expression of type '{name}'"), span)
    }

    /// The element of an array, a string or a pointer.
    fn stored_element(
        &mut self,
        of: &Typed,
        given: &[SourceArgument<'_>],
        span: Span,
    ) -> Bind<Option<Typed>> {
        let (element, rank) = match &of.ty {
            Ty::Vector(element) => ((**element).clone(), 1),
            Ty::Array(element, rank) => ((**element).clone(), *rank as usize),
            Ty::Pointer(element) if **element != crate::types::VOID => ((**element).clone(), 1),
            ty if *ty == STRING => (CHAR, 1),
            ty => match self.contiguous_elements(ty) {
                Some(elements) => (elements.of, 1),
                None => return Ok(None),
            },
        };
        if given.len() != rank {
            return reject("CS0022", format!("Wrong number of indices inside []; expected {rank}"), span);
        }
        let mut indexes = Vec::new();
        for one in given {
            let SourceArgumentValue::Value(value) = &one.value else { return Ok(None) };
            // The first of these types to which the index converts (12.8.12.2).
            let kinds = [kind::I4, kind::U4, kind::I8, kind::U8];
            let found =
                kinds.into_iter().find_map(|kind| self.implicit_conversion(value, &Ty::Primitive(kind)));
            match found {
                Some(steps) => indexes.push(self.apply(value.clone(), steps)?),
                None if self.types.is_named(&value.ty, "System.Index")
                    || self.types.is_named(&value.ty, "System.Range") =>
                {
                    return Ok(None);
                }
                None => return self.reject_conversion(value, &INT),
            }
        }
        Ok(Some(Typed::new(TypedKind::Element(of.clone().boxed(), indexes), element, span)))
    }

    /// The contiguous elements of an inline array or a fixed buffer.
    fn contiguous_elements(&self, ty: &Ty) -> Option<ContiguousElements> {
        if !ty.is_value() {
            return None;
        }
        let elements = self.types.info(ty)?.elements.clone()?;
        Some(ContiguousElements { of: elements.of.with(ty.arguments(), &[]), ..elements })
    }

    /// The element of a value whose type is the argument of a generic parameter, from the constraints of that
    /// parameter.
    fn constrained_element(
        &mut self,
        of: &Typed,
        given: &[SourceArgument<'_>],
        span: Span,
    ) -> Bind<Option<Typed>> {
        for bound in self.bounds(&of.ty) {
            // A struct that implements the indexer is not copied to a box: the indexer may change it.
            let interfaces = if of.ty.is_value() { self.types.lineage(&bound) } else { Vec::new() };
            for interface in interfaces {
                if let Some(indexer) = IndexerAccess::best(self, &of.ty, Some(&interface), given, span)? {
                    return Ok(Some(indexer.on(of.clone(), self, span)));
                }
            }
            if let Some(indexer) = IndexerAccess::best(self, &bound, None, given, span)? {
                let cast = self.cast_value(of.clone(), &bound, of.span)?;
                return Ok(Some(indexer.on(cast, self, span)));
            }
        }
        Ok(None)
    }

    /// The number of elements of the value in a slot: `Length` or `Count`.
    pub(super) fn length(&mut self, of: &Typed, span: Span) -> Bind<Typed> {
        if matches!(of.ty, Ty::Vector(_) | Ty::Array(..) | Ty::Primitive(kind::STRING)) {
            return Ok(Typed::new(TypedKind::Length(of.clone().boxed()), INT, span));
        }
        if let Some(count) = self.contiguous_elements(&of.ty).and_then(|elements| elements.count) {
            return Ok(self.int(i32::try_from(count).unwrap_or(i32::MAX), span));
        }
        for name in ["Length", "Count"] {
            if let Some(Classification::Value(value)) = self.own_member(of, name, &[], span)?
                && value.ty == INT
            {
                return Ok(value);
            }
        }
        let name = self.type_text(&of.ty);
        reject(
            "CS0021",
            format!(
                "Cannot apply indexing with [] to an expression of type '{name}': it has no length to count \
                    from"
            ),
            span,
        )
    }

    /// Binds `of[^by]`, an element that is counted from the end.
    fn element_from_end(&mut self, of: Typed, by: &Expr, span: Span) -> Bind<Typed> {
        let slot = self.slot();
        let kept = Typed::new(TypedKind::Slot(slot), of.ty.clone(), of.span);
        if let Ok(length) = self.length(&kept, span) {
            let by = self.convert_expr(by, &INT)?;
            let at = self.binary(BinaryOp::Subtract, length, by, span)?;
            let given = [SourceArgument {
                name: None,
                mode: ArgumentMode::Value,
                value: SourceArgumentValue::Value(at),
                span,
            }];
            let element = self.element_access(kept, &given, span)?;
            let ty = element.ty.clone();
            return Ok(Typed::new(TypedKind::Let(slot, of.boxed(), element.boxed()), ty, span));
        }
        let index = self.index_value(by, true, span)?;
        let given = [SourceArgument {
            name: None,
            mode: ArgumentMode::Value,
            value: SourceArgumentValue::Value(index),
            span,
        }];
        self.element_access(of, &given, span)
    }

    /// Binds the range access `of[from..to]`.
    fn slice(&mut self, of: Typed, from: Option<&Expr>, to: Option<&Expr>, span: Span) -> Bind<Typed> {
        let slot = self.slot();
        let kept = Typed::new(TypedKind::Slot(slot), of.ty.clone(), of.span);
        let length = self.length(&kept, span)?;
        let start = match from {
            Some(from) => self.position(from, &length)?,
            None => self.int(0, span),
        };
        let end = match to {
            Some(to) => self.position(to, &length)?,
            None => length,
        };
        let sliced = self.slice_value(kept, start, end, span)?;
        let ty = sliced.ty.clone();
        Ok(Typed::new(TypedKind::Let(slot, of.boxed(), sliced.boxed()), ty, span))
    }

    /// One end of a range, as a position from the start.
    fn position(&mut self, end: &Expr, length: &Typed) -> Bind<Typed> {
        match &super::equality::unparenthesized(end).kind {
            ExprKind::FromEnd(by) => {
                let by = self.convert_expr(by, &INT)?;
                self.binary(BinaryOp::Subtract, length.clone(), by, end.span)
            }
            _ => {
                let value = self.value(end)?;
                if self.types.is_named(&value.ty, "System.Index") {
                    return self.call_named(&value, "GetOffset", vec![length.clone()], end.span);
                }
                self.convert(value, &INT)
            }
        }
    }

    /// The slice of the value in a slot, from one position up to another.
    pub(super) fn slice_value(&mut self, of: Typed, start: Typed, end: Typed, span: Span) -> Bind<Typed> {
        if of.ty == STRING || matches!(of.ty, Ty::Vector(_)) {
            let ty = of.ty.clone();
            return Ok(Typed::new(TypedKind::Slice(of.boxed(), start.boxed(), end.boxed()), ty, span));
        }
        if self.contiguous_elements(&of.ty).is_some() {
            return leave_to_compiler("a slice of an inline array", span);
        }
        let (from, to) = (self.slot(), self.slot());
        let number = |slot: u32| Typed::new(TypedKind::Slot(slot), INT, span);
        let count = self.binary(BinaryOp::Subtract, number(to), number(from), span)?;
        let call = self.call_named(&of, "Slice", vec![number(from), count], span)?;
        let ty = call.ty.clone();
        let inner = Typed::new(TypedKind::Let(to, end.boxed(), call.boxed()), ty.clone(), span);
        Ok(Typed::new(TypedKind::Let(from, start.boxed(), inner.boxed()), ty, span))
    }

    fn by_index_value(&mut self, of: Typed, index: Typed, span: Span) -> Bind<Typed> {
        let slot = self.slot();
        let kept = Typed::new(TypedKind::Slot(slot), of.ty.clone(), of.span);
        let length = self.length(&kept, span)?;
        let at = self.call_named(&index, "GetOffset", vec![length], span)?;
        let given = [SourceArgument {
            name: None,
            mode: ArgumentMode::Value,
            value: SourceArgumentValue::Value(at),
            span,
        }];
        let element = self.element_access(kept, &given, span)?;
        let ty = element.ty.clone();
        Ok(Typed::new(TypedKind::Let(slot, of.boxed(), element.boxed()), ty, span))
    }

    fn by_range_value(&mut self, of: Typed, range: Typed, span: Span) -> Bind<Typed> {
        let (slot, range_slot) = (self.slot(), self.slot());
        let kept = Typed::new(TypedKind::Slot(slot), of.ty.clone(), of.span);
        let kept_range = Typed::new(TypedKind::Slot(range_slot), range.ty.clone(), range.span);
        let length = self.length(&kept, span)?;
        let mut ends = Vec::new();
        for name in ["Start", "End"] {
            let Some(Classification::Value(end)) = self.own_member(&kept_range, name, &[], span)? else {
                return reject("CS0656", "Missing compiler required member 'System.Range'", span);
            };
            ends.push(self.call_named(&end, "GetOffset", vec![length.clone()], span)?);
        }
        let (end, start) = (ends.pop(), ends.pop());
        let (Some(start), Some(end)) = (start, end) else {
            return reject("CS0656", "Missing compiler required member 'System.Range'", span);
        };
        let sliced = self.slice_value(kept, start, end, span)?;
        let ty = sliced.ty.clone();
        let inner = Typed::new(TypedKind::Let(range_slot, range.boxed(), sliced.boxed()), ty.clone(), span);
        Ok(Typed::new(TypedKind::Let(slot, of.boxed(), inner.boxed()), ty, span))
    }

    /// `^1` or a number as a `System.Index`.
    pub(super) fn index_value(&mut self, of: &Expr, from_end: bool, span: Span) -> Bind<Typed> {
        let at = self.value(of)?;
        if self.types.is_named(&at.ty, "System.Index") && !from_end {
            return Ok(at);
        }
        let at = self.convert(at, &INT)?;
        self.construct_from("System.Index", vec![at, self.truth_value(from_end, span)], &[INT, BOOL], span)
    }

    /// `a..b` as a `System.Range`.
    pub(super) fn range_value(&mut self, from: Option<&Expr>, to: Option<&Expr>, span: Span) -> Bind<Typed> {
        let mut ends = Vec::new();
        for (end, is_last) in [(from, false), (to, true)] {
            ends.push(match end {
                Some(end) => match &super::equality::unparenthesized(end).kind {
                    ExprKind::FromEnd(by) => self.index_value(by, true, span)?,
                    _ => self.index_value(end, false, span)?,
                },
                None => {
                    let zero = self.int(0, span);
                    self.construct_from(
                        "System.Index",
                        vec![zero, self.truth_value(is_last, span)],
                        &[INT, BOOL],
                        span,
                    )?
                }
            });
        }
        let index = ends.first().map(|end| end.ty.clone()).unwrap_or(Ty::Other);
        self.construct_from("System.Range", ends, &[index.clone(), index], span)
    }

    /// Binds `new T(values)` with the constructor that has exactly these parameter types.
    fn construct_from(&self, name: &str, values: Vec<Typed>, takes: &[Ty], span: Span) -> Bind<Typed> {
        let ty = self.types.named(name, Vec::new());
        let constructor = ty.as_ref().and_then(|ty| {
            let members = self.types.system.members(self.types.def(ty)?, ".ctor");
            members.iter().find_map(|member| match member {
                Member::Method(method) => {
                    let own: MethodRef = self.method_ref(method, ty, Vec::new());
                    (!method.is_static && own.parameters == takes).then_some(own)
                }
                _ => None,
            })
        });
        let (Some(ty), Some(constructor)) = (ty, constructor) else {
            return reject("CS0518", format!("Predefined type '{name}' is not defined or imported"), span);
        };
        Ok(Typed::new(TypedKind::New(Box::new(constructor), positional_arguments(values)), ty, span))
    }
}
