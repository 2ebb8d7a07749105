//! MCP over HTTP, by hand: requests as bytes, so that hostile ones can be sent too.

use std::collections::HashMap;
use std::path::Path;
use std::process::Stdio;
use std::sync::{Arc, Mutex, PoisonError};

use anyhow::{Context, bail, ensure};
use serde_json::{Value, json};
use tokio::io::{AsyncBufReadExt, AsyncReadExt, AsyncWriteExt, BufReader};
use tokio::net::TcpStream;
use tokio::process::Child;

use crate::deadline::deadline;
use crate::fixture;
use crate::schema::Schemas;

/// The deadline of each wait, s.
const TIMEOUT_SECS: u64 = 60;

/// A running `tandem-mcp --http`.
pub struct Server {
    child: Child,
    address: String,
    stderr: Arc<Mutex<String>>,
}

/// The answer of a server.
#[derive(Debug)]
pub struct HttpResponse {
    /// The HTTP status code.
    pub status: u16,
    /// Headers and body as they were received.
    pub text: String,
    /// The body without its chunk headers.
    pub body: String,
}

impl Server {
    /// Starts one on a free port of loopback, with a folder as its root. For an empty token it generates one.
    ///
    /// # Errors
    /// If it does not start; contains its stderr.
    pub async fn start(folder: &Path, flags: &[&str], token: &str) -> anyhow::Result<Self> {
        Self::at("127.0.0.1:0", folder, flags, token).await
    }

    /// Starts one that listens there.
    ///
    /// # Errors
    /// If it does not start; contains its stderr.
    pub async fn at(address: &str, folder: &Path, flags: &[&str], token: &str) -> anyhow::Result<Self> {
        Self::with(address, folder, flags, token, &HashMap::new()).await
    }

    /// Starts one with more in its environment.
    ///
    /// # Errors
    /// If it does not start; contains its stderr.
    pub async fn with(
        address: &str,
        folder: &Path,
        flags: &[&str],
        token: &str,
        environment: &HashMap<String, String>,
    ) -> anyhow::Result<Self> {
        let command = tokio::process::Command::new(fixture::binary("tandem-mcp"));
        Self::run(command, address, folder, flags, token, environment).await
    }

    /// Starts one that may open only so many files.
    ///
    /// # Errors
    /// If it does not start; contains its stderr.
    pub async fn start_with_files(files: u32, folder: &Path, token: &str) -> anyhow::Result<Self> {
        let mut command = tokio::process::Command::new("sh");
        command.args(["-c", &format!("ulimit -n {files}; exec \"$0\" \"$@\"")]);
        command.arg(fixture::binary("tandem-mcp"));
        Self::run(command, "127.0.0.1:0", folder, &[], token, &HashMap::new()).await
    }

    async fn run(
        mut command: tokio::process::Command,
        address: &str,
        folder: &Path,
        flags: &[&str],
        token: &str,
        environment: &HashMap<String, String>,
    ) -> anyhow::Result<Self> {
        command.args(["--http", address]).args(flags).current_dir(folder).envs(environment);
        if !token.is_empty() {
            command.env("TANDEM_MCP_TOKEN", token);
        }
        command.stdin(Stdio::null()).stdout(Stdio::null()).stderr(Stdio::piped()).kill_on_drop(true);
        let mut child = command.spawn()?;
        let mut lines = BufReader::new(child.stderr.take().context("no stderr")?).lines();
        let stderr = Arc::new(Mutex::new(String::new()));
        let listening = async {
            while let Some(line) = lines.next_line().await? {
                *stderr.lock().unwrap_or_else(PoisonError::into_inner) += &format!("{line}\n");
                if let Some((_, rest)) = line.split_once("listening on http://") {
                    return Ok(rest.trim_end_matches("/mcp").to_owned());
                }
            }
            bail!("it ends: {}", stderr.lock().unwrap_or_else(PoisonError::into_inner))
        };
        let address =
            tokio::time::timeout(deadline(TIMEOUT_SECS), listening).await.context("it does not listen")??;
        let (hearing, writing) = (stderr.clone(), lines);
        tokio::spawn(async move {
            let mut lines = writing;
            while let Ok(Some(line)) = lines.next_line().await {
                *hearing.lock().unwrap_or_else(PoisonError::into_inner) += &format!("{line}\n");
            }
        });
        Ok(Self { child, address, stderr })
    }

    /// The TCP port on which it listens.
    pub fn port(&self) -> u16 {
        self.address.rsplit(':').next().and_then(|port| port.parse().ok()).unwrap_or_default()
    }

    /// The URL of its MCP endpoint.
    pub fn url(&self) -> String {
        format!("http://{}/mcp", self.address)
    }

    /// The output of the server on stderr so far.
    pub fn stderr(&self) -> String {
        self.stderr.lock().unwrap_or_else(PoisonError::into_inner).clone()
    }

    /// Connects, sends bytes, and reads nothing.
    ///
    /// # Errors
    /// If the server does not accept the connection.
    pub async fn open(&self, bytes: &[u8]) -> anyhow::Result<TcpStream> {
        let mut stream = TcpStream::connect(("127.0.0.1", self.port())).await?;
        stream.write_all(bytes).await?;
        Ok(stream)
    }

    /// Sends bytes; returns the first line that comes back, or nothing when the server hangs up.
    ///
    /// # Errors
    /// When it does neither.
    pub async fn first_line(&self, bytes: &[u8]) -> anyhow::Result<String> {
        let (reader, mut writer) = TcpStream::connect(("127.0.0.1", self.port())).await?.into_split();
        // A server that refuses need not read all of it.
        drop(writer.write_all(bytes).await);
        let mut line = Vec::new();
        let mut reader = BufReader::new(reader);
        let read = reader.read_until(b'\n', &mut line);
        drop(tokio::time::timeout(deadline(TIMEOUT_SECS), read).await.context("no answer")?);
        Ok(String::from_utf8_lossy(&line).trim_end().to_owned())
    }

    /// Sends bytes; returns what comes back until the server hangs up.
    ///
    /// # Errors
    /// If nothing is received.
    pub async fn raw(&self, bytes: &[u8]) -> anyhow::Result<Vec<u8>> {
        let exchange = async {
            let stream = TcpStream::connect(("127.0.0.1", self.port())).await?;
            let (mut reader, mut writer) = stream.into_split();
            // A server that refuses a body need not read it.
            drop(writer.write_all(bytes).await);
            let mut answer = Vec::new();
            drop(reader.read_to_end(&mut answer).await);
            anyhow::Ok(answer)
        };
        tokio::time::timeout(deadline(TIMEOUT_SECS), exchange).await.context("no answer")?
    }

    /// Posts a body; `headers` replace those that are usual.
    ///
    /// # Errors
    /// When nothing comes back.
    pub async fn post(
        &self,
        path: &str,
        headers: &[(&str, &str)],
        body: &[u8],
    ) -> anyhow::Result<HttpResponse> {
        self.request("POST", path, headers, body).await
    }

    async fn request(
        &self,
        method: &str,
        path: &str,
        headers: &[(&str, &str)],
        body: &[u8],
    ) -> anyhow::Result<HttpResponse> {
        let bytes = self.message(method, path, headers, body);
        let answer = self.raw(&bytes).await?;
        let text = String::from_utf8_lossy(&answer).into_owned();
        let status = text.split(' ').nth(1).and_then(|status| status.parse().ok());
        let status = status.with_context(|| format!("no HTTP comes back: {text:?}"))?;
        let (head, body) = text.split_once("\r\n\r\n").unwrap_or((&text, ""));
        let chunked = head.to_ascii_lowercase().contains("transfer-encoding: chunked");
        let body = if chunked { unchunk(body) } else { body.to_owned() };
        Ok(HttpResponse { status, body, text })
    }

    /// The bytes of an HTTP request.
    fn message(&self, method: &str, path: &str, headers: &[(&str, &str)], body: &[u8]) -> Vec<u8> {
        let mut request =
            format!("{method} {path} HTTP/1.1\r\nConnection: close\r\nContent-Length: {}\r\n", body.len());
        let host = format!("127.0.0.1:{}", self.port());
        let usual = [
            ("Host", host.as_str()),
            ("Content-Type", "application/json"),
            ("Accept", "application/json, text/event-stream"),
        ];
        let given = |name: &str| headers.iter().any(|(own, _)| own.eq_ignore_ascii_case(name));
        for (name, value) in usual.iter().filter(|(name, _)| !given(name)).chain(headers) {
            request += &format!("{name}: {value}\r\n");
        }
        [request.as_bytes(), b"\r\n", body].concat()
    }

    /// An agent in a separate MCP session.
    ///
    /// # Errors
    /// When it is not let in.
    pub async fn agent(&self, token: &str) -> anyhow::Result<HttpAgent<'_>> {
        let (token, session, schemas) = (format!("Bearer {token}"), String::new(), Schemas::default());
        let mut agent = HttpAgent { server: self, token, session, id: 0, schemas };
        let hello = json!({ "protocolVersion": "2025-06-18", "capabilities": {},
            "clientInfo": { "name": "test", "version": "1" } });
        let answer = agent
            .post(&json!({ "jsonrpc": "2.0", "id": 0, "method": "initialize", "params": hello }))
            .await?;
        let session = answer.text.lines().find_map(|line| {
            let (name, value) = line.split_once(": ")?;
            name.eq_ignore_ascii_case("mcp-session-id").then(|| value.trim().to_owned())
        });
        agent.session = session.with_context(|| format!("no session: {}", answer.text))?;
        agent.post(&json!({ "jsonrpc": "2.0", "method": "notifications/initialized" })).await?;
        agent.schemas = Schemas::of(&agent.rpc("tools/list", &json!({})).await?)?;
        Ok(agent)
    }

    /// Asks it to end, and waits until it has.
    ///
    /// # Errors
    /// When it does not end well.
    pub async fn stop(mut self) -> anyhow::Result<()> {
        signal(&self.child, "TERM").await?;
        let status = tokio::time::timeout(deadline(TIMEOUT_SECS), self.child.wait())
            .await
            .context("it does not end")??;
        ensure!(status.success(), "it ends badly: {status}");
        Ok(())
    }
}

/// Sends a signal to a child that is not reaped yet.
///
/// # Errors
/// If the child has ended.
pub(crate) async fn signal(child: &Child, name: &str) -> anyhow::Result<()> {
    let pid = child.id().context("it is gone")?.to_string();
    let done = tokio::process::Command::new("kill").args(["-s", name, &pid]).status().await?;
    ensure!(done.success(), "it cannot be signalled");
    Ok(())
}

/// An MCP session over HTTP.
pub struct HttpAgent<'a> {
    server: &'a Server,
    token: String,
    session: String,
    id: u64,
    schemas: Schemas,
}

impl HttpAgent<'_> {
    fn headers(&self) -> Vec<(&str, &str)> {
        let mut headers = vec![("Authorization", self.token.as_str())];
        if !self.session.is_empty() {
            headers.push(("Mcp-Session-Id", &self.session));
            headers.push(("Mcp-Protocol-Version", "2025-06-18"));
        }
        headers
    }

    async fn send(&self, method: &str, body: &[u8]) -> anyhow::Result<HttpResponse> {
        let answer = self.server.request(method, "/mcp", &self.headers(), body).await?;
        ensure!(answer.status < 300, "refused: {}", answer.text);
        Ok(answer)
    }

    /// Posts a body without encoding it.
    ///
    /// # Errors
    /// If the request is refused.
    pub async fn post_raw(&mut self, body: &[u8]) -> anyhow::Result<HttpResponse> {
        self.send("POST", body).await
    }

    async fn post(&self, message: &Value) -> anyhow::Result<HttpResponse> {
        self.send("POST", message.to_string().as_bytes()).await
    }

    /// One JSON-RPC request.
    ///
    /// # Errors
    /// When it is not answered.
    pub async fn rpc(&mut self, method: &str, params: &Value) -> anyhow::Result<Value> {
        self.id += 1;
        let answer = self
            .post(&json!({ "jsonrpc": "2.0", "id": self.id, "method": method, "params": params }))
            .await?;
        let messages =
            answer.body.lines().filter_map(|line| serde_json::from_str(line.strip_prefix("data: ")?).ok());
        let mut messages: Vec<Value> = messages.collect();
        let at = messages.iter().position(|message| message["id"] == self.id);
        let at = at.with_context(|| format!("`{method}` is not answered: {}", answer.body))?;
        Ok(messages.swap_remove(at)["result"].take())
    }

    /// Sends a tool call and does not wait for its answer; returns its id and its connection.
    ///
    /// # Errors
    /// If the server does not accept the connection.
    pub async fn start_call(&mut self, tool: &str, arguments: &Value) -> anyhow::Result<(u64, TcpStream)> {
        self.id += 1;
        let params = json!({ "name": tool, "arguments": arguments });
        let call = json!({ "jsonrpc": "2.0", "id": self.id, "method": "tools/call", "params": params });
        let bytes = self.server.message("POST", "/mcp", &self.headers(), call.to_string().as_bytes());
        Ok((self.id, self.server.open(&bytes).await?))
    }

    /// Sends a notification.
    ///
    /// # Errors
    /// If the notification is refused.
    pub async fn notify(&self, method: &str, params: &Value) -> anyhow::Result<()> {
        self.post(&json!({ "jsonrpc": "2.0", "method": method, "params": params })).await.map(drop)
    }

    /// Calls a tool; returns its structured answer, success or not.
    ///
    /// # Errors
    /// When it is not answered, or not as its schema says.
    pub async fn call(&mut self, tool: &str, arguments: &Value) -> anyhow::Result<Value> {
        let mut result = self.rpc("tools/call", &json!({ "name": tool, "arguments": arguments })).await?;
        self.schemas.check(tool, &result)?;
        Ok(result["structuredContent"].take())
    }

    /// Ends the MCP session.
    ///
    /// # Errors
    /// If the request is refused.
    pub async fn delete(&self) -> anyhow::Result<()> {
        self.send("DELETE", b"").await.map(drop)
    }
}

fn unchunk(mut text: &str) -> String {
    let mut body = String::new();
    while let Some((size, rest)) = text.split_once("\r\n") {
        let size = usize::from_str_radix(size.trim(), 16).unwrap_or(0);
        let Some(chunk) = rest.get(..size).filter(|chunk| !chunk.is_empty()) else { break };
        body.push_str(chunk);
        text = rest.get(size..).unwrap_or_default().trim_start_matches("\r\n");
    }
    body
}
