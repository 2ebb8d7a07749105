//! An agent and the file, git and build tools, over MCP on stdio.

use anyhow::Context;
use serde_json::{Value, json};
use tandem_harness::agent::Agent;
use tandem_harness::deadline::deadline_ms;
use tandem_harness::fixture::{self, Runtime};
use tandem_harness::transcript::Transcript;

fn silent() -> Transcript {
    Transcript::default()
}

#[tokio::test]
async fn an_agent_reads_writes_and_lists_files_inside_its_root() -> anyhow::Result<()> {
    let folder = tempfile::tempdir()?;
    let mut agent = Agent::in_folder("agent", folder.path(), &[], &silent()).await?;
    let made = agent.call("create_directory", json!({ "path": "src/deep" })).await?;
    assert_eq!((&made["success"], &made["created"]), (&json!(true), &json!(true)));
    let content = "one\ntwo\nthree\n";
    let written = agent.call("write_file", json!({ "path": "src/a.txt", "content": content })).await?;
    assert_eq!(written["path"], json!(folder.path().canonicalize()?.join("src/a.txt")));
    assert_eq!((&written["bytesWritten"], &written["created"]), (&json!(14), &json!(true)));
    let read = agent.call("read_file", json!({ "path": folder.path().join("src/a.txt") })).await?;
    assert_eq!(read, json!({ "content": content, "size": 14, "lines": 3, "success": true }));
    let part = agent.call("read_file", json!({ "path": "src/a.txt", "start": 2, "count": 1 })).await?;
    assert_eq!((&part["content"], &part["next"]), (&json!("two\n"), &json!("3")));
    let part = agent.call("read_file", json!({ "path": "src/a.txt", "start": part["next"] })).await?;
    assert_eq!((&part["content"], &part["next"]), (&json!("three\n"), &Value::Null));
    let listed = agent.call("list_directory", json!({ "path": "src" })).await?;
    assert_eq!(
        listed,
        json!({ "entries": ["a.txt", "deep"], "directories": ["deep"], "total": 2, "success": true })
    );
    let there = agent.call("file_exists", json!({ "path": "src/a.txt" })).await?;
    assert_eq!(there, json!({ "exists": true, "size": 14, "success": true }));
    let there = agent.call("directory_exists", json!({ "path": "src/a.txt" })).await?;
    assert_eq!(there, json!({ "exists": false, "instead": "file", "success": true }));
    let deleted = agent.call("delete_file", json!({ "path": "src/a.txt" })).await?;
    assert_eq!(deleted["success"], true);
    let gone = agent.call("read_file", json!({ "path": "src/a.txt" })).await?;
    assert_eq!((&gone["success"], &gone["error"]["code"]), (&json!(false), &json!("NOT_FOUND")));
    let outside = agent.call("read_file", json!({ "path": "/etc/passwd" })).await?;
    assert_eq!(outside["error"]["code"], "PATH_NOT_ALLOWED");
    agent.finish().await
}

#[tokio::test]
async fn read_only_refuses_every_tool_that_writes_and_lists_none() -> anyhow::Result<()> {
    let folder = tempfile::tempdir()?;
    let mut agent =
        Agent::in_folder("agent", folder.path(), &["--read-only", "--allow-commands"], &silent()).await?;
    let listed = agent.rpc("tools/list", json!({})).await?;
    let tools: Vec<&Value> = listed["tools"].as_array().into_iter().flatten().collect();
    assert!(tools.iter().any(|tool| tool["name"] == "read_file"));
    assert!(tools.iter().all(|tool| tool["annotations"]["readOnlyHint"] == true), "{listed}");
    for (tool, arguments) in [
        ("write_file", json!({ "path": "a", "content": "" })),
        ("delete_file", json!({ "path": "a" })),
        ("create_directory", json!({ "path": "a" })),
        ("git_add", json!({ "files": ["a"] })),
        ("git_commit", json!({ "message": "a" })),
    ] {
        let refused = agent.call(tool, arguments).await?;
        assert_eq!(refused["error"]["code"], "ACCESS_DENIED", "{tool}");
    }
    assert_eq!(std::fs::read_dir(folder.path())?.count(), 0);
    agent.finish().await
}

#[tokio::test]
async fn several_roots_can_be_allowed_and_relative_paths_begin_at_the_first() -> anyhow::Result<()> {
    let (one, two) = (tempfile::tempdir()?, tempfile::tempdir()?);
    std::fs::write(two.path().join("there.txt"), "there")?;
    let roots = [one.path().display().to_string(), two.path().display().to_string()];
    let flags = ["--root", &roots[0], "--root", &roots[1]];
    let elsewhere = tempfile::tempdir()?;
    let mut agent = Agent::in_folder("agent", elsewhere.path(), &flags, &silent()).await?;
    agent.call("write_file", json!({ "path": "here.txt", "content": "here" })).await?;
    assert_eq!(std::fs::read_to_string(one.path().join("here.txt"))?, "here");
    let read = agent.call("read_file", json!({ "path": two.path().join("there.txt") })).await?;
    assert_eq!(read["content"], "there");
    let outside =
        agent.call("write_file", json!({ "path": elsewhere.path().join("x"), "content": "" })).await?;
    assert_eq!(outside["error"]["code"], "PATH_NOT_ALLOWED");
    agent.finish().await
}

#[tokio::test]
async fn an_agent_sees_and_makes_history() -> anyhow::Result<()> {
    let folder = tempfile::tempdir()?;
    let git = |arguments: &[&str]| {
        std::process::Command::new("git")
            .args(arguments)
            .current_dir(folder.path())
            .status()
            .map(|status| status.success())
    };
    let mut agent = Agent::in_folder("agent", folder.path(), &[], &silent()).await?;
    let none = agent.call("git_status", json!({})).await?;
    assert_eq!(none["error"]["code"], "NOT_FOUND");
    assert!(git(&["init", "-q", "-b", "main"])?);
    assert!(git(&["config", "user.name", "A"])? && git(&["config", "user.email", "a@example.com"])?);
    agent.call("write_file", json!({ "path": "a b.txt", "content": "one\n" })).await?;
    let status = agent.call("git_status", json!({})).await?;
    assert_eq!((&status["branch"], &status["output"]), (&json!("main"), &json!("?? a b.txt\n")));
    assert_eq!(status["files"], json!([{ "status": "??", "path": "a b.txt" }]));
    let added = agent.call("git_add", json!({ "files": ["a b.txt"] })).await?;
    assert_eq!(added["staged"], json!(["a b.txt"]));
    let staged = agent.call("git_diff", json!({ "staged": true })).await?;
    assert!(staged["output"].as_str().is_some_and(|patch| patch.ends_with("+one\n")), "{staged}");
    let committed = agent.call("git_commit", json!({ "message": "First" })).await?;
    assert_eq!((&committed["branch"], &committed["success"]), (&json!("main"), &json!(true)));
    let log = agent.call("git_log", json!({ "max_count": 5, "repository_path": folder.path() })).await?;
    assert_eq!(
        (&log["commits"][0]["subject"], &log["commits"][0]["hash"]),
        (&json!("First"), &committed["hash"])
    );
    let branches = agent.call("git_list_branches", json!({})).await?;
    assert_eq!(branches["output"], "* main\n");
    assert_eq!(agent.call("git_current_branch", json!({})).await?["branch"], "main");
    let again = agent.call("git_commit", json!({ "message": "Second" })).await?;
    assert_eq!((&again["success"], &again["error"]["code"]), (&json!(false), &json!("COMMAND_FAILED")));
    let outside = agent.call("git_log", json!({ "repositoryPath": "/" })).await?;
    assert_eq!(outside["error"]["code"], "PATH_NOT_ALLOWED");
    agent.finish().await
}

#[tokio::test]
async fn commands_run_only_when_allowed_and_never_through_a_shell() -> anyhow::Result<()> {
    let folder = tempfile::tempdir()?;
    let mut agent = Agent::in_folder("agent", folder.path(), &[], &silent()).await?;
    let refused = agent.call("run_command", json!({ "command": "true" })).await?;
    assert_eq!(refused["error"]["code"], "ACCESS_DENIED");
    agent.finish().await?;

    let mut agent = Agent::in_folder("agent", folder.path(), &["--allow-commands"], &silent()).await?;
    let ran = agent.call("run_command", json!({ "command": "printf %s| a \"b c\" $(id) ; > x" })).await?;
    assert_eq!((&ran["exitCode"], &ran["stdout"]), (&json!(0), &json!("a|b c|$(id)|;|>|x|")));
    let given = json!({ "command": "printf %s|", "args": ["", "a \" b"] });
    assert_eq!(agent.call("run_command", given).await?["stdout"], "|a \" b|");
    let failed =
        agent.call("run_command", json!({ "command": "sh -c \"echo out; echo err >&2; exit 3\"" })).await?;
    assert_eq!((&failed["success"], &failed["error"]["code"]), (&json!(false), &json!("COMMAND_FAILED")));
    assert_eq!(
        (&failed["exitCode"], &failed["stdout"], &failed["stderr"]),
        (&json!(3), &json!("out\n"), &json!("err\n"))
    );
    for (arguments, code) in [
        (json!({ "command": " \"\" " }), "INVALID_PARAMETER"),
        (json!({ "command": "no-such-program" }), "COMMAND_FAILED"),
        (json!({ "command": "true", "workingDirectory": "/" }), "PATH_NOT_ALLOWED"),
        (json!({ "command": "true", "workingDirectory": "none" }), "NOT_FOUND"),
    ] {
        let refused = agent.call("run_command", arguments.clone()).await?;
        assert_eq!(refused["error"]["code"], code, "{arguments}");
    }
    // A call that has waited long enough leaves the command going, and the same call waits on.
    let slow = json!({ "command": "sh -c", "args": ["until test -e go; do sleep 0.01; done; echo done"],
        "timeoutMs": 1 });
    let pending = agent.call("run_command", slow.clone()).await?;
    assert_eq!((&pending["success"], &pending["pending"]), (&json!(true), &json!(true)));
    agent.call("write_file", json!({ "path": "go", "content": "" })).await?;
    let mut patient = slow;
    patient["timeoutMs"] = json!(deadline_ms(50));
    assert_eq!(agent.call("run_command", patient).await?["stdout"], "done\n");
    agent.finish().await
}

#[tokio::test]
async fn hostile_paths_are_refused_by_every_tool() -> anyhow::Result<()> {
    let outer = tempfile::tempdir()?;
    let root = outer.path().join("root");
    std::fs::create_dir(&root)?;
    std::fs::write(outer.path().join("secret.txt"), "secret")?;
    std::os::unix::fs::symlink("../secret.txt", root.join("file-out"))?;
    std::os::unix::fs::symlink("..", root.join("out"))?;
    let mut agent = Agent::in_folder("agent", &root, &["--allow-commands"], &silent()).await?;
    let absolute = outer.path().join("secret.txt").display().to_string();
    for path in
        ["../secret.txt", "out/secret.txt", "file-out", "a/../../secret.txt", &absolute, "/proc/self/environ"]
    {
        for (tool, key) in [
            ("read_file", "path"),
            ("list_directory", "path"),
            ("file_exists", "path"),
            ("directory_exists", "path"),
            ("create_directory", "path"),
            ("git_status", "repositoryPath"),
            ("build", "projectPath"),
        ] {
            let refused = agent.call(tool, json!({ key: path })).await?;
            assert_eq!(refused["error"]["code"], "PATH_NOT_ALLOWED", "{tool} {path}: {refused}");
        }
        let refused = agent.call("write_file", json!({ "path": path, "content": "changed" })).await?;
        assert_eq!(refused["error"]["code"], "PATH_NOT_ALLOWED", "{path}");
    }
    for path in ["", "a\0b"] {
        let refused = agent.call("read_file", json!({ "path": path })).await?;
        assert_eq!(refused["error"]["code"], "INVALID_PARAMETER");
    }
    for arguments in [
        json!({}),
        json!({ "path": ["a", "b"] }),
        json!({ "path": "a", "start": 0 }),
        json!({ "path": "a", "count": "many" }),
    ] {
        let refused = agent.call("read_file", arguments).await?;
        assert_eq!(refused["error"]["code"], "INVALID_PARAMETER");
    }
    assert_eq!(std::fs::read_to_string(outer.path().join("secret.txt"))?, "secret");
    // Debug answers show lines of sources; a file that is not text of a sensible size is not read, and not
    // waited for.
    let pipe = root.join("pipe");
    assert!(std::process::Command::new("mkfifo").arg(&pipe).status()?.success());
    std::fs::File::create(root.join("huge.cs"))?.set_len(1 << 30)?;
    for file in ["pipe", "huge.cs", ".", "/dev/zero", "/dev/stdin"] {
        let arguments = json!({ "sourceFile": file, "text": "secret" });
        let refused = agent.call("debug_set_breakpoint", arguments).await?;
        assert_eq!(refused["error"]["code"], "INVALID_PARAMETER", "{file}");
        let kept = agent.call("debug_set_breakpoint", json!({ "sourceFile": file, "line": 1 })).await?;
        assert_eq!((&kept["verified"], &kept["source"]), (&json!(false), &Value::Null), "{file}");
    }
    agent.finish().await
}

#[tokio::test]
async fn a_log_at_its_finest_holds_no_arguments_files_input_or_values() -> anyhow::Result<()> {
    let runtime = Runtime::Net9;
    let environment = runtime.environment().context("no runtime")?;
    let folder = tempfile::tempdir()?;
    let (adapter, log) = (folder.path().join("adapter.sh"), folder.path().join("log"));
    let real = fixture::binary("tandem-dap");
    let script = format!(
        "#!/bin/sh\nexec '{}' --log '{}' --log-level trace \"$@\"\n",
        real.display(),
        folder.path().join("log-dap").display()
    );
    std::fs::write(&adapter, script)?;
    std::fs::set_permissions(&adapter, std::os::unix::fs::PermissionsExt::from_mode(0o755))?;
    let mut command = tokio::process::Command::new(fixture::binary("tandem-mcp"));
    command
        .envs(environment)
        .current_dir(folder.path())
        .arg("--adapter")
        .arg(&adapter)
        .arg("--log")
        .arg(&log);
    command.args(["--log-level", "trace"]);
    let mut agent = Agent::spawn("agent", command, &silent()).await?;
    agent.call("write_file", json!({ "path": "a.txt", "content": "SECRET-file" })).await?;
    agent.call("read_file", json!({ "path": "a.txt" })).await?;
    let (file, line) = (fixture::source("echo"), fixture::line("echo", "line"));
    agent.call("debug_set_breakpoint", json!({ "sourceFile": file, "line": line })).await?;
    let launch = json!({ "appDllPath": fixture::program("echo"), "args": ["SECRET-argument"],
        "env": { "NAME": "SECRET-environment" }, "stopAtEntry": false });
    assert_eq!(agent.call("debug_launch", launch).await?["success"], true);
    agent.call("process_write_input", json!({ "data": "SECRET-input\n", "closeAfter": true })).await?;
    let stop = agent.call("debug_wait", json!({})).await?;
    assert_eq!(stop["state"], "stopped", "{stop:#}");
    let value = agent.call("debug_evaluate", json!({ "expression": "line + \"SECRET-expression\"" })).await?;
    assert_eq!(value["result"], "\"SECRET-inputSECRET-expression\"", "{value:#}");
    agent.call("debug_continue", json!({})).await?;
    agent.call("debug_disconnect", json!({})).await?;
    agent.finish().await?;
    for name in ["log", "log-dap"] {
        let text = std::fs::read_to_string(folder.path().join(name))?;
        let leaked: Vec<&str> = text.lines().filter(|line| line.contains("SECRET")).collect();
        assert!(leaked.is_empty(), "{name}: {leaked:#?}");
        assert!(name == "log" || text.contains("request to the engine"), "{text}");
    }
    Ok(())
}

/// A project that compiles and has no tests is another matter.
#[tokio::test]
async fn tests_of_a_dotnet_project_that_does_not_compile_do_not_pass() -> anyhow::Result<()> {
    let environment = Runtime::Net31.environment().context("no .NET Core 3.1")?;
    let project = tempfile::tempdir()?;
    let programs = fixture::root().join("fixtures/programs/dotnet");
    for name in ["broken/broken.csproj", "broken/Program.cs", "Directory.Build.props"] {
        let own = std::path::Path::new(name).file_name().unwrap_or_default();
        std::fs::copy(programs.join(name), project.path().join(own))?;
    }
    let mut command = tokio::process::Command::new(fixture::binary("tandem-mcp"));
    command.envs(environment).current_dir(project.path());
    let mut agent = Agent::spawn("agent", command, &silent()).await?;
    let is_of_tests = "<PropertyGroup><IsTestProject>true</IsTestProject></PropertyGroup></Project>";
    let plain = std::fs::read_to_string(programs.join("broken/broken.csproj"))?;
    let tests = plain.replace("</Project>", is_of_tests);
    let broken = std::fs::read_to_string(programs.join("broken/Program.cs"))?;
    let sound = "static class Program { static void Main() { } }";
    for (content, source, code, errors) in [
        (&plain, broken.as_str(), "BUILD_FAILED", json!(2)),
        (&tests, broken.as_str(), "BUILD_FAILED", json!(2)),
        (&plain, sound, "NOT_FOUND", json!(null)),
    ] {
        agent.call("write_file", json!({ "path": "broken.csproj", "content": content })).await?;
        agent.call("write_file", json!({ "path": "Program.cs", "content": source })).await?;
        let tested = loop {
            let answer = agent.call("run_tests", json!({})).await?;
            if answer["pending"] != true {
                break answer;
            }
        };
        assert_eq!(
            (&tested["success"], &tested["error"]["code"], &tested["errors"]),
            (&json!(false), &json!(code), &errors),
            "{tested:#}"
        );
    }
    agent.finish().await
}
