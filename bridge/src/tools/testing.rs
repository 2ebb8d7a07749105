//! Tests: listing, running and debugging them. The crate `test-frameworks` knows the frameworks; this module
//! converts calls to its requests. [`super::test_launch`] debugs a run.

use std::path::{Path, PathBuf};
use std::time::Duration;

use dap_wire::{ErrorCode, Failure};
use serde_json::Value;
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
use crate::arguments::ToolArguments;
use crate::call::ToolCall;
use crate::tool::{Tool, ToolEffect, ToolGroup, run};

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
            input: &["projectPath:s", "filter:s", "start:i", "count:i=100"],
            output: &["tests:a", "total:i", "next:i"],
            run: run!(list),
        },
        Tool {
            name: "run_tests",
            core: false,
            effect: ToolEffect::Mutating,
            description: "Run tests: counts, and why each failed one did. Also noBuild, env, framework, \
                testTimeoutMs, parallel (runs at once).",
            input: &[
                "projectPath:s",
                "tests:as=ids",
                "filter:s=id, or part of names",
                "class:s",
                "file:s",
                "trait:sa",
                "changedSince:s",
                "args:as=of the runner",
                "repeat:i=runs until it fails",
                "timeoutMs:i",
            ],
            output: &["exitCode:i", "output:s", "tests:o", "diagnostics:o", "pending:b"],
            run: run!(run_tests),
        },
        Tool {
            name: "debug_launch_test",
            core: false,
            effect: ToolEffect::Mutating,
            description: "Debug tests, chosen as by run_tests, up to a failure. event.tests: results.",
            input: &[
                "projectPath:s",
                "filter:s",
                "breakpoints:a",
                "repeat:i=runs until it fails",
                "timeoutMs:i",
            ],
            output: &["state:s", "session:s", "event:o", "pending:b"],
            run: run!(test_launch::launch_test),
        },
    ],
};

async fn list(call: &ToolCall) -> Result<Value, Failure> {
    let arguments = &call.arguments;
    let request = request(call, arguments, &call.bridge.options.roots).await?.map_err(|project| {
        let message = format!("which tests `{}` has is not known here", project.folder.display());
        Failure::new(ErrorCode::Unsupported, message).hint("run_tests runs all of them")
    })?;
    let start = usize::try_from(arguments.number("start")?.unwrap_or(0)).unwrap_or(usize::MAX);
    let count = arguments.number("count")?.unwrap_or(DEFAULT_COUNT).clamp(1, MAX_COUNT);
    let page = (start, usize::try_from(count).unwrap_or(usize::MAX));
    let key = format!("list_tests {} {page:?}", key(&request));
    builds::wait(call, &key, move |cancel, say| async move { request.list(page, &cancel, &say).await }).await
}

async fn run_tests(call: &ToolCall) -> Result<Value, Failure> {
    let arguments = &call.arguments;
    let mut request = match request(call, arguments, &call.bridge.options.roots).await? {
        Ok(request) => request,
        Err(project) => return generic(call, project).await,
    };
    request.output_bytes = builds::output_bytes(call)?;
    let number = |name: &str, most: u64| match arguments.number(name)?.unwrap_or(1) {
        number if (1..=most).contains(&number) => Ok(number),
        other => Err(Failure::invalid(format!("`{name}` is {other}; it must be 1 to {most}"))),
    };
    let (most, parallel) = (number("repeat", MAX_RUNS)?, number("parallel", MAX_PARALLEL)?);
    let key = format!("run_tests {} {most} {parallel}", key(&request));
    builds::wait(
        call,
        &key,
        move |cancel, say| async move { request.repeat(most, parallel, &cancel, &say).await },
    )
    .await
}

/// A runner without test selection: it runs everything, or what its arguments name (makefiles, scripts).
async fn generic(call: &ToolCall, project: Project) -> Result<Value, Failure> {
    let chosen = build::RunnerArguments {
        filter: call.arguments.text("filter")?.filter(|filter| !filter.is_empty()),
        arguments: call.arguments.texts("args")?,
    };
    let most = builds::output_bytes(call)?;
    let key = format!("test {project:?} {chosen:?}");
    builds::wait(call, &key, move |cancel, say| {
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
    arguments: &ToolArguments,
    roots: &Roots,
) -> Result<Result<TestRequest, Project>, Failure> {
    let mut request = parse(arguments, roots)?;
    if let (Ok(request), Some(revision)) = (&mut request, arguments.text("changedSince")?)
        && !revision.is_empty()
    {
        request.selection.changed =
            Some(changed_files(call, roots, &request.project.folder, &revision).await?);
    }
    Ok(request)
}

/// As [`request`], without `changedSince`, which needs git.
///
/// # Errors
/// `PATH_NOT_ALLOWED`, `NOT_FOUND`, `INVALID_PARAMETER`.
pub fn parse(arguments: &ToolArguments, roots: &Roots) -> Result<Result<TestRequest, Project>, Failure> {
    let (path, tool) = (arguments.text("projectPath")?, arguments.text("tool")?);
    let named = tool.as_deref().and_then(framework::by_name);
    let kind = named.map(|framework| framework.kind().name()).or(tool.as_deref());
    let (project, scope) = locate(roots, path.as_deref(), kind)?;
    // The name of a kind may be that of one of its frameworks.
    let named = named.filter(|framework| framework.name() != framework.kind().name());
    let Some(framework) = named.or_else(|| framework::of(&project)) else { return Ok(Err(project)) };
    let mut request = TestRequest::new(project, framework);
    let text = |key: &str| Ok::<_, Failure>(arguments.text(key)?.filter(|text| !text.is_empty()));
    let traits = arguments.texts("trait")?;
    request.selection = TestSelection {
        ids: arguments.texts("tests")?,
        filter: text("filter")?,
        file: text("file")?.or(scope),
        class: text("class")?,
        traits,
        framework: text("framework")?,
        changed: None,
    };
    if request.selection.filter.as_ref().is_some_and(|filter| filter.starts_with('-')) {
        return Err(Failure::invalid("`filter` must not begin with `-`").hint("options belong in `args`"));
    }
    let options = &mut request.options;
    options.no_build = arguments.flag("noBuild")?.unwrap_or(false);
    options.arguments = arguments.texts("args")?;
    options.configuration = text("configuration")?;
    options.python = arguments.texts("python")?.into_iter().next().filter(|python| !python.is_empty());
    options.settings = text("runsettings")?.or(text("settings")?);
    options.test_limit = arguments.number("testTimeoutMs")?.map(Duration::from_millis);
    if let Some(limit) = arguments.number("runTimeoutMs")? {
        options.run_limit = Duration::from_millis(limit).min(build::RUN_TIMEOUT);
    }
    options.env.extend(arguments.environment("env")?);
    Ok(Ok(request))
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
