import assert from "node:assert/strict";
import { test } from "node:test";
import { foreignMarks, readAct, readPicture, statusDetails, statusText } from "../src/riders";

const INFO = {
  id: "fox7", engine: "coreclr", state: "stopped", agentAccess: "full",
  clients: [
    { id: 1, name: "Visual Studio Code", kind: "editor", access: "full", launched: true, you: true,
      breakpoints: [{ line: 3, source: { path: "/w/a.cs" } }] },
    { id: 4, name: "claude-code", kind: "agent", access: "full", launched: false, you: false,
      breakpoints: [{ line: 9, source: { path: "/w/a.cs" } }, { line: 9, source: { path: "/w/a.cs" } }, { id: 3, message: "no place" }] },
  ],
};

test("the status bar says who is here and who acted last", () => {
  const picture = readPicture(INFO);
  assert.equal(statusText(picture, undefined), "$(hubot) you + claude-code");
  const act = readAct({ change: "resumed", client: "claude-code", command: "next" }, picture.riders);
  assert.deepEqual(act, { who: "claude-code", agent: true, you: false, what: "stepped over" });
  assert.equal(statusText(picture, act), "$(hubot) you + claude-code · claude-code stepped over");
  assert.match(statusDetails(picture, act), /\*\*claude\\-code\*\* — agent, may control, 2 breakpoints/);
  assert.equal(statusText({ ...picture, riders: picture.riders.slice(0, 1) }, undefined), "$(organization) only you");
});

test("an unknown command of an unknown client is told as it is; other changes are no act", () => {
  assert.deepEqual(readAct({ change: "resumed", client: "x", command: "dance" }, []), { who: "x", agent: false, you: false, what: "dance" });
  assert.equal(readAct({ change: "restarted", client: "x" }, [])?.what, "restarted");
  assert.equal(readAct({ change: "joined", client: "x" }, []), undefined);
  assert.equal(readAct(undefined, []), undefined);
});

test("only others' breakpoints are marked, once per line", () => {
  const marks = foreignMarks(readPicture(INFO));
  assert.deepEqual([...marks].map(([file, lines]) => [file, [...lines]]), [["/w/a.cs", [[9, ["claude-code"]]]]]);
});

test("an answer of another shape does no harm", () => {
  for (const body of [undefined, null, 7, "x", [], { clients: 3 }, { clients: [null, { breakpoints: "no" }] }]) {
    assert.doesNotThrow(() => statusDetails(readPicture(body), undefined));
  }
});
