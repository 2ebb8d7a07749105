//! Inputs of the engine's thread, in order, and those that wait. Handles none of them ([`super::session`]);
//! messages to the hub go through [`super::outbox`].

use std::collections::VecDeque;
use std::sync::mpsc::{Receiver, RecvTimeoutError, Sender, TryRecvError};
use std::time::Duration;

use clr_metadata::pdb::Pdb;
use cordebug::callback::Callback;
use serde_json::Value;
use tandem_wire::Failure;
use tokio_util::sync::CancellationToken;

use tandem_engine::{EngineRequest, ReplyHandle};
use tandem_process::ExitInfo;

/// A document: its module's id and its row.
pub(super) type Document = (usize, u32);

/// Result of work in the background.
pub(super) enum RetrievalResult {
    /// A source, for the requests that wait for it; its text if only this session has it.
    Source { document: Document, text: Option<String> },
    /// Symbols of a module from a server, or the reason why there are none.
    Symbols { module: usize, found: Result<Pdb, String> },
    /// A module was decompiled, or the reason why not.
    Decompiled { module: usize, made: Result<Pdb, Failure> },
    /// A client no longer waits for the module to be decompiled.
    GivenUp { module: usize },
}

/// An input of the engine's thread.
pub(super) enum EngineInput {
    /// A request; dropping `reply` answers "the engine has ended".
    Request { request: EngineRequest, cancel: CancellationToken, reply: ReplyHandle },
    /// The runtime calls back.
    Callback(Callback),
    /// The program that Tandem has started has ended.
    Exited(ExitInfo),
    /// Sources or symbols were retrieved.
    Retrieved(Box<RetrievalResult>),
    /// No child process is debugged any more.
    ChildrenEnded,
    /// Ends the engine's thread.
    Shutdown,
}

/// The engine's inputs, and clients' answers to its requests.
pub(super) struct EngineInbox {
    sender: Sender<EngineInput>,
    inputs: Receiver<EngineInput>,
    client_answers: Receiver<Result<Value, Failure>>,
    /// Callbacks that arrived while the program was held or stopped; each is answered when it runs again.
    deferred: VecDeque<Callback>,
    /// Inputs that arrived while code of the program ran for an evaluation.
    postponed: VecDeque<EngineInput>,
}

impl EngineInbox {
    pub(super) fn new(
        (sender, inputs): (Sender<EngineInput>, Receiver<EngineInput>),
        client_answers: Receiver<Result<Value, Failure>>,
    ) -> Self {
        Self { sender, inputs, client_answers, deferred: VecDeque::new(), postponed: VecDeque::new() }
    }

    /// For senders of inputs.
    pub(super) fn sender(&self) -> Sender<EngineInput> {
        self.sender.clone()
    }

    /// The next input: a postponed one first.
    pub(super) fn next(&mut self) -> Option<EngineInput> {
        self.postponed.pop_front().or_else(|| self.inputs.recv().ok())
    }

    /// The next new input; leaves postponed ones.
    pub(super) fn recv_timeout(&self, limit: Duration) -> Result<EngineInput, RecvTimeoutError> {
        self.inputs.recv_timeout(limit)
    }

    /// A new input that has arrived already; leaves postponed ones.
    pub(super) fn try_recv(&self) -> Option<EngineInput> {
        self.inputs.try_recv().ok()
    }

    /// Keeps an input for [`EngineInbox::next`].
    pub(super) fn postpone(&mut self, input: EngineInput) {
        self.postponed.push_back(input);
    }

    /// Keeps a callback until the program runs.
    pub(super) fn defer(&mut self, callback: Callback) {
        self.deferred.push_back(callback);
    }

    pub(super) fn has_deferred(&self) -> bool {
        !self.deferred.is_empty()
    }

    pub(super) fn take_deferred(&mut self) -> Option<Callback> {
        self.deferred.pop_front()
    }

    /// Drops the callbacks that were deferred; returns how many there were.
    pub(super) fn forget_deferred(&mut self) -> usize {
        self.deferred.drain(..).len()
    }

    /// A client's answer, if one has arrived.
    pub(super) fn client_answer(&self) -> Result<Result<Value, Failure>, TryRecvError> {
        self.client_answers.try_recv()
    }
}
