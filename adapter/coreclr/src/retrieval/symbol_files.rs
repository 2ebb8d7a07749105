//! PDBs from symbol servers (SSQP): requested by the id in the module, compared with that and with the
//! module's checksums, and kept in a cache with the layout of a server. A server's response is parsed only
//! after its size is known, and used only if it is the module's PDB.

use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicU32, Ordering};
use std::time::Duration;

use clr_metadata::image::PeImage;
use clr_metadata::pdb::Pdb;
use clr_metadata::pdb::source_link::percent_encode_path;
use http::{HeaderName, HeaderValue};
use tandem_download::{Cache, DownloadClient, DownloadError, DownloadLimits, DownloadUrl};
use tokio::sync::Semaphore;

use super::symbol_options::{SymbolOptions, SymbolServer};
use crate::modules::PdbIdentity;

/// Limits of the download of one PDB.
const LIMITS: DownloadLimits = DownloadLimits {
    bytes: 256 * 1024 * 1024,
    idle_timeout: Duration::from_secs(20),
    time: Duration::from_secs(300),
};
/// Most downloads at a time.
const MAX_DOWNLOADS: usize = 4;
/// Consecutive failures after which a server is not asked any more.
const MAX_FAILURES: u32 = 2;

/// The module whose symbols are requested.
pub(super) enum SymbolTarget {
    /// The identity of its PDB.
    Known(PdbIdentity),
    /// A file that was not opened yet.
    File(PathBuf),
}

/// Symbol servers, and their failures so far.
pub(super) struct SymbolServers {
    options: SymbolOptions,
    /// `cachePath`, else a folder of the user's cache.
    cache: Option<(Cache, PathBuf)>,
    /// Consecutive failures of each server.
    failures: Vec<AtomicU32>,
    places: Semaphore,
}

impl SymbolServers {
    pub(super) fn new(options: SymbolOptions) -> Self {
        let named = options.cache.clone().map(|folder| (Cache::at(folder), PathBuf::new()));
        let cache = named.or_else(|| Some((Cache::of_user()?, PathBuf::from("symbols"))));
        let failures = options.servers.iter().map(|_| AtomicU32::new(0)).collect();
        Self { options, cache, failures, places: Semaphore::new(MAX_DOWNLOADS) }
    }

    /// Finds the PDB of a module.
    ///
    /// # Errors
    /// The reason why there is none, for people: the result of each server. Empty for a
    /// module that has no PDB.
    pub(super) async fn find(&self, client: &DownloadClient, module: SymbolTarget) -> Result<Pdb, String> {
        // The semaphore is never closed.
        let _place = self.places.acquire().await;
        let identity = match module {
            SymbolTarget::Known(identity) => Some(identity),
            SymbolTarget::File(path) => PeImage::open(&path).ok().as_ref().and_then(PdbIdentity::of),
        };
        let identity = identity.ok_or_else(String::new)?;
        let key = identity.key().ok_or("the name of its PDB is not a file name")?;
        if let Some(pdb) = self.open_cached(&identity, &key) {
            return Ok(pdb);
        }
        let mut reasons = Vec::new();
        for (server, failures) in self.options.servers.iter().zip(&self.failures) {
            match self.ask(client, server, failures, &identity, &key).await {
                Ok(pdb) => return Ok(pdb),
                Err(reason) => reasons.push(reason),
            }
        }
        Err(reasons.join("; "))
    }

    fn open_cached(&self, identity: &PdbIdentity, key: &str) -> Option<Pdb> {
        let (cache, folder) = self.cache.as_ref()?;
        let name = folder.join(key);
        let mut pdb = identity.read(&cache.read(&name)?).ok()?;
        pdb.path = cache.path(&name);
        Some(pdb)
    }

    async fn ask(
        &self,
        client: &DownloadClient,
        server: &SymbolServer,
        failures: &AtomicU32,
        identity: &PdbIdentity,
        key: &str,
    ) -> Result<Pdb, String> {
        let escaped = percent_encode_path(key).ok_or("the name of its PDB is not a file name")?;
        let address =
            DownloadUrl::parse(&format!("{}/{escaped}", server.base)).map_err(|error| error.to_string())?;
        let host = address.authority();
        if failures.load(Ordering::Relaxed) >= MAX_FAILURES {
            return Err(format!("`{host}` did not answer before and is not asked again in this session"));
        }
        let header = HeaderValue::from_str(&identity.checksum_header()).ok();
        let headers: Vec<_> = header
            .filter(|header| !header.is_empty())
            .map(|header| (HeaderName::from_static("symbolchecksum"), header))
            .into_iter()
            .collect();
        let answer = client.get(&address, &headers, LIMITS, &|to| self.options.allows(server, to)).await;
        let is_failure = matches!(answer, Err(DownloadError::TooSlow(_) | DownloadError::Unreachable { .. }));
        if is_failure {
            failures.fetch_add(1, Ordering::Relaxed);
        } else {
            failures.store(0, Ordering::Relaxed);
        }
        let file = answer.map_err(|problem| problem.to_string())?;
        let mut pdb =
            identity.read(&file).map_err(|what| format!("`{host}` sends {what}: it is not used"))?;
        if let Some((cache, folder)) = &self.cache {
            match cache.store(&Path::new(folder).join(key), &file) {
                Ok(path) => pdb.path = Some(path),
                Err(error) => tracing::debug!(%error, "a PDB is not kept in the cache"),
            }
        }
        Ok(pdb)
    }
}
