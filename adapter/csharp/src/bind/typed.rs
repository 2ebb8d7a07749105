//! The typed tree: every name found, every conversion written out. The evaluator looks nothing up.

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
    /// Its static type; `void` of a call that returns nothing.
    pub ty: Ty,
    /// Its range in the source text.
    pub span: Span,
}

/// A field of a type whose arguments are known.
#[derive(Debug, Clone)]
pub struct FieldRef {
    /// The field that is read.
    pub field: Rc<Field>,
    /// The type that declares it.
    pub owner: Ty,
}

/// A property of a type whose arguments are known.
#[derive(Debug, Clone)]
pub struct PropertyRef {
    /// The property that is read.
    pub property: Rc<Property>,
    /// The type that declares it.
    pub owner: Ty,
    /// The type of its value.
    pub ty: Ty,
    /// `base.P`: not the one that overrides it.
    pub is_base: bool,
}

/// A method with everything that is generic filled in.
#[derive(Debug, Clone)]
pub struct MethodRef {
    /// The method that is called.
    pub method: Rc<Method>,
    /// The type that declares it.
    pub owner: Ty,
    /// Its own generic arguments.
    pub types: Vec<Ty>,
    /// Its parameters; by reference, references.
    pub parameters: Vec<Ty>,
    /// The type of its result.
    pub result: Ty,
}

/// An argument of a call, in the order of the parameters.
#[derive(Debug, Clone)]
pub(crate) struct Passed {
    pub(crate) value: TypedArgument,
    /// When it is evaluated among the others.
    pub(crate) turn: usize,
}

#[derive(Debug, Clone)]
pub(crate) enum TypedArgument {
    Value(Typed),
    /// The place of a variable.
    Place(Typed),
    /// A new variable, which is known by this slot from then on.
    New(u32, Ty),
}

#[derive(Debug, Clone)]
pub(crate) struct TypedCall {
    pub(crate) of: Option<Typed>,
    pub(crate) method: MethodRef,
    pub(crate) arguments: Vec<Passed>,
    /// `base.M()`.
    pub(crate) is_base: bool,
}

/// The kind of a conversion; its target is the type of the node.
#[derive(Debug, Clone)]
pub(crate) enum How {
    /// A reference seen as one of a base type, a value as what it is.
    Same,
    /// Between numbers, characters and enums.
    Number {
        checked: bool,
    },
    Box,
    Unbox,
    /// To a more derived type: it may fail.
    Down,
    /// A value into its nullable type.
    Wrap,
    /// Out of a nullable: null fails.
    Unwrap,
    /// Null stays null; what is inside is converted.
    Lift(Rc<[(How, Ty)]>),
    User(Rc<MethodRef>),
    /// Element by element.
    Tuple(Rc<[Vec<(How, Ty)>]>),
}

#[derive(Debug, Clone)]
pub(crate) enum TypedKind {
    /// A constant expression.
    Constant(Constant),
    /// The zero of a struct, or null.
    Default,
    /// A variable of the scope.
    Variable(u32),
    /// One that the expression declares.
    Slot(u32),
    This,
    Exception,
    ThreadId,
    Field(Option<Box<Typed>>, Box<FieldRef>),
    Property(Option<Box<Typed>>, Box<PropertyRef>),
    Indexer(Box<Typed>, Box<PropertyRef>, Vec<Passed>),
    /// Of an array or string.
    Length(Box<Typed>),
    HasValue(Box<Typed>),
    /// Of an array, a string or a pointer.
    Element(Box<Typed>, Vec<Typed>),
    TupleElement(Box<Typed>, usize),
    Deref(Box<Typed>),
    AddressOf(Box<Typed>),
    Call(Box<TypedCall>),
    New(Box<MethodRef>, Vec<Passed>),
    /// `new string(…)`, which the runtime makes itself.
    NewText(Vec<Typed>),
    NewArray {
        of: Ty,
        lengths: Vec<Typed>,
        items: Option<Vec<Typed>>,
    },
    Tuple(Vec<Typed>),
    Convert(Box<Typed>, How),
    Unary(UnaryOp, Box<Typed>, Overflow),
    /// On numbers, truths and texts of one type, lifted where that is nullable.
    Binary(BinaryOp, Box<Typed>, Box<Typed>, Overflow),
    /// Whether both are one object.
    Same(Box<Typed>, Box<Typed>),
    IsNull(Box<Typed>),
    Concat(Vec<Typed>),
    /// The result of its `ToString`, and whether that is computed here.
    Text(Box<Typed>, bool),
    Interpolated(Vec<TypedInterpolatedPart>),
    And(Box<Typed>, Box<Typed>),
    Or(Box<Typed>, Box<Typed>),
    Choice(Box<Typed>, Box<Typed>, Box<Typed>),
    /// The first into a slot; if it is not null the second, else the third.
    Coalesce(Box<Typed>, u32, Box<Typed>, Box<Typed>),
    /// The first into a slot; if it is not null the second.
    Conditional(Box<Typed>, u32, Box<Typed>),
    /// The value into a slot, then the rest.
    Let(u32, Box<Typed>, Box<Typed>),
    /// As it is now, whatever is written to it later.
    Copy(Box<Typed>),
    /// One after the other; the last is the value.
    Sequence(Vec<Typed>),
    Is(Box<Typed>, u32, Box<TypedPattern>),
    As(Box<Typed>),
    Switch(Box<Typed>, u32, Vec<TypedSwitchArm>),
    Assign(Box<Typed>, Box<Typed>),
    /// From one position up to another, of an array or string.
    Slice(Box<Typed>, Box<Typed>, Box<Typed>),
    TypeOf(Ty),
    SizeOf(Ty),
    Throw(Box<Typed>),
    Linq(Box<Linq>),
    Query(Box<TypedQuery>),
    /// As the debugger saw that it is; where it is so no more, the expression is bound again.
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
    Hole(Box<TypedInterpolation>),
}

#[derive(Debug, Clone)]
pub(crate) struct TypedSwitchArm {
    pub(crate) test: TypedPattern,
    pub(crate) when: Option<Typed>,
    pub(crate) value: Typed,
}

/// A pattern: what must hold of the value in a slot. Parts of the value are expressions over that slot.
#[derive(Debug, Clone)]
pub(crate) enum TypedPattern {
    Always,
    /// The value into another slot.
    Keep(u32),
    /// It is of this type; then into a slot, as of that type.
    Type(Ty, u32),
    NotNull,
    Null,
    /// It is this constant, of its type too where the value is in a box.
    Constant(Typed),
    /// A truth over the slot, for a value that is not null.
    Holds(Typed),
    Not(Box<TypedPattern>),
    All(Vec<TypedPattern>),
    Any(Vec<TypedPattern>),
    /// A part of it, evaluated into a slot, and what must hold of that.
    Part(Typed, u32, Box<TypedPattern>),
}

/// A lambda: where its parameters go, and what it computes.
#[derive(Debug, Clone)]
pub(crate) struct TypedLambda {
    pub(crate) slots: Vec<u32>,
    pub(crate) body: Body,
    /// The type of what it returns.
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
    /// Declares a variable, perhaps with a value.
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

/// A method of sequences that is worked out here.
#[derive(Debug, Clone)]
pub(crate) struct Linq {
    pub(crate) intrinsic: Intrinsic,
    pub(crate) of: Typed,
    pub(crate) arguments: Vec<LinqArgument>,
    /// The type of the items.
    pub(crate) item: Ty,
    /// The call of the program's own method, where the sequence turns out to be in the program.
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
    /// For each row so far one for each item, into a slot, converted.
    From {
        of: Typed,
        slot: u32,
        value: Option<(u32, Typed)>,
    },
    Let(u32, Typed),
    Where(Typed),
    /// The other sequence, the slot of its items, both keys, and the slot of all that fit, where they are
    /// wanted together.
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

    /// Whether it is the literal `null`.
    pub(crate) fn is_null(&self) -> bool {
        self.ty == Ty::Null
    }

    /// Whether it has no value.
    pub fn is_void(&self) -> bool {
        self.ty == crate::types::VOID
    }

    /// Whether it names a place that can be written to: a variable, field or element, not what a call
    /// returned.
    pub(crate) fn is_place(&self) -> bool {
        match &self.kind {
            TypedKind::Variable(_) | TypedKind::Slot(_) | TypedKind::This | TypedKind::Deref(_) => true,
            TypedKind::Field(None, _) => true,
            TypedKind::Field(Some(of), _) | TypedKind::TupleElement(of, _) => {
                !of.ty.is_value() || of.is_place()
            }
            TypedKind::Element(of, _) => of.ty != crate::types::STRING,
            TypedKind::Property(_, property) | TypedKind::Indexer(_, property, _) => {
                matches!(property.property.ty, Ty::Reference(_))
            }
            TypedKind::Call(call) => matches!(call.method.result, Ty::Reference(_)),
            TypedKind::Convert(of, How::Same) | TypedKind::Narrow(of) => !self.ty.is_value() && of.is_place(),
            _ => false,
        }
    }
}
