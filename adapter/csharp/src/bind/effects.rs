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
        self.each(&mut |part| has |= matches!(part.kind, Kind::Linq(_) | Kind::Query(_)));
        has
    }

    /// The effect of this node alone.
    fn own_effect(&self) -> Effects {
        match &self.kind {
            Kind::Property(..) | Kind::Indexer(..) => Effects::Getters,
            Kind::Call(_) | Kind::New(..) | Kind::NewArray { .. } | Kind::Tuple(_) | Kind::TypeOf(_) => {
                Effects::Calls
            }
            Kind::Convert(_, How::User(_)) => Effects::Calls,
            Kind::Text(_, false) => Effects::Calls,
            Kind::Interpolated(pieces) => {
                let runs = |piece: &Piece| matches!(piece, Piece::Hole(hole) if hole.format.is_some());
                if pieces.iter().any(runs) { Effects::Calls } else { Effects::None }
            }
            Kind::Slice(of, ..) if of.ty != STRING => Effects::Calls,
            Kind::Assign(to, _) if !matches!(to.kind, Kind::Slot(_)) => Effects::Assigns,
            Kind::Linq(linq) if linq.intrinsic.writes() => Effects::Assigns,
            _ => Effects::None,
        }
    }

    /// Goes through it and all its parts.
    pub(crate) fn each(&self, what: &mut dyn FnMut(&Self)) {
        what(self);
        let passed = |all: &[Passed], what: &mut dyn FnMut(&Self)| {
            for one in all {
                match &one.value {
                    Argument::Value(value) | Argument::Place(value) => value.each(what),
                    Argument::New(..) => {}
                }
            }
        };
        match &self.kind {
            Kind::Constant(_) | Kind::Default | Kind::Variable(_) | Kind::Slot(_) | Kind::This => {}
            Kind::Exception | Kind::ThreadId | Kind::TypeOf(_) | Kind::SizeOf(_) => {}
            Kind::Field(of, _) | Kind::Property(of, _) => {
                if let Some(of) = of {
                    of.each(what);
                }
            }
            Kind::Indexer(of, _, all) => {
                of.each(what);
                passed(all, what);
            }
            Kind::Length(of)
            | Kind::HasValue(of)
            | Kind::TupleElement(of, _)
            | Kind::Deref(of)
            | Kind::AddressOf(of)
            | Kind::Convert(of, _)
            | Kind::Unary(_, of, _)
            | Kind::IsNull(of)
            | Kind::Text(of, _)
            | Kind::Copy(of)
            | Kind::As(of)
            | Kind::Throw(of)
            | Kind::Narrow(of) => of.each(what),
            Kind::Element(of, all) => {
                of.each(what);
                all.iter().for_each(|one| one.each(what));
            }
            Kind::Call(call) => {
                if let Some(of) = &call.of {
                    of.each(what);
                }
                passed(&call.arguments, what);
            }
            Kind::New(_, all) => passed(all, what),
            Kind::NewText(all) | Kind::Tuple(all) | Kind::Concat(all) | Kind::Sequence(all) => {
                all.iter().for_each(|one| one.each(what));
            }
            Kind::NewArray { lengths, items, .. } => {
                lengths.iter().chain(items.iter().flatten()).for_each(|one| one.each(what));
            }
            Kind::Binary(_, a, b, _)
            | Kind::Same(a, b)
            | Kind::And(a, b)
            | Kind::Or(a, b)
            | Kind::Conditional(a, _, b)
            | Kind::Let(_, a, b)
            | Kind::Assign(a, b) => {
                // The target of an assignment is not read: a setter runs, no getter.
                match (&self.kind, &a.kind) {
                    (Kind::Assign(..), Kind::Property(of, _)) => of.iter().for_each(|of| of.each(what)),
                    (Kind::Assign(..), Kind::Indexer(of, _, all)) => {
                        of.each(what);
                        passed(all, what);
                    }
                    _ => a.each(what),
                }
                b.each(what);
            }
            Kind::Choice(a, b, c) | Kind::Coalesce(a, _, b, c) | Kind::Slice(a, b, c) => {
                [a, b, c].into_iter().for_each(|one| one.each(what));
            }
            Kind::Interpolated(pieces) => pieces.iter().for_each(|piece| match piece {
                Piece::Hole(hole) => hole.value.each(what),
                Piece::Text(_) => {}
            }),
            Kind::Is(of, _, test) => {
                of.each(what);
                test.each(what);
            }
            Kind::Switch(of, _, arms) => {
                of.each(what);
                for arm in arms {
                    arm.test.each(what);
                    arm.when.iter().for_each(|when| when.each(what));
                    arm.value.each(what);
                }
            }
            Kind::Linq(linq) => {
                linq.of.each(what);
                linq.otherwise.iter().for_each(|call| call.each(what));
                for argument in &linq.arguments {
                    match argument {
                        LinqArgument::Lambda(lambda) => lambda.body.each(what),
                        LinqArgument::Value(value) => value.each(what),
                    }
                }
            }
            Kind::Query(query) => query.clauses.iter().for_each(|clause| clause.each(what)),
        }
    }
}

impl Test {
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

impl Stmt {
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

impl Clause {
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
