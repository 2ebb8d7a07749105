//! `--expect`: an editor that reads exception filters only in the answer to `initialize` gets those of the
//! engine that will come.

use serde_json::{Value, json};
use tandem_harness::child::Subject;
use tandem_harness::client::DapClient;
use tandem_harness::fixture::{self, Runtime};
use tandem_harness::transcript::Transcript;

fn start_expecting(attributes: &Value) -> anyhow::Result<DapClient> {
    let flags = ["--expect", &attributes.to_string()];
    let environment = Runtime::Net9.environment().unwrap_or_default();
    DapClient::start_with("editor", &flags, environment, &Transcript::default())
}

async fn filters(editor: &mut DapClient) -> anyhow::Result<Value> {
    let hello = json!({ "clientID": "vscode", "adapterID": "tandem" });
    Ok(editor.ok("initialize", hello).await?["exceptionBreakpointFilters"].clone())
}

/// Names and defaults that an editor shows and sends.
fn names(filters: &Value) -> Vec<(&str, bool)> {
    let list = filters.as_array().into_iter().flatten();
    list.map(|one| (one["filter"].as_str().unwrap_or_default(), one["default"] == true)).collect()
}

/// The expected filters are the real adapter's: it does not take them back.
async fn are_the_adapters(subject: Subject) -> anyhow::Result<()> {
    let launch = subject.launch();
    let mut editor = start_expecting(&launch)?;
    let promised = filters(&mut editor).await?;
    let sent = editor.send("launch", launch).await?;
    let exception_breakpoint_filters =
        editor.event("capabilities").await?["capabilities"]["exceptionBreakpointFilters"].clone();
    editor.event("initialized").await?;
    // Debian's Delve is older than Delve's filters.
    let none = subject == Subject::Delve && exception_breakpoint_filters == json!([]);
    if subject == Subject::Rdbg && !exception_breakpoint_filters.is_null() {
        // Only before 1.6 is one of them on by default.
        let known = |filters: &Value| -> Vec<String> {
            names(filters).into_iter().map(|(name, _)| name.to_owned()).collect()
        };
        assert_eq!(
            known(&promised),
            known(&exception_breakpoint_filters),
            "the adapter says {exception_breakpoint_filters}"
        );
    } else if !exception_breakpoint_filters.is_null() && !none {
        assert_eq!(
            names(&promised),
            names(&exception_breakpoint_filters),
            "the adapter says {exception_breakpoint_filters}"
        );
    }
    editor.ok("configurationDone", Value::Null).await?;
    anyhow::ensure!(editor.response(sent).await?.success, "the launch failed");
    editor.finish().await
}

parameterized_tests! {
    of_python: are_the_adapters(Subject::Python),
    of_pythons_adapter: are_the_adapters(Subject::PythonAdapter),
    of_lldb: are_the_adapters(Subject::Lldb),
    of_gdb: are_the_adapters(Subject::Gdb),
    of_bash: are_the_adapters(Subject::Bash),
    of_delve: are_the_adapters(Subject::Delve),
    of_ruby: are_the_adapters(Subject::Rdbg),
    of_ruby_with_debug_1_9_2: are_the_adapters(Subject::Rdbg192),
    of_javascript: are_the_adapters(Subject::Js),
    of_perl: are_the_adapters(Subject::Perl),
}

#[tokio::test]
async fn dotnet_and_what_nobody_knows_beforehand() -> anyhow::Result<()> {
    let dotnet = [("all", false), ("userUnhandled", true), ("unhandled", true)];
    for (attributes, expected) in [
        (json!({ "program": "app.dll" }), &dotnet[..]),
        (json!({ "engine": { "command": "other-dap" } }), &[]),
        (json!({ "engine": "nonsense" }), &[]),
        (json!({ "engine": 7 }), &dotnet),
    ] {
        let mut editor = start_expecting(&attributes)?;
        assert_eq!(names(&filters(&mut editor).await?), expected, "{attributes}");
        editor.finish().await?;
    }
    Ok(())
}

/// `--expect` names one program, and another is launched: an event corrects the editor,
/// whose requests stay valid.
#[tokio::test]
async fn a_wrong_expectation_does_no_harm() -> anyhow::Result<()> {
    let mut editor = start_expecting(&json!({ "program": "greeter.py" }))?;
    assert_eq!(names(&filters(&mut editor).await?)[0].0, "raised");
    let launch = editor.send("launch", json!({ "program": fixture::program("throws") })).await?;
    let exception_breakpoint_filters =
        editor.event("capabilities").await?["capabilities"]["exceptionBreakpointFilters"].clone();
    assert_eq!(names(&exception_breakpoint_filters)[0].0, "all");
    editor.event("initialized").await?;
    editor.ok("configurationDone", Value::Null).await?;
    anyhow::ensure!(editor.response(launch).await?.success, "the launch failed");
    editor.finish().await
}

#[test]
fn an_expectation_that_is_not_an_object_is_refused_with_the_reason() -> anyhow::Result<()> {
    let done = std::process::Command::new(fixture::binary("tandem-dap"))
        .args(["--expect", "greeter.py"])
        .stdin(std::process::Stdio::null())
        .output()?;
    let text = String::from_utf8_lossy(&done.stderr);
    assert!(
        !done.status.success() && text.contains("not a JSON object of launch or attach attributes"),
        "{text}"
    );
    Ok(())
}
