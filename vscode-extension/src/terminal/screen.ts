/** Converts a program's output for a terminal (line feeds to CR LF), and keeps a bounded copy of it. */
import { t } from "../l10n";

/** Maximum length of the copy, UTF-16 units. */
const MAX_SCROLLBACK_LENGTH = 1024 * 1024;

export class Screen {
  private chunks: string[] = [];
  private scrollbackLength = 0;
  private endsWithCarriageReturn = false;
  private isTruncated = false;

  /** Converts output of a program and appends it to the copy. Escape codes stay unchanged. */
  public printOutput(text: string): string {
    if (text === "") {
      return "";
    }
    // A chunk may end between `\r` and `\n`.
    const first = text.startsWith("\n") && this.endsWithCarriageReturn ? "\n" : "";
    const shown = first + text.slice(first.length).replace(/\r?\n/g, "\r\n");
    this.endsWithCarriageReturn = text.endsWith("\r");
    this.append(shown);
    return shown;
  }

  /** Appends text that needs no conversion: an echo or a message. */
  public append(text: string): void {
    this.chunks.push(text);
    this.scrollbackLength += text.length;
    while (this.scrollbackLength > MAX_SCROLLBACK_LENGTH && this.chunks.length > 1) {
      this.scrollbackLength -= this.chunks.shift()?.length ?? 0;
      this.isTruncated = true;
    }
  }

  /** The copy of all output, for a terminal that is opened later. */
  public get scrollback(): string {
    return (this.isTruncated ? formatMessage(t("earlier output was dropped")) : "") + this.chunks.join("");
  }

  /** Whether the cursor is at the start of a line. */
  public get isAtLineStart(): boolean {
    const last = this.chunks.at(-1);
    return last === undefined || last.endsWith("\n");
  }
}

/** Formats a message of Tandem, as opposed to the program's output. */
export function formatMessage(text: string): string {
  return `\x1b[0;2;3m[${text}]\x1b[0m\r\n`;
}
