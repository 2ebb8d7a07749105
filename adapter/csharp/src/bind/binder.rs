//! The binder, which dispatches on the kind of an expression. Not here: operators, calls, members and other
//! kinds with much code, which have modules next to this one.

use std::rc::Rc;

use super::classification::{Classification, MethodGroup};
use super::completions::CompletionScope;
use super::relations::TypeRelations;
use super::scope::Scope;
use super::system::{Method, TypeProvider};
use super::typed::{Typed, TypedInterpolatedPart, TypedKind};
use super::{Meaning, Refusal};
use crate::constant::Constant;
use crate::operators::Overflow;
use crate::syntax::tree::{self, Expr, ExprKind};
use crate::syntax::{Span, error};
use crate::types::{BOOL, INT, OBJECT, STRING, Ty, kind};

/// Maximum number of parts that are bound for one expression, including failed attempts.
const MAX_STEPS: usize = 20_000;

pub(super) type Bind<T> = Result<T, Box<Refusal>>;

/// A variable that the expression itself declares.
#[derive(Debug, Clone)]
pub(super) struct DeclaredLocal {
    pub(super) name: Rc<str>,
    pub(super) slot: u32,
    pub(super) ty: Ty,
}

pub(super) struct Binder<'a> {
    pub(super) types: TypeRelations<'a>,
    pub(super) scope: &'a Scope,
    /// Variables of the expression that are in scope, innermost last.
    pub(super) locals: Vec<DeclaredLocal>,
    pub(super) slots: u32,
    pub(super) overflow: Overflow,
    /// The receivers of the enclosing `?.`, outermost first.
    pub(super) receivers: Vec<Typed>,
    /// Slots with inputs of patterns that the compiler copies into a variable.
    pub(super) pattern_copies: Vec<u32>,
    /// Number of parts that were bound, up to [`MAX_STEPS`], because parts may be bound repeatedly.
    steps: usize,
    /// The names for completions, once the cursor was reached.
    pub(super) completion_scope: Option<CompletionScope>,
}

pub(super) fn reject<T>(code: &'static str, message: impl Into<String>, span: Span) -> Bind<T> {
    Err(Box::new(Refusal::Invalid(error(code, message, span))))
}

/// Refuses an expression that only the compiler can bind.
pub(super) fn leave_to_compiler<T>(what: impl Into<String>, span: Span) -> Bind<T> {
    Err(Box::new(Refusal::NeedsCompiler { what: what.into(), span }))
}

impl<'a> Binder<'a> {
    pub(super) fn new(scope: &'a Scope, system: &'a dyn TypeProvider) -> Self {
        Self {
            types: TypeRelations::new(system),
            scope,
            locals: Vec::new(),
            slots: 0,
            overflow: Overflow::Wraps,
            receivers: Vec::new(),
            pattern_copies: Vec::new(),
            steps: 0,
            completion_scope: None,
        }
    }

    pub(super) fn slot(&mut self) -> u32 {
        self.slots += 1;
        self.slots - 1
    }

    /// Declares a name and returns its slot.
    pub(super) fn declare(&mut self, name: &Rc<str>, ty: Ty) -> u32 {
        let slot = self.slot();
        self.locals.push(DeclaredLocal { name: name.clone(), slot, ty });
        slot
    }

    /// Binds in a nested scope, whose names are removed afterwards.
    pub(super) fn within<T>(&mut self, what: impl FnOnce(&mut Self) -> Bind<T>) -> Bind<T> {
        let before = self.locals.len();
        let done = what(self);
        self.locals.truncate(before);
        done
    }

    pub(super) fn type_text(&self, ty: &Ty) -> String {
        self.types.type_text(ty)
    }

    /// Binds a whole expression.
    pub(super) fn meaning(&mut self, expr: &Expr) -> Bind<Meaning> {
        Ok(match self.part(expr)? {
            Classification::Value(value) => Meaning::Value(value),
            Classification::Type(ty) => Meaning::Type(ty),
            Classification::Namespace(name) => Meaning::Namespace(name),
            Classification::Group(group) => return self.refuse_group(&group),
        })
    }

    fn refuse_group<T>(&self, group: &MethodGroup) -> Bind<T> {
        let name = &group.name;
        reject(
            "CS0428",
            format!(
                "'{name}' is a method of '{}'; did you intend to call it? `{name}(…)`",
                self.type_text(&group.owner)
            ),
            group.span,
        )
    }

    /// Binds a part that must have a value.
    pub(super) fn value(&mut self, expr: &Expr) -> Bind<Typed> {
        let part = self.part(expr)?;
        let value = self.require_value(part, expr.span)?;
        if value.is_void() {
            return reject("CS0815", "A call that returns void has no value", expr.span);
        }
        Ok(value)
    }

    pub(super) fn require_value(&mut self, part: Classification, span: Span) -> Bind<Typed> {
        match part {
            Classification::Value(value) => Ok(value),
            Classification::Type(ty) => {
                let name = self.type_text(&ty);
                reject("CS0119", format!("'{name}' is a type, which is not valid in the given context"), span)
            }
            Classification::Namespace(name) => {
                reject("CS0118", format!("'{name}' is a namespace but is used like a variable"), span)
            }
            Classification::Group(group) => self.refuse_group(&group),
        }
    }

    pub(super) fn part(&mut self, expr: &Expr) -> Bind<Classification> {
        let span = expr.span;
        self.steps += 1;
        if self.steps > MAX_STEPS {
            return reject("CS8078", "An expression is too long or complex to compile", span);
        }
        let value = match &expr.kind {
            ExprKind::Name(name) => return self.simple_name(name),
            ExprKind::Qualified(alias, name) => return self.qualified_name(alias, name),
            ExprKind::Type(ty) => return self.type_of_name(ty).map(Classification::Type),
            ExprKind::Member(of, name) => return self.member(of, name, span),
            ExprKind::Paren(of) => match self.part(of)? {
                Classification::Value(value) => Typed { span, ..value },
                other => return Ok(other),
            },
            ExprKind::NotNull(of) => return self.part(of),
            ExprKind::Literal(constant) => self.literal(constant.clone(), span),
            ExprKind::Utf8 => return leave_to_compiler("a UTF-8 literal", span),
            ExprKind::Interpolated(pieces) => self.interpolated_string(pieces, span)?,
            ExprKind::This => self.this(span)?,
            ExprKind::Base => self.base(span)?,
            ExprKind::PointerMember(of, name) => {
                let pointer = self.value(of)?;
                let of = self.deref(pointer, span)?;
                return self.member_of_value(of, name, span);
            }
            ExprKind::Conditional(of, then) => self.conditional(of, span, |binder| binder.part(then))?,
            ExprKind::Receiver => match self.receivers.last() {
                Some(receiver) => receiver.clone(),
                None => return reject("CS1525", "Invalid expression term '.'", span),
            },
            ExprKind::Index(of, arguments) => self.index(of, arguments, span)?,
            ExprKind::Call(of, arguments) => self.call(of, arguments, span)?,
            ExprKind::Unary(op, of) => self.unary(*op, of, span)?,
            ExprKind::Deref(of) => {
                let pointer = self.value(of)?;
                self.deref(pointer, span)?
            }
            ExprKind::AddressOf(of) => {
                let of = self.value(of)?;
                if !of.is_place() {
                    return reject("CS0211", "Cannot take the address of the given expression", span);
                }
                let ty = Ty::Pointer(Box::new(of.ty.clone()));
                Typed::new(TypedKind::AddressOf(of.boxed()), ty, span)
            }
            ExprKind::FromEnd(of) => self.index_value(of, true, span)?,
            ExprKind::Range(from, to) => self.range_value(from.as_deref(), to.as_deref(), span)?,
            ExprKind::Step { of, up, prefix } => self.step(of, *up, *prefix, span)?,
            ExprKind::Binary(op, a, b) => self.binary_expr(*op, a, b, span)?,
            ExprKind::Logical(op, a, b) => self.logical(*op, a, b, span)?,
            ExprKind::Assign(assign, to, value) => self.assignment(*assign, to, value, span)?,
            ExprKind::Choice(condition, a, b) => self.choice((condition, a, b), None, span)?,
            ExprKind::Is(of, pattern) => self.is(of, pattern, span)?,
            ExprKind::As(of, ty) => self.as_type(of, ty, span)?,
            ExprKind::Cast(ty, of) => self.cast(ty, of, span)?,
            ExprKind::Switch(of, arms) => self.switch(of, arms, None, span)?,
            ExprKind::With(of) => {
                self.value(of)?;
                return leave_to_compiler("a `with` expression", span);
            }
            ExprKind::New { ty: Some(ty), arguments, initializer } => {
                let ty = self.type_of_name(ty)?;
                self.creation(&ty, arguments, initializer.as_ref(), span)?
            }
            ExprKind::New { ty: None, .. } => {
                return reject("CS8754", "There is no target type for 'new(...)'", span);
            }
            ExprKind::NewArray { of, lengths, rank, items } => {
                self.new_array(of.as_ref(), lengths, *rank, items.as_deref(), span)?
            }
            ExprKind::Anonymous(members) => self.anonymous(members, span)?,
            ExprKind::Tuple(elements) => self.tuple(elements, span)?,
            ExprKind::Collection(items) => {
                for (_, item) in items.iter().filter(|(_, item)| !item.kind.takes_type()) {
                    self.part(item)?;
                }
                return leave_to_compiler("a collection expression", span);
            }
            ExprKind::StackAlloc => return leave_to_compiler("`stackalloc`", span),
            ExprKind::Lambda(lambda) => return leave_to_compiler(lambda.special.unwrap_or("a lambda"), span),
            ExprKind::TypeOf(ty) => {
                let ty = self.type_of_name(ty)?;
                let of_types = self.types.named("System.Type", Vec::new()).unwrap_or(OBJECT);
                Typed::new(TypedKind::TypeOf(ty), of_types, span)
            }
            ExprKind::SizeOf(ty) => self.size_of(ty, span)?,
            ExprKind::Default(Some(ty)) => {
                let ty = self.type_of_name(ty)?;
                self.default_of(&ty, span)
            }
            ExprKind::Default(None) => {
                return reject("CS8716", "There is no target type for the default literal", span);
            }
            ExprKind::NameOf(of) => self.name_of(of, span)?,
            ExprKind::Checked(is_checked, of) => {
                let overflow = if *is_checked { Overflow::Fails } else { Overflow::Ignored };
                let before = std::mem::replace(&mut self.overflow, overflow);
                let value = self.value(of);
                self.overflow = before;
                value?
            }
            ExprKind::Throw(of) => self.throw(of, Ty::Null, span)?,
            ExprKind::Await(of) => {
                self.value(of)?;
                return leave_to_compiler("`await`", span);
            }
            ExprKind::Ref(of) => return self.part(of),
            ExprKind::Query(query) => self.query(query, span)?,
            ExprKind::Declaration(_, tree::Designation::Discard) => {
                let name = tree::SimpleName { text: "_".into(), arguments: Vec::new(), open: 0, span };
                return self.simple_name(&name);
            }
            ExprKind::Declaration(..) => {
                return reject("CS8185", "A declaration is not allowed in this context", span);
            }
            ExprKind::Cursor(of, word) => return self.cursor(of.as_deref(), word, span),
        };
        Ok(Classification::Value(value))
    }

    pub(super) fn literal(&self, constant: Constant, span: Span) -> Typed {
        let ty = match &constant {
            Constant::Decimal(_) => self.types.decimal(),
            other => other.ty(),
        };
        Typed::new(TypedKind::Constant(constant), ty, span)
    }

    pub(super) fn int(&self, value: i32, span: Span) -> Typed {
        Typed::new(TypedKind::Constant(Constant::int(value)), INT, span)
    }

    pub(super) fn truth_value(&self, value: bool, span: Span) -> Typed {
        Typed::new(TypedKind::Constant(Constant::Bool(value)), BOOL, span)
    }

    /// The node of `default(T)`.
    pub(super) fn default_of(&self, ty: &Ty, span: Span) -> Typed {
        let zero = match ty {
            Ty::Primitive(kind::BOOLEAN) => Some(Constant::Bool(false)),
            _ if self.types.is_decimal(ty) => Some(Constant::Decimal(rust_decimal::Decimal::ZERO)),
            _ => ty
                .number()
                .or_else(|| self.types.enum_storage(ty))
                .and_then(|kind| Constant::int(0).cast(kind, false)),
        };
        match zero {
            Some(zero) => Typed::new(TypedKind::Constant(zero), ty.clone(), span),
            None => Typed::new(TypedKind::Default, ty.clone(), span),
        }
    }

    fn size_of(&mut self, name: &tree::TypeName, span: Span) -> Bind<Typed> {
        let ty = self.type_of_name(name)?;
        self.size_of_type(ty, span)
    }

    /// The number of bytes of a value of an unmanaged type.
    pub(super) fn size_of_type(&self, ty: Ty, span: Span) -> Bind<Typed> {
        let kind = match &ty {
            Ty::Primitive(kind) if !matches!(*kind, kind::I | kind::U) => Some(*kind),
            other => self.types.enum_storage(other),
        };
        let size = kind.and_then(crate::constant::width).or(self.types.is_decimal(&ty).then_some(16));
        if let Some(size) = size.and_then(|size| i32::try_from(size).ok()) {
            return Ok(self.int(size, span));
        }
        if !self.types.is_unmanaged(&ty, 16) {
            let name = self.type_text(&ty);
            return reject(
                "CS0208",
                format!("Cannot take the size of a managed type ('{name}'): it has no size in C#"),
                span,
            );
        }
        Ok(Typed::new(TypedKind::SizeOf(ty), INT, span))
    }

    /// Binds `throw e`, where a value of a type is expected.
    pub(super) fn throw(&mut self, of: &Expr, ty: Ty, span: Span) -> Bind<Typed> {
        let of = self.value(of)?;
        let base = self.types.named("System.Exception", Vec::new());
        if base.is_some_and(|base| !self.types.derives(&of.ty, &base)) {
            return reject(
                "CS0155",
                "The type caught or thrown must be derived from System.Exception",
                of.span,
            );
        }
        Ok(Typed::new(TypedKind::Throw(of.boxed()), ty, span))
    }

    pub(super) fn deref(&self, pointer: Typed, span: Span) -> Bind<Typed> {
        match pointer.ty.clone() {
            Ty::Pointer(of) if *of != crate::types::VOID => {
                Ok(Typed::new(TypedKind::Deref(pointer.boxed()), *of, span))
            }
            _ => reject("CS0193", "The * or -> operator must be applied to a data pointer", span),
        }
    }

    fn interpolated_string(&mut self, pieces: &[tree::InterpolatedPart], span: Span) -> Bind<Typed> {
        let mut bound = Vec::new();
        for piece in pieces {
            match piece {
                tree::InterpolatedPart::Text(text) => bound.push(TypedInterpolatedPart::Text(text.clone())),
                tree::InterpolatedPart::Interpolation(interpolation) => {
                    let value = self.value(&interpolation.value)?;
                    let width = match &interpolation.width {
                        None => 0,
                        Some(width) => {
                            let width = self.convert_expr(width, &INT)?;
                            match width.constant() {
                                Some(Constant::Int(_, width)) => i32::try_from(*width).unwrap_or(0),
                                _ => return reject("CS0150", "A constant value is expected", width.span),
                            }
                        }
                    };
                    let value = self.text_part(value, interpolation.format.is_some())?;
                    bound.push(TypedInterpolatedPart::Interpolation(Box::new(
                        super::typed::TypedInterpolation {
                            value,
                            width,
                            format: interpolation.format.clone(),
                        },
                    )));
                }
            }
        }
        let is_constant = bound.iter().all(|piece| match piece {
            TypedInterpolatedPart::Text(_) => true,
            TypedInterpolatedPart::Interpolation(interpolation) => {
                interpolation.width == 0
                    && interpolation.format.is_none()
                    && matches!(interpolation.value.constant(), Some(Constant::Text(_)))
            }
        });
        if is_constant {
            let text = bound.iter().map(|piece| match piece {
                TypedInterpolatedPart::Text(text) => text.clone(),
                TypedInterpolatedPart::Interpolation(interpolation) => {
                    interpolation.value.constant().map(Constant::invariant_text).unwrap_or_default()
                }
            });
            return Ok(self.literal(Constant::Text(text.collect()), span));
        }
        Ok(Typed::new(TypedKind::Interpolated(bound), STRING, span))
    }

    /// Whether a method is a constructor of `string`, as in `new string(letter, count)`. The runtime creates
    /// strings itself, so a constructor has no object to initialise.
    pub(super) fn is_text_constructor(&self, method: &Method) -> bool {
        self.types.system.find("System.String") == Some(method.owner)
    }
}
