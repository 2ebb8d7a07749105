//! Programs of other languages, the adapters that debug them, and an editor's way through both.

use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use anyhow::Context;
use serde_json::{Value, json};

use crate::client::DapClient;
use crate::deadline::deadline_ms;
use crate::fixture;

/// A result of set-up, by its key; set-up runs again if its results are older than the key.
///
/// # Panics
/// When set-up does not bring it: a test that cannot run has failed.
fn setting(key: &str) -> String {
    let read = || -> Option<String> {
        let text = std::fs::read_to_string(fixture::cache().join("env.json")).ok()?;
        serde_json::from_str::<Value>(&text).ok()?[key].as_str().map(str::to_owned)
    };
    read().unwrap_or_else(|| {
        let lock = fixture::cache().join("setup.lock");
        let mut setup = Command::new("flock");
        // The tests of one run that find it old at the same moment set up once.
        let script = format!("grep -q '\"{key}\"' \"$1/env.json\" || exec \"$2\"");
        setup.arg(lock).args(["sh", "-c", &script, "sh"]).arg(fixture::cache());
        setup.arg(fixture::root().join("scripts/setup"));
        let done = setup.stdin(Stdio::null()).status();
        assert!(done.is_ok_and(|status| status.success()), "scripts/setup failed");
        read().unwrap_or_else(|| panic!("scripts/setup brings no `{key}`"))
    })
}

/// One language's program that echoes its input, and the engine that debugs it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Subject {
    /// Python, the debugged process itself.
    Python,
    /// Python, through debugpy's adapter.
    PythonAdapter,
    /// C programs, with LLVM's lldb-dap.
    Lldb,
    /// C, with gdb's own adapter.
    Gdb,
    /// Bash scripts, with bash-dap.
    Bash,
    /// Go programs, with Delve.
    Delve,
    /// Ruby, the gem `debug` that comes with it.
    Rdbg,
    /// Ruby, the gem `debug` 1.9.2.
    Rdbg192,
    /// JavaScript, vscode-js-debug.
    Js,
    /// Perl, `Perl::LanguageServer`.
    Perl,
}

impl Subject {
    /// The source of its `echo` program.
    pub fn source(self) -> PathBuf {
        let name = match self {
            Self::Python | Self::PythonAdapter => "echo.py",
            Self::Lldb | Self::Gdb => "echo.c",
            Self::Bash => "echo.sh",
            Self::Delve => "go-echo/main.go",
            Self::Rdbg | Self::Rdbg192 => "echo.rb",
            Self::Js => "echo.js",
            Self::Perl => "echo.pl",
        };
        source(name)
    }

    /// The attributes that launch it.
    pub fn launch(self) -> Value {
        match self {
            Self::Python => python("echo.py"),
            Self::PythonAdapter => {
                let mut launch = python("echo.py");
                launch["engineOptions"] = json!({ "throughAdapter": true });
                launch
            }
            Self::Lldb | Self::Gdb => self.with(json!({ "program": built("echo") })),
            Self::Delve => self.with(json!({ "program": built("go-echo") })),
            Self::Bash | Self::Rdbg | Self::Rdbg192 | Self::Js | Self::Perl => {
                self.with(json!({ "program": self.source() }))
            }
        }
    }

    /// These attributes, and those that say which engine it is and where.
    pub fn with(self, mut attributes: Value) -> Value {
        let own = match self {
            Self::Python | Self::PythonAdapter => json!({ "engine": "debugpy", "python": setting("python") }),
            Self::Lldb => json!({ "engine": "lldb", "enginePath": setting("lldbDap") }),
            Self::Gdb => json!({ "engine": "gdb", "enginePath": setting("gdb") }),
            Self::Bash => json!({ "engine": "bash", "enginePath": setting("python") }),
            // The Go here is newer than Debian's Delve.
            Self::Delve => json!({ "engine": "delve", "enginePath": setting("dlv"),
                "dlvFlags": ["--check-go-version=false"] }),
            Self::Rdbg => json!({ "engine": "rdbg" }),
            Self::Rdbg192 => json!({ "engine": "rdbg", "enginePath": setting("rdbg192") }),
            Self::Js => json!({ "engine": "js", "enginePath": setting("jsDebug") }),
            Self::Perl => json!({ "engine": "perl", "enginePath": setting("perl") }),
        };
        if let (Some(attributes), Value::Object(own)) = (attributes.as_object_mut(), own) {
            attributes.extend(own);
        }
        attributes
    }

    /// Variables of a Ruby program that has the gem `debug` of this one inside.
    pub fn gem_variables(self) -> Vec<(&'static str, String)> {
        if self == Self::Rdbg192 { vec![("RUBYLIB", setting("rdbg192Lib"))] } else { Vec::new() }
    }

    /// Whether its gem `debug` stops a program that it is attached to: before 1.6.
    ///
    /// # Panics
    /// If the gem has no version.
    pub fn stops_at_attach(self) -> bool {
        let version = setting(if self == Self::Rdbg192 { "rdbg192Debug" } else { "rubyDebug" });
        let numbers: Vec<u32> = version.split('.').filter_map(|number| number.parse().ok()).collect();
        assert!(numbers.len() > 1, "no version: {version}");
        self.is_ruby() && numbers < vec![1, 6]
    }

    /// Whether it is Ruby's.
    pub fn is_ruby(self) -> bool {
        matches!(self, Self::Rdbg | Self::Rdbg192)
    }

    /// A variable's name as the language has it.
    pub fn variable(self, name: &str, is_list: bool) -> String {
        match (self, is_list) {
            (Self::Perl, true) => format!("@{name}"),
            (Self::Perl, false) => format!("${name}"),
            _ => name.to_owned(),
        }
    }

    /// The line with this marker.
    pub fn line(self, marker: &str) -> i64 {
        line(&self.source(), marker)
    }
}

/// The attributes that launch a Python fixture.
pub fn python(name: &str) -> Value {
    json!({ "engine": "debugpy", "python": setting("python"), "program": source(name) })
}

/// The program that set-up has built from a native fixture.
pub fn built(name: &str) -> String {
    format!("{}/{name}", setting("childPrograms"))
}

/// The interpreter that set-up found, by its key: `python`, `ruby`, `node`.
pub fn interpreter(key: &str) -> String {
    setting(key)
}

/// A tool that set-up found, such as `go`.
///
/// # Errors
/// If set-up did not find it.
pub fn tool(name: &str) -> anyhow::Result<PathBuf> {
    let text = std::fs::read_to_string(fixture::cache().join("env.json"))?;
    let found = serde_json::from_str::<Value>(&text)?["tools"][name].as_str().map(PathBuf::from);
    found.with_context(|| format!("scripts/setup brings no `{name}`"))
}

/// The attributes that launch a source, which is built first where its language is.
///
/// # Errors
/// If set-up did not find its tools.
pub fn launch_of(subject: Subject, source: &Path) -> anyhow::Result<Value> {
    let mut launch = subject.launch();
    launch["program"] = json!(source);
    if subject == Subject::Delve { with_tools(launch) } else { Ok(launch) }
}

/// Set-up's Go and CMake, wherever they are; Debian's Delve is older than that Go.
///
/// # Errors
/// If set-up did not find them.
pub fn with_tools(mut launch: Value) -> anyhow::Result<Value> {
    let mut path = std::env::var("PATH").unwrap_or_default();
    for name in ["go", "cmake"] {
        let found = tool(name)?;
        let folder = found.parent().context("no folder")?;
        path = format!("{}:{path}", folder.display());
    }
    launch["env"] = json!({ "PATH": path, "GOEXPERIMENT": "nodwarf5", "GOFLAGS": "-buildvcs=false",
        "GOTOOLCHAIN": "local" });
    Ok(launch)
}

/// A fixture of another language than .NET's.
pub fn source(name: &str) -> PathBuf {
    fixture::root().join("fixtures/programs/children").join(name)
}

/// A native fixture program, built.
pub fn native(name: &str) -> PathBuf {
    PathBuf::from(setting("childPrograms")).join(name)
}

/// The line (from 1) with `BP marker` at its end, in any language's comment syntax.
///
/// # Panics
/// If no line has the marker.
pub fn line(source: &std::path::Path, marker: &str) -> i64 {
    let text = std::fs::read_to_string(source).unwrap_or_default();
    let expected = format!("BP {marker}");
    let found = text.lines().position(|line| line.trim_end().trim_end_matches(" */").ends_with(&expected));
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
        self.begin("launch", launch, source, lines).await
    }

    /// As [`launch_child`](Self::launch_child), for a program that is running already.
    ///
    /// # Errors
    /// When anything on the way fails.
    pub async fn attach_child(
        &mut self,
        attach: Value,
        source: &std::path::Path,
        lines: &[i64],
    ) -> anyhow::Result<()> {
        self.begin("attach", attach, source, lines).await
    }

    async fn begin(
        &mut self,
        command: &str,
        attributes: Value,
        source: &std::path::Path,
        lines: &[i64],
    ) -> anyhow::Result<()> {
        self.ok(
            "initialize",
            json!({ "clientID": "test", "adapterID": "tandem", "supportsVariableType": true }),
        )
        .await?;
        let launch = self.send(command, attributes).await?;
        self.initialized(launch).await?;
        if !lines.is_empty() {
            self.break_on(source, lines).await?;
        }
        self.ok("configurationDone", Value::Null).await?;
        let launched = self.response(launch).await?;
        anyhow::ensure!(launched.success, "`{command}` failed: {}", launched.body);
        Ok(())
    }

    /// Sets this client's breakpoints in any source.
    ///
    /// # Errors
    /// If the request is refused.
    pub async fn break_on(&mut self, source: &std::path::Path, lines: &[i64]) -> anyhow::Result<Value> {
        let lines: Vec<Value> = lines.iter().map(|line| json!({ "line": line })).collect();
        self.ok("setBreakpoints", json!({ "source": { "path": source }, "breakpoints": lines })).await
    }

    /// The program's stdout up to a pattern, or until the program waits for input or ends.
    ///
    /// # Errors
    /// If the request is refused.
    pub async fn read_stdout(&mut self, until: &str) -> anyhow::Result<String> {
        self.read(until, false).await
    }

    /// Returns the stdout that was not taken before, up to a pattern.
    ///
    /// # Errors
    /// When it is refused, or nothing new matches in time.
    pub async fn take_stdout(&mut self, until: &str) -> anyhow::Result<String> {
        let taken = self.read(until, true).await?;
        anyhow::ensure!(taken.contains(until), "no new `{until}` but {taken:?}");
        Ok(taken)
    }

    async fn read(&mut self, until: &str, clear: bool) -> anyhow::Result<String> {
        let request =
            json!({ "stream": "stdout", "waitFor": until, "timeoutMs": deadline_ms(20), "clear": clear });
        let read = self.ok("processReadOutput", request).await?;
        Ok(read["stdout"].as_str().context("no stdout")?.to_owned())
    }
}
