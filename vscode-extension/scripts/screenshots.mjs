/** Runs the tests in the real VS Code and copies those of their screenshots that `images` has, for the README
 * and the walkthrough. */
import { execFileSync } from "node:child_process";
import { copyFileSync, existsSync, readdirSync } from "node:fs";

execFileSync(process.execPath, ["scripts/test.mjs", "workbench"], { stdio: "inherit" });
for (const name of readdirSync("images").filter((file) => existsSync(`dist/screenshots/${file}`))) {
  copyFileSync(`dist/screenshots/${name}`, `images/${name}`);
  console.log(`images/${name}`);
}
