/** Where the adapter is, and where it was looked for. Knows nothing of VS Code. */
import * as path from "node:path";

export interface Found {
  /** The adapter; undefined when it is nowhere. */
  readonly file: string | undefined;
  /** Where it was looked for, in order. */
  readonly looked: readonly string[];
}

/** The configured adapter alone, or else the bundled one, or else the one in PATH. */
export function findAdapter(
  configured: string,
  extensionFolder: string,
  pathVariable: string,
  exists: (file: string) => boolean,
): Found {
  const candidates =
    configured !== ""
      ? [configured]
      : [
          path.join(extensionFolder, "bin", "tandem-dap"),
          ...pathVariable.split(path.delimiter).filter((folder) => folder !== "").map((folder) => path.join(folder, "tandem-dap")),
        ];
  return { file: candidates.find(exists), looked: candidates };
}
