//! Which overloads are chosen where an argument converts to a span.

use super::fake::FakeTypes;
use super::*;
use crate::syntax::parse;

const VARIABLES: &[(&str, &str)] = &[
    ("array", "int[]"),
    ("numbers", "List<int>"),
    ("texts", "string[]"),
    ("text", "string"),
    ("ints", "Span<int>"),
];

/// The compiler binds these by the language version of the code.
#[test]
fn calls_that_convert_an_argument_to_a_span_are_left_to_the_compiler() {
    let world = FakeTypes::new();
    let scope = world.scope_of(VARIABLES, Some("Calls"), false);
    let span = "compiler: an argument that is converted to a `ref struct`";
    let params = "compiler: a `params` collection that is not an array";
    for (text, expected) in [
        ("Spans(array)", span),
        ("Spans(numbers)", "string"),
        ("Spans(ints)", "string"),
        ("Letters(text)", span),
        ("Letters(array)", "string"),
        ("Exactly(array)", "int"),
        ("Generic(array)", span),
        ("Generic(texts)", span),
        ("Generic(numbers)", "string"),
        ("Objects(texts)", span),
        ("Objects(array)", "CS1503"),
        ("Gather(1, 2)", params),
        ("Gather(1, text)", "string"),
        ("Gather()", params),
        ("Listed(1, 2)", params),
        ("Listed(numbers)", "string"),
        ("array.Shape()", span),
        ("numbers.Shape()", "string"),
        // The framework's overloads return the same.
        ("Array.Fill(array, 1, 2)", "void"),
    ] {
        let got = match bind(&parse(text).unwrap(), &scope, None, &world).map(|bound| bound.meaning) {
            Ok(Meaning::Value(value)) => TypeRelations::new(&world).type_text(&value.ty),
            Ok(other) => panic!("{text}: {other:?}"),
            Err(Refusal::Invalid(diagnostic)) => diagnostic.code.to_owned(),
            Err(Refusal::NeedsCompiler { what, .. }) => format!("compiler: {what}"),
        };
        assert_eq!(got, expected, "{text}");
    }
}
