//! Programs in every form of delivery: with their runtime, in one file, with their assembly gone; and
//! processes that cannot be debugged, which are refused with the reason.

use std::path::Path;
use std::process::Stdio;

use anyhow::Context;
use serde_json::{Value, json};
use tandem_harness::client::DapClient;
use tandem_harness::fixture::{self, Runtime};
use tandem_harness::transcript::Transcript;
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::process::{Child, Command};

dotnet_tests! {
    a_program_that_brings_its_runtime_is_debugged,
    a_program_in_one_file_is_debugged,
    a_process_whose_assembly_is_gone_is_read_from_memory,
    a_process_with_two_runtimes_is_refused,
    a_runtime_inside_an_executable_is_refused,
}

net8_tests! {
    a_program_that_brings_its_runtime_is_debugged,
    a_program_in_one_file_is_debugged,
}

/// A folder that others can be linked into, which needs the same file system.
fn folder() -> anyhow::Result<tempfile::TempDir> {
    Ok(tempfile::tempdir_in(fixture::cache())?)
}

fn link_all(from: &Path, to: &Path) -> anyhow::Result<()> {
    for file in std::fs::read_dir(from)? {
        let file = file?;
        let target = to.join(file.file_name());
        if file.file_type()?.is_file() && !target.exists() {
            std::fs::hard_link(file.path(), target)?;
        }
    }
    Ok(())
}

fn only_folder(of: &Path) -> anyhow::Result<std::path::PathBuf> {
    Ok(std::fs::read_dir(of)?.next().with_context(|| format!("{} is empty", of.display()))??.path())
}

/// Launches an executable with a breakpoint at `here` of the program `apphost`, whose source is `source`.
async fn expect_stop(runtime: Runtime, source: &Path, launch: Value) -> anyhow::Result<()> {
    let mut editor = DapClient::start("editor", runtime, &Transcript::default())?;
    editor.ok("initialize", json!({ "clientID": "test" })).await?;
    let launch = editor.send("launch", launch).await?;
    editor.event("initialized").await?;
    let line = fixture::line("apphost", "here");
    let set = json!({ "source": { "path": source }, "breakpoints": [{ "line": line }] });
    editor.ok("setBreakpoints", set).await?;
    editor.ok("configurationDone", Value::Null).await?;
    let launched = editor.response(launch).await?;
    anyhow::ensure!(launched.success, "{}", launched.body);
    let stopped = editor.event("stopped").await?;
    assert_eq!(stopped["reason"], "entry");
    editor.ok("continue", json!({ "threadId": stopped["threadId"] })).await?;
    let (thread, frame) = editor.stop().await?;
    assert_eq!((&frame["line"], &frame["name"]), (&json!(line), &json!("Program.Main(string[] args)")));
    // The framework is not the user's code.
    let body = editor.ok("modules", json!({})).await?;
    for module in body["modules"].as_array().into_iter().flatten() {
        let is_own = module["name"] == "apphost.dll";
        assert_eq!(module["isUserCode"], is_own, "{module}");
        assert!(is_own || module["symbolStatus"] == "Framework code, no symbols needed", "{module}");
    }
    editor.ok("continue", json!({ "threadId": thread })).await?;
    assert_eq!(editor.event("exited").await?["exitCode"], 41);
    editor.finish().await
}

async fn a_program_that_brings_its_runtime_is_debugged(runtime: Runtime) -> anyhow::Result<()> {
    // The output of `dotnet publish --self-contained`, assembled here: program, runtime and host in one
    // folder.
    let dotnet = runtime.dotnet().context("no dotnet")?;
    let dotnet = dotnet.parent().context("no folder")?;
    let framework = only_folder(&dotnet.join("shared/Microsoft.NETCore.App"))?;
    let program = folder()?;
    link_all(&framework, program.path())?;
    link_all(&only_folder(&dotnet.join("host/fxr"))?, program.path())?;
    let own = fixture::program("apphost");
    for ending in ["", ".dll", ".pdb"] {
        let file = format!("{}{ending}", own.trim_end_matches(".dll"));
        std::fs::copy(file, program.path().join(format!("apphost{ending}")))?;
    }
    let dependencies = framework.join("Microsoft.NETCore.App.deps.json");
    std::fs::copy(dependencies, program.path().join("apphost.deps.json"))?;
    let version = framework.file_name().unwrap_or_default().to_string_lossy().into_owned();
    let included = json!({ "runtimeOptions": {
        "includedFrameworks": [{ "name": "Microsoft.NETCore.App", "version": version }],
        "configProperties": { "System.Globalization.Invariant": true } } });
    std::fs::write(program.path().join("apphost.runtimeconfig.json"), included.to_string())?;
    let launch = json!({ "program": program.path().join("apphost"), "args": ["one"], "stopOnEntry": true,
        "env": { "DOTNET_ROOT": null } });
    expect_stop(runtime, Path::new(&fixture::source("apphost")), launch).await
}

async fn a_program_in_one_file_is_debugged(runtime: Runtime) -> anyhow::Result<()> {
    // Only .NET Core 3.1 has an SDK here: its single-file programs unpack themselves when they start.
    let sdk = Runtime::Net31;
    let Some(dotnet) = sdk.dotnet() else { anyhow::bail!("the SDK of .NET Core 3.1 is missing") };
    let (project, out, unpacked) = (folder()?, folder()?, folder()?);
    let from = Path::new(&fixture::source("apphost")).parent().context("no folder")?.to_path_buf();
    for file in ["Program.cs", "apphost.csproj", "../Directory.Build.props"] {
        let name = Path::new(file).file_name().context("no name")?;
        std::fs::copy(from.join(file), project.path().join(name))?;
    }
    let mut publish = Command::new(dotnet);
    publish.args([
        "publish",
        "--runtime",
        "linux-x64",
        "--self-contained",
        "false",
        "-p:PublishSingleFile=true",
    ]);
    // No build server may outlive this.
    publish.args(["-nodeReuse:false", "-p:UseSharedCompilation=false"]);
    publish.arg("--output").arg(out.path()).current_dir(project.path());
    publish.envs(sdk.environment().context("no runtime")?).kill_on_drop(true);
    let done = publish.output().await?;
    anyhow::ensure!(done.status.success(), "{}", String::from_utf8_lossy(&done.stdout));
    anyhow::ensure!(!out.path().join("apphost.dll").exists(), "it is not in one file");
    // The symbols are beside the executable, no longer where the compiler put them.
    std::fs::remove_dir_all(project.path().join("obj"))?;
    std::fs::remove_dir_all(project.path().join("bin"))?;
    let launch = json!({ "program": out.path().join("apphost"), "args": ["one"], "stopOnEntry": true,
        "env": { "DOTNET_BUNDLE_EXTRACT_BASE_DIR": unpacked.path() } });
    expect_stop(runtime, &project.path().join("Program.cs"), launch).await
}

async fn a_process_whose_assembly_is_gone_is_read_from_memory(runtime: Runtime) -> anyhow::Result<()> {
    let place = folder()?;
    link_all(Path::new(&fixture::program("spin")).parent().context("no folder")?, place.path())?;
    let mut command = Command::new(runtime.dotnet().context("no dotnet")?);
    command.arg(place.path().join("spin.dll")).envs(runtime.environment().context("no runtime")?);
    let process = start_program(&mut command).await?;
    std::fs::remove_file(place.path().join("spin.dll"))?;
    let mut editor = DapClient::start("editor", runtime, &Transcript::default())?;
    editor.ok("initialize", json!({ "clientID": "test" })).await?;
    let attach = editor.send("attach", json!({ "processId": process.id() })).await?;
    editor.event("initialized").await?;
    editor.break_at("spin", &["beat"]).await?;
    editor.ok("configurationDone", Value::Null).await?;
    anyhow::ensure!(editor.response(attach).await?.success);
    let (_, frame) = editor.stop().await?;
    assert_eq!(frame["line"], fixture::line("spin", "beat"));
    let arguments = json!({ "expression": "count >= 0 && !stop", "frameId": frame["id"] });
    assert_eq!(editor.ok("evaluate", arguments).await?["result"], "true");
    let body = editor.ok("modules", json!({})).await?;
    let own = body["modules"].as_array().into_iter().flatten().find(|module| module["name"] == "spin.dll");
    assert_eq!(own.context("no module")?["symbolStatus"], "Symbols loaded; loaded from memory");
    editor.finish().await
}

/// Starts a program and waits until it has printed something.
async fn start_program(command: &mut Command) -> anyhow::Result<Child> {
    let mut process = command.kill_on_drop(true).stdin(Stdio::piped()).stdout(Stdio::piped()).spawn()?;
    let mut stdout = process.stdout.take().context("no stdout")?;
    stdout.read_u8().await.context("the program prints nothing")?;
    // It keeps printing, and its pipe must be read.
    tokio::spawn(async move { tokio::io::copy(&mut stdout, &mut tokio::io::sink()).await });
    Ok(process)
}

/// Attaches to a C program and returns the refusal.
async fn refusal(runtime: Runtime, code: &str, arguments: &[&Path]) -> anyhow::Result<(String, String)> {
    let place = tempfile::tempdir()?;
    let (source, program) = (place.path().join("other.c"), place.path().join("other"));
    std::fs::write(&source, code)?;
    let done =
        Command::new("cc").args(["-rdynamic", "-o"]).arg(&program).arg(&source).arg("-ldl").output().await?;
    anyhow::ensure!(done.status.success(), "{}", String::from_utf8_lossy(&done.stderr));
    let environment = runtime.environment().context("no runtime")?;
    let process = start_program(Command::new(&program).args(arguments).envs(environment)).await?;
    let mut editor = DapClient::start("editor", runtime, &Transcript::default())?;
    editor.ok("initialize", json!({ "clientID": "test" })).await?;
    let response = editor.ask("attach", json!({ "processId": process.id(), "engine": "coreclr" })).await?;
    anyhow::ensure!(!response.success, "it was attached to");
    let of = |key: &str| response.body["error"]["variables"][key].as_str().unwrap_or_default().to_owned();
    let refused = (of("code"), of("message"));
    editor.finish().await?;
    Ok(refused)
}

async fn a_process_with_two_runtimes_is_refused(runtime: Runtime) -> anyhow::Result<()> {
    let code = r#"
        #include <dlfcn.h>
        #include <stdio.h>
        int main(int count, char **paths) {
            for (int at = 1; at < count; at++)
                if (!dlopen(paths[at], RTLD_LAZY | RTLD_LOCAL)) {
                    fprintf(stderr, "%s\n", dlerror());
                    return 1;
                }
            puts("ready");
            fflush(stdout);
            getchar();
        }
    "#;
    let mut libraries = Vec::new();
    for runtime in [Runtime::Net31, Runtime::Net9] {
        let dotnet = runtime.dotnet().context("both runtimes are needed")?;
        let shared = dotnet.parent().context("no folder")?.join("shared/Microsoft.NETCore.App");
        libraries.push(only_folder(&shared)?.join("libcoreclr.so"));
    }
    let libraries: Vec<&Path> = libraries.iter().map(AsRef::as_ref).collect();
    let (code, message) = refusal(runtime, code, &libraries).await?;
    assert_eq!(code, "NOT_DEBUGGABLE");
    assert!(message.contains("has several .NET runtimes; only one can be debugged"), "{message}");
    Ok(())
}

async fn a_runtime_inside_an_executable_is_refused(runtime: Runtime) -> anyhow::Result<()> {
    // No such program can be built here; it is known by the symbol it exports for debuggers.
    let code = r#"
        #include <stdio.h>
        struct { char signature[18]; int version; char runtime[24], data_access[24], debugging[24]; }
            DotNetRuntimeInfo = { "DotNetRuntimeInfo", 2, "\2ab", "\2cd", "\2ef" };
        int main(void) { puts("ready"); fflush(stdout); getchar(); }
    "#;
    let (code, message) = refusal(runtime, code, &[]).await?;
    assert_eq!(code, "NOT_DEBUGGABLE");
    assert!(message.contains("self-contained .NET program in one file"), "{message}");
    let plain = "#include <stdio.h>\nint main(void) { puts(\"ready\"); fflush(stdout); getchar(); }";
    let (code, message) = refusal(runtime, plain, &[]).await?;
    assert_eq!(code, "NOT_DEBUGGABLE");
    assert!(message.contains("it is not a .NET program"), "{message}");
    Ok(())
}

/// Launches the program in one file that has .NET 9.0.7 inside.
async fn launch_one_file(editor: &mut DapClient, more: Value) -> anyhow::Result<tandem_wire::Response> {
    editor.ok("initialize", json!({ "clientID": "test", "supportsVariableType": true })).await?;
    let mut launch = json!({ "program": fixture::one_file().0, "engine": "coreclr" });
    if let (Some(launch), Value::Object(more)) = (launch.as_object_mut(), more) {
        launch.extend(more);
    }
    let launch = editor.send("launch", launch).await?;
    editor.event("initialized").await?;
    // The launch may be refused already.
    editor.ask("configurationDone", Value::Null).await?;
    editor.response(launch).await
}

#[tokio::test]
async fn a_runtime_inside_the_executable_is_debugged_with_the_library_of_its_build() -> anyhow::Result<()> {
    let mut editor = DapClient::start("editor", Runtime::Net9, &Transcript::default())?;
    let (_, libraries) = fixture::one_file();
    let launched = launch_one_file(&mut editor, json!({ "symbolPaths": [libraries] })).await?;
    anyhow::ensure!(launched.success, "{}", launched.body);
    editor.break_at("tour", &["add"]).await?;
    editor.ok("processWriteInput", json!({ "data": "Ann\n" })).await?;
    let (thread, frame) = editor.stop().await?;
    assert_eq!(
        (&frame["line"], &frame["name"]),
        (&json!(fixture::line("tour", "add")), &json!("Program.Add(int left, int right)"))
    );
    let version = json!({ "expression": "System.Environment.Version.ToString()", "frameId": frame["id"],
        "context": "watch" });
    assert_eq!(editor.ok("evaluate", version).await?["result"], "\"9.0.7\"");
    for module in editor.ok("modules", json!({})).await?["modules"].as_array().context("no modules")? {
        assert_eq!(module["isUserCode"], module["name"] == "tour", "{module}");
    }
    editor.break_at("tour", &[]).await?;
    editor.ok("continue", json!({ "threadId": thread })).await?;
    assert_eq!(editor.event("exited").await?["exitCode"], 3);
    editor.event("terminated").await?;
    assert_eq!(editor.output[..2], ["welcome\nname? hello Ann: 6\n", "done\n"]);
    editor.finish().await
}

#[tokio::test]
async fn a_runtime_inside_the_executable_is_attached_to() -> anyhow::Result<()> {
    let (program, libraries) = fixture::one_file();
    let mut command = Command::new(program);
    command.stdin(Stdio::piped()).stdout(Stdio::piped()).kill_on_drop(true);
    let mut running = command.spawn()?;
    let (mut input, mut output) =
        (running.stdin.take().context("no stdin")?, running.stdout.take().context("no stdout")?);
    let mut greeting = [0; 14];
    output.read_exact(&mut greeting).await?;
    let mut editor = DapClient::start("editor", Runtime::Net9, &Transcript::default())?;
    editor.ok("initialize", json!({ "clientID": "test" })).await?;
    editor.ok("attach", json!({ "processId": running.id(), "symbolPaths": [libraries] })).await?;
    editor.event("initialized").await?;
    editor.ok("configurationDone", Value::Null).await?;
    let threads = editor.ok("threads", Value::Null).await?;
    editor.ok("pause", json!({ "threadId": threads["threads"][0]["id"] })).await?;
    let thread = editor.event("stopped").await?["threadId"].clone();
    let stack = editor.ok("stackTrace", json!({ "threadId": thread })).await?;
    let main = stack["stackFrames"].as_array().and_then(|frames| frames.last()).context("no frames")?;
    assert_eq!(
        (&main["name"], &main["line"]),
        (&json!("Program.Main()"), &json!(fixture::line("tour", "read")))
    );
    editor.finish().await?;
    input.write_all(b"Ann\n").await?;
    assert_eq!(running.wait().await?.code(), Some(3), "it continues when it is released");
    Ok(())
}

#[tokio::test]
async fn a_runtime_inside_the_executable_without_a_library_of_its_build_is_refused() -> anyhow::Result<()> {
    let mut editor = DapClient::start("editor", Runtime::Net9, &Transcript::default())?;
    let refused = launch_one_file(&mut editor, json!({})).await?;
    let error = &refused.body["error"]["variables"];
    assert_eq!(error["code"], "NOT_DEBUGGABLE");
    assert!(
        error["message"]
            .as_str()
            .context("no message")?
            .contains("no installed runtime is of the same build"),
        "{error}"
    );
    assert!(error["hint"].as_str().context("no hint")?.contains("symbolPaths"), "{error}");
    editor.finish().await
}
