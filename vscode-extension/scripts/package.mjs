/** Makes the `.vsix` for one platform: the extension, bundled, with Tandem's programs. `vsce package` alone makes the one for every
 * platform, whose README takes its pictures from the repository; here they are taken from the package.
 *
 * `npm run package` builds the programs with cargo for this machine. `-- --target linux-x64 --programs DIR` takes them
 * from elsewhere; `-- --target universal` packs none (the extension then finds them in PATH).
 * Writes tandem-TARGET-VERSION.vsix here, or where `--out` says. The same input makes the same package. */
import { execFileSync } from "node:child_process";
import { chmodSync, copyFileSync, cpSync, mkdirSync, mkdtempSync, readFileSync, readdirSync, rmSync, statSync, writeFileSync } from "node:fs";
import * as os from "node:os";
import * as path from "node:path";
import { fileURLToPath } from "node:url";
import { parseArgs } from "node:util";

const here = path.resolve(path.dirname(fileURLToPath(import.meta.url)), "..");
const TARGETS = ["linux-x64", "linux-arm64", "alpine-x64", "darwin-x64", "darwin-arm64", "win32-x64", "universal"];
/** Nothing else goes in but the programs. */
const KEPT = ["README.md", "CHANGELOG.md", "LICENSE.txt", "dist/extension.js", ...named("images", /\.png$/), ...named(".", /^package\.nls.*\.json$/),
  ...named("l10n", /^bundle\.l10n.*\.json$/)];
/** The packed files' time, which is the same for all packages of one input. */
const SOURCE_DATE_EPOCH = String(Date.UTC(2020, 0, 1) / 1000);

const { values } = parseArgs({
  options: { target: { type: "string" }, programs: { type: "string" }, out: { type: "string" } },
});
const target = values.target ?? `${process.platform}-${process.arch}`;
if (!TARGETS.includes(target)) {
  throw new Error(`there is no target \`${target}\`; there are ${TARGETS.join(", ")}`);
}
const manifest = JSON.parse(readFileSync(path.join(here, "package.json"), "utf8"));
const out = path.resolve(values.out ?? path.join(here, `tandem-${target}-${manifest.version}.vsix`));

execFileSync(process.execPath, [path.join(here, "scripts/build.mjs"), "--minify"], { cwd: here, stdio: "inherit" });
const staged = mkdtempSync(path.join(os.tmpdir(), "tandem-package-"));
try {
  stage();
  const flags = ["--no-rewrite-relative-links", "--no-dependencies", ...(target === "universal" ? [] : ["--target", target])];
  const vsce = path.join(here, "node_modules/@vscode/vsce/vsce");
  execFileSync(process.execPath, [vsce, "package", ...flags, "--out", out], { cwd: staged, stdio: ["ignore", "ignore", "inherit"], env: { ...process.env, SOURCE_DATE_EPOCH } });
} finally {
  rmSync(staged, { recursive: true, force: true });
}
console.log(`${out}: ${(statSync(out).size / 1024).toFixed(0)} KiB`);

/** Copies the packed files into a new folder, which holds nothing else. */
function stage() {
  // Users who install the extension do not need what builds and tests it.
  const { scripts, devDependencies, vsce, ...packed } = manifest;
  writeFileSync(path.join(staged, "package.json"), JSON.stringify(packed, undefined, 2));
  writeFileSync(path.join(staged, ".vscodeignore"), "# All that is here.\n");
  for (const file of KEPT) {
    cpSync(path.join(here, file), path.join(staged, file));
  }
  for (const program of programs()) {
    const copy = path.join(staged, "bin", path.basename(program));
    mkdirSync(path.dirname(copy), { recursive: true });
    copyFileSync(program, copy);
    chmodSync(copy, 0o755);
  }
}

function named(folder, pattern) {
  return readdirSync(path.join(here, folder)).filter((name) => pattern.test(name)).map((name) => path.join(folder, name));
}

/** Paths of the programs that are packed. */
function programs() {
  if (target === "universal") {
    return [];
  }
  let folder = values.programs;
  if (folder === undefined) {
    if (values.target !== undefined && values.target !== `${process.platform}-${process.arch}`) {
      throw new Error(`the programs for ${target} cannot be built here; name their folder with --programs`);
    }
    execFileSync("cargo", ["build", "--release", "--locked", "-p", "tandem-adapter", "-p", "tandem-bridge"], { cwd: path.dirname(here), stdio: "inherit" });
    folder = path.join(process.env.CARGO_TARGET_DIR ?? path.join(path.dirname(here), "target"), "release");
  }
  const ending = target.startsWith("win32") ? ".exe" : "";
  return ["tandem-dap", "tandem-mcp"].map((name) => path.join(folder, name + ending));
}
