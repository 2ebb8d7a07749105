//! Inspection of a stop: variables, stack, expressions, threads, modules, source. Answers are bounded,
//! and say where they end.
//!
//! Not here: assignments ([`super::assignment`]), and a whole stop in one answer ([`super::snapshot`]).

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::Value;
use tandem_wire::types::{DapModule, DapModulesArguments, EvaluationEffects};
use tandem_wire::{ErrorCode, Failure, types};

use super::stop_exception::exception_of;
use super::stops::{named_thread, stopped_thread};
use super::value_path::{PathOfRows, as_evaluation, value_at, watch};
use super::values::{MAX_VALUE_LEN, ReadValue, VariablePage, VariableReader, VariableRow, limit_depth};
use super::{answer, assignment, frames, source_lines, threads};
use crate::arguments::schema::ArgumentSchema;
use crate::bounds::{Budget, cut};
use crate::call::ToolCall;
use crate::session::{AgentSession, REQUEST_TIMEOUT};
use crate::tool::{AnswerField, StopUse, Tool, ToolEffect, ToolGroup, run};

/// Rows of one answer, over all depths.
const MAX_ROWS: usize = 400;
/// Maximum number of expressions in one call.
const MAX_EXPRESSIONS: usize = 50;
/// Rows shown of a value that was evaluated.
const MAX_CHILDREN: u64 = 20;
/// Variables of one answer by default, and at most.
const DEFAULT_VARIABLES: u64 = 100;
const MAX_VARIABLES: u64 = 300;
/// Modules of one answer by default, and at most.
const DEFAULT_MODULES: u64 = 100;
const MAX_MODULES: u64 = 1000;

/// Reasons of a stop that is at no exception, as DAP names them.
const NO_EXCEPTION: [&str; 7] =
    ["breakpoint", "function breakpoint", "data breakpoint", "step", "goto", "entry", "pause"];

/// The tools that look at a stop.
pub const GROUP: ToolGroup = ToolGroup {
    name: "inspection",
    tools: &[
        Tool {
            name: "debug_variables",
            core: true,
            effect: ToolEffect::ReadOnly,
            stop: StopUse::Inspects,
            description: "Variables of a frame, or members of one value.",
            input: ArgumentSchema::of::<ListVariablesArguments>,
            output: &[
                AnswerField::list("variables"),
                AnswerField::integer("next"),
                AnswerField::integer("omitted"),
            ],
            run: run!(variables),
        },
        Tool {
            name: "debug_stacktrace",
            core: false,
            effect: ToolEffect::ReadOnly,
            stop: StopUse::Inspects,
            description: "The call stack: id, function, file, line, source of frames. Runs of library frames \
                are folded; start shows them.",
            input: ArgumentSchema::of::<frames::StackArguments>,
            output: &[AnswerField::list("frames"), AnswerField::integer("next")],
            run: run!(frames::stacktrace),
        },
        Tool {
            name: "debug_evaluate",
            core: true,
            effect: ToolEffect::Mutating,
            stop: StopUse::Inspects,
            description: "Evaluate an expression, or a list: results has a value or error for each. Also \
                allowSideEffects.",
            input: ArgumentSchema::of::<ExpressionArguments>,
            output: &[
                AnswerField::text("result"),
                AnswerField::text("type"),
                AnswerField::list("children"),
                AnswerField::list("results"),
            ],
            run: run!(evaluate),
        },
        Tool {
            name: "debug_threads",
            core: false,
            effect: ToolEffect::ReadOnly,
            stop: StopUse::Inspects,
            description: "Threads; places adds each one's location.",
            input: ArgumentSchema::of::<threads::ThreadsArguments>,
            output: &[AnswerField::list("threads"), AnswerField::integer("next")],
            run: run!(threads::threads),
        },
        Tool {
            name: "debug_exception_info",
            core: false,
            effect: ToolEffect::ReadOnly,
            stop: StopUse::Inspects,
            description: "Type, message, stack, inner exceptions of the exception it stopped at.",
            input: ArgumentSchema::of::<ThreadArguments>,
            output: &[
                AnswerField::text("exceptionId"),
                AnswerField::text("description"),
                AnswerField::text("breakMode"),
                AnswerField::object("details"),
            ],
            run: run!(exception_info),
        },
        Tool {
            name: "debug_set_variable",
            core: false,
            effect: ToolEffect::Idempotent,
            stop: StopUse::Inspects,
            description: "Set a variable, member or element.",
            input: ArgumentSchema::of::<assignment::SetArguments>,
            output: &[AnswerField::text("value"), AnswerField::text("type")],
            run: run!(assignment::set_variable),
        },
        Tool {
            name: "debug_modules",
            core: false,
            effect: ToolEffect::ReadOnly,
            stop: StopUse::Inspects,
            description: "Loaded modules and whether their symbols were found.",
            input: ArgumentSchema::of::<ModulesArguments>,
            output: &[AnswerField::list("modules"), AnswerField::integer("next")],
            run: run!(modules),
        },
        Tool {
            name: "debug_source",
            core: false,
            effect: ToolEffect::ReadOnly,
            stop: StopUse::Inspects,
            description: "Numbered source lines around a frame, or of a file of the program.",
            input: ArgumentSchema::of::<source_lines::SourceArguments>,
            output: &[
                AnswerField::text("file"),
                AnswerField::list("lines"),
                AnswerField::integer("next"),
                AnswerField::text("origin"),
            ],
            run: run!(source_lines::source),
        },
    ],
};

#[derive(Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
struct ListVariablesArguments {
    frame_id: Option<u64>,
    #[schemars(description = "value to look into")]
    path: Option<String>,
    scope: Option<String>,
    #[schemars(extend("default" = 1))]
    depth: Option<u64>,
    #[serde(default)]
    start: u64,
    #[schemars(extend("default" = DEFAULT_VARIABLES))]
    count: Option<u64>,
    max_tokens: Option<u64>,
}

#[derive(Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
#[schemars(extend("x-unlisted" = ["allowSideEffects"]))]
struct ExpressionArguments {
    expression: Option<String>,
    #[serde(default)]
    expressions: Vec<String>,
    frame_id: Option<u64>,
    allow_side_effects: Option<bool>,
}

#[derive(Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
#[schemars(extend("x-unlisted" = ["threadId"]))]
struct ThreadArguments {
    thread_id: Option<u64>,
}

#[derive(Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
#[schemars(extend("x-unlisted" = ["maxTokens"]))]
struct ModulesArguments {
    #[schemars(description = "part of it")]
    name: Option<String>,
    #[serde(default)]
    start: u64,
    #[schemars(extend("default" = DEFAULT_MODULES))]
    count: Option<u64>,
    max_tokens: Option<u64>,
}

/// The answer of `debug_variables`.
#[derive(Serialize)]
struct VariablesAnswer {
    #[serde(skip_serializing_if = "Option::is_none")]
    next: Option<u64>,
    #[serde(skip_serializing_if = "Option::is_none")]
    omitted: Option<usize>,
    /// A limit that applied to the request.
    #[serde(skip_serializing_if = "Option::is_none")]
    message: Option<String>,
    variables: Vec<VariableRow>,
}

/// The answer of `debug_evaluate` about one expression.
#[derive(Debug, Default, Serialize)]
struct EvaluatedExpression {
    #[serde(skip_serializing_if = "Option::is_none")]
    result: Option<String>,
    #[serde(rename = "type", skip_serializing_if = "Option::is_none")]
    kind: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    children: Option<Vec<VariableRow>>,
    /// How to read the other children.
    #[serde(skip_serializing_if = "Option::is_none")]
    more: Option<&'static str>,
    #[serde(skip_serializing_if = "Option::is_none")]
    error: Option<EvaluationError>,
    /// The expression, among several.
    #[serde(skip_serializing_if = "Option::is_none")]
    expression: Option<String>,
}

#[derive(Debug, Serialize)]
struct EvaluationError {
    code: &'static str,
    message: String,
}

/// The answer of `debug_evaluate` about several expressions.
#[derive(Serialize)]
struct EvaluatedExpressions {
    results: Vec<EvaluatedExpression>,
}

/// The answer of `debug_modules`.
#[derive(Serialize)]
struct ModuleList {
    #[serde(skip_serializing_if = "Option::is_none")]
    next: Option<u64>,
    #[serde(skip_serializing_if = "Option::is_none")]
    omitted: Option<usize>,
    modules: Vec<DapModule>,
}

async fn variables(call: &ToolCall, arguments: ListVariablesArguments) -> Result<Value, Failure> {
    let session = call.session().await?;
    let (depth, message) = limit_depth(arguments.depth);
    let start = arguments.start;
    let budget = Budget::of(arguments.max_tokens);
    let count = arguments.count.unwrap_or(DEFAULT_VARIABLES).clamp(1, MAX_VARIABLES);
    let frame = frames::frame_of(arguments.frame_id, &session).await?;
    let scope = arguments.scope.as_deref();
    let values = match arguments.path {
        Some(path) => {
            let value = value_at(&session, frame, scope, &path, &call.cancel).await?;
            if value.variables_reference == 0 {
                let text = cut(&value.result, MAX_VALUE_LEN);
                let row = VariableRow { name: path, value: text, kind: value.kind, ..VariableRow::default() };
                return answer(&VariablesAnswer { next: None, omitted: None, message, variables: vec![row] });
            }
            let path = path.trim().to_owned();
            vec![ReadValue::new(value.variables_reference, value.indexed_variables, path)]
        }
        None => frames::scope(scope, &session, frame).await?.into_iter().map(ReadValue::scope).collect(),
    };
    let VariablePage { rows, next: continues } =
        VariableReader::new(&session, MAX_ROWS).read_scopes(&values, start, count, depth).await?;
    let page = budget.page(rows, start);
    let next = page.next.or(continues);
    answer(&VariablesAnswer { next, omitted: page.omitted, message, variables: page.rows })
}

async fn evaluate(call: &ToolCall, arguments: ExpressionArguments) -> Result<Value, Failure> {
    let session = call.session().await?;
    let ExpressionArguments { expression, expressions: list, frame_id, allow_side_effects } = arguments;
    let allow_side_effects = allow_side_effects.unwrap_or(true);
    if list.is_empty() {
        let expression =
            expression.ok_or_else(|| Failure::invalid("`expression` is missing; it must be a string"))?;
        let frame = frames::frame_of(frame_id, &session).await?;
        return answer(&evaluate_one(call, &session, &expression, frame, allow_side_effects).await?);
    }
    if list.len() > MAX_EXPRESSIONS {
        return Err(Failure::invalid(format!(
            "{} expressions; one call takes {MAX_EXPRESSIONS}",
            list.len()
        )));
    }
    let frame = frames::frame_of(frame_id, &session).await?;
    let mut results = Vec::new();
    for expression in list {
        let row = match evaluate_one(call, &session, &expression, frame, allow_side_effects).await {
            Ok(row) => row,
            Err(failure) if failure.code == ErrorCode::Cancelled => return Err(failure),
            Err(failure) => {
                let error = EvaluationError { code: failure.code.as_str(), message: failure.message };
                EvaluatedExpression { error: Some(error), ..EvaluatedExpression::default() }
            }
        };
        results.push(EvaluatedExpression { expression: Some(expression), ..row });
    }
    answer(&EvaluatedExpressions { results })
}

async fn evaluate_one(
    call: &ToolCall,
    session: &AgentSession,
    expression: &str,
    frame: Option<i64>,
    allow_side_effects: bool,
) -> Result<EvaluatedExpression, Failure> {
    let body = match PathOfRows::parse(expression) {
        Some(rows) => as_evaluation(rows.locate(session, frame, None, &call.cancel).await?.row),
        None => {
            let mut arguments = watch(frame, expression);
            if !allow_side_effects {
                let effects = EvaluationEffects { allow_side_effects: Some(false) };
                arguments.rest = types::fields(&effects);
            }
            session.send_or_cancel(&arguments, REQUEST_TIMEOUT, &call.cancel).await?
        }
    };
    let result = Some(cut(&body.result, MAX_VALUE_LEN));
    let mut evaluation = EvaluatedExpression { result, kind: body.kind, ..EvaluatedExpression::default() };
    if body.variables_reference > 0 {
        let mut rows = VariableReader::new(session, MAX_ROWS);
        let path = expression.trim().to_owned();
        let value = ReadValue::new(body.variables_reference, body.indexed_variables, path);
        let page = rows.read(&value, 0, MAX_CHILDREN, 1).await?;
        evaluation.children = Some(page.rows);
        evaluation.more = page.next.map(|_| "debug_variables with this path continues");
    }
    Ok(evaluation)
}

async fn modules(call: &ToolCall, arguments: ModulesArguments) -> Result<Value, Failure> {
    let session = call.session().await?;
    let ModulesArguments { name, start, count, max_tokens } = arguments;
    let count = count.unwrap_or(DEFAULT_MODULES).clamp(1, MAX_MODULES);
    let name = name.unwrap_or_default().to_lowercase();
    let all = session.send(&DapModulesArguments::default()).await?.modules;
    let list = all.into_iter().filter(|module| module.name.to_lowercase().contains(&name));
    let mut rows: Vec<DapModule> = list
        .skip(usize::try_from(start).unwrap_or(usize::MAX))
        .take(usize::try_from(count).unwrap_or(usize::MAX).saturating_add(1))
        .collect();
    let continues = (rows.len() as u64 > count).then(|| start + count);
    rows.truncate(usize::try_from(count).unwrap_or(usize::MAX));
    let page = Budget::of(max_tokens).page(rows, start);
    let next = page.next.or(continues);
    answer(&ModuleList { next, omitted: page.omitted, modules: page.rows })
}

async fn exception_info(call: &ToolCall, arguments: ThreadArguments) -> Result<Value, Failure> {
    let session = call.session().await?;
    let thread = match named_thread(arguments.thread_id, &session).await? {
        Some(thread) => thread,
        None => stopped_thread(&session)?,
    };
    let stop = session.snapshot().stop;
    // Some engines make one up, or print to the program's stderr that they have none.
    let reason = stop.reason.as_str();
    if stop.thread_id == Some(thread) && NO_EXCEPTION.contains(&reason) {
        return Err(Failure::invalid(format!("the program stopped for `{reason}`, not at an exception"))
            .hint("debug_set_exception_breakpoints chooses the exceptions that stop it"));
    }
    // The engine's own answer, with fields that no schema knows.
    session.ask("exceptionInfo", types::body(&exception_of(thread))).await
}
