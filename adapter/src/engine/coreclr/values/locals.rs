//! Arguments and locals of a frame, under the names of the source.

use dap_wire::Failure;

use super::path::{Path, Root, bare};
use crate::engine::coreclr::cor;
use crate::engine::coreclr::session::Session;

impl Session {
    /// Arguments and locals of a frame, under the names of the source.
    pub(crate) fn locals(&self, thread: u32, index: usize) -> Result<Vec<(String, Path)>, Failure> {
        let frame = self.frames(thread)?.into_iter().nth(index);
        let frame = frame.ok_or_else(|| Failure::invalid("the frame is gone"))?;
        let function = frame.function().map_err(cor("find the frame's function"))?;
        let (token, module) = (function.token().map_err(cor("find the frame's method"))?, function.module());
        let Some(loaded) = module.ok().and_then(|module| self.modules.of(&module)) else {
            return Ok(Vec::new());
        };
        let Some(image) = loaded.image() else { return Ok(Vec::new()) };
        let metadata = &image.metadata;
        let at = |root, name: &str| Path { root, steps: Vec::new(), name: name.to_owned() };
        let argument = |index| Root::Argument { thread, frame: index, index: 0 };
        let pdb = loaded.pdb.as_ref().ok();
        let mut found: Vec<(String, Path)> = Vec::new();
        let is_state_machine = pdb.is_some_and(|pdb| pdb.kickoff(token).is_some());
        let has_this = !metadata.is_static(token);
        if has_this && is_state_machine {
            self.hoisted(&at(argument(index), "this"), &mut found);
        } else if has_this {
            found.push(("this".into(), at(argument(index), "this")));
        }
        for (position, name) in metadata.parameters(token).iter().enumerate() {
            let position = position as u32 + u32::from(has_this);
            found.push((name.clone(), at(Root::Argument { thread, frame: index, index: position }, name)));
        }
        if let Some(pdb) = pdb {
            let il = frame.il_offset().unwrap_or(0);
            for local in pdb.locals(token, il) {
                let path = at(Root::Local { thread, frame: index, slot: local.slot }, &local.name);
                if local.name.starts_with("CS$<>8__locals") {
                    self.hoisted(&path, &mut found);
                } else {
                    found.push((local.name, path));
                }
            }
        }
        Ok(found)
    }

    /// Variables that live in a closure or state machine, as if they were locals.
    pub(crate) fn hoisted(&self, path: &Path, found: &mut Vec<(String, Path)>) {
        let Some(value) = self.fetch(path).ok().as_ref().and_then(bare) else { return };
        for field in self.members(&value) {
            let raw = &field.name;
            // `<name>5__2` is a local, `<>4__this` is `this`, other names with brackets are the compiler's own.
            let name = match raw.strip_prefix('<').and_then(|rest| rest.split_once('>')) {
                None => raw.as_str(),
                Some(("", "4__this")) => "this",
                Some(("", _)) => continue,
                Some((name, _)) => name,
            };
            if !found.iter().any(|(known, _)| known == name) {
                found.push((name.to_owned(), path.step(field.step, name.to_owned())));
            }
        }
    }
}
