/** A web site of ASP.NET Core and EF Core that a user and an agent debug together while it handles requests. */
import assert from "node:assert/strict";
import { readFileSync, writeFileSync } from "node:fs";
import * as path from "node:path";
import { test } from "node:test";
import { STEP_TIMEOUT_MS, ROOT, readEnvironment, getInstalledDotnetVariables } from "../environment";
import { Agent } from "./agent";
import { Editor } from "./editor";
import { evaluateInConsole, addWatch } from "./values";
import { runScenario, type Workbench } from "./workbench";

const SITE_FOLDER = path.join(ROOT, "fixtures/programs/modern/website");

/** Finds the line (from 1) of a source that contains this text. */
function findLine(file: string, text: string): number {
  return readFileSync(path.join(SITE_FOLDER, file), "utf8").split("\n").findIndex((line) => line.includes(text)) + 1;
}

/** Sets a breakpoint at the line with this text; returns the line. */
async function setBreakpointAtText(bench: Workbench, file: string, text: string): Promise<number> {
  const line = findLine(file, text);
  await bench.openFile(file);
  await bench.goToLine(line);
  await bench.setBreakpoint(line);
  return line;
}

/** Evaluates an expression as the agent. */
async function evaluate(agent: Agent, expression: string): Promise<unknown> {
  return (await agent.call("debug_evaluate", { expression }))["result"];
}

/** Sends a request and returns its response; the server may stop at a breakpoint in the meantime. */
function sendRequest(address: string, init: RequestInit = {}): Promise<Response> {
  const answer = fetch(address, { ...init, signal: AbortSignal.timeout(3 * STEP_TIMEOUT_MS) });
  // The caller handles a rejection later. Without this handler, a test that fails before would end the run.
  answer.catch(() => {});
  return answer;
}

async function debugTogether(bench: Workbench): Promise<void> {
  const { page } = bench;
  // The first step includes the build.
  page.setDefaultTimeout(3 * STEP_TIMEOUT_MS);
  const feed = process.env["TANDEM_NUGET_FEED"];
  if (feed !== undefined) {
    const sources = `<packageSources><clear/><add key="feed" value="${feed}"/></packageSources>`;
    writeFileSync(path.join(bench.folder, "nuget.config"), `<configuration>${sources}</configuration>`);
  }
  const inView = await setBreakpointAtText(bench, "Pages/Index.cshtml", "<li>");
  const found = await setBreakpointAtText(bench, "OrdersController.cs", "BP found");
  await bench.openDebugView();
  // The launch profile opens a browser. Its page loads after the breakpoint in the view.
  const opening = page.context().waitForEvent("page", { timeout: 3 * STEP_TIMEOUT_MS });
  await page.keyboard.press("F5");
  opening.catch(() => {});
  await page.locator(".editor-group-container .tab.active", { hasText: "Index.cshtml" }).waitFor();
  await bench.waitForStopAt(inView);
  await addWatch(bench, "order.Customer", '"ann"');
  await bench.removeBreakpoint(inView);
  await page.keyboard.press("F5");
  const shop = await opening;
  await shop.getByText("bob has 2").waitFor();
  await page.bringToFront();
  // The user's breakpoint in the controller stops the program for both clients.
  const agent = await Agent.joinSession(bench);
  // VS Code forwards the page: its address is not the server's.
  const { matched } = await agent.call("process_read_output", { waitFor: "listening on: http://[0-9.:]+" });
  const address = String(matched).replace("listening on: ", "");
  const response = sendRequest(`${address}/orders/1`);
  await bench.waitForStopAt(found);
  const hit = (await agent.call("debug_wait", {})) as { event: { file: string; line: number } };
  assert.deepEqual([path.basename(hit.event.file), hit.event.line], ["OrdersController.cs", found]);
  await addWatch(bench, "shop.Orders.Count(one => one.Lines.Any(line => line.Count > 3))", "1");
  await evaluateInConsole(bench, "order.Lines.Count", "2");
  assert.equal(await evaluate(agent, "order.Lines[1].Goods"), '"pen"');
  assert.equal(await evaluate(agent, "(await shop.Orders.OrderBy(one => one.Customer).LastAsync()).Customer"), '"bob"');
  await bench.takeScreenshot("website-controller");
  // The agent steps, and the window shows the new location and the agent's name.
  await agent.call("debug_step", {});
  const sum = findLine("OrdersController.cs", "order.Lines.Sum");
  await bench.waitForStopAt(sum);
  await bench.statusItem().filter({ hasText: "claude-code stepped over" }).waitFor();
  const breakpoint = { sourceFile: path.join(bench.folder, "Packing.cs"), line: findLine("Packing.cs", "BP packs") };
  await agent.call("debug_set_breakpoint", breakpoint);
  await agent.call("debug_step", {});
  await bench.waitForStopAt(sum + 1);
  await bench.expand(bench.debugRow("Variables", "Locals"));
  await bench.debugRow("Variables", /pieces.*6/).first().waitFor();
  await bench.takeScreenshot("website-agent");
  await page.keyboard.press("F5");
  assert.equal(await (await response).text(), "ann: 6");

  // The agent's breakpoint in the background service stops the program for both clients, and VS Code opens its file.
  assert.equal((await sendRequest(`${address}/orders/2`, { method: "POST" })).status, 202);
  await page.locator(".editor-group-container .tab.active", { hasText: "Packing.cs" }).waitFor();
  await bench.waitForStopAt(breakpoint.line);
  await agent.call("debug_wait", {});
  assert.equal(await evaluate(agent, "order.Customer"), '"bob"');
  // The watch shows the value at this stop. The call stack is too small to show the frame among the threads.
  await bench.debugRow("Watch", /order\.Customer.*bob/).first().waitFor();
  await bench.takeScreenshot("website-service");
  await agent.call("debug_continue", { timeoutMs: 500 });
  // The terminal shows the end of the output only after scrolling there.
  await agent.call("process_read_output", { waitFor: "packed 1 lines for bob" });
  await agent.close();
  await bench.statusItem().filter({ hasText: "only you" }).waitFor();
  await shop.close();
  await page.bringToFront();
  await page.keyboard.press("Shift+F5");
  await bench.statusItem().waitFor({ state: "hidden" });
}

test("a user and an agent debug a web site: its view, its controller and its background service", {
  skip: readEnvironment().modern["website"] === undefined && "no .NET SDK 10 is installed", timeout: 8 * STEP_TIMEOUT_MS,
}, async () => {
  await Editor.restartWithDotnet(getInstalledDotnetVariables);
  await runScenario("a web site", SITE_FOLDER, debugTogether, {});
});
