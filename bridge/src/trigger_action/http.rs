//! One HTTP request to this machine: the host must be a loopback address, or `localhost`, which is not
//! resolved.
//!
//! Not here: when it is sent, and the answer of the call ([`super`]).

use std::net::{IpAddr, Ipv4Addr, Ipv6Addr, SocketAddr};
use std::time::Duration;

use http_body_util::{BodyExt, Full, Limited};
use hyper::body::Bytes;
use hyper::{Method, Uri};
use hyper_util::rt::TokioIo;
use serde::Deserialize;
use serde_json::{Map, Value};
use tandem_wire::{ErrorCode, Failure, types};
use tokio::net::TcpStream;
use tokio::time::Instant;

use crate::arguments::kind;
use crate::trigger::TriggerOutcome;

/// Time limit of a request: a program that is stopped does not answer.
const MAX_DURATION: Duration = Duration::from_secs(600);
/// Time limit for a server to listen.
const LISTEN_TIMEOUT: Duration = Duration::from_secs(30);
/// Interval between attempts to connect.
const RETRY_INTERVAL: Duration = Duration::from_millis(50);
/// Largest body that is read, bytes.
const MAX_BODY_BYTES: usize = 1 << 20;
/// Maximum characters of the body that are reported.
const MAX_REPORTED_CHARS: usize = 2000;

/// An HTTP request to this machine.
#[derive(Debug)]
pub(super) struct HttpRequest {
    method: Method,
    uri: Uri,
    headers: Vec<(String, String)>,
    body: String,
}

/// The options of a request, as a call has them.
#[derive(Default, Deserialize)]
#[serde(default)]
struct RequestOptions {
    #[serde(deserialize_with = "types::required")]
    url: String,
    #[serde(deserialize_with = "types::optional")]
    method: Option<String>,
    #[serde(deserialize_with = "types::required")]
    headers: Map<String, Value>,
    /// A text, or a value that is sent as JSON.
    body: Value,
}

impl HttpRequest {
    /// Reads `url`, `method`, `headers`, `body`.
    ///
    /// # Errors
    /// `INVALID_PARAMETER`; `ACCESS_DENIED` for another machine.
    pub(super) fn parse(given: &Value) -> Result<Self, Failure> {
        Self::of(types::read(given))
    }

    /// A request without further options.
    ///
    /// # Errors
    /// As [`parse`](Self::parse).
    pub(super) fn to_url(url: &str) -> Result<Self, Failure> {
        Self::of(RequestOptions { url: url.to_owned(), ..RequestOptions::default() })
    }

    fn of(given: RequestOptions) -> Result<Self, Failure> {
        let url = &given.url;
        let wrong = |why: &str| Failure::invalid(format!("`trigger.url` is `{url}`: {why}"));
        let uri: Uri = url.parse().map_err(|_| wrong("it is not a URL"))?;
        if uri.scheme_str() != Some("http") {
            return Err(wrong("it must begin with http://"));
        }
        let host = uri.host().ok_or_else(|| wrong("it has no host"))?;
        if addresses(host).is_empty() {
            return Err(Failure::new(ErrorCode::AccessDenied, format!("`{host}` is not this machine"))
                .hint("a trigger reaches localhost, 127.0.0.1 and [::1] only"));
        }
        let usual = if given.body.is_null() { "GET" } else { "POST" };
        let method = given.method.as_deref().unwrap_or(usual);
        let method = Method::from_bytes(method.as_bytes())
            .map_err(|_| Failure::invalid(format!("`trigger.method` is `{method}`")))?;
        let headers = given.headers.iter();
        let body = match &given.body {
            Value::Null => String::new(),
            Value::String(text) => text.clone(),
            other => other.to_string(),
        };
        Ok(Self {
            method,
            uri: uri.clone(),
            headers: headers
                .map(|(name, value)| (name.clone(), kind::text(value).unwrap_or_default()))
                .collect(),
            body,
        })
    }

    /// Returns a description for the answer.
    pub(super) fn description(&self) -> String {
        format!("{} {}", self.method, self.uri)
    }

    /// Sends it, once the server listens; returns `status` and `body`.
    ///
    /// # Errors
    /// `IO_FAILED` when no server listens or the connection fails, `TIMEOUT`.
    pub(super) async fn send(self) -> Result<TriggerOutcome, Failure> {
        let what = self.description();
        let failed = |why: String| Failure::new(ErrorCode::IoFailed, format!("`{what}` failed: {why}"));
        tokio::time::timeout(MAX_DURATION, self.exchange())
            .await
            .map_err(|_| {
                let seconds = MAX_DURATION.as_secs();
                Failure::new(ErrorCode::Timeout, format!("`{what}` was not answered within {seconds} s"))
            })?
            .map_err(failed)
    }

    async fn exchange(self) -> Result<TriggerOutcome, String> {
        let stream = connect(&self.uri).await?;
        let text = |error: hyper::Error| error.to_string();
        let (mut sender, connection) =
            hyper::client::conn::http1::handshake(TokioIo::new(stream)).await.map_err(text)?;
        let driving = tokio::spawn(async move { drop(connection.await) });
        let host = self.uri.authority().map(|authority| authority.as_str().to_owned()).unwrap_or_default();
        let path = self.uri.path_and_query().map_or("/", |path| path.as_str());
        let mut request = hyper::Request::builder().method(self.method).uri(path).header("host", host);
        request = request.header("connection", "close");
        let has_type = self.headers.iter().any(|(name, _)| name.eq_ignore_ascii_case("content-type"));
        if !has_type && self.body.starts_with(['{', '[']) {
            request = request.header("content-type", "application/json");
        }
        for (name, value) in self.headers {
            request = request.header(name, value);
        }
        let request = request.body(Full::new(Bytes::from(self.body))).map_err(|error| error.to_string())?;
        let response = sender.send_request(request).await.map_err(text)?;
        let status = response.status().as_u16();
        let body = Limited::new(response.into_body(), MAX_BODY_BYTES).collect().await;
        driving.abort();
        let body = body.map_err(|error| error.to_string())?.to_bytes();
        let body = String::from_utf8_lossy(&body);
        let short: String = body.chars().take(MAX_REPORTED_CHARS).collect();
        let omitted = Some(body.len() - short.len()).filter(|omitted| *omitted > 0);
        Ok(TriggerOutcome::Response { status, omitted, body: short })
    }
}

async fn connect(uri: &Uri) -> Result<TcpStream, String> {
    let port = uri.port_u16().unwrap_or(80);
    let to: Vec<SocketAddr> =
        uri.host().map(addresses).into_iter().flatten().map(|ip| SocketAddr::new(ip, port)).collect();
    let until = Instant::now() + LISTEN_TIMEOUT;
    loop {
        // It tries the addresses in their order.
        match TcpStream::connect(to.as_slice()).await {
            Ok(stream) => return Ok(stream),
            Err(error) if Instant::now() > until => {
                let tried: Vec<String> = to.iter().map(SocketAddr::to_string).collect();
                return Err(format!("{}: {error}", tried.join(", ")));
            }
            Err(_) => tokio::time::sleep(RETRY_INTERVAL).await,
        }
    }
}

/// The addresses of loopback that a host means: a server on `localhost` may listen on one of them only.
fn addresses(host: &str) -> Vec<IpAddr> {
    if host.eq_ignore_ascii_case("localhost") {
        return vec![Ipv4Addr::LOCALHOST.into(), Ipv6Addr::LOCALHOST.into()];
    }
    let ip: Option<IpAddr> = host.trim_matches(['[', ']']).parse().ok();
    ip.filter(IpAddr::is_loopback).into_iter().collect()
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[tokio::test]
    async fn localhost_is_reached_at_both_of_its_addresses() {
        for ip in addresses("localhost") {
            // A machine may have no IPv6.
            let Ok(server) = tokio::net::TcpListener::bind((ip, 0)).await else { continue };
            let port = server.local_addr().unwrap().port();
            let uri = format!("http://localhost:{port}/").parse().unwrap();
            let stream = connect(&uri).await.unwrap();
            assert_eq!(stream.peer_addr().unwrap(), SocketAddr::new(ip, port));
        }
    }

    #[test]
    fn only_this_machine_is_reached() {
        for url in ["http://localhost:5/x?a=b", "http://127.0.0.1:5/", "http://[::1]:5/", "http://127.9.9.9/"]
        {
            assert!(HttpRequest::parse(&json!({ "url": url })).is_ok(), "{url}");
        }
        for url in [
            "http://example.org/",
            "http://169.254.169.254/",
            "http://localhost.evil.org/",
            "http://0.0.0.0/",
        ] {
            let refused = HttpRequest::parse(&json!({ "url": url })).unwrap_err();
            assert_eq!(refused.code, ErrorCode::AccessDenied, "{url}");
        }
        let counted = json!({ "url": "http://localhost/", "headers": { "X-Count": 5.0, "X-On": true } });
        let headers = HttpRequest::parse(&counted).unwrap().headers;
        assert_eq!(headers, [("X-Count".into(), "5".into()), ("X-On".into(), "true".into())]);
        for url in ["https://localhost/", "file:///etc/passwd", "", "/x", "http://"] {
            let refused = HttpRequest::parse(&json!({ "url": url })).unwrap_err();
            assert_eq!(refused.code, ErrorCode::InvalidParameter, "{url}");
        }
    }
}
