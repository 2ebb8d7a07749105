//! `debug_try`: an experiment. It starts the launched program twice more, with the same arguments and the
//! same input, once with a change at a location and once without. [`mod@run`] executes a run, and
//! [`difference`] compares the two; the session that the agent uses stays unchanged.

mod difference;
mod outcome;
mod recorded_input;
mod run;
mod skipping;
mod stopped_run;

use std::time::Duration;

use schemars::JsonSchema;
use serde::Deserialize;
use serde_json::{Map, Value, json};
use tandem_wire::{ErrorCode, Failure};

use super::answer;
use super::repeats::disable_build;
use super::waiting::MAX_TIMEOUT;
use crate::arguments::attributes::LaunchFlags;
use crate::arguments::kind;
use crate::arguments::schema::{self, ArgumentSchema};
use crate::bounds::Budget;
use crate::breakpoint_requests::{
    BreakpointArguments, BreakpointRequests, PlaceArguments, Purpose, RequestedBreakpoint,
};
use crate::call::ToolCall;
use crate::functions;
use crate::session::{AgentSession, SessionPlan};
use crate::tool::{AnswerField, StopUse, Tool, ToolEffect, ToolGroup, run};
use difference::ExperimentReport;
use recorded_input::RecordedInput;

/// Tokens of an answer by default.
const DEFAULT_TOKENS: u64 = 1500;
/// Default time limit of each run (`timeoutMs`): both runs together must end before clients abort the call.
const DEFAULT_TIMEOUT: Duration = Duration::from_secs(20);
/// Maximum number of expressions, and of values that are set.
const MAX_EXPRESSIONS: usize = 20;
/// Hits up to here are counted one by one, so that it is known how many there were.
const MAX_COUNTED_HITS: u64 = 100;
/// Largest value of `hit`.
const MAX_HIT: u64 = 1_000_000;

/// The tool for experiments.
pub const GROUP: ToolGroup = ToolGroup {
    name: "experiments",
    tools: &[Tool {
        name: "debug_try",
        core: false,
        effect: ToolEffect::Mutating,
        stop: StopUse::Independent,
        description: "Experiment: starts the launched program twice more, same arguments and input, once \
            with values set or the statement skipped at a place, and compares how both end, or expressions \
            at until. The session stays.",
        input: ArgumentSchema::of::<TryArguments>,
        output: &[AnswerField::texts("differs"), AnswerField::object("with"), AnswerField::object("without")],
        run: run!(debug_try),
    }],
};

#[derive(Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
#[schemars(extend("x-unlisted" = ["condition", "skipTo", "timeoutMs", "maxTokens"]))]
struct TryArguments {
    #[serde(flatten)]
    place: HitArguments,
    #[schemars(description = "{name: expression}")]
    #[serde(default)]
    set: Map<String, Value>,
    #[serde(default)]
    skip: bool,
    skip_to: Option<u64>,
    #[serde(default)]
    expressions: Vec<String>,
    #[schemars(description = "place")]
    until: Option<Map<String, Value>>,
    timeout_ms: Option<u64>,
    max_tokens: Option<u64>,
}

/// The n-th time that the program reaches a location, as a call names it.
#[derive(Deserialize, JsonSchema)]
struct HitArguments {
    #[serde(flatten)]
    place: PlaceArguments,
    #[schemars(extend("default" = 1))]
    hit: Option<u64>,
    condition: Option<String>,
}

/// An experiment, as a call asks for it.
#[derive(Debug)]
struct Experiment {
    place: TargetHit,
    /// Location at which the runs end; `None` for the end of the program or its first stop.
    until: Option<TargetHit>,
    /// Names and the expressions of their new values.
    set: Vec<(String, String)>,
    skip: SkipTarget,
    expressions: Vec<String>,
    /// Time limit of each run.
    time: Duration,
}

/// The n-th time that the program reaches a location.
#[derive(Debug)]
struct TargetHit {
    request: RequestedBreakpoint,
    hit: u64,
    /// Description for messages.
    name: String,
}

/// Position at which the program continues.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum SkipTarget {
    /// Stay at the current statement.
    Nothing,
    /// Continue at the next statement.
    Statement,
    To(u64),
}

/// The common start of both runs.
struct ExperimentSetup {
    plan: SessionPlan,
    given: RecordedInput,
}

async fn debug_try(call: &ToolCall, arguments: TryArguments) -> Result<Value, Failure> {
    let session = call.session().await?;
    // Starting the root program starts the others.
    let session = session.relation.root.clone().unwrap_or(session);
    let budget = Budget::of(arguments.max_tokens.or(Some(DEFAULT_TOKENS)));
    let plan = plan(&session)?;
    let experiment = experiment(call, arguments, &session).await?;
    let given = RecordedInput::of(&session).await?;
    let note = given.note.clone();
    let start = ExperimentSetup { plan, given };
    // The run with the change comes first: the engine rejects an invalid change at once.
    let changed = run::run(call, &experiment, &start, true).await?;
    let shown = ExperimentReport { experiment: &experiment, budget, note };
    if !changed.came {
        return answer(&shown.not_reached(&changed));
    }
    let unchanged = run::run(call, &experiment, &start, false).await?;
    answer(&shown.answer(&changed, &unchanged))
}

/// Plan of both runs: the session's own attributes, without its breakpoints.
fn plan(session: &AgentSession) -> Result<SessionPlan, Failure> {
    let cannot = |why: &str| Failure::new(ErrorCode::Unsupported, why);
    let plan = session.with_plan(|plan| plan.clone());
    if plan.attach {
        return Err(cannot(
            "the program was attached to, not launched: it cannot be started again to try something",
        )
        .hint("launch it with debug_launch"));
    }
    if !session.launched {
        return Err(cannot(
            "another client launched the program: you cannot start it again to try something",
        )
        .hint("launch it yourself with debug_launch"));
    }
    if session.test_run().is_some() {
        return Err(cannot("a test runner started the program: it cannot be started again without it").hint(
            "launch what the test calls with debug_launch, or set values at a stop with debug_set_variable",
        ));
    }
    let mut attributes = plan.attributes;
    let flags = LaunchFlags::of(&attributes);
    if flags.no_debug == Some(true) {
        return Err(cannot("the program was launched without debugging (`noDebug`)"));
    }
    disable_build(&mut attributes);
    // A child process would stop at the place too, where no client resumes it.
    let children = LaunchFlags {
        sub_process: (session.engine == "debugpy").then_some(false),
        follow_children: flags.follow_children.filter(|follows| *follows).map(|_| false),
        ..LaunchFlags::stopping_on_entry(false)
    };
    children.set_in(&mut attributes);
    Ok(SessionPlan { attributes, filters: plan.filters, uncaught: true, ..SessionPlan::default() })
}

/// Converts the arguments to an experiment.
async fn experiment(
    call: &ToolCall,
    arguments: TryArguments,
    session: &AgentSession,
) -> Result<Experiment, Failure> {
    let set = assignments(&arguments.set)?;
    let skip = match (arguments.skip, arguments.skip_to) {
        (_, Some(line)) => SkipTarget::To(line),
        (true, None) => SkipTarget::Statement,
        (false, None) => SkipTarget::Nothing,
    };
    if set.is_empty() && skip == SkipTarget::Nothing {
        return Err(Failure::invalid("nothing is to be tried: give `set` ({name: expression}) or `skip`"));
    }
    if skip != SkipTarget::Nothing && !session.can("supportsGotoTargetsRequest") {
        let message =
            format!("the engine `{}` cannot skip statements (it has no `gotoTargets`)", session.engine);
        return Err(Failure::new(ErrorCode::Unsupported, message).hint(
            "`set` the operands of the statement's condition or result; only .NET and Python can skip",
        ));
    }
    let expressions = arguments.expressions;
    if expressions.len() > MAX_EXPRESSIONS {
        let message = format!("{} expressions; an experiment takes {MAX_EXPRESSIONS}", expressions.len());
        return Err(Failure::invalid(message));
    }
    let until =
        match arguments.until {
            None => None,
            Some(until) => {
                let mut until: HitArguments = schema::read(until)?;
                let file = &mut until.place.source_file;
                *file = file.take().or_else(|| arguments.place.place.source_file.clone());
                let until = place(call, session, until).await;
                Some(until.map_err(|failure| Failure {
                    message: format!("`until`: {}", failure.message),
                    ..failure
                })?)
            }
        };
    let time = arguments.timeout_ms.map_or(DEFAULT_TIMEOUT, Duration::from_millis).min(MAX_TIMEOUT);
    let place = place(call, session, arguments.place).await?;
    Ok(Experiment { place, until, set, skip, expressions, time })
}

/// `set`: expressions and their new values; a number or a boolean becomes its text.
fn assignments(set: &Map<String, Value>) -> Result<Vec<(String, String)>, Failure> {
    let wrong = |what: &Value| {
        Failure::invalid(format!("`set` must be an object, as {{name: expression}}, not {what}"))
    };
    if set.len() > MAX_EXPRESSIONS {
        return Err(Failure::invalid(format!(
            "`set` has {} names; an experiment takes {MAX_EXPRESSIONS}",
            set.len()
        )));
    }
    let one = |(name, value): (&String, &Value)| {
        let text = kind::text(value).ok_or_else(|| wrong(&json!({ name: value })))?;
        Ok((name.clone(), text))
    };
    set.iter().map(one).collect()
}

/// A place, and its hit.
async fn place(call: &ToolCall, session: &AgentSession, given: HitArguments) -> Result<TargetHit, Failure> {
    let hit = given.hit.unwrap_or(1);
    if !(1..=MAX_HIT).contains(&hit) {
        return Err(Failure::invalid(format!("`hit` is {hit}; it must be 1 to {MAX_HIT}")));
    }
    let function = given.place.function.clone();
    let HitArguments { place, condition, .. } = given;
    let mut of = BreakpointArguments { place, condition, ..BreakpointArguments::default() };
    // Scripts' functions, and where the engine knows none by name.
    if let Some(function) = &function
        && let Some((file, line)) = functions::find(function, &session.source_files().await)
    {
        of = of.at_line(file, line);
    } else if let Some(function) = &function
        && !session.can("supportsFunctionBreakpoints")
    {
        let message = format!("no function `{function}` in the sources of the program");
        return Err(Failure::new(ErrorCode::NotFound, message)
            .hint("pass `sourceFile` with the `text` or `line` of its first statement"));
    }
    let request = session.request(&of, &call.bridge.options.roots).await?;
    let name = match (function, request.dap.line) {
        (Some(function), _) => function,
        (None, line) => {
            format!("{}:{}", request.file.rsplit('/').next().unwrap_or_default(), line.unwrap_or_default())
        }
    };
    Ok(TargetHit { request, hit, name })
}

impl Experiment {
    /// The breakpoints of a run: the place.
    fn run_breakpoints(&self, id: u64) -> BreakpointRequests {
        let mut requested = BreakpointRequests::default();
        requested.add(self.place.to_request(), id, Purpose::RunTo);
        requested
    }
}

impl TargetHit {
    /// The breakpoint to send.
    fn to_request(&self) -> RequestedBreakpoint {
        let mut request = self.request.clone();
        if self.hit > MAX_COUNTED_HITS {
            request.dap.hit_condition = Some(self.hit.to_string());
        }
        request
    }

    /// Stops that it takes to come there.
    fn stops(&self) -> u64 {
        if self.hit > MAX_COUNTED_HITS { 1 } else { self.hit }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn values_to_set_are_expressions_in_their_order() {
        let read = |set: Value| assignments(set.as_object().unwrap());
        let set = read(json!({ "b": "a + 1", "a": 3, "c": true })).unwrap();
        let set: Vec<_> = set.iter().map(|(name, value)| (name.as_str(), value.as_str())).collect();
        assert_eq!(set, [("b", "a + 1"), ("a", "3"), ("c", "true")]);
        assert_eq!(read(json!({})).unwrap(), []);
        for wrong in [json!({ "a": null }), json!({ "a": [1] })] {
            assert!(read(wrong.clone()).is_err(), "{wrong}");
        }
    }
}
