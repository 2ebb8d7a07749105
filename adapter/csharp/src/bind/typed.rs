//! The typed tree: names are resolved, and conversions are explicit. The evaluator does no lookup.

use std::rc::Rc;

use super::system::{Field, Method, Property};
use crate::constant::Constant;
use crate::linq::Intrinsic;
use crate::operators::{BinaryOp, Overflow, UnaryOp};
use crate::syntax::Span;
use crate::types::Ty;

/// A part of an expression with its type.
#[derive(Debug, Clone)]
pub struct Typed {
    pub(crate) kind: TypedKind,
    /// The static type; `void` for a call without a result.
    pub ty: Ty,
    /// The range in the source text.
    pub span: Span,
}

/// A field of a type with known generic arguments.
#[derive(Debug, Clone)]
pub struct FieldRef {
    /// The definition of the field.
    pub field: Rc<Field>,
    /// The type with the declaration.
    pub owner: Ty,
}

/// A property of a type with known generic arguments.
#[derive(Debug, Clone)]
pub struct PropertyRef {
    /// The definition of the property.
    pub property: Rc<Property>,
    /// The type with the declaration.
    pub owner: Ty,
    /// The type of the property's value.
    pub ty: Ty,
    /// Whether it is accessed as `base.P`, without virtual dispatch.
    pub is_base: bool,
    /// Whether a getter that runs gets a copy of the struct.
    pub copies_receiver: bool,
}

/// A method with all generic arguments.
#[derive(Debug, Clone)]
pub struct MethodRef {
    /// The definition of the method.
    pub method: Rc<Method>,
    /// The type with the declaration.
    pub owner: Ty,
    /// The generic arguments of the method.
    pub types: Vec<Ty>,
    /// The types of the parameters; references for those by reference.
    pub parameters: Vec<Ty>,
    /// The type of the result.
    pub result: Ty,
}

/// An argument of a call, in the order of the parameters.
#[derive(Debug, Clone)]
pub(crate) struct PassedArgument {
    pub(crate) value: TypedArgument,
    /// The position of this argument in the order of evaluation.
    pub(crate) turn: usize,
}

#[derive(Debug, Clone)]
pub(crate) enum TypedArgument {
    Value(Typed),
    /// A variable that is passed by reference.
    Place(Typed),
    /// A new variable, which is then in this slot.
    New(u32, Ty),
}

#[derive(Debug, Clone)]
pub(crate) struct TypedCall {
    pub(crate) of: Option<Typed>,
    pub(crate) method: MethodRef,
    pub(crate) arguments: Vec<PassedArgument>,
    /// Whether it is called as `base.M()`, without virtual dispatch.
    pub(crate) is_base: bool,
    /// Whether it is the getter of an extension property.
    pub(crate) is_getter: bool,
}

/// The kind of a conversion; its target is the type of the node.
#[derive(Debug, Clone)]
pub(crate) enum ConversionKind {
    /// A reference conversion to a base type, or an identity conversion.
    Same,
    /// A conversion between numbers, characters and enums.
    Number {
        checked: bool,
    },
    Box,
    Unbox,
    /// A reference conversion to a derived type, which may fail.
    Down,
    /// From a value to its nullable type.
    Wrap,
    /// From a nullable to its value, which fails for null.
    Unwrap,
    /// A lifted conversion: null stays null, and a value is converted.
    Lift(Rc<[(ConversionKind, Ty)]>),
    User(Rc<MethodRef>),
    /// A conversion of each element of a tuple.
    Tuple(Rc<[Vec<(ConversionKind, Ty)>]>),
}

#[derive(Debug, Clone)]
pub(crate) enum TypedKind {
    /// A constant expression.
    Constant(Constant),
    /// The zero value of a struct, or null.
    Default,
    /// A variable of the scope.
    Variable(u32),
    /// A variable that the expression declares.
    Slot(u32),
    /// The same, for a write to it: it has its own copy of the struct that it was assigned.
    OwnSlot(u32),
    This,
    Exception,
    ThreadId,
    Field(Option<Box<Typed>>, Box<FieldRef>),
    Property(Option<Box<Typed>>, Box<PropertyRef>),
    Indexer(Box<Typed>, Box<PropertyRef>, Vec<PassedArgument>),
    /// The length of an array or string.
    Length(Box<Typed>),
    HasValue(Box<Typed>),
    /// An element of an array, a string or a pointer.
    Element(Box<Typed>, Vec<Typed>),
    TupleElement(Box<Typed>, usize),
    Deref(Box<Typed>),
    AddressOf(Box<Typed>),
    Call(Box<TypedCall>),
    New(Box<MethodRef>, Vec<PassedArgument>),
    /// `new string(…)`: the runtime creates the string without a constructor.
    NewText(Vec<Typed>),
    NewArray {
        of: Ty,
        lengths: Vec<Typed>,
        items: Option<Vec<Typed>>,
    },
    Tuple(Vec<Typed>),
    Convert(Box<Typed>, ConversionKind),
    Unary(UnaryOp, Box<Typed>, Overflow),
    /// A built-in operator on numbers, Booleans or strings of one type, lifted if that is nullable.
    Binary(BinaryOp, Box<Typed>, Box<Typed>, Overflow),
    /// Whether both references lead to the same object.
    Same(Box<Typed>, Box<Typed>),
    IsNull(Box<Typed>),
    Concat(Vec<Typed>),
    /// The result of `ToString`, and whether the debugger computes it.
    Text(Box<Typed>, bool),
    Interpolated(Vec<TypedInterpolatedPart>),
    And(Box<Typed>, Box<Typed>),
    Or(Box<Typed>, Box<Typed>),
    Choice(Box<Typed>, Box<Typed>, Box<Typed>),
    /// Evaluates the first into the slot. The value is the second if that is not null, otherwise the third.
    Coalesce(Box<Typed>, u32, Box<Typed>, Box<Typed>),
    /// Evaluates the first into the slot. The value is the second if that is not null, otherwise null.
    Conditional(Box<Typed>, u32, Box<Typed>),
    /// Evaluates the first into the slot, then the second.
    Let(u32, Box<Typed>, Box<Typed>),
    /// A copy of the current value, which later writes do not change.
    Copy(Box<Typed>),
    /// A copy of a struct, which a method may change.
    StructCopy(Box<Typed>),
    /// Evaluates one after the other; the last is the value.
    Sequence(Vec<Typed>),
    Is(Box<Typed>, u32, Box<TypedPattern>),
    As(Box<Typed>),
    Switch(Box<Typed>, u32, Vec<TypedSwitchArm>),
    Assign(Box<Typed>, Box<Typed>),
    /// A slice of an array or string, from one position up to another.
    Slice(Box<Typed>, Box<Typed>, Box<Typed>),
    TypeOf(Ty),
    SizeOf(Ty),
    Throw(Box<Typed>),
    Linq(Box<Linq>),
    Query(Box<TypedQuery>),
    /// A value with the run-time type that it had at binding. If its type differs at evaluation, the
    /// expression is bound again.
    Narrow(Box<Typed>),
}

#[derive(Debug, Clone)]
pub(crate) struct TypedInterpolation {
    pub(crate) value: Typed,
    pub(crate) width: i32,
    pub(crate) format: Option<String>,
}

#[derive(Debug, Clone)]
pub(crate) enum TypedInterpolatedPart {
    Text(String),
    Interpolation(Box<TypedInterpolation>),
}

#[derive(Debug, Clone)]
pub(crate) struct TypedSwitchArm {
    pub(crate) test: TypedPattern,
    pub(crate) when: Option<Typed>,
    pub(crate) value: Typed,
}

/// A pattern: the tests of the value in a slot. Parts of the value are expressions with that slot.
#[derive(Debug, Clone)]
pub(crate) enum TypedPattern {
    Always,
    /// Stores the value in another slot.
    Keep(u32),
    /// Tests for this type, and stores the value with that type in a slot.
    Type(Ty, u32),
    NotNull,
    Null,
    /// Tests for this constant; a boxed value must also have its type.
    Constant(Typed),
    /// A condition on the slot, for a value that is not null.
    Holds(Typed),
    Not(Box<TypedPattern>),
    All(Vec<TypedPattern>),
    Any(Vec<TypedPattern>),
    /// Evaluates a part of the value into a slot, and tests it with another pattern.
    Part(Typed, u32, Box<TypedPattern>),
}

/// A lambda: the slots of its parameters, and its body.
#[derive(Debug, Clone)]
pub(crate) struct TypedLambda {
    pub(crate) slots: Vec<u32>,
    pub(crate) body: Body,
    /// The type of the result.
    pub(crate) result: Ty,
}

#[derive(Debug, Clone)]
pub(crate) enum Body {
    Value(Box<Typed>),
    Block(Vec<TypedStmt>),
}

#[derive(Debug, Clone)]
pub(crate) enum TypedStmt {
    Block(Vec<TypedStmt>),
    Value(Typed),
    /// Declares a variable, optionally with a value.
    Local(u32, Ty, Option<Typed>),
    If(Typed, Box<TypedStmt>, Option<Box<TypedStmt>>),
    /// Condition, updates, body; whether the condition is evaluated before the first iteration.
    Loop {
        condition: Option<Typed>,
        updates: Vec<Typed>,
        body: Box<TypedStmt>,
        asks_first: bool,
    },
    ForEach {
        slot: u32,
        of: Typed,
        item: Option<(u32, Typed)>,
        body: Box<TypedStmt>,
    },
    Return(Option<Typed>),
    Break,
    Continue,
    Throw(Typed),
}

/// A method of a sequence that the debugger evaluates.
#[derive(Debug, Clone)]
pub(crate) struct Linq {
    pub(crate) intrinsic: Intrinsic,
    pub(crate) of: Typed,
    pub(crate) arguments: Vec<LinqArgument>,
    /// The type of the items.
    pub(crate) item: Ty,
    /// The call of the program's method, for a sequence that turns out to be in the program.
    pub(crate) otherwise: Option<Typed>,
}

#[derive(Debug, Clone)]
pub(crate) enum LinqArgument {
    Lambda(Rc<TypedLambda>),
    Value(Typed),
}

/// A query, clause by clause over rows of range variables.
#[derive(Debug, Clone)]
pub(crate) struct TypedQuery {
    pub(crate) clauses: Vec<TypedQueryClause>,
}

#[derive(Debug, Clone)]
pub(crate) enum TypedQueryClause {
    /// For each row so far, a new row for each item, which is converted and stored in a slot.
    From {
        of: Typed,
        slot: u32,
        value: Option<(u32, Typed)>,
    },
    Let(u32, Typed),
    Where(Typed),
    /// The other sequence, the slot of its items, both keys, and for a group join the slot
    /// of the matching items.
    Join {
        of: Typed,
        slot: u32,
        outer: Typed,
        inner: Typed,
        into: Option<u32>,
    },
    OrderBy(Vec<(Typed, bool)>),
    Select(Typed),
    Group(Typed, Typed),
    /// The results so far are the source of the rest of the query.
    Into(u32),
}

impl Typed {
    pub(crate) fn new(kind: TypedKind, ty: Ty, span: Span) -> Self {
        Self { kind, ty, span }
    }

    pub(crate) fn constant(&self) -> Option<&Constant> {
        match &self.kind {
            TypedKind::Constant(constant) => Some(constant),
            _ => None,
        }
    }

    pub(crate) fn boxed(self) -> Box<Self> {
        Box::new(self)
    }

    /// Whether this is the literal `null`.
    pub(crate) fn is_null(&self) -> bool {
        self.ty == Ty::Null
    }

    /// The text of a string that the runtime interns: a constant, also as an `object`.
    pub(crate) fn interned_text(&self) -> Option<&str> {
        match &self.kind {
            TypedKind::Constant(Constant::Text(text)) => Some(text),
            TypedKind::Convert(of, ConversionKind::Same) => of.interned_text(),
            _ => None,
        }
    }

    /// Whether this is a call without a result.
    pub fn is_void(&self) -> bool {
        self.ty == crate::types::VOID
    }

    /// Whether this is a place that can be written to: a variable, field or element, but not
    /// the result of a call.
    pub(crate) fn is_place(&self) -> bool {
        match &self.kind {
            TypedKind::Variable(_) | TypedKind::Slot(_) | TypedKind::OwnSlot(_) => true,
            TypedKind::This | TypedKind::Deref(_) => true,
            TypedKind::Field(None, _) => true,
            TypedKind::Field(Some(of), _) | TypedKind::TupleElement(of, _) => {
                !of.ty.is_value() || of.is_place()
            }
            TypedKind::Element(of, _) => of.ty != crate::types::STRING,
            TypedKind::Property(_, property) | TypedKind::Indexer(_, property, _) => {
                matches!(property.property.ty, Ty::Reference(_))
            }
            TypedKind::Call(call) => matches!(call.method.result, Ty::Reference(_)),
            TypedKind::Convert(of, ConversionKind::Same) | TypedKind::Narrow(of) => {
                !self.ty.is_value() && of.is_place()
            }
            _ => false,
        }
    }
}
