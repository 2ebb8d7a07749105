/** The process `tandem-mcp tests`, which lists, runs or debugs tests: reads one request and prints events, one JSON object per line.
 * Independent of VS Code. */
import { spawn } from "node:child_process";
import { createInterface } from "node:readline";
import { t } from "./l10n";

export interface TestRequest {
  readonly action: "list" | "run" | "debug";
  /** Working directory and root of the MCP server. */
  readonly folder: string;
  readonly projectPath: string;
  /** Ids of the tests; all tests if absent. */
  readonly tests?: readonly string[];
  /** Target framework; all of them if absent. */
  readonly framework?: string;
}

/** A test of the project. */
export interface ListedTest {
  readonly id: string;
  readonly name?: string;
  readonly class?: string;
  readonly file?: string;
  /** From 1. */
  readonly line?: number;
  readonly traits?: readonly string[];
  readonly skipped?: string;
  /** Target framework, if the project has several. */
  readonly framework?: string;
}

/** Result of a test. */
export interface TestOutcome extends ListedTest {
  readonly outcome: "passed" | "failed" | "skipped";
  readonly message?: string;
  readonly expected?: string;
  readonly actual?: string;
  readonly stack?: string;
  readonly output?: string;
  readonly durationMs?: number;
}

/** The last event: the result of the request, like that of an MCP tool. */
export interface TestRunEnd {
  readonly error?: { readonly code: string; readonly message: string; readonly hint?: string };
  readonly output?: string;
  readonly diagnostics?: Readonly<Record<string, readonly { readonly message: string; readonly range: { readonly start: { readonly line: number } } }[]>>;
}

export type TestEvent =
  | { readonly event: "doing"; readonly text: string }
  | ({ readonly event: "test" } & ListedTest)
  | { readonly event: "started"; readonly id: string; readonly framework?: string }
  | ({ readonly event: "finished" } & TestOutcome)
  | { readonly event: "launch"; readonly attributes: Readonly<Record<string, unknown>>; readonly note?: string | null }
  | { readonly event: "stop" }
  | ({ readonly event: "end" } & TestRunEnd);

/** A process that handles one request. */
export class TestProcess {
  private readonly child;
  private stderrText = "";
  /** The last event, or the reason why there is none. */
  public readonly end: Promise<TestRunEnd>;

  public constructor(program: string, request: TestRequest, onEvent: (event: TestEvent) => void) {
    this.child = spawn(program, ["tests"], { cwd: request.folder, stdio: "pipe" });
    this.child.stdin.on("error", () => undefined);
    this.child.stderr.setEncoding("utf8").on("data", (text: string) => (this.stderrText = (this.stderrText + text).slice(-4000)));
    let last: TestRunEnd | undefined;
    createInterface({ input: this.child.stdout }).on("line", (line) => {
      const event = parseEvent(line);
      if (event?.event === "end") {
        last = event;
      }
      if (event !== undefined) {
        onEvent(event);
      }
    });
    this.end = new Promise((resolve) => {
      const createFailure = (why: string) => ({ error: { code: "COMMAND_FAILED", message: t("{0} cannot list or run tests: {1}", program, why) } });
      this.child.once("error", (error) => resolve(createFailure(error.message)));
      this.child.once("close", (code, signal) => {
        const end = signal === null ? t("it ended with exit code {0}", code ?? -1) : t("it was ended by {0}", signal);
        resolve(last ?? createFailure(this.stderrText.trim() || end));
      });
    });
    // The end of stdin cancels the request, so stdin stays open.
    this.send(request);
  }

  /** Sends a message about a debuggee that the process asked to launch. */
  public send(message: object): void {
    this.child.stdin.write(`${JSON.stringify(message)}\n`);
  }

  /** Cancels the request: the process ends its tests and exits. */
  public cancel(): void {
    this.child.stdin.end();
  }
}

function parseEvent(line: string): TestEvent | undefined {
  try {
    return JSON.parse(line) as TestEvent;
  } catch {
    return undefined;
  }
}
