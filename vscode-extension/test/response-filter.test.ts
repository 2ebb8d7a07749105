/** Responses of the terminal in the user's input. */
import assert from "node:assert/strict";
import test from "node:test";
import { TerminalResponseFilter } from "../src/terminal/response-filter";

test("responses of the terminal are removed, and keys stay", () => {
  const filter = new TerminalResponseFilter();
  for (const response of [
    "\x1b[0n", "\x1b[?1;2c", "\x1b[>0;276;0c", "\x1bP!|00000000\x1b\\", "\x1bP>|xterm.js(5.6.0)\x1b\\", "\x1b[8;24;80t", "\x1b[?0u",
    "\x1b[?2004;1$y", "\x1b[4;0$y", "\x1b]11;rgb:1e1e/1e1e/1e1e\x1b\\", "\x1b]10;rgb:cccc/cccc/cccc\x07",
  ]) {
    assert.equal(filter.removeResponses(`a${response}b`), "ab", JSON.stringify(response));
  }
  for (const typed of ["\x1b[A", "\x1bOP", "\x1b[1;2R", "\x1b[3~", "\x1b[<0;10;5M", "\x1b[I", "\x1b[200~\x1b]2;x\x07\x1b[201~", "word\r"]) {
    assert.equal(filter.removeResponses(typed), typed, JSON.stringify(typed));
  }
});

test("one cursor position is removed per query, however the query is split into chunks", () => {
  for (const query of ["\x1b[6n", "\x1b[?6n"]) {
    for (let cut = 0; cut <= query.length; cut += 1) {
      const filter = new TerminalResponseFilter();
      filter.trackOutput(`name: ${query.slice(0, cut)}`);
      filter.trackOutput(`${query.slice(cut)}next`);
      assert.equal(filter.removeResponses("\x1b[1;7R\x1b[1;2R"), "\x1b[1;2R", `${JSON.stringify(query)} at ${cut}`);
    }
  }
});
