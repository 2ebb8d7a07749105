/** Bundles the tests and runs them with Node's test runner: without arguments, all except those in subfolders.
 *
 * Arguments are parts of the names of test files, folders such as `workbench` and `workbench/real` (without their subfolders), and flags of Node
 * such as `--test-name-pattern`. */
import { execFileSync, spawn } from "node:child_process";
import { existsSync, readdirSync, rmSync } from "node:fs";
import * as path from "node:path";

rmSync("dist/test", { recursive: true, force: true });
execFileSync(process.execPath, ["scripts/build.mjs", "--tests"], { stdio: "inherit" });
const flags = process.argv.slice(2).filter((argument) => argument.startsWith("-"));
const filters = process.argv.slice(2).filter((argument) => !argument.startsWith("-"));
const matches = (filter, file) => (existsSync(`test/${filter}`) ? path.dirname(file) === path.normalize(filter) : file.includes(filter));
const isSelected = (file) => (filters.length === 0 ? !file.includes("/") : filters.some((filter) => matches(filter, file)));
const files = readdirSync("dist/test", { recursive: true })
  .filter((file) => file.endsWith(".test.js") && isSelected(file))
  .map((file) => `dist/test/${file}`);
if (files.length === 0) {
  throw new Error(`no test file matches: ${filters.join(", ")}`);
}
// The runner has a separate process group, so that ending this program also ends the tests.
const runner = spawn(process.execPath, ["--test", "--test-reporter=spec", ...flags, ...files], { stdio: "inherit", detached: true });
for (const signal of ["SIGINT", "SIGTERM", "SIGHUP"]) {
  process.on(signal, () => process.kill(-runner.pid, signal));
}
runner.once("exit", (code) => process.exit(code ?? 1));
