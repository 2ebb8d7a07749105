//! `tandem-mcp doctor`: the report of `tandem-dap doctor`, with this program before it and the hosts of
//! agents after it. It changes nothing, and starts only `tandem-dap` to query it.

use std::io::Write;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use anyhow::Context;
use serde::Deserialize;
use tandem_pages::report::{self, CheckResult};
use tandem_wire::types;

use crate::install::{ConfigFolders, HOSTS, entry_in};

/// Instruction for programs of two releases.
const ONE_RELEASE: &str = "install both programs from one release";

/// Reports; `true` when nothing is amiss that Tandem cannot do without.
///
/// # Errors
/// When stdout is closed.
pub fn run(adapter: anyhow::Result<PathBuf>, as_json: bool, out: &mut dyn Write) -> anyhow::Result<bool> {
    let own = std::env::current_exe().unwrap_or_default();
    let mut results =
        vec![CheckResult::well("tandem-mcp", format!("{}, {}", env!("CARGO_PKG_VERSION"), own.display()))];
    let version = adapter.and_then(|path| Ok((version_of(&path)?, path)));
    match version {
        Ok((version, path)) if version != env!("CARGO_PKG_VERSION") => results.push(CheckResult::wrong(
            "tandem-dap",
            format!("{version}, {}", path.display()),
            ONE_RELEASE,
        )),
        Ok((_, path)) => match adapter_report(&path) {
            Ok(of_adapter) => results.extend(of_adapter),
            Err(error) => results.push(CheckResult::wrong("tandem-dap", format!("{error:#}"), ONE_RELEASE)),
        },
        Err(error) => results.push(CheckResult::wrong(
            "tandem-dap",
            format!("{error:#}"),
            "install it beside tandem-mcp or in a folder of PATH",
        )),
    }
    results.extend(hosts());
    Ok(report::write(&results, as_json, out)?)
}

/// Runs one of Tandem's programs. Its exit status says whether it found a fault; without output it failed.
fn output_of(program: &Path, args: &[&str]) -> anyhow::Result<String> {
    let done = Command::new(program).args(args).stdin(Stdio::null()).stderr(Stdio::null()).output();
    let done = done.with_context(|| format!("`{}` cannot be started", program.display()))?;
    anyhow::ensure!(
        !done.stdout.is_empty(),
        "`{} {}` printed nothing and ended with {}",
        program.display(),
        args.join(" "),
        done.status
    );
    String::from_utf8(done.stdout)
        .with_context(|| format!("`{}` wrote output that is not UTF-8", program.display()))
}

fn version_of(adapter: &Path) -> anyhow::Result<String> {
    let text = output_of(adapter, &["--version"])?;
    Ok(text.trim().rsplit(' ').next().unwrap_or_default().to_owned())
}

fn adapter_report(adapter: &Path) -> anyhow::Result<Vec<CheckResult>> {
    let text = output_of(adapter, &["doctor", "--json"])?;
    serde_json::from_str(&text)
        .with_context(|| format!("`{} doctor --json` wrote something else than a report", adapter.display()))
}

/// The command of an entry in a host's configuration.
#[derive(Default, Deserialize)]
#[serde(default)]
struct StartedCommand {
    #[serde(deserialize_with = "types::optional")]
    command: Option<ProgramWords>,
}

/// A program, or a program with its arguments.
#[derive(Deserialize)]
#[serde(untagged)]
enum ProgramWords {
    Program(String),
    Words(Vec<String>),
}

impl ProgramWords {
    fn program(&self) -> &str {
        match self {
            Self::Program(program) => program,
            Self::Words(words) => words.first().map(String::as_str).unwrap_or_default(),
        }
    }
}

fn hosts() -> Vec<CheckResult> {
    let Ok(places) = ConfigFolders::of_this_user() else { return Vec::new() };
    let here = HOSTS.iter().filter(|host| host.is_here(&places));
    here.map(|host| {
        let install = format!("`tandem-mcp install {}`", host.id);
        let Some(entry) = entry_in(host, &places, "tandem") else {
            let what = format!("{}: does not know Tandem", host.name);
            return CheckResult::optional("host", what, Some(install));
        };
        let StartedCommand { command } = types::read(&entry);
        let command = command.as_ref().map_or("", ProgramWords::program);
        let starts = format!("{}: starts `{command}`", host.name);
        if !command.starts_with('/') || Path::new(command).is_file() {
            CheckResult::well("host", starts)
        } else {
            CheckResult::wrong("host", format!("{starts}, which is not there"), install)
        }
    })
    .collect()
}
