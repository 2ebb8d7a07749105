/** A user and an agent in one session of a Python program, and threads and terminals of Python programs. */
import assert from "node:assert/strict";
import { writeFileSync } from "node:fs";
import * as path from "node:path";
import { Agent } from "./agent";
import { scenario } from "./workbench";

const IN_LOOP = 4;
const RETURN = 5;

scenario("a user starts, inspects and steps a Python program, and an agent joins and continues it", "greeter", async (bench) => {
  const { page } = bench;
  await bench.openFile("greeter.py");
  await bench.setBreakpoint(IN_LOOP);
  await bench.openDebugView();
  await page.keyboard.press("F5");
  await bench.waitForTerminalText("how many?");
  await bench.typeIntoTerminal("2\n");
  await bench.waitForStopAt(IN_LOOP);
  await bench.debugRow("Call Stack", "greet").first().waitFor();
  await bench.wordInLine("for name in names", "names").hover();
  await page.locator(".debug-hover-widget", { hasText: "ann" }).waitFor();
  await bench.takeScreenshot("python");
  await page.mouse.move(5, 5);
  await page.keyboard.press("F10");
  await bench.waitForStopAt(IN_LOOP - 1);

  const agent = await Agent.joinSession(bench);
  await agent.call("debug_set_breakpoint", { sourceFile: path.join(bench.folder, "greeter.py"), line: RETURN });
  await bench.breakpointOwner("return greetings").waitFor({ state: "attached" });
  await bench.debugRow("Breakpoints", String(RETURN)).first().waitFor();
  await agent.call("debug_continue", {});
  await bench.waitForStopAt(IN_LOOP);
  await agent.call("debug_continue", {});
  await bench.waitForStopAt(RETURN);
  await bench.statusItem().filter({ hasText: "claude-code continued" }).waitFor();
  await page.keyboard.press("F5");
  await bench.waitForTerminalText("the program ended with exit code 0");
  assert.match(await bench.readTerminal(), /hello ann\s+hello bob/);
}, { launch: { type: "tandem", request: "launch", name: "greeter", program: "greeter.py", engine: "debugpy" } });

const THREADS = `import threading
import time


def work():
    while True:
        time.sleep(0.05)


threading.Thread(target=work, name="worker", daemon=True).start()
print("both run")
time.sleep(20)
print("done")
`;

scenario("no thread is shown as paused during a long step", "greeter", async (bench) => {
  const { page } = bench;
  writeFileSync(path.join(bench.folder, "threads.py"), THREADS);
  await bench.openFile("threads.py");
  await bench.setBreakpoint(11);
  await bench.openDebugView();
  await page.keyboard.press("F5");
  await bench.waitForStopAt(11);
  const threads = bench.debugRow("Call Stack", /paused/i);
  await bench.debugRow("Call Stack", /worker.*paused/i).first().waitFor();
  await page.keyboard.press("F10");
  await bench.waitForStopAt(12);
  await page.keyboard.press("F10");
  await bench.debugRow("Call Stack", /worker.*running/i).first().waitFor();
  assert.equal(await threads.count(), 0);
  await bench.takeScreenshot("threads-run");
  await bench.waitForStopAt(13);
  await bench.debugRow("Call Stack", /worker.*paused/i).first().waitFor();
  await page.keyboard.press("F5");
  await bench.waitForTerminalText("the program ended with exit code 0");
});

scenario("only the terminals of the last ended programs stay open", "greeter", async (bench) => {
  const { page } = bench;
  for (const name of ["one", "two", "three", "four", "five", "six"]) {
    writeFileSync(path.join(bench.folder, `${name}.py`), `print("this is ${name}")\n`);
    await bench.openFile(`${name}.py`);
    await bench.openDebugView();
    await page.keyboard.press("F5");
    await bench.waitForTerminalText(`this is ${name}`);
    await bench.waitForTerminalText("the program ended with exit code 0");
    await bench.statusItem().waitFor({ state: "hidden" });
  }
  await bench.takeScreenshot("ended-terminals");
  const tabs = page.locator(".tabs-list .monaco-list-row");
  const shown = (await tabs.allInnerTexts()).map((text) => text.trim().split(".py")[0]);
  assert.deepEqual(shown, ["three", "four", "five", "six"]);
});
