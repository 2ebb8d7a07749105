//! Downloads from good and bad servers: which are fetched, which are refused, and that each
//! ends. No debugger takes part.

use std::io::Write;
use std::sync::{Arc, Mutex};
use std::time::{Duration, Instant};

use anyhow::Context;
use tandem_download::{DownloadClient, DownloadError, DownloadLimits, DownloadUrl};
use tandem_harness::deadline::deadline;
use tandem_harness::fixture::root;
use tandem_harness::web::{Reply, WebServer, proxy_to};
use tokio::process::Command;

const MAX_BYTES: usize = 100_000;

/// The limits where an answer is expected.
fn limits() -> DownloadLimits {
    DownloadLimits { bytes: MAX_BYTES, idle_timeout: deadline(20), time: deadline(30) }
}

/// Limits for servers that send nothing.
const SHORT: DownloadLimits = DownloadLimits {
    bytes: MAX_BYTES,
    idle_timeout: Duration::from_millis(300),
    time: Duration::from_millis(900),
};

async fn get(
    url: &str,
    limits: DownloadLimits,
    allows: &(dyn Fn(&DownloadUrl) -> bool + Sync),
) -> Result<Vec<u8>, DownloadError> {
    let address = DownloadUrl::parse(url).expect("a valid address");
    DownloadClient::default().get(&address, &[], limits, allows).await
}

fn allow_none(_: &DownloadUrl) -> bool {
    false
}

fn compress(content: &[u8]) -> Vec<u8> {
    let mut packed = flate2::write::GzEncoder::new(Vec::new(), flate2::Compression::best());
    packed.write_all(content).and_then(|()| packed.finish()).expect("memory takes it")
}

#[tokio::test]
async fn a_file_is_fetched_and_nothing_about_the_user_is_sent() -> anyhow::Result<()> {
    let web = WebServer::start(|path| match path {
        "/a?b=1" => Reply::Body(b"plain".into()),
        "/packed" => Reply::Whole(200, vec!["Content-Encoding: gzip".into()], compress(b"packed")),
        "/here" => Reply::Redirect("/a?b=1".into()),
        _ => Reply::absent(),
    })
    .await?;
    for (path, content) in [("/a?b=1", "plain"), ("/packed", "packed"), ("/here", "plain")] {
        assert_eq!(get(&web.url(path), limits(), &allow_none).await?, content.as_bytes(), "{path}");
    }
    assert!(matches!(get(&web.url("/c"), limits(), &allow_none).await, Err(DownloadError::Absent(_))));
    for request in web.requests() {
        let names: Vec<&str> =
            request.lines().skip(1).filter_map(|line| Some(line.split_once(':')?.0)).collect();
        assert_eq!(names, ["user-agent", "accept-encoding", "host"], "{request}");
    }
    web.wait_until_idle().await
}

#[tokio::test]
async fn an_unwilling_server_is_named() -> anyhow::Result<()> {
    let web = WebServer::start(|path| {
        let status = path.trim_start_matches('/').parse().unwrap_or(404);
        Reply::Whole(status, Vec::new(), b"no".into())
    })
    .await?;
    let host = format!("127.0.0.1:{}", web.port());
    for (status, expected) in [
        (401, "refuses it (HTTP 401); credentials are never sent"),
        (403, "refuses it (HTTP 403)"),
        (410, "has no such file"),
        (500, "answers HTTP 500"),
        (204, "answers HTTP 204"),
        (304, "answers HTTP 304"),
    ] {
        let problem =
            get(&web.url(&format!("/{status}")), limits(), &allow_none).await.unwrap_err().to_string();
        assert!(problem.contains(&host) && problem.contains(expected), "{problem}");
    }
    drop(web);
    let gone = format!("http://{host}/x");
    let problem = get(&gone, limits(), &allow_none).await.unwrap_err().to_string();
    assert!(problem.contains(&format!("cannot fetch from `{host}`")), "{problem}");
    Ok(())
}

#[tokio::test]
async fn a_redirection_goes_only_where_it_is_allowed_to_and_never_in_a_circle() -> anyhow::Result<()> {
    let other = WebServer::start(|_| Reply::Body(b"other".into())).await?;
    let (target, port) = (other.url("/x"), other.port());
    let web = WebServer::start(move |path| match path {
        "/other" => Reply::Redirect(target.clone()),
        "/a" => Reply::Redirect("/b".into()),
        "/b" => Reply::Redirect("/a".into()),
        "/file" => Reply::Redirect("file:///etc/passwd".into()),
        "/plain" => Reply::Redirect("http://sources.example/x".into()),
        "/user" => Reply::Redirect("https://me:secret@sources.example/x".into()),
        path => Reply::Redirect(format!("{path}x")),
    })
    .await?;
    let message = |problem: Result<Vec<u8>, DownloadError>| problem.unwrap_err().to_string();
    let refused = message(get(&web.url("/other"), limits(), &allow_none).await);
    assert!(
        refused.ends_with(&format!("redirects to `127.0.0.1:{port}`, which is not allowed")),
        "{refused}"
    );
    assert_eq!(other.requests().len(), 0);
    assert_eq!(
        get(&web.url("/other"), limits(), &|to| to.authority().ends_with(&port.to_string())).await?,
        b"other"
    );
    for path in ["/a", "/longer"] {
        assert!(
            message(get(&web.url(path), limits(), &allow_none).await).contains("in a circle, or too often"),
            "{path}"
        );
    }
    for path in ["/file", "/plain", "/user"] {
        let refused = message(get(&web.url(path), limits(), &|_| true).await);
        assert!(refused.contains("never fetched") && !refused.contains("secret"), "{refused}");
    }
    Ok(())
}

#[tokio::test]
async fn bodies_that_are_too_large_are_not_read_to_their_end() -> anyhow::Result<()> {
    let bomb = compress(&vec![0; 50_000_000]);
    assert!(bomb.len() < MAX_BYTES);
    let web = WebServer::start(move |path| match path {
        "/said" => Reply::Body(vec![0; MAX_BYTES + 1]),
        "/just" => Reply::Body(vec![0; MAX_BYTES]),
        "/bomb" => Reply::Whole(200, vec!["Content-Encoding: gzip".into()], bomb.clone()),
        "/damaged" => Reply::Whole(200, vec!["Content-Encoding: gzip".into()], b"no gzip".into()),
        "/brotli" => Reply::Whole(200, vec!["Content-Encoding: br".into()], b"x".into()),
        _ => Reply::Endless,
    })
    .await?;
    assert_eq!(get(&web.url("/just"), limits(), &allow_none).await?.len(), MAX_BYTES);
    for path in ["/said", "/bomb", "/endless"] {
        let problem = get(&web.url(path), limits(), &allow_none).await.unwrap_err();
        assert!(matches!(problem, DownloadError::TooLarge { limit: 100_000, .. }), "{path}: {problem}");
    }
    for path in ["/damaged", "/brotli"] {
        let problem = get(&web.url(path), limits(), &allow_none).await.unwrap_err();
        assert!(matches!(problem, DownloadError::Damaged(_)), "{path}: {problem}");
    }
    web.wait_until_idle().await
}

#[tokio::test]
async fn a_server_that_answers_never_or_for_ever_is_left() -> anyhow::Result<()> {
    let web = WebServer::start(|path| if path == "/never" { Reply::Silence } else { Reply::Drip }).await?;
    for path in ["/never", "/drip"] {
        let began = Instant::now();
        let problem = get(&web.url(path), SHORT, &allow_none).await.unwrap_err();
        assert!(matches!(problem, DownloadError::TooSlow(_)), "{path}: {problem}");
        assert!(began.elapsed() < deadline(20), "{path}: {:?}", began.elapsed());
    }
    web.wait_until_idle().await
}

#[tokio::test]
async fn an_abandoned_download_closes_its_connection() -> anyhow::Result<()> {
    let web = WebServer::start(|path| if path == "/never" { Reply::Silence } else { Reply::Drip }).await?;
    for (at, path) in ["/never", "/drip"].into_iter().enumerate() {
        let url = web.url(path);
        let task = tokio::spawn(async move { get(&url, limits(), &allow_none).await });
        web.wait_for_requests(at + 1).await?;
        task.abort();
        web.wait_until_idle().await?;
    }
    Ok(())
}

/// Runs one of the tests below in a separate process, with these variables: a process reads them once.
async fn with_variables(name: &str, variables: &[(&str, String)]) -> anyhow::Result<()> {
    let mut command = Command::new(std::env::current_exe()?);
    command.args([&format!("downloads::{name}"), "--exact", "--ignored", "--nocapture"]);
    for proxy in ["HTTP_PROXY", "HTTPS_PROXY", "ALL_PROXY", "NO_PROXY"] {
        command.env_remove(proxy).env_remove(proxy.to_lowercase());
    }
    command.env_remove("REQUEST_METHOD").envs(variables.iter().map(|(name, value)| (name, value)));
    let ran = command.output().await?;
    let text = format!("{}{}", String::from_utf8_lossy(&ran.stdout), String::from_utf8_lossy(&ran.stderr));
    anyhow::ensure!(ran.status.success() && text.contains("1 passed"), "{text}");
    Ok(())
}

async fn secure() -> anyhow::Result<WebServer> {
    WebServer::start_tls(|_| Reply::Body(b"over TLS".into())).await
}

fn roots() -> String {
    root().join("fixtures/tls/roots.pem").display().to_string()
}

fn of_environment(name: &str) -> anyhow::Result<String> {
    std::env::var(name).with_context(|| format!("run by another test, which sets {name}"))
}

#[tokio::test]
async fn downloads_trust_the_certificates_of_the_system() -> anyhow::Result<()> {
    let web = secure().await?;
    let url = ("TEST_URL", web.url("/x"));
    with_variables("fetches_over_tls", &[url.clone(), ("SSL_CERT_FILE", roots())]).await?;
    let stranger = ("SSL_CERT_FILE", root().join("fixtures/tls/server.pem").display().to_string());
    with_variables("refuses_an_unknown_certificate", &[url, stranger]).await
}

#[tokio::test]
#[ignore = "run by another test, with variables"]
async fn fetches_over_tls() -> anyhow::Result<()> {
    let url = of_environment("TEST_URL")?;
    assert_eq!(get(&url, limits(), &allow_none).await?, b"over TLS");
    // The certificate is for the name, not for the number.
    let by_number = url.replace("localhost", "127.0.0.1");
    let problem = get(&by_number, limits(), &allow_none).await.unwrap_err().to_string();
    assert!(problem.contains("certificate"), "{problem}");
    Ok(())
}

#[tokio::test]
#[ignore = "run by another test, with variables"]
async fn refuses_an_unknown_certificate() -> anyhow::Result<()> {
    let problem = get(&of_environment("TEST_URL")?, limits(), &allow_none).await.unwrap_err().to_string();
    assert!(problem.contains("certificate"), "{problem}");
    Ok(())
}

#[tokio::test]
async fn a_proxy_of_the_environment_is_used_and_gets_its_own_credentials_only() -> anyhow::Result<()> {
    let web = secure().await?;
    let requests = Arc::new(Mutex::new(Vec::new()));
    let proxy = proxy_to(web.port(), requests.clone()).await?;
    let port = ("TEST_PORT", web.port().to_string());
    let through = ("https_proxy", format!("http://me:secret@127.0.0.1:{proxy}"));
    let certificate = ("SSL_CERT_FILE", roots());
    with_variables("fetches_through_a_proxy", &[port.clone(), through.clone(), certificate.clone()]).await?;
    let received = requests.lock().unwrap().clone();
    assert_eq!(received.len(), 1, "{received:?}");
    assert!(
        received[0].starts_with("CONNECT sources.example:443 ") && received[0].contains("Basic "),
        "{received:?}"
    );
    assert!(!web.requests()[0].to_lowercase().contains("authorization"), "{:?}", web.requests());
    let none = ("no_proxy", "sources.example".to_owned());
    with_variables("is_not_proxied", &[port, through, certificate, none]).await?;
    assert_eq!(requests.lock().unwrap().len(), 1);
    let other = ("https_proxy", format!("https://127.0.0.1:{proxy}"));
    with_variables("names_the_kind_of_the_proxy", &[other]).await
}

#[tokio::test]
#[ignore = "run by another test, with variables"]
async fn fetches_through_a_proxy() -> anyhow::Result<()> {
    assert_eq!(get("https://sources.example/x", limits(), &allow_none).await?, b"over TLS");
    // Addresses of this machine are fetched without the proxy.
    let own = format!("https://localhost:{}/x", of_environment("TEST_PORT")?);
    assert_eq!(get(&own, limits(), &allow_none).await?, b"over TLS");
    Ok(())
}

#[tokio::test]
#[ignore = "run by another test, with variables"]
async fn is_not_proxied() -> anyhow::Result<()> {
    // This host does not exist.
    let problem = get("https://sources.example/x", limits(), &allow_none).await.unwrap_err();
    assert!(matches!(problem, DownloadError::Unreachable { .. } | DownloadError::TooSlow(_)), "{problem}");
    Ok(())
}

#[tokio::test]
#[ignore = "run by another test, with variables"]
async fn names_the_kind_of_the_proxy() -> anyhow::Result<()> {
    let problem = get("https://sources.example/x", limits(), &allow_none).await.unwrap_err().to_string();
    assert!(problem.contains("the kind `https`"), "{problem}");
    Ok(())
}
