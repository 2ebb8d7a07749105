//! Operators on constants, with C#'s promotions (language specification, 12.4.7).
//!
//! Not here: the choice of an operator ([`crate::bind`]).

use crate::constant::{Constant, fits, is_signed, wrap};
use crate::types::kind::{I, I1, I2, I4, I8, R4, R8, U, U4, U8};

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

/// The common type of two integers. The flag of each side is true for a constant expression,
/// which may become unsigned.
fn promote(left: (u32, i128, bool), right: (u32, i128, bool)) -> Option<u32> {
    let (a, b) = (left.0, right.0);
    let either = |kind| a == kind || b == kind;
    // A constant int or long that is not negative converts to an unsigned type; constants of other types do
    // not.
    let bends = |(kind, value, literal): (u32, i128, bool)| literal && value >= 0 && matches!(kind, I4 | I8);
    if either(U8) {
        let other = if a == U8 { right } else { left };
        return (other.0 == U8 || !is_signed(other.0) || bends(other)).then_some(U8);
    }
    if either(U) || either(I) {
        let other = if matches!(a, U | I) { right.0 } else { left.0 };
        let own = if matches!(a, U | I) { a } else { b };
        return Some(if matches!(other, I8 | U8) { other } else { own });
    }
    if either(I8) {
        return Some(I8);
    }
    if either(U4) {
        let other = if a == U4 { right } else { left };
        let wide = matches!(other.0, I1 | I2 | I4) && !bends(other);
        return Some(if wide { I8 } else { U4 });
    }
    Some(I4)
}

/// Computes a binary operator on two constants. `literals` has a flag for each, whether it is
/// a constant expression.
pub fn compute(
    operator: BinaryOp,
    left: &Constant,
    right: &Constant,
    literals: (bool, bool),
    overflow: Overflow,
) -> Result<Constant, OperatorError> {
    use BinaryOp::{Greater, GreaterOrEqual, Less, LessOrEqual};
    use Constant::{Bool, Decimal, Double, Int, Null, Single, Text};
    let both_literal = literals.0 && literals.1;
    let overflow = overflow.for_constants(both_literal);
    match (operator, left, right) {
        (BinaryOp::Equal, Null, other) | (BinaryOp::Equal, other, Null) => return Ok(Bool(*other == Null)),
        (BinaryOp::NotEqual, Null, other) | (BinaryOp::NotEqual, other, Null) => {
            return Ok(Bool(*other != Null));
        }
        (BinaryOp::Add, Text(left), right) => return Ok(Text(format!("{left}{}", right.invariant_text()))),
        (BinaryOp::Add, left, Text(right)) => return Ok(Text(format!("{}{right}", left.invariant_text()))),
        // Three-valued logic of bool?.
        (BinaryOp::And, Bool(false), Null) | (BinaryOp::And, Null, Bool(false)) => return Ok(Bool(false)),
        (BinaryOp::Or, Bool(true), Null) | (BinaryOp::Or, Null, Bool(true)) => return Ok(Bool(true)),
        // Lifted operators: the result is null if an operand is null; comparisons with null are false.
        (Less | LessOrEqual | Greater | GreaterOrEqual, Null, _)
        | (Less | LessOrEqual | Greater | GreaterOrEqual, _, Null) => return Ok(Bool(false)),
        (_, Null, _) | (_, _, Null) => return Ok(Null),
        _ => {}
    }
    match (left, right) {
        (Bool(left), Bool(right)) => Ok(Bool(match operator {
            BinaryOp::And => *left && *right,
            BinaryOp::Or => *left || *right,
            BinaryOp::Xor | BinaryOp::NotEqual => left != right,
            BinaryOp::Equal => left == right,
            _ => return Err(OperatorError::NoOperator),
        })),
        (Text(left), Text(right)) => match operator {
            BinaryOp::Equal => Ok(Bool(left == right)),
            BinaryOp::NotEqual => Ok(Bool(left != right)),
            _ => Err(OperatorError::NoOperator),
        },
        (Int(kind, value), Int(_, by))
            if matches!(
                operator,
                BinaryOp::ShiftLeft | BinaryOp::ShiftRight | BinaryOp::ShiftRightUnsigned
            ) =>
        {
            shift(operator, *kind, *value, *by)
        }
        (Int(left_kind, left), Int(right_kind, right)) => {
            let kind = promote((*left_kind, *left, literals.0), (*right_kind, *right, literals.1));
            integer(operator, kind.ok_or(OperatorError::NoOperator)?, *left, *right, overflow)
        }
        (Decimal(_), _) | (_, Decimal(_)) => {
            let (left, right) = (left.to_decimal(false), right.to_decimal(false));
            let (Some(left), Some(right)) = (left, right) else { return Err(OperatorError::NoOperator) };
            if let Some(holds) = compare(operator, left.partial_cmp(&right)) {
                return Ok(Bool(holds));
            }
            decimal(operator, left, right)?.map(Decimal).ok_or(OperatorError::Overflow)
        }
        (Double(_), _) | (_, Double(_)) => {
            let (left, right) = (left.cast(R8, false), right.cast(R8, false));
            let (Some(Double(left)), Some(Double(right))) = (left, right) else {
                return Err(OperatorError::NoOperator);
            };
            float(operator, left, right).map(|value| value.map_or_else(Bool, Double))
        }
        (Single(_), _) | (_, Single(_)) => {
            let (left, right) = (left.cast(R4, false), right.cast(R4, false));
            let (Some(Single(left)), Some(Single(right))) = (left, right) else {
                return Err(OperatorError::NoOperator);
            };
            // One operation in double and one rounding equal one operation in single precision.
            float(operator, f64::from(left), f64::from(right))
                .map(|value| value.map_or_else(Bool, |value| Single(value as f32)))
        }
        _ => Err(OperatorError::NoOperator),
    }
}

/// Computes with decimals; `None` on overflow. In .NET zeros have digits after the
/// point, as other numbers do.
fn decimal(
    operator: BinaryOp,
    left: rust_decimal::Decimal,
    right: rust_decimal::Decimal,
) -> Result<Option<rust_decimal::Decimal>, OperatorError> {
    let (scales, has_zero) = ((left.scale(), right.scale()), left.is_zero() || right.is_zero());
    let is_short = |value: rust_decimal::Decimal| u32::try_from(value.mantissa().unsigned_abs()).is_ok();
    let with_scale = |mut value: rust_decimal::Decimal, scale: u32| {
        value.rescale(scale.min(28));
        value
    };
    Ok(match operator {
        BinaryOp::Add => {
            left.checked_add(right).map(|sum| with_scale(sum, sum.scale().max(scales.0).max(scales.1)))
        }
        BinaryOp::Subtract => {
            left.checked_sub(right).map(|sum| with_scale(sum, sum.scale().max(scales.0).max(scales.1)))
        }
        // A product with too many digits loses those after the point.
        BinaryOp::Multiply if has_zero && is_short(left) && is_short(right) => {
            Some(with_scale(rust_decimal::Decimal::ZERO, scales.0 + scales.1))
        }
        BinaryOp::Multiply if has_zero => Some(rust_decimal::Decimal::ZERO),
        BinaryOp::Multiply => left.checked_mul(right),
        BinaryOp::Divide | BinaryOp::Remainder if right.is_zero() => {
            return Err(OperatorError::DividesByZero);
        }
        BinaryOp::Divide => left.checked_div(right).map(|value| match value.is_zero() && !left.is_zero() {
            true => rust_decimal::Decimal::ZERO,
            false => trim_zeros(value, scales.0.saturating_sub(scales.1)),
        }),
        BinaryOp::Remainder if left.abs() < right.abs() => Some(left),
        BinaryOp::Remainder => left.checked_rem(right).map(|rest| with_scale(rest, scales.0.max(scales.1))),
        _ => return Err(OperatorError::NoOperator),
    })
}

/// Removes unnecessary digits from a quotient, but keeps as many as its operands have.
fn trim_zeros(value: rust_decimal::Decimal, at_least: u32) -> rust_decimal::Decimal {
    let mut short = value.normalize();
    if short.scale() < at_least {
        short.rescale(at_least);
    }
    short
}

fn compare(operator: BinaryOp, order: Option<std::cmp::Ordering>) -> Option<bool> {
    Some(match operator {
        BinaryOp::Equal => order.is_some_and(std::cmp::Ordering::is_eq),
        BinaryOp::NotEqual => !order.is_some_and(std::cmp::Ordering::is_eq),
        BinaryOp::Less => order.is_some_and(std::cmp::Ordering::is_lt),
        BinaryOp::LessOrEqual => order.is_some_and(std::cmp::Ordering::is_le),
        BinaryOp::Greater => order.is_some_and(std::cmp::Ordering::is_gt),
        BinaryOp::GreaterOrEqual => order.is_some_and(std::cmp::Ordering::is_ge),
        _ => return None,
    })
}

/// Computes with floating-point numbers: a number, or a Boolean for comparisons.
fn float(operator: BinaryOp, left: f64, right: f64) -> Result<Result<f64, bool>, OperatorError> {
    if let Some(holds) = compare(operator, left.partial_cmp(&right)) {
        return Ok(Err(holds));
    }
    Ok(Ok(match operator {
        BinaryOp::Add => left + right,
        BinaryOp::Subtract => left - right,
        BinaryOp::Multiply => left * right,
        BinaryOp::Divide => left / right,
        BinaryOp::Remainder => left % right,
        _ => return Err(OperatorError::NoOperator),
    }))
}

fn integer(
    operator: BinaryOp,
    kind: u32,
    left: i128,
    right: i128,
    overflow: Overflow,
) -> Result<Constant, OperatorError> {
    if let Some(holds) = compare(operator, Some(left.cmp(&right))) {
        return Ok(Constant::Bool(holds));
    }
    let value = match operator {
        BinaryOp::Add => left + right,
        BinaryOp::Subtract => left - right,
        // The low bits of a product are correct even if it overflows 128 bits.
        BinaryOp::Multiply if overflow != Overflow::Fails => left.wrapping_mul(right),
        BinaryOp::Multiply => left.checked_mul(right).ok_or(OperatorError::Overflow)?,
        BinaryOp::Divide | BinaryOp::Remainder if right == 0 => return Err(OperatorError::DividesByZero),
        // The smallest number divided by -1 overflows, checked or not.
        BinaryOp::Divide | BinaryOp::Remainder if right == -1 && is_signed(kind) && !fits(kind, -left) => {
            return Err(OperatorError::Overflow);
        }
        BinaryOp::Divide => left / right,
        BinaryOp::Remainder => left % right,
        BinaryOp::And => left & right,
        BinaryOp::Or => left | right,
        BinaryOp::Xor => left ^ right,
        _ => return Err(OperatorError::NoOperator),
    };
    narrow(kind, value, overflow)
}

fn narrow(kind: u32, value: i128, overflow: Overflow) -> Result<Constant, OperatorError> {
    if overflow == Overflow::Fails && !fits(kind, value) {
        return Err(OperatorError::Overflow);
    }
    wrap(kind, value).map(|value| Constant::Int(kind, value)).ok_or(OperatorError::NoOperator)
}

/// Computes a shift. It promotes only the left operand, and uses the low 5 or 6 bits of the right one.
fn shift(operator: BinaryOp, kind: u32, value: i128, by: i128) -> Result<Constant, OperatorError> {
    let kind = if matches!(kind, U4 | I8 | U8 | I | U) { kind } else { I4 };
    let wide = matches!(kind, I8 | U8 | I | U);
    let by = (by & if wide { 63 } else { 31 }) as u32;
    let value = match operator {
        BinaryOp::ShiftLeft => value << by,
        BinaryOp::ShiftRight => value >> by,
        _ => (value & if wide { u128::from(u64::MAX) as i128 } else { i128::from(u32::MAX) }) >> by,
    };
    narrow(kind, value, Overflow::Wraps)
}

/// Computes a unary operator. `literal` is true for a constant expression.
pub fn compute_unary(
    operator: UnaryOp,
    operand: &Constant,
    literal: bool,
    overflow: Overflow,
) -> Result<Constant, OperatorError> {
    use Constant::{Bool, Decimal, Double, Int, Null, Single};
    let overflow = overflow.for_constants(literal);
    match (operator, operand) {
        (_, Null) => Ok(Null),
        (UnaryOp::Not, Bool(value)) => Ok(Bool(!value)),
        (UnaryOp::Plus | UnaryOp::Minus | UnaryOp::Complement, Int(kind, value)) => {
            // `-2147483648` is an int, `-` of any other uint a long.
            let minus = operator == UnaryOp::Minus;
            let kind = match *kind {
                U4 if minus && literal && *value == 1 << 31 => I4,
                U8 if minus && literal && *value == 1 << 63 => I8,
                U4 if minus => I8,
                U8 if minus => return Err(OperatorError::NoOperator),
                kind @ (U4 | I8 | U8 | I | U) => kind,
                _ => I4,
            };
            match operator {
                UnaryOp::Plus => narrow(kind, *value, overflow),
                UnaryOp::Minus => narrow(kind, -value, overflow),
                _ => narrow(kind, !value, Overflow::Wraps),
            }
        }
        (UnaryOp::Plus, Single(_) | Double(_) | Decimal(_)) => Ok(operand.clone()),
        (UnaryOp::Minus, Single(value)) => Ok(Single(-value)),
        (UnaryOp::Minus, Double(value)) => Ok(Double(-value)),
        (UnaryOp::Minus, Decimal(value)) => Ok(Decimal(-*value)),
        _ => Err(OperatorError::NoOperator),
    }
}

#[cfg(test)]
mod tests {
    use crate::types::kind::{CHAR, U1, U2};
    use proptest::prelude::*;

    use super::*;

    fn int(kind: u32, value: i128) -> Constant {
        Constant::Int(kind, value)
    }

    fn plain(operator: BinaryOp, left: &Constant, right: &Constant) -> Result<Constant, OperatorError> {
        compute(operator, left, right, (false, false), Overflow::Wraps)
    }

    #[test]
    fn results_have_csharps_types() {
        let max = i128::from(i32::MAX);
        for (operator, left, right, result) in [
            (BinaryOp::Add, int(U1, 200), int(U1, 100), int(I4, 300)),
            (BinaryOp::Add, int(CHAR, 97), int(I4, 1), int(I4, 98)),
            (BinaryOp::Add, int(I4, max), int(I4, 1), int(I4, -max - 1)),
            (BinaryOp::Add, int(U4, 1), int(I4, -2), int(I8, -1)),
            (BinaryOp::Subtract, int(U4, 1), int(U4, 2), int(U4, u32::MAX.into())),
            (BinaryOp::Add, int(I8, 1), int(U4, 2), int(I8, 3)),
            (BinaryOp::Remainder, int(I4, -7), int(I4, 3), int(I4, -1)),
            (BinaryOp::Divide, int(I4, -7), int(I4, 2), int(I4, -3)),
            (BinaryOp::ShiftLeft, int(I4, 1), int(I4, 33), int(I4, 2)),
            (BinaryOp::ShiftLeft, int(I8, 1), int(I4, 33), int(I8, 1 << 33)),
            (BinaryOp::ShiftRight, int(I4, -8), int(I4, 1), int(I4, -4)),
            (BinaryOp::ShiftRightUnsigned, int(I4, -8), int(I4, 1), int(I4, 0x7fff_fffc)),
            (BinaryOp::Xor, int(U2, 6), int(U2, 3), int(I4, 5)),
        ] {
            assert_eq!(plain(operator, &left, &right), Ok(result), "{left:?} {operator:?} {right:?}");
        }
        assert_eq!(plain(BinaryOp::Add, &int(U8, 1), &int(I4, 1)), Err(OperatorError::NoOperator));
        assert_eq!(
            compute(BinaryOp::Add, &int(U8, 1), &int(I4, 1), (false, true), Overflow::Wraps),
            Ok(int(U8, 2)),
            "a literal bends"
        );
        assert_eq!(plain(BinaryOp::Divide, &int(I4, 1), &int(I4, 0)), Err(OperatorError::DividesByZero));
        assert_eq!(
            plain(BinaryOp::Divide, &int(I4, i32::MIN.into()), &int(I4, -1)),
            Err(OperatorError::Overflow)
        );
        let checked = compute(BinaryOp::Add, &int(I4, max), &int(I4, 1), (false, false), Overflow::Fails);
        assert_eq!(checked, Err(OperatorError::Overflow));
        assert_eq!(
            compute_unary(UnaryOp::Minus, &int(U4, 1 << 31), true, Overflow::Wraps),
            Ok(int(I4, i32::MIN.into()))
        );
        assert_eq!(compute_unary(UnaryOp::Complement, &int(U1, 0), false, Overflow::Wraps), Ok(int(I4, -1)));
        assert_eq!(plain(BinaryOp::Add, &Constant::Null, &int(I4, 1)), Ok(Constant::Null));
        assert_eq!(plain(BinaryOp::Less, &Constant::Null, &int(I4, 1)), Ok(Constant::Bool(false)));
        assert_eq!(
            plain(BinaryOp::Add, &Constant::Text("a".into()), &Constant::Bool(true)),
            Ok(Constant::Text("aTrue".into()))
        );
    }

    proptest! {
        /// Against Rust's own arithmetic of the promoted type: two's complement, as C# has it.
        #[test]
        fn whole_numbers_wrap_like_the_machines(left: i32, right: i32, wide: i64) {
            let (a, b) = (int(I4, left.into()), int(I4, right.into()));
            let narrow = |value: i32| Ok(int(I4, value.into()));
            prop_assert_eq!(plain(BinaryOp::Add, &a, &b), narrow(left.wrapping_add(right)));
            prop_assert_eq!(plain(BinaryOp::Subtract, &a, &b), narrow(left.wrapping_sub(right)));
            prop_assert_eq!(plain(BinaryOp::Multiply, &a, &b), narrow(left.wrapping_mul(right)));
            prop_assert_eq!(plain(BinaryOp::And, &a, &b), narrow(left & right));
            prop_assert_eq!(plain(BinaryOp::ShiftLeft, &a, &b), narrow(left.wrapping_shl(right as u32)));
            prop_assert_eq!(plain(BinaryOp::ShiftRight, &a, &b), narrow(left.wrapping_shr(right as u32)));
            let c = int(I8, wide.into());
            prop_assert_eq!(plain(BinaryOp::Multiply, &a, &c), Ok(int(I8,
                i64::from(left).wrapping_mul(wide).into())));
            match left.checked_div(right) {
                Some(value) => prop_assert_eq!(plain(BinaryOp::Divide, &a, &b), narrow(value)),
                None => prop_assert!(plain(BinaryOp::Divide, &a, &b).is_err()),
            }
            let checked = compute(BinaryOp::Multiply, &a, &b, (false, false), Overflow::Fails);
            match left.checked_mul(right) {
                Some(value) => prop_assert_eq!(checked, narrow(value)),
                None => prop_assert_eq!(checked, Err(OperatorError::Overflow)),
            }
        }

        /// The table of binary numeric promotion, for every pair of types.
        #[test]
        fn promotion_is_symmetric_and_follows_the_specification(
            a in prop::sample::select(vec![I1, U1, I2, U2, CHAR, I4, U4, I8, U8]),
            b in prop::sample::select(vec![I1, U1, I2, U2, CHAR, I4, U4, I8, U8]),
        ) {
            let sum = plain(BinaryOp::Add, &int(a, 1), &int(b, 1));
            prop_assert_eq!(&sum, &plain(BinaryOp::Add, &int(b, 1), &int(a, 1)));
            let either = |kind| a == kind || b == kind;
            let signed = is_signed(a) || is_signed(b);
            let expected = if either(U8) {
                if signed { None } else { Some(U8) }
            } else if either(I8) || (either(U4) && signed) {
                Some(I8)
            } else if either(U4) {
                Some(U4)
            } else {
                Some(I4)
            };
            prop_assert_eq!(sum.ok(), expected.map(|kind| int(kind, 2)));
        }

        #[test]
        fn singles_are_singles(left: f32, right: f32) {
            let same = |value: Result<Constant, OperatorError>, expected: f32| match value {
                Ok(Constant::Single(value)) => value.to_bits() == expected.to_bits() || (value.is_nan()
                    && expected.is_nan()),
                _ => false,
            };
            let (a, b) = (Constant::Single(left), Constant::Single(right));
            prop_assert!(same(plain(BinaryOp::Add, &a, &b), left + right));
            prop_assert!(same(plain(BinaryOp::Multiply, &a, &b), left * right));
            prop_assert!(same(plain(BinaryOp::Divide, &a, &b), left / right));
        }
    }
}
