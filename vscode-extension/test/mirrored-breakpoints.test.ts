import assert from "node:assert/strict";
import { test } from "node:test";
import { MirroredBreakpoints, type Memento } from "../src/mirrored-breakpoints";

function createMemento(): Memento & { value: unknown } {
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

const createEventBody = (reason: string, id: number, line: number) => ({ reason, breakpoint: { id, line, source: { path: "/w/a.cs" } } });

test("the next window gets the breakpoints that a window did not remove", () => {
  const state = createMemento();
  const window = new MirroredBreakpoints(state);
  window.handleBreakpointEvent("one", createEventBody("new", 4, 9));
  window.handleBreakpointEvent("one", createEventBody("new", 5, 12));
  window.handleBreakpointEvent("one", createEventBody("changed", 5, 13));
  // The window's own breakpoint moved: it is not mirrored.
  window.handleBreakpointEvent("one", createEventBody("changed", 6, 20));
  window.handleBreakpointEvent("one", { reason: "removed", breakpoint: { id: 4, verified: false } });
  const next = new MirroredBreakpoints(state);
  assert.deepEqual(next.takeStale(), [{ file: "/w/a.cs", line: 13 }]);
  assert.deepEqual(next.takeStale(), []);
  assert.deepEqual(new MirroredBreakpoints(state).takeStale(), []);
});

test("a stored value of another type is ignored", () => {
  for (const value of [undefined, null, 7, "x", [], { a: 3 }, { a: { file: 1, line: "2" } }]) {
    assert.deepEqual(new MirroredBreakpoints({ ...createMemento(), get: () => value }).takeStale(), []);
  }
});
