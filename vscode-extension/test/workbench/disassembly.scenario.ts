/** VS Code's disassembly view. */
import assert from "node:assert/strict";
import { scenario } from "./workbench";

const IN_LOOP = 18;

scenario("the disassembly of a C# method contains its lines, and is stepped by instruction", "shop", async (bench) => {
  const { page } = bench;
  await bench.openFile("Program.cs");
  await bench.setBreakpoint(IN_LOOP);
  await bench.openDebugView();
  await page.keyboard.press("F5");
  await bench.waitForTerminalText("your name?");
  await bench.typeIntoTerminal("bob\n");
  await bench.waitForStopAt(IN_LOOP);
  await bench.runCommand("Open Disassembly View");
  const rows = page.locator(".disassembly-view .monaco-list-row");
  await rows.filter({ hasText: "total += order.Count * order.Price;" }).first().waitFor();
  const current = rows.filter({ has: page.locator(".codicon-debug-stackframe") });
  const address = /0x[0-9a-f]+/.exec(await current.innerText())?.[0];
  assert.ok(address, "the arrow is not at an instruction");
  await page.keyboard.press("F10");
  await current.filter({ hasNotText: address }).filter({ hasText: "0x" }).waitFor();
  await bench.takeScreenshot("disassembly");
  // The step moved by one instruction, not one line.
  await rows.filter({ hasText: address }).first().waitFor();
  await bench.debugRow("Call Stack", "Program.Total").first().waitFor();
  await page.keyboard.press("Shift+F5");
  await bench.statusItem().waitFor({ state: "hidden" });
});
