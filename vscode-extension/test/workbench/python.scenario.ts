/** A person and an agent in one session of a Python program, in a real VS Code. */
import assert from "node:assert/strict";
import { writeFileSync } from "node:fs";
import * as path from "node:path";
import { Agent } from "./agent";
import { scenario } from "./workbench";

const IN_LOOP = 4;
const RETURN = 5;

scenario("a Python file: a stop, a hover, input, a step, and an agent's breakpoint and continue", "greeter", async (bench) => {
  const { page } = bench;
  await bench.openFile("greeter.py");
  await bench.setBreakpoint(IN_LOOP);
  await bench.debugView();
  await page.keyboard.press("F5");
  await bench.terminalShows("how many?");
  await bench.typeIntoTerminal("2\n");
  await bench.stoppedAt(IN_LOOP);
  await bench.debugRow("Call Stack", "greet").first().waitFor();
  await bench.word("for name in names", "names").hover();
  await page.locator(".debug-hover-widget", { hasText: "ann" }).waitFor();
  await bench.picture("python");
  await page.mouse.move(5, 5);
  await page.keyboard.press("F10");
  await bench.stoppedAt(IN_LOOP - 1);

  const agent = await Agent.joining(bench);
  await agent.call("debug_set_breakpoint", { sourceFile: path.join(bench.folder, "greeter.py"), line: RETURN });
  await bench.mark("return greetings").waitFor({ state: "attached" });
  await bench.debugRow("Breakpoints", String(RETURN)).first().waitFor();
  await agent.call("debug_continue", {});
  await bench.stoppedAt(IN_LOOP);
  await agent.call("debug_continue", {});
  await bench.stoppedAt(RETURN);
  await bench.status().filter({ hasText: "claude-code continued" }).waitFor();
  await page.keyboard.press("F5");
  await bench.terminalShows("the program ended with exit code 0");
  assert.match(await bench.terminalText(), /hello ann\s+hello bob/);
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

scenario("while one thread steps over something that takes long, no thread is shown as paused", "greeter", async (bench) => {
  const { page } = bench;
  writeFileSync(path.join(bench.folder, "threads.py"), THREADS);
  await bench.openFile("threads.py");
  await bench.setBreakpoint(11);
  await bench.debugView();
  await page.keyboard.press("F5");
  await bench.stoppedAt(11);
  const threads = bench.debugRow("Call Stack", /paused/i);
  await bench.debugRow("Call Stack", /worker.*paused/i).first().waitFor();
  await page.keyboard.press("F10");
  await bench.stoppedAt(12);
  await page.keyboard.press("F10");
  await bench.debugRow("Call Stack", /worker.*running/i).first().waitFor();
  assert.equal(await threads.count(), 0);
  await bench.picture("threads-run");
  await bench.stoppedAt(13);
  await bench.debugRow("Call Stack", /worker.*paused/i).first().waitFor();
  await page.keyboard.press("F5");
  await bench.terminalShows("the program ended with exit code 0");
});

scenario("the terminals of programs that have ended do not pile up", "greeter", async (bench) => {
  const { page } = bench;
  for (const name of ["one", "two", "three", "four", "five", "six"]) {
    writeFileSync(path.join(bench.folder, `${name}.py`), `print("this is ${name}")\n`);
    await bench.openFile(`${name}.py`);
    await bench.debugView();
    await page.keyboard.press("F5");
    await bench.terminalShows(`this is ${name}`);
    await bench.terminalShows("the program ended with exit code 0");
    await bench.status().waitFor({ state: "hidden" });
  }
  await bench.picture("ended-terminals");
  const tabs = page.locator(".tabs-list .monaco-list-row");
  const shown = (await tabs.allInnerTexts()).map((text) => text.trim().split(".py")[0]);
  assert.deepEqual(shown, ["three", "four", "five", "six"]);
});
