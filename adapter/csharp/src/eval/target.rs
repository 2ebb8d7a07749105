//! The target of an evaluation: a stopped program, or in tests a fake.
//!
//! Only the interface: the engine implements it on ICorDebug, and `eval::fake` for tests.

use std::rc::Rc;

use super::values::{Grouping, SortKeys, TypedValue};
use crate::bind::{FieldRef, MethodRef, PropertyRef, TypeProvider};
use crate::constant::Constant;
use crate::types::Ty;

/// A program in which expressions are evaluated. A place in it is a path to a value, which is read when it is
/// needed. Methods have `&self`, because the target also provides types during an evaluation.
pub trait EvaluationTarget: TypeProvider {
    /// A reference to a value in the target.
    type Location: Clone + std::fmt::Debug;
    /// The error of a failed operation.
    type Error;

    /// Creates an error of the evaluation, such as an exception that it would throw.
    fn error(&self, message: String) -> Self::Error;

    /// Creates the error for an object that no longer has the type that it had at binding. The cache then
    /// binds the tree again.
    fn stale_error(&self) -> Self::Error;

    /// Fails if the request was cancelled, or took too long.
    fn check_cancellation(&self) -> Result<(), Self::Error>;

    /// A variable of the scope.
    fn variable(&self, at: u32) -> Result<TypedValue<Self::Location>, Self::Error>;

    /// The object or struct `this` of the frame.
    fn this(&self) -> Result<TypedValue<Self::Location>, Self::Error>;

    /// The exception that the thread throws.
    fn exception(&self) -> Result<TypedValue<Self::Location>, Self::Error>;

    /// The id of the stopped thread.
    fn thread_id(&self) -> i32;

    /// Reads a value as a constant; `None` for another object or struct.
    fn load(&self, val: &TypedValue<Self::Location>) -> Result<Option<Constant>, Self::Error>;

    /// Whether a reference or nullable is null.
    fn is_null(&self, val: &TypedValue<Self::Location>) -> Result<bool, Self::Error>;

    /// The run-time type of a value; for a nullable, the type of its value.
    fn actual_type(&self, val: &TypedValue<Self::Location>) -> Result<Ty, Self::Error>;

    /// The address in a reference or pointer; 0 for null, `None` for a value that is not in the program.
    fn identity(&self, val: &TypedValue<Self::Location>) -> Result<Option<u64>, Self::Error>;

    /// Whether a string of the program is the one that the runtime interned for its text.
    fn is_interned(&self, text: &TypedValue<Self::Location>) -> Result<bool, Self::Error>;

    /// Compares two strings that are too long to be read.
    fn equal_texts(
        &self,
        a: &TypedValue<Self::Location>,
        b: &TypedValue<Self::Location>,
    ) -> Result<bool, Self::Error>;

    /// The place of a field.
    fn field(
        &self,
        of: Option<&TypedValue<Self::Location>>,
        field: &FieldRef,
    ) -> Result<TypedValue<Self::Location>, Self::Error>;

    /// The value of a property.
    fn property(
        &self,
        of: Option<&TypedValue<Self::Location>>,
        property: &PropertyRef,
    ) -> Result<TypedValue<Self::Location>, Self::Error>;

    /// An element, by the getter of an indexer.
    fn indexer(
        &self,
        of: &TypedValue<Self::Location>,
        property: &PropertyRef,
        arguments: &[TypedValue<Self::Location>],
    ) -> Result<TypedValue<Self::Location>, Self::Error>;

    /// The number of elements of an array or units of a string.
    fn length(&self, of: &TypedValue<Self::Location>) -> Result<i32, Self::Error>;

    /// An element of an array, a unit of a string, or the element at an index from a pointer.
    fn element(
        &self,
        of: &TypedValue<Self::Location>,
        indexes: &[i64],
    ) -> Result<TypedValue<Self::Location>, Self::Error>;

    /// An element of a tuple, by its position from 0.
    fn tuple_element(
        &self,
        of: &TypedValue<Self::Location>,
        at: usize,
    ) -> Result<TypedValue<Self::Location>, Self::Error>;

    /// The value of a nullable that is not null.
    fn nullable_value(
        &self,
        of: &TypedValue<Self::Location>,
    ) -> Result<TypedValue<Self::Location>, Self::Error>;

    /// The address of a value in memory.
    fn address(&self, of: &TypedValue<Self::Location>) -> Result<u64, Self::Error>;

    /// Calls a method. Arguments for parameters by reference are places. `None` for a
    /// method without a result.
    fn call(
        &self,
        method: &MethodRef,
        of: Option<&TypedValue<Self::Location>>,
        arguments: &[TypedValue<Self::Location>],
        is_base: bool,
    ) -> Result<Option<TypedValue<Self::Location>>, Self::Error>;

    /// Creates an object with a constructor.
    fn construct(
        &self,
        constructor: &MethodRef,
        arguments: &[TypedValue<Self::Location>],
    ) -> Result<TypedValue<Self::Location>, Self::Error>;

    /// Creates a variable of a type, for an `out` argument.
    fn new_variable(&self, ty: &Ty) -> Result<TypedValue<Self::Location>, Self::Error>;

    /// Creates an array of zeros, or with items in row-major order.
    fn new_array(
        &self,
        of: &Ty,
        lengths: &[i64],
        items: Option<Vec<TypedValue<Self::Location>>>,
    ) -> Result<TypedValue<Self::Location>, Self::Error>;

    /// Creates a `List<T>` with the items of an array.
    fn new_list(
        &self,
        ty: &Ty,
        array: TypedValue<Self::Location>,
    ) -> Result<TypedValue<Self::Location>, Self::Error>;

    /// Creates a tuple of these items.
    fn new_tuple(
        &self,
        ty: &Ty,
        items: Vec<TypedValue<Self::Location>>,
    ) -> Result<TypedValue<Self::Location>, Self::Error>;

    /// Creates a struct with all bytes zero.
    fn new_zeroed(&self, ty: &Ty) -> Result<TypedValue<Self::Location>, Self::Error>;

    /// Copies a value, so that later writes to its place do not change the copy.
    fn copy(&self, val: &TypedValue<Self::Location>) -> Result<TypedValue<Self::Location>, Self::Error>;

    /// A new copy of a struct of the program, which a method may change.
    fn copy_struct(
        &self,
        val: &TypedValue<Self::Location>,
    ) -> Result<TypedValue<Self::Location>, Self::Error>;

    /// Whether a value is a variable, which can be overwritten.
    fn is_variable(&self, val: &TypedValue<Self::Location>) -> bool;

    /// Writes to a place. Returns the value that the place then has.
    fn write(
        &self,
        place: &TypedValue<Self::Location>,
        value: &TypedValue<Self::Location>,
    ) -> Result<TypedValue<Self::Location>, Self::Error>;

    /// Sets a property, or with arguments an indexer.
    fn set_property(
        &self,
        of: Option<&TypedValue<Self::Location>>,
        property: &PropertyRef,
        arguments: &[TypedValue<Self::Location>],
        value: &TypedValue<Self::Location>,
    ) -> Result<(), Self::Error>;

    /// The `System.Type` object of a type.
    fn type_object(&self, ty: &Ty) -> Result<TypedValue<Self::Location>, Self::Error>;

    /// The size of an unmanaged struct, in bytes.
    fn size_of(&self, ty: &Ty) -> Result<i32, Self::Error>;

    /// The result of an object's `ToString`.
    fn text_of(&self, val: &TypedValue<Self::Location>) -> Result<String, Self::Error>;

    /// Formats a value with a format string.
    fn format(&self, val: &TypedValue<Self::Location>, format: &str) -> Result<String, Self::Error>;

    /// The name of an enum's value, as its `ToString` returns it.
    fn enum_name(&self, ty: &Ty, number: i128) -> Option<String>;

    /// Converts a thrown exception to an error.
    fn exception_error(&self, val: &TypedValue<Self::Location>) -> Self::Error;

    /// The first items of a sequence, at most `most`, and whether there are more.
    #[allow(clippy::type_complexity, reason = "items, and an unrelated flag")]
    fn items(
        &self,
        of: &TypedValue<Self::Location>,
        most: usize,
    ) -> Result<(Vec<TypedValue<Self::Location>>, bool), Self::Error>;

    /// Sorts the positions of `count` items by their keys, as LINQ does.
    fn order(&self, count: usize, levels: &[SortKeys<Self::Location>]) -> Result<Vec<usize>, Self::Error>;

    /// Groups the positions of equal keys, in the order of their first key.
    fn group_equal_keys(
        &self,
        keys: &[TypedValue<Self::Location>],
        comparer: Option<&TypedValue<Self::Location>>,
    ) -> Result<Vec<Vec<usize>>, Self::Error>;

    /// Creates a `Dictionary` of this type.
    #[allow(clippy::type_complexity, reason = "keys with values")]
    fn new_dictionary(
        &self,
        ty: &Ty,
        pairs: Vec<(TypedValue<Self::Location>, TypedValue<Self::Location>)>,
        comparer: Option<&TypedValue<Self::Location>>,
    ) -> Result<TypedValue<Self::Location>, Self::Error>;

    /// Creates a lookup with groups, or a grouping for a single group.
    fn new_groups(
        &self,
        ty: &Ty,
        groups: &[Rc<Grouping<Self::Location>>],
    ) -> Result<TypedValue<Self::Location>, Self::Error>;

    /// Replaces the items of a list or array by these. The length of a list changes to their number.
    fn replace_items(
        &self,
        of: &TypedValue<Self::Location>,
        items: Vec<TypedValue<Self::Location>>,
    ) -> Result<(), Self::Error>;
}
