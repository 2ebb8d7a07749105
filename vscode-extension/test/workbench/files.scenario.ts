/** F5 without launch.json, on programs of several languages. */
import { mkdirSync, symlinkSync } from "node:fs";
import * as path from "node:path";
import { readEnvironment } from "../environment";
import { scenario } from "./workbench";

scenario("F5 builds and debugs a C file, and the package of a Rust file", "polyglot", async (bench) => {
  const { page } = bench;
  await bench.openFile("sum.c");
  await bench.setBreakpoint(11);
  await bench.openDebugView();
  await page.keyboard.press("F5");
  await bench.waitForTerminalText("two numbers?");
  await bench.typeIntoTerminal("3 4\n");
  await bench.waitForStopAt(11);
  await bench.debugRow("Variables", /sum.*7/).first().waitFor();
  await bench.takeScreenshot("c");
  await page.keyboard.press("F5");
  await bench.waitForTerminalText("the program ended with exit code 0");
  await bench.statusItem().waitFor({ state: "hidden" });

  await bench.openFile("main.rs");
  await bench.openDebugView();
  await page.keyboard.press("F5");
  await bench.waitForTerminalText("how far?");
  await bench.setBreakpoint(6);
  await bench.typeIntoTerminal("3\n");
  await bench.waitForStopAt(6);
  await bench.debugRow("Variables", /metres.*3/).first().waitFor();
  await bench.takeScreenshot("rust");
  await page.keyboard.press("F5");
  await bench.waitForTerminalText("9.8 feet");
  await bench.waitForTerminalText("the program ended with exit code 0");
});

scenario("the dialog for a missing debugger says what to install", "polyglot", async (bench) => {
  await bench.openFile("hello.js");
  await bench.openDebugView();
  await bench.page.keyboard.press("F5");
  await bench.page.locator(".monaco-dialog-box", { hasText: "needs vscode-js-debug" }).waitFor();
  await bench.takeScreenshot("missing-debugger");
  await bench.page.keyboard.press("Escape");
}, {
  // A home directory without the extensions of an editor.
  launch: { type: "tandem", request: "launch", name: "hello", program: "${file}", env: { HOME: "${workspaceFolder}" } },
});

scenario("F5 on a JavaScript file offers Tandem next to VS Code's own debugger", "polyglot", async (bench) => {
  await bench.openFile("hello.js");
  await bench.openDebugView();
  await bench.page.keyboard.press("F5");
  await bench.listItem("Tandem").waitFor();
  await bench.takeScreenshot("javascript");
});

scenario("Tandem debugs a JavaScript file with the project's own vscode-js-debug", "polyglot", async (bench) => {
  const { page } = bench;
  const folder = path.join(bench.folder, "node_modules/js-debug/src");
  mkdirSync(folder, { recursive: true });
  symlinkSync(readEnvironment().jsDebug, path.join(folder, "dapDebugServer.js"));
  await bench.openFile("hello.js");
  await bench.setBreakpoint(2);
  await bench.openDebugView();
  await page.keyboard.press("F5");
  await bench.chooseItem("Tandem");
  await bench.waitForStopAt(2);
  await bench.debugRow("Variables", /name.*world/).first().waitFor();
  await bench.takeScreenshot("javascript-stopped");
  await page.keyboard.press("F5");
  await bench.waitForTerminalText("hello world");
  await bench.statusItem().waitFor({ state: "hidden" });
});

scenario("F5 builds and debugs a Go file", "polyglot", async (bench) => {
  const { page } = bench;
  await bench.openFile("main.go");
  await bench.setBreakpoint(10);
  await bench.openDebugView();
  await page.keyboard.press("F5");
  await bench.waitForTerminalText("who?");
  await bench.typeIntoTerminal("bob\n");
  await bench.waitForStopAt(10);
  await bench.debugRow("Variables", /length.*3/).first().waitFor();
  await bench.takeScreenshot("go");
  await page.keyboard.press("F5");
  await bench.waitForTerminalText("hail bob 3");
  await bench.waitForTerminalText("the program ended with exit code 0");
  await bench.statusItem().waitFor({ state: "hidden" });
});
