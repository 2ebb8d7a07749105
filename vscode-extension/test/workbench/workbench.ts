/** A real VS Code: its server and web workbench, in a headless Chromium, with the packaged extension in it.
 *
 * Everything lives in one temporary folder and ends with `close`. `scripts/setup --editors` brings what it needs. */
import { execFileSync, spawn, type ChildProcess } from "node:child_process";
import { mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import * as net from "node:net";
import * as os from "node:os";
import * as path from "node:path";
import { DEADLINE, ROOT, dotnetVariables, editors, environment, programs } from "../environment";
import { chromium, type Browser, type Locator, type Page } from "playwright-core";

export class Workbench {
  private readonly ending: (() => unknown)[] = [];

  private constructor(
    public readonly page: Page,
    /** The folder that is open. */
    public readonly folder: string,
    /** Where sessions publish themselves, as `XDG_RUNTIME_DIR`. */
    public readonly runtimeFolder: string,
    private readonly scratch: string,
    private readonly browser: Browser,
    private readonly server: ChildProcess,
    private readonly pictures: string | undefined,
  ) {}

  /** Opens a copy of a folder. `settings` come on top of the quiet ones. */
  public static async open(source: string, settings: Record<string, unknown> = {}): Promise<Workbench> {
    const found = editors();
    const scratch = mkdtempSync(path.join(os.tmpdir(), "tandem-workbench-"));
    const folder = path.join(scratch, path.basename(source));
    execFileSync("cp", ["-r", source, folder]);
    const runtimeFolder = path.join(scratch, "run");
    mkdirSync(runtimeFolder, { mode: 0o700 });
    const data = path.join(scratch, "data");
    const extensions = path.join(scratch, "extensions");
    mkdirSync(path.join(data, "User"), { recursive: true });
    writeFileSync(path.join(data, "User/settings.json"), JSON.stringify({ ...QUIET, ...settings }));
    const port = await freePort();
    const common = ["--user-data-dir", data, "--extensions-dir", extensions];
    // The virtual environment that has debugpy.
    const VIRTUAL_ENV = path.dirname(path.dirname(environment().python));
    const env = { ...process.env, ...dotnetVariables(), VIRTUAL_ENV, XDG_RUNTIME_DIR: runtimeFolder, TMPDIR: scratch };
    execFileSync(found.node, [found.codeServer, ...common, "--install-extension", packaged(scratch)], { env, stdio: "pipe" });
    const flags = ["--auth", "none", "--bind-addr", `127.0.0.1:${port}`, "--disable-telemetry", "--disable-update-check",
      "--disable-workspace-trust", "--disable-getting-started-override"];
    const log = path.join(scratch, "server.log");
    const server = spawn("/bin/sh", ["-c", `exec "$@" > ${log} 2>&1`, "sh", found.node, found.codeServer, ...common, ...flags, folder],
      { env, stdio: "ignore", detached: true });
    const browser = await answers(port, server, log).then(() => chromium.launch({
      executablePath: found.chromium,
      args: ["--no-sandbox", "--disable-gpu", "--disable-quic", "--no-first-run", "--disable-background-networking",
        "--disable-component-update", "--disable-sync"],
    })).catch((error: unknown) => {
      process.kill(-(server.pid ?? 0), "SIGTERM");
      throw error;
    });
    const context = await browser.newContext({ viewport: { width: 1280, height: 800 } });
    await context.grantPermissions(["clipboard-read", "clipboard-write"]);
    const page = await context.newPage();
    page.setDefaultTimeout(DEADLINE);
    await page.goto(`http://127.0.0.1:${port}/?folder=${encodeURIComponent(folder)}`);
    await page.locator(".monaco-workbench").waitFor();
    const pictures = process.env["TANDEM_PICTURES"];
    return new Workbench(page, folder, runtimeFolder, scratch, browser, server, pictures);
  }

  /** Opens a sample in a workbench, and closes it whatever happens. A failure keeps a picture. */
  public static async with(sample: string, story: (bench: Workbench) => Promise<void>, settings: Record<string, unknown> = {}): Promise<void> {
    const bench = await Workbench.open(path.join(ROOT, "vscode-extension/test/workbench/samples", sample), settings);
    try {
      await story(bench);
    } catch (error) {
      await bench.picture(`failed-${sample}`);
      throw error;
    } finally {
      await bench.close();
    }
  }

  /** Does this before the workbench closes. */
  public atEnd(act: () => unknown): void {
    this.ending.push(act);
  }

  /** Keeps a screenshot, for people to look at. */
  public async picture(name: string): Promise<void> {
    if (this.pictures !== undefined) {
      mkdirSync(this.pictures, { recursive: true });
      await this.page.screenshot({ path: path.join(this.pictures, `${name}.png`) });
    }
  }

  public async command(name: string): Promise<void> {
    await this.page.keyboard.press("F1");
    const input = this.page.locator(".quick-input-widget input").first();
    await input.fill(`>${name}`);
    await this.page.locator(".quick-input-list .monaco-list-row", { hasText: name }).first().waitFor();
    await this.page.keyboard.press("Enter");
  }

  /** Chooses in the list that is open. */
  public async choose(text: string): Promise<void> {
    await this.page.locator(".quick-input-list .monaco-list-row", { hasText: text }).first().click();
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
    await this.page.keyboard.press("Control+P");
    await this.page.locator(".quick-input-widget input").first().fill(name);
    await this.page.locator(".quick-input-list .monaco-list-row", { hasText: name }).first().waitFor();
    await this.page.keyboard.press("Enter");
    await this.page.locator(".editor-group-container .tab.active", { hasText: path.basename(name) }).waitFor();
    await this.page.locator(".monaco-editor .view-line").first().waitFor();
  }

  /** Clicks in the gutter, as a person sets a breakpoint. The line must be in sight. */
  public async clickGutter(line: number): Promise<void> {
    const box = await this.lineNumber(line).boundingBox();
    if (box === null) {
      throw new Error(`line ${line} is not in sight`);
    }
    const margin = await this.page.locator(".monaco-editor .margin").first().boundingBox();
    await this.page.mouse.click((margin?.x ?? 0) + 10, box.y + box.height / 2);
  }

  public lineNumber(line: number): Locator {
    return this.page.locator(".monaco-editor .margin .line-numbers").filter({ hasText: new RegExp(`^${line}$`) });
  }

  /** The rows of a part of the debug view: `Variables`, `Call Stack`, `Breakpoints`. */
  public debugRow(part: string, text: string | RegExp): Locator {
    return this.page.locator(".pane", { has: this.page.locator(".pane-header", { hasText: part }) }).locator(".monaco-list-row").filter({ hasText: text });
  }

  /** Somebody's name behind the line with this text. */
  public mark(text: string): Locator {
    return this.page.locator(".monaco-editor .view-line", { hasText: text }).locator('[class*="ced-"]').first();
  }

  public status(): Locator {
    return this.page.locator('.statusbar-item[id*="tandem.session"]');
  }

  public terminalText(): Promise<string> {
    return this.page.locator(".terminal-wrapper.active .xterm-rows").innerText();
  }

  public async terminalShows(text: string): Promise<void> {
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

  public async close(): Promise<void> {
    for (const act of this.ending) {
      await act();
    }
    await this.browser.close();
    const gone = new Promise((resolve) => this.server.once("exit", resolve));
    process.kill(-(this.server.pid ?? 0), "SIGTERM");
    await gone;
    rmSync(this.scratch, { recursive: true, force: true, maxRetries: 5, retryDelay: 200 });
  }
}

const QUIET = {
  "workbench.startupEditor": "none", "chat.disableAIFeatures": true, "extensions.autoUpdate": false, "git.enabled": false,
  "extensions.ignoreRecommendations": true, "telemetry.telemetryLevel": "off", "terminal.integrated.gpuAcceleration": "off",
  "workbench.colorTheme": "Default Dark Modern", "editor.minimap.enabled": false, "window.commandCenter": false,
  "workbench.secondarySideBar.defaultVisibility": "hidden", "workbench.tips.enabled": false,
};

/** The `.vsix` a person would install. */
function packaged(folder: string): string {
  const out = path.join(folder, "tandem.vsix");
  const flags = ["--target", "linux-x64", "--programs", programs(), "--out", out];
  execFileSync(process.execPath, ["scripts/package.mjs", ...flags], { cwd: path.join(ROOT, "vscode-extension"), stdio: "pipe" });
  return out;
}

async function freePort(): Promise<number> {
  const server = net.createServer();
  await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
  const address = server.address();
  await new Promise((resolve) => server.close(resolve));
  return typeof address === "object" && address !== null ? address.port : 0;
}

async function answers(port: number, server: ChildProcess, log: string): Promise<void> {
  const until = Date.now() + DEADLINE;
  while (Date.now() < until && server.exitCode === null) {
    try {
      if ((await fetch(`http://127.0.0.1:${port}/healthz`)).ok) {
        return;
      }
    } catch {
      await new Promise((resolve) => setTimeout(resolve, 100));
    }
  }
  throw new Error(`code-server does not answer:\n${readFileSync(log, "utf8")}`);
}
