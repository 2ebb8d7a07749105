import assert from "node:assert/strict";
import { test } from "node:test";
import { findAdapter } from "../src/binary";

test("a configured adapter is the only one that counts", () => {
  const found = findAdapter("/own/tandem-dap", "/extension", "/usr/bin", (file) => file.startsWith("/usr"));
  assert.deepEqual(found, { file: undefined, looked: ["/own/tandem-dap"] });
});

test("the bundled adapter comes before PATH, and PATH is walked in order", () => {
  const looked = ["/extension/bin/tandem-dap", "/a/tandem-dap", "/b/tandem-dap"];
  assert.deepEqual(findAdapter("", "/extension", "/a::/b", () => true), { file: looked[0], looked });
  assert.equal(findAdapter("", "/extension", "/a:/b", (file) => file.startsWith("/b")).file, looked[2]);
});
