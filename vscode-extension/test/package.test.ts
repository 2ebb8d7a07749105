/** Contents of the package that `vsce package` makes, as the marketplace would accept it; and of our own
 * packages for one platform. */
import assert from "node:assert/strict";
import { execFileSync } from "node:child_process";
import { mkdirSync, mkdtempSync, readFileSync, readdirSync, rmSync, writeFileSync } from "node:fs";
import * as os from "node:os";
import * as path from "node:path";
import { test } from "node:test";

const PACKED_FILES = ["LICENSE.txt", "changelog.md", "dist/extension.js", "package.json", "package.nls.json", "l10n/bundle.l10n.json", "readme.md"];
const PACKED_IMAGES = readdirSync("images").filter((name) => name.endsWith(".png")).map((name) => `images/${name}`);
const VSIX_FILES = ["[Content_Types].xml", "extension.vsixmanifest"];

/** Creates a package in a new folder, and passes its file names and a function that reads a file to `check`. */
function withPackage(createPackage: (out: string, scratch: string) => void, check: (names: string[], text: (name: string) => string) => void): void {
  const scratch = mkdtempSync(path.join(os.tmpdir(), "tandem-package-test-"));
  try {
    const out = path.join(scratch, "tandem.vsix");
    createPackage(out, scratch);
    const python = (code: string, ...args: string[]) => execFileSync("python3", ["-c", `import sys, zipfile\n${code}`, out, ...args], { encoding: "utf8" });
    const names = python("print(*zipfile.ZipFile(sys.argv[1]).namelist(), sep='\\n')").trim().split("\n");
    check(names.sort(), (name) => python("sys.stdout.buffer.write(zipfile.ZipFile(sys.argv[1]).read(sys.argv[2]))", name));
  } finally {
    rmSync(scratch, { recursive: true, force: true });
  }
}

const toPackagePaths = (names: readonly string[]) => [...VSIX_FILES, ...names.map((name) => `extension/${name}`)].sort();

test("`vsce package` creates the package for every platform with only the listed files", () => {
  const vsce = path.resolve("node_modules/@vscode/vsce/vsce");
  withPackage((out) => execFileSync(process.execPath, [vsce, "package", "--out", out], { stdio: "pipe" }), (names, text) => {
    assert.deepEqual(names, toPackagePaths([...PACKED_FILES, ...PACKED_IMAGES]));
    // The Marketplace shows only pictures from public addresses.
    const readme = text("extension/readme.md");
    assert.match(readme, /^# Tandem/);
    const pictures = [...readme.matchAll(/!\[[^\]]*\]\(([^)]*)\)/g)].map((match) => match[1] ?? "");
    const address = `${(JSON.parse(readFileSync("../publisher.json", "utf8")) as { repository: string }).repository}/raw/HEAD/vscode-extension/images/`;
    assert.ok(pictures.length > 0 && pictures.every((one) => one.startsWith(address)), pictures.join(", "));
  });
});

test("the package for a platform also contains the programs and the pictures of its README", () => {
  withPackage((out, scratch) => {
    const programs = path.join(scratch, "programs");
    mkdirSync(programs);
    for (const name of ["tandem-dap", "tandem-mcp"]) {
      writeFileSync(path.join(programs, name), "#!/bin/sh\n");
    }
    const flags = ["--target", "linux-x64", "--programs", programs, "--out", out];
    execFileSync(process.execPath, ["scripts/package.mjs", ...flags], { stdio: "pipe" });
  }, (names, text) => {
    assert.deepEqual(names, toPackagePaths([...PACKED_FILES, ...PACKED_IMAGES, "bin/tandem-dap", "bin/tandem-mcp"]));
    assert.match(text("extension.vsixmanifest"), /TargetPlatform="linux-x64"/);
    const shown = [...text("extension/readme.md").matchAll(/\((images\/[^)]+)\)/g)].map((match) => `extension/${match[1] ?? ""}`);
    assert.ok(shown.length > 0 && shown.every((name) => names.includes(name)), shown.join(", "));
    const manifest = JSON.parse(text("extension/package.json")) as Record<string, unknown>;
    assert.equal(manifest["devDependencies"], undefined);
  });
});
