/** Asks once for each host whether sources may be fetched from it, and remembers the answer in the user's settings. */
import * as vscode from "vscode";
import { refusedSource, type RefusedSource } from "./source-permission";
import { t } from "./l10n";

export class SourceHosts implements vscode.DebugAdapterTrackerFactory {
  /** Hosts about which this window has asked. */
  private readonly asked = new Set<string>();

  public createDebugAdapterTracker(session: vscode.DebugSession): vscode.DebugAdapterTracker {
    return {
      onDidSendMessage: (message: unknown) => {
        const refused = refusedSource(message);
        if (refused !== undefined && !this.asked.has(refused.host)) {
          this.asked.add(refused.host);
          void this.ask(session, refused);
        }
      },
    };
  }

  private async ask(session: vscode.DebugSession, { host, url, allow }: RefusedSource): Promise<void> {
    const [yes, never] = [t("Fetch Sources from There"), t("Never")];
    const answer = await vscode.window.showInformationMessage(t("The source of this code is at {0}. May Tandem fetch sources from {1}?", url, host), yes, never);
    if (answer === undefined) {
      // Closed without an answer: the next session may ask again.
      this.asked.delete(host);
      return;
    }
    const settings = vscode.workspace.getConfiguration("tandem");
    const decided = settings.get<Record<string, boolean>>("sourceHosts", {});
    await settings.update("sourceHosts", { ...decided, [host]: answer === yes }, vscode.ConfigurationTarget.Global);
    if (answer === yes) {
      // The session then reports that the source has changed, and VS Code requests it again.
      await session.customRequest("setSourceLinkOptions", { sourceLinkOptions: allow });
    }
  }
}
