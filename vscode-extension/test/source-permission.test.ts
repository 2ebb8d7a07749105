/** Permissions to fetch sources. */
import assert from "node:assert/strict";
import { test } from "node:test";
import { readRefusedSource, createSourceLinkOptions } from "../src/source-permission";

const allow = { "https://sources.example/*": { enabled: true } };
const refused = {
  type: "response", command: "source", success: false,
  body: { error: { variables: { code: "ACCESS_DENIED" }, data: { host: "sources.example", url: "https://sources.example/a.cs", allow } } },
};

test("only a source whose host is not allowed needs a permission", () => {
  assert.deepEqual(readRefusedSource(refused), { host: "sources.example", url: "https://sources.example/a.cs", allow });
  const error = refused.body.error;
  for (const other of [
    { ...refused, success: true }, { ...refused, command: "evaluate" }, { ...refused, type: "event" }, { type: "response" }, {},
    { ...refused, body: { error: { ...error, variables: { code: "NOT_FOUND" } } } },
    { ...refused, body: { error: { variables: error.variables } } },
    { ...refused, body: { error: { ...error, data: { ...error.data, allow: "all" } } } },
  ]) {
    assert.equal(readRefusedSource(other), undefined, JSON.stringify(other));
  }
});

test("a launch sends the user's decisions, and the configuration overrides them", () => {
  assert.deepEqual(createSourceLinkOptions({ "sources.example": true, "other.example:8443": false }, undefined), {
    "https://sources.example/*": { enabled: true }, "https://other.example:8443/*": { enabled: false },
  });
  const configured = { "https://sources.example/*": { enabled: false } };
  assert.deepEqual(createSourceLinkOptions({ "sources.example": true }, configured), configured);
  assert.deepEqual(createSourceLinkOptions({ "*": true, "a/b": true, "me@host": true, plain: "yes" }, undefined), {});
  assert.deepEqual([createSourceLinkOptions(undefined, undefined), createSourceLinkOptions(null, null), createSourceLinkOptions("x", 7)], [{}, {}, {}]);
});
