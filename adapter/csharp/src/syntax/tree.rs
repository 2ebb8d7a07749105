//! The syntax tree, with positions in the text. Names are not resolved.

use std::rc::Rc;

use crate::constant::Constant;
use crate::operators::{BinaryOp, UnaryOp};

/// A range of the text, in bytes.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Span {
    /// Offset of the first byte.
    pub start: usize,
    /// Offset after the last byte.
    pub end: usize,
}

impl Span {
    /// The range from the beginning of this part to the end of another.
    pub(crate) fn to(self, other: Self) -> Self {
        Self { start: self.start, end: other.end.max(self.start) }
    }
}

/// A node of the syntax tree.
#[derive(Debug, Clone)]
pub struct Expr {
    pub(crate) kind: ExprKind,
    /// The range of the expression in the text.
    pub span: Span,
}

/// A name with generic arguments.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct SimpleName {
    pub(crate) text: Rc<str>,
    pub(crate) arguments: Vec<TypeName>,
    /// Number of omitted types in `<,>`, which `typeof` allows.
    pub(crate) open: usize,
    pub(crate) span: Span,
}

impl SimpleName {
    pub(crate) fn arity(&self) -> usize {
        self.arguments.len().max(self.open)
    }
}

/// A type name in the source.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct TypeName {
    pub(crate) kind: TypeNameKind,
    pub(crate) span: Span,
}

#[derive(Debug, Clone, PartialEq)]
pub(crate) enum TypeNameKind {
    /// `int`, `string`, `void`.
    Keyword(Rc<str>),
    /// `A.B<C>.D`, and whether `global::` precedes it.
    Named(Vec<SimpleName>, bool),
    Nullable(Box<TypeName>),
    /// The ranks are in the order of the source: `int[][,]` is an array of `int[,]`.
    Array(Box<TypeName>, Vec<u32>),
    Pointer(Box<TypeName>),
    Tuple(Vec<(TypeName, Option<Rc<str>>)>),
    /// The inferred type `var`.
    Inferred,
}

/// A part of an interpolated string.
#[derive(Debug, Clone)]
pub(crate) enum InterpolatedPart {
    Text(String),
    Interpolation(Box<Interpolation>),
}

/// `{value,width:format}`.
#[derive(Debug, Clone)]
pub(crate) struct Interpolation {
    pub(crate) value: Expr,
    pub(crate) width: Option<Expr>,
    pub(crate) format: Option<String>,
}

/// The modifier of an argument: `ref`, `out`, `in`, or none.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum ArgumentMode {
    Value,
    Ref,
    Out,
    In,
}

#[derive(Debug, Clone)]
pub(crate) struct Argument {
    pub(crate) name: Option<Rc<str>>,
    pub(crate) mode: ArgumentMode,
    pub(crate) value: Expr,
}

/// The initializers in braces after `new`.
#[derive(Debug, Clone)]
pub(crate) enum Initializer {
    /// `A = value`, `[index] = value`.
    Members(Vec<MemberInitializer>),
    /// `1, 2`, `{ "k", 1 }`: each calls `Add`.
    Items(Vec<Vec<Expr>>),
}

#[derive(Debug, Clone)]
pub(crate) struct MemberInitializer {
    pub(crate) target: InitializerTarget,
    pub(crate) value: InitializerValue,
    pub(crate) span: Span,
}

#[derive(Debug, Clone)]
pub(crate) enum InitializerTarget {
    Member(Rc<str>),
    Index(Vec<Argument>),
}

#[derive(Debug, Clone)]
pub(crate) enum InitializerValue {
    Value(Expr),
    /// Fills the object that the member already has.
    Nested(Initializer),
}

/// The items of an array, row by row.
#[derive(Debug, Clone)]
pub(crate) enum ArrayItem {
    Value(Expr),
    Row(Vec<ArrayItem>, Span),
}

#[derive(Debug, Clone)]
pub(crate) struct Lambda {
    pub(crate) parameters: Vec<(Rc<str>, Option<TypeName>)>,
    pub(crate) body: LambdaBody,
    /// A modifier that only the compiler supports, such as `async`.
    pub(crate) special: Option<&'static str>,
}

#[derive(Debug, Clone)]
pub(crate) enum LambdaBody {
    Value(Box<Expr>),
    Block(Vec<Stmt>),
}

#[derive(Debug, Clone)]
pub(crate) struct SwitchArm {
    pub(crate) pattern: Pattern,
    pub(crate) when: Option<Expr>,
    pub(crate) value: Expr,
}

#[derive(Debug, Clone)]
pub(crate) enum QueryClause {
    From { ty: Option<TypeName>, name: Rc<str>, of: Expr },
    Let { name: Rc<str>, value: Expr },
    Where(Expr),
    Join(Box<Join>),
    OrderBy(Vec<(Expr, bool)>),
}

#[derive(Debug, Clone)]
pub(crate) struct Join {
    pub(crate) ty: Option<TypeName>,
    pub(crate) name: Rc<str>,
    pub(crate) of: Expr,
    pub(crate) outer: Expr,
    pub(crate) inner: Expr,
    pub(crate) into: Option<Rc<str>>,
}

/// `from … select …`, with the clauses after an `into`.
#[derive(Debug, Clone)]
pub(crate) struct Query {
    pub(crate) clauses: Vec<QueryClause>,
    pub(crate) end: QueryEnd,
    pub(crate) into: Option<(Rc<str>, Box<Query>)>,
}

#[derive(Debug, Clone)]
pub(crate) enum QueryEnd {
    Select(Expr),
    Group(Expr, Expr),
}

/// Operators that types cannot define as methods.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Logical {
    And,
    Or,
    Coalesce,
}

/// The kind of an assignment.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Assign {
    Plain,
    Compound(BinaryOp),
    /// The null-coalescing `??=`.
    Coalesce,
}

#[derive(Debug, Clone)]
pub(crate) enum ExprKind {
    Literal(Constant),
    /// A UTF-8 string: `"text"u8`.
    Utf8,
    Interpolated(Vec<InterpolatedPart>),
    Name(SimpleName),
    /// `alias::Name`, also with `global::`.
    Qualified(Rc<str>, SimpleName),
    This,
    Base,
    /// A type where a value might be: `int` in `int.Parse`, `(int, string)` in `typeof`.
    Type(TypeName),
    Paren(Box<Expr>),
    Member(Box<Expr>, SimpleName),
    /// The member access `pointer->Name`.
    PointerMember(Box<Expr>, SimpleName),
    /// `of?.rest`: the rest begins with a [`ExprKind::Receiver`].
    Conditional(Box<Expr>, Box<Expr>),
    /// The receiver of a `?.`, in the expression after it.
    Receiver,
    Index(Box<Expr>, Vec<Argument>),
    Call(Box<Expr>, Vec<Argument>),
    Unary(UnaryOp, Box<Expr>),
    Deref(Box<Expr>),
    AddressOf(Box<Expr>),
    /// An index from the end: `^1`.
    FromEnd(Box<Expr>),
    Range(Option<Box<Expr>>, Option<Box<Expr>>),
    /// `++x`, `x--`: whether it increments, and whether the result is the new value.
    Step {
        of: Box<Expr>,
        up: bool,
        prefix: bool,
    },
    Binary(BinaryOp, Box<Expr>, Box<Expr>),
    Logical(Logical, Box<Expr>, Box<Expr>),
    Assign(Assign, Box<Expr>, Box<Expr>),
    Choice(Box<Expr>, Box<Expr>, Box<Expr>),
    Is(Box<Expr>, Box<Pattern>),
    As(Box<Expr>, TypeName),
    Cast(TypeName, Box<Expr>),
    Switch(Box<Expr>, Vec<SwitchArm>),
    With(Box<Expr>),
    New {
        ty: Option<TypeName>,
        arguments: Vec<Argument>,
        initializer: Option<Initializer>,
    },
    NewArray {
        of: Option<TypeName>,
        lengths: Vec<Expr>,
        rank: u32,
        items: Option<Vec<ArrayItem>>,
    },
    Anonymous(Vec<(Option<Rc<str>>, Expr)>),
    Tuple(Vec<(Option<Rc<str>>, Expr)>),
    Collection(Vec<(bool, Expr)>),
    StackAlloc,
    Lambda(Rc<Lambda>),
    TypeOf(TypeName),
    SizeOf(TypeName),
    Default(Option<TypeName>),
    NameOf(Box<Expr>),
    Checked(bool, Box<Expr>),
    Throw(Box<Expr>),
    Await(Box<Expr>),
    /// `ref x` in place of a value.
    Ref(Box<Expr>),
    /// The null-forgiving operator: `x!`.
    NotNull(Box<Expr>),
    Query(Box<Query>),
    /// `var x`, `int x`, `_` where a variable is declared.
    Declaration(TypeName, Designation),
    /// The cursor of completions: the expression before the dot, and the beginning of the name.
    Cursor(Option<Box<Expr>>, Rc<str>),
}

impl Expr {
    /// Whether a dot after the expression applies to all of it: `a.b`, not `a + b`.
    pub fn is_primary(&self) -> bool {
        use ExprKind::*;
        matches!(
            self.kind,
            Literal(_)
                | Utf8
                | Interpolated(_)
                | Name(_)
                | Qualified(..)
                | This
                | Base
                | Type(_)
                | Paren(_)
                | Member(..)
                | PointerMember(..)
                | Conditional(..)
                | Receiver
                | Index(..)
                | Call(..)
                | New { .. }
                | Anonymous(_)
                | Tuple(_)
                | TypeOf(_)
                | SizeOf(_)
                | Default(_)
                | NameOf(_)
                | Checked(..)
                | NotNull(_)
        )
    }
}

/// The names that a declaration or pattern declares.
#[derive(Debug, Clone, PartialEq)]
pub(crate) enum Designation {
    Discard,
    Name(Rc<str>),
    Tuple(Vec<Designation>),
}

#[derive(Debug, Clone)]
pub(crate) struct Pattern {
    pub(crate) kind: PatternKind,
    pub(crate) span: Span,
}

#[derive(Debug, Clone)]
pub(crate) enum PatternKind {
    Discard,
    Var(Designation),
    /// A declaration pattern: `Type name`.
    Declaration(TypeName, Designation),
    Type(TypeName),
    /// A name that may be a type or a constant.
    TypeOrConstant(TypeName, Expr),
    Constant(Expr),
    Relational(BinaryOp, Expr),
    Not(Box<Pattern>),
    And(Vec<Pattern>),
    Or(Vec<Pattern>),
    Recursive(Box<Recursive>),
    List {
        items: Vec<ListItem>,
        name: Option<Designation>,
    },
}

#[derive(Debug, Clone)]
pub(crate) struct Recursive {
    pub(crate) ty: Option<TypeName>,
    pub(crate) positions: Option<Vec<(Option<Rc<str>>, Pattern)>>,
    pub(crate) properties: Vec<(Vec<Rc<str>>, Pattern)>,
    pub(crate) name: Option<Designation>,
}

#[derive(Debug, Clone)]
pub(crate) enum ListItem {
    Pattern(Pattern),
    /// A slice pattern: `.. pattern`.
    Slice(Option<Pattern>),
}

/// A statement in a lambda's braces.
#[derive(Debug, Clone)]
pub(crate) enum Stmt {
    Empty,
    Block(Vec<Stmt>),
    Value(Expr),
    /// A declaration of locals: `var a = 1, b = 2;`
    Locals(TypeName, Vec<(Rc<str>, Option<Expr>)>),
    If(Expr, Box<Stmt>, Option<Box<Stmt>>),
    While(Expr, Box<Stmt>),
    Do(Box<Stmt>, Expr),
    For {
        first: Vec<Stmt>,
        condition: Option<Expr>,
        updates: Vec<Expr>,
        body: Box<Stmt>,
    },
    ForEach {
        ty: TypeName,
        name: Rc<str>,
        of: Expr,
        body: Box<Stmt>,
    },
    Return(Option<Expr>),
    Break,
    Continue,
    Throw(Option<Expr>),
    /// A statement that is left to the compiler, by its name.
    Other(&'static str),
}
