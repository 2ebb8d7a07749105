/** F5 with no launch.json, on programs of several languages. */
import { mkdirSync, symlinkSync } from "node:fs";
import * as path from "node:path";
import { environment } from "../environment";
import { scenario } from "./workbench";

scenario("F5 on a C file builds it, takes input and stops; on a Rust file it runs its package", "polyglot", async (bench) => {
  const { page } = bench;
  await bench.openFile("sum.c");
  await bench.setBreakpoint(11);
  await bench.debugView();
  await page.keyboard.press("F5");
  await bench.terminalShows("two numbers?");
  await bench.typeIntoTerminal("3 4\n");
  await bench.stoppedAt(11);
  await bench.debugRow("Variables", /sum.*7/).first().waitFor();
  await bench.picture("c");
  await page.keyboard.press("F5");
  await bench.terminalShows("the program ended with exit code 0");
  await bench.status().waitFor({ state: "hidden" });

  await bench.openFile("main.rs");
  await bench.debugView();
  await page.keyboard.press("F5");
  await bench.terminalShows("how far?");
  await bench.setBreakpoint(6);
  await bench.typeIntoTerminal("3\n");
  await bench.stoppedAt(6);
  await bench.debugRow("Variables", /metres.*3/).first().waitFor();
  await bench.picture("rust");
  await page.keyboard.press("F5");
  await bench.terminalShows("9.8 feet");
  await bench.terminalShows("the program ended with exit code 0");
});

scenario("a language whose debugger is missing: the dialog says what to install", "polyglot", async (bench) => {
  await bench.openFile("hello.js");
  await bench.debugView();
  await bench.page.keyboard.press("F5");
  await bench.page.locator(".monaco-dialog-box", { hasText: "needs vscode-js-debug" }).waitFor();
  await bench.picture("missing-debugger");
  await bench.page.keyboard.press("Escape");
}, {
  // A home where no editor has it.
  launch: { type: "tandem", request: "launch", name: "hello", program: "${file}", env: { HOME: "${workspaceFolder}" } },
});

scenario("F5 on a JavaScript file offers Tandem beside VS Code's own debugger", "polyglot", async (bench) => {
  await bench.openFile("hello.js");
  await bench.debugView();
  await bench.page.keyboard.press("F5");
  await bench.listed("Tandem").waitFor();
  await bench.picture("javascript");
});

scenario("F5 on a JavaScript file, Tandem chosen: the project's own vscode-js-debug stops it", "polyglot", async (bench) => {
  const { page } = bench;
  const own = path.join(bench.folder, "node_modules/js-debug/src");
  mkdirSync(own, { recursive: true });
  symlinkSync(environment().jsDebug, path.join(own, "dapDebugServer.js"));
  await bench.openFile("hello.js");
  await bench.setBreakpoint(2);
  await bench.debugView();
  await page.keyboard.press("F5");
  await bench.choose("Tandem");
  await bench.stoppedAt(2);
  await bench.debugRow("Variables", /name.*world/).first().waitFor();
  await bench.picture("javascript-stopped");
  await page.keyboard.press("F5");
  await bench.terminalShows("hello world");
  await bench.status().waitFor({ state: "hidden" });
});

scenario("F5 on a Go file builds it, takes input and stops", "polyglot", async (bench) => {
  const { page } = bench;
  await bench.openFile("main.go");
  await bench.setBreakpoint(10);
  await bench.debugView();
  await page.keyboard.press("F5");
  await bench.terminalShows("who?");
  await bench.typeIntoTerminal("bob\n");
  await bench.stoppedAt(10);
  await bench.debugRow("Variables", /length.*3/).first().waitFor();
  await bench.picture("go");
  await page.keyboard.press("F5");
  await bench.terminalShows("hail bob 3");
  await bench.terminalShows("the program ended with exit code 0");
  await bench.status().waitFor({ state: "hidden" });
});
