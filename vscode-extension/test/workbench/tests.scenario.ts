/** The Test Explorer: tests of C#, Python and Rust run, fail and are debugged. */
import { appendFileSync } from "node:fs";
import * as path from "node:path";
import { test } from "node:test";
import { CACHE, STEP_TIMEOUT_MS, ROOT, readEnvironment, getInstalledDotnetVariables, findMarkedLine } from "../environment";
import { Editor } from "./editor";
import { runScenario, scenario, type Workbench } from "./workbench";

const getFixturePath = (name: string) => path.join(ROOT, "fixtures/tests", name);

/** Runs and debugs the failing test at its line. */
async function runAndDebugFailingTest(bench: Workbench, file: string, screenshot: string, checkFailure: (bench: Workbench) => Promise<void> = () => Promise.resolve()): Promise<void> {
  const { page } = bench;
  const line = findMarkedLine(path.join(bench.folder, file), "fails");
  await bench.openFile(file);
  // Listing the tests builds them.
  await page.locator(".monaco-editor .testing-run-glyph").first().waitFor({ timeout: 3 * STEP_TIMEOUT_MS });
  await bench.goToLine(line);
  await bench.runCommand("Test: Run Test at Cursor");
  const failed = page.locator(".test-error-content-widget", { hasText: "3 != 4" }).first();
  await failed.waitFor({ timeout: 2 * STEP_TIMEOUT_MS });
  await checkFailure(bench);
  await bench.takeScreenshot(`tests-${screenshot}-failed`);
  await page.keyboard.press("Escape");
  await bench.runCommand("Test: Debug Test at Cursor");
  await bench.waitForStopAt(line);
  await bench.openDebugView();
  await bench.expand(bench.debugRow("Variables", "Locals"));
  await bench.debugRow("Variables", /sum.*3/).first().waitFor();
  await bench.takeScreenshot(`tests-${screenshot}-stopped`);
  // A .NET assertion may stop twice: where it is thrown, and, by an exception filter, where it leaves the user's code.
  await bench.waitUntil("the end of the debugged test", async () => {
    await page.locator(".debug-toolbar .codicon-debug-continue").click({ timeout: 1_000 }).catch(() => undefined);
    return bench.listLiveSessions().length === 0;
  });
}

/** Expands the Test Explorer to the failed test, hides the panel, and focuses the editor. */
async function showExplorer(bench: Workbench): Promise<void> {
  const { page } = bench;
  await bench.runCommand("View: Toggle Panel Visibility");
  await bench.runCommand("Testing: Focus on Test Explorer View");
  const failed = page.locator(".test-explorer .monaco-list-row", { has: page.locator(".codicon-testing-failed-icon") });
  for (const name of ["unittest", "test_cart", "CartTests"]) {
    await bench.expand(failed.filter({ hasText: name }));
  }
  await failed.filter({ hasText: "test_fails" }).first().waitFor();
  await page.locator(".monaco-editor .view-line", { hasText: "sum = total" }).first().click();
}

scenario("Python tests are listed, run and debugged; the last run is repeated, and a run is cancelled", getFixturePath("unittest"), async (bench) => {
  const { page } = bench;
  await runAndDebugFailingTest(bench, "tests/test_cart.py", "python", showExplorer);
  await bench.runCommand("Test: Debug Last Run");
  await bench.waitForStopAt(findMarkedLine(path.join(bench.folder, "tests/test_cart.py"), "fails"));
  // The widget takes the focus.
  await page.locator(".exception-widget").waitFor();
  await bench.runCommand("Debug: Stop");
  await bench.waitUntil("the end of the debugged test", () => bench.listLiveSessions().length === 0);
  // Run a test that hangs, and cancel it.
  await bench.openFile("tests/test_bad.py");
  await page.locator(".monaco-editor .testing-run-glyph").first().waitFor();
  await bench.goToLine(8);
  await bench.runCommand("Test: Run Test at Cursor");
  await page.locator(".codicon-testing-cancel-icon, .codicon-loading, .codicon-testing-queued-icon").first().waitFor();
  await bench.runCommand("Test: Cancel Test Run");
  await page.locator(".monaco-editor .codicon-loading").first().waitFor({ state: "detached" });
}, { settings: { "tandem.tests.python": "on" } });

scenario("Rust tests are listed, run and debugged", getFixturePath("cargo"), async (bench) => {
  await runAndDebugFailingTest(bench, "src/lib.rs", "rust");
});

scenario("the setting codeLens shows commands above each test instead", getFixturePath("unittest"), async (bench) => {
  const { page } = bench;
  await bench.openFile("tests/test_cart.py");
  await page.locator(".codelens-decoration", { hasText: "Debug Test" }).first().waitFor();
  await bench.takeScreenshot("tests-lenses");
  appendFileSync(path.join(bench.folder, "tests/test_cart.py"), "\n");
  await bench.goToLine(findMarkedLine(path.join(bench.folder, "tests/test_cart.py"), "fails"));
  await page.locator(".codelens-decoration a", { hasText: "Debug Test" }).nth(1).click();
  await bench.waitForStopAt(findMarkedLine(path.join(bench.folder, "tests/test_cart.py"), "fails"));
  await bench.runCommand("Debug: Stop");
}, { settings: { "tandem.tests.python": "codeLens" } });

/** Runs and debugs one data row of a test, which is a separate item of the Test Explorer. */
async function runAndDebugRow(bench: Workbench, line: number): Promise<void> {
  const { page } = bench;
  await bench.runCommand("Testing: Focus on Test Explorer View");
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
  await row.locator(".codicon-testing-failed-icon").waitFor({ timeout: 2 * STEP_TIMEOUT_MS });
  await bench.takeScreenshot("tests-csharp-row-failed");
  await row.hover();
  await row.locator(".codicon-testing-debug-icon").click();
  await bench.waitForStopAt(line);
  await bench.takeScreenshot("tests-csharp-row-stopped");
  await bench.runCommand("Debug: Stop");
}

// This test restarts the editor with the SDK of this machine, after all tests with the other one.
test("C# tests are listed, run and debugged, and F5 debugs the test at the cursor", {
  skip: readEnvironment().installed === undefined && "no .NET SDK is installed", timeout: 8 * STEP_TIMEOUT_MS,
}, async () => {
  await Editor.restartWithDotnet(getInstalledDotnetVariables);
  await runScenario("tests of C#", path.join(CACHE, "programs/tests-dotnet"), async (bench) => {
    const { page } = bench;
    const file = "xunit3/CartTests.cs";
    await runAndDebugFailingTest(bench, file, "csharp");
    await bench.openFile(file);
    await bench.goToLine(findMarkedLine(path.join(bench.folder, file), "fails"));
    await page.keyboard.press("F5");
    await bench.waitForNotification("Tandem debugs the test Fails.");
    await bench.waitForStopAt(findMarkedLine(path.join(bench.folder, file), "fails"));
    await bench.runCommand("Debug: Stop");
    await bench.waitUntil("the end of the debugged test", () => bench.listLiveSessions().length === 0);
    await runAndDebugRow(bench, findMarkedLine(path.join(bench.folder, file), "rows"));
  }, {});
});
