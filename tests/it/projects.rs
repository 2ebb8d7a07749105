//! Launches of projects, solutions and C# files: what is built, and which of its programs starts. On .NET 10, whose SDK builds them.

use std::path::Path;

use anyhow::Context;
use serde_json::{Value, json};
use tests::client::DapClient;
use tests::fixture::{self, Runtime};
use tests::transcript::Transcript;

modern_stories! {
    the_program_of_a_solution_is_built_and_started_as_msbuild_says,
    a_file_without_a_project_is_built_and_debugged,
}

/// A copy of the solution, whose packages come from where set-up's come from.
fn copied() -> anyhow::Result<tempfile::TempDir> {
    let copy = fixture::project("dotnet")?;
    restores_from_the_feed(copy.path())?;
    Ok(copy)
}

fn restores_from_the_feed(folder: &Path) -> anyhow::Result<()> {
    let Some(feed) = std::env::var_os("TANDEM_NUGET_FEED") else { return Ok(()) };
    let feed = feed.to_string_lossy().into_owned();
    let sources = format!("<packageSources><clear/><add key=\"feed\" value=\"{feed}\"/></packageSources>");
    Ok(std::fs::write(folder.join("nuget.config"), format!("<configuration>{sources}</configuration>"))?)
}

/// An editor whose SDK leaves nothing in the user's home.
async fn editor(runtime: Runtime) -> anyhow::Result<DapClient> {
    let mut environment = runtime.environment().context("no runtime")?;
    environment.remove("DOTNET_ROLL_FORWARD");
    environment.insert("HOME".into(), fixture::cache().join("home").display().to_string());
    let mut editor = DapClient::start_in("editor", environment, &Transcript::default())?;
    editor.ok("initialize", json!({ "clientID": "test" })).await?;
    Ok(editor)
}

/// Runs a launch to its end; what the program printed, and what the console said before.
async fn printed(runtime: Runtime, attributes: Value) -> anyhow::Result<(String, String)> {
    let mut editor = editor(runtime).await?;
    let launch = editor.send("launch", attributes).await?;
    editor.initialized(launch).await?;
    editor.ok("configurationDone", Value::Null).await?;
    let launched = editor.response(launch).await?;
    anyhow::ensure!(launched.success, "{}", launched.body);
    assert_eq!(editor.event("exited").await?["exitCode"], 3);
    editor.event("terminated").await?;
    let [stdout, _, console] = editor.output.clone();
    editor.finish().await?;
    Ok((stdout, console))
}

/// The error of a launch that is refused.
async fn refused(runtime: Runtime, attributes: Value) -> anyhow::Result<Value> {
    let mut editor = editor(runtime).await?;
    let refused = editor.ask("launch", attributes).await?;
    anyhow::ensure!(!refused.success, "it was launched");
    editor.finish().await?;
    Ok(refused.body["error"].clone())
}

fn says(error: &Value, code: &str, part: &str) {
    let error = &error["variables"];
    let message = error["message"].as_str().unwrap_or_default();
    assert!(error["code"] == code && message.contains(part), "`{part}` is not in {error}");
}

async fn the_program_of_a_solution_is_built_and_started_as_msbuild_says(
    runtime: Runtime,
) -> anyhow::Result<()> {
    let copy = copied()?;
    let (solution, project) = (copy.path().join("all.slnx"), copy.path().join("shop/shop.csproj"));
    // Both frameworks are built; the first is started, in the project's folder, under another name than the project's.
    let (stdout, console) = printed(runtime, json!({ "program": solution, "args": ["one"] })).await?;
    assert_eq!(stdout, "net10 in shop: one\n");
    assert!(console.contains("shop.csproj is for net10.0;net8.0: starting net10.0"), "{console}");
    let other = json!({ "program": project, "framework": "net8.0", "noBuild": true, "cwd": copy.path() });
    let (stdout, console) = printed(runtime, other).await?;
    assert!(stdout.starts_with("net8 in ") && !console.contains("->"), "{stdout}{console}");
    // As people type it.
    let typed = ["run", "--no-build", "--project", "shop", "-f", "net8.0", "--", "-f", "two"];
    let typed = json!({ "program": "dotnet", "args": typed, "cwd": copy.path() });
    assert!(printed(runtime, typed).await?.0.ends_with(": -f two\n"));
    // What cannot be started is named, without a build.
    let wrong = json!({ "program": project, "configuration": "Release", "noBuild": true });
    says(&refused(runtime, wrong).await?, "LAUNCH_FAILED", "it is not built for Release, net10.0");
    let library = json!({ "program": copy.path().join("stock/Stock.cs"), "noBuild": true });
    says(&refused(runtime, library).await?, "LAUNCH_FAILED", "it is a library");
    std::fs::create_dir(copy.path().join("more"))?;
    std::fs::copy(&project, copy.path().join("more/more.csproj"))?;
    let text = std::fs::read_to_string(&solution)?;
    let more = "<Project Path=\"more/more.csproj\" />\n</Solution>";
    std::fs::write(&solution, text.replace("</Solution>", more))?;
    let several = refused(runtime, json!({ "program": copy.path(), "noBuild": true })).await?;
    says(&several, "LAUNCH_FAILED", "has several programs: more/more.csproj, shop/shop.csproj");
    let chosen = json!({ "program": project, "buildArguments": "-p:X=1" });
    says(
        &refused(runtime, chosen).await?,
        "INVALID_PARAMETER",
        "`buildArguments` must be an array of strings",
    );
    Ok(())
}

async fn a_file_without_a_project_is_built_and_debugged(runtime: Runtime) -> anyhow::Result<()> {
    let folder = tempfile::tempdir()?;
    restores_from_the_feed(folder.path())?;
    let file = folder.path().join("hello.cs");
    let text = "#!/usr/bin/env dotnet\n#:property PublishAot=false\n#:property NuGetAudit=false\n\
                var total = args.Length;\nConsole.WriteLine($\"total {total}\");\nreturn 3;\n";
    std::fs::write(&file, text)?;
    let mut editor = editor(runtime).await?;
    let launch = editor.send("launch", json!({ "program": file, "args": ["one", "two"] })).await?;
    editor.initialized(launch).await?;
    let asked = json!({ "source": { "path": file }, "breakpoints": [{ "line": 5 }] });
    editor.ok("setBreakpoints", asked).await?;
    editor.ok("configurationDone", Value::Null).await?;
    let launched = editor.response(launch).await?;
    anyhow::ensure!(launched.success, "{}", launched.body);
    let (thread, frame) = editor.stop().await?;
    assert_eq!((&frame["line"], &frame["source"]["path"]), (&json!(5), &json!(file)));
    let asked = json!({ "expression": "total", "frameId": frame["id"] });
    assert_eq!(editor.ok("evaluate", asked).await?["result"], "2");
    editor.ok("continue", json!({ "threadId": thread })).await?;
    assert_eq!(editor.event("exited").await?["exitCode"], 3);
    editor.event("terminated").await?;
    assert_eq!(editor.output[0], "total 2\n");
    editor.finish().await?;
    // An error of NuGet has no line; it is a finding all the same.
    std::fs::write(
        &file,
        text.replace("NuGetAudit=false", "NuGetAudit=false\n#:package Tandem.Nowhere@1.0.0"),
    )?;
    let failed = refused(runtime, json!({ "program": file })).await?;
    says(&failed, "BUILD_FAILED", "Tandem.Nowhere");
    let codes = failed["data"]["diagnostics"].as_array().into_iter().flatten();
    let codes: Vec<&str> = codes.filter_map(|found| found["code"].as_str()).collect();
    assert!(codes.contains(&"NU1101"), "{failed}");
    Ok(())
}
