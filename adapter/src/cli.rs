//! Flags, and which of the program's parts they start. Prints errors to stderr; stdout belongs to the
//! protocol.

use std::ffi::OsString;
use std::path::PathBuf;
use std::process::ExitCode;

use clap::{CommandFactory, Parser, Subcommand};

use tandem_log::say;

use crate::server::host::HostStart;
use crate::server::listener::{ConnectionPolicy, ListenAddress};
use crate::server::relay::{ChildOf, HostOptions};
use crate::{logging, server};
use tandem_hub::access::AgentAccess;
use tandem_process::terminal::Pty;

/// Debug adapter whose sessions an editor and agents share.
///
/// Without arguments, it serves one session over stdin and stdout to the editor that starts it.
#[derive(Debug, Parser)]
#[command(name = "tandem-dap", version)]
pub struct AdapterArgs {
    /// Serve DAP to any number of connections: HOST:PORT (loopback, unless --remote) or unix:PATH
    #[arg(long, value_name = "ADDRESS")]
    listen: Option<ListenAddress>,
    /// With --listen: accept other machines, with a token that is printed to stderr unless you set one
    #[arg(long, requires = "listen")]
    remote: bool,
    /// With --listen: require the token in this file; without it, the one in TANDEM_TOKEN
    #[arg(long, value_name = "FILE", requires = "listen")]
    token_file: Option<PathBuf>,
    /// Write the log to this file instead of stderr
    #[arg(long, value_name = "FILE", global = true)]
    log: Option<PathBuf>,
    /// Log at this level: error, warn, info, debug, trace, or a filter such as `adapter=debug`
    #[arg(long, value_name = "LEVEL", default_value = "warn", global = true,
        value_parser = tandem_log::level)]
    log_level: String,
    /// Announce the exception filters of the engine that these launch or attach attributes (JSON) choose; for
    /// an editor that reads filters only from the answer to `initialize`
    #[arg(long, value_name = "ATTRIBUTES", value_parser = attributes, conflicts_with = "listen")]
    expect: Option<String>,
    /// Limit agents unless the launch does: full, readOnly or none
    #[arg(long, value_name = "ACCESS", default_value = "full", global = true, value_parser = access)]
    agent_access: AgentAccess,
    #[command(subcommand)]
    command: Option<AdapterCommand>,
}

#[derive(Debug, Subcommand)]
enum AdapterCommand {
    /// List the live sessions of this user
    Sessions {
        /// Print the list as JSON
        #[arg(long)]
        json: bool,
    },
    /// List the debuggers available to programs in this folder, and how to install the missing ones
    Engines {
        /// Print the list as JSON
        #[arg(long)]
        json: bool,
    },
    /// Report which debuggers are installed, their versions, and how to install the missing ones
    Doctor {
        /// Print the report as JSON
        #[arg(long)]
        json: bool,
    },
    /// Print the man page or a shell's completions
    Generate {
        /// Print this page, or the completions of this shell
        page: tandem_pages::CliPage,
    },
    /// Hosts one session whose first client is connected to stdin (used by tandem-dap itself)
    #[command(hide = true)]
    Host {
        /// Its first client must present the token that comes on stdout
        #[arg(long)]
        token: bool,
        /// Its first client's stdin and stdout come over its own stdin
        #[arg(long)]
        handed_over: bool,
        /// As of tandem-dap itself
        #[arg(long)]
        expect: Option<String>,
        /// The id of its session
        #[arg(long, requires = "parent", requires = "title")]
        id: Option<String>,
        /// The session whose program started its own
        #[arg(long, requires = "id")]
        parent: Option<String>,
        /// Title of the program that it debugs
        #[arg(long, requires = "id", allow_hyphen_values = true)]
        title: Option<String>,
    },
    /// Runs a program in this terminal for the session at a socket (used by tandem-dap itself)
    #[command(hide = true)]
    InTerminal {
        /// Path of the session's socket
        socket: PathBuf,
    },
    /// Becomes the program of the session at a socket (used by tandem-dap itself)
    #[command(hide = true, alias = "exec-ordered")]
    ExecShim {
        /// The socket that sends the command to run
        socket: PathBuf,
    },
    /// Ends processes that outlive their host (used by tandem-dap itself)
    #[command(hide = true)]
    Watchdog,
    /// Ends the child processes of a session whose host is killed, and releases held .NET runtimes (used
    /// by tandem-dap itself)
    #[command(hide = true)]
    ChildWatchdog {
        /// The program whose child processes end with the host
        #[arg(long)]
        ends_with: Option<u32>,
        /// Further folders with debugging libraries
        #[arg(long = "symbols")]
        symbols: Vec<PathBuf>,
    },
    /// Become a program on request (used by tandem-dap itself)
    #[command(hide = true)]
    ExecHeld {
        /// Its stdin is a terminal that is to be its own
        #[arg(long)]
        terminal: bool,
        /// That shows what is typed
        #[arg(long, requires = "terminal")]
        echo: bool,
        /// Wait for the request at this socket, not on stdin
        #[arg(long, value_name = "SOCKET", conflicts_with = "terminal")]
        gate: Option<PathBuf>,
        /// It is not killed with us
        #[arg(long)]
        ends_by_itself: bool,
        /// Who starts it; nothing is started when that process has gone
        #[arg(long)]
        parent: Option<u32>,
        /// The program and its arguments
        #[arg(required = true, last = true)]
        program: Vec<OsString>,
    },
}

/// As the launch attribute `agentAccess`.
fn access(text: &str) -> Result<AgentAccess, String> {
    AgentAccess::parse(&text.into()).map_err(|failure| failure.to_string())
}

/// Text that is a JSON object.
fn attributes(text: &str) -> Result<String, String> {
    match serde_json::from_str::<serde_json::Map<String, serde_json::Value>>(text) {
        Ok(_) => Ok(text.to_owned()),
        Err(error) => Err(format!("not a JSON object of launch or attach attributes: {error}")),
    }
}

/// Runs the program to its end.
pub fn main() -> ExitCode {
    let flags = AdapterArgs::parse();
    if let Some(AdapterCommand::ExecHeld { terminal, echo, ends_by_itself, parent, gate, program }) =
        &flags.command
        && let Some((program, args)) = program.split_first()
    {
        let error = match gate {
            Some(gate) => tandem_process::runner::exec_at_gate(gate, program.as_ref(), args, *parent),
            None => {
                let dies_with = (!ends_by_itself).then_some(*parent);
                tandem_process::held_exec::exec_held(
                    program.as_ref(),
                    args,
                    Pty::of(*terminal, *echo),
                    dies_with,
                )
            }
        };
        eprintln!("tandem-dap: cannot start `{}`: {error}", program.display());
        return ExitCode::from(127);
    }
    if let Some(AdapterCommand::ExecShim { socket }) = &flags.command {
        let error = tandem_process::exec_shim::exec_shim(socket);
        eprintln!("tandem-dap: cannot become the program of the debug session: {error}");
        return ExitCode::from(127);
    }
    if matches!(flags.command, Some(AdapterCommand::Watchdog)) {
        return match tandem_process_tree::watchdog::run() {
            Ok(()) => ExitCode::SUCCESS,
            Err(_nobody_reads_it) => ExitCode::FAILURE,
        };
    }
    if let Some(AdapterCommand::InTerminal { socket }) = &flags.command {
        return match tandem_process::runner::run(socket) {
            Ok(code) => ExitCode::from(code),
            Err(error) => {
                say(&format!("tandem-dap: {error:#}"));
                ExitCode::FAILURE
            }
        };
    }
    if let Some(AdapterCommand::Generate { page }) = flags.command {
        return match tandem_pages::write(page, AdapterArgs::command(), &mut std::io::stdout().lock()) {
            Ok(()) => ExitCode::SUCCESS,
            Err(_nobody_reads_it) => ExitCode::FAILURE,
        };
    }
    if let Some(AdapterCommand::Doctor { json }) = flags.command {
        return match server::doctor::run(json) {
            Ok(true) => ExitCode::SUCCESS,
            Ok(false) => ExitCode::FAILURE,
            Err(error) => {
                say(&format!("tandem-dap: {error:#}"));
                ExitCode::FAILURE
            }
        };
    }
    let logging = logging::LogSettings { file: flags.log, level: flags.log_level };
    let log = match tandem_log::start(&logging.level, &[], logging.file.as_deref()) {
        Ok(log) => log,
        Err(error) => {
            say(&format!("tandem-dap: {error:#}"));
            return ExitCode::from(2);
        }
    };
    let outcome = match (flags.command, flags.listen) {
        (Some(AdapterCommand::Sessions { json }), _) => server::sessions::list(json),
        (Some(AdapterCommand::Engines { json }), _) => server::engines::list(json),
        (Some(AdapterCommand::Host { token, handed_over, expect, id, parent, title }), _) => {
            let child = id.zip(parent).zip(title).map(|((id, parent), title)| ChildOf { id, parent, title });
            let start = HostStart {
                token,
                handed_over,
                expect,
                access: flags.agent_access,
                child,
                logging: logging.clone(),
            };
            server::host::run(start)
        }
        (Some(AdapterCommand::ChildWatchdog { ends_with, symbols }), _) => {
            tandem_coreclr::watch_children(ends_with, &symbols)
        }
        (None, Some(address)) => {
            let policy = ConnectionPolicy { remote: flags.remote, token_file: flags.token_file };
            server::listener::run(&address, &policy, &logging, flags.agent_access)
        }
        _ => {
            let options = HostOptions {
                expect: flags.expect.as_deref(),
                agent_access: flags.agent_access,
                ..HostOptions::default()
            };
            server::relay::run(&logging, options)
        }
    };
    drop(log);
    match outcome {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            say(&format!("tandem-dap: {error:#}"));
            ExitCode::FAILURE
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_former_name_of_the_exec_shim_still_works() {
        let args = AdapterArgs::try_parse_from(["tandem-dap", "exec-ordered", "socket"]).ok();
        let command = args.and_then(|args| args.command);
        assert!(matches!(command, Some(AdapterCommand::ExecShim { .. })));
    }

    /// `INSTA_UPDATE=always cargo test -p tandem-adapter --lib lists_every` regenerates the tables.
    #[test]
    fn the_documentation_lists_every_flag() -> std::io::Result<()> {
        let file = std::path::Path::new(concat!(env!("CARGO_MANIFEST_DIR"), "/../docs/command-line.md"));
        assert!(
            tandem_pages::has_tables(file, AdapterArgs::command())?,
            "out of date: run this with INSTA_UPDATE=always"
        );
        Ok(())
    }
}
