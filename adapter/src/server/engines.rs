//! `tandem-dap engines`: which debuggers a launch from this folder would find, for people and for scripts.
//! Starts no program. [`super::doctor`] also queries their versions.

use std::io::Write;
use std::path::Path;

use serde::Serialize;

use tandem_engine::description::Description;
use tandem_wire::Failure;

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
    for ListedEngine { engine, languages, state } in &engines {
        write!(out, "{engine:<11} {languages:<38} ")?;
        match state {
            EngineSearch::Found { found } => writeln!(out, "{found}")?,
            EngineSearch::Missing { missing, hint } => {
                writeln!(out, "missing: {missing}. {}", hint.as_deref().unwrap_or_default())?;
            }
        }
    }
    Ok(())
}

/// An engine of the list.
#[derive(Debug, Serialize)]
struct ListedEngine {
    engine: &'static str,
    languages: &'static str,
    #[serde(flatten)]
    state: EngineSearch,
}

/// Where the debugger of an engine is, or why it cannot be used.
#[derive(Debug, Serialize)]
#[serde(untagged)]
enum EngineSearch {
    Found { found: String },
    Missing { missing: String, hint: Option<String> },
}

impl From<Failure> for EngineSearch {
    fn from(failure: Failure) -> Self {
        Self::Missing { missing: failure.message, hint: failure.hint }
    }
}

impl ListedEngine {
    fn new(description: &Description, state: EngineSearch) -> Self {
        Self { engine: description.name, languages: description.languages, state }
    }
}

fn dotnet() -> ListedEngine {
    ListedEngine::new(&tandem_coreclr::DESCRIPTION, dotnet_search())
}

fn dotnet_search() -> EngineSearch {
    if let Err(failure) = tandem_coreclr::check_machine() {
        return failure.into();
    }
    let runtimes = tandem_coreclr::installed_runtimes();
    if runtimes.is_empty() {
        return EngineSearch::Missing { missing: NO_RUNTIME.into(), hint: Some(INSTALL_RUNTIME.into()) };
    }
    let found: Vec<String> = runtimes.iter().map(|runtime| runtime.display().to_string()).collect();
    EngineSearch::Found { found: found.join(", ") }
}

fn adapter(engine: &Description, folder: &Path) -> ListedEngine {
    let state = match tandem_child::adapter_in(engine.name, folder) {
        Ok(found) => EngineSearch::Found { found: found.display().to_string() },
        Err(failure) => failure.into(),
    };
    ListedEngine::new(engine, state)
}
