/** Configurations that Tandem creates, and those of launch.json. */
import assert from "node:assert/strict";
import { existsSync, readFileSync, readdirSync } from "node:fs";
import * as path from "node:path";
import { scenario, type Workbench } from "./workbench";

/** Creates a launch.json by the link in the debug view; returns the names and programs in it. */
async function createLaunchJson(bench: Workbench, openedFile: string): Promise<[string, string][]> {
  const file = path.join(bench.folder, ".vscode/launch.json");
  await bench.openFile(openedFile);
  await bench.openDebugView();
  await bench.page.locator(".debug-viewlet").getByText("create a launch.json").first().click();
  await bench.waitUntil("a launch.json", () => existsSync(file) && readFileSync(file, "utf8").includes('"program"'));
  const text = readFileSync(file, "utf8");
  const found = [...text.matchAll(/"name": "([^"]*)",\s*"program": "([^"]*)"/g)];
  return found.map((match) => [match[1] ?? "", match[2] ?? ""]);
}

scenario("a new launch.json lists the projects and files of the workspace", "polyglot", async (bench) => {
  assert.deepEqual(await createLaunchJson(bench, "sum.c"), [
    ["Tandem: hail", "${workspaceFolder}/hail"],
    ["Tandem: meter", "${workspaceFolder}/meter"],
    ["Tandem: this Python file", "${file}"],
    ["Tandem: this C file", "${file}"],
    ["Tandem: this JavaScript file", "${file}"],
  ]);
  await bench.takeScreenshot("launch-json");
});

scenario("Run and Debug without an open file runs the only project", "shop", async (bench) => {
  await bench.openDebugView();
  await bench.page.locator(".debug-viewlet .monaco-button", { hasText: "Run and Debug" }).click();
  // VS Code asks for the debugger: no open file selects one.
  await bench.chooseItem("Tandem");
  await bench.waitForTerminalText("your name?");
  await bench.takeScreenshot("only-project");
});

scenario("F5 in a workspace of two folders runs the active file's folder", "shop", async (bench) => {
  const { page } = bench;
  await bench.openFile("greeter.py");
  await bench.openDebugView();
  await page.keyboard.press("F5");
  await bench.waitForTerminalText("how many?");
  await page.keyboard.press("Shift+F5");
  await bench.statusItem().waitFor({ state: "hidden" });
  await bench.openFile("Program.cs");
  await bench.openDebugView();
  // VS Code starts no other session until the first one has ended in its own view.
  await page.getByRole("button", { name: "Run and Debug", exact: true }).waitFor();
  await page.keyboard.press("F5");
  await bench.waitForTerminalText("your name?");
  await bench.takeScreenshot("two-folders");
}, { secondFolder: "greeter" });

scenario("F5 in a window without a folder runs the active file", "greeter", async (bench) => {
  await bench.page.locator(".editor-group-container .tab.active", { hasText: "greeter.py" }).waitFor();
  await bench.setBreakpoint(4);
  await bench.openDebugView();
  await bench.page.keyboard.press("F5");
  await bench.waitForTerminalText("how many?");
  await bench.typeIntoTerminal("1\n");
  await bench.waitForStopAt(4);
  await bench.takeScreenshot("no-folder");
}, { singleFile: "greeter.py" });

/** Lists the programs of all live sessions. */
function listLivePrograms(bench: Workbench): string[] {
  const folder = path.join(bench.runtimeFolder, "tandem");
  const files = existsSync(folder) ? readdirSync(folder).filter((name) => name.endsWith(".json")) : [];
  return files.map((name) => (JSON.parse(readFileSync(path.join(folder, name), "utf8")) as { program: string }).program);
}

const createConfiguration = (type: string, name: string) => ({ type, request: "launch", name, program: "${workspaceFolder}/greeter.py", cwd: "${workspaceFolder}" });

scenario("a compound starts all its configurations, including those of another debugger", "greeter", async (bench) => {
  const program = path.join(bench.folder, "greeter.py");
  const waitForSessions = (count: number) => bench.waitUntil(`${count} sessions`, () => listLivePrograms(bench).filter((one) => one === program).length === count);
  await bench.openFile("greeter.py");
  await bench.runCommand("Debug: Select and Start Debugging");
  await bench.chooseItem("Ours");
  await waitForSessions(2);
  await bench.runCommand("Tandem: Debug with Tandem");
  await bench.chooseItem("Theirs");
  await waitForSessions(4);
  await bench.takeScreenshot("compounds");
}, { launchFile: {
  version: "0.2.0",
  configurations: [createConfiguration("tandem", "First"), createConfiguration("tandem", "Second"), createConfiguration("debugpy", "Third"), createConfiguration("debugpy", "Fourth")],
  compounds: [{ name: "Ours", configurations: ["First", "Second"] }, { name: "Theirs", configurations: ["Third", "Fourth"] }],
} });
