/** C#: what the templates of the .NET SDK 10 make. A web site whose views are debugged as its controllers are, and a solution whose
 * program uses a library, which uses a package. */
import assert from "node:assert/strict";
import { evaluates, sets, watches } from "../values";
import { breaksAt, fetched, listens, realOnNet10, request } from "./program";

realOnNet10("an ASP.NET Core site: its page opens, a request stops in its controller and in its view, and shows what the person sets", () => ({
  folder: fetched("dotnet/mvc"),
  launch: {
    type: "tandem", request: "launch", name: "site", program: "${workspaceFolder}/Made.csproj",
    env: { ASPNETCORE_ENVIRONMENT: "Production", ASPNETCORE_URLS: "http://127.0.0.1:0" },
  },
}), async (bench) => {
  const { page } = bench;
  const inView = await breaksAt(bench, "Views/Shared/Error.cshtml", "@if (Model.ShowRequestId)");
  const inController = await breaksAt(bench, "Controllers/HomeController.cs", "return View(new ErrorViewModel");
  await bench.debugView();
  // The template's launch profile asks for a browser.
  const coming = page.context().waitForEvent("page");
  await page.keyboard.press("F5");
  await (await coming).getByText("Welcome").waitFor();
  await page.bringToFront();
  const address = await listens(bench);
  const answer = request(`${address}/Home/Error`);
  await bench.stoppedAt(inController);
  await bench.debugRow("Call Stack", "Error").first().waitFor();
  await watches(bench, "Request.Path.Value", "/Home/Error");
  await bench.picture("real-controller");
  await page.keyboard.press("F5");
  await bench.stoppedAt(inView);
  await page.locator(".editor-group-container .tab.active", { hasText: "Error.cshtml" }).waitFor();
  await evaluates(bench, 'Model.RequestId = "set by a person"', "set by a person");
  await bench.picture("real-view");
  await page.keyboard.press("F10");
  await bench.stoppedAt(inView + 1);
  await page.keyboard.press("F5");
  assert.match(await (await answer).text(), /<code>set by a person<\/code>/);
  await page.keyboard.press("Shift+F5");
  await bench.status().waitFor({ state: "hidden" });
});

realOnNet10("a solution: its program runs, a stop in its library, and an order counts as the person says", () => ({
  folder: fetched("dotnet/solution"),
  launch: { type: "tandem", request: "launch", name: "App", program: "${workspaceFolder}/App/App.csproj" },
}), async (bench) => {
  const { page } = bench;
  const line = await breaksAt(bench, "Orders/Ledger.cs", "ArgumentNullException.ThrowIfNull(order);");
  await bench.debugView();
  await page.keyboard.press("F5");
  await page.getByText("App (waits for input)").first().waitFor();
  await bench.typeIntoTerminal('{ "Name": "ink", "Count": 3, "Price": 2.5 }\n');
  await bench.stoppedAt(line);
  await bench.debugRow("Call Stack", "Add").first().waitFor();
  await watches(bench, "order.Count * order.Price", "7.5");
  await bench.expand(bench.debugRow("Variables", /^order\b/));
  await sets(bench, "Count", "4");
  await watches(bench, "order.Count + 0", "4");
  await page.keyboard.press("F10");
  await bench.stoppedAt(line + 1);
  await evaluates(bench, "order.Price * 2", "5.0");
  await bench.picture("real-solution");
  await bench.removeBreakpoint(line);
  await page.keyboard.press("F5");
  await bench.terminalShows("ink: 10.0");
  await bench.typeIntoTerminal("no order\n");
  await bench.terminalShows("refused: ");
  await bench.typeIntoTerminal("\n");
  await bench.terminalShows("the program ended with exit code 1");
  await bench.status().waitFor({ state: "hidden" });
});
