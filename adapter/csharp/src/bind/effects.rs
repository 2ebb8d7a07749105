//! What evaluating an expression would do to the program, known before anything runs.

use super::typed::*;
use crate::syntax::Span;
use crate::types::STRING;

/// Side effects of an expression, in ascending order.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Default)]
pub enum Effects {
    /// It only reads memory.
    #[default]
    None,
    /// It may run getters and indexers.
    Getters,
    /// It calls methods, operators or constructors, or makes objects.
    Calls,
    /// It writes to variables or properties.
    Assigns,
}

impl Typed {
    /// The effects of evaluating it.
    pub fn effects(&self) -> Effects {
        self.strongest_effect().0
    }

    /// Its strongest effect, and where the first part is that has it.
    pub fn strongest_effect(&self) -> (Effects, Span) {
        let mut found = (Effects::None, self.span);
        self.each(&mut |part| {
            let effects = part.own_effect();
            if effects > found.0 {
                found = (effects, part.span);
            }
        });
        found
    }

    /// Whether a lambda is worked out item by item somewhere in it.
    pub fn has_lambda(&self) -> bool {
        let mut has = false;
        self.each(&mut |part| has |= matches!(part.kind, TypedKind::Linq(_) | TypedKind::Query(_)));
        has
    }

    /// The effect of this node alone.
    fn own_effect(&self) -> Effects {
        match &self.kind {
            TypedKind::Property(..) | TypedKind::Indexer(..) => Effects::Getters,
            TypedKind::Call(_)
            | TypedKind::New(..)
            | TypedKind::NewArray { .. }
            | TypedKind::Tuple(_)
            | TypedKind::TypeOf(_) => Effects::Calls,
            TypedKind::Convert(_, How::User(_)) => Effects::Calls,
            TypedKind::Text(_, false) => Effects::Calls,
            TypedKind::Interpolated(pieces) => {
                let runs = |piece: &TypedInterpolatedPart| {
                    matches!(piece,
                    TypedInterpolatedPart::Hole(hole) if hole.format.is_some())
                };
                if pieces.iter().any(runs) { Effects::Calls } else { Effects::None }
            }
            TypedKind::Slice(of, ..) if of.ty != STRING => Effects::Calls,
            TypedKind::Assign(to, _) if !matches!(to.kind, TypedKind::Slot(_)) => Effects::Assigns,
            TypedKind::Linq(linq) if linq.intrinsic.writes() => Effects::Assigns,
            _ => Effects::None,
        }
    }

    /// Goes through it and all its parts.
    pub(crate) fn each(&self, what: &mut dyn FnMut(&Self)) {
        what(self);
        let passed = |all: &[Passed], what: &mut dyn FnMut(&Self)| {
            for one in all {
                match &one.value {
                    TypedArgument::Value(value) | TypedArgument::Place(value) => value.each(what),
                    TypedArgument::New(..) => {}
                }
            }
        };
        match &self.kind {
            TypedKind::Constant(_)
            | TypedKind::Default
            | TypedKind::Variable(_)
            | TypedKind::Slot(_)
            | TypedKind::This => {}
            TypedKind::Exception | TypedKind::ThreadId | TypedKind::TypeOf(_) | TypedKind::SizeOf(_) => {}
            TypedKind::Field(of, _) | TypedKind::Property(of, _) => {
                if let Some(of) = of {
                    of.each(what);
                }
            }
            TypedKind::Indexer(of, _, all) => {
                of.each(what);
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
            | TypedKind::As(of)
            | TypedKind::Throw(of)
            | TypedKind::Narrow(of) => of.each(what),
            TypedKind::Element(of, all) => {
                of.each(what);
                all.iter().for_each(|one| one.each(what));
            }
            TypedKind::Call(call) => {
                if let Some(of) = &call.of {
                    of.each(what);
                }
                passed(&call.arguments, what);
            }
            TypedKind::New(_, all) => passed(all, what),
            TypedKind::NewText(all)
            | TypedKind::Tuple(all)
            | TypedKind::Concat(all)
            | TypedKind::Sequence(all) => {
                all.iter().for_each(|one| one.each(what));
            }
            TypedKind::NewArray { lengths, items, .. } => {
                lengths.iter().chain(items.iter().flatten()).for_each(|one| one.each(what));
            }
            TypedKind::Binary(_, a, b, _)
            | TypedKind::Same(a, b)
            | TypedKind::And(a, b)
            | TypedKind::Or(a, b)
            | TypedKind::Conditional(a, _, b)
            | TypedKind::Let(_, a, b)
            | TypedKind::Assign(a, b) => {
                // The target of an assignment is not read: a setter runs, no getter.
                match (&self.kind, &a.kind) {
                    (TypedKind::Assign(..), TypedKind::Property(of, _)) => {
                        of.iter().for_each(|of| of.each(what))
                    }
                    (TypedKind::Assign(..), TypedKind::Indexer(of, _, all)) => {
                        of.each(what);
                        passed(all, what);
                    }
                    _ => a.each(what),
                }
                b.each(what);
            }
            TypedKind::Choice(a, b, c) | TypedKind::Coalesce(a, _, b, c) | TypedKind::Slice(a, b, c) => {
                [a, b, c].into_iter().for_each(|one| one.each(what));
            }
            TypedKind::Interpolated(pieces) => pieces.iter().for_each(|piece| match piece {
                TypedInterpolatedPart::Hole(hole) => hole.value.each(what),
                TypedInterpolatedPart::Text(_) => {}
            }),
            TypedKind::Is(of, _, test) => {
                of.each(what);
                test.each(what);
            }
            TypedKind::Switch(of, _, arms) => {
                of.each(what);
                for arm in arms {
                    arm.test.each(what);
                    arm.when.iter().for_each(|when| when.each(what));
                    arm.value.each(what);
                }
            }
            TypedKind::Linq(linq) => {
                linq.of.each(what);
                linq.otherwise.iter().for_each(|call| call.each(what));
                for argument in &linq.arguments {
                    match argument {
                        LinqArgument::Lambda(lambda) => lambda.body.each(what),
                        LinqArgument::Value(value) => value.each(what),
                    }
                }
            }
            TypedKind::Query(query) => query.clauses.iter().for_each(|clause| clause.each(what)),
        }
    }
}

impl TypedPattern {
    fn each(&self, what: &mut dyn FnMut(&Typed)) {
        match self {
            Self::Constant(of) | Self::Holds(of) => of.each(what),
            Self::Not(of) => of.each(what),
            Self::All(all) | Self::Any(all) => all.iter().for_each(|one| one.each(what)),
            Self::Part(of, _, test) => {
                of.each(what);
                test.each(what);
            }
            Self::Always | Self::Keep(_) | Self::Type(..) | Self::NotNull | Self::Null => {}
        }
    }
}

impl Body {
    fn each(&self, what: &mut dyn FnMut(&Typed)) {
        match self {
            Self::Value(value) => value.each(what),
            Self::Block(all) => all.iter().for_each(|one| one.each(what)),
        }
    }
}

impl TypedStmt {
    fn each(&self, what: &mut dyn FnMut(&Typed)) {
        match self {
            Self::Block(all) => all.iter().for_each(|one| one.each(what)),
            Self::Value(value) | Self::Throw(value) => value.each(what),
            Self::Local(_, _, value) | Self::Return(value) => value.iter().for_each(|value| value.each(what)),
            Self::If(condition, then, other) => {
                condition.each(what);
                then.each(what);
                other.iter().for_each(|other| other.each(what));
            }
            Self::Loop { condition, updates, body, .. } => {
                condition.iter().chain(updates).for_each(|part| part.each(what));
                body.each(what);
            }
            Self::ForEach { of, item, body, .. } => {
                of.each(what);
                item.iter().for_each(|(_, item)| item.each(what));
                body.each(what);
            }
            Self::Break | Self::Continue => {}
        }
    }
}

impl TypedQueryClause {
    fn each(&self, what: &mut dyn FnMut(&Typed)) {
        match self {
            Self::From { of, value, .. } => {
                of.each(what);
                value.iter().for_each(|(_, value)| value.each(what));
            }
            Self::Let(_, of) | Self::Where(of) | Self::Select(of) => of.each(what),
            Self::Join { of, outer, inner, .. } => {
                [of, outer, inner].into_iter().for_each(|one| one.each(what))
            }
            Self::OrderBy(keys) => keys.iter().for_each(|(key, _)| key.each(what)),
            Self::Group(element, key) => [element, key].into_iter().for_each(|one| one.each(what)),
            Self::Into(_) => {}
        }
    }
}
