/** The bridge, offered to VS Code's own agents. */
import * as vscode from "vscode";
import type { Programs } from "./programs";
import { t } from "./l10n";

/** Nothing where VS Code is too old for MCP servers of extensions. */
export function registerBridge(programs: Programs, version: string): vscode.Disposable[] {
  // A fork of VS Code may lack it, whatever its version says.
  const lm: Partial<typeof vscode.lm> | undefined = vscode.lm;
  if (typeof lm?.registerMcpServerDefinitionProvider !== "function") {
    return [];
  }
  const changes = new vscode.EventEmitter<void>();
  const provider: vscode.McpServerDefinitionProvider<vscode.McpStdioServerDefinition> = {
    onDidChangeMcpServerDefinitions: changes.event,
    provideMcpServerDefinitions() {
      const { file } = programs.bridge();
      if (file === undefined || !vscode.workspace.getConfiguration("tandem").get("offerBridgeToAgents", true)) {
        return [];
      }
      const server = new vscode.McpStdioServerDefinition(t("Tandem debugger"), file, [], {}, version);
      const folder = vscode.workspace.workspaceFolders?.[0];
      if (folder !== undefined) {
        server.cwd = folder.uri;
      }
      return [server];
    },
  };
  return [
    changes,
    lm.registerMcpServerDefinitionProvider("tandem", provider),
    vscode.workspace.onDidChangeConfiguration((event) => {
      if (event.affectsConfiguration("tandem")) {
        changes.fire();
      }
    }),
  ];
}
