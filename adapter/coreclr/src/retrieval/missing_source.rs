//! Explanation of a missing source: every way to get it, and the requirements of each. Fetches nothing
//! ([`super::source_files`], [`super::symbol_files`], [`super::decompiler`]).

use dap_wire::{ErrorCode, Failure};
use download::DownloadUrl;
use serde_json::{Value, json};

use super::Retrieval;
use super::decompiler::INSTALL;
use super::source_files::RemoteSource;
use super::source_link_options::pattern_for;
use crate::modules::LoadedModule;

/// One way to get a source: machine-readable, and as a hint for people.
pub(crate) struct RetrievalOption {
    about: Value,
    hint: Option<String>,
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
                about: json!({ "way": "file", "path": compiled }),
                hint: Some(format!("`sourceFileMap` can map `{folder}`")),
            });
            ways.push(match RemoteSource::of(pdb, document) {
                Some(remote) => self.by_source_link(&remote.url),
                None => RetrievalOption {
                    about: json!({ "way": "sourceLink", "problem": "the PDB names no address of it" }),
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
        match DownloadUrl::parse(url) {
            Err(error) => RetrievalOption {
                about: json!({ "way": "sourceLink", "url": url, "problem": error.to_string() }),
                hint: None,
            },
            Ok(address) => {
                let allowed = self.source_link.allows(&address);
                let allow = json!({ pattern_for(&address): { "enabled": true } });
                RetrievalOption {
                    about: json!({ "way": "sourceLink", "url": url, "allowed": allowed, "allow": allow }),
                    hint: (!allowed)
                        .then(|| format!("`sourceLinkOptions: {allow}` allows fetching it from {url}")),
                }
            }
        }
    }

    fn by_symbol_servers(&self, loaded: &LoadedModule) -> RetrievalOption {
        if let Some(problem) = loaded.server_results() {
            return RetrievalOption {
                about: json!({ "way": "symbolServer", "problem": problem }),
                hint: Some(problem),
            };
        }
        // Symbols of packages are on NuGet's server, those of the framework on Microsoft's.
        let server =
            if loaded.is_framework() { "searchMicrosoftSymbolServer" } else { "searchNuGetOrgSymbolServer" };
        let option = json!({ server: true });
        RetrievalOption {
            about: json!({ "way": "symbolServer", "option": { "symbolOptions": option } }),
            hint: Some(format!("`symbolOptions: {option}` looks for its symbols on a server")),
        }
    }

    fn by_decompiler(&self, loaded: &LoadedModule) -> RetrievalOption {
        let program = self.decompiler.program().map(|program| program.display().to_string());
        match self.why_not_decompiled(loaded) {
            None => RetrievalOption { about: json!({ "way": "decompiler", "program": program }), hint: None },
            Some(problem) => {
                let is_missing = program.is_none() && !self.decompiler.is_off() && !loaded.is_user_code;
                let hint = is_missing.then(|| format!("`{INSTALL}` installs a decompiler that is used then"));
                let hint = hint.or_else(|| program.map(|_| format!("it is not decompiled: {problem}")));
                RetrievalOption { about: json!({ "way": "decompiler", "problem": problem }), hint }
            }
        }
    }
}

/// A failure with all ways in its data, and their hints after its own.
pub(crate) fn with_others(failure: Failure, ways: &[RetrievalOption]) -> Failure {
    let mut data = if failure.data.is_object() { failure.data.clone() } else { json!({}) };
    data["ways"] = ways.iter().map(|way| way.about.clone()).collect();
    let hints: Vec<&str> = ways.iter().filter_map(|way| way.hint.as_deref()).collect();
    failure.hint(hints.join("; ")).data(data)
}
