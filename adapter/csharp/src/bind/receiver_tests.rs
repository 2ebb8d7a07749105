//! Which receivers of calls are copied, and which are refused.

use super::fake::FakeTypes;
use super::typed::{TypedCall, TypedKind};
use super::*;
use crate::syntax::parse;

const VARIABLES: &[(&str, &str)] = &[
    ("point", "Point"),
    ("fixedPoint", "Point"),
    ("corner", "Corner"),
    ("fixedCorner", "Corner"),
    ("frame", "Frame"),
    ("boxed", "object"),
    ("maybe", "Point?"),
    ("pair", "(Point, int)"),
    ("points", "Point[]"),
    ("list", "List<Point>"),
    ("yes", "bool"),
    ("ints", "Span<int>"),
    ("letters", "ReadOnlySpan<char>"),
    ("view", "View"),
];

fn bound(scope: &Scope, world: &FakeTypes, text: &str) -> Result<Typed, Refusal> {
    match bind(&parse(text).map_err(Refusal::Invalid)?, scope, None, world)?.meaning {
        Meaning::Value(value) => Ok(value),
        other => panic!("{text}: {other:?}"),
    }
}

/// How the receiver of the last call or property is passed.
fn receiver(value: &Typed) -> &'static str {
    let mut found = "none";
    value.visit(&mut |part| match &part.kind {
        TypedKind::Call(call) => {
            if let TypedCall { of: Some(of), .. } = call.as_ref() {
                let mut is_own = false;
                of.visit(&mut |part| is_own |= matches!(part.kind, TypedKind::OwnSlot(_)));
                found = match &of.kind {
                    TypedKind::StructCopy(_) => "copy",
                    _ if is_own => "own",
                    _ => "place",
                };
            }
        }
        TypedKind::Property(Some(_), property) if matches!(&*property.property.name, "Next" | "Seen") => {
            found = if property.copies_receiver { "copy" } else { "place" };
        }
        _ => {}
    });
    found
}

#[test]
fn a_struct_that_is_not_a_variable_is_copied_for_a_call() {
    let world = FakeTypes::new();
    let mut scope = world.scope_of(VARIABLES, Some("Frame"), false);
    for (text, expected) in [
        ("point.Bump()", "place"),
        ("point.Next", "place"),
        ("(point).Bump()", "place"),
        ("fixedPoint.Bump()", "copy"),
        ("fixedPoint.Look()", "place"),
        ("fixedPoint.Next", "copy"),
        ("fixedPoint.Seen", "place"),
        ("fixedPoint.X.ToString()", "place"),
        ("corner.At.Bump()", "place"),
        ("corner.Fixed.Bump()", "copy"),
        ("fixedCorner.At.Bump()", "copy"),
        ("frame.At.Bump()", "place"),
        ("frame.Fixed.Bump()", "copy"),
        ("frame.Corner.At.Bump()", "copy"),
        ("Fixed.Bump()", "copy"),
        ("this.Fixed.Next", "copy"),
        ("At.Bump()", "place"),
        ("Frame.Shared.Bump()", "place"),
        ("frame.Stored.Bump()", "copy"),
        ("frame.Made.Bump()", "copy"),
        ("frame?.At.Bump()", "place"),
        ("frame?.Fixed.Bump()", "copy"),
        ("((Point)boxed).Bump()", "copy"),
        ("((Point)point).Bump()", "copy"),
        ("((object)point).ToString()", "copy"),
        ("maybe.Value.Bump()", "copy"),
        ("maybe?.Bump()", "copy"),
        ("(maybe ?? point).Bump()", "copy"),
        ("(yes ? point : fixedPoint).Bump()", "copy"),
        ("(point = fixedPoint).Bump()", "copy"),
        ("pair.Item1.Bump()", "place"),
        ("points[0].Bump()", "place"),
        ("list[0].Bump()", "copy"),
        ("new Point(1, 2).Bump()", "place"),
        ("default(Point).Bump()", "place"),
        ("boxed is Point q && q.Bump() > 0", "own"),
        ("point is var q && q.Next > 0", "copy"),
        ("point is { Next: 1 }", "place"),
        ("fixedPoint is { Next: 1 }", "copy"),
        ("fixedPoint is { Seen: 1 }", "place"),
        ("Fixed is { Next: 1 }", "copy"),
        ("At is { Next: 1 }", "copy"),
        ("frame is { At: { Next: 1 } }", "copy"),
        ("frame is { At.Next: 1 }", "copy"),
        ("corner is { At.Next: 1 }", "copy"),
        ("maybe is { Next: 1 }", "copy"),
        ("boxed is Point { Next: 1 }", "copy"),
        ("points[0] is { Next: 1 }", "copy"),
        ("Fixed switch { { Next: 1 } => yes, _ => yes }", "copy"),
        ("corner is var q && q.At.Bump() > 0", "own"),
        ("corner is var q && q.Fixed.Bump() > 0", "copy"),
    ] {
        let value = bound(&scope, &world, text).unwrap_or_else(|refusal| panic!("{text}: {refusal:?}"));
        assert_eq!(receiver(&value), expected, "{text}");
    }
    scope.is_constructor = true;
    for (text, expected) in [("Fixed.Bump()", "place"), ("frame.Fixed.Bump()", "copy")] {
        assert_eq!(receiver(&bound(&scope, &world, text).unwrap()), expected, "{text}");
    }
    let mut scope = world.scope_of(VARIABLES, Some("Corner"), false);
    assert_eq!(receiver(&bound(&scope, &world, "At.Bump()").unwrap()), "place");
    scope.is_this_readonly = true;
    assert_eq!(receiver(&bound(&scope, &world, "At.Bump()").unwrap()), "copy");
}

#[test]
fn a_ref_struct_is_not_boxed_for_an_inherited_method() {
    let world = FakeTypes::new();
    let scope = world.scope_of(VARIABLES, Some("Calls"), false);
    for text in ["view.ToString()", "view.GetType()", "view.Equals(boxed)", "ints.ToString()"] {
        let Err(Refusal::Invalid(refusal)) = bound(&scope, &world, text) else { panic!("{text}") };
        assert_eq!(refusal.code, "CS0029", "{text}");
    }
    assert!(bound(&scope, &world, "letters.ToString()").is_ok());
}
