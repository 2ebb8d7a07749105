import assert from "node:assert/strict";
import { mkdirSync, mkdtempSync, rmSync, utimesSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import * as path from "node:path";
import { test, type TestContext } from "node:test";
import { checkFreshness } from "./freshness";

/** Creates a checkout with one source, and a program that is a minute newer. */
function createCheckout(t: TestContext): { folder: string; source: string; program: string } {
  const folder = mkdtempSync(path.join(tmpdir(), "tandem-freshness-"));
  t.after(() => rmSync(folder, { recursive: true }));
  const [source, program] = [path.join(folder, "src/a file.rs"), path.join(folder, "target/debug/tandem-dap")];
  for (const [file, age] of [[source, 120], [program, 60]] as const) {
    mkdirSync(path.dirname(file), { recursive: true });
    writeFileSync(file, "");
    utimesSync(file, Date.now() / 1000 - age, Date.now() / 1000 - age);
  }
  writeFileSync(`${program}.d`, `${program}: ${source.replace(" ", "\\ ")} ${source.replace(" ", "\\ ")}\n`);
  return { folder, source, program };
}

test("a program that is newer than its sources is accepted", (t) => {
  const { folder, program } = createCheckout(t);
  checkFreshness(program, folder);
});

test("a program that is older than a source is rejected with the file and the command", (t) => {
  const { folder, source, program } = createCheckout(t);
  utimesSync(source, new Date(), new Date());
  const message = `\`${program}\` is older than its source ${source}. Run \`cargo build --workspace\``;
  assert.throws(() => checkFreshness(program, folder), { message });
});

test("a program with a removed source or from another checkout is rejected", (t) => {
  const { folder, source, program } = createCheckout(t);
  assert.throws(() => checkFreshness(program, path.join(folder, "other")), /was built from another checkout/);
  rmSync(source);
  assert.throws(() => checkFreshness(program, folder), /does not exist any more/);
});

test("a program without a list is not checked", (t) => {
  const { folder, source, program } = createCheckout(t);
  rmSync(`${program}.d`);
  rmSync(source);
  checkFreshness(program, folder);
});
