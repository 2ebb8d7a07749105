/** A window of a real VS Code with an open folder: performs a user's actions and finds what the window shows. */
import { execFileSync } from "node:child_process";
import { cpSync, mkdirSync, readdirSync, writeFileSync } from "node:fs";
import * as path from "node:path";
import { test } from "node:test";
import type { BrowserContext, Locator, Page } from "playwright-core";
import { STEP_TIMEOUT_MS, ROOT } from "../environment";
import { Editor } from "./editor";

const SAMPLES_FOLDER = path.join(ROOT, "vscode-extension/test/workbench/samples");
/** Folder of the screenshots. */
const SCREENSHOTS_FOLDER = process.env["TANDEM_PICTURES"] ?? path.join(ROOT, "vscode-extension/dist/screenshots");
/** Maximum number of attempts to open an input box. */
const MAX_ATTEMPTS = 4;
let windowCount = 0;

export interface ScenarioOptions {
  /** Settings of the workspace. */
  readonly settings?: Readonly<Record<string, unknown>>;
  /** Configuration in its launch.json. */
  readonly launch?: unknown;
  /** Content of launch.json, instead of `launch`. */
  readonly launchFile?: unknown;
  /** Sample that is the second folder of the workspace. */
  readonly secondFolder?: string;
  /** File of the sample that is open without a folder. */
  readonly singleFile?: string;
}

/** A part of the window that a screenshot annotates. */
export interface CallOut {
  readonly part: Locator;
  /** Width at the left of the part that the frame excludes, pixels. */
  readonly leftInset?: number;
  readonly text: string;
  /** Top left corner of the text, pixels. */
  readonly left: number;
  readonly top: number;
}

/** Defines a test in a window on a copy of a sample or another folder. A failure takes a screenshot and prints the logs. */
export function scenario(name: string, sample: string, run: (bench: Workbench) => Promise<void>, options: ScenarioOptions = {}): void {
  test(name, { timeout: 5 * STEP_TIMEOUT_MS }, () => runScenario(name, sample, run, options));
}

/** Runs a scenario within a test. */
export async function runScenario(name: string, sample: string, run: (bench: Workbench) => Promise<void>, options: ScenarioOptions): Promise<void> {
  const bench = await Workbench.open(sample, options);
  try {
    await run(bench);
  } catch (error) {
    await bench.takeScreenshot(`failed-${name.replace(/\W+/g, "-").slice(0, 40)}`);
    console.error(bench.readLogs());
    throw error;
  } finally {
    await bench.close();
  }
}

export class Workbench {
  private readonly cleanups: (() => unknown)[] = [];

  private constructor(
    private readonly editor: Editor,
    public readonly page: Page,
    /** The open folder. */
    public readonly folder: string,
    private readonly context: BrowserContext,
  ) {}

  public static async open(sample: string, { settings, launch, launchFile, secondFolder, singleFile }: ScenarioOptions): Promise<Workbench> {
    const editor = await Editor.get();
    windowCount += 1;
    const folder = path.join(editor.scratch, `window${windowCount}`, path.basename(sample));
    cpSync(path.resolve(SAMPLES_FOLDER, sample), folder, { recursive: true, verbatimSymlinks: true });
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
    page.setDefaultTimeout(STEP_TIMEOUT_MS);
    await page.goto(`${editor.address}/?${createOpenQuery(new URL(editor.address).host, folder, secondFolder, singleFile)}`);
    await page.locator(".monaco-workbench").waitFor();
    const bench = new Workbench(editor, page, folder, context);
    if (secondFolder !== undefined) {
      await bench.waitForFolder(secondFolder);
    }
    return bench;
  }

  /** Waits for a folder in the Explorer. VS Code sometimes opens a workspace file without its folders: reload the window then. */
  private async waitForFolder(name: string): Promise<void> {
    await this.waitUntil(`${name} is among the folders`, async () => {
      const row = this.page.locator(".explorer-folders-view .monaco-list-row", { hasText: name }).first();
      const shown = await row.waitFor({ timeout: STEP_TIMEOUT_MS / 6 }).then(() => true, () => false);
      if (!shown) {
        await this.page.reload();
      }
      return shown;
    });
  }

  /** The folder of published sessions: `XDG_RUNTIME_DIR`. */
  public get runtimeFolder(): string {
    return this.editor.runtimeFolder;
  }

  /** The folder of the diagnostics sockets of .NET programs: `TMPDIR`. */
  public get temporaryFolder(): string {
    return this.editor.scratch;
  }

  public readLogs(): string {
    return this.editor.readLogs();
  }

  /** Adds a function to call before the window closes. */
  public addCleanup(cleanup: () => unknown): void {
    this.cleanups.push(cleanup);
  }

  /** Takes a screenshot. */
  public async takeScreenshot(name: string): Promise<void> {
    mkdirSync(SCREENSHOTS_FOLDER, { recursive: true });
    await this.page.screenshot({ path: path.join(SCREENSHOTS_FOLDER, `${name}.png`), animations: "disabled" });
  }

  /** Takes a screenshot in which each part has a frame and a text. */
  public async takeAnnotatedScreenshot(name: string, callOuts: readonly CallOut[]): Promise<void> {
    const frames = [];
    for (const { part, leftInset: leftInset = 0, text, left, top } of callOuts) {
      const frame = await part.boundingBox();
      if (frame === null) {
        throw new Error(`the part is not visible: ${text}`);
      }
      frames.push({ frame: { ...frame, x: frame.x + leftInset, width: frame.width - leftInset }, text, left, top });
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
        // Draw a line from the label's middle to the nearest side of the frame.
        const middle = label.left + Math.min(label.width / 2, 60);
        const isAbove = label.bottom < frame.y;
        const [from, to] = isAbove ? [label.bottom, frame.y - 3] : [frame.y + frame.height + 3, label.top];
        add({ left: pixels(middle), top: pixels(from), width: "2px", height: pixels(to - from), background: "#ff9f1a" });
      }
    }, frames);
    await this.takeScreenshot(name);
    await this.page.evaluate(() => document.querySelectorAll(".call-out").forEach((element) => element.remove()));
  }

  /** Opens an input box by its keys and chooses an item by its name. */
  private pickFromInput(keys: string, prefix: string, name: string): Promise<void> {
    return this.useInput(keys, prefix, async (input, timeout) => {
      await input.fill(prefix + name, { timeout });
      await this.listItem(name).click({ timeout });
    });
  }

  /** Opens VS Code's input box, whose text begins with the prefix, and uses it. It closes if another widget takes the focus: try again then. */
  private async useInput(keys: string, prefix: string, use: (input: Locator, timeout: number) => Promise<void>): Promise<void> {
    const input = this.page.locator(".quick-input-widget:visible input.input");
    const timeout = STEP_TIMEOUT_MS / MAX_ATTEMPTS;
    for (let attempt = 1; ; attempt++) {
      await this.page.keyboard.press(keys);
      try {
        // VS Code inserts the prefix when the box gets the focus, and drops earlier input.
        await this.page.waitForFunction((expected) => {
          const focused = document.activeElement;
          return focused instanceof HTMLInputElement && focused.closest(".quick-input-widget") !== null && focused.value === expected;
        }, prefix, { timeout });
        return await use(input, timeout);
      } catch (error) {
        if (attempt === MAX_ATTEMPTS) {
          throw error;
        }
        await this.page.keyboard.press("Escape");
      }
    }
  }

  public runCommand(name: string): Promise<void> {
    return this.pickFromInput("F1", ">", name);
  }

  /** Chooses an item of the open list. */
  public async chooseItem(text: string): Promise<void> {
    await this.listItem(text).click();
  }

  /** An item of the open list. */
  public listItem(text: string | RegExp): Locator {
    return this.page.locator(".quick-input-list .monaco-list-row", { hasText: text }).first();
  }

  /** Expands a row of a tree: VS Code creates the child rows lazily. */
  public async expand(row: Locator): Promise<void> {
    await row.first().waitFor();
    const twistie = row.first().locator(".monaco-tl-twistie.collapsed");
    if ((await twistie.count()) > 0) {
      await twistie.click();
    }
  }

  public async openFile(name: string): Promise<void> {
    const file = path.basename(name);
    await this.useInput("Control+P", "", async (input, timeout) => {
      // A new window may search only some of its folders, and does not repeat the search.
      await this.waitUntil(`${name} is found`, async () => {
        await input.fill("", { timeout });
        await input.fill(name, { timeout });
        return await this.listItem(file).waitFor({ timeout: STEP_TIMEOUT_MS / 12 }).then(() => true, () => false);
      });
      await this.listItem(file).click({ timeout });
    });
    await this.page.locator(".editor-group-container .tab.active", { hasText: file }).waitFor();
    await this.page.locator(".monaco-editor .view-line").first().waitFor();
  }

  /** Scrolls to a line of the open file. */
  public async goToLine(line: number): Promise<void> {
    await this.useInput("Control+G", ":", async (input, timeout) => {
      await input.fill(`:${line}`, { timeout });
      await this.page.keyboard.press("Enter");
    });
    await this.lineNumber(line).waitFor();
  }

  /** Opens and focuses the debug view. */
  public async openDebugView(): Promise<void> {
    await this.page.keyboard.press("Control+Shift+D");
    await this.page.locator(".debug-viewlet").waitFor();
  }

  /** Sets a breakpoint by a click into the gutter. */
  public async setBreakpoint(line: number): Promise<void> {
    const [x, y] = await this.locateGutter(line);
    const hint = this.page.locator(".monaco-editor .codicon-debug-hint");
    // The hint shows that the editor handles clicks into the gutter.
    await this.waitUntil(`a hint in the gutter at line ${line}`, async () => {
      await this.page.mouse.move(x + 200, y);
      await this.page.mouse.move(x, y);
      return (await hint.count()) > 0;
    });
    await this.page.mouse.click(x, y);
    await this.page.locator(".monaco-editor .codicon-debug-breakpoint, .monaco-editor .codicon-debug-breakpoint-unverified").first().waitFor();
    await this.page.mouse.move(x + 400, y);
  }

  /** Removes a breakpoint by a click into the gutter. */
  public async removeBreakpoint(line: number): Promise<void> {
    const [x, y] = await this.locateGutter(line);
    await this.page.mouse.click(x, y);
    await this.page.mouse.move(x + 400, y);
  }

  private async locateGutter(line: number): Promise<[number, number]> {
    const box = await this.lineNumber(line).boundingBox();
    const margin = await this.page.locator(".monaco-editor .margin").first().boundingBox();
    if (box === null || margin === null) {
      throw new Error(`line ${line} is not visible`);
    }
    return [margin.x + 10, box.y + box.height / 2];
  }

  public lineNumber(line: number): Locator {
    return this.page.locator(".monaco-editor .margin .line-numbers").filter({ hasText: new RegExp(`^${line}$`) });
  }

  /** Rows of a pane of the debug view: `Variables`, `Call Stack`, `Breakpoints`. */
  public debugRow(pane: string, text: string | RegExp): Locator {
    return this.page.locator(".pane", { has: this.page.locator(".pane-header", { hasText: pane }) }).locator(".monaco-list-row").filter({ hasText: text });
  }

  /** The owner's name after the line with this text. */
  public breakpointOwner(text: string): Locator {
    return this.page.locator(".monaco-editor .view-line", { hasText: text }).locator('[class*="ced-"]').first();
  }

  /** A word in a line of the editor. */
  public wordInLine(line: string, word: string): Locator {
    return this.page.locator(".monaco-editor .view-line", { hasText: line }).getByText(word).first();
  }

  public statusItem(): Locator {
    return this.page.locator('.statusbar-item[id*="tandem.session"]');
  }

  /** Waits until VS Code can show the progress of an adapter. This part of VS Code starts up to 5 s after the window, and
   * ignores progress that began before. The window does not show when it is ready. */
  public async waitForProgressSupport(): Promise<void> {
    await this.page.waitForTimeout(STEP_TIMEOUT_MS / 10);
  }

  /** Waits for a notification, also in the list of hidden ones. */
  public async waitForNotification(text: string | RegExp): Promise<Locator> {
    const shown = this.page.locator(".notifications-toasts .notification-list-item, .notifications-center .notification-list-item", { hasText: text }).first();
    await shown.waitFor({ timeout: 4_000 }).catch(() => this.runCommand("Notifications: Show Notifications"));
    await shown.waitFor();
    return shown;
  }

  public readTerminal(): Promise<string> {
    return this.page.locator(".terminal-wrapper.active .xterm-rows").innerText();
  }

  public async waitForTerminalText(text: string | RegExp): Promise<void> {
    await this.page.locator(".terminal-wrapper.active .xterm-rows", { hasText: text }).waitFor();
  }

  /** Types into the terminal. Focuses it before each key: on a busy machine, the debug view may take the focus after the click, and the
   * Enter key would start the program again. */
  public async typeIntoTerminal(text: string): Promise<void> {
    await this.page.locator(".terminal-wrapper.active .xterm").click();
    const input = this.page.locator(".terminal-wrapper.active .xterm-helper-textarea");
    for (const key of text) {
      await input.pressSequentially(key, { delay: 10 });
    }
  }

  /** Waits until the editor highlights this line as the top frame. */
  public async waitForStopAt(line: number): Promise<void> {
    await this.page.locator(".monaco-editor .margin .line-numbers.active-line-number", { hasText: new RegExp(`^${line}$`) }).waitFor();
    await this.page.locator(".monaco-editor .debug-top-stack-frame-line").first().waitFor();
  }

  /** Waits for a condition that no locator expresses. */
  public async waitUntil(goal: string, condition: () => Promise<boolean> | boolean): Promise<void> {
    const end = Date.now() + STEP_TIMEOUT_MS;
    while (!(await condition())) {
      if (Date.now() > end) {
        throw new Error(`timeout waiting for ${goal}`);
      }
      await new Promise((resolve) => setTimeout(resolve, 100));
    }
  }

  /** Closes the window and checks that its sessions end. Leaves the page first: on a busy machine, a page that the browser closes may not
   * disconnect from VS Code's server, which then keeps the extension host. */
  public async close(): Promise<void> {
    for (const cleanup of this.cleanups) {
      await cleanup();
    }
    // Leaving a crashed page fails: this error must not replace that of the scenario.
    await this.page.goto("about:blank").catch((error: unknown) => console.error(error));
    await this.context.close();
    try {
      await this.waitUntil("the end of all sessions", () => this.listLiveSessions().length === 0);
    } catch (error) {
      const processes = execFileSync("ps", ["-eo", "pid,ppid,etimes,stat,args"], { encoding: "utf8" });
      const relevant = processes.split("\n").filter((line) => /tandem|extensionHost/.test(line));
      console.error([...this.listLiveSessions(), ...relevant, this.readLogs()].join("\n"));
      throw error;
    }
  }

  /** Lists the files of published sessions. */
  public listLiveSessions(): string[] {
    try {
      return readdirSync(path.join(this.runtimeFolder, "tandem")).filter((file) => file.endsWith(".json"));
    } catch {
      return [];
    }
  }
}

/** Creates the query of VS Code's web page that opens a folder, two folders, or a file without a folder. */
function createOpenQuery(host: string, folder: string, secondFolder: string | undefined, singleFile: string | undefined): string {
  if (singleFile !== undefined) {
    const file = `vscode-remote://${host}${path.join(folder, singleFile)}`;
    return `ew=true&payload=${encodeURIComponent(JSON.stringify([["openFile", file]]))}`;
  }
  if (secondFolder !== undefined) {
    const other = path.join(path.dirname(folder), secondFolder);
    cpSync(path.join(SAMPLES_FOLDER, secondFolder), other, { recursive: true });
    const workspace = path.join(path.dirname(folder), "both.code-workspace");
    writeFileSync(workspace, JSON.stringify({ folders: [{ path: folder }, { path: other }] }));
    return `workspace=${encodeURIComponent(workspace)}`;
  }
  return `folder=${encodeURIComponent(folder)}`;
}
