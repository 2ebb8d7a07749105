//! Sources from Source Link: fetched where it is allowed, compared with the checksum in the PDB, and kept in
//! the user's cache under that checksum. Not here: which addresses are allowed
//! ([`super::source_link_options`]).

use std::path::{Path, PathBuf};
use std::time::Duration;

use clr_metadata::pdb::Pdb;
use clr_metadata::pdb::documents::Checksum;
use serde::Serialize;
use serde_json::Value;
use tandem_download::cache::file_name;
use tandem_download::{Cache, DownloadClient, DownloadError, DownloadLimits, DownloadUrl};
use tandem_wire::{ErrorCode, Failure, types};

use super::source_link_options::{SourceLinkOptions, allowing, pattern_for};
use crate::checksums;

/// Limits of one source.
const LIMITS: DownloadLimits = DownloadLimits {
    bytes: 16 * 1024 * 1024,
    idle_timeout: Duration::from_secs(20),
    time: Duration::from_secs(60),
};
/// Folder of downloaded sources in the cache.
const FOLDER: &str = "sources";

/// A source that is not on this machine.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct RemoteSource {
    /// Its address in Source Link; it may be one that is never fetched.
    pub(crate) url: String,
    /// The path that the compiler saw.
    pub(crate) document: String,
    /// Checksum of its text, from the PDB.
    pub(crate) checksum: Option<Checksum>,
}

impl RemoteSource {
    /// The address of a document in Source Link, if it has one.
    pub(crate) fn of(pdb: &Pdb, document: u32) -> Option<Self> {
        let compiled = pdb.document(document);
        let url = pdb.source_link()?.url(compiled)?;
        Some(Self { url, document: compiled.to_owned(), checksum: pdb.checksum(document) })
    }
}

/// A source that was fetched.
pub(crate) struct FetchedSource {
    pub(crate) text: String,
    /// Whether the cache has it.
    pub(crate) is_kept: bool,
}

impl RemoteSource {
    /// The address, if fetching from it is allowed.
    ///
    /// # Errors
    /// `ACCESS_DENIED` with the option that would allow it in `data.allow`, or for an address that is never
    /// fetched; `UNSUPPORTED` if there is no checksum to compare with.
    pub(crate) fn allowed(&self, options: &SourceLinkOptions) -> Result<DownloadUrl, Failure> {
        let denied = |why: String| {
            let message = format!("the source `{}` is not fetched: {why}", self.document);
            Failure::new(ErrorCode::AccessDenied, message)
        };
        let address = DownloadUrl::parse(&self.url).map_err(|error| denied(error.to_string()))?;
        if self.checksum.is_none() {
            let message = format!(
                "the source `{}` is not fetched from `{address}`: the PDB has no checksum that what comes \
                    could be compared with",
                self.document
            );
            return Err(Failure::new(ErrorCode::Unsupported, message));
        }
        if options.allows(&address) {
            return Ok(address);
        }
        let allow = allowing(pattern_for(&address));
        Err(denied(format!("`sourceLinkOptions` does not allow `{address}`"))
            .hint(format!("launch with `sourceLinkOptions: {allow}` to allow it"))
            .data(types::body(&DeniedAddress {
                url: address.to_string(),
                host: address.authority().to_owned(),
                allow,
            })))
    }
}

/// Data of a refusal to fetch a source.
#[derive(Serialize)]
struct DeniedAddress {
    url: String,
    host: String,
    /// The `sourceLinkOptions` that would allow it.
    allow: Value,
}

/// The path in the cache of a text with this checksum.
fn name(checksum: &Checksum, document: &str) -> PathBuf {
    Path::new(FOLDER).join(checksums::spell_checksum(checksum).1).join(file_name(document))
}

/// The file in the cache with this source, if it exists and is intact.
pub(crate) fn cached(cache: &Cache, checksum: &Checksum, document: &str) -> Option<PathBuf> {
    let name = name(checksum, document);
    let path = cache.path(&name).filter(|path| path.exists())?;
    checksums::as_compiled(checksum, &cache.read(&name)?).map(|_| path)
}

/// The digits of the checksum in a path of the cache, whether the file exists or not.
pub(crate) fn checksum_in<'a>(cache: &Cache, path: &'a str) -> Option<&'a str> {
    let folder = cache.folder().join(FOLDER);
    Path::new(path).strip_prefix(folder).ok()?.components().next()?.as_os_str().to_str()
}

/// Downloads a source and compares it with the checksum in the PDB.
///
/// # Errors
/// As [`RemoteSource::allowed`]; `NOT_FOUND`, `TIMEOUT`, `IO_FAILED` depending on the server; `ACCESS_DENIED`
/// for a redirection to a host that is not allowed.
pub(super) async fn fetch(
    client: &DownloadClient,
    cache: Option<&Cache>,
    options: &SourceLinkOptions,
    remote: &RemoteSource,
) -> Result<FetchedSource, Failure> {
    let address = remote.allowed(options)?;
    let content = client.get(&address, &[], LIMITS, &|to| options.allows(to)).await;
    let content = content.map_err(|problem| failure(remote, &problem))?;
    // Always present: `allowed` has checked it.
    let compiled = remote.checksum.as_ref().and_then(|checksum| {
        let compiled = checksums::as_compiled(checksum, &content)?;
        Some((checksum, compiled))
    });
    let Some((checksum, compiled)) = compiled else {
        let algorithm = remote.checksum.as_ref().map_or("", |checksum| checksums::spell_checksum(checksum).0);
        let message = format!(
            "what `{address}` sends is not the text that `{}` was compiled from (its {algorithm} checksum \
                differs): it is not shown",
            remote.document
        );
        return Err(Failure::new(ErrorCode::IoFailed, message).hint(
            "the server may require a login and have sent its login page; map the path to a clone \
                with `sourceFileMap`",
        ));
    };
    let kept = cache.map(|cache| cache.store(&name(checksum, &remote.document), &compiled));
    if let Some(Err(error)) = &kept {
        tracing::debug!(%error, "a source is not kept in the cache");
    }
    let text = String::from_utf8_lossy(&compiled);
    let text = text.strip_prefix('\u{feff}').unwrap_or(&text).to_owned();
    Ok(FetchedSource { text, is_kept: matches!(kept, Some(Ok(_))) })
}

fn failure(remote: &RemoteSource, problem: &DownloadError) -> Failure {
    let code = match problem {
        DownloadError::Absent(_) => ErrorCode::NotFound,
        DownloadError::TooSlow(_) => ErrorCode::Timeout,
        DownloadError::Redirected { .. } | DownloadError::Nowhere { .. } | DownloadError::Denied { .. } => {
            ErrorCode::AccessDenied
        }
        _ => ErrorCode::IoFailed,
    };
    let message = format!("cannot fetch the source `{}` from `{}`: {problem}", remote.document, remote.url);
    let failure = Failure::new(code, message);
    match problem {
        DownloadError::Redirected { to, .. } => {
            let allow = allowing(format!("https://{to}/*"));
            failure
                .hint(format!("`sourceLinkOptions: {allow}` also allows that host"))
                .data(types::body(&DeniedAddress { url: remote.url.clone(), host: to.clone(), allow }))
        }
        _ => failure.hint("map the path to a local clone with `sourceFileMap`"),
    }
}
