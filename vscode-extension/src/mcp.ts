/** Registers Tandem's MCP server with VS Code. */
import * as vscode from "vscode";
import type { Programs } from "./programs";
import { t } from "./l10n";

/** Returns no disposables if VS Code does not support MCP servers of extensions. */
export function registerMcpServer(programs: Programs, version: string): vscode.Disposable[] {
  // A fork of VS Code may lack the API, whatever its version.
  const lm: Partial<typeof vscode.lm> | undefined = vscode.lm;
  if (typeof lm?.registerMcpServerDefinitionProvider !== "function") {
    return [];
  }
  const changeEmitter = new vscode.EventEmitter<void>();
  const provider: vscode.McpServerDefinitionProvider<vscode.McpStdioServerDefinition> = {
    onDidChangeMcpServerDefinitions: changeEmitter.event,
    provideMcpServerDefinitions() {
      const { file } = programs.findMcpServer();
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
    changeEmitter,
    lm.registerMcpServerDefinitionProvider("tandem", provider),
    vscode.workspace.onDidChangeConfiguration((event) => {
      if (event.affectsConfiguration("tandem")) {
        changeEmitter.fire();
      }
    }),
  ];
}
