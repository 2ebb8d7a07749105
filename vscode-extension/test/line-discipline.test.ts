import assert from "node:assert/strict";
import { test } from "node:test";
import { LineDiscipline, type InputAction } from "../src/terminal/line-discipline";
import { Screen } from "../src/terminal/screen";

/** Everything of one kind, in order. */
function sent(effects: readonly InputAction[]): string[] {
  return effects.flatMap((effect) => (effect.kind === "send" ? [effect.text] : []));
}

function echoed(effects: readonly InputAction[]): string {
  return effects.map((effect) => (effect.kind === "echo" ? effect.text : "")).join("");
}

test("a line is echoed as it is typed and sent with Enter", () => {
  const keys = new LineDiscipline();
  assert.deepEqual(keys.processInput("hé"), [{ kind: "echo", text: "hé" }]);
  assert.deepEqual(keys.processInput("\r"), [{ kind: "echo", text: "\r\n" }, { kind: "send", text: "hé\n" }]);
  assert.equal(keys.pendingText, "");
});

test("a paste of lines is sent line by line, and Windows line ends are one Enter each", () => {
  const effects = new LineDiscipline().processInput("one\r\ntwo\nthr");
  assert.deepEqual(sent(effects), ["one\n", "two\n"]);
  assert.equal(echoed(effects), "one\r\ntwo\r\nthr");
});

test("Backspace takes a whole character, and as many columns as it had", () => {
  const keys = new LineDiscipline();
  keys.processInput("a漢🚲");
  assert.equal(echoed(keys.processInput("\x7f")), "\b \b\b \b");
  assert.equal(echoed(keys.processInput("\x7f")), "\b \b\b \b");
  assert.equal(keys.pendingText, "a");
  assert.equal(echoed(keys.processInput("\x7f\x7f\x7f")), "\b \b");
  assert.deepEqual(sent(keys.processInput("\r")), ["\n"]);
});

test("Ctrl+W forgets a word, Ctrl+U the line", () => {
  const keys = new LineDiscipline();
  keys.processInput("one two  ");
  assert.equal(echoed(keys.processInput("\x17")), "\b \b".repeat(5));
  assert.equal(keys.pendingText, "one ");
  keys.processInput("\x15");
  assert.equal(keys.pendingText, "");
});

test("Ctrl+D sends what is typed without a new line, and ends the input on an empty line", () => {
  const keys = new LineDiscipline();
  assert.deepEqual(keys.processInput("ab\x04").at(-1), { kind: "send", text: "ab" });
  assert.deepEqual(keys.processInput("\x04"), [{ kind: "end" }]);
  assert.deepEqual(keys.processInput("more\r").every((effect) => effect.kind === "echo" && effect.text.startsWith("\x07")), true);
  assert.deepEqual(keys.processInput("\x03").at(-1), { kind: "interrupt" });
});

test("Ctrl+C interrupts and forgets the line; arrows and function keys do nothing", () => {
  const keys = new LineDiscipline();
  assert.deepEqual(keys.processInput("ab\x03"), [{ kind: "echo", text: "ab^C\r\n" }, { kind: "interrupt" }]);
  assert.deepEqual(keys.processInput("\x1b[A\x1b[1;5C\x1bOP\x1b"), []);
  assert.deepEqual(sent(keys.processInput("x\r")), ["x\n"]);
});

test("line feeds get carriage returns, once, and escape codes stay", () => {
  const screen = new Screen();
  assert.equal(screen.printOutput("\x1b[31mred\x1b[0m\nnext\r"), "\x1b[31mred\x1b[0m\r\nnext\r");
  assert.equal(screen.printOutput("\nlast"), "\nlast");
  assert.equal(screen.isAtLineStart, false);
  assert.equal(screen.scrollback, "\x1b[31mred\x1b[0m\r\nnext\r\nlast");
});

test("what is kept for a terminal opened later is bounded, and says so", () => {
  const screen = new Screen();
  for (let piece = 0; piece < 40; piece += 1) {
    screen.printOutput("x".repeat(64 * 1024));
  }
  assert.ok(screen.scrollback.length <= 1024 * 1024 + 100, `${screen.scrollback.length} kept`);
  assert.match(screen.scrollback, /earlier output was dropped/);
});
