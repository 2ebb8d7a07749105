/** The output channel *Tandem*: what the extension does and what `tandem-dap` logs. */
import { mkdirSync, truncateSync } from "node:fs";
import * as path from "node:path";
import * as vscode from "vscode";
import { LogTail, levelOf } from "./log-tail";

/** How often the adapter's log is looked at, ms. */
const LOOK = 1000;

let channel: vscode.LogOutputChannel | undefined;

/** The channel; made at the first use. */
export function log(): vscode.LogOutputChannel {
  channel ??= vscode.window.createOutputChannel("Tandem", { log: true });
  return channel;
}

/** A protocol message, when the log level is `trace`. */
export function logMessage(arrow: string, session: string, message: unknown): void {
  if (level() === "trace") {
    log().info(`${session} ${arrow} ${JSON.stringify(message).slice(0, 4000)}`);
  }
}

/** `tandem.logLevel`. */
export function level(): string {
  return vscode.workspace.getConfiguration("tandem").get<string>("logLevel", "warn");
}

/** The adapter's log file, followed into the channel. The hosts of all sessions of this window append to it. */
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
      // There is none yet.
    }
    this.tail = new LogTail(this.file);
    this.timer = setInterval(() => this.follow(), LOOK);
  }

  public dispose(): void {
    clearInterval(this.timer);
  }

  /** Brings the channel up to date. */
  public follow(): void {
    for (const line of this.tail.lines()) {
      switch (levelOf(line)) {
        case "error":
          log().error(line);
          break;
        case "warn":
          log().warn(line);
          break;
        default:
          // `tandem.logLevel` let it through; the channel's own level, which is VS Code's, would hold back what is less than this.
          log().info(line);
      }
    }
  }

  public show(): void {
    this.follow();
    log().show();
  }
}
