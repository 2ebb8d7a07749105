/** A web project whose launch profile opens a browser. */
import assert from "node:assert/strict";
import type { Page } from "playwright-core";
import { STEP_TIMEOUT_MS } from "../environment";
import { scenario, type Workbench } from "./workbench";

/** Starts the program and returns the page that VS Code opens. */
async function startAndOpenPage(bench: Workbench): Promise<Page> {
  const [page] = await Promise.all([bench.page.context().waitForEvent("page", { timeout: STEP_TIMEOUT_MS }), startProgram(bench)]);
  return page;
}

async function startProgram(bench: Workbench): Promise<void> {
  await bench.openFile("Program.cs");
  await bench.openDebugView();
  await bench.page.keyboard.press("F5");
}

async function stopProgram(bench: Workbench): Promise<void> {
  await bench.page.keyboard.press("Shift+F5");
  await bench.statusItem().waitFor({ state: "hidden" });
}

scenario("F5 on a web project opens the page of its launch profile once, when the server listens", "site", async (bench) => {
  const page = await startAndOpenPage(bench);
  await page.getByText("the page is /orders?of=bob").waitFor();
  await bench.waitForTerminalText("Now listening on: http://127.0.0.1:");
  await bench.page.bringToFront();
  await bench.takeScreenshot("browser");
  assert.equal(bench.page.context().pages().length, 2);
  await stopProgram(bench);
});

scenario("a web project in VS Code's integrated terminal opens its page, too", "site", async (bench) => {
  const page = await startAndOpenPage(bench);
  await page.getByText("the page is /orders?of=bob").waitFor();
  await bench.page.bringToFront();
  await bench.waitForTerminalText("Now listening on: http://127.0.0.1:");
  await bench.openDebugView();
  await stopProgram(bench);
}, { launch: { type: "tandem", request: "launch", name: "site", program: "${workspaceFolder}/site.csproj", console: "integratedTerminal" } });

scenario("the serverReadyAction of a launch configuration takes precedence over the profile", "site", async (bench) => {
  const page = await startAndOpenPage(bench);
  await page.getByText("the page is /mine").waitFor();
  await bench.page.bringToFront();
  await stopProgram(bench);
}, {
  launch: {
    type: "tandem", request: "launch", name: "site", program: "${workspaceFolder}",
    serverReadyAction: { action: "openExternally", pattern: "Now listening on: http://127.0.0.1:([0-9]+)", uriFormat: "http://127.0.0.1:%s/mine" },
  },
});

scenario("`serverReadyAction: false` opens nothing", "site", async (bench) => {
  await startProgram(bench);
  await bench.waitForTerminalText("Application started.");
  // The page that is not wanted would be opened at once.
  await bench.page.waitForTimeout(3_000);
  assert.equal(bench.page.context().pages().length, 1);
  await stopProgram(bench);
}, { launch: { type: "tandem", request: "launch", name: "site", program: "${workspaceFolder}", serverReadyAction: false } });
