/** A person and an agent in one session of a Python program, started from launch.json, in a real VS Code. */
import assert from "node:assert/strict";
import { test } from "node:test";
import * as path from "node:path";
import { Agent } from "./agent";
import { Workbench } from "./workbench";

const IN_LOOP = 4;
const RETURN = 5;

test("a Python file: a stop, a hover, input, a step, and an agent's breakpoint and continue", () =>
  Workbench.with("greeter", async (bench) => {
    const { page } = bench;
    await bench.openFile("greeter.py");
    await bench.clickGutter(IN_LOOP);
    await page.locator(".monaco-editor .codicon-debug-breakpoint").first().waitFor();
    await page.keyboard.press("Control+Shift+D");
    await page.keyboard.press("F5");
    await bench.terminalShows("how many?");
    await bench.typeIntoTerminal("2\n");
    await bench.stoppedAt(IN_LOOP);
    await bench.debugRow("Call Stack", "greet").first().waitFor();
    await page.locator(".monaco-editor .view-line", { hasText: "for name in names" }).getByText("names").first().hover();
    await page.locator(".debug-hover-widget", { hasText: "ann" }).waitFor();
    await bench.picture("python");
    await page.mouse.move(5, 5);
    await page.keyboard.press("F10");
    await bench.stoppedAt(IN_LOOP - 1);

    const agent = await Agent.start("claude-code", bench.runtimeFolder);
    bench.atEnd(() => agent.close());
    const { sessions } = (await agent.call("debug_sessions", {})) as { sessions: readonly { readonly session: string }[] };
    await agent.call("debug_sessions", { select: sessions[0]?.session ?? "" });
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
  }));
