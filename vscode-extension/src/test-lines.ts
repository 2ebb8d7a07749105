/** `tandem-mcp tests`, which lists, runs and debugs tests: one request, and then events, one JSON object a
 * line. Independent of VS Code. */
import { spawn } from "node:child_process";
import { createInterface } from "node:readline";
import { t } from "./l10n";

export interface TestRequest {
  readonly action: "list" | "run" | "debug";
  /** Beneath it everything happens. */
  readonly folder: string;
  readonly projectPath: string;
  /** Ids; all tests when absent. */
  readonly tests?: readonly string[];
  /** The only target framework that is wanted. */
  readonly framework?: string;
}

/** A test of a list. */
export interface ListedTest {
  readonly id: string;
  readonly name?: string;
  readonly class?: string;
  readonly file?: string;
  /** From 1. */
  readonly line?: number;
  readonly traits?: readonly string[];
  readonly skipped?: string;
  /** Where its project is built for several. */
  readonly framework?: string;
}

/** How a test ended. */
export interface TestOutcome extends ListedTest {
  readonly outcome: "passed" | "failed" | "skipped";
  readonly message?: string;
  readonly expected?: string;
  readonly actual?: string;
  readonly stack?: string;
  readonly output?: string;
  readonly durationMs?: number;
}

/** The last event: what a tool answers to an agent. */
export interface TestEnd {
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
  | ({ readonly event: "end" } & TestEnd);

/** One request under way. */
export class TestTool {
  private readonly child;
  private errors = "";
  /** How it ended. */
  public readonly end: Promise<TestEnd>;

  public constructor(program: string, request: TestRequest, heard: (event: TestEvent) => void) {
    this.child = spawn(program, ["tests"], { cwd: request.folder, stdio: "pipe" });
    this.child.stdin.on("error", () => undefined);
    this.child.stderr.setEncoding("utf8").on("data", (text: string) => (this.errors = (this.errors + text).slice(-4000)));
    let last: TestEnd | undefined;
    createInterface({ input: this.child.stdout }).on("line", (line) => {
      const event = read(line);
      if (event?.event === "end") {
        last = event;
      }
      if (event !== undefined) {
        heard(event);
      }
    });
    this.end = new Promise((resolve) => {
      const failed = (why: string) => ({ error: { code: "COMMAND_FAILED", message: t("{0} cannot list or run tests: {1}", program, why) } });
      this.child.once("error", (error) => resolve(failed(error.message)));
      this.child.once("close", (code, signal) => {
        const end = signal === null ? t("it ended with exit code {0}", code ?? -1) : t("it was ended by {0}", signal);
        resolve(last ?? failed(this.errors.trim() || end));
      });
    });
    // Its end is what cancels, so stdin stays open.
    this.send(request);
  }

  /** Answers a `launch`. */
  public send(answer: object): void {
    this.child.stdin.write(`${JSON.stringify(answer)}\n`);
  }

  /** Ends what it runs; then it ends. */
  public cancel(): void {
    this.child.stdin.end();
  }
}

function read(line: string): TestEvent | undefined {
  try {
    return JSON.parse(line) as TestEvent;
  } catch {
    return undefined;
  }
}
