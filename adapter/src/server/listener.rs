//! `--listen`: each connection gets a host of its own, so that sessions cannot hurt each other.

use std::net::{SocketAddr, TcpListener};
use std::os::fd::OwnedFd;
use std::os::unix::fs::PermissionsExt;
use std::os::unix::net::UnixListener;
use std::path::PathBuf;
use std::str::FromStr;

use anyhow::{Context, bail};

use super::relay::start_host;
use crate::logging::Logging;

/// Where to listen.
#[derive(Debug, Clone)]
pub enum Address {
    /// `HOST:PORT`; port 0 takes a free one, which is logged to stderr.
    Tcp(SocketAddr),
    /// `unix:PATH`.
    Unix(PathBuf),
}

impl FromStr for Address {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        if let Some(path) = text.strip_prefix("unix:") {
            return Ok(Self::Unix(path.into()));
        }
        let text = text.replacen("localhost:", "127.0.0.1:", 1);
        let address: SocketAddr =
            text.parse().map_err(|_| format!("`{text}` is neither HOST:PORT nor unix:PATH"))?;
        if !address.ip().is_loopback() {
            return Err(format!(
                "`{address}` can be reached from other machines, and DAP has no passwords: use 127.0.0.1 and a tunnel"
            ));
        }
        Ok(Self::Tcp(address))
    }
}

/// Serves connections until the process is ended.
///
/// # Errors
/// When it cannot listen there.
pub fn run(address: &Address, logging: &Logging) -> anyhow::Result<()> {
    match address {
        Address::Tcp(address) => {
            let listener =
                TcpListener::bind(address).with_context(|| format!("cannot listen on `{address}`"))?;
            eprintln!("tandem-dap: listening on {}", listener.local_addr()?);
            loop {
                let (connection, _) = listener.accept().context("cannot accept a connection")?;
                connection.set_nodelay(true)?;
                serve(connection.into(), logging);
            }
        }
        Address::Unix(path) => {
            if path.exists() {
                bail!(
                    "cannot listen on `{}`: it exists; remove it if no other adapter uses it",
                    path.display()
                );
            }
            let listener =
                UnixListener::bind(path).with_context(|| format!("cannot listen on `{}`", path.display()))?;
            std::fs::set_permissions(path, std::fs::Permissions::from_mode(0o600))?;
            eprintln!("tandem-dap: listening on unix:{}", path.display());
            loop {
                let (connection, _) = listener.accept().context("cannot accept a connection")?;
                serve(connection.into(), logging);
            }
        }
    }
}

fn serve(connection: OwnedFd, logging: &Logging) {
    match start_host(connection, logging) {
        Ok(mut host) => {
            // Reaps it; its session is its own affair.
            let reaper =
                std::thread::Builder::new().name("host-exit".into()).spawn(move || drop(host.wait()));
            if let Err(error) = reaper {
                tracing::warn!(%error, "a host that ends will not be reaped");
            }
        }
        Err(error) => tracing::error!("{error:#}"),
    }
}
