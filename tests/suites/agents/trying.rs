//! `debug_try` in each language: two more runs of the program with the same arguments and input, one of them
//! changed at a location. One answer contains the differences, the agent's own session stays unchanged, and
//! the runs leave no process.

use std::path::Path;

use anyhow::{Context, ensure};
use serde_json::{Value, json};
use tandem_harness::agent::Agent;
use tandem_harness::child::Subject;
use tandem_harness::deadline::{deadline, deadline_ms};
use tandem_harness::fixture::{self, Runtime};
use tandem_harness::transcript::Transcript;

dotnet_tests! {
    values_are_set_and_statements_skipped_in_a_csharp_program,
}

net8_tests! {
    values_are_set_and_statements_skipped_in_a_csharp_program,
}

/// An agent in a separate folder.
async fn agent_in(folder: &Path) -> anyhow::Result<Agent> {
    Agent::in_folder("agent", folder, &[], &Transcript::default()).await
}

/// Launches a Python program whose source is this text, held at its entry.
async fn launch_program(agent: &mut Agent, folder: &Path, name: &str, text: &str) -> anyhow::Result<Value> {
    let path = folder.join(name);
    std::fs::write(&path, text)?;
    let started = agent.call("debug_launch", Subject::Python.with(json!({ "program": path }))).await?;
    ensure!(started["success"] == true, "{started}");
    agent.call("debug_status", json!({})).await
}

/// The lines with the differences, as one string.
fn differs(answer: &Value) -> String {
    let lines = answer["differs"].as_array().into_iter().flatten();
    lines.filter_map(Value::as_str).collect::<Vec<_>>().join("\n")
}

/// The agent is in one session, stopped as before, and has run nothing in it.
async fn expect_unchanged_session(agent: &mut Agent, started: &Value) -> anyhow::Result<()> {
    let status = agent.call("debug_status", json!({})).await?;
    // Some debuggers say late which process it is.
    let same = started["pid"].is_null() || status["pid"] == started["pid"];
    ensure!(status["session"] == started["session"] && same, "{status}");
    ensure!(status["state"] == "stopped", "{status}");
    let sessions = agent.call("debug_sessions", json!({})).await?;
    let joined = sessions["sessions"].as_array().into_iter().flatten().filter(|one| one["joined"] == true);
    ensure!(joined.count() == 1, "{sessions:#}");
    Ok(())
}

/// Processes whose command line names this file; they are few, and ended ones have none.
fn processes_of(file: &Path) -> anyhow::Result<Vec<String>> {
    let name = file.display().to_string();
    let mut found = Vec::new();
    for entry in std::fs::read_dir("/proc")?.flatten() {
        let Ok(line) = std::fs::read(entry.path().join("cmdline")) else { continue };
        let line = String::from_utf8_lossy(&line).replace('\0', " ");
        if line.contains(&name) {
            found.push(format!("{}: {line}", entry.file_name().display()));
        }
    }
    Ok(found)
}

async fn values_are_set_and_statements_skipped_in_a_csharp_program(runtime: Runtime) -> anyhow::Result<()> {
    let mut agent = Agent::start("agent", runtime, &Transcript::default()).await?;
    agent.call("debug_launch", json!({ "program": fixture::program("steps") })).await?;
    let started = agent.call("debug_status", json!({})).await?;
    let source = fixture::source("steps");
    let until = json!({ "text": "BP property" });
    let set = json!({ "sourceFile": source, "text": "return y * 2;", "set": { "y": "x + 9" },
        "until": until, "expressions": ["a", "nothing"] });
    let answer = agent.call("debug_try", set).await?;
    assert_eq!(
        (&answer["with"]["ended"], &answer["without"]["ended"]),
        (&json!("reached"), &json!("reached"))
    );
    assert_eq!(answer["with"]["values"]["a"], "20", "{answer}");
    assert_eq!(answer["without"]["values"]["a"], "4", "{answer}");
    assert_eq!(differs(&answer), "a: 4 without, 20 with the change", "{answer}");
    assert!(
        answer["with"]["values"]["nothing"].as_str().is_some_and(|text| text.starts_with("error: ")),
        "{answer}"
    );
    expect_unchanged_session(&mut agent, &started).await?;
    // Its breakpoints are not those of the runs.
    agent.call("debug_set_breakpoint", json!({ "sourceFile": source, "text": "BP inner" })).await?;
    let skip = json!({ "sourceFile": source, "text": "BP outer", "skip": true, "until": until,
        "expressions": ["a"] });
    let skipped = agent.call("debug_try", skip).await?;
    assert_eq!(skipped["with"]["skippedTo"], fixture::line("steps", "outer") + 1, "{skipped}");
    assert_eq!(differs(&skipped), "a: 4 without, 0 with the change", "{skipped}");
    let last = json!({ "sourceFile": source, "text": "return x + 1;", "set": { "x": "" } });
    let refused = agent.call("debug_try", last).await?;
    assert!(
        refused["error"]["message"].as_str().is_some_and(|text| text.contains("cannot set `x`")),
        "{refused}"
    );
    expect_unchanged_session(&mut agent, &started).await?;
    agent.finish().await
}

/// The second line of input of each language's echo is handled otherwise.
async fn changes_a_line(subject: Subject, set: Value, difference: &str) -> anyhow::Result<()> {
    let folder = tempfile::tempdir()?;
    let mut agent = agent_in(folder.path()).await?;
    let started = agent.call("debug_launch", subject.launch()).await?;
    ensure!(started["success"] == true, "{subject:?}: {started}");
    let started = agent.call("debug_status", json!({})).await?;
    let input = json!({ "data": "ab\nabcd\nx\n", "closeAfter": true });
    agent.call("process_write_input", input).await?;
    let place = json!({ "sourceFile": subject.source(), "text": "BP handle", "hit": 2, "set": set });
    let answer = agent.call("debug_try", place.clone()).await?;
    for run in ["with", "without"] {
        assert_eq!(
            (&answer[run]["ended"], &answer[run]["exitCode"]),
            (&json!("exited"), &json!(7)),
            "{answer}"
        );
    }
    assert!(answer["message"].is_null(), "{subject:?}: {answer}");
    let expected = format!("stdout, line 1: `got 4: abcd` without, `{difference}` with the change");
    assert!(differs(&answer).contains(&expected), "{subject:?}: {answer}");
    expect_unchanged_session(&mut agent, &started).await?;
    // Past what there is, and what the engine refuses.
    let mut beyond = place.clone();
    beyond["hit"] = json!(9);
    let answer = agent.call("debug_try", beyond).await?;
    assert!(
        answer["message"].as_str().is_some_and(|text| text.contains("was reached 3 times, not 9")),
        "{subject:?}: {answer}"
    );
    let mut unknown = place;
    unknown["set"] = json!({ "noSuchName": "1" });
    let refused = agent.call("debug_try", unknown).await?;
    assert!(
        refused["error"]["message"]
            .as_str()
            .is_some_and(|text| text.contains("cannot set `noSuchName` to `1`")),
        "{subject:?}: {refused}"
    );
    expect_unchanged_session(&mut agent, &started).await?;
    // The session continues as if the try had not happened.
    let ended = agent.call("debug_continue", json!({})).await?;
    assert_eq!(ended["event"]["exitCode"], 7, "{subject:?}: {ended}");
    agent.finish().await
}

#[tokio::test]
async fn a_line_of_input_is_handled_otherwise_in_python() -> anyhow::Result<()> {
    changes_a_line(Subject::Python, json!({ "length": "len(line) * 25" }), "got 100: abcd").await
}

#[tokio::test]
async fn a_line_of_input_is_handled_otherwise_in_c_under_gdb() -> anyhow::Result<()> {
    changes_a_line(Subject::Gdb, json!({ "length": "length * 25" }), "got 100: abcd").await
}

#[tokio::test]
async fn a_line_of_input_is_handled_otherwise_in_c_under_lldb() -> anyhow::Result<()> {
    changes_a_line(Subject::Lldb, json!({ "length": "length * 25" }), "got 100: abcd").await
}

#[tokio::test]
async fn a_line_of_input_is_handled_otherwise_in_go() -> anyhow::Result<()> {
    changes_a_line(Subject::Delve, json!({ "length": 100 }), "got 100: abcd").await
}

#[tokio::test]
async fn a_line_of_input_is_handled_otherwise_in_javascript() -> anyhow::Result<()> {
    changes_a_line(Subject::Js, json!({ "line": "'other ' + line" }), "got 4: other abcd").await
}

#[tokio::test]
async fn engines_that_cannot_skip_say_so_before_anything_runs() -> anyhow::Result<()> {
    for subject in [Subject::Gdb, Subject::Js] {
        let folder = tempfile::tempdir()?;
        let mut agent = agent_in(folder.path()).await?;
        agent.call("debug_launch", subject.launch()).await?;
        let started = agent.call("debug_status", json!({})).await?;
        let skip = json!({ "sourceFile": subject.source(), "text": "BP handle", "skip": true });
        let refused = agent.call("debug_try", skip).await?;
        assert_eq!(refused["error"]["code"], "UNSUPPORTED", "{subject:?}: {refused}");
        assert!(
            refused["error"]["message"].as_str().is_some_and(|text| text.contains("gotoTargets")),
            "{refused}"
        );
        expect_unchanged_session(&mut agent, &started).await?;
        agent.finish().await?;
    }
    Ok(())
}

const SHOP: &str = "\
import sys

stock = {'pear': 2, 'fig': 0}


def price(name):
    count = stock[name]
    if count == 0:
        raise ValueError(f'no {name} left')
    return 12 // count


def main():
    name = input()
    cost = price(name)
    print('costs', cost)
    note = 'paid'
    print(note, len(sys.argv))


main()
";

#[tokio::test]
async fn an_experiment_shows_that_a_value_is_the_cause_of_an_exception() -> anyhow::Result<()> {
    let folder = tempfile::tempdir()?;
    let mut agent = agent_in(folder.path()).await?;
    let file = folder.path().join("shop.py");
    launch_program(&mut agent, folder.path(), "shop.py", SHOP).await?;
    agent.call("process_write_input", json!({ "data": "fig\n" })).await?;
    // It has failed: the experiment begins where the agent has seen that.
    let failed = agent.call("debug_continue", json!({})).await?;
    assert_eq!(failed["event"]["type"], "exception", "{failed}");
    let set = json!({ "function": "price", "set": { "stock['fig']": 3 } });
    let answer = agent.call("debug_try", set).await?;
    assert!(
        differs(&answer)
            .starts_with("end: exception ValueError: no fig left without, ended with exit code 0 with"),
        "{answer}"
    );
    assert_eq!(answer["without"]["at"], "shop.py:9 in price", "{answer}");
    assert_eq!(answer["with"]["output"]["stdout"], "costs 4\npaid 1\n", "{answer}");
    assert!(answer.to_string().len() / 4 <= 1500, "{answer}");

    let skip = json!({ "sourceFile": file, "text": "if count == 0:", "skip": true });
    let divides = agent.call("debug_try", skip).await?;
    assert_eq!(divides["with"]["skippedTo"], 10, "{divides}");
    assert!(
        divides["with"]["why"].as_str().is_some_and(|why| why.contains("ZeroDivisionError")),
        "{divides}"
    );
    // The target of a skip is never guessed.
    let last = json!({ "sourceFile": file, "text": "print(note", "skip": true });
    let unreached = agent.call("debug_try", last).await?;
    assert!(
        unreached["message"].as_str().is_some_and(|text| text.contains("shop.py:18 was never reached")),
        "{unreached}"
    );
    let blind = json!({ "sourceFile": file, "text": "raise ValueError", "skip": true });
    let refused = agent.call("debug_try", blind).await?;
    assert_eq!(refused["error"]["code"], "UNSUPPORTED", "{refused}");
    let arguments =
        json!({ "sourceFile": file, "text": "raise ValueError", "skipTo": 10, "set": { "count": "6" } });
    let gone = agent.call("debug_try", arguments).await?;
    assert_eq!(
        (&gone["with"]["output"]["stdout"], &gone["with"]["exitCode"]),
        (&json!("costs 2\npaid 1\n"), &json!(0)),
        "{gone}"
    );
    let left = processes_of(&file)?;
    assert_eq!(left.len(), 1, "{left:#?}");
    let status = agent.call("debug_status", json!({})).await?;
    assert_eq!((&status["state"], &status["reason"]), (&json!("stopped"), &json!("exception")), "{status}");
    // A program that has ended can still be tried.
    agent.call("debug_continue", json!({})).await?;
    let set = json!({ "sourceFile": file, "text": "count = stock[name]", "set": { "name": "'pear'" } });
    let answer = agent.call("debug_try", set).await?;
    assert_eq!(answer["with"]["output"]["stdout"], "costs 6\npaid 1\n", "{answer}");
    agent.finish().await
}

#[tokio::test]
async fn bad_input_is_refused_and_a_waiting_program_is_reported() -> anyhow::Result<()> {
    let folder = tempfile::tempdir()?;
    let mut agent = agent_in(folder.path()).await?;
    let none = agent.call("debug_try", json!({ "function": "price", "set": { "a": 1 } })).await?;
    assert_eq!(none["error"]["code"], "NO_SESSION", "{none}");
    let started = launch_program(&mut agent, folder.path(), "shop.py", SHOP).await?;
    let file = folder.path().join("shop.py");
    for wrong in [
        json!({ "sourceFile": file, "line": 7 }),
        json!({ "sourceFile": file, "line": 7, "set": [1] }),
        json!({ "sourceFile": file, "line": 7, "set": { "a": null } }),
        json!({ "sourceFile": file, "line": 7, "hit": 0, "set": { "count": 1 } }),
        json!({ "sourceFile": file, "line": 999, "set": { "count": 1 } }),
        json!({ "sourceFile": file, "text": "no such text", "set": { "count": 1 } }),
        json!({ "sourceFile": file, "line": 7, "set": { "count": 1 }, "until": "the end" }),
        json!({ "sourceFile": file, "line": 7, "set": { "count": 1 }, "until": { "text": "no such text" } }),
        json!({ "set": { "count": 1 } }),
    ] {
        let refused = agent.call("debug_try", wrong.clone()).await?;
        assert_eq!(refused["error"]["code"], "INVALID_PARAMETER", "{wrong}: {refused}");
    }
    // It reads a name that was not typed.
    let waits = agent.call("debug_try", json!({ "function": "price", "set": { "name": "'fig'" } })).await?;
    assert_eq!(waits["without"]["ended"], "waitingForInput", "{waits}");
    assert!(waits["message"].as_str().is_some_and(|text| text.contains("process_write_input")), "{waits}");
    expect_unchanged_session(&mut agent, &started).await?;
    let left = processes_of(&file)?;
    assert_eq!(left.len(), 1, "{left:#?}");
    agent.finish().await
}

const UNLIKE: &str = "\
import os
import pathlib
import time

file = pathlib.Path(__file__).with_name('count')
count = int(file.read_text()) + 1 if file.exists() else 1
file.write_text(str(count))
print('run', count)
pause = 0  # BP pause
if count > 2:
    os._exit(3)
while pause:
    time.sleep(0.01)
late = 1
print('over')
";

#[tokio::test]
async fn runs_that_differ_by_themselves_or_never_end_are_reported() -> anyhow::Result<()> {
    let folder = tempfile::tempdir()?;
    let mut agent = agent_in(folder.path()).await?;
    let file = folder.path().join("unlike.py");
    let started = launch_program(&mut agent, folder.path(), "unlike.py", UNLIKE).await?;
    let limit = deadline_ms(10);
    let set =
        json!({ "sourceFile": file, "text": "if count > 2:", "set": { "pause": 1 }, "timeoutMs": limit });
    let answer = agent.call("debug_try", set).await?;
    assert_eq!(
        (&answer["with"]["ended"], &answer["without"]["ended"]),
        (&json!("timeout"), &json!("exited")),
        "{answer}"
    );
    let message = answer["message"].as_str().context("no message")?;
    assert!(message.contains("differed before the place") && message.contains("run 2"), "{answer}");
    // It no longer reaches that line.
    let late = json!({ "sourceFile": file, "text": "late = 1", "set": { "late": 1 } });
    let never = agent.call("debug_try", late).await?;
    assert!(
        never["message"].as_str().is_some_and(|text| text.contains("unlike.py:14 was never reached")),
        "{never}"
    );
    assert_eq!(never["without"]["exitCode"], 3, "{never}");
    expect_unchanged_session(&mut agent, &started).await?;
    let left = processes_of(&file)?;
    assert_eq!(left.len(), 1, "{left:#?}");
    agent.finish().await
}

#[tokio::test]
async fn a_run_that_stops_again_and_again_ends_with_its_time() -> anyhow::Result<()> {
    let folder = tempfile::tempdir()?;
    let mut agent = agent_in(folder.path()).await?;
    let text = "ready = 1\nwhile ready:\n    try:\n        int('x')\n    except ValueError:\n        pass\n\
        ready = 2\n";
    let file = folder.path().join("stops.py");
    let started = launch_program(&mut agent, folder.path(), "stops.py", text).await?;
    agent.call("debug_set_exception_breakpoints", json!({ "filters": ["raised"] })).await?;
    let never = json!({ "sourceFile": file, "line": 7, "set": { "ready": 3 }, "timeoutMs": 1500 });
    let answer = agent.call("debug_try", never).await?;
    assert_eq!(answer["without"]["ended"], "timeout", "{answer}");
    expect_unchanged_session(&mut agent, &started).await?;
    assert_eq!(processes_of(&file)?.len(), 1);
    agent.finish().await
}

#[tokio::test]
async fn an_experiment_that_is_cancelled_leaves_nothing() -> anyhow::Result<()> {
    let folder = tempfile::tempdir()?;
    let mut agent = agent_in(folder.path()).await?;
    let text = "import time\n\nready = 1\nwhile ready:\n    time.sleep(0.01)\n";
    let file = folder.path().join("endless.py");
    let started = launch_program(&mut agent, folder.path(), "endless.py", text).await?;
    let set = json!({ "sourceFile": file, "line": 4, "set": { "ready": 2 }, "timeoutMs": 600_000 });
    let id = agent.start_call("debug_try", set).await?;
    let begun = async {
        while processes_of(&file)?.len() < 2 {
            tokio::time::sleep(std::time::Duration::from_millis(50)).await;
        }
        anyhow::Ok(())
    };
    tokio::time::timeout(deadline(30), begun).await.context("it never began")??;
    agent.notify("notifications/cancelled", json!({ "requestId": id })).await?;
    let gone = async {
        while processes_of(&file)?.len() > 1 {
            tokio::time::sleep(std::time::Duration::from_millis(50)).await;
        }
        anyhow::Ok(())
    };
    tokio::time::timeout(deadline(30), gone).await.context("a run is left")??;
    expect_unchanged_session(&mut agent, &started).await?;
    agent.finish().await
}

#[tokio::test]
async fn a_program_that_was_attached_to_cannot_be_tried() -> anyhow::Result<()> {
    let folder = tempfile::tempdir()?;
    let mut agent = agent_in(folder.path()).await?;
    let file = folder.path().join("waits.py");
    std::fs::write(&file, "import time\nready = 1\nwhile ready:\n    time.sleep(0.01)\n")?;
    let launch = Subject::Python.with(json!({ "program": file, "run": true, "timeoutMs": 500 }));
    let first = agent.call("debug_launch", launch).await?;
    // A client that joins has not launched it.
    let mut other = agent_in(folder.path()).await?;
    other.call("debug_sessions", json!({ "select": first["session"] })).await?;
    let refused =
        other.call("debug_try", json!({ "sourceFile": file, "line": 4, "set": { "ready": 0 } })).await?;
    assert_eq!(refused["error"]["code"], "UNSUPPORTED", "{refused}");
    other.finish().await?;
    agent.finish().await
}
