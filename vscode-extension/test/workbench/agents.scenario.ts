/** Access of agents: their configuration, the walkthrough, VS Code's list of MCP servers, and restrictions. */
import assert from "node:assert/strict";
import * as path from "node:path";
import { Agent } from "./agent";
import { scenario } from "./workbench";

scenario("a command copies an agent's configuration, and the walkthrough opens", "shop", async (bench) => {
  const { page } = bench;
  await bench.openFile("Program.cs");
  await bench.runCommand("Tandem: Copy Agent Configuration");
  await bench.listItem("Codex").waitFor();
  await bench.takeScreenshot("copy-agent-configuration");
  await bench.chooseItem("Codex");
  await bench.waitForNotification("Copied for Codex");
  const copied = await page.evaluate(() => navigator.clipboard.readText());
  assert.match(copied, /\[mcp_servers\.tandem\]\ncommand = ".*\/bin\/tandem-mcp"/);
  await bench.runCommand("Welcome: Open Walkthrough");
  await bench.chooseItem("Debug together with an agent");
  await page.locator(".getting-started-step", { hasText: "Start a program" }).first().waitFor();
  await bench.takeScreenshot("walkthrough");
});

scenario("VS Code lists Tandem's MCP server", "shop", async (bench) => {
  await bench.openFile("Program.cs");
  await bench.runCommand("MCP: List Servers");
  await bench.listItem("Tandem debugger").waitFor();
  await bench.takeScreenshot("mcp-server");
}, { settings: { "chat.disableAIFeatures": false } });

scenario("commands take away and restore the access of agents", "greeter", async (bench) => {
  const { page } = bench;
  await bench.openFile("greeter.py");
  await bench.openDebugView();
  await page.keyboard.press("F5");
  await bench.waitForTerminalText("how many?");
  const agent = await Agent.joinSession(bench);
  await agent.call("process_read_output", {});
  await bench.runCommand("Tandem: Let Agents Do Nothing");
  await page.locator(".statusbar", { hasText: "agents may do nothing" }).waitFor();
  await assert.rejects(agent.call("process_read_output", {}), /ACCESS_DENIED/);
  await assert.rejects(agent.call("process_write_input", { data: "1\n" }), /ACCESS_DENIED/);
  await bench.takeScreenshot("agents-do-nothing");
  await bench.runCommand("Tandem: Let Agents Control");
  await page.locator(".statusbar", { hasText: "agents may control" }).waitFor();
  await agent.call("process_write_input", { data: "1\n" });
  await bench.waitForTerminalText("hello ann");
  await bench.waitForTerminalText("the program ended with exit code 0");
});

scenario("the window shows an agent's actions, and the user limits its access", "greeter", async (bench) => {
  const { page } = bench;
  await bench.openFile("greeter.py");
  await bench.openDebugView();
  await page.keyboard.press("F5");
  await bench.waitForTerminalText("how many?");
  await bench.statusItem().filter({ hasText: "only you" }).waitFor();
  const agent = await Agent.joinSession(bench);
  const offer = await bench.waitForNotification("The agent claude-code joined");
  await bench.statusItem().filter({ hasText: "agents control" }).waitFor();
  // The view is collapsed by default; its title shows the latest action.
  const activity = page.locator(".pane", { hasText: "Tandem Activity" });
  await activity.locator(".pane-header").getByText(/Tandem Activity: claude-code joined/).first().waitFor();
  await bench.takeScreenshot("agent-joined");
  await offer.locator(".monaco-button", { hasText: "Let Agents Look Only" }).click();
  await bench.statusItem().filter({ hasText: "agents look" }).waitFor();
  await assert.rejects(agent.call("process_write_input", { data: "1\n" }), /ACCESS_DENIED/);
  const refused = await bench.waitForNotification("The agent claude-code wanted to type into the program");
  await bench.takeScreenshot("agent-refused");
  await refused.locator(".monaco-button", { hasText: "Let Agents Control" }).click();
  await bench.statusItem().filter({ hasText: "agents control" }).waitFor();
  await agent.call("process_write_input", { data: "1\n" });
  // The terminal shows the agent's input with its name, and the view shows its actions.
  await bench.waitForTerminalText("claude-code typed: 1");
  await activity.locator(".pane-header").click();
  for (const action of ["claude-code joined", "you decided: agents may look", "claude-code was refused to type", "claude-code typed 1"]) {
    await activity.locator(".monaco-list-row", { hasText: action }).first().waitFor();
  }
  await bench.takeScreenshot("activity");
  await bench.waitForTerminalText("the program ended with exit code 0");
});

scenario("a reloaded window removes an agent's breakpoints and keeps the user's own", "greeter", async (bench) => {
  const { page } = bench;
  const row = (line: number) => bench.debugRow("Breakpoints", new RegExp(`greeter\\.py\\s*${line}$`));
  await bench.openFile("greeter.py");
  await bench.setBreakpoint(4);
  await bench.openDebugView();
  await page.keyboard.press("F5");
  await bench.waitForTerminalText("how many?");
  await bench.statusItem().filter({ hasText: "only you" }).waitFor();
  const agent = await Agent.joinSession(bench);
  const sourceFile = path.join(bench.folder, "greeter.py");
  // The agent and VS Code set breakpoints in the same file at once: VS Code sends its own with those of the agent that it shows.
  const agentCalls = [5, 9].map((line) => agent.call("debug_set_breakpoint", { sourceFile, line }));
  await bench.setBreakpoint(10);
  await Promise.all(agentCalls);
  for (const line of [4, 5, 9, 10]) {
    await row(line).first().waitFor();
  }
  await bench.takeScreenshot("both-breakpoints");
  // A reload ends the session like a closed tab.
  await page.reload();
  await page.locator(".monaco-workbench").waitFor();
  await bench.openDebugView();
  for (const line of [4, 10]) {
    await row(line).first().waitFor();
  }
  for (const line of [5, 9]) {
    await row(line).first().waitFor({ state: "detached" });
  }
  await bench.takeScreenshot("own-breakpoints");
});
