//! Symbols from a server (SSQP): requested by id and checksum, used only if they are the module's, and never
//! waited for.
//!
//! Not here: sources from a server ([`super::remote_sources`]).

use std::io::Write;
use std::path::PathBuf;

use anyhow::Context;
use serde_json::{Value, json};
use tandem_harness::client::DapClient;
use tandem_harness::distant::{self, COMPILED, DistantSources, Shared, with_id_of};
use tandem_harness::fixture::Runtime;
use tandem_harness::web::{Reply, WebServer};

dotnet_tests! {
    symbols_of_a_server_are_kept_and_breakpoints_bind_in_them,
}

net10_tests! {
    symbols_that_do_not_match_the_module_are_refused_by_name,
    a_server_that_does_not_answer_keeps_nobody_waiting,
    modules_that_are_left_out_have_no_symbols,
    a_symbol_folder_is_searched_like_a_server,
}

/// A server that returns one PDB for any path, and nothing else.
async fn server(pdb: Vec<u8>) -> anyhow::Result<WebServer> {
    let has = |path: &str| path.starts_with("/symbols/distantlib.pdb/");
    WebServer::start(move |path| if has(path) { Reply::Body(pdb.clone()) } else { Reply::absent() }).await
}

fn options(web: &WebServer, more: Value) -> Value {
    let mut options = json!({ "searchPaths": [web.url("/symbols/")], "moduleFilter": {
        "mode": "loadOnlyIncluded", "includedModules": ["DistantLib.*"] } });
    if let (Some(options), Some(more)) = (options.as_object_mut(), more.as_object()) {
        options.extend(more.clone());
    }
    json!({ "symbolOptions": options })
}

/// Waits until the library has this status, or one with this in it.
async fn status(editor: &mut DapClient, part: &str) -> anyhow::Result<Value> {
    loop {
        let event = editor.event("module").await.with_context(|| format!("no status `{part}`"))?;
        let module = &event["module"];
        if module["name"] == "distantlib.dll"
            && module["symbolStatus"].as_str().is_some_and(|status| status.contains(part))
        {
            return Ok(event);
        }
    }
}

/// A breakpoint in the library, by the path that its compiler saw.
async fn break_in_library(editor: &mut DapClient, marker: &str) -> anyhow::Result<Value> {
    let expected =
        json!({ "source": { "path": COMPILED }, "breakpoints": [{ "line": distant::line(marker) }] });
    Ok(editor.ok("setBreakpoints", expected).await?["breakpoints"][0].clone())
}

async fn symbols_of_a_server_are_kept_and_breakpoints_bind_in_them(runtime: Runtime) -> anyhow::Result<()> {
    let distant = DistantSources::new(runtime)?;
    let web = server(distant.take_pdb()?).await?;
    // In code that was compiled with optimizations before its symbols arrived, .NET Core 3.1 accepts
    // breakpoints at some lines only.
    let mut attributes = options(&web, json!({}));
    attributes["suppressJITOptimizations"] = json!(true);
    let mut editor = distant.launch(&["calls", "counted"], attributes).await?;
    let pending = break_in_library(&mut editor, "inner").await?;
    let (thread, _) = editor.stop().await?;
    editor.ok("next", json!({ "threadId": thread })).await?;
    // The library is loaded by then; its symbols may have come while the program ran.
    if pending["verified"] == false {
        let bound = loop {
            let event = editor.event("breakpoint").await?;
            if event["breakpoint"]["id"] == pending["id"] && event["breakpoint"]["verified"] == true {
                break event;
            }
        };
        assert_eq!(bound["breakpoint"]["line"], distant::line("inner"));
    }
    let (thread, frame) = editor.stop().await?;
    // The first call may have ended before they arrived.
    let line = frame["line"].as_i64().unwrap_or_default();
    assert!(
        line == distant::line("inner") || frame["name"].as_str().is_some_and(|name| name.contains("Main")),
        "{frame}"
    );
    let modules = editor.ok("modules", Value::Null).await?;
    let library =
        modules["modules"].as_array().into_iter().flatten().find(|module| module["name"] == "distantlib.dll");
    let library = library.context("the library is loaded")?;
    let kept = library["symbolFilePath"].as_str().context("a PDB in the cache")?.to_owned();
    assert!(PathBuf::from(&kept).starts_with(distant.path("cache/tandem/symbols")), "{kept}");
    editor.ok("threads", json!({ "threadId": thread })).await?;
    editor.finish().await?;

    let requests = web.requests();
    assert_eq!(requests.len(), 1, "{requests:?}");
    let (key, head) = (web.paths()[0].clone(), requests[0].to_lowercase());
    let id = key.trim_start_matches("/symbols/distantlib.pdb/").trim_end_matches("/distantlib.pdb");
    assert!(
        id.len() == 40 && id.ends_with("ffffffff") && id.bytes().all(|byte| byte.is_ascii_hexdigit()),
        "{key}"
    );
    assert!(head.contains("\r\nsymbolchecksum: sha256:"), "{head}");

    // The next session finds it in the cache, before the first request; a cache that the user configures is
    // used in the same way.
    for more in [json!({}), json!({ "cachePath": distant.path("cache/tandem/symbols") })] {
        let mut editor = distant.launch(&["calls"], options(&web, more)).await?;
        break_in_library(&mut editor, "inner").await?;
        editor.stop().await?;
        editor.finish().await?;
    }
    assert_eq!(web.requests().len(), 1);
    web.wait_until_idle().await
}

async fn symbols_that_do_not_match_the_module_are_refused_by_name(runtime: Runtime) -> anyhow::Result<()> {
    let distant = DistantSources::new(runtime)?;
    let own = distant.take_pdb()?;
    let other = std::fs::read(distant.path("made/distantlib.pdb"))?;
    let mut bomb = flate2::write::GzEncoder::new(Vec::new(), flate2::Compression::best());
    (0..300).try_for_each(|_| bomb.write_all(&vec![0; 1024 * 1024]))?;
    let bomb = bomb.finish()?;
    let gzip = |body: Vec<u8>| Reply::Whole(200, vec!["Content-Encoding: gzip".into()], body);
    let mut packed = flate2::write::GzEncoder::new(Vec::new(), flate2::Compression::fast());
    packed.write_all(&own)?;
    let reply = Shared::new(Reply::absent());
    let answers = reply.clone();
    let web = WebServer::start(move |_| answers.get()).await?;
    for (answer, expected) in [
        (Reply::absent(), "has no such file"),
        (Reply::Whole(403, Vec::new(), Vec::new()), "refuses it (HTTP 403)"),
        (Reply::Whole(500, Vec::new(), Vec::new()), "answers HTTP 500"),
        (Reply::Body(b"no symbols at all".into()), "sends no valid portable PDB"),
        (Reply::Body(Vec::new()), "sends no valid portable PDB"),
        (Reply::Body(b"Microsoft C/C++ MSF 7.00\r\n\x1aDS".into()), "sends a Windows PDB"),
        (Reply::Body(own[..own.len() / 2].to_vec()), "sends "),
        (Reply::Body(other.clone()), "sends the PDB of another build"),
        (Reply::Body(with_id_of(&other, &own)?), "sends a PDB whose checksum differs from the module's"),
        (gzip(bomb), "sends more than 268435456 bytes"),
        (gzip(b"no gzip".into()), "sent data that cannot be decompressed"),
        (Reply::Redirect("http://127.0.0.1:9/x".into()), "redirects to `127.0.0.1:9`, which is not allowed"),
        (
            Reply::Redirect("https://elsewhere.example/x".into()),
            "redirects to `elsewhere.example`, which is not allowed",
        ),
    ] {
        reply.set(answer);
        let mut editor = distant.launch(&["counted"], options(&web, json!({}))).await?;
        let event = status(&mut editor, &format!("`127.0.0.1:{}` {expected}", web.port())).await?;
        assert_eq!(event["reason"], "changed");
        let pending = break_in_library(&mut editor, "inner").await?;
        assert_eq!(pending["verified"], false, "{pending}");
        editor.stop().await?;
        editor.finish().await?;
        assert_eq!(distant.cached_files(), [] as [PathBuf; 0], "{expected}");
    }
    // The same server with the right one, packed.
    reply.set(gzip(packed.finish()?));
    let mut editor = distant.launch(&["counted"], options(&web, json!({}))).await?;
    status(&mut editor, "Symbols loaded").await?;
    editor.stop().await?;
    editor.finish().await
}

async fn a_server_that_does_not_answer_keeps_nobody_waiting(runtime: Runtime) -> anyhow::Result<()> {
    for reply in [Reply::Silence, Reply::Drip] {
        let web = WebServer::start(move |_| reply.clone()).await?;
        let distant = DistantSources::new(runtime)?;
        distant.take_pdb()?;
        let mut editor = distant.launch(&["calls", "counted", "caught"], options(&web, json!({}))).await?;
        let (thread, _) = editor.stop().await?;
        editor.ok("continue", json!({ "threadId": thread })).await?;
        let (thread, frame) = editor.stop().await?;
        web.wait_for_requests(1).await?;
        let value =
            editor.ok("evaluate", json!({ "expression": "letters * 2", "frameId": frame["id"] })).await?;
        assert_eq!(value["result"], "4");
        let modules = editor.ok("modules", Value::Null).await?.to_string();
        assert!(modules.contains("they are being requested from symbol servers"), "{modules}");
        editor.ok("continue", json!({ "threadId": thread })).await?;
        editor.stop().await?;
        editor.finish().await?;
        web.wait_until_idle().await?;
        assert_eq!(distant.cached_files(), [] as [PathBuf; 0]);
    }
    Ok(())
}

async fn modules_that_are_left_out_have_no_symbols(runtime: Runtime) -> anyhow::Result<()> {
    let distant = DistantSources::new(runtime)?;
    let web = server(std::fs::read(distant.pdb())?).await?;
    // Its PDB lies beside it.
    for (filter, expected) in [
        (json!({ "excludedModules": ["distant*.dll"] }), "`symbolOptions.moduleFilter` leaves it out"),
        (json!({ "mode": "loadOnlyIncluded", "includeSymbolsNextToModules": false }), "leaves it out"),
        (json!({ "mode": "loadOnlyIncluded" }), "Symbols loaded"),
    ] {
        let mut editor = distant.launch(&[], options(&web, json!({ "moduleFilter": filter }))).await?;
        status(&mut editor, expected).await?;
        editor.event("exited").await?;
        editor.event("terminated").await?;
        editor.finish().await?;
    }
    let paths = web.paths();
    assert!(paths.iter().all(|path| !path.contains("distantlib")), "{paths:?}");
    Ok(())
}

async fn a_symbol_folder_is_searched_like_a_server(runtime: Runtime) -> anyhow::Result<()> {
    let distant = DistantSources::new(runtime)?;
    let folder = distant.path("symbols");
    std::fs::create_dir(&folder)?;
    std::fs::rename(distant.pdb(), folder.join("distantlib.pdb"))?;
    let mut editor =
        distant.launch(&["calls"], json!({ "symbolOptions": { "searchPaths": [folder] } })).await?;
    break_in_library(&mut editor, "last").await?;
    let (thread, _) = editor.stop().await?;
    editor.ok("continue", json!({ "threadId": thread })).await?;
    let (_, frame) = editor.stop().await?;
    assert_eq!(frame["line"], distant::line("last"));
    editor.finish().await
}
