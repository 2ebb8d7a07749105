//! Operators as users write them, `operator +` or `implicit operator int`, and the names of their methods.
//! Only parses: [`super::functions`] finds the methods.

/// Operators with the names of their methods: one symbol may have several.
const NAMES: [(&str, &[&str]); 37] = [
    ("+", &["op_Addition", "op_UnaryPlus"]),
    ("-", &["op_Subtraction", "op_UnaryNegation"]),
    ("*", &["op_Multiply"]),
    ("/", &["op_Division"]),
    ("%", &["op_Modulus"]),
    ("&", &["op_BitwiseAnd"]),
    ("|", &["op_BitwiseOr"]),
    ("^", &["op_ExclusiveOr"]),
    ("<<", &["op_LeftShift"]),
    (">>", &["op_RightShift"]),
    (">>>", &["op_UnsignedRightShift"]),
    ("==", &["op_Equality"]),
    ("!=", &["op_Inequality"]),
    ("<", &["op_LessThan"]),
    (">", &["op_GreaterThan"]),
    ("<=", &["op_LessThanOrEqual"]),
    (">=", &["op_GreaterThanOrEqual"]),
    ("!", &["op_LogicalNot"]),
    ("~", &["op_OnesComplement"]),
    ("++", &["op_Increment", "op_IncrementAssignment"]),
    ("--", &["op_Decrement", "op_DecrementAssignment"]),
    ("true", &["op_True"]),
    ("false", &["op_False"]),
    ("+=", &["op_AdditionAssignment"]),
    ("-=", &["op_SubtractionAssignment"]),
    ("*=", &["op_MultiplicationAssignment"]),
    ("/=", &["op_DivisionAssignment"]),
    ("%=", &["op_ModulusAssignment"]),
    ("&=", &["op_BitwiseAndAssignment"]),
    ("|=", &["op_BitwiseOrAssignment"]),
    ("^=", &["op_ExclusiveOrAssignment"]),
    ("<<=", &["op_LeftShiftAssignment"]),
    (">>=", &["op_RightShiftAssignment"]),
    (">>>=", &["op_UnsignedRightShiftAssignment"]),
    ("checked +", &["op_CheckedAddition"]),
    ("checked -", &["op_CheckedSubtraction", "op_CheckedUnaryNegation"]),
    ("checked *", &["op_CheckedMultiply"]),
];

/// An operator at the end of a name.
#[derive(Debug, PartialEq, Eq)]
pub(super) struct OperatorName {
    /// Names of the methods that it may mean.
    pub(super) methods: Vec<String>,
    /// The type that a conversion converts to.
    pub(super) to: Option<String>,
}

/// Cuts `Money.operator +` into `Money` and the operator; `None` if the text names no operator.
///
/// # Errors
/// When the word `operator` is followed by something other than an operator of C#.
pub(super) fn split(text: &str) -> Option<Result<(&str, OperatorName), ()>> {
    let is_word = |at: usize| {
        let before = text.get(..at).and_then(|before| before.chars().next_back());
        let after = text.get(at + WORD.len()..).and_then(|after| after.chars().next());
        let joins =
            |letter: Option<char>| letter.is_some_and(|letter| letter.is_alphanumeric() || letter == '_');
        !joins(before) && !joins(after)
    };
    let at = text.match_indices(WORD).map(|(at, _)| at).find(|at| is_word(*at))?;
    let before = text.get(..at).unwrap_or_default().trim_end();
    let sign = text.get(at + WORD.len()..).unwrap_or_default().trim();
    // Without a symbol it is a method named `operator`.
    if sign.is_empty() {
        return None;
    }
    let sign = sign.split_whitespace().collect::<Vec<_>>().join(" ");
    for (word, method) in [("implicit", "op_Implicit"), ("explicit", "op_Explicit")] {
        if let Some(path) = before.strip_suffix(word) {
            let methods = vec![method.to_owned()];
            return Some(Ok((owner(path), OperatorName { methods, to: Some(sign) })));
        }
    }
    let methods = NAMES.iter().find(|(known, _)| *known == sign).map(|(_, methods)| *methods);
    let found = methods.map(|methods| methods.iter().map(|name| (*name).to_owned()).collect());
    Some(found.map(|methods| (owner(before), OperatorName { methods, to: None })).ok_or(()))
}

const WORD: &str = "operator";

fn owner(path: &str) -> &str {
    path.trim_end().trim_end_matches('.')
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn operators_parse_as_they_are_declared() {
        let read = |text| match split(text) {
            Some(Ok((owner, operator))) => {
                format!("{owner}: {} {:?}", operator.methods.join(" "), operator.to)
            }
            Some(Err(())) => "wrong".to_owned(),
            None => "none".to_owned(),
        };
        for (text, means) in [
            ("Money.operator +", "Money: op_Addition op_UnaryPlus None"),
            ("N.Money.operator<=", "N.Money: op_LessThanOrEqual None"),
            ("operator ==", ": op_Equality None"),
            ("Money.operator checked  +", "Money: op_CheckedAddition None"),
            ("Money.explicit operator int", "Money: op_Explicit Some(\"int\")"),
            ("implicit operator N.Money", ": op_Implicit Some(\"N.Money\")"),
            ("Money.operator ?", "wrong"),
            ("Telephone.operators", "none"),
            ("Telephone.operator", "none"),
            ("Money.op_Addition", "none"),
        ] {
            assert_eq!(read(text), means, "{text}");
        }
    }
}
