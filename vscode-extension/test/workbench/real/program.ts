/** Programs of other projects, each in a window of the real VS Code on a copy of its own folder.
 * `scripts/real` fetches them; only `./check --long` runs their tests. The `*.scenario.ts` files drive VS Code
 * as a person does, by language. */
import { readFileSync } from "node:fs";
import * as path from "node:path";
import { test } from "node:test";
import { CACHE, DEADLINE, environment, installedDotnetVariables } from "../../environment";
import { Editor } from "../editor";
import { inWindow, type Circumstances, type Workbench } from "../workbench";

/** The first build of a program, with all it needs, takes longer than any other step, ms. */
const BUILT = 4 * DEADLINE;

Editor.finds(installedDotnetVariables);

/** A value of what `scripts/real` tells, such as `npm/jest`. */
export function fetched(name: string): string {
  let found = JSON.parse(readFileSync(path.join(CACHE, "real-agents.json"), "utf8")) as unknown;
  for (const key of name.split("/")) {
    found = (found as Readonly<Record<string, unknown>> | undefined)?.[key];
  }
  if (typeof found !== "string") {
    throw new Error(`\`scripts/real\` has fetched no \`${name}\`: run it again`);
  }
  return found;
}

export interface Program extends Circumstances {
  readonly folder: string;
}

/** A test with a program; the fetched program is looked for when the test begins. */
export function real(name: string, program: () => Program, act: (bench: Workbench) => Promise<void>): void {
  test(name, { timeout: 3 * BUILT }, () => {
    const { folder, ...circumstances } = program();
    return inWindow(name, folder, async (bench) => {
      bench.page.setDefaultTimeout(BUILT);
      await act(bench);
    }, circumstances);
  });
}

/** The same of a .NET program, which is left out where there is no SDK 10. */
export function realOnNet10(name: string, program: () => Program, act: (bench: Workbench) => Promise<void>): void {
  if (Object.keys(environment().modern).length === 0) {
    test(name, { skip: "no .NET SDK 10 is installed" });
  } else {
    real(name, program, act);
  }
}

/** The line (from 1) of a source that has this text, and no other has. */
function lineWith(bench: Workbench, file: string, text: string): number {
  const lines = readFileSync(path.join(bench.folder, file), "utf8").split("\n");
  const [at, other] = lines.flatMap((line, index) => (line.includes(text) ? [index + 1] : []));
  if (at === undefined || other !== undefined) {
    throw new Error(`not one line of ${file} has \`${text}\``);
  }
  return at;
}

/** Opens a file and sets a breakpoint at the line with this text; returns the line. */
export async function breaksAt(bench: Workbench, file: string, text: string): Promise<number> {
  const line = lineWith(bench, file, text);
  await bench.openFile(file);
  await bench.goToLine(line);
  await bench.setBreakpoint(line);
  return line;
}

/** Waits until a server says in the terminal where it listens. */
export async function listens(bench: Workbench): Promise<string> {
  await bench.terminalShows(/http:\/\/127\.0\.0\.1:\d+/);
  const [, address] = /(http:\/\/127\.0\.0\.1:\d+)/.exec(await bench.terminalText()) ?? [];
  if (address === undefined) {
    throw new Error(`no address in the terminal: ${await bench.terminalText()}`);
  }
  return address;
}

/** Sends a request in the background and returns the server's response: the server may be stopped. */
export function request(address: string, form?: Readonly<Record<string, string>>): Promise<Response> {
  const body = form === undefined ? {} : { method: "POST", body: new URLSearchParams(form) };
  const answer = fetch(address, { ...body, redirect: "manual", signal: AbortSignal.timeout(BUILT) });
  // The caller that awaits it later handles a rejection; a test that fails before that must not end the run.
  answer.catch(() => {});
  return answer;
}
