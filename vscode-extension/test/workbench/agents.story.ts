/** How agents get to Tandem: their configuration copied, the walkthrough, the bridge among VS Code's own MCP servers. */
import assert from "node:assert/strict";
import { story } from "./workbench";

story("an agent's configuration is copied, and the walkthrough shows the way", "shop", async (bench) => {
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

story("the bridge is among the MCP servers of VS Code's own agents", "shop", async (bench) => {
  await bench.openFile("Program.cs");
  await bench.command("MCP: List Servers");
  await bench.listed("Tandem debugger").waitFor();
  await bench.picture("mcp-server");
}, { settings: { "chat.disableAIFeatures": false } });
