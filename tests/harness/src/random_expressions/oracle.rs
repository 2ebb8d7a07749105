//! The values of expressions as a compiled program prints them: the fixture program, with the expressions
//! instead of its table, compiled by an SDK's `csc` and run.

use std::collections::HashMap;
use std::path::{Path, PathBuf};

use anyhow::Context;
use tokio::process::Command;

use super::Expression;
use crate::fixture::{self, Runtime};

/// The code that prints the rows.
const ROWS: &str = include_str!("Rows.cs");

/// Maximum rounds of removing rows that do not compile: `csc` reports some errors only
/// when there are no others.
const MAX_ROUNDS: usize = 6;

/// The result of an expression in a compiled program.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum OracleResult {
    /// The type and the value.
    Value(String, String),
    /// The name of the exception that it throws.
    Exception(String),
    /// The number of the first error.
    Error(String),
}

/// A program into which expressions are compiled.
#[derive(Debug)]
pub struct OracleProgram {
    runtime: Runtime,
    /// The `dotnet` and environment of the compiler.
    compiler: Runtime,
    /// The source with the table, and those beside it.
    table: PathBuf,
    others: Vec<PathBuf>,
    arguments: &'static [&'static str],
    /// The implicit namespaces of each file, if the project defines some.
    usings: &'static [&'static str],
    name: &'static str,
}

impl OracleProgram {
    /// The program `expressions` in C# 8, to run on this runtime.
    pub fn older(runtime: Runtime) -> Self {
        Self {
            runtime,
            compiler: Runtime::Net31,
            table: fixture::source("expressions").into(),
            others: Vec::new(),
            arguments: &[],
            usings: &[],
            name: "expressions",
        }
    }

    /// The program `compiled` in C# 14.
    pub fn modern() -> Self {
        Self {
            runtime: Runtime::Net10,
            compiler: Runtime::Net10,
            table: crate::compiled::modern("Table.cs"),
            others: vec![crate::compiled::modern("Program.cs"), crate::compiled::modern("Types.cs")],
            arguments: &["table"],
            usings: &[
                "System",
                "System.IO",
                "System.Linq",
                "System.Net.Http",
                "System.Threading",
                "System.Threading.Tasks",
                "System.Collections.Generic",
            ],
            name: "compiled",
        }
    }

    /// Compiles and runs the program; returns the result of each expression.
    ///
    /// # Errors
    /// When the rest of the program does not compile or run.
    pub async fn run(&self, expressions: &[Expression]) -> anyhow::Result<Vec<OracleResult>> {
        let folder = tempfile::tempdir()?;
        let (before, behind) = parts(&std::fs::read_to_string(&self.table)?)?;
        let first = before.lines().count();
        let mut errors: HashMap<usize, String> = HashMap::new();
        let mut rounds = 0;
        loop {
            let mut source = before.clone();
            for (at, expression) in expressions.iter().enumerate() {
                match errors.contains_key(&at) {
                    true => source.push('\n'),
                    false => source.push_str(&format!("RandomRows.Row(() => {});\n", expression.text)),
                }
            }
            source.push_str(&behind);
            std::fs::write(folder.path().join("Table.cs"), source)?;
            let found = self.compile(folder.path()).await?;
            if found.is_empty() {
                break;
            }
            let known = errors.len();
            let mut elsewhere = None;
            for (line, code) in found {
                match line.checked_sub(first + 1).filter(|row| *row < expressions.len()) {
                    Some(row) => _ = errors.entry(row).or_insert(code),
                    None => elsewhere = Some(format!("line {line} of the program: {code}")),
                }
            }
            // An expression that cannot be parsed also causes errors behind the table. A round without it
            // shows whether they are the program's.
            if let Some(elsewhere) = elsewhere.filter(|_| errors.len() == known) {
                anyhow::bail!(elsewhere);
            }
            rounds += 1;
            anyhow::ensure!(rounds < MAX_ROUNDS, "csc finds new errors each time");
        }
        let printed = self.printed(folder.path()).await?;
        let mut lines = printed.lines();
        let mut all = Vec::new();
        for at in 0..expressions.len() {
            all.push(match errors.remove(&at) {
                Some(code) => OracleResult::Error(code),
                None => {
                    let line = lines.next().with_context(|| format!("only {at} rows were printed"))?;
                    match line.split_once('\t').context("a line without a tab")? {
                        ("!", name) => OracleResult::Exception(name.to_owned()),
                        (kind, value) => OracleResult::Value(kind.to_owned(), value.to_owned()),
                    }
                }
            });
        }
        Ok(all)
    }

    /// The errors: the line in the file of the table, and the number.
    async fn compile(&self, folder: &Path) -> anyhow::Result<Vec<(usize, String)>> {
        let dotnet = self.compiler.dotnet().context("no SDK")?;
        let root = dotnet.parent().context("no folder")?;
        let sdk = only_folder(&root.join("sdk"))?;
        let framework = root.join("shared/Microsoft.NETCore.App");
        let major = if self.compiler == Runtime::Net10 { "10." } else { "3.1" };
        let references = std::fs::read_dir(&framework)?.flatten().map(|entry| entry.path());
        let version =
            |path: &PathBuf| path.file_name().is_some_and(|name| name.to_string_lossy().starts_with(major));
        let framework = references.into_iter().find(version).context("no framework")?;
        let mut options = String::from(
            "-nologo -noconfig -nostdlib -warn:0 -unsafe -debug:portable -out:random.dll \
                -preferreduilang:en-US\n",
        );
        for entry in std::fs::read_dir(&framework)?.flatten() {
            if entry.path().extension().is_some_and(|end| end == "dll") {
                options.push_str(&format!("-r:\"{}\"\n", entry.path().display()));
            }
        }
        let language = if self.compiler == Runtime::Net10 {
            "-langversion:latest -nullable:enable\n"
        } else {
            "-langversion:8.0\n"
        };
        options.push_str(language);
        let usings: String = self.usings.iter().map(|name| format!("global using {name};\n")).collect();
        std::fs::write(folder.join("Usings.cs"), usings)?;
        std::fs::write(folder.join("Rows.cs"), ROWS)?;
        options.push_str("Table.cs\nRows.cs\nUsings.cs\n");
        for other in &self.others {
            options.push_str(&format!("\"{}\"\n", other.display()));
        }
        std::fs::write(folder.join("random.rsp"), options)?;
        let output = Command::new(&dotnet)
            .args(["exec".as_ref(), sdk.join("Roslyn/bincore/csc.dll").as_os_str(), "@random.rsp".as_ref()])
            .envs(self.compiler.environment().context("no environment")?)
            .env("DOTNET_ROLL_FORWARD", "Minor")
            .current_dir(folder)
            .kill_on_drop(true)
            .output()
            .await?;
        if output.status.success() {
            return Ok(Vec::new());
        }
        let text = String::from_utf8_lossy(&output.stdout).into_owned();
        let found: Vec<(usize, String)> = text.lines().filter_map(error_in).collect();
        anyhow::ensure!(!found.is_empty(), "csc: {text}{}", String::from_utf8_lossy(&output.stderr));
        Ok(found)
    }

    async fn printed(&self, folder: &Path) -> anyhow::Result<String> {
        let dotnet = self.runtime.dotnet().context("no runtime")?;
        let built = match self.runtime {
            Runtime::Net10 if self.compiler == Runtime::Net10 => fixture::modern_program(self.name),
            _ => fixture::program(self.name),
        };
        let settings = Path::new(&built).with_extension("runtimeconfig.json");
        std::fs::copy(&settings, folder.join("random.runtimeconfig.json"))
            .with_context(|| settings.display().to_string())?;
        let output = Command::new(&dotnet)
            .args(["exec", "random.dll"])
            .args(self.arguments)
            .envs(self.runtime.environment().context("no environment")?)
            .current_dir(folder)
            .kill_on_drop(true)
            .output()
            .await?;
        let errors = String::from_utf8_lossy(&output.stderr);
        anyhow::ensure!(output.status.success(), "the program failed: {errors}");
        String::from_utf8(output.stdout).context("the output is not UTF-8")
    }
}

/// The text before the table's first row, and after the last one.
fn parts(source: &str) -> anyhow::Result<(String, String)> {
    let lines: Vec<&str> = source.lines().collect();
    let first = lines.iter().position(|line| line.trim().starts_with("Check(")).context("no table")?;
    let mut behind = lines.iter().enumerate().skip(first);
    let (last, _) = behind.find(|(_, line)| line.contains("// BP ")).context("no stop")?;
    let together = |lines: &[&str]| lines.iter().flat_map(|line| [*line, "\n"]).collect::<String>();
    Ok((together(&lines[..first]), together(lines.get(last + 1..).unwrap_or_default())))
}

/// The line and number of `…Table.cs(12,5): error CS0103: …`.
fn error_in(line: &str) -> Option<(usize, String)> {
    let (place, rest) = line.split_once("): error ")?;
    let (file, place) = place.rsplit_once('(')?;
    file.ends_with("Table.cs").then_some(())?;
    let line = place.split(',').next()?.parse().ok()?;
    Some((line, rest.split(':').next()?.to_owned()))
}

fn only_folder(folder: &Path) -> anyhow::Result<PathBuf> {
    let mut all: Vec<PathBuf> = std::fs::read_dir(folder)?.flatten().map(|entry| entry.path()).collect();
    all.sort();
    all.pop().with_context(|| format!("nothing is in {}", folder.display()))
}
