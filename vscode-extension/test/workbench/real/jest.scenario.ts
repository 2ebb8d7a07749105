/** TypeScript: jest, which compiles at run time with inline source maps. */
import { readEnvironment } from "../../environment";
import { evaluateInConsole, setVariable, waitForVariable, addWatch } from "../values";
import { setBreakpointAtText, getFetchedPath, realScenario } from "./program";

realScenario("TypeScript under jest stops in its source, and its test fails by the value that the user sets", () => ({
  folder: getFetchedPath("npm/jest"),
  launch: {
    type: "tandem", request: "launch", name: "jest", program: "${workspaceFolder}/node_modules/.bin/jest",
    args: ["--runInBand"], engine: "js", enginePath: readEnvironment().jsDebug,
  },
}), async (bench) => {
  const { page } = bench;
  const line = await setBreakpointAtText(bench, "src/cart.ts", "return sum;");
  await bench.openDebugView();
  await page.keyboard.press("F5");
  await bench.waitForStopAt(line);
  await bench.debugRow("Call Stack", "total").first().waitFor();
  await waitForVariable(bench, "sum", "7");
  await bench.wordInLine("for (const item of items)", "items").hover();
  await page.locator(".debug-hover-widget", { hasText: "(2) [" }).waitFor();
  await page.mouse.move(5, 5);
  await addWatch(bench, "items.map(item => item.name).join()", "'a,b'");
  await setVariable(bench, "sum", "70");
  await bench.takeScreenshot("real-jest");
  await evaluateInConsole(bench, "sum + items.length", "72");
  await page.keyboard.press("F10");
  await waitForVariable(bench, "Return value", "70");
  await page.keyboard.press("F5");
  await bench.waitForTerminalText("1 failed, 1 total");
  await bench.waitForTerminalText("the program ended with exit code 1");
  // Scroll up to the output of the test.
  await page.locator(".terminal-wrapper.active .xterm").click();
  await page.keyboard.press("Shift+PageUp");
  await bench.waitForTerminalText(/Received:\s+70/);
  await bench.statusItem().waitFor({ state: "hidden" });
});
