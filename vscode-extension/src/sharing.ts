/** Shows what other clients do: status bar item, owners of breakpoints at the end of lines, and notifications. */
import * as vscode from "vscode";
import type { ClientAction } from "./actions";
import { describeAccess, collectForeignBreakpoints, describeAction, formatStatusDetails, formatStatusText } from "./session-snapshot";
import type { Sessions } from "./sessions";
import type { SharedSession } from "./shared-session";
import { t } from "./l10n";

interface AccessChoice {
  readonly label: string;
  readonly access: string;
}

/** Buttons of the notification when an agent joins. */
function accessChoices(): Readonly<Record<"control" | "look" | "nothing", AccessChoice>> {
  return {
    control: { label: t("Let Agents Control"), access: "full" },
    look: { label: t("Let Agents Look Only"), access: "readOnly" },
    nothing: { label: t("Let Agents Do Nothing"), access: "none" },
  };
}

export class Sharing implements vscode.Disposable {
  private readonly item = vscode.window.createStatusBarItem("tandem.session", vscode.StatusBarAlignment.Left, 40);
  private readonly decoration = vscode.window.createTextEditorDecorationType({
    after: { margin: "0 0 0 2em", color: new vscode.ThemeColor("editorCodeLens.foreground"), fontStyle: "italic" },
    overviewRulerColor: new vscode.ThemeColor("debugIcon.breakpointForeground"),
    overviewRulerLane: vscode.OverviewRulerLane.Left,
    rangeBehavior: vscode.DecorationRangeBehavior.ClosedClosed,
  });
  private readonly subscriptions: vscode.Disposable[];

  public constructor(private readonly sessions: Sessions) {
    this.item.name = t("Tandem session");
    this.item.command = "tandem.sessionMenu";
    this.subscriptions = [
      this.item,
      this.decoration,
      sessions.onDidChange(() => this.update()),
      vscode.window.onDidChangeVisibleTextEditors(() => this.decorateEditors()),
      sessions.onDidAct(([session, action]) => {
        if (action.agent && !action.you) {
          void this.notifyOfAction(session, action);
        }
      }),
    ];
  }

  public dispose(): void {
    this.subscriptions.forEach((one) => one.dispose());
  }

  /** Shows a notification if an agent joins, is refused a request, or resumes the program. */
  private async notifyOfAction(session: SharedSession, action: ClientAction): Promise<void> {
    const setting = (name: string, defaultValue: boolean) => vscode.workspace.getConfiguration("tandem").get(name, defaultValue);
    const name = session.session.name;
    if ((action.change === "resumed" || action.change === "restarted") && setting("notifyWhenAgentResumes", false)) {
      void vscode.window.showInformationMessage(`${describeAction(action)} (${name})`);
    } else if (action.change === "joined" && setting("announceAgents", true)) {
      const { control, look, nothing } = accessChoices();
      const access = session.snapshot?.agentAccess ?? "full";
      const offered = access === "full" ? [look, nothing] : access === "readOnly" ? [control, nothing] : [control, look];
      await this.offerChoices(session, t("The agent {0} joined {1}: {2}.", action.client, name, describeAccess(access).text), offered);
    } else if (action.change === "refused" && setting("announceAgents", true)) {
      const may = session.snapshot?.agentAccess ?? "";
      await this.offerChoices(session, t("The agent {0} wanted to {1} in {2}: {3}.", action.client, action.refusedRequest, name, describeAccess(may).text), [accessChoices().control]);
    }
  }

  private async offerChoices(session: SharedSession, message: string, offered: readonly AccessChoice[]): Promise<void> {
    const chosen = await vscode.window.showInformationMessage(message, ...offered.map((one) => one.label));
    const access = offered.find((one) => one.label === chosen)?.access;
    if (access !== undefined && !session.hasEnded) {
      try {
        await session.sendRequest("sessionControl", { agentAccess: access });
      } catch (error) {
        void vscode.window.showErrorMessage(`Tandem: ${error instanceof Error ? error.message : String(error)}`);
      }
    }
  }

  private update(): void {
    const session = this.sessions.active;
    void vscode.commands.executeCommand("setContext", "tandem.inSession", session !== undefined);
    this.updateStatusBarItem(session);
    this.decorateEditors();
  }

  private updateStatusBarItem(session: SharedSession | undefined): void {
    const snapshot = session?.snapshot;
    if (session === undefined || snapshot === undefined) {
      return this.item.hide();
    }
    this.item.text = formatStatusText(snapshot, session.lastAction);
    const details = new vscode.MarkdownString(formatStatusDetails(snapshot, session.lastAction));
    this.item.tooltip = details;
    this.item.accessibilityInformation = { label: t("Tandem session {0}: {1}", snapshot.session, snapshot.clients.map((client) => client.name).join(", ")) };
    this.item.show();
  }

  /** Shows the owners of other clients' breakpoints after their lines. VS Code itself shows these breakpoints in the gutter. */
  private decorateEditors(): void {
    const snapshot = this.sessions.active?.snapshot;
    const setting = vscode.workspace.getConfiguration("tandem").get("showAgentBreakpoints", true);
    const names = snapshot === undefined || !setting ? new Map<string, ReadonlyMap<number, readonly string[]>>() : collectForeignBreakpoints(snapshot);
    for (const editor of vscode.window.visibleTextEditors) {
      const lines = [...(names.get(editor.document.uri.fsPath) ?? [])].filter(([line]) => line <= editor.document.lineCount);
      editor.setDecorations(
        this.decoration,
        lines.map(([line, names]) => ({
          range: editor.document.lineAt(line - 1).range,
          hoverMessage: t("Breakpoint of {0} in this session", names.join(", ")),
          renderOptions: { after: { contentText: `● ${names.join(", ")}` } },
        })),
      );
    }
  }
}
