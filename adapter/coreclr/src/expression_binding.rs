//! Expressions bound in their contexts, which are cached: what one is evaluated for, where it is bound, and
//! the scope there with the paths to its variables. Binds and evaluates none ([`super::evaluator`]).

use std::rc::Rc;

use tandem_csharp::bind::{Effects, Meaning, Scope};
use tandem_csharp::syntax::Span;
use tandem_wire::{ErrorCode, Failure};

use super::expression_syntax::failed;
use super::func_eval::EvalContext;
use super::typed_value::TypedValue;
use super::types::Ty;
use super::value_path::{Path, PathRoot};

/// Effects that an evaluation may have on the program.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum AllowedEffects {
    Everything,
    /// Getters and indexers, for a hover.
    Hovering,
    /// The same, because the client allows no more.
    NoSideEffects,
}

impl AllowedEffects {
    /// The strongest effect of an evaluation for a client that may only look, or may do more.
    pub(super) fn strongest(self, is_look_only: bool) -> Effects {
        match self {
            Self::Everything if !is_look_only => Effects::Assigns,
            _ => Effects::Getters,
        }
    }

    /// Refuses an effect, with the reason.
    pub(super) fn refusal(self, effect: Effects, part: &str, is_look_only: bool) -> Failure {
        let what = match effect {
            Effects::Assigns => format!("`{part}` would be written to"),
            _ => format!("`{part}` runs code of the program"),
        };
        if is_look_only {
            let why = "and agents may only look (`agentAccess` is `readOnly`)";
            return Failure::new(ErrorCode::AccessDenied, format!("{what}, {why}")).quiet();
        }
        match self {
            Self::Hovering => failed(format!("{what}, which hovering does not do"))
                .hint("evaluate it in the console or as a watch")
                .quiet(),
            _ => failed(format!("{what}, and no side effects are allowed (`allowSideEffects` is false)"))
                .quiet(),
        }
    }
}

/// The target of an assignment by a client.
#[derive(Clone, Copy)]
pub(crate) enum ClientTarget<'a> {
    /// The place of a row's value.
    Place(&'a TypedValue),
    /// The expression for the place.
    Expression(&'a str),
}

/// An expression and the context of its evaluation.
#[derive(Clone, Copy)]
pub(super) struct EvaluationRequest<'a> {
    pub(super) text: &'a str,
    pub(super) site: &'a EvalContext,
    pub(super) allowed: AllowedEffects,
    /// Its context, if its binding is cached.
    pub(super) place: Option<&'a BindContext>,
    /// The object that it is about, if it is not evaluated in a frame.
    pub(super) about: Option<&'a Path>,
}

/// The context that determines the meaning of an expression.
#[derive(Clone, PartialEq, Eq, Hash)]
pub(super) struct BindContext {
    /// How many modules there were: a new one may change the meaning of a name.
    pub(super) modules: usize,
    pub(super) module: usize,
    pub(super) method: u32,
    pub(super) il: u32,
    /// Arguments of its generic parameters.
    pub(super) arguments: Vec<Ty>,
    /// The type of the object that the expression is about, if it is not evaluated in a frame.
    pub(super) about: Option<Ty>,
}

/// An expression bound in its context.
pub(super) struct PreparedExpression {
    pub(super) sight: Rc<ResolvedScope>,
    pub(super) meaning: Meaning,
    pub(super) slots: u32,
    /// Its strongest effect, and the location of that.
    pub(super) effect: (Effects, Span),
    /// Whether a lambda is interpreted item by item.
    pub(super) has_lambda: bool,
    /// Whether tuples replace objects of anonymous types in its value, which the program does not have.
    pub(super) is_replaced: bool,
    /// Whether a dot after the text continues the expression.
    pub(super) is_primary: bool,
}

impl PreparedExpression {
    pub(super) fn writes(&self) -> bool {
        self.effect.0 >= Effects::Assigns
    }
}

/// A scope, with the path to each of its variables.
#[derive(Clone, Default)]
pub(super) struct ResolvedScope {
    pub(super) scope: Scope,
    /// The paths to the scope's variables; `None` for constants.
    pub(super) ways: Vec<Option<Path>>,
    pub(super) this: Option<Path>,
    /// Why `this` cannot be read, if the scope has one.
    pub(super) lost: Option<Failure>,
}

impl ResolvedScope {
    /// The scope of an expression about an object of a type.
    pub(super) fn of(ty: &Ty) -> Self {
        let scope = Scope { this: Some(ty.clone()), class: Some(ty.clone()), ..Scope::default() };
        Self { scope, ..Self::default() }
    }

    /// A path that begins in the frame of a site: paths are kept for later stops.
    pub(super) fn rebase(&self, way: &Path, site: &EvalContext) -> Path {
        let (thread, frame) = (site.thread, site.frame);
        let root = match &way.root {
            PathRoot::Argument { index, .. } => PathRoot::Argument { thread, frame, index: *index },
            PathRoot::Local { slot, .. } => PathRoot::Local { thread, frame, slot: *slot },
            PathRoot::Static { ty, token, .. } => {
                PathRoot::Static { thread, frame, ty: ty.clone(), token: *token }
            }
            other => other.clone(),
        };
        Path { root, ..way.clone() }
    }

    /// Whether it is valid for every stop at this location.
    pub(super) fn is_stop_independent(&self) -> bool {
        let stays = |way: &Path| {
            !matches!(way.root, PathRoot::Handle(_) | PathRoot::Exception { .. } | PathRoot::Memory { .. })
        };
        self.lost.is_none()
            && self.scope.exception.is_none()
            && self.ways.iter().flatten().chain(&self.this).all(stays)
    }
}
