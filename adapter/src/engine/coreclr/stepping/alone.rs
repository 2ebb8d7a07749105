//! DAP `singleThread`: one thread runs, the others stand until the next stop.

use std::sync::mpsc::Receiver;

use dap_wire::Failure;
use serde_json::{Value, json};

use crate::engine::coreclr::cor;
use crate::engine::coreclr::session::{Input, Session};

impl Session {
    /// `continue`: all threads, or one.
    pub(crate) fn continue_request(
        &mut self,
        arguments: &Value,
        inputs: &Receiver<Input>,
    ) -> Result<Value, Failure> {
        self.hold_others(arguments)?;
        let alone = self.alone.is_some();
        self.go_on(inputs)?;
        Ok(json!({ "allThreadsContinued": !alone }))
    }

    /// Holds the others, if a request asks for that.
    pub(super) fn hold_others(&mut self, arguments: &Value) -> Result<(), Failure> {
        match &arguments["singleThread"] {
            Value::Null | Value::Bool(false) => Ok(()),
            Value::Bool(true) => {
                self.alone = Some(self.thread_of(arguments)?);
                self.hold()
            }
            other => Err(Failure::invalid(format!("`singleThread` must be true or false, not {other}"))),
        }
    }

    /// Holds them again, after something else let them go.
    pub(crate) fn hold_others_again(&self) {
        if let Err(failure) = self.hold() {
            tracing::debug!(%failure, "the other threads run");
        }
    }

    fn hold(&self) -> Result<(), Failure> {
        let Some(alone) = self.alone else { return Ok(()) };
        let thread = self.thread(alone)?;
        self.process()?.hold_others(&thread, true).map_err(cor("hold the other threads"))
    }

    /// The program stands, or is let go of: nobody is held any more.
    pub(super) fn let_others_go(&mut self) {
        if let Some(process) = self.process.as_ref().filter(|_| self.alone.is_some())
            && let Err(error) = process.hold_nobody()
        {
            tracing::debug!(%error, "the other threads stay held");
        }
        self.alone = None;
    }
}
