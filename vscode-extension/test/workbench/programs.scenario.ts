/** Messages about a missing `tandem-dap` or one of another version. */
import { chmodSync, writeFileSync } from "node:fs";
import * as path from "node:path";
import { scenario } from "./workbench";

scenario("a missing tandem-dap is reported, with a button that opens the setting", "greeter", async (bench) => {
  await bench.openFile("greeter.py");
  await bench.openDebugView();
  await bench.page.keyboard.press("F5");
  const message = await bench.waitForNotification("there is no program at /nowhere/tandem-dap, the path in the setting tandem.adapterPath");
  await bench.takeScreenshot("missing-adapter");
  await message.locator(".monaco-button", { hasText: "Open Settings" }).click();
  await bench.page.locator(".settings-editor", { hasText: "Adapter Path" }).waitFor();
  await bench.takeScreenshot("missing-adapter-settings");
}, { settings: { "tandem.adapterPath": "/nowhere/tandem-dap" } });

scenario("a tandem-dap of another version is not used, and the reason is shown", "greeter", async (bench) => {
  const other = path.join(bench.folder, "tandem-dap");
  writeFileSync(other, "#!/bin/sh\necho tandem-dap 9.9.9\n");
  chmodSync(other, 0o755);
  await bench.openFile("greeter.py");
  await bench.openDebugView();
  await bench.page.keyboard.press("F5");
  const message = await bench.waitForNotification(/it is version 9\.9\.9, and this extension needs 0\.1/);
  await bench.takeScreenshot("wrong-version");
  await message.locator(".monaco-button", { hasText: "How to Install" }).click();
  await bench.page.locator(".tab", { hasText: "README" }).waitFor();
  const readme = bench.page.frameLocator("iframe.webview.ready").frameLocator("#active-frame");
  await readme.getByText("Build it yourself").waitFor();
  await bench.takeScreenshot("how-to-install");
}, { settings: { "tandem.adapterPath": "${workspaceFolder}/tandem-dap" } });
