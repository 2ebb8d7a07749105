//! The hosts of agents: where each keeps its MCP servers and in what form, as its documentation says. Reads
//! and writes nothing.

use std::path::{Path, PathBuf};

use anyhow::Context;
use serde::Serialize;
use serde_json::Value;
use tandem_wire::types;

/// The user's folders that configurations are in.
#[derive(Debug, Clone)]
pub(crate) struct ConfigFolders {
    /// The user's home folder, from HOME.
    pub(crate) home: PathBuf,
    /// XDG_CONFIG_HOME, else `~/.config`.
    pub(crate) config: PathBuf,
    /// XDG_STATE_HOME, else `~/.local/state`.
    pub(crate) state: PathBuf,
    /// The variable PATH, with the folders of programs.
    pub(crate) programs: std::ffi::OsString,
}

impl ConfigFolders {
    /// The folders of the user who runs this program.
    pub(crate) fn of_this_user() -> anyhow::Result<Self> {
        let folder = |name: &str| std::env::var_os(name).map(PathBuf::from).filter(|path| path.is_absolute());
        let home = folder("HOME").context("HOME is not set, so the configuration cannot be found")?;
        let config = folder("XDG_CONFIG_HOME").unwrap_or_else(|| home.join(".config"));
        let state = folder("XDG_STATE_HOME").unwrap_or_else(|| home.join(".local/state"));
        let programs = std::env::var_os("PATH").unwrap_or_default();
        Ok(Self { home, config, state, programs })
    }

    /// The folders that PATH names, in its order.
    fn program_folders(&self) -> impl Iterator<Item = PathBuf> {
        std::env::split_paths(&self.programs)
    }
}

/// The format of a file and the key of the object or table that contains its servers.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum ConfigFormat {
    /// JSON, which may have comments and trailing commas.
    Json(&'static str),
    /// TOML, by the key of the table.
    Toml(&'static str),
}

/// Shape of an entry in a host's configuration.
#[derive(Debug, Clone, Copy)]
enum EntryFormat {
    /// `command` and `args`.
    Plain,
    /// As the plain form, with `type: "stdio"`.
    Typed,
    /// One list for both, `type: "local"`, and whether it is on.
    OneList,
}

/// Which folder a path is in.
#[derive(Debug, Clone, Copy)]
enum BaseFolder {
    Home,
    Config,
}

/// A host of agents and its configuration files.
#[derive(Debug, Clone, Copy)]
pub(crate) struct McpHost {
    /// Name on the command line.
    pub(crate) id: &'static str,
    /// Display name, such as `Claude Code`.
    pub(crate) name: &'static str,
    base: BaseFolder,
    path: &'static str,
    /// Files or folders that the host creates, in the same base folder as `path`.
    made: &'static [&'static str],
    /// Programs that start it, on PATH.
    programs: &'static [&'static str],
    project: Option<&'static str>,
    pub(crate) form: ConfigFormat,
    shape: EntryFormat,
    /// Next step for the user.
    pub(crate) then: &'static str,
    /// The folders that it reads skills from: the user's (below HOME), and the project's. `None` where its
    /// documentation names none.
    pub(crate) skills: Option<(&'static str, &'static str)>,
}

const RESTART: &str = "Restart it, or reload its MCP servers.";

/// All hosts, in the order in which they are listed.
pub(crate) const HOSTS: [McpHost; 12] = [
    McpHost {
        id: "claude-code",
        name: "Claude Code",
        base: BaseFolder::Home,
        path: ".claude.json",
        made: &[".claude.json", ".claude"],
        programs: &["claude"],
        project: Some(".mcp.json"),
        form: ConfigFormat::Json("mcpServers"),
        shape: EntryFormat::Typed,
        then: "Start a new session; `/mcp` shows the server.",
        skills: Some((".claude/skills", ".claude/skills")),
    },
    McpHost {
        id: "claude-desktop",
        name: "Claude Desktop",
        base: BaseFolder::Config,
        path: "Claude/claude_desktop_config.json",
        made: &["Claude"],
        programs: &["claude-desktop"],
        project: None,
        form: ConfigFormat::Json("mcpServers"),
        shape: EntryFormat::Plain,
        then: RESTART,
        skills: None,
    },
    McpHost {
        id: "vscode",
        name: "VS Code",
        base: BaseFolder::Config,
        path: "Code/User/mcp.json",
        made: &["Code"],
        programs: &["code"],
        project: Some(".vscode/mcp.json"),
        form: ConfigFormat::Json("servers"),
        shape: EntryFormat::Typed,
        then: "Start it with `MCP: List Servers`. Tandem's extension offers the bridge without this.",
        skills: Some((".copilot/skills", ".agents/skills")),
    },
    McpHost {
        id: "cursor",
        name: "Cursor",
        base: BaseFolder::Home,
        path: ".cursor/mcp.json",
        made: &[".cursor"],
        programs: &["cursor"],
        project: Some(".cursor/mcp.json"),
        form: ConfigFormat::Json("mcpServers"),
        shape: EntryFormat::Plain,
        then: "Enable it in the settings, under MCP.",
        skills: Some((".cursor/skills", ".cursor/skills")),
    },
    McpHost {
        id: "windsurf",
        name: "Windsurf",
        base: BaseFolder::Home,
        path: ".codeium/windsurf/mcp_config.json",
        made: &[".codeium/windsurf"],
        programs: &["windsurf"],
        project: None,
        form: ConfigFormat::Json("mcpServers"),
        shape: EntryFormat::Plain,
        then: RESTART,
        skills: Some((".codeium/windsurf/skills", ".windsurf/skills")),
    },
    McpHost {
        id: "codex",
        name: "Codex",
        base: BaseFolder::Home,
        path: ".codex/config.toml",
        made: &[".codex"],
        programs: &["codex"],
        project: Some(".codex/config.toml"),
        form: ConfigFormat::Toml("mcp_servers"),
        shape: EntryFormat::Plain,
        then: "Start a new session.",
        skills: Some((".agents/skills", ".agents/skills")),
    },
    McpHost {
        id: "gemini",
        name: "Gemini CLI",
        base: BaseFolder::Home,
        path: ".gemini/settings.json",
        made: &[".gemini"],
        programs: &["gemini"],
        project: Some(".gemini/settings.json"),
        form: ConfigFormat::Json("mcpServers"),
        shape: EntryFormat::Plain,
        then: "Start a new session; `/mcp` shows the server.",
        skills: Some((".gemini/skills", ".agents/skills")),
    },
    McpHost {
        id: "opencode",
        name: "OpenCode",
        base: BaseFolder::Config,
        path: "opencode/opencode.json",
        made: &["opencode"],
        programs: &["opencode"],
        project: Some("opencode.json"),
        form: ConfigFormat::Json("mcp"),
        shape: EntryFormat::OneList,
        then: "Start a new session.",
        skills: Some((".config/opencode/skills", ".agents/skills")),
    },
    McpHost {
        id: "zed",
        name: "Zed",
        base: BaseFolder::Config,
        path: "zed/settings.json",
        made: &["zed"],
        programs: &["zed", "zeditor"],
        project: Some(".zed/settings.json"),
        form: ConfigFormat::Json("context_servers"),
        shape: EntryFormat::Plain,
        then: "It starts at once.",
        skills: None,
    },
    McpHost {
        id: "cline",
        name: "Cline",
        base: BaseFolder::Config,
        path: "Code/User/globalStorage/saoudrizwan.claude-dev/settings/cline_mcp_settings.json",
        made: &["Code/User/globalStorage/saoudrizwan.claude-dev"],
        programs: &["cline"],
        project: None,
        form: ConfigFormat::Json("mcpServers"),
        shape: EntryFormat::Plain,
        then: RESTART,
        skills: Some((".cline/skills", ".cline/skills")),
    },
    McpHost {
        // It reads each file of this folder, JSON in the form of other hosts too.
        id: "continue",
        name: "Continue",
        base: BaseFolder::Home,
        path: ".continue/mcpServers/tandem.json",
        made: &[".continue"],
        programs: &["cn"],
        project: Some(".continue/mcpServers/tandem.json"),
        form: ConfigFormat::Json("mcpServers"),
        shape: EntryFormat::Plain,
        then: "Agent mode has it.",
        skills: Some((".continue/skills", ".continue/skills")),
    },
    McpHost {
        // AI Assistant has no file; it takes the configuration over from Claude Desktop, or from its
        // settings.
        id: "jetbrains",
        name: "JetBrains Junie",
        base: BaseFolder::Home,
        path: ".junie/mcp/mcp.json",
        made: &[".junie"],
        programs: &["junie"],
        project: Some(".junie/mcp/mcp.json"),
        form: ConfigFormat::Json("mcpServers"),
        shape: EntryFormat::Plain,
        then: RESTART,
        skills: Some((".junie/skills", ".junie/skills")),
    },
];

impl McpHost {
    /// The user's configuration.
    pub(crate) fn file(&self, places: &ConfigFolders) -> PathBuf {
        self.base(places).join(self.path)
    }

    /// Configuration file in a project folder; `None` when the host has none.
    pub(crate) fn project_file(&self, folder: &Path) -> Option<PathBuf> {
        self.project.map(|path| folder.join(path))
    }

    /// Whether the user seems to have this host: a file or folder that it creates exists, or its program is
    /// on PATH.
    pub(crate) fn is_here(&self, places: &ConfigFolders) -> bool {
        self.made_paths(places).any(|path| path.exists())
            || self
                .programs
                .iter()
                .any(|program| places.program_folders().any(|one| one.join(program).is_file()))
    }

    /// The missing signs of a host that is not installed, for a message.
    pub(crate) fn signs(&self, places: &ConfigFolders) -> String {
        let made = self.made_paths(places).map(|path| format!("`{}`", path.display()));
        let programs = self.programs.iter().map(|program| format!("`{program}` on PATH"));
        made.chain(programs).collect::<Vec<_>>().join(" or ")
    }

    fn base<'a>(&self, places: &'a ConfigFolders) -> &'a Path {
        match self.base {
            BaseFolder::Home => &places.home,
            BaseFolder::Config => &places.config,
        }
    }

    fn made_paths(&self, places: &ConfigFolders) -> impl Iterator<Item = PathBuf> {
        self.made.iter().map(|path| self.base(places).join(path))
    }

    /// The entry that starts this command.
    pub(crate) fn entry(&self, command: &str, args: &[String]) -> Value {
        let plain = HostEntry {
            kind: None,
            command: EntryCommand::Program(command),
            args: Some(args),
            enabled: None,
        };
        types::body(&match self.shape {
            EntryFormat::Plain => plain,
            EntryFormat::Typed => HostEntry { kind: Some("stdio"), ..plain },
            EntryFormat::OneList => {
                let words = std::iter::once(command).chain(args.iter().map(String::as_str)).collect();
                let command = EntryCommand::Words(words);
                HostEntry { kind: Some("local"), command, args: None, enabled: Some(true) }
            }
        })
    }
}

/// The entry of a server in a host's configuration.
#[derive(Serialize)]
struct HostEntry<'a> {
    #[serde(rename = "type", skip_serializing_if = "Option::is_none")]
    kind: Option<&'static str>,
    command: EntryCommand<'a>,
    #[serde(skip_serializing_if = "Option::is_none")]
    args: Option<&'a [String]>,
    #[serde(skip_serializing_if = "Option::is_none")]
    enabled: Option<bool>,
}

/// The command of an entry: the program, or the program with its arguments.
#[derive(Serialize)]
#[serde(untagged)]
enum EntryCommand<'a> {
    Program(&'a str),
    Words(Vec<&'a str>),
}
