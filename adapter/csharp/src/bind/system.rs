//! The binder's interface to types: definitions, their members, extension methods. Signatures are open:
//! generic parameters of the class are [`Ty::Var`], those of the method [`Ty::MethodVar`].
//!
//! Reads no metadata: the engine implements the interface. Not here: relations between types
//! ([`super::relations`]).

use std::rc::Rc;

use super::typed::Typed;
use crate::constant::Constant;
use crate::types::{Def, Ty};

/// The kind of a type definition.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum TypeKind {
    /// A class, including record classes.
    Class,
    /// A struct, including record structs.
    Struct,
    /// An interface: Interface of TypeAttributes.
    Interface,
    /// An enum, with the [`kind`](crate::types::kind) of its underlying type.
    Enum(u32),
    /// A delegate, which derives from `MulticastDelegate`.
    Delegate,
}

/// The variance of a generic parameter.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Variance {
    /// Neither `in` nor `out`.
    None,
    /// Covariant: declared `out T`.
    Out,
    /// Contravariant: declared `in T`.
    In,
}

/// The contiguous elements of a struct.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ContiguousElements {
    /// The type of one element.
    pub of: Ty,
    /// The number of elements, if it is known.
    pub count: Option<u32>,
}

/// The data of a type definition.
#[derive(Debug, Clone)]
pub struct TypeInfo {
    /// The name with namespace, enclosing types and arities, separated by dots: ``N.Outer.Inner`1``.
    pub full_name: Rc<str>,
    /// The simple name, without arity.
    pub name: Rc<str>,
    /// The namespace that contains the type.
    pub namespace: Rc<str>,
    /// Whether the type is a class, a struct, an interface, …
    pub kind: TypeKind,
    /// The variance of each generic parameter, including those of enclosing types.
    pub parameters: Vec<Variance>,
    /// The type from which it derives.
    pub base: Option<Ty>,
    /// Interfaces that the type declares.
    pub interfaces: Vec<Ty>,
    /// The type in which it is declared.
    pub enclosing: Option<Def>,
    /// Whether no instance can be created: abstract and static classes, interfaces.
    pub is_abstract: bool,
    /// Whether it is a `ref struct`.
    pub is_by_ref: bool,
    /// The elements of an inline array or a fixed buffer.
    pub elements: Option<ContiguousElements>,
}

/// A field, with open generic parameters in its type.
#[derive(Debug)]
pub struct Field {
    /// The type with the declaration.
    pub owner: Def,
    /// The token in the module of that type.
    pub token: u32,
    /// The name in the metadata.
    pub name: Rc<str>,
    /// The type; for a `ref` field, a reference.
    pub ty: Ty,
    /// Whether it is static.
    pub is_static: bool,
    /// The value of a constant.
    pub constant: Option<Constant>,
    /// Whether only constructors may write to it.
    pub is_readonly: bool,
    /// Whether code at the location of the expression may access it.
    pub is_accessible: bool,
}

/// A property or an indexer.
#[derive(Debug)]
pub struct Property {
    /// The type with the declaration.
    pub owner: Def,
    /// The name in the source.
    pub name: Rc<str>,
    /// The type; a reference if the property returns by reference.
    pub ty: Ty,
    /// The parameters of an indexer; empty for a property.
    pub parameters: Vec<Parameter>,
    /// MethodDef token of the getter.
    pub getter: Option<u32>,
    /// MethodDef token of the setter.
    pub setter: Option<u32>,
    /// Field token of an auto-property's backing field.
    pub backing: Option<u32>,
    /// Whether it is static.
    pub is_static: bool,
    /// Whether it overrides one of a base type.
    pub is_override: bool,
    /// Whether its accessors have no bodies: it is abstract, or an interface only declares it.
    pub is_abstract: bool,
    /// Whether its getter, or the struct around it, is `readonly`.
    pub is_readonly: bool,
    /// Whether code in scope may use it.
    pub is_accessible: bool,
}

/// The way in which an argument is passed.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum PassMode {
    /// By value, without a modifier.
    Value,
    /// By reference, with `ref`.
    Ref,
    /// By reference, with `out`.
    Out,
    /// By reference, with `in`.
    In,
}

/// A parameter of a method or indexer.
#[derive(Debug, Clone)]
pub struct Parameter {
    /// The name in the source.
    pub name: Rc<str>,
    /// The type, without the reference.
    pub ty: Ty,
    /// The way in which its argument is passed.
    pub pass: PassMode,
    /// The default value; for a struct, null is its zero value.
    pub default: Option<Constant>,
    /// Whether it is a `params` array or another `params` collection.
    pub is_params: bool,
    /// The part of the caller that it gets instead of its default value.
    pub caller: Option<CallerPart>,
}

/// A part of a call's location or text that a parameter gets, by its attribute.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum CallerPart {
    /// The name of the member, for `CallerMemberName`.
    Member,
    /// The number of the line in the file, for `CallerLineNumber`.
    Line,
    /// The path of the source, for `CallerFilePath`.
    File,
    /// The text of the argument for the parameter with this name, for `CallerArgumentExpression`.
    Argument(Rc<str>),
}

/// A generic parameter of a method, with its constraints.
#[derive(Debug, Clone, Default)]
pub struct GenericParameter {
    /// The name in the source.
    pub name: Rc<str>,
    /// Whether it has the constraint `where T : class`.
    pub is_class: bool,
    /// Whether it has the constraint `where T : struct`.
    pub is_struct: bool,
    /// Types to which the argument must convert.
    pub bounds: Vec<Ty>,
}

/// A method or constructor.
#[derive(Debug)]
pub struct Method {
    /// The type with the declaration.
    pub owner: Def,
    /// The token in the module of that type.
    pub token: u32,
    /// The name in the source.
    pub name: Rc<str>,
    /// The generic parameters of the method.
    pub generics: Vec<GenericParameter>,
    /// The parameters, in order.
    pub parameters: Vec<Parameter>,
    /// The result type; a reference if the method returns by reference.
    pub result: Ty,
    /// Whether it is static.
    pub is_static: bool,
    /// Whether it overrides one of a base type.
    pub is_override: bool,
    /// Whether it has no body: it is abstract, or an interface only declares it.
    pub is_abstract: bool,
    /// Whether it, or the struct around it, is `readonly`.
    pub is_readonly: bool,
    /// Whether code in scope may use it.
    pub is_accessible: bool,
    /// Whether code of every assembly may use it: it and the types around it are public.
    pub is_public: bool,
}

/// A member that a type declares.
#[derive(Debug, Clone)]
pub enum Member {
    /// A field or constant of the type.
    Field(Rc<Field>),
    /// A property without parameters.
    Property(Rc<Property>),
    /// A method, constructor or operator.
    Method(Rc<Method>),
}

impl Member {
    /// The name in the metadata.
    pub(super) fn name(&self) -> &str {
        match self {
            Self::Field(field) => &field.name,
            Self::Property(property) => &property.name,
            Self::Method(method) => &method.name,
        }
    }

    /// Whether it has no code.
    pub(super) fn is_abstract(&self) -> bool {
        match self {
            Self::Field(_) => false,
            Self::Property(property) => property.is_abstract,
            Self::Method(method) => method.is_abstract,
        }
    }
}

/// The source of type definitions: the modules of a program, or in tests a fake.
pub trait TypeProvider {
    /// The data of a definition.
    fn info(&self, def: Def) -> Option<Rc<TypeInfo>>;

    /// Members of this name that a definition itself declares; constructors are `.ctor`.
    fn members(&self, def: Def, name: &str) -> Rc<[Member]>;

    /// The indexers that a definition itself declares, also those that implement one of an interface
    /// explicitly.
    fn indexers(&self, def: Def) -> Rc<[Rc<Property>]>;

    /// All members that a definition itself declares, for completions.
    fn all_members(&self, def: Def) -> Vec<Member>;

    /// A definition by its full name, as in [`TypeInfo::full_name`].
    fn find(&self, full_name: &str) -> Option<Def>;

    /// A definition by its full name, as code of the type `from` finds it: first in its module,
    /// then in referenced ones.
    fn find_from(&self, from: Def, full_name: &str) -> Option<Def> {
        let _ = from;
        self.find(full_name)
    }

    /// Whether code of the type `from` may name a type that it finds: the type is public, or its assembly is
    /// that of the code or makes its internals visible to it.
    fn is_visible_from(&self, from: Def, def: Def) -> bool {
        let _ = (from, def);
        true
    }

    /// A type that another type declares, by its name with arity.
    fn find_nested(&self, def: Def, name: &str) -> Option<Def>;

    /// The only type of the program that has this name with arity, in any namespace; `None`
    /// if there are several.
    fn find_unique(&self, name: &str) -> Option<Def>;

    /// The anonymous type with these properties, in this order, as code of the type `from` creates it.
    fn anonymous_type(&self, from: Option<Def>, properties: &[Rc<str>]) -> Option<Def> {
        let _ = (from, properties);
        None
    }

    /// Whether a type is in this namespace or below it.
    fn is_namespace(&self, name: &str) -> bool;

    /// The first parts of the names of the namespaces below this one.
    fn namespaces_in(&self, space: &str) -> Vec<String> {
        let _ = space;
        Vec::new()
    }

    /// Extension methods of this name, in all modules, as code of the type `from` finds them. Those of its
    /// module hide the same ones of other modules.
    fn extensions(&self, from: Option<Def>, name: &str) -> Vec<Rc<Method>>;

    /// The getters of extension properties of this name, as code of the type `from` finds them.
    fn extension_getters(&self, from: Option<Def>, property: &str) -> Vec<Rc<Method>> {
        let _ = (from, property);
        Vec::new()
    }

    /// Names without arity of types in a namespace, or nested in a type, that begin with
    /// `prefix`. Ignores case.
    fn type_names(&self, within: Result<&str, Def>, prefix: &str) -> Vec<String>;

    /// The extension methods of all modules, and the getters of extension properties, for completions.
    fn all_extensions(&self) -> Vec<Rc<Method>>;

    /// The run-time type of the object to which an expression evaluates now, if reading it runs no code and
    /// the object is available. A debugger knows it; a compiler does not.
    fn runtime_type(&self, of: &Typed) -> Option<Ty> {
        let _ = of;
        None
    }
}
