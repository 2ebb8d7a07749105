//! Projects that a launch builds with the .NET SDK, and launches that are refused.
//!
//! Not here: projects of tests, which agents run.

use std::path::Path;

use anyhow::Context;
use serde_json::{Value, json};

use crate::client::DapClient;
use crate::fixture::{self, Runtime};
use crate::transcript::Transcript;

/// Restores packages of a folder's projects from set-up's feed, if there is one.
///
/// # Errors
/// If the folder cannot be written to.
pub fn restores_from_the_feed(folder: &Path) -> anyhow::Result<()> {
    let Some(feed) = std::env::var_os("TANDEM_NUGET_FEED") else { return Ok(()) };
    let feed = feed.to_string_lossy().into_owned();
    let sources = format!("<packageSources><clear/><add key=\"feed\" value=\"{feed}\"/></packageSources>");
    Ok(std::fs::write(folder.join("nuget.config"), format!("<configuration>{sources}</configuration>"))?)
}

/// An editor whose SDK leaves nothing in the user's home.
///
/// # Errors
/// If the runtime is not installed, or the program does not start.
pub async fn editor(runtime: Runtime) -> anyhow::Result<DapClient> {
    let mut environment = runtime.environment().context("no runtime")?;
    environment.remove("DOTNET_ROLL_FORWARD");
    environment.insert("HOME".into(), fixture::cache().join("home").display().to_string());
    let mut editor = DapClient::start_in("editor", environment, &Transcript::default())?;
    editor.ok("initialize", json!({ "clientID": "test", "supportsStartDebuggingRequest": true })).await?;
    Ok(editor)
}

/// The error of a launch that is refused.
///
/// # Errors
/// If the program is launched.
pub async fn refused(runtime: Runtime, attributes: Value) -> anyhow::Result<Value> {
    let mut editor = editor(runtime).await?;
    let refused = editor.ask("launch", attributes).await?;
    anyhow::ensure!(!refused.success, "it was launched");
    editor.finish().await?;
    Ok(refused.body["error"].clone())
}

/// Asserts that an error has this code and that its message contains this part.
///
/// # Panics
/// If it does not.
pub fn says(error: &Value, code: &str, part: &str) {
    let error = &error["variables"];
    let message = error["message"].as_str().unwrap_or_default();
    assert!(error["code"] == code && message.contains(part), "`{part}` is not in {error}");
}
