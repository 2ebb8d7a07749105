/** Rejects programs that are older than their sources or come from another checkout, like `tests/harness/src/freshness.rs` for the Rust tests.
 * Cargo lists the sources of a program in a file next to it (`tandem-dap.d`). A program without a list is not checked. */
import { readFileSync, statSync } from "node:fs";
import * as path from "node:path";

const BUILD_FLAGS: Readonly<Record<string, string>> = { debug: "", release: " --release" };

export function checkFreshness(program: string, checkout: string): void {
  const profile = path.dirname(program);
  const flag = BUILD_FLAGS[path.basename(profile)] ?? ` --profile ${path.basename(profile)}`;
  const fail = (reason: string): never => {
    throw new Error(`\`${program}\` ${reason}. Run \`cargo build --workspace${flag}\``);
  };
  const isInside = (file: string, folder: string): boolean => file.startsWith(folder + path.sep);
  const programTime = statSync(program, { bigint: true }).mtimeNs;
  for (const listed of readSources(`${program}.d`)) {
    const source = path.resolve(checkout, listed);
    // The output of build scripts is in the program's folder.
    if (!isInside(source, checkout) && !isInside(source, profile)) {
      fail(`was built from another checkout: its source ${source} is not in ${checkout}`);
    }
    const sourceTime = statSync(source, { bigint: true, throwIfNoEntry: false })?.mtimeNs;
    if (sourceTime === undefined) {
      fail(`was built from ${source}, which does not exist any more`);
    } else if (sourceTime > programTime) {
      fail(`is older than its source ${source}`);
    }
  }
}

/** Reads the paths after the colon of `PROGRAM: SOURCE SOURCE …`. Cargo writes a space in a path as `\ `. */
function readSources(list: string): string[] {
  let text;
  try {
    text = readFileSync(list, "utf8");
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === "ENOENT") {
      return [];
    }
    throw error;
  }
  return text.split("\n").flatMap((line) => {
    const colon = line.indexOf(": ");
    const paths = colon < 0 ? [] : (line.slice(colon + 2).match(/(?:\\ |\S)+/g) ?? []);
    return paths.map((one) => one.replaceAll("\\ ", " "));
  });
}
