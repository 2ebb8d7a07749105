//! Programs that end while they are inspected: every request is answered, and the end is reported once, with
//! its exit code.
//!
//! Not here: programs that crash ([`super::crashes`]).

use serde_json::{Value, json};
use tandem_harness::client::DapClient;
use tandem_harness::fixture::Runtime;
use tandem_harness::transcript::Transcript;

dotnet_tests! {
    a_program_that_is_killed_while_it_is_looked_at_leaves_no_request_unanswered,
    a_program_that_ends_itself_during_an_evaluation_leaves_no_request_unanswered,
    a_program_that_ends_itself_while_it_is_asked_leaves_no_request_unanswered,
}

net8_tests! { a_program_that_ends_itself_during_an_evaluation_leaves_no_request_unanswered }

/// Rounds of each test: the program ends at a different moment in each.
const ROUNDS: usize = 12;
/// Ways to end, with their exit codes.
const WAYS: [(&str, i64); 3] = [("exit", 42), ("kill", 137), ("failfast", 134)];

/// A client at the first stop, with what to ask there.
struct StoppedEditor {
    editor: DapClient,
    process: rustix::process::Pid,
    thread: i64,
    frame: i64,
    questions: Vec<(&'static str, Value)>,
}

impl StoppedEditor {
    async fn at(runtime: Runtime, way: &str) -> anyhow::Result<Self> {
        let mut editor = DapClient::start("editor", runtime, &Transcript::default())?;
        editor.launch("ends", &["turn"], json!({ "args": [way] })).await?;
        let process = editor.event("process").await?["systemProcessId"].as_i64().unwrap_or_default();
        let process = rustix::process::Pid::from_raw(i32::try_from(process)?).expect("a process has an id");
        let (thread, top) = editor.stop().await?;
        let frame = top["id"].as_i64().unwrap_or_default();
        let scopes = editor.ok("scopes", json!({ "frameId": frame })).await?;
        let locals = scopes["scopes"][0]["variablesReference"].clone();
        let variables = editor.ok("variables", json!({ "variablesReference": locals })).await?;
        let row = |name: &str| {
            let mut rows = variables["variables"].as_array().into_iter().flatten();
            rows.find(|row| row["name"] == name).cloned().unwrap_or_default()
        };
        let (node, names) = (row("node"), row("names"));
        let questions = vec![
            ("stackTrace", json!({ "threadId": thread })),
            ("variables", json!({ "variablesReference": locals })),
            ("evaluate", json!({ "expression": "node.Doubled.Text + count", "frameId": frame })),
            ("variables", json!({ "variablesReference": names["variablesReference"] })),
            ("setVariable", json!({ "variablesReference": locals, "name": "count", "value": "count + 3" })),
            ("readMemory", json!({ "memoryReference": names["memoryReference"], "count": 64 })),
            ("threads", json!({})),
            ("evaluate", json!({ "expression": "names.Count(name => name.Length > 6)", "frameId": frame })),
            ("setExpression", json!({ "expression": "node.Number", "value": "7", "frameId": frame })),
            ("variables", json!({ "variablesReference": node["variablesReference"] })),
            ("completions", json!({ "text": "node.", "column": 6, "frameId": frame })),
            ("scopes", json!({ "frameId": frame })),
            ("modules", json!({})),
            ("stepInTargets", json!({ "frameId": frame })),
        ];
        Ok(Self { editor, process, thread, frame, questions })
    }

    /// Sends all requests, beginning with the one of this number; returns them.
    async fn ask(&mut self, first: usize) -> anyhow::Result<Vec<i64>> {
        let mut seqs = Vec::new();
        let count = self.questions.len();
        for (command, arguments) in self.questions.iter().cycle().skip(first % count).take(count) {
            seqs.push(self.editor.send(command, arguments.clone()).await?);
        }
        Ok(seqs)
    }

    /// Reads every response, continues from each stop, and checks the end.
    async fn end(mut self, seqs: Vec<i64>, code: i64) -> anyhow::Result<()> {
        for seq in seqs {
            let answer = self.editor.response(seq).await?;
            let failed = &answer.body["error"]["variables"]["code"];
            let honest =
                ["NO_SESSION", "NOT_STOPPED", "EVALUATION_FAILED", "INVALID_PARAMETER", "NOT_RUNNING"];
            let is_told = answer.success || honest.iter().any(|code| failed == code);
            anyhow::ensure!(is_told, "`{}` failed: {}", answer.command, answer.body);
        }
        loop {
            let (event, body) = self.editor.any_event(&["stopped", "exited"]).await?;
            if event == "exited" {
                assert_eq!(body["exitCode"], code);
                break;
            }
            self.editor.ask("continue", json!({ "threadId": body["threadId"] })).await?;
        }
        self.editor.event("terminated").await?;
        assert_eq!(
            self.editor.refused("stackTrace", json!({ "threadId": self.thread })).await?,
            "NO_SESSION"
        );
        assert!(
            !self.editor.unclaimed_messages().iter().any(|name| name == "exited" || name == "terminated")
        );
        self.editor.finish().await
    }
}

async fn a_program_that_is_killed_while_it_is_looked_at_leaves_no_request_unanswered(
    runtime: Runtime,
) -> anyhow::Result<()> {
    for round in 0..ROUNDS {
        let mut look = StoppedEditor::at(runtime, "").await?;
        let seqs = look.ask(round).await?;
        // A moment later in each round, by as many answers.
        let (early, late) = seqs.split_at(round % seqs.len());
        for seq in early {
            look.editor.response(*seq).await?;
        }
        rustix::process::kill_process(look.process, rustix::process::Signal::KILL)?;
        look.end(late.to_vec(), 137).await?;
    }
    Ok(())
}

async fn a_program_that_ends_itself_during_an_evaluation_leaves_no_request_unanswered(
    runtime: Runtime,
) -> anyhow::Result<()> {
    for (way, code) in WAYS {
        let mut look = StoppedEditor::at(runtime, way).await?;
        let expression =
            json!({ "expression": "EndElsewhere(\"WAY\")".replace("WAY", way), "frameId": look.frame });
        let first = look.editor.send("evaluate", expression).await?;
        let seqs = look.ask(0).await?;
        assert!(!look.editor.response(first).await?.success);
        look.end(seqs, code).await?;
    }
    Ok(())
}

async fn a_program_that_ends_itself_while_it_is_asked_leaves_no_request_unanswered(
    runtime: Runtime,
) -> anyhow::Result<()> {
    for round in 0..ROUNDS {
        let (way, code) = WAYS[round % WAYS.len()];
        let mut look = StoppedEditor::at(runtime, way).await?;
        look.editor.break_at("ends", &[]).await?;
        let mut seqs = vec![look.editor.send("continue", json!({ "threadId": look.thread })).await?];
        for pause in 0..=round % 4 {
            seqs.extend(look.ask(round + pause).await?);
            seqs.push(look.editor.send("pause", json!({ "threadId": look.thread })).await?);
        }
        look.end(seqs, code).await?;
    }
    Ok(())
}
