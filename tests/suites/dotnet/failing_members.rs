//! Objects that throw, hang, deadlock or kill when they are inspected: the session survives, and reports what
//! happened.

use anyhow::Context;
use serde_json::{Value, json};
use tandem_harness::client::DapClient;
use tandem_harness::fixture::Runtime;
use tandem_harness::transcript::Transcript;

dotnet_tests! {
    evaluations_that_throw_say_what_was_thrown,
    an_evaluation_that_ends_the_program_ends_the_session_in_order,
    hovering_runs_getters_and_nothing_else,
    the_side_effects_of_an_expression_are_known_before_it_runs,
    a_call_that_blocks_leaves_the_session_alive_and_a_step_waits_for_it,
    a_call_that_waits_for_ever_can_be_left_and_the_program_be_paused,
    a_call_that_waits_again_and_again_never_costs_the_program,
    a_display_that_blocks_spoils_only_itself,
    an_evaluation_that_overflows_the_stack_ends_the_program_and_the_session_says_so,
    an_evaluation_that_fails_fast_ends_the_session_in_order,
}

net8_tests! {
    evaluations_that_throw_say_what_was_thrown,
    an_evaluation_that_overflows_the_stack_ends_the_program_and_the_session_says_so,
    an_evaluation_that_fails_fast_ends_the_session_in_order,
}

async fn start_program(runtime: Runtime) -> anyhow::Result<(DapClient, i64, Value)> {
    let mut editor = DapClient::start("editor", runtime, &Transcript::default())?;
    editor.launch("hostile", &["here", "after"], json!({})).await?;
    let (thread, frame) = editor.stop().await?;
    Ok((editor, thread, frame["id"].clone()))
}

async fn message(
    editor: &mut DapClient,
    frame: &Value,
    expression: &str,
) -> anyhow::Result<(String, String)> {
    let response = editor.ask("evaluate", json!({ "expression": expression, "frameId": frame })).await?;
    anyhow::ensure!(!response.success, "{expression} gave {}", response.body);
    let of = |key: &str| response.body["error"]["variables"][key].as_str().unwrap_or_default().to_owned();
    Ok((of("code"), of("message")))
}

async fn evaluations_that_throw_say_what_was_thrown(runtime: Runtime) -> anyhow::Result<()> {
    let (mut editor, thread, frame) = start_program(runtime).await?;
    for (expression, expected) in [
        ("thrower.Bad", "`thrower.Bad` threw System.InvalidOperationException: from a getter"),
        ("\"\" + thrower", "`thrower.ToString()` threw System.InvalidOperationException: from ToString"),
        ("int.Parse(\"x\")", "threw System.FormatException"),
        ("new Unready().Own", "'Unready' threw an exception., because of System.FormatException: "),
        ("Unready.Number", "the static constructor of `Unready` threw System.FormatException: "),
        ("Unset.Number", "the static constructor of `Unset` threw System.FormatException: "),
        ("Unset.Text", "the static constructor of `Unset` threw System.FormatException: "),
    ] {
        let (code, text) = message(&mut editor, &frame, expression).await?;
        assert!(code == "EVALUATION_FAILED" && text.contains(expected), "{expression}: {code} {text}");
    }
    // The row of a lazy property shows the same.
    let body = editor.ok("evaluate", json!({ "expression": "thrower", "frameId": frame })).await?;
    let inside = editor.ok("variables", json!({ "variablesReference": body["variablesReference"] })).await?;
    let bad = inside["variables"].as_array().into_iter().flatten().find(|row| row["name"] == "Bad");
    let lazy = bad.context("no row `Bad`")?["variablesReference"].clone();
    let row = editor.ok("variables", json!({ "variablesReference": lazy })).await?["variables"][0].clone();
    assert!(row["value"].as_str().is_some_and(|text| text.contains("from a getter")), "{row}");
    // Rows and hovers do not run the static constructor that failed in the program, but know that it failed.
    let body = editor.ok("evaluate", json!({ "expression": "Unset", "frameId": frame })).await?;
    let rows = editor.ok("variables", json!({ "variablesReference": body["variablesReference"] })).await?;
    let hover = json!({ "expression": "Unset.Number", "frameId": frame, "context": "hover" });
    let hovered = editor.ask("evaluate", hover).await?;
    let why = "the static constructor of `Unset` threw System.FormatException";
    assert_eq!(rows["variables"].to_string().matches(why).count(), 2, "{rows}");
    assert!(!hovered.success && hovered.body.to_string().contains(why), "{}", hovered.body);
    editor.ok("continue", json!({ "threadId": thread })).await?;
    editor.stop().await?;
    editor.finish().await
}

async fn an_evaluation_that_ends_the_program_ends_the_session_in_order(
    runtime: Runtime,
) -> anyhow::Result<()> {
    let (mut editor, _, frame) = start_program(runtime).await?;
    let (code, text) = message(&mut editor, &frame, "killer.Deadly").await?;
    assert!(matches!(code.as_str(), "EVALUATION_FAILED" | "NO_SESSION" | "NOT_STOPPED"), "{code} {text}");
    assert_eq!(editor.event("exited").await?["exitCode"], 7);
    editor.event("terminated").await?;
    editor.finish().await
}

async fn hovering_runs_getters_and_nothing_else(runtime: Runtime) -> anyhow::Result<()> {
    let (mut editor, _, frame) = start_program(runtime).await?;
    let hover = |expression: &str| json!({ "expression": expression, "frameId": frame, "context": "hover" });
    assert_eq!(editor.ok("evaluate", hover("thrower.Fine + 1")).await?["result"], "2");
    for expression in
        ["thrower.Bad", "thrower.ToString()", "watched = 2", "watched++", "new Ring()", "killer.ToString()"]
    {
        assert_eq!(editor.refused("evaluate", hover(expression)).await?, "EVALUATION_FAILED", "{expression}");
    }
    assert_eq!(editor.ok("evaluate", hover("watched")).await?["result"], "1");
    editor.finish().await
}

async fn the_side_effects_of_an_expression_are_known_before_it_runs(runtime: Runtime) -> anyhow::Result<()> {
    let mut editor = DapClient::start("editor", runtime, &Transcript::default())?;
    let off = json!({ "expressionCompiler": "off" });
    editor.launch("hostile", &["here", "after"], off).await?;
    let (_, frame) = editor.stop().await?;
    let frame = frame["id"].clone();
    let arguments = |expression: &str, allowed: bool| {
        json!({ "expression": expression, "frameId": frame,
        "context": "repl", "allowSideEffects": allowed })
    };
    // An expression that does not compile writes nothing.
    for (expression, code) in [
        ("(watched = 2) + typo", "CS0103"),
        ("watched++ + thrower.Typo", "CS1061"),
        ("(watched = 2) + \"\" * 2", "CS0019"),
        ("(watched = 2) > 0 ? new Ring().Typo : 1", "CS1061"),
    ] {
        let response = editor.ask("evaluate", arguments(expression, true)).await?;
        let message = response.body["error"]["variables"]["message"].as_str().unwrap_or_default();
        assert!(!response.success && message.starts_with(code), "{expression}: {}", response.body);
    }
    for (expression, named) in [
        ("thrower.ToString()", "`thrower.ToString()` runs code of the program"),
        ("1 + (watched = 2)", "would be written to"),
        ("thrower.Fine + watched++", "would be written to"),
        ("new Ring()", "`new Ring()` runs code of the program"),
        ("await System.Threading.Tasks.Task.Delay(1)", "needs the C# compiler"),
    ] {
        let response = editor.ask("evaluate", arguments(expression, false)).await?;
        let message = response.body["error"]["variables"]["message"].as_str().unwrap_or_default();
        assert!(!response.success && message.contains(named), "{expression}: {}", response.body);
    }
    assert_eq!(editor.ok("evaluate", arguments("thrower.Fine + watched", false)).await?["result"], "2");
    assert_eq!(editor.ok("evaluate", arguments("watched = 3", true)).await?["result"], "3");
    editor.finish().await
}

/// Names of the frames of a thread.
async fn names(editor: &mut DapClient, thread: i64) -> anyhow::Result<Vec<String>> {
    let stack = editor.ok("stackTrace", json!({ "threadId": thread })).await?;
    let frames = stack["stackFrames"].as_array().cloned().unwrap_or_default();
    Ok(frames.iter().map(|frame| frame["name"].as_str().unwrap_or_default().to_owned()).collect())
}

async fn a_call_that_blocks_leaves_the_session_alive_and_a_step_waits_for_it(
    runtime: Runtime,
) -> anyhow::Result<()> {
    let (mut editor, thread, frame) = start_program(runtime).await?;
    let (code, text) = message(&mut editor, &frame, "hanger.Sleeps(9000)").await?;
    assert_eq!(code, "EVALUATION_TIMEOUT", "{text}");
    // The call is not visible, and requests that need no code are served.
    assert_eq!(names(&mut editor, thread).await?, ["Program.Main()"]);
    let at = |expression: &str| json!({ "expression": expression, "frameId": frame });
    assert_eq!(editor.ok("evaluate", at("watched + hanger.Fine")).await?["result"], "3");
    let scopes = editor.ok("scopes", json!({ "frameId": frame })).await?;
    let locals = json!({ "variablesReference": scopes["scopes"][0]["variablesReference"] });
    let rows = editor.ok("variables", locals).await?;
    assert!(rows["variables"].as_array().is_some_and(|rows| rows.len() > 5), "{rows}");
    if runtime != Runtime::Net31 {
        // A wait cannot be ended there: the thread runs nothing else until it is over.
        let (code, text) = message(&mut editor, &frame, "thrower.GetHashCode()").await?;
        assert!(code == "EVALUATION_FAILED" && text.contains("is still in `hanger.Sleeps("), "{code} {text}");
    } else {
        editor.ok("evaluate", at("thrower.GetHashCode()")).await?;
    }
    editor.break_at("hostile", &[]).await?;
    editor.ok("next", json!({ "threadId": thread })).await?;
    let (_, frame) = editor.stop().await?;
    assert_eq!(frame["line"], tandem_harness::fixture::line("hostile", "after"));
    // The thread is as any other again.
    let again = json!({ "expression": "thrower.GetHashCode() != 0", "frameId": frame["id"] });
    assert_eq!(editor.ok("evaluate", again).await?["result"], "true");
    editor.ok("continue", json!({ "threadId": thread })).await?;
    assert_eq!(editor.event("exited").await?["exitCode"], 0);
    editor.finish().await
}

async fn a_call_that_waits_for_ever_can_be_left_and_the_program_be_paused(
    runtime: Runtime,
) -> anyhow::Result<()> {
    let (mut editor, thread, frame) = start_program(runtime).await?;
    let filters = json!({ "filters": ["all"] });
    editor.ok("setExceptionBreakpoints", filters).await?;
    let (code, text) = message(&mut editor, &frame, "hanger.Locked").await?;
    assert_eq!(code, "EVALUATION_TIMEOUT", "{text}");
    let threads = editor.ok("threads", json!({})).await?["threads"].clone();
    for other in threads.as_array().into_iter().flatten() {
        names(&mut editor, other["id"].as_i64().context("a thread without an id")?).await?;
    }
    if runtime != Runtime::Net31 {
        editor.ok("continue", json!({ "threadId": thread })).await?;
        editor.ok("pause", json!({ "threadId": thread })).await?;
        assert_eq!(editor.event("stopped").await?["reason"], "pause");
        assert_eq!(names(&mut editor, thread).await?, ["Program.Main()"]);
    }
    editor.finish().await
}

async fn a_call_that_waits_again_and_again_never_costs_the_program(runtime: Runtime) -> anyhow::Result<()> {
    let (mut editor, thread, frame) = start_program(runtime).await?;
    let (code, text) = message(&mut editor, &frame, "hanger.Forever").await?;
    assert_eq!(code, "EVALUATION_TIMEOUT", "{text}");
    assert_eq!(names(&mut editor, thread).await?, ["Program.Main()"]);
    let at = |expression: &str| json!({ "expression": expression, "frameId": frame });
    assert_eq!(editor.ok("evaluate", at("watched + hanger.Fine")).await?["result"], "3");
    if runtime != Runtime::Net31 {
        assert!(text.contains("was aborted"), "{text}");
        editor.ok("evaluate", at("thrower.GetHashCode()")).await?;
    } else {
        assert!(text.contains("and still runs"), "{text}");
        let (code, text) = message(&mut editor, &frame, "thrower.GetHashCode()").await?;
        assert!(
            code == "EVALUATION_FAILED" && text.contains("is still in `hanger.Forever`"),
            "{code} {text}"
        );
        editor.ok("continue", json!({ "threadId": thread })).await?;
        editor.ok("pause", json!({ "threadId": thread })).await?;
        assert_eq!(editor.event("stopped").await?["reason"], "pause");
        assert_eq!(names(&mut editor, thread).await?, ["Program.Main()"]);
    }
    editor.finish().await
}

async fn a_display_that_blocks_spoils_only_itself(runtime: Runtime) -> anyhow::Result<()> {
    let (mut editor, thread, frame) = start_program(runtime).await?;
    let scopes = editor.ok("scopes", json!({ "frameId": frame })).await?;
    let locals = json!({ "variablesReference": scopes["scopes"][0]["variablesReference"] });
    for _ in 0..2 {
        let rows = editor.ok("variables", locals.clone()).await?;
        let row = |name: &str| {
            let rows = rows["variables"].as_array().into_iter().flatten();
            rows.into_iter().find(|row| row["name"] == name).map(|row| row["value"].clone())
        };
        assert_eq!(row("slow"), Some(json!("{SlowShown}")));
        assert_eq!(row("watched"), Some(json!("1")));
        assert_eq!(row("killer"), Some(json!("{Killer}")));
    }
    assert!(editor.output[2].contains("The display of `SlowShown` took too long"), "{:?}", editor.output);
    assert_eq!(names(&mut editor, thread).await?, ["Program.Main()"]);
    editor.finish().await
}

async fn an_evaluation_that_overflows_the_stack_ends_the_program_and_the_session_says_so(
    runtime: Runtime,
) -> anyhow::Result<()> {
    let (mut editor, _, frame) = start_program(runtime).await?;
    let (code, text) = message(&mut editor, &frame, "killer.Bottomless(0)").await?;
    assert!(code == "EVALUATION_FAILED" && text.contains("the program ended during"), "{code} {text}");
    editor.event("exited").await?;
    editor.event("terminated").await?;
    assert!(editor.output[1].contains("Stack overflow."), "{:?}", editor.output);
    // The others end by themselves.
    let overflowed = editor.output[2].contains("overflowed its stack");
    assert_eq!(overflowed, runtime == Runtime::Net9, "{:?}", editor.output);
    editor.finish().await
}

async fn an_evaluation_that_fails_fast_ends_the_session_in_order(runtime: Runtime) -> anyhow::Result<()> {
    let (mut editor, _, frame) = start_program(runtime).await?;
    let (code, text) = message(&mut editor, &frame, "killer.FailsFast").await?;
    assert!(code == "EVALUATION_FAILED" && text.contains("the program ended during"), "{code} {text}");
    assert_eq!(editor.event("exited").await?["exitCode"], 134);
    editor.event("terminated").await?;
    editor.finish().await
}
