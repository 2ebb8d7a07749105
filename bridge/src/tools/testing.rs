//! Tests: the tools that list, run and debug them. Converts calls to requests of the crate `tandem-testing`,
//! which knows the frameworks.
//!
//! Not here: runs under the debugger ([`super::test_launch`]).

use schemars::JsonSchema;
use serde::Deserialize;
use serde_json::Value;
use tandem_testing::repeat::{MAX_PARALLEL, MAX_RUNS};
use tandem_testing::request::TestRequest;
use tandem_wire::{ErrorCode, Failure};
use tandem_workspace::build::project::Project;
use tandem_workspace::build::{self, BuildAction};

use super::{answer, builds, test_launch};
use crate::arguments::schema::ArgumentSchema;
use crate::call::ToolCall;
use crate::test_request::{self, TestArguments, key};
use crate::test_run::LaunchTestArguments;
use crate::tool::{AnswerField, StopUse, Tool, ToolEffect, ToolGroup, run};

/// Tests in one list by default.
const DEFAULT_COUNT: u64 = 100;
/// Maximum number of tests in one list.
const MAX_COUNT: u64 = 2000;

/// The tools that list, run and debug tests.
pub const GROUP: ToolGroup = ToolGroup {
    name: "tests",
    tools: &[
        Tool {
            name: "list_tests",
            core: false,
            effect: ToolEffect::Mutating,
            stop: StopUse::Independent,
            description: "Tests with id, place, traits. Builds first.",
            input: ArgumentSchema::of::<ListTestsArguments>,
            output: &[
                AnswerField::list("tests"),
                AnswerField::integer("total"),
                AnswerField::integer("next"),
            ],
            run: run!(list),
        },
        Tool {
            name: "run_tests",
            core: false,
            effect: ToolEffect::Mutating,
            stop: StopUse::Independent,
            description: "Run tests: counts, and why each failed one did. Also noBuild, env, framework, \
                testTimeoutMs, parallel (runs at once).",
            input: || ArgumentSchema::of::<RunTestsArguments>().describe("filter", "id, or part of names"),
            output: &[
                AnswerField::integer("exitCode"),
                AnswerField::text("output"),
                AnswerField::object("tests"),
                AnswerField::object("diagnostics"),
                AnswerField::flag("pending"),
            ],
            run: run!(run_tests),
        },
        Tool {
            name: "debug_launch_test",
            core: false,
            effect: ToolEffect::Mutating,
            stop: StopUse::Launches,
            description: "Debug tests, chosen as by run_tests, up to a failure. event.tests: results.",
            input: ArgumentSchema::of::<LaunchTestArguments>,
            output: &[
                AnswerField::text("state"),
                AnswerField::text("session"),
                AnswerField::object("event"),
                AnswerField::flag("pending"),
            ],
            run: run!(test_launch::launch_test),
        },
    ],
};

#[derive(Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
#[schemars(extend(
    "x-unlisted" = ["tests", "class", "file", "trait", "changedSince", "args", "timeoutMs"]
))]
struct ListTestsArguments {
    #[serde(flatten)]
    tests: TestArguments,
    #[serde(default)]
    start: u64,
    #[schemars(extend("default" = DEFAULT_COUNT))]
    count: Option<u64>,
    timeout_ms: Option<u64>,
}

#[derive(Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
#[schemars(extend("x-unlisted" = ["parallel", "maxBytes"]))]
struct RunTestsArguments {
    #[serde(flatten)]
    tests: TestArguments,
    #[schemars(description = "runs until it fails")]
    repeat: Option<u64>,
    timeout_ms: Option<u64>,
    parallel: Option<u64>,
    max_bytes: Option<u64>,
}

async fn list(call: &ToolCall, arguments: ListTestsArguments) -> Result<Value, Failure> {
    let request = request(call, &arguments.tests).await?.map_err(|project| {
        let message = format!("which tests `{}` has is not known here", project.folder.display());
        Failure::new(ErrorCode::Unsupported, message).hint("run_tests runs all of them")
    })?;
    let start = usize::try_from(arguments.start).unwrap_or(usize::MAX);
    let count = arguments.count.unwrap_or(DEFAULT_COUNT).clamp(1, MAX_COUNT);
    let page = (start, usize::try_from(count).unwrap_or(usize::MAX));
    let key = format!("list_tests {} {page:?}", key(&request));
    builds::wait(call, &key, arguments.timeout_ms, move |cancel, say| async move {
        answer(&request.list(page, &cancel, &say).await?)
    })
    .await
}

async fn run_tests(call: &ToolCall, arguments: RunTestsArguments) -> Result<Value, Failure> {
    let mut request = match request(call, &arguments.tests).await? {
        Ok(request) => request,
        Err(project) => return generic(call, arguments, project).await,
    };
    request.output_bytes = builds::output_bytes(arguments.max_bytes);
    let number = |name: &str, given: Option<u64>, most: u64| match given.unwrap_or(1) {
        number if (1..=most).contains(&number) => Ok(number),
        other => Err(Failure::invalid(format!("`{name}` is {other}; it must be 1 to {most}"))),
    };
    let most = number("repeat", arguments.repeat, MAX_RUNS)?;
    let parallel = number("parallel", arguments.parallel, MAX_PARALLEL)?;
    let key = format!("run_tests {} {most} {parallel}", key(&request));
    builds::wait(call, &key, arguments.timeout_ms, move |cancel, say| async move {
        answer(&request.repeat(most, parallel, &cancel, &say).await?)
    })
    .await
}

/// The request of a call; the project when its framework is not known.
async fn request(call: &ToolCall, tests: &TestArguments) -> Result<Result<TestRequest, Project>, Failure> {
    let options = &call.bridge.options;
    test_request::request(tests, &options.roots, options.offer.commands, &call.cancel).await
}

/// A runner without test selection: it runs everything, or what its arguments name (makefiles, scripts).
async fn generic(call: &ToolCall, arguments: RunTestsArguments, project: Project) -> Result<Value, Failure> {
    let TestArguments { selection, options } = arguments.tests;
    let chosen = build::RunnerArguments { filter: selection.filter, arguments: options.args };
    let most = builds::output_bytes(arguments.max_bytes);
    let key = format!("test {project:?} {chosen:?}");
    builds::wait(call, &key, arguments.timeout_ms, move |cancel, say| {
        build::run(project, BuildAction::Test, chosen, most, cancel, say)
    })
    .await
}
