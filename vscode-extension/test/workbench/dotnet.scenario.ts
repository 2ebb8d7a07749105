/** A person and an agent in one session of a C# program, in a real VS Code. */
import assert from "node:assert/strict";
import * as path from "node:path";
import { Agent } from "./agent";
import { scenario } from "./workbench";

const IN_LOOP = 18;
const HEAD = 16;
const RETURN = 20;

scenario("F5, a stop, a hover, input in the program's terminal, and an agent that joins, steps and continues", "shop", async (bench) => {
  const { page } = bench;
  await bench.openFile("Program.cs");
  await bench.setBreakpoint(IN_LOOP);
  await bench.debugView();
  await page.keyboard.press("F5");
  // The project is built first; then the program asks, and its terminal's tab says that it does.
  await bench.terminalShows("your name?");
  await page.getByText("shop (waits for input)").first().waitFor();
  await bench.picture("terminal");
  await bench.typeIntoTerminal("bobb\b\n");
  await bench.stoppedAt(IN_LOOP);
  assert.match(await bench.terminalText(), /your name\? bob/);
  await bench.status().filter({ hasText: "only you" }).waitFor();
  await bench.expand(bench.debugRow("Variables", "Locals"));
  await bench.debugRow("Variables", /total.*0/).first().waitFor();
  await bench.debugRow("Call Stack", "Total").first().waitFor();
  await bench.word("order.Count", "order").hover();
  await page.locator(".debug-hover-widget", { hasText: "Price" }).waitFor();
  await bench.picture("stopped");
  await page.mouse.move(5, 5);
  await page.keyboard.press("F10");
  await bench.stoppedAt(IN_LOOP + 1);
  await bench.status().filter({ hasText: "you stepped over" }).waitFor();

  const agent = await Agent.joining(bench);
  await agent.call("debug_set_breakpoint", { sourceFile: path.join(bench.folder, "Program.cs"), line: RETURN });
  // It appears in the gutter and in the list, labelled with its owner's name.
  await bench.debugRow("Breakpoints", String(RETURN)).first().waitFor();
  await bench.mark("return total;").waitFor({ state: "attached" }); // Its text comes from CSS.
  await agent.call("debug_step_over", {});
  await bench.stoppedAt(HEAD);
  await bench.status().filter({ hasText: "claude-code stepped over" }).waitFor();
  await bench.debugRow("Variables", /total.*9/).first().waitFor();
  // The loop's variable is out of scope at its head.
  await bench.debugRow("Variables", /^order\b/).first().waitFor({ state: "detached" });
  await bench.picture("agent");
  await bench.pictureWithCallOuts("call-outs", [
    { part: bench.page.locator(".view-line", { hasText: "return total;" }).locator('[class*="ced-"]').last(), skip: 24, text: "the agent's breakpoint, with its name", left: 660, top: 400 },
    { part: bench.status(), text: "the clients of the session, and the last action", left: 380, top: 690 },
  ]);

  await bench.command("Tandem: Let Agents Look Only");
  await page.locator(".statusbar", { hasText: "agents may look" }).waitFor();
  await assert.rejects(agent.call("debug_continue", {}), /ACCESS_DENIED/);
  await bench.command("Tandem: Let Agents Control");
  await page.locator(".statusbar", { hasText: "agents may control" }).waitFor();
  await bench.removeBreakpoint(IN_LOOP); // The person's own.
  await bench.debugRow("Breakpoints", String(IN_LOOP)).first().waitFor({ state: "detached" });
  await agent.call("debug_continue", {});
  await bench.stoppedAt(RETURN);
  await bench.status().filter({ hasText: "claude-code continued" }).waitFor();
  await agent.call("debug_remove_breakpoint", { breakpointId: await agentsBreakpoint(agent) });
  await bench.mark("return total;").waitFor({ state: "detached" });
  await agent.close();
  await bench.status().filter({ hasText: "only you" }).waitFor();

  await page.keyboard.press("F5");
  await bench.terminalShows("the program ended with exit code 3");
  assert.match(await bench.terminalText(), /bob pays 10/);
  await bench.status().waitFor({ state: "hidden" });
  await bench.picture("ended");
});

async function agentsBreakpoint(agent: Agent): Promise<unknown> {
  const { breakpoints } = (await agent.call("debug_list_breakpoints", {})) as { breakpoints: readonly Readonly<Record<string, unknown>>[] };
  return breakpoints.find((one) => one["line"] === RETURN)?.["id"];
}
