/** The view *Tandem Activity*: the actions of all clients in the session, the latest first.
 *
 * VS Code collapses the views of extensions in the debug view until a person opens them, so the view's title also
 * shows the latest action; VS Code hides the description together with the rows. */
import * as vscode from "vscode";
import { sentence } from "./session-snapshot";
import type { Sessions } from "./sessions";
import type { TimedAction } from "./shared-session";
import { t } from "./l10n";

/** By the `change` of an event. */
const ICONS: Readonly<Record<string, string>> = {
  joined: "person-add", left: "sign-out", owner: "account", resumed: "debug-continue", paused: "debug-pause", terminate: "debug-stop",
  restarted: "debug-restart", agentAccess: "shield", input: "terminal", valueSet: "edit", evaluated: "symbol-event", breakpoints: "debug-breakpoint",
  refused: "error",
};

export class Activity implements vscode.TreeDataProvider<TimedAction>, vscode.Disposable {
  private readonly changes = new vscode.EventEmitter<void>();
  public readonly onDidChangeTreeData = this.changes.event;
  private readonly view: vscode.TreeView<TimedAction>;
  private readonly subscriptions: vscode.Disposable[];

  public constructor(private readonly sessions: Sessions) {
    this.view = vscode.window.createTreeView("tandem.activity", { treeDataProvider: this });
    this.subscriptions = [this.view, this.changes, sessions.onDidChange(() => this.show()), sessions.onDidDo(() => this.show())];
    this.show();
  }

  public dispose(): void {
    this.subscriptions.forEach((one) => one.dispose());
  }

  public getChildren(parent?: TimedAction): TimedAction[] {
    return parent === undefined ? [...(this.sessions.active ?? this.sessions.last)?.actions ?? []].reverse() : [];
  }

  public getTreeItem({ action, at }: TimedAction): vscode.TreeItem {
    const item = new vscode.TreeItem(sentence(action));
    item.description = at.toLocaleTimeString();
    item.iconPath = new vscode.ThemeIcon(action.agent && action.change === "joined" ? "hubot" : (ICONS[action.change] ?? "circle-outline"),
      action.change === "refused" ? new vscode.ThemeColor("errorForeground") : undefined);
    if (action.detail !== "") {
      item.tooltip = action.detail;
    }
    if (action.place !== undefined) {
      const line = Math.max(0, action.place.line - 1);
      item.command = {
        command: "vscode.open", title: t("Open"),
        arguments: [vscode.Uri.file(action.place.file), { selection: new vscode.Range(line, 0, line, 0), preserveFocus: true }],
      };
    }
    return item;
  }

  private show(): void {
    const session = this.sessions.active ?? this.sessions.last;
    const latest = session?.actions.at(-1);
    this.view.message = session === undefined ? t("What people and agents do in a Tandem session is listed here.") : "";
    const title = t("Tandem Activity");
    this.view.title = latest === undefined ? title : `${title}: ${sentence(latest.action)}`;
    this.changes.fire();
  }
}
