//! Requirements on the test project of every framework: its tests are listed, run and debugged
//! under the framework's names.

use std::path::{Path, PathBuf};

use anyhow::{Context, ensure};
use serde_json::{Value, json};
use tandem_harness::agent::Agent;
use tandem_harness::fixture;
use tandem_harness::transcript::Transcript;

/// The tests of a framework, and the expected results.
pub(super) struct Suite {
    pub(super) tool: &'static str,
    /// Arguments of every call.
    pub(super) arguments: Value,
    /// Further arguments of `debug_launch_test`.
    pub(super) debug: Value,
    /// Number of tests that a list contains.
    pub(super) count: u64,
    /// Arguments that select all tests except those that hang or crash, and the counts of all,
    /// passed, failed and skipped.
    pub(super) sane: (Value, [u64; 4]),
    /// A failing test: its id, the source and marker of its line, words of its message,
    /// and a variable of its frame.
    pub(super) fails: (&'static str, PathBuf, &'static str, &'static str, (&'static str, &'static str)),
    /// A row of data with an odd name that fails.
    pub(super) row: &'static str,
    pub(super) hangs: (&'static str, Value),
    pub(super) crashes: (&'static str, Value),
    /// A test that reads a line and prints `read LINE`.
    pub(super) reads: Option<&'static str>,
}

/// The part of a suite that a test checks.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) enum Extent {
    /// A list, a run, and a failing test that is debugged: what one framework has and another may lack.
    Core,
    /// Also pages, rows of data, unknown ids, tests that hang or crash, restarts and standard input.
    Whole,
}

/// The line (from 1) that ends in `BP MARKER`.
pub(crate) fn line(file: &Path, marker: &str) -> anyhow::Result<u64> {
    let text = std::fs::read_to_string(file)?;
    let expected = format!("BP {marker}");
    let at = text.lines().position(|line| line.ends_with(&expected)).context("no such marker")?;
    Ok(u64::try_from(at)? + 1)
}

fn with(arguments: &Value, more: Value) -> Value {
    let mut all = arguments.clone();
    for (key, value) in more.as_object().into_iter().flatten() {
        all[key] = value.clone();
    }
    all
}

/// Calls a tool until it is done: on a busy machine a build may outlast a call.
pub(crate) async fn finished(agent: &mut Agent, tool: &str, arguments: Value) -> anyhow::Result<Value> {
    loop {
        let mut answer = agent.call(tool, arguments.clone()).await?;
        // A session that runs already is waited for.
        while answer["pending"] == true && answer["session"].is_string() {
            answer = agent.call("debug_wait", json!({})).await?;
        }
        if answer["pending"] != true {
            return Ok(answer);
        }
    }
}

impl Suite {
    pub(super) async fn run(&self, agent: &mut Agent, more: Value) -> anyhow::Result<Value> {
        finished(agent, "run_tests", with(&self.arguments, more)).await
    }

    pub(super) async fn debug(&self, agent: &mut Agent, more: Value) -> anyhow::Result<Value> {
        finished(agent, "debug_launch_test", with(&with(&self.arguments, self.debug.clone()), more)).await
    }

    /// Checks listing, running and debugging.
    pub(super) async fn check(&self, agent: &mut Agent, extent: Extent) -> anyhow::Result<()> {
        self.lists(agent).await?;
        self.runs(agent).await?;
        self.debugs(agent).await?;
        if extent == Extent::Core {
            return agent.call("debug_disconnect", json!({})).await.map(drop);
        }
        self.restarts(agent).await?;
        self.pages(agent).await?;
        self.selects(agent).await?;
        self.survives(agent).await?;
        match self.reads {
            Some(reads) => self.reads(agent, reads).await,
            None => Ok(()),
        }
    }

    /// All tests are listed with locations.
    pub(super) async fn lists(&self, agent: &mut Agent) -> anyhow::Result<()> {
        let all = finished(agent, "list_tests", self.arguments.clone()).await?;
        ensure!(all["tool"] == self.tool && all["total"] == self.count, "{all:#}");
        let tests = all["tests"].as_array().context("no list")?.clone();
        let find = |id: &str| {
            tests.iter().find(|test| test["id"] == id).with_context(|| format!("`{id}` is not in {tests:#?}"))
        };
        let fails = find(self.fails.0)?;
        let (file, at) =
            (fails["file"].as_str().context("no file")?, fails["line"].as_u64().context("no line")?);
        let expected = line(&self.fails.1, self.fails.2)?;
        ensure!(self.fails.1.ends_with(file) && at < expected && expected - at < 6, "{fails}");
        Ok(())
    }

    /// A page is a part of the whole list.
    async fn pages(&self, agent: &mut Agent) -> anyhow::Result<()> {
        let all = finished(agent, "list_tests", self.arguments.clone()).await?;
        let page =
            finished(agent, "list_tests", with(&self.arguments, json!({ "start": 2, "count": 3 }))).await?;
        let part = all["tests"].as_array().context("no list")?.get(2..5);
        ensure!(page["tests"] == json!(part) && page["next"] == 5, "{page:#}");
        Ok(())
    }

    /// The sane tests have the expected results.
    pub(super) async fn runs(&self, agent: &mut Agent) -> anyhow::Result<()> {
        let (selection, expected) = &self.sane;
        let answer = self.run(agent, selection.clone()).await?;
        let counts =
            ["total", "passed", "failed", "skipped"].map(|key| answer["tests"][key].as_u64().unwrap_or(99));
        ensure!(counts == *expected && answer["error"]["code"] == "TESTS_FAILED", "{answer:#}");
        ensure!(answer["exitCode"].as_i64().is_some_and(|code| code != 0), "{answer:#}");
        ensure!(answer.to_string().len() < 20_000, "ten megabytes are not for an answer");
        let failures = answer["tests"]["failures"].as_array().context("no failures")?.clone();
        let (id, file, marker, says, _) = &self.fails;
        let named = |failure: &&Value| failure["id"] == **id || failure["name"] == **id;
        let failure =
            failures.iter().find(named).with_context(|| format!("`{id}` did not fail: {answer:#}"))?;
        ensure!(failure["line"].as_u64() == Some(line(file, marker)?), "{failure}");
        ensure!(failure["file"].as_str().is_some_and(|own| file.ends_with(own)), "{failure}");
        ensure!(failure["message"].as_str().is_some_and(|text| text.contains(says)), "{failure}");
        ensure!(failures.iter().all(|one| !one["message"].is_null()), "{failures:#?}");
        Ok(())
    }

    /// An id alone selects a row of data, and the error for an unknown id lists known ones.
    pub(super) async fn selects(&self, agent: &mut Agent) -> anyhow::Result<()> {
        let id = self.fails.0;
        let row = self.run(agent, json!({ "tests": [self.row] })).await?;
        ensure!(
            row["tests"]["failed"].as_u64().is_some_and(|failed| failed >= 1) && row["tests"]["passed"] == 0,
            "{row:#}"
        );
        let mut wrong = id.replace("ail", "al");
        wrong.truncate(wrong.len());
        let none = self.run(agent, json!({ "tests": [wrong] })).await?;
        ensure!(none["error"]["code"] == "NOT_FOUND", "{none:#}");
        ensure!(none["error"]["hint"].as_str().is_some_and(|hint| hint.contains(id)), "{none:#}");
        Ok(())
    }

    /// A test that hangs, and one that ends its process, are named.
    pub(super) async fn survives(&self, agent: &mut Agent) -> anyhow::Result<()> {
        let (hangs, more) = &self.hangs;
        let more = with(more, json!({ "tests": [hangs], "testTimeoutMs": 1500 }));
        let hung = self.run(agent, more).await?;
        let failure = &hung["tests"]["failures"][0];
        ensure!([&failure["id"], &failure["name"]].contains(&&json!(hangs)), "{hung:#}");
        ensure!(failure["message"].as_str().is_some_and(|text| text.contains("1500 ms")), "{hung:#}");
        let (crashes, more) = &self.crashes;
        let crashed = self.run(agent, with(more, json!({ "tests": [crashes] }))).await?;
        let failure = &crashed["tests"]["failures"][0];
        ensure!([&failure["id"], &failure["name"]].contains(&&json!(crashes)), "{crashed:#}");
        ensure!(
            failure["message"].as_str().is_some_and(|text| text.contains("process of the tests ended")),
            "{crashed:#}"
        );
        Ok(())
    }

    /// Two calls lead from a failing test to its locals; the end of the run contains its result.
    pub(super) async fn debugs(&self, agent: &mut Agent) -> anyhow::Result<()> {
        let (id, file, marker, says, (name, value)) = &self.fails;
        let before = agent.characters;
        let failed = self.run(agent, json!({ "filter": id })).await?;
        ensure!(failed["tests"]["failed"] == 1, "{failed:#}");
        let stop = self.debug(agent, json!({ "filter": id })).await?;
        // The place of the project decides nothing: the checks run in folders of any length.
        let place = file.parent().and_then(Path::parent).context("no folder")?.display().to_string();
        let places = format!("{failed}{stop}").matches(&place).count();
        // An old Delve sometimes cannot read the variables of a frame, which the answer explains.
        let unreadable = stop["event"].get("unreadable").map_or(0, |reasons| reasons.to_string().len());
        let characters = agent.characters - before - places * place.len() - unreadable;
        self.is_stopped_at(&stop, file, marker)?;
        let mut locals = stop["event"]["locals"].as_array().into_iter().flatten();
        if !locals.any(|row| row["name"] == *name && row["value"] == *value) {
            // An old Delve evaluates a variable that it does not list.
            let result = agent.call("debug_evaluate", json!({ "expression": name })).await?;
            ensure!(self.tool == "go" && result["result"] == *value, "{stop:#} {result}");
        }
        ensure!(characters <= 1500, "{characters} characters: {failed} {stop}");
        let end = agent.call("debug_continue", json!({})).await?;
        ensure!(end["state"] == "exited" && end["event"]["outcome"] == "failed", "{end:#}");
        let message = end["event"]["tests"]["failures"][0]["message"].as_str().unwrap_or_default();
        ensure!(message.contains(says), "{end:#}");
        ensure!(
            end["event"]["exitCode"] == failed["exitCode"],
            "{} is not that of {end:#}",
            failed["exitCode"]
        );
        Ok(())
    }

    /// A test that has been debugged to its end is debugged again, and then a row of data.
    pub(super) async fn restarts(&self, agent: &mut Agent) -> anyhow::Result<()> {
        let (_, file, marker, ..) = &self.fails;
        let again = agent.call("debug_restart", json!({ "run": true })).await?;
        self.is_stopped_at(&again, file, marker)?;
        agent.call("debug_disconnect", json!({})).await?;
        let row = self.debug(agent, json!({ "tests": [self.row] })).await?;
        self.is_stopped_at(&row, file, "rows")?;
        agent.call("debug_disconnect", json!({})).await.map(drop)
    }

    pub(super) fn is_stopped_at(&self, stop: &Value, file: &Path, marker: &str) -> anyhow::Result<()> {
        let event = &stop["event"];
        ensure!(stop["state"] == "stopped", "{stop:#}");
        ensure!(event["file"].as_str() == file.to_str(), "{stop:#}");
        ensure!(event["line"].as_u64() == Some(line(file, marker)?), "{stop:#}");
        Ok(())
    }

    /// Standard input is the session's.
    pub(super) async fn reads(&self, agent: &mut Agent, id: &str) -> anyhow::Result<()> {
        let asks = self.debug(agent, json!({ "filter": id })).await?;
        ensure!(asks["event"]["type"] == "waitingForInput", "{asks:#}");
        agent.call("process_write_input", json!({ "data": "plums\n" })).await?;
        let end = agent.call("debug_continue", json!({})).await?;
        ensure!(end["event"]["outcome"] == "passed", "{end:#}");
        let printed = agent.call("process_read_output", json!({ "since": "o0.e0" })).await?;
        // Frameworks that keep what a test prints have it in its result.
        let texts = [&printed["stdout"], &end["event"]["tests"]["passes"][0]["output"]];
        let has = |text: &&Value| text.as_str().is_some_and(|text| text.contains("read plums"));
        ensure!(texts.iter().any(has), "{end:#} {printed}");
        agent.call("debug_disconnect", json!({})).await.map(drop)
    }
}

pub(crate) async fn agent(folder: &Path, env: &[(&str, String)]) -> anyhow::Result<Agent> {
    let mut command = tokio::process::Command::new(fixture::binary("tandem-mcp"));
    // A failing test of Rust would print a stack, which the limits of answers do not allow for.
    command.env_remove("RUST_BACKTRACE");
    command.current_dir(folder).envs(env.iter().map(|(name, value)| (name, value)));
    Agent::spawn("agent", command, &Transcript::default()).await
}
