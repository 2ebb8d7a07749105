//! Flags. stdout belongs to MCP; the log goes to stderr or a file.

use std::io::IsTerminal;
use std::path::PathBuf;
use std::process::ExitCode;
use std::sync::Arc;

use anyhow::{Context, bail};
use clap::{CommandFactory, Parser, Subcommand};
use rmcp::ServiceExt;
use tandem_workspace::roots::Roots;
use tokio_util::sync::CancellationToken;

use crate::bridge_options::BridgeOptions;
use crate::server::Bridge;
use crate::stdio::Stdio;
use crate::tool_filter::ToolFilter;
use crate::{doctor, editor_tests, http, install, status};

/// Serve the debugger to agents as MCP tools, over stdin and stdout.
#[derive(Debug, Parser)]
#[command(name = "tandem-mcp", version)]
struct BridgeArgs {
    #[command(subcommand)]
    command: Option<BridgeCommand>,
    /// Start this debug adapter; without it, the tandem-dap next to this program, else the one on PATH
    #[arg(long, value_name = "FILE")]
    adapter: Option<PathBuf>,
    /// Offer only tools that inspect; no tool starts, changes or resumes anything
    #[arg(long)]
    read_only: bool,
    /// Serve MCP over HTTP at this address instead of stdio; port 0 picks a free one
    #[arg(long, value_name = "HOST:PORT", value_parser = host_and_port)]
    http: Option<String>,
    /// Read the bearer token from this file, or create it; the variable TANDEM_MCP_TOKEN takes precedence
    #[arg(long, value_name = "FILE", requires = "http")]
    http_token_file: Option<PathBuf>,
    /// Allow an address that other machines can reach; traffic is not encrypted
    #[arg(long, requires = "http")]
    http_allow_remote: bool,
    /// Also accept clients that use this host name; repeatable
    #[arg(long = "http-host", value_name = "NAME", requires = "http")]
    http_hosts: Vec<String>,
    /// Limit the file, git and build tools to this folder; repeatable; relative paths are relative to the
    /// first [default: .]
    #[arg(long = "root", value_name = "DIR")]
    roots: Vec<PathBuf>,
    /// Also offer `run_command`, which runs any program as you
    #[arg(long)]
    allow_commands: bool,
    /// Offer all tools, or only the most needed ones
    #[arg(long, value_name = "SET", default_value = "all", value_parser = ["all", "core"])]
    tools: String,
    /// Write the log to this file instead of stderr
    #[arg(long, value_name = "FILE")]
    log: Option<PathBuf>,
    /// Log at this level: error, warn, info, debug, trace, or a filter such as `bridge=debug`
    #[arg(long, value_name = "LEVEL", default_value = "warn", value_parser = tandem_log::level)]
    log_level: String,
}

#[derive(Debug, Subcommand)]
enum BridgeCommand {
    /// Add Tandem to the configuration of an agent, such as claude-code, cursor or codex
    Install(install::InstallArgs),
    /// Remove what `install` wrote from the configuration of an agent
    Uninstall(install::UninstallArgs),
    /// Report which programs, runtimes, debuggers and hosts are installed, and which are missing
    Doctor {
        /// Print the report as JSON
        #[arg(long)]
        json: bool,
    },
    /// List the debug sessions of this user, and where each is stopped
    Status(status::StatusArgs),
    /// List, run or debug tests for an editor: one JSON request on stdin, JSON lines on stdout
    Tests,
    /// Ends processes that outlive their host (used by tandem-mcp itself)
    #[command(hide = true)]
    Watchdog,
    /// Print the man page or a shell's completions
    Generate {
        /// Print this page, or the completions of this shell
        page: tandem_pages::CliPage,
    },
}

fn host_and_port(text: &str) -> Result<String, String> {
    let port =
        text.rsplit_once(':').filter(|(host, _)| !host.is_empty()).map(|(_, port)| port.parse::<u16>());
    match port {
        Some(Ok(_)) => Ok(text.to_owned()),
        _ => Err("it is not HOST:PORT, such as 127.0.0.1:7777".into()),
    }
}

/// Libraries that log all data at low levels, and the levels at which they are kept.
const LIBRARY_LOG_LEVELS: [&str; 4] = ["rmcp=info", "hyper=info", "axum=info", "tower_http=info"];

/// Runs the program to its end.
pub fn main() -> ExitCode {
    let flags = BridgeArgs::parse();
    let outcome = match &flags.command {
        Some(BridgeCommand::Tests) => serve_editor_tests(&flags).map(|()| true),
        Some(command) => run_command(command, flags.adapter.as_deref()),
        None => run(flags).map(|()| true),
    };
    match outcome {
        Ok(true) => ExitCode::SUCCESS,
        Ok(false) => ExitCode::FAILURE,
        Err(error) => {
            tandem_log::say(&format!("tandem-mcp: {error:#}"));
            ExitCode::FAILURE
        }
    }
}

/// Runs a command that writes to stdout for people and scripts, not MCP. Returns whether it found no problem.
fn run_command(command: &BridgeCommand, adapter: Option<&std::path::Path>) -> anyhow::Result<bool> {
    let mut out = std::io::stdout().lock();
    match command {
        BridgeCommand::Install(flags) => install::run(flags, &mut out).map(|()| true),
        BridgeCommand::Uninstall(flags) => install::run(&flags.clone().into(), &mut out).map(|()| true),
        BridgeCommand::Doctor { json } => {
            let adapter = adapter.map_or_else(find_adapter, |named| Ok(named.to_path_buf()));
            doctor::run(adapter, *json, &mut out)
        }
        BridgeCommand::Status(flags) => {
            let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build()?;
            runtime.block_on(status::run(flags, &mut out)).map(|()| true)
        }
        BridgeCommand::Watchdog => Ok(tandem_process_tree::watchdog::run().map(|()| true)?),
        BridgeCommand::Tests => Ok(false),
        BridgeCommand::Generate { page } => {
            Ok(tandem_pages::write(*page, BridgeArgs::command(), &mut out).map(|()| true)?)
        }
    }
}

/// Serves test requests of an editor.
fn serve_editor_tests(flags: &BridgeArgs) -> anyhow::Result<()> {
    let _log = tandem_log::start(&flags.log_level, &LIBRARY_LOG_LEVELS, flags.log.as_deref())?;
    leave_terminal();
    tandem_process_tree::command_guard::enable();
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build()?;
    runtime.block_on(async { editor_tests::serve(stop_on_signals()?).await })?;
    runtime.shutdown_background();
    Ok(())
}

fn run(flags: BridgeArgs) -> anyhow::Result<()> {
    // The protocol's library logs whole messages below `info`: arguments, files, input. A log must not hold
    // them. Its last lines are written at the end of this function.
    let _log = tandem_log::start(&flags.log_level, &LIBRARY_LOG_LEVELS, flags.log.as_deref())?;
    if flags.http.is_none() {
        leave_terminal();
    }
    tandem_process_tree::command_guard::enable();
    let adapter = match flags.adapter {
        Some(path) => path,
        None => find_adapter()?,
    };
    let offer = ToolFilter {
        core: flags.tools == "core",
        read_only: flags.read_only,
        commands: flags.allow_commands,
    };
    let roots = if flags.roots.is_empty() { vec![PathBuf::from(".")] } else { flags.roots };
    let roots = Arc::new(Roots::open(&roots)?);
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build()?;
    let with_sessions = flags.http.is_some();
    let options = BridgeOptions { adapter, offer, roots, with_sessions, ..BridgeOptions::default() };
    let http = flags.http.map(|address| http::ListenOptions {
        address,
        remote: flags.http_allow_remote,
        hosts: flags.http_hosts,
        token_file: flags.http_token_file,
    });
    runtime.block_on(async {
        let stop = stop_on_signals()?;
        match http {
            Some(listen) => http::serve(listen, options, stop).await,
            None => serve_stdio(options, stop).await,
        }
    })?;
    runtime.shutdown_background();
    Ok(())
}

/// Gives up the terminal that the client runs in. Programs that this process starts (builds, tests, git,
/// ssh) could ask for a password there, and the kernel would suspend them. Does nothing for a user who types
/// MCP by hand: Ctrl+C ends the process.
fn leave_terminal() {
    if !std::io::stdin().is_terminal()
        && let Err(error) = rustix::process::setsid()
    {
        tracing::debug!(%error, "tandem-mcp leads a process group already");
    }
}

/// Serves until the client closes stdin, or until `stop`.
async fn serve_stdio(options: BridgeOptions, stop: CancellationToken) -> anyhow::Result<()> {
    let bridge = Bridge::new(options);
    let transport = Stdio::new(tokio::io::stdin(), tokio::io::stdout());
    let serving = bridge.clone().serve_with_ct(transport, stop.clone());
    let outcome = match serving.await {
        Ok(service) => service.waiting().await.map(drop).context("the MCP connection failed"),
        Err(_) if stop.is_cancelled() => Ok(()),
        Err(error) => Err(error).context("no MCP client spoke"),
    };
    bridge.close().await;
    outcome
}

/// Returns a token that a signal cancels: programs that the bridge started end before the bridge does.
fn stop_on_signals() -> anyhow::Result<CancellationToken> {
    use tokio::signal::unix::{SignalKind, signal};
    let stop = CancellationToken::new();
    for kind in [SignalKind::terminate(), SignalKind::interrupt(), SignalKind::hangup()] {
        let (mut signals, stop) = (signal(kind).context("cannot wait for signals")?, stop.clone());
        tokio::spawn(async move {
            signals.recv().await;
            stop.cancel();
        });
    }
    Ok(stop)
}

fn find_adapter() -> anyhow::Result<PathBuf> {
    let own = std::env::current_exe().context("cannot find the program itself")?;
    let beside = own.with_file_name("tandem-dap");
    let path = std::env::var_os("PATH").unwrap_or_default();
    let in_path = std::env::split_paths(&path).map(|folder| folder.join("tandem-dap"));
    let looked: Vec<PathBuf> = std::iter::once(beside).chain(in_path).collect();
    match looked.iter().find(|candidate| candidate.is_file()) {
        Some(found) => Ok(found.clone()),
        None => bail!("no `tandem-dap` found beside `{}` or in PATH; name it with --adapter", own.display()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// `INSTA_UPDATE=always cargo test -p tandem-bridge --lib lists_every` regenerates the tables.
    #[test]
    fn the_documentation_lists_every_flag() -> std::io::Result<()> {
        let file = std::path::Path::new(concat!(env!("CARGO_MANIFEST_DIR"), "/../docs/command-line.md"));
        assert!(
            tandem_pages::has_tables(file, BridgeArgs::command())?,
            "out of date: run this with INSTA_UPDATE=always"
        );
        Ok(())
    }
}
