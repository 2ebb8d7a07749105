// Reports results of mocha to Tandem, and lists or selects tests: `mocha --require FILE --reporter FILE`.
"use strict";
const path = require("node:path");
const { report, describeFailure, findOwnLocation, createId, readSelectedIds, isListing, isDebugging } = require("./tandem_reports.cjs");

const mochaModule = require(require.resolve("mocha", { paths: JSON.parse(process.env.TANDEM_TEST_MODULES) }));
const { Runnable, Suite } = mochaModule.default ?? mochaModule;
const scope = process.env.TANDEM_TEST_SCOPE;
const places = new WeakMap();

// Mocha knows the file of a test, but not its line.
const addTest = Suite.prototype.addTest;
Suite.prototype.addTest = function (test, ...more) {
  // A clone of a test that runs once more has no other place.
  if (!places.has(test)) places.set(test, findOwnLocation(new Error().stack));
  return addTest.call(this, test, ...more);
};

// No test is too slow while it is debugged, whatever limit it sets itself.
if (isDebugging) Runnable.prototype.timeout = function (...limit) { return limit.length ? this : 0; };

function locate(test) {
  const place = places.get(test) ?? places.get(test._retriedTest);
  return { file: place?.file ?? test.file, line: place?.line };
}

const getId = (test) => createId(test.file, test.titlePath());

function describeTest(test) {
  const titles = test.titlePath();
  return { id: getId(test), name: titles.join(" > "), class: titles.slice(0, -1).join(" > "), ...locate(test), skipped: test.isPending() ? "skip" : undefined };
}

function isMeant(test, selectedIds) {
  const inScope = !scope || test.file === scope || test.file.startsWith(scope + path.sep);
  return inScope && (!selectedIds || selectedIds.has(getId(test)));
}

// Keeps only some tests. Mocha runs no hooks of a suite without tests.
function keep(suite, isKept) {
  suite.tests = suite.tests.filter(isKept);
  for (const inner of suite.suites) keep(inner, isKept);
}

module.exports = class TandemReporter {
  constructor(runner) {
    const selectedIds = readSelectedIds();
    keep(runner.suite, (test) => isMeant(test, selectedIds));
    if (isListing) {
      runner.suite.eachTest((test) => report("test", describeTest(test)));
      keep(runner.suite, () => false);
    }
    const reported = new Set();
    const reportStart = (test) => report("started", { id: getId(test), ...locate(test) });
    const finish = (test, fields) => {
      // Another test with this id.
      if (reported.has(getId(test))) reportStart(test);
      reported.add(getId(test));
      report("finished", { id: getId(test), durationMs: Math.round(test.duration ?? 0), ...fields });
    };
    // Mocha applies `only` and `--grep` after it has created its reporter.
    runner.on("start", () => report("planned", { count: runner.total = runner.grepTotal(runner.suite) }));
    runner.on("test", reportStart);
    runner.on("retry", (test) => report("paused", { id: getId(test) }));
    runner.on("pass", (test) => finish(test, { outcome: "passed" }));
    runner.on("pending", (test) => finish(test, { outcome: "skipped", message: "skip" }));
    runner.on("fail", (runnable, error) => {
      if (runnable.type !== "hook") return finish(runnable, { outcome: "failed", ...locate(runnable), ...describeFailure(error) });
      // Mocha counts the failure of a hook once, and runs no further test of its suite.
      const current = runnable.ctx?.currentTest;
      const isOfTest = current && /^"(?:before|after) each"/.test(runnable.title);
      if (isOfTest) return finish(current, { outcome: "failed", ...locate(current), ...describeFailure(error), message: `${runnable.title}: ${describeFailure(error).message}` });
      report("finished", { id: createId(runnable.file ?? current?.file ?? "", runnable.titlePath()), outcome: "failed", file: runnable.file, ...describeFailure(error) });
    });
  }
};
