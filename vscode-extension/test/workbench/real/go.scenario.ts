/** Go: a module's own test. */
import { evaluates, sets, watches } from "../values";
import { breaksAt, fetched, real } from "./program";

real("a Go module's own test: a stop in the module, a shorter stack by what the person sets", () => ({
  folder: fetched("debian/errors"),
  launch: {
    type: "tandem", request: "launch", name: "TestWrap", program: "${workspaceFolder}", mode: "test", args: ["-test.run", "^TestWrap$", "-test.v"],
  },
}), async (bench) => {
  const { page } = bench;
  const line = await breaksAt(bench, "stack.go", "var st stack = pcs[0:n]");
  await bench.debugView();
  await page.keyboard.press("F5");
  await bench.stoppedAt(line);
  await bench.debugRow("Call Stack", "callers").first().waitFor();
  await watches(bench, "len(pcs)", "32");
  await sets(bench, "n", "1");
  await bench.picture("real-go");
  await page.keyboard.press("F10");
  await bench.stoppedAt(line + 1);
  await evaluates(bench, "len(st)", /^1$/);
  await bench.removeBreakpoint(line);
  await page.keyboard.press("F5");
  await bench.terminalShows("--- PASS: TestWrap");
  await bench.terminalShows("the program ended with exit code 0");
  await bench.status().waitFor({ state: "hidden" });
});
