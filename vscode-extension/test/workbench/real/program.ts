/** Programs of other projects, each in a window of a real VS Code on a copy of its folder. `scripts/real` fetches them; only `./check --long`
 * runs their tests, which are in the `*.scenario.ts` files by language. */
import { readFileSync } from "node:fs";
import * as path from "node:path";
import { test } from "node:test";
import { CACHE, STEP_TIMEOUT_MS, readEnvironment, getInstalledDotnetVariables } from "../../environment";
import { Editor } from "../editor";
import { runScenario, type ScenarioOptions, type Workbench } from "../workbench";

/** Time limit of the first build of a program with its dependencies. */
const BUILD_TIMEOUT_MS = 4 * STEP_TIMEOUT_MS;

Editor.useDotnet(getInstalledDotnetVariables);

/** Returns a path from the output of `scripts/real`, such as that of `npm/jest`. */
export function getFetchedPath(name: string): string {
  let found = JSON.parse(readFileSync(path.join(CACHE, "real-agents.json"), "utf8")) as unknown;
  for (const key of name.split("/")) {
    found = (found as Readonly<Record<string, unknown>> | undefined)?.[key];
  }
  if (typeof found !== "string") {
    throw new Error(`\`${name}\` is missing: run \`scripts/real\` again`);
  }
  return found;
}

export interface RealProgram extends ScenarioOptions {
  readonly folder: string;
}

/** Defines a test with a fetched program. The test searches for the program when it begins. */
export function realScenario(name: string, program: () => RealProgram, run: (bench: Workbench) => Promise<void>): void {
  test(name, { timeout: 3 * BUILD_TIMEOUT_MS }, () => {
    const { folder, ...options } = program();
    return runScenario(name, folder, async (bench) => {
      bench.page.setDefaultTimeout(BUILD_TIMEOUT_MS);
      await run(bench);
    }, options);
  });
}

/** Defines a test with a .NET program, which is skipped without an SDK 10. */
export function net10Scenario(name: string, program: () => RealProgram, run: (bench: Workbench) => Promise<void>): void {
  if (Object.keys(readEnvironment().modern).length === 0) {
    test(name, { skip: "no .NET SDK 10 is installed" });
  } else {
    realScenario(name, program, run);
  }
}

/** Finds the only line (from 1) of a source that contains this text. */
function findLine(bench: Workbench, file: string, text: string): number {
  const lines = readFileSync(path.join(bench.folder, file), "utf8").split("\n");
  const [line, other] = lines.flatMap((line, index) => (line.includes(text) ? [index + 1] : []));
  if (line === undefined || other !== undefined) {
    throw new Error(`expected one line of ${file} with \`${text}\``);
  }
  return line;
}

/** Opens a file and sets a breakpoint at the line with this text; returns the line. */
export async function setBreakpointAtText(bench: Workbench, file: string, text: string): Promise<number> {
  const line = findLine(bench, file, text);
  await bench.openFile(file);
  await bench.goToLine(line);
  await bench.setBreakpoint(line);
  return line;
}

/** Waits until a server prints its address in the terminal, and returns it. */
export async function waitForServerAddress(bench: Workbench): Promise<string> {
  await bench.waitForTerminalText(/http:\/\/127\.0\.0\.1:\d+/);
  const [, address] = /(http:\/\/127\.0\.0\.1:\d+)/.exec(await bench.readTerminal()) ?? [];
  if (address === undefined) {
    throw new Error(`no address in the terminal: ${await bench.readTerminal()}`);
  }
  return address;
}

/** Sends a request in the background and returns the server's response: the server may be stopped. */
export function sendRequest(address: string, form?: Readonly<Record<string, string>>): Promise<Response> {
  const body = form === undefined ? {} : { method: "POST", body: new URLSearchParams(form) };
  const response = fetch(address, { ...body, redirect: "manual", signal: AbortSignal.timeout(BUILD_TIMEOUT_MS) });
  // The caller handles a rejection later. Without this handler, a test that fails before would end the run.
  response.catch(() => {});
  return response;
}
