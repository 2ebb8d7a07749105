import assert from "node:assert/strict";
import { appendFileSync, mkdtempSync, rmSync } from "node:fs";
import * as os from "node:os";
import * as path from "node:path";
import { test } from "node:test";
import { LogTail, parseLevel } from "../src/log-tail";

test("a growing file is read by whole lines, however it is written", (t) => {
  const folder = mkdtempSync(path.join(os.tmpdir(), "tandem-followed-"));
  t.after(() => {
    rmSync(folder, { recursive: true, force: true });
  });
  const file = path.join(folder, "log");
  const tail = new LogTail(file);
  assert.deepEqual(tail.readNewLines(), []);
  const text = Buffer.from("one\ntwö\n\nthree");
  const lines: string[] = [];
  for (const byte of text) {
    appendFileSync(file, Buffer.from([byte]));
    lines.push(...tail.readNewLines());
  }
  assert.deepEqual(lines, ["one", "twö", ""]);
  appendFileSync(file, `\n${"x".repeat(70_000)}\nend\n`);
  assert.deepEqual(tail.readNewLines().map((line) => line.length), [5, 65_536, 4_464, 3]);
});

test("the level of a log line is parsed", () => {
  assert.equal(parseLevel("2026-11-21T17:19:13.217170Z TRACE adapter::hub: asked"), "trace");
  assert.equal(parseLevel("2026-11-21T17:19:13.217170Z  WARN adapter: ERROR in it"), "warn");
  assert.equal(parseLevel("    at some place"), undefined);
});
