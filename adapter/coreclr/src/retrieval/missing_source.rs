//! Explanation of a missing source: every way to get it, and the requirements of each. Fetches nothing
//! ([`super::source_files`], [`super::symbol_files`], [`super::decompiler`]).

use std::collections::BTreeMap;

use serde::Serialize;
use serde_json::Value;
use tandem_download::DownloadUrl;
use tandem_wire::{ErrorCode, Failure, types};

use super::Retrieval;
use super::decompiler::INSTALL;
use super::source_files::RemoteSource;
use super::source_link_options::{allowing, pattern_for};
use crate::modules::LoadedModule;

/// One way to get a source: machine-readable, and as a hint for people.
pub(crate) struct RetrievalOption {
    about: RetrievalWay,
    hint: Option<String>,
}

/// A way to get a source, with what it needs.
#[derive(Clone, Default, Serialize)]
struct RetrievalWay {
    /// `file`, `sourceLink`, `symbolServer` or `decompiler`.
    way: &'static str,
    /// The path at the compilation.
    #[serde(skip_serializing_if = "Option::is_none")]
    path: Option<String>,
    /// The address of the source.
    #[serde(skip_serializing_if = "Option::is_none")]
    url: Option<String>,
    /// Whether `sourceLinkOptions` allows the address.
    #[serde(skip_serializing_if = "Option::is_none")]
    allowed: Option<bool>,
    /// The `sourceLinkOptions` that would allow it.
    #[serde(skip_serializing_if = "Option::is_none")]
    allow: Option<Value>,
    /// The attributes that turn it on.
    #[serde(skip_serializing_if = "Option::is_none")]
    option: Option<Value>,
    /// The path of the decompiler.
    #[serde(skip_serializing_if = "Option::is_none")]
    program: Option<String>,
    /// Why it is not possible.
    #[serde(skip_serializing_if = "Option::is_none")]
    problem: Option<String>,
}

/// Data of a failure: all ways to get the source.
#[derive(Serialize)]
struct RetrievalWays {
    ways: Vec<RetrievalWay>,
}

/// Attributes that search servers for symbols.
#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
struct SymbolSearchOption {
    symbol_options: BTreeMap<&'static str, bool>,
}

impl RetrievalWay {
    fn new(way: &'static str) -> Self {
        Self { way, ..Self::default() }
    }
}

impl Retrieval {
    /// The failure of a request for a source that is currently unavailable. Without a document, the
    /// module has no symbols.
    pub(crate) fn no_source(&self, loaded: &LoadedModule, document: Option<u32>) -> Failure {
        let ways = self.ways(loaded, document);
        let message = match (&loaded.pdb, document) {
            (Ok(pdb), Some(document)) => {
                format!("there is no file `{}` here, and its text is not in the PDB", pdb.document(document))
            }
            (Ok(_), None) => format!("this code of `{}` has no source", loaded.name()),
            (Err(_), _) if loaded.is_framework() => {
                format!("`{}` is the framework's, and its symbols were not looked for", loaded.name())
            }
            (Err(problem), _) => format!("`{}` has no symbols: {problem}", loaded.name()),
        };
        with_others(Failure::new(ErrorCode::NotFound, message), &ways)
    }

    /// Every way to a source of a module.
    pub(crate) fn ways(&self, loaded: &LoadedModule, document: Option<u32>) -> Vec<RetrievalOption> {
        let mut ways = Vec::new();
        if let (Ok(pdb), Some(document)) = (&loaded.pdb, document) {
            let compiled = pdb.document(document);
            let folder = compiled.rsplit_once(['/', '\\']).map_or(compiled, |(folder, _)| folder);
            ways.push(RetrievalOption {
                about: RetrievalWay { path: Some(compiled.to_owned()), ..RetrievalWay::new("file") },
                hint: Some(format!("`sourceFileMap` can map `{folder}`")),
            });
            ways.push(match RemoteSource::of(pdb, document) {
                Some(remote) => self.by_source_link(&remote.url),
                None => RetrievalOption {
                    about: RetrievalWay {
                        problem: Some("the PDB names no address of it".to_owned()),
                        ..RetrievalWay::new("sourceLink")
                    },
                    hint: None,
                },
            });
        }
        if loaded.pdb.is_err() {
            ways.push(self.by_symbol_servers(loaded));
        }
        ways.push(self.by_decompiler(loaded));
        ways
    }

    fn by_source_link(&self, url: &str) -> RetrievalOption {
        let way = RetrievalWay { url: Some(url.to_owned()), ..RetrievalWay::new("sourceLink") };
        match DownloadUrl::parse(url) {
            Err(error) => {
                let about = RetrievalWay { problem: Some(error.to_string()), ..way };
                RetrievalOption { about, hint: None }
            }
            Ok(address) => {
                let allowed = self.source_link.allows(&address);
                let allow = allowing(pattern_for(&address));
                let hint =
                    (!allowed).then(|| format!("`sourceLinkOptions: {allow}` allows fetching it from {url}"));
                let about = RetrievalWay { allowed: Some(allowed), allow: Some(allow), ..way };
                RetrievalOption { about, hint }
            }
        }
    }

    fn by_symbol_servers(&self, loaded: &LoadedModule) -> RetrievalOption {
        let way = RetrievalWay::new("symbolServer");
        if let Some(problem) = loaded.server_results() {
            let about = RetrievalWay { problem: Some(problem.clone()), ..way };
            return RetrievalOption { about, hint: Some(problem) };
        }
        // Symbols of packages are on NuGet's server, those of the framework on Microsoft's.
        let server =
            if loaded.is_framework() { "searchMicrosoftSymbolServer" } else { "searchNuGetOrgSymbolServer" };
        let symbol_options = BTreeMap::from([(server, true)]);
        let hint =
            format!("`symbolOptions: {}` looks for its symbols on a server", types::body(&symbol_options));
        let option = Some(types::body(&SymbolSearchOption { symbol_options }));
        RetrievalOption { about: RetrievalWay { option, ..way }, hint: Some(hint) }
    }

    fn by_decompiler(&self, loaded: &LoadedModule) -> RetrievalOption {
        let way = RetrievalWay::new("decompiler");
        let program = self.decompilation.program().map(|program| program.display().to_string());
        match self.decompilation.why_not(loaded) {
            None => RetrievalOption { about: RetrievalWay { program, ..way }, hint: None },
            Some(problem) => {
                let is_missing = program.is_none() && !self.decompilation.is_off() && !loaded.is_user_code;
                let hint = is_missing.then(|| format!("`{INSTALL}` installs a decompiler that is used then"));
                let hint = hint.or_else(|| program.map(|_| format!("it is not decompiled: {problem}")));
                RetrievalOption { about: RetrievalWay { problem: Some(problem), ..way }, hint }
            }
        }
    }
}

/// A failure with all ways in its data, and their hints after its own.
pub(crate) fn with_others(failure: Failure, ways: &[RetrievalOption]) -> Failure {
    let mut data = failure.data.as_object().cloned().unwrap_or_default();
    data.extend(types::fields(&RetrievalWays { ways: ways.iter().map(|way| way.about.clone()).collect() }));
    let hints: Vec<&str> = ways.iter().filter_map(|way| way.hint.as_deref()).collect();
    failure.hint(hints.join("; ")).data(Value::Object(data))
}
