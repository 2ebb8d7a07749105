//! .NET programs that run without a debugger, to attach to.
//!
//! Not here: programs of other languages ([`crate::child`]).

use std::process::Stdio;

use anyhow::Context;
use tokio::io::{AsyncBufReadExt, BufReader, Lines};
use tokio::process::{Child, ChildStdout};

use crate::fixture::Runtime;

/// Starts a program without a debugger and waits for its first line.
///
/// # Errors
/// If it does not start, or prints nothing.
pub async fn running_with(
    runtime: Runtime,
    program: &str,
    args: &[&str],
) -> anyhow::Result<(Child, Lines<BufReader<ChildStdout>>)> {
    let mut command = tokio::process::Command::new(runtime.dotnet().context("no dotnet")?);
    command
        .arg(crate::fixture::program(program))
        .args(args)
        .envs(runtime.environment().context("no runtime")?);
    let mut process = command.kill_on_drop(true).stdin(Stdio::piped()).stdout(Stdio::piped()).spawn()?;
    let mut lines = BufReader::new(process.stdout.take().context("no stdout")?).lines();
    lines.next_line().await?.context("the program prints nothing")?;
    Ok((process, lines))
}
