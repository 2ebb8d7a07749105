/** One window of the real VS Code with a folder open in it, and what a person does and sees there. */
import { execFileSync } from "node:child_process";
import { cpSync, mkdirSync, readdirSync, writeFileSync } from "node:fs";
import * as path from "node:path";
import { test } from "node:test";
import type { BrowserContext, Locator, Page } from "playwright-core";
import { DEADLINE, ROOT } from "../environment";
import { Editor } from "./editor";

const SAMPLES = path.join(ROOT, "vscode-extension/test/workbench/samples");
/** Where screenshots are kept, for people to look at. */
const SCREENSHOTS = process.env["TANDEM_PICTURES"] ?? path.join(ROOT, "vscode-extension/dist/screenshots");
/** Number of attempts to open an input box that something closes. */
const MAX_TRIES = 4;
let windows = 0;

export interface Circumstances {
  /** Settings of the workspace. */
  readonly settings?: Readonly<Record<string, unknown>>;
  /** The configuration of its launch.json. */
  readonly launch?: unknown;
  /** The whole launch.json, instead of `launch`. */
  readonly launchFile?: unknown;
  /** Another sample, as a second folder of the workspace. */
  readonly beside?: string;
  /** No folder is open, only this file of the sample. */
  readonly alone?: string;
}

/** A part of the window that a picture describes. */
export interface CallOut {
  readonly part: Locator;
  /** The width at its left that is not framed, pixels. */
  readonly skip?: number;
  readonly text: string;
  /** The corner of the text, pixels. */
  readonly left: number;
  readonly top: number;
}

/** A test in a window on a copy of a sample, or of another folder; a failure keeps a picture and tells what was logged. */
export function scenario(name: string, sample: string, act: (bench: Workbench) => Promise<void>, circumstances: Circumstances = {}): void {
  test(name, { timeout: 5 * DEADLINE }, () => inWindow(name, sample, act, circumstances));
}

/** The same within a test. */
export async function inWindow(name: string, sample: string, act: (bench: Workbench) => Promise<void>, circumstances: Circumstances): Promise<void> {
  const bench = await Workbench.open(sample, circumstances);
  try {
    await act(bench);
  } catch (error) {
    await bench.picture(`failed-${name.replace(/\W+/g, "-").slice(0, 40)}`);
    console.error(bench.logs());
    throw error;
  } finally {
    await bench.close();
  }
}

export class Workbench {
  private readonly ending: (() => unknown)[] = [];

  private constructor(
    private readonly editor: Editor,
    public readonly page: Page,
    /** The folder that is open. */
    public readonly folder: string,
    private readonly context: BrowserContext,
  ) {}

  public static async open(sample: string, { settings, launch, launchFile, beside, alone }: Circumstances): Promise<Workbench> {
    const editor = await Editor.get();
    windows += 1;
    const folder = path.join(editor.scratch, `window${windows}`, path.basename(sample));
    cpSync(path.resolve(SAMPLES, sample), folder, { recursive: true, verbatimSymlinks: true });
    const write = (file: string, content: unknown) => {
      mkdirSync(path.join(folder, ".vscode"), { recursive: true });
      writeFileSync(path.join(folder, ".vscode", file), JSON.stringify(content, undefined, 2));
    };
    if (settings !== undefined) {
      write("settings.json", settings);
    }
    if (launch !== undefined) {
      write("launch.json", { version: "0.2.0", configurations: [launch] });
    }
    if (launchFile !== undefined) {
      write("launch.json", launchFile);
    }
    const context = await editor.browser.newContext({ viewport: { width: 1280, height: 800 } });
    await context.grantPermissions(["clipboard-read", "clipboard-write"]);
    const page = await context.newPage();
    page.setDefaultTimeout(DEADLINE);
    await page.goto(`${editor.address}/?${openQuery(new URL(editor.address).host, folder, beside, alone)}`);
    await page.locator(".monaco-workbench").waitFor();
    const bench = new Workbench(editor, page, folder, context);
    if (beside !== undefined) {
      await bench.showsFolder(beside);
    }
    return bench;
  }

  /** VS Code now and then shows a workspace file's window without its folders, and then for good: a person would reload it. */
  private async showsFolder(name: string): Promise<void> {
    await this.until(`${name} is among the folders`, async () => {
      const row = this.page.locator(".explorer-folders-view .monaco-list-row", { hasText: name }).first();
      const shown = await row.waitFor({ timeout: DEADLINE / 6 }).then(() => true, () => false);
      if (!shown) {
        await this.page.reload();
      }
      return shown;
    });
  }

  /** Where sessions publish themselves, as `XDG_RUNTIME_DIR`. */
  public get runtimeFolder(): string {
    return this.editor.runtimeFolder;
  }

  /** Where .NET programs tell that they run. */
  public get temporaryFolder(): string {
    return this.editor.scratch;
  }

  public logs(): string {
    return this.editor.logs();
  }

  /** Does this before the window closes. */
  public atEnd(act: () => unknown): void {
    this.ending.push(act);
  }

  /** Keeps a screenshot, for people to look at. */
  public async picture(name: string): Promise<void> {
    mkdirSync(SCREENSHOTS, { recursive: true });
    await this.page.screenshot({ path: path.join(SCREENSHOTS, `${name}.png`), animations: "disabled" });
  }

  /** Keeps a screenshot in which each part is framed and described. */
  public async pictureWithCallOuts(name: string, callOuts: readonly CallOut[]): Promise<void> {
    const drawn = [];
    for (const { part, skip = 0, text, left, top } of callOuts) {
      const frame = await part.boundingBox();
      if (frame === null) {
        throw new Error(`nothing to frame for: ${text}`);
      }
      drawn.push({ frame: { ...frame, x: frame.x + skip, width: frame.width - skip }, text, left, top });
    }
    await this.page.evaluate((all) => {
      const add = (style: Readonly<Record<string, string>>, text = "") => {
        const element = document.createElement("div");
        element.className = "call-out";
        element.textContent = text;
        Object.assign(element.style, { position: "fixed", zIndex: "100000", boxSizing: "border-box", pointerEvents: "none", ...style });
        document.body.append(element);
        return element;
      };
      const pixels = (number: number) => `${number}px`;
      for (const { frame, text, left, top } of all) {
        add({
          left: pixels(frame.x - 6), top: pixels(frame.y - 3), width: pixels(frame.width + 12), height: pixels(frame.height + 6),
          border: "2px solid #ff9f1a", borderRadius: "6px",
        });
        const label = add({
          left: pixels(left), top: pixels(top), padding: "6px 10px", borderRadius: "6px", background: "#ff9f1a", color: "#1b1b1b",
          font: "600 15px sans-serif", whiteSpace: "nowrap",
        }, text).getBoundingClientRect();
        // A line from the label's middle to the nearest side of the frame.
        const middle = label.left + Math.min(label.width / 2, 60);
        const isAbove = label.bottom < frame.y;
        const [from, to] = isAbove ? [label.bottom, frame.y - 3] : [frame.y + frame.height + 3, label.top];
        add({ left: pixels(middle), top: pixels(from), width: "2px", height: pixels(to - from), background: "#ff9f1a" });
      }
    }, drawn);
    await this.picture(name);
    await this.page.evaluate(() => document.querySelectorAll(".call-out").forEach((element) => element.remove()));
  }

  /** Presses keys that open a list to type into, types, and chooses what is called so. */
  private async pick(keys: string, prefix: string, name: string): Promise<void> {
    const input = await this.ask(keys, prefix);
    await input.fill(prefix + name);
    await this.choose(name);
  }

  /** Opens VS Code's input box, which begins with the prefix. It closes again when something takes the focus, as the widget of an exception does. */
  private async ask(keys: string, prefix: string): Promise<Locator> {
    const input = this.page.locator(".quick-input-widget:visible input.input");
    for (let tries = 1; ; tries++) {
      await this.page.keyboard.press(keys);
      try {
        // The prefix comes with the focus; what is typed before is lost.
        await this.page.waitForFunction((wanted) => {
          const focused = document.activeElement;
          return focused instanceof HTMLInputElement && focused.closest(".quick-input-widget") !== null && focused.value === wanted;
        }, prefix, { timeout: DEADLINE / MAX_TRIES });
        return input;
      } catch (error) {
        if (tries === MAX_TRIES) {
          throw error;
        }
        await this.page.keyboard.press("Escape");
      }
    }
  }

  public command(name: string): Promise<void> {
    return this.pick("F1", ">", name);
  }

  /** Chooses in the list that is open. */
  public async choose(text: string): Promise<void> {
    await this.listed(text).click();
  }

  /** A row of the list that is open. */
  public listed(text: string | RegExp): Locator {
    return this.page.locator(".quick-input-list .monaco-list-row", { hasText: text }).first();
  }

  /** The debug view's rows are made lazily: what is collapsed is opened. */
  public async expand(row: Locator): Promise<void> {
    await row.first().waitFor();
    const twistie = row.first().locator(".monaco-tl-twistie.collapsed");
    if ((await twistie.count()) > 0) {
      await twistie.click();
    }
  }

  public async openFile(name: string): Promise<void> {
    const file = path.basename(name);
    const input = await this.ask("Control+P", "");
    // A window that has just opened may search only some of its folders, and does not search again by itself.
    await this.until(`${name} is found`, async () => {
      await input.fill("");
      await input.fill(name);
      return await this.listed(file).waitFor({ timeout: DEADLINE / 12 }).then(() => true, () => false);
    });
    await this.choose(file);
    await this.page.locator(".editor-group-container .tab.active", { hasText: file }).waitFor();
    await this.page.locator(".monaco-editor .view-line").first().waitFor();
  }

  /** Brings a line of the open file into sight. */
  public async goToLine(line: number): Promise<void> {
    const input = await this.ask("Control+G", ":");
    await input.fill(`:${line}`);
    await this.page.keyboard.press("Enter");
    await this.lineNumber(line).waitFor();
  }

  /** Opens the debug view, and focuses it. */
  public async debugView(): Promise<void> {
    await this.page.keyboard.press("Control+Shift+D");
    await this.page.locator(".debug-viewlet").waitFor();
  }

  /** Sets a breakpoint as a person does: points into the gutter, sees the hint, and clicks. */
  public async setBreakpoint(line: number): Promise<void> {
    const [x, y] = await this.gutter(line);
    const hint = this.page.locator(".monaco-editor .codicon-debug-hint");
    // The hint shows that the editor listens to the gutter by now.
    await this.until(`a hint in the gutter at line ${line}`, async () => {
      await this.page.mouse.move(x + 200, y);
      await this.page.mouse.move(x, y);
      return (await hint.count()) > 0;
    });
    await this.page.mouse.click(x, y);
    await this.page.locator(".monaco-editor .codicon-debug-breakpoint, .monaco-editor .codicon-debug-breakpoint-unverified").first().waitFor();
    await this.page.mouse.move(x + 400, y);
  }

  /** Takes a breakpoint away. */
  public async removeBreakpoint(line: number): Promise<void> {
    const [x, y] = await this.gutter(line);
    await this.page.mouse.click(x, y);
    await this.page.mouse.move(x + 400, y);
  }

  private async gutter(line: number): Promise<[number, number]> {
    const box = await this.lineNumber(line).boundingBox();
    const margin = await this.page.locator(".monaco-editor .margin").first().boundingBox();
    if (box === null || margin === null) {
      throw new Error(`line ${line} is not in sight`);
    }
    return [margin.x + 10, box.y + box.height / 2];
  }

  public lineNumber(line: number): Locator {
    return this.page.locator(".monaco-editor .margin .line-numbers").filter({ hasText: new RegExp(`^${line}$`) });
  }

  /** The rows of a part of the debug view: `Variables`, `Call Stack`, `Breakpoints`. */
  public debugRow(part: string, text: string | RegExp): Locator {
    return this.page.locator(".pane", { has: this.page.locator(".pane-header", { hasText: part }) }).locator(".monaco-list-row").filter({ hasText: text });
  }

  /** The client's name after the line with this text. */
  public mark(text: string): Locator {
    return this.page.locator(".monaco-editor .view-line", { hasText: text }).locator('[class*="ced-"]').first();
  }

  /** A word of a line of the program. */
  public word(line: string, word: string): Locator {
    return this.page.locator(".monaco-editor .view-line", { hasText: line }).getByText(word).first();
  }

  public status(): Locator {
    return this.page.locator('.statusbar-item[id*="tandem.session"]');
  }

  /** Waits until VS Code shows an adapter's progress: that part of it starts up to 5 s after a window, and
   * never shows progress that began before. The window does not show when it is ready. */
  public async showsProgress(): Promise<void> {
    await this.page.waitForTimeout(DEADLINE / 10);
  }

  /** A notification that is shown, or was and is in the list. */
  public async notification(text: string | RegExp): Promise<Locator> {
    const shown = this.page.locator(".notifications-toasts .notification-list-item, .notifications-center .notification-list-item", { hasText: text }).first();
    await shown.waitFor({ timeout: 4_000 }).catch(() => this.command("Notifications: Show Notifications"));
    await shown.waitFor();
    return shown;
  }

  public terminalText(): Promise<string> {
    return this.page.locator(".terminal-wrapper.active .xterm-rows").innerText();
  }

  public async terminalShows(text: string | RegExp): Promise<void> {
    await this.page.locator(".terminal-wrapper.active .xterm-rows", { hasText: text }).waitFor();
  }

  public async typeIntoTerminal(text: string): Promise<void> {
    await this.page.locator(".terminal-wrapper.active .xterm").click();
    await this.page.keyboard.type(text, { delay: 10 });
  }

  /** Waits until the yellow line of the stop is this one. */
  public async stoppedAt(line: number): Promise<void> {
    await this.page.locator(".monaco-editor .margin .line-numbers.active-line-number", { hasText: new RegExp(`^${line}$`) }).waitFor();
    await this.page.locator(".monaco-editor .debug-top-stack-frame-line").first().waitFor();
  }

  /** Waits for something no single locator shows. */
  public async until(what: string, holds: () => Promise<boolean> | boolean): Promise<void> {
    const end = Date.now() + DEADLINE;
    while (!(await holds())) {
      if (Date.now() > end) {
        throw new Error(`it did not come to ${what}`);
      }
      await new Promise((resolve) => setTimeout(resolve, 100));
    }
  }

  /** Closes the window; every session it began must end with it. The page is left first: a renderer that the browser ends on a busy
   * machine may not send VS Code's message of disconnection, and the server then keeps the extension host. */
  public async close(): Promise<void> {
    for (const act of this.ending) {
      await act();
    }
    // A page that crashed cannot be left: its error must not replace that of the scenario.
    await this.page.goto("about:blank").catch((error: unknown) => console.error(error));
    await this.context.close();
    try {
      await this.until("the end of all sessions", () => this.liveSessions().length === 0);
    } catch (error) {
      const processes = execFileSync("ps", ["-eo", "pid,ppid,etimes,stat,args"], { encoding: "utf8" });
      const relevant = processes.split("\n").filter((line) => /tandem|extensionHost/.test(line));
      console.error([...this.liveSessions(), ...relevant, this.logs()].join("\n"));
      throw error;
    }
  }

  /** The files of the sessions that are published. */
  public liveSessions(): string[] {
    try {
      return readdirSync(path.join(this.runtimeFolder, "tandem")).filter((file) => file.endsWith(".json"));
    } catch {
      return [];
    }
  }
}

/** Query of VS Code's web page that opens a folder, two folders, or a file without a folder. */
function openQuery(host: string, folder: string, beside: string | undefined, alone: string | undefined): string {
  if (alone !== undefined) {
    const file = `vscode-remote://${host}${path.join(folder, alone)}`;
    return `ew=true&payload=${encodeURIComponent(JSON.stringify([["openFile", file]]))}`;
  }
  if (beside !== undefined) {
    const other = path.join(path.dirname(folder), beside);
    cpSync(path.join(SAMPLES, beside), other, { recursive: true });
    const workspace = path.join(path.dirname(folder), "both.code-workspace");
    writeFileSync(workspace, JSON.stringify({ folders: [{ path: folder }, { path: other }] }));
    return `workspace=${encodeURIComponent(workspace)}`;
  }
  return `folder=${encodeURIComponent(folder)}`;
}
