/** Reads the new lines of a growing log file. Independent of VS Code. */
import { closeSync, openSync, readSync } from "node:fs";

/** Maximum number of bytes per read; the next read returns the rest. */
const MAX_READ_BYTES = 1024 * 1024;
/** Maximum length of a line in bytes; longer lines are split. */
const MAX_LINE_BYTES = 64 * 1024;

export class LogTail {
  private offset = 0;
  /** Bytes after the last line feed. */
  private partialLine: Buffer = Buffer.alloc(0);

  public constructor(private readonly file: string) {}

  /** Returns the lines that were completed since the last call; none if there is no file. */
  public readNewLines(): string[] {
    const bytes = this.readNewBytes();
    let pending = Buffer.concat([this.partialLine, bytes]);
    const lines: string[] = [];
    for (let end = pending.indexOf("\n"); end >= 0 || pending.length > MAX_LINE_BYTES; end = pending.indexOf("\n")) {
      const cut = end >= 0 && end <= MAX_LINE_BYTES ? end : MAX_LINE_BYTES;
      lines.push(pending.toString("utf8", 0, cut));
      pending = pending.subarray(cut === end ? cut + 1 : cut);
    }
    this.partialLine = Buffer.from(pending);
    return lines;
  }

  private readNewBytes(): Buffer {
    let descriptor: number;
    try {
      descriptor = openSync(this.file, "r");
    } catch {
      return Buffer.alloc(0); // There is no log yet.
    }
    try {
      const block = Buffer.alloc(MAX_READ_BYTES);
      const count = readSync(descriptor, block, 0, MAX_READ_BYTES, this.offset);
      this.offset += count;
      return block.subarray(0, count);
    } finally {
      closeSync(descriptor);
    }
  }
}

/** Parses the level of a line of `tandem-dap`'s log: `2026-01-01T10:00:00.000000Z  WARN target: message`. */
export function parseLevel(line: string): string | undefined {
  return /^\S+ +(ERROR|WARN|INFO|DEBUG|TRACE) /.exec(line)?.[1]?.toLowerCase();
}
