/** A real VS Code: its server, with the packaged extension installed, and a headless Chromium to show it.
 *
  * The first test that needs it starts it, once for all; it uses one temporary folder and ends with `close`.
  * `scripts/setup --editors` installs it. workbench.ts drives it as a person does. */
import { execFileSync, spawn, type ChildProcess } from "node:child_process";
import { mkdirSync, mkdtempSync, readFileSync, readdirSync, writeFileSync } from "node:fs";
import * as net from "node:net";
import * as os from "node:os";
import * as path from "node:path";
import { chromium, type Browser } from "playwright-core";
import { DEADLINE, ROOT, dotnetVariables, editors, environment, programs } from "../environment";

let running: Promise<Editor> | undefined;
/** Where temporary files are kept outside of a run. */
const TEMPORARY = os.tmpdir();
/** The variables in which a .NET is found. */
let dotnet = dotnetVariables;

export class Editor {
  private constructor(
    public readonly browser: Browser,
    /** Where the workbench is served. */
    public readonly address: string,
    public readonly scratch: string,
    /** Where sessions publish themselves, as `XDG_RUNTIME_DIR`. */
    public readonly runtimeFolder: string,
    private readonly keeper: ChildProcess,
  ) {}

  public static get(): Promise<Editor> {
    running ??= Editor.start();
    return running;
  }

  /** Another .NET than 3.1 is found in the editor; said before the first scenario. */
  public static finds(variables: () => Record<string, string>): void {
    dotnet = variables;
  }

  /** The same later on: an editor with other variables is restarted. */
  public static async on(variables: () => Record<string, string>): Promise<void> {
    if (dotnet !== variables) {
      await Editor.close();
      Editor.finds(variables);
    }
  }

  /** Closes the editor, if a test started it. */
  public static async close(): Promise<void> {
    const editor = await running?.catch(() => undefined);
    running = undefined;
    await editor?.end();
  }

  /** Logs of the extension and the server, for a test that failed. */
  public logs(): string {
    const folder = path.join(this.scratch, "data/logs");
    const files = readdirSync(folder, { recursive: true, encoding: "utf8" }).filter((file) => /tandem|remoteexthost/i.test(path.basename(file)) && file.endsWith(".log"));
    return files.map((file) => `== ${file}\n${readFileSync(path.join(folder, file), "utf8").slice(-4000)}`).join("\n");
  }

  private static async start(): Promise<Editor> {
    const scratch = mkdtempSync(path.join(os.tmpdir(), "tandem-workbench-"));
    const keeper = keep(scratch);
    try {
      return await Editor.startIn(scratch, keeper);
    } catch (error) {
      await ended(keeper);
      throw error;
    }
  }

  private static async startIn(scratch: string, keeper: ChildProcess): Promise<Editor> {
    const found = editors();
    // Child processes, such as the browser and agents, are recognized by this variable, and put their
    // temporary files there.
    process.env["TMPDIR"] = scratch;
    const runtimeFolder = path.join(scratch, "run");
    mkdirSync(runtimeFolder, { mode: 0o700 });
    const data = path.join(scratch, "data");
    mkdirSync(path.join(data, "User"), { recursive: true });
    writeFileSync(path.join(data, "User/settings.json"), JSON.stringify(QUIET));
    const common = ["--user-data-dir", data, "--extensions-dir", path.join(scratch, "extensions")];
    // The virtual environment that has debugpy.
    const VIRTUAL_ENV = path.dirname(path.dirname(environment().python));
    const env = { ...process.env, ...dotnet(), ...goVariables(scratch), VIRTUAL_ENV, XDG_RUNTIME_DIR: runtimeFolder, TMPDIR: scratch };
    execFileSync(found.node, [found.codeServer, ...common, "--install-extension", packaged(scratch)], { env, stdio: "pipe" });
    const port = await freePort();
    const flags = ["--auth", "none", "--bind-addr", `127.0.0.1:${port}`, "--disable-telemetry", "--disable-update-check",
      "--disable-workspace-trust", "--disable-getting-started-override", "--reconnection-grace-time", "30"];
    const log = path.join(scratch, "server.log");
    const server = spawn("/bin/sh", ["-c", `exec "$@" > ${log} 2>&1`, "sh", found.node, found.codeServer, ...common, ...flags],
      { env, stdio: "ignore", detached: true });
    await answers(port, server, log);
    const browser = await chromium.launch({
      executablePath: found.chromium,
      args: ["--no-sandbox", "--disable-gpu", "--disable-quic", "--no-first-run", "--disable-background-networking",
        "--disable-component-update", "--disable-sync"],
    });
    return new Editor(browser, `http://127.0.0.1:${port}`, scratch, runtimeFolder, keeper);
  }

  private async end(): Promise<void> {
    await this.browser.close();
    await ended(this.keeper);
    process.env["TMPDIR"] = TEMPORARY;
  }
}

/** Starts what ends the run's processes and removes its folder when this process is gone, also when it is killed. */
function keep(scratch: string): ChildProcess {
  const script = path.join(ROOT, "vscode-extension/test/workbench/keeper.mjs");
  return spawn(process.execPath, [script, scratch], { stdio: ["pipe", "ignore", "inherit"], detached: true });
}

async function ended(keeper: ChildProcess): Promise<void> {
  const gone = new Promise((resolve) => keeper.once("exit", resolve));
  keeper.stdin?.end();
  await gone;
}

/** No tips, no news, no animations, nothing that asks the network. */
const QUIET = {
  "workbench.startupEditor": "none", "chat.disableAIFeatures": true, "extensions.autoUpdate": false, "git.enabled": false,
  "extensions.ignoreRecommendations": true, "telemetry.telemetryLevel": "off", "terminal.integrated.gpuAcceleration": "off",
  "workbench.colorTheme": "Default Dark Modern", "editor.minimap.enabled": false, "window.commandCenter": false,
  "workbench.secondarySideBar.defaultVisibility": "hidden", "workbench.tips.enabled": false, "workbench.reduceMotion": "on",
  "remote.autoForwardPorts": false,
};

/** The variables in which `go` and a Delve that fits it are found: Debian's is older than the Go here, which it refuses unless it
 * is configured not to look, and which must write what it can read. */
function goVariables(scratch: string): Record<string, string> {
  const { dlv, tools } = environment();
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
