// jest's own runner of a file (jest-circus), which reports to Tandem, and runs what Tandem has chosen: `jest --testRunner=FILE`.
"use strict";
const path = require("node:path");
const { report, failure, ownPlace, id, chosen, shorten, lists, debugs } = require("./tandem_reports.cjs");

// Where a package manager nests what others need, the way leads through those.
let paths = JSON.parse(process.env.TANDEM_TEST_MODULES);
for (const name of ["jest-cli", "@jest/core", "jest-config"]) {
  try {
    paths = [...paths, path.dirname(require.resolve(`${name}/package.json`, { paths }))];
  } catch {
    // Not in this version.
  }
}
const circus = require(require.resolve("jest-circus/runner", { paths }));
const FOR_EVER = 2 ** 31 - 1;

function titles(test) {
  const names = [test.name];
  for (let block = test.parent; block?.parent; block = block.parent) names.unshift(block.name);
  return names;
}

function skipReason(test, state) {
  if (test.mode === "todo") return "todo";
  for (let one = test; one; one = one.parent) if (one.mode === "skip") return "skip";
  return state.hasFocusedTests && test.mode !== "only" && !under(test, "only") ? "another test is `only`" : undefined;
}

function under(test, mode) {
  for (let block = test.parent; block; block = block.parent) if (block.mode === mode) return true;
  return false;
}

function* all(block) {
  for (const child of block.children ?? block.tests ?? []) {
    if (child.type === "describeBlock") yield* all(child);
    else yield child;
  }
}

module.exports = async function runner(globalConfig, config, environment, runtime, testPath, ...more) {
  const wanted = chosen();
  const own = environment.handleTestEvent?.bind(environment);
  const reported = new Set();
  const omitted = new Set();
  const pattern = globalConfig.testNamePattern && new RegExp(globalConfig.testNamePattern, "i");
  // As jest: the titles, joined by blanks.
  const matches = (test) => !pattern || pattern.test(titles(test).join(" "));
  let printed = 0;
  let started;
  const buffer = () => environment.global.console?.getBuffer?.() ?? [];

  function begin(state) {
    for (const test of all(state.rootDescribeBlock)) {
      const name = id(testPath, titles(test));
      if (lists) {
        const place = ownPlace(test.asyncError?.stack);
        report("test", { id: name, name: titles(test).join(" > "), class: titles(test).slice(0, -1).join(" > "), file: testPath, line: place.line, skipped: skipReason(test, state) });
      }
      if (lists || (wanted && !wanted.has(name))) {
        omitted.add(test);
        test.mode = "skip";
      } else if (wanted && test.mode === undefined && state.hasFocusedTests) {
        test.mode = "only";
      }
      if (debugs) test.timeout = FOR_EVER;
    }
  }

  function finish(test, outcome, message) {
    const name = id(testPath, titles(test));
    if (omitted.has(test) || reported.has(name)) return;
    const [first] = test.errors ?? [];
    const error = Array.isArray(first) ? (first[0] ?? first[1]) : first;
    const lines = buffer().slice(printed).map((entry) => entry.message);
    reported.add(name);
    report("finished", { id: name, outcome, durationMs: Math.round(test.duration ?? 0), output: lines.length ? shorten(lines.join("\n")) : undefined,
      ...(outcome === "failed" ? failure(error) : { message }) });
  }

  environment.handleTestEvent = async (event, state) => {
    await own?.(event, state);
    switch (event.name) {
      case "run_start": return begin(state);
      // Older versions know the second only.
      case "test_started":
      case "test_fn_start":
        if (started === event.test) return;
        started = event.test;
        printed = buffer().length;
        return report("started", { id: id(testPath, titles(event.test)) });
      case "test_skip": {
        const reason = matches(event.test) && skipReason(event.test, state);
        return reason && finish(event.test, "skipped", reason);
      }
      case "test_todo": return matches(event.test) && finish(event.test, "skipped", "todo");
      case "test_done": return finish(event.test, event.test.errors.length ? "failed" : "passed");
    }
  };

  // Code of a test, or a source that is being loaded, may end the process: no later source runs then.
  const ends = (code) => code === 0 && report("broken", { file: testPath, line: 0, message: "the process of the tests ended with exit code 0 before this file did" });
  process.on("exit", ends);
  let result;
  try {
    result = await circus(globalConfig, config, environment, runtime, testPath, ...more);
  } catch (error) {
    const place = ownPlace(error?.stack);
    const written = /^\s*(?:\[?\()?.*?\((\d+):\d+\)/m.exec(String(error?.message))?.[1];
    report("broken", { file: place.file ?? testPath, line: place.line ?? Number(written ?? 0), message: shorten(error?.stack ?? error).trim() });
    throw error;
  } finally {
    process.off("exit", ends);
  }
  // What is thrown outside of tests, and a file without a test, are errors to jest.
  const outside = result.testExecError;
  if (outside) {
    const place = ownPlace(outside.stack);
    report("broken", { file: place.file ?? testPath, line: place.line ?? 0, message: shorten(outside.stack ?? outside.message ?? outside).trim() });
  } else if (!lists && result.testResults.length === 0) {
    report("broken", { file: testPath, line: 0, message: "Your test suite must contain at least one test." });
  }
  // What failed after its test had ended.
  for (const one of result.testResults) {
    const name = id(testPath, [...one.ancestorTitles, one.title]);
    if (one.status === "failed" && !reported.has(name)) {
      report("finished", { id: name, outcome: "failed", message: shorten(one.failureMessages.join("\n")), ...ownPlace(one.failureMessages.join("\n")) });
    }
  }
  return result;
};
