//! Tests: the tools that list, run and debug them. Converts calls to requests of the crate `test-frameworks`,
//! which knows the frameworks.
//!
//! Not here: runs under the debugger ([`super::test_launch`]).

use std::path::{Path, PathBuf};
use std::time::Duration;

use dap_wire::{ErrorCode, Failure};
use schemars::JsonSchema;
use serde::Deserialize;
use serde_json::{Map, Value};
use test_frameworks::framework;
use test_frameworks::repeat::{MAX_PARALLEL, MAX_RUNS};
use test_frameworks::request::TestRequest;
use test_frameworks::select::TestSelection;
use workspace_tools::build::project::{BuildTool, Project};
use workspace_tools::build::{self, BuildAction};
use workspace_tools::git::repository::{self, Repository};
use workspace_tools::process::ProcessExit;
use workspace_tools::roots::Roots;

use super::{builds, test_launch};
use crate::arguments;
use crate::arguments::schema::{ArgumentSchema, TextOrTexts};
use crate::call::ToolCall;
use crate::tool::{AnswerField, Tool, ToolEffect, ToolGroup, run};

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
            description: "Debug tests, chosen as by run_tests, up to a failure. event.tests: results.",
            input: ArgumentSchema::of::<test_launch::LaunchTestArguments>,
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

/// Tests, as a call selects them, and how they are run.
#[derive(Debug, Clone, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct TestArguments {
    #[serde(flatten)]
    selection: SelectionArguments,
    #[serde(flatten)]
    options: OptionArguments,
}

#[derive(Debug, Clone, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
struct SelectionArguments {
    project_path: Option<String>,
    #[schemars(description = "ids")]
    #[serde(default)]
    tests: Vec<String>,
    filter: Option<String>,
    class: Option<String>,
    file: Option<String>,
    #[serde(rename = "trait")]
    traits: Option<TextOrTexts>,
    changed_since: Option<String>,
    #[schemars(extend("x-unlisted" = true))]
    tool: Option<String>,
    #[schemars(extend("x-unlisted" = true))]
    framework: Option<String>,
}

#[derive(Debug, Clone, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
struct OptionArguments {
    #[schemars(description = "of the runner")]
    #[serde(default)]
    args: Vec<String>,
    #[schemars(extend("x-unlisted" = true))]
    #[serde(default)]
    no_build: bool,
    #[schemars(extend("x-unlisted" = true))]
    configuration: Option<String>,
    // A string or a list, as the engine takes it.
    #[schemars(extend("x-unlisted" = true))]
    python: Option<Value>,
    #[schemars(extend("x-unlisted" = true))]
    runsettings: Option<String>,
    #[schemars(extend("x-unlisted" = true))]
    settings: Option<String>,
    #[schemars(extend("x-unlisted" = true))]
    test_timeout_ms: Option<u64>,
    #[schemars(extend("x-unlisted" = true))]
    run_timeout_ms: Option<u64>,
    #[schemars(extend("x-unlisted" = true))]
    #[serde(default)]
    env: Map<String, Value>,
}

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

impl TestArguments {
    /// The folder or file of the project.
    pub(super) fn project_path(&self) -> Option<&str> {
        self.selection.project_path.as_deref()
    }

    /// The Python interpreter, as the engine takes it.
    pub(super) fn python(&self) -> Option<&Value> {
        self.options.python.as_ref()
    }
}

async fn list(call: &ToolCall, arguments: ListTestsArguments) -> Result<Value, Failure> {
    let request = request(call, &arguments.tests, &call.bridge.options.roots).await?.map_err(|project| {
        let message = format!("which tests `{}` has is not known here", project.folder.display());
        Failure::new(ErrorCode::Unsupported, message).hint("run_tests runs all of them")
    })?;
    let start = usize::try_from(arguments.start).unwrap_or(usize::MAX);
    let count = arguments.count.unwrap_or(DEFAULT_COUNT).clamp(1, MAX_COUNT);
    let page = (start, usize::try_from(count).unwrap_or(usize::MAX));
    let key = format!("list_tests {} {page:?}", key(&request));
    builds::wait(call, &key, arguments.timeout_ms, move |cancel, say| async move {
        request.list(page, &cancel, &say).await
    })
    .await
}

async fn run_tests(call: &ToolCall, arguments: RunTestsArguments) -> Result<Value, Failure> {
    let mut request = match request(call, &arguments.tests, &call.bridge.options.roots).await? {
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
        request.repeat(most, parallel, &cancel, &say).await
    })
    .await
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

/// The arguments that distinguish one request from another.
pub(super) fn key(request: &TestRequest) -> String {
    format!("{:?} {:?} {:?}", request.project, request.selection, request.options)
}

/// Converts a call to a request; returns the project when its framework is not known.
///
/// # Errors
/// `PATH_NOT_ALLOWED`, `NOT_FOUND`, `INVALID_PARAMETER`.
pub(super) async fn request(
    call: &ToolCall,
    arguments: &TestArguments,
    roots: &Roots,
) -> Result<Result<TestRequest, Project>, Failure> {
    let mut request = parse(arguments, roots)?;
    if let (Ok(request), Some(revision)) = (&mut request, &arguments.selection.changed_since) {
        request.selection.changed =
            Some(changed_files(call, roots, &request.project.folder, revision).await?);
    }
    Ok(request)
}

/// As [`request`], without `changedSince`, which needs git.
///
/// # Errors
/// `PATH_NOT_ALLOWED`, `NOT_FOUND`, `INVALID_PARAMETER`.
pub fn parse(arguments: &TestArguments, roots: &Roots) -> Result<Result<TestRequest, Project>, Failure> {
    let TestArguments { selection: chosen, options: given } = arguments.clone();
    let tool = chosen.tool.as_deref();
    let named = tool.and_then(framework::by_name);
    let kind = named.map(|framework| framework.kind().name()).or(tool);
    let (project, scope) = locate(roots, chosen.project_path.as_deref(), kind)?;
    // The name of a kind may be that of one of its frameworks.
    let named = named.filter(|framework| framework.name() != framework.kind().name());
    let Some(framework) = named.or_else(|| framework::of(&project)) else { return Ok(Err(project)) };
    let mut request = TestRequest::new(project, framework);
    request.selection = TestSelection {
        ids: chosen.tests,
        filter: chosen.filter,
        file: chosen.file.or(scope),
        class: chosen.class,
        traits: chosen.traits.map(|traits| traits.0).unwrap_or_default(),
        framework: chosen.framework,
        changed: None,
    };
    if request.selection.filter.as_ref().is_some_and(|filter| filter.starts_with('-')) {
        return Err(Failure::invalid("`filter` must not begin with `-`").hint("options belong in `args`"));
    }
    let options = &mut request.options;
    options.no_build = given.no_build;
    options.arguments = given.args;
    options.configuration = given.configuration;
    options.python = given.python.as_ref().and_then(interpreter);
    options.settings = given.runsettings.or(given.settings);
    options.test_limit = given.test_timeout_ms.map(Duration::from_millis);
    if let Some(limit) = given.run_timeout_ms {
        options.run_limit = Duration::from_millis(limit).min(build::RUN_TIMEOUT);
    }
    options.env.extend(arguments::environment("env", &given.env)?);
    Ok(Ok(request))
}

/// The interpreter in the argument `python`: a path, or a list that begins with one.
fn interpreter(python: &Value) -> Option<String> {
    let first = match python {
        Value::Array(list) => list.first()?,
        one => one,
    };
    first.as_str().filter(|python| !python.is_empty()).map(str::to_owned)
}

/// Finds the project of a path, there or in the folders above. A source in it becomes the scope.
fn locate(
    roots: &Roots,
    path: Option<&str>,
    tool: Option<&str>,
) -> Result<(Project, Option<String>), Failure> {
    let failure = match Project::find(roots, path, tool) {
        Ok(project) => return Ok((project.for_tests(roots), None)),
        Err(failure) => failure,
    };
    let named = roots.existing_path(path)?;
    if failure.code != ErrorCode::NotFound {
        return Err(failure);
    }
    let inside = |folder: &&Path| roots.paths().any(|root| folder.starts_with(root));
    for above in named.ancestors().skip(1).take_while(inside) {
        let found = Project::find(roots, above.to_str(), tool);
        if let Ok(project) = found {
            let mut project = project.for_tests(roots);
            if project.kind == BuildTool::Dotnet {
                return Ok((project, named.to_str().map(str::to_owned)));
            }
            project.file = Some(named);
            return Ok((project, None));
        }
    }
    // A folder whose tests lie one below.
    for (below, kind) in [
        ("tests", BuildTool::Pytest),
        ("test", BuildTool::Pytest),
        ("test", BuildTool::Ruby),
        ("spec", BuildTool::Ruby),
    ] {
        let inner = named.join(below);
        if inner.is_dir()
            && Project::find(roots, inner.to_str(), tool).is_ok_and(|project| project.kind == kind)
        {
            return Ok((Project { kind, folder: named, file: None }, None));
        }
    }
    Err(failure)
}

/// The files that git says differ from a revision, and new ones.
async fn changed_files(
    call: &ToolCall,
    roots: &Roots,
    folder: &Path,
    revision: &str,
) -> Result<Vec<PathBuf>, Failure> {
    let revision = repository::revision(revision)?;
    let commands = call.bridge.options.offer.commands;
    let repository = Repository::open(roots, folder.to_str(), commands, &call.cancel).await?;
    let mut files = Vec::new();
    for arguments in [
        vec!["diff", "--name-only", "-z", "--no-renames", revision, "--"],
        vec!["ls-files", "--others", "--exclude-standard", "--full-name", "-z"],
    ] {
        let output = repository.run(arguments).await?;
        if output.ended != (ProcessExit { code: 0 }) {
            let message = format!("git cannot compare with `{revision}`: {}", output.err.trim());
            return Err(Failure::invalid(message).hint("pass a revision that `git rev-parse` accepts"));
        }
        let top = &repository.layout.top;
        let names = output.out.split(|byte| *byte == 0).filter(|name| !name.is_empty());
        files.extend(names.map(|name| top.join(String::from_utf8_lossy(name).as_ref())));
    }
    Ok(files)
}
