import assert from "node:assert/strict";
import { test } from "node:test";
import { LineDiscipline, type InputAction } from "../src/terminal/line-discipline";
import { Screen } from "../src/terminal/screen";

/** Returns the texts that are sent, in order. */
function collectSent(actions: readonly InputAction[]): string[] {
  return actions.flatMap((action) => (action.kind === "send" ? [action.text] : []));
}

function joinEchoes(actions: readonly InputAction[]): string {
  return actions.map((action) => (action.kind === "echo" ? action.text : "")).join("");
}

test("a line is echoed while it is typed, and sent with Enter", () => {
  const discipline = new LineDiscipline();
  assert.deepEqual(discipline.processInput("hé"), [{ kind: "echo", text: "hé" }]);
  assert.deepEqual(discipline.processInput("\r"), [{ kind: "echo", text: "\r\n" }, { kind: "send", text: "hé\n" }]);
  assert.equal(discipline.pendingText, "");
});

test("pasted lines are sent one by one, and a Windows line end counts as one Enter", () => {
  const actions = new LineDiscipline().processInput("one\r\ntwo\nthr");
  assert.deepEqual(collectSent(actions), ["one\n", "two\n"]);
  assert.equal(joinEchoes(actions), "one\r\ntwo\r\nthr");
});

test("Backspace erases a whole character and all its columns", () => {
  const discipline = new LineDiscipline();
  discipline.processInput("a漢🚲");
  assert.equal(joinEchoes(discipline.processInput("\x7f")), "\b \b\b \b");
  assert.equal(joinEchoes(discipline.processInput("\x7f")), "\b \b\b \b");
  assert.equal(discipline.pendingText, "a");
  assert.equal(joinEchoes(discipline.processInput("\x7f\x7f\x7f")), "\b \b");
  assert.deepEqual(collectSent(discipline.processInput("\r")), ["\n"]);
});

test("Ctrl+W erases a word, and Ctrl+U erases the line", () => {
  const discipline = new LineDiscipline();
  discipline.processInput("one two  ");
  assert.equal(joinEchoes(discipline.processInput("\x17")), "\b \b".repeat(5));
  assert.equal(discipline.pendingText, "one ");
  discipline.processInput("\x15");
  assert.equal(discipline.pendingText, "");
});

test("Ctrl+D sends the line without a line feed, and ends the input on an empty line", () => {
  const discipline = new LineDiscipline();
  assert.deepEqual(discipline.processInput("ab\x04").at(-1), { kind: "send", text: "ab" });
  assert.deepEqual(discipline.processInput("\x04"), [{ kind: "end" }]);
  assert.deepEqual(discipline.processInput("more\r").every((action) => action.kind === "echo" && action.text.startsWith("\x07")), true);
  assert.deepEqual(discipline.processInput("\x03").at(-1), { kind: "interrupt" });
});

test("Ctrl+C interrupts and erases the line; arrows and function keys are ignored", () => {
  const discipline = new LineDiscipline();
  assert.deepEqual(discipline.processInput("ab\x03"), [{ kind: "echo", text: "ab^C\r\n" }, { kind: "interrupt" }]);
  assert.deepEqual(discipline.processInput("\x1b[A\x1b[1;5C\x1bOP\x1b"), []);
  assert.deepEqual(collectSent(discipline.processInput("x\r")), ["x\n"]);
});

test("line feeds become CR LF once, and escape codes stay", () => {
  const screen = new Screen();
  assert.equal(screen.printOutput("\x1b[31mred\x1b[0m\nnext\r"), "\x1b[31mred\x1b[0m\r\nnext\r");
  assert.equal(screen.printOutput("\nlast"), "\nlast");
  assert.equal(screen.isAtLineStart, false);
  assert.equal(screen.scrollback, "\x1b[31mred\x1b[0m\r\nnext\r\nlast");
});

test("the copy of the output is bounded, and reports dropped output", () => {
  const screen = new Screen();
  for (let chunk = 0; chunk < 40; chunk += 1) {
    screen.printOutput("x".repeat(64 * 1024));
  }
  assert.ok(screen.scrollback.length <= 1024 * 1024 + 100, `${screen.scrollback.length} kept`);
  assert.match(screen.scrollback, /earlier output was dropped/);
});
