/** Expressions in the debug console and in Watch: evaluation, completion and errors. */
import assert from "node:assert/strict";
import * as path from "node:path";
import { evaluateInConsole, addWatch } from "./values";
import { scenario, type Workbench } from "./workbench";

/** Starts a program with F5, enters its input, and waits until it stops at the line. */
async function runToLine(bench: Workbench, file: string, line: number, prompt: string, input: string): Promise<void> {
  await bench.openFile(file);
  await bench.setBreakpoint(line);
  await bench.openDebugView();
  await bench.page.keyboard.press("F5");
  await bench.waitForTerminalText(prompt);
  await bench.typeIntoTerminal(input);
  await bench.waitForStopAt(line);
}

/** Types into the debug console, waits for a completion, and deletes the text. */
async function waitForCompletion(bench: Workbench, text: string, expected: string): Promise<void> {
  const { page } = bench;
  await bench.runCommand("Debug Console: Focus on Debug Console View");
  await page.locator(".repl-input-wrapper .monaco-editor.focused").waitFor();
  await page.keyboard.type(text, { delay: 30 });
  await page.locator(".suggest-widget.visible .monaco-list-row", { hasText: expected }).first().waitFor();
  await bench.takeScreenshot(`offers-${expected}`);
  for (const key of ["Escape", "ControlOrMeta+A", "Delete"]) {
    await page.keyboard.press(key);
  }
  await page.getByRole("tab", { name: /^Terminal/ }).click();
}

scenario("a C program: expressions in the debug console are completed and evaluated, and the program continues", "polyglot", async (bench) => {
  const { page } = bench;
  await runToLine(bench, "sum.c", 11, "two numbers?", "3 4\n");
  // Each key requests completions and cancels the earlier ones.
  for (const [expression, value] of [["first + 10", "13"], ["second + 10", "14"], ["sum + 10", "17"]] as const) {
    await evaluateInConsole(bench, expression, value);
  }
  await bench.debugRow("Call Stack", "main").first().waitFor();
  await page.keyboard.press("F5");
  await bench.waitForTerminalText("the program ended with exit code 0");
  assert.match(await bench.readTerminal(), /two numbers\? 3 4\s+7\s/);
});

scenario("a C# program: a failing watch shows its error only in its row, at each stop", "shop", async (bench) => {
  const { page } = bench;
  await runToLine(bench, "Program.cs", 18, "your name?", "bob\n");
  await addWatch(bench, "nowhere", /The name .nowhere. does not exist/);
  await evaluateInConsole(bench, "nowhere + 1", /The name .nowhere. does not exist/);
  await bench.openDebugView();
  await page.keyboard.press("F10");
  await bench.waitForStopAt(19);
  await bench.debugRow("Watch", /The name .nowhere. does not exist/).first().waitFor();
  await bench.takeScreenshot("failing-watch");
  assert.equal(await page.locator(".notifications-toasts .notification-list-item, .monaco-dialog-box").count(), 0);
});

scenario("a Python program: the debug console completes members", "greeter", async (bench) => {
  await runToLine(bench, "greeter.py", 4, "how many?", "2\n");
  await waitForCompletion(bench, "greetings.", "append");
  // By default the program has a terminal.
  await evaluateInConsole(bench, "[s.isatty() for s in (__import__('sys').stdin, __import__('sys').stdout)]", "[True, True]");
  await bench.removeBreakpoint(4);
  await bench.page.keyboard.press("F5");
  await bench.waitForTerminalText("the program ended with exit code 0");
}, { launch: { type: "tandem", request: "launch", name: "greeter", program: "greeter.py", engine: "debugpy" } });

scenario("a C# project: the debug console completes members, and the project's folder is the working directory", "shop", async (bench) => {
  await runToLine(bench, "Program.cs", 18, "your name?", "bob\n");
  await waitForCompletion(bench, "order.", "Price");
  await waitForCompletion(bench, "orders[0].", "Count");
  await evaluateInConsole(bench, "System.Console.IsInputRedirected || System.Console.IsOutputRedirected", "false");
  await evaluateInConsole(bench, "System.IO.Path.GetFileName(System.Environment.CurrentDirectory)", `"${path.basename(bench.folder)}"`);
});
