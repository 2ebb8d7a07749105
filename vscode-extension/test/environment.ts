/** Environment of the tests, from `scripts/setup` and cargo: runtimes, editors and Tandem's programs. */
import { existsSync, readFileSync } from "node:fs";
import * as path from "node:path";
import { checkFreshness } from "./freshness";

/** Root of the repository; tests run in the extension's folder. */
export const ROOT = path.resolve(process.cwd(), "..");
export const CACHE = process.env["TANDEM_CACHE"] ?? path.join(ROOT, ".cache");
/** Time limit of a step on a busy machine. `TANDEM_TEST_SLOWNESS` multiplies it, like the time limits of the Rust tests. */
export const STEP_TIMEOUT_MS = 60_000 * parseSlowness(process.env["TANDEM_TEST_SLOWNESS"] ?? "");

export interface Environment {
  readonly dotnet31: string;
  readonly opensslLibs: string;
  /** The .NET SDK of this machine, and in `modern` the programs that it built; `modern` is empty if it is older than 10. */
  readonly installed?: { readonly dotnet: string };
  readonly modern: Readonly<Record<string, string>>;
  readonly python: string;
  readonly programs: Readonly<Record<string, string>>;
  readonly editors?: { readonly node: string; readonly codeServer: string; readonly chromium: string };
  readonly neovim: string;
  /** vscode-js-debug as a DAP server. */
  readonly jsDebug: string;
  readonly dlv: string;
  readonly tools: { readonly go: string };
}

function parseSlowness(value: string): number {
  const factor = value === "" ? 1 : Number(value);
  if (!(factor >= 1 && factor <= 100)) {
    throw new Error(`TANDEM_TEST_SLOWNESS: \`${value}\` is not a number from 1 to 100`);
  }
  return factor;
}

/** Reason to skip tests that need a runtime; false if they run. Only users set the variable. */
export const SKIP_REASON = process.env["TANDEM_SKIP_TOOLCHAINS"] === "1" ? "TANDEM_SKIP_TOOLCHAINS=1: no runtime is set up" : false;

export function readEnvironment(): Environment {
  return JSON.parse(readFileSync(path.join(CACHE, "env.json"), "utf8")) as Environment;
}

/** Returns the editors of `scripts/setup --editors`. */
export function getEditors(): NonNullable<Environment["editors"]> {
  const installed = readEnvironment().editors;
  if (installed === undefined) {
    throw new Error("no editors are set up: run `scripts/setup --editors`");
  }
  return installed;
}

/** Returns environment variables that select .NET Core 3.1 and its compiler. */
export function getDotnetVariables(): Record<string, string> {
  const { dotnet31, opensslLibs } = readEnvironment();
  return { ...DOTNET_SETTINGS, DOTNET_ROOT: path.dirname(dotnet31), LD_LIBRARY_PATH: opensslLibs };
}

/** Returns environment variables that select the .NET SDK of this machine. */
export function getInstalledDotnetVariables(): Record<string, string> {
  const { installed } = readEnvironment();
  return installed === undefined ? getDotnetVariables() : { ...DOTNET_SETTINGS, DOTNET_ROOT: path.dirname(installed.dotnet) };
}

const DOTNET_SETTINGS = {
  DOTNET_SYSTEM_GLOBALIZATION_INVARIANT: "1",
  DOTNET_CLI_TELEMETRY_OPTOUT: "1", DOTNET_SKIP_FIRST_TIME_EXPERIENCE: "1", DOTNET_NOLOGO: "1",
  DOTNET_GENERATE_ASPNET_CERTIFICATE: "false", MSBUILDDISABLENODEREUSE: "1", DOTNET_CLI_HOME: path.join(CACHE, "home"),
};

/** Folder whose programs this process has checked. */
let checkedFolder: string | undefined;

/** Finds the folder of the built programs. Throws an error if they are older than their sources. */
export function findProgramFolder(): string {
  const target = process.env["CARGO_TARGET_DIR"] ?? path.join(ROOT, "target");
  const configured = process.env["TANDEM_PROGRAMS"];
  const folders = [...(configured === undefined ? [] : [configured]), path.join(target, "debug"), path.join(target, "release")];
  const found = folders.find((one) => existsSync(path.join(one, "tandem-dap")) && existsSync(path.join(one, "tandem-mcp")));
  if (found === undefined) {
    throw new Error("`tandem-dap` and `tandem-mcp` are not built: run `cargo build --workspace`");
  }
  if (found !== checkedFolder) {
    checkFreshness(path.join(found, "tandem-dap"), ROOT);
    checkFreshness(path.join(found, "tandem-mcp"), ROOT);
    checkedFolder = found;
  }
  return found;
}

/** Finds the line (from 1) of a source that ends with `BP marker`. */
export function findMarkedLine(source: string, marker: string): number {
  const index = readFileSync(source, "utf8").split("\n").findIndex((line) => line.trimEnd().endsWith(`BP ${marker}`));
  if (index < 0) {
    throw new Error(`no marker \`${marker}\` in ${source}`);
  }
  return index + 1;
}
