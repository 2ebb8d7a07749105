/** What a terminal's line discipline does, for a program whose stdin is a pipe: echo, editing of the line, end of input.
 *
 * Keys in; text to show, text to send and signals out. Knows neither VS Code nor DAP. */

export type Effect =
  /** Show this in the terminal. */
  | { readonly kind: "echo"; readonly text: string }
  /** Send this to the program's stdin. */
  | { readonly kind: "send"; readonly text: string }
  /** Close the program's stdin. */
  | { readonly kind: "end" }
  /** Ctrl+C. */
  | { readonly kind: "interrupt" };

const ERASE = "\b \b";

/** The keys a terminal sends, cut into single characters and whole escape sequences. */
const KEYS = /\x1b(?:\[[0-?]*[ -/]*[@-~]|O.|.)?|[\s\S]/gu;

export class LineDiscipline {
  private line: string[] = [];
  private ended = false;

  /** Takes what the terminal sends for keys or a paste. */
  public type(data: string): Effect[] {
    const effects: Effect[] = [];
    let previous = "";
    for (const key of data.match(KEYS) ?? []) {
      // A paste from Windows: its `\r\n` is one Enter.
      if (!(key === "\n" && previous === "\r")) {
        effects.push(...this.key(key));
      }
      previous = key;
    }
    return joined(effects);
  }

  /** Text that is typed but not sent yet. */
  public get pending(): string {
    return this.line.join("");
  }

  private key(key: string): Effect[] {
    if (this.ended) {
      // The program does not read any more; Ctrl+C still interrupts it.
      return key === "\x03" ? [{ kind: "echo", text: "^C\r\n" }, { kind: "interrupt" }] : [{ kind: "echo", text: "\x07" }];
    }
    switch (key) {
      case "\r":
      case "\n": {
        const text = `${this.take()}\n`;
        return [{ kind: "echo", text: "\r\n" }, { kind: "send", text }];
      }
      case "\x7f":
      case "\b":
        return this.erase(1);
      case "\x15": // Ctrl+U
        return this.erase(this.line.length);
      case "\x17": // Ctrl+W
        return this.erase(this.lastWord());
      case "\x03": // Ctrl+C
        this.take();
        return [{ kind: "echo", text: "^C\r\n" }, { kind: "interrupt" }];
      case "\x04": // Ctrl+D: the end when nothing is typed; else what is typed, without a new line, as a terminal does.
        if (this.line.length > 0) {
          return [{ kind: "send", text: this.take() }];
        }
        this.ended = true;
        return [{ kind: "end" }];
      case "\t":
        this.line.push(key);
        return [{ kind: "echo", text: key }];
      default:
        // Arrows, function keys and control characters have no meaning in a line without history.
        if (key.startsWith("\x1b") || key < " ") {
          return [];
        }
        this.line.push(key);
        return [{ kind: "echo", text: key }];
    }
  }

  private take(): string {
    const text = this.line.join("");
    this.line = [];
    return text;
  }

  private erase(count: number): Effect[] {
    const gone = this.line.splice(this.line.length - Math.min(count, this.line.length));
    const columns = gone.reduce((sum, character) => sum + width(character), 0);
    return columns === 0 ? [] : [{ kind: "echo", text: ERASE.repeat(columns) }];
  }

  private lastWord(): number {
    let start = this.line.length;
    while (start > 0 && this.line[start - 1] === " ") {
      start -= 1;
    }
    while (start > 0 && this.line[start - 1] !== " ") {
      start -= 1;
    }
    return this.line.length - start;
  }
}

/** Columns a character takes: two for East Asian wide ones and emoji, none for marks that join the one before. */
function width(character: string): number {
  if (/^[\p{Mn}\p{Me}\u200d\ufe0f]$/u.test(character)) {
    return 0;
  }
  return /^[\u1100-\u115f\u2e80-\ua4cf\uac00-\ud7a3\uf900-\ufaff\ufe30-\ufe6f\uff00-\uff60\uffe0-\uffe6]$|^\p{Emoji_Presentation}$|^[\u{20000}-\u{3fffd}]$/u.test(character) ? 2 : 1;
}

/** Neighbours of one kind as one. */
function joined(effects: readonly Effect[]): Effect[] {
  const whole: Effect[] = [];
  for (const effect of effects) {
    const last = whole.at(-1);
    if (effect.kind === "echo" && last?.kind === "echo") {
      whole[whole.length - 1] = { kind: "echo", text: last.text + effect.text };
    } else {
      whole.push(effect);
    }
  }
  return whole;
}
