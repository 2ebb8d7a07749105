/** A user and an agent in one session of a C# program. */
import assert from "node:assert/strict";
import * as path from "node:path";
import { Agent } from "./agent";
import { scenario } from "./workbench";

const IN_LOOP = 18;
const HEAD = 16;
const RETURN = 20;

scenario("a user starts, inspects and steps a C# program, and an agent joins, steps and continues it", "shop", async (bench) => {
  const { page } = bench;
  await bench.openFile("Program.cs");
  await bench.setBreakpoint(IN_LOOP);
  await bench.openDebugView();
  await page.keyboard.press("F5");
  // Tandem builds the project first. The tab of the terminal then shows that the program waits for input.
  await bench.waitForTerminalText("your name?");
  await page.getByText("shop (waits for input)").first().waitFor();
  await bench.takeScreenshot("terminal");
  await bench.typeIntoTerminal("bobb\b\n");
  await bench.waitForStopAt(IN_LOOP);
  assert.match(await bench.readTerminal(), /your name\? bob/);
  await bench.statusItem().filter({ hasText: "only you" }).waitFor();
  await bench.expand(bench.debugRow("Variables", "Locals"));
  await bench.debugRow("Variables", /total.*0/).first().waitFor();
  await bench.debugRow("Call Stack", "Total").first().waitFor();
  await bench.wordInLine("order.Count", "order").hover();
  await page.locator(".debug-hover-widget", { hasText: "Price" }).waitFor();
  await bench.takeScreenshot("stopped");
  await page.mouse.move(5, 5);
  await page.keyboard.press("F10");
  await bench.waitForStopAt(IN_LOOP + 1);
  await bench.statusItem().filter({ hasText: "you stepped over" }).waitFor();

  const agent = await Agent.joinSession(bench);
  await agent.call("debug_set_breakpoint", { sourceFile: path.join(bench.folder, "Program.cs"), line: RETURN });
  // The breakpoint appears in the gutter and in the list, and its owner's name after the line.
  await bench.debugRow("Breakpoints", String(RETURN)).first().waitFor();
  await bench.breakpointOwner("return total;").waitFor({ state: "attached" }); // CSS inserts the name.
  await agent.call("debug_step_over", {});
  await bench.waitForStopAt(HEAD);
  await bench.statusItem().filter({ hasText: "claude-code stepped over" }).waitFor();
  await bench.debugRow("Variables", /total.*9/).first().waitFor();
  // The loop's variable is out of scope at its head.
  await bench.debugRow("Variables", /^order\b/).first().waitFor({ state: "detached" });
  await bench.takeScreenshot("agent");
  await bench.takeAnnotatedScreenshot("call-outs", [
    { part: bench.page.locator(".view-line", { hasText: "return total;" }).locator('[class*="ced-"]').last(), leftInset: 24, text: "the agent's breakpoint, with its name", left: 660, top: 400 },
    { part: bench.statusItem(), text: "the clients of the session, and the last action", left: 380, top: 690 },
  ]);

  await bench.runCommand("Tandem: Let Agents Look Only");
  await page.locator(".statusbar", { hasText: "agents may look" }).waitFor();
  await assert.rejects(agent.call("debug_continue", {}), /ACCESS_DENIED/);
  await bench.runCommand("Tandem: Let Agents Control");
  await page.locator(".statusbar", { hasText: "agents may control" }).waitFor();
  await bench.removeBreakpoint(IN_LOOP); // The user's own breakpoint.
  await bench.debugRow("Breakpoints", String(IN_LOOP)).first().waitFor({ state: "detached" });
  await agent.call("debug_continue", {});
  await bench.waitForStopAt(RETURN);
  await bench.statusItem().filter({ hasText: "claude-code continued" }).waitFor();
  await agent.call("debug_remove_breakpoint", { breakpointId: await findAgentBreakpoint(agent) });
  await bench.breakpointOwner("return total;").waitFor({ state: "detached" });
  await agent.close();
  await bench.statusItem().filter({ hasText: "only you" }).waitFor();

  await page.keyboard.press("F5");
  await bench.waitForTerminalText("the program ended with exit code 3");
  assert.match(await bench.readTerminal(), /bob pays 10/);
  await bench.statusItem().waitFor({ state: "hidden" });
  await bench.takeScreenshot("ended");
});

async function findAgentBreakpoint(agent: Agent): Promise<unknown> {
  const { breakpoints } = (await agent.call("debug_list_breakpoints", {})) as { breakpoints: readonly Readonly<Record<string, unknown>>[] };
  return breakpoints.find((one) => one["line"] === RETURN)?.["id"];
}
