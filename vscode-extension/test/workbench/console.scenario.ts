/** What a person types in the debug console and in Watch at a stop: it ends no session, what may follow a dot is offered, and what fails is
 * shown where it was evaluated. */
import assert from "node:assert/strict";
import * as path from "node:path";
import { evaluates, watches } from "./values";
import { scenario, type Workbench } from "./workbench";

/** F5, and what a program reads before it comes to the line. */
async function runsTo(bench: Workbench, file: string, line: number, asks: string, answer: string): Promise<void> {
  await bench.openFile(file);
  await bench.setBreakpoint(line);
  await bench.debugView();
  await bench.page.keyboard.press("F5");
  await bench.terminalShows(asks);
  await bench.typeIntoTerminal(answer);
  await bench.stoppedAt(line);
}

/** Types into the debug console, waits until this is offered, and takes back what was typed. */
async function offers(bench: Workbench, typed: string, wanted: string): Promise<void> {
  const { page } = bench;
  await bench.command("Debug Console: Focus on Debug Console View");
  await page.locator(".repl-input-wrapper .monaco-editor.focused").waitFor();
  await page.keyboard.type(typed, { delay: 30 });
  await page.locator(".suggest-widget.visible .monaco-list-row", { hasText: wanted }).first().waitFor();
  await bench.picture(`offers-${wanted}`);
  for (const key of ["Escape", "ControlOrMeta+A", "Delete"]) {
    await page.keyboard.press(key);
  }
  await page.getByRole("tab", { name: /^Terminal/ }).click();
}

scenario("a C program: what is typed in the debug console is completed, answered and harms nothing", "polyglot", async (bench) => {
  const { page } = bench;
  await runsTo(bench, "sum.c", 11, "two numbers?", "3 4\n");
  // Each key requests completions and cancels the earlier ones.
  for (const [expression, value] of [["first + 10", "13"], ["second + 10", "14"], ["sum + 10", "17"]] as const) {
    await evaluates(bench, expression, value);
  }
  await bench.debugRow("Call Stack", "main").first().waitFor();
  await page.keyboard.press("F5");
  await bench.terminalShows("the program ended with exit code 0");
  assert.match(await bench.terminalText(), /two numbers\? 3 4\s+7\s/);
});

scenario("a C# program: a watch that fails says so in its row at each stop, and nowhere else", "shop", async (bench) => {
  const { page } = bench;
  await runsTo(bench, "Program.cs", 18, "your name?", "bob\n");
  await watches(bench, "nowhere", /The name .nowhere. does not exist/);
  await evaluates(bench, "nowhere + 1", /The name .nowhere. does not exist/);
  await bench.debugView();
  await page.keyboard.press("F10");
  await bench.stoppedAt(19);
  await bench.debugRow("Watch", /The name .nowhere. does not exist/).first().waitFor();
  await bench.picture("failing-watch");
  assert.equal(await page.locator(".notifications-toasts .notification-list-item, .monaco-dialog-box").count(), 0);
});

scenario("a Python program: what may follow a dot is offered in the debug console", "greeter", async (bench) => {
  await runsTo(bench, "greeter.py", 4, "how many?", "2\n");
  await offers(bench, "greetings.", "append");
  // Without an attribute that says otherwise the program has a terminal.
  await evaluates(bench, "[s.isatty() for s in (__import__('sys').stdin, __import__('sys').stdout)]", "[True, True]");
  await bench.removeBreakpoint(4);
  await bench.page.keyboard.press("F5");
  await bench.terminalShows("the program ended with exit code 0");
}, { launch: { type: "tandem", request: "launch", name: "greeter", program: "greeter.py", engine: "debugpy" } });

scenario("a C# project: members are offered in the debug console, and it runs in its own folder", "shop", async (bench) => {
  await runsTo(bench, "Program.cs", 18, "your name?", "bob\n");
  await offers(bench, "order.", "Price");
  await offers(bench, "orders[0].", "Count");
  await evaluates(bench, "System.Console.IsInputRedirected || System.Console.IsOutputRedirected", "false");
  await evaluates(bench, "System.IO.Path.GetFileName(System.Environment.CurrentDirectory)", `"${path.basename(bench.folder)}"`);
});
