//! Signatures of the methods of LINQ, `List<T>` and `Array` that the debugger evaluates.
//!
//! Does not choose among signatures: `bind::sequences` does.

use ArgumentShape as T;
use ResultShape as G;
use SignatureType as S;

/// A type in a signature, in terms of the items of the sequence and the results of lambdas.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum SignatureType {
    Item,
    Bool,
    Int,
    /// A type that an argument decides.
    Var(u8),
    /// A sequence of a type that an argument decides.
    SequenceOf(u8),
    Items,
    /// Any type, also `void`: the result is ignored.
    Nothing,
}

/// The kind of an argument that a signature accepts.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum ArgumentShape {
    /// A lambda with these parameter types and this result type.
    Lambda(&'static [SignatureType], SignatureType),
    Value(SignatureType),
    /// A comparer for a type parameter.
    Comparer,
}

/// The result of a method.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum ResultShape {
    Just(SignatureType),
    Sequence(SignatureType),
    List(SignatureType),
    Array(SignatureType),
    Long,
    /// `IGrouping<key, element>`, in a sequence.
    Groups(SignatureType, SignatureType),
    Lookup(SignatureType, SignatureType),
    Dictionary(SignatureType, SignatureType),
    /// The result type of `Sum` or `Average` for the results of the lambda.
    Sum(SignatureType),
    Average(SignatureType),
}

/// The type that declares a method.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum DeclaringType {
    Sequence,
    /// An instance method of `List<T>`.
    List,
    /// A static method of `Array`, whose first argument is the array.
    Array,
    /// A local sequence, which does not exist in the program.
    Local,
}

/// The signature of a LINQ method.
#[derive(Debug)]
pub(crate) struct LinqSignature {
    pub(crate) name: &'static str,
    pub(crate) intrinsic: Intrinsic,
    pub(crate) on: DeclaringType,
    pub(crate) takes: &'static [ArgumentShape],
    pub(crate) gives: ResultShape,
}

macro_rules! intrinsics {
    ($($name:ident),* $(,)?) => {
        /// A method that the debugger evaluates.
        #[derive(Debug, Clone, Copy, PartialEq, Eq)]
        pub(crate) enum Intrinsic { $($name),* }


    };
}

intrinsics!(
    Aggregate,
    All,
    Any,
    Average,
    Count,
    DistinctBy,
    First,
    FirstOrDefault,
    FindIndex,
    FindLastIndex,
    ForEach,
    GroupBy,
    GroupJoin,
    Join,
    Last,
    LastOrDefault,
    LongCount,
    Max,
    MaxBy,
    Min,
    MinBy,
    OrderBy,
    OrderByDescending,
    RemoveAll,
    Select,
    SelectMany,
    Single,
    SingleOrDefault,
    SkipWhile,
    Sort,
    Sum,
    TakeWhile,
    ThenBy,
    ThenByDescending,
    ToDictionary,
    ToLookup,
    Where,
    Zip,
    Take,
    Skip,
    ElementAt,
    Reverse,
    ToList,
);

const TEST: T = T::Lambda(&[S::Item], S::Bool);
const TEST_AT: T = T::Lambda(&[S::Item, S::Int], S::Bool);
const KEY: T = T::Lambda(&[S::Item], S::Var(0));
const ELEMENT: T = T::Lambda(&[S::Item], S::Var(1));

const fn row(
    name: &'static str,
    intrinsic: Intrinsic,
    takes: &'static [ArgumentShape],
    gives: ResultShape,
) -> LinqSignature {
    LinqSignature { name, intrinsic, on: DeclaringType::Sequence, takes, gives }
}

const fn list(
    name: &'static str,
    intrinsic: Intrinsic,
    takes: &'static [ArgumentShape],
    gives: ResultShape,
) -> LinqSignature {
    LinqSignature { name, intrinsic, on: DeclaringType::List, takes, gives }
}

const fn array(
    name: &'static str,
    intrinsic: Intrinsic,
    takes: &'static [ArgumentShape],
    gives: ResultShape,
) -> LinqSignature {
    LinqSignature { name, intrinsic, on: DeclaringType::Array, takes, gives }
}

const fn local(
    name: &'static str,
    intrinsic: Intrinsic,
    takes: &'static [ArgumentShape],
    gives: ResultShape,
) -> LinqSignature {
    LinqSignature { name, intrinsic, on: DeclaringType::Local, takes, gives }
}

/// All signatures. Of several with one name, the first that matches is used.
pub(crate) static TABLE: &[LinqSignature] = &[
    row("Where", Intrinsic::Where, &[TEST], G::Sequence(S::Item)),
    row("Where", Intrinsic::Where, &[TEST_AT], G::Sequence(S::Item)),
    row("Select", Intrinsic::Select, &[KEY], G::Sequence(S::Var(0))),
    row("Select", Intrinsic::Select, &[T::Lambda(&[S::Item, S::Int], S::Var(0))], G::Sequence(S::Var(0))),
    row(
        "SelectMany",
        Intrinsic::SelectMany,
        &[T::Lambda(&[S::Item], S::SequenceOf(0))],
        G::Sequence(S::Var(0)),
    ),
    row(
        "SelectMany",
        Intrinsic::SelectMany,
        &[T::Lambda(&[S::Item, S::Int], S::SequenceOf(0))],
        G::Sequence(S::Var(0)),
    ),
    row(
        "SelectMany",
        Intrinsic::SelectMany,
        &[T::Lambda(&[S::Item], S::SequenceOf(0)), T::Lambda(&[S::Item, S::Var(0)], S::Var(1))],
        G::Sequence(S::Var(1)),
    ),
    row("Any", Intrinsic::Any, &[TEST], G::Just(S::Bool)),
    row("All", Intrinsic::All, &[TEST], G::Just(S::Bool)),
    row("Count", Intrinsic::Count, &[TEST], G::Just(S::Int)),
    row("LongCount", Intrinsic::LongCount, &[TEST], G::Long),
    row("First", Intrinsic::First, &[TEST], G::Just(S::Item)),
    row("FirstOrDefault", Intrinsic::FirstOrDefault, &[TEST], G::Just(S::Item)),
    row("FirstOrDefault", Intrinsic::FirstOrDefault, &[TEST, T::Value(S::Item)], G::Just(S::Item)),
    row("Last", Intrinsic::Last, &[TEST], G::Just(S::Item)),
    row("LastOrDefault", Intrinsic::LastOrDefault, &[TEST], G::Just(S::Item)),
    row("LastOrDefault", Intrinsic::LastOrDefault, &[TEST, T::Value(S::Item)], G::Just(S::Item)),
    row("Single", Intrinsic::Single, &[TEST], G::Just(S::Item)),
    row("SingleOrDefault", Intrinsic::SingleOrDefault, &[TEST], G::Just(S::Item)),
    row("SingleOrDefault", Intrinsic::SingleOrDefault, &[TEST, T::Value(S::Item)], G::Just(S::Item)),
    row("Sum", Intrinsic::Sum, &[KEY], G::Sum(S::Var(0))),
    row("Average", Intrinsic::Average, &[KEY], G::Average(S::Var(0))),
    row("Min", Intrinsic::Min, &[KEY], G::Just(S::Var(0))),
    row("Max", Intrinsic::Max, &[KEY], G::Just(S::Var(0))),
    row("MinBy", Intrinsic::MinBy, &[KEY], G::Just(S::Item)),
    row("MaxBy", Intrinsic::MaxBy, &[KEY], G::Just(S::Item)),
    row("OrderBy", Intrinsic::OrderBy, &[KEY], G::Sequence(S::Item)),
    row("OrderBy", Intrinsic::OrderBy, &[KEY, T::Comparer], G::Sequence(S::Item)),
    row("OrderByDescending", Intrinsic::OrderByDescending, &[KEY], G::Sequence(S::Item)),
    row("OrderByDescending", Intrinsic::OrderByDescending, &[KEY, T::Comparer], G::Sequence(S::Item)),
    row("ThenBy", Intrinsic::ThenBy, &[KEY], G::Sequence(S::Item)),
    row("ThenBy", Intrinsic::ThenBy, &[KEY, T::Comparer], G::Sequence(S::Item)),
    row("ThenByDescending", Intrinsic::ThenByDescending, &[KEY], G::Sequence(S::Item)),
    row("ThenByDescending", Intrinsic::ThenByDescending, &[KEY, T::Comparer], G::Sequence(S::Item)),
    row("GroupBy", Intrinsic::GroupBy, &[KEY], G::Groups(S::Var(0), S::Item)),
    row("GroupBy", Intrinsic::GroupBy, &[KEY, ELEMENT], G::Groups(S::Var(0), S::Var(1))),
    row(
        "GroupBy",
        Intrinsic::GroupBy,
        &[KEY, T::Lambda(&[S::Var(0), S::Items], S::Var(1))],
        G::Sequence(S::Var(1)),
    ),
    row("GroupBy", Intrinsic::GroupBy, &[KEY, T::Comparer], G::Groups(S::Var(0), S::Item)),
    row("GroupBy", Intrinsic::GroupBy, &[KEY, ELEMENT, T::Comparer], G::Groups(S::Var(0), S::Var(1))),
    row("ToLookup", Intrinsic::ToLookup, &[KEY], G::Lookup(S::Var(0), S::Item)),
    row("ToLookup", Intrinsic::ToLookup, &[KEY, ELEMENT], G::Lookup(S::Var(0), S::Var(1))),
    row("ToLookup", Intrinsic::ToLookup, &[KEY, T::Comparer], G::Lookup(S::Var(0), S::Item)),
    row("ToDictionary", Intrinsic::ToDictionary, &[KEY], G::Dictionary(S::Var(0), S::Item)),
    row("ToDictionary", Intrinsic::ToDictionary, &[KEY, ELEMENT], G::Dictionary(S::Var(0), S::Var(1))),
    row("ToDictionary", Intrinsic::ToDictionary, &[KEY, T::Comparer], G::Dictionary(S::Var(0), S::Item)),
    row(
        "ToDictionary",
        Intrinsic::ToDictionary,
        &[KEY, ELEMENT, T::Comparer],
        G::Dictionary(S::Var(0), S::Var(1)),
    ),
    row(
        "Join",
        Intrinsic::Join,
        &[
            T::Value(S::SequenceOf(0)),
            T::Lambda(&[S::Item], S::Var(1)),
            T::Lambda(&[S::Var(0)], S::Var(1)),
            T::Lambda(&[S::Item, S::Var(0)], S::Var(2)),
        ],
        G::Sequence(S::Var(2)),
    ),
    row(
        "GroupJoin",
        Intrinsic::GroupJoin,
        &[
            T::Value(S::SequenceOf(0)),
            T::Lambda(&[S::Item], S::Var(1)),
            T::Lambda(&[S::Var(0)], S::Var(1)),
            T::Lambda(&[S::Item, S::SequenceOf(0)], S::Var(2)),
        ],
        G::Sequence(S::Var(2)),
    ),
    row(
        "Zip",
        Intrinsic::Zip,
        &[T::Value(S::SequenceOf(0)), T::Lambda(&[S::Item, S::Var(0)], S::Var(1))],
        G::Sequence(S::Var(1)),
    ),
    row("TakeWhile", Intrinsic::TakeWhile, &[TEST], G::Sequence(S::Item)),
    row("TakeWhile", Intrinsic::TakeWhile, &[TEST_AT], G::Sequence(S::Item)),
    row("SkipWhile", Intrinsic::SkipWhile, &[TEST], G::Sequence(S::Item)),
    row("SkipWhile", Intrinsic::SkipWhile, &[TEST_AT], G::Sequence(S::Item)),
    row("DistinctBy", Intrinsic::DistinctBy, &[KEY], G::Sequence(S::Item)),
    row("Aggregate", Intrinsic::Aggregate, &[T::Lambda(&[S::Item, S::Item], S::Item)], G::Just(S::Item)),
    row(
        "Aggregate",
        Intrinsic::Aggregate,
        &[T::Value(S::Var(0)), T::Lambda(&[S::Var(0), S::Item], S::Var(0))],
        G::Just(S::Var(0)),
    ),
    row(
        "Aggregate",
        Intrinsic::Aggregate,
        &[
            T::Value(S::Var(0)),
            T::Lambda(&[S::Var(0), S::Item], S::Var(0)),
            T::Lambda(&[S::Var(0)], S::Var(1)),
        ],
        G::Just(S::Var(1)),
    ),
    list("Find", Intrinsic::FirstOrDefault, &[TEST], G::Just(S::Item)),
    list("FindLast", Intrinsic::LastOrDefault, &[TEST], G::Just(S::Item)),
    list("FindAll", Intrinsic::Where, &[TEST], G::List(S::Item)),
    list("FindIndex", Intrinsic::FindIndex, &[TEST], G::Just(S::Int)),
    list("FindLastIndex", Intrinsic::FindLastIndex, &[TEST], G::Just(S::Int)),
    list("Exists", Intrinsic::Any, &[TEST], G::Just(S::Bool)),
    list("TrueForAll", Intrinsic::All, &[TEST], G::Just(S::Bool)),
    list("ConvertAll", Intrinsic::Select, &[KEY], G::List(S::Var(0))),
    list("ForEach", Intrinsic::ForEach, &[T::Lambda(&[S::Item], S::Nothing)], G::Just(S::Nothing)),
    list("RemoveAll", Intrinsic::RemoveAll, &[TEST], G::Just(S::Int)),
    list("Sort", Intrinsic::Sort, &[T::Lambda(&[S::Item, S::Item], S::Int)], G::Just(S::Nothing)),
    array("Find", Intrinsic::FirstOrDefault, &[TEST], G::Just(S::Item)),
    array("FindLast", Intrinsic::LastOrDefault, &[TEST], G::Just(S::Item)),
    array("FindAll", Intrinsic::Where, &[TEST], G::Array(S::Item)),
    array("FindIndex", Intrinsic::FindIndex, &[TEST], G::Just(S::Int)),
    array("FindLastIndex", Intrinsic::FindLastIndex, &[TEST], G::Just(S::Int)),
    array("Exists", Intrinsic::Any, &[TEST], G::Just(S::Bool)),
    array("TrueForAll", Intrinsic::All, &[TEST], G::Just(S::Bool)),
    array("ConvertAll", Intrinsic::Select, &[KEY], G::Array(S::Var(0))),
    array("ForEach", Intrinsic::ForEach, &[T::Lambda(&[S::Item], S::Nothing)], G::Just(S::Nothing)),
    array("Sort", Intrinsic::Sort, &[T::Lambda(&[S::Item, S::Item], S::Int)], G::Just(S::Nothing)),
    local("Any", Intrinsic::Any, &[], G::Just(S::Bool)),
    local("Count", Intrinsic::Count, &[], G::Just(S::Int)),
    local("LongCount", Intrinsic::LongCount, &[], G::Long),
    local("First", Intrinsic::First, &[], G::Just(S::Item)),
    local("FirstOrDefault", Intrinsic::FirstOrDefault, &[], G::Just(S::Item)),
    local("Last", Intrinsic::Last, &[], G::Just(S::Item)),
    local("LastOrDefault", Intrinsic::LastOrDefault, &[], G::Just(S::Item)),
    local("Single", Intrinsic::Single, &[], G::Just(S::Item)),
    local("SingleOrDefault", Intrinsic::SingleOrDefault, &[], G::Just(S::Item)),
    local("Sum", Intrinsic::Sum, &[], G::Sum(S::Item)),
    local("Average", Intrinsic::Average, &[], G::Average(S::Item)),
    local("Min", Intrinsic::Min, &[], G::Just(S::Item)),
    local("Max", Intrinsic::Max, &[], G::Just(S::Item)),
    local("Take", Intrinsic::Take, &[T::Value(S::Int)], G::Sequence(S::Item)),
    local("Skip", Intrinsic::Skip, &[T::Value(S::Int)], G::Sequence(S::Item)),
    local("ElementAt", Intrinsic::ElementAt, &[T::Value(S::Int)], G::Just(S::Item)),
    local("Reverse", Intrinsic::Reverse, &[], G::Sequence(S::Item)),
    local("ToArray", Intrinsic::ToList, &[], G::Array(S::Item)),
    local("ToList", Intrinsic::ToList, &[], G::List(S::Item)),
];

/// The signatures of a method name on a declaring type.
pub(crate) fn signatures(name: &str, on: DeclaringType) -> impl Iterator<Item = &'static LinqSignature> {
    TABLE.iter().filter(move |row| row.name == name && row.on == on)
}

impl Intrinsic {
    /// Whether the method changes its sequence.
    pub(crate) fn writes(self) -> bool {
        matches!(self, Self::Sort | Self::RemoveAll)
    }
}

/// The names of all methods, each once.
pub(crate) fn names() -> impl Iterator<Item = &'static str> {
    let mut names: Vec<&str> = TABLE
        .iter()
        .filter(|row| matches!(row.on, DeclaringType::Sequence | DeclaringType::Local))
        .map(|row| row.name)
        .collect();
    names.sort_unstable();
    names.dedup();
    names.into_iter()
}
