//! Programs that an SDK builds for each runtime: from a project, a solution, a Visual Basic project and a C#
//! file without a project. Each is launched by its usual name and debugged on that runtime. The SDK of .NET
//! Core 3.1 builds for that runtime, SDK 10 for all others.

use std::os::unix::fs::symlink;
use std::path::{Path, PathBuf};

use anyhow::Context;
use serde_json::{Value, json};
use tandem_harness::client::DapClient;
use tandem_harness::fixture::{self, Runtime};
use tandem_harness::transcript::Transcript;

tests_on! {
    on_net31, Net31:
    a_project_is_debugged,
    a_solution_is_debugged,
    a_visual_basic_project_is_debugged,
}

/// Left out without SDK 10, and those on .NET 8 also without that runtime.
mod modern_on_net10 {
    use super::{
        a_file_without_a_project_is_debugged, a_project_is_debugged, a_solution_is_debugged,
        a_visual_basic_project_is_debugged,
    };

    macro_rules! forms_on {
        ($($module:ident: $runtime:ident),* $(,)?) => {
            $(tests_on! {
                $module, $runtime:
                a_project_is_debugged,
                a_solution_is_debugged,
                a_visual_basic_project_is_debugged,
                a_file_without_a_project_is_debugged,
            })*
        };
    }

    forms_on! { on_net8: Net8, on_net9: Net9, on_net10: Net10 }
}

const CSHARP: &str = "static class Program
{
    static int Main(string[] args)
    {
        var runtime = System.Environment.Version.Major;
        System.Console.WriteLine(\"runs on \" + runtime);
        return args.Length + 1;
    }
}
";

const BASIC: &str = "Module Program
    Function Main(args As String()) As Integer

        Dim runtime = System.Environment.Version.Major

        System.Console.WriteLine(\"runs on \" & runtime)
        Return args.Length + 1
    End Function
End Module
";

/// An installation of .NET with an SDK and one other runtime.
struct DotnetInstallation {
    /// The folder of the installation; `None` for that of set-up.
    root: Option<tempfile::TempDir>,
    runtime: Runtime,
}

impl DotnetInstallation {
    fn with(runtime: Runtime) -> anyhow::Result<Self> {
        if runtime == Runtime::Net31 {
            return Ok(Self { root: None, runtime });
        }
        let root = tempfile::tempdir_in(fixture::cache())?;
        let sdk = Runtime::Net10.ensure_installed()?.dotnet().context("no SDK 10")?;
        std::fs::copy(&sdk, root.path().join("dotnet"))?;
        let sdk = sdk.parent().context("no folder")?;
        symlink(sdk.join("sdk"), root.path().join("sdk"))?;
        symlink(sdk.join("packs"), root.path().join("packs"))?;
        link_versions(sdk, root.path(), Runtime::Net10)?;
        if runtime != Runtime::Net10 {
            let dotnet = runtime.ensure_installed()?.dotnet().context("no dotnet")?;
            link_versions(dotnet.parent().context("no folder")?, root.path(), runtime)?;
        }
        Ok(Self { root: Some(root), runtime })
    }

    /// The target framework of the program. There are no reference assemblies of .NET 9 here, so it
    /// runs a program for .NET 8.
    fn framework(&self) -> &'static str {
        match self.runtime {
            Runtime::Net31 => "netcoreapp3.1",
            Runtime::Net8 | Runtime::Net9 => "net8.0",
            Runtime::Net10 => "net10.0",
        }
    }

    /// The properties of the program, by name and value.
    fn properties(&self) -> [(&'static str, &'static str); 6] {
        [
            ("TargetFramework", self.framework()),
            ("OutputType", "Exe"),
            ("RollForward", "Major"),
            ("UseAppHost", "false"),
            ("NuGetAudit", "false"),
            ("CheckEolTargetFramework", "false"),
        ]
    }

    /// Writes a project into a folder that is made.
    fn project(&self, file: &Path) -> anyhow::Result<()> {
        std::fs::create_dir_all(file.parent().context("no folder")?)?;
        let properties = self.properties().map(|(name, value)| format!("<{name}>{value}</{name}>")).concat();
        let text = format!(
            "<Project Sdk=\"Microsoft.NET.Sdk\"><PropertyGroup>{properties}</PropertyGroup></Project>"
        );
        Ok(std::fs::write(file, text)?)
    }

    /// Builds and launches a program; it stops at its line on the right runtime, and goes on to its end.
    async fn debugs(&self, program: &Path, source: &Path) -> anyhow::Result<()> {
        let mut environment = self.runtime.environment().context("no runtime")?;
        environment.remove("DOTNET_ROLL_FORWARD");
        if let Some(root) = &self.root {
            environment.insert("DOTNET_ROOT".into(), root.path().display().to_string());
        }
        environment.insert("HOME".into(), fixture::cache().join("home").display().to_string());
        let mut editor = DapClient::start_in("editor", environment, &Transcript::default())?;
        editor.ok("initialize", json!({ "clientID": "test" })).await?;
        let launch = editor.send("launch", json!({ "program": program, "args": ["a", "b"] })).await?;
        editor.initialized(launch).await?;
        let text = std::fs::read_to_string(source)?;
        let line = text.lines().position(|line| line.contains("WriteLine")).context("it prints nothing")? + 1;
        let arguments = json!({ "source": { "path": source }, "breakpoints": [{ "line": line }] });
        editor.ok("setBreakpoints", arguments).await?;
        editor.ok("configurationDone", Value::Null).await?;
        let launched = editor.response(launch).await?;
        anyhow::ensure!(launched.success, "the launch failed: {}", launched.body);
        let (thread, frame) = editor.stop().await?;
        assert_eq!((&frame["line"], &frame["source"]["path"]), (&json!(line), &json!(source)), "{frame}");
        let major = major(self.runtime);
        let values = [
            ("runtime", major),
            ("args.Length + runtime - runtime", "2"),
            ("System.Environment.Version.Major", major),
        ];
        editor.check_results(&frame, &values).await?;
        editor.ok("next", json!({ "threadId": thread })).await?;
        let (_, frame) = editor.stop().await?;
        assert_eq!(frame["line"], line + 1, "{frame}");
        editor.ok("continue", json!({ "threadId": thread })).await?;
        assert_eq!(editor.event("exited").await?["exitCode"], 3);
        assert_eq!(editor.output[0], format!("runs on {major}\n"));
        editor.finish().await
    }
}

/// Links what one `dotnet` root has of this runtime into another.
fn link_versions(from: &Path, to: &Path, runtime: Runtime) -> anyhow::Result<()> {
    let begin = format!("{}.", major(runtime));
    for folder in ["host/fxr", "shared/Microsoft.NETCore.App"] {
        std::fs::create_dir_all(to.join(folder))?;
        for version in std::fs::read_dir(from.join(folder))? {
            let version = version?;
            if version.file_name().to_string_lossy().starts_with(&begin) {
                symlink(version.path(), to.join(folder).join(version.file_name()))?;
            }
        }
    }
    Ok(())
}

/// The number in front of its version.
fn major(runtime: Runtime) -> &'static str {
    match runtime {
        Runtime::Net31 => "3",
        Runtime::Net8 => "8",
        Runtime::Net9 => "9",
        Runtime::Net10 => "10",
    }
}

/// A folder whose packages come from where those of set-up come from.
fn folder() -> anyhow::Result<(tempfile::TempDir, PathBuf)> {
    let folder = tempfile::tempdir()?;
    tandem_harness::projects::restores_from_the_feed(folder.path())?;
    let path = folder.path().to_owned();
    Ok((folder, path))
}

/// A folder with a project and its one source.
async fn debugs_project(runtime: Runtime, project: &str, source: &str, text: &str) -> anyhow::Result<()> {
    let (_kept, folder) = folder()?;
    let installed = DotnetInstallation::with(runtime)?;
    let (project, source) = (folder.join(project), folder.join(source));
    installed.project(&project)?;
    std::fs::write(&source, text)?;
    installed.debugs(&project, &source).await
}

async fn a_project_is_debugged(runtime: Runtime) -> anyhow::Result<()> {
    debugs_project(runtime, "app.csproj", "Program.cs", CSHARP).await
}

async fn a_visual_basic_project_is_debugged(runtime: Runtime) -> anyhow::Result<()> {
    debugs_project(runtime, "app.vbproj", "Program.vb", BASIC).await
}

async fn a_solution_is_debugged(runtime: Runtime) -> anyhow::Result<()> {
    let (_kept, folder) = folder()?;
    let installed = DotnetInstallation::with(runtime)?;
    let source = folder.join("app/Program.cs");
    installed.project(&folder.join("app/app.csproj"))?;
    std::fs::write(&source, CSHARP)?;
    if runtime != Runtime::Net31 {
        let solution = folder.join("all.slnx");
        std::fs::write(&solution, "<Solution><Project Path=\"app/app.csproj\" /></Solution>")?;
        installed.debugs(&solution, &source).await?;
        std::fs::remove_file(solution)?;
    }
    // The form that every SDK knows; it is the folder's only one.
    let text = "Microsoft Visual Studio Solution File, Format Version 12.00\n\
        Project(\"{FAE04EC0-301F-11D3-BF4B-00C04F79EFBC}\") = \"app\", \"app\\app.csproj\", \
        \"{11111111-2222-3333-4444-555555555555}\"\n\
        EndProject\nGlobal\n\
        GlobalSection(SolutionConfigurationPlatforms) = preSolution\nDebug|Any CPU = Debug|Any CPU\n\
        EndGlobalSection\n\
        GlobalSection(ProjectConfigurationPlatforms) = postSolution\n\
        {11111111-2222-3333-4444-555555555555}.Debug|Any CPU.ActiveCfg = Debug|Any CPU\n\
        {11111111-2222-3333-4444-555555555555}.Debug|Any CPU.Build.0 = Debug|Any CPU\nEndGlobalSection\n\
        EndGlobal\n";
    std::fs::write(folder.join("all.sln"), text)?;
    installed.debugs(&folder, &source).await
}

async fn a_file_without_a_project_is_debugged(runtime: Runtime) -> anyhow::Result<()> {
    let (_kept, folder) = folder()?;
    let installed = DotnetInstallation::with(runtime)?;
    let file = folder.join("hello.cs");
    let more = [("PublishAot", "false"), ("ImplicitUsings", "disable")];
    let directives: Vec<String> = installed
        .properties()
        .into_iter()
        .chain(more)
        .map(|(name, value)| format!("#:property {name}={value}\n"))
        .collect();
    std::fs::write(&file, directives.concat() + CSHARP)?;
    installed.debugs(&file, &file).await
}
