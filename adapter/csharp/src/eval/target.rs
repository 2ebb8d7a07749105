//! The target that a typed tree is evaluated in: a stopped program, or in tests a fake.

use std::rc::Rc;

use super::values::{Grouping, SortKeys, Val};
use crate::bind::{FieldRef, MethodRef, PropertyRef, TypeProvider};
use crate::constant::Constant;
use crate::types::Ty;

/// A program. A place in it is a path to a value, not a value: it is read when it is needed. Methods take
/// `&self`, so that a target can answer about types at the same time.
pub trait EvaluationTarget: TypeProvider {
    /// A reference to a value in the target.
    type Place: Clone + std::fmt::Debug;
    /// Why something could not be done.
    type Error;

    /// An error of the evaluation itself, such as an exception that it would throw.
    fn failed(&self, message: String) -> Self::Error;

    /// The error that makes the cache bind the tree again: an object no longer has the type that it had.
    fn stale(&self) -> Self::Error;

    /// Fails when the request was cancelled, or took too long.
    fn proceed(&self) -> Result<(), Self::Error>;

    /// A variable of the scope.
    fn variable(&self, at: u32) -> Result<Val<Self::Place>, Self::Error>;

    /// `this`.
    fn this(&self) -> Result<Val<Self::Place>, Self::Error>;

    /// The exception that the thread throws.
    fn exception(&self) -> Result<Val<Self::Place>, Self::Error>;

    /// The id of the stopped thread.
    fn thread_id(&self) -> i32;

    /// A value as a constant; none for an object or struct that is not one.
    fn load(&self, val: &Val<Self::Place>) -> Result<Option<Constant>, Self::Error>;

    /// Whether a reference or nullable is null.
    fn is_null(&self, val: &Val<Self::Place>) -> Result<bool, Self::Error>;

    /// The type of what a value holds now, out of its nullable.
    fn actual_type(&self, val: &Val<Self::Place>) -> Result<Ty, Self::Error>;

    /// The address of the object that a reference leads to, or that a pointer holds; 0 for null, none for
    /// what is here.
    fn identity(&self, val: &Val<Self::Place>) -> Result<Option<u64>, Self::Error>;

    /// Whether two texts are equal that are too long to be looked at here.
    fn equal_texts(&self, a: &Val<Self::Place>, b: &Val<Self::Place>) -> Result<bool, Self::Error>;

    /// The place of a field.
    fn field(&self, of: Option<&Val<Self::Place>>, field: &FieldRef)
    -> Result<Val<Self::Place>, Self::Error>;

    /// The value of a property.
    fn property(
        &self,
        of: Option<&Val<Self::Place>>,
        property: &PropertyRef,
    ) -> Result<Val<Self::Place>, Self::Error>;

    /// An element, read through an indexer.
    fn indexer(
        &self,
        of: &Val<Self::Place>,
        property: &PropertyRef,
        arguments: &[Val<Self::Place>],
    ) -> Result<Val<Self::Place>, Self::Error>;

    /// The number of elements of an array or units of a string.
    fn length(&self, of: &Val<Self::Place>) -> Result<i32, Self::Error>;

    /// An element of an array, a unit of a string, what a pointer points to at an index.
    fn element(&self, of: &Val<Self::Place>, indexes: &[i64]) -> Result<Val<Self::Place>, Self::Error>;

    /// An element of a tuple, by its position from 0.
    fn tuple_element(&self, of: &Val<Self::Place>, at: usize) -> Result<Val<Self::Place>, Self::Error>;

    /// The value in a nullable that is not null.
    fn out_of_nullable(&self, of: &Val<Self::Place>) -> Result<Val<Self::Place>, Self::Error>;

    /// Where a value is in memory.
    fn address(&self, of: &Val<Self::Place>) -> Result<u64, Self::Error>;

    /// Calls a method; arguments for parameters by reference are places. None of one that returns nothing.
    fn call(
        &self,
        method: &MethodRef,
        of: Option<&Val<Self::Place>>,
        arguments: &[Val<Self::Place>],
        is_base: bool,
    ) -> Result<Option<Val<Self::Place>>, Self::Error>;

    /// Creates an object with a constructor.
    fn construct(
        &self,
        constructor: &MethodRef,
        arguments: &[Val<Self::Place>],
    ) -> Result<Val<Self::Place>, Self::Error>;

    /// A new variable of a type, for an `out` argument.
    fn new_variable(&self, ty: &Ty) -> Result<Val<Self::Place>, Self::Error>;

    /// A new array of zeros, or with items in row-major order.
    fn new_array(
        &self,
        of: &Ty,
        lengths: &[i64],
        items: Option<Vec<Val<Self::Place>>>,
    ) -> Result<Val<Self::Place>, Self::Error>;

    /// A new `List<T>` of an array's items.
    fn new_list(&self, ty: &Ty, array: Val<Self::Place>) -> Result<Val<Self::Place>, Self::Error>;

    /// Creates a tuple of these items.
    fn new_tuple(&self, ty: &Ty, items: Vec<Val<Self::Place>>) -> Result<Val<Self::Place>, Self::Error>;

    /// A struct with all bytes zero.
    fn zeroed(&self, ty: &Ty) -> Result<Val<Self::Place>, Self::Error>;

    /// A value as it is now, whatever is written to its place later.
    fn copied(&self, val: &Val<Self::Place>) -> Result<Val<Self::Place>, Self::Error>;

    /// Whether a value can be written over where it is.
    fn is_variable(&self, val: &Val<Self::Place>) -> bool;

    /// Writes to a place; returns what is there then.
    fn write(
        &self,
        place: &Val<Self::Place>,
        value: &Val<Self::Place>,
    ) -> Result<Val<Self::Place>, Self::Error>;

    /// Sets a property, or with arguments an indexer.
    fn set_property(
        &self,
        of: Option<&Val<Self::Place>>,
        property: &PropertyRef,
        arguments: &[Val<Self::Place>],
        value: &Val<Self::Place>,
    ) -> Result<(), Self::Error>;

    /// The `System.Type` object of a type.
    fn type_object(&self, ty: &Ty) -> Result<Val<Self::Place>, Self::Error>;

    /// The size of a struct without references, bytes.
    fn size_of(&self, ty: &Ty) -> Result<i32, Self::Error>;

    /// The result of an object's `ToString`.
    fn text_of(&self, val: &Val<Self::Place>) -> Result<String, Self::Error>;

    /// A value formatted with a format string.
    fn formatted(&self, val: &Val<Self::Place>, format: &str) -> Result<String, Self::Error>;

    /// The name of an enum's value, as its `ToString` returns it.
    fn enum_name(&self, ty: &Ty, number: i128) -> Option<String>;

    /// The exception that is thrown, as an error.
    fn thrown(&self, val: &Val<Self::Place>) -> Self::Error;

    /// The first items of a sequence, so many at most, and whether there are more.
    #[allow(clippy::type_complexity, reason = "items, and a flag of its own")]
    fn items(&self, of: &Val<Self::Place>, most: usize)
    -> Result<(Vec<Val<Self::Place>>, bool), Self::Error>;

    /// The positions of so many items in the order of their keys, as LINQ orders them.
    fn order(&self, count: usize, levels: &[SortKeys<Self::Place>]) -> Result<Vec<usize>, Self::Error>;

    /// Positions of equal keys together, in the order in which they come.
    fn alike(
        &self,
        keys: &[Val<Self::Place>],
        comparer: Option<&Val<Self::Place>>,
    ) -> Result<Vec<Vec<usize>>, Self::Error>;

    /// A new `Dictionary` of this type.
    #[allow(clippy::type_complexity, reason = "keys with values")]
    fn new_dictionary(
        &self,
        ty: &Ty,
        pairs: Vec<(Val<Self::Place>, Val<Self::Place>)>,
        comparer: Option<&Val<Self::Place>>,
    ) -> Result<Val<Self::Place>, Self::Error>;

    /// Groups as a lookup of the program, or one of them as a grouping.
    fn new_groups(
        &self,
        ty: &Ty,
        groups: &[Rc<Grouping<Self::Place>>],
    ) -> Result<Val<Self::Place>, Self::Error>;

    /// Writes these items into a list or array instead of those that are there; a list becomes as long as
    /// they are.
    fn refill(&self, of: &Val<Self::Place>, items: Vec<Val<Self::Place>>) -> Result<(), Self::Error>;
}
