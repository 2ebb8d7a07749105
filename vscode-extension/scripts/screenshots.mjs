/** Runs the tests in the real VS Code and copies those of their screenshots that `images` and `docs/images` have, for the READMEs, the
 * walkthrough and the book. Arguments are those of `test.mjs`, such as `--test-name-pattern=PART`.
 *
 * To add a picture, create an empty file with the name of the screenshot. Pictures of more than 150 kB are refused. */
import { execFileSync } from "node:child_process";
import { existsSync, readFileSync, readdirSync, rmSync, writeFileSync } from "node:fs";
import { withPalette } from "./palette.mjs";

const MAX_BYTES = 150_000;
rmSync("dist/screenshots", { recursive: true, force: true });
execFileSync(process.execPath, ["scripts/test.mjs", "workbench", ...process.argv.slice(2)], { stdio: "inherit" });
for (const folder of ["images", "../docs/images"]) {
  for (const name of readdirSync(folder).filter((file) => existsSync(`dist/screenshots/${file}`))) {
    const picture = withPalette(readFileSync(`dist/screenshots/${name}`));
    if (picture.length > MAX_BYTES) {
      throw new Error(`${name} has ${picture.length} bytes; a picture may have ${MAX_BYTES}`);
    }
    writeFileSync(`${folder}/${name}`, picture);
    console.log(`${folder}/${name}: ${picture.length} bytes`);
  }
}
