//! Fetches a file: one GET, including redirections, within limits of size and time. Dropping the future
//! cancels it immediately and closes its connection. It never sends cookies, credentials or referrers, and
//! writes no file.
//!
//! Proxies come from the environment (`HTTPS_PROXY`, `ALL_PROXY`, `NO_PROXY`; `http://` and `socks5://`
//! ones), roots of trust from the system (`SSL_CERT_FILE` and `SSL_CERT_DIR` name others).

use std::io::Read;
use std::sync::OnceLock;
use std::time::Duration;

use bytes::Bytes;
use http::header::{ACCEPT_ENCODING, CONTENT_ENCODING, CONTENT_LENGTH, LOCATION, USER_AGENT};
use http::{HeaderName, HeaderValue, Request, Response, StatusCode};
use http_body_util::{BodyExt, Empty};
use hyper::body::Incoming;
use hyper_rustls::{HttpsConnector, HttpsConnectorBuilder};
use hyper_util::client::legacy::Client as Pool;
use hyper_util::client::legacy::connect::HttpConnector;
use hyper_util::client::legacy::connect::proxy::{SocksV5, Tunnel};
use hyper_util::client::proxy::matcher::{Intercept, Matcher};
use hyper_util::rt::TokioExecutor;

use crate::address::{DownloadUrl, UrlError};

/// Maximum time to establish a connection.
const CONNECT_TIMEOUT: Duration = Duration::from_secs(15);
/// Time after which an idle connection is closed.
const IDLE_TIMEOUT: Duration = Duration::from_secs(20);
/// Maximum number of redirections in a row.
const MAX_REDIRECTIONS: usize = 5;
/// `User-Agent` of requests.
const AGENT: &str = concat!("tandem-dap/", env!("CARGO_PKG_VERSION"));

/// Limits of size and time for one file.
#[derive(Debug, Clone, Copy)]
pub struct DownloadLimits {
    /// Maximum size in bytes, unpacked.
    pub bytes: usize,
    /// Maximum time without a byte from the server.
    pub idle_timeout: Duration,
    /// Maximum time for the whole download.
    pub time: Duration,
}

/// The reason why a file was not fetched.
#[derive(Debug, thiserror::Error)]
pub enum DownloadError {
    /// The server does not have the file.
    #[error("`{0}` has no such file")]
    Absent(String),
    /// The server requires credentials, which are never sent.
    #[error("`{host}` refuses it (HTTP {status}); credentials are never sent")]
    Denied {
        /// The host that sent the response.
        host: String,
        /// The status: 401, 403 or 407.
        status: u16,
    },
    /// The server responds with any other status.
    #[error("`{host}` answers HTTP {status}")]
    Status {
        /// The host that sent the response.
        host: String,
        /// The HTTP status of the response.
        status: u16,
    },
    /// A redirection to a host that is not allowed.
    #[error("`{from}` redirects to `{to}`, which is not allowed")]
    Redirected {
        /// The host that redirects.
        from: String,
        /// The host that is not allowed.
        to: String,
    },
    /// Too many redirections, or a cycle of them.
    #[error("`{0}` redirects in a circle, or too often")]
    Circle(String),
    /// A redirection to an address that is never fetched.
    #[error("`{host}` redirects to an address that is never fetched: {reason}")]
    Nowhere {
        /// The host that redirects.
        host: String,
        /// Why the address cannot be used.
        reason: UrlError,
    },
    /// The file is larger than the limit.
    #[error("`{host}` sends more than {limit} bytes")]
    TooLarge {
        /// The host that sends too much.
        host: String,
        /// The limit that was exceeded, in bytes.
        limit: usize,
    },
    /// The server is slower than the limits.
    #[error("`{0}` does not answer in time")]
    TooSlow(String),
    /// The file is damaged, or compressed in a way that was not requested.
    #[error("`{0}` sent data that cannot be decompressed")]
    Damaged(String),
    /// No connection, no TLS, or the connection was lost.
    #[error("cannot fetch from `{host}`: {reason}")]
    Unreachable {
        /// The host that cannot be reached.
        host: String,
        /// The reason, if it is known.
        reason: String,
    },
}

type Direct = Pool<HttpsConnector<HttpConnector>, Empty<Bytes>>;
type Tunnelled = Pool<HttpsConnector<Tunnel<HttpConnector>>, Empty<Bytes>>;
type Socks = Pool<HttpsConnector<SocksV5<HttpConnector>>, Empty<Bytes>>;

/// Connections to servers, and through proxies.
#[derive(Default)]
pub struct DownloadClient {
    proxies: OnceLock<Matcher>,
    direct: OnceLock<Result<Direct, String>>,
    tunnelled: OnceLock<Result<Tunnelled, String>>,
    socks: OnceLock<Result<Socks, String>>,
}

impl DownloadClient {
    /// Fetches a file. `headers` are sent with the request. `allows` is called before each
    /// redirection to another host.
    ///
    /// # Errors
    /// The reason why there is no file.
    pub async fn get(
        &self,
        address: &DownloadUrl,
        headers: &[(HeaderName, HeaderValue)],
        limits: DownloadLimits,
        allows: &(dyn Fn(&DownloadUrl) -> bool + Sync),
    ) -> Result<Vec<u8>, DownloadError> {
        let whole = self.follow(address, headers, limits, allows);
        let late = |_| Err(DownloadError::TooSlow(address.authority().to_owned()));
        tokio::time::timeout(limits.time, whole).await.unwrap_or_else(late)
    }

    async fn follow(
        &self,
        address: &DownloadUrl,
        headers: &[(HeaderName, HeaderValue)],
        limits: DownloadLimits,
        allows: &(dyn Fn(&DownloadUrl) -> bool + Sync),
    ) -> Result<Vec<u8>, DownloadError> {
        let mut seen = vec![address.clone()];
        loop {
            let at = seen.last().unwrap_or(address).clone();
            let host = at.authority().to_owned();
            let answer = tokio::time::timeout(limits.idle_timeout, self.ask(&at, headers)).await;
            let answer = answer.map_err(|_| DownloadError::TooSlow(host.clone()))??;
            let location = answer.headers().get(LOCATION).and_then(|location| location.to_str().ok());
            match (answer.status(), location) {
                (StatusCode::OK, _) => return body(host, answer, limits).await,
                (StatusCode::NOT_FOUND | StatusCode::GONE, _) => return Err(DownloadError::Absent(host)),
                (status, Some(location)) if status.is_redirection() => {
                    let next = at
                        .join(location)
                        .map_err(|reason| DownloadError::Nowhere { host: host.clone(), reason })?;
                    if seen.contains(&next) || seen.len() > MAX_REDIRECTIONS {
                        return Err(DownloadError::Circle(host));
                    }
                    if next.authority() != at.authority() && !allows(&next) {
                        return Err(DownloadError::Redirected {
                            from: host,
                            to: next.authority().to_owned(),
                        });
                    }
                    seen.push(next);
                }
                (status, _) if matches!(status.as_u16(), 401 | 403 | 407) => {
                    return Err(DownloadError::Denied { host, status: status.as_u16() });
                }
                (status, _) => return Err(DownloadError::Status { host, status: status.as_u16() }),
            }
        }
    }

    async fn ask(
        &self,
        address: &DownloadUrl,
        headers: &[(HeaderName, HeaderValue)],
    ) -> Result<Response<Incoming>, DownloadError> {
        let unreachable =
            |reason: String| DownloadError::Unreachable { host: address.authority().to_owned(), reason };
        let mut request = Request::get(address.uri().clone())
            .header(USER_AGENT, AGENT)
            .header(ACCEPT_ENCODING, "gzip")
            .body(Empty::new())
            .map_err(|error| unreachable(error.to_string()))?;
        request.headers_mut().extend(headers.iter().cloned());
        let proxies = self.proxies.get_or_init(Matcher::from_env);
        // A server on this machine is reached without a proxy.
        let proxy = proxies.intercept(address.uri()).filter(|_| !address.is_this_machine());
        let sent = match proxy.as_ref().map(|proxy| (proxy, proxy.uri().scheme_str().unwrap_or("http"))) {
            None => {
                let pool = self.direct.get_or_init(|| build_pool(direct()));
                pool.as_ref().map_err(|reason| unreachable(reason.clone()))?.request(request).await
            }
            Some((proxy, "http")) => {
                let pool = self.tunnelled.get_or_init(|| build_pool(tunnel(proxy)));
                pool.as_ref().map_err(|reason| unreachable(reason.clone()))?.request(request).await
            }
            Some((proxy, scheme @ ("socks5" | "socks5h"))) => {
                let pool = self.socks.get_or_init(|| build_pool(socks(proxy, scheme == "socks5")));
                pool.as_ref().map_err(|reason| unreachable(reason.clone()))?.request(request).await
            }
            Some((_, scheme)) => {
                return Err(unreachable(format!(
                    "the proxy that the environment names is of the kind `{scheme}`, and only `http` and \
                        `socks5` ones are used"
                )));
            }
        };
        sent.map_err(|error| unreachable(causes(&error)))
    }
}

fn direct() -> HttpConnector {
    let mut connector = HttpConnector::new();
    connector.set_connect_timeout(Some(CONNECT_TIMEOUT));
    connector.enforce_http(false);
    connector
}

fn tunnel(proxy: &Intercept) -> Tunnel<HttpConnector> {
    let tunnel = Tunnel::new(proxy.uri().clone(), direct());
    match proxy.basic_auth() {
        Some(credentials) => tunnel.with_auth(credentials.clone()),
        None => tunnel,
    }
}

fn socks(proxy: &Intercept, is_resolved_here: bool) -> SocksV5<HttpConnector> {
    let connector = SocksV5::new(proxy.uri().clone(), direct()).local_dns(is_resolved_here);
    match proxy.raw_auth() {
        Some((user, password)) => connector.with_auth(user.to_owned(), password.to_owned()),
        None => connector,
    }
}

/// Creates connections that use the system's root certificates.
fn build_pool<C>(connector: C) -> Result<Pool<HttpsConnector<C>, Empty<Bytes>>, String>
where
    HttpsConnector<C>: hyper_util::client::legacy::connect::Connect + Clone,
{
    let builder = HttpsConnectorBuilder::new()
        .with_native_roots()
        .map_err(|error| format!("the system's certificates cannot be read: {error}"))?;
    let connector = builder.https_or_http().enable_http1().wrap_connector(connector);
    Ok(Pool::builder(TokioExecutor::new()).pool_idle_timeout(IDLE_TIMEOUT).build(connector))
}

/// An error and its sources, in one line.
fn causes(error: &dyn std::error::Error) -> String {
    let mut text = error.to_string();
    let mut next = error.source();
    while let Some(cause) = next {
        let cause_text = cause.to_string();
        if !text.contains(&cause_text) {
            text = format!("{text}: {cause_text}");
        }
        next = cause.source();
    }
    text
}

/// Reads the body of a response, and unpacks it.
async fn body(
    host: String,
    answer: Response<Incoming>,
    limits: DownloadLimits,
) -> Result<Vec<u8>, DownloadError> {
    let too_large = |host: String| DownloadError::TooLarge { host, limit: limits.bytes };
    let header = |name| answer.headers().get(name).and_then(|value: &HeaderValue| value.to_str().ok());
    if header(CONTENT_LENGTH)
        .and_then(|length| length.parse().ok())
        .is_some_and(|length: usize| length > limits.bytes)
    {
        return Err(too_large(host));
    }
    let is_packed = match header(CONTENT_ENCODING) {
        None | Some("identity" | "") => false,
        Some("gzip" | "x-gzip") => true,
        Some(_) => return Err(DownloadError::Damaged(host)),
    };
    let (mut rest, mut whole) = (answer.into_body(), Vec::new());
    loop {
        let frame = tokio::time::timeout(limits.idle_timeout, rest.frame()).await;
        let Some(frame) = frame.map_err(|_| DownloadError::TooSlow(host.clone()))? else { break };
        let frame = frame
            .map_err(|error| DownloadError::Unreachable { host: host.clone(), reason: causes(&error) })?;
        let Ok(data) = frame.into_data() else { continue };
        if whole.len() + data.len() > limits.bytes {
            return Err(too_large(host));
        }
        whole.extend_from_slice(&data);
    }
    if !is_packed {
        return Ok(whole);
    }
    let mut unpacked = Vec::new();
    let one_more = limits.bytes as u64 + 1;
    let read = flate2::read::MultiGzDecoder::new(whole.as_slice()).take(one_more).read_to_end(&mut unpacked);
    match read {
        Err(_) => Err(DownloadError::Damaged(host)),
        Ok(count) if count > limits.bytes => Err(too_large(host)),
        Ok(_) => Ok(unpacked),
    }
}
