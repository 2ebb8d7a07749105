/** The terminal of one session: the program's output in it, what is typed in it to the program's stdin. */
import * as vscode from "vscode";
import { t } from "../l10n";
import { TerminalAnswers } from "./answers";
import { LineDiscipline, type Effect } from "./discipline";
import { Screen, remark } from "./screen";

/** The terminal's interface to its session. */
export interface Program {
  write(text: string, closeAfter: boolean): Promise<void>;
  interrupt(): Promise<void>;
  /** Changes the size of the program's own terminal, in characters. */
  resize(columns: number, rows: number): Promise<void>;
}

export class ProgramTerminal implements vscode.Disposable {
  private readonly screen = new Screen();
  private discipline = new LineDiscipline();
  private terminal: vscode.Terminal | undefined;
  private pty: Pty | undefined;
  /** Writes go out in the order they were typed. */
  private queue: Promise<void> = Promise.resolve();
  private over = false;

  public constructor(
    public readonly name: string,
    /** Whether the program has its own terminal: keys are then passed unchanged. */
    private readonly raw: boolean,
    private readonly program: Program,
  ) {}

  public show(preserveFocus: boolean): void {
    if (this.terminal === undefined || this.terminal.exitStatus !== undefined) {
      const pty = new Pty(this.screen.all, (data) => this.typed(data), (size) => this.resized(size), () => this.closed(pty));
      this.pty = pty;
      this.terminal = vscode.window.createTerminal({
        name: this.name, pty, iconPath: new vscode.ThemeIcon("debug-console"), isTransient: true,
      });
    }
    this.terminal.show(preserveFocus);
  }

  public print(text: string): void {
    // Kept also while no terminal is open.
    const shown = this.screen.print(text);
    this.pty?.write(shown);
  }

  /** Prints a message of Tandem on a separate line. */
  public remark(text: string): void {
    this.echo((this.screen.atLineStart ? "" : "\r\n") + remark(text));
  }

  /** The name in the tab says what the program does. */
  public note(state: string): void {
    this.pty?.rename(state === "" ? this.name : `${this.name} (${state})`);
  }

  /** The program ended; the terminal stays to be read. */
  public end(how: string): void {
    if (!this.over) {
      this.over = true;
      this.remark(how);
      this.note("");
    }
  }

  /** Shows that a new program replaces the old one, and clears the input line. */
  public restart(): void {
    this.discipline = new LineDiscipline();
    this.remark(t("restarted"));
  }

  public get ended(): boolean {
    return this.over;
  }

  /** Ends the program's input, as Ctrl+D on an empty line. */
  public endInput(): void {
    this.carryOut({ kind: "end" });
  }

  public dispose(): void {
    this.over = true;
    this.terminal?.dispose();
  }

  private typed(data: string): void {
    if (this.over) {
      return;
    }
    if (this.raw) {
      const text = this.pty?.answers.remove(data) ?? data;
      return text === "" ? undefined : this.carryOut({ kind: "send", text });
    }
    for (const effect of this.discipline.type(data)) {
      this.carryOut(effect);
    }
  }

  /** The program lays out its output for this terminal's size, if it has a terminal of its own. */
  private resized(size: vscode.TerminalDimensions): void {
    if (this.raw && !this.over) {
      this.later(() => this.program.resize(size.columns, size.rows));
    }
  }

  private carryOut(effect: Effect): void {
    switch (effect.kind) {
      case "echo":
        return this.echo(effect.text);
      case "send":
        return this.later(() => this.program.write(effect.text, false));
      case "end":
        return this.later(async () => {
          await this.program.write("", true);
          this.remark(t("end of input"));
        });
      case "interrupt":
        return this.later(() => this.program.interrupt());
    }
  }

  private later(act: () => Promise<void>): void {
    this.queue = this.queue.then(act).catch((error: unknown) => {
      if (!this.over) {
        this.remark(error instanceof Error ? error.message : String(error));
      }
    });
  }

  private echo(text: string): void {
    this.screen.keep(text);
    this.pty?.write(text);
  }

  private closed(pty: Pty): void {
    if (this.pty === pty) {
      this.pty = undefined;
      this.terminal = undefined;
    }
  }
}

/** The terminal's interface for VS Code. Text that is written before the terminal is open waits. */
class Pty implements vscode.Pseudoterminal {
  private readonly writer = new vscode.EventEmitter<string>();
  private readonly namer = new vscode.EventEmitter<string>();
  public readonly onDidWrite = this.writer.event;
  public readonly onDidChangeName = this.namer.event;
  /** Answers of this terminal, which `tandem-dap` gives instead. */
  public readonly answers = new TerminalAnswers();
  private isOpen = false;

  public constructor(
    private waiting: string,
    public readonly handleInput: (data: string) => void,
    public readonly setDimensions: (size: vscode.TerminalDimensions) => void,
    private readonly onClose: () => void,
  ) {}

  /** VS Code passes no size to a terminal that has not been visible, and calls `setDimensions` later. */
  public open(size: vscode.TerminalDimensions | undefined): void {
    this.isOpen = true;
    if (size !== undefined) {
      this.setDimensions(size);
    }
    this.fire(this.waiting);
    this.waiting = "";
  }

  public close(): void {
    this.onClose();
  }

  public write(text: string): void {
    if (this.isOpen) {
      this.fire(text);
    } else {
      this.waiting += text;
    }
  }

  private fire(text: string): void {
    this.answers.show(text);
    this.writer.fire(text);
  }

  public rename(name: string): void {
    this.namer.fire(name);
  }
}
