/** The user joins and leaves the session of an agent. */
import assert from "node:assert/strict";
import * as path from "node:path";
import { getDotnetVariables } from "../environment";
import { Agent } from "./agent";
import { scenario } from "./workbench";

scenario("a user joins an agent's session, and leaves without ending it", "shop", async (bench) => {
  await bench.openFile("Program.cs");
  const agent = await Agent.start("claude-code", bench.runtimeFolder, getDotnetVariables());
  bench.addCleanup(() => agent.close());
  const source = path.join(bench.folder, "Program.cs");
  await agent.call("debug_launch", { program: bench.folder, stopAtEntry: false, breakpoints: [{ sourceFile: source, line: 20 }] });

  await bench.runCommand("Tandem: Join a Session");
  await bench.listItem("shop").waitFor();
  await bench.takeScreenshot("join");
  await bench.page.keyboard.press("Escape");
  const offer = await bench.waitForNotification("The agent claude-code debugs shop in the session");
  await offer.locator(".monaco-button", { hasText: "Join" }).click();

  // The window shows earlier output and the other clients.
  await bench.waitForTerminalText("your name?");
  await bench.statusItem().filter({ hasText: "you + claude-code" }).waitFor();
  await bench.breakpointOwner("return total;").waitFor({ state: "attached" });
  await bench.typeIntoTerminal("ann\n");
  await bench.waitForStopAt(20);
  const status = await agent.call("debug_status", {});
  assert.equal(status["state"], "stopped", JSON.stringify(status));
  await bench.takeScreenshot("joined");

  await bench.runCommand("Tandem: Leave Without Ending");
  await bench.statusItem().waitFor({ state: "hidden" });
  const after = await agent.call("debug_status", {});
  assert.equal(after["state"], "stopped", JSON.stringify(after));
});
