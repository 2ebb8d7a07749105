/** Locations of Tandem's programs, the places that were searched, and the version check. Independent of VS
 * Code. */
import * as path from "node:path";
import { t } from "./l10n";

export interface Found {
  /** The program; undefined when it is nowhere. */
  readonly file: string | undefined;
  /** Where it was looked for, in order. */
  readonly looked: readonly string[];
}

/** Folders that count when the extension brings no program: the setting, PATH, and the user's home for a leading `~`. */
export interface Surroundings {
  readonly extensionFolder: string;
  readonly pathVariable: string;
  readonly home: string;
  readonly workspaceFolder: string | undefined;
}

/** The configured program alone, or else the bundled one, or else the one next to `neighbour`, or else the
 * one in PATH. */
export function findProgram(
  name: "tandem-dap" | "tandem-mcp",
  configured: string,
  around: Surroundings,
  exists: (file: string) => boolean,
  neighbour?: string,
): Found {
  const file = process.platform === "win32" ? `${name}.exe` : name;
  const folders = around.pathVariable.split(path.delimiter).filter((folder) => folder !== "");
  const candidates =
    configured.trim() !== ""
      ? [expand(configured.trim(), around)]
      : [
          path.join(around.extensionFolder, "bin", file),
          ...(neighbour === undefined ? [] : [path.join(path.dirname(neighbour), file)]),
          ...folders.map((folder) => path.join(folder, file)),
        ];
  return { file: candidates.find(exists), looked: candidates };
}

function expand(configured: string, around: Surroundings): string {
  const atHome = configured === "~" || configured.startsWith("~/") ? around.home + configured.slice(1) : configured;
  return atHome.replaceAll("${workspaceFolder}", around.workspaceFolder ?? "");
}

/** The name of a platform that has no programs; undefined for one that has. `glibc` is the version of that library, if it is the C library. */
export function unsupportedPlatform(system: string, architecture: string, glibc: string | undefined): string | undefined {
  if (system !== "linux" || !["x64", "arm64"].includes(architecture)) {
    return `${system}-${architecture}`;
  }
  return glibc === undefined ? `${system}-${architecture} (musl)` : undefined;
}

/** Why a program of this `--version` does not fit the extension; undefined when it does. */
export function misfit(versionOutput: string, extensionVersion: string): string | undefined {
  const found = /(\d+)\.(\d+)\.(\d+)/.exec(versionOutput);
  if (found === null) {
    return t("it does not report its version (its output: `{0}`)", versionOutput.trim().slice(0, 80));
  }
  const number = (text: string) => text.split(".").map(Number);
  const [major = 0, minor = 0] = number(found[0]);
  const [ownMajor = 0, ownMinor = 0] = number(extensionVersion);
  // Before 1.0 a minor version may change the protocol's extensions; later only a major one does.
  const fits = major === ownMajor && (ownMajor === 0 ? minor === ownMinor : minor >= ownMinor);
  return fits ? undefined : t("it is version {0}, and this extension needs {1}", found[0], `${ownMajor}.${ownMinor}`);
}
