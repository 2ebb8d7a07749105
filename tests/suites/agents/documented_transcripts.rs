//! Transcripts of the documentation, run again: each call of an agent, and its answer. The documentation
//! shortens answers (`…`), so the real answer must contain the documented one.

use anyhow::{Context, bail, ensure};
use regex::Regex;
use serde_json::Value;
use tandem_harness::agent::Agent;
use tandem_harness::child::Subject;
use tandem_harness::fixture;
use tandem_harness::transcript::Transcript;

/// A line of a transcript, with the further lines that belong to it.
enum DocumentedLine {
    Call(String, Value),
    Answer(Value),
}

/// The first fenced block of a page that begins like this, without this beginning.
fn block(path: &str, start: &str) -> anyhow::Result<String> {
    let page = std::fs::read_to_string(fixture::root().join(path))?;
    let mut blocks = page.split("```").skip(1).step_by(2);
    let found = blocks.find_map(|block| block.strip_prefix(start));
    Ok(found.with_context(|| format!("{path} has no block that begins with {start:?}"))?.to_owned())
}

fn transcript(path: &str) -> anyhow::Result<Vec<DocumentedLine>> {
    const START: &str = "\nagent → ";
    let text = format!("{START}{}", block(path, START)?);
    let omission = Regex::new(r",\s*…")?;
    let text = omission.replace_all(&text, "");
    let json = |text: &str| serde_json::from_str(text).with_context(|| format!("{path}: {text}"));
    let lines = text.split("\nagent ").skip(1).map(|line| {
        Ok(match line.trim().split_once(' ') {
            Some(("→", call)) => {
                let (tool, arguments) = call.split_once(char::is_whitespace).unwrap_or((call, "{}"));
                DocumentedLine::Call(tool.to_owned(), json(arguments)?)
            }
            Some(("←", answer)) => DocumentedLine::Answer(json(answer)?),
            _ => bail!("{path}: neither a call nor an answer: {line}"),
        })
    });
    lines.collect()
}

/// Whether a real value has all parts of a documented one. Ids of sessions differ in each run.
fn has(real: &Value, documented: &Value) -> bool {
    match (real, documented) {
        (Value::Object(real), Value::Object(documented)) => documented.iter().all(|(key, part)| {
            let value = real.get(key);
            value.is_some_and(|value| key == "session" || has(value, part))
        }),
        (Value::Array(real), Value::Array(documented)) => {
            real.len() >= documented.len() && real.iter().zip(documented).all(|(real, part)| has(real, part))
        }
        _ => real == documented,
    }
}

/// Runs the first transcript of a page with a Python program, the first one of the same or another page.
async fn replay(path: &str, program_path: &str, program: &str) -> anyhow::Result<()> {
    replay_with(&[], path, program_path, program).await
}

/// The same, with flags of the bridge.
async fn replay_with(flags: &[&str], path: &str, program_path: &str, program: &str) -> anyhow::Result<()> {
    let folder = tempfile::tempdir()?;
    std::fs::write(folder.path().join(program), block(program_path, "python\n")?)?;
    let mut agent = Agent::in_folder("agent", folder.path(), flags, &Transcript::default()).await?;
    let mut answer = Value::Null;
    for line in transcript(path)? {
        match line {
            DocumentedLine::Call(tool, arguments) => {
                let is_launch = tool == "debug_launch";
                let arguments = if is_launch { Subject::Python.with(arguments) } else { arguments };
                answer = agent.call(&tool, arguments).await?;
            }
            DocumentedLine::Answer(documented) => {
                ensure!(has(&answer, &documented), "{path}: documented {documented:#}\nreal {answer:#}");
            }
        }
    }
    agent.finish().await
}

#[tokio::test]
async fn first_session_of_an_agent_matches_the_documentation() -> anyhow::Result<()> {
    replay("docs/agents.md", "docs/agents.md", "greet.py").await
}

#[tokio::test]
async fn session_of_the_readme_matches_the_documentation() -> anyhow::Result<()> {
    replay("README.md", "docs/agents.md", "greet.py").await
}

#[tokio::test]
async fn an_agent_tests_and_corrects_a_function_as_documented() -> anyhow::Result<()> {
    replay("docs/core-tools.md", "docs/core-tools.md", "prices.py").await
}

#[tokio::test]
async fn an_agent_that_only_inspects_is_refused_as_documented() -> anyhow::Result<()> {
    replay_with(&["--read-only"], "docs/security.md", "docs/agents.md", "greet.py").await
}

#[tokio::test]
async fn a_program_that_asks_for_a_password_gets_its_input_as_documented() -> anyhow::Result<()> {
    replay("docs/program-input.md", "docs/program-input.md", "login.py").await
}
