/** All sessions of this window, and which of them is meant. */
import * as vscode from "vscode";
import type { Act } from "./riders";
import { SharedSession } from "./shared-session";

export class Sessions implements vscode.DebugAdapterTrackerFactory, vscode.Disposable {
  private readonly all = new Map<string, SharedSession>();
  /** Terminals of sessions that have ended; the next of the same name takes their place. */
  private ended: SharedSession[] = [];
  private readonly changes = new vscode.EventEmitter<void>();
  /** Any picture changed, or another session became the active one. */
  public readonly onDidChange = this.changes.event;
  private readonly acts = new vscode.EventEmitter<[SharedSession, Act]>();
  public readonly onDidAct = this.acts.event;
  private readonly subscriptions: vscode.Disposable[];

  public constructor() {
    this.subscriptions = [
      this.changes,
      this.acts,
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
    // A restart keeps the session and starts its adapter anew.
    this.all.get(session.id)?.terminal?.dispose();
    this.all.get(session.id)?.dispose();
    const shared = new SharedSession(session);
    this.all.set(session.id, shared);
    shared.onDidChange(() => this.changes.fire());
    shared.onDidAct((act) => this.acts.fire([shared, act]));
    return shared;
  }

  /** The session people mean: the focused one, else the only one. */
  public get active(): SharedSession | undefined {
    const focused = vscode.debug.activeDebugSession;
    const found = focused && this.all.get(focused.id);
    return found ?? (focused === undefined && this.all.size === 1 ? [...this.all.values()][0] : undefined);
  }

  /** Ids of the Tandem sessions this window is in. */
  public get ids(): ReadonlySet<string> {
    return new Set([...this.all.values()].flatMap((one) => one.picture?.session ?? []));
  }

  /** Some session of this window has not told its id yet. */
  public get someAreStarting(): boolean {
    return [...this.all.values()].some((one) => one.picture === undefined && !one.ended);
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
