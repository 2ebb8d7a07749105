//! The binder's interface to types: definitions, their members, extension methods. Signatures are open:
//! generic
//! parameters of the class are [`Ty::Var`], those of the method [`Ty::MethodVar`].

use std::rc::Rc;

use super::typed::Typed;
use crate::constant::Constant;
use crate::types::{Def, Ty};

/// What kind of type a definition is.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum TypeKind {
    /// A class.
    Class,
    /// A struct.
    Struct,
    /// An interface.
    Interface,
    /// An enum, stored as a number of this kind.
    Enum(u32),
    /// A delegate.
    Delegate,
}

/// How arguments of a generic type may vary.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Variance {
    /// Neither `in` nor `out`.
    None,
    /// `out T`.
    Out,
    /// `in T`.
    In,
}

/// What lies side by side in a struct.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ContiguousElements {
    /// The type of one element.
    pub of: Ty,
    /// How many there are, where that is known.
    pub count: Option<u32>,
}

/// A type definition.
#[derive(Debug, Clone)]
pub struct TypeInfo {
    /// With namespace, enclosing types and arities, all with dots between them: ``N.Outer.Inner`1``.
    pub full_name: Rc<str>,
    /// Its own name without arity.
    pub name: Rc<str>,
    /// The namespace that contains it.
    pub namespace: Rc<str>,
    /// Whether it is a class, a struct, an interface, …
    pub kind: TypeKind,
    /// How its generic parameters may vary, those of enclosing types among them.
    pub parameters: Vec<Variance>,
    /// The type that it derives from.
    pub base: Option<Ty>,
    /// Interfaces that it declares.
    pub interfaces: Vec<Ty>,
    /// The type it is declared in.
    pub enclosing: Option<Def>,
    /// Whether none can be made: abstract and static classes, interfaces.
    pub is_abstract: bool,
    /// Whether it is a `ref struct`.
    pub is_by_ref: bool,
    /// Of an inline array or a fixed buffer.
    pub elements: Option<ContiguousElements>,
}

/// A field of a type.
#[derive(Debug)]
pub struct Field {
    /// The type that declares it.
    pub owner: Def,
    /// Its token in that type's module.
    pub token: u32,
    /// Its name in the metadata.
    pub name: Rc<str>,
    /// Its type; of a `ref` field a reference.
    pub ty: Ty,
    /// Whether it is static.
    pub is_static: bool,
    /// The value of a constant.
    pub constant: Option<Constant>,
    /// Whether code at the place of the expression may use it, were it compiled there.
    pub is_accessible: bool,
}

/// A property or an indexer.
#[derive(Debug)]
pub struct Property {
    /// The type that declares it.
    pub owner: Def,
    /// Its name in the source.
    pub name: Rc<str>,
    /// Its type; of one that returns by reference a reference.
    pub ty: Ty,
    /// Parameters of an indexer.
    pub parameters: Vec<Parameter>,
    /// MethodDef token of its getter.
    pub getter: Option<u32>,
    /// MethodDef token of its setter.
    pub setter: Option<u32>,
    /// Token of the field of an auto-property.
    pub backing: Option<u32>,
    /// Whether it is static.
    pub is_static: bool,
    /// Whether it overrides one of a base type.
    pub is_override: bool,
    /// Whether code in scope may use it.
    pub is_accessible: bool,
}

/// How a parameter is passed.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Pass {
    /// By value.
    Value,
    /// `ref`.
    Ref,
    /// `out`.
    Out,
    /// `in`.
    In,
}

/// A parameter of a method or indexer.
#[derive(Debug, Clone)]
pub struct Parameter {
    /// Its name in the source.
    pub name: Rc<str>,
    /// Its type, without the reference.
    pub ty: Ty,
    /// By value, `ref`, `out` or `in`.
    pub pass: Pass,
    /// Its default value; null also means the zero value of a struct.
    pub default: Option<Constant>,
    /// Takes all that is left.
    pub is_params: bool,
}

/// A generic parameter of a method and what must hold of its argument.
#[derive(Debug, Clone, Default)]
pub struct GenericParameter {
    /// Its name in the source.
    pub name: Rc<str>,
    /// `where T : class`.
    pub is_class: bool,
    /// `where T : struct`.
    pub is_struct: bool,
    /// Types it must convert to.
    pub bounds: Vec<Ty>,
}

/// A method or constructor.
#[derive(Debug)]
pub struct Method {
    /// The type that declares it.
    pub owner: Def,
    /// Its token in that type's module.
    pub token: u32,
    /// Its name in the source.
    pub name: Rc<str>,
    /// Its generic parameters.
    pub generics: Vec<GenericParameter>,
    /// Its parameters, in order.
    pub parameters: Vec<Parameter>,
    /// Its result; a reference if it returns by reference.
    pub result: Ty,
    /// Whether it is static.
    pub is_static: bool,
    /// Whether it overrides one of a base type.
    pub is_override: bool,
    /// Whether code in scope may use it.
    pub is_accessible: bool,
}

/// A member of a type.
#[derive(Debug, Clone)]
pub enum Member {
    /// A field.
    Field(Rc<Field>),
    /// A property without parameters.
    Property(Rc<Property>),
    /// A method.
    Method(Rc<Method>),
}

/// Where types come from.
pub trait TypeProvider {
    /// The data of a definition.
    fn info(&self, def: Def) -> Option<Rc<TypeInfo>>;

    /// Members of this name that a definition itself declares; constructors are `.ctor`.
    fn members(&self, def: Def, name: &str) -> Rc<[Member]>;

    /// The indexers that a definition itself declares.
    fn indexers(&self, def: Def) -> Rc<[Rc<Property>]>;

    /// All members that a definition itself declares, for completions.
    fn all_members(&self, def: Def) -> Vec<Member>;

    /// A definition by its full name, as in [`TypeInfo::full_name`].
    fn find(&self, full_name: &str) -> Option<Def>;

    /// A definition by its full name, as code of the type `from` finds it: in its own module first, then in
    /// those that this one refers to.
    fn find_from(&self, from: Def, full_name: &str) -> Option<Def> {
        let _ = from;
        self.find(full_name)
    }

    /// A type declared in another, by its name with arity.
    fn nested(&self, def: Def, name: &str) -> Option<Def>;

    /// The only type of the program's own that has this name with arity, wherever it is.
    fn only(&self, name: &str) -> Option<Def>;

    /// Whether any type lies in this namespace or below it.
    fn is_namespace(&self, name: &str) -> bool;

    /// Extension methods of this name, in all modules, as code of the type `from` finds them: those of its
    /// own module hide the same ones of others.
    fn extensions(&self, from: Option<Def>, name: &str) -> Vec<Rc<Method>>;

    /// Names of types in a namespace, or nested in a type, that begin so, whatever the case, without arity.
    fn type_names(&self, within: Result<&str, Def>, prefix: &str) -> Vec<String>;

    /// Names of extension methods that completions offer, with the methods.
    fn extensions_to_offer(&self) -> Vec<Rc<Method>>;

    /// The type of the object that an expression leads to now, if reading it runs nothing and the object is
    /// available. A debugger knows it; a compiler would not.
    fn actual(&self, of: &Typed) -> Option<Ty> {
        let _ = of;
        None
    }
}
