/** A web project whose launch profile asks for a browser. */
import assert from "node:assert/strict";
import type { Page } from "playwright-core";
import { DEADLINE } from "../environment";
import { scenario, type Workbench } from "./workbench";

/** The page that VS Code opens once the program was started. */
async function opened(bench: Workbench): Promise<Page> {
  const [page] = await Promise.all([bench.page.context().waitForEvent("page", { timeout: DEADLINE }), starts(bench)]);
  return page;
}

async function starts(bench: Workbench): Promise<void> {
  await bench.openFile("Program.cs");
  await bench.debugView();
  await bench.page.keyboard.press("F5");
}

async function stops(bench: Workbench): Promise<void> {
  await bench.page.keyboard.press("Shift+F5");
  await bench.status().waitFor({ state: "hidden" });
}

scenario("F5 on a web project opens the page of its launch profile when the server listens, once", "site", async (bench) => {
  const page = await opened(bench);
  await page.getByText("the page is /orders?of=bob").waitFor();
  await bench.terminalShows("Now listening on: http://127.0.0.1:");
  await bench.page.bringToFront();
  await bench.picture("browser");
  assert.equal(bench.page.context().pages().length, 2);
  await stops(bench);
});

scenario("a web project in VS Code's integrated terminal opens its page, too", "site", async (bench) => {
  const page = await opened(bench);
  await page.getByText("the page is /orders?of=bob").waitFor();
  await bench.page.bringToFront();
  await bench.terminalShows("Now listening on: http://127.0.0.1:");
  await bench.debugView();
  await stops(bench);
}, { launch: { type: "tandem", request: "launch", name: "site", program: "${workspaceFolder}/site.csproj", console: "integratedTerminal" } });

scenario("a launch configuration's own action for a server wins over that of the profile", "site", async (bench) => {
  const page = await opened(bench);
  await page.getByText("the page is /mine").waitFor();
  await bench.page.bringToFront();
  await stops(bench);
}, {
  launch: {
    type: "tandem", request: "launch", name: "site", program: "${workspaceFolder}",
    serverReadyAction: { action: "openExternally", pattern: "Now listening on: http://127.0.0.1:([0-9]+)", uriFormat: "http://127.0.0.1:%s/mine" },
  },
});

scenario("`serverReadyAction: false` opens nothing", "site", async (bench) => {
  await starts(bench);
  await bench.terminalShows("Application started.");
  // The page that is not wanted would be opened at once.
  await bench.page.waitForTimeout(3_000);
  assert.equal(bench.page.context().pages().length, 1);
  await stops(bench);
}, { launch: { type: "tandem", request: "launch", name: "site", program: "${workspaceFolder}", serverReadyAction: false } });
