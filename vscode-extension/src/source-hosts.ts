/** Asks the user once per host whether Tandem may fetch sources from it, and stores the answer in the user's settings. */
import * as vscode from "vscode";
import { readRefusedSource, type RefusedSource } from "./source-permission";
import { t } from "./l10n";

export class SourceHostPrompts implements vscode.DebugAdapterTrackerFactory {
  /** Hosts that this window has asked about. */
  private readonly askedHosts = new Set<string>();

  public createDebugAdapterTracker(session: vscode.DebugSession): vscode.DebugAdapterTracker {
    return {
      onDidSendMessage: (message: unknown) => {
        const refused = readRefusedSource(message);
        if (refused !== undefined && !this.askedHosts.has(refused.host)) {
          this.askedHosts.add(refused.host);
          void this.askForPermission(session, refused);
        }
      },
    };
  }

  private async askForPermission(session: vscode.DebugSession, { host, url, allow }: RefusedSource): Promise<void> {
    const [allowLabel, denyLabel] = [t("Fetch Sources from There"), t("Never")];
    const answer = await vscode.window.showInformationMessage(t("The source of this code is at {0}. May Tandem fetch sources from {1}?", url, host), allowLabel, denyLabel);
    if (answer === undefined) {
      // The user closed the notification: the next session may ask again.
      this.askedHosts.delete(host);
      return;
    }
    const settings = vscode.workspace.getConfiguration("tandem");
    const hosts = settings.get<Record<string, boolean>>("sourceHosts", {});
    await settings.update("sourceHosts", { ...hosts, [host]: answer === allowLabel }, vscode.ConfigurationTarget.Global);
    if (answer === allowLabel) {
      // The session then reports a changed source, and VS Code requests it again.
      await session.customRequest("setSourceLinkOptions", { sourceLinkOptions: allow });
    }
  }
}
