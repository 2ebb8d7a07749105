/** Line discipline of a terminal, for a program whose stdin is a pipe: echo, line editing, end of input. Independent of VS Code and DAP. */

/** Effect of a key. */
export type InputAction =
  /** Show this in the terminal. */
  | { readonly kind: "echo"; readonly text: string }
  /** Send this to the program's stdin. */
  | { readonly kind: "send"; readonly text: string }
  /** Close the program's stdin. */
  | { readonly kind: "end" }
  /** Ctrl+C. */
  | { readonly kind: "interrupt" };

const ERASE_COLUMN = "\b \b";

/** Matches one character or one escape sequence. */
const KEY_PATTERN = /\x1b(?:\[[0-?]*[ -/]*[@-~]|O.|.)?|[\s\S]/gu;

export class LineDiscipline {
  private line: string[] = [];
  private inputEnded = false;

  /** Processes keys or a paste. */
  public processInput(data: string): InputAction[] {
    const actions: InputAction[] = [];
    let previous = "";
    for (const key of data.match(KEY_PATTERN) ?? []) {
      // A paste from Windows contains `\r\n` for one Enter.
      if (!(key === "\n" && previous === "\r")) {
        actions.push(...this.processKey(key));
      }
      previous = key;
    }
    return mergeEchoes(actions);
  }

  /** Text that the user has typed and the program has not received. */
  public get pendingText(): string {
    return this.line.join("");
  }

  private processKey(key: string): InputAction[] {
    if (this.inputEnded) {
      // The program's input has ended; Ctrl+C still interrupts the program.
      return key === "\x03" ? [{ kind: "echo", text: "^C\r\n" }, { kind: "interrupt" }] : [{ kind: "echo", text: "\x07" }];
    }
    switch (key) {
      case "\r":
      case "\n": {
        const text = `${this.takeLine()}\n`;
        return [{ kind: "echo", text: "\r\n" }, { kind: "send", text }];
      }
      case "\x7f":
      case "\b":
        return this.eraseCharacters(1);
      case "\x15": // Ctrl+U
        return this.eraseCharacters(this.line.length);
      case "\x17": // Ctrl+W
        return this.eraseCharacters(this.measureLastWord());
      case "\x03": // Ctrl+C
        this.takeLine();
        return [{ kind: "echo", text: "^C\r\n" }, { kind: "interrupt" }];
      case "\x04": // Ctrl+D ends the input on an empty line, and otherwise sends the line without a line feed.
        if (this.line.length > 0) {
          return [{ kind: "send", text: this.takeLine() }];
        }
        this.inputEnded = true;
        return [{ kind: "end" }];
      case "\t":
        this.line.push(key);
        return [{ kind: "echo", text: key }];
      default:
        // Ignore arrows, function keys and control characters: there is no history and no cursor movement.
        if (key.startsWith("\x1b") || key < " ") {
          return [];
        }
        this.line.push(key);
        return [{ kind: "echo", text: key }];
    }
  }

  private takeLine(): string {
    const text = this.line.join("");
    this.line = [];
    return text;
  }

  private eraseCharacters(count: number): InputAction[] {
    const erased = this.line.splice(this.line.length - Math.min(count, this.line.length));
    const columns = erased.reduce((sum, character) => sum + measureColumns(character), 0);
    return columns === 0 ? [] : [{ kind: "echo", text: ERASE_COLUMN.repeat(columns) }];
  }

  private measureLastWord(): number {
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

/** Returns the number of columns of a character: two for wide East Asian ones and emoji, none for combining marks. */
function measureColumns(character: string): number {
  if (/^[\p{Mn}\p{Me}\u200d\ufe0f]$/u.test(character)) {
    return 0;
  }
  return /^[\u1100-\u115f\u2e80-\ua4cf\uac00-\ud7a3\uf900-\ufaff\ufe30-\ufe6f\uff00-\uff60\uffe0-\uffe6]$|^\p{Emoji_Presentation}$|^[\u{20000}-\u{3fffd}]$/u.test(character) ? 2 : 1;
}

/** Merges consecutive echo actions. */
function mergeEchoes(actions: readonly InputAction[]): InputAction[] {
  const merged: InputAction[] = [];
  for (const action of actions) {
    const last = merged.at(-1);
    if (action.kind === "echo" && last?.kind === "echo") {
      merged[merged.length - 1] = { kind: "echo", text: last.text + action.text };
    } else {
      merged.push(action);
    }
  }
  return merged;
}
