//! `new`: objects with constructors and initialisers, arrays, tuples (language specification, 12.8.17 and
//! 12.8.6).
//!
//! Not here: the choice among constructors ([`super::overloads`]).

use std::rc::Rc;

use super::anonymous_objects::{anonymous_object, inferred_name};
use super::binder::{Bind, Binder, leave_to_compiler, reject};
use super::classification::Classification;
use super::conversions::ConversionSteps;
use super::system::{Member, Method, TypeKind};
use super::typed::{ConversionKind, Typed, TypedKind};
use crate::constant::Constant;
use crate::syntax::Span;
use crate::syntax::tree::{
    Argument, ArrayItem, Expr, Initializer, InitializerTarget, InitializerValue, MemberInitializer, TypeName,
};
use crate::types::{OBJECT, STRING, TupleNames, Ty, kind};

impl Binder<'_> {
    /// Binds `new T(arguments) { … }`.
    pub(super) fn creation(
        &mut self,
        ty: &Ty,
        arguments: &[Argument],
        initializer: Option<&Initializer>,
        span: Span,
    ) -> Bind<Typed> {
        let made = self.construct_object(ty, arguments, span)?;
        let Some(initializer) = initializer else { return Ok(made) };
        let slot = self.slot();
        let kept = Typed::new(TypedKind::Slot(slot), ty.clone(), span);
        let mut steps = Vec::new();
        self.initialize(&kept, initializer, &mut steps, span)?;
        steps.push(kept);
        let whole = Typed::new(TypedKind::Sequence(steps), ty.clone(), span);
        Ok(Typed::new(TypedKind::Let(slot, made.boxed(), whole.boxed()), ty.clone(), span))
    }

    fn construct_object(&mut self, ty: &Ty, arguments: &[Argument], span: Span) -> Bind<Typed> {
        let name = self.type_text(ty);
        if let Some(inner) = self.types.nullable(ty) {
            let [only] = arguments else { return Ok(self.default_of(ty, span)) };
            let value = self.convert_expr(&only.value, &inner)?;
            return self.convert(value, ty);
        }
        let Some(info) = self.types.info(ty).filter(|_| matches!(ty, Ty::Named(_) | Ty::Primitive(_))) else {
            return reject("CS0246", format!("The type '{name}' cannot be created with `new`"), span);
        };
        if info.is_abstract {
            return reject(
                "CS0144",
                format!("Cannot create an instance of the abstract type or interface '{name}'"),
                span,
            );
        }
        if info.kind == TypeKind::Delegate {
            return leave_to_compiler("a new delegate", span);
        }
        if arguments.is_empty() && ty.is_value() && *ty != STRING && !self.has_own_constructor(ty) {
            return Ok(self.default_of(ty, span));
        }
        let Some(def) = self.types.def(ty) else {
            return reject("CS0246", format!("The type '{name}' could not be found"), span);
        };
        let constructors: Vec<(Rc<Method>, Ty)> = self
            .types
            .system
            .members(def, ".ctor")
            .iter()
            .filter_map(|member| match member {
                Member::Method(method) if !method.is_static => Some((method.clone(), ty.clone())),
                _ => None,
            })
            .collect();
        let given = self.source_arguments(arguments)?;
        let candidates = self.applicable(&constructors, &[], &given);
        let Some(best) = self.best(candidates, &given, span)? else {
            return self.reject_call(&name, &constructors, &given, span);
        };
        if given
            .iter()
            .any(|given| matches!(given.value, super::source_argument::SourceArgumentValue::Function))
        {
            return leave_to_compiler("a lambda or a method as an argument", span);
        }
        let is_text = self.is_text_constructor(&best.method.method);
        let passed = self.pass_arguments(&best, &given, span)?;
        if is_text {
            let values = passed.into_iter().filter_map(|one| match one.value {
                super::typed::TypedArgument::Value(value) => Some(value),
                _ => None,
            });
            return Ok(Typed::new(TypedKind::NewText(values.collect()), STRING, span));
        }
        Ok(Typed::new(TypedKind::New(Box::new(best.method), passed), ty.clone(), span))
    }

    /// Whether a struct has a constructor without parameters.
    fn has_own_constructor(&self, ty: &Ty) -> bool {
        let Some(def) = self.types.def(ty) else { return false };
        self.types.system.members(def, ".ctor").iter().any(|member| {
            matches!(member, Member::Method(method) if !method.is_static && method.parameters.is_empty())
        })
    }

    fn initialize(
        &mut self,
        of: &Typed,
        initializer: &Initializer,
        steps: &mut Vec<Typed>,
        span: Span,
    ) -> Bind<()> {
        match initializer {
            Initializer::Members(members) => {
                for member in members {
                    self.initialize_member(of, member, steps)?;
                }
            }
            Initializer::Items(items) => {
                for row in items {
                    let arguments: Vec<Argument> = row
                        .iter()
                        .map(|value| Argument {
                            name: None,
                            mode: crate::syntax::tree::ArgumentMode::Value,
                            value: value.clone(),
                        })
                        .collect();
                    let name = crate::syntax::tree::SimpleName {
                        text: "Add".into(),
                        arguments: Vec::new(),
                        open: 0,
                        span,
                    };
                    let Classification::Group(group) = self.member_of_value(of.clone(), &name, span)? else {
                        return reject("CS1922", "Cannot initialize a type that has no 'Add' method", span);
                    };
                    let given = self.source_arguments(&arguments)?;
                    steps.push(self.call_best(&group, &given, span)?);
                }
            }
        }
        Ok(())
    }

    fn initialize_member(
        &mut self,
        of: &Typed,
        member: &MemberInitializer,
        steps: &mut Vec<Typed>,
    ) -> Bind<()> {
        let span = member.span;
        let place = match &member.target {
            InitializerTarget::Member(name) => {
                let found = self.own_member(of, name, &[], span)?;
                match found {
                    Some(Classification::Value(place)) => place,
                    _ => {
                        let owner = self.type_text(&of.ty);
                        return reject(
                            "CS0117",
                            format!("'{owner}' does not contain a definition for '{name}'"),
                            span,
                        );
                    }
                }
            }
            InitializerTarget::Index(arguments) => {
                let given = self.source_arguments(arguments)?;
                self.element_access(of.clone(), &given, span)?
            }
        };
        match &member.value {
            InitializerValue::Nested(initializer) => self.initialize(&place, initializer, steps, span),
            InitializerValue::Value(value) => {
                let value = self.convert_expr(value, &place.ty)?;
                steps.push(self.assign_to(place, value, span)?);
                Ok(())
            }
        }
    }

    /// Binds `new T[2] { … }`, `new[] { … }` and `new int[2, 3]`.
    pub(super) fn new_array(
        &mut self,
        of: Option<&TypeName>,
        lengths: &[Expr],
        rank: u32,
        items: Option<&[ArrayItem]>,
        span: Span,
    ) -> Bind<Typed> {
        let of = of.map(|of| self.type_of_name(of)).transpose()?;
        let mut bound = Vec::new();
        for length in lengths {
            let length = self.value(length)?;
            let to = if self.implicit_conversion(&length, &crate::types::INT).is_some() {
                kind::I4
            } else {
                kind::I8
            };
            let length = self.convert(length, &Ty::Primitive(to))?;
            if matches!(length.constant(), Some(Constant::Int(_, length)) if *length < 0) {
                return reject("CS0248", "Cannot create an array with a negative size", length.span);
            }
            bound.push(length);
        }
        let Some(items) = items else {
            let Some(of) = of else {
                return reject("CS0826", "No best type found for implicitly-typed array", span);
            };
            self.require_storable(&of, span)?;
            let ty = array_type(&of, rank);
            return Ok(Typed::new(TypedKind::NewArray { of, lengths: bound, items: None }, ty, span));
        };
        let (mut written, mut shape) = (Vec::new(), vec![None; rank as usize]);
        rows(items, &mut written, &mut shape, span)?;
        let of = match of {
            Some(of) => of,
            None => self.best_common_type(&written, span)?,
        };
        self.require_storable(&of, span)?;
        let mut values = Vec::new();
        for item in written {
            values.push(self.convert_expr(item, &of)?);
        }
        let shape: Vec<i32> =
            shape.into_iter().map(|length| i32::try_from(length.unwrap_or(0)).unwrap_or(i32::MAX)).collect();
        for (length, is) in bound.iter().zip(&shape) {
            if length.constant() != Some(&Constant::int(*is)) {
                let size = length.constant().map(Constant::invariant_text).unwrap_or_default();
                return reject(
                    "CS0847",
                    format!(
                        "An array initializer of length '{size}' is expected: there are not as many items"
                    ),
                    length.span,
                );
            }
        }
        let lengths = if rank > 1 {
            shape.into_iter().map(|length| self.int(length, span)).collect()
        } else {
            Vec::new()
        };
        let ty = array_type(&of, rank);
        Ok(Typed::new(TypedKind::NewArray { of, lengths, items: Some(values) }, ty, span))
    }

    /// The best common type: the type of one of these to which all of them convert (12.6.3.16).
    fn best_common_type(&mut self, items: &[&Expr], span: Span) -> Bind<Ty> {
        let mut values = Vec::new();
        for item in items {
            if !item.kind.takes_type() {
                values.push(self.value(item)?);
            }
        }
        match self.common_type(&values) {
            Some(ty) => Ok(ty),
            None => reject("CS0826", "No best type found for implicitly-typed array", span),
        }
    }

    /// Refuses an array or tuple of values that exist on stacks only: it would fail after they were created.
    fn require_storable(&self, ty: &Ty, span: Span) -> Bind<()> {
        if self.types.is_by_ref(ty) {
            let name = self.type_text(ty);
            return reject(
                "CS0611",
                format!("Elements of arrays and tuples cannot be of type '{name}'"),
                span,
            );
        }
        Ok(())
    }

    pub(super) fn common_type(&self, values: &[Typed]) -> Option<Ty> {
        let candidates =
            values.iter().filter(|value| !value.is_null() && !matches!(value.kind, TypedKind::Throw(_)));
        let fits = |ty: &Ty| values.iter().all(|value| self.implicit_conversion(value, ty).is_some());
        let fitting: Vec<&Ty> = candidates.map(|value| &value.ty).filter(|ty| fits(ty)).collect();
        let best = fitting.iter().find(|to| fitting.iter().all(|from| self.types.widens(from, to)));
        best.or(fitting.first()).map(|ty| (*ty).clone())
    }

    /// Binds the anonymous object `new { A = 1, b.Name }`.
    pub(super) fn anonymous(&mut self, properties: &[(Option<Rc<str>>, Expr)], span: Span) -> Bind<Typed> {
        anonymous_object(self, properties, span)
    }

    /// Binds the tuple literal `(a, b)`.
    pub(super) fn tuple(&mut self, elements: &[(Option<Rc<str>>, Expr)], span: Span) -> Bind<Typed> {
        let (mut values, mut names) = (Vec::new(), Vec::<Option<Rc<str>>>::new());
        for (name, element) in elements {
            let inferred = || inferred_name(element).filter(|name| !is_tuple_member(name));
            let name = name.clone().or_else(inferred);
            names.push(name.filter(|name| !names.contains(&Some(name.clone()))));
            let value = self.value(element)?;
            self.require_storable(&value.ty, value.span)?;
            values.push(value);
        }
        self.tuple_with(values, TupleNames::new(names), span)
    }

    /// A tuple expression converts element by element, its constants as constants (10.2.13).
    pub(super) fn tuple_conversion(&self, value: &Typed, to: &Ty) -> Option<ConversionSteps> {
        let TypedKind::Tuple(values) = &value.kind else { return None };
        let inside = self.types.inside(to);
        let target = self.types.tuple(&inside).filter(|target| target.len() == values.len())?;
        let elements = values.iter().zip(&target).map(|(value, to)| self.implicit_conversion(value, to));
        let elements: Vec<ConversionSteps> = elements.collect::<Option<_>>()?;
        let mut steps = vec![(ConversionKind::Tuple(elements.into()), inside.clone())];
        if inside != *to {
            steps.push((ConversionKind::Wrap, to.clone()));
        }
        Some(steps)
    }

    /// A tuple of values, with names of its elements.
    pub(super) fn tuple_with(&mut self, values: Vec<Typed>, names: TupleNames, span: Span) -> Bind<Typed> {
        let types: Vec<Ty> =
            values.iter().map(|value| if value.is_null() { OBJECT } else { value.ty.clone() }).collect();
        if types.len() > 7 {
            return leave_to_compiler("a tuple of more than 7 elements", span);
        }
        let Some(ty) = self.types.tuple_of(types.clone(), names) else {
            return reject("CS8179", "Predefined type 'System.ValueTuple' is not defined or imported", span);
        };
        let mut converted = Vec::new();
        for (value, ty) in values.into_iter().zip(&types) {
            converted.push(self.convert(value, ty)?);
        }
        Ok(Typed::new(TypedKind::Tuple(converted), ty, span))
    }
}

/// Whether a name is a member of all tuples. An element gets such a name only if it is explicit:
/// `(pair.Item2, 1).Item2` is 1 (12.8.6).
fn is_tuple_member(name: &str) -> bool {
    let number = name.strip_prefix("Item").filter(|digits| !digits.is_empty() && !digits.starts_with('0'));
    number.is_some_and(|digits| digits.bytes().all(|digit| digit.is_ascii_digit()))
        || ["Rest", "CompareTo", "Deconstruct", "Equals", "GetHashCode", "ToString"].contains(&name)
}

fn array_type(of: &Ty, rank: u32) -> Ty {
    if rank == 1 { of.clone().vector() } else { Ty::Array(Box::new(of.clone()), rank) }
}

/// Collects the items between braces, row by row, and the number of items on each level.
fn rows<'e>(
    items: &'e [ArrayItem],
    all: &mut Vec<&'e Expr>,
    shape: &mut [Option<usize>],
    span: Span,
) -> Bind<()> {
    let Some((length, deeper)) = shape.split_first_mut() else {
        return reject(
            "CS0623",
            "Array initializers can only be used in a variable or field initializer",
            span,
        );
    };
    if length.replace(items.len()).is_some_and(|known| known != items.len()) {
        return reject(
            "CS0847",
            "An array initializer of another length is expected: rows are equally long",
            span,
        );
    }
    for item in items {
        match (item, deeper.is_empty()) {
            (ArrayItem::Row(inner, span), false) => rows(inner, all, deeper, *span)?,
            (ArrayItem::Value(value), true) => all.push(value),
            (ArrayItem::Row(_, span), true) => {
                return reject(
                    "CS0623",
                    "Array initializers can only be used in a variable or field initializer",
                    *span,
                );
            }
            (ArrayItem::Value(value), false) => {
                return reject("CS0846", "A nested array initializer is expected", value.span);
            }
        }
    }
    Ok(())
}
