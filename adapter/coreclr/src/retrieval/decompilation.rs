//! Decompilation of the program's modules: which can be decompiled, and which requests wait for one. Runs no
//! decompiler ([`super::decompiler`]).

use std::collections::HashMap;
use std::path::Path;

use clr_metadata::pdb::Pdb;
use serde_json::Value;
use tandem_download::Cache;
use tandem_engine::ReplyHandle;
use tandem_wire::Failure;
use tokio_util::sync::CancellationToken;

use super::decompiler::{self, ConfiguredDecompiler};
use crate::modules::{LoadedModule, PdbIdentity};

/// A request for a source that waits for the decompiler.
pub(crate) struct PendingSourceRequest {
    /// The MethodDef token of the method whose text is requested.
    pub(crate) method: u32,
    pub(crate) cancel: CancellationToken,
    pub(crate) reply: ReplyHandle,
}

/// The decompiler of the session, and its work.
#[derive(Default)]
pub(crate) struct Decompilation {
    decompiler: ConfiguredDecompiler,
    /// Modules that are being decompiled, with the requests that wait for each.
    waiting: HashMap<usize, Vec<PendingSourceRequest>>,
    /// Modules whose decompilation failed.
    failures: HashMap<usize, Failure>,
}

impl Decompilation {
    /// Reads the attribute `decompiler`.
    ///
    /// # Errors
    /// `INVALID_PARAMETER` if it is malformed.
    pub(super) fn parse(attribute: &Value) -> Result<Self, Failure> {
        Ok(Self { decompiler: ConfiguredDecompiler::parse(attribute)?, ..Self::default() })
    }

    /// Whether users do not want any.
    pub(crate) fn is_off(&self) -> bool {
        self.decompiler.is_off()
    }

    /// The path of the decompiler, if one is installed.
    pub(crate) fn program(&self) -> Option<&Path> {
        self.decompiler.program()
    }

    /// Whether a module can be decompiled: it is a library with a file, and a decompiler is installed.
    pub(crate) fn is_possible(&self, loaded: &LoadedModule) -> bool {
        self.why_not(loaded).is_none()
    }

    /// Why a module cannot be decompiled.
    pub(crate) fn why_not(&self, loaded: &LoadedModule) -> Option<String> {
        if loaded.is_decompiled() {
            return Some("it is already decompiled".into());
        }
        if let Some(failure) = self.failures.get(&loaded.id) {
            return Some(failure.message.clone());
        }
        if loaded.is_user_code {
            return Some("it is the user's own code".into());
        }
        if self.decompiler.is_off() {
            return Some("`decompiler` is off".into());
        }
        if self.decompiler.program().is_none() {
            return Some("no ilspycmd was found on PATH or in ~/.dotnet/tools".into());
        }
        (!loaded.path.is_file()).then(|| "it has no file that could be decompiled".into())
    }

    /// Adds a request to those that wait for a module. Returns whether its decompilation has to begin.
    pub(super) fn begin(&mut self, module: usize, waiting: Option<PendingSourceRequest>) -> bool {
        let is_new = !self.waiting.contains_key(&module);
        self.waiting.entry(module).or_default().extend(waiting);
        is_new
    }

    /// Drops the waiting requests, which are answered that the engine has ended.
    pub(super) fn stop(&mut self) {
        self.waiting.clear();
    }

    /// Takes the requests that wait for a module, which was decompiled or not. After a failure, those that
    /// wait for it are answered.
    pub(crate) fn take(&mut self, module: usize, made: Result<(), Failure>) -> Vec<PendingSourceRequest> {
        let waiting = self.waiting.remove(&module).unwrap_or_default();
        let Err(failure) = made else { return waiting };
        for waiting in waiting {
            waiting.reply.send(Err(failure.clone()));
        }
        self.failures.insert(module, failure);
        Vec::new()
    }

    /// Answers cancelled requests.
    pub(crate) fn reply_to_cancelled(&mut self, module: usize) {
        let Some(waiting) = self.waiting.get_mut(&module) else { return };
        for given_up in waiting.extract_if(.., |waiting| waiting.cancel.is_cancelled()) {
            given_up.reply.send(Err(Failure::cancelled()));
        }
    }

    /// The decompiled symbols of an earlier session, for a module without symbols.
    pub(super) fn open_cached(&self, cache: Option<&Cache>, identity: &PdbIdentity) -> Option<Pdb> {
        if self.decompiler.is_off() {
            return None;
        }
        decompiler::open_cached(cache?, identity)
    }
}
