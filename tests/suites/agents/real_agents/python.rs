//! Python: Flask with its reloader and a real request, uvicorn's asyncio, and a package's own tests under
//! pytest, in one process and in several.

use std::path::PathBuf;

use serde_json::{Value, json};
use tandem_harness::agent::Agent;
use tandem_harness::child::Subject;
use tandem_harness::port::Port;
use tandem_harness::transcript::Transcript;

use super::{AgentRun, fetched_path, request};

/// The attributes of a Python program that finds the packages.
fn python(mut attributes: Value, more: &str) -> anyhow::Result<Value> {
    // The inspected package precedes its installed copy.
    let path = format!("{more}:{}", fetched_path("/packages")?);
    attributes["env"] = json!({ "PYTHONPATH": path, "PYTHONDONTWRITEBYTECODE": "1" });
    Ok(Subject::Python.with(attributes))
}

const APP: &str = "from flask import Flask\n\napp = Flask(__name__)\n\n\n\
    @app.route(\"/add/<int:a>/<int:b>\")\n\
                   def add(a, b):\n    total = a + b\n    return str(total)\n";

#[tokio::test]
#[ignore = "long: needs what scripts/real fetches; `./check --long` runs it"]
async fn long_a_request_to_flask_behind_its_reloader_stops_in_the_handler() -> anyhow::Result<()> {
    let folder = tempfile::tempdir()?;
    std::fs::write(folder.path().join("app.py"), APP)?;
    let mut agent = Agent::in_folder("agent", folder.path(), &[], &Transcript::default()).await?;
    let port = Port::take()?;
    let number = port.number()?;
    let args = json!(["--app", "app", "run", "--debug", "--port", number.to_string()]);
    let arguments = json!({ "module": "flask", "args": args, "waitFor": "Debugger is active",
        "breakpoints": [{ "sourceFile": "app.py", "text": "total = a + b" }] });
    let up = agent.call("debug_launch", python(arguments, "")?).await?;
    assert_eq!(up["event"]["type"], "output", "{up}");
    let request = request(number, "/add/2/3");
    let hit = agent.call("debug_wait", json!({})).await?;
    assert_eq!(
        (&hit["event"]["type"], &hit["event"]["function"], &hit["event"]["breakpointId"]),
        (&json!("breakpointHit"), &json!("add"), &up["breakpoints"][0]["id"]),
        "{hit}"
    );
    assert_ne!(hit["event"]["session"], up["session"], "{hit}");
    let stepped = agent.call("debug_step_over", json!({})).await?;
    assert_eq!(stepped["event"]["changed"][0]["value"], "5", "{stepped}");
    let set = agent.call("debug_set_variable", json!({ "name": "total", "value": "77" })).await?;
    assert_eq!(set["success"], true, "{set}");
    agent.call("debug_continue", json!({ "timeoutMs": 500 })).await?;
    assert!(request.await??.ends_with("77"));
    agent.call("debug_disconnect", json!({})).await?;
    agent.finish().await
}

const ASGI: &str = "async def app(scope, receive, send):\n    body = b'hello ' + scope['path'].encode()\n    \
                    await send({'type': 'http.response.start', 'status': 200, 'headers': []})\n    \
                    await send({'type': 'http.response.body', 'body': body})\n";

#[tokio::test]
#[ignore = "long: needs what scripts/real fetches; `./check --long` runs it"]
async fn long_a_step_in_uvicorn_goes_over_what_is_awaited() -> anyhow::Result<()> {
    let folder = tempfile::tempdir()?;
    std::fs::write(folder.path().join("app.py"), ASGI)?;
    let port = Port::take()?;
    let number = port.number()?;
    let server = PathBuf::from(fetched_path("/packages")?).join("uvicorn/protocols/http/h11_impl.py");
    let options =
        ["--http", "h11", "--lifespan", "off", "--limit-max-requests", "1", "--port", &number.to_string()];
    let args: Vec<&str> = ["app:app"].into_iter().chain(options).collect();
    let arguments = json!({ "module": "uvicorn", "args": args, "waitFor": "Uvicorn running on",
        "breakpoints": [{ "sourceFile": server, "text": "result = await app(" }] });
    let mut visit = AgentRun::begin(folder.path()).await?;
    let up = visit.launch("debug_launch", python(arguments, &folder.path().display().to_string())?).await?;
    assert_eq!(up["event"]["type"], "output", "{up}");
    let response = request(number, "/asked");
    visit.waits_for("run_asgi").await?;
    visit.check_values(&[("self.scope['path']", "'/asked'"), ("self.scope['method']", "'GET'")]).await?;
    visit.sets("self.scope['path']", "'/set'").await?;
    visit.remove_breakpoints().await?;
    let over = visit.steps_until("result", "None").await?;
    assert_eq!(over["event"]["function"], "run_asgi", "{over}");
    visit.ends(0, "\"GET /set HTTP/1.1\" 200 OK").await?;
    assert!(response.await??.contains("hello /set"));
    Ok(())
}

/// The sources of a package, its tests and what they need; its folder, and the file of its signer.
fn itsdangerous() -> anyhow::Result<(String, PathBuf, Value)> {
    let folder = fetched_path("/tests/itsdangerous")?;
    let signer = PathBuf::from(&folder).join("src/itsdangerous/signer.py");
    let arguments = python(json!({ "projectPath": folder }), &format!("{folder}/src"))?;
    Ok((folder, signer, arguments))
}

#[tokio::test]
#[ignore = "long: needs what scripts/real fetches; `./check --long` runs it"]
async fn long_a_package_s_own_test_is_debugged_in_the_package() -> anyhow::Result<()> {
    let (folder, signer, mut test_arguments) = itsdangerous()?;
    let mut agent = Agent::in_folder("agent", folder.as_ref(), &[], &Transcript::default()).await?;
    test_arguments["filter"] =
        json!("tests/test_itsdangerous/test_signer.py::TestSigner::test_broken_signature");
    test_arguments["args"] = json!(["-p", "no:cacheprovider", "-q"]);
    test_arguments["breakpoints"] =
        json!([{ "sourceFile": signer, "text": "if self.verify_signature(value, sig):" }]);
    let hit = agent.call("debug_launch_test", test_arguments).await?;
    assert_eq!(
        (&hit["event"]["type"], &hit["event"]["function"]),
        (&json!("breakpointHit"), &json!("unsign")),
        "{hit}"
    );
    let value = agent.call("debug_evaluate", json!({ "expressions": ["value", "self.sep"] })).await?;
    assert_eq!(
        (&value["results"][0]["result"], &value["results"][1]["result"]),
        (&json!("b'b'"), &json!("b'.'")),
        "{value}"
    );
    let into = agent.call("debug_step_into", json!({})).await?;
    assert_eq!(into["event"]["function"], "verify_signature", "{into}");
    agent.call("debug_set_exception_breakpoints", json!({ "filters": ["raised"] })).await?;
    // The signature is too short to be decoded; then the one the test expects is raised.
    let mut types = Vec::new();
    loop {
        let thrown = agent.call("debug_continue", json!({})).await?;
        if thrown["state"] == "exited" {
            assert_eq!(thrown["event"]["exitCode"], 0, "{thrown}");
            break;
        }
        types.push(thrown["event"]["exceptionType"].as_str().unwrap_or_default().to_owned());
        anyhow::ensure!(types.len() < 50, "it does not end: {types:?}");
    }
    assert!(types.iter().any(|name| name.ends_with("BadSignature")), "{types:?}");
    let read = agent.call("process_read_output", json!({})).await?;
    assert!(read["stdout"].as_str().is_some_and(|text| text.contains("1 passed")), "{read}");
    agent.finish().await
}

#[tokio::test]
#[ignore = "long: needs what scripts/real fetches; `./check --long` runs it"]
async fn long_a_test_that_runs_in_a_worker_of_pytest_stops_there() -> anyhow::Result<()> {
    let (folder, signer, mut test_arguments) = itsdangerous()?;
    let mut agent = Agent::in_folder("agent", folder.as_ref(), &[], &Transcript::default()).await?;
    test_arguments["filter"] = json!("test_no_separator");
    test_arguments["args"] = json!(["-n", "2", "-p", "no:cacheprovider"]);
    test_arguments["breakpoints"] =
        json!([{ "sourceFile": signer, "text": "raise BadSignature(f\"No {self.sep!r} found in value\")" }]);
    let hit = agent.call("debug_launch_test", test_arguments).await?;
    assert!(hit["event"]["session"].is_string() && hit["event"]["function"] == "unsign", "{hit}");
    let removed =
        agent.call("debug_remove_breakpoint", json!({ "breakpointId": hit["breakpoints"][0]["id"] })).await?;
    assert_eq!(removed["success"], true, "{removed}");
    // Another worker may have come there before it was removed.
    let mut ended = agent.call("debug_continue", json!({})).await?;
    if ended["state"] == "stopped" {
        ended = agent.call("debug_continue", json!({})).await?;
    }
    assert_eq!((&ended["state"], &ended["event"]["exitCode"]), (&json!("exited"), &json!(0)), "{ended}");
    agent.finish().await
}
