/** The view *Tandem Activity*: the actions of all clients in the session, the latest first.
 *
 * VS Code collapses the views of extensions in the debug view until the user opens them, so the view's title also
 * shows the latest action; VS Code hides the description together with the rows. */
import * as vscode from "vscode";
import { describeAction } from "./session-snapshot";
import type { Sessions } from "./sessions";
import type { TimedAction } from "./shared-session";
import { t } from "./l10n";

/** Icons by the `change` of an event. */
const ICONS: Readonly<Record<string, string>> = {
  joined: "person-add", left: "sign-out", owner: "account", resumed: "debug-continue", paused: "debug-pause", terminate: "debug-stop",
  restarted: "debug-restart", agentAccess: "shield", input: "terminal", valueSet: "edit", evaluated: "symbol-event", breakpoints: "debug-breakpoint",
  refused: "error",
};

export class ActivityView implements vscode.TreeDataProvider<TimedAction>, vscode.Disposable {
  private readonly changeEmitter = new vscode.EventEmitter<void>();
  public readonly onDidChangeTreeData = this.changeEmitter.event;
  private readonly view: vscode.TreeView<TimedAction>;
  private readonly subscriptions: vscode.Disposable[];

  public constructor(private readonly sessions: Sessions) {
    this.view = vscode.window.createTreeView("tandem.activity", { treeDataProvider: this });
    this.subscriptions = [this.view, this.changeEmitter, sessions.onDidChange(() => this.refresh()), sessions.onDidAct(() => this.refresh())];
    this.refresh();
  }

  public dispose(): void {
    this.subscriptions.forEach((one) => one.dispose());
  }

  public getChildren(parent?: TimedAction): TimedAction[] {
    return parent === undefined ? [...(this.sessions.active ?? this.sessions.lastEnded)?.actions ?? []].reverse() : [];
  }

  public getTreeItem({ action, time: at }: TimedAction): vscode.TreeItem {
    const item = new vscode.TreeItem(describeAction(action));
    item.description = at.toLocaleTimeString();
    item.iconPath = new vscode.ThemeIcon(action.agent && action.change === "joined" ? "hubot" : (ICONS[action.change] ?? "circle-outline"),
      action.change === "refused" ? new vscode.ThemeColor("errorForeground") : undefined);
    if (action.detail !== "") {
      item.tooltip = action.detail;
    }
    if (action.location !== undefined) {
      const line = Math.max(0, action.location.line - 1);
      item.command = {
        command: "vscode.open", title: t("Open"),
        arguments: [vscode.Uri.file(action.location.file), { selection: new vscode.Range(line, 0, line, 0), preserveFocus: true }],
      };
    }
    return item;
  }

  private refresh(): void {
    const session = this.sessions.active ?? this.sessions.lastEnded;
    const latest = session?.actions.at(-1);
    this.view.message = session === undefined ? t("What people and agents do in a Tandem session is listed here.") : "";
    const title = t("Tandem Activity");
    this.view.title = latest === undefined ? title : `${title}: ${describeAction(latest.action)}`;
    this.changeEmitter.fire();
  }
}
