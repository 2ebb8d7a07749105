/** Sharing made visible: the status bar, the names behind others' breakpoints, and notifications. */
import * as vscode from "vscode";
import { foreignMarks, statusDetails, statusText } from "./riders";
import type { Sessions } from "./sessions";
import type { SharedSession } from "./shared-session";

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
    this.item.name = "Tandem session";
    this.item.command = "tandem.sessionMenu";
    this.subscriptions = [
      this.item,
      this.decoration,
      sessions.onDidChange(() => this.show()),
      vscode.window.onDidChangeVisibleTextEditors(() => this.markEditors()),
      sessions.onDidAct(([session, act]) => {
        if (act.agent && !act.you && vscode.workspace.getConfiguration("tandem").get("notifyWhenAgentResumes", false)) {
          void vscode.window.showInformationMessage(`${act.who} ${act.what} (${session.session.name})`);
        }
      }),
    ];
  }

  public dispose(): void {
    this.subscriptions.forEach((one) => one.dispose());
  }

  private show(): void {
    const session = this.sessions.active;
    void vscode.commands.executeCommand("setContext", "tandem.inSession", session !== undefined);
    void vscode.commands.executeCommand("setContext", "tandem.ownsSession", session?.owns === true);
    this.showItem(session);
    this.markEditors();
  }

  private showItem(session: SharedSession | undefined): void {
    const picture = session?.picture;
    if (session === undefined || picture === undefined) {
      return this.item.hide();
    }
    this.item.text = statusText(picture, session.lastAct);
    const details = new vscode.MarkdownString(statusDetails(picture, session.lastAct));
    this.item.tooltip = details;
    this.item.accessibilityInformation = { label: `Tandem session ${picture.session}: ${picture.riders.map((rider) => rider.name).join(", ")}` };
    this.item.show();
  }

  /** Agents' breakpoints are VS Code's own dots already; the name behind the line says whose they are. */
  private markEditors(): void {
    const picture = this.sessions.active?.picture;
    const wished = vscode.workspace.getConfiguration("tandem").get("showAgentBreakpoints", true);
    const marks = picture === undefined || !wished ? new Map<string, ReadonlyMap<number, readonly string[]>>() : foreignMarks(picture);
    for (const editor of vscode.window.visibleTextEditors) {
      const lines = [...(marks.get(editor.document.uri.fsPath) ?? [])].filter(([line]) => line <= editor.document.lineCount);
      editor.setDecorations(
        this.decoration,
        lines.map(([line, names]) => ({
          range: editor.document.lineAt(line - 1).range,
          hoverMessage: `Breakpoint of ${names.join(", ")} in this session`,
          renderOptions: { after: { contentText: `● ${names.join(", ")}` } },
        })),
      );
    }
  }
}
