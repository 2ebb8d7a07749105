//! The effects of an evaluation on the program, which are known before it runs.
//!
//! Refuses nothing: the engine decides which effects a request may have.

use super::typed::*;
use crate::syntax::Span;
use crate::types::STRING;

/// Side effects of an expression, in ascending order.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Default)]
pub enum Effects {
    /// The evaluation only reads memory.
    #[default]
    None,
    /// The evaluation may run getters and indexers.
    Getters,
    /// The evaluation calls methods, operators or constructors, or creates objects.
    Calls,
    /// The evaluation writes to variables or properties.
    Assigns,
}

impl Typed {
    /// The effects of evaluating this expression.
    pub fn effects(&self) -> Effects {
        self.strongest_effect().0
    }

    /// The strongest effect, and the first part of the expression that has it.
    pub fn strongest_effect(&self) -> (Effects, Span) {
        let mut found = (Effects::None, self.span);
        self.visit(&mut |part| {
            let effects = part.own_effect();
            if effects > found.0 {
                found = (effects, part.span);
            }
        });
        found
    }

    /// Whether the expression contains a lambda that is evaluated for each item.
    pub fn has_lambda(&self) -> bool {
        let mut has = false;
        self.visit(&mut |part| has |= matches!(part.kind, TypedKind::Linq(_) | TypedKind::Query(_)));
        has
    }

    /// The effect of this node without its parts.
    fn own_effect(&self) -> Effects {
        match &self.kind {
            TypedKind::Property(..) | TypedKind::Indexer(..) => Effects::Getters,
            TypedKind::Call(call) if call.is_getter => Effects::Getters,
            TypedKind::Call(_)
            | TypedKind::New(..)
            | TypedKind::NewArray { .. }
            | TypedKind::Tuple(_)
            | TypedKind::TypeOf(_) => Effects::Calls,
            TypedKind::Convert(_, ConversionKind::User(_)) => Effects::Calls,
            // The runtime has to find the interned string.
            TypedKind::Same(a, b) if a.interned_text().is_some() != b.interned_text().is_some() => {
                Effects::Getters
            }
            TypedKind::Text(_, false) => Effects::Calls,
            TypedKind::Interpolated(pieces) => {
                let runs = |piece: &TypedInterpolatedPart| {
                    matches!(piece,
                    TypedInterpolatedPart::Interpolation(interpolation) if interpolation.format.is_some())
                };
                if pieces.iter().any(runs) { Effects::Calls } else { Effects::None }
            }
            TypedKind::Slice(of, ..) if of.ty != STRING => Effects::Calls,
            TypedKind::Assign(to, _) if !matches!(to.kind, TypedKind::Slot(_)) => Effects::Assigns,
            TypedKind::Linq(linq) if linq.intrinsic.writes() => Effects::Assigns,
            _ => Effects::None,
        }
    }

    /// Calls `what` for this node and all its parts.
    pub(crate) fn visit(&self, what: &mut dyn FnMut(&Self)) {
        what(self);
        let passed = |all: &[PassedArgument], what: &mut dyn FnMut(&Self)| {
            for one in all {
                match &one.value {
                    TypedArgument::Value(value) | TypedArgument::Place(value) => value.visit(what),
                    TypedArgument::New(..) => {}
                }
            }
        };
        match &self.kind {
            TypedKind::Constant(_)
            | TypedKind::Default
            | TypedKind::Variable(_)
            | TypedKind::Slot(_)
            | TypedKind::OwnSlot(_)
            | TypedKind::This => {}
            TypedKind::Exception | TypedKind::ThreadId | TypedKind::TypeOf(_) | TypedKind::SizeOf(_) => {}
            TypedKind::Field(of, _) | TypedKind::Property(of, _) => {
                if let Some(of) = of {
                    of.visit(what);
                }
            }
            TypedKind::Indexer(of, _, all) => {
                of.visit(what);
                passed(all, what);
            }
            TypedKind::Length(of)
            | TypedKind::HasValue(of)
            | TypedKind::TupleElement(of, _)
            | TypedKind::Deref(of)
            | TypedKind::AddressOf(of)
            | TypedKind::Convert(of, _)
            | TypedKind::Unary(_, of, _)
            | TypedKind::IsNull(of)
            | TypedKind::Text(of, _)
            | TypedKind::Copy(of)
            | TypedKind::StructCopy(of)
            | TypedKind::As(of)
            | TypedKind::Throw(of)
            | TypedKind::Narrow(of) => of.visit(what),
            TypedKind::Element(of, all) => {
                of.visit(what);
                all.iter().for_each(|one| one.visit(what));
            }
            TypedKind::Call(call) => {
                if let Some(of) = &call.of {
                    of.visit(what);
                }
                passed(&call.arguments, what);
            }
            TypedKind::New(_, all) => passed(all, what),
            TypedKind::NewText(all)
            | TypedKind::Tuple(all)
            | TypedKind::Concat(all)
            | TypedKind::Sequence(all) => {
                all.iter().for_each(|one| one.visit(what));
            }
            TypedKind::NewArray { lengths, items, .. } => {
                lengths.iter().chain(items.iter().flatten()).for_each(|one| one.visit(what));
            }
            TypedKind::Binary(_, a, b, _)
            | TypedKind::Same(a, b)
            | TypedKind::And(a, b)
            | TypedKind::Or(a, b)
            | TypedKind::Conditional(a, _, b)
            | TypedKind::Let(_, a, b)
            | TypedKind::Assign(a, b) => {
                // The target of an assignment is not read: a setter runs, but no getter.
                match (&self.kind, &a.kind) {
                    (TypedKind::Assign(..), TypedKind::Property(of, _)) => {
                        of.iter().for_each(|of| of.visit(what))
                    }
                    (TypedKind::Assign(..), TypedKind::Indexer(of, _, all)) => {
                        of.visit(what);
                        passed(all, what);
                    }
                    _ => a.visit(what),
                }
                b.visit(what);
            }
            TypedKind::Choice(a, b, c) | TypedKind::Coalesce(a, _, b, c) | TypedKind::Slice(a, b, c) => {
                [a, b, c].into_iter().for_each(|one| one.visit(what));
            }
            TypedKind::Interpolated(pieces) => pieces.iter().for_each(|piece| match piece {
                TypedInterpolatedPart::Interpolation(interpolation) => interpolation.value.visit(what),
                TypedInterpolatedPart::Text(_) => {}
            }),
            TypedKind::Is(of, _, test) => {
                of.visit(what);
                test.visit(what);
            }
            TypedKind::Switch(of, _, arms) => {
                of.visit(what);
                for arm in arms {
                    arm.test.visit(what);
                    arm.when.iter().for_each(|when| when.visit(what));
                    arm.value.visit(what);
                }
            }
            TypedKind::Linq(linq) => {
                linq.of.visit(what);
                linq.otherwise.iter().for_each(|call| call.visit(what));
                for argument in &linq.arguments {
                    match argument {
                        LinqArgument::Lambda(lambda) => lambda.body.visit(what),
                        LinqArgument::Value(value) => value.visit(what),
                    }
                }
            }
            TypedKind::Query(query) => query.clauses.iter().for_each(|clause| clause.visit(what)),
        }
    }
}

impl TypedPattern {
    fn visit(&self, what: &mut dyn FnMut(&Typed)) {
        match self {
            Self::Constant(of) | Self::Holds(of) => of.visit(what),
            Self::Not(of) => of.visit(what),
            Self::All(all) | Self::Any(all) => all.iter().for_each(|one| one.visit(what)),
            Self::Part(of, _, test) => {
                of.visit(what);
                test.visit(what);
            }
            Self::Always | Self::Keep(_) | Self::Type(..) | Self::NotNull | Self::Null => {}
        }
    }
}

impl Body {
    fn visit(&self, what: &mut dyn FnMut(&Typed)) {
        match self {
            Self::Value(value) => value.visit(what),
            Self::Block(all) => all.iter().for_each(|one| one.visit(what)),
        }
    }
}

impl TypedStmt {
    fn visit(&self, what: &mut dyn FnMut(&Typed)) {
        match self {
            Self::Block(all) => all.iter().for_each(|one| one.visit(what)),
            Self::Value(value) | Self::Throw(value) => value.visit(what),
            Self::Local(_, _, value) | Self::Return(value) => {
                value.iter().for_each(|value| value.visit(what))
            }
            Self::If(condition, then, other) => {
                condition.visit(what);
                then.visit(what);
                other.iter().for_each(|other| other.visit(what));
            }
            Self::Loop { condition, updates, body, .. } => {
                condition.iter().chain(updates).for_each(|part| part.visit(what));
                body.visit(what);
            }
            Self::ForEach { of, item, body, .. } => {
                of.visit(what);
                item.iter().for_each(|(_, item)| item.visit(what));
                body.visit(what);
            }
            Self::Break | Self::Continue => {}
        }
    }
}

impl TypedQueryClause {
    fn visit(&self, what: &mut dyn FnMut(&Typed)) {
        match self {
            Self::From { of, value, .. } => {
                of.visit(what);
                value.iter().for_each(|(_, value)| value.visit(what));
            }
            Self::Let(_, of) | Self::Where(of) | Self::Select(of) => of.visit(what),
            Self::Join { of, outer, inner, .. } => {
                [of, outer, inner].into_iter().for_each(|one| one.visit(what))
            }
            Self::OrderBy(keys) => keys.iter().for_each(|(key, _)| key.visit(what)),
            Self::Group(element, key) => [element, key].into_iter().for_each(|one| one.visit(what)),
            Self::Into(_) => {}
        }
    }
}
