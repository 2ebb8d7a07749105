//! Tests of operators on constants, also against the arithmetic of Rust.

use proptest::prelude::*;

use super::*;
use crate::constant::{Constant, is_signed};
use crate::types::kind::{CHAR, I1, I2, I4, I8, U1, U2, U4, U8};

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
