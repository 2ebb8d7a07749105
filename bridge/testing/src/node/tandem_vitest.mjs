// Reports results of vitest to Tandem: `vitest run --reporter=FILE`.
import tandem from "./tandem_reports.cjs";

const titles = (test) => {
  const names = [];
  for (let one = test; one && one.type !== "module"; one = one.parent) names.unshift(one.name);
  return names;
};

export const id = (test) => tandem.id(test.module.moduleId, titles(test));

export function skipReason(test) {
  if (test.options.mode === "todo") return "todo";
  return test.options.mode === "skip" ? "skip" : undefined;
}

export function describe(test) {
  const names = titles(test);
  return { id: id(test), name: names.join(" > "), class: names.slice(0, -1).join(" > "), file: test.module.moduleId,
    line: test.location?.line, skipped: skipReason(test) };
}

export function broken(module) {
  for (const error of module.errors?.() ?? []) {
    const { file, line, message } = tandem.failure(error);
    // Where a source cannot be read: `/w/a.test.js:3:4`.
    const written = /(\/[^\s:]+):(\d+):\d+/.exec(error.message ?? "");
    tandem.report("broken", { file: written?.[1] ?? error.loc?.file ?? file ?? module.moduleId,
      line: Number(written?.[2] ?? error.loc?.line ?? line ?? 0), message });
  }
}

// A worker of vitest 3 loses an update that its timer sends exactly at the end of its interval, until there is another one. Where a module
// has begun, no test of it runs, and there is no news for this long, its next test has begun.
const SILENCE_MS = 1000;

export default class TandemReporter {
  wanted = tandem.chosen();
  printed = new Map();
  ended = new Set();
  collected = new Map();
  started = new Set();
  finished = new Set();
  lastNews = Date.now();

  onInit(vitest) {
    this.pattern = vitest.config?.testNamePattern;
    setInterval(() => this.reportLostStarts(), SILENCE_MS).unref();
  }

  onTestModuleCollected(module) {
    this.lastNews = Date.now();
    this.collected.set(module.moduleId, module);
  }

  reportLostStarts() {
    if (Date.now() - this.lastNews < SILENCE_MS) return;
    for (const module of this.collected.values()) {
      const tests = [...module.children.allTests()].filter((test) => !this.leavesOut(test) && !skipReason(test));
      if (tests.some((test) => this.started.has(test.id) && !this.finished.has(test.id))) continue;
      const next = tests.find((test) => !this.started.has(test.id) && !this.finished.has(test.id));
      if (next) this.reportStart(next);
    }
  }

  reportStart(test) {
    if (!this.started.has(test.id)) tandem.report("started", { id: id(test) });
    this.started.add(test.id);
  }

  // Vitest counts a test that the name pattern leaves out as skipped.
  leavesOut(test) {
    return this.wanted ? !this.wanted.has(id(test)) : Boolean(this.pattern) && !titles(test).join(" ").match(this.pattern);
  }

  onUserConsoleLog(log) {
    if (log.taskId) this.printed.set(log.taskId, (this.printed.get(log.taskId) ?? "") + log.content);
  }

  onTestCaseReady(test) {
    this.lastNews = Date.now();
    if (!this.leavesOut(test) && (this.wanted || !skipReason(test))) this.reportStart(test);
  }

  onTestCaseResult(test) {
    this.lastNews = Date.now();
    this.finished.add(test.id);
    if (this.leavesOut(test)) return;
    const { state, errors, note } = test.result();
    const output = this.printed.get(test.id);
    this.printed.delete(test.id);
    const [error] = errors ?? [];
    tandem.report("finished", { id: id(test), outcome: state === "pending" ? "skipped" : state, durationMs: Math.round(test.diagnostic()?.duration ?? 0),
      output: output && tandem.shorten(output), ...(state === "failed" ? place(error) : { message: note ?? skipReason(test) ?? "" }) });
  }

  // Its tests are skipped when what they all need fails.
  onTestSuiteResult(suite) {
    const [error] = suite.errors?.() ?? [];
    for (const test of error === undefined ? [] : suite.children.allTests("skipped")) {
      if (!this.leavesOut(test) && (this.wanted || !skipReason(test))) tandem.report("finished", { id: id(test), outcome: "failed", ...place(error) });
    }
  }

  onTestModuleEnd(module) {
    this.ended.add(module.moduleId);
    this.collected.delete(module.moduleId);
    broken(module);
  }

  onTestRunEnd(modules, errors) {
    // A module that cannot be loaded, or has no test, has no end.
    for (const module of modules) if (!this.ended.has(module.moduleId)) broken(module);
    // A worker that has ended is one.
    for (const error of errors) tandem.report("stray", { message: tandem.shorten(error.stack ?? error.message) });
  }
}

// Its stack has the lines of what was compiled; `stacks` those of the source.
function place(error) {
  const failure = tandem.failure(error);
  const own = (error?.stacks ?? []).find((frame) => !frame.file.includes("/node_modules/"));
  const stack = (error?.stacks ?? []).map((frame) => `    at ${frame.method || "<anonymous>"} (${frame.file}:${frame.line}:${frame.column})`).join("\n");
  return { ...failure, ...(own ? { file: own.file, line: own.line } : {}), ...(stack ? { stack } : {}) };
}
