/** The Breakpoints pane has the exception filters of the program's own language, and what was ticked stays ticked. */
import { scenario } from "./workbench";

scenario("a Python session shows Python's exception filters and keeps what is ticked; a C session shows lldb's", "polyglot", async (bench) => {
  const { page } = bench;
  const filter = (label: string) => bench.debugRow("Breakpoints", new RegExp(`^${label}`));
  const box = (label: string) => filter(label).getByRole("checkbox").or(filter(label).locator(".monaco-checkbox, input[type=checkbox]")).first();
  await bench.openFile("tally.py");
  await bench.debugView();
  await page.keyboard.press("F5");
  await bench.terminalShows("tally?");
  await filter("Uncaught Exceptions").waitFor();
  await filter("All exceptions").waitFor({ state: "detached" });
  await box("Raised Exceptions").click();
  await bench.picture("filters-python");
  await bench.typeIntoTerminal("many\n");
  // `int("many")` raises, and without a filter the program would continue.
  await bench.stoppedAt(3);
  await bench.picture("filters-stop");
  await page.keyboard.press("F5");
  await bench.terminalShows("no number");
  await bench.status().waitFor({ state: "hidden" });

  await page.keyboard.press("F5");
  await bench.status().waitFor();
  await bench.typeIntoTerminal("few\n");
  await bench.stoppedAt(3);
  await page.keyboard.press("Shift+F5");
  await bench.status().waitFor({ state: "hidden" });

  await bench.openFile("sum.c");
  await bench.debugView();
  await page.keyboard.press("F5");
  await bench.terminalShows("two numbers?");
  await filter("C\\+\\+ Throw").waitFor();
  await filter("Raised Exceptions").waitFor({ state: "detached" });
  await filter("All exceptions").waitFor({ state: "detached" });
  await bench.picture("filters-native");
});

scenario("a C# session shows .NET's exception filters", "shop", async (bench) => {
  await bench.openFile("Program.cs");
  await bench.debugView();
  await bench.page.keyboard.press("F5");
  await bench.terminalShows("your name?");
  await bench.debugRow("Breakpoints", "User-unhandled exceptions").waitFor();
  await bench.debugRow("Breakpoints", "Raised Exceptions").waitFor({ state: "detached" });
});
