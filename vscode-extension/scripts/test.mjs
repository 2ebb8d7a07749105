/** Bundles the tests and runs them with Node's own runner. Without arguments: those that need nothing but Node.
 * Arguments are parts of test files' names, or folders such as `workbench` and `workbench/real`, whose own files are meant, and flags
 * of Node such as `--test-name-pattern`. */
import { execFileSync, spawn } from "node:child_process";
import { existsSync, readdirSync, rmSync } from "node:fs";
import * as path from "node:path";

rmSync("dist/test", { recursive: true, force: true });
execFileSync(process.execPath, ["scripts/build.mjs", "--tests"], { stdio: "inherit" });
const flags = process.argv.slice(2).filter((argument) => argument.startsWith("-"));
const wanted = process.argv.slice(2).filter((argument) => !argument.startsWith("-"));
const names = (name, file) => (existsSync(`test/${name}`) ? path.dirname(file) === path.normalize(name) : file.includes(name));
const isWanted = (file) => (wanted.length === 0 ? !file.includes("/") : wanted.some((name) => names(name, file)));
const files = readdirSync("dist/test", { recursive: true })
  .filter((file) => file.endsWith(".test.js") && isWanted(file))
  .map((file) => `dist/test/${file}`);
if (files.length === 0) {
  throw new Error(`no test file has any of these names: ${wanted.join(", ")}`);
}
// In a separate process group: ending this program ends the tests, too, and not only their runner.
const runner = spawn(process.execPath, ["--test", "--test-reporter=spec", ...flags, ...files], { stdio: "inherit", detached: true });
for (const signal of ["SIGINT", "SIGTERM", "SIGHUP"]) {
  process.on(signal, () => process.kill(-runner.pid, signal));
}
runner.once("exit", (code) => process.exit(code ?? 1));
