/** Go: a module's own test. */
import { evaluateInConsole, setVariable, addWatch } from "../values";
import { setBreakpointAtText, getFetchedPath, realScenario } from "./program";

realScenario("a test of a Go module stops in the module, and the value that the user sets shortens a stack", () => ({
  folder: getFetchedPath("debian/errors"),
  launch: {
    type: "tandem", request: "launch", name: "TestWrap", program: "${workspaceFolder}", mode: "test", args: ["-test.run", "^TestWrap$", "-test.v"],
  },
}), async (bench) => {
  const { page } = bench;
  const line = await setBreakpointAtText(bench, "stack.go", "var st stack = pcs[0:n]");
  await bench.openDebugView();
  await page.keyboard.press("F5");
  await bench.waitForStopAt(line);
  await bench.debugRow("Call Stack", "callers").first().waitFor();
  await addWatch(bench, "len(pcs)", "32");
  await setVariable(bench, "n", "1");
  await bench.takeScreenshot("real-go");
  await page.keyboard.press("F10");
  await bench.waitForStopAt(line + 1);
  await evaluateInConsole(bench, "len(st)", /^1$/);
  await bench.removeBreakpoint(line);
  await page.keyboard.press("F5");
  await bench.waitForTerminalText("--- PASS: TestWrap");
  await bench.waitForTerminalText("the program ended with exit code 0");
  await bench.statusItem().waitFor({ state: "hidden" });
});
