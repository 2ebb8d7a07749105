/** One run of tests of the Test Explorer, with or without the debugger: from the events of `tandem-mcp tests` to results. */
import * as path from "node:path";
import * as vscode from "vscode";
import { log } from "./log";
import { t } from "./l10n";
import type { ProjectTests } from "./test-items";
import { TestTool, type TestEnd, type TestEvent, type TestOutcome, type TestRequest } from "./test-lines";

/** Tells the sessions of tests from others, and the adapter where they stop. */
const FAILURE_STOPS = "__failureStops";
/** Output of a debugged process that is passed on, characters. */
const MAX_OUTPUT = 8 << 20;
/** Places of a build that failed in one message. */
const MAX_PLACES = 20;

interface ProtocolMessage {
  readonly type?: string;
  readonly event?: string;
  readonly body?: { readonly category?: string; readonly output?: string; readonly exitCode?: number; readonly systemProcessId?: number };
}

/** A process with tests that this window debugs. */
interface Debuggee {
  readonly tool: TestTool;
  readonly output: { stdout: string; stderr: string };
  session?: vscode.DebugSession;
  code: number;
}

/** Follows the sessions of tests. */
export class DebuggedTests implements vscode.DebugAdapterTrackerFactory, vscode.Disposable {
  /** The process that is being launched: VS Code asks for its tracker by and by. */
  private launching: Debuggee | undefined;
  private readonly all = new Map<string, Debuggee>();
  private readonly subscription = vscode.debug.onDidTerminateDebugSession((session) => this.ended(session));

  public createDebugAdapterTracker(session: vscode.DebugSession): vscode.DebugAdapterTracker | undefined {
    const debuggee = this.launching;
    if (session.configuration[FAILURE_STOPS] === undefined || debuggee === undefined) {
      return undefined;
    }
    this.launching = undefined;
    debuggee.session = session;
    this.all.set(session.id, debuggee);
    return { onDidSendMessage: (message: ProtocolMessage) => hear(debuggee, message) };
  }

  /** Debugs a process that a run wants launched. */
  public async launch(tool: TestTool, folder: vscode.WorkspaceFolder, name: string, attributes: Readonly<Record<string, unknown>>, run: vscode.TestRun): Promise<void> {
    const debuggee: Debuggee = { tool, output: { stdout: "", stderr: "" }, code: -1 };
    this.launching = debuggee;
    // Pipes: what runs the tests reads both streams, each for itself.
    const configuration = { ...attributes, type: "tandem", request: "launch", name, pty: false };
    const began = await vscode.debug.startDebugging(folder, configuration, { testRun: run });
    if (!began && debuggee.session === undefined) {
      this.launching = undefined;
      tool.send({ failed: t("VS Code could not start the debugger.") });
    }
  }

  /** Ends what a run debugs. */
  public async stop(tool: TestTool): Promise<void> {
    for (const { session } of [...this.all.values()].filter((one) => one.tool === tool)) {
      await vscode.debug.stopDebugging(session);
    }
  }

  public dispose(): void {
    this.subscription.dispose();
  }

  private ended(session: vscode.DebugSession): void {
    const debuggee = this.all.get(session.id);
    if (debuggee !== undefined) {
      this.all.delete(session.id);
      debuggee.tool.send({ ended: debuggee.code, ...debuggee.output });
    }
  }
}

function hear(debuggee: Debuggee, message: ProtocolMessage): void {
  const { body } = message;
  if (message.type !== "event" || body === undefined) {
    return;
  }
  if (message.event === "process" && body.systemProcessId !== undefined) {
    debuggee.tool.send({ started: body.systemProcessId });
  } else if (message.event === "exited") {
    debuggee.code = body.exitCode ?? -1;
  } else if (message.event === "output" && (body.category === "stdout" || body.category === "stderr")) {
    const before = debuggee.output[body.category];
    debuggee.output[body.category] = before.length < MAX_OUTPUT ? before + (body.output ?? "") : before;
  }
}

/** Parameters of one run of one project. */
export interface Wanted {
  readonly program: string;
  readonly project: ProjectTests;
  /** All of the project when absent. */
  readonly tests: readonly vscode.TestItem[] | undefined;
  readonly debugs: boolean;
}

/** Runs tests of one project into a run of VS Code's: at once, or those that are chosen for each target framework by themselves. */
export async function runTests(wanted: Wanted, run: vscode.TestRun, token: vscode.CancellationToken, debugged: DebuggedTests): Promise<void> {
  const { project, tests } = wanted;
  const chosen = tests ?? project.all();
  chosen.forEach((item) => run.enqueued(item));
  if (tests === undefined) {
    return runSome(wanted, chosen, {}, run, token, debugged);
  }
  for (const [framework, { ids, items }] of project.byFramework(tests)) {
    if (!token.isCancellationRequested) {
      await runSome(wanted, items, { tests: ids, ...(framework === undefined ? {} : { framework }) }, run, token, debugged);
    }
  }
}

async function runSome(
  { project, debugs, program }: Wanted, chosen: readonly vscode.TestItem[], choice: Pick<TestRequest, "tests" | "framework">,
  run: vscode.TestRun, token: vscode.CancellationToken, debugged: DebuggedTests,
): Promise<void> {
  const request = {
    action: debugs ? "debug" as const : "run" as const, folder: project.folder.uri.fsPath, projectPath: project.project.path, ...choice,
  };
  const left = new Set(chosen);
  const tool = new TestTool(program, request, (event: TestEvent) => {
    switch (event.event) {
      case "started":
        run.started(project.add(event));
        break;
      case "finished": {
        const item = project.add(event);
        left.delete(item);
        report(run, item, event);
        break;
      }
      case "launch":
        if (event.note) {
          run.appendOutput(`${event.note}\r\n`);
        }
        void debugged.launch(tool, project.folder, project.item.label, event.attributes, run);
        break;
      case "stop":
        void debugged.stop(tool);
        break;
      default:
    }
  });
  const cancelled = token.onCancellationRequested(() => {
    void debugged.stop(tool);
    tool.cancel();
  });
  const end = await tool.end;
  cancelled.dispose();
  finish(end, run, token.isCancellationRequested ? [] : [...left], chosen[0] ?? project.item);
}

/** Reports the error of a run for the tests without a result. */
function finish(end: TestEnd, run: vscode.TestRun, left: readonly vscode.TestItem[], first: vscode.TestItem): void {
  const { error } = end;
  if (error === undefined || error.code === "TESTS_FAILED" || error.code === "CANCELLED") {
    return;
  }
  log().warn(`tests: ${error.code}: ${error.message}`);
  const lines = [error.message, ...(error.hint === undefined ? [] : [error.hint]), ...placesOf(end)];
  run.appendOutput(`${[...lines, end.output ?? ""].join("\n").replace(/\r?\n/g, "\r\n")}\r\n`);
  const message = new vscode.TestMessage(lines.join("\n"));
  (left.length > 0 ? left : [first]).forEach((item) => run.errored(item, message));
}

/** The errors of a build, a line each. */
export function placesOf({ diagnostics }: TestEnd): string[] {
  const places = Object.entries(diagnostics ?? {}).flatMap(([file, found]) => found.map((one) => `${file}:${one.range.start.line + 1}: ${one.message}`));
  return places.slice(0, MAX_PLACES);
}

function report(run: vscode.TestRun, item: vscode.TestItem, result: TestOutcome): void {
  const location = result.file !== undefined && path.isAbsolute(result.file)
    ? new vscode.Location(vscode.Uri.file(result.file), new vscode.Position((result.line ?? 1) - 1, 0)) : undefined;
  if (result.output !== undefined && result.output !== "") {
    run.appendOutput(`${result.output.replace(/\r?\n/g, "\r\n")}\r\n`, undefined, item);
  }
  switch (result.outcome) {
    case "passed":
      run.passed(item, result.durationMs);
      break;
    case "skipped":
      run.skipped(item);
      break;
    case "failed":
      // The panel of results has what it prints, and else says that there is nothing.
      run.appendOutput(`${[result.id, result.message ?? "", result.stack ?? ""].join("\n").trim().replace(/\r?\n/g, "\r\n")}\r\n`, undefined, item);
      run.failed(item, messageOf(result, location), result.durationMs);
  }
}

function messageOf(result: TestOutcome, location: vscode.Location | undefined): vscode.TestMessage {
  const text = result.message === undefined || result.message === "" ? t("it failed without further information") : result.message;
  const { expected, actual } = result;
  const message = expected === undefined || actual === undefined ? new vscode.TestMessage(text) : vscode.TestMessage.diff(text, expected, actual);
  if (location !== undefined) {
    message.location = location;
  }
  return message;
}
