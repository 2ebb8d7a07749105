/** C#: projects of .NET SDK 10 templates. A web site with controllers and views, and a solution whose program uses a library with a package. */
import assert from "node:assert/strict";
import { evaluateInConsole, setVariable, addWatch } from "../values";
import { setBreakpointAtText, getFetchedPath, waitForServerAddress, net10Scenario, sendRequest } from "./program";

net10Scenario("an ASP.NET Core site opens its page, stops in its controller and view, and shows the value that the user sets", () => ({
  folder: getFetchedPath("dotnet/mvc"),
  launch: {
    type: "tandem", request: "launch", name: "site", program: "${workspaceFolder}/Made.csproj",
    env: { ASPNETCORE_ENVIRONMENT: "Production", ASPNETCORE_URLS: "http://127.0.0.1:0" },
  },
}), async (bench) => {
  const { page } = bench;
  const inView = await setBreakpointAtText(bench, "Views/Shared/Error.cshtml", "@if (Model.ShowRequestId)");
  const inController = await setBreakpointAtText(bench, "Controllers/HomeController.cs", "return View(new ErrorViewModel");
  await bench.openDebugView();
  // The template's launch profile opens a browser.
  const opening = page.context().waitForEvent("page");
  await page.keyboard.press("F5");
  await (await opening).getByText("Welcome").waitFor();
  await page.bringToFront();
  const address = await waitForServerAddress(bench);
  const response = sendRequest(`${address}/Home/Error`);
  await bench.waitForStopAt(inController);
  await bench.debugRow("Call Stack", "Error").first().waitFor();
  await addWatch(bench, "Request.Path.Value", "/Home/Error");
  await bench.takeScreenshot("real-controller");
  await page.keyboard.press("F5");
  await bench.waitForStopAt(inView);
  await page.locator(".editor-group-container .tab.active", { hasText: "Error.cshtml" }).waitFor();
  await evaluateInConsole(bench, 'Model.RequestId = "set by the user"', "set by the user");
  await bench.takeScreenshot("real-view");
  await page.keyboard.press("F10");
  await bench.waitForStopAt(inView + 1);
  await page.keyboard.press("F5");
  assert.match(await (await response).text(), /<code>set by the user<\/code>/);
  await page.keyboard.press("Shift+F5");
  await bench.statusItem().waitFor({ state: "hidden" });
});

net10Scenario("the program of a solution stops in its library, and uses the value that the user sets", () => ({
  folder: getFetchedPath("dotnet/solution"),
  launch: { type: "tandem", request: "launch", name: "App", program: "${workspaceFolder}/App/App.csproj" },
}), async (bench) => {
  const { page } = bench;
  const line = await setBreakpointAtText(bench, "Orders/Ledger.cs", "ArgumentNullException.ThrowIfNull(order);");
  await bench.openDebugView();
  await page.keyboard.press("F5");
  await page.getByText("App (waits for input)").first().waitFor();
  await bench.typeIntoTerminal('{ "Name": "ink", "Count": 3, "Price": 2.5 }\n');
  await bench.waitForStopAt(line);
  await bench.debugRow("Call Stack", "Add").first().waitFor();
  await addWatch(bench, "order.Count * order.Price", "7.5");
  await bench.expand(bench.debugRow("Variables", /^order\b/));
  await setVariable(bench, "Count", "4");
  await addWatch(bench, "order.Count + 0", "4");
  await page.keyboard.press("F10");
  await bench.waitForStopAt(line + 1);
  await evaluateInConsole(bench, "order.Price * 2", "5.0");
  await bench.takeScreenshot("real-solution");
  await bench.removeBreakpoint(line);
  await page.keyboard.press("F5");
  await bench.waitForTerminalText("ink: 10.0");
  await bench.typeIntoTerminal("no order\n");
  await bench.waitForTerminalText("refused: ");
  await bench.typeIntoTerminal("\n");
  await bench.waitForTerminalText("the program ended with exit code 1");
  await bench.statusItem().waitFor({ state: "hidden" });
});
