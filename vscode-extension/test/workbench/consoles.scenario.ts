/** `console`: the program runs in VS Code's integrated terminal instead of Tandem's. */
import assert from "node:assert/strict";
import { Agent } from "./agent";
import { scenario } from "./workbench";

scenario("a Python module reads input from VS Code's integrated terminal, and agents cannot", "greeter", async (bench) => {
  const { page } = bench;
  await bench.openFile("greeter.py");
  await bench.setBreakpoint(4);
  await bench.openDebugView();
  await page.keyboard.press("F5");
  await bench.waitForTerminalText("how many?");
  await bench.statusItem().filter({ hasText: "only you" }).waitFor();
  const agent = await Agent.joinSession(bench);
  await assert.rejects(agent.call("process_write_input", { data: "2\n" }), /IO_NOT_OWNED/);
  await bench.typeIntoTerminal("2\n");
  await bench.waitForStopAt(4);
  await bench.takeScreenshot("integrated-terminal");
  await bench.removeBreakpoint(4);
  await page.keyboard.press("F5");
  await bench.waitForTerminalText("hello bob");
  await bench.statusItem().waitFor({ state: "hidden" });
}, { launch: { type: "tandem", request: "launch", name: "greeter", module: "greeter", console: "integratedTerminal" } });

scenario("a C# program in VS Code's integrated terminal reads input, runs again, and ends with its terminal", "shop", async (bench) => {
  const { page } = bench;
  await bench.openFile("Program.cs");
  await bench.setBreakpoint(18);
  await bench.openDebugView();
  await page.keyboard.press("F5");
  await bench.waitForTerminalText("your name?");
  const agent = await Agent.joinSession(bench);
  await assert.rejects(agent.call("process_read_output", {}), /IO_NOT_OWNED/);
  await bench.typeIntoTerminal("bob\n");
  await bench.waitForStopAt(18);
  await bench.takeScreenshot("dotnet-terminal");
  await bench.removeBreakpoint(18);
  await page.keyboard.press("F5");
  await bench.waitForTerminalText("bob pays 10.20");
  await bench.statusItem().waitFor({ state: "hidden" });

  // The next launch uses the same terminal.
  await bench.runCommand("Terminal: Clear");
  await page.locator(".terminal-wrapper.active .xterm-rows", { hasText: "bob pays" }).waitFor({ state: "detached" });
  await page.keyboard.press("F5");
  await bench.waitForTerminalText("your name?");
  await bench.statusItem().waitFor();
  await bench.runCommand("Terminal: Kill the Active Terminal Instance");
  await bench.statusItem().waitFor({ state: "hidden" });
}, { launch: { type: "tandem", request: "launch", name: "shop", program: "${workspaceFolder}/shop.csproj", console: "integratedTerminal" } });
