/** Notifications that offer to join a session when another client, such as an agent, debugs a program of this workspace. */
import { mkdirSync, watch, type FSWatcher } from "node:fs";
import * as path from "node:path";
import * as vscode from "vscode";
import { joinSession } from "./commands";
import { findLiveSessions, listSessionFolders, type LiveSession } from "./live-sessions";
import { log } from "./log";
import type { Sessions } from "./sessions";
import { t } from "./l10n";

/** Delay until a session of this window has published its file and reported its id. */
const SETTLE_DELAY_MS = 1500;

export class JoinOffers implements vscode.Disposable {
  private readonly seenIds = new Set<string>();
  private readonly watchers: FSWatcher[] = [];
  private timer: NodeJS.Timeout | undefined;

  public constructor(private readonly sessions: Sessions) {
    const [preferred] = listSessionFolders();
    try {
      mkdirSync(preferred ?? "", { mode: 0o700, recursive: false });
    } catch {
      // The folder exists already, or its parent does not exist and no session can be in it.
    }
    for (const folder of listSessionFolders()) {
      try {
        this.watchers.push(watch(folder, () => this.scheduleScan()));
      } catch (error) {
        log().debug(`cannot watch ${folder} for sessions: ${String(error)}`);
      }
    }
    this.scheduleScan();
  }

  public dispose(): void {
    this.watchers.forEach((one) => one.close());
    clearTimeout(this.timer);
  }

  private scheduleScan(): void {
    clearTimeout(this.timer);
    this.timer = setTimeout(() => void this.scan(), SETTLE_DELAY_MS);
  }

  private async scan(): Promise<void> {
    if (this.sessions.hasStartingSession) {
      // A new file may be of a session of this window: wait for its id.
      return this.scheduleScan();
    }
    const live = await findLiveSessions();
    const ids = new Set(live.map((one) => one.id));
    [...this.seenIds].filter((id) => !ids.has(id)).forEach((id) => this.seenIds.delete(id));
    for (const one of live.filter((each) => !this.seenIds.has(each.id))) {
      this.seenIds.add(one.id);
      if (!this.sessions.ids.has(one.id) && isInWorkspace(one) && vscode.workspace.getConfiguration("tandem").get("offerToJoin", true)) {
        void this.offerToJoin(one);
      }
    }
  }

  private async offerToJoin(live: LiveSession): Promise<void> {
    const client = live.client === "" ? t("A client") : live.kind === "agent" ? t("The agent {0}", live.client) : live.client;
    const offer = t("{0} debugs {1} in the session {2}.", client, live.title || live.program, live.id);
    const joinLabel = t("Join");
    if ((await vscode.window.showInformationMessage(offer, joinLabel)) === joinLabel) {
      await joinSession(live);
    }
  }
}

function isInWorkspace(live: LiveSession): boolean {
  const isInside = (file: string, folder: string) => file === folder || file.startsWith(folder + path.sep);
  const folders = vscode.workspace.workspaceFolders ?? [];
  return folders.some(({ uri }) => isInside(live.program, uri.fsPath) || (live.cwd !== undefined && isInside(live.cwd, uri.fsPath)));
}
