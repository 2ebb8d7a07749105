//! The difficult requests, sent to each real adapter: a table of adapters and cases. Where an adapter answers
//! otherwise, the case says why.
//!
//! Not here: tests of a single language ([`super::child_python`], [`super::child_javascript`]).

use std::collections::HashMap;
use std::path::{Path, PathBuf};

use anyhow::Context;
use serde_json::{Value, json};
use tandem_harness::agent::Agent;
use tandem_harness::child::{self, Subject};
use tandem_harness::client::DapClient;
use tandem_harness::transcript::Transcript;

use tandem_harness::child::with_tools;

/// Declares each case for each adapter that is set up.
macro_rules! matrix {
    ($($adapter:ident: $subject:ident),* $(,)?) => {
        $(mod $adapter {
            use super::Subject;
            const SUBJECT: Subject = Subject::$subject;

            #[tokio::test]
            async fn program_is_paused_before_its_first_stop() -> anyhow::Result<()> {
                super::paused_first(SUBJECT).await
            }

            #[tokio::test]
            async fn children_come_in_pages() -> anyhow::Result<()> {
                super::paged(SUBJECT).await
            }

            #[tokio::test]
            async fn an_agent_reads_a_page_of_a_list_by_its_path() -> anyhow::Result<()> {
                super::paged_by_path(SUBJECT).await
            }

            #[tokio::test]
            async fn a_watch_that_fails_is_shown_to_nobody() -> anyhow::Result<()> {
                super::failing_watch(SUBJECT).await
            }
        })*
    };
}

matrix! {
    debugpy: Python,
    debugpy_through_its_adapter: PythonAdapter,
    lldb: Lldb,
    gdb: Gdb,
    bash: Bash,
    delve: Delve,
    rdbg: Rdbg,
    rdbg_1_9_2: Rdbg192,
    js: Js,
    perl: Perl,
}

const C: &str = "#include <stdio.h>\n\nint main(void) {\n    int many[1000];\n    for (int i = 0; i < 1000; \
    i++)\n        \
                 many[i] = i;\n    printf(\"%d\\n\", many[999]); /* BP many */\n    return 0;\n}\n";
const GO: &str = "package main\n\nimport \"fmt\"\n\nfunc main() {\n\tmany := make([]int, 1000)\n\
    \tfor i := range many {\n\t\t\
                  many[i] = i\n\t}\n\tfmt.Println(len(many)) // BP many\n}\n";

/// The start of a page, in the middle of the list.
const PAGE_START: u64 = 500;

fn editor() -> anyhow::Result<DapClient> {
    DapClient::start_in("editor", HashMap::new(), &Transcript::default())
}

/// The attributes that launch a fixture of this language, with the engine.
fn launch(subject: Subject, program: impl Into<PathBuf>) -> Value {
    let mut launch = subject.launch();
    launch["program"] = json!(program.into());
    launch
}

/// No stop has given the client a thread id yet: it sends one that no adapter knows.
async fn paused_first(subject: Subject) -> anyhow::Result<()> {
    let program = match subject {
        Subject::Python | Subject::PythonAdapter => child::source("spin.py"),
        Subject::Lldb | Subject::Gdb => child::native("spin"),
        Subject::Delve => child::native("go-spin"),
        Subject::Bash => child::source("spin.sh"),
        Subject::Rdbg | Subject::Rdbg192 => child::source("spin.rb"),
        Subject::Js => child::source("spin.js"),
        Subject::Perl => child::source("spin.pl"),
    };
    let mut editor = editor()?;
    editor.launch_child(launch(subject, &program), &program, &[]).await?;
    // With bash-dap the process exists before it can be paused.
    editor.event("process").await?;
    editor.ok("pause", json!({ "threadId": 0 })).await?;
    let stopped = editor.event("stopped").await?;
    assert_eq!(stopped["reason"], "pause", "{stopped}");
    assert!(stopped["preserveFocusHint"] != true, "an editor would show nothing: {stopped}");
    let threads = editor.ok("threads", Value::Null).await?;
    let first = threads["threads"][0]["id"].as_i64().context("no threads")?;
    let thread = stopped["threadId"].as_i64().unwrap_or(first);
    let stack = editor.ok("stackTrace", json!({ "threadId": thread, "levels": 20 })).await?;
    let frames = stack["stackFrames"].as_array().context("no stack")?;
    assert!(!frames.is_empty(), "{stack}");
    editor.ok("continue", json!({ "threadId": thread })).await?;
    editor.ok("disconnect", json!({ "terminateDebuggee": true })).await?;
    editor.wait_until_ended().await
}

/// The source of a program with a list of a thousand, and the attributes that launch it.
fn list_program(subject: Subject, folder: &Path) -> anyhow::Result<(PathBuf, Value)> {
    let made = |name: &str, text: &str| -> anyhow::Result<PathBuf> {
        std::fs::write(folder.join(name), text)?;
        Ok(folder.join(name))
    };
    let source = match subject {
        Subject::Python | Subject::PythonAdapter => child::source("many.py"),
        Subject::Js => child::source("many.js"),
        Subject::Rdbg | Subject::Rdbg192 => child::source("many.rb"),
        Subject::Perl => child::source("many.pl"),
        Subject::Bash => child::source("many.sh"),
        Subject::Lldb | Subject::Gdb => made("many.c", C)?,
        Subject::Delve => {
            made("go.mod", "module many\n\ngo 1.20\n")?;
            made("main.go", GO)?
        }
    };
    let mut attributes = launch(subject, &source);
    if subject == Subject::Delve {
        attributes = with_tools(attributes)?;
    }
    Ok((source, attributes))
}

/// Runs the program until its list of a thousand is complete; returns the thread and the row of the list.
async fn list_of_a_thousand(
    subject: Subject,
    folder: &Path,
    editor: &mut DapClient,
) -> anyhow::Result<(i64, Value)> {
    let (source, attributes) = list_program(subject, folder)?;
    let line = child::line(&source, "many");
    editor.launch_child(attributes, &source, &[line]).await?;
    let (thread, frame) = editor.stop().await?;
    let scopes = editor.ok("scopes", json!({ "frameId": frame["id"] })).await?;
    for scope in scopes["scopes"].as_array().context("no scopes")? {
        let arguments = json!({ "variablesReference": scope["variablesReference"] });
        let body = editor.ok("variables", arguments).await?;
        let mut rows = body["variables"].as_array().into_iter().flatten();
        if let Some(list) = rows.find(|row| row["name"] == subject.variable("many", true)) {
            return Ok((thread, list.clone()));
        }
    }
    anyhow::bail!("no variable `many`")
}

/// `start` and `count` mean the same everywhere, with either `filter` or none.
async fn paged(subject: Subject) -> anyhow::Result<()> {
    let folder = tempfile::tempdir()?;
    let mut editor = editor()?;
    let (_, list) = list_of_a_thousand(subject, folder.path(), &mut editor).await?;
    let reference = &list["variablesReference"];
    let expected = [json!(PAGE_START.to_string()), json!((PAGE_START + 1).to_string())];
    for filter in [json!(null), json!("indexed")] {
        let mut arguments = json!({ "variablesReference": reference, "start": PAGE_START, "count": 2 });
        if !filter.is_null() {
            arguments["filter"] = filter.clone();
        }
        let body = editor.ok("variables", arguments).await?;
        let rows = body["variables"].as_array().context("no variables")?;
        let values: Vec<&Value> = rows.iter().map(|row| &row["value"]).collect();
        assert_eq!(values, expected.iter().collect::<Vec<_>>(), "filter {filter}");
        for (row, index) in rows.iter().zip([PAGE_START, PAGE_START + 1]) {
            let name = row["name"].as_str().unwrap_or_default().trim_matches(['[', ']']);
            assert_eq!(name.parse(), Ok(index), "{row}");
        }
    }
    let named = json!({ "variablesReference": reference, "filter": "named" });
    let body = editor.ok("variables", named).await?;
    for row in body["variables"].as_array().context("no variables")? {
        let name = row["name"].as_str().unwrap_or_default().trim_matches(['[', ']']);
        assert!(name.parse::<u64>().is_err(), "an element is not a named child: {row}");
    }
    let behind = json!({ "variablesReference": reference, "filter": "indexed", "start": 5000, "count": 2 });
    assert_eq!(editor.ok("variables", behind).await?["variables"], json!([]));
    editor.ok("disconnect", json!({ "terminateDebuggee": true })).await?;
    editor.wait_until_ended().await
}

/// The tool that agents have for it, with the path of the list and where to begin.
async fn paged_by_path(subject: Subject) -> anyhow::Result<()> {
    let folder = tempfile::tempdir()?;
    let (source, mut launch) = list_program(subject, folder.path())?;
    launch["breakpoints"] = json!([{ "file": source, "line": child::line(&source, "many") }]);
    launch["run"] = json!(true);
    let mut agent = Agent::in_folder("agent", folder.path(), &[], &Transcript::default()).await?;
    let stop = agent.call("debug_launch", launch).await?;
    assert_eq!(stop["state"], "stopped", "{stop}");
    let path = subject.variable("many", true);
    let arguments = json!({ "path": path, "start": PAGE_START, "count": 2 });
    let result = agent.call("debug_variables", arguments).await?;
    let rows = result["variables"].as_array().with_context(|| result.to_string())?;
    let values: Vec<&Value> = rows.iter().map(|row| &row["value"]).collect();
    assert_eq!(values, [&json!(PAGE_START.to_string()), &json!((PAGE_START + 1).to_string())], "{result}");
    assert_eq!(result["next"], PAGE_START + 2, "{result}");
    agent.finish().await
}

/// A watch fails at each stop where its variable is not; a dialog each time would be unbearable.
async fn failing_watch(subject: Subject) -> anyhow::Result<()> {
    let folder = tempfile::tempdir()?;
    let mut editor = editor()?;
    let (thread, _) = list_of_a_thousand(subject, folder.path(), &mut editor).await?;
    let stack = editor.ok("stackTrace", json!({ "threadId": thread, "levels": 1 })).await?;
    let frame = stack["stackFrames"][0]["id"].clone();
    let arguments = json!({ "expression": "no_such_thing.at(", "frameId": frame, "context": "watch" });
    let answer = editor.ask("evaluate", arguments).await?;
    match subject {
        // Both respond in any case, Ruby with the error as a value: there is nothing to show.
        Subject::Bash | Subject::Rdbg | Subject::Rdbg192 => {}
        _ => assert!(!answer.success, "{}", answer.body),
    }
    assert!(answer.body["error"]["showUser"] != true, "{}", answer.body);
    editor.ok("disconnect", json!({ "terminateDebuggee": true })).await?;
    editor.wait_until_ended().await
}
