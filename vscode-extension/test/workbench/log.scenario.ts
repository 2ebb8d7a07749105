/** The output channel with the logs of the extension and `tandem-dap`. */
import { scenario } from "./workbench";

scenario("Show Log shows what tandem-dap logs and each protocol message", "greeter", async (bench) => {
  const { page } = bench;
  await bench.openFile("greeter.py");
  await bench.openDebugView();
  await page.keyboard.press("F5");
  await bench.waitForTerminalText("how many?");
  await bench.runCommand("Tandem: Show Log");
  const output = page.locator(".output-view-container, .pane-body.output-view").first();
  const filter = page.locator(".pane-composite-part input[placeholder^='Filter']").first();
  // The view shows only the last lines: later messages may hide the line.
  await filter.fill("tandem_session");
  await output.locator(".view-line", { hasText: /tandem_session/ }).first().waitFor();
  await bench.takeScreenshot("log");
  await filter.fill("configurationDone");
  await output.locator(".view-line", { hasText: "configurationDone" }).first().waitFor();
  await bench.takeScreenshot("log-messages");
}, { settings: { "tandem.logLevel": "trace" } });
