//! The scope of an expression where it is evaluated: the code around it, its `using` directives, its
//! variables. Reads only; no code of the program runs.

use std::collections::HashSet;
use std::rc::Rc;

use clr_metadata::imports::Imports;
use clr_metadata::metadata::Metadata;

use super::encoded_types::{EncodedType, GenericArguments};
use crate::bare_value::bare;
use crate::compiler::{CompilationPlace, CompiledFailure, HelperMessage, Unavailable, VariableStorage};
use crate::cor;
use crate::frame_numbers::FIRST_AWAITING_FRAME;
use crate::func_eval::EvalContext;
use crate::methods::find_source_name;
use crate::modules::LoadedModule;
use crate::names::{is_closure, is_generated};
use crate::stop_context::StopContext;
use crate::typed_value::{Constant, TypedValue, ValueLocation};
use crate::types::Ty;
use crate::value_path::{Path, PathRoot, PathSegment};
use crate::values::hoisted_variables::{dynamic_parts, holds_closure};
use crate::values::locals::takes_closure;

/// Name of `$exception` in compiled code, where C# does not allow that name.
pub(super) const EXCEPTION: &str = "_exception";

/// Prefix of the names of closures, before their numbers; the compiler's process knows it, too.
const CLOSURE: &str = "__tandemClosure";
/// Most closures of a frame that are searched.
const MAX_CLOSURES: usize = 16;

/// A variable that occurs in the expression.
pub(super) struct ExpressionVariable {
    pub(super) name: String,
    /// The path to it; `None` for a constant.
    pub(super) path: Option<Path>,
    code: EncodedType,
    dynamics: Vec<bool>,
    /// The value of a constant, as C# source; `None` for a variable.
    constant: Option<String>,
}

/// A location in the program.
pub(super) struct CompilationContext {
    pub(super) loaded: Rc<LoadedModule>,
    pub(super) method: u32,
    /// Arguments of its generic parameters: its type's, then its own.
    pub(super) types: Vec<Ty>,
    pub(super) variables: Vec<ExpressionVariable>,
}

impl CompilationContext {
    /// The frame of a request, with those of its variables whose names are in the text.
    ///
    /// # Errors
    /// When it has no code that the compiler could use.
    pub(super) fn at(stop: StopContext<'_>, site: &EvalContext, text: &str) -> Result<Self, CompiledFailure> {
        let (thread, index) = (site.thread, site.frame);
        // Emitted by the program, or native.
        let nothing = || {
            CompiledFailure::Unavailable(Unavailable {
                why: "this frame has no .NET code that an expression could be compiled for".into(),
                hint: None,
            })
        };
        let (loaded, method, types) = stop.code_at(thread, index).ok_or_else(nothing)?;
        let metadata = &loaded.image().ok_or_else(nothing)?.metadata;
        let words = words(text);
        let mut variables: Vec<ExpressionVariable> = Vec::new();
        for (name, path) in stop.locals(thread, index)? {
            let is_new = !variables.iter().any(|known| known.name == name);
            if is_new && (name == "this" || words.contains(name.as_str())) {
                let (code, dynamics) = declared_type(stop, site, &loaded, method, &path);
                variables.push(ExpressionVariable { name, path: Some(path), code, dynamics, constant: None });
            }
        }
        for (name, val) in stop.constants(thread, index) {
            let is_new = !variables.iter().any(|known| known.name == name);
            if is_new && words.contains(name.as_str()) {
                variables.extend(constant(name, &val));
            }
        }
        if calls_local_function(metadata, method, &words) {
            variables.extend(closures(stop, site, &loaded, method));
        }
        if words.contains(EXCEPTION) {
            variables.extend(exception(stop, thread));
        }
        Ok(Self { loaded, method, types, variables })
    }

    /// The code, and the storage of the variables.
    pub(super) fn place(&self) -> CompilationPlace {
        let place = |variable: &ExpressionVariable| match (&variable.path, &variable.constant) {
            (Some(path), _) => match path.root {
                PathRoot::Argument { index, .. } => VariableStorage::Argument(index, path.steps.clone()),
                PathRoot::Local { slot, .. } => VariableStorage::Local(slot, path.steps.clone()),
                _ => VariableStorage::Other(path.steps.clone()),
            },
            (None, text) => VariableStorage::Constant(text.clone().unwrap_or_default()),
        };
        let variables = self.variables.iter().map(|variable| (variable.name.clone(), place(variable)));
        CompilationPlace { module: self.loaded.id, method: self.method, variables: variables.collect() }
    }

    /// Writes the frame's description for the compiler, after the text.
    pub(super) fn write(&self, (modules, users): (&[u32], &[u32]), message: &mut HelperMessage) {
        let pdb = self.loaded.pdb.as_ref().ok();
        let option = |name: &str| pdb.and_then(|pdb| pdb.compiler_option(name)).unwrap_or_default();
        message.text(&option("language-version"));
        message.flag(option("checked").eq_ignore_ascii_case("true"));
        message.list(modules, |message, module| {
            message.number(*module);
        });
        message.list(users, |message, module| {
            message.number(*module);
        });
        message.number(u32::try_from(self.loaded.id).unwrap_or(u32::MAX));
        let (owner, class, name) = match self.loaded.image() {
            Some(image) => self.owners(&image.metadata),
            None => (0, 0, String::new()),
        };
        message.number(owner).number(self.method).number(class).text(&name);
        let mut scopes = pdb.map(|pdb| pdb.import_scopes(self.method)).unwrap_or_default();
        scopes.reverse();
        message.list(&scopes, |message, scope| self.write_imports(scope, message));
        message.list(&self.variables, |message, variable| variable.write(message));
    }

    /// The type of the running method, and the type and name in the source.
    fn owners(&self, metadata: &Metadata) -> (u32, u32, String) {
        let written = find_source_name(metadata, self.loaded.pdb.as_ref().ok(), self.method);
        (metadata.owner_of(self.method), written.owner, metadata.method_name(written.method).to_owned())
    }

    fn write_imports(&self, imports: &Imports, message: &mut HelperMessage) {
        message.list(&imports.namespaces, |message, name| {
            message.text(name);
        });
        let token = |message: &mut HelperMessage, token: u32| {
            EncodedType::of_plain_token(&self.loaded, token).write(message)
        };
        message.list(&imports.types, |message, of| token(message, *of));
        message.list(&imports.namespace_aliases, |message, (name, space)| {
            message.text(name).text(space);
        });
        message.list(&imports.type_aliases, |message, (name, of)| token(message.text(name), *of));
    }
}

impl ExpressionVariable {
    fn write(&self, message: &mut HelperMessage) {
        let names = self.path.as_ref().and_then(|path| path.tuple.as_ref());
        let names = names.map(|names| names.as_slice()).unwrap_or_default();
        message.text(&self.name).list(names, |message, name| {
            message.text(name.as_deref().unwrap_or_default());
        });
        let dynamics: Vec<u8> = self.dynamics.iter().map(|flag| u8::from(*flag)).collect();
        message.bytes(&dynamics);
        self.code.write(message);
        message.flag(self.constant.is_some());
        if let Some(constant) = &self.constant {
            message.text(constant);
        }
    }
}

/// The words of a text that can be names.
fn words(text: &str) -> HashSet<&str> {
    text.split(|letter: char| !letter.is_alphanumeric() && letter != '_')
        .filter(|word| !word.is_empty())
        .collect()
}

/// The type that a variable was declared with, and which of its parts are `dynamic`.
fn declared_type(
    stop: StopContext<'_>,
    site: &EvalContext,
    loaded: &Rc<LoadedModule>,
    method: u32,
    path: &Path,
) -> (EncodedType, Vec<bool>) {
    let find = || {
        let (mut code, mut dynamics, skipped) = start(stop, site, loaded, method, path)?;
        for step in path.steps.get(skipped..)? {
            let PathSegment::Field { up, token } = *step else { return None };
            let owner = code.direct();
            code = owner.field(stop.types, up, token)?;
            let mut declaring = owner;
            for _ in 0..up {
                declaring = declaring.base_of(stop.types)?;
            }
            let (module, class, _) = declaring.definition(stop.types)?;
            dynamics = dynamic_parts(&module, token, class);
        }
        Some((code.direct(), dynamics))
    };
    find().unwrap_or_else(|| {
        // If it starts elsewhere, the type is that of the value.
        let ty = stop.val_at(path.clone()).map_or(Ty::Other, |val| val.ty);
        (EncodedType::of_ty(&ty).direct(), Vec::new())
    })
}

/// The type at the start of a path, and how many steps belong to that.
fn start(
    stop: StopContext<'_>,
    site: &EvalContext,
    loaded: &Rc<LoadedModule>,
    method: u32,
    path: &Path,
) -> Option<(EncodedType, Vec<bool>, usize)> {
    let metadata = &loaded.image()?.metadata;
    let owner = metadata.owner_of(method);
    let own = metadata.generic_parameters(owner).len() as u32;
    let all = own + metadata.generic_parameters(method).len() as u32;
    let class: Vec<EncodedType> = (0..own).map(EncodedType::Parameter).collect();
    let generic: Vec<EncodedType> = (own..all).map(EncodedType::Parameter).collect();
    let arguments = GenericArguments { class: &class, method: &generic };
    let this = || EncodedType::Named { module: loaded.id, token: owner, arguments: class.clone() };
    if site.frame >= FIRST_AWAITING_FRAME {
        let steps = stop.values.waiting_at(site.thread, site.frame, |waiting| waiting.machine.steps.len())?;
        return Some((this(), Vec::new(), steps));
    }
    match path.root {
        PathRoot::Argument { index: 0, .. } if !metadata.is_static(method) => Some((this(), Vec::new(), 0)),
        PathRoot::Argument { index, .. } => {
            let position = index.checked_sub(u32::from(!metadata.is_static(method)))?;
            let signature =
                metadata.method_signature(method)?.parameters.into_iter().nth(position as usize)?;
            let dynamics = metadata.dynamic_parts_of_parameter(method, position);
            Some((EncodedType::of(loaded, &signature, arguments), dynamics, 0))
        }
        PathRoot::Local { slot, .. } => {
            let frame = stop.frame_at(site.thread, site.frame).ok()?;
            let function = frame.function().ok()?;
            let signature =
                metadata.local_types(function.locals_token().ok()?).into_iter().nth(slot as usize)?;
            let pdb = loaded.pdb.as_ref().ok();
            let local = pdb.and_then(|pdb| {
                let locals = pdb.locals(method, frame.il_offset().unwrap_or(0));
                locals.into_iter().find(|local| local.slot == slot)
            });
            let dynamics =
                pdb.zip(local).map(|(pdb, local)| pdb.dynamic_parts(local.row)).unwrap_or_default();
            Some((EncodedType::of(loaded, &signature, arguments), dynamics, 0))
        }
        _ => None,
    }
}

/// Whether a word is the name of a local function of the class around a method, which may need
/// its method's closures.
fn calls_local_function(metadata: &Metadata, method: u32, words: &HashSet<&str>) -> bool {
    let mut owner = metadata.owner_of(method);
    while is_generated(metadata.simple_name(owner))
        && let Some(outer) = metadata.enclosing_type(owner)
    {
        owner = outer;
    }
    let is_called = |method: u32| {
        let named = metadata.method_name(method).rsplit_once(">g__");
        named.and_then(|(_, rest)| rest.split('|').next()).is_some_and(|name| words.contains(name))
    };
    let inside = metadata.type_tokens().filter(|token| metadata.enclosing_type(*token) == Some(owner));
    let inside = inside.filter(|token| is_closure(metadata.simple_name(*token)));
    std::iter::once(owner).chain(inside).any(|token| metadata.methods(token).any(is_called))
}

/// The closures that a method's local functions may need.
fn closures(
    stop: StopContext<'_>,
    site: &EvalContext,
    loaded: &Rc<LoadedModule>,
    method: u32,
) -> Vec<ExpressionVariable> {
    let Some(metadata) = loaded.image().map(|image| &image.metadata) else { return Vec::new() };
    let (thread, frame) = (site.thread, site.frame);
    let mut waiting: Vec<Path> = Vec::new();
    if frame < FIRST_AWAITING_FRAME {
        let is_static = metadata.is_static(method);
        if !is_static && is_generated(metadata.simple_name(metadata.owner_of(method))) {
            waiting.push(Path::new(PathRoot::Argument { thread, frame, index: 0 }, CLOSURE));
        }
        for position in 0..metadata.parameter_count(method) {
            if takes_closure(metadata, method, position) {
                let index = position + u32::from(!is_static);
                waiting.push(Path::new(PathRoot::Argument { thread, frame, index }, CLOSURE));
            }
        }
        let il =
            stop.frame_at(thread, frame).and_then(|frame| frame.il_offset().map_err(cor("find the place")));
        if let (Ok(pdb), Ok(il)) = (&loaded.pdb, il) {
            let locals = pdb.locals(method, il).into_iter().filter(|local| holds_closure(&local.name));
            waiting.extend(
                locals.map(|local| Path::new(PathRoot::Local { thread, frame, slot: local.slot }, CLOSURE)),
            );
        }
    } else {
        waiting.extend(stop.values.waiting_at(thread, frame, |waiting| waiting.machine.clone()));
    }
    let mut found = Vec::new();
    while let Some(path) = waiting.pop().filter(|_| found.len() < MAX_CLOSURES) {
        let (code, dynamics) = declared_type(stop, site, loaded, method, &path);
        let Some(value) = stop.fetch(&path).ok().as_ref().and_then(bare) else { continue };
        for field in stop.types.members(&value) {
            if holds_closure(&field.name) || field.name.starts_with("<>8__") || field.name == "<>4__this" {
                waiting.push(path.step(field.step, CLOSURE.to_owned()));
            }
        }
        let Some((_, token, _)) = code.definition(stop.types) else { continue };
        if is_closure(metadata.simple_name(token)) {
            let name = format!("{CLOSURE}{}", found.len());
            found.push(ExpressionVariable { name, path: Some(path), code, dynamics, constant: None });
        }
    }
    found
}

fn exception(stop: StopContext<'_>, thread: u32) -> Option<ExpressionVariable> {
    let path = Path::new(PathRoot::Exception { thread }, EXCEPTION);
    let ty = stop.types.actual_ty(&stop.fetch(&path).ok()?);
    let code = EncodedType::of_ty(&ty);
    Some(ExpressionVariable {
        name: EXCEPTION.into(),
        path: Some(path),
        code,
        dynamics: Vec::new(),
        constant: None,
    })
}

/// A `const` of the method, with its value as C# source.
fn constant(name: String, val: &TypedValue) -> Option<ExpressionVariable> {
    let ValueLocation::Constant(constant) = &val.data else { return None };
    let (ty, text) = match constant {
        Constant::Null => (Ty::Primitive(cordebug::value::element::OBJECT), "null".to_owned()),
        Constant::Bool(value) => (val.ty.clone(), value.to_string()),
        Constant::Int(_, value) => (val.ty.clone(), value.to_string()),
        Constant::Single(value) => (val.ty.clone(), real(f64::from(*value), &format!("{value:e}f"))),
        Constant::Double(value) => (val.ty.clone(), real(*value, &format!("{value:e}"))),
        Constant::Decimal(value) => (val.ty.clone(), format!("{value}m")),
        Constant::Text(text) => (val.ty.clone(), quoted(text)),
    };
    let code = EncodedType::of_ty(&ty);
    Some(ExpressionVariable { name, path: None, code, dynamics: Vec::new(), constant: Some(text) })
}

fn real(value: f64, text: &str) -> String {
    match value {
        value if value.is_nan() => "(0.0/0.0)".into(),
        value if value.is_infinite() => if value > 0.0 { "(1.0/0.0)" } else { "(-1.0/0.0)" }.into(),
        _ => text.to_owned(),
    }
}

fn quoted(text: &str) -> String {
    let units: String = text.encode_utf16().map(|unit| format!("\\u{unit:04x}")).collect();
    format!("\"{units}\"")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_in_a_text_are_found_as_words() {
        let found = words("orders.Where(o => o.Total > n && @class is \"text\" or _x)");
        for name in ["orders", "o", "n", "class", "_x"] {
            assert!(found.contains(name), "{name}");
        }
        assert!(!found.contains("order"));
    }

    #[test]
    fn constants_are_written_without_loss() {
        assert_eq!(quoted("a\"\n"), "\"\\u0061\\u0022\\u000a\"");
        assert_eq!(real(f64::NEG_INFINITY, ""), "(-1.0/0.0)");
        assert_eq!(real(0.1, &format!("{:e}", 0.1f64)), "1e-1");
    }
}
