/** A project that is built before it runs: its progress, the message when it fails, and a build that a person
 * cancels. */
import { readFileSync, writeFileSync } from "node:fs";
import * as path from "node:path";
import { scenario } from "./workbench";

scenario("a project that does not compile: a plain sentence, and its errors in Problems", "shop", async (bench) => {
  const { page } = bench;
  const file = path.join(bench.folder, "Program.cs");
  writeFileSync(file, readFileSync(file, "utf8").replace("decimal total = 0;", "decimal total = missing;"));
  await bench.openFile("Program.cs");
  await bench.debugView();
  await bench.showsProgress();
  await page.keyboard.press("F5");
  await bench.notification("Building shop");
  await bench.picture("building");
  const dialog = page.locator(".monaco-dialog-box");
  await dialog.getByText(/1 error, at Program\.cs:15: .*missing.*\(CS0103\)/).first().waitFor();
  await dialog.getByText(/VS Code lists the errors in Problems/).first().waitFor();
  await bench.picture("build-failed");
  await page.keyboard.press("Escape");
  await dialog.waitFor({ state: "detached" });
  await page.locator(".markers-panel .monaco-list-row", { hasText: "missing" }).first().waitFor();
  await bench.picture("build-problems");
});

scenario("a build that a person ends by its notification: no program, no dialog", "shop", async (bench) => {
  const { page } = bench;
  const project = path.join(bench.folder, "shop.csproj");
  const slow = '<Target Name="Slow" BeforeTargets="BeforeBuild"><Exec Command="sleep 600" /></Target></Project>';
  writeFileSync(project, readFileSync(project, "utf8").replace("</Project>", slow));
  await bench.openFile("Program.cs");
  await bench.debugView();
  await bench.showsProgress();
  await page.keyboard.press("F5");
  const building = await bench.notification("Building shop");
  await bench.picture("build-to-cancel");
  await building.locator(".monaco-button", { hasText: "Cancel" }).click();
  await page.locator(".debug-toolbar").waitFor({ state: "hidden" });
  await building.waitFor({ state: "detached" });
  await page.locator(".monaco-dialog-box").waitFor({ state: "detached" });
  await bench.picture("build-cancelled");
});
