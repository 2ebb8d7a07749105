/** A log file that others append to, read line by line as it grows. Independent of VS Code. */
import { closeSync, openSync, readSync } from "node:fs";

/** Read at one look at most, bytes: what is more comes with the next. */
const MAX_BYTES = 1024 * 1024;
/** A line that is longer is cut into such pieces, bytes. */
const MAX_LINE_LEN = 64 * 1024;

export class LogTail {
  private at = 0;
  /** Bytes of a line that has not ended yet. */
  private rest: Buffer = Buffer.alloc(0);

  public constructor(private readonly file: string) {}

  /** The lines that were ended since the last look, without their ends; none while there is no file. */
  public lines(): string[] {
    const fresh = this.fresh();
    let whole = Buffer.concat([this.rest, fresh]);
    const lines: string[] = [];
    for (let end = whole.indexOf("\n"); end >= 0 || whole.length > MAX_LINE_LEN; end = whole.indexOf("\n")) {
      const cut = end >= 0 && end <= MAX_LINE_LEN ? end : MAX_LINE_LEN;
      lines.push(whole.toString("utf8", 0, cut));
      whole = whole.subarray(cut === end ? cut + 1 : cut);
    }
    this.rest = Buffer.from(whole);
    return lines;
  }

  private fresh(): Buffer {
    let descriptor: number;
    try {
      descriptor = openSync(this.file, "r");
    } catch {
      return Buffer.alloc(0); // Nothing was logged yet.
    }
    try {
      const block = Buffer.alloc(MAX_BYTES);
      const count = readSync(descriptor, block, 0, MAX_BYTES, this.at);
      this.at += count;
      return block.subarray(0, count);
    } finally {
      closeSync(descriptor);
    }
  }
}

/** How grave a line of `tandem-dap`'s log is: `2026-01-01T10:00:00.000000Z  WARN place: what`. */
export function levelOf(line: string): string | undefined {
  return /^\S+ +(ERROR|WARN|INFO|DEBUG|TRACE) /.exec(line)?.[1]?.toLowerCase();
}
