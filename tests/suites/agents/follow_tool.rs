//! `debug_follow` in each language: one answer describes a call, statement by statement, with its arguments
//! and its result; it is bounded, and the session survives every kind of call.

use anyhow::Context;
use serde_json::{Value, json};
use tandem_harness::agent::Agent;
use tandem_harness::child::{self, Subject};
use tandem_harness::fixture::{self, Runtime};
use tandem_harness::transcript::Transcript;

dotnet_tests! {
    a_call_in_a_csharp_program_is_followed_to_its_result,
    a_call_that_throws_is_followed_to_its_exception,
}

/// The lines of the answer as one string.
fn life(answer: &Value) -> String {
    let lines = answer["life"].as_array().into_iter().flatten();
    lines.filter_map(Value::as_str).collect::<Vec<_>>().join("\n")
}

fn tokens(answer: &Value) -> usize {
    answer.to_string().len() / 4
}

/// An agent in a separate folder.
async fn agent_in(folder: &std::path::Path, flags: &[&str]) -> anyhow::Result<Agent> {
    Agent::in_folder("agent", folder, flags, &Transcript::default()).await
}

/// Launches a program whose source is this text, in the agent's folder.
async fn launch_program(
    agent: &mut Agent,
    folder: &std::path::Path,
    subject: Subject,
    name: &str,
    text: &str,
) -> anyhow::Result<Value> {
    let path = folder.join(name);
    std::fs::write(&path, text)?;
    let mut launch = subject.launch();
    launch["program"] = json!(path);
    let started = agent.call("debug_launch", launch).await?;
    anyhow::ensure!(started["success"] == true, "{started}");
    Ok(json!(path))
}

async fn a_call_in_a_csharp_program_is_followed_to_its_result(runtime: Runtime) -> anyhow::Result<()> {
    let mut agent = Agent::start("agent", runtime, &Transcript::default()).await?;
    agent.call("debug_launch", json!({ "program": fixture::program("steps") })).await?;
    let answer = agent.call("debug_follow", json!({ "function": "Outer" })).await?;
    assert_eq!((&answer["ended"], &answer["returned"]), (&json!("returned"), &json!("4")), "{answer}");
    assert_eq!(answer["call"], "Outer(x=1)", "{answer}");
    assert!(life(&answer).contains("int y = Inner(x); // BP outer => Inner(x=1) = 2; y=2"), "{answer}");
    // The location of the call.
    assert_eq!(answer["event"]["line"], fixture::line("steps", "call"), "{answer}");
    agent.call("debug_restart", json!({})).await?;
    let deeper = agent.call("debug_follow", json!({ "function": "Outer", "depth": 1 })).await?;
    assert!(life(&deeper).contains("> Inner(x=1) = 2"), "{deeper}");
    assert!(life(&deeper).contains("return x + 1; // BP inner"), "{deeper}");
    agent.finish().await
}

async fn a_call_that_throws_is_followed_to_its_exception(runtime: Runtime) -> anyhow::Result<()> {
    let mut agent = Agent::start("agent", runtime, &Transcript::default()).await?;
    let launch = json!({ "program": fixture::program("crashes"), "args": ["throw"] });
    agent.call("debug_launch", launch).await?;
    // It is held in `Main`, which is not called again.
    let answer = agent.call("debug_follow", json!({})).await?;
    assert_eq!(answer["ended"], "exception", "{answer}");
    assert_eq!(answer["event"]["exceptionType"], "System.InvalidOperationException", "{answer}");
    assert!(life(&answer).contains("throw new InvalidOperationException"), "{answer}");
    agent.finish().await
}

/// The second call of `handle` in each language's echo.
async fn follows(subject: Subject, function: &str, returns: bool) -> anyhow::Result<()> {
    let folder = tempfile::tempdir()?;
    let mut agent = agent_in(folder.path(), &[]).await?;
    let started = agent.call("debug_launch", subject.launch()).await?;
    anyhow::ensure!(started["success"] == true, "{subject:?}: {started}");
    let input = json!({ "data": "ab\nabcd\nx\n", "closeAfter": true });
    agent.call("process_write_input", input).await?;
    let answer = agent.call("debug_follow", json!({ "function": function, "call": 2 })).await?;
    assert_eq!(answer["ended"], "returned", "{subject:?}: {answer}");
    let call = answer["call"].as_str().context("no call")?;
    assert!(call.starts_with("handle(") && call.contains("abcd"), "{subject:?}: {answer}");
    assert!(
        life(&answer).contains("length=4") || life(&answer).contains("length=8"),
        "{subject:?}: {answer}"
    );
    if returns {
        assert_eq!(answer["returned"], "4", "{subject:?}: {answer}");
    }
    assert!(tokens(&answer) <= 1500, "{subject:?}: {} tokens", tokens(&answer));
    assert_eq!(answer["state"], "stopped", "{subject:?}: {answer}");
    agent.finish().await
}

#[tokio::test]
async fn a_call_in_a_python_program_is_followed() -> anyhow::Result<()> {
    follows(Subject::Python, "handle", true).await
}

#[tokio::test]
async fn a_call_in_a_javascript_program_is_followed() -> anyhow::Result<()> {
    follows(Subject::Js, "handle", true).await
}

#[tokio::test]
async fn a_call_in_a_c_program_is_followed_under_gdb() -> anyhow::Result<()> {
    follows(Subject::Gdb, "handle", false).await
}

#[tokio::test]
async fn a_call_in_a_c_program_is_followed_under_lldb() -> anyhow::Result<()> {
    follows(Subject::Lldb, "handle", false).await
}

#[tokio::test]
async fn a_call_in_a_go_program_is_followed() -> anyhow::Result<()> {
    follows(Subject::Delve, "main.handle", false).await
}

#[tokio::test]
async fn a_call_in_a_ruby_program_is_followed() -> anyhow::Result<()> {
    follows(Subject::Rdbg, "handle", false).await
}

#[tokio::test]
async fn a_call_in_a_ruby_program_with_debug_1_9_2_is_followed() -> anyhow::Result<()> {
    follows(Subject::Rdbg192, "handle", false).await
}

const LOOP: &str = "\
def knot(n):
    total = 0
    for i in range(n):
        if i == 6:
            total += 100
        total += i
    return total


def other():
    return 1


for size in (3, 50):
    print(knot(size))
";

#[tokio::test]
async fn two_hundred_statements_cost_few_tokens_and_the_values_of_each_round_are_there() -> anyhow::Result<()>
{
    let folder = tempfile::tempdir()?;
    let mut agent = agent_in(folder.path(), &[]).await?;
    launch_program(&mut agent, folder.path(), Subject::Python, "loop.py", LOOP).await?;
    let answer = agent.call("debug_follow", json!({ "function": "knot", "condition": "n > 9" })).await?;
    assert_eq!((&answer["call"], &answer["returned"]), (&json!("knot(n=50)"), &json!("1325")), "{answer}");
    assert!(answer["steps"].as_u64().is_some_and(|steps| steps > 150), "{answer}");
    let text = life(&answer);
    assert!(text.contains("loop at 3, 50 rounds:"), "{text}");
    assert!(text.contains("rounds 2-6 as 1: i=1,2,3,4,5; total=1,3,6,10,15"), "{text}");
    // The round that takes another way.
    assert!(text.contains("round 7:") && text.contains("total=115"), "{text}");
    assert!(tokens(&answer) <= 1500, "{} tokens", tokens(&answer));
    // It continues from there.
    let ended = agent.call("debug_continue", json!({})).await?;
    assert_eq!(ended["event"]["exitCode"], 0, "{ended}");
    agent.finish().await
}

#[tokio::test]
async fn an_answer_that_is_bounded_continues_where_it_ended() -> anyhow::Result<()> {
    let folder = tempfile::tempdir()?;
    let mut agent = agent_in(folder.path(), &[]).await?;
    launch_program(&mut agent, folder.path(), Subject::Python, "bounded.py", LOOP).await?;
    let follow = json!({ "function": "knot", "call": 2, "maxSteps": 20 });
    let first = agent.call("debug_follow", follow).await?;
    assert_eq!((&first["ended"], &first["steps"]), (&json!("steps"), &json!(20)), "{first}");
    let mut next = first["next"].clone();
    let mut answers = 1;
    let last = loop {
        let more = agent.call("debug_follow", json!({ "next": next })).await?;
        assert_eq!(more["success"], true, "{more}");
        answers += 1;
        if more["ended"] == "returned" {
            break more;
        }
        next = more["next"].clone();
        anyhow::ensure!(answers < 20, "it never ends: {more}");
    };
    assert_eq!(last["returned"], "1325", "{last}");
    let over = agent.call("debug_follow", json!({ "next": 999 })).await?;
    assert_eq!(over["error"]["code"], "INVALID_PARAMETER", "{over}");
    agent.finish().await
}

#[tokio::test]
async fn a_function_that_never_runs_is_reported_and_bad_arguments_are_refused() -> anyhow::Result<()> {
    let folder = tempfile::tempdir()?;
    let mut agent = agent_in(folder.path(), &[]).await?;
    launch_program(&mut agent, folder.path(), Subject::Python, "never.py", LOOP).await?;
    for wrong in [
        json!({ "function": "knot", "call": 0 }),
        json!({ "function": "knot", "depth": 99 }),
        json!({ "sourceFile": "never.py" }),
    ] {
        let refused = agent.call("debug_follow", wrong.clone()).await?;
        if wrong["depth"].is_null() {
            assert_eq!(refused["error"]["code"], "INVALID_PARAMETER", "{wrong}: {refused}");
        } else {
            // The program is at the call by then, and can still be followed.
            assert_eq!(refused["error"]["code"], "INVALID_PARAMETER", "{wrong}: {refused}");
            let again = agent.call("debug_follow", json!({})).await?;
            assert_eq!(again["returned"], "3", "{again}");
        }
    }
    let never = agent.call("debug_follow", json!({ "function": "other" })).await?;
    assert_eq!(never["state"], "exited", "{never}");
    assert!(never["message"].as_str().is_some_and(|text| text.contains("ended before that call")), "{never}");
    let over = agent.call("debug_follow", json!({ "function": "knot" })).await?;
    assert_eq!(over["error"]["code"], "NO_SESSION", "{over}");
    agent.finish().await
}

const DEEP: &str = "\
import sys
sys.setrecursionlimit(20000)


def dig(depth):
    if depth == 0:
        return 0
    below = dig(depth - 1)
    return below + 1


print(dig(3000))
";

#[tokio::test]
async fn recursion_is_followed_in_its_own_frame() -> anyhow::Result<()> {
    let folder = tempfile::tempdir()?;
    let mut agent = agent_in(folder.path(), &[]).await?;
    launch_program(&mut agent, folder.path(), Subject::Python, "deep.py", DEEP).await?;
    let outer = agent
        .call("debug_follow", json!({ "function": "dig", "call": 4, "condition": "depth > 2000" }))
        .await?;
    assert_eq!((&outer["call"], &outer["returned"]), (&json!("dig(depth=2997)"), &json!("2997")), "{outer}");
    assert!(life(&outer).contains("dig(depth=2996) = 2996; below=2996"), "{outer}");
    agent.finish().await
}

#[tokio::test]
async fn a_call_that_never_returns_is_left_when_its_time_is_up() -> anyhow::Result<()> {
    let folder = tempfile::tempdir()?;
    let mut agent = agent_in(folder.path(), &[]).await?;
    let text = "import time\n\n\ndef wait():\n    x = 1\n    while True:\n        time.sleep(0.01)\n        \
        x += 1\n\n\nwait()\n";
    launch_program(&mut agent, folder.path(), Subject::Python, "wait.py", text).await?;
    let follow = json!({ "function": "wait", "maxSteps": 5000, "timeoutMs": 1500 });
    let answer = agent.call("debug_follow", follow).await?;
    assert_eq!((&answer["ended"], &answer["state"]), (&json!("timeout"), &json!("stopped")), "{answer}");
    assert!(life(&answer).contains("loop at"), "{answer}");
    let value = agent.call("debug_evaluate", json!({ "expressions": ["x > 1"] })).await?;
    assert_eq!(value["results"][0]["result"], "True", "{value}");
    agent.finish().await
}

#[tokio::test]
async fn loops_of_the_ruler_are_listed_round_by_round() -> anyhow::Result<()> {
    let folder = tempfile::tempdir()?;
    let mut agent = agent_in(folder.path(), &[]).await?;
    let programs = fixture::root().join("tests/ruler/programs/python");
    let mut launch = child::python("echo.py");
    launch["program"] = json!(programs.join("thrummet.py"));
    agent.call("debug_launch", launch).await?;
    let input = std::fs::read_to_string(programs.join("thrummet.txt"))?;
    agent.call("process_write_input", json!({ "data": input, "closeAfter": true })).await?;
    let answer = agent.call("debug_follow", json!({ "function": "settle", "call": 3 })).await?;
    assert!(life(&answer).contains("rounds 6-7 as 2: turn=5,6; drift=752,534"), "{answer}");
    agent.finish().await
}
