//! `--listen`: each connection gets a host of its own, so that sessions cannot hurt each other.

use std::net::{SocketAddr, TcpListener, ToSocketAddrs};
use std::os::fd::OwnedFd;
use std::os::unix::fs::{FileTypeExt, MetadataExt, PermissionsExt};
use std::os::unix::net::{UnixListener, UnixStream};
use std::path::{Path, PathBuf};
use std::str::FromStr;
use std::time::Duration;

use anyhow::{Context, anyhow, bail};

use super::relay::{Stdin, start_host};
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
            if path.is_empty() {
                return Err("the path after `unix:` is missing".into());
            }
            return Ok(Self::Unix(path.into()));
        }
        let text = text.replacen("localhost:", "127.0.0.1:", 1);
        // A number needs no look-up; a name has the address that the system knows first.
        let found = text.to_socket_addrs().ok().and_then(|mut found| found.next());
        found.map(Self::Tcp).ok_or_else(|| format!("`{text}` is neither HOST:PORT nor unix:PATH"))
    }
}

/// The variable a token may come from.
pub const TOKEN_VARIABLE: &str = "TANDEM_TOKEN";
/// How long connections wait when there are too many.
const FULL: Duration = Duration::from_millis(200);
/// Shortest token of a user, bytes.
const MIN_TOKEN: usize = 16;

/// Who may connect.
#[derive(Debug, Default)]
pub struct Admission {
    /// Other machines too; then always with a token.
    pub remote: bool,
    /// Where the token is, unless it is in [`TOKEN_VARIABLE`].
    pub token_file: Option<PathBuf>,
}

impl Admission {
    /// The token clients must present, and whether it was made here and must be told.
    fn token(&self, address: &Address) -> anyhow::Result<(Option<String>, bool)> {
        let far = matches!(address, Address::Tcp(address) if !address.ip().is_loopback());
        if far && !self.remote {
            bail!(
                "this address can be reached from other machines; listen on 127.0.0.1 and use a tunnel, or add --remote: then \
                 clients need a token, and what they say travels unencrypted"
            );
        }
        let given = match &self.token_file {
            Some(file) => Some(
                std::fs::read_to_string(file)
                    .with_context(|| format!("cannot read the token from `{}`", file.display()))?,
            ),
            None => std::env::var(TOKEN_VARIABLE).ok().filter(|token| !token.is_empty()),
        };
        let given = given.map(|token| token.trim().to_owned());
        match given {
            Some(token) if !(MIN_TOKEN..=1024).contains(&token.len()) => {
                bail!("the token has {} bytes; it must have {MIN_TOKEN} to 1024", token.len())
            }
            None if self.remote => {
                let mut bytes = [0u8; 16];
                getrandom::fill(&mut bytes).map_err(|error| anyhow!("cannot make a token: {error}"))?;
                Ok((Some(bytes.iter().map(|byte| format!("{byte:02x}")).collect()), true))
            }
            given => Ok((given, false)),
        }
    }
}

/// Serves connections until the process is ended.
///
/// # Errors
/// When it cannot listen there, or must not.
pub fn run(address: &Address, admission: &Admission, logging: &Logging) -> anyhow::Result<()> {
    let (token, made) = admission.token(address)?;
    let tell_token = || {
        if let (Some(token), true) = (&token, made) {
            eprintln!(
                r#"tandem-dap: clients need this in `initialize`, `launch` or `attach`: "token": "{token}""#
            );
        }
    };
    let token = token.as_deref();
    match address {
        Address::Tcp(address) => {
            let listener =
                TcpListener::bind(address).with_context(|| format!("cannot listen on `{address}`"))?;
            eprintln!("tandem-dap: listening on {}", listener.local_addr()?);
            tell_token();
            loop {
                if let Some((connection, _)) = accepted(listener.accept())? {
                    if let Err(error) = connection.set_nodelay(true) {
                        tracing::debug!(%error, "answers may wait for more");
                    }
                    serve(connection.into(), logging, token);
                }
            }
        }
        Address::Unix(path) => {
            if is_left_over(path) {
                std::fs::remove_file(path)
                    .with_context(|| format!("cannot remove the old `{}`", path.display()))?;
            }
            if path.symlink_metadata().is_ok() {
                bail!(
                    "cannot listen on `{}`: it exists; remove it if no other adapter uses it",
                    path.display()
                );
            }
            let listener =
                UnixListener::bind(path).with_context(|| format!("cannot listen on `{}`", path.display()))?;
            std::fs::set_permissions(path, std::fs::Permissions::from_mode(0o600))?;
            eprintln!("tandem-dap: listening on unix:{}", path.display());
            tell_token();
            loop {
                if let Some((connection, _)) = accepted(listener.accept())? {
                    serve(connection.into(), logging, token);
                }
            }
        }
    }
}

/// Whether this is a socket of ours at which nobody listens: an adapter that was ended left it.
fn is_left_over(path: &Path) -> bool {
    let own = path.symlink_metadata().is_ok_and(|found| {
        found.file_type().is_socket() && found.uid() == rustix::process::getuid().as_raw()
    });
    let refused = |error: std::io::Error| error.kind() == std::io::ErrorKind::ConnectionRefused;
    own && UnixStream::connect(path).err().is_some_and(refused)
}

/// A connection; `None` when there is none this time, but may be the next.
///
/// # Errors
/// When there will be none any more.
fn accepted<T>(outcome: std::io::Result<T>) -> anyhow::Result<Option<T>> {
    use rustix::io::Errno;
    let error = match outcome {
        Ok(connection) => return Ok(Some(connection)),
        Err(error) => error,
    };
    match Errno::from_io_error(&error) {
        // Who asked is gone again.
        Some(Errno::CONNABORTED | Errno::INTR) => Ok(None),
        // As many as this process may have: those that end make room.
        Some(Errno::MFILE | Errno::NFILE | Errno::NOBUFS | Errno::NOMEM) => {
            tracing::warn!(%error, "a connection waits");
            std::thread::sleep(FULL);
            Ok(None)
        }
        _ => Err(error).context("cannot accept a connection"),
    }
}

fn serve(connection: OwnedFd, logging: &Logging, token: Option<&str>) {
    match start_host(connection, Stdin::Client, logging, token, None) {
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

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_connection_that_cannot_be_had_ends_no_listener() {
        for passing in [103, 4, 24, 23] {
            let outcome = accepted::<()>(Err(std::io::Error::from_raw_os_error(passing)));
            assert!(outcome.is_ok_and(|connection| connection.is_none()), "{passing}");
        }
        let bad_descriptor = accepted::<()>(Err(std::io::Error::from_raw_os_error(9)));
        assert!(bad_descriptor.is_err());
    }
}
