/** Contents of the package that `vsce package` makes, as the marketplace would accept it; and of our own
 * packages for one platform. */
import assert from "node:assert/strict";
import { execFileSync } from "node:child_process";
import { mkdirSync, mkdtempSync, readFileSync, readdirSync, rmSync, writeFileSync } from "node:fs";
import * as os from "node:os";
import * as path from "node:path";
import { test } from "node:test";

const ALWAYS = ["LICENSE.txt", "changelog.md", "dist/extension.js", "package.json", "package.nls.json", "l10n/bundle.l10n.json", "readme.md"];
const PICTURES = readdirSync("images").filter((name) => name.endsWith(".png")).map((name) => `images/${name}`);
const OWN = ["[Content_Types].xml", "extension.vsixmanifest"];

/** Creates a package in a new folder and passes its file names, and a reader for their contents, to `look`.
 * */
function packed(act: (out: string, scratch: string) => void, look: (names: string[], text: (name: string) => string) => void): void {
  const scratch = mkdtempSync(path.join(os.tmpdir(), "tandem-package-test-"));
  try {
    const out = path.join(scratch, "tandem.vsix");
    act(out, scratch);
    const python = (code: string, ...args: string[]) => execFileSync("python3", ["-c", `import sys, zipfile\n${code}`, out, ...args], { encoding: "utf8" });
    const names = python("print(*zipfile.ZipFile(sys.argv[1]).namelist(), sep='\\n')").trim().split("\n");
    look(names.sort(), (name) => python("sys.stdout.buffer.write(zipfile.ZipFile(sys.argv[1]).read(sys.argv[2]))", name));
  } finally {
    rmSync(scratch, { recursive: true, force: true });
  }
}

const inside = (names: readonly string[]) => [...OWN, ...names.map((name) => `extension/${name}`)].sort();

test("`vsce package` makes the package for every platform, with nothing in it that is not named", () => {
  const vsce = path.resolve("node_modules/@vscode/vsce/vsce");
  packed((out) => execFileSync(process.execPath, [vsce, "package", "--out", out], { stdio: "pipe" }), (names, text) => {
    assert.deepEqual(names, inside([...ALWAYS, ...PICTURES]));
    // The marketplace shows a picture from a public address only.
    const readme = text("extension/readme.md");
    assert.match(readme, /^# Tandem/);
    const pictures = [...readme.matchAll(/!\[[^\]]*\]\(([^)]*)\)/g)].map((match) => match[1] ?? "");
    const address = `${(JSON.parse(readFileSync("../publisher.json", "utf8")) as { repository: string }).repository}/raw/HEAD/vscode-extension/images/`;
    assert.ok(pictures.length > 0 && pictures.every((one) => one.startsWith(address)), pictures.join(", "));
  });
});

test("our own package for a platform holds its programs too, and the pictures of its README", () => {
  packed((out, scratch) => {
    const programs = path.join(scratch, "programs");
    mkdirSync(programs);
    for (const name of ["tandem-dap", "tandem-mcp"]) {
      writeFileSync(path.join(programs, name), "#!/bin/sh\n");
    }
    const flags = ["--target", "linux-x64", "--programs", programs, "--out", out];
    execFileSync(process.execPath, ["scripts/package.mjs", ...flags], { stdio: "pipe" });
  }, (names, text) => {
    assert.deepEqual(names, inside([...ALWAYS, ...PICTURES, "bin/tandem-dap", "bin/tandem-mcp"]));
    assert.match(text("extension.vsixmanifest"), /TargetPlatform="linux-x64"/);
    const shown = [...text("extension/readme.md").matchAll(/\((images\/[^)]+)\)/g)].map((match) => `extension/${match[1] ?? ""}`);
    assert.ok(shown.length > 0 && shown.every((name) => names.includes(name)), shown.join(", "));
    const manifest = JSON.parse(text("extension/package.json")) as Record<string, unknown>;
    assert.equal(manifest["devDependencies"], undefined);
  });
});
