//! The names that are in scope at an expression.
//!
//! Plain data, which the engine fills in; [`super::lookup`] decides which name is meant.

use std::rc::Rc;

use crate::constant::Constant;
use crate::types::Ty;

/// A variable: a local, a parameter, a captured variable, or a parameter of a primary constructor.
#[derive(Debug, Clone)]
pub struct Variable {
    /// The name of the variable in the source.
    pub name: Rc<str>,
    /// The declared type, without `ref`.
    pub ty: Ty,
    /// The value of a constant.
    pub constant: Option<Constant>,
    /// Whether it is declared as `dynamic`.
    pub is_dynamic: bool,
    /// Whether it is an `in` or `ref readonly` parameter, or the variable of a `foreach` or `using`
    /// statement.
    pub is_readonly: bool,
}

/// The `using` directives in effect.
#[derive(Debug, Clone, Default)]
pub struct UsingDirectives {
    /// Namespaces of `using A.B;` directives.
    pub namespaces: Vec<String>,
    /// Aliases and namespaces of `using X = A.B;` directives.
    pub namespace_aliases: Vec<(String, String)>,
    /// Aliases and types of `using X = T;` directives.
    pub type_aliases: Vec<(String, Ty)>,
    /// Types of `using static T;` directives.
    pub statics: Vec<Ty>,
}

/// The location of the code around an expression.
#[derive(Debug, Clone, Default)]
pub struct Caller {
    /// The member that contains the code.
    pub member: Rc<str>,
    /// The line of its statement and the path of its file; `None` if symbols do not have them.
    pub position: Option<(i32, Rc<str>)>,
}

/// The names in scope at an expression.
#[derive(Debug, Clone, Default)]
pub struct Scope {
    /// Variables. Of two with the same name the first is used. Their positions are their
    /// numbers in the typed tree.
    pub variables: Vec<Variable>,
    /// The type of `this`; `None` if it does not exist or cannot be read.
    pub this: Option<Ty>,
    /// Whether the code is a `readonly` member of a struct, which must not change `this`.
    pub is_this_readonly: bool,
    /// Whether the code is a constructor, which may write to `readonly` fields of its class.
    pub is_constructor: bool,
    /// The class that contains the code.
    pub class: Option<Ty>,
    /// Generic parameters of the code's class and method, and their arguments.
    pub type_parameters: Vec<(String, Ty)>,
    /// Arguments of generic parameters with constraints, and the types of the constraints.
    pub constraints: Vec<(Ty, Vec<Ty>)>,
    /// `using` directives around the code.
    pub imports: UsingDirectives,
    /// The location of the code, for parameters that get it.
    pub caller: Option<Caller>,
    /// The text of the expression, for parameters that get a part of it.
    pub text: Option<Rc<str>>,
    /// The local functions of the code's method, whose names in the metadata an expression cannot use.
    pub local_functions: Vec<Rc<str>>,
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
