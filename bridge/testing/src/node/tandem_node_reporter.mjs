// Reports results of `node:test` to Tandem: `node --test-reporter=FILE`.
import path from "node:path";
import tandem from "./tandem_reports.cjs";

export default async function* reporter(source) {
  const names = [];
  const file = path.resolve(process.argv[1]);
  const { isSelected } = tandem.readSelection(file);
  // Tests that did not run because a hook of their suite failed. The error of the hook follows.
  let cancelled = [];
  for await (const { type, data } of source) {
    if (type === "test:start") {
      names.length = data.nesting;
      names[data.nesting] = data.name;
      continue;
    }
    if (type !== "test:pass" && type !== "test:fail") continue;
    const titles = [...names.slice(0, data.nesting), data.name];
    const error = type === "test:fail" ? data.details?.error : undefined;
    // A test that only surrounds the selected ones has no result, unless it fails itself.
    if (!isSelected(titles) && (!error || error.failureType === "subtestsFailed")) continue;
    if (error?.failureType === "cancelledByParent") {
      cancelled.push({ titles, data });
    } else if (error?.failureType === "hookFailed" && data.details.type === "suite" && cancelled.length) {
      for (const one of cancelled) reportResult(file, one.titles, getCause(error), one.data);
      cancelled = [];
    } else if (data.details?.type !== "suite" || (error && error.failureType !== "subtestsFailed")) {
      reportResult(file, titles, error && (error.failureType === "subtestsFailed" ? error : getCause(error)), data);
    }
  }
  for (const one of cancelled) reportResult(file, one.titles, one.data.details.error, one.data);
}

const reportedIds = new Set();

// Code may throw a value that is not an error. The message of a hook does not have it.
function getCause(error) {
  if (error.cause instanceof Object) return error.cause;
  return error.failureType === "hookFailed" && error.cause !== undefined ? new Error(`${error.message}: ${tandem.inspectValue(error.cause)}`) : error;
}

function reportResult(file, titles, error, data) {
  // Node reports a file without selected tests as a test.
  if (titles.length === 1 && path.resolve(titles[0]) === file && !error) return;
  const skipped = data.skip ?? data.todo;
  // Some versions report tests that the name pattern excludes as skipped.
  if (skipped === "test name does not match pattern") return;
  const outcome = skipped !== undefined && skipped !== false ? "skipped" : error ? "failed" : "passed";
  const id = tandem.createId(file, titles);
  const details = outcome === "failed" ? { ...tandem.getLocation(id), ...tandem.describeFailure(error) } : { message: typeof skipped === "string" ? skipped : "" };
  // Another test with this id.
  if (reportedIds.has(id)) tandem.report("started", { id, ...tandem.getLocation(id) });
  reportedIds.add(id);
  tandem.report("finished", { id, outcome, durationMs: Math.round(data.details?.duration_ms ?? 0), ...details });
}
