/** Exception filters in the Breakpoints pane: those of the program's language, which keep their state. */
import { scenario } from "./workbench";

scenario("a Python session shows Python's exception filters and keeps their state; a C session shows lldb's", "polyglot", async (bench) => {
  const { page } = bench;
  const filter = (label: string) => bench.debugRow("Breakpoints", new RegExp(`^${label}`));
  const checkbox = (label: string) => filter(label).getByRole("checkbox").or(filter(label).locator(".monaco-checkbox, input[type=checkbox]")).first();
  await bench.openFile("tally.py");
  await bench.openDebugView();
  await page.keyboard.press("F5");
  await bench.waitForTerminalText("tally?");
  await filter("Uncaught Exceptions").waitFor();
  await filter("All exceptions").waitFor({ state: "detached" });
  await checkbox("Raised Exceptions").click();
  await bench.takeScreenshot("filters-python");
  await bench.typeIntoTerminal("many\n");
  // `int("many")` raises, and without a filter the program would continue.
  await bench.waitForStopAt(3);
  await bench.takeScreenshot("filters-stop");
  await page.keyboard.press("F5");
  await bench.waitForTerminalText("no number");
  await bench.statusItem().waitFor({ state: "hidden" });

  await page.keyboard.press("F5");
  await bench.statusItem().waitFor();
  await bench.typeIntoTerminal("few\n");
  await bench.waitForStopAt(3);
  await page.keyboard.press("Shift+F5");
  await bench.statusItem().waitFor({ state: "hidden" });

  await bench.openFile("sum.c");
  await bench.openDebugView();
  await page.keyboard.press("F5");
  await bench.waitForTerminalText("two numbers?");
  await filter("C\\+\\+ Throw").waitFor();
  await filter("Raised Exceptions").waitFor({ state: "detached" });
  await filter("All exceptions").waitFor({ state: "detached" });
  await bench.takeScreenshot("filters-native");
});

scenario("a C# session shows .NET's exception filters", "shop", async (bench) => {
  await bench.openFile("Program.cs");
  await bench.openDebugView();
  await bench.page.keyboard.press("F5");
  await bench.waitForTerminalText("your name?");
  await bench.debugRow("Breakpoints", "User-unhandled exceptions").waitFor();
  await bench.debugRow("Breakpoints", "Raised Exceptions").waitFor({ state: "detached" });
});
