//! Programs that cannot be started: projects that do not restore, solutions without a program, programs for a
//! framework that is not installed. The answer quotes the build or .NET's host, and nothing is started. If a
//! program's symbols are unusable, those that the compiler left where it wrote them are used instead.

use std::path::Path;

use serde_json::{Value, json};
use tandem_harness::client::DapClient;
use tandem_harness::fixture::{self, Runtime};
use tandem_harness::transcript::Transcript;

use tandem_harness::projects::{refused, restores_from_the_feed, says};

net10_tests! {
    a_project_that_does_not_restore_is_refused_in_the_builds_words,
    a_solution_without_a_program_is_refused,
    a_program_for_a_framework_that_is_not_here_is_refused_in_the_hosts_words,
    a_symbol_file_that_is_none_is_passed_over_for_the_compilers,
}

const SOURCE: &str = "System.Console.WriteLine(\"started\");\n";

fn project(file: &Path, properties: &str, items: &str) -> std::io::Result<()> {
    let properties =
        format!("<TargetFramework>net10.0</TargetFramework><NuGetAudit>false</NuGetAudit>{properties}");
    let text = format!(
        "<Project Sdk=\"Microsoft.NET.Sdk\"><PropertyGroup>{properties}</PropertyGroup>\
         <ItemGroup>{items}</ItemGroup></Project>"
    );
    std::fs::write(file, text)
}

async fn a_project_that_does_not_restore_is_refused_in_the_builds_words(
    runtime: Runtime,
) -> anyhow::Result<()> {
    let folder = tempfile::tempdir()?;
    restores_from_the_feed(folder.path())?;
    let file = folder.path().join("app.csproj");
    std::fs::write(folder.path().join("Program.cs"), SOURCE)?;
    let exe = "<OutputType>Exe</OutputType>";
    project(&file, exe, "<PackageReference Include=\"Tandem.Nowhere\" Version=\"1.0.0\" />")?;
    let failed = refused(runtime, json!({ "program": file })).await?;
    says(&failed, "BUILD_FAILED", "Unable to find package Tandem.Nowhere");
    let diagnostic = &failed["data"]["diagnostics"][0];
    assert_eq!((&diagnostic["code"], &diagnostic["file"]), (&json!("NU1101"), &json!(file)), "{failed}");
    // A version that does not exist, and a project that is not XML.
    project(&file, exe, "<PackageReference Include=\"Newtonsoft.Json\" Version=\"99.0.0\" />")?;
    says(&refused(runtime, json!({ "program": file })).await?, "BUILD_FAILED", "Newtonsoft.Json");
    std::fs::write(&file, "no project")?;
    says(&refused(runtime, json!({ "program": file })).await?, "BUILD_FAILED", "app.csproj");
    assert!(!folder.path().join("bin").exists(), "something was built");
    Ok(())
}

async fn a_solution_without_a_program_is_refused(runtime: Runtime) -> anyhow::Result<()> {
    let folder = tempfile::tempdir()?;
    restores_from_the_feed(folder.path())?;
    std::fs::create_dir(folder.path().join("stock"))?;
    project(&folder.path().join("stock/stock.csproj"), "", "")?;
    let solution = folder.path().join("all.slnx");
    std::fs::write(&solution, "<Solution><Project Path=\"stock/stock.csproj\" /></Solution>")?;
    for no_build in [true, false] {
        let arguments = json!({ "program": solution, "noBuild": no_build });
        says(&refused(runtime, arguments).await?, "LAUNCH_FAILED", "none of its 1 projects is a program");
    }
    std::fs::write(&solution, "<Solution />")?;
    let empty = refused(runtime, json!({ "program": solution, "noBuild": true })).await?;
    says(&empty, "LAUNCH_FAILED", "it has no projects");
    Ok(())
}

/// A copy of a built program.
fn copy_project(name: &str) -> anyhow::Result<tempfile::TempDir> {
    let copy = tempfile::tempdir()?;
    let program = fixture::program(name);
    let program = Path::new(&program);
    for ending in ["dll", "pdb", "runtimeconfig.json", "deps.json"] {
        std::fs::copy(program.with_extension(ending), copy.path().join(format!("{name}.{ending}")))?;
    }
    Ok(copy)
}

async fn a_program_for_a_framework_that_is_not_here_is_refused_in_the_hosts_words(
    runtime: Runtime,
) -> anyhow::Result<()> {
    let copy = copy_project("tour")?;
    for (framework, version) in [("Microsoft.NETCore.App", "99.0.0"), ("Tandem.Nowhere.App", "1.0.0")] {
        let expected =
            json!({ "runtimeOptions": { "framework": { "name": framework, "version": version } } });
        std::fs::write(copy.path().join("tour.runtimeconfig.json"), expected.to_string())?;
        let failed = refused(runtime, json!({ "program": copy.path().join("tour.dll") })).await?;
        says(&failed, "LAUNCH_FAILED", "You must install or update .NET to run this application");
        says(&failed, "LAUNCH_FAILED", &format!("'{framework}', version '{version}'"));
    }
    Ok(())
}

async fn a_symbol_file_that_is_none_is_passed_over_for_the_compilers(runtime: Runtime) -> anyhow::Result<()> {
    let copy = copy_project("tour")?;
    let symbols = copy.path().join("tour.pdb");
    let whole = std::fs::read(&symbols)?;
    for bytes in [b"no symbols".to_vec(), Vec::new(), whole.iter().copied().take(whole.len() / 2).collect()] {
        std::fs::write(&symbols, &bytes)?;
        let mut editor = DapClient::start("editor", runtime, &Transcript::default())?;
        editor.ok("initialize", json!({ "clientID": "test" })).await?;
        let arguments = json!({ "program": copy.path().join("tour.dll"), "stopOnEntry": false });
        let launch = editor.send("launch", arguments).await?;
        editor.initialized(launch).await?;
        editor.break_at("tour", &["add"]).await?;
        editor.ok("configurationDone", Value::Null).await?;
        anyhow::ensure!(editor.response(launch).await?.success);
        editor.ok("processWriteInput", json!({ "data": "ann\n" })).await?;
        let (_, frame) = editor.stop().await?;
        assert_eq!(frame["line"], fixture::line("tour", "add"), "{frame}");
        editor.finish().await?;
    }
    Ok(())
}
