//! Tests as agents and editors select them, and their conversion to a request of the crate
//! `tandem-testing`.

use std::path::{Path, PathBuf};
use std::time::Duration;

use schemars::JsonSchema;
use serde::Deserialize;
use serde_json::{Map, Value};
use tandem_testing::frameworks;
use tandem_testing::request::TestRequest;
use tandem_testing::select::TestSelection;
use tandem_wire::{ErrorCode, Failure};
use tandem_workspace::build::project::{BuildTool, Project};
use tandem_workspace::build::{self};
use tandem_workspace::git::repository::{self, Repository};
use tandem_workspace::process::ProcessExit;
use tandem_workspace::roots::Roots;
use tokio_util::sync::CancellationToken;

use crate::arguments;
use crate::arguments::schema::TextOrTexts;

/// Tests, as a call selects them, and how they are run.
#[derive(Debug, Clone, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct TestArguments {
    #[serde(flatten)]
    pub(crate) selection: SelectionArguments,
    #[serde(flatten)]
    pub(crate) options: OptionArguments,
}

#[derive(Debug, Clone, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub(crate) struct SelectionArguments {
    project_path: Option<String>,
    #[schemars(description = "ids")]
    #[serde(default)]
    tests: Vec<String>,
    pub(crate) filter: Option<String>,
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
pub(crate) struct OptionArguments {
    #[schemars(description = "of the runner")]
    #[serde(default)]
    pub(crate) args: Vec<String>,
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

impl TestArguments {
    /// The folder or file of the project.
    pub(crate) fn project_path(&self) -> Option<&str> {
        self.selection.project_path.as_deref()
    }

    /// The Python interpreter, as the engine takes it.
    pub(crate) fn python(&self) -> Option<&Value> {
        self.options.python.as_ref()
    }
}

/// The arguments that distinguish one request from another.
pub(crate) fn key(request: &TestRequest) -> String {
    format!("{:?} {:?} {:?}", request.project, request.selection, request.options)
}

/// Converts the arguments to a request; returns the project when its framework is not known. `commands` says
/// whether git may run programs that a repository names.
///
/// # Errors
/// `PATH_NOT_ALLOWED`, `NOT_FOUND`, `INVALID_PARAMETER`.
pub(crate) async fn request(
    arguments: &TestArguments,
    roots: &Roots,
    commands: bool,
    cancel: &CancellationToken,
) -> Result<Result<TestRequest, Project>, Failure> {
    let mut request = parse(arguments, roots)?;
    if let (Ok(request), Some(revision)) = (&mut request, &arguments.selection.changed_since) {
        request.selection.changed =
            Some(changed_files(roots, &request.project.folder, revision, commands, cancel).await?);
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
    let named = tool.and_then(frameworks::by_name);
    let kind = named.map(|framework| framework.kind().name()).or(tool);
    let (project, scope) = locate(roots, chosen.project_path.as_deref(), kind)?;
    // The name of a kind may be that of one of its frameworks.
    let named = named.filter(|framework| framework.name() != framework.kind().name());
    let Some(framework) = named.or_else(|| frameworks::of(&project)) else { return Ok(Err(project)) };
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
    roots: &Roots,
    folder: &Path,
    revision: &str,
    commands: bool,
    cancel: &CancellationToken,
) -> Result<Vec<PathBuf>, Failure> {
    let revision = repository::revision(revision)?;
    let repository = Repository::open(roots, folder.to_str(), commands, cancel).await?;
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
