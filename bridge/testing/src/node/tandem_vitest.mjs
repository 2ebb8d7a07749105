// Reports results of vitest to Tandem: `vitest run --reporter=FILE`.
import path from "node:path";
import { fileURLToPath } from "node:url";
import tandem from "./tandem_reports.cjs";

// Vitest removes the folders of its projects only if it ends by itself. Tandem removes that of this file in any case.
export function moveTemporaryFolders(vitest) {
  const folder = path.dirname(fileURLToPath(import.meta.url));
  for (const project of vitest.projects ?? []) {
    if (typeof project.tmpDir === "string") project.tmpDir = path.join(folder, path.basename(project.tmpDir));
  }
}

const getTitles = (test) => {
  const names = [];
  for (let one = test; one && one.type !== "module"; one = one.parent) names.unshift(one.name);
  return names;
};

export const getId = (test) => tandem.createId(test.module.moduleId, getTitles(test));

export function getSkipReason(test) {
  if (test.options.mode === "todo") return "todo";
  return test.options.mode === "skip" ? "skip" : undefined;
}

const locate = (test) => ({ file: test.module.moduleId, line: test.location?.line });

export function describeTest(test) {
  const names = getTitles(test);
  return { id: getId(test), name: names.join(" > "), class: names.slice(0, -1).join(" > "), ...locate(test), skipped: getSkipReason(test) };
}

export function reportBroken(module) {
  for (const error of module.errors?.() ?? []) {
    const { file, line, message } = tandem.describeFailure(error);
    // Location of a syntax error: `/w/a.test.js:3:4`.
    const location = /(\/[^\s:]+):(\d+):\d+/.exec(error.message ?? "");
    tandem.report("broken", { file: location?.[1] ?? error.loc?.file ?? file ?? module.moduleId,
      line: Number(location?.[2] ?? error.loc?.line ?? line ?? 0), message });
  }
}

// A worker of vitest 3 may lose an update, until it sends another one. If a module has begun, none of its tests runs, and there are no events
// for this long, then its next test has begun.
const LOST_START_TIMEOUT_MS = 1000;

export default class TandemReporter {
  selectedIds = tandem.readSelectedIds();
  output = new Map();
  ended = new Set();
  collected = new Map();
  started = new Set();
  finished = new Set();
  finishedIds = new Set();
  lastEventTime = Date.now();

  onInit(vitest) {
    moveTemporaryFolders(vitest);
    this.pattern = vitest.config?.testNamePattern;
    // Failures without a stack get the location of their test.
    for (const { config } of [vitest, ...(vitest.projects ?? [])]) if (config) config.includeTaskLocation = true;
    setInterval(() => this.reportLostStarts(), LOST_START_TIMEOUT_MS).unref();
  }

  onTestModuleCollected(module) {
    this.lastEventTime = Date.now();
    this.collected.set(module.moduleId, module);
  }

  reportLostStarts() {
    if (Date.now() - this.lastEventTime < LOST_START_TIMEOUT_MS) return;
    for (const module of this.collected.values()) {
      const tests = [...module.children.allTests()].filter((test) => !this.isExcluded(test) && !getSkipReason(test));
      if (tests.some((test) => this.started.has(test.id) && !this.finished.has(test.id))) continue;
      const next = tests.find((test) => !this.started.has(test.id) && !this.finished.has(test.id));
      if (next) this.reportStart(next);
    }
  }

  reportStart(test) {
    if (!this.started.has(test.id)) tandem.report("started", { id: getId(test), ...locate(test) });
    this.started.add(test.id);
  }

  // Vitest reports a test that the name pattern excludes as skipped.
  isExcluded(test) {
    return this.selectedIds ? !this.selectedIds.has(getId(test)) : Boolean(this.pattern) && !getTitles(test).join(" ").match(this.pattern);
  }

  onUserConsoleLog(log) {
    if (log.taskId) this.output.set(log.taskId, (this.output.get(log.taskId) ?? "") + log.content);
  }

  onTestCaseReady(test) {
    this.lastEventTime = Date.now();
    if (!this.isExcluded(test) && (this.selectedIds || !getSkipReason(test))) this.reportStart(test);
  }

  onTestCaseResult(test) {
    this.lastEventTime = Date.now();
    this.finished.add(test.id);
    if (this.isExcluded(test)) return;
    const { state, errors, note } = test.result();
    const text = this.output.get(test.id);
    this.output.delete(test.id);
    const [error] = errors ?? [];
    // Another test with this id.
    if (this.finishedIds.has(getId(test))) tandem.report("started", { id: getId(test), ...locate(test) });
    this.finishedIds.add(getId(test));
    tandem.report("finished", { id: getId(test), outcome: state === "pending" ? "skipped" : state, durationMs: Math.round(test.diagnostic()?.duration ?? 0),
      output: text && tandem.shorten(text), ...(state === "failed" ? { ...locate(test), ...describeError(error) } : { message: note ?? getSkipReason(test) ?? "" }) });
  }

  // Vitest skips the tests of a suite whose hook fails.
  onTestSuiteResult(suite) {
    const [error] = suite.errors?.() ?? [];
    for (const test of error === undefined ? [] : suite.children.allTests("skipped")) {
      if (!this.isExcluded(test) && (this.selectedIds || !getSkipReason(test))) tandem.report("finished", { id: getId(test), outcome: "failed", ...locate(test), ...describeError(error) });
    }
  }

  onTestModuleEnd(module) {
    this.ended.add(module.moduleId);
    this.collected.delete(module.moduleId);
    reportBroken(module);
  }

  onTestRunEnd(modules, errors) {
    // Vitest reports no end of a module that cannot be loaded or has no tests.
    for (const module of modules) if (!this.ended.has(module.moduleId)) reportBroken(module);
    // The end of a worker is an error.
    for (const error of errors) tandem.report("stray", { message: tandem.shorten(error.stack ?? error.message) });
  }
}

// Describes an error. Its `stack` has lines of the compiled code; `stacks` has those of the source.
function describeError(error) {
  const failure = tandem.describeFailure(error);
  const ownFrame = (error?.stacks ?? []).find((frame) => !frame.file.includes("/node_modules/"));
  const stack = (error?.stacks ?? []).map((frame) => `    at ${frame.method || "<anonymous>"} (${frame.file}:${frame.line}:${frame.column})`).join("\n");
  return { ...failure, ...(ownFrame ? { file: ownFrame.file, line: ownFrame.line } : {}), ...(stack ? { stack } : {}) };
}
