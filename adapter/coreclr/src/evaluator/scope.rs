//! Names in scope in a frame: static types for the binder, and paths to the values. Not here: names of types
//! ([`crate::types::lookup`]).

use std::rc::Rc;

use clr_metadata::imports::Imports;
use clr_metadata::metadata::Metadata;
use clr_metadata::signature::Signature;
use serde_json::Value;
use tandem_csharp::bind::{Caller, UsingDirectives, Variable};
use tandem_wire::Failure;

use super::ValueLocation;
use super::read_only_locals::MethodVariables;
use crate::bare_value::bare;
use crate::expression_binding::ResolvedScope;
use crate::frame_numbers::{FIRST_LABEL_FRAME, is_alive};
use crate::func_eval::EvalContext;
use crate::methods::find_source_name;
use crate::modules::LoadedModule;
use crate::names::{is_closure, is_generated};
use crate::stop_context::StopContext;
use crate::types::Ty;
use crate::types::members::is_readonly_method;
use crate::value_path::{Path, PathRoot, PathSegment};

impl StopContext<'_> {
    /// The thread and frame of a request: `frameId`, else the top of the stop's thread.
    pub(crate) fn requested_frame(&self, arguments: &Value) -> Result<(u32, usize), Failure> {
        match &arguments["frameId"] {
            Value::Null => Ok((self.debuggee.thread_of(&Value::Null)?, 0)),
            id => {
                let known = id.as_i64().and_then(|id| self.values.references.frame_of(id));
                known.map_or(Ok(()), |(_, frame)| is_alive(frame))?;
                known
                    .filter(|(_, frame)| *frame < FIRST_LABEL_FRAME)
                    .ok_or_else(|| Failure::invalid(format!("there is no frame {id}")))
            }
        }
    }

    /// The class whose method a frame runs, as in the source: not a closure or state machine inside it.
    pub(crate) fn class_at(&self, thread: u32, frame: usize) -> Option<Ty> {
        let (loaded, method, arguments) = self.code_at(thread, frame)?;
        let metadata = &loaded.image()?.metadata;
        let mut owner = metadata.owner_of(method);
        while is_generated(metadata.simple_name(owner)) {
            owner = metadata.enclosing_type(owner)?;
        }
        let arity = metadata.generic_parameters(owner).len();
        let arguments = arguments.into_iter().take(arity).collect();
        Some(self.types.defined(&loaded, owner, None, arguments))
    }

    /// The `using` directives around a frame's code, with the module they are in.
    pub(crate) fn imports_at(&self, thread: u32, frame: usize) -> Option<(Rc<LoadedModule>, Imports)> {
        let (loaded, method, _) = self.code_at(thread, frame)?;
        let pdb = loaded.pdb.as_ref().ok()?;
        // An async lambda has them only on its `MoveNext`.
        let own = pdb.imports(method);
        let imports = match pdb.kickoff(method).filter(|_| own == Imports::default()) {
            Some(kickoff) => pdb.imports(kickoff),
            None => own,
        };
        Some((loaded, imports))
    }
}

impl StopContext<'_> {
    /// The scope of code in a frame. Only the parts that the text may use are read.
    pub(super) fn scope_at(&self, site: &EvalContext, text: &str) -> Result<ResolvedScope, Failure> {
        let (thread, frame) = (site.thread, site.frame);
        let mut sight = ResolvedScope::default();
        let locals = self.locals(thread, frame)?;
        let class = self.class_at(thread, frame);
        let code = FrameCode::at(self, site);
        sight.scope.is_this_readonly = code.as_ref().is_some_and(FrameCode::is_readonly);
        sight.scope.is_constructor = code.as_ref().is_some_and(FrameCode::is_constructor);
        for (name, path) in locals {
            if name == "this" {
                match self.val_at(path.clone()) {
                    Ok(this) => {
                        sight.scope.this = Some(class.clone().unwrap_or(this.ty));
                        sight.this = Some(path);
                    }
                    // Optimised code loses `this`; other names are still valid.
                    Err(failure) => sight.lost = Some(failure),
                }
                continue;
            }
            if !mentions(text, &name) {
                continue;
            }
            let (ty, is_dynamic) = match self.static_type(&path) {
                Ok(found) => found,
                Err(failure) if uses(text, &name) => return Err(failure),
                // Optimised code loses variables; other names are still valid.
                Err(_) => continue,
            };
            let is_readonly = code.as_ref().is_some_and(|code| {
                code.is_readonly_argument(&path) || (is_struct(&ty) && code.is_read_only_local(&path))
            });
            let name = name.as_str().into();
            let variable = Variable { name, ty, constant: None, is_dynamic, is_readonly };
            sight.scope.variables.push(variable);
            sight.ways.push(Some(path));
        }
        // The innermost of constants with the same name comes last.
        for (name, val) in
            self.constants(thread, frame).into_iter().rev().filter(|(name, _)| mentions(text, name))
        {
            let ValueLocation::Constant(constant) = val.data else { continue };
            let constant = Some(constant);
            sight.scope.variables.push(Variable {
                name: name.as_str().into(),
                ty: val.ty,
                constant,
                is_dynamic: false,
                is_readonly: true,
            });
            sight.ways.push(None);
        }
        sight.scope.class = class;
        sight.scope.type_parameters = self.type_parameters_at(thread, frame);
        sight.scope.constraints = self.constraints_at(thread, frame);
        sight.scope.imports = self.imports_for(thread, frame);
        if text.is_empty() || text.contains('(') {
            sight.scope.local_functions = self.local_functions_at(thread, frame);
        }
        if text.contains(['(', '[']) {
            sight.scope.caller = self.caller_at(thread, frame);
            sight.scope.text = Some(text.into());
        }
        if text.contains("$exception") {
            let path = Path::new(PathRoot::Exception { thread }, "$exception");
            sight.scope.exception = self.fetch(&path).ok().map(|value| self.types.actual_ty(&value));
        }
        Ok(sight)
    }

    /// The member that a frame runs, and its line.
    fn caller_at(&self, thread: u32, frame: usize) -> Option<Caller> {
        let (loaded, method, il) = self.place_at(thread, frame)?;
        let metadata = &loaded.image()?.metadata;
        let pdb = loaded.pdb.as_ref().ok();
        let written = find_source_name(metadata, pdb, method).method;
        let position = pdb.and_then(|pdb| {
            let point = pdb.point_at(method, il).filter(|point| !point.is_hidden())?;
            Some((i32::try_from(point.line).ok()?, pdb.document(point.document).into()))
        });
        Some(Caller { member: caller_name(metadata.method_name(written)).into(), position })
    }

    /// The names of the local functions of a frame's method, also inside its lambdas and local functions.
    fn local_functions_at(&self, thread: u32, frame: usize) -> Vec<Rc<str>> {
        let Some((loaded, method, _)) = self.code_at(thread, frame) else { return Vec::new() };
        let Some(metadata) = loaded.image().map(|image| &image.metadata) else { return Vec::new() };
        let written = find_source_name(metadata, loaded.pdb.as_ref().ok(), method);
        let own = outermost(metadata.method_name(written.method));
        let closures =
            metadata.nested_types(written.owner).filter(|token| is_closure(metadata.simple_name(*token)));
        let methods = [written.owner].into_iter().chain(closures).flat_map(|token| metadata.methods(token));
        let names = methods.map(|method| metadata.method_name(method)).filter(|name| outermost(name) == own);
        let local = |name: &str| Some(Rc::from(name.rsplit_once(">g__")?.1.split('|').next()?));
        names.filter_map(local).collect()
    }

    /// The type a variable was declared with, and whether that was `dynamic`.
    fn static_type(&self, path: &Path) -> Result<(Ty, bool), Failure> {
        let ty = match path.steps.last() {
            Some(PathSegment::Field { .. }) => self.type_of_field(path),
            _ => None,
        };
        let ty = match ty {
            Some(ty) => ty,
            None => self.val_at(path.clone())?.ty,
        };
        let names = path.tuple.as_ref().map(|names| names.to_vec()).unwrap_or_default();
        Ok((self.types.with_names(ty, names), path.is_dynamic))
    }

    /// The declared type of the field at the end of a path.
    pub(crate) fn type_of_field(&self, path: &Path) -> Option<Ty> {
        let (PathSegment::Field { up, token }, before) = path.steps.split_last()? else { return None };
        let of = Path { steps: before.to_vec(), ..path.clone() };
        let holder = bare(&self.fetch(&of).ok()?)?;
        let owner = self.types.chain(&self.types.declared_ty(&holder)).into_iter().nth(*up)?;
        let (loaded, _) = self.types.definition(&owner)?;
        let declared = self.types.ty_of(&loaded, &loaded.image()?.metadata.field_type(*token)?);
        let declared = declared.with(owner.arguments(), &[]).direct().clone();
        (!declared.is_open() && declared != Ty::Other).then_some(declared)
    }

    /// Generic parameters of a frame's code, with their arguments; a method's hide those of its class.
    fn type_parameters_at(&self, thread: u32, frame: usize) -> Vec<(String, Ty)> {
        let found = || {
            let (loaded, method, arguments) = self.code_at(thread, frame)?;
            if arguments.is_empty() {
                return None;
            }
            let metadata = &loaded.image()?.metadata;
            let mut names = metadata.generic_parameters(metadata.owner_of(method));
            names.extend(metadata.generic_parameters(method));
            let mut all: Vec<(String, Ty)> = names.into_iter().zip(arguments).collect();
            all.reverse();
            Some(all)
        };
        found().unwrap_or_default()
    }

    /// The arguments of a frame's generic parameters with their constraints.
    fn constraints_at(&self, thread: u32, frame: usize) -> Vec<(Ty, Vec<Ty>)> {
        let found = || {
            let (loaded, method, arguments) = self.code_at(thread, frame)?;
            if arguments.is_empty() {
                return None;
            }
            let metadata = &loaded.image()?.metadata;
            let mut parameters = metadata.generic_params(metadata.owner_of(method));
            let of_class = parameters.len().min(arguments.len());
            parameters.extend(metadata.generic_params(method));
            let (class, own) = arguments.split_at(of_class);
            let ty = |token: &u32| {
                self.types.ty_of_token(&loaded, *token, Some(false), Vec::new()).with(class, own)
            };
            let bounds = parameters.iter().map(|parameter| parameter.constraints.iter().map(ty).collect());
            let all = arguments.iter().cloned().zip(bounds);
            Some(all.filter(|(_, bounds): &(Ty, Vec<Ty>)| !bounds.is_empty()).collect())
        };
        found().unwrap_or_default()
    }

    /// `using` directives in the binder's form.
    fn imports_for(&self, thread: u32, frame: usize) -> UsingDirectives {
        let Some((loaded, found)) = self.imports_at(thread, frame) else { return UsingDirectives::default() };
        let ty = |token: u32| self.types.ty_of_token(&loaded, token, None, Vec::new());
        UsingDirectives {
            statics: found.types.iter().map(|token| ty(*token)).collect(),
            type_aliases: found.type_aliases.iter().map(|(name, token)| (name.clone(), ty(*token))).collect(),
            namespaces: found.namespaces,
            namespace_aliases: found.namespace_aliases,
        }
    }
}

/// Whether a name occurs in a text, also as a part of a word.
fn mentions(text: &str, name: &str) -> bool {
    text.is_empty() || text.contains(name)
}

/// Whether a text has a name as a word that may be a variable, not a member behind a dot.
fn uses(text: &str, name: &str) -> bool {
    let is_letter = |letter: char| letter == '_' || letter.is_alphanumeric();
    !name.is_empty()
        && text.match_indices(name).any(|(at, _)| {
            let before = text.get(..at).unwrap_or_default();
            let behind = text.get(at + name.len()..).unwrap_or_default();
            let is_member = before.trim_end().ends_with('.') && !before.trim_end().ends_with("..");
            !before.ends_with(is_letter) && !behind.starts_with(is_letter) && !is_member
        })
}

/// The method around a lambda or local function, however deep: `Main` of `<<Main>b__0_1>g__Local|1`.
fn outermost(method: &str) -> &str {
    let inside = method.strip_prefix('<').and_then(|inside| {
        // The outermost one is the last.
        let end = inside.rfind(">b__").max(inside.rfind(">g__"))?;
        inside.get(..end)
    });
    inside.map_or(method, outermost)
}

/// The name that a method passes as `CallerMemberName`: a lambda that of its member, an accessor that of its
/// property.
fn caller_name(method: &str) -> &str {
    let method = outermost(method);
    let accessor = ["get_", "set_", "add_", "remove_"].iter().find_map(|prefix| method.strip_prefix(prefix));
    accessor.filter(|name| !name.is_empty()).unwrap_or(method)
}

/// Whether a value has members that may change it: not a number, an enum is one.
fn is_struct(ty: &Ty) -> bool {
    matches!(ty, Ty::Named(_)) && ty.is_value()
}

/// The method that runs in a frame.
struct FrameCode {
    loaded: Rc<LoadedModule>,
    method: u32,
}

impl FrameCode {
    fn at(stop: &StopContext<'_>, site: &EvalContext) -> Option<Self> {
        let (loaded, method, _) = stop.code_at(site.thread, site.frame)?;
        Some(Self { loaded, method })
    }

    fn metadata(&self) -> Option<&Metadata> {
        self.loaded.image().map(|image| &image.metadata)
    }

    /// Whether it is a `readonly` member of a struct.
    fn is_readonly(&self) -> bool {
        self.metadata().is_some_and(|metadata| is_readonly_method(metadata, self.method))
    }

    fn is_constructor(&self) -> bool {
        self.metadata()
            .is_some_and(|metadata| matches!(metadata.method_name(self.method), ".ctor" | ".cctor"))
    }

    fn is_read_only_local(&self, path: &Path) -> bool {
        MethodVariables { loaded: &self.loaded, method: self.method }.is_read_only(path)
    }

    /// Whether a path is an `in` or `ref readonly` parameter.
    fn is_readonly_argument(&self, path: &Path) -> bool {
        let (PathRoot::Argument { index, .. }, true) = (&path.root, path.steps.is_empty()) else {
            return false;
        };
        let position = |metadata: &Metadata| index.checked_sub(u32::from(!metadata.is_static(self.method)));
        // ParamAttributes: 1 is `in`, which has a meaning in C# only for a reference.
        let is_in = |metadata: &Metadata| {
            let position = position(metadata)?;
            let signature = metadata.method_signature(self.method)?;
            let is_reference =
                matches!(signature.parameters.get(position as usize)?, Signature::Reference(_));
            Some(is_reference && metadata.parameter_flags(self.method, position) & 3 == 1)
        };
        self.metadata().and_then(is_in).unwrap_or(false)
    }
}

#[cfg(test)]
mod tests {
    use super::{caller_name, uses};

    #[test]
    fn a_variable_is_used_by_a_whole_word_that_is_not_a_member() {
        for text in
            ["weight", "total + weight", "a[..weight]", "weight.Length", "f(@weight)", "weights + weight"]
        {
            assert!(uses(text, "weight"), "{text}");
        }
        for text in ["", "weights", "weights[0]", "my_weight", "box.weight", "box . weight", "box?.weight"] {
            assert!(!uses(text, "weight"), "{text}");
        }
    }

    #[test]
    fn a_lambda_has_the_name_of_its_member_and_an_accessor_that_of_its_property() {
        for (method, name) in [
            ("Main", "Main"),
            (".ctor", ".ctor"),
            ("<Main>$", "<Main>$"),
            ("<Main>b__0_1", "Main"),
            ("<<Main>$>b__0_1", "<Main>$"),
            ("<<Main>b__1>g__Local|0_0", "Main"),
            ("get_Total", "Total"),
            ("<set_Total>b__0", "Total"),
            ("get_", "get_"),
        ] {
            assert_eq!(caller_name(method), name, "{method}");
        }
    }
}
