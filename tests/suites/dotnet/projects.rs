//! Launches of projects, solutions and C# files: what is built, and which of the programs starts. On .NET
//! 10, whose SDK builds them.

use anyhow::Context;
use serde_json::{Value, json};
use tandem_harness::client::DapClient;
use tandem_harness::fixture::{self, Runtime};
use tandem_harness::projects::{editor, refused, restores_from_the_feed, says};

use super::dotnet_subprocesses::{child_of, run_to_end};

net10_tests! {
    solution_starts_the_program_that_msbuild_names,
    a_file_without_a_project_is_built_and_debugged,
    build_attributes_reach_the_build,
    a_file_may_name_another_sdk,
    a_project_of_visual_basic_is_built_and_debugged,
    a_project_of_fsharp_that_cannot_be_built_says_why,
    a_project_of_tests_has_its_tests_debugged_by_their_own_platform,
    a_project_of_tests_has_its_tests_debugged_in_the_host_of_vstest,
}

/// A copy of the solution, whose packages come from where set-up's come from.
fn copy_project() -> anyhow::Result<tempfile::TempDir> {
    let copy = fixture::project("dotnet")?;
    restores_from_the_feed(copy.path())?;
    Ok(copy)
}

/// Runs a launch to its end; returns the program's output, and the console's before that.
async fn run_and_read_output(runtime: Runtime, attributes: Value) -> anyhow::Result<(String, String)> {
    let mut editor = editor(runtime).await?;
    let launch = editor.send("launch", attributes).await?;
    editor.initialized(launch).await?;
    editor.ok("configurationDone", Value::Null).await?;
    let launched = editor.response(launch).await?;
    anyhow::ensure!(launched.success, "{}", launched.body);
    assert_eq!(editor.event("exited").await?["exitCode"], 3);
    editor.event("terminated").await?;
    let [stdout, _, console] = editor.output.clone();
    editor.finish().await?;
    Ok((stdout, console))
}

async fn solution_starts_the_program_that_msbuild_names(runtime: Runtime) -> anyhow::Result<()> {
    let copy = copy_project()?;
    let (solution, project) = (copy.path().join("all.slnx"), copy.path().join("shop/shop.csproj"));
    // Both frameworks are built; the newest is started, in the project's folder, under another name than the
    // project's.
    let (stdout, console) =
        run_and_read_output(runtime, json!({ "program": solution, "args": ["one"] })).await?;
    assert_eq!(stdout, "net10 in shop: one\n");
    assert!(console.contains("shop.csproj is for net10.0;net8.0: starting net10.0"), "{console}");
    let other = json!({ "program": project, "framework": "net8.0", "noBuild": true, "cwd": copy.path() });
    let (stdout, console) = run_and_read_output(runtime, other).await?;
    assert!(stdout.starts_with("net8 in ") && !console.contains("->"), "{stdout}{console}");
    // As users type it.
    let typed = ["run", "--no-build", "--project", "shop", "-f", "net8.0", "--", "-f", "two"];
    let typed = json!({ "program": "dotnet", "args": typed, "cwd": copy.path() });
    assert!(run_and_read_output(runtime, typed).await?.0.ends_with(": -f two\n"));
    // The error names a program that cannot be started, without a build.
    let wrong = json!({ "program": project, "configuration": "Release", "noBuild": true });
    says(&refused(runtime, wrong).await?, "LAUNCH_FAILED", "it is not built for Release, net10.0");
    let library = json!({ "program": copy.path().join("stock/Stock.cs"), "noBuild": true });
    says(&refused(runtime, library).await?, "LAUNCH_FAILED", "it is a library");
    std::fs::create_dir(copy.path().join("more"))?;
    std::fs::copy(&project, copy.path().join("more/more.csproj"))?;
    let text = std::fs::read_to_string(&solution)?;
    let more = "<Project Path=\"more/more.csproj\" />\n</Solution>";
    std::fs::write(&solution, text.replace("</Solution>", more))?;
    let several = refused(runtime, json!({ "program": copy.path(), "noBuild": true })).await?;
    says(&several, "LAUNCH_FAILED", "has several programs: more/more.csproj, shop/shop.csproj");
    let chosen = json!({ "program": project, "buildArguments": "-p:X=1" });
    says(
        &refused(runtime, chosen).await?,
        "INVALID_PARAMETER",
        "`buildArguments` must be an array of strings",
    );
    Ok(())
}

async fn a_file_without_a_project_is_built_and_debugged(runtime: Runtime) -> anyhow::Result<()> {
    let folder = tempfile::tempdir()?;
    restores_from_the_feed(folder.path())?;
    let file = folder.path().join("hello.cs");
    let text = "#!/usr/bin/env dotnet\n#:property PublishAot=false\n#:property NuGetAudit=false\n\
                var total = args.Length;\nConsole.WriteLine($\"total {total}\");\nreturn 3;\n";
    std::fs::write(&file, text)?;
    let mut editor = editor(runtime).await?;
    let launch = editor.send("launch", json!({ "program": file, "args": ["one", "two"] })).await?;
    editor.initialized(launch).await?;
    let arguments = json!({ "source": { "path": file }, "breakpoints": [{ "line": 5 }] });
    editor.ok("setBreakpoints", arguments).await?;
    editor.ok("configurationDone", Value::Null).await?;
    let launched = editor.response(launch).await?;
    anyhow::ensure!(launched.success, "{}", launched.body);
    let (thread, frame) = editor.stop().await?;
    assert_eq!((&frame["line"], &frame["source"]["path"]), (&json!(5), &json!(file)));
    let arguments = json!({ "expression": "total", "frameId": frame["id"] });
    assert_eq!(editor.ok("evaluate", arguments).await?["result"], "2");
    editor.ok("continue", json!({ "threadId": thread })).await?;
    assert_eq!(editor.event("exited").await?["exitCode"], 3);
    editor.event("terminated").await?;
    assert_eq!(editor.output[0], "total 2\n");
    editor.finish().await?;
    // An error of NuGet has no line, but it is a diagnostic.
    std::fs::write(
        &file,
        text.replace("NuGetAudit=false", "NuGetAudit=false\n#:package Tandem.Nowhere@1.0.0"),
    )?;
    let failed = refused(runtime, json!({ "program": file })).await?;
    says(&failed, "BUILD_FAILED", "Tandem.Nowhere");
    let codes = failed["data"]["diagnostics"].as_array().into_iter().flatten();
    let codes: Vec<&str> = codes.filter_map(|found| found["code"].as_str()).collect();
    assert!(codes.contains(&"NU1101"), "{failed}");
    Ok(())
}

async fn build_attributes_reach_the_build(runtime: Runtime) -> anyhow::Result<()> {
    let text = "var defined = \"plain\";\n#if EXTRA\ndefined = \"extra\";\n#endif\n\
                System.Console.WriteLine(defined + \" \" + System.AppContext.BaseDirectory);\nreturn 3;\n";
    let folder = create_project("app.csproj", "Program.cs", text, "")?;
    let project = folder.path().join("app.csproj");
    let own = folder.path().canonicalize()?.join("bin");
    let plain = json!({ "program": project, "buildArguments": ["-p:UseAppHost=false"] });
    assert_eq!(
        run_and_read_output(runtime, plain).await?.0,
        format!("plain {}/Debug/net10.0/\n", own.display())
    );
    let arguments = json!({ "program": project, "configuration": "Release", "runtimeIdentifier": "linux-x64",
        "buildArguments": ["-p:UseAppHost=false", "-p:DefineConstants=EXTRA", "--no-self-contained"] });
    let expected = format!("extra {}/Release/net10.0/linux-x64/\n", own.display());
    assert_eq!(run_and_read_output(runtime, arguments).await?.0, expected);
    Ok(())
}

async fn a_file_may_name_another_sdk(runtime: Runtime) -> anyhow::Result<()> {
    let folder = tempfile::tempdir()?;
    restores_from_the_feed(folder.path())?;
    let file = folder.path().join("site.cs");
    let text = "#:sdk Microsoft.NET.Sdk.Web\n#:property PublishAot=false\n#:property NuGetAudit=false\n\
                var builder = WebApplication.CreateBuilder(args);\n\
                Console.WriteLine(builder.GetType().Name);\nreturn 3;\n";
    std::fs::write(&file, text)?;
    assert_eq!(run_and_read_output(runtime, json!({ "program": file })).await?.0, "WebApplicationBuilder\n");
    Ok(())
}

const BASIC: &str = "Module Program
    Function Main(args As String()) As Integer
        Dim total = args.Length
        System.Console.WriteLine(\"total \" & total)
        Return 3
    End Function
End Module
";

/// A folder with a project, whose assembly has another name, and a source.
fn create_project(project: &str, source: &str, text: &str, items: &str) -> anyhow::Result<tempfile::TempDir> {
    let folder = tempfile::tempdir()?;
    restores_from_the_feed(folder.path())?;
    let properties = "<TargetFramework>net10.0</TargetFramework><OutputType>Exe</OutputType>\
                      <AssemblyName>Other</AssemblyName>";
    let written = format!(
        "<Project Sdk=\"Microsoft.NET.Sdk\"><PropertyGroup>{properties}</PropertyGroup>{items}</Project>"
    );
    std::fs::write(folder.path().join(project), written)?;
    std::fs::write(folder.path().join(source), text)?;
    Ok(folder)
}

async fn a_project_of_visual_basic_is_built_and_debugged(runtime: Runtime) -> anyhow::Result<()> {
    let folder = create_project("app.vbproj", "Program.vb", BASIC, "")?;
    let (project, source) = (folder.path().join("app.vbproj"), folder.path().join("Program.vb"));
    let mut editor = editor(runtime).await?;
    let launch = editor.send("launch", json!({ "program": project, "args": ["a", "b"] })).await?;
    editor.initialized(launch).await?;
    let set = json!({ "source": { "path": source }, "breakpoints": [{ "line": 4 }] });
    editor.ok("setBreakpoints", set).await?;
    editor.ok("configurationDone", Value::Null).await?;
    anyhow::ensure!(editor.response(launch).await?.success, "the launch failed");
    let (thread, frame) = editor.stop().await?;
    assert_eq!((&frame["line"], &frame["source"]["path"]), (&json!(4), &json!(source)));
    let total = json!({ "expression": "total + 1", "frameId": frame["id"] });
    assert_eq!(editor.ok("evaluate", total).await?["result"], "3");
    editor.ok("continue", json!({ "threadId": thread })).await?;
    assert_eq!(editor.event("exited").await?["exitCode"], 3);
    editor.finish().await?;
    // Its folder is the project.
    let again = json!({ "program": folder.path(), "noBuild": true, "args": ["a"] });
    assert_eq!(run_and_read_output(runtime, again).await?.0, "total 1\n");
    std::fs::write(&source, BASIC.replace("Dim total", "Dim total As Integr"))?;
    let failed = refused(runtime, json!({ "program": project })).await?;
    says(&failed, "BUILD_FAILED", "'Integr' is not defined");
    let diagnostic = &failed["data"]["diagnostics"][0];
    assert_eq!((&diagnostic["line"], &diagnostic["file"]), (&json!(3), &json!(source)), "{failed}");
    Ok(())
}

/// An SDK may lack this language: then the error says so, and that a file is missing.
async fn a_project_of_fsharp_that_cannot_be_built_says_why(runtime: Runtime) -> anyhow::Result<()> {
    let items = "<ItemGroup><Compile Include=\"Nowhere.fs\" /></ItemGroup>";
    let folder = create_project("app.fsproj", "Program.fs", "printfn \"hello\"\n", items)?;
    for program in [folder.path().join("app.fsproj"), folder.path().to_owned()] {
        let failed = refused(runtime, json!({ "program": program })).await?;
        says(&failed, "BUILD_FAILED", "app.fsproj`: ");
        let diagnostic = &failed["data"]["diagnostics"][0];
        let code = diagnostic["code"].as_str().unwrap_or_default();
        assert!(["MSB", "FS", "NU", "NETSDK"].iter().any(|begin| code.starts_with(begin)), "{failed}");
        assert_eq!(diagnostic["severity"], "error", "{failed}");
    }
    Ok(())
}

/// Launches a test project as F5 does, and returns the console output and the frame of the first stop.
async fn debugged_tests(
    runtime: Runtime,
    project: &str,
    args: Value,
    in_child: bool,
) -> anyhow::Result<(String, Value)> {
    let mut editor = editor(runtime).await?;
    let program = fixture::dotnet_test_projects().join(project);
    let launch = editor.send("launch", json!({ "program": program, "noBuild": true, "args": args })).await?;
    editor.initialized(launch).await?;
    editor.ok("setExceptionBreakpoints", json!({ "filters": ["userUnhandled", "unhandled"] })).await?;
    editor.ok("configurationDone", Value::Null).await?;
    let launched = editor.response(launch).await?;
    anyhow::ensure!(launched.success, "{}", launched.body);
    let frame = if in_child {
        let (mut child, ..) = child_of(&mut editor).await?;
        let (thread, _) = child.stop().await?;
        let frame = own_frame(&mut child, thread).await?;
        run_to_end(child, thread).await?;
        frame
    } else {
        let (thread, _) = editor.stop().await?;
        own_frame(&mut editor, thread).await?
    };
    let console = editor.output[2].clone();
    editor.finish().await?;
    Ok((console, frame))
}

/// The frame that an editor shows at a stop in a library: the first of the user's own code.
async fn own_frame(client: &mut DapClient, thread: i64) -> anyhow::Result<Value> {
    let stack = client.ok("stackTrace", json!({ "threadId": thread, "levels": 20 })).await?;
    let mut frames = stack["stackFrames"].as_array().into_iter().flatten();
    frames.find(|frame| frame["presentationHint"] != "subtle").cloned().context("no frame of its own")
}

fn is_stopped_at_the_failure(console: &str, frame: &Value, project: &str) -> anyhow::Result<()> {
    anyhow::ensure!(console.contains(&format!("{project} is a project of tests")), "{console}");
    let source = fixture::dotnet_test_projects().join("xunit3/CartTests.cs");
    let text = std::fs::read_to_string(source)?;
    let expected = text.lines().position(|line| line.ends_with("// BP fails")).context("no marker")? + 1;
    anyhow::ensure!(frame["line"].as_u64() == Some(u64::try_from(expected)?), "{frame}");
    Ok(())
}

async fn a_project_of_tests_has_its_tests_debugged_by_their_own_platform(
    runtime: Runtime,
) -> anyhow::Result<()> {
    let args = json!(["-method", "Tests.CartTests.Fails"]);
    let (console, frame) = debugged_tests(runtime, "xunit3/xunit3.csproj", args, false).await?;
    is_stopped_at_the_failure(&console, &frame, "xunit3.csproj")
}

async fn a_project_of_tests_has_its_tests_debugged_in_the_host_of_vstest(
    runtime: Runtime,
) -> anyhow::Result<()> {
    let args = json!(["--TestCaseFilter:FullyQualifiedName=Tests.CartTests.Fails"]);
    let (console, frame) = debugged_tests(runtime, "xunit2/xunit2.csproj", args, true).await?;
    is_stopped_at_the_failure(&console, &frame, "xunit2.csproj")
}
