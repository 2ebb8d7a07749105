/** The output channel *Tandem*: messages of the extension and of `tandem-dap`. */
import { mkdirSync, truncateSync } from "node:fs";
import * as path from "node:path";
import * as vscode from "vscode";
import { LogTail, parseLevel } from "./log-tail";

/** Interval of reading the adapter's log. */
const POLL_INTERVAL_MS = 1000;

let channel: vscode.LogOutputChannel | undefined;

/** Returns the channel; creates it at the first call. */
export function log(): vscode.LogOutputChannel {
  channel ??= vscode.window.createOutputChannel("Tandem", { log: true });
  return channel;
}

/** Logs a protocol message if the log level is `trace`. */
export function logMessage(arrow: string, session: string, message: unknown): void {
  if (getLogLevel() === "trace") {
    log().info(`${session} ${arrow} ${JSON.stringify(message).slice(0, 4000)}`);
  }
}

/** Returns the setting `tandem.logLevel`. */
export function getLogLevel(): string {
  return vscode.workspace.getConfiguration("tandem").get<string>("logLevel", "warn");
}

/** Copies the adapters' log file to the channel. The adapters of all sessions of this window append to it. */
export class AdapterLog implements vscode.Disposable {
  public readonly file: string;
  private readonly tail: LogTail;
  private readonly timer: NodeJS.Timeout;

  public constructor(folder: vscode.Uri) {
    mkdirSync(folder.fsPath, { recursive: true });
    this.file = path.join(folder.fsPath, "tandem-dap.log");
    try {
      truncateSync(this.file);
    } catch {
      // The file does not exist yet.
    }
    this.tail = new LogTail(this.file);
    this.timer = setInterval(() => this.forwardNewLines(), POLL_INTERVAL_MS);
  }

  public dispose(): void {
    clearInterval(this.timer);
  }

  /** Copies new lines to the channel. */
  public forwardNewLines(): void {
    for (const line of this.tail.readNewLines()) {
      switch (parseLevel(line)) {
        case "error":
          log().error(line);
          break;
        case "warn":
          log().warn(line);
          break;
        default:
          // `tandem-dap` has already filtered by `tandem.logLevel`. The channel has its own level and would drop less severe messages.
          log().info(line);
      }
    }
  }

  public show(): void {
    this.forwardNewLines();
    log().show();
  }
}
