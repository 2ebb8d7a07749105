/** Environment from `scripts/setup` and cargo: runtimes, editors and our own programs. */
import { existsSync, readFileSync } from "node:fs";
import * as path from "node:path";
import { checkFreshness } from "./freshness";

/** The repository; tests run in the extension's folder. */
export const ROOT = path.resolve(process.cwd(), "..");
export const CACHE = process.env["TANDEM_CACHE"] ?? path.join(ROOT, ".cache");
/** No step takes longer, even on a busy machine, ms. All deadlines grow with `TANDEM_TEST_SLOWNESS`, as those of the tests in Rust do. */
export const DEADLINE = 60_000 * slowness(process.env["TANDEM_TEST_SLOWNESS"] ?? "");

export interface Environment {
  readonly dotnet31: string;
  readonly opensslLibs: string;
  /** The .NET SDK of this machine, and programs that it built; empty when it is older than 10. */
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

function slowness(value: string): number {
  const factor = value === "" ? 1 : Number(value);
  if (!(factor >= 1 && factor <= 100)) {
    throw new Error(`TANDEM_TEST_SLOWNESS: \`${value}\` is not a number from 1 to 100`);
  }
  return factor;
}

/** Reason to skip tests that need a runtime; false when they run. Only a person sets the variable. */
export const SKIPPED = process.env["TANDEM_SKIP_TOOLCHAINS"] === "1" ? "TANDEM_SKIP_TOOLCHAINS=1: no runtime is set up" : false;

export function environment(): Environment {
  return JSON.parse(readFileSync(path.join(CACHE, "env.json"), "utf8")) as Environment;
}

/** The editors of `scripts/setup --editors`. */
export function editors(): NonNullable<Environment["editors"]> {
  const found = environment().editors;
  if (found === undefined) {
    throw new Error("no editors are set up: run `scripts/setup --editors`");
  }
  return found;
}

/** The variables in which .NET Core 3.1 and its compiler are the ones that are found. */
export function dotnetVariables(): Record<string, string> {
  const { dotnet31, opensslLibs } = environment();
  return { ...QUIET_DOTNET, DOTNET_ROOT: path.dirname(dotnet31), LD_LIBRARY_PATH: opensslLibs };
}

/** Those of the SDK that this machine has. */
export function installedDotnetVariables(): Record<string, string> {
  const { installed } = environment();
  return installed === undefined ? dotnetVariables() : { ...QUIET_DOTNET, DOTNET_ROOT: path.dirname(installed.dotnet) };
}

const QUIET_DOTNET = {
  DOTNET_SYSTEM_GLOBALIZATION_INVARIANT: "1",
  DOTNET_CLI_TELEMETRY_OPTOUT: "1", DOTNET_SKIP_FIRST_TIME_EXPERIENCE: "1", DOTNET_NOLOGO: "1",
  DOTNET_GENERATE_ASPNET_CERTIFICATE: "false", MSBUILDDISABLENODEREUSE: "1", DOTNET_CLI_HOME: path.join(CACHE, "home"),
};

/** The folder whose programs this process has checked. */
let checked: string | undefined;

/** The folder of the programs that were just built. Programs that are older than their sources are an error. */
export function programs(): string {
  const target = process.env["CARGO_TARGET_DIR"] ?? path.join(ROOT, "target");
  const named = process.env["TANDEM_PROGRAMS"];
  const built = [...(named === undefined ? [] : [named]), path.join(target, "debug"), path.join(target, "release")];
  const found = built.find((one) => existsSync(path.join(one, "tandem-dap")) && existsSync(path.join(one, "tandem-mcp")));
  if (found === undefined) {
    throw new Error("`tandem-dap` and `tandem-mcp` are not built: run `cargo build --workspace`");
  }
  if (found !== checked) {
    checkFreshness(path.join(found, "tandem-dap"), ROOT);
    checkFreshness(path.join(found, "tandem-mcp"), ROOT);
    checked = found;
  }
  return found;
}

/** The line (from 1) that ends with `BP marker` in a source. */
export function lineOf(source: string, marker: string): number {
  const at = readFileSync(source, "utf8").split("\n").findIndex((line) => line.trimEnd().endsWith(`BP ${marker}`));
  if (at < 0) {
    throw new Error(`no marker \`${marker}\` in ${source}`);
  }
  return at + 1;
}
