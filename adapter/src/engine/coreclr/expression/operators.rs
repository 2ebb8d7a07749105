//! Operators on primitives.

use super::constant::Constant;

/// An operator on two primitives; `None` where C# has none, or it overflows or divides by zero.
pub(crate) fn compute(operator: &str, left: &Constant, right: &Constant) -> Option<Constant> {
    use Constant::{Bool, Char, Int, Null, Real, Text};
    let wide = |constant: &Constant| match constant {
        Char(value) => Int(i64::from(*value)),
        other => other.clone(),
    };
    match (operator, left, right) {
        ("&&", Bool(left), Bool(right)) => return Some(Bool(*left && *right)),
        ("||", Bool(left), Bool(right)) => return Some(Bool(*left || *right)),
        ("+", Text(left), right) => return Some(Text(format!("{left}{}", right.plain()))),
        ("+", left, Text(right)) => return Some(Text(format!("{}{right}", left.plain()))),
        ("==", Null, other) | ("==", other, Null) => return Some(Bool(*other == Null)),
        ("!=", Null, other) | ("!=", other, Null) => return Some(Bool(*other != Null)),
        ("==", Bool(left), Bool(right)) => return Some(Bool(left == right)),
        ("!=", Bool(left), Bool(right)) => return Some(Bool(left != right)),
        ("==", Text(left), Text(right)) => return Some(Bool(left == right)),
        ("!=", Text(left), Text(right)) => return Some(Bool(left != right)),
        _ => {}
    }
    match (wide(left), wide(right)) {
        (Int(left), Int(right)) => Some(match operator {
            "+" => Int(left.checked_add(right)?),
            "-" => Int(left.checked_sub(right)?),
            "*" => Int(left.checked_mul(right)?),
            "/" => Int(left.checked_div(right)?),
            "%" => Int(left.checked_rem(right)?),
            "&" => Int(left & right),
            "|" => Int(left | right),
            "^" => Int(left ^ right),
            "==" => Bool(left == right),
            "!=" => Bool(left != right),
            "<" => Bool(left < right),
            "<=" => Bool(left <= right),
            ">" => Bool(left > right),
            ">=" => Bool(left >= right),
            _ => return None,
        }),
        (left, right) => {
            let real = |constant: &Constant| match constant {
                Int(value) => Some(*value as f64),
                Real(value) => Some(*value),
                _ => None,
            };
            let (left, right) = (real(&left)?, real(&right)?);
            Some(match operator {
                "+" => Real(left + right),
                "-" => Real(left - right),
                "*" => Real(left * right),
                "/" => Real(left / right),
                "%" => Real(left % right),
                "==" => Bool(left == right),
                "!=" => Bool(left != right),
                "<" => Bool(left < right),
                "<=" => Bool(left <= right),
                ">" => Bool(left > right),
                ">=" => Bool(left >= right),
                _ => return None,
            })
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn operators_are_csharps() {
        let int = Constant::Int;
        assert_eq!(compute("%", &int(7), &int(3)), Some(int(1)));
        assert_eq!(compute("/", &int(7), &int(0)), None);
        assert_eq!(compute("+", &int(i64::MAX), &int(1)), None);
        assert_eq!(compute("<", &int(1), &Constant::Real(1.5)), Some(Constant::Bool(true)));
        assert_eq!(compute("==", &Constant::Char(120), &int(120)), Some(Constant::Bool(true)));
        assert_eq!(compute("+", &Constant::Text("a".into()), &int(1)), Some(Constant::Text("a1".into())));
    }
}
