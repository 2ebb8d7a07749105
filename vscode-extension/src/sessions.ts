/** Sessions of this window, and the active one. */
import * as vscode from "vscode";
import type { ClientAction } from "./actions";
import type { MirroredBreakpoints } from "./mirrored-breakpoints";
import { SharedSession } from "./shared-session";

/** Maximum number of ended sessions whose terminals stay open. */
const MAX_ENDED_SESSIONS = 3;

export class Sessions implements vscode.DebugAdapterTrackerFactory, vscode.Disposable {
  private readonly sessions = new Map<string, SharedSession>();
  /** Ended sessions whose terminals stay open, oldest first. A new session of the same name replaces an ended one. */
  private endedSessions: SharedSession[] = [];
  private readonly changeEmitter = new vscode.EventEmitter<void>();
  /** Fires when a snapshot changes or another session becomes active. */
  public readonly onDidChange = this.changeEmitter.event;
  private readonly actionEmitter = new vscode.EventEmitter<[SharedSession, ClientAction]>();
  /** Fires for each action of a client in one of the sessions. */
  public readonly onDidAct = this.actionEmitter.event;
  private readonly subscriptions: vscode.Disposable[];

  public constructor(private readonly mirrored: MirroredBreakpoints) {
    this.subscriptions = [
      this.changeEmitter,
      this.actionEmitter,
      vscode.debug.onDidChangeActiveDebugSession(() => this.changeEmitter.fire()),
      vscode.debug.onDidTerminateDebugSession((session) => this.handleTermination(session)),
    ];
  }

  /** VS Code calls this before the first message of a session. */
  public createDebugAdapterTracker(session: vscode.DebugSession): vscode.DebugAdapterTracker {
    this.endedSessions = this.endedSessions.filter((old) => {
      const isReplaced = old.session.name === session.name;
      if (isReplaced) {
        old.terminal?.dispose();
        old.dispose();
      }
      return !isReplaced;
    });
    for (const old of this.endedSessions.splice(0, this.endedSessions.length - MAX_ENDED_SESSIONS)) {
      old.terminal?.dispose();
      old.dispose();
    }
    // A restart keeps the `vscode.DebugSession` and starts a new adapter.
    this.sessions.get(session.id)?.terminal?.dispose();
    this.sessions.get(session.id)?.dispose();
    const shared = new SharedSession(session, this.mirrored);
    this.sessions.set(session.id, shared);
    shared.onDidChange(() => this.changeEmitter.fire());
    shared.onDidAct((action) => this.actionEmitter.fire([shared, action]));
    return shared;
  }

  /** The focused session, otherwise the only one. */
  public get active(): SharedSession | undefined {
    const focused = vscode.debug.activeDebugSession;
    const found = focused && this.sessions.get(focused.id);
    return found ?? (focused === undefined && this.sessions.size === 1 ? [...this.sessions.values()][0] : undefined);
  }

  /** The session that ended last. */
  public get lastEnded(): SharedSession | undefined {
    return this.endedSessions.at(-1);
  }

  /** Ids of the Tandem sessions that this window has joined. */
  public get ids(): ReadonlySet<string> {
    return new Set([...this.sessions.values()].flatMap((one) => one.snapshot?.session ?? []));
  }

  /** A session of this window has not reported its id yet. */
  public get hasStartingSession(): boolean {
    return [...this.sessions.values()].some((one) => one.snapshot === undefined && !one.hasEnded);
  }

  public dispose(): void {
    [...this.sessions.values(), ...this.endedSessions].forEach((one) => one.dispose());
    this.subscriptions.forEach((one) => one.dispose());
  }

  private handleTermination(session: vscode.DebugSession): void {
    const shared = this.sessions.get(session.id);
    if (shared !== undefined) {
      this.sessions.delete(session.id);
      shared.onWillStopSession();
      this.endedSessions.push(shared);
      this.changeEmitter.fire();
    }
  }
}
