//! Text of values, as C# joins them into strings.

use dap_wire::Failure;
use tree_sitter::Node as Syntax;

use super::constant::unescape;
use super::loading::LONGEST_TEXT;
use super::walk::inner;
use super::{Constant, Found, Scope, Val, failed};
use crate::engine::coreclr::session::Session;
use crate::engine::coreclr::types::ty::{OBJECT, STRING};

impl Session {
    /// What `ToString` gives: worked out here for primitives, run for everything else.
    pub(super) fn text_of(&mut self, val: &Val, scope: &Scope<'_>) -> Result<String, Failure> {
        if let Some(constant) = self.load(val)? {
            let inside = self.nullable(&val.ty).unwrap_or_else(|| val.ty.clone());
            let actual = if inside.is_value() { inside } else { self.actual(val)? };
            if let Constant::Int(_, number) = constant
                && self.enum_storage(&actual).is_some()
            {
                return Ok(self.enum_name(&actual, number).unwrap_or_else(|| number.to_string()));
            }
            return Ok(constant.plain());
        }
        let group = self.member_of(Found::Val(val.clone()), "ToString", Vec::new(), scope)?;
        match self.invoke_with(group, Vec::new(), scope)? {
            Found::Val(text) => Ok(self.load(&text)?.ok_or_else(too_long)?.plain()),
            _ => Err(failed("ToString gives nothing")),
        }
    }

    /// `$"…{x:F2}…"`.
    pub(super) fn interpolated(&mut self, node: Syntax<'_>, scope: &Scope<'_>) -> Result<Val, Failure> {
        let verbatim = scope.of(node).starts_with("$@") || scope.of(node).starts_with("@$");
        let mut text = String::new();
        for part in inner(node) {
            match part.kind() {
                "string_content" => {
                    let content = scope.of(part).replace("{{", "{").replace("}}", "}");
                    let content = if verbatim { content.replace("\"\"", "\"") } else { content };
                    // Doubled braces come as a part of their own.
                    text.push_str(&content);
                }
                "escape_sequence" => {
                    let escape = scope.of(part);
                    let brace = escape.replace("{{", "{").replace("}}", "}");
                    text.push_str(
                        &unescape(&brace).ok_or_else(|| failed(format!("`{escape}` is no escape")))?,
                    );
                }
                "interpolation" => text.push_str(&self.hole(part, scope)?),
                _ => {}
            }
        }
        Ok(Val::text(text))
    }

    fn hole(&mut self, node: Syntax<'_>, scope: &Scope<'_>) -> Result<String, Failure> {
        let parts = inner(node);
        let is_value = |part: &&Syntax<'_>| !part.kind().starts_with("interpolation_");
        let value = parts.iter().find(is_value).ok_or_else(|| failed("an interpolation is empty"))?;
        let clause =
            |kind: &str| parts.iter().find(|part| part.kind() == kind).map(|part| scope.of(*part).to_owned());
        let format = clause("interpolation_format_clause");
        let val = self.value(*value, scope)?;
        let mut text = match format {
            Some(format) => self.formatted(&val, format.trim_start_matches(':'), scope)?,
            None => self.text_of(&val, scope)?,
        };
        if let Some(width) = clause("interpolation_alignment_clause") {
            let width: i32 = width.trim_start_matches(',').trim().parse().unwrap_or(0);
            let missing =
                (width.unsigned_abs().min(1 << 16) as usize).saturating_sub(text.encode_utf16().count());
            let spaces = " ".repeat(missing);
            text = if width < 0 { format!("{text}{spaces}") } else { format!("{spaces}{text}") };
        }
        Ok(text)
    }

    /// With a format string: the program formats, in its own culture.
    fn formatted(&mut self, val: &Val, format: &str, scope: &Scope<'_>) -> Result<String, Failure> {
        let group = Found::Group { target: None, ty: STRING, name: "Format".into(), types: Vec::new() };
        let pattern = Val::text(format!("{{0:{format}}}"));
        let val = &match self.is_null_val(val)? {
            true => Val { ty: OBJECT, ..Val::null() },
            false => self.out_of_nullable(val.clone())?,
        };
        // A parameter of type object takes it, boxed.
        let argument = if val.ty.is_value() { val.clone() } else { Val { ty: OBJECT, ..val.clone() } };
        match self.invoke_with(group, vec![pattern, argument], scope)? {
            Found::Val(text) => Ok(self.load(&text)?.ok_or_else(too_long)?.plain()),
            _ => Err(failed("the format gives nothing")),
        }
    }
}

fn too_long() -> Failure {
    failed(format!("the text is longer than the {LONGEST_TEXT} characters that are computed with here"))
}
