// Runner of a file for jest, based on jest-circus: reports to Tandem, and runs the tests that Tandem selects: `jest --testRunner=FILE`.
"use strict";
const path = require("node:path");
const { report, describeFailure, findOwnLocation, createId, readSelectedIds, shorten, isListing, isDebugging } = require("./tandem_reports.cjs");

// Some package managers nest dependencies: search through these packages.
let paths = JSON.parse(process.env.TANDEM_TEST_MODULES);
for (const name of ["jest-cli", "@jest/core", "jest-config"]) {
  try {
    paths = [...paths, path.dirname(require.resolve(`${name}/package.json`, { paths }))];
  } catch {
    // This version of jest has no such package.
  }
}
const loaded = require(require.resolve("jest-circus/runner", { paths }));
// In jest 30 and newer, the runner is the default export of its module.
const circus = loaded.default ?? loaded;
const MAX_TIMEOUT_MS = 2 ** 31 - 1;

function getTitles(test) {
  const names = [test.name];
  for (let block = test.parent; block?.parent; block = block.parent) names.unshift(block.name);
  return names;
}

function getSkipReason(test, state) {
  if (test.mode === "todo") return "todo";
  for (let one = test; one; one = one.parent) if (one.mode === "skip") return "skip";
  return state.hasFocusedTests && test.mode !== "only" && !isUnder(test, "only") ? "another test is `only`" : undefined;
}

function isUnder(test, mode) {
  for (let block = test.parent; block; block = block.parent) if (block.mode === mode) return true;
  return false;
}

function* iterateTests(block) {
  for (const child of block.children ?? block.tests ?? []) {
    if (child.type === "describeBlock") yield* iterateTests(child);
    else yield child;
  }
}

module.exports = async function runner(globalConfig, config, environment, runtime, testPath, ...more) {
  const selectedIds = readSelectedIds();
  const handleTestEvent = environment.handleTestEvent?.bind(environment);
  const reported = new Set();
  const reportedTests = new Set();
  const omitted = new Set();
  // Tests that failed, and may run again after the others (`jest.retryTimes`).
  const retried = new Set();
  const mayRetry = (test) => test.errors.length > 0 && (test.invocations ?? 1) <= (parseInt(environment.global[Symbol.for("RETRY_TIMES")], 10) || 0);
  const pattern = globalConfig.testNamePattern && new RegExp(globalConfig.testNamePattern, "i");
  // Like jest, match the titles joined by spaces.
  const matches = (test) => !pattern || pattern.test(getTitles(test).join(" "));
  let outputStart = 0;
  let started;
  const getBuffer = () => environment.global.console?.getBuffer?.() ?? [];

  function locate(test) {
    return { file: testPath, line: findOwnLocation(test.asyncError?.stack).line };
  }

  function prepare(state) {
    for (const test of iterateTests(state.rootDescribeBlock)) {
      const name = createId(testPath, getTitles(test));
      if (isListing) {
        report("test", { id: name, name: getTitles(test).join(" > "), class: getTitles(test).slice(0, -1).join(" > "), ...locate(test), skipped: getSkipReason(test, state) });
      }
      if (isListing || (selectedIds && !selectedIds.has(name))) {
        omitted.add(test);
        test.mode = "skip";
      } else if (selectedIds && test.mode === undefined && state.hasFocusedTests) {
        test.mode = "only";
      }
      if (isDebugging) test.timeout = MAX_TIMEOUT_MS;
    }
  }

  function reportResult(test, outcome, message) {
    const name = createId(testPath, getTitles(test));
    if (omitted.has(test) || reportedTests.has(test)) return;
    reportedTests.add(test);
    // Another test with this id.
    if (reported.has(name)) report("started", { id: name, ...locate(test) });
    // An error that is thrown, and one with the place of its test or hook.
    const [first] = test.errors ?? [];
    const [error, place] = Array.isArray(first) ? first : [first];
    const lines = getBuffer().slice(outputStart).map((entry) => entry.message);
    reported.add(name);
    report("finished", { id: name, outcome, durationMs: Math.round(test.duration ?? 0), output: lines.length ? shorten(lines.join("\n")) : undefined,
      ...(outcome === "failed" ? { ...locate(test), ...findOwnLocation(place?.stack), ...describeFailure(error) } : { message }) });
  }

  function reportRetried() {
    for (const test of retried) reportResult(test, "failed");
    retried.clear();
  }

  environment.handleTestEvent = async (event, state) => {
    await handleTestEvent?.(event, state);
    switch (event.name) {
      case "run_start": return prepare(state);
      // Older versions send only the second event.
      case "test_started":
      case "test_fn_start":
        if (started === event.test) return;
        started = event.test;
        outputStart = getBuffer().length;
        return report("started", { id: createId(testPath, getTitles(event.test)), ...locate(event.test) });
      case "test_skip": {
        const reason = matches(event.test) && getSkipReason(event.test, state);
        return reason && reportResult(event.test, "skipped", reason);
      }
      case "test_todo": return matches(event.test) && reportResult(event.test, "skipped", "todo");
      case "test_done":
        started = undefined;
        retried.delete(event.test);
        if (!mayRetry(event.test)) return reportResult(event.test, event.test.errors.length ? "failed" : "passed");
        retried.add(event.test);
        return report("paused", { id: createId(testPath, getTitles(event.test)) });
      case "run_finish": return reportRetried();
    }
  };

  // A test or a source that is being loaded may end the process: no later source runs then.
  const handleExit = (code) => {
    reportRetried();
    if (code === 0) report("broken", { file: testPath, line: 0, message: "the process of the tests ended with exit code 0 before this file did" });
  };
  process.on("exit", handleExit);
  let result;
  try {
    result = await circus(globalConfig, config, environment, runtime, testPath, ...more);
  } catch (error) {
    const location = findOwnLocation(error?.stack);
    const lineNumber = /^\s*(?:\[?\()?.*?\((\d+):\d+\)/m.exec(String(error?.message))?.[1];
    report("broken", { file: location.file ?? testPath, line: location.line ?? Number(lineNumber ?? 0), message: shorten(error?.stack ?? error).trim() });
    throw error;
  } finally {
    process.off("exit", handleExit);
  }
  // jest treats exceptions outside of tests, and files without tests, as errors.
  const executionError = result.testExecError;
  if (executionError) {
    const location = findOwnLocation(executionError.stack);
    report("broken", { file: location.file ?? testPath, line: location.line ?? 0, message: shorten(executionError.stack ?? executionError.message ?? executionError).trim() });
  } else if (!isListing && result.testResults.length === 0) {
    report("broken", { file: testPath, line: 0, message: "Your test suite must contain at least one test." });
  }
  // Report failures after the end of a test.
  for (const one of result.testResults) {
    const name = createId(testPath, [...one.ancestorTitles, one.title]);
    if (one.status === "failed" && !reported.has(name)) {
      report("finished", { id: name, outcome: "failed", message: shorten(one.failureMessages.join("\n")), ...findOwnLocation(one.failureMessages.join("\n")) });
    }
  }
  return result;
};
