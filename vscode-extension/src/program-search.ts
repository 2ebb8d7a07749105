/** Search for Tandem's programs, and the check of their versions. Independent of VS Code. */
import * as path from "node:path";
import { t } from "./l10n";

/** Result of a search for a program. */
export interface ProgramSearch {
  /** The program; undefined if the search found none. */
  readonly file: string | undefined;
  /** Paths that the search tried, in order. */
  readonly searched: readonly string[];
}

/** Folders and variables that a search uses. */
export interface SearchEnvironment {
  readonly extensionFolder: string;
  readonly pathVariable: string;
  readonly home: string;
  readonly workspaceFolder: string | undefined;
}

/** Finds a program: only the configured path if there is one; otherwise the bundled program, the one next to `neighbour`, or the one in PATH. */
export function findProgram(
  name: "tandem-dap" | "tandem-mcp",
  configured: string,
  environment: SearchEnvironment,
  exists: (file: string) => boolean,
  neighbour?: string,
): ProgramSearch {
  const file = process.platform === "win32" ? `${name}.exe` : name;
  const folders = environment.pathVariable.split(path.delimiter).filter((folder) => folder !== "");
  const candidates =
    configured.trim() !== ""
      ? [expandPath(configured.trim(), environment)]
      : [
          path.join(environment.extensionFolder, "bin", file),
          ...(neighbour === undefined ? [] : [path.join(path.dirname(neighbour), file)]),
          ...folders.map((folder) => path.join(folder, file)),
        ];
  return { file: candidates.find(exists), searched: candidates };
}

function expandPath(configured: string, environment: SearchEnvironment): string {
  const atHome = configured === "~" || configured.startsWith("~/") ? environment.home + configured.slice(1) : configured;
  return atHome.replaceAll("${workspaceFolder}", environment.workspaceFolder ?? "");
}

/** Describes a platform for which Tandem has no programs; undefined for a supported one. `glibc` is undefined with another C library. */
export function describeUnsupportedPlatform(system: string, architecture: string, glibc: string | undefined): string | undefined {
  if (system !== "linux" || !["x64", "arm64"].includes(architecture)) {
    return `${system}-${architecture}`;
  }
  return glibc === undefined ? `${system}-${architecture} (musl)` : undefined;
}

/** Describes why the extension cannot use a program that prints this for `--version`; undefined if it can. */
export function describeVersionMismatch(versionOutput: string, extensionVersion: string): string | undefined {
  const found = /(\d+)\.(\d+)\.(\d+)/.exec(versionOutput);
  if (found === null) {
    return t("it does not report its version (its output: `{0}`)", versionOutput.trim().slice(0, 80));
  }
  const parse = (text: string) => text.split(".").map(Number);
  const [major = 0, minor = 0] = parse(found[0]);
  const [ownMajor = 0, ownMinor = 0] = parse(extensionVersion);
  // Before 1.0 a minor version may change the protocol extensions, afterwards only a major one.
  const fits = major === ownMajor && (ownMajor === 0 ? minor === ownMinor : minor >= ownMinor);
  return fits ? undefined : t("it is version {0}, and this extension needs {1}", found[0], `${ownMajor}.${ownMinor}`);
}
