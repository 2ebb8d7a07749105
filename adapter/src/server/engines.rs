//! `tandem-dap engines`: which debuggers a launch from this folder would find, for people and for scripts.
//! Starts no program. [`super::doctor`] also queries their versions.

use std::io::Write;
use std::path::Path;

use serde_json::{Value, json};

use tandem_engine::description::Description;

/// No runtime of .NET was found.
pub(super) const NO_RUNTIME: &str = "no .NET runtime in DOTNET_ROOT, PATH, ~/.dotnet or the usual places";
/// The instruction for users without a runtime of .NET.
pub(super) const INSTALL_RUNTIME: &str = "install .NET (`apt-get install dotnet-runtime-10.0`, where the \
    distribution has it); programs that bring their runtime along are debugged without";

/// Lists the engines: a table, or as JSON an array of `{engine, languages, found}`, or
/// `{engine, languages, missing, hint}`.
///
/// # Errors
/// When stdout is closed.
pub fn list(as_json: bool) -> anyhow::Result<()> {
    let folder = std::env::current_dir()?;
    let mut engines = vec![dotnet()];
    engines.extend(tandem_child::descriptions().map(|engine| adapter(engine, &folder)));
    let mut out = std::io::stdout().lock();
    if as_json {
        serde_json::to_writer_pretty(&mut out, &engines)?;
        writeln!(out)?;
        return Ok(());
    }
    for engine in &engines {
        let text = |key: &str| engine[key].as_str().unwrap_or_default();
        write!(out, "{:<11} {:<38} ", text("engine"), text("languages"))?;
        match engine["found"].as_str() {
            Some(found) => writeln!(out, "{found}")?,
            None => writeln!(out, "missing: {}. {}", text("missing"), text("hint"))?,
        }
    }
    Ok(())
}

fn dotnet() -> Value {
    let (engine, languages) = (tandem_coreclr::DESCRIPTION.name, tandem_coreclr::DESCRIPTION.languages);
    if let Err(failure) = tandem_coreclr::check_machine() {
        return json!({ "engine": engine, "languages": languages, "missing": failure.message,
            "hint": failure.hint });
    }
    let runtimes = tandem_coreclr::installed_runtimes();
    if runtimes.is_empty() {
        return json!({ "engine": engine, "languages": languages,
            "missing": NO_RUNTIME, "hint": INSTALL_RUNTIME });
    }
    let found: Vec<String> = runtimes.iter().map(|runtime| runtime.display().to_string()).collect();
    json!({ "engine": engine, "languages": languages, "found": found.join(", ") })
}

fn adapter(engine: &Description, folder: &Path) -> Value {
    let Description { name, languages, .. } = engine;
    match tandem_child::adapter_in(name, folder) {
        Ok(found) => json!({ "engine": name, "languages": languages, "found": found }),
        Err(failure) => {
            json!({ "engine": name, "languages": languages, "missing": failure.message,
                "hint": failure.hint })
        }
    }
}
