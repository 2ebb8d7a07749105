//! .NET through netcoredbg, for users who prefer it to the built-in engine. Not here: finding and building
//! the program, which [`tandem_dotnet_launch`] does for both engines.
//!
//! netcoredbg starts the program itself, finds its runtime by its process id, and cannot redirect its stdio.
//! So it starts a stub, which becomes the program. The program follows `--`, because netcoredbg treats the
//! `program` of `launch` as an assembly for the first `dotnet` of PATH. It starts the program when it is
//! configured; its response to `configurationDone` reports the result (`src/protocols/vscodeprotocol.cpp`,
//! `src/debugger/manageddebugger.cpp`).

use std::path::Path;

use serde::Serialize;
use serde_json::{Map, Value};
use tandem_wire::{Failure, types};

use super::super::adapter_attributes::AdapterAttributes;
use super::super::find::AdapterSearch;
use super::super::launch_plan::{LaunchPlan, ProgramIo, Quirks, Transport};
use super::super::profile::{ConditionProfile, Profile};
use super::super::target::Target;
use tandem_engine::LookOnlyRequests;
use tandem_engine::builds::EventSink;

use tandem_engine::description::Description;
use tandem_process::SpawnSpec;

/// Lets a runtime start where no ICU is installed.
const NO_CULTURES: &str = "DOTNET_SYSTEM_GLOBALIZATION_INVARIANT";

/// Metadata of netcoredbg, known without starting it. No kind of program selects it: users choose it by name.
const DESCRIPTION: Description = Description {
    name: "netcoredbg",
    languages: ".NET, instead of the built-in engine",
    summary: ".NET by netcoredbg.",
    needs: "`netcoredbg`",
    stdio: "netcoredbg starts a stub of Tandem, which opens Tandem's pipes and then becomes the program",
    ..Description::NONE
};

/// How Tandem launches netcoredbg, and where it differs from other adapters.
pub(super) struct Netcoredbg;

impl Profile for Netcoredbg {
    fn description(&self) -> &'static Description {
        &DESCRIPTION
    }

    /// It runs getters for variables.
    fn look_only_requests(&self) -> LookOnlyRequests {
        LookOnlyRequests::Known(&[])
    }

    fn launch(&self, target: &Target) -> Result<LaunchPlan, Failure> {
        self.launch_built(target, &|_, _| {}, &|| false)
    }

    fn launch_built(
        &self,
        target: &Target,
        tell: EventSink<'_>,
        give_up: &dyn Fn() -> bool,
    ) -> Result<LaunchPlan, Failure> {
        // First: a build is long.
        let adapter = adapter(target)?;
        let program = tandem_dotnet_launch::program_of(target.attributes(), tell, give_up)?;
        // The stub sees to the program's arguments and variables: one `null` among these, and netcoredbg
        // drops them all.
        let ours = NetcoredbgLaunch {
            args: Vec::new(),
            env: Map::new(),
            cwd: &program.cwd,
            stop_at_entry: target.flag("stopOnEntry", false)?,
        };
        let plan = plan(target, adapter, "launch", types::body(&ours));
        Ok(LaunchPlan { program_io: ProgramIo::ExecShim(program), ..plan })
    }

    fn clean_up_after(&self, program: u32) {
        tandem_dotnet_launch::services::remove_stale_files(program);
    }

    fn attach(&self, target: &Target) -> Result<LaunchPlan, Failure> {
        let process_id = Some(target.process_id()?);
        let ours = AdapterAttributes { process_id, ..AdapterAttributes::default() };
        Ok(plan(target, adapter(target)?, "attach", ours.into_value()))
    }
}

/// The attributes that Tandem sets for a launch.
#[derive(Debug, Serialize)]
#[serde(rename_all = "camelCase")]
struct NetcoredbgLaunch<'a> {
    args: Vec<String>,
    env: Map<String, Value>,
    cwd: &'a Path,
    stop_at_entry: bool,
}

impl ConditionProfile for Netcoredbg {}

fn adapter(target: &Target) -> Result<std::path::PathBuf, Failure> {
    AdapterSearch::new(
        "netcoredbg",
        "`netcoredbg`",
        "a release of github.com/Samsung/netcoredbg, unpacked onto PATH",
    )
    .with_engine_path(target)?
    .on_path(target, &["netcoredbg"])
    .in_extensions("muhammad-sammy.csharp-", ".debugger/netcoredbg/netcoredbg")
    .end()
}

fn plan(target: &Target, adapter: std::path::PathBuf, command: &'static str, ours: Value) -> LaunchPlan {
    LaunchPlan {
        spec: SpawnSpec {
            program: adapter,
            args: vec!["--interpreter=vscode".into()],
            cwd: target.cwd.clone(),
            // At the end of its input it kills a program that it has launched, and detaches from one that it
            // was attached to.
            ends_by_itself: true,
            // It runs a copy of the program's runtime inside itself, which wants what that wants.
            env: target.env.iter().filter(|(name, _)| name == NO_CULTURES).cloned().collect(),
            ..SpawnSpec::default()
        },
        transport: Transport::Stdio,
        program_io: ProgramIo::OutputEvents,
        adapter_id: "coreclr".into(),
        command,
        arguments: target.for_adapter(ours),
        launched: command == "launch",
        quirks: Quirks { starts_when_configured: true, ..Quirks::default() },
        opened: None,
    }
}
