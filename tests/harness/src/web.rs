//! A web server on loopback that behaves as a test defines: the requests that it gets, its answers, and
//! whether connections to it are still open.

use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::{Duration, Instant};

use anyhow::Context;
use tokio::io::{AsyncRead, AsyncReadExt, AsyncWrite, AsyncWriteExt};
use tokio::net::{TcpListener, TcpStream};
use tokio::task::JoinHandle;
use tokio_rustls::TlsAcceptor;
use tokio_rustls::rustls::ServerConfig;
use tokio_rustls::rustls::pki_types::pem::PemObject;
use tokio_rustls::rustls::pki_types::{CertificateDer, PrivateKeyDer};

use crate::deadline::deadline;
use crate::fixture;

/// Maximum size of a request, bytes.
const MAX_REQUEST_LEN: usize = 64 * 1024;
/// The deadline for an expected request, s.
const TIMEOUT_SECS: u64 = 30;

/// The answer to one request.
#[derive(Debug, Clone)]
pub enum Reply {
    /// Status 200 with a body.
    Body(Vec<u8>),
    /// A status, headers as `Name: value` lines, and a body.
    Whole(u16, Vec<String>, Vec<u8>),
    /// Status 302 to this address.
    Redirect(String),
    /// No response, and the connection stays open.
    Silence,
    /// A body without an end, sent as fast as the client reads.
    Endless,
    /// A body without an end, one byte each 100 ms.
    Drip,
}

impl Reply {
    /// A reply with status 404.
    pub fn absent() -> Self {
        Self::Whole(404, Vec::new(), Vec::new())
    }
}

type Answers = Arc<dyn Fn(&str) -> Reply + Send + Sync>;

#[derive(Default)]
struct ServerActivity {
    requests: Mutex<Vec<String>>,
    open: AtomicUsize,
}

/// The server; it ends when this is dropped.
pub struct WebServer {
    port: u16,
    scheme: &'static str,
    seen: Arc<ServerActivity>,
    task: JoinHandle<()>,
}

impl WebServer {
    /// Starts one that answers each path, with its query, so.
    ///
    /// # Errors
    /// When there is no port.
    pub async fn start(answer: impl Fn(&str) -> Reply + Send + Sync + 'static) -> anyhow::Result<Self> {
        Self::serve(Arc::new(answer), None).await
    }

    /// As [`start`](Self::start) with TLS, by the certificate of `fixtures/tls`
    /// (`localhost`, `sources.example`).
    ///
    /// # Errors
    /// When there is no port, or no certificate.
    pub async fn start_tls(answer: impl Fn(&str) -> Reply + Send + Sync + 'static) -> anyhow::Result<Self> {
        let folder = fixture::root().join("fixtures/tls");
        let certificate = CertificateDer::from_pem_file(folder.join("server.pem"))?;
        let key = PrivateKeyDer::from_pem_file(folder.join("server.key"))?;
        let provider = Arc::new(tokio_rustls::rustls::crypto::ring::default_provider());
        let config = ServerConfig::builder_with_provider(provider)
            .with_safe_default_protocol_versions()?
            .with_no_client_auth()
            .with_single_cert(vec![certificate], key)?;
        Self::serve(Arc::new(answer), Some(TlsAcceptor::from(Arc::new(config)))).await
    }

    async fn serve(answer: Answers, tls: Option<TlsAcceptor>) -> anyhow::Result<Self> {
        let listener = TcpListener::bind("127.0.0.1:0").await?;
        let port = listener.local_addr()?.port();
        let scheme = if tls.is_some() { "https" } else { "http" };
        let seen = Arc::new(ServerActivity::default());
        let shared = seen.clone();
        let task = tokio::spawn(async move {
            let mut connections = tokio::task::JoinSet::new();
            while let Ok((socket, _)) = listener.accept().await {
                let (answer, seen, tls) = (answer.clone(), shared.clone(), tls.clone());
                connections.spawn(async move {
                    seen.open.fetch_add(1, Ordering::SeqCst);
                    // It is not an error here if a client closes the connection.
                    match tls {
                        None => drop(serve_connection(socket, &answer, &seen).await),
                        Some(tls) => {
                            if let Ok(socket) = tls.accept(socket).await {
                                drop(serve_connection(socket, &answer, &seen).await);
                            }
                        }
                    }
                    seen.open.fetch_sub(1, Ordering::SeqCst);
                });
            }
        });
        Ok(Self { port, scheme, seen, task })
    }

    /// The address of a path that begins with `/`.
    pub fn url(&self, path: &str) -> String {
        let host = if self.scheme == "https" { "localhost" } else { "127.0.0.1" };
        format!("{}://{host}:{}{path}", self.scheme, self.port)
    }

    /// The port on which it listens.
    pub fn port(&self) -> u16 {
        self.port
    }

    /// The heads of the requests so far.
    pub fn requests(&self) -> Vec<String> {
        self.seen.requests.lock().unwrap_or_else(PoisonError::into_inner).clone()
    }

    /// The paths that were requested so far.
    pub fn paths(&self) -> Vec<String> {
        let path = |head: &String| head.split(' ').nth(1).unwrap_or_default().to_owned();
        self.requests().iter().map(path).collect()
    }

    /// Waits until so many requests have come.
    ///
    /// # Errors
    /// Fails after the deadline.
    pub async fn wait_for_requests(&self, count: usize) -> anyhow::Result<()> {
        self.wait(|| self.requests().len() >= count).await.context("not asked so often")
    }

    /// Waits until no client is connected.
    ///
    /// # Errors
    /// Fails after the deadline.
    pub async fn wait_until_idle(&self) -> anyhow::Result<()> {
        self.wait(|| self.seen.open.load(Ordering::SeqCst) == 0).await.context("a connection is still open")
    }

    async fn wait(&self, holds: impl Fn() -> bool) -> anyhow::Result<()> {
        let end = Instant::now() + deadline(TIMEOUT_SECS);
        while !holds() {
            anyhow::ensure!(Instant::now() < end, "still waiting, requests: {:?}", self.requests());
            tokio::time::sleep(Duration::from_millis(5)).await;
        }
        Ok(())
    }
}

impl Drop for WebServer {
    fn drop(&mut self) {
        self.task.abort();
    }
}

/// Answers one request after the other until the client hangs up.
async fn serve_connection(
    mut socket: impl AsyncRead + AsyncWrite + Unpin,
    answer: &Answers,
    seen: &ServerActivity,
) -> std::io::Result<()> {
    loop {
        let head = head(&mut socket).await?;
        let path = head.split(' ').nth(1).unwrap_or_default().to_owned();
        seen.requests.lock().unwrap_or_else(PoisonError::into_inner).push(head);
        let (status, headers, body) = match answer(&path) {
            Reply::Body(body) => (200, Vec::new(), body),
            Reply::Whole(status, headers, body) => (status, headers, body),
            Reply::Redirect(to) => (302, vec![format!("Location: {to}")], Vec::new()),
            Reply::Silence => return wait_for_end(&mut socket).await,
            Reply::Endless => {
                socket.write_all(b"HTTP/1.1 200 OK\r\n\r\n").await?;
                loop {
                    socket.write_all(&[b'x'; 4096]).await?;
                }
            }
            Reply::Drip => {
                socket.write_all(b"HTTP/1.1 200 OK\r\n\r\n").await?;
                loop {
                    socket.write_all(b"x").await?;
                    socket.flush().await?;
                    tokio::time::sleep(Duration::from_millis(100)).await;
                }
            }
        };
        let headers: String = headers.iter().map(|line| format!("{line}\r\n")).collect();
        let length = body.len();
        let head = format!("HTTP/1.1 {status} X\r\nContent-Length: {length}\r\n{headers}\r\n");
        socket.write_all(head.as_bytes()).await?;
        socket.write_all(&body).await?;
        socket.flush().await?;
    }
}

/// The head of a request, as text.
async fn head(socket: &mut (impl AsyncRead + Unpin)) -> std::io::Result<String> {
    let mut head = Vec::new();
    while !head.ends_with(b"\r\n\r\n") {
        if head.len() > MAX_REQUEST_LEN {
            return Err(std::io::ErrorKind::InvalidData.into());
        }
        head.push(socket.read_u8().await?);
    }
    Ok(String::from_utf8_lossy(&head).into_owned())
}

async fn wait_for_end(socket: &mut (impl AsyncRead + Unpin)) -> std::io::Result<()> {
    let mut rest = [0; 1024];
    while socket.read(&mut rest).await? > 0 {}
    Ok(())
}

/// A proxy on loopback that connects every client to one port, whichever host it names; `requests` collects
/// the headers of its requests.
///
/// # Errors
/// Starts a proxy on loopback that connects every client to one port, whichever host it names;
/// `requests` collects the headers.
pub async fn proxy_to(port: u16, requests: Arc<Mutex<Vec<String>>>) -> anyhow::Result<u16> {
    let listener = TcpListener::bind("127.0.0.1:0").await?;
    let own = listener.local_addr()?.port();
    tokio::spawn(async move {
        while let Ok((mut socket, _)) = listener.accept().await {
            let requests = requests.clone();
            tokio::spawn(async move {
                let head = head(&mut socket).await?;
                requests.lock().unwrap_or_else(PoisonError::into_inner).push(head);
                let mut target = TcpStream::connect(("127.0.0.1", port)).await?;
                socket.write_all(b"HTTP/1.1 200 OK\r\n\r\n").await?;
                tokio::io::copy_bidirectional(&mut socket, &mut target).await.map(drop)
            });
        }
    });
    Ok(own)
}
