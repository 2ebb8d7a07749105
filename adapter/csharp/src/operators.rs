//! Operators that types may define, with their names in C# and in metadata, and their handling of overflow.
//!
//! Not here: their results for constants ([`arithmetic`]), the choice of an operator ([`crate::bind`]).

mod arithmetic;

pub use arithmetic::{compute, compute_unary};

/// A binary operator that types may define.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum BinaryOp {
    Add,
    Subtract,
    Multiply,
    Divide,
    Remainder,
    And,
    Or,
    Xor,
    ShiftLeft,
    ShiftRight,
    ShiftRightUnsigned,
    Equal,
    NotEqual,
    Less,
    Greater,
    LessOrEqual,
    GreaterOrEqual,
}

impl BinaryOp {
    /// The operator in C#, and the name of the method that overloads it.
    const fn symbol_and_method(self) -> (&'static str, &'static str) {
        match self {
            Self::Add => ("+", "op_Addition"),
            Self::Subtract => ("-", "op_Subtraction"),
            Self::Multiply => ("*", "op_Multiply"),
            Self::Divide => ("/", "op_Division"),
            Self::Remainder => ("%", "op_Modulus"),
            Self::And => ("&", "op_BitwiseAnd"),
            Self::Or => ("|", "op_BitwiseOr"),
            Self::Xor => ("^", "op_ExclusiveOr"),
            Self::ShiftLeft => ("<<", "op_LeftShift"),
            Self::ShiftRight => (">>", "op_RightShift"),
            Self::ShiftRightUnsigned => (">>>", "op_UnsignedRightShift"),
            Self::Equal => ("==", "op_Equality"),
            Self::NotEqual => ("!=", "op_Inequality"),
            Self::Less => ("<", "op_LessThan"),
            Self::Greater => (">", "op_GreaterThan"),
            Self::LessOrEqual => ("<=", "op_LessThanOrEqual"),
            Self::GreaterOrEqual => (">=", "op_GreaterThanOrEqual"),
        }
    }

    /// Returns the operator as C# writes it.
    pub const fn text(self) -> &'static str {
        self.symbol_and_method().0
    }

    /// The name of the method that overloads the operator.
    pub const fn method(self) -> &'static str {
        self.symbol_and_method().1
    }

    /// Whether the operator compares: its result is a Boolean.
    pub const fn compares(self) -> bool {
        matches!(
            self,
            Self::Equal
                | Self::NotEqual
                | Self::Less
                | Self::Greater
                | Self::LessOrEqual
                | Self::GreaterOrEqual
        )
    }

    /// Whether the operator is `==` or `!=`.
    pub const fn is_equality(self) -> bool {
        matches!(self, Self::Equal | Self::NotEqual)
    }

    /// Whether the operator is a shift, whose right operand is always an `int`.
    pub const fn shifts(self) -> bool {
        matches!(self, Self::ShiftLeft | Self::ShiftRight | Self::ShiftRightUnsigned)
    }
}

/// A unary operator that types may define.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum UnaryOp {
    Plus,
    Minus,
    Not,
    Complement,
}

impl UnaryOp {
    /// Returns the operator as C# writes it.
    pub const fn text(self) -> &'static str {
        match self {
            Self::Plus => "+",
            Self::Minus => "-",
            Self::Not => "!",
            Self::Complement => "~",
        }
    }

    /// The name of the method that overloads the operator.
    pub const fn method(self) -> &'static str {
        match self {
            Self::Plus => "op_UnaryPlus",
            Self::Minus => "op_UnaryNegation",
            Self::Not => "op_LogicalNot",
            Self::Complement => "op_OnesComplement",
        }
    }
}

/// The reason why an operator has no value.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum OperatorError {
    /// C# has no such operator for these types.
    NoOperator,
    /// The operation overflows, and is checked.
    Overflow,
    /// The operation divides an integer or a decimal by zero.
    DividesByZero,
}

/// The handling of integer overflow.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Overflow {
    /// The result wraps around, as without `checked`; a constant expression fails.
    Wraps,
    /// The result wraps around also in constant expressions, as in `unchecked`.
    Ignored,
    /// The operation fails, as in `checked` and in constant expressions.
    Fails,
}

impl Overflow {
    /// The handling for constant operands, or for others.
    pub fn for_constants(self, constant: bool) -> Self {
        if constant && self == Self::Wraps { Self::Fails } else { self }
    }
}

#[cfg(test)]
mod tests;
