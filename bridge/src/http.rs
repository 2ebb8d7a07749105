//! MCP over streamable HTTP. Each MCP session is a separate bridge: its debug sessions, builds
//! and commands end with it.
//!
//! A request needs the bearer token ([`token`]) and a `Host` that is allowed, so that a web page cannot reach
//! the bridge through a host name that resolves to this machine. A request with an `Origin` is refused.
//! Bodies are bounded. Without a flag, the bridge listens on loopback only. No client can keep agents out by
//! opening connections: see [`connections`].
//!
//! Protocol versions before 2026-07-28 are spoken: from then on MCP has no sessions that debug sessions could
//! end with.

mod body;
mod connections;
pub mod token;

use std::net::SocketAddr;
use std::path::PathBuf;
use std::sync::Arc;
use std::time::Duration;

use anyhow::{Context, bail};
use axum::Router;
use axum::extract::{Request, State};
use axum::http::{HeaderMap, StatusCode, header};
use axum::middleware::{Next, from_fn_with_state};
use axum::response::{IntoResponse, Response};
use rmcp::transport::streamable_http_server::session::local::LocalSessionManager;
use rmcp::transport::streamable_http_server::{StreamableHttpServerConfig, StreamableHttpService};
use tokio::net::TcpListener;
use tokio_util::sync::CancellationToken;

use crate::bridge_options::BridgeOptions;
use crate::call_order::CallOrder;
use crate::server::Bridge;
use token::BearerToken;

/// Path of the MCP endpoint.
pub const PATH: &str = "/mcp";
/// Larger requests are refused.
const MAX_BODY_BYTES: usize = 16 << 20;
/// Lifetime of an MCP session without requests; its agent may be waiting for a person.
const IDLE_TIMEOUT: Duration = Duration::from_secs(60 * 60);
/// Time for open requests to finish, and then for debug sessions to end.
const SHUTDOWN_TIMEOUT: Duration = Duration::from_secs(10);

/// Address, host names and token of the HTTP server.
#[derive(Debug)]
pub struct ListenOptions {
    /// `HOST:PORT`; port 0 takes a free one.
    pub address: String,
    /// Allows an address that other machines can reach.
    pub remote: bool,
    /// Host names that clients may use, besides those of loopback.
    pub hosts: Vec<String>,
    /// The file with the token that clients must send; `None` for the default file.
    pub token_file: Option<PathBuf>,
}

/// Serves until `stop`; then new requests are refused, open ones are cancelled, and every session ends.
///
/// # Errors
/// When the address cannot be listened on, or must not be.
pub async fn serve(
    listen: ListenOptions,
    options: BridgeOptions,
    stop: CancellationToken,
) -> anyhow::Result<()> {
    let address = resolve(&listen).await?;
    let listener =
        TcpListener::bind(address).await.with_context(|| format!("cannot listen on `{address}`"))?;
    let address = listener.local_addr()?;
    // A new one is shown once: not by a server that then cannot start.
    let token = BearerToken::find(listen.token_file)?;
    let endings = options.endings.clone();

    let mut sessions = LocalSessionManager::default();
    sessions.session_config.keep_alive = Some(IDLE_TIMEOUT);
    let hosts = ["localhost", "127.0.0.1", "::1"].map(str::to_owned).into_iter().chain(listen.hosts);
    let config = StreamableHttpServerConfig::default()
        .with_allowed_hosts(hosts.chain([address.ip().to_string()]))
        .enforce_origin_validation()
        .with_max_request_body_bytes(MAX_BODY_BYTES)
        .with_cancellation_token(stop.child_token());
    let bridges = move || Ok(Bridge::new(options.clone()));
    let service = StreamableHttpService::new(bridges, Arc::new(sessions), config);
    // Layers run from the last to the first: no body is read before the token was checked.
    let router = Router::new().route_service(PATH, service);
    let router = router.layer(from_fn_with_state(CallOrder::default(), body::readable));
    let router = router.layer(from_fn_with_state(Arc::new(token), authenticate));

    // The one line a person needs; not the log's, which may go elsewhere.
    tandem_log::say(&format!("tandem-mcp: listening on http://{address}{PATH}"));
    if !connections::serve(&listener, router, stop, SHUTDOWN_TIMEOUT).await? {
        tracing::warn!("some requests did not end");
    }
    endings.close();
    if tokio::time::timeout(SHUTDOWN_TIMEOUT, endings.wait()).await.is_err() {
        tracing::warn!("some sessions did not end");
    }
    Ok(())
}

async fn resolve(listen: &ListenOptions) -> anyhow::Result<SocketAddr> {
    let found = tokio::net::lookup_host(&listen.address).await;
    let found = found.with_context(|| format!("`--http {}` is not HOST:PORT", listen.address))?.next();
    let address = found.with_context(|| format!("`{}` has no address", listen.address))?;
    if !address.ip().is_loopback() && !listen.remote {
        bail!(
            "`{}` can be reached from other machines, and what passes is not encrypted; \
             use 127.0.0.1, or add --http-allow-remote if that is meant",
            listen.address
        );
    }
    Ok(address)
}

/// Accepts requests with the right token, and removes it from them: later handlers may log their requests.
async fn authenticate(State(token): State<Arc<BearerToken>>, mut request: Request, next: Next) -> Response {
    // Which of two names counts is what a proxy and we could see differently (RFC 9112, 3.2).
    if request.headers().get_all(header::HOST).iter().count() > 1 {
        return (StatusCode::BAD_REQUEST, "a request names its host once\n").into_response();
    }
    let shown = bearer(request.headers()).is_some_and(|shown| token.is(shown));
    if !shown {
        let headers = [(header::WWW_AUTHENTICATE, "Bearer")];
        let text =
            "the bearer token is missing or wrong: tandem-mcp prints it, or its file, when it starts\n";
        return (StatusCode::UNAUTHORIZED, headers, text).into_response();
    }
    let headers = request.headers_mut();
    headers.remove(header::AUTHORIZATION);
    // Same origin: the bridge serves no pages, but some clients send such an `Origin`. The host is checked
    // later: a host name of others that resolves to this machine is refused there.
    if same_origin(headers) {
        headers.remove(header::ORIGIN);
    }
    next.run(request).await
}

/// Whether the only `Origin` is the very address the request was sent to.
fn same_origin(headers: &HeaderMap) -> bool {
    let mut given = headers.get_all(header::ORIGIN).iter();
    let (Some(origin), None) = (given.next(), given.next()) else { return false };
    let host = headers.get(header::HOST).map(|host| [b"http://", host.as_bytes()].concat());
    host.is_some_and(|host| host.eq_ignore_ascii_case(origin.as_bytes()))
}

fn bearer(headers: &HeaderMap) -> Option<&[u8]> {
    let mut given = headers.get_all(header::AUTHORIZATION).iter();
    // Two tokens are as invalid as none: it is unclear which one counts.
    let (Some(value), None) = (given.next(), given.next()) else { return None };
    let (scheme, token) = value.as_bytes().split_at_checked("bearer ".len())?;
    scheme.eq_ignore_ascii_case(b"bearer ").then(|| token.trim_ascii())
}
