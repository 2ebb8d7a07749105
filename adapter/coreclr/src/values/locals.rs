//! Arguments and locals of a frame, under the names of the source.
//!
//! Not here: constants ([`super::constants`]), and the variables of closures ([`super::hoisted_variables`]).

use std::rc::Rc;

use clr_metadata::metadata::{FieldDef, Metadata};
use clr_metadata::signature::Signature;
use cordebug::frame::Frame;
use tandem_wire::Failure;

use super::hoisted_variables::{VariablesInScope, declare, holds_closure};
use super::rows::{RowContent, VariableEntry};
use super::tuples::tuple_names;
use crate::cor;
use crate::frame_numbers::MAX_DEPTH;
use crate::modules::LoadedModule;
use crate::names::{escape_keyword, is_closure};
use crate::stop_context::StopContext;
use crate::value_path::{Path, PathRoot, PathSegment};
use crate::value_store::{Node, ThreadStack};

/// Prefix of the fields of `Static` locals.
const KEPT: &str = "$STATIC$";

impl StopContext<'_> {
    /// A frame of a thread, counted from the top; looked up once per stop.
    pub(crate) fn frame_at(&self, thread: u32, index: usize) -> Result<Frame, Failure> {
        let resumes = self.debuggee.process()?.resume_count();
        let mut stack = self.values.stack.borrow_mut();
        let fresh = stack
            .as_ref()
            .filter(|stack| stack.resumes == resumes && stack.thread == thread && stack.requested > index);
        if fresh.is_none() {
            // Conditions need only the top frame, and each further one takes the runtime a while.
            let requested = if index == 0 { 1 } else { (index + 1).next_multiple_of(8) };
            // The number of frames above the program's own ones is unknown.
            let deep = if self.debuggee.threads.own_top(thread).is_some() { MAX_DEPTH } else { requested };
            let frames = self.debuggee.thread(thread)?.frames(deep).map_err(cor("walk the stack"))?;
            let frames = self.debuggee.threads.without_abandoned_calls(thread, frames);
            *stack = Some(ThreadStack { resumes, thread, requested, frames });
        }
        stack
            .as_ref()
            .and_then(|stack| stack.frames.get(index).cloned())
            .ok_or_else(|| Failure::invalid("the frame is gone"))
    }

    /// Arguments and locals of a frame, under the names of the source.
    pub(crate) fn locals(&self, thread: u32, index: usize) -> Result<Vec<(String, Path)>, Failure> {
        let waiting = self.values.waiting_at(thread, index, |at| {
            (at.machine.clone(), VariablesInScope::in_machine(&at.loaded, at.method, at.il))
        });
        if let Some((machine, in_scope)) = waiting {
            let mut found = Vec::new();
            self.hoisted(&machine, &in_scope, &mut found);
            return Ok(this_first(found));
        }
        let frame = self.frame_at(thread, index)?;
        // Native code has no names.
        let Ok(function) = frame.function() else { return Ok(Vec::new()) };
        let (token, module) = (function.token().map_err(cor("find the frame's method"))?, function.module());
        let Some(loaded) = module.ok().and_then(|module| self.types.modules.of(&module)) else {
            return Ok(Vec::new());
        };
        let Some(image) = loaded.image() else { return Ok(Vec::new()) };
        let metadata = &image.metadata;
        let at = |root, name: &str| Path::new(root, &escape_keyword(name));
        let argument = |index| PathRoot::Argument { thread, frame: index, index: 0 };
        let pdb = loaded.pdb.as_ref().ok();
        let mut found: Vec<(String, Path)> = Vec::new();
        let il = frame.il_offset();
        let is_state_machine = pdb.is_some_and(|pdb| pdb.kickoff(token).is_some());
        let has_this = !metadata.is_static(token);
        // Of a lambda's closure users know only the variables; likewise of an iterator's `finally`, which is
        // a separate method.
        let is_closure = is_closure(metadata.simple_name(metadata.owner_of(token)))
            || metadata.method_name(token).starts_with("<>m__Finally");
        if has_this && (is_state_machine || is_closure) {
            let in_scope = match is_state_machine {
                true => VariablesInScope::in_machine(&loaded, token, il.as_ref().ok().copied()),
                false => VariablesInScope::Everything,
            };
            self.hoisted(&at(argument(index), "this"), &in_scope, &mut found);
        } else if has_this {
            found.push(("this".into(), at(argument(index), "this")));
        }
        for (position, name) in metadata.parameters(token).iter().enumerate() {
            let position = position as u32 + u32::from(has_this);
            let path = at(PathRoot::Argument { thread, frame: index, index: position }, name);
            // The variables that a local function captures from the enclosing method.
            if takes_closure(metadata, token, position - u32::from(has_this)) {
                self.hoisted(&path, &VariablesInScope::Everything, &mut found);
                continue;
            }
            let tuple =
                tuple_names(metadata.tuple_names_of_parameter(token, Some(position - u32::from(has_this))));
            let parts = metadata.dynamic_parts_of_parameter(token, position - u32::from(has_this));
            let is_dynamic = parts.first() == Some(&true);
            declare(&mut found, name.clone(), Path { tuple, is_dynamic, ..path });
        }
        if let Some(pdb) = pdb {
            for local in pdb.locals(token, il.unwrap_or(0)) {
                let path = at(PathRoot::Local { thread, frame: index, slot: local.slot }, &local.name);
                if holds_closure(&local.name) {
                    for (name, path) in self.hoisted_here(&path) {
                        declare(&mut found, name, path);
                    }
                    self.hoisted(&path, &VariablesInScope::Everything, &mut found);
                } else {
                    let tuple = tuple_names(pdb.tuple_names(local.row));
                    let is_dynamic = pdb.dynamic_parts(local.row).first() == Some(&true);
                    declare(&mut found, local.name, Path { tuple, is_dynamic, ..path });
                }
            }
        }
        self.kept_locals(&loaded, token, (thread, index), &mut found);
        Ok(this_first(found))
    }

    /// The generic parameters of a frame's code with their arguments, its class's first.
    pub(super) fn type_variables(&self, thread: u32, index: usize) -> Vec<(String, String)> {
        let found = || {
            let (loaded, method, arguments) = self.code_at(thread, index)?;
            let metadata = &loaded.image()?.metadata;
            let class = metadata.generic_parameters(metadata.owner_of(method));
            let names = class.into_iter().chain(metadata.generic_parameters(method));
            Some(names.zip(arguments.iter().map(|of| self.types.csharp(of))).collect())
        };
        found().unwrap_or_default()
    }

    /// The row that opens to them; `None` for code without any.
    pub(super) fn type_variables_row(&self, thread: u32, index: usize) -> Option<VariableEntry> {
        let all = self.type_variables(thread, index).into_iter();
        let all: Vec<String> = all.map(|(name, text)| format!("{name} = {text}")).collect();
        let group = RowContent::Group(Node::Types { thread, index }, all.join(", "), None);
        (!all.is_empty()).then(|| VariableEntry::new("Type variables", group, "virtual"))
    }

    /// `Static` locals of Visual Basic, which keep their values from call to call: fields named after the
    /// method, its signature and the variable.
    fn kept_locals(
        &self,
        loaded: &Rc<LoadedModule>,
        method: u32,
        (thread, frame): (u32, usize),
        found: &mut Vec<(String, Path)>,
    ) {
        let Some(metadata) = loaded.image().map(|image| &image.metadata) else { return };
        let class = metadata.owner_of(method);
        let fields = metadata.fields(class).into_iter().filter(|field| field.name.starts_with(KEPT));
        let fields: Vec<FieldDef> = fields.collect();
        if fields.is_empty() {
            return;
        }
        let signature: String =
            metadata.signature_bytes(method).iter().map(|byte| format!("{byte:X}")).collect();
        let begin = format!("{KEPT}{}${signature}$", metadata.method_name(method));
        for field in fields {
            let Some(name) = field.name.strip_prefix(&begin).filter(|name| !name.contains('$')) else {
                continue;
            };
            let way = match field.is_static {
                true => {
                    let ty = self
                        .class_at(thread, frame)
                        .and_then(|ty| self.types.runtime_type(self.debuggee, thread, &ty).ok());
                    let Some(ty) = ty else { continue };
                    Path::new(PathRoot::Static { thread, frame, ty, token: field.token }, name)
                }
                false => Path::new(PathRoot::Argument { thread, frame, index: 0 }, "this")
                    .step(PathSegment::Field { up: 0, token: field.token }, name.to_owned()),
            };
            found.push((name.to_owned(), way));
        }
    }
}

/// Whether a parameter of a method is a closure that the compiler passes.
pub(crate) fn takes_closure(metadata: &Metadata, method: u32, position: u32) -> bool {
    let signature = metadata.method_signature(method);
    match signature.as_ref().and_then(|signature| signature.parameters.get(position as usize)) {
        Some(Signature::Reference(of)) => match of.as_ref() {
            Signature::Named { token, .. } if token >> 24 == 2 => is_closure(metadata.simple_name(*token)),
            _ => false,
        },
        _ => false,
    }
}

/// Sorts in the usual order of debuggers: `this` first.
fn this_first(mut found: Vec<(String, Path)>) -> Vec<(String, Path)> {
    found.sort_by_key(|(name, _)| name != "this");
    found
}
