//! Arguments of calls, and what calls give.

use cordebug::value::element;
use dap_wire::Failure;
use tree_sitter::Node as Syntax;

use super::constant::Constant;
use super::parse::Scope;
use super::{Found, failed};
use crate::engine::coreclr::calls::{Argument, Produced};
use crate::engine::coreclr::session::Session;

impl Session {
    pub(crate) fn arguments(
        &mut self,
        list: Syntax<'_>,
        scope: &Scope<'_>,
        deeper: usize,
    ) -> Result<Vec<Found>, Failure> {
        let mut cursor = list.walk();
        let nodes: Vec<Syntax<'_>> = list.named_children(&mut cursor).collect();
        nodes
            .into_iter()
            .map(|node| {
                let inner =
                    if node.kind() == "argument" { node.named_child(0).unwrap_or(node) } else { node };
                self.walk(inner, scope, deeper)
            })
            .collect()
    }
}

impl From<Produced> for Found {
    fn from(produced: Produced) -> Self {
        match produced {
            Produced::Nothing => Self::Nothing,
            Produced::At(path) => Self::At(path),
            Produced::Value(value) => Self::Value(value),
        }
    }
}

pub(crate) fn argument(found: Found) -> Result<Argument, Failure> {
    Ok(match found {
        Found::At(path) => Argument::At(path),
        Found::Constant(Constant::Null) => Argument::Null,
        Found::Constant(Constant::Text(text)) => Argument::Text(text),
        Found::Constant(Constant::Bool(value)) => Argument::Bits(element::BOOLEAN, vec![u8::from(value)]),
        Found::Constant(Constant::Char(value)) => Argument::Bits(element::CHAR, value.to_le_bytes().to_vec()),
        Found::Constant(Constant::Real(value)) => Argument::Bits(element::R8, value.to_le_bytes().to_vec()),
        Found::Constant(Constant::Int(value)) => match i32::try_from(value) {
            Ok(value) => Argument::Bits(element::I4, value.to_le_bytes().to_vec()),
            Err(_) => Argument::Bits(element::I8, value.to_le_bytes().to_vec()),
        },
        Found::Value(_) | Found::Nothing => {
            return Err(failed("the result of a call cannot be an argument yet"));
        }
    })
}
