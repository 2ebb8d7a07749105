/** TypeScript: jest, which compiles it as it runs, and tells where each line was written in a source map within the text. */
import { environment } from "../../environment";
import { evaluates, sets, shows, watches } from "../values";
import { breaksAt, fetched, real } from "./program";

real("TypeScript under jest: a stop where it was written, and a test that fails by what the person sets", () => ({
  folder: fetched("npm/jest"),
  launch: {
    type: "tandem", request: "launch", name: "jest", program: "${workspaceFolder}/node_modules/.bin/jest",
    args: ["--runInBand"], engine: "js", enginePath: environment().jsDebug,
  },
}), async (bench) => {
  const { page } = bench;
  const line = await breaksAt(bench, "src/cart.ts", "return sum;");
  await bench.debugView();
  await page.keyboard.press("F5");
  await bench.stoppedAt(line);
  await bench.debugRow("Call Stack", "total").first().waitFor();
  await shows(bench, "sum", "7");
  await bench.word("for (const item of items)", "items").hover();
  await page.locator(".debug-hover-widget", { hasText: "(2) [" }).waitFor();
  await page.mouse.move(5, 5);
  await watches(bench, "items.map(item => item.name).join()", "'a,b'");
  await sets(bench, "sum", "70");
  await bench.picture("real-jest");
  await evaluates(bench, "sum + items.length", "72");
  await page.keyboard.press("F10");
  await shows(bench, "Return value", "70");
  await page.keyboard.press("F5");
  await bench.terminalShows("1 failed, 1 total");
  await bench.terminalShows("the program ended with exit code 1");
  // The test's own output is above that.
  await page.locator(".terminal-wrapper.active .xterm").click();
  await page.keyboard.press("Shift+PageUp");
  await bench.terminalShows(/Received:\s+70/);
  await bench.status().waitFor({ state: "hidden" });
});
