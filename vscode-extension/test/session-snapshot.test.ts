import assert from "node:assert/strict";
import { test } from "node:test";
import { readAction } from "../src/actions";
import { collectForeignBreakpoints, readSnapshot, formatStatusDetails, formatStatusText } from "../src/session-snapshot";

const INFO = {
  id: "fox7", engine: "coreclr", state: "stopped", agentAccess: "full",
  clients: [
    { id: 1, name: "Visual Studio Code", kind: "editor", access: "full", launched: true, you: true,
      breakpoints: [{ line: 3, source: { path: "/w/a.cs" } }] },
    { id: 4, name: "claude-code", kind: "agent", access: "full", launched: false, you: false,
      breakpoints: [{ line: 3, source: { path: "/w/a.cs" } }, { line: 9, source: { path: "/w/a.cs" } }, { line: 9, source: { path: "/w/a.cs" } }, { id: 3, message: "no place" }] },
  ],
};

test("the status bar shows the clients, the access of agents and the last action", () => {
  const snapshot = readSnapshot(INFO);
  assert.equal(formatStatusText(snapshot, undefined), "$(hubot) you + claude-code · agents control");
  const action = readAction({ change: "resumed", client: "claude-code", clientId: 4, kind: "agent", command: "next" }, snapshot.clients);
  assert.equal(action?.format("ann"), "ann stepped over");
  assert.equal(formatStatusText(snapshot, action), "$(hubot) you + claude-code · agents control · claude-code stepped over");
  assert.match(formatStatusDetails(snapshot, action), /\*\*claude\\-code\*\* — agent, may control, 3 breakpoints/);
  const alone = { ...snapshot, clients: snapshot.clients.slice(0, 1) };
  assert.equal(formatStatusText(alone, undefined), "$(organization) only you");
  const texts = ["full", "readOnly", "none"].map((agentAccess) => formatStatusText({ ...snapshot, agentAccess }, undefined));
  assert.equal(new Set(texts).size, 3, texts.join("\n"));
  assert.equal(formatStatusText({ ...alone, agentAccess: "none" }, undefined), "$(organization) only you · agents shut out");
});

test("each action of a client has a description", () => {
  const { clients } = readSnapshot(INFO);
  const agent = { client: "claude-code", clientId: 4, kind: "agent" };
  const file = "/w/a.cs";
  for (const [body, description] of [
    [{ change: "joined", access: "readOnly" }, "joined (may look)"],
    [{ change: "left" }, "left"],
    [{ change: "paused" }, "paused"],
    [{ change: "restarted" }, "restarted"],
    [{ change: "resumed", command: "dance" }, "asked for `dance`"],
    [{ change: "input", text: "ann\n", bytes: 4, closed: false }, "typed ann"],
    [{ change: "input", bytes: 7, closed: true }, "typed 7 bytes and ended the input"],
    [{ change: "valueSet", name: "i", value: "7" }, "set i = 7"],
    [{ change: "evaluated", expression: "Save(x)" }, "evaluated Save(x)"],
    [{ change: "breakpoints", added: [{ file, line: 3 }], removed: [{ name: "Main" }] }, "set a breakpoint at a.cs:3, removed a breakpoint (Main)"],
    [{ change: "breakpoints", removed: [{ file, line: 3, owner: "ann" }] }, "removed a breakpoint at a.cs:3 of ann"],
    [{ change: "refused", command: "next", access: "none" }, "was refused to step"],
    [{ change: "agentAccess", agentAccess: "readOnly" }, "decided: agents may look"],
  ] as const) {
    const action = readAction({ ...agent, ...body }, clients);
    assert.deepEqual([action?.format("ann"), action?.client, action?.agent, action?.you], [`ann ${description}`, "claude-code", true, false]);
  }
  assert.deepEqual(readAction({ ...agent, change: "breakpoints", added: [{ file, line: 3 }] }, clients)?.location, { file, line: 3 });
  // Ids distinguish clients of the same name.
  assert.equal(readAction({ change: "paused", client: "claude-code", clientId: 1, kind: "editor" }, clients)?.you, true);
  for (const body of [undefined, null, {}, { change: "joined" }, { ...agent, change: "invented" }]) {
    assert.equal(readAction(body, clients), undefined);
  }
});

test("foreign breakpoints are collected once per line, except where this window has one, too", () => {
  const breakpoints = collectForeignBreakpoints(readSnapshot(INFO));
  assert.deepEqual([...breakpoints].map(([file, lines]) => [file, [...lines]]), [["/w/a.cs", [[9, ["claude-code"]]]]]);
});

test("a response of another type is accepted", () => {
  for (const body of [undefined, null, 7, "x", [], { clients: 3 }, { clients: [null, { breakpoints: "no" }] }]) {
    assert.doesNotThrow(() => formatStatusDetails(readSnapshot(body), undefined));
  }
});
