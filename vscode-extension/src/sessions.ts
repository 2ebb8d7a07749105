/** All sessions of this window, and which of them is meant. */
import * as vscode from "vscode";
import type { ClientAction } from "./actions";
import type { MirroredBreakpoints } from "./mirrored-breakpoints";
import { SharedSession } from "./shared-session";

/** Ended sessions whose terminals stay. */
const KEPT_ENDED = 3;

export class Sessions implements vscode.DebugAdapterTrackerFactory, vscode.Disposable {
  private readonly all = new Map<string, SharedSession>();
  /** Sessions that have ended, whose terminals can be read: the next of the same name takes their place, and the oldest go when they are
   * many. */
  private ended: SharedSession[] = [];
  private readonly changes = new vscode.EventEmitter<void>();
  /** Any snapshot changed, or another session became the active one. */
  public readonly onDidChange = this.changes.event;
  private readonly done = new vscode.EventEmitter<[SharedSession, ClientAction]>();
  /** Fires for each action of a client in one of the sessions. */
  public readonly onDidDo = this.done.event;
  private readonly subscriptions: vscode.Disposable[];

  public constructor(private readonly mirrored: MirroredBreakpoints) {
    this.subscriptions = [
      this.changes,
      this.done,
      vscode.debug.onDidChangeActiveDebugSession(() => this.changes.fire()),
      vscode.debug.onDidTerminateDebugSession((session) => this.forget(session)),
    ];
  }

  /** VS Code asks for each session before its first message. */
  public createDebugAdapterTracker(session: vscode.DebugSession): vscode.DebugAdapterTracker {
    this.ended = this.ended.filter((old) => {
      const replaced = old.session.name === session.name;
      if (replaced) {
        old.terminal?.dispose();
        old.dispose();
      }
      return !replaced;
    });
    for (const old of this.ended.splice(0, this.ended.length - KEPT_ENDED)) {
      old.terminal?.dispose();
      old.dispose();
    }
    // A restart keeps the session and starts its adapter again.
    this.all.get(session.id)?.terminal?.dispose();
    this.all.get(session.id)?.dispose();
    const shared = new SharedSession(session, this.mirrored);
    this.all.set(session.id, shared);
    shared.onDidChange(() => this.changes.fire());
    shared.onDidDo((action) => this.done.fire([shared, action]));
    return shared;
  }

  /** The session people mean: the focused one, else the only one. */
  public get active(): SharedSession | undefined {
    const focused = vscode.debug.activeDebugSession;
    const found = focused && this.all.get(focused.id);
    return found ?? (focused === undefined && this.all.size === 1 ? [...this.all.values()][0] : undefined);
  }

  /** The session that ended last, whose terminal is still there. */
  public get last(): SharedSession | undefined {
    return this.ended.at(-1);
  }

  /** Ids of the Tandem sessions this window is in. */
  public get ids(): ReadonlySet<string> {
    return new Set([...this.all.values()].flatMap((one) => one.snapshot?.session ?? []));
  }

  /** Some session of this window has not told its id yet. */
  public get someAreStarting(): boolean {
    return [...this.all.values()].some((one) => one.snapshot === undefined && !one.ended);
  }

  public dispose(): void {
    [...this.all.values(), ...this.ended].forEach((one) => one.dispose());
    this.subscriptions.forEach((one) => one.dispose());
  }

  private forget(session: vscode.DebugSession): void {
    const shared = this.all.get(session.id);
    if (shared !== undefined) {
      this.all.delete(session.id);
      shared.onWillStopSession();
      this.ended.push(shared);
      this.changes.fire();
    }
  }
}
