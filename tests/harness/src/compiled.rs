//! Shared parts of the tests of expressions that the compiler translates.

use std::path::PathBuf;

use anyhow::Context;
use serde_json::{Value, json};

use crate::client::DapClient;
use crate::fixture::{self, Runtime};

/// A stop at which expressions are evaluated.
#[derive(Debug)]
pub struct Stop {
    /// The thread that is stopped.
    pub thread: i64,
    /// The top frame of that thread, as DAP has it.
    pub frame: Value,
    /// The process of the session's host.
    pub host: u64,
}

impl Stop {
    /// The processes that ask a compiler for the session.
    ///
    /// # Errors
    /// If the system's list of processes cannot be read.
    pub fn compilers(&self) -> anyhow::Result<Vec<u64>> {
        compilers_of(self.host)
    }
}

/// The processes that ask a compiler for the session of this host.
///
/// # Errors
/// If the system's list of processes cannot be read.
pub fn compilers_of(host: u64) -> anyhow::Result<Vec<u64>> {
    let mut found = Vec::new();
    for entry in std::fs::read_dir("/proc")?.flatten() {
        let Some(pid) = entry.file_name().to_str().and_then(|name| name.parse().ok()) else { continue };
        // A process that has ended in the meantime does not count.
        let line = std::fs::read_to_string(entry.path().join("cmdline")).unwrap_or_default();
        if line.contains("tandem-expressions.dll") && parent_of(pid).is_ok_and(|parent| parent == host) {
            found.push(pid);
        }
    }
    Ok(found)
}

/// The processes that ask a compiler for the session of this program.
///
/// # Errors
/// If the system's list of processes cannot be read.
pub fn compilers_beside(program: u64) -> anyhow::Result<Vec<u64>> {
    compilers_of(parent_of(program)?)
}

fn parent_of(process: u64) -> anyhow::Result<u64> {
    let stat = std::fs::read_to_string(format!("/proc/{process}/stat"))?;
    let rest = stat.rsplit(')').next().unwrap_or_default();
    rest.split_whitespace().nth(1).context("no parent")?.parse().context("no number")
}

impl DapClient {
    /// Launches a program and stops at a line of a source with this marker.
    ///
    /// # Errors
    /// When anything on the way fails.
    pub async fn launch_to(
        &mut self,
        program: &str,
        (source, marker): (PathBuf, &str),
        more: Value,
    ) -> anyhow::Result<Stop> {
        let line = line_of(&source, marker)?;
        self.ok("initialize", json!({ "clientID": "test", "adapterID": "tandem" })).await?;
        let mut arguments = json!({ "program": program });
        if let (Some(arguments), Some(more)) = (arguments.as_object_mut(), more.as_object()) {
            arguments.extend(more.clone());
        }
        let launch = self.send("launch", arguments).await?;
        self.initialized(launch).await?;
        let breakpoints = json!([{ "line": line }]);
        self.ok("setBreakpoints", json!({ "source": { "path": source }, "breakpoints": breakpoints }))
            .await?;
        self.ok("configurationDone", json!({})).await?;
        let launched = self.response(launch).await?;
        anyhow::ensure!(launched.success, "the launch failed: {}", launched.body);
        let process = self.event("process").await?["systemProcessId"].as_u64().context("no process")?;
        let (thread, frame) = self.stop().await?;
        Ok(Stop { thread, frame, host: parent_of(process)? })
    }

    /// Goes on to a line of a source with this marker.
    ///
    /// # Errors
    /// When anything on the way fails.
    pub async fn continue_to(
        &mut self,
        stop: &mut Stop,
        (source, marker): (PathBuf, &str),
    ) -> anyhow::Result<()> {
        let breakpoints = json!([{ "line": line_of(&source, marker)? }]);
        self.ok("setBreakpoints", json!({ "source": { "path": source }, "breakpoints": breakpoints }))
            .await?;
        self.ok("continue", json!({ "threadId": stop.thread })).await?;
        (stop.thread, stop.frame) = self.stop().await?;
        Ok(())
    }

    /// The result of an expression in a frame, or `!`, the code and the message of what it was refused with.
    ///
    /// # Errors
    /// When there is no answer.
    pub async fn evaluate_text(&mut self, expression: &str, frame: &Value) -> anyhow::Result<String> {
        let arguments = json!({ "expression": expression, "frameId": frame["id"], "context": "repl" });
        let response = self.ask("evaluate", arguments).await?;
        let of = |value: &Value| value.as_str().unwrap_or_default().to_owned();
        Ok(match response.success {
            true => of(&response.body["result"]),
            false => {
                let why = &response.body["error"]["variables"];
                format!("! {} {}", of(&why["code"]), of(&why["message"]))
            }
        })
    }

    /// Checks the results of expressions in a frame.
    ///
    /// # Errors
    /// If results differ; lists them.
    pub async fn check_results(&mut self, frame: &Value, expected: &[(&str, &str)]) -> anyhow::Result<()> {
        let mut wrong = Vec::new();
        for (expression, result) in expected {
            let got = self.evaluate_text(expression, frame).await?;
            if got != *result
                && !(result.starts_with('!') && got.starts_with('!') && got.contains(&result[2..]))
            {
                wrong.push(format!("{expression}\n    expected: {result}\n    got:      {got}"));
            }
        }
        anyhow::ensure!(wrong.is_empty(), "{} differ:\n{}", wrong.len(), wrong.join("\n"));
        Ok(())
    }
}

fn line_of(source: &std::path::Path, marker: &str) -> anyhow::Result<usize> {
    let text = std::fs::read_to_string(source)?;
    let marked = format!("// BP {marker}");
    Ok(text.lines().position(|line| line.ends_with(&marked)).context("no such marker")? + 1)
}

/// `expressionCompiler` for programs of any runtime: without an installed SDK, that of .NET Core
/// 3.1, which set-up downloads.
pub fn any_compiler() -> Value {
    let installed = Runtime::Net10.dotnet().or_else(|| Runtime::Net8.dotnet());
    match (installed, Runtime::Net31.dotnet()) {
        (None, Some(dotnet)) => json!(dotnet.parent()),
        _ => json!("auto"),
    }
}

/// A source of the program `compiled` of today's C#.
pub fn modern(file: &str) -> PathBuf {
    fixture::root().join("fixtures/programs/modern/compiled").join(file)
}

/// The source of the program `compiled` in the C# of .NET Core 3.1.
pub fn older() -> PathBuf {
    fixture::root().join("fixtures/programs/dotnet/compiled/Program.cs")
}
