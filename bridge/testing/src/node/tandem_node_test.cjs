// Wraps `node:test`: lists the tests of a file for Tandem, or runs those that Tandem selects.
"use strict";
const { AsyncLocalStorage } = require("node:async_hooks");
const path = require("node:path");
const nodeTest = require("node:test");
const { report, findOwnLocation, createId, readSelection, setLocation, getLocation, isListing } = require("./tandem_reports.cjs");

const suites = new AsyncLocalStorage();
const file = path.resolve(process.argv[1]);
const { isSelected, isNeeded } = readSelection(file);
// Ids of tests that have not begun. Unused if an option of Node excludes tests.
const pendingIds = new Set();
const nodeOptions = [...process.execArgv, ...(process.env.NODE_OPTIONS ?? "").split(" ")];
const excludesTests = nodeOptions.some((option) => option.startsWith("--test-name-pattern") || option.startsWith("--test-skip-pattern") || option === "--test-only");

// Without `--test-only`, `node --test` ignores `only`. A file that runs by itself does not.
function combineOptions(options, mode) {
  const all = { ...options, ...mode };
  if (!nodeOptions.includes("--test-only")) delete all.only;
  return all;
}

function parseArguments(args) {
  const fn = args.find((arg) => typeof arg === "function");
  const options = args.find((arg) => arg && typeof arg === "object") ?? {};
  const name = typeof args[0] === "string" ? args[0] : fn?.name || "<anonymous>";
  return { name, options, fn };
}

function getSkipReason(options) {
  for (const mode of ["skip", "todo"]) if (options[mode]) return typeof options[mode] === "string" ? options[mode] : mode;
  return undefined;
}

// Gives a wrapper the number of parameters of the wrapped function: Node treats a second parameter as a callback.
const copyLength = (fn, wrapped) => Object.defineProperty(wrapped, "length", { value: fn.length });

function wrapSuite(mode) {
  return (...args) => {
    const { name, options, fn } = parseArguments(args);
    const outer = suites.getStore() ?? { titles: [] };
    // Do not run the body of a suite without selected tests.
    if (!isNeeded([...outer.titles, name])) return Promise.resolve();
    const inner = { titles: [...outer.titles, name], reason: outer.reason ?? getSkipReason(combineOptions(options, mode)) };
    const body = fn && copyLength(fn, function (...more) { return suites.run(inner, () => fn.apply(this, more)); });
    if (!isListing) return nodeTest.describe(name, combineOptions(options, mode), body);
    return Promise.resolve(body?.({ name, signal: new AbortController().signal }));
  };
}

// Finds the call that declares a test: all of these frames of Tandem are outside of the project.
const locateCaller = () => findOwnLocation(new Error().stack);

function wrapTest(mode) {
  return (...args) => {
    const { name, options, fn } = parseArguments(args);
    const outer = suites.getStore() ?? { titles: [] };
    const titles = [...outer.titles, name];
    const testId = createId(file, titles);
    if (isListing) {
      report("test", { id: testId, name: titles.join(" > "), class: outer.titles.join(" > "), file, ...locateCaller(),
        skipped: outer.reason ?? getSkipReason(combineOptions(options, mode)) });
      return Promise.resolve();
    }
    if (!isNeeded(titles)) return Promise.resolve();
    if (fn && isSelected(titles) && !excludesTests && !outer.reason && !getSkipReason(combineOptions(options, mode))) pendingIds.add(testId);
    setLocation(testId, locateCaller());
    return nodeTest.test(name, combineOptions(options, mode), fn && wrapBody(fn, titles));
  };
}

// A test that `test` declares within a test is a subtest, as one of `context.test`.
function wrapBody(fn, titles) {
  return copyLength(fn, function (context, ...more) {
    const testId = createId(file, titles);
    pendingIds.delete(testId);
    if (isSelected(titles)) report("started", { id: testId, ...getLocation(testId) });
    else selectSubtests(context, titles);
    return suites.run({ titles }, () => fn.call(this, context, ...more));
  });
}

// Makes a test that is not selected run only those of its subtests that are.
function selectSubtests(context, titles) {
  if (typeof context?.test !== "function") return;
  const runSubtest = context.test.bind(context);
  const select = (...args) => {
    const { name, options, fn } = parseArguments(args);
    const inner = [...titles, name];
    return isNeeded(inner) ? runSubtest(name, options, fn && wrapBody(fn, inner)) : Promise.resolve();
  };
  // The number of planned subtests includes those that do not run.
  for (const [key, value] of Object.entries({ test: select, plan: () => {} })) Object.defineProperty(context, key, { value, configurable: true, writable: true });
}

// Report tests that did not run. A run that fails reports the reason itself.
if (!isListing) {
  process.on("exit", (code) => {
    for (const one of code === 0 ? pendingIds : []) {
      report("finished", { id: one, outcome: "failed", message: "did not run: the process of the tests ended before" });
    }
  });
}

// Modes that this version of Node has: `skip`, `todo`, `only`, and `expectFailure` in newer ones.
const modes = ["skip", "todo", "only", "expectFailure"].filter((mode) => nodeTest[mode]);
const wrapModes = (wrap) => Object.fromEntries(modes.map((mode) => [mode, wrap({ [mode]: true })]));

const test = wrapTest({});
const describe = Object.assign(wrapSuite({}), wrapModes(wrapSuite));
const hooks = isListing ? Object.fromEntries(["before", "after", "beforeEach", "afterEach"].map((name) => [name, () => {}])) : {};
// All functions of `node:test` are also properties of its main one.
module.exports = Object.assign(test, nodeTest, wrapModes(wrapTest), { test, it: test, describe, suite: describe, default: test, ...hooks });
