/** Runs the tests in the real VS Code and updates the pictures in `images` and `docs/images` from their screenshots. Accepts the arguments of
 * `test.mjs`, such as `--test-name-pattern=PART`.
 *
 * To add a picture, create an empty file with the name of the screenshot. A picture may have at most 150 kB. */
import { execFileSync } from "node:child_process";
import { existsSync, readFileSync, readdirSync, rmSync, writeFileSync } from "node:fs";
import { reduceColours } from "./palette.mjs";

const MAX_BYTES = 150_000;
rmSync("dist/screenshots", { recursive: true, force: true });
execFileSync(process.execPath, ["scripts/test.mjs", "workbench", ...process.argv.slice(2)], { stdio: "inherit" });
for (const folder of ["images", "../docs/images"]) {
  for (const name of readdirSync(folder).filter((file) => existsSync(`dist/screenshots/${file}`))) {
    const picture = reduceColours(readFileSync(`dist/screenshots/${name}`));
    if (picture.length > MAX_BYTES) {
      throw new Error(`${name} has ${picture.length} bytes; a picture may have ${MAX_BYTES}`);
    }
    writeFileSync(`${folder}/${name}`, picture);
    console.log(`${folder}/${name}: ${picture.length} bytes`);
  }
}
