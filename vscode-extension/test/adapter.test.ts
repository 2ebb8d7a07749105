/** `tandem-dap` with VS Code's test client for debug adapters, over stdio and a socket, for .NET and Python. */
import assert from "node:assert/strict";
import { spawn, type ChildProcess } from "node:child_process";
import { mkdtempSync, rmSync } from "node:fs";
import { createInterface } from "node:readline";
import * as os from "node:os";
import * as path from "node:path";
import { after, before, describe, test } from "node:test";
import { DebugClient } from "@vscode/debugadapter-testsupport";
import { STEP_TIMEOUT_MS, ROOT, SKIP_REASON, getDotnetVariables, readEnvironment, findMarkedLine, findProgramFolder } from "./environment";

interface AdapterCase {
  readonly name: string;
  readonly launch: Readonly<Record<string, unknown>>;
  readonly source: string;
  /** Line in a function that each line of input reaches. */
  readonly line: number;
  /** Variable at that line, and its value for the input `four`. */
  readonly variable: string;
  readonly value: string;
  readonly expression: readonly [string, string];
  /** Output for the input `four`, and the exit code at the end of the input. */
  readonly echo: string;
  readonly exitCode: number;
  /** Condition that is true only for the input `four`. */
  readonly condition: string;
  /** Program that throws twice at one line and catches the first exception, and the type of its exceptions. */
  readonly throwing: Readonly<Record<string, unknown>>;
  readonly throwingSource: string;
  readonly exception: string;
}

function createCases(): AdapterCase[] {
  const cs = path.join(ROOT, "fixtures/programs/dotnet/echo/Program.cs");
  const py = path.join(ROOT, "fixtures/programs/children/echo.py");
  const throwsPy = path.join(ROOT, "fixtures/programs/children/throws.py");
  return [
    { name: ".NET", launch: { program: readEnvironment().programs["echo"], env: getDotnetVariables() }, source: cs, line: findMarkedLine(cs, "line"),
      variable: "line", value: '"four"', expression: ["line.Length", "4"], echo: "echo: four\n", exitCode: 0,
      condition: 'line == "four"', throwing: { program: readEnvironment().programs["throws"], env: getDotnetVariables() },
      throwingSource: path.join(ROOT, "fixtures/programs/dotnet/throws/Program.cs"), exception: "InvalidOperationException" },
    { name: "Python", launch: { program: py, engine: "debugpy", python: readEnvironment().python }, source: py, line: findMarkedLine(py, "handle"),
      variable: "length", value: "4", expression: ["length + 1", "5"], echo: "got 4: four\n", exitCode: 7,
      condition: "length == 4", throwing: { program: throwsPy, engine: "debugpy", python: readEnvironment().python },
      throwingSource: throwsPy, exception: "ValueError" },
  ];
}

const scratch = mkdtempSync(path.join(os.tmpdir(), "tandem-client-"));
/** Adapter with `--listen`, and its port. */
let listener: ChildProcess | undefined;
let port = 0;

before(async () => {
  if (SKIP_REASON !== false) {
    return;
  }
  listener = spawn(path.join(findProgramFolder(), "tandem-dap"), ["--listen", "127.0.0.1:0"], { stdio: ["ignore", "ignore", "pipe"], env: createEnvironment() });
  const { stderr } = listener;
  assert.ok(stderr);
  for await (const line of createInterface({ input: stderr })) {
    port = Number(/:(\d+)$/.exec(line)?.[1] ?? 0);
    break;
  }
  assert.ok(port > 0, "tandem-dap does not print its port");
});

after(() => {
  listener?.kill();
  rmSync(scratch, { recursive: true, force: true });
});

function createEnvironment(): NodeJS.ProcessEnv {
  return { ...process.env, XDG_RUNTIME_DIR: scratch };
}

for (const transport of ["stdio", "socket"] as const) {
  const withClient = (scenario: (client: DebugClient) => Promise<void>) => async () => {
    // The client starts an interpreter with a script: `env` runs the adapter.
    const client = new DebugClient("/usr/bin/env", path.join(findProgramFolder(), "tandem-dap"), "tandem", { env: createEnvironment() });
    client.defaultTimeout = STEP_TIMEOUT_MS;
    await client.start(transport === "socket" ? port : undefined);
    // The client never cancels a request, and an adapter that has disconnected does not respond.
    let disconnected = false;
    const disconnect = client.disconnectRequest.bind(client);
    client.disconnectRequest = (args) => {
      disconnected = true;
      return disconnect(args);
    };
    try {
      await scenario(client);
    } finally {
      if (!disconnected) {
        await client.stop();
      }
    }
  };

  describe(`over ${transport}`, { skip: SKIP_REASON, concurrency: 1, timeout: 10 * STEP_TIMEOUT_MS }, () => {
    test("initialize returns capabilities, and is rejected the second time", withClient(async (client) => {
      const { body } = await client.initializeRequest();
      assert.equal(body?.supportsConfigurationDoneRequest, true);
      assert.equal(body?.supportsTerminateRequest, true);
      await assert.rejects(client.initializeRequest(), /sent twice/);
    }));

    test("an invalid path format and an unknown request are rejected, and the session continues", withClient(async (client) => {
      await assert.rejects(client.initializeRequest({ adapterID: "tandem", linesStartAt1: true, columnsStartAt1: true, pathFormat: "url" }));
      await client.initializeRequest();
      await assert.rejects(client.send("illegalRequest", {}));
      await client.disconnectRequest();
    }));

    test("a launch of a missing program is rejected with its path", withClient(async (client) => {
      await client.initializeRequest();
      await assert.rejects(client.launchRequest({ program: "/no/such/program.dll" } as object), /no\/such\/program/);
    }));

    for (const subject of SKIP_REASON === false ? createCases() : []) {
      describe(subject.name, { concurrency: 1 }, () => defineTests(subject, withClient));
    }
  });
}

function defineTests(subject: AdapterCase, withClient: (scenario: (client: DebugClient) => Promise<void>) => () => Promise<void>): void {
  const endInput = async (client: DebugClient) => {
    const over = Promise.all([client.waitForEvent("exited"), client.waitForEvent("terminated")]);
    await client.customRequest("processWriteInput", { data: "", closeAfter: true });
    const [exited] = await over;
    assert.equal((exited.body as { exitCode: number }).exitCode, subject.exitCode);
  };

  test("a program runs to its end, and its output is reported before", withClient(async (client) => {
    const printed = client.assertOutput("stdout", subject.name === "Python" ? "ready []\n" : subject.echo);
    await Promise.all([client.configurationSequence(), client.launch(subject.launch)]);
    if (subject.name !== "Python") {
      await client.customRequest("processWriteInput", { data: "four\n" });
    }
    await printed;
    await endInput(client);
  }));

  test("a program stops on entry", withClient(async (client) => {
    await Promise.all([
      client.configurationSequence(),
      client.launch({ ...subject.launch, stopOnEntry: true }),
      client.waitForEvent("stopped").then((event) => assert.equal((event.body as { reason: string }).reason, "entry")),
    ]);
  }));

  test("a breakpoint stops the program, which is inspected, stepped and run to its end", withClient(async (client) => {
    const location = { path: subject.source, line: subject.line };
    const configured = client.waitForEvent("initialized").then(async () => {
      const { body } = await client.setBreakpointsRequest({ source: { path: subject.source }, breakpoints: [{ line: subject.line }] });
      assert.equal(body.breakpoints.length, 1);
      await client.configurationDoneRequest();
    });
    const stopped = client.assertStoppedLocation("breakpoint", location);
    await Promise.all([configured, client.launch(subject.launch)]);
    await client.customRequest("processWriteInput", { data: "four\n" });
    const { body: stack } = await stopped;
    const frameId = stack.stackFrames[0]?.id ?? 0;

    const { body: { threads } } = await client.threadsRequest();
    assert.ok(threads.length > 0);
    const { body: { scopes } } = await client.scopesRequest({ frameId });
    const reference = scopes[0]?.variablesReference ?? 0;
    const { body: { variables: locals } } = await client.variablesRequest({ variablesReference: reference });
    const [expression, result] = subject.expression;
    assert.ok(locals.some((one) => one.name === subject.variable), JSON.stringify(locals));

    const threadId = threads.find((one) => /main/i.test(one.name))?.id ?? threads[0]?.id ?? 0;
    const stepped = client.waitForEvent("stopped");
    await client.nextRequest({ threadId });
    assert.equal(((await stepped).body as { reason: string }).reason, "step");
    const { body: { stackFrames } } = await client.stackTraceRequest({ threadId, startFrame: 0, levels: 1 });
    assert.notEqual(stackFrames[0]?.line, subject.line);
    const after = stackFrames[0]?.id ?? 0;
    const evaluated = await client.evaluateRequest({ expression, frameId: after, context: "watch" });
    assert.equal(evaluated.body.result, result);
    const value = await client.evaluateRequest({ expression: subject.variable, frameId: after, context: "hover" });
    assert.equal(value.body.result, subject.value);
    await assert.rejects(client.scopesRequest({ frameId }), "a frame of an earlier stop is stale");

    await client.setBreakpointsRequest({ source: { path: subject.source }, breakpoints: [] });
    await client.continueRequest({ threadId });
    await endInput(client);
  }));

  /** Runs to a breakpoint with these attributes, and returns the top frame. */
  const runToBreakpoint = async (client: DebugClient, breakpoint: Readonly<Record<string, unknown>>, input: string) => {
    const configured = client.waitForEvent("initialized").then(async () => {
      await client.setBreakpointsRequest({ source: { path: subject.source }, breakpoints: [{ line: subject.line, ...breakpoint }] });
      await client.configurationDoneRequest();
    });
    const stopped = client.waitForEvent("stopped");
    await Promise.all([configured, client.launch(subject.launch)]);
    await client.customRequest("processWriteInput", { data: input });
    const { threadId } = (await stopped).body as { threadId: number };
    const { body: { stackFrames } } = await client.stackTraceRequest({ threadId, startFrame: 0, levels: 1 });
    return { threadId, frameId: stackFrames[0]?.id ?? 0, line: stackFrames[0]?.line };
  };
  const continueToEnd = async (client: DebugClient, threadId: number) => {
    await client.setBreakpointsRequest({ source: { path: subject.source }, breakpoints: [] });
    await client.continueRequest({ threadId });
    await endInput(client);
  };

  test("a condition stops the program when it is true, and a variable can be set there", withClient(async (client) => {
    const { threadId, frameId } = await runToBreakpoint(client, { condition: subject.condition }, "one\nfour\n");
    const shown = await client.evaluateRequest({ expression: subject.variable, frameId, context: "watch" });
    assert.equal(shown.body.result, subject.value);
    const { body: { scopes } } = await client.scopesRequest({ frameId });
    const value = subject.name === "Python" ? "44" : '"fourty"';
    const set = await client.setVariableRequest({ variablesReference: scopes[0]?.variablesReference ?? 0, name: subject.variable, value });
    assert.equal(set.body.value, value);
    await continueToEnd(client, threadId);
  }));

  test("a hit condition stops the program only the second time", withClient(async (client) => {
    const { threadId, line } = await runToBreakpoint(client, { hitCondition: "2" }, "four\nfour\n");
    assert.equal(line, subject.line);
    await continueToEnd(client, threadId);
  }));

  test("a logpoint writes output and does not stop the program", withClient(async (client) => {
    const configured = client.waitForEvent("initialized").then(async () => {
      const breakpoints = [{ line: subject.line, logMessage: `it is {${subject.variable}}` }];
      await client.setBreakpointsRequest({ source: { path: subject.source }, breakpoints });
      await client.configurationDoneRequest();
    });
    let stops = 0;
    client.on("stopped", () => (stops += 1));
    let written = "";
    const logged = new Promise<void>((resolve) => {
      client.on("output", ({ body }: { body: { output: string } }) => {
        written += body.output;
        if (/it is "?\w+"?\s/.test(written)) {
          resolve();
        }
      });
    });
    await Promise.all([configured, client.launch(subject.launch)]);
    await client.customRequest("processWriteInput", { data: "four\n" });
    await logged;
    await endInput(client);
    assert.match(written, new RegExp(`it is "?${subject.value.replaceAll('"', "")}"?\\s`));
    assert.equal(stops, 0);
  }));

  test("a thrown and an unhandled exception stop the program", withClient(async (client) => {
    const thrown = findMarkedLine(subject.throwingSource, "throw");
    const configured = client.waitForEvent("initialized").then(async () => {
      await client.setExceptionBreakpointsRequest({ filters: ["all"] });
      await client.configurationDoneRequest();
    });
    let stopped = client.waitForEvent("stopped");
    await Promise.all([configured, client.launch(subject.throwing)]);
    for (const message of ["caught", "not caught"]) {
      const { threadId, reason } = (await stopped).body as { threadId: number; reason: string };
      assert.equal(reason, "exception");
      const { body: { stackFrames } } = await client.stackTraceRequest({ threadId, startFrame: 0, levels: 1 });
      assert.equal(stackFrames[0]?.line, thrown);
      const { body: info } = await client.exceptionInfoRequest({ threadId });
      assert.match(info.exceptionId, new RegExp(subject.exception));
      assert.ok(info.description?.includes(message), info.description);
      // From now on, only unhandled exceptions stop the program.
      await client.setExceptionBreakpointsRequest({ filters: ["unhandled"] });
      stopped = client.waitForEvent("stopped");
      stopped.catch(() => undefined); // There is no stop after the last exception.
      await client.continueRequest({ threadId });
    }
    await client.disconnectRequest({ terminateDebuggee: true });
  }));

  test("a running program is paused and continues", withClient(async (client) => {
    await Promise.all([client.configurationSequence(), client.launch(subject.launch)]);
    await client.customRequest("processReadOutput", { waitFor: subject.name === "Python" ? "ready" : "$", timeoutMs: STEP_TIMEOUT_MS });
    const stopped = client.waitForEvent("stopped");
    const { body: { threads } } = await client.threadsRequest();
    await client.pauseRequest({ threadId: threads[0]?.id ?? 0 });
    // Python stops at the next line that it executes, after the input.
    if (subject.name === "Python") {
      await client.customRequest("processWriteInput", { data: "four\n" });
    }
    const { threadId, reason } = (await stopped).body as { threadId: number; reason: string };
    assert.equal(reason, "pause");
    await client.continueRequest({ threadId });
    await endInput(client);
  }));

  test("a condition that is never true does not stop the program", withClient(async (client) => {
    const configured = client.waitForEvent("initialized").then(async () => {
      const breakpoints = [{ line: subject.line, condition: "1 == 2" }];
      await client.setBreakpointsRequest({ source: { path: subject.source }, breakpoints });
      await client.configurationDoneRequest();
    });
    let stops = 0;
    client.on("stopped", () => (stops += 1));
    await Promise.all([configured, client.launch(subject.launch)]);
    await client.customRequest("processWriteInput", { data: "four\nfour\n" });
    await endInput(client);
    assert.equal(stops, 0);
  }));

  test("disconnect ends the program", withClient(async (client) => {
    const process = client.waitForEvent("process");
    await Promise.all([client.configurationSequence(), client.launch(subject.launch)]);
    const pid = ((await process).body as { systemProcessId: number }).systemProcessId;
    await client.disconnectRequest({ terminateDebuggee: true });
    const until = Date.now() + STEP_TIMEOUT_MS;
    while (isAlive(pid)) {
      assert.ok(Date.now() < until, `process ${pid} is still running`);
      await new Promise((resolve) => setTimeout(resolve, 20));
    }
  }));
}

function isAlive(pid: number): boolean {
  try {
    process.kill(pid, 0);
    return true;
  } catch {
    return false;
  }
}
