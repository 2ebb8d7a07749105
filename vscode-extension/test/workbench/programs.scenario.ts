/** Messages when `tandem-dap` is missing, or is another version. */
import { chmodSync, writeFileSync } from "node:fs";
import * as path from "node:path";
import { scenario } from "./workbench";

scenario("a missing tandem-dap is reported, with a button that opens the setting", "greeter", async (bench) => {
  await bench.openFile("greeter.py");
  await bench.debugView();
  await bench.page.keyboard.press("F5");
  const told = await bench.notification("there is no program at /nowhere/tandem-dap, the path in the setting tandem.adapterPath");
  await bench.picture("missing-adapter");
  await told.locator(".monaco-button", { hasText: "Open Settings" }).click();
  await bench.page.locator(".settings-editor", { hasText: "Adapter Path" }).waitFor();
  await bench.picture("missing-adapter-settings");
}, { settings: { "tandem.adapterPath": "/nowhere/tandem-dap" } });

scenario("a tandem-dap of another version is not used, and the reason is shown", "greeter", async (bench) => {
  const other = path.join(bench.folder, "tandem-dap");
  writeFileSync(other, "#!/bin/sh\necho tandem-dap 9.9.9\n");
  chmodSync(other, 0o755);
  await bench.openFile("greeter.py");
  await bench.debugView();
  await bench.page.keyboard.press("F5");
  const told = await bench.notification(/it is version 9\.9\.9, and this extension needs 0\.1/);
  await bench.picture("wrong-version");
  await told.locator(".monaco-button", { hasText: "How to Install" }).click();
  await bench.page.locator(".tab", { hasText: "README" }).waitFor();
  const readme = bench.page.frameLocator("iframe.webview.ready").frameLocator("#active-frame");
  await readme.getByText("Build it yourself").waitFor();
  await bench.picture("how-to-install");
}, { settings: { "tandem.adapterPath": "${workspaceFolder}/tandem-dap" } });
