/** Configurations that are made from what the workspace holds. */
import assert from "node:assert/strict";
import { existsSync, readFileSync } from "node:fs";
import * as path from "node:path";
import { story, type Workbench } from "./workbench";

/** `create a launch.json file`, as the debug view offers it; gives names and programs in it. */
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

story("a new launch.json holds what the workspace holds", "polyglot", async (bench) => {
  assert.deepEqual(await created(bench, "sum.c"), [
    ["Tandem: hail", "${workspaceFolder}/hail"],
    ["Tandem: meter", "${workspaceFolder}/meter"],
    ["Tandem: this Python file", "${file}"],
    ["Tandem: this JavaScript file", "${file}"],
  ]);
  await bench.picture("launch-json");
});

story("F5 with no file open runs the only project there is", "shop", async (bench) => {
  await bench.debugView();
  await bench.page.keyboard.press("F5");
  await bench.listed("Tandem").click({ timeout: 5_000 }).catch(() => undefined); // VS Code may ask which debugger.
  await bench.terminalShows("your name?");
  await bench.picture("only-project");
});
