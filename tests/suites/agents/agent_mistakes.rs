//! Mistakes and omissions of agents: no call waits for them in vain, and the answer says what to do.

use serde_json::{Value, json};
use tandem_harness::agent::Agent;
use tandem_harness::child::{self, Subject};
use tandem_harness::client::DapClient;
use tandem_harness::fixture::{self, Runtime};
use tandem_harness::transcript::Transcript;

dotnet_tests! {
    a_bare_name_before_the_launch_binds_to_the_programs_source,
    a_client_that_only_continues_is_notified_again_that_input_is_wanted,
    inspection_tools_use_the_frame_that_is_shown,
    an_agent_that_may_not_end_a_session_stays_in_it,
}

fn message(answer: &Value) -> &str {
    answer["error"]["message"].as_str().unwrap_or_default()
}

async fn a_bare_name_before_the_launch_binds_to_the_programs_source(runtime: Runtime) -> anyhow::Result<()> {
    let mut agent = Agent::start("agent", runtime, &Transcript::default()).await?;
    let set = agent.call(
        "debug_set_breakpoint",
        json!({ "sourceFile": "Program.cs", "line": fixture::line("tour", "main") }),
    );
    let set = set.await?;
    assert_eq!((&set["success"], &set["file"]), (&json!(true), &json!("Program.cs")), "{set}");
    let launch = json!({ "program": fixture::program("tour"), "args": "[\"one\"]", "stopAtEntri": false });
    let stop = agent.call("debug_launch", launch).await?;
    assert_eq!(stop["ignored"], json!(["stopAtEntri"]), "{stop}");
    let hit = agent.call("debug_continue", json!({})).await?;
    assert_eq!(
        (&hit["event"]["breakpointId"], &hit["event"]["file"]),
        (&set["id"], &json!(fixture::source("tour")))
    );
    // The debugger knows the source now, so the short name does not count as a second source.
    let set = agent.call(
        "debug_set_breakpoint",
        json!({ "sourceFile": "Program.cs", "line": fixture::line("tour", "end") }),
    );
    assert_eq!(set.await?["file"], json!(fixture::source("tour")));
    agent.finish().await
}

#[tokio::test]
async fn assigning_to_an_unknown_variable_fails() -> anyhow::Result<()> {
    let mut agent = Agent::start("agent", Runtime::Net9, &Transcript::default()).await?;
    let mut launch = child::python("echo.py");
    launch["breakpoints"] =
        json!([{ "sourceFile": Subject::Python.source(), "line": Subject::Python.line("handle") }]);
    agent.call("debug_launch", launch).await?;
    agent.call("process_write_input", json!({ "data": "one\n" })).await?;
    let hit = agent.call("debug_continue", json!({})).await?;
    assert_eq!(hit["event"]["type"], "breakpointHit", "{hit}");
    let slip = agent.call("debug_set_variable", json!({ "name": "lenght", "value": "5" })).await?;
    assert_eq!(slip["error"]["code"], "EVALUATION_FAILED", "{slip}");
    assert!(message(&slip).contains("lenght"), "{slip}");
    let set = agent.call("debug_set_variable", json!({ "name": "length", "value": "5" })).await?;
    assert_eq!((&set["success"], &set["value"]), (&json!(true), &json!("5")), "{set}");
    agent.finish().await
}

async fn a_client_that_only_continues_is_notified_again_that_input_is_wanted(
    runtime: Runtime,
) -> anyhow::Result<()> {
    let mut agent = Agent::start("agent", runtime, &Transcript::default()).await?;
    let launch = json!({ "program": fixture::program("tour"), "run": true });
    let asks = agent.call("debug_launch", launch).await?;
    assert_eq!(asks["event"]["type"], "waitingForInput", "{asks}");
    // The wait is shorter than for a program that works, and the answer says that
    // the program waits for input.
    let again = agent.call("debug_continue", json!({})).await?;
    assert_eq!(again["pending"], true, "{again}");
    let says = again["waitingForInput"].as_str().unwrap_or_default();
    assert!(says.contains("process_write_input"), "{again}");
    // After a stop it is news.
    let stop = agent.call("debug_pause", json!({})).await?;
    assert_eq!(stop["event"]["reason"], "pause", "{stop}");
    let asks = agent.call("debug_continue", json!({})).await?;
    assert_eq!(asks["event"]["type"], "waitingForInput", "{asks}");
    agent.call("process_write_input", json!({ "data": "bob\n" })).await?;
    let end = agent.call("debug_continue", json!({})).await?;
    assert_eq!((&end["state"], &end["event"]["exitCode"]), (&json!("exited"), &json!(3)), "{end}");
    agent.finish().await
}

async fn inspection_tools_use_the_frame_that_is_shown(runtime: Runtime) -> anyhow::Result<()> {
    let mut agent = Agent::start("agent", runtime, &Transcript::default()).await?;
    agent.call("debug_launch", json!({ "program": fixture::program("tour"), "run": true })).await?;
    // It is stopped inside the framework, which reads; the answer shows the line of the program that called
    // it.
    let stop = agent.call("debug_pause", json!({})).await?;
    assert_eq!(stop["event"]["line"], fixture::line("tour", "read"), "{stop}");
    assert!(stop["event"]["topFrame"]["file"].is_null(), "{stop}");
    let seen = agent.call("debug_variables", json!({})).await?;
    assert_eq!(seen["variables"][0], json!({ "name": "name", "value": "null", "type": "string" }), "{seen}");
    let total = agent.call("debug_evaluate", json!({ "expression": "total + 1" })).await?;
    assert_eq!(total["result"], "1", "{total}");
    // Scopes by other engines' names, and one there is not.
    let arguments = agent.call("debug_variables", json!({ "scope": "arguments" })).await?;
    assert_eq!(arguments["variables"], seen["variables"]);
    let wrong = agent.call("debug_variables", json!({ "scope": "bogus" })).await?;
    assert_eq!(
        (message(&wrong), &wrong["error"]["hint"]),
        ("this frame has no scope `bogus`", &json!("it has Locals"))
    );
    let none = agent.call("debug_exception_info", json!({})).await?;
    assert_eq!(message(&none), "the program stopped for `pause`, not at an exception");
    agent.finish().await
}

async fn an_agent_that_may_not_end_a_session_stays_in_it(runtime: Runtime) -> anyhow::Result<()> {
    let mut editor = DapClient::start("editor", runtime, &Transcript::default())?;
    editor.launch("tour", &["main"], json!({ "agentAccess": "readOnly" })).await?;
    editor.stop().await?;
    let id = editor.ok("sessionInfo", json!({})).await?["id"].clone();
    let mut agent = Agent::start("agent", runtime, &Transcript::default()).await?;
    agent.call("debug_sessions", json!({ "select": id })).await?;
    for _ in 0..2 {
        let refused = agent.call("debug_disconnect", json!({ "terminate": true })).await?;
        assert_eq!(refused["error"]["code"], "ACCESS_DENIED", "{refused}");
    }
    // The session did not keep a client without an agent, and the agent did not forget its session.
    let status = agent.call("debug_status", json!({})).await?;
    assert_eq!((&status["session"], status["clients"].as_array().map(Vec::len)), (&id, Some(2)), "{status}");
    let left = agent.call("debug_disconnect", json!({})).await?;
    assert_eq!(left["state"], "idle");
    agent.finish().await?;
    editor.finish().await
}

#[tokio::test]
async fn invalid_breakpoints_are_refused_without_failing_the_launch() -> anyhow::Result<()> {
    let mut agent = Agent::start("agent", Runtime::Net9, &Transcript::default()).await?;
    for empty in [
        json!({ "sourceFile": "", "line": 4 }),
        json!({ "function": "" }),
        json!({ "sourceFile": "a.cs", "line": 0 }),
    ] {
        let refused = agent.call("debug_set_breakpoint", empty).await?;
        assert_eq!(refused["error"]["code"], "INVALID_PARAMETER", "{refused}");
        assert!(refused["error"]["hint"].is_string(), "{refused}");
    }
    let listed = agent.call("debug_list_breakpoints", json!({})).await?;
    assert_eq!(listed["breakpoints"], json!([]));
    let program = fixture::program("tour");
    let wrong =
        json!({ "program": program, "breakpoints": [{ "sourceFile": "a.cs", "line": 1 }, { "line": 3 }] });
    let refused = agent.call("debug_launch", wrong).await?;
    assert_eq!(message(&refused), "`breakpoints[1]`: `sourceFile` is missing; it must be a string");
    let filters = agent.call("debug_set_exception_breakpoints", json!({ "filters": "all" })).await?;
    assert_eq!(filters["filters"], json!(["all"]), "{filters}");
    agent.finish().await
}

/// debugpy prints its failure to the program's stderr, and gdb never responds.
#[tokio::test]
async fn requests_that_an_engine_mishandles_are_not_forwarded() -> anyhow::Result<()> {
    let gdb = Subject::Gdb.with(json!({ "program": child::built("count") }));
    for (mut launch, source) in [(child::python("count.py"), "count.py"), (gdb, "count.c")] {
        let (name, source) = (source, child::source(source));
        let mut agent = Agent::start("agent", Runtime::Net9, &Transcript::default()).await?;
        launch["run"] = json!(true);
        launch["breakpoints"] = json!([{ "sourceFile": name, "line": child::line(&source, "count") }]);
        let stop = agent.call("debug_launch", launch).await?;
        assert_eq!(
            (&stop["event"]["type"], &stop["event"]["file"]),
            (&json!("breakpointHit"), &json!(source)),
            "{stop}"
        );
        let none = agent.call("debug_exception_info", json!({})).await?;
        assert_eq!(message(&none), "the program stopped for `breakpoint`, not at an exception");
        let nobody = agent.call("debug_step_over", json!({ "threadId": 7777 })).await?;
        assert_eq!(message(&nobody), "the program has no thread 7777");
        let nobody = agent.call("debug_stacktrace", json!({ "threadId": 7777 })).await?;
        assert_eq!(nobody["error"]["hint"], json!("debug_threads lists them: 1"), "{nobody}");
        let over = agent.call("debug_step_over", json!({})).await?;
        assert_eq!(over["event"]["reason"], "step", "{over}");
        let printed = agent.call("process_read_output", json!({})).await?;
        assert_eq!(printed["stderr"], "", "{printed}");
        agent.finish().await?;
    }
    Ok(())
}

/// The usual cycle of an agent: edit, build, inspect. A failed build loses neither the session's launch
/// arguments nor its breakpoints.
#[tokio::test]
async fn a_failed_build_costs_no_breakpoint_and_the_next_run_has_them_all() -> anyhow::Result<()> {
    let folder = tempfile::tempdir()?;
    let file = folder.path().join("x.c");
    let good = "#include <stdio.h>\nint main(void) {\n    int a = 1;\n    printf(\"a %d\\n\", a);\n    \
        return 0;\n}\n";
    std::fs::write(&file, good)?;
    let mut agent = Agent::start("agent", Runtime::Net9, &Transcript::default()).await?;
    let mut launch = Subject::Gdb.with(json!({ "program": file, "run": true }));
    launch["breakpoints"] = json!([{ "sourceFile": file, "text": "printf" }]);
    let stop = agent.call("debug_launch", launch).await?;
    assert_eq!(stop["event"]["breakpointId"], 1, "{stop}");
    let again = json!({ "run": true });
    // In a running session, and in one whose program has ended.
    for moved in ["//\n", "//\n//\n"] {
        std::fs::write(&file, good.replace("= 1", "= "))?;
        for _ in 0..2 {
            let failed = agent.call("debug_restart", again.clone()).await?;
            assert_eq!(failed["error"]["code"], "BUILD_FAILED", "{failed}");
        }
        std::fs::write(&file, format!("{moved}{good}"))?;
        let stop = agent.call("debug_restart", again.clone()).await?;
        assert_eq!(
            (&stop["event"]["breakpointId"], &stop["how"]),
            (&json!(1), &json!("newSession")),
            "{stop}"
        );
        let mut end = agent.call("debug_continue", json!({})).await?;
        if end["event"]["breakpointId"] == 2 {
            end = agent.call("debug_continue", json!({})).await?;
        }
        assert_eq!(end["state"], "exited", "{end}");
        if moved.len() == 3 {
            let set =
                agent.call("debug_set_breakpoint", json!({ "sourceFile": file, "text": "return 0" })).await?;
            assert_eq!(set["id"], 2, "{set}");
        }
        let listed = agent.call("debug_list_breakpoints", json!({})).await?;
        assert_eq!(listed["breakpoints"].as_array().map(Vec::len), Some(2), "{listed}");
    }
    // They hold for the next launch, too, and none is bound until then.
    let listed = agent.call("debug_list_breakpoints", json!({})).await?;
    let bound = listed["breakpoints"].as_array().into_iter().flatten().any(|one| one["verified"] == true);
    assert!(!bound, "{listed}");
    agent.call("debug_set_breakpoint", json!({ "function": "main" })).await?;
    agent.call("debug_remove_breakpoint", json!({ "id": 2 })).await?;
    let launch = Subject::Gdb.with(json!({ "program": file, "run": true }));
    let stop = agent.call("debug_launch", launch).await?;
    assert_eq!(stop["event"]["breakpointId"], 3, "{stop}");
    let stop = agent.call("debug_continue", json!({})).await?;
    assert_eq!(stop["event"]["breakpointId"], 1, "{stop}");
    let end = agent.call("debug_continue", json!({})).await?;
    assert_eq!(end["state"], "exited", "{end}");
    // The breakpoints of a launch replace the existing ones.
    let mut launch = Subject::Gdb.with(json!({ "program": file, "run": true }));
    launch["breakpoints"] = json!([{ "sourceFile": file, "text": "printf" }, { "function": "main" }]);
    let stop = agent.call("debug_launch", launch).await?;
    assert_eq!(stop["event"]["breakpointId"], 5, "{stop}");
    let listed = agent.call("debug_list_breakpoints", json!({})).await?;
    let ids = listed["breakpoints"].as_array().into_iter().flatten().map(|one| one["id"].clone());
    assert_eq!(ids.collect::<Vec<_>>(), [5, 4], "{listed}");
    agent.finish().await
}

const CRASHES: &str = "\
def parse(line):
    name, value = line.split('=')
    return name, int(value)
print(parse('x=1'))
who = input('who? ')
print(parse(who + '=oops'))
";

/// The stop is where the exception occurs, with the values that led there, as an editor shows it, and
/// not a trace of ended frames.
#[tokio::test]
async fn a_python_crash_is_seen_where_it_happens_in_a_file_named_as_people_do() -> anyhow::Result<()> {
    let folder = tempfile::tempdir()?;
    let file = folder.path().join("crash.py");
    std::fs::write(&file, CRASHES)?;
    let mut agent = Agent::start("agent", Runtime::Net9, &Transcript::default()).await?;
    let mut launch = child::python("count.py");
    launch["program"] = json!(file);
    launch["run"] = json!(true);
    // The text of a line in a file that lies beside the program, not where the bridge works.
    launch["breakpoints"] =
        json!([{ "sourceFile": "crash.py", "text": "return name", "condition": "value == '1'" }]);
    let stop = agent.call("debug_launch", launch).await?;
    assert_eq!((&stop["event"]["breakpointId"], &stop["event"]["line"]), (&json!(1), &json!(3)), "{stop}");
    let set =
        agent.call("debug_set_breakpoint", json!({ "sourceFile": "crash.py", "text": "who + " })).await?;
    assert_eq!((&set["file"], &set["line"]), (&json!(file), &json!(6)), "{set}");
    let changed = agent.call("debug_set_variable", json!({ "name": "value", "value": 5 })).await?;
    assert_eq!(changed["value"], "5", "{changed}");
    let asks = agent.call("debug_continue", json!({})).await?;
    assert_eq!(asks["event"]["type"], "waitingForInput", "{asks}");
    agent.call("process_write_input", json!({ "data": "bob\n" })).await?;
    let hit = agent.call("debug_continue", json!({})).await?;
    assert_eq!(hit["event"]["breakpointId"], set["id"], "{hit}");
    let crash = agent.call("debug_continue", json!({})).await?;
    let event = &crash["event"];
    assert_eq!(
        (&event["type"], &event["exceptionType"], &event["line"]),
        (&json!("exception"), &json!("ValueError"), &json!(3))
    );
    let line = agent.call("debug_evaluate", json!({ "expression": "line" })).await?;
    assert_eq!(line["result"], "'bob=oops'", "{line}");
    let end = agent.call("debug_continue", json!({})).await?;
    assert_eq!((&end["state"], &end["event"]["exitCode"]), (&json!("exited"), &json!(1)), "{end}");
    agent.finish().await
}

#[tokio::test]
async fn a_member_behind_a_pointer_and_an_element_are_set_as_c_writes_them() -> anyhow::Result<()> {
    let folder = tempfile::tempdir()?;
    let file = folder.path().join("p.cpp");
    // The program has no code for the operators.
    let text = "#include <memory>\n#include <vector>\nstruct node { int value; };\nint main() {\n    \
        std::shared_ptr<int> shared(new int(1)); std::unique_ptr<node> only(new node{1});\n    node one = \
        { 1 }, *head = &one; std::vector<int> list = { 5, 6 };\n    return head->value + \
        *++list.begin();\n}\n";
    std::fs::write(&file, text)?;
    let mut agent = Agent::start("agent", Runtime::Net9, &Transcript::default()).await?;
    let mut launch = Subject::Gdb.with(json!({ "program": file, "run": true }));
    launch["breakpoints"] = json!([{ "sourceFile": "p.cpp", "line": 7 }]);
    let stop = agent.call("debug_launch", launch).await?;
    assert_eq!(stop["event"]["line"], 7, "{stop}");
    for (name, value) in [("head->value", "7"), ("list[1]", "30"), ("*shared", "8"), ("only->value", "9")] {
        let set = agent.call("debug_set_variable", json!({ "name": name, "value": value })).await?;
        assert_eq!(set["value"], value, "{set}");
    }
    let typo = agent.call("debug_set_variable", json!({ "name": "list[2]", "value": "1" })).await?;
    assert_eq!(typo["error"]["code"], "EVALUATION_FAILED", "{typo}");
    let message = typo["error"]["message"].as_str().unwrap_or_default();
    assert!(message.contains("the index 2 is out of range"), "{typo}");
    let end = agent.call("debug_continue", json!({})).await?;
    assert_eq!(end["event"]["exitCode"], 37, "{end}");
    agent.finish().await
}

#[tokio::test]
async fn stops_name_the_hit_breakpoint_even_if_the_adapter_does_not() -> anyhow::Result<()> {
    for subject in [Subject::Bash, Subject::Rdbg, Subject::Rdbg192] {
        let mut agent = Agent::start("agent", Runtime::Net9, &Transcript::default()).await?;
        let mut launch = subject.launch();
        launch["breakpoints"] = json!([{ "sourceFile": subject.source(), "line": subject.line("handle") }]);
        let up = agent.call("debug_launch", launch).await?;
        agent.call("process_write_input", json!({ "data": "one\n" })).await?;
        let hit = agent.call("debug_continue", json!({})).await?;
        assert_eq!(hit["event"]["type"], "breakpointHit", "{hit}");
        assert_eq!(hit["event"]["breakpointId"], up["breakpoints"][0]["id"], "{subject:?} {hit}");
        agent.finish().await?;
    }
    Ok(())
}
