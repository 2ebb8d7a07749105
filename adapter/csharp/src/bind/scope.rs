//! The names that are in scope at an expression.

use std::rc::Rc;

use crate::constant::Constant;
use crate::types::Ty;

/// A variable: a local, a parameter, one that a lambda captured, a parameter of a primary constructor.
#[derive(Debug, Clone)]
pub struct Variable {
    /// Its name in the source.
    pub name: Rc<str>,
    /// Its declared type, without `ref`.
    pub ty: Ty,
    /// Its value, when it is a constant.
    pub constant: Option<Constant>,
    /// Whether it is declared as `dynamic`.
    pub is_dynamic: bool,
}

/// The `using` directives in effect.
#[derive(Debug, Clone, Default)]
pub struct UsingDirectives {
    /// `using A.B;`
    pub namespaces: Vec<String>,
    /// `using X = A.B;`
    pub namespace_aliases: Vec<(String, String)>,
    /// `using X = T;`
    pub type_aliases: Vec<(String, Ty)>,
    /// `using static T;`
    pub statics: Vec<Ty>,
}

/// The names in scope.
#[derive(Debug, Clone, Default)]
pub struct Scope {
    /// Variables; of two with one name the first counts. Their positions are their numbers in the typed tree.
    pub variables: Vec<Variable>,
    /// The type of `this`, where there is one that can be read.
    pub this: Option<Ty>,
    /// The class the code is in.
    pub class: Option<Ty>,
    /// Generic parameters of the code's class and method, and their arguments.
    pub type_parameters: Vec<(String, Ty)>,
    /// Arguments of generic parameters that have constraints, and the types of those.
    pub constraints: Vec<(Ty, Vec<Ty>)>,
    /// `using` directives around the code.
    pub imports: UsingDirectives,
    /// The type of the exception that the thread throws.
    pub exception: Option<Ty>,
}

/// Namespaces that are searched besides those of the code.
pub(crate) const COMMON_NAMESPACES: [&str; 8] = [
    "System",
    "System.Collections.Generic",
    "System.Linq",
    "System.Text",
    "System.Threading",
    "System.Threading.Tasks",
    "System.IO",
    "System.Collections",
];
