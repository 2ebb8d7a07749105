//! Methods that are created at run time (`DynamicMethod`, compiled expression trees): their names in
//! exceptions, delegates and frames.

use serde_json::{Value, json};
use tandem_harness::agent::Agent;
use tandem_harness::client::DapClient;
use tandem_harness::fixture::{self, Runtime};
use tandem_harness::transcript::Transcript;

dotnet_tests! {
    methods_made_at_run_time_have_their_names_in_the_places_of_an_exception,
    a_delegate_shows_the_name_of_a_method_made_at_run_time,
    an_agent_learns_the_names_of_methods_made_at_run_time,
}

net8_tests! {
    methods_made_at_run_time_have_their_names_in_the_places_of_an_exception,
    a_delegate_shows_the_name_of_a_method_made_at_run_time,
}

net10_tests! {
    an_expression_in_a_method_made_at_run_time_is_refused_with_its_own_error,
}

/// No compiler knows such a frame, so its refusal is not the reason.
async fn an_expression_in_a_method_made_at_run_time_is_refused_with_its_own_error(
    runtime: Runtime,
) -> anyhow::Result<()> {
    let mut editor = DapClient::start("editor", runtime, &Transcript::default())?;
    editor.launch("lightweight", &["divided"], json!({ "justMyCode": false })).await?;
    let (thread, _) = editor.stop().await?;
    let stack = editor.ok("stackTrace", json!({ "threadId": thread })).await?;
    let frame = stack["stackFrames"][1].clone();
    assert_eq!(frame["name"], "[Lightweight Function]");
    for (expression, expected) in [("new string('a', 3)", "aaa"), ("new string(3)", "CS1503")] {
        let ask = json!({ "expression": expression, "frameId": frame["id"], "context": "repl" });
        let body = editor.ask("evaluate", ask).await?.body.to_string();
        anyhow::ensure!(body.contains(expected), "{expression}: {body}");
    }
    editor.finish().await
}

/// The methods of a text of places, without what the framework has between them: it differs between versions.
fn methods(text: &Value) -> Vec<&str> {
    let lines = text.as_str().unwrap_or_default().lines();
    let methods = lines.filter_map(|line| line.trim().strip_prefix("at "));
    methods
        .map(|line| line.split(" in ").next().unwrap_or(line))
        .filter(|line| !line.starts_with("System."))
        .collect()
}

const DIVIDED: &str = "Program.Divided(Func<object, int, int> again, int number)";

async fn methods_made_at_run_time_have_their_names_in_the_places_of_an_exception(
    runtime: Runtime,
) -> anyhow::Result<()> {
    let mut editor = DapClient::start("editor", runtime, &Transcript::default())?;
    editor.ok("initialize", json!({ "clientID": "test" })).await?;
    let launch = editor.send("launch", json!({ "program": fixture::program("lightweight") })).await?;
    editor.event("initialized").await?;
    editor.ok("setExceptionBreakpoints", json!({ "filters": ["all"] })).await?;
    editor.ok("configurationDone", Value::Null).await?;
    anyhow::ensure!(editor.response(launch).await?.success);
    // Right after the throw its locations are the frames of the thread, which have no names.
    let (thread, frame) = editor.stop().await?;
    assert_eq!(frame["line"], fixture::line("lightweight", "divided"));
    let info = editor.ok("exceptionInfo", json!({ "threadId": thread })).await?;
    let thrown = methods(&info["details"]["stackTrace"]);
    assert_eq!(thrown[0], DIVIDED, "{info}");
    anyhow::ensure!(thrown.iter().all(|line| !line.contains("<Module>")), "{thrown:?}");
    loop {
        editor.ok("continue", json!({ "threadId": thread })).await?;
        let (_, frame) = editor.stop().await?;
        if frame["line"] == fixture::line("lightweight", "thrown") {
            break;
        }
    }
    let info = editor.ok("exceptionInfo", json!({ "threadId": thread })).await?;
    let inner = &info["details"]["innerException"][0]["stackTrace"];
    let expected = [
        DIVIDED,
        "Light(object, int)",
        DIVIDED,
        "Light(object, int)",
        "Tree(int)",
        "Program.Main.<lambda>()",
        "[Lightweight Function]",
        "Program.Main()",
    ];
    assert_eq!(methods(inner), expected, "{inner}");
    editor.finish().await
}

async fn a_delegate_shows_the_name_of_a_method_made_at_run_time(runtime: Runtime) -> anyhow::Result<()> {
    let mut editor = DapClient::start("editor", runtime, &Transcript::default())?;
    editor.launch("lightweight", &["caught"], json!({})).await?;
    let (_, frame) = editor.stop().await?;
    for (expression, shown) in [
        ("run", "{System.Func<object, int, int>: Light(object, int)}"),
        ("tree", "{System.Func<int, int>: Tree(int)}"),
        ("nameless", "{System.Action<System.Action>: [Lightweight Function]}"),
        ("light", "{Light(object, int)}"),
    ] {
        let arguments = json!({ "expression": expression, "frameId": frame["id"] });
        assert_eq!(editor.ok("evaluate", arguments).await?["result"], shown, "{expression}");
    }
    editor.finish().await
}

async fn an_agent_learns_the_names_of_methods_made_at_run_time(runtime: Runtime) -> anyhow::Result<()> {
    let mut agent = Agent::start("agent", runtime, &Transcript::default()).await?;
    let launch = json!({ "program": fixture::program("lightweight"), "run": true });
    let stop = agent.call("debug_launch", launch).await?;
    assert_eq!(stop["state"], "stopped", "{stop}");
    let info = agent.call("debug_exception_info", json!({})).await?;
    let text = info.to_string();
    anyhow::ensure!(text.contains("at Light(object, int)"), "{info}");
    anyhow::ensure!(!text.contains("<Module>"), "{info}");
    agent.finish().await
}
