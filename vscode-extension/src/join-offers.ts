/** Offers to join when another client, such as an agent, starts a session for a program of this workspace. */
import { mkdirSync, watch, type FSWatcher } from "node:fs";
import * as path from "node:path";
import * as vscode from "vscode";
import { join } from "./commands";
import { liveSessions, sessionFolders, type LiveSession } from "./live-sessions";
import { log } from "./log";
import type { Sessions } from "./sessions";
import { t } from "./l10n";

/** A session of this very window has published itself, and been recognised, after this time, ms. */
const SETTLED = 1500;

export class JoinOffers implements vscode.Disposable {
  private readonly known = new Set<string>();
  private readonly watchers: FSWatcher[] = [];
  private timer: NodeJS.Timeout | undefined;

  public constructor(private readonly sessions: Sessions) {
    const [best] = sessionFolders();
    try {
      mkdirSync(best ?? "", { mode: 0o700, recursive: false });
    } catch {
      // It is there already, or its place does not exist and no session can be there either.
    }
    for (const folder of sessionFolders()) {
      try {
        this.watchers.push(watch(folder, () => this.lookSoon()));
      } catch (error) {
        log().debug(`sessions in ${folder} are not noticed: ${String(error)}`);
      }
    }
    this.lookSoon();
  }

  public dispose(): void {
    this.watchers.forEach((one) => one.close());
    clearTimeout(this.timer);
  }

  private lookSoon(): void {
    clearTimeout(this.timer);
    this.timer = setTimeout(() => void this.look(), SETTLED);
  }

  private async look(): Promise<void> {
    if (this.sessions.someAreStarting) {
      // It may be one of ours: known only when it says so.
      return this.lookSoon();
    }
    const live = await liveSessions();
    const ids = new Set(live.map((one) => one.id));
    [...this.known].filter((id) => !ids.has(id)).forEach((id) => this.known.delete(id));
    for (const one of live.filter((each) => !this.known.has(each.id))) {
      this.known.add(one.id);
      if (!this.sessions.ids.has(one.id) && concernsUs(one) && vscode.workspace.getConfiguration("tandem").get("offerToJoin", true)) {
        void this.invite(one);
      }
    }
  }

  private async invite(live: LiveSession): Promise<void> {
    const who = live.client === "" ? t("A client") : live.kind === "agent" ? t("The agent {0}", live.client) : live.client;
    const offer = t("{0} debugs {1} in the session {2}.", who, live.title || live.program, live.id);
    const yes = t("Join");
    if ((await vscode.window.showInformationMessage(offer, yes)) === yes) {
      await join(live);
    }
  }
}

function concernsUs(live: LiveSession): boolean {
  const inside = (place: string, folder: string) => place === folder || place.startsWith(folder + path.sep);
  const folders = vscode.workspace.workspaceFolders ?? [];
  return folders.some(({ uri }) => inside(live.program, uri.fsPath) || (live.cwd !== undefined && inside(live.cwd, uri.fsPath)));
}
