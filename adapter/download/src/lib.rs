//! Downloads sources and symbols from HTTPS servers, with limits of size and time, and caches them.
//!
//! [`address`] checks addresses, [`client`] fetches from them, and [`cache`] stores the files. The caller
//! decides which hosts are allowed, and must check the files: no code here trusts a server.

pub mod address;
pub mod cache;
pub mod client;

pub use address::DownloadUrl;
pub use cache::Cache;
pub use client::{DownloadClient, DownloadError, DownloadLimits};
