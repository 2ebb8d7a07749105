/** The output channel: what the extension and `tandem-dap` say of a session. */
import { scenario } from "./workbench";

scenario("Show Log shows what tandem-dap logs and each protocol message", "greeter", async (bench) => {
  const { page } = bench;
  await bench.openFile("greeter.py");
  await bench.debugView();
  await page.keyboard.press("F5");
  await bench.terminalShows("how many?");
  await bench.command("Tandem: Show Log");
  const output = page.locator(".output-view-container, .pane-body.output-view").first();
  await output.locator(".view-line", { hasText: /tandem_session/ }).first().waitFor();
  await bench.picture("log");
  await page.locator(".pane-composite-part input[placeholder^='Filter']").first().fill("configurationDone");
  await output.locator(".view-line", { hasText: "configurationDone" }).first().waitFor();
  await bench.picture("log-messages");
}, { settings: { "tandem.logLevel": "trace" } });
