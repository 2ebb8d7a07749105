/** Removes a terminal's responses to queries from the user's input.
 *
 * `tandem-dap` itself responds to the queries of a program with `pty`. A terminal that shows the program's output also responds, and responds
 * again if it is opened later and shows all output. Independent of VS Code and DAP. */

/** Query for the cursor's position (DSR 6), and its beginning at the end of a chunk. */
const CURSOR_POSITION_QUERY = /\x1b\[\??6n/gu;
const PARTIAL_QUERY = /\x1b(?:\[(?:\?)?(?:6)?)?$/u;

/** Response with the cursor's position. Shift+F3 and similar keys send the same sequence. */
const CURSOR_POSITION_RESPONSE = /^\x1b\[\??\d+;\d+R$/u;

/** Responses that `tandem-dap` sends itself: status, position, attributes, name, size, keyboard flags, modes and colours. */
const RESPONSES = new RegExp(
  [
    "\\x1b\\[\\??\\d+;\\d+R", "\\x1b\\[0n",
    "\\x1b\\[[?>][\\d;]*c", "\\x1bP!\\|[\\dA-Fa-f]*\\x1b\\\\", "\\x1bP>\\|[^\\x1b]*\\x1b\\\\",
    "\\x1b\\[8;\\d+;\\d+t", "\\x1b\\[\\?\\d+u", "\\x1b\\[\\??\\d+;\\d\\$y",
    "\\x1b\\]1[012];rgb:[\\da-fA-F/]+(?:\\x07|\\x1b\\\\)",
  ].join("|"),
  "gu",
);

export class TerminalResponseFilter {
  /** Number of position queries without a response. */
  private pendingPositionQueries = 0;
  private partialQuery = "";

  /** Counts the position queries in output before the terminal shows it. */
  public trackOutput(text: string): void {
    const output = this.partialQuery + text;
    this.pendingPositionQueries += output.match(CURSOR_POSITION_QUERY)?.length ?? 0;
    this.partialQuery = PARTIAL_QUERY.exec(output)?.[0] ?? "";
  }

  /** Returns the part of the terminal's data that the user typed. */
  public removeResponses(data: string): string {
    return data.replace(RESPONSES, (response) => {
      if (CURSOR_POSITION_RESPONSE.test(response)) {
        if (this.pendingPositionQueries === 0) {
          return response;
        }
        this.pendingPositionQueries -= 1;
      }
      return "";
    });
  }
}
