/** Builds before a launch: progress, failure and cancellation. */
import { readFileSync, writeFileSync } from "node:fs";
import * as path from "node:path";
import { scenario } from "./workbench";

scenario("a failed build shows a dialog, and its errors in Problems", "shop", async (bench) => {
  const { page } = bench;
  const file = path.join(bench.folder, "Program.cs");
  writeFileSync(file, readFileSync(file, "utf8").replace("decimal total = 0;", "decimal total = missing;"));
  await bench.openFile("Program.cs");
  await bench.openDebugView();
  await bench.waitForProgressSupport();
  await page.keyboard.press("F5");
  await bench.waitForNotification("Building shop");
  await bench.takeScreenshot("building");
  const dialog = page.locator(".monaco-dialog-box");
  await dialog.getByText(/1 error, at Program\.cs:15: .*missing.*\(CS0103\)/).first().waitFor();
  await dialog.getByText(/VS Code lists the errors in Problems/).first().waitFor();
  await bench.takeScreenshot("build-failed");
  await page.keyboard.press("Escape");
  await dialog.waitFor({ state: "detached" });
  await page.locator(".markers-panel .monaco-list-row", { hasText: "missing" }).first().waitFor();
  await bench.takeScreenshot("build-problems");
});

scenario("a build that the user cancels starts no program and shows no dialog", "shop", async (bench) => {
  const { page } = bench;
  const project = path.join(bench.folder, "shop.csproj");
  const slow = '<Target Name="Slow" BeforeTargets="BeforeBuild"><Exec Command="sleep 600" /></Target></Project>';
  writeFileSync(project, readFileSync(project, "utf8").replace("</Project>", slow));
  await bench.openFile("Program.cs");
  await bench.openDebugView();
  await bench.waitForProgressSupport();
  await page.keyboard.press("F5");
  const building = await bench.waitForNotification("Building shop");
  await bench.takeScreenshot("build-to-cancel");
  await building.locator(".monaco-button", { hasText: "Cancel" }).click();
  await page.locator(".debug-toolbar").waitFor({ state: "hidden" });
  await building.waitFor({ state: "detached" });
  await page.locator(".monaco-dialog-box").waitFor({ state: "detached" });
  await bench.takeScreenshot("build-cancelled");
});
