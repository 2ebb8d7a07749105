//! Sources that Source Link names: fetched from a server when that is allowed, and shown with their lines;
//! refused for a reason otherwise.
//!
//! Not here: symbols from a server ([`super::symbol_servers`]).

use anyhow::Context;
use serde_json::{Value, json};
use tandem_harness::client::DapClient;
use tandem_harness::distant::{self, COMPILED, DistantSources, SERVED, Shared, is_below};
use tandem_harness::fixture::{self, Runtime};
use tandem_harness::web::{Reply, WebServer};

dotnet_tests! {
    a_source_is_fetched_and_its_lines_are_stopped_at,
    nothing_is_fetched_until_it_is_allowed,
}

net10_tests! {
    addresses_that_are_never_fetched_are_refused,
    a_downloaded_source_is_compared_with_its_checksum,
    a_fetch_that_is_cancelled_or_left_behind_ends,
    a_cache_that_cannot_be_written_to_breaks_nothing,
    an_address_is_mapped_to_a_clone,
    an_exact_source_is_required_where_that_is_asked_for,
}

net8_tests! {
    a_source_is_fetched_and_its_lines_are_stopped_at,
}

/// Allows the host of the library's sources.
fn allowed() -> Value {
    json!({ "sourceLinkOptions": { "https://sources.example/*": { "enabled": true } } })
}

async fn good() -> anyhow::Result<WebServer> {
    WebServer::start_tls(
        |path| if path == SERVED { Reply::Body(distant::text().into()) } else { Reply::absent() },
    )
    .await
}

/// Steps from the call into the library; returns the thread and the frame.
async fn step_into_library(editor: &mut DapClient) -> anyhow::Result<(i64, Value)> {
    let (thread, _) = editor.stop().await?;
    editor.ok("stepIn", json!({ "threadId": thread })).await?;
    let (thread, frame) = editor.stop().await?;
    assert!(frame["name"].as_str().is_some_and(|name| name.contains("Counter.Count")), "{frame}");
    Ok((thread, frame))
}

/// Requests the source of a frame.
fn of(frame: &Value) -> Value {
    json!({ "source": frame["source"], "sourceReference": frame["source"]["sourceReference"] })
}

async fn a_source_is_fetched_and_its_lines_are_stopped_at(runtime: Runtime) -> anyhow::Result<()> {
    let web = good().await?;
    let distant = DistantSources::with_sources(runtime, &web).await?;
    let mut editor = distant.launch(&["calls"], allowed()).await?;
    let (thread, frame) = step_into_library(&mut editor).await?;
    assert_eq!(
        (&frame["source"]["path"], &frame["line"]),
        (&json!(COMPILED), &json!(distant::line("first")))
    );
    let origin = format!("at https://sources.example{SERVED}");
    assert_eq!(
        (&frame["source"]["origin"], &frame["source"]["adapterData"]["notHere"]),
        (&json!(origin), &json!(true))
    );
    assert_eq!(web.requests().len(), 0, "a source that is not opened is not fetched");
    for _ in 0..2 {
        assert_eq!(editor.ok("source", of(&frame)).await?["content"], json!(distant::text()));
    }
    assert_eq!(web.paths(), [SERVED]);
    let inner = json!({ "source": frame["source"], "breakpoints": [{ "line": distant::line("inner") }] });
    let set = editor.ok("setBreakpoints", inner).await?;
    assert_eq!(
        (&set["breakpoints"][0]["verified"], &set["breakpoints"][0]["line"]),
        (&json!(true), &json!(distant::line("inner")))
    );
    editor.ok("continue", json!({ "threadId": thread })).await?;
    let (_, again) = editor.stop().await?;
    assert_eq!(again["line"], distant::line("inner"));
    for part in ["path", "sourceReference", "name", "checksums"] {
        assert_eq!(again["source"][part], frame["source"][part], "{part}");
    }
    assert!(again["source"]["adapterData"].is_null(), "it can be read now");
    editor.finish().await?;

    // The next session has it from the cache, under a path that breakpoints can be kept at.
    let mut editor = distant.launch(&["calls"], allowed()).await?;
    let (thread, frame) = step_into_library(&mut editor).await?;
    let path = &frame["source"]["path"];
    assert!(is_below(path, &distant.path("cache/tandem/sources")), "{path}");
    assert_eq!(frame["source"]["origin"], json!(format!("fetched from https://sources.example{SERVED}")));
    assert_eq!(std::fs::read_to_string(path.as_str().context("no path")?)?, distant::text());
    let inner = json!({ "source": { "path": path }, "breakpoints": [{ "line": distant::line("inner") }] });
    assert_eq!(editor.ok("setBreakpoints", inner).await?["breakpoints"][0]["verified"], true);
    editor.ok("continue", json!({ "threadId": thread })).await?;
    let (_, again) = editor.stop().await?;
    assert_eq!((&again["line"], &again["source"]["path"]), (&json!(distant::line("inner")), path));
    editor.finish().await?;
    assert_eq!(web.paths(), [SERVED]);
    web.wait_until_idle().await
}

async fn nothing_is_fetched_until_it_is_allowed(runtime: Runtime) -> anyhow::Result<()> {
    let web = good().await?;
    let distant = DistantSources::with_sources(runtime, &web).await?;
    let mut editor = distant.launch(&["calls"], json!({})).await?;
    let (_, frame) = step_into_library(&mut editor).await?;
    let refused = editor.ask("source", of(&frame)).await?;
    let error = &refused.body["error"];
    assert_eq!(error["variables"]["code"], "ACCESS_DENIED");
    assert_eq!(error["data"]["allow"], json!({ "https://sources.example/*": { "enabled": true } }));
    assert_eq!(error["data"]["host"], "sources.example");
    let ways: Vec<&str> = error["data"]["ways"]
        .as_array()
        .into_iter()
        .flatten()
        .filter_map(|way| way["way"].as_str())
        .collect();
    assert_eq!(ways, ["file", "sourceLink", "decompiler"]);
    let wrong = json!({ "sourceLinkOptions": { "*": true } });
    assert_eq!(editor.refused("setSourceLinkOptions", wrong).await?, "INVALID_PARAMETER");
    editor.ok("setSourceLinkOptions", json!({ "sourceLinkOptions": error["data"]["allow"] })).await?;
    let changed = editor.event("loadedSource").await?;
    assert_eq!((&changed["reason"], &changed["source"]["path"]), (&json!("changed"), &json!(COMPILED)));
    assert_eq!(changed["source"]["sourceReference"], frame["source"]["sourceReference"]);
    assert_eq!(web.requests().len(), 0);
    assert_eq!(editor.ok("source", of(&frame)).await?["content"], json!(distant::text()));
    editor.finish().await
}

/// Refuses a source of the library by its name: code and message.
async fn refused(editor: &mut DapClient, name: &str) -> anyhow::Result<(String, String)> {
    let path = COMPILED.replace("Counter", name);
    let answer = editor.ask("source", json!({ "source": { "path": path } })).await?;
    anyhow::ensure!(!answer.success, "{}", answer.body);
    let error = &answer.body["error"]["variables"];
    let text = |key: &str| error[key].as_str().unwrap_or_default().to_owned();
    Ok((text("code"), text("message")))
}

async fn addresses_that_are_never_fetched_are_refused(runtime: Runtime) -> anyhow::Result<()> {
    let elsewhere = Shared::<String>::default();
    let answers = elsewhere.clone();
    let web = WebServer::start_tls(move |_| Reply::Redirect(answers.get())).await?;
    let distant = DistantSources::with_sources(runtime, &web).await?;
    let mut editor = distant
        .launch(
            &["calls"],
            json!({ "sourceLinkOptions": { "*": {}, "https://other.example/*": { "enabled": false } } }),
        )
        .await?;
    editor.stop().await?;
    for (name, expected) in [
        ("Plain", "only `https://` addresses are fetched"),
        ("Local", "is not a valid address"),
        ("Named", "contains a user name"),
        ("Other", "`sourceLinkOptions` does not allow `https://other.example/Other.cs`"),
    ] {
        let (code, message) = refused(&mut editor, name).await?;
        assert!(
            code == "ACCESS_DENIED" && message.contains(expected) && !message.contains("secret"),
            "{name}: {message}"
        );
    }
    assert_eq!(web.requests().len(), 0);
    for (to, code, expected) in [
        ("https://other.example/x", "ACCESS_DENIED", "redirects to `other.example`, which is not allowed"),
        ("http://sources.example/x", "ACCESS_DENIED", "an address that is never fetched"),
        ("file:///etc/passwd", "ACCESS_DENIED", "an address that is never fetched"),
        (SERVED, "IO_FAILED", "in a circle"),
    ] {
        elsewhere.set(to.into());
        let (found, message) = refused(&mut editor, "Counter").await?;
        assert!(found == code && message.contains(expected), "{to}: {found} {message}");
    }
    assert_eq!(web.requests().len(), 4, "{:?}", web.paths());
    assert_eq!(distant.cached_files(), [] as [std::path::PathBuf; 0]);
    editor.finish().await
}

async fn a_downloaded_source_is_compared_with_its_checksum(runtime: Runtime) -> anyhow::Result<()> {
    let reply = Shared::new(Reply::absent());
    let answers = reply.clone();
    let web = WebServer::start_tls(move |_| answers.get()).await?;
    let distant = DistantSources::with_sources(runtime, &web).await?;
    let mut editor = distant.launch(&["calls"], allowed()).await?;
    editor.stop().await?;
    for (answer, code, expected) in [
        (Reply::absent(), "NOT_FOUND", "has no such file"),
        (Reply::Whole(401, Vec::new(), Vec::new()), "ACCESS_DENIED", "credentials are never sent"),
        (Reply::Body(b"<html>log in</html>".into()), "IO_FAILED", "its SHA256 checksum differs"),
        (Reply::Body(Vec::new()), "IO_FAILED", "its SHA256 checksum differs"),
        (Reply::Endless, "IO_FAILED", "sends more than"),
    ] {
        reply.set(answer);
        let (found, message) = refused(&mut editor, "Counter").await?;
        assert!(found == code && message.contains(expected), "{found} {message}");
    }
    assert_eq!(distant.cached_files(), [] as [std::path::PathBuf; 0]);
    // A server may change line ends.
    reply.set(Reply::Body(distant::text().replace('\n', "\r\n").into()));
    let arguments = json!({ "source": { "path": COMPILED } });
    assert_eq!(editor.ok("source", arguments).await?["content"], json!(distant::text()));
    editor.finish().await
}

async fn a_fetch_that_is_cancelled_or_left_behind_ends(runtime: Runtime) -> anyhow::Result<()> {
    let web = WebServer::start_tls(|_| Reply::Silence).await?;
    let distant = DistantSources::with_sources(runtime, &web).await?;
    let mut editor = distant.launch(&["calls"], allowed()).await?;
    let (thread, frame) = step_into_library(&mut editor).await?;
    let seq = editor.send("source", of(&frame)).await?;
    web.wait_for_requests(1).await?;
    // The engine is not kept waiting.
    let evaluated = editor.ok("evaluate", json!({ "expression": "1 + 1", "frameId": frame["id"] })).await?;
    assert_eq!(evaluated["result"], "2");
    editor.ok("next", json!({ "threadId": thread })).await?;
    editor.stop().await?;
    editor.ok("cancel", json!({ "requestId": seq })).await?;
    let answer = editor.response(seq).await?;
    assert_eq!(answer.body["error"]["variables"]["code"], "CANCELLED");
    web.wait_until_idle().await?;
    // The session ends while another one is under way.
    editor.send("source", of(&frame)).await?;
    web.wait_for_requests(2).await?;
    editor.finish().await?;
    web.wait_until_idle().await?;
    assert_eq!(distant.cached_files(), [] as [std::path::PathBuf; 0]);
    Ok(())
}

async fn a_cache_that_cannot_be_written_to_breaks_nothing(runtime: Runtime) -> anyhow::Result<()> {
    let web = good().await?;
    let mut distant = DistantSources::with_sources(runtime, &web).await?;
    // No user, not even root, can create a folder below a file.
    let file = distant.path("bin/distant.dll").display().to_string();
    distant.environment.insert("XDG_CACHE_HOME".into(), file);
    let mut editor = distant.launch(&["calls"], allowed()).await?;
    let (_, frame) = step_into_library(&mut editor).await?;
    for _ in 0..2 {
        assert_eq!(editor.ok("source", of(&frame)).await?["content"], json!(distant::text()));
    }
    assert_eq!(web.paths(), [SERVED]);
    editor.finish().await
}

async fn an_address_is_mapped_to_a_clone(runtime: Runtime) -> anyhow::Result<()> {
    let web = good().await?;
    let distant = DistantSources::with_sources(runtime, &web).await?;
    let clone = fixture::root().join("fixtures/programs/dotnet/distant");
    for map in [json!({ "https://sources.example/repo/*": clone }), json!({ "/_/distant": clone })] {
        let mut editor = distant.launch(&[], json!({ "sourceFileMap": map })).await?;
        editor.event("exited").await?;
        editor.event("terminated").await?;
        editor.finish().await?;
        let mut editor = distant.launch(&["calls"], json!({ "sourceFileMap": map })).await?;
        let (thread, _) = editor.stop().await?;
        let place = json!({ "path": distant::source() });
        let inner = json!({ "source": place, "breakpoints": [{ "line": distant::line("inner") }] });
        assert_eq!(editor.ok("setBreakpoints", inner).await?["breakpoints"][0]["verified"], true, "{map}");
        editor.ok("continue", json!({ "threadId": thread })).await?;
        let (_, frame) = editor.stop().await?;
        assert_eq!(frame["source"]["path"], json!(distant::source()));
        editor.finish().await?;
    }
    assert_eq!(web.requests().len(), 0);
    Ok(())
}

async fn an_exact_source_is_required_where_that_is_asked_for(runtime: Runtime) -> anyhow::Result<()> {
    let distant = DistantSources::new(runtime)?;
    let folder = distant.path("clone/Library");
    std::fs::create_dir_all(&folder)?;
    let changed = folder.join("Counter.cs");
    std::fs::write(&changed, format!("{}\n// more\n", distant::text()))?;
    for exact in [false, true] {
        let map = json!({ "/_/distant": distant.path("clone") });
        let mut editor =
            distant.launch(&["calls"], json!({ "sourceFileMap": map, "requireExactSource": exact })).await?;
        let (thread, _) = editor.stop().await?;
        let inner =
            json!({ "source": { "path": changed }, "breakpoints": [{ "line": distant::line("inner") }] });
        let set = editor.ok("setBreakpoints", inner).await?;
        let (set, problem) =
            (&set["breakpoints"][0], set["breakpoints"][0]["message"].as_str().unwrap_or_default());
        assert_eq!(
            (&set["verified"], problem.contains("its checksum differs")),
            (&json!(!exact), true),
            "{problem}"
        );
        assert_eq!(problem.contains("`requireExactSource` is set"), exact, "{problem}");
        editor.ok("setBreakpoints", json!({ "source": { "path": changed }, "breakpoints": [] })).await?;
        editor.ok("stepIn", json!({ "threadId": thread })).await?;
        let (_, frame) = editor.stop().await?;
        let is_absent = frame["source"]["origin"].is_string();
        assert_eq!((is_absent, &frame["source"]["path"]), (exact, &json!(changed)), "{frame}");
        editor.finish().await?;
    }
    Ok(())
}
