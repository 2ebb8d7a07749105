/** An agent starts a program; the person is offered to join, looks on, types, and leaves without ending it. */
import assert from "node:assert/strict";
import * as path from "node:path";
import { dotnetVariables } from "../environment";
import { Agent } from "./agent";
import { scenario } from "./workbench";

scenario("a person joins an agent's session, and leaves without ending it", "shop", async (bench) => {
  await bench.openFile("Program.cs");
  const agent = await Agent.start("claude-code", bench.runtimeFolder, dotnetVariables());
  bench.atEnd(() => agent.close());
  const source = path.join(bench.folder, "Program.cs");
  await agent.call("debug_launch", { program: bench.folder, stopAtEntry: false, breakpoints: [{ sourceFile: source, line: 20 }] });

  await bench.command("Tandem: Join a Session");
  await bench.listed("shop").waitFor();
  await bench.picture("join");
  await bench.page.keyboard.press("Escape");
  const offer = await bench.notification("The agent claude-code debugs shop in the session");
  await offer.locator(".monaco-button", { hasText: "Join" }).click();

  // Earlier output is there, and so are the other clients.
  await bench.terminalShows("your name?");
  await bench.status().filter({ hasText: "you + claude-code" }).waitFor();
  await bench.mark("return total;").waitFor({ state: "attached" });
  await bench.typeIntoTerminal("ann\n");
  await bench.stoppedAt(20);
  const answer = await agent.call("debug_status", {});
  assert.equal(answer["state"], "stopped", JSON.stringify(answer));
  await bench.picture("joined");

  await bench.command("Tandem: Leave Without Ending");
  await bench.status().waitFor({ state: "hidden" });
  const after = await agent.call("debug_status", {});
  assert.equal(after["state"], "stopped", JSON.stringify(after));
});
