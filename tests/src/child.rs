//! Programs of other languages, the adapters that debug them, and an editor's way through both.

use std::path::PathBuf;
use std::process::{Command, Stdio};

use anyhow::Context;
use serde_json::{Value, json};

use crate::client::DapClient;
use crate::fixture;

/// What set-up found, by its key; set-up runs again when it is older than what is asked.
///
/// # Panics
/// When set-up does not bring it: a test that cannot run has failed.
fn setting(key: &str) -> Option<String> {
    let read = || -> Option<String> {
        let text = std::fs::read_to_string(fixture::cache().join("env.json")).ok()?;
        serde_json::from_str::<Value>(&text).ok()?[key].as_str().map(str::to_owned)
    };
    if std::env::var("TANDEM_SKIP_TOOLCHAINS").as_deref() == Ok("1") {
        eprintln!("SKIPPED: no child adapters are set up (TANDEM_SKIP_TOOLCHAINS=1)");
        return None;
    }
    read().or_else(|| {
        let lock = fixture::cache().join("setup.lock");
        let mut setup = Command::new("flock");
        // The tests of one run that find it old at the same moment set up once.
        let script = format!("grep -q '\"{key}\"' \"$1/env.json\" || exec \"$2\"");
        setup.arg(lock).args(["sh", "-c", &script, "sh"]).arg(fixture::cache());
        setup.arg(fixture::root().join("scripts/setup"));
        let done = setup.stdin(Stdio::null()).status();
        assert!(done.is_ok_and(|status| status.success()), "scripts/setup failed");
        Some(read().unwrap_or_else(|| panic!("scripts/setup brings no `{key}`")))
    })
}

/// One language's program that echoes its input, and the engine that debugs it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Subject {
    /// Python, the debugged process itself.
    Python,
    /// Python, through debugpy's adapter.
    PythonAdapter,
    /// C, lldb-dap.
    Lldb,
    /// C, gdb.
    Gdb,
    /// Bash, bash-dap.
    Bash,
}

impl Subject {
    /// Whether its adapter is set up; `false` only when the user said to go on without, loudly.
    pub fn is_set_up(self) -> bool {
        setting("python").is_some()
    }

    /// Its source.
    pub fn source(self) -> PathBuf {
        let name = match self {
            Self::Python | Self::PythonAdapter => "echo.py",
            Self::Lldb | Self::Gdb => "echo.c",
            Self::Bash => "echo.sh",
        };
        source(name)
    }

    /// The attributes that launch it.
    pub fn launch(self) -> Value {
        let setting = |key| setting(key).unwrap_or_default();
        match self {
            Self::Python => python("echo.py"),
            Self::PythonAdapter => {
                let mut launch = python("echo.py");
                launch["engineOptions"] = json!({ "throughAdapter": true });
                launch
            }
            Self::Lldb => json!({ "engine": "lldb", "enginePath": setting("lldbDap"),
                "program": format!("{}/echo", setting("childPrograms")) }),
            Self::Gdb => json!({ "engine": "gdb", "enginePath": setting("gdb"),
                "program": format!("{}/echo", setting("childPrograms")) }),
            Self::Bash => {
                json!({ "engine": "bash", "enginePath": setting("python"), "program": self.source() })
            }
        }
    }

    /// The line with this marker.
    pub fn line(self, marker: &str) -> i64 {
        line(&self.source(), marker)
    }
}

/// The attributes that launch a Python fixture.
pub fn python(name: &str) -> Value {
    json!({ "engine": "debugpy", "python": setting("python").unwrap_or_default(), "program": source(name) })
}

/// A fixture of another language than .NET's.
pub fn source(name: &str) -> PathBuf {
    fixture::root().join("fixtures/programs/children").join(name)
}

/// The line (from 1) with `BP marker` at its end, whatever the language's comments look like.
///
/// # Panics
/// When there is none.
pub fn line(source: &std::path::Path, marker: &str) -> i64 {
    let text = std::fs::read_to_string(source).unwrap_or_default();
    let wanted = format!("BP {marker}");
    let found = text.lines().position(|line| line.trim_end().trim_end_matches(" */").ends_with(&wanted));
    let at = found.unwrap_or_else(|| panic!("no marker `{marker}` in {}", source.display()));
    i64::try_from(at).unwrap_or_default() + 1
}

impl DapClient {
    /// Launches with these attributes and breakpoints on lines of one source, up to where it runs.
    ///
    /// # Errors
    /// When anything on the way fails.
    pub async fn launch_child(
        &mut self,
        launch: Value,
        source: &std::path::Path,
        lines: &[i64],
    ) -> anyhow::Result<()> {
        self.ok(
            "initialize",
            json!({ "clientID": "test", "adapterID": "tandem", "supportsVariableType": true }),
        )
        .await?;
        let launch = self.send("launch", launch).await?;
        self.event("initialized").await?;
        if !lines.is_empty() {
            self.break_on(source, lines).await?;
        }
        self.ok("configurationDone", Value::Null).await?;
        let launched = self.response(launch).await?;
        anyhow::ensure!(launched.success, "launch failed: {}", launched.body);
        Ok(())
    }

    /// Sets this client's breakpoints in any source.
    ///
    /// # Errors
    /// When it is refused.
    pub async fn break_on(&mut self, source: &std::path::Path, lines: &[i64]) -> anyhow::Result<Value> {
        let lines: Vec<Value> = lines.iter().map(|line| json!({ "line": line })).collect();
        self.ok("setBreakpoints", json!({ "source": { "path": source }, "breakpoints": lines })).await
    }

    /// What the program printed to stdout until a pattern came, or until it waits for input or ends.
    ///
    /// # Errors
    /// When it is refused.
    pub async fn read_stdout(&mut self, until: &str) -> anyhow::Result<String> {
        let read = self
            .ok("processReadOutput", json!({ "stream": "stdout", "waitFor": until, "timeoutMs": 20_000 }))
            .await?;
        Ok(read["stdout"].as_str().context("no stdout")?.to_owned())
    }
}
