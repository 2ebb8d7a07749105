//! Types, diagnostics and effects that the binder finds for expressions.

use super::fake::FakeTypes;
use super::*;
use crate::constant::Constant;
use crate::syntax::parse;

const VARIABLES: &[(&str, &str)] = &[
    ("one", "int"),
    ("two", "int"),
    ("small", "byte"),
    ("tiny", "sbyte"),
    ("brief", "short"),
    ("word", "uint"),
    ("wide", "long"),
    ("huge", "ulong"),
    ("single", "float"),
    ("real", "double"),
    ("money", "decimal"),
    ("letter", "char"),
    ("yes", "bool"),
    ("text", "string"),
    ("nothing", "string"),
    ("boxed", "object"),
    ("some", "int?"),
    ("half", "double?"),
    ("color", "Color"),
    ("access", "Access"),
    ("maybe", "Color?"),
    ("point", "Point"),
    ("place", "Point?"),
    ("animal", "Animal"),
    ("dog", "Dog"),
    ("box", "Box<int>"),
    ("words", "Box<string>"),
    ("list", "List<int>"),
    ("names", "List<string>"),
    ("ages", "Dictionary<string, int>"),
    ("array", "int[]"),
    ("grid", "int[,]"),
    ("jagged", "int[][]"),
    ("pair", "(string name, int age)"),
    ("people", "List<(string name, int age)>"),
    ("twice", "Func<int, int>"),
    ("sequence", "IEnumerable<int>"),
    ("query", "IQueryable<int>"),
    ("num", "Num"),
    ("tri", "Tri"),
    ("exact", "Exact"),
    ("maybeNum", "Num?"),
    ("on", "Switch"),
    ("date", "DateTime"),
    ("span", "TimeSpan"),
    ("ints", "Span<int>"),
    ("pointer", "int*"),
    ("counter", "Counter"),
    ("open", "dynamic"),
    ("truth", "bool?"),
    ("nint", "nint"),
    ("service", "Service"),
    ("calls", "Calls"),
    ("cells", "Cells"),
];

fn bound_in(world: &FakeTypes, text: &str, class: Option<&str>) -> Result<BoundExpression, Refusal> {
    let expr = parse(text).map_err(Refusal::Invalid)?;
    *world.text.borrow_mut() = text.to_owned();
    let scope = world.scope_of(VARIABLES, class, false);
    bind(&expr, &scope, None, world)
}

fn shown(world: &FakeTypes, bound: &Result<BoundExpression, Refusal>) -> String {
    match bound {
        Ok(BoundExpression { meaning: Meaning::Value(value), .. }) => {
            let constant = value
                .constant()
                .map(|constant| format!(" = {}", constant.invariant_text()))
                .unwrap_or_default();
            format!("{}{constant}", TypeRelations::new(world).type_text(&value.ty))
        }
        Ok(BoundExpression { meaning: Meaning::Type(ty), .. }) => {
            format!("type {}", TypeRelations::new(world).type_text(ty))
        }
        Ok(BoundExpression { meaning: Meaning::Namespace(name), .. }) => format!("namespace {name}"),
        Err(Refusal::Invalid(diagnostic)) => diagnostic.code.to_owned(),
        Err(Refusal::NeedsCompiler { what, .. }) => format!("compiler: {what}"),
    }
}

fn check_in(class: Option<&str>, table: &[(&str, &str)]) {
    let world = FakeTypes::new();
    let wrong: Vec<String> = table
        .iter()
        .filter_map(|(text, expected)| {
            let bound = bound_in(&world, text, class);
            let got = shown(&world, &bound);
            (got != *expected).then(|| format!("{text}: {got}, not {expected} ({:?})", bound.err()))
        })
        .collect();
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
}

fn check(table: &[(&str, &str)]) {
    check_in(None, table);
}

/// A test for each row, so that each is counted and named.
macro_rules! tables {
    ($($name:ident { $($text:literal => $expected:literal),* $(,)? })*) => {
        $(#[test] fn $name() { check(&[$(($text, $expected)),*]); })*
    };
}

tables! {
    numbers_are_promoted {
        "one + two" => "int", "small + small" => "int", "tiny + small" => "int", "letter + one" => "int",
        "word + 1" => "uint", "word + one" => "long", "wide + one" => "long", "huge + 1" => "ulong",
        "huge + word" => "ulong",
        "single + one" => "float", "single + real" => "double", "money + 1" => "decimal",
        "1 + 2L" => "long = 3",
        "nint + 1" => "nint", "small << 2" => "int", "wide >> 3" => "long", "one >>> 1" => "int",
    }
    numbers_that_have_no_operator_are_refused {
        "huge + one" => "CS0034", "money + real" => "CS0019", "wide + huge" => "CS0034",
        "one << wide" => "CS0019",
        "real & one" => "CS0019", "yes + one" => "CS0019", "-huge" => "CS0023", "~real" => "CS0023",
        "!one" => "CS0023",
    }
    unary_operators_have_their_types {
        "-small" => "int", "-word" => "long", "+letter" => "int", "~small" => "int",
        "-2147483648" => "int = -2147483648",
        "-9223372036854775808" => "long = -9223372036854775808", "!yes" => "bool", "-some" => "int?",
        "~color" => "Shapes.Color",
        "-money" => "decimal", "!truth" => "bool?",
    }
    constants_are_folded {
        "1 + 2 * 3" => "int = 7", "'a' + 1" => "int = 98", "\"a\" + \"b\"" => "string = ab",
        "1 < 2" => "bool = True",
        "5 / 2" => "int = 2", "(byte)200" => "byte = 200", "(long)1 << 40" => "long = 1099511627776",
        "yes ? 1 : 2" => "int", "true ? 1 : 2" => "int = 1", "int.MaxValue - 1" => "int = 2147483646",
        "sizeof(int)" => "int = 4", "sizeof(decimal)" => "int = 16", "nameof(list.Count)" => "string = Count",
        "default(int)" => "int = 0", "(Color)5" => "Shapes.Color = 5", "Animal.Family" => "string = animal",
        "$\"{\"a\"}b\"" => "string = ab", "unchecked(int.MaxValue + 1)" => "int = -2147483648",
        "unchecked((byte)300)" => "byte = 44", "1.5m + 1" => "decimal = 2.5",
        "Color.Green" => "Shapes.Color = 5",
        "!true" => "bool = False", "(int)2.9" => "int = 2", "\"a\" == \"a\"" => "bool = True",
    }
    constants_that_overflow_are_refused {
        "int.MaxValue + 1" => "CS0220", "1 / 0" => "CS0020", "one / 0" => "int",
        "one % default(int)" => "int", "(byte)300" => "CS0221",
        "5 % 0" => "CS0020", "checked(2147483647 * 2)" => "CS0220", "1m / 0m" => "CS0020",
    }
    a_tuple_is_converted_by_its_elements {
        "new List<(int, byte)> { (one, 2) }" => "System.Collections.Generic.List<(int, byte)>",
        "new List<(int, byte)?> { (small, 2) }" => "System.Collections.Generic.List<(int, byte)?>",
        "new List<(int, byte)> { (one, 300) }" => "CS1503",
        "new List<(int, byte)> { (one, one) }" => "CS1503",
    }
    values_on_stacks_are_not_stored {
        "(Calls.Whole(array), 1)" => "CS0611", "new[] { Calls.Whole(array) }" => "CS0611",
        "new Span<int>[2]" => "CS0611", "new { Calls.Whole(array).Length, ints }" => "CS0828",
        "Calls.Id(Calls.Whole(array))" => "compiler: a `ref struct` as a type argument",
        "(Calls.Whole(array).Length, 1)" => "(int Length, int)",
        "yes ? Calls.Whole(array) : ints" => "System.Span<int>",
    }
    results_that_refer_to_arguments_need_the_compiler {
        "Calls.Pick(ref one, 2)" => "compiler: a call whose result may refer to an argument",
        "Calls.Pick(ref array[0], 2) + 1" => "compiler: a call whose result may refer to an argument",
        "Calls.Refer(one)" => "compiler: a call whose result may refer to an argument",
        "Calls.Cut(ref one)[0]" => "compiler: a call whose result may refer to an argument",
        "new View(ref one)" => "compiler: a call whose result may refer to an argument",
        "new View(array)" => "Shapes.View", "Calls.Whole(array)[0]" => "int",
        "Calls.Head(array, out var n).Length + n" => "int", "Calls.Slot(one)" => "int",
    }
    constants_convert_more_freely {
        "Calls.K(5)" => "string", "Calls.K(300)" => "string", "small == 200" => "bool", "huge > 5" => "bool",
        "word - 1" => "uint", "color == 0" => "bool", "color != 1" => "CS0019", "huge - one" => "CS0034",
    }
    enums_stay_enums {
        "color + 1" => "Shapes.Color", "1 + color" => "Shapes.Color", "color - Color.Red" => "int",
        "access - Access.Read" => "byte",
        "color - 1" => "Shapes.Color", "access & Access.Read" => "Shapes.Access",
        "color == Color.Red" => "bool",
        "color < Color.Blue" => "bool", "maybe == Color.Blue" => "bool", "maybe + 1" => "Shapes.Color?",
        "color - 0" => "Shapes.Color",
        "access - 0" => "byte", "+color" => "CS0023", "color + color" => "CS0019",
        "color & access" => "CS0019", "color * 2" => "CS0019",
    }
    nullables_are_lifted {
        "some + 1" => "int?", "some + real" => "double?", "some > 5" => "bool", "some == null" => "bool",
        "some.Value" => "int",
        "some.HasValue" => "bool", "some.GetValueOrDefault()" => "int", "truth & yes" => "bool?",
        "truth == true" => "bool",
        "some & 1" => "int?", "truth && yes" => "CS0019", "half * some" => "double?",
        "some.ToString()" => "string",
        "place + point" => "Shapes.Point?", "place == point" => "bool",
    }
    text_is_joined {
        "text + one" => "string", "one + text" => "string", "text + null" => "string",
        "null + boxed" => "string",
        "text + point" => "string", "text - one" => "CS0019", "text == nothing" => "bool",
        "text == boxed" => "bool", "text < nothing" => "CS0019",
    }
    pointers_are_moved {
        "pointer + 1" => "int*", "1L + pointer" => "int*", "pointer - small" => "int*",
        "pointer + huge" => "int*", "pointer - pointer" => "long", "pointer < pointer" => "bool",
        "pointer++" => "int*", "--pointer" => "int*", "pointer += 2" => "int*", "(void*)pointer" => "void*",
        "pointer = null" => "int*", "pointer = &one" => "int*", "pointer = (void*)pointer" => "CS0266",
        "pointer + pointer" => "CS0019", "pointer + real" => "CS0019", "1 - pointer" => "CS0019",
        "pointer * 2" => "CS0019", "pointer - (byte*)pointer" => "CS0019", "(void*)pointer + 1" => "CS0242",
        "(double)pointer" => "CS0030", "(int*)real" => "CS0030", "(char)pointer" => "CS0030",
        "(int*)letter" => "CS0030", "(int*)'a'" => "CS0030", "(Color)pointer" => "CS0030",
        "(int*)color" => "CS0030", "(int*)tiny" => "int*", "(nint)pointer" => "nint",
        "(char?)pointer" => "CS0030",
        "checked(pointer + 1)" => "int*",
    }
    casts_are_chosen {
        "(int)real" => "int", "(int)boxed" => "int", "(string)boxed" => "string",
        "(Dog)animal" => "Shapes.Dog", "(object)one" => "object",
        "(int?)one" => "int?", "(int?)null" => "int? = ", "(Point)3" => "Shapes.Point",
        "(int)point" => "int", "(long)point" => "long",
        "(int)num" => "int", "(Color)one" => "Shapes.Color", "(int)color" => "int", "(string)one" => "CS0030",
        "(Dog)text" => "CS0030", "(int)null" => "CS0030", "(bool)one" => "CS0030", "(int)some" => "int",
        "(long?)some" => "long?",
        "(IEnumerable<object>)names" => "System.Collections.Generic.IEnumerable<object>",
        "(byte)money" => "byte", "(int)animal" => "CS0030",
        "(int*)pointer" => "int*", "(long)pointer" => "long",
    }
    user_conversions_serve_built_in_operators {
        "num - 1" => "int", "num > 700" => "bool", "-num" => "int", "~num" => "int", "num == one" => "bool",
        "num + num" => "int",
        "1 << num" => "int", "num * 2.5" => "double", "maybeNum + 1" => "int?", "on && yes" => "bool",
        "on ? 1 : 2" => "int",
        "!on" => "bool", "array[num]" => "int", "num + point" => "CS0019", "on & yes" => "bool",
    }
    user_operators_are_found {
        "point + point" => "Shapes.Point", "point + 1" => "Shapes.Point", "point == point" => "bool",
        "date - date" => "System.TimeSpan",
        "date - span" => "System.DateTime", "date + span" => "System.DateTime", "date > date" => "bool",
        "date + date" => "CS0019",
        "point < point" => "CS0019", "date == default" => "bool",
    }
    checked_operators_hide_the_others_in_checked {
        "exact + exact" => "Shapes.Exact", "checked(exact + exact)" => "long", "-exact" => "Shapes.Exact",
        "checked(-exact)" => "long",
        "unchecked(exact + exact)" => "Shapes.Exact", "checked(exact & exact)" => "Shapes.Exact",
    }
    types_define_their_own_short_circuit {
        "tri && tri" => "Shapes.Tri", "tri || tri || tri" => "Shapes.Tri", "tri && yes" => "CS0019",
        "yes && tri" => "CS0019",
        "point && point" => "CS0019", "point || yes" => "CS0019",
    }
    constants_of_patterns_have_the_type_of_the_value {
        "letter is 'x'" => "bool", "letter is 7" => "CS0266", "one is 1L" => "CS0266",
        "small is 7" => "bool", "small is 700" => "CS0031",
        "boxed is 7" => "bool", "some is 12" => "bool", "text is 5" => "CS0029",
    }
    choices_have_one_type {
        "yes ? one : word" => "compiler: a choice between numbers of no common type",
        "yes ? one : real" => "double", "yes ? 1 : 2.5" => "double", "yes ? one : some" => "int?",
        "yes ? 1 : huge" => "ulong",
        "yes ? letter : one" => "int", "yes ? animal : dog" => "Shapes.Animal",
        "yes ? null : text" => "string", "yes ? 1 : null" => "CS0173",
        "yes ? text : one" => "CS0173", "one ? 1 : 2" => "CS0029", "yes ? point : default" => "Shapes.Point",
        "yes ? text : throw new Exception()" => "string",
        "(int?)(yes ? 1 : null)" => "CS0173",
    }
    coalescing_has_one_type {
        "some ?? 1" => "int", "some ?? real" => "double", "some ?? half" => "double?",
        "text ?? \"x\"" => "string", "one ?? 1" => "CS0019",
        "animal ?? dog" => "Shapes.Animal", "dog ?? animal" => "Shapes.Animal", "text ?? one" => "CS0019",
        "some ?? default" => "int",
        "text ?? throw new Exception(\"x\")" => "string", "null ?? text" => "string",
    }
    conditional_accesses_are_lifted {
        "text?.Length" => "int?", "dog?.Name" => "string", "dog?.Name.Length" => "int?",
        "dog?.Name?.Length" => "int?", "names?[0]" => "string",
        "array?[0]" => "int?", "(text?.Length).HasValue" => "bool", "text?.Length + 1" => "int?",
        "some?.ToString()" => "string",
        "one?.ToString()" => "CS0023", "place?.X" => "int?", "dog?.Legs()" => "int?",
        "list?.Add(1)" => "void", "dog?.Best.Best?.Name" => "string",
    }
    members_are_found {
        "animal.Name" => "string", "dog.Name" => "string", "dog.legs" => "int", "animal.Legs()" => "int",
        "dog.Best.Friend" => "Shapes.Animal",
        "text.Length" => "int", "array.Length" => "int", "grid.Rank" => "int = 2",
        "array.LongLength" => "long", "pair.name" => "string",
        "pair.Item2" => "int", "box.Value" => "int", "words.Value" => "string", "box.Items[0]" => "int",
        "box.Pair().first" => "int",
        "people[0].age" => "int", "Box<int>.Made" => "int", "animal.Cnt" => "CS1061",
        "pair.Item3" => "CS1061", "one.Foo" => "CS1061",
        "null.Foo" => "CS0023", "Animal.Count" => "int", "Dog.Count" => "int", "Animal.Nope" => "CS0117",
        "Animal.Name" => "CS0120", "text.Length.Foo" => "CS1061", "one.MaxValue" => "CS0176",
        "service.limit" => "int", "array.GetLength(0)" => "int",
    }
    names_are_looked_up {
        "one" => "int", "no_such_name" => "CS0103", "Color" => "type Shapes.Color",
        "System" => "namespace System", "System.Math" => "type System.Math",
        "List<int>" => "type System.Collections.Generic.List<int>", "System.Nope" => "CS0234",
        "global::System.Math.PI" => "double = 3.14",
        "Math" => "type System.Math", "nope::X" => "CS0432", "int" => "type int",
        "Box<int>.Inner" => "type Shapes.Box<int>.Inner",
        "this" => "CS0026", "Shapes.Color.Red" => "Shapes.Color = 0", "one.GetType" => "CS0428",
        "nameof(nope)" => "CS0103",
    }
    types_and_namespaces_are_no_values {
        "Color + 1" => "CS0119", "System + 1" => "CS0118", "text + Math" => "CS0119",
        "one + text.ToUpper" => "CS0428",
        "Math()" => "CS1955", "one()" => "CS0149", "typeof(nope)" => "CS0246",
        "typeof(System.Nope)" => "CS0234", "(Nope)one" => "CS0246",
    }
    overloads_are_chosen {
        "Calls.F(one)" => "string", "Calls.G(1)" => "string", "Calls.G()" => "string",
        "Calls.G(array)" => "string", "Calls.Id(5)" => "int",
        "Calls.Id(\"t\")" => "string", "Calls.Id<double>(1)" => "double", "Calls.Add(1)" => "int",
        "Calls.Add(1, c: 5)" => "int",
        "Calls.N(3)" => "string", "Calls.N(null)" => "string", "Math.Max(1, 2.5)" => "double",
        "Math.Max(word, 1)" => "uint",
        "Math.Max(one, wide)" => "long", "Math.Max(small, small)" => "int",
        "string.Join(\",\", names)" => "string",
        "box.Or(3)" => "int", "box.Into(\"u\")" => "string", "dog.Fetch(dog)" => "void",
        "Animal.Shout(times: 1)" => "string",
        "text.Substring(1, 2)" => "string", "twice(21)" => "int", "twice.Invoke(4)" => "int",
        "Calls.OnlyStruct(text)" => "string",
        "Calls.OnlyStruct(one)" => "int", "Late.Text(text)" => "string", "Array.IndexOf(array, 20)" => "int",
    }
    calls_that_do_not_fit_are_refused {
        "Calls.Add()" => "CS1501", "Calls.Add(1, 2, 3, 4)" => "CS1501", "Calls.Add(text)" => "CS1503",
        "dog.Fetch(animal)" => "CS1503",
        "list.Contains(\"a\")" => "CS1503", "animal.Shout()" => "CS0176", "Calls.Next()" => "CS0120",
        "Calls.Add(x: 1)" => "CS1503",
        "text.Nope()" => "CS1061", "text.Length()" => "CS0149", "twice(text)" => "CS1503",
        "list.Contains(text.ToUpper)" => "CS1503",
        "Calls.Place.X" => "compiler: a member that returns a struct by reference",
        "Calls.Spot(1).X" => "compiler: a member that returns a struct by reference",
        "calls.Amb(1, 2)" => "compiler: a call of which only the compiler knows the overload",
    }
    extension_methods_are_found {
        "text.Twice()" => "string", "one.Same()" => "int", "list.Count()" => "int", "array.Sum()" => "int",
        "sequence.First()" => "int",
        "list.Take(2).First()" => "int", "text.First()" => "char", "14.TryHalf(out var h) ? h : 0" => "int",
        "one.Twice()" => "CS1929",
        "((byte)1).TryHalf(out var h)" => "CS1929", "'a'.TryHalf(out var h)" => "CS1929",
        "list.ToArray().Length" => "int", "list.SequenceEqual(array)" => "bool",
        // Of a namespace that is not imported only public ones are meant.
        "text.Shown()" => "string", "text.Loud()" => "string", "text.Quiet()" => "CS1061",
    }
    out_and_ref_arguments_are_bound {
        "int.TryParse(text, out var n) ? n : 0" => "int", "int.TryParse(text, out int n) && n > 1" => "bool",
        "int.TryParse(text, out _)" => "bool",
        "ages.TryGetValue(text, out var a) && a == 30" => "bool", "int.TryParse(text, out one)" => "bool",
        "int.TryParse(text, out 5)" => "CS1510",
        "int.TryParse(text, out wide)" => "CS1503", "Calls.Swap(ref one, ref two)" => "void",
        "Calls.Swap(one, two)" => "CS1503",
        "Calls.Swap(ref one, ref wide)" => "CS1503", "int.TryParse(text, out Nope n)" => "CS0246",
        "Calls.Swap(ref animal.legs, ref one)" => "void",
    }
    elements_are_indexed {
        "array[1]" => "int", "grid[1, 2]" => "int", "jagged[1][0]" => "int", "text[0]" => "char",
        "list[0]" => "int", "ages[\"a\"]" => "int",
        "animal[3]" => "int", "animal[\"k\"]" => "int", "array[^1]" => "int", "text[1..3]" => "string",
        "array[..2]" => "int[]",
        "array[wide]" => "int", "ages[5]" => "CS1503", "list[\"a\"]" => "CS1503", "list[wide]" => "CS1503",
        "one[0]" => "CS0021", "grid[1]" => "CS0022",
        "array[\"a\"]" => "CS0029", "ints[0]" => "int", "pointer[1]" => "int", "list[^1]" => "int",
        "array[(Index)1]" => "int", "ages[null]" => "int",
    }
    objects_are_made {
        "new Point(1, 2)" => "Shapes.Point", "new Point()" => "Shapes.Point",
        "new Point { X = 1 }" => "Shapes.Point", "new Dog { Name = \"a\" }.Name" => "string",
        "new List<int> { 1, 2 }.Count" => "int", "new Dictionary<string, int> { [\"k\"] = 1, [\"l\"] = 2 \
            }[\"k\"]" => "int",
        "new Box<int>.Inner { Held = 4 }.Held" => "int", "new string('z', 3)" => "string",
        "new Math()" => "CS0144", "new Point(1)" => "CS1501",
        "new Dog { Nope = 1 }" => "CS0117", "new Dog { Name = 1 }" => "CS0029", "new()" => "CS8754",
        "((Point)new()).X" => "int",
        "new Dog { Best = new() { Name = \"b\" } }.Best" => "Shapes.Dog",
        "new Dictionary<string, int> { { \"a\", 1 } }" => "System.Collections.Generic.Dictionary<string, \
            int>",
        "new int?(3)" => "int?", "new Func<int>(null)" => "compiler: a new delegate",
        "new IQueryable()" => "CS0144",
    }
    arrays_and_tuples_are_made {
        "new int[3].Length" => "int", "new[] { 1, 2.5 }" => "double[]", "new[] { 1, 2 }[0]" => "int",
        "new[,] { { 1 }, { 2 } }" => "int[,]",
        "new int[2][]" => "int[][]", "new string[] { \"a\", null }" => "string[]",
        "new[] { 1, \"a\" }" => "CS0826", "new int[2] { 1 }" => "CS0847",
        "new int[,] { { 1, 2 }, { 3 } }" => "CS0847", "(1, \"a\")" => "(int, string)",
        "(one, text).text" => "string", "(a: 5, b: 6).b" => "int",
        "(1, 2) == (1, 2)" => "bool", "pair == (\"tom\", 5)" => "bool", "(1, 2) == (1, 2, 3)" => "CS8384",
        "new Point[] { new(1, 2), default }[0].Y" => "int", "new int[-1]" => "CS0248",
        "pair == pair" => "bool",
    }
    casts_of_collections_need_the_compiler {
        "(List<int>)[1, 2]" => "compiler: a collection expression", "(list)[0]" => "int",
        "List<int>[1]" => "CS0119", "int[1]" => "CS0119",
    }
    slices_of_inline_arrays_need_the_compiler {
        "default(Four<int>)[1..^1]" => "compiler: a slice of an inline array",
        "default(Four<int>)[^1]" => "int",
    }
    extension_properties_have_a_getter {
        "text.Words" => "int", "text?.Words" => "int?", "\"a\".Words.CompareTo(1)" => "int",
        "list.Top" => "int",
        "names.Top.Length" => "int", "one.Words" => "CS1061", "text.Words = 1" => "CS0131",
    }
    anonymous_objects_have_a_type_of_the_program {
        "new { X = one, Y = text }" => "<anonymous type: int X, string Y>",
        "new { X = one, Y = text }.Y" => "string", "new { X = one, Y = 1 }.Equals(dog)" => "bool",
        "new { X = 1, Y = 2 } == new { X = 1, Y = 2 }" => "bool",
        "boxed = new { X = 1, Y = text }" => "object",
        "new { X = 1, Y = 2 } == new { X = 1, Y = text }" => "CS0019",
        "(yes ? new { X = 1, Y = 2 } : null).X" => "int", "new { X = 1, Y = 2 }.Z" => "CS1061",
        "new { 1 }" => "CS0746", "new { one, dog.Name, one }" => "CS0833", "new { X = null }" => "CS0828",
        "new { X = pointer }" => "CS0828",
    }
    patterns_are_typed {
        "boxed is int" => "bool", "boxed is int n && n > 1" => "bool", "boxed is int n ? n + 1 : 0" => "int",
        "text is { Length: 5 }" => "bool",
        "animal is Dog { Name: \"x\" } d && d.Best == null" => "bool", "one is > 1 and < 5" => "bool",
        "boxed is int and > 50" => "bool", "point is (3, var y) && y == 4" => "bool",
        "pair is (\"a\", _)" => "bool", "array is [1, .. var rest] && rest.Length == 2" => "bool",
        "some is null" => "bool", "one is null" => "CS0037",
        "one is \"a\"" => "CS0029", "text is int" => "bool", "text is int n ? n : 0" => "CS8121",
        "small is int" => "bool",
        "small is int n ? n : 0" => "CS8121", "one is not long" => "CS8121", "one is Color c" => "CS8121",
        "small switch { int n => n, _ => 0 }" => "CS8121", "array is uint[] u" => "CS8121",
        "one is object o" => "bool", "some is int n ? n : 0" => "int", "one is int? " => "bool",
        "color is Color.Green" => "bool", "wide is > 3 and < 5L" => "bool", "some is >= 3" => "bool",
        "letter is > 'a'" => "bool", "letter is > 3" => "CS0266", "one is >= 0 and < 9L" => "CS0266",
        "some is > 3L" => "CS0266", "text is > 3" => "CS0029", "boxed is > 3" => "bool",
        "text is > \"a\"" => "CS8781", "boxed is <= null" => "CS8781", "yes is > true" => "CS8781",
        "one is two" => "CS9135", "animal is { Nope: 1 }" => "CS0117",
        "one switch { 1 => \"one\", _ => null }" => "string",
        "boxed switch { int n => n, string s => s.Length, _ => 0.5 }" => "double",
        "one switch { 1 => 1, _ => \"a\" }" => "CS8506", "text is not null" => "bool",
        "point is (1, 2, 3)" => "CS1501", "dog.Best is { Best.Name: _ }" => "bool",
        "one switch { var x when x > 1 => x, _ => default }" => "int", "x is int" => "CS0103",
        "some is int n && n > 1" => "bool",
    }
    assignments_are_checked {
        "one = 5" => "int", "one = \"a\"" => "CS0029", "one = wide" => "CS0266", "small += 1" => "byte",
        "small = 300" => "CS0031", "text += one" => "string",
        "some = null" => "int?", "one = null" => "CS0037", "some ??= 3" => "int", "one ??= 3" => "CS0019",
        "one++" => "int", "--real" => "double",
        "counter++" => "Shapes.Counter", "text++" => "CS0023", "dog.Name = \"a\"" => "string",
        "dog.ReadOnly = \"a\"" => "CS0200", "dog.Auto = \"a\"" => "string",
        "point.X = 5" => "int", "new Point(1, 2).X = 5" => "CS1612", "(a: 1, b: 2).b = 3" => "CS1612",
        "(point + point).X++" => "CS1612", "5 = 6" => "CS0131",
        "array[1] = 5" => "int", "ages[\"a\"] = 1" => "int", "animal[1] = 5" => "CS0200",
        "(one, two) = (two, one)" => "(int, int)", "(one, two) = (1, 2, 3)" => "CS8132",
        "(one, var x) = (1, 2)" => "CS8185", "dog?.Best = null" => "Shapes.Dog",
        "Calls.Swap(ref Calls.Slot(1), ref one)" => "compiler: a reference that a member returns, as an \
            argument,",
        "Calls.Swap(ref ints[0], ref one)" => "compiler: a reference that a member returns, as an argument,",
        "cells[1] = 5" => "compiler: an assignment to a reference that a member returns",
        "cells[1]++" => "compiler: an assignment to a reference that a member returns",
        "cells[1] + 1" => "int", "ints[1] = 5" => "int", "ints[1] += 5" => "int",
        "Calls.Slot(1) = 5" => "compiler: an assignment to a reference that a member returns",
        "Calls.Slot(1)++" => "compiler: an assignment to a reference that a member returns",
        "ints[0] = 5" => "int", "color = 0" => "Shapes.Color",
        "animal = dog" => "Shapes.Animal", "dog = animal" => "CS0266", "one += wide" => "int",
        "(one, (two, text)) = (1, (2, \"a\"))" => "(int, (int, string))", "yes &= one" => "CS0019",
        "Animal.Count = 3" => "int", "*pointer = 3" => "int", "people[0].age = 3" => "CS1612",
        "point = default" => "Shapes.Point", "_ = one" => "int",
    }
    lambdas_are_typed {
        "list.Where(x => x > 1).Count()" => "int", "list.Select(x => x * 2.5).First()" => "double",
        "names.Select(n => n.Length).Max()" => "int",
        "list.Any(x => x == 2)" => "bool", "list.Sum(x => x * wide)" => "long",
        "list.Average(x => x)" => "double", "names.Max(n => n)" => "string",
        "list.OrderBy(x => -x).ThenBy(x => x).First()" => "int",
        "names.GroupBy(n => n.Length).First().Key" => "int", "names.ToDictionary(n => n, n => \
            n.Length)[\"a\"]" => "int",
        "people.Where(p => p.age > 3).First().name" => "string",
        "list.Select((x, i) => (x, i)).First().i" => "int", "list.SelectMany(x => new[] { x \
            }).Sum()" => "int",
        "names.ToLookup(n => n.Length)[3].Count()" => "int", "list.Aggregate(1.5, (a, b) => a + \
            b)" => "double", "list.Find(x => x == 2)" => "int",
        "text.All(char.IsLetter)" => "bool", "text.Count(c => c == 'l')" => "int",
        "names.Zip(list, (n, x) => n + x).First()" => "string",
        "list.ForEach(x => dog.legs = x)" => "void", "list.Select(x => { var y = x * 2; return y; \
            }).First()" => "int", "Enumerable.Range(0, 3).Where(x => x > 1).First()" => "int",
        "list.Select(x => { if (x > 1) return 1; return 2.5; }).First()" => "double",
        "people.Select(p => new { p.name }).First().name" => "string",
        "names.Join(people, n => n, p => p.name, (n, p) => n + p.age).First()" => "string",
        "names.Min(n => n.Length)" => "int", "list.Where((x, i) => i > 0).Sum()" => "int",
        "list.Sum(x => some)" => "int?", "names.OrderBy(n => n, null).First()" => "string",
    }
    lambdas_that_are_wrong_are_refused {
        "list.Where(x => x)" => "CS0029", "list.Where(x => nope)" => "CS0103",
        "list.Select(x => x.Foo)" => "CS1061", "list.Any(x => x == \"a\")" => "CS0019",
        "names.Sum(n => n)" => "compiler: a sequence of values that this method does not take",
        "list.Select(x => { foreach (var y in x) { } return x; })" => "CS1579",
        "list.BinarySearch((a, b) => a - b)" => "CS1503", "list.Where(x => { return; })" => "CS1643",
    }
    queries_are_typed {
        "(from x in list where x > 1 orderby x descending select x * 2.5).First()" => "double",
        "(from n in names group n by n.Length into g select g.Key).First()" => "int",
        "(from x in list from n in names select n + x).First()" => "string",
        "(from x in list let y = x * 2 select y).First()" => "int",
        "(from p in people join n in names on p.name equals n select p.age).First()" => "int",
        "(from p in people join n in names on p.name equals n into g select g.Count()).First()" => "int",
        "from x in one select x" => "CS1936", "from x in list where x select x" => "CS0029",
        "from x in list select nope" => "CS0103",
    }
    what_only_the_compiler_knows_is_handed_over {
        "query.Where(x => x > 1)" => "compiler: a lambda for a query (`System.Linq.IQueryable<int>`), which \
            is an expression tree,",
        "from x in query select x" => "compiler: a query over a query (`System.Linq.IQueryable<int>`), \
            which is an expression tree,",
        "point with { X = 1 }" => "compiler: a `with` expression", "list.Contains([1])" => "CS1503",
        "[1, 2]" => "compiler: a collection expression",
        "await twice" => "compiler: `await`", "x => x" => "compiler: a lambda",
        "\"a\"u8" => "compiler: a UTF-8 literal", "stackalloc int[3]" => "compiler: `stackalloc`",
        "list.Select(x => { try { } catch { } return x; })" => "compiler: a try statement in a lambda",
        "(Func<int, int>)(x => x)" => "compiler: a lambda",
        "list.Select(x => { int F(int y) => y; return F(x); })" => "compiler: a local function in a lambda",
        "twice = x => x" => "compiler: a lambda",
        "twice + twice" => "compiler: an operator on delegates",
        "list.Select(async x => x)" => "compiler: an async lambda",
        "Calls.Id((1, 2, 3, 4, 5, 6, 7, 8))" => "compiler: a tuple of more than 7 elements",
        "open + 1" => "compiler: an operator on a `dynamic` value",
        "Calls.F(open)" => "compiler: a call with a `dynamic` argument",
    }
    parts_that_are_not_evaluated_are_checked_too {
        "true || nope" => "CS0103", "yes && one > nope" => "CS0103", "one == 7 ? 1 : nope" => "CS0103",
        "some ?? nope" => "CS0103", "text + nope" => "CS0103",
        "one switch { 1 => 1, _ => nope }" => "CS0103", "list.Contains(nope)" => "CS0103",
        "animal.Legs() + nope" => "CS0103",
    }
    other_expressions_are_typed {
        "typeof(int)" => "System.Type", "checked(one + two)" => "int", "$\"{one:F2} {text}\"" => "string",
        "$\"{one,4}\"" => "string", "$\"{one,two}\"" => "CS0150",
        "text as object" => "object", "boxed as int?" => "int?", "boxed as int" => "CS0077",
        "one is int" => "bool", "default(Point).X" => "int", "*pointer" => "int", "*one" => "CS0193",
        "&one" => "int*", "&5" => "CS0211", "pointer == null" => "bool", "sizeof(Point)" => "int",
        "sizeof(string)" => "CS0208", "throw new Exception()" => "<null>", "throw one" => "CS0155",
        "default" => "CS8716", "$threadid" => "int", "animal == dog" => "bool", "animal == text" => "CS0019",
        "boxed == animal" => "bool", "1..2" => "System.Range", "^1" => "System.Index",
        "twice == null" => "bool", "point == null" => "CS0019", "sequence == list" => "bool",
        "on == null" => "bool", "list.Add(1) + 1" => "CS0815",
    }
}

#[test]
fn members_of_this_and_of_its_class_are_names() {
    check_in(
        Some("Calls"),
        &[
            ("field", "int"),
            ("Next()", "int"),
            ("this.field", "int"),
            ("F(one)", "string"),
            ("Add(1)", "int"),
            ("base.ToString()", "string"),
            ("Twice + 1", "int"),
            ("nameof(Next)", "string = Next"),
        ],
    );
    check_in(
        Some("Dog"),
        &[("Legs()", "int"), ("base.Legs()", "int"), ("Count", "int"), ("Best.Name", "string")],
    );
    check_in(Some("Service"), &[("limit + 1", "int"), ("this.limit", "int"), ("Use()", "int")]);
}

#[test]
fn actual_type_adds_members_to_the_declared_one() {
    let world = FakeTypes::new();
    let dog = world.ty("Dog", &[], &[]);
    world.actual.borrow_mut().insert("animal".into(), dog.clone());
    world.actual.borrow_mut().insert("boxed".into(), dog);
    for (text, expected) in [
        ("animal.Best", "Shapes.Dog"),
        ("boxed.Name", "string"),
        ("dog.Fetch(animal)", "void"),
        ("boxed.Legs()", "int"),
        ("animal.Nope", "CS1061"),
    ] {
        let bound = bound_in(&world, text, None);
        assert_eq!(shown(&world, &bound), expected, "{text}");
    }
}

#[test]
fn members_replace_an_anonymous_object_without_a_type() {
    check(&[("new { one, Twice = two * 2 }.Twice", "int"), ("new { one } is { one: 1 }", "bool")]);
    let refused = "compiler: an object of an anonymous type that the program does not have";
    check(
        &[
            "new { one }.Item1",
            "new { one }.ToString()",
            "new { one }.GetHashCode",
            "new { one } == new { one }",
            "new { text, one } == pair",
            "(text, one) != new { text, one }",
            "dog.Equals(new { one })",
            "Calls.Id(new[] { new { one } })",
            "boxed = new { one }",
            "pair = new { text, one }",
            "(object)new { one }",
            "new { one } as object",
            "$\"{new { one }}\"",
            "$\"{new { one }:x}\"",
            "text + new { one }",
            "new { X = 1, Y = new { one } }.Equals(1)",
            "new { }",
        ]
        .map(|text| (text, refused)),
    );
}

#[test]
fn effects_are_known_before_anything_runs() {
    let world = FakeTypes::new();
    for (text, effects, at) in [
        ("one + two", Effects::None, ""),
        ("point.X + array[1] + text.Length", Effects::None, ""),
        ("text + one + color", Effects::None, ""),
        ("list.Where(x => x > 1).Count()", Effects::None, ""),
        ("animal is Dog d && d.legs > 1", Effects::None, ""),
        ("animal.Name", Effects::Getters, "animal.Name"),
        ("list[0] + list.Count", Effects::Getters, "list[0]"),
        ("text.Words + 1", Effects::Getters, "text.Words"),
        ("animal.Legs() + 1", Effects::Calls, "animal.Legs()"),
        ("point + point", Effects::Calls, "point + point"),
        ("new Point(1, 2).X", Effects::Calls, "new Point(1, 2)"),
        ("text + point", Effects::Calls, "point"),
        ("$\"{one:F2}\"", Effects::Calls, "$\"{one:F2}\""),
        ("one = 5", Effects::Assigns, "one = 5"),
        ("yes || (one++ > 1)", Effects::Assigns, "one++"),
        ("dog.Name = text.ToUpper()", Effects::Assigns, "dog.Name = text.ToUpper()"),
        ("list.Select(x => { var y = x; y = 2; return y; }).First()", Effects::None, ""),
        ("list.ForEach(x => one = x)", Effects::Assigns, "one = x"),
        ("(1, 2) == (1, 2)", Effects::None, ""),
        ("num + 1", Effects::Calls, "num"),
    ] {
        let Ok(BoundExpression { meaning: Meaning::Value(value), .. }) = bound_in(&world, text, None) else {
            panic!("{text}")
        };
        let (found, span) = value.strongest_effect();
        assert_eq!(found, effects, "{text}");
        if effects != Effects::None {
            assert_eq!(text.get(span.start..span.end), Some(at), "{text}");
        }
    }
}

#[test]
fn diagnostics_say_where_and_what() {
    let world = FakeTypes::new();
    for (text, place, message) in [
        ("one + nope", "nope", "The name 'nope' does not exist in the current context"),
        ("animal.Cnt + 1", "Cnt", "'Shapes.Animal' does not contain a definition for 'Cnt'"),
        ("Calls.Add(text)", "text", "Argument 1: cannot convert from 'string' to 'int'"),
        ("one = \"a\"", "\"a\"", "Cannot implicitly convert type 'string' to 'int'"),
        ("text - one", "text - one", "Operator '-' cannot be applied to operands of type 'string' and 'int'"),
        ("1 + (Nope)one", "Nope", "The type or namespace name 'Nope' could not be found"),
    ] {
        let Err(Refusal::Invalid(diagnostic)) = bound_in(&world, text, None) else { panic!("{text}") };
        assert_eq!(text.get(diagnostic.span.start..diagnostic.span.end), Some(place), "{text}");
        assert!(diagnostic.message.starts_with(message), "{text}: {}", diagnostic.message);
    }
}

#[test]
fn a_wanted_type_is_what_comes_out() {
    let world = FakeTypes::new();
    let scope = world.scope_of(VARIABLES, None, true);
    for (text, ty, expected) in [
        ("default", "Point", "Shapes.Point"),
        ("new(1, 2)", "Point", "Shapes.Point"),
        ("1", "byte", "byte = 1"),
        ("null", "int?", "int? = "),
        ("1", "double", "double = 1"),
        ("\"a\"", "int", "CS0029"),
        ("yes ? 1 : null", "int?", "int?"),
        ("one switch { 1 => 1, _ => null }", "int?", "int?"),
        ("5", "Point", "Shapes.Point"),
        ("(1, null)", "(long, string)", "(long, string)"),
    ] {
        let ty = world.ty(ty, &[], &[]);
        let bound = bind(&parse(text).unwrap(), &scope, Some(&ty), &world);
        assert_eq!(shown(&world, &bound), expected, "{text}");
    }
}

#[test]
fn completions_are_what_is_in_sight() {
    let world = FakeTypes::new();
    let scope = world.scope_of(VARIABLES, Some("Calls"), false);
    for (text, has, has_not) in [
        ("dog.Na", &["Name"][..], &["Legs"][..]),
        ("dog.", &["Name", "Legs", "Fetch", "legs", "Best"], &["Count", "get_Name"]),
        ("Animal.", &["Count", "Family", "Shout"], &["Name"]),
        ("list.Wh", &["Where"], &["Select"]),
        ("list.Where(x => x.To", &["ToString"], &[]),
        ("people.Select(p => p.", &["name", "age", "Item1"], &[]),
        ("System.Ma", &["Math"], &["Dog"]),
        ("System.Coll", &["Collections"], &["System"]),
        ("Sys", &["System"], &["Collections"]),
        ("text.Wo", &["Words"], &["get_Words"]),
        ("an", &["animal"], &["dog"]),
        ("fi", &["field"], &[]),
        ("text.Tw", &["Twice"], &[]),
        ("\"in a ", &[], &["animal"]),
        ("new Dog { Name = dog.Be", &["Best"], &[]),
        ("dog?.Best.", &["Fetch"], &[]),
        ("boxed is Dog d && d.Be", &["Best"], &[]),
        ("typeof(Do", &["Dog"], &["Animal"]),
        ("new List<Do", &["Dog"], &[]),
        ("nameof(dog.", &["Best"], &[]),
        ("$\"a {dog.", &["Best"], &[]),
        ("new Dog { ", &["Name", "Best"], &["Fetch", "animal"]),
        ("boxed is Dog { Na", &["Name"], &["Best"]),
    ] {
        let (found, _) = complete(text, text.len(), &scope, &world);
        let labels: Vec<&str> = found.iter().map(|one| one.label.as_str()).collect();
        for name in has {
            assert!(labels.contains(name), "{text}: {name} is not in {labels:?}");
        }
        for name in has_not {
            assert!(!labels.contains(name), "{text}: {name}");
        }
    }
}

#[test]
fn binding_ends_whatever_is_bound() {
    let world = FakeTypes::new();
    std::thread::Builder::new()
        .stack_size(16 << 20)
        .spawn(move || {
            let world = FakeTypes::new();
            for text in [
                ["one"; 120].join(" + "),
                format!("{}one{}", "(".repeat(30), ")".repeat(30)),
                ["list"; 12].join(".Select(x => "),
                format!("{}x{}", "list.Where(x => list.Any(y => ".repeat(6), "))".repeat(6)),
                format!("{}nope", "yes ? 1 : ".repeat(15)),
                format!("{}{}", "Calls.Id(yes ? Calls.Id(".repeat(8), "one"),
                ["pair"; 40].join(" == "),
            ] {
                drop(bound_in(&world, &text, None));
            }
        })
        .unwrap()
        .join()
        .unwrap();
    drop(world);
}

#[rustfmt::skip]
const NAMES_AND_SIGNS: &[&str] = &[
    "one", "text", "list", "animal", "point", "pair", "some", "color", "1", "null", "(", ")", "[", "]",
    "{", "}", "+",
    "==", "?.", "??", ".", "Name", "Where", "Count", "Select", "x", "x =>", "is", "int", "var y", "new",
    "Dog", "=", ",",
    "? 1 :", "switch", "default", "out var z", "..", "^1", "$\"{one}\"", "from x in list select x", "!",
    "-", "(int)",
];

proptest::proptest! {
    #![proptest_config(proptest::prelude::ProptestConfig::with_cases(64))]

    #[test]
    fn any_names_and_signs_are_bound_or_refused(
        parts in proptest::collection::vec(proptest::sample::select(NAMES_AND_SIGNS), 0..14),
    ) {
        super::fake::bind_any(&parts.join(" "));
    }
}

/// `T` with `where T : INamed`: `Robot` implements its members explicitly.
#[test]
fn members_of_a_generic_parameter_are_those_of_its_constraints() {
    let world = FakeTypes::new();
    let mut scope = world.scope_of(&[("robot", "Robot")], None, false);
    let check = |scope: &Scope, text: &str, expected: &str| {
        let bound = bind(&parse(text).unwrap(), scope, None, &world);
        assert_eq!(shown(&world, &bound), expected, "{text}");
    };
    scope.type_parameters = vec![("T".into(), world.ty("Robot", &[], &[]))];
    for (text, expected) in
        [("robot.Name", "CS1061"), ("robot.Age", "int"), ("robot[0]", "CS0021"), ("T.Kind", "CS0117")]
    {
        check(&scope, text, expected);
    }
    scope.constraints = vec![(world.ty("Robot", &[], &[]), vec![world.ty("INamed", &[], &[])])];
    for (text, expected) in [
        ("robot.Name.Length", "int"),
        // The explicit implementation, not the public property.
        ("robot.Age", "string"),
        ("robot.Tag()", "string"),
        ("robot[0]", "int"),
        ("T.Kind", "string"),
        ("robot.Other", "CS1061"),
        ("T.Other", "CS0117"),
        // Bodies that the interface itself has.
        ("T.Sort", "string"),
        ("T.Twice(2)", "int"),
        ("T.Twice(\"a\")", "CS1503"),
        ("T.Level", "compiler: a static member that another interface implements"),
        // A public member of the type of the same name is another member.
        ("T.Make", "string"),
        ("Robot.Make", "int"),
    ] {
        check(&scope, text, expected);
    }
    for (text, offered) in [("robot.N", "Name"), ("T.K", "Kind")] {
        let (found, _) = complete(text, text.len(), &scope, &world);
        assert!(found.iter().any(|one| one.label == offered), "{text}: {found:?}");
    }
}

#[test]
fn internals_of_another_assembly_hide_no_type_of_their_name() {
    let world = FakeTypes::new();
    let mut scope = world.scope_of(&[], Some("Calls"), false);
    scope.imports.namespaces = vec!["Elsewhere".into(), "Shapes".into()];
    for (text, expected) in
        [("Zone.Depth", "long"), ("Hidden.Depth", "string"), ("Elsewhere.Zone.Depth", "string")]
    {
        let bound = bind(&parse(text).unwrap(), &scope, None, &world);
        assert_eq!(shown(&world, &bound), expected, "{text}");
    }
}

#[test]
fn a_call_means_the_method_around_a_variable_that_cannot_be_called() {
    let world = FakeTypes::new();
    let scope = world.scope_of(&[("Add", "int")], Some("Calls"), false);
    for (text, expected) in [
        ("Add(1) + Add", "int"),
        ("Add", "int"),
        ("F(1)", "string"),
        ("Add.Nope", "CS1061"),
        ("Add()", "CS1501"),
    ] {
        let bound = bind(&parse(text).unwrap(), &scope, None, &world);
        assert_eq!(shown(&world, &bound), expected, "{text}");
    }
}

#[test]
fn a_namespace_has_its_last_names_in_those_around_it() {
    let linq = ("Linq.Enumerable.Range(0, 1).First()", "int");
    check_in(Some("Exception"), &[linq, ("new Collections.Generic.List<int>().Count", "int")]);
    check_in(Some("Calls"), &[("Linq.Enumerable.Range(0, 1)", "CS0103"), ("Nope", "CS0103")]);
}

#[test]
fn local_functions_need_the_compiler() {
    let world = FakeTypes::new();
    let scope = Scope { local_functions: vec!["Added".into()], ..world.scope_of(VARIABLES, None, false) };
    for (text, expected) in
        [("Added(1)", "compiler: the local function `Added`"), ("Other(1)", "CS0103"), ("one", "int")]
    {
        assert_eq!(shown(&world, &bind(&parse(text).unwrap(), &scope, None, &world)), expected, "{text}");
    }
}

#[test]
fn a_call_passes_the_location_of_the_code() {
    let world = FakeTypes::new();
    let mut scope = world.scope_of(VARIABLES, None, false);
    let passed = |scope: &Scope, text: &str| {
        let bound = bind(&parse(text).unwrap(), scope, None, &world).unwrap();
        let Meaning::Value(value) = bound.meaning else { panic!("{text}") };
        let mut constants = Vec::new();
        value.visit(&mut |part| constants.extend(part.constant().map(Constant::invariant_text)));
        constants
    };
    assert_eq!(passed(&scope, "Calls.Where()"), ["", "1"]);
    scope.caller = Some(Caller { member: "Main".into(), position: Some((7, "/a.cs".into())) });
    assert_eq!(passed(&scope, "Calls.Where()"), ["Main", "/a.cs", "7"]);
    assert_eq!(passed(&scope, "Calls.Where(\"own\", at: 3)"), ["own", "/a.cs", "3"]);
    scope.caller = Some(Caller { member: "Main".into(), position: None });
    assert_eq!(passed(&scope, "Calls.Where()"), ["Main", "", "1"]);
    for (text, expected) in [
        ("Calls.Text( \"é\" + 1, b: 1 + 1)", ["\"é\" + 1", "1 + 1"]),
        ("Calls.Text(b: 2, a: null)", ["null", "2"]),
        ("Calls.Text(7)", ["7", ""]),
        ("Calls.Text(7, 8, \"own\")", ["own", "8"]),
    ] {
        scope.text = Some(text.into());
        assert!(passed(&scope, text).ends_with(&expected.map(str::to_owned)), "{text}");
    }
}
