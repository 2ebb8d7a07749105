//! The signatures of LINQ, `List<T>` and `Array` that take lambdas here.

use Gives as G;
use SignatureType as S;
use Takes as T;

/// A type in a signature, in terms of the items of the sequence and of what the lambdas return.
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
    /// Whatever it is: `void` too.
    Nothing,
}

/// The kind of an argument.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Takes {
    /// A lambda with these parameters that returns this.
    Lambda(&'static [SignatureType], SignatureType),
    Value(SignatureType),
    /// A comparer for a type parameter.
    Comparer,
}

/// The result of a method.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Gives {
    Just(SignatureType),
    Sequence(SignatureType),
    List(SignatureType),
    Array(SignatureType),
    Long,
    /// `IGrouping<key, element>`, in a sequence.
    Groups(SignatureType, SignatureType),
    Lookup(SignatureType, SignatureType),
    Dictionary(SignatureType, SignatureType),
    /// What `Sum` makes of what the lambda returns, and `Average`.
    Sum(SignatureType),
    Average(SignatureType),
}

/// The type that declares a method.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum On {
    Sequence,
    /// `List<T>`.
    List,
    /// A static method of `Array`, whose first argument is one.
    Array,
    /// A sequence that is worked out here itself: nothing of it is in the program.
    Local,
}

/// The signature of a LINQ method.
#[derive(Debug)]
pub(crate) struct LinqSignature {
    pub(crate) name: &'static str,
    pub(crate) intrinsic: Intrinsic,
    pub(crate) on: On,
    pub(crate) takes: &'static [Takes],
    pub(crate) gives: Gives,
}

macro_rules! intrinsics {
    ($($name:ident),* $(,)?) => {
        /// A method that is worked out here.
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
    takes: &'static [Takes],
    gives: Gives,
) -> LinqSignature {
    LinqSignature { name, intrinsic, on: On::Sequence, takes, gives }
}

const fn list(
    name: &'static str,
    intrinsic: Intrinsic,
    takes: &'static [Takes],
    gives: Gives,
) -> LinqSignature {
    LinqSignature { name, intrinsic, on: On::List, takes, gives }
}

const fn array(
    name: &'static str,
    intrinsic: Intrinsic,
    takes: &'static [Takes],
    gives: Gives,
) -> LinqSignature {
    LinqSignature { name, intrinsic, on: On::Array, takes, gives }
}

const fn local(
    name: &'static str,
    intrinsic: Intrinsic,
    takes: &'static [Takes],
    gives: Gives,
) -> LinqSignature {
    LinqSignature { name, intrinsic, on: On::Local, takes, gives }
}

/// All signatures; of several with one name the first that fits.
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

/// The signatures of a name.
pub(crate) fn named(name: &str, on: On) -> impl Iterator<Item = &'static LinqSignature> {
    TABLE.iter().filter(move |row| row.name == name && row.on == on)
}

impl Intrinsic {
    /// Whether it writes to the sequence it is called on.
    pub(crate) fn writes(self) -> bool {
        matches!(self, Self::Sort | Self::RemoveAll)
    }
}

/// All names, each once.
pub(crate) fn names() -> impl Iterator<Item = &'static str> {
    let mut names: Vec<&str> =
        TABLE.iter().filter(|row| matches!(row.on, On::Sequence | On::Local)).map(|row| row.name).collect();
    names.sort_unstable();
    names.dedup();
    names.into_iter()
}
