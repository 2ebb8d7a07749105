//! Instruction breakpoints: at an address in a method's machine code. Editors set them in the disassembly
//! view. Not here: finding the method at an address ([`crate::disassembly`]).

use clr_metadata::pdb::Location;

use super::{Breakpoints, ClrBreakpoint, CodeOffset};
use crate::debuggee::{ClrDebuggee, RunState};
use crate::disassembly::Disassembly;
use crate::memory;
use crate::sources::SourceLocator;
use crate::types::ClrTypeSystem;

impl Breakpoints {
    /// Binds a breakpoint to its instruction, or returns the reason why it cannot.
    pub(super) fn bind_instruction(
        &mut self,
        disassembly: &mut Disassembly,
        debuggee: &ClrDebuggee,
        types: &ClrTypeSystem,
        sources: &SourceLocator,
        breakpoint: &mut ClrBreakpoint,
    ) {
        if breakpoint.problem.is_some() || matches!(debuggee.run, RunState::None | RunState::Held) {
            return;
        }
        if let Err(problem) = self.bind_at_address(disassembly, debuggee, types, sources, breakpoint) {
            breakpoint.problem = Some(problem);
        }
    }

    fn bind_at_address(
        &mut self,
        disassembly: &mut Disassembly,
        debuggee: &ClrDebuggee,
        types: &ClrTypeSystem,
        sources: &SourceLocator,
        breakpoint: &mut ClrBreakpoint,
    ) -> Result<(), String> {
        let request = &breakpoint.request;
        let reference = request.instruction_reference.as_deref().unwrap_or_default();
        let address = memory::address(reference, request.offset).map_err(|failure| failure.to_string())?;
        let spelled = memory::reference(address);
        let method = disassembly.method_around(debuggee, types, address);
        let method = method.ok_or_else(|| format!("no known method has code at {spelled}"))?;
        let offset = method.offset_of(address).filter(|_| debuggee.is_instruction(&method, address));
        let offset = offset.ok_or_else(|| format!("no instruction begins at {spelled}"))?;
        // A line breakpoint may exist where a statement begins: two at one instruction would stop twice.
        let il = method.il_that_begins_at(offset);
        let code_offset = il.map_or(CodeOffset::Native(offset), CodeOffset::Il);
        let set = || match il {
            Some(il) => method.code.function()?.set_breakpoint(il),
            None => method.code.set_breakpoint(offset),
        };
        let site = self.place_site((method.loaded.id, method.token, code_offset), set);
        breakpoint.sites.push(site.map_err(|failure| failure.to_string())?);
        let il = method.il_at(address);
        if let Ok(pdb) = &method.loaded.pdb
            && let Some(point) = il.and_then(|il| pdb.point_at(method.token, il))
        {
            breakpoint.location = Some(Location { method: method.token, point });
            breakpoint.document = sources.path_of(pdb, point.document);
        }
        Ok(())
    }
}
