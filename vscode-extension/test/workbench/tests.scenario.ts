/** The Test Explorer in a real VS Code: tests of C#, Python and Rust run, fail in place and are debugged up to their failure. */
import { appendFileSync } from "node:fs";
import * as path from "node:path";
import { test } from "node:test";
import { CACHE, DEADLINE, ROOT, environment, installedDotnetVariables, lineOf } from "../environment";
import { Editor } from "./editor";
import { inWindow, scenario, type Workbench } from "./workbench";

const fixture = (name: string) => path.join(ROOT, "fixtures/tests", name);

/** Runs and debugs the test that fails, from the gutter's own commands. */
async function failsInPlace(bench: Workbench, file: string, picture: string, shown: (bench: Workbench) => Promise<void> = () => Promise.resolve()): Promise<void> {
  const { page } = bench;
  const line = lineOf(path.join(bench.folder, file), "fails");
  await bench.openFile(file);
  // The tests are listed, which builds them.
  await page.locator(".monaco-editor .testing-run-glyph").first().waitFor({ timeout: 3 * DEADLINE });
  await bench.goToLine(line);
  await bench.command("Test: Run Test at Cursor");
  const failed = page.locator(".test-error-content-widget", { hasText: "3 != 4" }).first();
  await failed.waitFor({ timeout: 2 * DEADLINE });
  await shown(bench);
  await bench.picture(`tests-${picture}-failed`);
  await page.keyboard.press("Escape");
  await bench.command("Test: Debug Test at Cursor");
  await bench.stoppedAt(line);
  await bench.debugView();
  await bench.expand(bench.debugRow("Variables", "Locals"));
  await bench.debugRow("Variables", /sum.*3/).first().waitFor();
  await bench.picture(`tests-${picture}-stopped`);
  // An assertion of .NET may stop twice: where it is thrown, and, by the person's own filter, where it leaves the user's code.
  await bench.until("the end of the debugged test", async () => {
    await page.locator(".debug-toolbar .codicon-debug-continue").click({ timeout: 1_000 }).catch(() => undefined);
    return bench.liveSessions().length === 0;
  });
}

/** Shows the Test Explorer down to the test that failed, without the panel, and the editor as it was. */
async function explorer(bench: Workbench): Promise<void> {
  const { page } = bench;
  await bench.command("View: Toggle Panel Visibility");
  await bench.command("Testing: Focus on Test Explorer View");
  const failed = page.locator(".test-explorer .monaco-list-row", { has: page.locator(".codicon-testing-failed-icon") });
  for (const name of ["unittest", "test_cart", "CartTests"]) {
    await bench.expand(failed.filter({ hasText: name }));
  }
  await failed.filter({ hasText: "test_fails" }).first().waitFor();
  await page.locator(".monaco-editor .view-line", { hasText: "sum = total" }).first().click();
}

scenario("tests of Python are listed, fail in place and stop where they fail; the last is debugged again, and a run is cancelled", fixture("unittest"), async (bench) => {
  const { page } = bench;
  await failsInPlace(bench, "tests/test_cart.py", "python", explorer);
  await bench.command("Test: Debug Last Run");
  await bench.stoppedAt(lineOf(path.join(bench.folder, "tests/test_cart.py"), "fails"));
  // It takes the focus.
  await page.locator(".exception-widget").waitFor();
  await bench.command("Debug: Stop");
  await bench.until("the end of the debugged test", () => bench.liveSessions().length === 0);
  // One that hangs, until it is cancelled.
  await bench.openFile("tests/test_bad.py");
  await page.locator(".monaco-editor .testing-run-glyph").first().waitFor();
  await bench.goToLine(8);
  await bench.command("Test: Run Test at Cursor");
  await page.locator(".codicon-testing-cancel-icon, .codicon-loading, .codicon-testing-queued-icon").first().waitFor();
  await bench.command("Test: Cancel Test Run");
  await page.locator(".monaco-editor .codicon-loading").first().waitFor({ state: "detached" });
}, { settings: { "tandem.tests.python": "on" } });

scenario("tests of Rust are listed, fail in place and stop where they fail", fixture("cargo"), async (bench) => {
  await failsInPlace(bench, "src/lib.rs", "rust");
});

scenario("where the settings say so, each test has its commands above it instead", fixture("unittest"), async (bench) => {
  const { page } = bench;
  await bench.openFile("tests/test_cart.py");
  await page.locator(".codelens-decoration", { hasText: "Debug Test" }).first().waitFor();
  await bench.picture("tests-lenses");
  appendFileSync(path.join(bench.folder, "tests/test_cart.py"), "\n");
  await bench.goToLine(lineOf(path.join(bench.folder, "tests/test_cart.py"), "fails"));
  await page.locator(".codelens-decoration a", { hasText: "Debug Test" }).nth(1).click();
  await bench.stoppedAt(lineOf(path.join(bench.folder, "tests/test_cart.py"), "fails"));
  await bench.command("Debug: Stop");
}, { settings: { "tandem.tests.python": "codeLens" } });

/** A single row of data is a separate item in the explorer: it runs and is debugged without the other. */
async function runsARow(bench: Workbench, line: number): Promise<void> {
  const { page } = bench;
  await bench.command("Testing: Focus on Test Explorer View");
  const item = (text: string) => page.locator(".test-explorer .monaco-list-row", { hasText: text }).first();
  for (const parent of ["xunit3", "Tests.CartTests"]) {
    const row = item(parent);
    await row.waitFor();
    if (await row.getAttribute("aria-expanded") !== "true") {
      await row.locator(".monaco-tl-twistie").click();
    }
  }
  const row = item("number: 1");
  await row.click();
  await row.locator(".codicon-testing-run-icon").click();
  await row.locator(".codicon-testing-failed-icon").waitFor({ timeout: 2 * DEADLINE });
  await bench.picture("tests-csharp-row-failed");
  await row.hover();
  await row.locator(".codicon-testing-debug-icon").click();
  await bench.stoppedAt(line);
  await bench.picture("tests-csharp-row-stopped");
  await bench.command("Debug: Stop");
}

// After all tests with the other SDK: the editor is restarted with the SDK of this machine.
test("tests of C# are listed, fail in place and stop where they fail; F5 debugs the test at the cursor", {
  skip: environment().installed === undefined && "no .NET SDK is installed", timeout: 8 * DEADLINE,
}, async () => {
  await Editor.on(installedDotnetVariables);
  await inWindow("tests of C#", path.join(CACHE, "programs/tests-dotnet"), async (bench) => {
    const { page } = bench;
    const file = "xunit3/CartTests.cs";
    await failsInPlace(bench, file, "csharp");
    await bench.openFile(file);
    await bench.goToLine(lineOf(path.join(bench.folder, file), "fails"));
    await page.keyboard.press("F5");
    await bench.notification("Tandem debugs the test Fails.");
    await bench.stoppedAt(lineOf(path.join(bench.folder, file), "fails"));
    await bench.command("Debug: Stop");
    await bench.until("the end of the debugged test", () => bench.liveSessions().length === 0);
    await runsARow(bench, lineOf(path.join(bench.folder, file), "rows"));
  }, {});
});
