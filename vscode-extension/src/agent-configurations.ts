/** Configuration of MCP clients for `tandem-mcp`. Independent of VS Code. */
import { t } from "./l10n";

export interface AgentConfiguration {
  readonly name: string;
  /** File that contains the configuration, or another instruction. */
  readonly location: string;
  readonly text: string;
}

/** Creates the configurations of common MCP clients. */
export function createAgentConfigurations(mcpServer: string): AgentConfiguration[] {
  const server = { command: mcpServer, args: [] as string[] };
  const mcpServers = toJson({ mcpServers: { tandem: server } });
  return [
    { name: "Claude Code", location: t("run it in a shell"), text: `claude mcp add tandem -- ${quoteForShell(mcpServer)}` },
    { name: t("Claude Code, for the project"), location: ".mcp.json", text: mcpServers },
    { name: "Codex", location: "~/.codex/config.toml", text: `[mcp_servers.tandem]\ncommand = ${JSON.stringify(mcpServer)}\nargs = []\n` },
    { name: "Cursor", location: ".cursor/mcp.json", text: mcpServers },
    { name: t("VS Code, another window"), location: ".vscode/mcp.json", text: toJson({ servers: { tandem: { type: "stdio", ...server } } }) },
    { name: "Gemini CLI", location: "~/.gemini/settings.json", text: mcpServers },
    { name: "Windsurf", location: "~/.codeium/windsurf/mcp_config.json", text: mcpServers },
    { name: "Zed", location: "settings.json", text: toJson({ context_servers: { tandem: { source: "custom", ...server } } }) },
    {
      name: "opencode", location: "opencode.json",
      text: toJson({ mcp: { tandem: { type: "local", command: [mcpServer], enabled: true } } }),
    },
  ];
}

function toJson(value: unknown): string {
  return `${JSON.stringify(value, undefined, 2)}\n`;
}

function quoteForShell(text: string): string {
  return /^[\w./~+-]+$/.test(text) ? text : `'${text.replaceAll("'", `'\\''`)}'`;
}
