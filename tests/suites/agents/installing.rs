//! `tandem-mcp install` and `doctor`, and `tandem-dap engines`, as a user runs them,
//! in separate home folders.

use std::path::Path;
use std::process::{Command, Output};

use serde_json::{Value, json};
use tandem_harness::fixture::binary;

fn run(home: &Path, args: &[&str]) -> Output {
    let mut command = Command::new(binary("tandem-mcp"));
    command.args(args).env("HOME", home).env_remove("XDG_CONFIG_HOME").env_remove("XDG_STATE_HOME");
    // Hosts on this machine do not count.
    command.env("PATH", "/usr/bin:/bin");
    command.output().expect("tandem-mcp is started")
}

fn output_of(output: &Output) -> String {
    String::from_utf8_lossy(&[output.stdout.as_slice(), output.stderr.as_slice()].concat()).into_owned()
}

fn read(file: &Path) -> Value {
    serde_json::from_str(&std::fs::read_to_string(file).expect("the file is there")).expect("it is JSON")
}

#[test]
fn every_host_is_configured_once_brought_up_to_date_and_cleaned_again() {
    let home = tempfile::tempdir().expect("a folder");
    let listed = output_of(&run(home.path(), &["install"]));
    let hosts: Vec<&str> = listed.lines().filter_map(|line| line.split_whitespace().next()).collect();
    assert_eq!(hosts.len(), 12, "{listed}");
    // Configurations that exist already.
    let own = home.path().join(".claude.json");
    std::fs::write(
        &own,
        "{\n  \"numStartups\": 3,\n  \"mcpServers\": { \"other\": { \"command\": \"o\" } }\n}\n",
    )
    .expect("written");
    let mut all = vec!["install"];
    all.extend(&hosts);

    // None of the hosts is installed but the one with a configuration.
    let absent = run(home.path(), &["install", "claude-code", "cursor"]);
    assert!(
        !absent.status.success() && output_of(&absent).contains("Cursor does not seem to be installed"),
        "{}",
        output_of(&absent)
    );
    assert!(read(&own)["mcpServers"]["tandem"].is_null(), "nothing was changed");
    all.push("--force");
    let dry = run(home.path(), &[&all[..], &["--dry-run"]].concat());
    assert!(
        dry.status.success() && output_of(&dry).matches("would write `tandem`").count() == 12,
        "{}",
        output_of(&dry)
    );
    assert!(
        !home.path().join(".cursor").exists() && !home.path().join(".local").exists(),
        "a dry run writes nothing"
    );

    let first = run(home.path(), &all);
    assert!(
        first.status.success() && output_of(&first).matches(": wrote `tandem`").count() == 12,
        "{}",
        output_of(&first)
    );
    let program = binary("tandem-mcp").display().to_string();
    let entry = json!({ "type": "stdio", "command": program, "args": [] });
    let whole = json!({ "numStartups": 3, "mcpServers": { "other": { "command": "o" }, "tandem": entry } });
    assert_eq!(read(&own), whole);
    let again = run(home.path(), &all);
    assert!(
        again.status.success() && output_of(&again).matches("already").count() == 12,
        "{}",
        output_of(&again)
    );
    let newer = run(home.path(), &[&all[..], &["--", "--read-only"]].concat());
    assert!(
        newer.status.success() && output_of(&newer).matches(": wrote `tandem`").count() == 12,
        "{}",
        output_of(&newer)
    );
    assert_eq!(
        read(&home.path().join(".cursor/mcp.json"))["mcpServers"]["tandem"]["args"],
        json!(["--read-only"])
    );

    // A user changes an entry by hand: it is theirs from then on.
    let cursor = home.path().join(".cursor/mcp.json");
    std::fs::write(&cursor, r#"{"mcpServers": {"tandem": {"command": "mine"}}}"#).expect("written");
    for command in ["install", "uninstall"] {
        let refused = run(home.path(), &[command, "cursor"]);
        assert!(
            !refused.status.success() && output_of(&refused).contains("did not write"),
            "{}",
            output_of(&refused)
        );
        assert_eq!(read(&cursor), json!({ "mcpServers": { "tandem": { "command": "mine" } } }));
    }
    std::fs::remove_file(&cursor).expect("removed");
    let dry = run(home.path(), &["uninstall", "all", "--dry-run"]);
    assert_eq!(output_of(&dry).matches("would remove `tandem`").count(), 11, "{}", output_of(&dry));
    let removed = run(home.path(), &["uninstall", "all"]);
    assert!(
        removed.status.success() && output_of(&removed).matches(": removed `tandem`").count() == 11,
        "{}",
        output_of(&removed)
    );
    assert_eq!(read(&own), json!({ "numStartups": 3, "mcpServers": { "other": { "command": "o" } } }));
}

#[test]
fn a_configuration_that_is_a_link_or_damaged_is_respected() {
    use std::os::unix::fs::{PermissionsExt, symlink};
    let home = tempfile::tempdir().expect("a folder");
    let dots = home.path().join("dots.json");
    std::fs::write(&dots, "{}").expect("written");
    std::fs::set_permissions(&dots, std::fs::Permissions::from_mode(0o640)).expect("changed");
    std::fs::create_dir(home.path().join(".gemini")).expect("made");
    symlink(&dots, home.path().join(".gemini/settings.json")).expect("linked");
    let done = run(home.path(), &["install", "gemini"]);
    assert!(done.status.success(), "{}", output_of(&done));
    assert!(home.path().join(".gemini/settings.json").is_symlink(), "the link is still one");
    assert!(read(&dots)["mcpServers"]["tandem"].is_object());
    let mode = std::fs::metadata(&dots).expect("it is there").permissions().mode();
    assert_eq!(mode & 0o777, 0o640);
    std::fs::write(home.path().join(".claude.json"), "{ \"half\": ").expect("written");
    let refused = run(home.path(), &["install", "gemini", "claude-code", "--", "--read-only"]);
    assert!(
        !refused.status.success() && output_of(&refused).contains("it is not JSON"),
        "{}",
        output_of(&refused)
    );
    assert_eq!(read(&dots)["mcpServers"]["tandem"]["args"], json!([]), "no other host was configured");
}

#[test]
fn files_that_cannot_be_written_leave_every_configuration_as_it_was() {
    let home = tempfile::tempdir().expect("a folder");
    let own = home.path().join(".claude.json");
    std::fs::write(&own, "{}").expect("written");
    std::fs::create_dir(home.path().join(".cursor")).expect("made");
    // A limit of the size of files, as a full disk.
    let script = "trap '' XFSZ; ulimit -f 0; exec \"$0\" install claude-code cursor";
    let mut command = Command::new("sh");
    command.args(["-c", script]).arg(binary("tandem-mcp")).env("HOME", home.path());
    command.env_remove("XDG_CONFIG_HOME").env_remove("XDG_STATE_HOME").env("PATH", "/usr/bin:/bin");
    let full = command.output().expect("sh is started");
    assert!(
        !full.status.success() && output_of(&full).contains("nothing was changed: File too large"),
        "{}",
        output_of(&full)
    );
    // The folder of the record cannot be made.
    std::fs::write(home.path().join(".local"), "").expect("written");
    let refused = run(home.path(), &["install", "claude-code", "cursor"]);
    assert!(
        !refused.status.success() && output_of(&refused).contains("installed.json`: Not a directory"),
        "{}",
        output_of(&refused)
    );
    assert_eq!(std::fs::read_to_string(&own).expect("it is there"), "{}");
    assert!(!home.path().join(".cursor/mcp.json").exists());
}

#[test]
fn doctor_reports_missing_parts_and_how_to_fix_them() {
    let home = tempfile::tempdir().expect("a folder");
    std::fs::create_dir_all(home.path().join(".cursor")).expect("made");
    let report = |more: &[&str]| {
        let output = run(home.path(), &[more, &["doctor", "--json"]].concat());
        let results: Vec<Value> = serde_json::from_slice(&output.stdout).expect("JSON");
        (output.status.success(), results)
    };
    let about = |results: &[Value], what: &str| -> Vec<Value> {
        results.iter().filter(|one| one["about"] == what).cloned().collect()
    };
    let (well, results) = report(&[]);
    assert!(well, "{results:#?}");
    assert_eq!(about(&results, "tandem-dap")[0]["well"], true);
    assert_eq!(about(&results, "engine").len(), 10, "{results:#?}");
    let netcoredbg = about(&results, "engine")
        .into_iter()
        .find(|one| one["what"].as_str().unwrap_or_default().contains("netcoredbg"));
    assert!(
        netcoredbg.is_some_and(|one| one["hint"].as_str().unwrap_or_default().contains("Samsung/netcoredbg"))
    );
    // Both programs report the same, and the bridge adds what it knows of agents.
    let mut own = Command::new(binary("tandem-dap"));
    own.args(["doctor", "--json"]).env("HOME", home.path()).env("PATH", "/usr/bin:/bin");
    let own = own.output().expect("tandem-dap is started");
    let own: Vec<Value> = serde_json::from_slice(&own.stdout).expect("JSON");
    let shared = results.iter().filter(|one| one["about"] != "tandem-mcp" && one["about"] != "host");
    let without_count = |one: &Value| one["what"].to_string().split(" live").last().map(str::to_owned);
    assert_eq!(
        shared.map(without_count).collect::<Vec<_>>(),
        own.iter().map(without_count).collect::<Vec<_>>()
    );
    let lldb =
        own.iter().find_map(|one| one["what"].as_str()?.strip_prefix("lldb (C, C++, Rust, Swift, Zig): "));
    let has_version = |found: &str| found.starts_with(|first: char| first.is_ascii_digit());
    assert!(lldb.is_some_and(|found| has_version(found) || found.starts_with("the engine `lldb` needs")));
    assert_eq!(about(&results, "host")[0]["hint"], "`tandem-mcp install cursor`");
    run(home.path(), &["install", "cursor"]);
    assert_eq!(about(&report(&[]).1, "host")[0]["well"], true);
    let (well, results) = report(&["--adapter", "/nowhere/tandem-dap"]);
    assert!(!well && about(&results, "tandem-dap")[0]["well"] == false, "{results:#?}");
}

#[test]
fn install_writes_and_removes_the_skill_of_each_host() {
    let home = tempfile::tempdir().expect("a folder");
    let skill = home.path().join(".claude/skills/tandem");
    std::fs::create_dir(home.path().join(".claude")).expect("made");
    let install = |more: &[&str]| run(home.path(), &[&["install", "claude-code", "--skill"], more].concat());
    assert!(output_of(&install(&["--dry-run"])).contains("would write the skill"));
    assert!(!skill.exists());
    assert!(output_of(&install(&[])).contains("wrote the skill"));
    assert!(skill.join("SKILL.md").is_file() && skill.join("references/dotnet.md").is_file());
    assert!(output_of(&install(&[])).contains("the skill is in"));
    // Another version of it is brought up to date only if this command wrote it.
    std::fs::write(skill.join("SKILL.md"), "written by hand").expect("written");
    for more in [&[][..], &["--remove"]] {
        let refused = install(more);
        assert!(!refused.status.success() && output_of(&refused).contains("did not write its `SKILL.md`"));
    }
    std::fs::remove_file(skill.join("SKILL.md")).expect("removed");
    assert!(output_of(&install(&[])).contains("wrote the skill"));
    assert!(output_of(&install(&["--remove"])).contains("removed the skill"));
    assert!(!skill.exists());
    assert!(output_of(&install(&["--remove"])).contains("the skill is not in"));
    // Hosts that share a folder find it there; one that reads no skills is refused.
    let project = tempfile::tempdir().expect("a folder");
    let folder = project.path().display().to_string();
    let shared = run(home.path(), &["install", "codex", "opencode", "--skill", "--project", &folder]);
    assert!(
        output_of(&shared).contains("Codex: wrote the skill")
            && output_of(&shared).contains("OpenCode: the skill is in")
    );
    assert!(project.path().join(".agents/skills/tandem/SKILL.md").is_file());
    let refused = run(home.path(), &["install", "claude-desktop", "--skill", "--force"]);
    assert!(
        !refused.status.success() && output_of(&refused).contains("leave out --skill"),
        "{}",
        output_of(&refused)
    );
}
