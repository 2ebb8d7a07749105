//! Files from HTTPS servers, bounded in every respect, and a cache of them: what a debugger fetches of
//! sources and symbols.
//!
//! [`address`] says which addresses there are at all, [`client`] fetches from them, [`cache`] keeps what
//! came. Which hosts may be asked, and whether what came is what was wanted, is the caller's to decide:
//! nothing here trusts a server.

pub mod address;
pub mod cache;
pub mod client;

pub use address::DownloadUrl;
pub use cache::Cache;
pub use client::{DownloadClient, DownloadError, DownloadLimits};
