//! Connections of the HTTP server: how many there may be, of whom, and how long each may take to say what it
//! wants.
//!
//! A connection costs a descriptor before its client has presented a token. So other users of this machine
//! and other machines get few of them, and at most half of all; a header that does not end closes its
//! connection. This module does not look at the requests.

use std::net::SocketAddr;
use std::time::Duration;

use anyhow::Context;
use axum::Router;
use hyper::server::conn::http1;
use hyper_util::rt::{TokioIo, TokioTimer};
use hyper_util::server::graceful::GracefulShutdown;
use hyper_util::service::TowerToHyperService;
use tandem_peers::{ConnectionLimiter, ConnectionLimits, ConnectionPermit, PeerIdentity};
use tokio::net::{TcpListener, TcpStream};
use tokio_util::sync::CancellationToken;

/// Time for a client to send a header; idle connections are closed after the same time.
const HEADER_TIMEOUT: Duration = Duration::from_secs(30);
/// Connections at once, if the process may open that many files four times over.
const MAX_CONNECTIONS: usize = 256;
/// Connections at once of each other user or machine.
const MAX_CONNECTIONS_PER_PEER: usize = 16;
/// Delay before accepting again when there are no descriptors.
const ACCEPT_RETRY_INTERVAL: Duration = Duration::from_millis(200);

/// Serves until `stop`, then gives open requests the time `ending`. Returns whether
/// all of them were answered.
///
/// # Errors
/// When no connections can be accepted any more.
pub(super) async fn serve(
    listener: &TcpListener,
    router: Router,
    stop: CancellationToken,
    ending: Duration,
) -> anyhow::Result<bool> {
    let limiter = ConnectionLimiter::new(limits());
    let graceful = GracefulShutdown::new();
    let mut server = http1::Builder::new();
    server.timer(TokioTimer::new()).header_read_timeout(HEADER_TIMEOUT);
    loop {
        let accepted = tokio::select! {
            accepted = listener.accept() => accepted,
            () = stop.cancelled() => break,
        };
        let Some((connection, theirs)) = accepted_connection(accepted).await? else { continue };
        let Some(permit) = permit_for(&limiter, &connection, theirs) else { continue };
        if let Err(error) = connection.set_nodelay(true) {
            tracing::debug!(%error, "answers may wait for more");
        }
        let service = TowerToHyperService::new(router.clone());
        let serving = graceful.watch(server.serve_connection(TokioIo::new(connection), service));
        tokio::spawn(async move {
            if let Err(error) = serving.await {
                tracing::debug!(%error, "a connection failed");
            }
            drop(permit);
        });
    }
    Ok(tokio::time::timeout(ending, graceful.shutdown()).await.is_ok())
}

fn permit_for(
    limiter: &ConnectionLimiter,
    connection: &TcpStream,
    theirs: SocketAddr,
) -> Option<ConnectionPermit> {
    let who = PeerIdentity::of_tcp(connection.local_addr().ok()?, theirs);
    let permit = limiter.acquire(who);
    if permit.is_none() {
        tracing::warn!("a connection of {who} was refused: too many are open");
    }
    permit
}

/// Files are what else this process needs descriptors for: debug sessions, builds, the tools' own.
fn limits() -> ConnectionLimits {
    let open = rustix::process::getrlimit(rustix::process::Resource::Nofile).current;
    let open = open.and_then(|open| usize::try_from(open).ok()).unwrap_or(usize::MAX);
    ConnectionLimits { all: MAX_CONNECTIONS.min(open / 4), each: MAX_CONNECTIONS_PER_PEER }
}

/// A connection; `None` after an error that may not occur again.
async fn accepted_connection<T>(accepted: std::io::Result<T>) -> anyhow::Result<Option<T>> {
    use rustix::io::Errno;
    let error = match accepted {
        Ok(connection) => return Ok(Some(connection)),
        Err(error) => error,
    };
    match Errno::from_io_error(&error) {
        // The client is gone again.
        Some(Errno::CONNABORTED | Errno::CONNRESET | Errno::INTR) => Ok(None),
        Some(Errno::MFILE | Errno::NFILE | Errno::NOBUFS | Errno::NOMEM) => {
            tracing::warn!(%error, "a connection waits");
            tokio::time::sleep(ACCEPT_RETRY_INTERVAL).await;
            Ok(None)
        }
        _ => Err(error).context("the HTTP server failed"),
    }
}
