//! Trees that the parser builds from texts, written as S-expressions.

use proptest::prelude::*;

use super::tree::*;
use super::*;

/// A tree as text, with enough detail to show its structure.
fn shown(expr: &Expr) -> String {
    use ExprKind::*;
    let list = |items: &[Expr]| items.iter().map(shown).collect::<Vec<_>>().join(" ");
    let arguments = |all: &[Argument]| {
        let one = |argument: &Argument| {
            let name = argument.name.as_ref().map(|name| format!("{name}:")).unwrap_or_default();
            let mode = match argument.mode {
                ArgumentMode::Value => "",
                ArgumentMode::Ref => "ref ",
                ArgumentMode::Out => "out ",
                ArgumentMode::In => "in ",
            };
            format!(" {name}{mode}{}", shown(&argument.value))
        };
        all.iter().map(one).collect::<String>()
    };
    match &expr.kind {
        Literal(constant) => match constant {
            crate::Constant::Text(text) => format!("{text:?}"),
            crate::Constant::Null => "null".into(),
            other => other.invariant_text(),
        },
        Utf8 => "u8".into(),
        Interpolated(pieces) => {
            let piece = |piece: &InterpolatedPart| match piece {
                InterpolatedPart::Text(text) => format!("{text:?}"),
                InterpolatedPart::Interpolation(interpolation) => format!(
                    "{{{}{}{}}}",
                    shown(&interpolation.value),
                    interpolation
                        .width
                        .as_ref()
                        .map(|width| format!(",{}", shown(width)))
                        .unwrap_or_default(),
                    interpolation.format.as_ref().map(|format| format!(":{format}")).unwrap_or_default()
                ),
            };
            format!("($ {})", pieces.iter().map(piece).collect::<Vec<_>>().join(" "))
        }
        Name(name) => named(name),
        Qualified(alias, name) => format!("{alias}::{}", named(name)),
        This => "this".into(),
        Base => "base".into(),
        Type(ty) => typed(ty),
        Paren(of) => format!("(paren {})", shown(of)),
        Member(of, name) => format!("(. {} {})", shown(of), named(name)),
        PointerMember(of, name) => format!("(-> {} {})", shown(of), named(name)),
        Conditional(of, then) => format!("(? {} {})", shown(of), shown(then)),
        Receiver => "@".into(),
        Index(of, all) => format!("([] {}{})", shown(of), arguments(all)),
        Call(of, all) => format!("(call {}{})", shown(of), arguments(all)),
        Unary(op, of) => format!("({} {})", op.text(), shown(of)),
        Deref(of) => format!("(* {})", shown(of)),
        AddressOf(of) => format!("(& {})", shown(of)),
        FromEnd(of) => format!("(^ {})", shown(of)),
        Range(a, b) => {
            let end = |end: &Option<Box<Expr>>| end.as_ref().map_or("_".into(), |end| shown(end));
            format!("(.. {} {})", end(a), end(b))
        }
        Step { of, up, prefix } => {
            format!("({}{} {})", if *up { "++" } else { "--" }, if *prefix { "" } else { "post" }, shown(of))
        }
        Binary(op, a, b) => format!("({} {} {})", op.text(), shown(a), shown(b)),
        Logical(op, a, b) => format!("({op:?} {} {})", shown(a), shown(b)),
        Assign(op, a, b) => match op {
            tree::Assign::Plain => format!("(= {} {})", shown(a), shown(b)),
            tree::Assign::Compound(op) => format!("({}= {} {})", op.text(), shown(a), shown(b)),
            tree::Assign::Coalesce => format!("(??= {} {})", shown(a), shown(b)),
        },
        Choice(a, b, c) => format!("(if {} {} {})", shown(a), shown(b), shown(c)),
        Is(of, pattern) => format!("(is {} {})", shown(of), pat(pattern)),
        As(of, ty) => format!("(as {} {})", shown(of), typed(ty)),
        Cast(ty, of) => format!("(cast {} {})", typed(ty), shown(of)),
        Switch(of, arms) => {
            let arm = |arm: &SwitchArm| {
                let when = arm.when.as_ref().map(|when| format!(" when {}", shown(when))).unwrap_or_default();
                format!(" [{}{when} {}]", pat(&arm.pattern), shown(&arm.value))
            };
            format!("(switch {}{})", shown(of), arms.iter().map(arm).collect::<String>())
        }
        With(of) => format!("(with {})", shown(of)),
        New { ty, arguments: all, initializer } => format!(
            "(new {}{}{})",
            ty.as_ref().map_or("_".into(), typed),
            arguments(all),
            match initializer {
                None => String::new(),
                Some(Initializer::Items(items)) =>
                    format!(" {{{}}}", items.iter().map(|row| list(row)).collect::<Vec<_>>().join(", ")),
                Some(Initializer::Members(members)) => format!(" members {}", members.len()),
            }
        ),
        NewArray { of, lengths, rank, items } => format!(
            "(array {} {rank}{}{})",
            of.as_ref().map_or("_".into(), typed),
            lengths.iter().map(|length| format!(" {}", shown(length))).collect::<String>(),
            items.as_ref().map(|items| format!(" {{{}}}", items.len())).unwrap_or_default()
        ),
        Anonymous(members) => format!(
            "(anonymous {})",
            members
                .iter()
                .map(|(name, value)| format!("{}={}", name.as_deref().unwrap_or("_"), shown(value)))
                .collect::<Vec<_>>()
                .join(" ")
        ),
        Tuple(elements) => format!(
            "(tuple {})",
            elements
                .iter()
                .map(|(name, value)| format!(
                    "{}{}",
                    name.as_ref().map(|name| format!("{name}:")).unwrap_or_default(),
                    shown(value)
                ))
                .collect::<Vec<_>>()
                .join(" ")
        ),
        Collection(items) => format!(
            "(collection {})",
            items
                .iter()
                .map(|(spreads, item)| format!("{}{}", if *spreads { ".." } else { "" }, shown(item)))
                .collect::<Vec<_>>()
                .join(" ")
        ),
        StackAlloc => "(stackalloc)".into(),
        Lambda(lambda) => {
            let parameters: Vec<&str> = lambda.parameters.iter().map(|(name, _)| &**name).collect();
            let body = match &lambda.body {
                LambdaBody::Value(value) => shown(value),
                LambdaBody::Block(block) => format!("{{{}}}", block.len()),
            };
            format!(
                "(=> [{}] {body}{})",
                parameters.join(" "),
                lambda.special.map(|what| format!(" !{what}")).unwrap_or_default()
            )
        }
        TypeOf(ty) => format!("(typeof {})", typed(ty)),
        SizeOf(ty) => format!("(sizeof {})", typed(ty)),
        Default(ty) => {
            format!("(default{})", ty.as_ref().map(|ty| format!(" {}", typed(ty))).unwrap_or_default())
        }
        NameOf(of) => format!("(nameof {})", shown(of)),
        Checked(is, of) => format!("({} {})", if *is { "checked" } else { "unchecked" }, shown(of)),
        Throw(of) => format!("(throw {})", shown(of)),
        Await(of) => format!("(await {})", shown(of)),
        Ref(of) => format!("(ref {})", shown(of)),
        NotNull(of) => format!("(! {})", shown(of)),
        Query(query) => {
            format!("(query {}{})", query.clauses.len(), if query.into.is_some() { " into" } else { "" })
        }
        Declaration(ty, names) => format!("(declare {} {names:?})", typed(ty)),
        Cursor(of, word) => format!("(cursor {} {word:?})", of.as_ref().map_or("_".into(), |of| shown(of))),
    }
}

fn named(name: &SimpleName) -> String {
    match (name.arguments.as_slice(), name.open) {
        ([], 0) => name.text.to_string(),
        ([], open) => format!("{}<{}>", name.text, ",".repeat(open - 1)),
        (all, _) => format!("{}<{}>", name.text, all.iter().map(typed).collect::<Vec<_>>().join(",")),
    }
}

fn typed(ty: &TypeName) -> String {
    match &ty.kind {
        TypeNameKind::Keyword(word) => word.to_string(),
        TypeNameKind::Named(names, is_global) => format!(
            "{}{}",
            if *is_global { "global::" } else { "" },
            names.iter().map(named).collect::<Vec<_>>().join(".")
        ),
        TypeNameKind::Nullable(of) => format!("{}?", typed(of)),
        TypeNameKind::Array(of, ranks) => format!(
            "{}{}",
            typed(of),
            ranks.iter().map(|rank| format!("[{}]", ",".repeat(*rank as usize - 1))).collect::<String>()
        ),
        TypeNameKind::Pointer(of) => format!("{}*", typed(of)),
        TypeNameKind::Tuple(elements) => format!(
            "({})",
            elements
                .iter()
                .map(|(ty, name)| format!(
                    "{}{}",
                    typed(ty),
                    name.as_ref().map(|name| format!(" {name}")).unwrap_or_default()
                ))
                .collect::<Vec<_>>()
                .join(",")
        ),
        TypeNameKind::Inferred => "var".into(),
    }
}

fn pat(pattern: &Pattern) -> String {
    let all = |patterns: &[Pattern]| patterns.iter().map(pat).collect::<Vec<_>>().join(" ");
    match &pattern.kind {
        PatternKind::Discard => "_".into(),
        PatternKind::Var(names) => format!("(var {names:?})"),
        PatternKind::Declaration(ty, names) => format!("({} {names:?})", typed(ty)),
        PatternKind::Type(ty) => typed(ty),
        PatternKind::TypeOrConstant(ty, _) => format!("?{}", typed(ty)),
        PatternKind::Constant(of) => shown(of),
        PatternKind::Relational(op, of) => format!("({} {})", op.text(), shown(of)),
        PatternKind::Not(of) => format!("(not {})", pat(of)),
        PatternKind::And(of) => format!("(and {})", all(of)),
        PatternKind::Or(of) => format!("(or {})", all(of)),
        PatternKind::Recursive(of) => format!(
            "({}{}{}{})",
            of.ty.as_ref().map_or("_".into(), typed),
            of.positions
                .as_ref()
                .map(|all| format!(
                    " ({})",
                    all.iter().map(|(_, one)| pat(one)).collect::<Vec<_>>().join(" ")
                ))
                .unwrap_or_default(),
            of.properties
                .iter()
                .map(|(names, one)| format!(" {}:{}", names.join("."), pat(one)))
                .collect::<String>(),
            of.name.as_ref().map(|name| format!(" {name:?}")).unwrap_or_default()
        ),
        PatternKind::List { items, .. } => format!(
            "[{}]",
            items
                .iter()
                .map(|item| match item {
                    ListItem::Pattern(one) => pat(one),
                    ListItem::Slice(None) => "..".into(),
                    ListItem::Slice(Some(one)) => format!("..{}", pat(one)),
                })
                .collect::<Vec<_>>()
                .join(" ")
        ),
    }
}

fn of(text: &str) -> String {
    match parse(text) {
        Ok(expr) => shown(&expr),
        Err(error) => format!("! {}", error.code),
    }
}

#[test]
fn operators_bind_as_the_specification_says() {
    for (text, tree) in [
        ("a + b * c", "(+ a (* b c))"),
        ("a * b + c", "(+ (* a b) c)"),
        ("a - b - c", "(- (- a b) c)"),
        ("a << 1 + 2", "(<< a (+ 1 2))"),
        ("a >> b > c", "(> (>> a b) c)"),
        ("a >>> 2", "(>>> a 2)"),
        ("a >= b == c", "(== (>= a b) c)"),
        ("a & b ^ c | d", "(| (^ (& a b) c) d)"),
        ("a && b || c", "(Or (And a b) c)"),
        ("a ?? b ?? c", "(Coalesce a (Coalesce b c))"),
        ("a ? b : c ? d : e", "(if a b (if c d e))"),
        ("a = b = c", "(= a (= b c))"),
        ("a >>= 1", "(>>= a 1)"),
        ("a ??= b", "(??= a b)"),
        ("-a.b", "(- (. a b))"),
        ("!a && b", "(And (! a) b)"),
        ("x is 1 && y", "(And (is x 1) y)"),
        ("a as B ?? c", "(Coalesce (as a B) c)"),
        ("x is int ? a : b", "(if (is x int) a b)"),
        ("x as Color? == null", "(== (as x Color?) null)"),
        ("++a + b--", "(+ (++ a) (--post b))"),
        ("a..^1", "(.. a (^ 1))"),
        ("x[..]", "([] x (.. _ _))"),
        ("*p + 1", "(+ (* p) 1)"),
    ] {
        assert_eq!(of(text), tree, "{text}");
    }
}

#[test]
fn casts_and_parentheses_are_distinguished() {
    for (text, tree) in [
        ("(int)x", "(cast int x)"),
        ("(int)-x", "(cast int (- x))"),
        ("(a) - b", "(- (paren a) b)"),
        ("(a)(b)", "(cast a (paren b))"),
        ("(A.B)c", "(cast A.B c)"),
        ("(List<int>)x", "(cast List<int> x)"),
        ("(int?)null", "(cast int? null)"),
        ("(int[])x", "(cast int[] x)"),
        ("(byte*)p", "(cast byte* p)"),
        ("(byte*)*p", "(cast byte* (* p))"),
        ("*(A*)&p", "(* (cast A* (& p)))"),
        ("((int)x)", "(paren (cast int x))"),
        ("(a + b) * c", "(* (paren (+ a b)) c)"),
        ("(x, y)", "(tuple x y)"),
        ("(a: 1, b: 2).b", "(. (tuple a:1 b:2) b)"),
        ("((int a, string b))x", "(cast (int a,string b) x)"),
        ("(object)\"a\"", "(cast object \"a\")"),
        ("(a) is B", "(is (paren a) ?B)"),
        ("(ushort)70000.GetHashCode()", "(cast ushort (call (. 70000 GetHashCode)))"),
    ] {
        assert_eq!(of(text), tree, "{text}");
    }
}

#[test]
fn generic_arguments_and_comparisons_are_distinguished() {
    for (text, tree) in [
        ("a < b", "(< a b)"),
        ("f<int>(x)", "(call f<int> x)"),
        ("a.F<int, string>(x)", "(call (. a F<int,string>) x)"),
        ("new List<List<int>>()", "(new List<List<int>>)"),
        ("f(a < b, c > d)", "(call f (< a b) (> c d))"),
        ("f(a<b, c>(d))", "(call f (call a<b,c> d))"),
        ("x is List<int>", "(is x ?List<int>)"),
        ("typeof(Dictionary<,>)", "(typeof Dictionary<,>)"),
        ("Box<int>.Made", "(. Box<int> Made)"),
        ("a < b || c > d", "(Or (< a b) (> c d))"),
        ("global::System.Math.PI", "(. (. global::System Math) PI)"),
        ("default(Dictionary<string, int[]>)", "(default Dictionary<string,int[]>)"),
    ] {
        assert_eq!(of(text), tree, "{text}");
    }
}

#[test]
fn conditional_accesses_reach_to_the_end_of_their_chain() {
    for (text, tree) in [
        ("a?.b", "(? a (. @ b))"),
        ("a?.b.c", "(? a (. (. @ b) c))"),
        ("a?.b?.c", "(? a (? (. @ b) (. @ c)))"),
        ("a?[0]", "(? a ([] @ 0))"),
        ("a?.b()[1]", "(? a ([] (call (. @ b)) 1))"),
        ("(a?.b).c", "(. (paren (? a (. @ b))) c)"),
        ("a + b?.c", "(+ a (? b (. @ c)))"),
        ("a?.5:1", "(if a 0.5 1)"),
        ("a ?[1] : [2]", "(if a (collection 1) (collection 2))"),
        ("a?.b = c", "(= (? a (. @ b)) c)"),
        ("a! .b", "(. (! a) b)"),
    ] {
        assert_eq!(of(text), tree, "{text}");
    }
}

#[test]
fn creation_is_read() {
    for (text, tree) in [
        ("new A(1, b: 2)", "(new A 1 b:2)"),
        ("new() { X = 1 }", "(new _ members 1)"),
        ("new A { 1, 2 }", "(new A {1, 2})"),
        ("new D { { \"a\", 1 } }", "(new D {\"a\" 1})"),
        ("new D { [\"a\"] = 1 }", "(new D members 1)"),
        ("new int[3]", "(array int 1 3)"),
        ("new int[2, 3]", "(array int 2 2 3)"),
        ("new int[2][]", "(array int[] 1 2)"),
        ("new[] { 1, 2 }", "(array _ 1 {2})"),
        ("new[,] { { 1 }, { 2 } }", "(array _ 2 {2})"),
        ("new int[] { 4, 5 }[1]", "([] (array int 1 {2}) 1)"),
        ("new int[][,] { }", "(array int[,] 1 {0})"),
        ("new { A = 1, b.C }", "(anonymous A=1 _=(. b C))"),
        ("new A.B<int>.C()", "(new A.B<int>.C)"),
        ("[1, ..x]", "(collection 1 ..x)"),
        ("stackalloc int[3]", "(stackalloc)"),
        ("a with { X = 1 }", "(with a)"),
        ("new A", "! CS1526"),
    ] {
        assert_eq!(of(text), tree, "{text}");
    }
}

#[test]
fn patterns_are_read() {
    for (text, tree) in [
        ("x is > 5 and < 10", "(is x (and (> 5) (< 10)))"),
        ("x is not (1 or 7)", "(is x (not (or 1 7)))"),
        ("x is string s", "(is x (string Name(\"s\")))"),
        ("x is string s && s.Length > 1", "(And (is x (string Name(\"s\"))) (> (. s Length) 1))"),
        ("x is { A: 1, B.C: _ } y", "(is x (_ A:1 B.C:_ Name(\"y\")))"),
        ("x is Point(3, var y)", "(is x (Point (3 (var Name(\"y\")))))"),
        ("x is (1, _)", "(is x (_ (1 _)))"),
        ("x is [1, .., var z]", "(is x [1 .. (var Name(\"z\"))])"),
        ("x is [_, .. var rest]", "(is x [_ ..(var Name(\"rest\"))])"),
        ("x is var (a, b)", "(is x (var Tuple([Name(\"a\"), Name(\"b\")])))"),
        ("x is Color.Green", "(is x ?Color.Green)"),
        ("x is null", "(is x null)"),
        ("x is int[] { Length: 3 }", "(is x (int[] Length:3))"),
        ("x is (1 + 2) * 3", "(is x (* (paren (+ 1 2)) 3))"),
        ("x is -1", "(is x (- 1))"),
        ("x is Point { X: 1 } and not null", "(is x (and (Point X:1) (not null)))"),
        ("x switch { 1 => a, > 2 when b => c, _ => d }", "(switch x [1 a] [(> 2) when b c] [_ d])"),
        (
            "x switch { string t => t, int n when n > 50 => 1, _ => 2 }",
            "(switch x [(string Name(\"t\")) t] [(int Name(\"n\")) when (> n 50) 1] [_ 2])",
        ),
        (
            "x switch { (3, 5) => 1, (var a, 4) when a == 3 => 2, _ => 3 }",
            "(switch x [(_ (3 5)) 1] [(_ ((var Name(\"a\")) 4)) when (== a 3) 2] [_ 3])",
        ),
        ("x is { } y", "(is x (_ Name(\"y\")))"),
        ("x is 1 == yes", "(== (is x 1) yes)"),
    ] {
        assert_eq!(of(text), tree, "{text}");
    }
}

#[test]
fn lambdas_queries_and_declarations_are_read() {
    for (text, tree) in [
        ("x => x + 1", "(=> [x] (+ x 1))"),
        ("(a, b) => a", "(=> [a b] a)"),
        ("(int a, string b) => a", "(=> [a b] a)"),
        ("() => 1", "(=> [] 1)"),
        ("async x => x", "(=> [x] x !an async lambda)"),
        ("x => { return x; }", "(=> [x] {1})"),
        ("x => { int Twice(int y) => y * 2; return Twice(x); }", "(=> [x] {2})"),
        ("x => { try { a(); } catch { b(); } return x; }", "(=> [x] {2})"),
        ("delegate(int x) { return x; }", "(=> [x] {1})"),
        ("list.Select(x => (x) - 1).Sum()", "(call (. (call (. list Select) (=> [x] (- (paren x) 1))) Sum))"),
        ("f(out var x)", "(call f out (declare var Name(\"x\")))"),
        ("f(out int x, ref y)", "(call f out (declare int Name(\"x\")) ref y)"),
        ("f(out _)", "(call f out (declare var Discard))"),
        ("(a, b) = (b, a)", "(= (tuple a b) (tuple b a))"),
        ("(one, var x) = (1, 2)", "(= (tuple one (declare var Name(\"x\"))) (tuple 1 2))"),
        ("from x in list where x > 1 orderby x descending select x * 2", "(query 3)"),
        ("from int x in list select x", "(query 1)"),
        ("from n in names group n by n[0] into g select g.Key", "(query 1 into)"),
        ("from + 1", "(+ from 1)"),
        ("a ?? throw new E(\"x\")", "(Coalesce a (throw (new E \"x\")))"),
        ("nameof(a.b)", "(nameof (. a b))"),
        ("checked(a + b)", "(checked (+ a b))"),
        ("await f(x)", "(await (call f x))"),
        ("$\"{x,5:F1} {(a ? b : c)}\"", "($ {x,5:F1} \" \" {(paren (if a b c))})"),
    ] {
        assert_eq!(of(text), tree, "{text}");
    }
}

#[test]
fn invalid_expression_is_refused_with_its_place() {
    for (text, code, at) in [
        ("i == 2 &&", "CS1733", 9),
        ("i ==", "CS1733", 4),
        (") i", "CS1525", 0),
        ("", "CS1733", 0),
        ("a b", "CS1525", 2),
        ("f(1,,2)", "CS1525", 4),
        ("(a", "CS1026", 2),
        ("a.", "CS1001", 2),
        ("x ? y", "CS1003", 5),
        ("#", "CS1056", 0),
        ("x switch { 1 = 2 }", "CS1003", 13),
        ("if", "CS1525", 0),
    ] {
        let error = parse(text).unwrap_err();
        assert_eq!((error.code, error.span.start), (code, at), "{text}: {error}");
    }
}

#[test]
fn completions_find_the_expression_before_the_dot() {
    for (text, tree) in [
        ("per", "(cursor _ \"per\")"),
        ("1 + person.Na", "(+ 1 (cursor person \"Na\"))"),
        ("f(a, list[0].", "(call f a (cursor ([] list 0) \"\"))"),
        ("a.F(b, c)?.x", "(? (call (. a F) b c) (cursor @ \"x\"))"),
        ("\"text\".Le", "(cursor \"text\" \"Le\")"),
        ("list.Where(x => x.", "(call (. list Where) (=> [x] (cursor x \"\")))"),
        ("a is { Name: \"x\" } && b.", "(And (is a (_ Name:\"x\")) (cursor b \"\"))"),
        ("new Dog { Name = o.", "(new Dog members 1)"),
        ("(a + b).", "(cursor (paren (+ a b)) \"\")"),
        ("x ? y.", "(cursor y \"\")"),
        ("new Do", "(cursor _ \"Do\")"),
        ("1 + new System.Te", "(+ 1 (cursor System \"Te\"))"),
    ] {
        let tree_of = parse_until(text, text.len()).map(|expr| shown(&expr));
        assert_eq!(tree_of.as_deref(), Some(tree), "{text}");
    }
    assert!(parse_until("\"in a text", 10).is_none());
}

/// Runs on a stack of the same size as the engine's.
fn on_small_stack(what: impl FnOnce() + Send + 'static) {
    std::thread::Builder::new().stack_size(2 << 20).spawn(what).unwrap().join().unwrap();
}

#[test]
fn nesting_and_length_have_an_end() {
    on_small_stack(|| {
        for text in [
            "(".repeat(10_000),
            "a[".repeat(10_000),
            "-".repeat(10_000) + "1",
            "!".repeat(10_000) + "x",
            "x => ".repeat(3_000) + "1",
            "a ? ".repeat(4_000) + "b",
            "1 + ".repeat(4_000) + "1",
            "a.".repeat(8_000) + "b",
            "a?.".repeat(5_000) + "b",
            "x is (".repeat(2_000),
            "x is not ".repeat(1_000),
            "new A { B = ".repeat(1_000),
            "f(out ".repeat(2_000),
            "List<".repeat(3_000),
            "(int".repeat(3_000),
            "$\"{".repeat(3_000),
            "{".repeat(10_000),
            "x".repeat(1 << 20),
            "\u{0}\u{ffff}".repeat(100),
        ] {
            assert!(parse(&text).is_err(), "{}", &text[..10]);
            drop(parse_until(&text, text.len()));
        }
        // Nesting in real code is far less deep.
        let nested = format!("{}x{}", "(".repeat(32), ")".repeat(32));
        assert!(parse(&nested).is_ok());
        let long = vec!["a.b == 1"; 200].join(" || ");
        assert!(parse(&long).is_ok());
    });
}

#[test]
fn every_character_is_read_or_refused() {
    let all: Vec<char> = ('\u{0}'..=char::MAX).collect();
    for some in all.chunks(512) {
        let text: String = some.iter().filter(|one| !matches!(one, '"' | '\\' | '\n' | '\r')).collect();
        drop(parse(&format!("\"{text}\"")));
        drop(parse(&text));
    }
    for one in all.iter().step_by(61).chain(&all[..0x3000]) {
        for text in [format!("{one}"), format!("a{one}b"), format!("'{one}'"), format!("$\"{{{one}}}{one}\"")]
        {
            drop(parse(&text));
            drop(parse_until(&text, text.len()));
        }
    }
}

proptest! {
    #[test]
    fn any_text_parses_or_is_refused(text in "\\PC{0,60}") {
        drop(parse(&text));
        drop(parse_until(&text, text.len()));
    }

    #[test]
    fn any_tokens_parse_or_are_refused(parts in prop::collection::vec(prop::sample::select(vec![
        "a", "1", "(", ")", "[", "]", "{", "}", "<", ">", "?", ".", "=>", "is", "new", "int", ",", ":",
        "\"s\"",
        "$\"{", "}\"", "switch", "=", "x", "not", "var", "..", "default", "from x in a", "select",
    ]), 0..24)) {
        let text = parts.join(" ");
        drop(parse(&text));
        drop(parse_until(&text, text.len()));
        let text = parts.concat();
        if let Ok(expr) = parse(&text) {
            prop_assert!(expr.span.end <= text.len());
        }
    }
}
