/** How agents get to Tandem: their configuration copied, the walkthrough, the bridge among VS Code's own MCP servers; and how they
 * are kept from it. */
import assert from "node:assert/strict";
import * as path from "node:path";
import { Agent } from "./agent";
import { scenario } from "./workbench";

scenario("an agent's configuration is copied, and the walkthrough shows the way", "shop", async (bench) => {
  const { page } = bench;
  await bench.openFile("Program.cs");
  await bench.command("Tandem: Copy Agent Configuration");
  await bench.listed("Codex").waitFor();
  await bench.picture("copy-agent-configuration");
  await bench.choose("Codex");
  await bench.notification("Copied for Codex");
  const copied = await page.evaluate(() => navigator.clipboard.readText());
  assert.match(copied, /\[mcp_servers\.tandem\]\ncommand = ".*\/bin\/tandem-mcp"/);
  await bench.command("Welcome: Open Walkthrough");
  await bench.choose("Debug together with an agent");
  await page.locator(".getting-started-step", { hasText: "Start a program" }).first().waitFor();
  await bench.picture("walkthrough");
});

scenario("the bridge is among the MCP servers of VS Code's own agents", "shop", async (bench) => {
  await bench.openFile("Program.cs");
  await bench.command("MCP: List Servers");
  await bench.listed("Tandem debugger").waitFor();
  await bench.picture("mcp-server");
}, { settings: { "chat.disableAIFeatures": false } });

scenario("agents are let do nothing, then let back in", "greeter", async (bench) => {
  const { page } = bench;
  await bench.openFile("greeter.py");
  await bench.debugView();
  await page.keyboard.press("F5");
  await bench.terminalShows("how many?");
  const agent = await Agent.joining(bench);
  await agent.call("process_read_output", {});
  await bench.command("Tandem: Let Agents Do Nothing");
  await page.locator(".statusbar", { hasText: "agents may do nothing" }).waitFor();
  await assert.rejects(agent.call("process_read_output", {}), /ACCESS_DENIED/);
  await assert.rejects(agent.call("process_write_input", { data: "1\n" }), /ACCESS_DENIED/);
  await bench.picture("agents-do-nothing");
  await bench.command("Tandem: Let Agents Control");
  await page.locator(".statusbar", { hasText: "agents may control" }).waitFor();
  await agent.call("process_write_input", { data: "1\n" });
  await bench.terminalShows("hello ann");
  await bench.terminalShows("the program ended with exit code 0");
});

scenario("what an agent does is seen, and a person who joins its session limits it", "greeter", async (bench) => {
  const { page } = bench;
  await bench.openFile("greeter.py");
  await bench.debugView();
  await page.keyboard.press("F5");
  await bench.terminalShows("how many?");
  await bench.status().filter({ hasText: "only you" }).waitFor();
  const agent = await Agent.joining(bench);
  const offer = await bench.notification("The agent claude-code joined");
  await bench.status().filter({ hasText: "agents control" }).waitFor();
  // The view is collapsed until a person opens it; its title shows the latest action.
  const activity = page.locator(".pane", { hasText: "Tandem Activity" });
  await activity.locator(".pane-header").getByText(/Tandem Activity: claude-code joined/).first().waitFor();
  await bench.picture("agent-joined");
  await offer.locator(".monaco-button", { hasText: "Let Agents Look Only" }).click();
  await bench.status().filter({ hasText: "agents look" }).waitFor();
  await assert.rejects(agent.call("process_write_input", { data: "1\n" }), /ACCESS_DENIED/);
  const refused = await bench.notification("The agent claude-code wanted to type into the program");
  await bench.picture("agent-refused");
  await refused.locator(".monaco-button", { hasText: "Let Agents Control" }).click();
  await bench.status().filter({ hasText: "agents control" }).waitFor();
  await agent.call("process_write_input", { data: "1\n" });
  // Its words are in the terminal with its name, and all it did is in the view.
  await bench.terminalShows("claude-code typed: 1");
  await activity.locator(".pane-header").click();
  for (const action of ["claude-code joined", "you decided: agents may look", "claude-code was refused to type", "claude-code typed 1"]) {
    await activity.locator(".monaco-list-row", { hasText: action }).first().waitFor();
  }
  await bench.picture("activity");
  await bench.terminalShows("the program ended with exit code 0");
});

scenario("an agent's breakpoints are gone from the window that comes after, and the person's stay", "greeter", async (bench) => {
  const { page } = bench;
  const row = (line: number) => bench.debugRow("Breakpoints", new RegExp(`greeter\\.py\\s*${line}$`));
  await bench.openFile("greeter.py");
  await bench.setBreakpoint(4);
  await bench.debugView();
  await page.keyboard.press("F5");
  await bench.terminalShows("how many?");
  await bench.status().filter({ hasText: "only you" }).waitFor();
  const agent = await Agent.joining(bench);
  const sourceFile = path.join(bench.folder, "greeter.py");
  // Both at once, on the same file: VS Code sends its whole list for it, with what it was shown of the agent's in it.
  const byAgent = [5, 9].map((line) => agent.call("debug_set_breakpoint", { sourceFile, line }));
  await bench.setBreakpoint(10);
  await Promise.all(byAgent);
  for (const line of [4, 5, 9, 10]) {
    await row(line).first().waitFor();
  }
  await bench.picture("both-marks");
  // The window goes with the session in it, as with a closed tab.
  await page.reload();
  await page.locator(".monaco-workbench").waitFor();
  await bench.debugView();
  for (const line of [4, 10]) {
    await row(line).first().waitFor();
  }
  for (const line of [5, 9]) {
    await row(line).first().waitFor({ state: "detached" });
  }
  await bench.picture("own-marks");
});
