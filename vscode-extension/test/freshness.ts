/** Refuses programs that are older than their sources, or that were built from another checkout, as `tests/src/freshness.rs` does for
 * the tests in Rust. Cargo lists the sources of a program beside it (`tandem-dap.d`); a program without a list is not checked. */
import { readFileSync, statSync } from "node:fs";
import * as path from "node:path";

const REMEDIES: Readonly<Record<string, string>> = { debug: "", release: " --release" };

export function checkFreshness(program: string, checkout: string): void {
  const profile = path.dirname(program);
  const flag = REMEDIES[path.basename(profile)] ?? ` --profile ${path.basename(profile)}`;
  const refuse = (reason: string): never => {
    throw new Error(`\`${program}\` ${reason}. Run \`cargo build --workspace${flag}\``);
  };
  const isIn = (file: string, folder: string): boolean => file.startsWith(folder + path.sep);
  const built = statSync(program, { bigint: true }).mtimeNs;
  for (const listed of sources(`${program}.d`)) {
    const source = path.resolve(checkout, listed);
    // The output of build scripts is beside the program.
    if (!isIn(source, checkout) && !isIn(source, profile)) {
      refuse(`was built from another checkout: its source ${source} is not in ${checkout}`);
    }
    const changed = statSync(source, { bigint: true, throwIfNoEntry: false })?.mtimeNs;
    if (changed === undefined) {
      refuse(`was built from ${source}, which does not exist any more`);
    } else if (changed > built) {
      refuse(`is older than its source ${source}`);
    }
  }
}

/** The paths after the colon of `PROGRAM: SOURCE SOURCE …`. Cargo writes a space in a path as `\ `. */
function sources(list: string): string[] {
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
