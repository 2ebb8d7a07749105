/** Machine code in VS Code's own view. */
import assert from "node:assert/strict";
import { scenario } from "./workbench";

const IN_LOOP = 18;

scenario("the machine code of a C# method between its lines, stepped through by instruction", "shop", async (bench) => {
  const { page } = bench;
  await bench.openFile("Program.cs");
  await bench.setBreakpoint(IN_LOOP);
  await bench.debugView();
  await page.keyboard.press("F5");
  await bench.terminalShows("your name?");
  await bench.typeIntoTerminal("bob\n");
  await bench.stoppedAt(IN_LOOP);
  await bench.command("Open Disassembly View");
  const rows = page.locator(".disassembly-view .monaco-list-row");
  await rows.filter({ hasText: "total += order.Count * order.Price;" }).first().waitFor();
  const here = rows.filter({ has: page.locator(".codicon-debug-stackframe") });
  const address = /0x[0-9a-f]+/.exec(await here.innerText())?.[0];
  assert.ok(address, "the arrow is at no instruction");
  await page.keyboard.press("F10");
  await here.filter({ hasNotText: address }).filter({ hasText: "0x" }).waitFor();
  await bench.picture("disassembly");
  // It is one instruction further, not one line.
  await rows.filter({ hasText: address }).first().waitFor();
  await bench.debugRow("Call Stack", "Program.Total").first().waitFor();
  await page.keyboard.press("Shift+F5");
  await bench.status().waitFor({ state: "hidden" });
});
