//! JavaScript: a static file server with a request, and TypeScript under jest.

use std::path::PathBuf;

use serde_json::json;
use tandem_harness::agent::Agent;
use tandem_harness::child::Subject;
use tandem_harness::deadline::deadline_ms;
use tandem_harness::port::Port;
use tandem_harness::transcript::Transcript;

use super::{AgentRun, fetched_path, request};

#[tokio::test]
#[ignore = "long: needs what scripts/real fetches; `./check --long` runs it"]
async fn long_typescript_under_jest_stops_where_it_was_written() -> anyhow::Result<()> {
    let folder = PathBuf::from(fetched_path("/npm/jest")?);
    let source = folder.join("src/cart.ts");
    let mut agent = Agent::in_folder("agent", &folder, &[], &Transcript::default()).await?;
    let jest = folder.join("node_modules/.bin/jest");
    let mut arguments = Subject::Js.with(json!({ "program": jest, "args": ["--runInBand"], "run": true }));
    arguments["timeoutMs"] = json!(deadline_ms(60));
    arguments["breakpoints"] = json!([{ "sourceFile": source, "text": "sum += item.price" }]);
    let mut hit = agent.call("debug_launch", arguments).await?;
    // vscode-js-debug sets the line in the compiled text, too, until it has the map: jest runs that under the
    // name of the source.
    if hit["event"]["source"] == "for (const item of items) {" {
        let stop = agent.call("debug_continue", json!({})).await?;
        hit["event"] = stop["event"].clone();
    }
    assert_eq!(
        (&hit["event"]["function"], &hit["event"]["file"]),
        (&json!("total"), &json!(source)),
        "{hit}"
    );
    let value =
        agent.call("debug_evaluate", json!({ "expressions": ["item.price", "items.length"] })).await?;
    let results = [&value["results"][0]["result"], &value["results"][1]["result"]];
    assert_eq!(results, ["2", "2"], "{value}");
    let stepped = agent.call("debug_step_over", json!({})).await?;
    let changed = stepped["event"]["changed"].as_array().into_iter().flatten();
    let sum = changed.filter(|row| row["name"] == "sum").map(|row| &row["value"]).next();
    assert_eq!(sum, Some(&json!("6")), "{stepped}");
    agent.call("debug_remove_breakpoint", json!({ "breakpointId": hit["breakpoints"][0]["id"] })).await?;
    let ended = agent.call("debug_continue", json!({ "timeoutMs": deadline_ms(60) })).await?;
    assert_eq!((&ended["state"], &ended["event"]["exitCode"]), (&json!("exited"), &json!(0)), "{ended}");
    let read = agent.call("process_read_output", json!({ "stream": "stderr" })).await?;
    assert!(read["stderr"].as_str().is_some_and(|text| text.contains("1 passed")), "{read}");
    agent.finish().await
}

#[tokio::test]
#[ignore = "long: needs what scripts/real fetches; `./check --long` runs it"]
async fn long_a_request_to_http_server_gets_the_file_that_the_agent_says() -> anyhow::Result<()> {
    let folder = tempfile::tempdir()?;
    std::fs::write(folder.path().join("there.txt"), "what is there\n")?;
    let package = PathBuf::from(fetched_path("/npm/http-server")?).join("node_modules");
    let port = Port::take()?;
    let number = port.number()?;
    let args = json!([".", "-a", "127.0.0.1", "-p", number.to_string()]);
    let arguments = Subject::Js.with(json!({ "program": package.join(".bin/http-server"), "args": args,
        "cwd": folder.path(), "waitFor": "Hit CTRL-C",
        "breakpoints": [{ "sourceFile": package.join("http-server/lib/core/index.js"),
            "text": "const parsed = url.parse(req.url);" }] }));
    let mut visit = AgentRun::begin(folder.path()).await?;
    let up = visit.launch("debug_launch", arguments).await?;
    assert_eq!(up["event"]["matched"], "Hit CTRL-C", "{up}");
    let answer = request(number, "/missing.txt");
    visit.waits_for("middleware").await?;
    visit.check_values(&[("req.url", "'/missing.txt'"), ("req.method", "'GET'")]).await?;
    visit.steps_until("pathname", "null").await?;
    visit.check_values(&[("parsed.pathname", "'/missing.txt'")]).await?;
    visit.sets("parsed.pathname", "'/there.txt'").await?;
    visit.serves(answer, "what is there").await
}
