//! DAP `singleThread`: one thread runs, the others stay suspended until the next stop. Not here: threads held
//! during a call ([`crate::calls`]).

use cordebug::debugger::Process;
use dap_wire::Failure;
use dap_wire::types::{self, ContinueResponseBody};
use serde_json::Value;

use crate::cor;
use crate::debuggee::ClrDebuggee;
use crate::session::ClrSession;
use crate::stepping::Stepping;

impl ClrSession {
    /// `continue` of all threads, or of one.
    pub(crate) fn continue_request(&mut self, arguments: &Value) -> Result<Value, Failure> {
        self.stepping.hold_others(&self.debuggee, arguments)?;
        let is_single = self.stepping.only_thread.is_some();
        self.resume()?;
        let all_threads_continued = Some(!is_single);
        Ok(types::body(&ContinueResponseBody { all_threads_continued, ..ContinueResponseBody::default() }))
    }
}

impl Stepping {
    /// Suspends the other threads, if a request asks for that.
    pub(super) fn hold_others(&mut self, debuggee: &ClrDebuggee, arguments: &Value) -> Result<(), Failure> {
        match &arguments["singleThread"] {
            Value::Null | Value::Bool(false) => Ok(()),
            Value::Bool(true) => {
                self.only_thread = Some(debuggee.thread_of(arguments)?);
                self.hold(debuggee)
            }
            other => Err(Failure::invalid(format!("`singleThread` must be true or false, not {other}"))),
        }
    }

    /// Suspends them again, after something else resumed them.
    pub(crate) fn hold_others_again(&self, debuggee: &ClrDebuggee) {
        if let Err(failure) = self.hold(debuggee) {
            tracing::debug!(%failure, "the other threads run");
        }
    }

    fn hold(&self, debuggee: &ClrDebuggee) -> Result<(), Failure> {
        let Some(only_thread) = self.only_thread else { return Ok(()) };
        let thread = debuggee.thread(only_thread)?;
        debuggee.process()?.suspend_others(&thread, true).map_err(cor("hold the other threads"))
    }

    /// Releases all threads: the program is stopped or detached from.
    pub(super) fn release_others(&mut self, process: Option<&Process>) {
        if let Some(process) = process.filter(|_| self.only_thread.is_some())
            && let Err(error) = process.unsuspend_all()
        {
            tracing::debug!(%error, "the other threads stay held");
        }
        self.only_thread = None;
    }
}
