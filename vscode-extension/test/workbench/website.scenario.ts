/** A web site of ASP.NET Core and EF Core that a person and an agent debug at once in a real VS Code, while real requests come. */
import assert from "node:assert/strict";
import { readFileSync, writeFileSync } from "node:fs";
import * as path from "node:path";
import { test } from "node:test";
import { DEADLINE, ROOT, environment, installedDotnetVariables } from "../environment";
import { Agent } from "./agent";
import { Editor } from "./editor";
import { evaluates, watches } from "./values";
import { inWindow, type Workbench } from "./workbench";

const SITE = path.join(ROOT, "fixtures/programs/modern/website");

/** The line (from 1) of a source of the site that has this text. */
function lineWith(file: string, text: string): number {
  return readFileSync(path.join(SITE, file), "utf8").split("\n").findIndex((line) => line.includes(text)) + 1;
}

/** Sets a breakpoint as a person does, at the line with this text; returns the line. */
async function breaksAt(bench: Workbench, file: string, text: string): Promise<number> {
  const line = lineWith(file, text);
  await bench.openFile(file);
  await bench.goToLine(line);
  await bench.setBreakpoint(line);
  return line;
}

/** The result of an agent's expression. */
async function result(agent: Agent, expression: string): Promise<unknown> {
  return (await agent.call("debug_evaluate", { expression }))["result"];
}

/** The server's final response; the server may be stopped in between. */
function request(address: string, init: RequestInit = {}): Promise<Response> {
  const answer = fetch(address, { ...init, signal: AbortSignal.timeout(3 * DEADLINE) });
  // The caller that awaits it handles a rejection; a test that fails before that must not end the run.
  answer.catch(() => {});
  return answer;
}

async function debugsTogether(bench: Workbench): Promise<void> {
  const { page } = bench;
  // The build is among what is waited for.
  page.setDefaultTimeout(3 * DEADLINE);
  const feed = process.env["TANDEM_NUGET_FEED"];
  if (feed !== undefined) {
    const sources = `<packageSources><clear/><add key="feed" value="${feed}"/></packageSources>`;
    writeFileSync(path.join(bench.folder, "nuget.config"), `<configuration>${sources}</configuration>`);
  }
  const inView = await breaksAt(bench, "Pages/Index.cshtml", "<li>");
  const found = await breaksAt(bench, "OrdersController.cs", "BP found");
  await bench.debugView();
  // The project is built; its launch profile asks for a browser, whose page has come when the view, which stops, has answered.
  const coming = page.context().waitForEvent("page", { timeout: 3 * DEADLINE });
  await page.keyboard.press("F5");
  coming.catch(() => {});
  await page.locator(".editor-group-container .tab.active", { hasText: "Index.cshtml" }).waitFor();
  await bench.stoppedAt(inView);
  await watches(bench, "order.Customer", '"ann"');
  await bench.removeBreakpoint(inView);
  await page.keyboard.press("F5");
  const shop = await coming;
  await shop.getByText("bob has 2").waitFor();
  await page.bringToFront();
  // A request to the controller, at which the person's breakpoint stops both.
  const agent = await Agent.joining(bench);
  // The page's own address is VS Code's, which passes it on.
  const { matched } = await agent.call("process_read_output", { waitFor: "listening on: http://[0-9.:]+" });
  const address = String(matched).replace("listening on: ", "");
  const answer = request(`${address}/orders/1`);
  await bench.stoppedAt(found);
  const hit = (await agent.call("debug_wait", {})) as { event: { file: string; line: number } };
  assert.deepEqual([path.basename(hit.event.file), hit.event.line], ["OrdersController.cs", found]);
  await watches(bench, "shop.Orders.Count(one => one.Lines.Any(line => line.Count > 3))", "1");
  await evaluates(bench, "order.Lines.Count", "2");
  assert.equal(await result(agent, "order.Lines[1].Goods"), '"pen"');
  assert.equal(await result(agent, "(await shop.Orders.OrderBy(one => one.Customer).LastAsync()).Customer"), '"bob"');
  await bench.picture("website-controller");
  // The agent steps, and the person sees the new location and the agent's name.
  await agent.call("debug_step", {});
  const sum = lineWith("OrdersController.cs", "order.Lines.Sum");
  await bench.stoppedAt(sum);
  await bench.status().filter({ hasText: "claude-code stepped over" }).waitFor();
  const mark = { sourceFile: path.join(bench.folder, "Packing.cs"), line: lineWith("Packing.cs", "BP packs") };
  await agent.call("debug_set_breakpoint", mark);
  await agent.call("debug_step", {});
  await bench.stoppedAt(sum + 1);
  await bench.expand(bench.debugRow("Variables", "Locals"));
  await bench.debugRow("Variables", /pieces.*6/).first().waitFor();
  await bench.picture("website-agent");
  await page.keyboard.press("F5");
  assert.equal(await (await answer).text(), "ann: 6");

  // The agent's own breakpoint in the background service stops both; VS Code opens its file.
  assert.equal((await request(`${address}/orders/2`, { method: "POST" })).status, 202);
  await page.locator(".editor-group-container .tab.active", { hasText: "Packing.cs" }).waitFor();
  await bench.stoppedAt(mark.line);
  await agent.call("debug_wait", {});
  assert.equal(await result(agent, "order.Customer"), '"bob"');
  // The person's watch is of this stop. The pane of the stack is too small to show the frame among so many threads.
  await bench.debugRow("Watch", /order\.Customer.*bob/).first().waitFor();
  await bench.picture("website-service");
  await agent.call("debug_continue", { timeoutMs: 500 });
  // The terminal shows the end of the output only after scrolling there.
  await agent.call("process_read_output", { waitFor: "packed 1 lines for bob" });
  await agent.close();
  await bench.status().filter({ hasText: "only you" }).waitFor();
  await shop.close();
  await page.bringToFront();
  await page.keyboard.press("Shift+F5");
  await bench.status().waitFor({ state: "hidden" });
}

test("a web site is debugged by a person and an agent at once: its view, its controller and its background service", {
  skip: environment().modern["website"] === undefined && "no .NET SDK 10 is installed", timeout: 8 * DEADLINE,
}, async () => {
  await Editor.on(installedDotnetVariables);
  await inWindow("a web site", SITE, debugsTogether, {});
});
