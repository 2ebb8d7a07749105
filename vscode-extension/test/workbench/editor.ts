/** A real VS Code: its server with the packaged extension, and a headless Chromium.
 *
 * The first test starts the editor, and all tests share it. It uses one temporary folder and ends with `close`. `scripts/setup --editors`
 * installs it. workbench.ts performs a user's actions in it. */
import { execFileSync, spawn, type ChildProcess } from "node:child_process";
import { mkdirSync, mkdtempSync, readFileSync, readdirSync, writeFileSync } from "node:fs";
import * as net from "node:net";
import * as os from "node:os";
import * as path from "node:path";
import { chromium, type Browser } from "playwright-core";
import { STEP_TIMEOUT_MS, ROOT, getDotnetVariables, getEditors, readEnvironment, findProgramFolder } from "../environment";

let running: Promise<Editor> | undefined;
/** Folder for temporary files outside of a run. */
const TEMPORARY_FOLDER = os.tmpdir();
/** Returns environment variables that select a .NET. */
let getVariables = getDotnetVariables;

export class Editor {
  private constructor(
    public readonly browser: Browser,
    /** Address of the workbench. */
    public readonly address: string,
    public readonly scratch: string,
    /** Folder of published sessions: `XDG_RUNTIME_DIR`. */
    public readonly runtimeFolder: string,
    private readonly cleanup: ChildProcess,
  ) {}

  public static get(): Promise<Editor> {
    running ??= Editor.start();
    return running;
  }

  /** Selects the .NET of the editor, 3.1 by default. Call this before the first scenario. */
  public static useDotnet(variables: () => Record<string, string>): void {
    getVariables = variables;
  }

  /** Selects the .NET of the editor, and restarts an editor with another one. */
  public static async restartWithDotnet(variables: () => Record<string, string>): Promise<void> {
    if (getVariables !== variables) {
      await Editor.close();
      Editor.useDotnet(variables);
    }
  }

  /** Closes the editor, if a test started it. */
  public static async close(): Promise<void> {
    const editor = await running?.catch(() => undefined);
    running = undefined;
    await editor?.stop();
  }

  /** Reads the logs of the extension and the server. */
  public readLogs(): string {
    const folder = path.join(this.scratch, "data/logs");
    const files = readdirSync(folder, { recursive: true, encoding: "utf8" }).filter((file) => /tandem|remoteexthost/i.test(path.basename(file)) && file.endsWith(".log"));
    return files.map((file) => `== ${file}\n${readFileSync(path.join(folder, file), "utf8").slice(-4000)}`).join("\n");
  }

  private static async start(): Promise<Editor> {
    const scratch = mkdtempSync(path.join(os.tmpdir(), "tandem-workbench-"));
    const cleanup = startCleanup(scratch);
    try {
      return await Editor.startIn(scratch, cleanup);
    } catch (error) {
      await finishCleanup(cleanup);
      throw error;
    }
  }

  private static async startIn(scratch: string, cleanup: ChildProcess): Promise<Editor> {
    const found = getEditors();
    // cleanup.mjs finds child processes, such as the browser and agents, by this variable. They also create temporary files there.
    process.env["TMPDIR"] = scratch;
    const runtimeFolder = path.join(scratch, "run");
    mkdirSync(runtimeFolder, { mode: 0o700 });
    const data = path.join(scratch, "data");
    mkdirSync(path.join(data, "User"), { recursive: true });
    writeFileSync(path.join(data, "User/settings.json"), JSON.stringify(SETTINGS));
    const common = ["--user-data-dir", data, "--extensions-dir", path.join(scratch, "extensions")];
    // The virtual environment that has debugpy.
    const VIRTUAL_ENV = path.dirname(path.dirname(readEnvironment().python));
    const env = { ...process.env, ...getVariables(), ...createGoVariables(scratch), VIRTUAL_ENV, XDG_RUNTIME_DIR: runtimeFolder, TMPDIR: scratch };
    execFileSync(found.node, [found.codeServer, ...common, "--install-extension", packExtension(scratch)], { env, stdio: "pipe" });
    const port = await findFreePort();
    const flags = ["--auth", "none", "--bind-addr", `127.0.0.1:${port}`, "--disable-telemetry", "--disable-update-check",
      "--disable-workspace-trust", "--disable-getting-started-override", "--reconnection-grace-time", "30"];
    const log = path.join(scratch, "server.log");
    const server = spawn("/bin/sh", ["-c", `exec "$@" > ${log} 2>&1`, "sh", found.node, found.codeServer, ...common, ...flags],
      { env, stdio: "ignore", detached: true });
    await waitForServer(port, server, log);
    const browser = await chromium.launch({
      executablePath: found.chromium,
      args: ["--no-sandbox", "--disable-gpu", "--disable-quic", "--no-first-run", "--disable-background-networking",
        "--disable-component-update", "--disable-sync"],
    });
    return new Editor(browser, `http://127.0.0.1:${port}`, scratch, runtimeFolder, cleanup);
  }

  private async stop(): Promise<void> {
    await this.browser.close();
    await finishCleanup(this.cleanup);
    process.env["TMPDIR"] = TEMPORARY_FOLDER;
  }
}

/** Starts the process that ends the run's processes and removes its folder when this process ends, also when it is killed. */
function startCleanup(scratch: string): ChildProcess {
  const script = path.join(ROOT, "vscode-extension/test/workbench/cleanup.mjs");
  return spawn(process.execPath, [script, scratch], { stdio: ["pipe", "ignore", "inherit"], detached: true });
}

async function finishCleanup(cleanup: ChildProcess): Promise<void> {
  const exit = new Promise((resolve) => cleanup.once("exit", resolve));
  cleanup.stdin?.end();
  await exit;
}

/** Settings without tips, news, animations and network requests. */
const SETTINGS = {
  "workbench.startupEditor": "none", "chat.disableAIFeatures": true, "extensions.autoUpdate": false, "git.enabled": false,
  "extensions.ignoreRecommendations": true, "telemetry.telemetryLevel": "off", "terminal.integrated.gpuAcceleration": "off",
  "workbench.colorTheme": "Default Dark Modern", "editor.minimap.enabled": false, "window.commandCenter": false,
  "workbench.secondarySideBar.defaultVisibility": "hidden", "workbench.tips.enabled": false, "workbench.reduceMotion": "on",
  "remote.autoForwardPorts": false,
};

/** Creates environment variables that select `go` and Delve. Debian's Delve is older than this Go: it must not check the version, and Go must
 * write the debug information that it can read. */
function createGoVariables(scratch: string): Record<string, string> {
  const { dlv, tools } = readEnvironment();
  const folder = path.join(scratch, "go-tools");
  mkdirSync(folder);
  writeFileSync(path.join(folder, "dlv"), `#!/bin/sh\nexec '${dlv}' "$@" --check-go-version=false\n`, { mode: 0o755 });
  return {
    PATH: [folder, path.dirname(tools.go), process.env["PATH"] ?? ""].join(":"),
    // Otherwise VS Code reads the variables of a login shell, which may replace PATH.
    VSCODE_CLI: "1",
    GOEXPERIMENT: "nodwarf5", GOTOOLCHAIN: "local", GOFLAGS: "-buildvcs=false",
  };
}

/** Creates the `.vsix` to install. */
function packExtension(folder: string): string {
  const out = path.join(folder, "tandem.vsix");
  const flags = ["--target", "linux-x64", "--programs", findProgramFolder(), "--out", out];
  execFileSync(process.execPath, ["scripts/package.mjs", ...flags], { cwd: path.join(ROOT, "vscode-extension"), stdio: "pipe" });
  return out;
}

async function findFreePort(): Promise<number> {
  const server = net.createServer();
  await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
  const address = server.address();
  await new Promise((resolve) => server.close(resolve));
  return typeof address === "object" && address !== null ? address.port : 0;
}

async function waitForServer(port: number, server: ChildProcess, log: string): Promise<void> {
  const until = Date.now() + STEP_TIMEOUT_MS;
  while (Date.now() < until && server.exitCode === null) {
    try {
      if ((await fetch(`http://127.0.0.1:${port}/healthz`)).ok) {
        return;
      }
    } catch {
      await new Promise((resolve) => setTimeout(resolve, 100));
    }
  }
  throw new Error(`code-server does not respond:\n${readFileSync(log, "utf8")}`);
}
