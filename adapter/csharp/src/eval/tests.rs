//! Results of expressions against the fake, and the members that run during the evaluation.

use super::fake::{FakeProgram, evaluated};

fn check(table: &[(&str, &str)]) {
    let mut wrong = Vec::new();
    for (text, expected) in table {
        // Each expression runs against a new program.
        let got = evaluated(&FakeProgram::new(), text);
        if got != *expected {
            wrong.push(format!("{text}: {got}, not {expected}"));
        }
    }
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
}

/// Defines a test for each row.
macro_rules! rows {
    ($($name:ident: $text:literal => $expected:literal;)*) => {
        $(#[test] fn $name() { check(&[($text, $expected)]); })*
    };
}

rows! {
    numbers_add: "one + two * 3" => "7";
    numbers_wrap: "max + one" => "-2147483648";
    checked_numbers_fail: "checked(max + one)" => "! OverflowException: 2147483647 + 1 overflows";
    zero_divides_nothing: "one / zero" => "! DivideByZeroException: 1 / 0";
    reals_are_divided_by_zero: "real / zero" => "Infinity";
    bytes_become_ints: "small + small" => "400";
    unsigned_numbers_meet_signed_ones: "word + one" => "4000000001";
    letters_are_numbers: "letter + one" => "121";
    letters_stay_letters: "(char)(letter + 1)" => "y";
    signs_are_applied: "-real" => "-2.5";
    complements_are_taken: "~one" => "-2";
    shifts_use_five_bits: "one << 33" => "2";
    comparisons_are_truths: "one < two && real >= 2.5" => "True";
    casts_cut: "(int)real" => "2";
    casts_wrap: "(sbyte)small" => "-56";
    checked_casts_fail: "checked((sbyte)small)" => "! OverflowException: the `byte` 200 does not fit into \
        `sbyte`";
    nothing_is_lifted: "none + 1" => "null";
    something_is_lifted: "some + real" => "14.5";
    nothing_compares_false: "none > 1 || none < 1" => "False";
    nothing_equals_nothing: "none == null" => "True";
    truths_have_three_values: "truth & no" => "False";
    unknown_truths_stay: "truth | no" => "null";
    nullables_have_values: "some.Value + (some.HasValue ? 1 : 0)" => "13";
    empty_nullables_have_none: "none.Value" => "! InvalidOperationException: Nullable object must have a \
        value: `none` is null";
    casts_out_of_nothing_fail: "(int)none" => "! InvalidOperationException: Nullable object must have a \
        value: `none` is null";
    casts_of_nullables_stay: "(long?)some" => "12";
    text_is_joined: "text + one + letter + null + yes" => "\"hello1xTrue\"";
    enums_are_named_in_text: "text + color" => "\"helloGreen\"";
    nothing_is_no_text: "text + none + nothing" => "\"hello\"";
    texts_are_compared: "text == \"hello\" && text != nothing" => "True";
    braces_around_holes_stay: "$\"{{}}{{{one}}}\"" => "\"{}{1}\"";
    holes_have_as_many_braces_as_dollars: "$$\"\"\"{{{one}}} {x}\"\"\"" => "\"{1} {x}\"";
    interpolations_are_filled: "$\"{one}-{text,7}|{real,-5}|{{}}\"" => "\"1-  hello|2.5  |{}\"";
    interpolations_are_formatted: "$\"{one:D3}{none:X}\"" => "\"1:D3\"";
    texts_are_indexed: "text[1]" => "e";
    texts_are_indexed_from_their_end: "text[^1]" => "o";
    texts_are_cut: "text[1..^1]" => "\"ell\"";
    texts_end: "text[9]" => "! IndexOutOfRangeException";
    ranges_end: "text[3..1]" => "! ArgumentOutOfRangeException: 3..1 is outside of the 5 elements of `text`";
    new_texts_repeat: "new string('z', 3)" => "\"zzz\"";
    large_texts_are_made: "new string('z', 16777216).Length" => "16777216";
    larger_texts_are_refused: "new string('z', 20_000_000)" => "! cannot create a string of 20000000 \
        characters: an expression may create at most 16777216; a method such as \
        `\"\".PadLeft(count, letter)` creates it in the program";
    larger_texts_are_not_joined: "new string('z', 9_000_000) + new string('z', 9_000_000)" => "! cannot \
        create a string of 18000000 characters: an expression may create at most 16777216; a method such as \
        `\"\".PadLeft(count, letter)` creates it in the program";
    texts_have_no_negative_length: "new string('z', -1)" => "! ArgumentOutOfRangeException: the count is \
        negative (-1)";
    arrays_are_indexed: "array[1] + array[^1]" => "50";
    arrays_are_cut: "array[1..]" => "[20, 30]";
    arrays_end: "array[3]" => "! IndexOutOfRangeException";
    arrays_have_lengths: "array.Length + array.Rank" => "4";
    arrays_are_made: "new[] { 1, 2, 3 }" => "[1, 2, 3]";
    arrays_of_zeros_are_made: "new int[2]" => "[0, 0]";
    arrays_have_a_limit: "new int[20_000_000].Length" => "! cannot create an array of 20000000 elements: an \
        expression may create at most 16777216";
    choices_are_made: "yes ? one : real" => "1";
    choices_convert: "(no ? one : real) / two" => "1.25";
    both_are_asked: "yes && no" => "False";
    the_other_is_taken: "none ?? -1" => "-1";
    the_first_is_taken: "some ?? -1" => "12";
    nothing_ends_a_chain: "nothing?.ToUpper().Length" => "null";
    something_goes_on: "text?.ToUpper().Length" => "5";
    chains_of_nothing_end: "nobody?.Best.Best.Name" => "null";
    members_of_nothing_fail: "nobody.Name" => "! NullReferenceException: `nobody` is null, so `Name` has no \
        value";
    members_are_read: "dog.legs + dog.Friend.legs" => "9";
    tuples_have_elements: "pair.name + pair.Item2" => "\"tom5\"";
    tuples_are_equal: "pair == (\"tom\", 5)" => "True";
    tuples_differ: "(1, 2) != (1, 3)" => "True";
    tuples_are_evaluated_before_they_are_compared: "(one, one / zero) == (two, 1)" => "! \
        DivideByZeroException: 1 / 0";
    the_right_tuple_too: "(one, two) != (two, one / zero)" => "! DivideByZeroException: 1 / 0";
    a_tuple_that_is_a_value_too: "(text, one / zero) == pair" => "! DivideByZeroException: 1 / 0";
    tuples_in_tuples_are_equal: "((one, two), text, null) == ((1, 2), \"hello\", text)" => "False";
    an_element_does_not_inherit_a_number: "((1, 2, 3).Item3, 5, 7).Item3" => "7";
    an_element_inherits_a_name: "(text.Length, 5).Length" => "5";
    tuples_are_made: "(one, text)" => "{Item1=1 Item2=hello}";
    tuples_are_converted: "((long, object))(1, text)" => "{Item1=1 Item2=hello}";
    objects_are_themselves: "dog == dog && dog != animal" => "True";
    boxes_are_only_themselves: "(object)one == (object)one" => "False";
    boxes_keep_types: "(object)color is Color" => "True";
    unboxing_takes_the_type: "(int)boxed + 1" => "100";
    unboxing_takes_no_other: "(long)boxed" => "! InvalidCastException: the object is a boxed `int`, not a \
        `long`";
    casts_go_down: "((Dog)animal).Best.legs" => "5";
    casts_do_not_go_aside: "(string)boxed" => "! InvalidCastException: Unable to cast object of type 'int' \
        to type 'string'";
    as_gives_nothing: "(boxed as string) == null" => "True";
    as_gives_the_object: "(animal as Dog).legs" => "6";
    is_asks_the_object: "animal is Dog && !(boxed is string)" => "True";
    calls_in_parentheses_are_no_declarations: "(Calls.Add(one, two)) + (Calls.Add(one, two), \
        5).Item2" => "108";
    a_query_goes_on_behind_parentheses: "(from x in list where x > ~(one) select x + 1).Count()" => "3";
    user_operators_run: "(point + point).X" => "6";
    user_operators_are_lifted: "(place + point).Value.Y" => "8";
    lifted_user_operators_give_nothing: "(noPlace + point) == null" => "True";
    lifted_equality_is_a_truth: "noPlace == point || place == point" => "True";
    a_type_decides_its_own_and: "(tri && tri).Value" => "2";
    a_type_decides_its_own_or: "(tri || tri).Value" => "1";
    user_conversions_run: "(Point)5" => "{X=5 Y=5}";
    user_conversions_serve_operators: "num + 1" => "708";
    explicit_conversions_run: "(long)point" => "304";
    calls_run: "dog.Legs() + Calls.Add(1, c: 5)" => "31";
    parameters_take_what_is_left: "Calls.G(1, 2, 3)" => "\"params 3\"";
    methods_change_variables: "point.Bump() * 10 + point.X" => "44";
    methods_change_elements: "corners[0].Bump() * 10 + corners[0].X" => "44";
    methods_change_copies_of_items: "points[0].Bump() * 10 + points[0].X" => "43";
    out_variables_are_known: "int.TryParse(\"42\", out var n) ? n + 1 : 0" => "43";
    out_variables_are_written: "int.TryParse(\"42\", out scratch) ? scratch : 0" => "42";
    refs_are_places: "Calls.Swap(ref one, ref two)" => "void";
    indexers_run: "animal[3] + ages[\"ann\"]" => "60";
    missing_keys_fail: "ages[\"zed\"]" => "! KeyNotFoundException";
    lists_are_indexed: "list[0] + list[^1]" => "5";
    constants_match: "one is 1 && text is \"hello\" && color is Color.Green" => "True";
    constants_match_types: "boxed is 99 && !(boxed is 99L)" => "True";
    types_match: "boxed is int n ? n + 1 : 0" => "100";
    comparisons_match: "two is > 1 and < 3 or 7" => "True";
    boxes_match_comparisons: "boxed is int and > 50" => "True";
    properties_match: "dog is { Name: \"Bo\", Friend.Name: var f } && f == \"Rex\"" => "True";
    nothing_matches_no_properties: "nobody is { Name: _ }" => "False";
    positions_match: "point is (3, var y) && y == 4" => "True";
    tuples_match: "pair is (\"tom\", > 4)" => "True";
    lists_match: "array is [10, .., var last] && last == 30" => "True";
    slices_match: "array is [_, .. var rest] && rest.Length == 2" => "True";
    shorter_lists_do_not_match: "array is [10]" => "False";
    nothing_matches_null: "nothing is null && text is not null" => "True";
    arms_are_chosen: "two switch { 1 => \"one\", 2 when no => \"never\", 2 => \"two\", _ => \"many\" \
        }" => "\"two\"";
    arms_convert: "(one switch { 1 => 1, _ => 2.5 }) / 2" => "0.5";
    no_arm_fits: "one switch { 5 => 1 }" => "! SwitchExpressionException: no arm fits";
    pointers_are_read: "*pointer" => "\"int 0 after 4096\"";
    cast_pointers_read_their_new_type: "*(byte*)pointer" => "\"byte 0 after 4096\"";
    cast_pointers_are_indexed: "((byte*)pointer)[2]" => "\"byte 2 after 4096\"";
    casts_through_void_pointers_read: "*(long*)(void*)pointer" => "\"long 0 after 4096\"";
    casts_through_numbers_read: "*(byte*)(nint)pointer" => "\"byte 0 after 4096\"";
    casts_through_addresses_read: "*(short*)((ulong)pointer + 2)" => "\"short 0 after 4098\"";
    pointers_move_by_elements: "*(pointer + 2)" => "\"int 0 after 4104\"";
    pointers_move_back: "*(pointer - one)" => "\"int 0 after 4092\"";
    pointers_are_added_to_numbers: "*(2L + pointer)" => "\"int 0 after 4104\"";
    pointers_are_stepped: "*(++pointer)" => "\"int 0 after 4100\"";
    pointers_are_stepped_afterwards: "*pointer++" => "\"int 0 after 4096\"";
    stepped_pointers_have_moved: "(pointer++ == (int*)4096) && pointer == (int*)4100" => "True";
    pointers_have_a_distance: "(pointer + 3) - pointer" => "3";
    pointers_have_an_order: "pointer < pointer + 1 && !((byte*)pointer > pointer)" => "True";
    pointers_are_assigned: "(pointer = (int*)blank) == null" => "True";
    pointers_are_set_to_null: "(pointer = null) == null" => "True";
    null_pointers_are_zero: "(ulong)(int*)null" => "0";
    null_pointers_move: "(int*)null + 1 == (int*)4" => "True";
    assignments_write: "(one = 5) + one" => "10";
    compound_assignments_write: "(one += 5) + one" => "12";
    compound_assignments_cast_back: "small += 100" => "44";
    steps_give_the_old: "one++ + one" => "3";
    steps_give_the_new: "++one + one" => "4";
    user_steps_run: "counter++" => "{Value=1}";
    nothing_is_replaced: "(none ??= 5) + none" => "10";
    something_is_not_replaced: "(some ??= 5) + some" => "24";
    fields_are_written: "(dog.legs = 7) + dog.legs" => "14";
    struct_fields_are_written: "(point.X = 7) + point.X" => "14";
    elements_are_written: "(array[1] = 7) + array[1]" => "14";
    keys_are_written: "(ages[\"new\"] = 7) + ages[\"new\"]" => "14";
    items_are_written: "(list[0] = 7) + list[0]" => "14";
    operands_keep_their_values: "(one, one = 50).Item1 + new[] { two, two = 7 }[0]" => "3";
    tested_values_stay: "one is var x && (one = 9) > 0 ? x : -1" => "1";
    compared_texts_stay: "text == (text = \"x\")" => "False";
    methods_change_declared_structs_only: "point is var q && q.Bump() == 4 && q.Bump() == 5 ? point.X : -1"
        => "3";
    writes_change_declared_structs_only: "point is var q && (q.X = 9) == 9 ? q.X * 10 + point.X : -1" => "93";
    equal_literals_are_one_object: "(object)\"a\" == (object)\"a\"" => "True";
    computed_texts_are_new_objects: "(object)(text + \"a\") == (object)\"helloa\"" => "False";
    values_are_swapped: "((one, two) = (two, one)).Item1 * 10 + two" => "21";
    tuples_are_taken_apart: "((text, one) = pair).name + one" => "\"tom5\"";
    objects_are_taken_apart: "((one, two) = point).X + two" => "7";
    nothing_is_not_written: "nobody?.legs = 3" => "null";
    members_of_something_are_written: "(dog?.legs = 3) + dog.legs" => "6";
    objects_are_made: "new Point(1, 2).Y" => "2";
    anonymous_objects_are_made: "new { X = one, Y = text }" => "{X=1 Y=hello}";
    anonymous_objects_have_properties: "list.Select(x => new { X = x, Y = x * 2 }).Last().Y" => "4";
    objects_are_initialised: "new Dog { legs = 3, Name = \"n\" }.Name" => "\"n\"";
    defaults_are_zero: "default(Point).X" => "0";
    sequences_are_filtered: "list.Where(x => x > 1).Sum()" => "5";
    sequences_are_mapped: "list.Select(x => x * 2.5).ToList()" => "[7.5, 2.5, 5]";
    positions_are_known: "list.Select((x, i) => x * i).Sum()" => "5";
    sequences_are_flattened: "list.SelectMany(x => new[] { x, x * 10 }).Sum()" => "66";
    any_is_found: "list.Any(x => x == 2) && !list.Any(x => x > 5)" => "True";
    all_are_asked: "list.All(x => x > 0)" => "True";
    items_are_counted: "list.Count(x => x % 2 == 1)" => "2";
    first_items_are_found: "list.First(x => x < 3)" => "1";
    no_item_fails: "list.First(x => x > 10)" => "! InvalidOperationException: Sequence contains no matching \
        element";
    no_item_is_zero: "list.FirstOrDefault(x => x > 10)" => "0";
    no_item_is_what_was_given: "list.FirstOrDefault(x => x > 10, -1)" => "-1";
    last_items_are_found: "list.Last(x => x > 1)" => "2";
    single_items_are_found: "list.Single(x => x == 2)" => "2";
    sums_are_typed: "list.Sum(x => x * 0.5)" => "3";
    sums_are_checked: "list.Sum(x => max)" => "! OverflowException: `Sum` does not fit";
    averages_are_real: "list.Average(x => x)" => "2";
    averages_of_nothing_fail: "list.Where(x => x > 9).Average()" => "! InvalidOperationException: Sequence \
        contains no elements";
    the_greatest_is_found: "names.Max(n => n)" => "\"cyd\"";
    the_item_with_the_least_is_found: "people.MinBy(p => p.age).name" => "\"tom\"";
    items_are_ordered: "list.OrderBy(x => x).ToArray()" => "[1, 2, 3]";
    items_are_ordered_twice: "list.OrderBy(x => x % 2).ThenByDescending(x => x).ToArray()" => "[2, 3, 1]";
    texts_are_ordered: "names.OrderBy(n => n).First()" => "\"ann\"";
    items_are_grouped: "list.GroupBy(x => x % 2).First().Count()" => "2";
    groups_have_keys: "list.GroupBy(x => x % 2).Select(g => g.Key * 10 + g.Count()).Sum()" => "13";
    groups_are_made_into_one: "list.GroupBy(x => x % 2, (k, g) => k + g.Count()).Sum()" => "4";
    lookups_are_asked: "list.ToLookup(x => x % 2)[1].Sum()" => "4";
    dictionaries_are_made: "names.ToDictionary(n => n, n => n.Length)[\"bob\"]" => "3";
    keys_are_unique: "names.ToDictionary(n => n.Length)" => "! ArgumentException: An item with the same key \
        has already been added";
    sequences_are_joined: "names.Join(people, n => n, p => p.name, (n, p) => n + \
        p.age).First()" => "\"ann30\"";
    sequences_are_zipped: "names.Zip(list, (n, x) => n + x).Last()" => "\"cyd2\"";
    sequences_are_folded: "list.Aggregate((a, b) => a * 10 + b)" => "312";
    folds_have_seeds: "list.Aggregate(\"\", (a, b) => a + b, r => r.Length)" => "3";
    heads_are_taken: "list.TakeWhile(x => x > 2).Count() * 10 + list.SkipWhile(x => x > 2).First()" => "11";
    distinct_keys_are_kept: "list.DistinctBy(x => x % 2).Count()" => "2";
    methods_serve_as_lambdas: "text.All(char.IsLetter)" => "True";
    lists_are_sorted: "list.Sort((a, b) => b - a)" => "void";
    items_are_removed: "list.RemoveAll(x => x > 1) * 10 + list.Count" => "21";
    lists_are_asked: "list.Find(x => x == 2) * 10 + list.FindIndex(x => x == 1)" => "21";
    long_sequences_are_asked_as_far_as_needed: "many.Any(x => x == 7)" => "True";
    long_sequences_are_refused: "many.Count(x => x > 5)" => "! the sequence has more than 10000 items; a \
        lambda is not evaluated for so many";
    blocks_run: "list.Select(x => { var s = 0; for (int i = 0; i <= x; i++) { if (i == 2) continue; s += i; \
        } return s; }).Sum()" => "6";
    loops_end: "list.Select(x => { int n = 0; while (true) { n++; if (n > x) break; } return n; \
        }).First()" => "4";
    letters_are_gone_through: "names.Select(n => { var all = \"\"; foreach (var c in n) all = c + all; \
        return all; }).First()" => "\"bob\"";
    variables_of_blocks_do_not_leak: "list.Select(x => { x = x * 2; return x; }).Sum() + list.Sum()" => "18";
    thrown_objects_fail: "nothing ?? throw new Exception(\"no text\")" => "! thrown {Message=no text}";
    queries_are_worked_out: "(from x in list where x > 1 orderby x descending select x * 2).First()" => "6";
    queries_bind_names: "(from x in list let y = x * 10 from n in names where n == \"ann\" select y + \
        n).First()" => "\"30ann\"";
    queries_group: "(from x in list group x by x % 2 into g orderby g.Key select g.Count()).First()" => "1";
    queries_join: "(from p in people join n in names on p.name equals n select p.age + \
        n).First()" => "\"30ann\"";
    queries_join_groups: "(from p in people join n in names on p.name equals n into g select p.name + \
        g.Count()).Last()" => "\"tom0\"";
    threads_are_known: "$threadid" => "7";
    what_is_seen_has_its_members: "animal.Best.legs" => "5";
}

#[test]
fn no_unneeded_call_runs() {
    for text in [
        "no && dog.Legs() > 1",
        "yes || dog.Legs() > 1",
        "some ?? dog.Legs()",
        "nobody?.Legs()",
        "one == 1 ? 1 : dog.Legs()",
        "list.Where(x => x > 1).Select(x => x * 2).Count()",
        "text + one + color",
        "dog.legs > 1 && list[0] == 3",
        "pair == (\"tom\", 5)",
        "(one, two) == (1, 2)",
        "list.OrderBy(x => x).First()",
        "names.GroupBy(n => n.Length).First().Key",
    ] {
        let fake = FakeProgram::new();
        evaluated(&fake, text);
        assert!(fake.ran.borrow().is_empty(), "{text}: {:?}", fake.ran.borrow());
    }
}

#[test]
fn calls_run_once_and_in_order() {
    for (text, ran) in [
        ("Calls.Add(dog.Legs(), animal[1], Calls.Add(1))", &["Legs", "get_Item", "Add", "Add"][..]),
        ("Calls.Add(c: animal[1], a: dog.Legs())", &["get_Item", "Legs", "Add"]),
        ("point + point == point", &["op_Addition", "op_Equality"]),
        ("text + point", &["ToString"]),
        ("new Dog { Name = text.ToUpper() }.Name", &["new Shapes.Dog", "ToUpper", "set_Name"]),
        ("list.Select(x => dog.Legs()).First()", &["Legs", "Legs", "Legs"]),
        ("list.First(x => dog.Legs() > x)", &["Legs"]),
        ("new Dog { legs = 1 }.legs += dog.Legs()", &["new Shapes.Dog", "Legs"]),
        ("array[dog.Legs() - 14]++", &["Legs"]),
    ] {
        let fake = FakeProgram::new();
        evaluated(&fake, text);
        assert_eq!(*fake.ran.borrow(), ran, "{text}");
    }
}

#[test]
fn a_wrong_part_is_found_before_anything_runs() {
    for text in [
        "dog.Legs() + nope",
        "Calls.Add(dog.Legs(), \"a\")",
        "dog.Name = dog.Legs()",
        "list.Select(x => dog.Legs() + nope)",
    ] {
        let fake = FakeProgram::new();
        assert!(evaluated(&fake, text).starts_with("! Invalid"), "{text}");
        assert!(fake.ran.borrow().is_empty(), "{text}");
    }
}

#[test]
fn stale_actual_type_is_checked_again() {
    let fake = FakeProgram::new();
    let text = "animal.Best.legs";
    let expr = crate::syntax::parse(text).unwrap();
    let bound = crate::bind::bind(&expr, &fake.scope, None, &fake).unwrap();
    let crate::bind::Meaning::Value(value) = bound.meaning else { panic!() };
    assert_eq!(evaluated(&fake, "animal = dog.Friend"), "{Friend= Name=Rex legs=4}");
    assert_eq!(super::evaluate(&value, bound.slots, text, &fake).unwrap_err(), "stale");
}
