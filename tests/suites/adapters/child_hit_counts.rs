//! Hit counts and assignments, with the same meaning for every adapter. Conditions and log messages are
//! evaluated by each adapter and not tested here.

use std::collections::HashMap;

use anyhow::Context;
use serde_json::{Value, json};
use tandem_harness::child::Subject;
use tandem_harness::client::DapClient;
use tandem_harness::transcript::Transcript;

/// A stop at the line that handles what was read.
#[derive(Debug)]
struct ReportedHit {
    /// The number of the line read, which is its length.
    length: i64,
    /// Which of the breakpoints were hit, by their position in the request.
    breakpoints: Vec<usize>,
    /// The `text` of the stop.
    text: String,
}

/// Sets these breakpoints (without their line) where the program handles a line, sends it six lines, and
/// continues from stop to stop until it ends.
async fn hits(subject: Subject, breakpoints: Vec<Value>) -> anyhow::Result<Vec<ReportedHit>> {
    let mut editor = DapClient::start_in("editor", HashMap::new(), &Transcript::default())?;
    editor.ok("initialize", json!({ "clientID": "test", "adapterID": "tandem" })).await?;
    let launched = editor.send("launch", subject.launch()).await?;
    editor.initialized(launched).await?;
    let mut breakpoints = breakpoints;
    for breakpoint in &mut breakpoints {
        breakpoint["line"] = json!(subject.line("handle"));
    }
    let arguments = json!({ "source": { "path": subject.source() }, "breakpoints": breakpoints });
    let set = editor.ok("setBreakpoints", arguments).await?["breakpoints"].clone();
    let ids: Vec<Value> =
        set.as_array().into_iter().flatten().map(|breakpoint| breakpoint["id"].clone()).collect();
    editor.ok("configurationDone", Value::Null).await?;
    anyhow::ensure!(editor.response(launched).await?.success, "not launched");
    // The nth line has n characters.
    let lines: String = (1..=6).map(|number| "x".repeat(number) + "\n").collect();
    editor.ok("processWriteInput", json!({ "data": lines, "closeAfter": true })).await?;
    let mut seen = Vec::new();
    loop {
        let (event, body) = editor.any_event(&["stopped", "exited"]).await?;
        if event == "exited" {
            assert_eq!(body["exitCode"], 7);
            editor.event("terminated").await?;
            editor.finish().await?;
            return Ok(seen);
        }
        let thread = body["threadId"].as_i64().context("no thread")?;
        let stack = editor.ok("stackTrace", json!({ "threadId": thread })).await?;
        let frame = &stack["stackFrames"][0]["id"];
        let expression = match subject {
            Subject::Bash => "$length".to_owned(),
            _ => subject.variable("length", false),
        };
        let arguments = json!({ "expression": expression, "frameId": frame, "context": "watch" });
        let length = editor.ok("evaluate", arguments).await?["result"].clone();
        let hit = body["hitBreakpointIds"].as_array().into_iter().flatten();
        seen.push(ReportedHit {
            length: length.as_str().context("no length")?.parse()?,
            breakpoints: hit.filter_map(|hit| ids.iter().position(|id| id == hit)).collect(),
            text: body["text"].as_str().unwrap_or_default().to_owned(),
        });
        editor.ok("continue", json!({ "threadId": thread })).await?;
    }
}

async fn check_hit_counts(subject: Subject) -> anyhow::Result<()> {
    for (hit_condition, expected) in
        [("3", vec![3]), (">= 5", vec![5, 6]), ("> 5", vec![6]), ("% 2", vec![2, 4, 6])]
    {
        let seen = hits(subject, vec![json!({ "hitCondition": hit_condition })]).await?;
        let lengths: Vec<i64> = seen.iter().map(|hit| hit.length).collect();
        assert_eq!(lengths, expected, "`{hit_condition}`");
    }
    Ok(())
}

parameterized_tests! {
    bash_counts_hits: check_hit_counts(Subject::Bash),
    debugpy_counts_hits: check_hit_counts(Subject::Python),
    delve_counts_hits: check_hit_counts(Subject::Delve),
    gdb_counts_hits: check_hit_counts(Subject::Gdb),
    js_counts_hits: check_hit_counts(Subject::Js),
    lldb_counts_hits: check_hit_counts(Subject::Lldb),
    perl_counts_hits: check_hit_counts(Subject::Perl),
}

/// The hits of breakpoints on one line with these conditions.
async fn hits_of(subject: Subject, conditions: &[&str]) -> anyhow::Result<Vec<ReportedHit>> {
    hits(subject, conditions.iter().map(|condition| json!({ "condition": condition })).collect()).await
}

/// The engine may get one breakpoint for all of them; each owner still gets what it requested.
#[tokio::test]
async fn conditions_on_one_line_hold_each_for_itself_under_every_adapter() -> anyhow::Result<()> {
    for subject in [
        Subject::Delve,
        Subject::Gdb,
        Subject::Js,
        Subject::Lldb,
        Subject::Python,
        Subject::Rdbg,
        Subject::Rdbg192,
        Subject::Perl,
    ] {
        let places = |seen: &[ReportedHit]| -> Vec<(i64, Vec<usize>)> {
            seen.iter().map(|hit| (hit.length, hit.breakpoints.clone())).collect()
        };
        let length = subject.variable("length", false);
        let (two, five) = (format!("{length} == 2"), format!("{length} == 5"));
        let seen = hits_of(subject, &[&two, &five]).await?;
        assert_eq!(places(&seen), [(2, vec![0]), (5, vec![1])], "{subject:?}: {seen:?}");
        // An invalid expression stops the program each time and reports it, without
        // effect on the other breakpoint.
        let seen = hits_of(subject, &[&two, &format!("{length} ==")]).await?;
        let each = |length| if length == 2 { vec![0, 1] } else { vec![1] };
        assert_eq!(
            places(&seen),
            (1..=6).map(|length| (length, each(length))).collect::<Vec<_>>(),
            "{subject:?}"
        );
        // rdbg answers with the error as a value, which is nothing that fails.
        let says_why = !subject.is_ruby();
        for ReportedHit { text, .. } in seen {
            anyhow::ensure!(text.contains(&format!("`{length} ==`")) || !says_why, "{subject:?}: {text}");
        }
        // So does one that fails at a hit because of an unknown name.
        let nowhere = if subject == Subject::Perl { "nowhere() == 1" } else { "nowhere == 1" };
        let seen = hits_of(subject, &[&two, nowhere]).await?;
        anyhow::ensure!(seen.len() == 6, "{subject:?}: {seen:?}");
        for ReportedHit { length, breakpoints, text } in seen {
            assert_eq!(breakpoints, each(length), "{subject:?}");
            anyhow::ensure!(text.contains(&format!("`{nowhere}`")) || !says_why, "{subject:?}: {text}");
        }
    }
    Ok(())
}

/// They are commands: bash-dap shows what one expands to, not whether it succeeds.
#[tokio::test]
async fn conditions_of_a_script_on_one_line_hold_each_for_itself() -> anyhow::Result<()> {
    let seen = hits_of(Subject::Bash, &["[[ $length -eq 2 ]]", "(( length == 5 ))"]).await?;
    let places: Vec<_> = seen.iter().map(|hit| (hit.length, hit.breakpoints.clone())).collect();
    assert_eq!(places, [(2, vec![0]), (5, vec![1])]);
    Ok(())
}

/// lldb-dap 19 calls it `result`, which no editor looks at.
#[tokio::test]
async fn an_assignment_is_answered_with_the_new_value() -> anyhow::Result<()> {
    for subject in [Subject::Delve, Subject::Gdb, Subject::Js, Subject::Lldb, Subject::Python, Subject::Perl]
    {
        let name = subject.variable("length", false);
        let mut editor = DapClient::start_in("editor", HashMap::new(), &Transcript::default())?;
        editor.launch_child(subject.launch(), &subject.source(), &[subject.line("handle")]).await?;
        editor.ok("processWriteInput", json!({ "data": "hello\n" })).await?;
        let (_, frame) = editor.stop().await?;
        let scopes = editor.ok("scopes", json!({ "frameId": frame["id"] })).await?;
        let mut holder = None;
        for scope in scopes["scopes"].as_array().context("no scopes")? {
            let reference = &scope["variablesReference"];
            let body = editor.ok("variables", json!({ "variablesReference": reference })).await?;
            let rows = body["variables"].as_array().into_iter().flatten();
            if rows.into_iter().any(|row| row["name"] == name) {
                holder = Some(reference.clone());
                break;
            }
        }
        let arguments = json!({ "variablesReference": holder, "name": name, "value": "41 + 1" });
        assert_eq!(editor.ok("setVariable", arguments).await?["value"], "42", "{subject:?}");
        let arguments = json!({ "expression": name, "value": "43", "frameId": frame["id"] });
        assert_eq!(editor.ok("setExpression", arguments).await?["value"], "43", "{subject:?}");
        let arguments = json!({ "expression": name, "frameId": frame["id"], "context": "watch" });
        assert_eq!(editor.ok("evaluate", arguments).await?["result"], "43", "{subject:?}");
        if subject == Subject::Python {
            let set = |value: &str| json!({ "variablesReference": holder, "name": name, "value": value });
            assert_eq!(editor.refused("setVariable", set(" # nothing")).await?, "EVALUATION_FAILED");
            // Its row is in another group from then on.
            let answer = editor.ok("setVariable", set("len")).await?;
            assert_eq!(answer["value"], "<built-in function len>", "{answer}");
        }
        editor.finish().await?;
    }
    Ok(())
}

/// A second evaluation for the answer would move the index once more.
#[tokio::test]
async fn an_expression_that_is_assigned_to_is_evaluated_once() -> anyhow::Result<()> {
    for (subject, expression, index) in [
        (Subject::Lldb, "((char *)line)[length++]", "length"),
        (Subject::Gdb, "((char *)line)[length++]", "length"),
        (Subject::Perl, "$main::items[$length++]", "$length"),
    ] {
        let mut editor = DapClient::start_in("editor", HashMap::new(), &Transcript::default())?;
        editor.launch_child(subject.launch(), &subject.source(), &[subject.line("handle")]).await?;
        editor.ok("processWriteInput", json!({ "data": "hello\n" })).await?;
        let (_, frame) = editor.stop().await?;
        let arguments = json!({ "expression": expression, "value": "66", "frameId": frame["id"] });
        let set = editor.ok("setExpression", arguments).await?;
        assert!(set["value"].as_str().is_some_and(|value| value.contains("66") || value == "'B'"), "{set}");
        let arguments = json!({ "expression": index, "frameId": frame["id"], "context": "watch" });
        assert_eq!(editor.ok("evaluate", arguments).await?["result"], "6", "{subject:?}");
        if subject != Subject::Perl {
            // The text is put into the program's memory by another call, inside this one.
            for (expression, value) in [("(int)strlen(\"abcd\")", "4"), ("length", "6")] {
                let arguments =
                    json!({ "expression": expression, "frameId": frame["id"], "context": "watch" });
                let shown = editor.ok("evaluate", arguments).await?["result"].clone();
                assert_eq!(shown, value, "{subject:?}: {expression}");
            }
        }
        editor.finish().await?;
    }
    Ok(())
}

/// Delve evaluates the name in the top frame, where another variable may have it.
#[tokio::test]
async fn delve_assigns_in_the_top_frame_and_in_no_other() -> anyhow::Result<()> {
    let subject = Subject::Delve;
    let mut editor = DapClient::start_in("editor", HashMap::new(), &Transcript::default())?;
    editor.launch_child(subject.launch(), &subject.source(), &[subject.line("handle")]).await?;
    editor.ok("processWriteInput", json!({ "data": "hello\n" })).await?;
    let (thread, frame) = editor.stop().await?;
    let name = subject.variable("length", false);
    let set = |frame: &Value| json!({ "expression": name, "value": "43", "frameId": frame["id"] });
    assert_eq!(editor.ok("setExpression", set(&frame)).await?["value"], "43");
    let stack = editor.ok("stackTrace", json!({ "threadId": thread })).await?;
    let refused = editor.ask("setExpression", set(&stack["stackFrames"][1])).await?;
    assert_eq!(refused.body["error"]["variables"]["code"], "UNSUPPORTED", "{}", refused.body);
    assert_eq!(editor.evaluate_text(&name, &frame).await?, "43");
    editor.finish().await
}

/// Delve keeps what it has refused: the next breakpoint there had no line and was never hit.
#[tokio::test]
async fn a_condition_that_was_refused_can_be_put_right() -> anyhow::Result<()> {
    for subject in [Subject::Delve, Subject::Gdb] {
        let mut editor = DapClient::start_in("editor", HashMap::new(), &Transcript::default())?;
        let line = subject.line("handle");
        editor.launch_child(subject.launch(), &subject.source(), &[]).await?;
        let set = |condition: &str| {
            let request = json!({ "line": line, "condition": condition });
            json!({ "source": { "path": subject.source() }, "breakpoints": [request] })
        };
        let mut often = set("");
        often["breakpoints"][0]["hitCondition"] = json!("often");
        let told = editor.ok("setBreakpoints", often).await?["breakpoints"][0].clone();
        assert_eq!(told["verified"], false, "{subject:?}: {told}");
        assert!(told["message"].as_str().is_some_and(|message| message.contains("`often`")), "{told}");
        let (wrong, right) = (set("length =="), set("length == 5"));
        let body = editor.ok("setBreakpoints", wrong).await?;
        assert_eq!(body["breakpoints"][0]["verified"], false, "{subject:?}: {body}");
        let body = editor.ok("setBreakpoints", right).await?;
        let breakpoint = &body["breakpoints"][0];
        assert_eq!(
            (&breakpoint["verified"], &breakpoint["line"]),
            (&json!(true), &json!(line)),
            "{subject:?}"
        );
        editor.ok("processWriteInput", json!({ "data": "hello\n" })).await?;
        editor.stop().await?;
        editor.finish().await?;
    }
    Ok(())
}
