/** A program's output in the form that a terminal needs: line feeds with carriage returns, and a bounded copy
 * of it all. */
import { t } from "../l10n";

/** Kept for a terminal that is opened later, UTF-16 units. */
const KEPT = 1024 * 1024;

export class Screen {
  private kept: string[] = [];
  private length = 0;
  private endsWithReturn = false;
  private cut = false;

  /** Converts output of a program whose stdout is a pipe for the terminal. Escape codes are kept. */
  public print(text: string): string {
    if (text === "") {
      return "";
    }
    // A `\r\n` may come in two pieces.
    const first = text.startsWith("\n") && this.endsWithReturn ? "\n" : "";
    const shown = first + text.slice(first.length).replace(/\r?\n/g, "\r\n");
    this.endsWithReturn = text.endsWith("\r");
    this.keep(shown);
    return shown;
  }

  /** Keeps text that is right already: what a person typed, or a remark. */
  public keep(shown: string): void {
    this.kept.push(shown);
    this.length += shown.length;
    while (this.length > KEPT && this.kept.length > 1) {
      this.length -= this.kept.shift()?.length ?? 0;
      this.cut = true;
    }
  }

  /** Everything so far, for a terminal that is opened now. */
  public get all(): string {
    return (this.cut ? remark(t("earlier output was dropped")) : "") + this.kept.join("");
  }

  /** Whether the cursor is at the start of a line. */
  public get atLineStart(): boolean {
    const last = this.kept.at(-1);
    return last === undefined || last.endsWith("\n");
  }
}

/** A line that is Tandem's and not the program's. */
export function remark(text: string): string {
  return `\x1b[0;2;3m[${text}]\x1b[0m\r\n`;
}
