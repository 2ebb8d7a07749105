//! `--listen`: each connection gets a separate host, so that sessions cannot affect each other. Without a
//! token only programs of this user and of root may connect.
//!
//! Not here: the session on a connection ([`super::host`]).

use std::net::{SocketAddr, ToSocketAddrs};
use std::os::fd::OwnedFd;
use std::os::unix::fs::{FileTypeExt, MetadataExt, PermissionsExt};
use std::os::unix::net::UnixListener;
use std::path::{Path, PathBuf};
use std::str::FromStr;
use std::time::{Duration, Instant};

use anyhow::{Context, anyhow, bail};
use tandem_peers::{ConnectionLimiter, ConnectionLimits, ConnectionPermit, PeerIdentity};
use tokio::net::TcpStream;
use tokio::signal::unix::{Signal, SignalKind, signal};

use super::relay::{HostOptions, HostStdin, TOKEN_VARIABLE, start_host};
use crate::logging::LogSettings;
use tandem_hub::access::AgentAccess;

/// The address that a listener binds.
#[derive(Debug, Clone)]
pub enum ListenAddress {
    /// `HOST:PORT`; port 0 takes a free one, which is logged to stderr.
    Tcp(SocketAddr),
    /// `unix:PATH`, a socket in the file system.
    Unix(PathBuf),
}

impl FromStr for ListenAddress {
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

/// How long the listener waits when there are too many connections.
const ACCEPT_RETRY_DELAY: Duration = Duration::from_millis(200);
/// Maximum time from the fork of a host to its `exec` on a busy machine.
const MAX_EXEC_WAIT: Duration = Duration::from_millis(200);
/// Time between two questions whether a socket has a listener.
const EXEC_POLL_INTERVAL: Duration = Duration::from_millis(20);
/// Minimum length of a user's token, bytes.
const MIN_TOKEN_LEN: usize = 16;
/// Maximum time for which a connection may send nothing.
const SILENCE_TIMEOUT: Duration = Duration::from_secs(10);
/// Connections that send nothing.
const SILENT: ConnectionLimits = ConnectionLimits { all: 128, each: 16 };
/// Hosts, each a process with a session.
const HOSTS: ConnectionLimits = ConnectionLimits { all: 128, each: 16 };

/// The clients that a listener accepts.
#[derive(Debug, Default)]
pub struct ConnectionPolicy {
    /// Other machines too; then always with a token.
    pub remote: bool,
    /// Where the token is, unless it is in [`TOKEN_VARIABLE`].
    pub token_file: Option<PathBuf>,
}

impl ConnectionPolicy {
    /// The token that clients must present, and whether it was made here and must be printed.
    fn token(&self, address: &ListenAddress) -> anyhow::Result<(Option<String>, bool)> {
        let far = matches!(address, ListenAddress::Tcp(address) if !address.ip().is_loopback());
        if far && !self.remote {
            bail!(
                "this address can be reached from other machines; listen on 127.0.0.1 and use a tunnel, or \
                    add --remote: then clients need a token, and traffic is not encrypted"
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
            Some(token) if !(MIN_TOKEN_LEN..=1024).contains(&token.len()) => {
                bail!("the token has {} bytes; it must have {MIN_TOKEN_LEN} to 1024", token.len())
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

/// Serves connections until a signal ends the process (SIGTERM, SIGINT, SIGHUP). `access`: what agents may do
/// in sessions whose launch does not say.
///
/// # Errors
/// When it cannot listen there, or must not.
pub fn run(
    address: &ListenAddress,
    policy: &ConnectionPolicy,
    logging: &LogSettings,
    access: AgentAccess,
) -> anyhow::Result<()> {
    let (token, made) = policy.token(address)?;
    let acceptor = Acceptor {
        token,
        logging: logging.clone(),
        access,
        silent: ConnectionLimiter::new(SILENT),
        hosts: ConnectionLimiter::new(HOSTS),
    };
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build()?;
    runtime.block_on(async {
        let signals = [SignalKind::terminate(), SignalKind::interrupt(), SignalKind::hangup()].map(signal);
        let signals: Vec<_> =
            signals.into_iter().collect::<Result<_, _>>().context("cannot handle signals")?;
        tokio::select! {
            served = acceptor.serve(address, made) => served,
            // Its sessions are their own.
            () = wait_for_any(signals) => Ok(()),
        }
    })
}

/// Returns at the first of these signals.
async fn wait_for_any(signals: Vec<Signal>) {
    let each = signals.into_iter().map(|mut signal| Box::pin(async move { signal.recv().await }));
    futures::future::select_all(each).await;
}

/// The socket file of a listener, removed with it, unless another has taken its place.
struct SocketFile<'a> {
    path: &'a Path,
    number: u64,
}

impl Drop for SocketFile<'_> {
    fn drop(&mut self) {
        if self.path.symlink_metadata().is_ok_and(|found| found.ino() == self.number) {
            // It may be removed already.
            drop(std::fs::remove_file(self.path));
        }
    }
}

/// A socket that only this user may connect to. Must be called inside a tokio runtime.
fn listen_at(path: &Path) -> anyhow::Result<tokio::net::UnixListener> {
    if is_stale(path) {
        std::fs::remove_file(path).with_context(|| format!("cannot remove the old `{}`", path.display()))?;
    }
    if path.symlink_metadata().is_ok() {
        bail!("cannot listen on `{}`: it exists; remove it if no other adapter uses it", path.display());
    }
    let listener =
        UnixListener::bind(path).with_context(|| format!("cannot listen on `{}`", path.display()))?;
    std::fs::set_permissions(path, std::fs::Permissions::from_mode(0o600))?;
    listener.set_nonblocking(true)?;
    Ok(tokio::net::UnixListener::from_std(listener)?)
}

/// Accepts connections and starts a host for each.
struct Acceptor {
    token: Option<String>,
    logging: LogSettings,
    access: AgentAccess,
    /// Connections that have sent nothing yet.
    silent: ConnectionLimiter,
    hosts: ConnectionLimiter,
}

impl Acceptor {
    fn print_token(&self, made: bool) {
        if let (Some(token), true) = (&self.token, made) {
            eprintln!(
                r#"tandem-dap: clients need this in `initialize`, `launch` or `attach`: "token": "{token}""#
            );
        }
    }

    fn over_tcp(&self, connection: TcpStream, theirs: SocketAddr) {
        let ours = match connection.local_addr() {
            Ok(ours) => ours,
            Err(error) => return tracing::debug!(%error, "a connection has gone again"),
        };
        if let Err(error) = connection.set_nodelay(true) {
            tracing::debug!(%error, "answers may wait for more");
        }
        let who = PeerIdentity::of_tcp(ours, theirs);
        let sends = async move {
            connection.peek(&mut [0]).await?;
            connection.into_std().map(OwnedFd::from)
        };
        self.admit(who, sends);
    }

    /// Serves connections forever.
    async fn serve(&self, address: &ListenAddress, made: bool) -> anyhow::Result<()> {
        match address {
            ListenAddress::Tcp(address) => {
                let listener = tokio::net::TcpListener::bind(address)
                    .await
                    .with_context(|| format!("cannot listen on `{address}`"))?;
                eprintln!("tandem-dap: listening on {}", listener.local_addr()?);
                self.print_token(made);
                loop {
                    if let Some((connection, theirs)) = check_accept(listener.accept().await).await? {
                        self.over_tcp(connection, theirs);
                    }
                }
            }
            ListenAddress::Unix(path) => {
                let listener = listen_at(path)?;
                let _file = SocketFile { path, number: path.symlink_metadata()?.ino() };
                eprintln!("tandem-dap: listening on unix:{}", path.display());
                self.print_token(made);
                loop {
                    if let Some((connection, _)) = check_accept(listener.accept().await).await? {
                        self.over_unix(connection);
                    }
                }
            }
        }
    }

    fn over_unix(&self, connection: tokio::net::UnixStream) {
        let who = match tandem_peers::user_of_unix(&connection) {
            Ok(user) => PeerIdentity::User(user),
            Err(error) => return tracing::warn!(%error, "a connection of an unknown user was refused"),
        };
        let sends = async move {
            connection.readable().await?;
            connection.into_std().map(OwnedFd::from)
        };
        self.admit(who, sends);
    }

    /// Admits a connection once it sends something: a host is a process, and a silent connection gets none.
    fn admit(
        &self,
        who: PeerIdentity,
        sends: impl Future<Output = std::io::Result<OwnedFd>> + Send + 'static,
    ) {
        if self.token.is_none() && !who.is_trusted() {
            return tracing::warn!(
                "a connection of {who} was refused: without a token only this user's own programs may \
                    connect; \
                 `--token-file` lets others in"
            );
        }
        let Some(waiting) = self.silent.acquire(who) else {
            return tracing::warn!("a connection of {who} was refused: too many send nothing");
        };
        let (hosts, logging, token) = (self.hosts.clone(), self.logging.clone(), self.token.clone());
        let agent_access = self.access;
        tokio::spawn(async move {
            let connection = match tokio::time::timeout(SILENCE_TIMEOUT, sends).await {
                Ok(Ok(connection)) => connection,
                Ok(Err(error)) => return tracing::debug!(%error, "a connection has gone again"),
                Err(_) => return tracing::info!("a connection of {who} was closed: it sent nothing"),
            };
            drop(waiting);
            match hosts.acquire(who) {
                Some(permit) => {
                    let options =
                        HostOptions { token: token.as_deref(), agent_access, ..HostOptions::default() };
                    serve(connection, &logging, options, permit);
                }
                None => tracing::warn!("a connection of {who} was refused: too many sessions run"),
            }
        });
    }
}

/// Whether this is a socket of this user without a listener, left by an adapter that was killed. A host that
/// the adapter had just forked holds the listening socket until its `exec`, so one answer is not enough.
fn is_stale(path: &Path) -> bool {
    let own = path.symlink_metadata().is_ok_and(|found| {
        found.file_type().is_socket() && found.uid() == rustix::process::getuid().as_raw()
    });
    if !own {
        return false;
    }
    let deadline = Instant::now() + MAX_EXEC_WAIT;
    loop {
        match tandem_registry::connect(path).err() {
            Some(rustix::io::Errno::CONNREFUSED) => return true,
            None if Instant::now() < deadline => std::thread::sleep(EXEC_POLL_INTERVAL),
            _ => return false,
        }
    }
}

/// Returns a connection; `None` when there is none this time, but may be the next.
///
/// # Errors
/// When there will be no more.
async fn check_accept<T>(outcome: std::io::Result<T>) -> anyhow::Result<Option<T>> {
    use rustix::io::Errno;
    let error = match outcome {
        Ok(connection) => return Ok(Some(connection)),
        Err(error) => error,
    };
    match Errno::from_io_error(&error) {
        // The client has already disconnected.
        Some(Errno::CONNABORTED | Errno::INTR) => Ok(None),
        // As many as this process may have: those that end make room.
        Some(Errno::MFILE | Errno::NFILE | Errno::NOBUFS | Errno::NOMEM) => {
            tracing::warn!(%error, "a connection waits");
            tokio::time::sleep(ACCEPT_RETRY_DELAY).await;
            Ok(None)
        }
        _ => Err(error).context("cannot accept a connection"),
    }
}

/// Starts a host, which holds the permit as long as it runs.
fn serve(connection: OwnedFd, logging: &LogSettings, options: HostOptions<'_>, permit: ConnectionPermit) {
    match start_host(connection, HostStdin::Client, logging, options) {
        Ok(mut host) => {
            // Reaps it; its session is independent.
            let reaper = std::thread::Builder::new().name("host-exit".into()).spawn(move || {
                if !host.wait().is_ok_and(|status| status.success()) {
                    super::stale_files::sweep_after_death();
                }
                drop(permit);
            });
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

    #[tokio::test(start_paused = true)]
    async fn a_connection_that_cannot_be_accepted_does_not_end_the_listener() {
        for passing in [103, 4, 24, 23] {
            let outcome = check_accept::<()>(Err(std::io::Error::from_raw_os_error(passing))).await;
            assert!(outcome.is_ok_and(|connection| connection.is_none()), "{passing}");
        }
        let bad_descriptor = check_accept::<()>(Err(std::io::Error::from_raw_os_error(9))).await;
        assert!(bad_descriptor.is_err());
    }
}
