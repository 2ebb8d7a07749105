/** Configurations that are made from what the workspace holds. */
import assert from "node:assert/strict";
import { existsSync, readFileSync, readdirSync } from "node:fs";
import * as path from "node:path";
import { scenario, type Workbench } from "./workbench";

/** `create a launch.json file`, as the debug view offers it; returns the names and programs in it. */
async function created(bench: Workbench, open: string): Promise<[string, string][]> {
  const file = path.join(bench.folder, ".vscode/launch.json");
  await bench.openFile(open);
  await bench.debugView();
  await bench.page.locator(".debug-viewlet").getByText("create a launch.json").first().click();
  await bench.until("a launch.json", () => existsSync(file) && readFileSync(file, "utf8").includes('"program"'));
  const text = readFileSync(file, "utf8");
  const found = [...text.matchAll(/"name": "([^"]*)",\s*"program": "([^"]*)"/g)];
  return found.map((match) => [match[1] ?? "", match[2] ?? ""]);
}

scenario("a new launch.json holds what the workspace holds", "polyglot", async (bench) => {
  assert.deepEqual(await created(bench, "sum.c"), [
    ["Tandem: hail", "${workspaceFolder}/hail"],
    ["Tandem: meter", "${workspaceFolder}/meter"],
    ["Tandem: this Python file", "${file}"],
    ["Tandem: this C file", "${file}"],
    ["Tandem: this JavaScript file", "${file}"],
  ]);
  await bench.picture("launch-json");
});

scenario("Run and Debug with no file open runs the only project there is", "shop", async (bench) => {
  await bench.debugView();
  await bench.page.locator(".debug-viewlet .monaco-button", { hasText: "Run and Debug" }).click();
  // VS Code asks which debugger: no file says.
  await bench.choose("Tandem");
  await bench.terminalShows("your name?");
  await bench.picture("only-project");
});

scenario("a workspace of two folders: F5 runs the open file's own", "shop", async (bench) => {
  const { page } = bench;
  await bench.openFile("greeter.py");
  await bench.debugView();
  await page.keyboard.press("F5");
  await bench.terminalShows("how many?");
  await page.keyboard.press("Shift+F5");
  await bench.status().waitFor({ state: "hidden" });
  await bench.openFile("Program.cs");
  await bench.debugView();
  // Until the first session has ended for VS Code, too, F5 would not start another.
  await page.getByRole("button", { name: "Run and Debug", exact: true }).waitFor();
  await page.keyboard.press("F5");
  await bench.terminalShows("your name?");
  await bench.picture("two-folders");
}, { beside: "greeter" });

scenario("a window without a folder: F5 runs the open file", "greeter", async (bench) => {
  await bench.page.locator(".editor-group-container .tab.active", { hasText: "greeter.py" }).waitFor();
  await bench.setBreakpoint(4);
  await bench.debugView();
  await bench.page.keyboard.press("F5");
  await bench.terminalShows("how many?");
  await bench.typeIntoTerminal("1\n");
  await bench.stoppedAt(4);
  await bench.picture("no-folder");
}, { alone: "greeter.py" });

/** The programs of all live sessions. */
function livePrograms(bench: Workbench): string[] {
  const folder = path.join(bench.runtimeFolder, "tandem");
  const files = existsSync(folder) ? readdirSync(folder).filter((name) => name.endsWith(".json")) : [];
  return files.map((name) => (JSON.parse(readFileSync(path.join(folder, name), "utf8")) as { program: string }).program);
}

const greeter = (type: string, name: string) => ({ type, request: "launch", name, program: "${workspaceFolder}/greeter.py", cwd: "${workspaceFolder}" });

scenario("compounds start each of their configurations, those of another debugger with Tandem", "greeter", async (bench) => {
  const program = path.join(bench.folder, "greeter.py");
  const started = (count: number) => bench.until(`${count} sessions`, () => livePrograms(bench).filter((one) => one === program).length === count);
  await bench.openFile("greeter.py");
  await bench.command("Debug: Select and Start Debugging");
  await bench.choose("Ours");
  await started(2);
  await bench.command("Tandem: Debug with Tandem");
  await bench.choose("Theirs");
  await started(4);
  await bench.picture("compounds");
}, { launchFile: {
  version: "0.2.0",
  configurations: [greeter("tandem", "First"), greeter("tandem", "Second"), greeter("debugpy", "Third"), greeter("debugpy", "Fourth")],
  compounds: [{ name: "Ours", configurations: ["First", "Second"] }, { name: "Theirs", configurations: ["Third", "Fourth"] }],
} });
