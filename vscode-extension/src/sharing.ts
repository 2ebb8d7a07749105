/** Sharing made visible: the status bar, the names behind others' breakpoints, and notifications. */
import * as vscode from "vscode";
import type { ClientAction } from "./actions";
import { accessWords, foreignMarks, sentence, statusDetails, statusText } from "./session-snapshot";
import type { Sessions } from "./sessions";
import type { SharedSession } from "./shared-session";
import { t } from "./l10n";

interface Choice {
  readonly label: string;
  readonly access: string;
}

/** Buttons of the notification when an agent joins. */
function choices(): Readonly<Record<"control" | "look" | "nothing", Choice>> {
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
      sessions.onDidChange(() => this.show()),
      vscode.window.onDidChangeVisibleTextEditors(() => this.markEditors()),
      sessions.onDidDo(([session, action]) => {
        if (action.agent && !action.you) {
          void this.announce(session, action);
        }
      }),
    ];
  }

  public dispose(): void {
    this.subscriptions.forEach((one) => one.dispose());
  }

  /** Notifies about an agent's action that a person should know at once. */
  private async announce(session: SharedSession, action: ClientAction): Promise<void> {
    const setting = (name: string, otherwise: boolean) => vscode.workspace.getConfiguration("tandem").get(name, otherwise);
    const name = session.session.name;
    if ((action.change === "resumed" || action.change === "restarted") && setting("notifyWhenAgentResumes", false)) {
      void vscode.window.showInformationMessage(`${sentence(action)} (${name})`);
    } else if (action.change === "joined" && setting("announceAgents", true)) {
      const { control, look, nothing } = choices();
      const may = session.snapshot?.agentAccess ?? "full";
      const offered = may === "full" ? [look, nothing] : may === "readOnly" ? [control, nothing] : [control, look];
      await this.choose(session, t("The agent {0} joined {1}: {2}.", action.who, name, accessWords(may).sentence), offered);
    } else if (action.change === "refused" && setting("announceAgents", true)) {
      const may = session.snapshot?.agentAccess ?? "";
      await this.choose(session, t("The agent {0} wanted to {1} in {2}: {3}.", action.who, action.refused, name, accessWords(may).sentence), [choices().control]);
    }
  }

  private async choose(session: SharedSession, message: string, offered: readonly Choice[]): Promise<void> {
    const chosen = await vscode.window.showInformationMessage(message, ...offered.map((one) => one.label));
    const access = offered.find((one) => one.label === chosen)?.access;
    if (access !== undefined && !session.ended) {
      try {
        await session.ask("sessionControl", { agentAccess: access });
      } catch (error) {
        void vscode.window.showErrorMessage(`Tandem: ${error instanceof Error ? error.message : String(error)}`);
      }
    }
  }

  private show(): void {
    const session = this.sessions.active;
    void vscode.commands.executeCommand("setContext", "tandem.inSession", session !== undefined);
    this.showItem(session);
    this.markEditors();
  }

  private showItem(session: SharedSession | undefined): void {
    const snapshot = session?.snapshot;
    if (session === undefined || snapshot === undefined) {
      return this.item.hide();
    }
    this.item.text = statusText(snapshot, session.lastAction);
    const details = new vscode.MarkdownString(statusDetails(snapshot, session.lastAction));
    this.item.tooltip = details;
    this.item.accessibilityInformation = { label: t("Tandem session {0}: {1}", snapshot.session, snapshot.clients.map((client) => client.name).join(", ")) };
    this.item.show();
  }

  /** Agents' breakpoints already have VS Code's own dots; the name after the line shows their owner. */
  private markEditors(): void {
    const snapshot = this.sessions.active?.snapshot;
    const setting = vscode.workspace.getConfiguration("tandem").get("showAgentBreakpoints", true);
    const marks = snapshot === undefined || !setting ? new Map<string, ReadonlyMap<number, readonly string[]>>() : foreignMarks(snapshot);
    for (const editor of vscode.window.visibleTextEditors) {
      const lines = [...(marks.get(editor.document.uri.fsPath) ?? [])].filter(([line]) => line <= editor.document.lineCount);
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
