/** The output channel *Tandem*: what the extension does and what `tandem-dap` logs. */
import { createReadStream, mkdirSync, statSync, truncateSync } from "node:fs";
import * as path from "node:path";
import * as vscode from "vscode";

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
  private read = 0;
  private readonly timer: NodeJS.Timeout;

  public constructor(folder: vscode.Uri) {
    mkdirSync(folder.fsPath, { recursive: true });
    this.file = path.join(folder.fsPath, "tandem-dap.log");
    try {
      truncateSync(this.file);
    } catch {
      // There is none yet.
    }
    this.timer = setInterval(() => this.follow(), 1000);
  }

  public dispose(): void {
    clearInterval(this.timer);
  }

  private follow(): void {
    let size: number;
    try {
      size = statSync(this.file).size;
    } catch {
      return; // Nothing was logged yet.
    }
    if (size > this.read) {
      const start = this.read;
      this.read = size;
      createReadStream(this.file, { start, end: size - 1, encoding: "utf8" }).on("data", (text) => log().append(text.toString()));
    }
  }
}
