/** What a person types in the debug console and in Watch at a stop: it ends no session, and what fails is said where it was asked. */
import assert from "node:assert/strict";
import { evaluates, watches } from "./values";
import { story, type Workbench } from "./workbench";

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

story("a C program: what is typed in the debug console is completed, answered and harms nothing", "polyglot", async (bench) => {
  const { page } = bench;
  await runsTo(bench, "sum.c", 11, "two numbers?", "3 4\n");
  // Each key asks for completions and gives up those before.
  for (const [expression, value] of [["first + 10", "13"], ["second + 10", "14"], ["sum + 10", "17"]] as const) {
    await evaluates(bench, expression, value);
  }
  await bench.debugRow("Call Stack", "main").first().waitFor();
  await page.keyboard.press("F5");
  await bench.terminalShows("the program ended with exit code 0");
  assert.match(await bench.terminalText(), /two numbers\? 3 4\s+7\s/);
});

story("a C# program: a watch that fails says so in its row at each stop, and nowhere else", "shop", async (bench) => {
  const { page } = bench;
  await runsTo(bench, "Program.cs", 18, "your name?", "bob\n");
  await watches(bench, "nowhere", /there is no `nowhere`/);
  await evaluates(bench, "nowhere + 1", /there is no `nowhere`/);
  await bench.debugView();
  await page.keyboard.press("F10");
  await bench.stoppedAt(19);
  await bench.debugRow("Watch", /there is no `nowhere`/).first().waitFor();
  await bench.picture("failing-watch");
  assert.equal(await page.locator(".notifications-toasts .notification-list-item, .monaco-dialog-box").count(), 0);
});
