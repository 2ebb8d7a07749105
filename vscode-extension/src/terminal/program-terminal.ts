/** The terminal of a session: shows the program's output, and sends what the user types to the program's stdin. */
import * as vscode from "vscode";
import { t } from "../l10n";
import { TerminalResponseFilter } from "./response-filter";
import { LineDiscipline, type InputAction } from "./line-discipline";
import { Screen, formatMessage } from "./screen";

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
  private pseudoterminal: Pseudoterminal | undefined;
  /** Serializes requests, so that input arrives in the order in which the user types it. */
  private queue: Promise<void> = Promise.resolve();
  private isEnded = false;

  public constructor(
    public readonly name: string,
    /** The program has its own terminal, so keys are sent unchanged. */
    private readonly isRaw: boolean,
    private readonly program: Program,
  ) {}

  public show(preserveFocus: boolean): void {
    if (this.terminal === undefined || this.terminal.exitStatus !== undefined) {
      const pseudoterminal = new Pseudoterminal(
        this.screen.scrollback, (data) => this.handleInput(data), (size) => this.handleResize(size), () => this.handleClose(pseudoterminal),
      );
      this.pseudoterminal = pseudoterminal;
      this.terminal = vscode.window.createTerminal({
        name: this.name, pty: pseudoterminal, iconPath: new vscode.ThemeIcon("debug-console"), isTransient: true,
      });
    }
    this.terminal.show(preserveFocus);
  }

  public print(text: string): void {
    // The screen stores output also while no terminal is open.
    const shown = this.screen.printOutput(text);
    this.pseudoterminal?.write(shown);
  }

  /** Prints a message of Tandem on a separate line. */
  public printMessage(text: string): void {
    this.echo((this.screen.isAtLineStart ? "" : "\r\n") + formatMessage(text));
  }

  /** Shows a state of the program in the name of the tab; an empty string shows none. */
  public setState(state: string): void {
    this.pseudoterminal?.rename(state === "" ? this.name : `${this.name} (${state})`);
  }

  /** Prints why the program ended, and ignores further input. The terminal stays open. */
  public end(reason: string): void {
    if (!this.isEnded) {
      this.isEnded = true;
      this.printMessage(reason);
      this.setState("");
    }
  }

  /** Shows that a new program replaces the old one, and clears the input line. */
  public restart(): void {
    this.discipline = new LineDiscipline();
    this.printMessage(t("restarted"));
  }

  public get hasEnded(): boolean {
    return this.isEnded;
  }

  /** Ends the program's input, like Ctrl+D on an empty line. */
  public endInput(): void {
    this.performAction({ kind: "end" });
  }

  public dispose(): void {
    this.isEnded = true;
    this.terminal?.dispose();
  }

  private handleInput(data: string): void {
    if (this.isEnded) {
      return;
    }
    if (this.isRaw) {
      const text = this.pseudoterminal?.responseFilter.removeResponses(data) ?? data;
      return text === "" ? undefined : this.performAction({ kind: "send", text });
    }
    for (const action of this.discipline.processInput(data)) {
      this.performAction(action);
    }
  }

  /** The program lays out its output for this terminal's size, if it has a terminal. */
  private handleResize(size: vscode.TerminalDimensions): void {
    if (this.isRaw && !this.isEnded) {
      this.enqueue(() => this.program.resize(size.columns, size.rows));
    }
  }

  private performAction(action: InputAction): void {
    switch (action.kind) {
      case "echo":
        return this.echo(action.text);
      case "send":
        return this.enqueue(() => this.program.write(action.text, false));
      case "end":
        return this.enqueue(async () => {
          await this.program.write("", true);
          this.printMessage(t("end of input"));
        });
      case "interrupt":
        return this.enqueue(() => this.program.interrupt());
    }
  }

  private enqueue(operation: () => Promise<void>): void {
    this.queue = this.queue.then(operation).catch((error: unknown) => {
      if (!this.isEnded) {
        this.printMessage(error instanceof Error ? error.message : String(error));
      }
    });
  }

  private echo(text: string): void {
    this.screen.append(text);
    this.pseudoterminal?.write(text);
  }

  private handleClose(pseudoterminal: Pseudoterminal): void {
    if (this.pseudoterminal === pseudoterminal) {
      this.pseudoterminal = undefined;
      this.terminal = undefined;
    }
  }
}

/** Implements VS Code's interface of a terminal. Buffers text until the terminal is open. */
class Pseudoterminal implements vscode.Pseudoterminal {
  private readonly writeEmitter = new vscode.EventEmitter<string>();
  private readonly nameEmitter = new vscode.EventEmitter<string>();
  public readonly onDidWrite = this.writeEmitter.event;
  public readonly onDidChangeName = this.nameEmitter.event;
  /** Removes the responses of this terminal: `tandem-dap` sends its own. */
  public readonly responseFilter = new TerminalResponseFilter();
  private isOpen = false;

  public constructor(
    private pendingText: string,
    public readonly handleInput: (data: string) => void,
    public readonly setDimensions: (size: vscode.TerminalDimensions) => void,
    private readonly onClose: () => void,
  ) {}

  /** VS Code passes no size until a terminal is visible, and then calls `setDimensions`. */
  public open(size: vscode.TerminalDimensions | undefined): void {
    this.isOpen = true;
    if (size !== undefined) {
      this.setDimensions(size);
    }
    this.emit(this.pendingText);
    this.pendingText = "";
  }

  public close(): void {
    this.onClose();
  }

  public write(text: string): void {
    if (this.isOpen) {
      this.emit(text);
    } else {
      this.pendingText += text;
    }
  }

  private emit(text: string): void {
    this.responseFilter.trackOutput(text);
    this.writeEmitter.fire(text);
  }

  public rename(name: string): void {
    this.nameEmitter.fire(name);
  }
}
