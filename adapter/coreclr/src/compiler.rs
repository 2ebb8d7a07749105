//! The compiler of an SDK: its process, the connection to it, and what it has compiled for the program. Loads
//! and runs none of that ([`super::compiled`]).
//!
//! In reading order: [`Compiler`] (owns all of it), [`outcome`], [`connection`] (to the compiler), [`sdk`]
//! (whose compiler), [`program`] (the compiler's host program, built once) and [`process`] (that program as
//! it runs), [`wire`] (messages to it), [`expressions`] (its cached answers), [`diagnostics`]. `helper/` is
//! the host program's source in C#.

mod connection;
mod diagnostics;
mod expressions;
mod outcome;
mod process;
mod program;
mod sdk;
mod wire;

use std::rc::Rc;

use serde_json::Value;
use tandem_wire::Failure;

use super::modules::LoadedModule;
use connection::CompilerConnection;
pub(super) use connection::CompilerHost;
pub(super) use diagnostics::CSharpDiagnostic;
use expressions::ExpressionCache;
pub(super) use expressions::{
    CompilationPlace, CompileResult, CompiledExpression, CompilerResponse, VariableStorage,
};
pub(super) use outcome::{CompiledFailure, CompiledOutcome, Unavailable};
pub(super) use wire::HelperMessage;

/// The way in which assemblies are loaded into the program.
#[derive(Clone)]
pub(super) enum LoadStrategy {
    /// By the loader, in this module.
    Loader(Rc<LoadedModule>),
    /// By the runtime, permanently: members that the loader needs were trimmed away.
    Plain,
}

/// The compiler of an SDK, and all expressions compiled for one program.
#[derive(Default)]
pub(super) struct Compiler {
    pub(super) connection: CompilerConnection,
    pub(super) expressions: ExpressionCache,
    /// How assemblies are loaded into the program, once it is known.
    pub(super) way: Option<LoadStrategy>,
    /// Number of the latest assembly.
    pub(super) number: u32,
}

impl Compiler {
    /// Reads the attribute of a launch or attach. `variable` looks up the environment of that.
    ///
    /// # Errors
    /// `INVALID_PARAMETER` if the attribute is malformed.
    pub(super) fn parse(
        attributes: &Value,
        variable: &dyn Fn(&str) -> Option<String>,
    ) -> Result<Self, Failure> {
        Ok(Self { connection: CompilerConnection::parse(attributes, variable)?, ..Self::default() })
    }
}
