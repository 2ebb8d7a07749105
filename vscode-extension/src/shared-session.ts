/** One debug session of this window: its terminal, the snapshot of its clients, and the messages between VS
 * Code and Tandem. */
import * as vscode from "vscode";
import { log, logMessage } from "./log";
import { readAction, type ClientAction } from "./actions";
import type { MirroredBreakpoints } from "./mirrored-breakpoints";
import { readSnapshot, type ActionSummary, type Snapshot } from "./session-snapshot";
import { ProgramTerminal, type Program } from "./terminal/program-terminal";
import { t } from "./l10n";

/** The fields of DAP messages we look at. */
interface ProtocolMessage {
  readonly type?: string;
  readonly event?: string;
  readonly command?: string;
  readonly success?: boolean;
  readonly body?: Readonly<Record<string, unknown>> | undefined;
}

/** Interval at which a running program is checked for a wait for input: short after an event, then longer, ms. */
const MIN_POLL_INTERVAL = 200;
const MAX_POLL_INTERVAL = 2000;

/** Maximum number of actions that the view shows. */
const MAX_ACTIONS = 200;
/** Changes that do not count as the last action in the status bar. */
const UNLISTED_CHANGES = ["joined", "left", "owner", "agentAccess"];

/** An action, and when it was reported. */
export interface TimedAction {
  readonly action: ClientAction;
  readonly at: Date;
}

export class SharedSession implements vscode.DebugAdapterTracker, vscode.Disposable {
  public snapshot: Snapshot | undefined;
  public lastAction: ActionSummary | undefined;
  public terminal: ProgramTerminal | undefined;
  private readonly changes = new vscode.EventEmitter<void>();
  /** The snapshot or the last action changed. */
  public readonly onDidChange = this.changes.event;
  /** Actions of clients, oldest first. */
  public readonly actions: TimedAction[] = [];
  private readonly done = new vscode.EventEmitter<ClientAction>();
  /** Fires for each action of a client. */
  public readonly onDidDo = this.done.event;
  private exit: string | undefined;
  private over = false;
  private joined = false;
  private refreshing: NodeJS.Timeout | undefined;
  private looking: NodeJS.Timeout | undefined;
  private lookAfter = MIN_POLL_INTERVAL;

  public constructor(
    public readonly session: vscode.DebugSession,
    private readonly mirrored: MirroredBreakpoints,
  ) {}

  /** This window's own launch or attach made the session. */
  public get owns(): boolean {
    const you = this.snapshot?.clients.find((client) => client.you);
    return you?.launched ?? this.session.configuration["session"] === undefined;
  }

  public onWillReceiveMessage(message: ProtocolMessage): void {
    logMessage("→", this.session.name, message);
  }

  public onDidSendMessage(message: ProtocolMessage): void {
    logMessage("←", this.session.name, message);
    if (message.type === "event") {
      this.told(message.event ?? "", message.body ?? {});
    } else if (message.type === "response" && message.command === "disconnect") {
      this.end();
    } else if (message.type === "response" && message.command === "configurationDone" && message.success === true) {
      this.joined = true;
      this.refreshSoon(true);
    }
  }

  public onError(error: Error): void {
    // VS Code reports each end of the connection so, also the one that `disconnect` asks for.
    const grave = this.over ? "debug" : "error";
    log()[grave](`${this.session.name}: the connection to tandem-dap ended: ${error.message}`);
  }

  public onExit(code: number | undefined, signal: string | undefined): void {
    if (code !== 0 && code !== undefined) {
      log().error(`${this.session.name}: tandem-dap ended with ${code}${signal === undefined ? "" : ` (${signal})`}`);
    }
    this.end();
  }

  public onWillStopSession(): void {
    this.end();
  }

  /** The response to one of Tandem's custom requests. */
  public async ask(command: string, args: Record<string, unknown>): Promise<unknown> {
    return await this.session.customRequest(command, args);
  }

  public showTerminal(preserveFocus: boolean): void {
    this.ensureTerminal().show(preserveFocus);
  }

  public dispose(): void {
    this.end();
    this.changes.dispose();
    this.done.dispose();
  }

  private told(event: string, body: Readonly<Record<string, unknown>>): void {
    switch (event) {
      case "output":
        if (body["category"] === "stdout" || body["category"] === "stderr") {
          this.ensureTerminal().print(typeof body["output"] === "string" ? body["output"] : "");
          this.lookSoon();
        }
        return;
      case "process":
        if (this.ownsStreams()) {
          this.ensureTerminal();
        }
        return this.lookSoon();
      case "continued":
        return this.lookSoon();
      case "stopped":
        this.terminal?.note(t("stopped"));
        return this.stopLooking();
      case "breakpoint":
        this.mirrored.told(this.session.id, body);
        return this.refreshSoon();
      case "exited":
        this.exit = body["signal"] === undefined
          ? t("the program ended with exit code {0}", String(body["exitCode"]))
          : t("the program was ended by {0}", String(body["signal"]));
        return this.stopLooking();
      case "terminated":
        return this.end();
      case "inputClosed":
        return this.terminal?.remark(t("{0} ended the input", String(body["client"])));
      case "sessionChanged": {
        if (body["change"] === "restarted") {
          this.exit = undefined;
          this.terminal?.restart();
        }
        const action = readAction(body, this.snapshot?.clients ?? []);
        if (action !== undefined) {
          this.did(action);
        }
        return this.refreshSoon();
      }
    }
  }

  private did(action: ClientAction): void {
    this.actions.push({ action, at: new Date() });
    this.actions.splice(0, this.actions.length - MAX_ACTIONS);
    if (!UNLISTED_CHANGES.includes(action.change)) {
      this.lastAction = action;
      this.lookSoon();
    }
    // One's own keys are echoed as they are typed.
    if (action.change === "input" && !action.you && action.typed !== undefined && action.typed !== "" && this.ownsOutput()) {
      this.ensureTerminal().remark(t("{0} typed: {1}", action.who, action.typed.trimEnd()));
    }
    this.done.fire(action);
  }

  /** Whether Tandem has, or will have, a terminal for the program: the session owns the program's streams. */
  private ownsOutput(): boolean {
    return this.terminal !== undefined || this.ownsStreams();
  }

  /** A launch with pipes: the program's streams are the session's. */
  private ownsStreams(): boolean {
    const { request, console: place } = this.session.configuration;
    return request === "launch" && (place === undefined || place === "piped");
  }

  private ensureTerminal(): ProgramTerminal {
    if (this.terminal === undefined) {
      const program: Program = {
        write: async (text, closeAfter) => {
          await this.ask("processWriteInput", { data: text, closeAfter });
          this.lookSoon();
        },
        interrupt: () => this.interrupt(),
        resize: async (columns, rows) => {
          try {
            await this.ask("processResizeTerminal", { columns, rows });
          } catch (error) {
            // The program keeps its size: this client may only look, or the session ends just now.
            log().debug(`${this.session.name}: the terminal is not resized: ${String(error)}`);
          }
        },
      };
      this.terminal = new ProgramTerminal(this.session.name, this.session.configuration["pty"] === true, program);
      if (setting<string>("programTerminal", "always") === "always") {
        this.terminal.show(true);
      }
    }
    return this.terminal;
  }

  private async interrupt(): Promise<void> {
    const act = setting<string>("terminalCtrlC", "pause");
    if (act === "terminate") {
      await this.ask("terminate", {});
    } else if (act === "pause") {
      const { threads } = (await this.ask("threads", {})) as { threads: readonly { id: number }[] };
      await this.ask("pause", { threadId: threads[0]?.id ?? 0 });
    }
  }

  /** Asks who is in the session, once for many changes at a time. */
  private refreshSoon(subscribe = false): void {
    if (!this.joined || this.over) {
      return;
    }
    if (subscribe) {
      return void this.refresh({ subscribe: true });
    }
    this.refreshing ??= setTimeout(() => {
      this.refreshing = undefined;
      void this.refresh({});
    }, 60);
  }

  private async refresh(args: Record<string, unknown>): Promise<void> {
    try {
      this.snapshot = readSnapshot(await this.ask("sessionInfo", args));
      this.changes.fire();
    } catch (error) {
      // An adapter of another make, or a session that ends just now.
      log().debug(`${this.session.name}: no session info: ${String(error)}`);
    }
  }

  private lookSoon(): void {
    this.stopLooking();
    this.terminal?.note("");
    this.lookAfter = MIN_POLL_INTERVAL;
    this.lookLater();
  }

  private lookLater(): void {
    if (this.over || !this.joined || this.terminal === undefined || this.terminal.ended) {
      return;
    }
    this.looking = setTimeout(() => void this.look(), this.lookAfter);
    this.lookAfter = Math.min(this.lookAfter * 2, MAX_POLL_INTERVAL);
  }

  private stopLooking(): void {
    clearTimeout(this.looking);
    this.looking = undefined;
  }

  /** Whether the program is blocked reading its stdin. */
  private async look(): Promise<void> {
    const asked = this.looking;
    let waits: boolean;
    try {
      const answer = (await this.ask("processReadOutput", { stream: "stderr", maxBytes: 1 })) as { waitingForInput?: boolean };
      waits = answer.waitingForInput === true;
    } catch {
      return; // Its streams are not ours, or it has ended.
    }
    if (asked !== this.looking) {
      return; // A newer event has already started another request.
    }
    if (!waits) {
      return this.lookLater();
    }
    this.terminal?.note(t("waits for input"));
    if (setting<string>("programTerminal", "always") === "whenInputIsWanted") {
      this.terminal?.show(true);
    }
  }

  /** The program or the connection to it is gone. */
  public get ended(): boolean {
    return this.over;
  }

  private end(): void {
    if (this.over) {
      return;
    }
    this.over = true;
    this.stopLooking();
    clearTimeout(this.refreshing);
    this.terminal?.end(this.exit ?? t("the session has ended"));
  }
}

function setting<T>(name: string, otherwise: T): T {
  return vscode.workspace.getConfiguration("tandem").get<T>(name, otherwise);
}
