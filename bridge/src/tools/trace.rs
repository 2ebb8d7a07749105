//! Values at places, hit by hit, as a table in the order of time. The session evaluates them where the
//! program passes and resumes it, so no client sees it stop; this module collects the rows ([`table`]). The
//! engine evaluates the expressions, exactly as for `debug_evaluate`.

mod table;

use std::sync::Arc;
use std::time::Duration;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};
use tandem_wire::types::TraceRequest;
use tandem_wire::{ErrorCode, Event, Failure};
use tokio::sync::broadcast::Receiver;
use tokio::sync::broadcast::error::RecvError;
use tokio::time::Instant;

use super::answer;
use super::execution::unseen_event;
use super::run_answer::RunEvent;
use super::stops::{output, report, stopped_thread};
use super::waiting::{limit, wait_for_trigger};
use crate::arguments::schema::{self, ArgumentSchema};
use crate::bounds::Budget;
use crate::breakpoint_body::BreakpointBody;
use crate::breakpoint_requests::{BreakpointArguments, FUNCTIONS, Purpose};
use crate::call::ToolCall;
use crate::functions;
use crate::new_output::NewOutput;
use crate::session::AgentSession;
use crate::snapshot::ProgramState;
use crate::tool::{AnswerField, StopUse, Tool, ToolEffect, ToolGroup, run};
use table::{RowSelection, TracePage, TraceTable, Tracepoint};

/// Hits: the default, and the limit.
const HIT_BOUNDS: (u64, u64) = (20, 1000);
/// As the bounds before, for modes in which not every hit is a row.
const SUMMARY_HIT_BOUNDS: (u64, u64) = (1000, 100_000);
/// Maximum number of expressions at one location.
const MAX_EXPRESSIONS: usize = 20;
/// Maximum number of traced places.
const MAX_PLACES: usize = 20;
/// Time that the last rows may arrive after the program is stopped.
const LATE_ROW_TIMEOUT: Duration = Duration::from_millis(50);
/// Time limit for the report of the stop after the last row.
const STOP_TIMEOUT: Duration = Duration::from_secs(5);

/// The tools for traces.
pub const GROUP: ToolGroup = ToolGroup {
    name: "tracing",
    tools: &[Tool {
        name: "debug_trace",
        core: true,
        effect: ToolEffect::Mutating,
        stop: StopUse::Resumes,
        description: "Values of expressions each time a line (or places, in order of time) is reached, as a \
            table, without \
                stopping; ends stopped at the last of hits, at a stop, or on time-out.",
        input: ArgumentSchema::of::<TraceArguments>,
        output: &[AnswerField::list("rows"), AnswerField::text("ended")],
        run: run!(trace),
    }],
};

#[derive(Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
#[schemars(extend(
    "x-unlisted" = ["function", "hitCondition", "logMessage", "dllPath", "timeoutMs", "maxTokens"]
))]
struct TraceArguments {
    #[serde(flatten)]
    place: TracePlace,
    #[schemars(description = "of these, several")]
    places: Option<Vec<Map<String, Value>>>,
    #[schemars(extend("default" = HIT_BOUNDS.0))]
    hits: Option<u64>,
    #[schemars(description = "all, changes, distinct, ends, counts")]
    keep: Option<String>,
    #[serde(default)]
    per_thread: bool,
    timeout_ms: Option<u64>,
    max_tokens: Option<u64>,
}

/// A place of a trace, as a call names it.
#[derive(Clone, Deserialize, JsonSchema)]
struct TracePlace {
    #[serde(flatten)]
    at: BreakpointArguments,
    #[serde(default)]
    expressions: Vec<String>,
}

/// A place to trace, as it was requested.
struct TracepointRequest {
    arguments: BreakpointArguments,
    columns: Vec<String>,
    id: u64,
}

async fn trace(call: &ToolCall, arguments: TraceArguments) -> Result<Value, Failure> {
    let session = call.session().await?;
    if session.snapshot().state == ProgramState::Exited {
        stopped_thread(&session)?;
    }
    if !session.can("supportsTracePoints") {
        return Err(Failure::new(ErrorCode::Unsupported, "this debug adapter does not support traces")
            .hint("set a breakpoint and use debug_continue and debug_evaluate"));
    }
    let keep = RowSelection::parse(arguments.keep.as_deref())?;
    let bounds = if keep == RowSelection::All { HIT_BOUNDS } else { SUMMARY_HIT_BOUNDS };
    let hits = arguments.hits.unwrap_or(bounds.0).clamp(1, bounds.1);
    let (until, budget) = (Instant::now() + limit(arguments.timeout_ms), Budget::of(arguments.max_tokens));
    let requests = read_places(call, &arguments)?;
    let single = arguments.places.is_none();
    if let Some(unseen) = unseen_event(&session).await {
        return answer(&unseen);
    }
    let mut table = TraceTable::new(keep, arguments.per_thread);
    let events = session.listener.events();
    let outcome = async {
        set(call, &session, &requests, hits).await?;
        let (places, bound) = tracepoints(&session, &requests)?;
        table.places = places;
        let before = session.snapshot();
        call.fire();
        if before.state == ProgramState::Stopped {
            let thread = before.stop.thread_id.unwrap_or_default();
            session.control("continue", thread, &call.cancel).await?;
        }
        let collecting = collect(&mut table, call, &session, events, before.news, hits, until);
        let ended = call.progress.during("tracing", None, collecting).await?;
        report_trace(&session, std::mem::take(&mut table), single, bound, ended, budget).await
    }
    .await;
    let taken = session.drop_breakpoints(Purpose::Trace).await;
    let answer = outcome?;
    // A session that has ended has no breakpoints to remove.
    if let Err(failure) = taken
        && session.snapshot().state != ProgramState::Exited
    {
        return Err(failure);
    }
    Ok(answer)
}

/// The requested places: `places`, or the one that the arguments name.
fn read_places(call: &ToolCall, arguments: &TraceArguments) -> Result<Vec<TracepointRequest>, Failure> {
    let list: Vec<TracePlace> = match &arguments.places {
        None => vec![arguments.place.clone()],
        Some(list) => list.iter().map(|one| schema::read(one.clone())).collect::<Result<_, _>>()?,
    };
    if list.is_empty() || list.len() > MAX_PLACES {
        return Err(Failure::invalid(format!("`places` must have 1 to {MAX_PLACES} places")));
    }
    // Expressions that every place has are given once.
    let common = &arguments.place.expressions;
    let one = |TracePlace { at: arguments, expressions: mut columns }: TracePlace| {
        if columns.is_empty() {
            columns.clone_from(common);
        }
        if columns.is_empty() || columns.len() > MAX_EXPRESSIONS {
            return Err(Failure::invalid(format!(
                "`expressions` must have 1 to {MAX_EXPRESSIONS} expressions"
            )));
        }
        Ok(TracepointRequest { arguments, columns, id: call.bridge.next_breakpoint() })
    };
    list.into_iter().map(one).collect()
}

/// Sets a breakpoint that collects values at each place.
async fn set(
    call: &ToolCall,
    session: &AgentSession,
    requests: &[TracepointRequest],
    hits: u64,
) -> Result<(), Failure> {
    let group = requests.first().map(|first| format!("trace {}", first.id)).unwrap_or_default();
    let mut files = Vec::new();
    for one in requests {
        let mut arguments = one.arguments.clone();
        let function = arguments.place.function.clone();
        if let Some(function) = function.filter(|_| !session.can("supportsFunctionBreakpoints")) {
            arguments = in_sources(session, &arguments, &function).await?;
        }
        let file = add(call, session, one, &arguments, hits, &group).await?;
        if !files.contains(&file) {
            files.push(file);
        }
    }
    for file in files {
        session.send_breakpoints(&file).await?;
    }
    // A function that the engine does not find by its name.
    for one in requests {
        let Some(function) = &one.arguments.place.function else { continue };
        let bound = session.with_requested(|requested| {
            requested.find(one.id).is_some_and(|(file, own)| file != FUNCTIONS || own.state.verified)
        });
        if !bound && let Ok(arguments) = in_sources(session, &one.arguments, function).await {
            session.with_requested(|requested| requested.take(one.id));
            session.send_breakpoints(FUNCTIONS).await?;
            let file = add(call, session, one, &arguments, hits, &group).await?;
            session.send_breakpoints(&file).await?;
        }
    }
    Ok(())
}

async fn in_sources(
    session: &AgentSession,
    arguments: &BreakpointArguments,
    function: &str,
) -> Result<BreakpointArguments, Failure> {
    let found = functions::find(function, &session.source_files().await);
    let (file, line) = found.ok_or_else(|| {
        Failure::new(ErrorCode::NotFound, format!("no function `{function}` in the sources of the program"))
            .hint("pass `sourceFile` with the `text` or `line` of a statement")
    })?;
    Ok(arguments.at_line(file, line))
}

async fn add(
    call: &ToolCall,
    session: &AgentSession,
    one: &TracepointRequest,
    arguments: &BreakpointArguments,
    hits: u64,
    group: &str,
) -> Result<String, Failure> {
    let mut request = session.request(arguments, &call.bridge.options.roots).await?;
    let (hits, group) = (Some(hits), Some(group.to_owned()));
    request.dap.trace =
        Some(TraceRequest { expressions: one.columns.clone(), hits, group, ..TraceRequest::default() });
    let file = request.file.clone();
    session.with_requested(|requested| requested.add(request, one.id, Purpose::Trace));
    Ok(file)
}

/// The breakpoints that collect the rows, as the engine has set them.
fn tracepoints(
    session: &AgentSession,
    requests: &[TracepointRequest],
) -> Result<(Vec<Tracepoint>, Vec<BreakpointBody>), Failure> {
    session.with_requested(|requested| {
        let (mut places, mut bodies) = (Vec::new(), Vec::new());
        for one in requests {
            let Some((file, breakpoint)) = requested.find(one.id) else { continue };
            if let Some(why) = breakpoint.refusal() {
                return Err(Failure::invalid(format!("nothing can be traced there: {why}")));
            }
            let body = breakpoint.body(file);
            let name = file.rsplit('/').next().unwrap_or(file);
            let at =
                body.function.clone().unwrap_or_else(|| format!("{name}:{}", body.line.unwrap_or_default()));
            places.push(Tracepoint::new(at, one.columns.clone(), breakpoint.dap));
            bodies.push(body);
        }
        Ok((places, bodies))
    })
}

/// The answer of `debug_trace`.
#[derive(Serialize)]
struct TraceAnswer {
    #[serde(flatten)]
    table: TracePage,
    /// The reason why the trace ended.
    ended: &'static str,
    /// The breakpoint, if it was never reached.
    #[serde(skip_serializing_if = "Option::is_none")]
    breakpoint: Option<BreakpointBody>,
    #[serde(skip_serializing_if = "Option::is_none")]
    breakpoints: Option<Vec<BreakpointBody>>,
    state: ProgramState,
    #[serde(skip_serializing_if = "Option::is_none")]
    event: Option<RunEvent>,
    /// New output of a program that still runs.
    #[serde(skip_serializing_if = "Option::is_none")]
    output: Option<NewOutput>,
}

async fn report_trace(
    session: &AgentSession,
    table: TraceTable,
    single: bool,
    mut bound: Vec<BreakpointBody>,
    ended: &'static str,
    budget: Budget,
) -> Result<Value, Failure> {
    let state = session.snapshot().state;
    let (mut breakpoint, mut breakpoints) = (None, None);
    if table.is_empty() {
        match single {
            true => breakpoint = bound.pop(),
            false => breakpoints = Some(bound),
        }
    }
    let (mut event, mut new_output) = (None, None);
    if matches!(state, ProgramState::Stopped | ProgramState::Exited) {
        event = report(session).await.event;
        // The rows say what there is to see of the place.
        if let Some(stop) = event.as_mut().and_then(RunEvent::stop_mut) {
            stop.frame.remove_contents();
        }
    } else {
        session.agent_view.set_pending(true);
        new_output = output(session).await.some();
    }
    let table = table.page(single, budget.part(80));
    answer(&TraceAnswer { table, ended, breakpoint, breakpoints, state, event, output: new_output })
}

/// Collects rows until there are enough, the program stops or ends, or the time is up.
async fn collect(
    table: &mut TraceTable,
    call: &ToolCall,
    session: &AgentSession,
    mut events: Receiver<Arc<Event>>,
    seen: u64,
    hits: u64,
    until: Instant,
) -> Result<&'static str, Failure> {
    let mut snapshot = session.watch_snapshot();
    let triggered = wait_for_trigger(call);
    tokio::pin!(triggered);
    loop {
        let news = async { snapshot.wait_for(|snapshot| snapshot.news > seen).await.is_ok() };
        let next = tokio::select! {
            biased;
            () = call.cancel.cancelled() => return Err(Failure::cancelled()),
            next = events.recv() => Some(next),
            _ = news => None,
            () = &mut triggered => return Ok("triggered"),
            () = tokio::time::sleep_until(until) => return Ok("timeout"),
        };
        let Some(next) = next else {
            // Rows from before the stop may still be on their way through the channel.
            while let Ok(Ok(event)) = tokio::time::timeout(LATE_ROW_TIMEOUT, events.recv()).await {
                table.take(&event);
            }
            let exited = session.snapshot().state == ProgramState::Exited;
            return Ok(match exited {
                true => "exited",
                false if table.hits >= hits => "hits",
                false => "stopped",
            });
        };
        match next {
            Ok(event) => table.take(&event),
            Err(RecvError::Lagged(missed)) => table.missed += missed,
            Err(RecvError::Closed) => return Ok("exited"),
        }
        if table.hits >= hits {
            // The session stops the program with the last row.
            let stopped = snapshot.wait_for(|snapshot| snapshot.news > seen);
            drop(tokio::time::timeout(STOP_TIMEOUT, stopped).await);
            return Ok("hits");
        }
    }
}
