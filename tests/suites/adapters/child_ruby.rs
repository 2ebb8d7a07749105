//! Ruby with an old and a new gem `debug`: removing and changing breakpoints while the program
//! is debugged takes effect.
//!
//! Not here: attaching ([`super::child_attach`]).

use std::collections::BTreeMap;
use std::path::Path;

use anyhow::{Context, ensure};
use serde_json::{Value, json};
use tandem_harness::child::{self, Subject};
use tandem_harness::client::DapClient;
use tandem_harness::transcript::Transcript;

/// Counts, and rescues an exception at each fifth number.
const COUNTS: &str = "\
total = 0
def passes; sleep 0.005; end # BP passes
loop do
  total += 1 # BP counts
  begin
    raise \"five\" if (total % 5).zero? # BP raises
  rescue RuntimeError
    nil
  end
  passes # BP sleeps
end # BP round
";
/// More rounds than there are between two exceptions.
const ROUNDS: usize = 6;

/// A program that counts until it is ended.
pub(super) fn counting() -> anyhow::Result<(tempfile::TempDir, std::path::PathBuf)> {
    let folder = tempfile::tempdir()?;
    let source = folder.path().canonicalize()?.join("counts.rb");
    std::fs::write(&source, COUNTS)?;
    Ok((folder, source))
}

/// An editor at a stop of that program.
pub(super) struct RubyStop<'editor> {
    pub(super) editor: &'editor mut DapClient,
    pub(super) source: &'editor Path,
    pub(super) thread: i64,
}

impl RubyStop<'_> {
    fn line(&self, marker: &str) -> i64 {
        child::line(self.source, marker)
    }

    /// Sets breakpoints at these markers, with conditions.
    async fn set(&mut self, breakpoints: &[(&str, Option<&str>)]) -> anyhow::Result<()> {
        let breakpoint = |(marker, condition): &(&str, Option<&str>)| {
            json!({ "line": self.line(marker),
            "condition": condition })
        };
        let requests: Vec<Value> = breakpoints.iter().map(breakpoint).collect();
        let arguments = json!({ "source": { "path": self.source }, "breakpoints": requests });
        let body = self.editor.ok("setBreakpoints", arguments).await?;
        let breakpoints = body["breakpoints"].as_array().context("no breakpoints")?;
        ensure!(breakpoints.iter().all(|breakpoint| breakpoint["verified"] == true), "{breakpoints:?}");
        Ok(())
    }

    /// Continues to the next stop, which has this reason and is at this marker.
    async fn resumes_to(&mut self, reason: &str, marker: &str) -> anyhow::Result<Value> {
        self.stops_after("continue", reason, marker).await
    }

    /// Resumes by this request to the next stop; returns `total`.
    async fn stops_after(&mut self, command: &str, reason: &str, marker: &str) -> anyhow::Result<Value> {
        self.editor.ok(command, json!({ "threadId": self.thread })).await?;
        let stopped = self.editor.event("stopped").await?;
        let stack = self.editor.ok("stackTrace", json!({ "threadId": stopped["threadId"] })).await?;
        // An exception is raised by a frame of C.
        let frames = stack["stackFrames"].as_array().context("no stack")?;
        let line = self.line(marker);
        ensure!(stopped["reason"] == reason && frames[0]["line"] == line, "not {marker}: {stopped} {stack}");
        let arguments = json!({ "expression": "total", "frameId": frames.last().context("no frame")?["id"],
            "context": "watch" });
        Ok(self.editor.ok("evaluate", arguments).await?["result"].clone())
    }

    /// Expressions that fail, and others whose value is an exception or that change the program.
    async fn evaluates(&mut self) -> anyhow::Result<()> {
        let stack = self.editor.ok("stackTrace", json!({ "threadId": self.thread })).await?;
        let frame = stack["stackFrames"][0]["id"].clone();
        let typed = |expression: &str, context: &str| {
            json!({ "expression": expression, "frameId": frame,
            "context": context })
        };
        for context in ["watch", "repl"] {
            for (expression, reason) in [
                ("nope + 1", "NameError: undefined local variable or method `nope'"),
                ("1 / 0", "ZeroDivisionError: divided by 0"),
                ("raise \"a \\\"b\\\" \\#{c}\"", "RuntimeError: a \"b\" #{c}"),
                ("1 +", "SyntaxError: "),
            ] {
                let answer = self.editor.ask("evaluate", typed(expression, context)).await?;
                let message = answer.body["error"]["variables"]["message"].as_str().unwrap_or_default();
                ensure!(!answer.success && message.starts_with(reason), "{expression}: {}", answer.body);
            }
            for (expression, value) in [
                ("NameError.new(\"kept\")", "#<NameError: kept>"),
                ("a_new_one = 4 # four", "4"),
                ("total = total + 0; total.class", "Integer"),
            ] {
                let answer = self.editor.ok("evaluate", typed(expression, context)).await?;
                ensure!(answer["result"] == value, "{expression} in {context}: {answer}");
            }
        }
        self.editor.ok("evaluate", typed("total += 70", "watch")).await?;
        let changed = self.editor.ok("evaluate", typed("total > 70", "watch")).await?;
        ensure!(changed["result"] == "true", "{changed}");
        Ok(())
    }

    /// Steps to, and over a call of, lines with breakpoints whose conditions do not hold.
    async fn steps_past_conditions(&mut self) -> anyhow::Result<()> {
        // The next total is not raised.
        let conditions = [("counts", "total % 5 == 1"), ("raises", "total == 0"), ("sleeps", "total == 0")];
        let mut breakpoints = conditions.map(|(marker, condition)| (marker, Some(condition))).to_vec();
        breakpoints.push(("passes", Some("self.nil?")));
        self.set(&breakpoints).await?;
        self.resumes_to("breakpoint", "counts").await?;
        for marker in ["raises", "sleeps", "round", "counts", "raises", "sleeps"] {
            self.stops_after("next", "step", marker).await?;
        }
        self.stops_after("stepIn", "step", "passes").await?;
        self.set(&[("counts", None), ("passes", Some("true"))]).await?;
        self.resumes_to("breakpoint", "counts").await?;
        self.resumes_to("breakpoint", "passes").await?;
        // The method was entered in this line: it is not another stop.
        self.stops_after("next", "step", "passes").await?;
        Ok(())
    }

    /// Breakpoints that are removed or get another condition, and filters that are removed.
    pub(super) async fn changes_what_is_set(&mut self) -> anyhow::Result<()> {
        self.set(&[("counts", None)]).await?;
        self.resumes_to("breakpoint", "counts").await?;
        self.evaluates().await?;
        // A removed breakpoint does not stop: a whole round passes it.
        self.set(&[("sleeps", None)]).await?;
        for _ in 0..2 {
            self.resumes_to("breakpoint", "sleeps").await?;
        }
        // Neither does one whose condition never holds, until it has another.
        self.set(&[("counts", Some("total == -1")), ("sleeps", None)]).await?;
        for _ in 0..2 {
            self.resumes_to("breakpoint", "sleeps").await?;
        }
        self.set(&[("counts", Some("total > 1")), ("sleeps", None)]).await?;
        self.resumes_to("breakpoint", "counts").await?;
        self.set(&[("counts", Some("total == -1")), ("sleeps", None)]).await?;
        for _ in 0..2 {
            self.resumes_to("breakpoint", "sleeps").await?;
        }
        self.steps_past_conditions().await?;
        self.set(&[]).await?;
        self.editor.ok("setExceptionBreakpoints", json!({ "filters": ["any"] })).await?;
        self.resumes_to("exception", "raises").await?;
        let tens = json!({ "filterId": "RuntimeError", "condition": "(total % 10).zero?" });
        self.editor.ok("setExceptionBreakpoints", json!({ "filters": [], "filterOptions": [tens] })).await?;
        let total = self.resumes_to("exception", "raises").await?;
        ensure!(total.as_str().is_some_and(|total| total.ends_with('0')), "stopped at {total}");
        self.editor.ok("setExceptionBreakpoints", json!({ "filters": [] })).await?;
        self.set(&[("sleeps", None)]).await?;
        for _ in 0..ROUNDS {
            self.resumes_to("breakpoint", "sleeps").await?;
        }
        Ok(())
    }
}

async fn launch_program(subject: Subject) -> anyhow::Result<()> {
    let (_folder, source) = counting()?;
    let mut editor = DapClient::start_in("editor", Default::default(), &Transcript::default())?;
    let launch = subject.with(json!({ "program": source }));
    // The gem waits for its client before the first line, whose event a breakpoint would miss otherwise.
    editor.launch_child(launch, &source, &[1, child::line(&source, "counts")]).await?;
    let (thread, frame) = editor.stop().await?;
    ensure!(frame["line"] == 1, "{frame}");
    editor.ok("continue", json!({ "threadId": thread })).await?;
    let (thread, _) = editor.stop().await?;
    RubyStop { editor: &mut editor, source: &source, thread }.changes_what_is_set().await?;
    editor.ok("disconnect", json!({ "terminateDebuggee": true })).await?;
    editor.wait_until_ended().await
}

/// The gem read its messages up to the program's own separator, and never answered again.
async fn read_whole_files(subject: Subject) -> anyhow::Result<()> {
    let folder = tempfile::tempdir()?;
    let source = folder.path().canonicalize()?.join("slurps.rb");
    std::fs::write(&source, "$/ = nil; \"ab\" =~ /(b)/\ncount = 1\nprint gets, $1\n")?;
    let mut editor = DapClient::start_in("editor", Default::default(), &Transcript::default())?;
    editor.launch_child(subject.with(json!({ "program": source })), &source, &[2]).await?;
    let (thread, frame) = editor.stop().await?;
    ensure!(frame["line"] == 2, "{frame}");
    // Regular expressions of clients do not replace the program's last match.
    let watch = json!({ "expression": "\"z\" =~ /(z)/", "frameId": frame["id"], "context": "watch" });
    ensure!(editor.ok("evaluate", watch).await?["result"] == "0");
    let never = json!([{ "line": 3, "condition": "\"x\" =~ /(x)/ && false" }]);
    editor.ok("setBreakpoints", json!({ "source": { "path": source }, "breakpoints": never })).await?;
    editor.ok("continue", json!({ "threadId": thread })).await?;
    editor.ok("processWriteInput", json!({ "data": "a\nb\n", "closeAfter": true })).await?;
    editor.event("exited").await?;
    let output = editor.ok("processReadOutput", json!({ "since": "o0.e0" })).await?;
    ensure!(output["stdout"] == "a\nb\nb", "{output}");
    editor.finish().await
}

/// A breakpoint that all threads reach at the same time.
const THREADS: &str = "\
threads = 4.times.map do |at|
  Thread.new do
    sum = at
    2.times do |round|
      sum += round # BP sums
    end
  end
end
threads.each(&:join)
print 4 # BP last
";

/// Stops of threads at the same time: the gem 1.4 ended, and 1.9 stayed stopped after the first of them.
async fn stop_several_threads(subject: Subject) -> anyhow::Result<()> {
    let folder = tempfile::tempdir()?;
    let source = folder.path().canonicalize()?.join("threads.rb");
    std::fs::write(&source, THREADS)?;
    let mut editor = DapClient::start_in("editor", Default::default(), &Transcript::default())?;
    let lines = ["sums", "last"].map(|marker| child::line(&source, marker));
    editor.launch_child(subject.with(json!({ "program": source })), &source, &lines).await?;
    let mut stops = BTreeMap::new();
    loop {
        let (thread, frame) = editor.stop().await?;
        if frame["line"] == lines[1] {
            break;
        }
        *stops.entry(thread).or_insert(0) += 1;
        // The gem resumed the thread that was looked at last.
        editor.ask("stackTrace", json!({ "threadId": 1 })).await?;
        editor.ok("continue", json!({ "threadId": thread })).await?;
    }
    let counts: Vec<i32> = stops.into_values().collect();
    ensure!(counts == [2; 4], "{counts:?}");
    editor.ok("disconnect", json!({ "terminateDebuggee": true })).await?;
    editor.wait_until_ended().await
}

parameterized_tests! {
    threads_that_stop_at_the_same_time_are_reported_in_turn: stop_several_threads(Subject::Rdbg),
    threads_that_stop_at_the_same_time_are_reported_in_turn_with_debug_1_9_2:
        stop_several_threads(Subject::Rdbg192),
    a_program_that_reads_whole_files_is_debugged: read_whole_files(Subject::Rdbg),
    a_program_that_reads_whole_files_is_debugged_with_debug_1_9_2: read_whole_files(Subject::Rdbg192),
    what_is_removed_or_changed_has_its_effect: launch_program(Subject::Rdbg),
    what_is_removed_or_changed_has_its_effect_with_debug_1_9_2: launch_program(Subject::Rdbg192),
}
