/** Runs or debugs tests for the Test Explorer: converts the events of `tandem-mcp tests` to results of VS Code. */
import * as path from "node:path";
import * as vscode from "vscode";
import { log } from "./log";
import { t } from "./l10n";
import type { ProjectTests } from "./test-items";
import { TestProcess, type TestRunEnd, type TestEvent, type TestOutcome, type TestRequest } from "./test-process";

/** Attribute that marks sessions of tests, and tells the adapter at which functions a failed test stops. */
const FAILURE_STOPS_ATTRIBUTE = "__failureStops";
/** Maximum length of a stream of a debuggee, UTF-16 units. */
const MAX_OUTPUT_LENGTH = 8 << 20;
/** Maximum number of diagnostics in the message of a failed build. */
const MAX_DIAGNOSTICS = 20;

interface ProtocolMessage {
  readonly type?: string;
  readonly event?: string;
  readonly body?: { readonly category?: string; readonly output?: string; readonly exitCode?: number; readonly systemProcessId?: number };
}

/** A process with tests that this window debugs. */
interface Debuggee {
  readonly testProcess: TestProcess;
  readonly output: { stdout: string; stderr: string };
  session?: vscode.DebugSession;
  exitCode: number;
}

/** Tracks the debug sessions of tests. */
export class TestDebugSessions implements vscode.DebugAdapterTrackerFactory, vscode.Disposable {
  /** The debuggee that waits for its session: VS Code creates the tracker during the launch. */
  private launching: Debuggee | undefined;
  private readonly debuggees = new Map<string, Debuggee>();
  private readonly subscription = vscode.debug.onDidTerminateDebugSession((session) => this.handleTermination(session));

  public createDebugAdapterTracker(session: vscode.DebugSession): vscode.DebugAdapterTracker | undefined {
    const debuggee = this.launching;
    if (session.configuration[FAILURE_STOPS_ATTRIBUTE] === undefined || debuggee === undefined) {
      return undefined;
    }
    this.launching = undefined;
    debuggee.session = session;
    this.debuggees.set(session.id, debuggee);
    return { onDidSendMessage: (message: ProtocolMessage) => handleMessage(debuggee, message) };
  }

  /** Launches a process of a test run in the debugger. */
  public async launch(
    testProcess: TestProcess, folder: vscode.WorkspaceFolder, name: string, attributes: Readonly<Record<string, unknown>>, run: vscode.TestRun,
  ): Promise<void> {
    const debuggee: Debuggee = { testProcess, output: { stdout: "", stderr: "" }, exitCode: -1 };
    this.launching = debuggee;
    // No pseudo-terminal: the test runner reads both streams separately.
    const configuration = { ...attributes, type: "tandem", request: "launch", name, pty: false };
    const started = await vscode.debug.startDebugging(folder, configuration, { testRun: run });
    if (!started && debuggee.session === undefined) {
      this.launching = undefined;
      testProcess.send({ failed: t("VS Code could not start the debugger.") });
    }
  }

  /** Stops the debug sessions of a test run. */
  public async stop(testProcess: TestProcess): Promise<void> {
    for (const { session } of [...this.debuggees.values()].filter((one) => one.testProcess === testProcess)) {
      await vscode.debug.stopDebugging(session);
    }
  }

  public dispose(): void {
    this.subscription.dispose();
  }

  private handleTermination(session: vscode.DebugSession): void {
    const debuggee = this.debuggees.get(session.id);
    if (debuggee !== undefined) {
      this.debuggees.delete(session.id);
      debuggee.testProcess.send({ ended: debuggee.exitCode, ...debuggee.output });
    }
  }
}

function handleMessage(debuggee: Debuggee, message: ProtocolMessage): void {
  const { body } = message;
  if (message.type !== "event" || body === undefined) {
    return;
  }
  if (message.event === "process" && body.systemProcessId !== undefined) {
    debuggee.testProcess.send({ started: body.systemProcessId });
  } else if (message.event === "exited") {
    debuggee.exitCode = body.exitCode ?? -1;
  } else if (message.event === "output" && (body.category === "stdout" || body.category === "stderr")) {
    const before = debuggee.output[body.category];
    debuggee.output[body.category] = before.length < MAX_OUTPUT_LENGTH ? before + (body.output ?? "") : before;
  }
}

/** Parameters of a test run in one project. */
export interface TestRunOptions {
  readonly program: string;
  readonly project: ProjectTests;
  /** Tests to run; undefined for all tests of the project. */
  readonly tests: readonly vscode.TestItem[] | undefined;
  readonly debugs: boolean;
}

/** Runs tests of one project: all in one process, or the selected ones in one process per target framework. */
export async function runTests(options: TestRunOptions, run: vscode.TestRun, token: vscode.CancellationToken, sessions: TestDebugSessions): Promise<void> {
  const { project, tests } = options;
  const chosen = tests ?? project.listAll();
  chosen.forEach((item) => run.enqueued(item));
  if (tests === undefined) {
    return runTestProcess(options, chosen, {}, run, token, sessions);
  }
  for (const [framework, { ids, items }] of project.groupByFramework(tests)) {
    if (!token.isCancellationRequested) {
      await runTestProcess(options, items, { tests: ids, ...(framework === undefined ? {} : { framework }) }, run, token, sessions);
    }
  }
}

async function runTestProcess(
  { project, debugs, program }: TestRunOptions, chosen: readonly vscode.TestItem[], choice: Pick<TestRequest, "tests" | "framework">,
  run: vscode.TestRun, token: vscode.CancellationToken, sessions: TestDebugSessions,
): Promise<void> {
  const request = {
    action: debugs ? "debug" as const : "run" as const, folder: project.folder.uri.fsPath, projectPath: project.project.path, ...choice,
  };
  const remaining = new Set(chosen);
  const testProcess = new TestProcess(program, request, (event: TestEvent) => {
    switch (event.event) {
      case "started":
        run.started(project.add(event));
        break;
      case "finished": {
        const item = project.add(event);
        remaining.delete(item);
        reportOutcome(run, item, event);
        break;
      }
      case "launch":
        if (event.note) {
          run.appendOutput(`${event.note}\r\n`);
        }
        void sessions.launch(testProcess, project.folder, project.item.label, event.attributes, run);
        break;
      case "stop":
        void sessions.stop(testProcess);
        break;
      default:
    }
  });
  const cancelled = token.onCancellationRequested(() => {
    void sessions.stop(testProcess);
    testProcess.cancel();
  });
  const end = await testProcess.end;
  cancelled.dispose();
  reportError(end, run, token.isCancellationRequested ? [] : [...remaining], chosen[0] ?? project.item);
}

/** Reports the error of a run for the tests without a result. */
function reportError(end: TestRunEnd, run: vscode.TestRun, remaining: readonly vscode.TestItem[], first: vscode.TestItem): void {
  const { error } = end;
  if (error === undefined || error.code === "TESTS_FAILED" || error.code === "CANCELLED") {
    return;
  }
  log().warn(`tests: ${error.code}: ${error.message}`);
  const lines = [error.message, ...(error.hint === undefined ? [] : [error.hint]), ...formatDiagnostics(end)];
  run.appendOutput(`${[...lines, end.output ?? ""].join("\n").replace(/\r?\n/g, "\r\n")}\r\n`);
  const message = new vscode.TestMessage(lines.join("\n"));
  (remaining.length > 0 ? remaining : [first]).forEach((item) => run.errored(item, message));
}

/** Formats the diagnostics of a build, one per line. */
export function formatDiagnostics({ diagnostics }: TestRunEnd): string[] {
  const lines = Object.entries(diagnostics ?? {}).flatMap(([file, found]) => found.map((one) => `${file}:${one.range.start.line + 1}: ${one.message}`));
  return lines.slice(0, MAX_DIAGNOSTICS);
}

function reportOutcome(run: vscode.TestRun, item: vscode.TestItem, result: TestOutcome): void {
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
      // VS Code shows only appended output for the test in the results panel.
      run.appendOutput(`${[result.id, result.message ?? "", result.stack ?? ""].join("\n").trim().replace(/\r?\n/g, "\r\n")}\r\n`, undefined, item);
      run.failed(item, createMessage(result, location), result.durationMs);
  }
}

function createMessage(result: TestOutcome, location: vscode.Location | undefined): vscode.TestMessage {
  const text = result.message === undefined || result.message === "" ? t("it failed without further information") : result.message;
  const { expected, actual } = result;
  const message = expected === undefined || actual === undefined ? new vscode.TestMessage(text) : vscode.TestMessage.diff(text, expected, actual);
  if (location !== undefined) {
    message.location = location;
  }
  return message;
}
