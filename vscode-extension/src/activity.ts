/** The view *Tandem Activity*: what everybody in the session did, the latest first.
 *
 * VS Code shows views of extensions in the debug view collapsed until a person opens them, so the latest deed is in the view's title too; its description
 * VS Code hides with the rows. */
import * as vscode from "vscode";
import { sentence } from "./session-snapshot";
import type { Sessions } from "./sessions";
import type { Done } from "./shared-session";
import { t } from "./texts";

/** By the `change` of an event. */
const ICONS: Readonly<Record<string, string>> = {
  joined: "person-add", left: "sign-out", owner: "account", resumed: "debug-continue", paused: "debug-pause", terminate: "debug-stop",
  restarted: "debug-restart", agentAccess: "shield", input: "terminal", valueSet: "edit", evaluated: "symbol-event", breakpoints: "debug-breakpoint",
  refused: "error",
};

export class Activity implements vscode.TreeDataProvider<Done>, vscode.Disposable {
  private readonly changes = new vscode.EventEmitter<void>();
  public readonly onDidChangeTreeData = this.changes.event;
  private readonly view: vscode.TreeView<Done>;
  private readonly subscriptions: vscode.Disposable[];

  public constructor(private readonly sessions: Sessions) {
    this.view = vscode.window.createTreeView("tandem.activity", { treeDataProvider: this });
    this.subscriptions = [this.view, this.changes, sessions.onDidChange(() => this.show()), sessions.onDidDo(() => this.show())];
    this.show();
  }

  public dispose(): void {
    this.subscriptions.forEach((one) => one.dispose());
  }

  public getChildren(parent?: Done): Done[] {
    return parent === undefined ? [...(this.sessions.active ?? this.sessions.last)?.deeds ?? []].reverse() : [];
  }

  public getTreeItem({ deed, at }: Done): vscode.TreeItem {
    const item = new vscode.TreeItem(sentence(deed));
    item.description = at.toLocaleTimeString();
    item.iconPath = new vscode.ThemeIcon(deed.agent && deed.change === "joined" ? "hubot" : (ICONS[deed.change] ?? "circle-outline"),
      deed.change === "refused" ? new vscode.ThemeColor("errorForeground") : undefined);
    if (deed.detail !== "") {
      item.tooltip = deed.detail;
    }
    if (deed.place !== undefined) {
      const line = Math.max(0, deed.place.line - 1);
      item.command = {
        command: "vscode.open", title: t("Open"),
        arguments: [vscode.Uri.file(deed.place.file), { selection: new vscode.Range(line, 0, line, 0), preserveFocus: true }],
      };
    }
    return item;
  }

  private show(): void {
    const session = this.sessions.active ?? this.sessions.last;
    const latest = session?.deeds.at(-1);
    this.view.message = session === undefined ? t("What people and agents do in a Tandem session is listed here.") : "";
    const title = t("Tandem Activity");
    this.view.title = latest === undefined ? title : `${title}: ${sentence(latest.deed)}`;
    this.changes.fire();
  }
}
