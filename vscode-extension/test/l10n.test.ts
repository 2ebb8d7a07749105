/** All UI texts can be translated. */
import assert from "node:assert/strict";
import { spawnSync } from "node:child_process";
import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from "node:fs";
import * as os from "node:os";
import * as path from "node:path";
import { test } from "node:test";
import { readAction } from "../src/actions";
import { formatStatusText } from "../src/session-snapshot";
import { formatEnglish, t, setTranslator } from "../src/l10n";

const SCRIPT_PATH = path.resolve("scripts/l10n.mjs");

/** Runs the check in an extension's folder and returns its messages. */
function runCheck(folder: string): string[] {
  const { stdout, stderr } = spawnSync(process.execPath, [SCRIPT_PATH, "--check"], { cwd: folder, encoding: "utf8" });
  return (stdout + stderr).split("\n").filter((line) => line !== "");
}

test("the bundle contains every UI text, and so does each translation", () => {
  assert.deepEqual(runCheck(process.cwd()), []);
});

test("the check reports untranslated, missing and stale texts", (context) => {
  const folder = mkdtempSync(path.join(os.tmpdir(), "tandem-l10n-"));
  context.after(() => rmSync(folder, { recursive: true, force: true }));
  const write = (file: string, content: unknown) => {
    mkdirSync(path.dirname(path.join(folder, file)), { recursive: true });
    writeFileSync(path.join(folder, file), typeof content === "string" ? content : `${JSON.stringify(content, undefined, 2)}\n`);
  };
  write("src/a.ts", [
    'import { t } from "two words";', 't("{0} is here", name);', 't("{0} is here");', "t(name);", 'vscode.l10n.t("here");', 'log().warn("only for logs");',
    'throw new Error("gone");', 'const item = { label: "here", id: "here" };', 'item.text = busy ? "here" : `${name}`;', 'const where = `it is ${name} there`;',
    "vscode.window.showInformationMessage(`Tandem: ${name}`);",
  ].join("\n"));
  write("l10n/bundle.l10n.json", { "{0} is here": "{0} is here" });
  write("package.nls.json", { one: "One of {0}", two: "Two" });
  assert.deepEqual(runCheck(folder).map((line) => /^src\/a\.ts:(\d+)/.exec(line)?.[1] ?? line), ["3", "4", "5", "7", "8", "9", "10"]);
  write("src/a.ts", 't("{0} is here", name);\n');
  assert.deepEqual(runCheck(folder), []);
  write("l10n/bundle.l10n.json", {});
  assert.match(runCheck(folder).join(), /is not up to date/);
  write("l10n/bundle.l10n.json", { "{0} is here": "{0} is here" });
  write("l10n/bundle.l10n.xx.json", { "{0} is here": "Hier." });
  write("package.nls.xx.json", { one: "Eins von {0}", three: "Drei" });
  assert.deepEqual(runCheck(folder), [
    "l10n/bundle.l10n.xx.json: `{0} is here` has other placeholders", "./package.nls.xx.json: `two` is missing", "./package.nls.xx.json: `three` is not used",
  ]);
});

test("sentences are translated as a whole", (context) => {
  context.after(() => setTranslator(formatEnglish));
  const words: Readonly<Record<string, string>> = {
    "{0} set {1}": "{1} von {0} gesetzt", "a breakpoint at {0}": "Haltepunkt in {0}", you: "du", "only you": "nur du",
  };
  setTranslator((text, ...values) => formatEnglish(words[text] ?? text, ...values));
  const clients = [{ id: 1, name: "me", kind: "editor", access: "full", launched: true, you: true, breakpoints: [] }] as const;
  const action = readAction({ change: "breakpoints", client: "me", clientId: 1, added: [{ file: "/w/a.cs", line: 3 }] }, clients);
  const snapshot = { session: "fox7", engine: "coreclr", state: "running", agentAccess: "full", clients };
  assert.equal(formatStatusText(snapshot, action), "$(organization) nur du · Haltepunkt in a.cs:3 von du gesetzt");
  assert.equal(t("{1} and {0} of {2}", 1, "{0}"), "{0} and 1 of {2}");
});
