/** Registers the debugger: wiring only. */
import { existsSync } from "node:fs";
import * as vscode from "vscode";
import { findAdapter } from "./binary";

export function activate(context: vscode.ExtensionContext): void {
  const factory: vscode.DebugAdapterDescriptorFactory = {
    createDebugAdapterDescriptor() {
      const configured = vscode.workspace.getConfiguration("tandem").get<string>("adapterPath", "");
      const found = findAdapter(configured, context.extensionPath, process.env["PATH"] ?? "", existsSync);
      if (found.file === undefined) {
        throw new Error(
          `Tandem's debug adapter was not found; looked for ${found.looked.join(", ")}. ` +
            `Build it with cargo, or name it in the setting tandem.adapterPath.`,
        );
      }
      return new vscode.DebugAdapterExecutable(found.file, []);
    },
  };
  context.subscriptions.push(vscode.debug.registerDebugAdapterDescriptorFactory("tandem", factory));
}
