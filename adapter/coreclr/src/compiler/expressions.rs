//! Cache of compiled expressions, by text and code location: evaluating one again costs a single call.
//! Compiler errors are cached too. Asks no compiler ([`super::connection`]), and runs nothing
//! ([`crate::compiled`]).

use std::collections::HashMap;
use std::rc::Rc;

use super::diagnostics::CSharpDiagnostic;
use super::wire::MessageReader;
use crate::modules::LoadedModule;
use crate::value_path::PathSegment;

/// Most cached expressions; beyond that all are released, in the program as well.
pub(crate) const MAX_KEPT: usize = 512;

/// Storage of a variable: the same in another call of the method.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum VariableStorage {
    Argument(u32, Vec<PathSegment>),
    Local(u32, Vec<PathSegment>),
    Other(Vec<PathSegment>),
    Constant(String),
}

/// The code that an expression is compiled for, and the storage of the variables in it.
pub(crate) struct CompilationPlace {
    pub(crate) module: usize,
    pub(crate) method: u32,
    pub(crate) variables: Vec<(String, VariableStorage)>,
}

/// An expression that was compiled.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct CompiledExpression {
    pub(crate) image: Vec<u8>,
    /// MethodDef token of the method to call.
    pub(crate) method: u32,
    /// The variables it takes, by their numbers in the frame, and whether by reference.
    pub(crate) arguments: Vec<(usize, bool)>,
    pub(crate) is_void: bool,
    /// It waits for other threads.
    pub(crate) waits: bool,
    /// The runtime type of its value counts: C# does not know its static type, or has no name for it.
    pub(crate) is_any: bool,
}

/// Result of compiling an expression.
#[derive(Clone)]
pub(crate) enum CompileResult {
    /// Loaded into the program.
    Loaded(Rc<LoadedModule>, Rc<CompiledExpression>),
    /// Refused by the compiler, or by its process.
    Refused(Vec<CSharpDiagnostic>),
    Failed(String),
}

/// An answer of the compiler's process.
#[derive(Debug, PartialEq, Eq)]
pub(crate) enum CompilerResponse {
    Code(CompiledExpression),
    Diagnostics(Vec<CSharpDiagnostic>),
    Refusal(String),
    Library(Vec<u8>),
}

impl CompilerResponse {
    /// Parses an answer; `None` if it is malformed.
    pub(crate) fn read(message: &[u8]) -> Option<Self> {
        let mut parts = MessageReader::of(message);
        Some(match parts.byte()? {
            b'E' => Self::Code(CompiledExpression {
                image: parts.bytes()?.to_vec(),
                method: parts.number()?,
                arguments: parts.list(|parts| Some((parts.number()? as usize, parts.byte()? != 0)))?,
                is_void: parts.byte()? != 0,
                waits: parts.byte()? != 0,
                is_any: parts.byte()? != 0,
            }),
            b'D' => Self::Diagnostics(parts.list(|parts| {
                Some(CSharpDiagnostic {
                    id: parts.text()?,
                    message: parts.text()?,
                    start: parts.number()?,
                    end: parts.number()?,
                })
            })?),
            b'N' => Self::Refusal(parts.text()?),
            b'L' => Self::Library(parts.bytes()?.to_vec()),
            _ => return None,
        })
    }
}

struct CachedExpression {
    variables: Vec<(String, VariableStorage)>,
    /// How many modules there were when it was refused: another one may contain a missing type.
    modules: usize,
    compiled: CompileResult,
}

/// Compiled expressions, by module, method and text.
#[derive(Default)]
pub(crate) struct ExpressionCache {
    kept: HashMap<(usize, u32), HashMap<String, Vec<CachedExpression>>>,
    count: usize,
}

impl ExpressionCache {
    pub(crate) fn is_empty(&self) -> bool {
        self.count == 0
    }

    pub(crate) fn is_full(&self) -> bool {
        self.count >= MAX_KEPT
    }

    pub(crate) fn clear(&mut self) {
        *self = Self::default();
    }

    /// Whether a text was compiled for a method, with any variables.
    pub(crate) fn knows(&self, module: usize, method: u32, text: &str) -> bool {
        let entries = self.kept.get(&(module, method)).and_then(|texts| texts.get(text));
        entries.is_some_and(|entries| {
            entries.iter().any(|entry| matches!(entry.compiled, CompileResult::Loaded(..)))
        })
    }

    /// The compiled form of a text if its names mean the same variables. `modules`: how many there ever were.
    pub(crate) fn find(&self, place: &CompilationPlace, text: &str, modules: usize) -> Option<CompileResult> {
        let entries = self.kept.get(&(place.module, place.method))?.get(text)?;
        let fits = |entry: &&CachedExpression| {
            entry.variables == place.variables
                && (entry.modules == modules || matches!(entry.compiled, CompileResult::Loaded(..)))
        };
        entries.iter().find(fits).map(|entry| entry.compiled.clone())
    }

    pub(crate) fn keep(
        &mut self,
        place: CompilationPlace,
        text: &str,
        modules: usize,
        compiled: CompileResult,
    ) {
        let texts = self.kept.entry((place.module, place.method)).or_default();
        let entries = texts.entry(text.to_owned()).or_default();
        let before = entries.len();
        entries.retain(|entry| entry.variables != place.variables);
        entries.push(CachedExpression { variables: place.variables, modules, compiled });
        self.count = self.count + entries.len() - before;
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::super::diagnostics::failure;
    use super::*;

    #[test]
    fn diagnostics_keep_the_format_of_the_compiler() {
        let mut message = super::super::wire::HelperMessage::new(b'D');
        message.number(1).text("CS0103").text("The name 'x' does not exist").number(4).number(5);
        let message = message.finish();
        let Some(CompilerResponse::Diagnostics(diagnostics)) = CompilerResponse::read(&message) else {
            panic!("{message:?}")
        };
        let failed = failure("1 + x", &diagnostics);
        assert_eq!(failed.message, "CS0103: The name 'x' does not exist (column 5)");
        assert_eq!((&failed.data["column"], &failed.data["endColumn"]), (&json!(5), &json!(6)));
    }

    #[test]
    fn malformed_answer_is_rejected() {
        for rubbish in [&b""[..], b"E", b"D\xff\xff\xff\xff", b"Unhandled exception", b"E\x01\x00\x00\x00"] {
            assert_eq!(CompilerResponse::read(rubbish), None, "{rubbish:?}");
        }
    }
}
