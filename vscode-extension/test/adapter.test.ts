/** An independent client, the one VS Code's makers test adapters with, against `tandem-dap`: over stdio and a socket, for
 * .NET and Python. */
import assert from "node:assert/strict";
import { spawn, type ChildProcess } from "node:child_process";
import { mkdtempSync, rmSync } from "node:fs";
import { createInterface } from "node:readline";
import * as os from "node:os";
import * as path from "node:path";
import { after, before, describe, test } from "node:test";
import { DebugClient } from "@vscode/debugadapter-testsupport";
import { DEADLINE, ROOT, SKIPPED, dotnetVariables, environment, lineOf, programs } from "./environment";

interface Subject {
  readonly name: string;
  readonly launch: Readonly<Record<string, unknown>>;
  readonly source: string;
  /** A line inside a function that each line of input reaches. */
  readonly line: number;
  /** A variable there, and what it is for the input `four`. */
  readonly variable: string;
  readonly value: string;
  readonly expression: readonly [string, string];
  /** Output for `four` and at the end of its input, and its exit code. */
  readonly echo: string;
  readonly exitCode: number;
  /** A condition that holds for the input `four` only. */
  readonly condition: string;
  /** A program that throws twice at one line, and catches the first; and what its exceptions are. */
  readonly throwing: Readonly<Record<string, unknown>>;
  readonly throwingSource: string;
  readonly exception: string;
}

function subjects(): Subject[] {
  const cs = path.join(ROOT, "fixtures/programs/dotnet/echo/Program.cs");
  const py = path.join(ROOT, "fixtures/programs/children/echo.py");
  const throwsPy = path.join(ROOT, "fixtures/programs/children/throws.py");
  return [
    { name: ".NET", launch: { program: environment().programs["echo"], env: dotnetVariables() }, source: cs, line: lineOf(cs, "line"),
      variable: "line", value: '"four"', expression: ["line.Length", "4"], echo: "echo: four\n", exitCode: 0,
      condition: 'line == "four"', throwing: { program: environment().programs["throws"], env: dotnetVariables() },
      throwingSource: path.join(ROOT, "fixtures/programs/dotnet/throws/Program.cs"), exception: "InvalidOperationException" },
    { name: "Python", launch: { program: py, engine: "debugpy", python: environment().python }, source: py, line: lineOf(py, "handle"),
      variable: "length", value: "4", expression: ["length + 1", "5"], echo: "got 4: four\n", exitCode: 7,
      condition: "length == 4", throwing: { program: throwsPy, engine: "debugpy", python: environment().python },
      throwingSource: throwsPy, exception: "ValueError" },
  ];
}

const scratch = mkdtempSync(path.join(os.tmpdir(), "tandem-client-"));
/** A `--listen`ing adapter, and its port. */
let listener: ChildProcess | undefined;
let port = 0;

before(async () => {
  if (SKIPPED !== false) {
    return;
  }
  listener = spawn(path.join(programs(), "tandem-dap"), ["--listen", "127.0.0.1:0"], { stdio: ["ignore", "ignore", "pipe"], env: variables() });
  const { stderr } = listener;
  assert.ok(stderr);
  for await (const line of createInterface({ input: stderr })) {
    port = Number(/:(\d+)$/.exec(line)?.[1] ?? 0);
    break;
  }
  assert.ok(port > 0, "tandem-dap does not say its port");
});

after(() => {
  listener?.kill();
  rmSync(scratch, { recursive: true, force: true });
});

function variables(): NodeJS.ProcessEnv {
  return { ...process.env, XDG_RUNTIME_DIR: scratch };
}

for (const transport of ["stdio", "socket"] as const) {
  const withClient = (scenario: (client: DebugClient) => Promise<void>) => async () => {
    // The client wants an interpreter and a script; `env` runs ours.
    const client = new DebugClient("/usr/bin/env", path.join(programs(), "tandem-dap"), "tandem", { env: variables() });
    client.defaultTimeout = DEADLINE;
    await client.start(transport === "socket" ? port : undefined);
    // It never cancels a request, and an adapter that has disconnected answers none.
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

  describe(`over ${transport}`, { skip: SKIPPED, concurrency: 1, timeout: 10 * DEADLINE }, () => {
    test("initialize answers with capabilities, once", withClient(async (client) => {
      const { body } = await client.initializeRequest();
      assert.equal(body?.supportsConfigurationDoneRequest, true);
      assert.equal(body?.supportsTerminateRequest, true);
      await assert.rejects(client.initializeRequest(), /sent twice/);
    }));

    test("an invalid path format and an unknown request are refused, and the session continues", withClient(async (client) => {
      await assert.rejects(client.initializeRequest({ adapterID: "tandem", linesStartAt1: true, columnsStartAt1: true, pathFormat: "url" }));
      await client.initializeRequest();
      await assert.rejects(client.send("illegalRequest", {}));
      await client.disconnectRequest();
    }));

    test("a launch of what does not exist says so", withClient(async (client) => {
      await client.initializeRequest();
      await assert.rejects(client.launchRequest({ program: "/no/such/program.dll" } as object), /no\/such\/program/);
    }));

    for (const subject of SKIPPED === false ? subjects() : []) {
      describe(subject.name, { concurrency: 1 }, () => scenarios(subject, withClient));
    }
  });
}

function scenarios(subject: Subject, withClient: (scenario: (client: DebugClient) => Promise<void>) => () => Promise<void>): void {
  const end = async (client: DebugClient) => {
    const over = Promise.all([client.waitForEvent("exited"), client.waitForEvent("terminated")]);
    await client.customRequest("processWriteInput", { data: "", closeAfter: true });
    const [exited] = await over;
    assert.equal((exited.body as { exitCode: number }).exitCode, subject.exitCode);
  };

  test("runs to its end and tells output before it", withClient(async (client) => {
    const printed = client.assertOutput("stdout", subject.name === "Python" ? "ready []\n" : subject.echo);
    await Promise.all([client.configurationSequence(), client.launch(subject.launch)]);
    if (subject.name !== "Python") {
      await client.customRequest("processWriteInput", { data: "four\n" });
    }
    await printed;
    await end(client);
  }));

  test("stops on entry", withClient(async (client) => {
    await Promise.all([
      client.configurationSequence(),
      client.launch({ ...subject.launch, stopOnEntry: true }),
      client.waitForEvent("stopped").then((event) => assert.equal((event.body as { reason: string }).reason, "entry")),
    ]);
  }));

  test("hits a breakpoint; stack, variables and evaluation there; steps and runs to the end", withClient(async (client) => {
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
    await end(client);
  }));

  /** Runs to the one breakpoint of this kind, and returns the top frame there. */
  const stopAt = async (client: DebugClient, breakpoint: Readonly<Record<string, unknown>>, input: string) => {
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
  const goOn = async (client: DebugClient, threadId: number) => {
    await client.setBreakpointsRequest({ source: { path: subject.source }, breakpoints: [] });
    await client.continueRequest({ threadId });
    await end(client);
  };

  test("a condition stops it where it holds, and a variable can be set there", withClient(async (client) => {
    const { threadId, frameId } = await stopAt(client, { condition: subject.condition }, "one\nfour\n");
    const shown = await client.evaluateRequest({ expression: subject.variable, frameId, context: "watch" });
    assert.equal(shown.body.result, subject.value);
    const { body: { scopes } } = await client.scopesRequest({ frameId });
    const value = subject.name === "Python" ? "44" : '"fourty"';
    const set = await client.setVariableRequest({ variablesReference: scopes[0]?.variablesReference ?? 0, name: subject.variable, value });
    assert.equal(set.body.value, value);
    await goOn(client, threadId);
  }));

  test("a hit condition stops it the second time only", withClient(async (client) => {
    const { threadId, line } = await stopAt(client, { hitCondition: "2" }, "four\nfour\n");
    assert.equal(line, subject.line);
    await goOn(client, threadId);
  }));

  test("a log point writes and does not stop", withClient(async (client) => {
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
    await end(client);
    assert.match(written, new RegExp(`it is "?${subject.value.replaceAll('"', "")}"?\\s`));
    assert.equal(stops, 0);
  }));

  test("stops at a thrown exception, and at an unhandled one", withClient(async (client) => {
    const thrown = lineOf(subject.throwingSource, "throw");
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
      // From here on only unhandled exceptions.
      await client.setExceptionBreakpointsRequest({ filters: ["unhandled"] });
      stopped = client.waitForEvent("stopped");
      stopped.catch(() => undefined); // After the last there is none.
      await client.continueRequest({ threadId });
    }
    await client.disconnectRequest({ terminateDebuggee: true });
  }));

  test("pauses while it runs, and continues", withClient(async (client) => {
    await Promise.all([client.configurationSequence(), client.launch(subject.launch)]);
    await client.customRequest("processReadOutput", { waitFor: subject.name === "Python" ? "ready" : "$", timeoutMs: DEADLINE });
    const stopped = client.waitForEvent("stopped");
    const { body: { threads } } = await client.threadsRequest();
    await client.pauseRequest({ threadId: threads[0]?.id ?? 0 });
    // Python stops in its next line, which the input brings.
    if (subject.name === "Python") {
      await client.customRequest("processWriteInput", { data: "four\n" });
    }
    const { threadId, reason } = (await stopped).body as { threadId: number; reason: string };
    assert.equal(reason, "pause");
    await client.continueRequest({ threadId });
    await end(client);
  }));

  test("a condition that never holds does not stop it", withClient(async (client) => {
    const configured = client.waitForEvent("initialized").then(async () => {
      const breakpoints = [{ line: subject.line, condition: "1 == 2" }];
      await client.setBreakpointsRequest({ source: { path: subject.source }, breakpoints });
      await client.configurationDoneRequest();
    });
    let stops = 0;
    client.on("stopped", () => (stops += 1));
    await Promise.all([configured, client.launch(subject.launch)]);
    await client.customRequest("processWriteInput", { data: "four\nfour\n" });
    await end(client);
    assert.equal(stops, 0);
  }));

  test("disconnect ends the program", withClient(async (client) => {
    const process = client.waitForEvent("process");
    await Promise.all([client.configurationSequence(), client.launch(subject.launch)]);
    const pid = ((await process).body as { systemProcessId: number }).systemProcessId;
    await client.disconnectRequest({ terminateDebuggee: true });
    const until = Date.now() + DEADLINE;
    while (lives(pid)) {
      assert.ok(Date.now() < until, `process ${pid} is still running`);
      await new Promise((resolve) => setTimeout(resolve, 20));
    }
  }));
}

function lives(pid: number): boolean {
  try {
    process.kill(pid, 0);
    return true;
  } catch {
    return false;
  }
}
