//! What clients ask at each stop is asked of a child adapter before they do. With a scripted adapter, which answers each request
//! once: whoever asked twice would wait in vain. With real ones: what an editor sees at each stop is of that stop.

use std::collections::HashMap;

use anyhow::{Context, ensure};
use serde_json::{Value, json};
use tests::child::{self, Subject};
use tests::client::DapClient;
use tests::transcript::Transcript;

use crate::child_faults::{Fake, answer, event, running, start, wait_for};

/// The adapter stops (for the nth time) and is asked all that an editor asks.
fn looked_at(nth: i64) -> Vec<Value> {
    let seq = nth * 10;
    let (frame, scope) = (nth * 100, nth * 1000);
    let stack = json!({ "stackFrames": [{ "id": frame, "name": "f", "line": nth, "column": 1 }] });
    let scopes = json!({ "scopes": [{ "name": "Locals", "variablesReference": scope, "expensive": false }] });
    let variables =
        json!({ "variables": [{ "name": "n", "value": nth.to_string(), "variablesReference": 0 }] });
    vec![
        event("stopped", &json!({ "reason": "step", "threadId": nth, "allThreadsStopped": true })),
        wait_for("threads", seq),
        answer("threads", seq, &json!({ "threads": [{ "id": nth, "name": "main" }] })),
        wait_for("stackTrace", seq + 1),
        answer("stackTrace", seq + 1, &stack),
        wait_for("scopes", seq + 2),
        answer("scopes", seq + 2, &scopes),
        wait_for("variables", seq + 3),
        answer("variables", seq + 3, &variables),
    ]
}

/// Ends a stop.
fn stepped(nth: i64) -> Vec<Value> {
    vec![wait_for("next", nth * 10 + 5), answer("next", nth * 10 + 5, &Value::Null)]
}

/// What an editor asks at a stop: the thread, the line, and the value of the first local.
async fn look(editor: &mut DapClient, thread: i64) -> anyhow::Result<(Value, Value, Value)> {
    let threads = editor.ok("threads", Value::Null).await?;
    let asked = json!({ "threadId": thread, "startFrame": 0, "levels": 20, "unheardOf": [1] });
    let stack = editor.ok("stackTrace", asked).await?;
    let frame = &stack["stackFrames"][0];
    let scopes = editor.ok("scopes", json!({ "frameId": frame["id"] })).await?;
    let locals = json!({ "variablesReference": scopes["scopes"][0]["variablesReference"] });
    let variables = editor.ok("variables", locals).await?;
    Ok((
        threads["threads"][0]["id"].clone(),
        frame["line"].clone(),
        variables["variables"][0]["value"].clone(),
    ))
}

#[tokio::test]
async fn what_an_editor_asked_at_one_stop_is_there_at_the_next_before_it_asks() -> anyhow::Result<()> {
    let mut steps = running();
    steps.extend(looked_at(1));
    steps.extend(stepped(1));
    steps.extend(looked_at(2));
    // Said when all has been asked and answered, and nobody has asked yet.
    steps.push(event("output", &json!({ "category": "console", "output": "asked\n" })));
    let fake = Fake::new(&steps)?;
    let (mut editor, _) = start(&fake).await?;
    editor.event("stopped").await?;
    assert_eq!(look(&mut editor, 1).await?, (json!(1), json!(1), json!("1")));
    editor.ok("next", json!({ "threadId": 1 })).await?;
    editor.event("stopped").await?;
    editor.event("output").await?;
    assert_eq!(look(&mut editor, 2).await?, (json!(2), json!(2), json!("2")));
    // With the editor's own words.
    let asked = |thread: i64| json!({ "threadId": thread, "startFrame": 0, "levels": 20, "unheardOf": [1] });
    assert_eq!(fake.all_sent("stackTrace")?, [asked(1), asked(2)]);
    editor.finish().await
}

#[tokio::test]
async fn who_only_steps_has_nothing_asked_ahead() -> anyhow::Result<()> {
    let mut steps = running();
    steps.extend(looked_at(1).into_iter().take(3));
    for nth in 1..4 {
        steps.extend(stepped(nth));
        steps.push(event("stopped", &json!({ "reason": "step", "threadId": 1, "allThreadsStopped": true })));
    }
    let fake = Fake::new(&steps)?;
    let (mut editor, _) = start(&fake).await?;
    editor.event("stopped").await?;
    editor.ok("threads", Value::Null).await?;
    for _ in 1..4 {
        editor.ok("next", json!({ "threadId": 1 })).await?;
        editor.event("stopped").await?;
    }
    editor.finish().await?;
    // Once by the editor, and once for it.
    assert_eq!(fake.all_sent("threads")?.len(), 2);
    Ok(())
}

#[tokio::test]
async fn after_a_change_an_answer_from_before_is_not_given() -> anyhow::Result<()> {
    let mut steps = running();
    steps.extend(looked_at(1));
    steps.extend(stepped(1));
    steps.extend(looked_at(2));
    steps.push(event("output", &json!({ "category": "console", "output": "asked\n" })));
    steps.push(wait_for("evaluate", 51));
    steps.push(answer("evaluate", 51, &json!({ "result": "9", "variablesReference": 0 })));
    // The same scope again, for it was changed.
    steps.push(wait_for("threads", 52));
    steps.push(answer("threads", 52, &json!({ "threads": [{ "id": 7, "name": "new" }] })));
    let fake = Fake::new(&steps)?;
    let (mut editor, _) = start(&fake).await?;
    editor.event("stopped").await?;
    look(&mut editor, 1).await?;
    editor.ok("next", json!({ "threadId": 1 })).await?;
    editor.event("stopped").await?;
    editor.event("output").await?;
    editor.ok("evaluate", json!({ "expression": "start()", "context": "repl" })).await?;
    assert_eq!(editor.ok("threads", Value::Null).await?["threads"][0]["id"], 7);
    editor.finish().await
}

#[tokio::test]
async fn what_is_refused_ahead_is_asked_again_and_what_hangs_can_be_cancelled() -> anyhow::Result<()> {
    let mut steps = running();
    steps.extend(looked_at(1).into_iter().take(3));
    steps.extend(stepped(1));
    steps.push(event("stopped", &json!({ "reason": "step", "threadId": 1, "allThreadsStopped": true })));
    steps.push(wait_for("threads", 61));
    // The editor waits for it by now: it has asked for something else meanwhile.
    steps.push(wait_for("source", 62));
    steps.push(
        json!({ "dir": "in", "m": { "type": "response", "command": "threads", "request_seq": 61, "seq": 0,
        "success": false, "message": "not yet" } }),
    );
    steps.push(answer("source", 62, &json!({ "content": "text" })));
    steps.push(wait_for("threads", 63));
    steps.push(answer("threads", 63, &json!({ "threads": [{ "id": 3, "name": "real" }] })));
    steps.extend(stepped(2));
    steps.push(event("stopped", &json!({ "reason": "step", "threadId": 1, "allThreadsStopped": true })));
    steps.push(wait_for("threads", 64));
    steps.push(json!({ "do": "hang" }));
    let fake = Fake::new(&steps)?;
    let (mut editor, _) = start(&fake).await?;
    editor.event("stopped").await?;
    editor.ok("threads", Value::Null).await?;
    editor.ok("next", json!({ "threadId": 1 })).await?;
    editor.event("stopped").await?;
    let threads = editor.send("threads", Value::Null).await?;
    editor.ok("source", json!({ "source": { "path": "/x" }, "sourceReference": 0 })).await?;
    let told = editor.response(threads).await?;
    ensure!(told.success, "{}", told.body);
    assert_eq!(told.body["threads"][0]["id"], 3);

    editor.ok("next", json!({ "threadId": 1 })).await?;
    editor.event("stopped").await?;
    let seq = editor.send("threads", Value::Null).await?;
    editor.ok("cancel", json!({ "requestId": seq })).await?;
    assert_eq!(editor.response(seq).await?.body["error"]["variables"]["code"], "CANCELLED");
    editor.finish().await
}

/// Declares the story of real steps for each adapter.
macro_rules! told_with {
    ($($adapter:ident: $subject:ident $source:literal),* $(,)?) => {
        $(#[tokio::test]
        async fn $adapter() -> anyhow::Result<()> {
            if Subject::$subject.is_set_up() { steps_seen(Subject::$subject, $source).await } else { Ok(()) }
        })*
    };
}

told_with! {
    every_stop_of_python_is_seen_as_it_is: Python "count.py",
    every_stop_of_python_through_its_adapter_is_seen_as_it_is: PythonAdapter "count.py",
    every_stop_of_lldb_is_seen_as_it_is: Lldb "count.c",
    every_stop_of_gdb_is_seen_as_it_is: Gdb "count.c",
    every_stop_of_bash_is_seen_as_it_is: Bash "count.sh",
}

/// An editor looks at each stop, an agent at some: each sees where the program is and what it has counted.
async fn steps_seen(subject: Subject, source: &str) -> anyhow::Result<()> {
    let mut launch = subject.launch();
    launch["program"] = match subject {
        Subject::Lldb | Subject::Gdb => json!(child::built("count")),
        _ => json!(child::source(source)),
    };
    let story = Transcript::default();
    let mut editor = DapClient::start_in("editor", HashMap::new(), &story)?;
    let source = child::source(source);
    let line = child::line(&source, "count");
    editor.launch_child(launch, &source, &[line]).await?;
    let (thread, _) = editor.stop().await?;
    editor.break_on(&source, &[]).await?;
    let mut agent = DapClient::connect("agent", &editor.socket().await?, &story).await?;
    agent.join(json!({ "clientID": "other", "adapterID": "tandem" })).await?;
    agent.event("stopped").await?;

    let mut counted = Vec::new();
    for step in 0..20 {
        editor.ok("next", json!({ "threadId": thread })).await?;
        editor.event("stopped").await?;
        let seen = count_seen(&mut editor, thread).await?;
        agent.event("stopped").await?;
        if step % 3 == 0 {
            assert_eq!(count_seen(&mut agent, thread).await?, seen, "step {step}");
        }
        // What is asked for now is what was seen.
        let frame = editor.ok("stackTrace", json!({ "threadId": thread, "levels": 1 })).await?;
        let frame = frame["stackFrames"][0].clone();
        assert_eq!(frame["line"], seen.0, "step {step}");
        let expression = if subject == Subject::Bash { "$count" } else { "count" };
        let asked = json!({ "expression": expression, "frameId": frame["id"], "context": "watch" });
        assert_eq!(editor.ok("evaluate", asked).await?["result"], seen.1, "step {step}");
        counted.push(seen.1);
    }
    let first = counted.first().context("no step")?;
    ensure!(counted.last() != Some(first), "nothing was counted: {counted:?}");
    agent.finish().await?;
    editor.finish().await
}

/// The line, and the value of `count` among the variables of the frame on top.
async fn count_seen(client: &mut DapClient, thread: i64) -> anyhow::Result<(Value, Value)> {
    client.ok("threads", Value::Null).await?;
    let stack = client.ok("stackTrace", json!({ "threadId": thread, "startFrame": 0, "levels": 20 })).await?;
    let frame = &stack["stackFrames"][0];
    let scopes = client.ok("scopes", json!({ "frameId": frame["id"] })).await?;
    for scope in scopes["scopes"].as_array().context("no scopes")?.iter().take(2) {
        let asked = json!({ "variablesReference": scope["variablesReference"] });
        let variables = client.ok("variables", asked).await?;
        let list = variables["variables"].as_array().cloned().unwrap_or_default();
        if let Some(count) = list.into_iter().find(|variable| variable["name"] == "count") {
            return Ok((frame["line"].clone(), count["value"].clone()));
        }
    }
    anyhow::bail!("no `count` in {scopes}")
}
