/** `console`: the program in a terminal of VS Code's own instead of Tandem's. */
import assert from "node:assert/strict";
import { Agent } from "./agent";
import { scenario } from "./workbench";

scenario("a Python module of the open folder in VS Code's integrated terminal: typed into there, closed to agents", "greeter", async (bench) => {
  const { page } = bench;
  await bench.openFile("greeter.py");
  await bench.setBreakpoint(4);
  await bench.debugView();
  await page.keyboard.press("F5");
  await bench.terminalShows("how many?");
  await bench.status().filter({ hasText: "only you" }).waitFor();
  const agent = await Agent.joining(bench);
  await assert.rejects(agent.call("process_write_input", { data: "2\n" }), /IO_NOT_OWNED/);
  await bench.typeIntoTerminal("2\n");
  await bench.stoppedAt(4);
  await bench.picture("integrated-terminal");
  await bench.removeBreakpoint(4);
  await page.keyboard.press("F5");
  await bench.terminalShows("hello bob");
  await bench.status().waitFor({ state: "hidden" });
}, { launch: { type: "tandem", request: "launch", name: "greeter", module: "greeter", console: "integratedTerminal" } });

scenario("a C# program in VS Code's integrated terminal: stopped, typed into, run again, ended with its terminal", "shop", async (bench) => {
  const { page } = bench;
  await bench.openFile("Program.cs");
  await bench.setBreakpoint(18);
  await bench.debugView();
  await page.keyboard.press("F5");
  await bench.terminalShows("your name?");
  const agent = await Agent.joining(bench);
  await assert.rejects(agent.call("process_read_output", {}), /IO_NOT_OWNED/);
  await bench.typeIntoTerminal("bob\n");
  await bench.stoppedAt(18);
  await bench.picture("dotnet-terminal");
  await bench.removeBreakpoint(18);
  await page.keyboard.press("F5");
  await bench.terminalShows("bob pays 10.20");
  await bench.status().waitFor({ state: "hidden" });

  // The same terminal is used again.
  await bench.command("Terminal: Clear");
  await page.locator(".terminal-wrapper.active .xterm-rows", { hasText: "bob pays" }).waitFor({ state: "detached" });
  await page.keyboard.press("F5");
  await bench.terminalShows("your name?");
  await bench.status().waitFor();
  await bench.command("Terminal: Kill the Active Terminal Instance");
  await bench.status().waitFor({ state: "hidden" });
}, { launch: { type: "tandem", request: "launch", name: "shop", program: "${workspaceFolder}/shop.csproj", console: "integratedTerminal" } });
