/** The answers of a terminal to the program's queries, which are not what a person types.
 *
 * `tandem-dap` answers the queries of a program in `pty`, whether or not a terminal shows its output. A terminal that shows the
 * output answers, too, and once more when it is opened later and shows all of it. Knows neither VS Code nor DAP. */

/** "Where is the cursor?" (DSR 6), and the beginning of it at the end of a text. */
const POSITION_QUERY = /\x1b\[\??6n/gu;
const CUT_QUERY = /\x1b(?:\[(?:\?)?(?:6)?)?$/u;

/** The cursor's position. Also Shift+F3 and its like in the first line. */
const POSITION = /^\x1b\[\??\d+;\d+R$/u;

/** Status and position, attributes, name, size, keyboard flags, modes and colours: what `tandem-dap` answers itself. */
const ANSWERS = new RegExp(
  [
    "\\x1b\\[\\??\\d+;\\d+R", "\\x1b\\[0n",
    "\\x1b\\[[?>][\\d;]*c", "\\x1bP!\\|[\\dA-Fa-f]*\\x1b\\\\", "\\x1bP>\\|[^\\x1b]*\\x1b\\\\",
    "\\x1b\\[8;\\d+;\\d+t", "\\x1b\\[\\?\\d+u", "\\x1b\\[\\??\\d+;\\d\\$y",
    "\\x1b\\]1[012];rgb:[\\da-fA-F/]+(?:\\x07|\\x1b\\\\)",
  ].join("|"),
  "gu",
);

export class TerminalAnswers {
  /** Queries for the cursor's position that the terminal has not answered. */
  private positions = 0;
  private cut = "";

  /** The terminal is going to show this. */
  public show(text: string): void {
    const whole = this.cut + text;
    this.positions += whole.match(POSITION_QUERY)?.length ?? 0;
    this.cut = CUT_QUERY.exec(whole)?.[0] ?? "";
  }

  /** What a person typed, of what the terminal sends. */
  public remove(data: string): string {
    return data.replace(ANSWERS, (answer) => {
      if (POSITION.test(answer)) {
        if (this.positions === 0) {
          return answer;
        }
        this.positions -= 1;
      }
      return "";
    });
  }
}
