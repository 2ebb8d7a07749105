//! Results of operators on constants, with C#'s promotions (language specification, 12.4.7).
//!
//! Not here: which operators there are ([`super`]).

use super::{BinaryOp, OperatorError, Overflow, UnaryOp};
use crate::constant::{Constant, fits, is_signed, wrap};
use crate::types::kind::{I, I1, I2, I4, I8, R4, R8, U, U4, U8};

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
