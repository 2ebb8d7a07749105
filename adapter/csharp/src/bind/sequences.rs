//! Calls of sequence methods that the debugger evaluates item by item: chooses the signature, and infers the
//! types of the lambdas.
//!
//! Not here: query expressions ([`super::queries`]).

use std::rc::Rc;

use super::binder::{Bind, Binder, leave_to_compiler};
use super::classification::{Classification, MethodGroup};
use super::lambdas::ExpectedResult;
use super::system::Member;
use super::typed::{Linq, LinqArgument, Typed, TypedKind};
use super::{Refusal, relations::TypeRelations};
use crate::linq::{ArgumentShape, DeclaringType, LinqSignature, ResultShape, SignatureType, signatures};
use crate::syntax::Span;
use crate::syntax::tree::{Argument, ArgumentMode, Expr, ExprKind};
use crate::types::{BOOL, INT, OBJECT, Ty, VOID, kind};

const ENUMERABLE: &str = "System.Linq.Enumerable";
const LIST: &str = "System.Collections.Generic.List`1";

/// A lambda, method group or value in the source.
enum SequenceArgument<'e> {
    Lambda(&'e crate::syntax::tree::Lambda, Span),
    Method(Box<MethodGroup>, Span),
    Value(&'e Expr),
}

/// The types that replace the type parameters of a signature.
#[derive(Clone)]
struct TypeSubstitution {
    item: Ty,
    vars: [Option<Ty>; 3],
}

impl Binder<'_> {
    /// Binds a method of the table; `None` if an ordinary method is called.
    pub(super) fn call_intrinsic(
        &mut self,
        group: &MethodGroup,
        arguments: &[Argument],
        span: Span,
    ) -> Bind<Option<Typed>> {
        let is_known =
            [DeclaringType::Sequence, DeclaringType::List, DeclaringType::Array, DeclaringType::Local]
                .into_iter()
                .any(|on| signatures(&group.name, on).next().is_some());
        if !is_known
            || arguments
                .iter()
                .any(|argument| argument.name.is_some() || argument.mode != ArgumentMode::Value)
        {
            return Ok(None);
        }
        let Some((of, on, rest)) = self.source(group, arguments)? else { return Ok(None) };
        let mut written = Vec::new();
        for argument in rest {
            written.push(self.written_argument(&argument.value)?);
        }
        let has_function = written.iter().any(|one| !matches!(one, SequenceArgument::Value(_)));
        if has_function && self.types.as_interface(&of.ty, "System.Linq.IQueryable").is_some() {
            return leave_to_compiler(
                format!("a lambda for a query (`{}`), which is an expression tree,", self.type_text(&of.ty)),
                span,
            );
        }
        let Some(item) = self.types.item_of(&of.ty) else { return Ok(None) };
        if !has_function {
            return self.call_local(&of, &item, group, rest, span);
        }
        let rows: Vec<&'static LinqSignature> =
            signatures(&group.name, on).filter(|row| fits_row(row, &written)).collect();
        let mut first: Option<Box<Refusal>> = None;
        for row in &rows {
            let known = TypeSubstitution { item: item.clone(), vars: [None, None, None] };
            match self.with_row(row, &of, known, &written, span) {
                Ok(value) => return Ok(Some(value)),
                Err(refusal) => first = first.or(Some(refusal)),
            }
        }
        match first {
            Some(refusal) => Err(refusal),
            None => leave_to_compiler("a lambda or a method as an argument", span),
        }
    }

    /// The sequence, the declaring type of the method, and the remaining arguments.
    #[allow(clippy::type_complexity, reason = "three parts of one call")]
    fn source<'e>(
        &mut self,
        group: &MethodGroup,
        arguments: &'e [Argument],
    ) -> Bind<Option<(Typed, DeclaringType, &'e [Argument])>> {
        match &group.of {
            None => {
                let on = if self.types.is_named(&group.owner, ENUMERABLE) {
                    DeclaringType::Sequence
                } else if self.types.is_named(&group.owner, "System.Array") {
                    DeclaringType::Array
                } else {
                    return Ok(None);
                };
                let Some((first, rest)) = arguments.split_first() else { return Ok(None) };
                if signatures(&group.name, on).next().is_none()
                    || matches!(first.value.kind, ExprKind::Lambda(_))
                {
                    return Ok(None);
                }
                Ok(Some((self.value(&first.value)?, on, rest)))
            }
            Some(of) => {
                let of = self.sequence_of(of);
                if self.types.is_named(&of.ty, LIST)
                    && signatures(&group.name, DeclaringType::List).next().is_some()
                {
                    return Ok(Some((of, DeclaringType::List, arguments)));
                }
                // A method of the type is preferred to an extension.
                let has_own = self.types.lineage(&of.ty).iter().any(|owner| {
                    self.types.def(owner).is_some_and(|def| {
                        let members = self.types.system.members(def, &group.name);
                        members.iter().any(|member| matches!(member, Member::Method(_)))
                    })
                });
                Ok((!has_own).then_some((of, DeclaringType::Sequence, arguments)))
            }
        }
    }

    /// A value as a sequence, by its declared type or its run-time type.
    fn sequence_of(&self, of: &Typed) -> Typed {
        if self.types.item_of(&of.ty).is_some() {
            return of.clone();
        }
        self.narrow(of)
            .filter(|narrow| self.types.item_of(&narrow.ty).is_some())
            .unwrap_or_else(|| of.clone())
    }

    fn written_argument<'e>(&mut self, expr: &'e Expr) -> Bind<SequenceArgument<'e>> {
        let inner = super::equality::unparenthesized(expr);
        Ok(match &inner.kind {
            ExprKind::Lambda(lambda) => SequenceArgument::Lambda(lambda, inner.span),
            ExprKind::Name(_) | ExprKind::Member(..) => match self.part(inner)? {
                Classification::Group(group) => SequenceArgument::Method(Box::new(group), inner.span),
                _ => SequenceArgument::Value(expr),
            },
            _ => SequenceArgument::Value(expr),
        })
    }

    /// Binds a method without a lambda. It is evaluated in the debugger if the sequence is local, otherwise
    /// by the method of the program.
    fn call_local(
        &mut self,
        of: &Typed,
        item: &Ty,
        group: &MethodGroup,
        rest: &[Argument],
        span: Span,
    ) -> Bind<Option<Typed>> {
        let is_here = matches!(of.kind, TypedKind::Linq(_) | TypedKind::Query(_));
        let may_be_here =
            matches!(of.kind, TypedKind::Slot(_)) && !of.ty.is_value() && self.types.is_interface(&of.ty);
        if !is_here && !may_be_here || group.of.is_none() {
            return Ok(None);
        }
        let Some(row) =
            signatures(&group.name, DeclaringType::Local).find(|row| row.takes.len() == rest.len())
        else {
            return Ok(None);
        };
        let written: Vec<SequenceArgument<'_>> =
            rest.iter().map(|argument| SequenceArgument::Value(&argument.value)).collect();
        let known = TypeSubstitution { item: item.clone(), vars: [None, None, None] };
        let here = self.with_row(row, of, known, &written, span);
        if is_here {
            return here.map(Some);
        }
        // Which of the two applies is known at evaluation.
        let given = self.source_arguments(rest)?;
        let call = self.call_best(group, &given, span)?;
        let Ok(Typed { kind: TypedKind::Linq(linq), ty, span }) = here else { return Ok(Some(call)) };
        Ok(Some(match ty == call.ty {
            true => Typed::new(TypedKind::Linq(Box::new(Linq { otherwise: Some(call), ..*linq })), ty, span),
            false => call,
        }))
    }

    fn with_row(
        &mut self,
        row: &'static LinqSignature,
        of: &Typed,
        known: TypeSubstitution,
        written: &[SequenceArgument<'_>],
        span: Span,
    ) -> Bind<Typed> {
        let mut known = known;
        let mut arguments = Vec::new();
        for (takes, written) in row.takes.iter().zip(written) {
            arguments.push(self.bound_argument(takes, written, &mut known, span)?);
        }
        let ty = self.given_type(row.gives, &known, span)?;
        let linq =
            Linq { intrinsic: row.intrinsic, of: of.clone(), arguments, item: known.item, otherwise: None };
        Ok(Typed::new(TypedKind::Linq(Box::new(linq)), ty, span))
    }

    fn bound_argument(
        &mut self,
        takes: &ArgumentShape,
        written: &SequenceArgument<'_>,
        known: &mut TypeSubstitution,
        span: Span,
    ) -> Bind<LinqArgument> {
        match (takes, written) {
            (ArgumentShape::Lambda(parameters, result), written) => {
                let types =
                    parameters.iter().map(|shape| self.shape(*shape, known)).collect::<Option<Vec<Ty>>>();
                let Some(types) = types else {
                    return leave_to_compiler("a lambda whose parameters are not known", span);
                };
                let expected_result = match result {
                    SignatureType::Nothing => ExpectedResult::Nothing,
                    SignatureType::SequenceOf(_) => ExpectedResult::Any,
                    shape => self.shape(*shape, known).map_or(ExpectedResult::Any, ExpectedResult::Of),
                };
                let lambda = match written {
                    SequenceArgument::Lambda(lambda, span) => {
                        self.lambda(lambda, &types, &expected_result, *span)?
                    }
                    SequenceArgument::Method(group, span) => {
                        self.method_as_lambda(group, &types, &expected_result, *span)?
                    }
                    SequenceArgument::Value(_) => {
                        return leave_to_compiler("a delegate as an argument", span);
                    }
                };
                match result {
                    SignatureType::Var(at) => known.set(*at, lambda.result.clone()),
                    SignatureType::SequenceOf(at) => match self.types.item_of(&lambda.result) {
                        Some(item) => known.set(*at, item),
                        None => return leave_to_compiler("a lambda that returns no sequence", span),
                    },
                    _ => {}
                }
                Ok(LinqArgument::Lambda(Rc::new(lambda)))
            }
            (ArgumentShape::Value(shape), SequenceArgument::Value(expr)) => {
                let value = match self.shape(*shape, known) {
                    Some(ty) if !matches!(shape, SignatureType::SequenceOf(_)) => {
                        self.convert_expr(expr, &ty)?
                    }
                    _ => self.value(expr)?,
                };
                match shape {
                    SignatureType::Var(at) => known.set(*at, value.ty.clone()),
                    SignatureType::SequenceOf(at) => match self.types.item_of(&value.ty) {
                        Some(item) => known.set(*at, item),
                        None => return leave_to_compiler("an argument that is not a sequence", span),
                    },
                    _ => {}
                }
                Ok(LinqArgument::Value(value))
            }
            (ArgumentShape::Comparer, SequenceArgument::Value(expr)) => {
                self.value(expr).map(LinqArgument::Value)
            }
            _ => leave_to_compiler("a lambda or a method as an argument", span),
        }
    }

    /// The type that a shape represents; `None` if it is not known yet.
    fn shape(&self, shape: SignatureType, known: &TypeSubstitution) -> Option<Ty> {
        Some(match shape {
            SignatureType::Item => known.item.clone(),
            SignatureType::Bool => BOOL,
            SignatureType::Int => INT,
            SignatureType::Var(at) => known.vars.get(usize::from(at))?.clone()?,
            SignatureType::SequenceOf(at) => {
                self.types.sequence(&known.vars.get(usize::from(at))?.clone()?)?
            }
            SignatureType::Items => self.types.sequence(&known.item)?,
            SignatureType::Nothing => VOID,
        })
    }

    fn given_type(&self, gives: ResultShape, known: &TypeSubstitution, span: Span) -> Bind<Ty> {
        let of = |shape: SignatureType| self.shape(shape, known);
        let generic = |name: &str, shapes: &[SignatureType]| {
            let arguments = shapes.iter().map(|shape| of(*shape)).collect::<Option<Vec<Ty>>>()?;
            self.types.named(name, arguments)
        };
        let ty = match gives {
            ResultShape::Just(shape) => of(shape),
            ResultShape::Sequence(shape) => of(shape).and_then(|ty| self.types.sequence(&ty)),
            ResultShape::List(shape) => generic(LIST, &[shape]),
            ResultShape::Array(shape) => of(shape).map(Ty::vector),
            ResultShape::Long => Some(Ty::Primitive(kind::I8)),
            ResultShape::Groups(key, element) => generic("System.Linq.IGrouping`2", &[key, element])
                .and_then(|group| self.types.sequence(&group)),
            ResultShape::Lookup(key, element) => generic("System.Linq.ILookup`2", &[key, element]),
            ResultShape::Dictionary(key, value) => {
                generic("System.Collections.Generic.Dictionary`2", &[key, value])
            }
            ResultShape::Sum(shape) => of(shape).and_then(|ty| self.types.sum(&ty)),
            ResultShape::Average(shape) => of(shape).and_then(|ty| self.types.average(&ty)),
        };
        match ty {
            Some(ty) => Ok(ty),
            None => leave_to_compiler("a sequence of values that this method does not take", span),
        }
    }
}

impl TypeSubstitution {
    fn set(&mut self, at: u8, ty: Ty) {
        let ty = if ty == Ty::Null { OBJECT } else { ty };
        if let Some(own) = self.vars.get_mut(usize::from(at))
            && own.is_none()
        {
            *own = Some(ty);
        }
    }
}

impl TypeRelations<'_> {
    pub(crate) fn sequence(&self, of: &Ty) -> Option<Ty> {
        self.named("System.Collections.Generic.IEnumerable`1", vec![of.clone()])
    }

    /// The result type of `Sum` for numbers of a type.
    fn sum(&self, ty: &Ty) -> Option<Ty> {
        let inside = self.inside(ty);
        let widest = match &inside {
            inside if self.is_decimal(inside) => inside.clone(),
            Ty::Primitive(kind::I4 | kind::I2 | kind::I1 | kind::U1 | kind::U2) => INT,
            Ty::Primitive(kind @ (kind::I8 | kind::R4 | kind::R8)) => Ty::Primitive(*kind),
            Ty::Primitive(kind::U4) => Ty::Primitive(kind::I8),
            _ => return None,
        };
        Some(if inside == *ty { widest } else { self.nullable_of(&widest) })
    }

    fn average(&self, ty: &Ty) -> Option<Ty> {
        let sum = self.sum(ty)?;
        let inside = self.inside(&sum);
        let widest = match &inside {
            Ty::Primitive(kind::R4) => inside.clone(),
            Ty::Primitive(_) => Ty::Primitive(kind::R8),
            _ => inside.clone(),
        };
        Some(if inside == sum { widest } else { self.nullable_of(&widest) })
    }
}

/// Whether the arguments match the shapes of a signature.
fn fits_row(row: &LinqSignature, written: &[SequenceArgument<'_>]) -> bool {
    row.takes.len() == written.len()
        && row.takes.iter().zip(written).all(|(takes, written)| match (takes, written) {
            (ArgumentShape::Lambda(parameters, _), SequenceArgument::Lambda(lambda, _)) => {
                parameters.len() == lambda.parameters.len()
            }
            (ArgumentShape::Lambda(..), SequenceArgument::Method(..)) => true,
            (ArgumentShape::Lambda(..), SequenceArgument::Value(_)) => false,
            (ArgumentShape::Value(_) | ArgumentShape::Comparer, SequenceArgument::Value(_)) => true,
            _ => false,
        })
}
