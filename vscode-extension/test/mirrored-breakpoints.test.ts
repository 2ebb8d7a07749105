import assert from "node:assert/strict";
import { test } from "node:test";
import { MirroredBreakpoints, type Memento } from "../src/mirrored-breakpoints";

function memory(): Memento & { value: unknown } {
  return {
    value: undefined,
    get() {
      return this.value;
    },
    update(_key, value) {
      this.value = JSON.parse(JSON.stringify(value)) as unknown;
      return Promise.resolve();
    },
  };
}

const told = (reason: string, id: number, line: number) => ({ reason, breakpoint: { id, line, source: { path: "/w/a.cs" } } });

test("what a window was shown and did not give back is left for the next one", () => {
  const kept = memory();
  const window = new MirroredBreakpoints(kept);
  window.handleBreakpointEvent("one", told("new", 4, 9));
  window.handleBreakpointEvent("one", told("new", 5, 12));
  window.handleBreakpointEvent("one", told("changed", 5, 13));
  // A breakpoint of its own that moved.
  window.handleBreakpointEvent("one", told("changed", 6, 20));
  window.handleBreakpointEvent("one", { reason: "removed", breakpoint: { id: 4, verified: false } });
  const next = new MirroredBreakpoints(kept);
  assert.deepEqual(next.takeStale(), [{ file: "/w/a.cs", line: 13 }]);
  assert.deepEqual(next.takeStale(), []);
  assert.deepEqual(new MirroredBreakpoints(kept).takeStale(), []);
});

test("a memory of another shape does no harm", () => {
  for (const value of [undefined, null, 7, "x", [], { a: 3 }, { a: { file: 1, line: "2" } }]) {
    assert.deepEqual(new MirroredBreakpoints({ ...memory(), get: () => value }).takeStale(), []);
  }
});
