//! Tests of each host's configuration: entries are written as its documentation requires,
//! and entries of others stay.

use std::path::Path;

use serde_json::{Value, json};

use super::edit::{self, EditOutcome};
use super::hosts::{ConfigFolders, ConfigFormat, HOSTS};
use super::{InstallArgs, ServerCommand, run};

fn flags(hosts: &[&str], more: &[&str]) -> InstallArgs {
    #[derive(clap::Parser)]
    struct InstallCommand {
        #[command(flatten)]
        flags: InstallArgs,
    }
    let words = std::iter::once("install").chain(hosts.iter().copied()).chain(more.iter().copied());
    <InstallCommand as clap::Parser>::parse_from(words).flags
}

fn changed_text(outcome: EditOutcome) -> String {
    match outcome {
        EditOutcome::Changed(text) => text,
        other => panic!("it was not changed: {other:?}"),
    }
}

#[test]
fn each_host_gets_what_its_documentation_says() {
    let places = ConfigFolders {
        home: "/h".into(),
        config: "/h/.config".into(),
        state: "/h/.local/state".into(),
        programs: std::ffi::OsString::new(),
    };
    let plain = json!({ "command": "/bin/tandem-mcp", "args": ["--read-only"] });
    let typed = json!({ "type": "stdio", "command": "/bin/tandem-mcp", "args": ["--read-only"] });
    let list = json!({ "type": "local", "command": ["/bin/tandem-mcp", "--read-only"], "enabled": true });
    let cline = "/h/.config/Code/User/globalStorage/saoudrizwan.claude-dev/settings/cline_mcp_settings.json";
    let expected: [(&str, &str, &str, &Value); 12] = [
        ("claude-code", "/h/.claude.json", "mcpServers", &typed),
        ("claude-desktop", "/h/.config/Claude/claude_desktop_config.json", "mcpServers", &plain),
        ("vscode", "/h/.config/Code/User/mcp.json", "servers", &typed),
        ("cursor", "/h/.cursor/mcp.json", "mcpServers", &plain),
        ("windsurf", "/h/.codeium/windsurf/mcp_config.json", "mcpServers", &plain),
        ("codex", "/h/.codex/config.toml", "mcp_servers", &plain),
        ("gemini", "/h/.gemini/settings.json", "mcpServers", &plain),
        ("opencode", "/h/.config/opencode/opencode.json", "mcp", &list),
        ("zed", "/h/.config/zed/settings.json", "context_servers", &plain),
        ("cline", cline, "mcpServers", &plain),
        ("continue", "/h/.continue/mcpServers/tandem.json", "mcpServers", &plain),
        ("jetbrains", "/h/.junie/mcp/mcp.json", "mcpServers", &plain),
    ];
    assert_eq!(HOSTS.map(|host| host.id).to_vec(), expected.map(|(id, ..)| id).to_vec());
    for (host, (id, file, key, entry)) in HOSTS.iter().zip(expected) {
        assert_eq!(host.file(&places), Path::new(file), "{id}");
        assert_eq!(&host.entry("/bin/tandem-mcp", &["--read-only".into()]), entry, "{id}");
        let text =
            changed_text(edit::put(host.form, "", "tandem", entry, None).expect("an empty file takes it"));
        match host.form {
            ConfigFormat::Json(_) => {
                let whole: Value = serde_json::from_str(&text).expect("JSON");
                assert_eq!(whole, json!({ key: { "tandem": entry } }), "{id}");
            }
            ConfigFormat::Toml(_) => assert_eq!(
                text,
                "[mcp_servers.tandem]\ncommand = \"/bin/tandem-mcp\"\nargs = [\"--read-only\"]\n"
            ),
        }
        assert_eq!(edit::get(host.form, &text, "tandem").expect("it is read"), Some(entry.clone()), "{id}");
    }
}

#[test]
fn comments_layout_and_other_servers_stay_as_they_are() {
    let entry = json!({ "command": "t", "args": [] });
    let text = "// mine\n{\n    \"theme\": \"x\", // dark\n    \"context_servers\": {\n        \"other\": { \
        \"command\": \"o\" },\n    },\n}\n";
    let with = changed_text(
        edit::put(ConfigFormat::Json("context_servers"), text, "tandem", &entry, None)
            .expect("it is understood"),
    );
    assert!(with.starts_with("// mine\n{\n    \"theme\": \"x\", // dark\n"), "{with}");
    assert!(with.contains("\"other\": { \"command\": \"o\" },") && with.contains("\"tandem\": {"), "{with}");
    let without = edit::take(ConfigFormat::Json("context_servers"), &with, "tandem", Some(&entry))
        .expect("it is understood");
    assert_eq!(changed_text(without), text);

    let text = "# mine\nmodel = \"m\"\n\n[mcp_servers.other]\ncommand = \"o\" # theirs\n";
    let with = changed_text(
        edit::put(ConfigFormat::Toml("mcp_servers"), text, "tandem", &entry, None).expect("it is understood"),
    );
    assert!(
        with.starts_with(text) && with.contains("[mcp_servers.tandem]\ncommand = \"t\"\nargs = []\n"),
        "{with}"
    );
    let without = edit::take(ConfigFormat::Toml("mcp_servers"), &with, "tandem", Some(&entry))
        .expect("it is understood");
    assert_eq!(changed_text(without), text);
}

#[test]
fn an_entry_from_another_source_is_neither_overwritten_nor_removed() {
    let theirs = json!({ "command": "mine", "args": [] });
    let entry = json!({ "command": "t", "args": [] });
    for (form, text) in [
        (ConfigFormat::Json("mcpServers"), r#"{"mcpServers": {"tandem": {"command": "mine", "args": []}}}"#),
        (ConfigFormat::Toml("mcp_servers"), "mcp_servers = { tandem = { command = \"mine\", args = [] } }\n"),
    ] {
        let put = |ours| edit::put(form, text, "tandem", &entry, ours).expect("it is understood");
        assert_eq!(put(None), EditOutcome::Foreign(theirs.clone()));
        assert_eq!(put(Some(&entry)), EditOutcome::Foreign(theirs.clone()));
        let take = edit::take(form, text, "tandem", Some(&entry)).expect("it is understood");
        assert_eq!(take, EditOutcome::Foreign(theirs.clone()));
        assert!(
            matches!(put(Some(&theirs)), EditOutcome::Changed(_)),
            "what was ours may be brought up to date"
        );
    }
    for (form, text) in [
        (ConfigFormat::Json("mcpServers"), "[1]"),
        (ConfigFormat::Json("mcpServers"), r#"{"mcpServers": 1}"#),
        (ConfigFormat::Json("mcpServers"), "{"),
        (ConfigFormat::Toml("mcp_servers"), "mcp_servers = 1\n"),
        (ConfigFormat::Toml("mcp_servers"), "= 1"),
    ] {
        assert!(edit::put(form, text, "tandem", &entry, None).is_err(), "{text}");
    }
}

#[test]
fn a_program_in_a_package_runners_cache_is_started_by_the_runner() {
    let launch = |own: &str, by: Option<&str>| {
        let ServerCommand { command, args } = ServerCommand::of(own, by, &["--tools=core".into()]);
        format!("{command} {}", args.join(" "))
    };
    assert_eq!(launch("/usr/bin/tandem-mcp", None), "/usr/bin/tandem-mcp --tools=core");
    assert_eq!(
        launch("/h/.npm/_npx/ab/node_modules/x/bin/tandem-mcp", None),
        "npx -y tandem-mcp --tools=core"
    );
    assert_eq!(launch("/opt/x/tandem-mcp", Some("npx")), "npx -y tandem-mcp --tools=core");
    assert_eq!(launch("/h/.cache/uv/archive-v0/ab/bin/tandem-mcp", None), "uvx tandem-mcp --tools=core");
    let tool = "/h/.dotnet/tools/.store/tandem/0.1.0/tandem.linux-x64/0.1.0/tools/any/linux-x64/tandem-mcp";
    assert_eq!(launch(tool, None), "/h/.dotnet/tools/tandem-mcp --tools=core");
    let nuget = "/h/.nuget/packages/tandem.linux-x64/0.1.0/tools/any/linux-x64/tandem-mcp";
    assert_eq!(launch(nuget, None), "dnx tandem --yes -- --tools=core");
}

#[test]
fn a_project_gets_a_file_of_its_own_or_is_refused() {
    let folder = tempfile::tempdir().expect("a folder");
    let project = folder.path().display().to_string();
    let mut output = Vec::new();
    let refused = run(&flags(&["windsurf"], &["--project", &project]), &mut output).expect_err("it has none");
    assert!(refused.to_string().contains("Windsurf has no project configuration"), "{refused}");
    let unknown = run(&flags(&["notepad"], &[]), &mut output).expect_err("no such host");
    assert!(unknown.to_string().contains("choose from: claude-code, claude-desktop"), "{unknown}");
    run(&flags(&["vscode"], &["--project", &project, "--dry-run"]), &mut output).expect("nothing is wrong");
    assert!(!folder.path().join(".vscode").exists(), "a dry run writes nothing");
    let text = String::from_utf8(output).expect("text");
    assert!(text.contains("would write `tandem`") && text.contains("\"type\":\"stdio\""), "{text}");
}
