//! Determines how far a call has come, and so whether it may be aborted.
//!
//! Before the called method, the runtime compiles it and runs static constructors. Aborting a call at that
//! point ends the program under .NET 9: the runtime looks for the handler of the abort from the first managed
//! frame on, and finds the program's own, below the call. (Fixed in .NET 10; .NET Core 3.1 does not look
//! there.) A static constructor that is left without running its handlers blocks every thread that needs the
//! class for ever.
//!
//! Not here: whether the thread waits ([`super::wait_detection`]), and the decision to abort
//! ([`super::phase`]).

use cordebug::frame::Function;

use crate::debuggee::ClrDebuggee;
use crate::frame_numbers::MAX_DEPTH;
use crate::types::ClrTypeSystem;

/// Metadata name of a static constructor.
const CLASS_CONSTRUCTOR: &str = ".cctor";

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum CallProgress {
    /// The call has not reached its method.
    Nothing,
    /// A static constructor that its method needs: the runtime aborts the call when the
    /// constructor has returned.
    ClassConstructor,
    Method,
}

impl ClrTypeSystem {
    /// How far a call of `function` on a thread has come; `below` is the frame under the call. The program
    /// must be stopped. If it is unknown: nothing.
    pub(super) fn eval_progress(
        &self,
        debuggee: &ClrDebuggee,
        thread: u32,
        below: Option<(u64, u64)>,
        function: Option<&Function>,
    ) -> CallProgress {
        let Some(frames) = debuggee.thread(thread).ok().and_then(|thread| thread.frames(MAX_DEPTH).ok())
        else {
            return CallProgress::Nothing;
        };
        let own = below.and_then(|below| frames.iter().position(|frame| frame.stack_range() == Ok(below)));
        let Some(own) = own else { return CallProgress::Nothing };
        // Frames without metadata are stubs of the runtime on the way to a method.
        let methods = || frames.iter().take(own).filter_map(|frame| frame.function().ok());
        if !methods().next_back().is_some_and(|outermost| self.is_called(&outermost, function)) {
            return CallProgress::Nothing;
        }
        let constructs =
            methods().any(|method| self.name_of(&method).is_none_or(|(_, name)| name == CLASS_CONSTRUCTOR));
        if constructs { CallProgress::ClassConstructor } else { CallProgress::Method }
    }

    /// Whether the innermost method of a thread is in .NET's libraries; also if it is unknown. The program
    /// must be stopped.
    pub(super) fn is_in_framework(&self, debuggee: &ClrDebuggee, thread: u32) -> bool {
        let frames = debuggee.thread(thread).ok().and_then(|thread| thread.frames(MAX_DEPTH).ok());
        let innermost = frames.iter().flatten().find_map(|frame| frame.function().ok()?.module().ok());
        let loaded = innermost.and_then(|module| self.modules.of(&module));
        loaded.is_none_or(|loaded| loaded.is_framework())
    }

    /// Whether the outermost method can be the one that was called. An override has the same name; a delegate
    /// calls any method. The runtime itself calls static constructors and methods of the core library.
    fn is_called(&self, outermost: &Function, called: Option<&Function>) -> bool {
        let Some((is_core, name)) = self.name_of(outermost) else { return false };
        let is_same = || {
            let called = called.and_then(|called| self.name_of(called));
            called.is_some_and(|(_, called)| without_interface(&called) == without_interface(&name))
        };
        name != CLASS_CONSTRUCTOR && (!is_core || is_same())
    }

    /// Whether it is in the core library, and its name.
    fn name_of(&self, function: &Function) -> Option<(bool, String)> {
        let loaded = self.modules.of(&function.module().ok()?)?;
        let name = loaded.image()?.metadata.method_name(function.token().ok()?).to_owned();
        Some((loaded.is_core(), name))
    }
}

/// A method's name without the interface that it implements explicitly; `.ctor` stays.
fn without_interface(name: &str) -> &str {
    match name.rsplit_once('.') {
        Some((interface, name)) if !interface.is_empty() => name,
        _ => name,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn explicit_implementation_has_the_name_of_the_interface_method() {
        assert_eq!(without_interface("Dispose"), "Dispose");
        assert_eq!(without_interface("System.IDisposable.Dispose"), "Dispose");
        assert_eq!(without_interface(".ctor"), ".ctor");
    }
}
