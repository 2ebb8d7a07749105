//! From text to a syntax tree.

use std::sync::mpsc::Receiver;

use dap_wire::Failure;
use tree_sitter::Node as Syntax;

use super::{Found, failed};
use crate::engine::coreclr::session::{Input, Session};

/// Longest expression, bytes.
const LONGEST: usize = 16 * 1024;
/// Deepest nesting.
const DEEPEST: usize = 64;

pub(crate) struct Scope<'a> {
    pub(crate) thread: u32,
    pub(crate) frame: usize,
    pub(crate) text: &'a str,
    pub(crate) inputs: &'a Receiver<Input>,
}

impl Scope<'_> {
    pub(crate) fn of(&self, node: Syntax<'_>) -> &str {
        self.text.get(node.byte_range()).unwrap_or_default()
    }
}

impl Session {
    pub(crate) fn find(
        &mut self,
        text: &str,
        thread: u32,
        frame: usize,
        inputs: &Receiver<Input>,
    ) -> Result<Found, Failure> {
        if text.trim().is_empty() || text.len() > LONGEST {
            return Err(failed("the expression is empty or too long"));
        }
        // Only calls and assignments are statements of their own, so the expression is assigned to nothing.
        let source = format!("_ = ({});", text.trim());
        let mut parser = tree_sitter::Parser::new();
        parser
            .set_language(&tree_sitter_c_sharp::LANGUAGE.into())
            .map_err(|error| failed(format!("the C# grammar does not load: {error}")))?;
        let tree = parser.parse(&source, None).ok_or_else(|| failed("the expression cannot be parsed"))?;
        let mut node = tree.root_node();
        if node.has_error() {
            return Err(failed(format!("`{}` is no C# expression", text.trim())));
        }
        while matches!(node.kind(), "compilation_unit" | "global_statement" | "expression_statement") {
            node = node.named_child(0).ok_or_else(|| failed("the expression is empty"))?;
        }
        node = node.child_by_field_name("right").ok_or_else(|| failed("the expression is empty"))?;
        self.walk(node, &Scope { thread, frame, text: &source, inputs }, DEEPEST)
    }
}
