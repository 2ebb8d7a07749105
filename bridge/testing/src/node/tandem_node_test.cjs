// Stands before `node:test` in a file of tests: lists its tests for Tandem, or runs those that Tandem has chosen.
"use strict";
const { AsyncLocalStorage } = require("node:async_hooks");
const path = require("node:path");
const real = require("node:test");
const { report, ownPlace, id, chosen, lists } = require("./tandem_reports.cjs");

const wanted = chosen();
const suites = new AsyncLocalStorage();
const file = path.resolve(process.argv[1]);
// Tests that have not begun, unless an option of Node leaves some out.
const waiting = new Set();
const leavesOut = [...process.execArgv, ...(process.env.NODE_OPTIONS ?? "").split(" ")].some((word) => word.startsWith("--test-name-pattern") || word.startsWith("--test-skip-pattern") || word === "--test-only");

function read(words) {
  const fn = words.find((word) => typeof word === "function");
  const options = words.find((word) => word && typeof word === "object") ?? {};
  const name = typeof words[0] === "string" ? words[0] : fn?.name || "<anonymous>";
  return { name, options, fn };
}

function reason(own) {
  for (const mode of ["skip", "todo"]) if (own[mode]) return typeof own[mode] === "string" ? own[mode] : mode;
  return undefined;
}

// A function with as many parameters as another has: a second one is a callback.
const alike = (fn, wrapped) => Object.defineProperty(wrapped, "length", { value: fn.length });

function suite(own) {
  return (...words) => {
    const { name, options, fn } = read(words);
    const outer = suites.getStore() ?? { titles: [] };
    // Nothing of it is wanted: what it does before its tests is not done either.
    const prefix = `${id(file, [...outer.titles, name])} > `;
    if (wanted && ![...wanted].some((one) => one.startsWith(prefix))) return Promise.resolve();
    const inner = { titles: [...outer.titles, name], reason: outer.reason ?? reason({ ...options, ...own }) };
    const body = fn && alike(fn, function (...more) { return suites.run(inner, () => fn.apply(this, more)); });
    if (!lists) return real.describe(name, { ...options, ...own }, body);
    return Promise.resolve(body?.({ name, signal: new AbortController().signal }));
  };
}

function single(own) {
  return (...words) => {
    const { name, options, fn } = read(words);
    const outer = suites.getStore() ?? { titles: [] };
    const own_id = id(file, [...outer.titles, name]);
    if (lists) {
      const place = ownPlace(new Error().stack?.split("\n").slice(2).join("\n"));
      report("test", { id: own_id, name: [...outer.titles, name].join(" > "), class: outer.titles.join(" > "), file: place.file ?? file, line: place.line,
        skipped: outer.reason ?? reason({ ...options, ...own }) });
      return Promise.resolve();
    }
    if (wanted && !wanted.has(own_id)) return Promise.resolve();
    if (fn && !leavesOut && !outer.reason && !reason({ ...options, ...own })) waiting.add(own_id);
    const body = fn && alike(fn, function (...more) {
      waiting.delete(own_id);
      report("started", { id: own_id });
      return fn.apply(this, more);
    });
    return real.test(name, { ...options, ...own }, body);
  };
}

// A run that ends badly says why itself.
if (!lists) {
  process.on("exit", (code) => {
    for (const one of code === 0 ? waiting : []) {
      report("finished", { id: one, outcome: "failed", message: "did not run: the process of the tests ended before" });
    }
  });
}

const with_modes = (make) => Object.assign(make({}), { skip: make({ skip: true }), todo: make({ todo: true }), only: make({ only: true }) });

const test = with_modes(single);
const describe = with_modes(suite);
const hooks = lists ? Object.fromEntries(["before", "after", "beforeEach", "afterEach"].map((name) => [name, () => {}])) : {};
module.exports = Object.assign(test, real, { test, it: test, describe, suite: describe, default: test, ...hooks });
