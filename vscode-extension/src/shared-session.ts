/** One debug session of this window: its terminal, the snapshot of its clients, and the messages between VS
 * Code and Tandem. */
import * as vscode from "vscode";
import { log, logMessage } from "./log";
import { readAction, type ClientAction } from "./actions";
import type { MirroredBreakpoints } from "./mirrored-breakpoints";
import { readSnapshot, type ActionSummary, type Snapshot } from "./session-snapshot";
import { ProgramTerminal, type Program } from "./terminal/program-terminal";
import { t } from "./l10n";

/** The fields of DAP messages that the session reads. */
interface ProtocolMessage {
  readonly type?: string;
  readonly event?: string;
  readonly command?: string;
  readonly success?: boolean;
  readonly body?: Readonly<Record<string, unknown>> | undefined;
}

/** Interval of the checks whether a running program waits for input: it doubles after each check and restarts with each event. */
const MIN_POLL_INTERVAL_MS = 200;
const MAX_POLL_INTERVAL_MS = 2000;

/** Maximum number of actions that the view shows. */
const MAX_ACTIONS = 200;
/** Values of `change` that the status bar does not show as the last action. */
const IGNORED_BY_STATUS_BAR = ["joined", "left", "owner", "agentAccess"];

/** An action and the time of its event. */
export interface TimedAction {
  readonly action: ClientAction;
  readonly time: Date;
}

export class SharedSession implements vscode.DebugAdapterTracker, vscode.Disposable {
  public snapshot: Snapshot | undefined;
  public lastAction: ActionSummary | undefined;
  public terminal: ProgramTerminal | undefined;
  private readonly changeEmitter = new vscode.EventEmitter<void>();
  /** Fires when the snapshot changes. */
  public readonly onDidChange = this.changeEmitter.event;
  /** Actions of clients, oldest first. */
  public readonly actions: TimedAction[] = [];
  private readonly actionEmitter = new vscode.EventEmitter<ClientAction>();
  /** Fires for each action of a client. */
  public readonly onDidAct = this.actionEmitter.event;
  private exitText: string | undefined;
  private isEnded = false;
  private isConfigured = false;
  private refreshTimer: NodeJS.Timeout | undefined;
  private pollTimer: NodeJS.Timeout | undefined;
  private pollDelayMs = MIN_POLL_INTERVAL_MS;

  public constructor(
    public readonly session: vscode.DebugSession,
    private readonly mirrored: MirroredBreakpoints,
  ) {}

  /** This window created the session by its launch or attach request. */
  public get isOwner(): boolean {
    const you = this.snapshot?.clients.find((client) => client.you);
    return you?.launched ?? this.session.configuration["session"] === undefined;
  }

  public onWillReceiveMessage(message: ProtocolMessage): void {
    logMessage("→", this.session.name, message);
  }

  public onDidSendMessage(message: ProtocolMessage): void {
    logMessage("←", this.session.name, message);
    if (message.type === "event") {
      this.handleEvent(message.event ?? "", message.body ?? {});
    } else if (message.type === "response" && message.command === "disconnect") {
      this.end();
    } else if (message.type === "response" && message.command === "configurationDone" && message.success === true) {
      this.isConfigured = true;
      this.refreshSoon(true);
    }
  }

  public onError(error: Error): void {
    // VS Code also reports the end of the connection that follows a `disconnect` request.
    const severity = this.isEnded ? "debug" : "error";
    log()[severity](`${this.session.name}: the connection to tandem-dap ended: ${error.message}`);
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

  /** Sends a DAP request and returns the body of the response. */
  public async sendRequest(command: string, args: Record<string, unknown>): Promise<unknown> {
    return await this.session.customRequest(command, args);
  }

  public showTerminal(preserveFocus: boolean): void {
    this.ensureTerminal().show(preserveFocus);
  }

  public dispose(): void {
    this.end();
    this.changeEmitter.dispose();
    this.actionEmitter.dispose();
  }

  private handleEvent(event: string, body: Readonly<Record<string, unknown>>): void {
    switch (event) {
      case "output":
        if (body["category"] === "stdout" || body["category"] === "stderr") {
          this.ensureTerminal().print(typeof body["output"] === "string" ? body["output"] : "");
          this.restartPolling();
        }
        return;
      case "process":
        if (this.usesPipes()) {
          this.ensureTerminal();
        }
        return this.restartPolling();
      case "continued":
        return this.restartPolling();
      case "stopped":
        this.terminal?.setState(t("stopped"));
        return this.stopPolling();
      case "breakpoint":
        this.mirrored.handleBreakpointEvent(this.session.id, body);
        return this.refreshSoon();
      case "exited":
        this.exitText = body["signal"] === undefined
          ? t("the program ended with exit code {0}", String(body["exitCode"]))
          : t("the program was ended by {0}", String(body["signal"]));
        return this.stopPolling();
      case "terminated":
        return this.end();
      case "inputClosed":
        return this.terminal?.printMessage(t("{0} ended the input", String(body["client"])));
      case "sessionChanged": {
        if (body["change"] === "restarted") {
          this.exitText = undefined;
          this.terminal?.restart();
        }
        const action = readAction(body, this.snapshot?.clients ?? []);
        if (action !== undefined) {
          this.recordAction(action);
        }
        return this.refreshSoon();
      }
    }
  }

  private recordAction(action: ClientAction): void {
    this.actions.push({ action, time: new Date() });
    this.actions.splice(0, this.actions.length - MAX_ACTIONS);
    if (!IGNORED_BY_STATUS_BAR.includes(action.change)) {
      this.lastAction = action;
      this.restartPolling();
    }
    // The terminal has already echoed the user's own keys.
    if (action.change === "input" && !action.you && action.inputText !== undefined && action.inputText !== "" && this.hasOutputTerminal()) {
      this.ensureTerminal().printMessage(t("{0} typed: {1}", action.client, action.inputText.trimEnd()));
    }
    this.actionEmitter.fire(action);
  }

  /** Whether the program has a terminal of this extension, or will have one with its first output. */
  private hasOutputTerminal(): boolean {
    return this.terminal !== undefined || this.usesPipes();
  }

  /** Whether the session owns the program's stdin, stdout and stderr. */
  private usesPipes(): boolean {
    const { request, console } = this.session.configuration;
    return request === "launch" && (console === undefined || console === "piped");
  }

  private ensureTerminal(): ProgramTerminal {
    if (this.terminal === undefined) {
      const program: Program = {
        write: async (text, closeAfter) => {
          await this.sendRequest("processWriteInput", { data: text, closeAfter });
          this.restartPolling();
        },
        interrupt: () => this.interrupt(),
        resize: async (columns, rows) => {
          try {
            await this.sendRequest("processResizeTerminal", { columns, rows });
          } catch (error) {
            // The program keeps its size: this client has read-only access, or the session is ending.
            log().debug(`${this.session.name}: the terminal is not resized: ${String(error)}`);
          }
        },
      };
      this.terminal = new ProgramTerminal(this.session.name, this.session.configuration["pty"] === true, program);
      if (getSetting<string>("programTerminal", "always") === "always") {
        this.terminal.show(true);
      }
    }
    return this.terminal;
  }

  private async interrupt(): Promise<void> {
    const act = getSetting<string>("terminalCtrlC", "pause");
    if (act === "terminate") {
      await this.sendRequest("terminate", {});
    } else if (act === "pause") {
      const { threads } = (await this.sendRequest("threads", {})) as { threads: readonly { id: number }[] };
      await this.sendRequest("pause", { threadId: threads[0]?.id ?? 0 });
    }
  }

  /** Requests the snapshot, once for several changes. */
  private refreshSoon(subscribe = false): void {
    if (!this.isConfigured || this.isEnded) {
      return;
    }
    if (subscribe) {
      return void this.refresh({ subscribe: true });
    }
    this.refreshTimer ??= setTimeout(() => {
      this.refreshTimer = undefined;
      void this.refresh({});
    }, 60);
  }

  private async refresh(args: Record<string, unknown>): Promise<void> {
    try {
      this.snapshot = readSnapshot(await this.sendRequest("sessionInfo", args));
      this.changeEmitter.fire();
    } catch (error) {
      // The adapter is not Tandem's, or the session is ending.
      log().debug(`${this.session.name}: no session info: ${String(error)}`);
    }
  }

  private restartPolling(): void {
    this.stopPolling();
    this.terminal?.setState("");
    this.pollDelayMs = MIN_POLL_INTERVAL_MS;
    this.schedulePoll();
  }

  private schedulePoll(): void {
    if (this.isEnded || !this.isConfigured || this.terminal === undefined || this.terminal.hasEnded) {
      return;
    }
    this.pollTimer = setTimeout(() => void this.pollInputWait(), this.pollDelayMs);
    this.pollDelayMs = Math.min(this.pollDelayMs * 2, MAX_POLL_INTERVAL_MS);
  }

  private stopPolling(): void {
    clearTimeout(this.pollTimer);
    this.pollTimer = undefined;
  }

  /** Shows that the program waits for input, or schedules the next check. */
  private async pollInputWait(): Promise<void> {
    const timer = this.pollTimer;
    let isWaiting: boolean;
    try {
      const output = (await this.sendRequest("processReadOutput", { stream: "stderr", maxBytes: 1 })) as { waitingForInput?: boolean };
      isWaiting = output.waitingForInput === true;
    } catch {
      return; // The session does not own the streams, or has ended.
    }
    if (timer !== this.pollTimer) {
      return; // A newer event has already started another request.
    }
    if (!isWaiting) {
      return this.schedulePoll();
    }
    this.terminal?.setState(t("waits for input"));
    if (getSetting<string>("programTerminal", "always") === "whenInputIsWanted") {
      this.terminal?.show(true);
    }
  }

  /** The session has ended, or its connection is closed. */
  public get hasEnded(): boolean {
    return this.isEnded;
  }

  private end(): void {
    if (this.isEnded) {
      return;
    }
    this.isEnded = true;
    this.stopPolling();
    clearTimeout(this.refreshTimer);
    this.terminal?.end(this.exitText ?? t("the session has ended"));
  }
}

function getSetting<T>(name: string, defaultValue: T): T {
  return vscode.workspace.getConfiguration("tandem").get<T>(name, defaultValue);
}
