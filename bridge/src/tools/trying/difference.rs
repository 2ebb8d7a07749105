//! Differences between two runs of an experiment, as sentences, and the answer for each run.
//!
//! Runs nothing: [`mod@super::run`] does.

use serde::Serialize;
use serde_json::{Map, Value};
use tandem_wire::describe_exit;

use super::Experiment;
use super::outcome::ExperimentRun;
use crate::bounds::{Budget, cut};

/// Maximum characters of a value or line in a difference.
const MAX_TEXT_CHARS: usize = 120;
/// Names of the streams.
const STREAMS: [&str; 2] = ["stdout", "stderr"];

/// Builds the answer of an experiment.
pub(super) struct ExperimentReport<'a> {
    pub(super) experiment: &'a Experiment,
    pub(super) budget: Budget,
    /// Note about the input of the runs, for the answer.
    pub(super) note: Option<String>,
}

impl ExperimentReport<'_> {
    /// The program did not reach the location.
    pub(super) fn not_reached<'r>(&self, run: &'r ExperimentRun) -> ExperimentAnswer<'r> {
        let place = &self.experiment.place;
        let mut message = match run.hits {
            0 => format!("{} was never reached, so nothing was changed", place.name),
            hits => {
                format!("{} was reached {hits} times, not {}: nothing was changed", place.name, place.hit)
            }
        };
        if place.stops() != place.hit {
            message = format!("{} was not reached {} times: nothing was changed", place.name, place.hit);
        }
        if let Some(why) = &run.unbound {
            message = format!("{message}; the breakpoint there is not set: {why}");
        }
        if run.end.how == "waitingForInput" {
            message = format!("{message}; {}", MISSING_INPUT_HINT);
        }
        let message = self.with_note(message);
        ExperimentAnswer {
            message,
            differs: Vec::new(),
            with: None,
            without: describe_run(run, self.budget.bytes()),
        }
    }

    /// The answer with both runs and their differences.
    pub(super) fn answer<'r>(
        &self,
        with: &'r ExperimentRun,
        without: &'r ExperimentRun,
    ) -> ExperimentAnswer<'r> {
        let differs = differences(with, without);
        let mut words = Vec::new();
        let differed = difference_before(with, without);
        if let Some(what) = &differed {
            words.push(format!(
                "the runs differed before the place already ({what}): what differs after it may not come \
                    from the change"
            ));
        } else if differs.is_empty() {
            words.push("the change made no difference that was seen".to_owned());
        }
        if with.end.how == "waitingForInput" || without.end.how == "waitingForInput" {
            words.push(MISSING_INPUT_HINT.to_owned());
        }
        let message = self.with_note(words.join("; "));
        let bytes = self.budget.bytes();
        ExperimentAnswer {
            message,
            differs,
            with: Some(describe_run(with, bytes)),
            without: describe_run(without, bytes),
        }
    }

    fn with_note(&self, message: String) -> String {
        let words: Vec<String> = [Some(message), self.note.clone()].into_iter().flatten().collect();
        words.into_iter().filter(|words| !words.is_empty()).collect::<Vec<_>>().join("; ")
    }
}

/// The answer of an experiment.
#[derive(Serialize)]
pub(super) struct ExperimentAnswer<'a> {
    #[serde(skip_serializing_if = "String::is_empty")]
    message: String,
    differs: Vec<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    with: Option<TriedRun<'a>>,
    without: TriedRun<'a>,
}

/// A run in the answer: its end, values and output.
#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
struct TriedRun<'a> {
    ended: &'a str,
    #[serde(skip_serializing_if = "Option::is_none")]
    exit_code: Option<i64>,
    #[serde(skip_serializing_if = "Option::is_none")]
    signal: Option<&'a str>,
    #[serde(skip_serializing_if = "Option::is_none")]
    why: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    at: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    skipped_to: Option<u64>,
    #[serde(skip_serializing_if = "Map::is_empty")]
    set: Map<String, Value>,
    #[serde(skip_serializing_if = "Map::is_empty")]
    values: Map<String, Value>,
    #[serde(skip_serializing_if = "Map::is_empty")]
    values_at_place: Map<String, Value>,
    #[serde(skip_serializing_if = "Option::is_none")]
    output: Option<RunOutput>,
}

/// Output of a run after the change.
#[derive(Serialize)]
struct RunOutput {
    #[serde(skip_serializing_if = "Option::is_none")]
    stdout: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    stderr: Option<String>,
}

/// A run, with as much of its output as fits.
fn describe_run(run: &ExperimentRun, bytes: usize) -> TriedRun<'_> {
    let text = |text: &Option<String>| text.as_ref().map(|text| cut(text, 4 * MAX_TEXT_CHARS));
    let rows = [&run.set, &run.values, &run.at_place];
    let count = rows.iter().map(|rows| rows.len()).sum::<usize>().max(1);
    // Both runs have values and output.
    let longest = (bytes / 4 / count).max(20);
    let values = |rows: &[(String, String)]| {
        let rows = rows.iter().map(|(name, value)| (name.clone(), cut(value, longest).into()));
        rows.collect::<Map<_, _>>()
    };
    let most = (bytes / 8).max(100);
    let stream = |text: &str| (!text.is_empty()).then(|| cut(text, most));
    let [stdout, stderr] = &run.after;
    let output = RunOutput { stdout: stream(stdout), stderr: stream(stderr) };
    TriedRun {
        ended: run.end.how,
        exit_code: run.end.exit_code,
        signal: run.end.signal.as_deref(),
        why: text(&run.end.why),
        at: text(&run.end.at),
        skipped_to: run.went_to,
        set: values(&run.set),
        values: values(&run.values),
        values_at_place: if run.values.is_empty() { values(&run.at_place) } else { Map::new() },
        output: Some(output).filter(|output| output.stdout.is_some() || output.stderr.is_some()),
    }
}

/// Advice for a program that waits for input.
const MISSING_INPUT_HINT: &str = "it waits for input that this session's program has not received: \
    send it with process_write_input, then try again";

/// Difference before the place, if any.
fn difference_before(with: &ExperimentRun, without: &ExperimentRun) -> Option<String> {
    if !without.came {
        return Some("only one of them came to it".into());
    }
    let values = with.was.iter().zip(&without.was).find(|(with, without)| with.1 != without.1);
    if let Some(((name, with), (_, without))) = values {
        return Some(format!("{name} was {} and {}", short(without), short(with)));
    }
    let streams = STREAMS.into_iter().zip(with.before.iter().zip(&without.before));
    streams.into_iter().find_map(|(stream, (with, without))| line(stream, with, without))
}

/// Differences after the place.
fn differences(with: &ExperimentRun, without: &ExperimentRun) -> Vec<String> {
    let mut found = Vec::new();
    let mut add = |what: &str, with: String, without: String| {
        if with != without {
            found.push(format!("{what}: {without} without, {with} with the change"));
        }
    };
    add("end", end(with), end(without));
    if with.end.how == without.end.how {
        add("place", with.end.at.clone().unwrap_or_default(), without.end.at.clone().unwrap_or_default());
    }
    let has_ended = |run: &ExperimentRun| run.values.is_empty();
    if has_ended(with) || has_ended(without) {
        for ((name, with), (_, without)) in with.at_place.iter().zip(&without.at_place) {
            add(&format!("{name} at the place"), short(with), short(without));
        }
    }
    for ((name, with), (_, without)) in with.values.iter().zip(&without.values) {
        // Long values may differ only after their shown part.
        match (short(with), short(without)) {
            (one, other) if one == other && with != without => {
                add(name, format!("{one} (differs further on)"), other)
            }
            (one, other) => add(name, one, other),
        }
    }
    for (stream, (with, without)) in STREAMS.into_iter().zip(with.after.iter().zip(&without.after)) {
        found.extend(line(stream, with, without));
    }
    found
}

/// Describes the end of a run in a sentence.
fn end(run: &ExperimentRun) -> String {
    match (run.end.how, &run.end.why, run.end.exit_code) {
        ("exited", _, Some(code)) => format!("ended with {}", describe_exit(code, run.end.signal.as_deref())),
        ("reached", ..) => "came to `until`".into(),
        ("exception", Some(why), _) => format!("exception {}", short(why)),
        ("stopped", Some(why), _) => format!("stopped ({})", short(why)),
        ("timeout", ..) => "still running when its time was up".into(),
        ("waitingForInput", ..) => "waits for input".into(),
        (other, ..) => other.into(),
    }
}

/// The first line in which two texts differ.
fn line(stream: &str, with: &str, without: &str) -> Option<String> {
    if with == without {
        return None;
    }
    let (mut with, mut without) = (with.lines(), without.lines());
    let mut number = 0u64;
    loop {
        number += 1;
        let quoted =
            |line: Option<&str>| line.map_or("nothing".to_owned(), |line| format!("`{}`", short(line)));
        match (with.next(), without.next()) {
            (None, None) => return Some(format!("{stream}: one has a line end more")),
            (one, other) if one != other => {
                let lines = format!("{} without, {} with the change", quoted(other), quoted(one));
                return Some(format!("{stream}, line {number}: {lines}"));
            }
            _ => {}
        }
    }
}

fn short(text: &str) -> String {
    match text.char_indices().nth(MAX_TEXT_CHARS) {
        Some((end, _)) => format!("{}…", text.get(..end).unwrap_or_default()),
        None => text.to_owned(),
    }
}

#[cfg(test)]
mod tests {
    use super::super::outcome::ExperimentEnd;
    use super::*;

    fn run(code: i64, out: &str) -> ExperimentRun {
        ExperimentRun {
            came: true,
            end: ExperimentEnd { how: "exited", exit_code: Some(code), ..ExperimentEnd::default() },
            after: [out.into(), String::new()],
            ..ExperimentRun::default()
        }
    }

    #[test]
    fn differences_are_described_in_sentences() {
        let (with, without) = (run(0, "a\nb\n"), run(1, "a\nc\n"));
        assert_eq!(
            differences(&with, &without),
            [
                "end: ended with exit code 1 without, ended with exit code 0 with the change",
                "stdout, line 2: `c` without, `b` with the change"
            ]
        );
        assert!(differences(&with, &run(0, "a\nb\n")).is_empty());
        let mut killed = run(139, "a\nb\n");
        killed.end.signal = Some("SIGSEGV".into());
        assert_eq!(
            differences(&with, &killed),
            ["end: ended with exit code 139 (SIGSEGV) without, ended with exit code 0 with the change"]
        );
        assert_eq!(
            line("stderr", "a\nb\n", "a\n").unwrap(),
            "stderr, line 2: nothing without, `b` with the change"
        );
        assert_eq!(line("stderr", "a\n", "a").unwrap(), "stderr: one has a line end more");
    }

    #[test]
    fn answer_has_only_the_fields_of_its_runs() {
        let mut with = run(0, "a\n");
        (with.went_to, with.set) = (Some(7), vec![("x".into(), "1".into())]);
        (with.values, with.at_place) = (vec![("y".into(), "2".into())], vec![("y".into(), "3".into())]);
        let mut without = run(1, "");
        (without.end.why, without.end.at) = (Some("w".into()), Some("app.py:3 in f".into()));
        without.at_place = vec![("y".into(), "3".into())];
        let answer = ExperimentAnswer {
            message: String::new(),
            differs: vec!["end".into()],
            with: None,
            without: describe_run(&without, 4000),
        };
        assert_eq!(
            serde_json::to_string(&answer).unwrap(),
            concat!(
                r#"{"differs":["end"],"without":{"ended":"exited","exitCode":1,"why":"w","#,
                r#""at":"app.py:3 in f","valuesAtPlace":{"y":"3"}}}"#
            )
        );
        assert_eq!(
            serde_json::to_string(&describe_run(&with, 4000)).unwrap(),
            concat!(
                r#"{"ended":"exited","exitCode":0,"skippedTo":7,"set":{"x":"1"},"values":{"y":"2"},"#,
                r#""output":{"stdout":"a\n"}}"#
            )
        );
    }

    #[test]
    fn runs_that_differ_before_the_place_are_reported_as_such() {
        let (one, mut other) = (run(0, ""), run(0, ""));
        assert_eq!(difference_before(&one, &other), None);
        other.before = ["seed 7\n".into(), String::new()];
        assert_eq!(
            difference_before(&one, &other).unwrap(),
            "stdout, line 1: `seed 7` without, nothing with the change"
        );
        other.came = false;
        assert_eq!(difference_before(&one, &other).unwrap(), "only one of them came to it");
    }

    #[test]
    fn a_long_value_that_differs_late_differs() {
        let with =
            |end: &str| ExperimentRun { values: vec![("x".into(), "y".repeat(200) + end)], ..run(0, "") };
        let differs = differences(&with("a"), &with("b"));
        assert!(differs.len() == 1 && differs[0].contains("differs further on"), "{differs:?}");
    }
}
