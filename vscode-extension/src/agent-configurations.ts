/** The few lines that agents' own configuration needs to find `tandem-mcp`. Pure; knows nothing of VS Code. */
import { t } from "./l10n";

export interface AgentClient {
  readonly name: string;
  /** Where the lines go. */
  readonly place: string;
  readonly text: string;
}

/** The usual MCP clients, for a bridge at this path. */
export function agentConfigurations(bridge: string): AgentClient[] {
  const server = { command: bridge, args: [] as string[] };
  const mcpServers = json({ mcpServers: { tandem: server } });
  return [
    { name: "Claude Code", place: t("run it in a shell"), text: `claude mcp add tandem -- ${shellQuoted(bridge)}` },
    { name: t("Claude Code, for the project"), place: ".mcp.json", text: mcpServers },
    { name: "Codex", place: "~/.codex/config.toml", text: `[mcp_servers.tandem]\ncommand = ${JSON.stringify(bridge)}\nargs = []\n` },
    { name: "Cursor", place: ".cursor/mcp.json", text: mcpServers },
    { name: t("VS Code, another window"), place: ".vscode/mcp.json", text: json({ servers: { tandem: { type: "stdio", ...server } } }) },
    { name: "Gemini CLI", place: "~/.gemini/settings.json", text: mcpServers },
    { name: "Windsurf", place: "~/.codeium/windsurf/mcp_config.json", text: mcpServers },
    { name: "Zed", place: "settings.json", text: json({ context_servers: { tandem: { source: "custom", ...server } } }) },
    {
      name: "opencode", place: "opencode.json",
      text: json({ mcp: { tandem: { type: "local", command: [bridge], enabled: true } } }),
    },
  ];
}

function json(value: unknown): string {
  return `${JSON.stringify(value, undefined, 2)}\n`;
}

function shellQuoted(text: string): string {
  return /^[\w./~+-]+$/.test(text) ? text : `'${text.replaceAll("'", `'\\''`)}'`;
}
