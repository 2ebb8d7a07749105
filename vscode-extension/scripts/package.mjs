/** Creates the `.vsix` for one platform: the bundled extension with Tandem's programs. `vsce package` alone creates the one for every
 * platform, whose README loads its pictures from the repository; here it loads them from the package.
 *
 * `npm run package` builds the programs with cargo for this machine. `-- --target linux-x64 --programs DIR` uses those of a folder;
 * `-- --target universal` includes none (the extension then searches PATH). Writes tandem-TARGET-VERSION.vsix to this folder, or the file of
 * `--out`. The package is reproducible. */
import { execFileSync } from "node:child_process";
import { chmodSync, copyFileSync, cpSync, mkdirSync, mkdtempSync, readFileSync, readdirSync, rmSync, statSync, writeFileSync } from "node:fs";
import * as os from "node:os";
import * as path from "node:path";
import { fileURLToPath } from "node:url";
import { parseArgs } from "node:util";

const root = path.resolve(path.dirname(fileURLToPath(import.meta.url)), "..");
const TARGETS = ["linux-x64", "linux-arm64", "alpine-x64", "darwin-x64", "darwin-arm64", "win32-x64", "universal"];
/** All packed files except the programs. */
const PACKED_FILES = ["README.md", "CHANGELOG.md", "LICENSE.txt", "dist/extension.js", ...findFiles("images", /\.png$/), ...findFiles(".", /^package\.nls.*\.json$/),
  ...findFiles("l10n", /^bundle\.l10n.*\.json$/)];
/** Modification time of the packed files. */
const SOURCE_DATE_EPOCH = String(Date.UTC(2020, 0, 1) / 1000);

/** The oldest Node that vsce runs on. */
const OLDEST_NODE = [20, 18, 1];
const node = process.versions.node.split(".").map(Number);
const difference = OLDEST_NODE.map((wanted, index) => node[index] - wanted).find((part) => part !== 0) ?? 0;
if (difference < 0) {
  const needed = `vsce needs ${OLDEST_NODE.join(".")} or newer; put one first on PATH`;
  throw new Error(`cannot package with Node ${process.versions.node}: ${needed}`);
}

const { values } = parseArgs({
  options: { target: { type: "string" }, programs: { type: "string" }, out: { type: "string" } },
});
const target = values.target ?? `${process.platform}-${process.arch}`;
if (!TARGETS.includes(target)) {
  throw new Error(`there is no target \`${target}\`; there are ${TARGETS.join(", ")}`);
}
const manifest = JSON.parse(readFileSync(path.join(root, "package.json"), "utf8"));
const out = path.resolve(values.out ?? path.join(root, `tandem-${target}-${manifest.version}.vsix`));

execFileSync(process.execPath, [path.join(root, "scripts/build.mjs"), "--minify"], { cwd: root, stdio: "inherit" });
const staging = mkdtempSync(path.join(os.tmpdir(), "tandem-package-"));
try {
  stageFiles();
  const flags = ["--no-rewrite-relative-links", "--no-dependencies", ...(target === "universal" ? [] : ["--target", target])];
  const vsce = path.join(root, "node_modules/@vscode/vsce/vsce");
  execFileSync(process.execPath, [vsce, "package", ...flags, "--out", out], { cwd: staging, stdio: ["ignore", "ignore", "inherit"], env: { ...process.env, SOURCE_DATE_EPOCH } });
} finally {
  rmSync(staging, { recursive: true, force: true });
}
console.log(`${out}: ${(statSync(out).size / 1024).toFixed(0)} KiB`);

/** Copies the packed files into an empty folder. */
function stageFiles() {
  // Users do not need the scripts and dependencies that build and test the extension.
  const { scripts, devDependencies, vsce, ...packed } = manifest;
  writeFileSync(path.join(staging, "package.json"), JSON.stringify(packed, undefined, 2));
  writeFileSync(path.join(staging, ".vscodeignore"), "# All files.\n");
  for (const file of PACKED_FILES) {
    cpSync(path.join(root, file), path.join(staging, file));
  }
  for (const program of findPrograms()) {
    const copy = path.join(staging, "bin", path.basename(program));
    mkdirSync(path.dirname(copy), { recursive: true });
    copyFileSync(program, copy);
    chmodSync(copy, 0o755);
  }
}

function findFiles(folder, pattern) {
  return readdirSync(path.join(root, folder)).filter((name) => pattern.test(name)).map((name) => path.join(folder, name));
}

/** Returns the paths of the packed programs. Builds them if necessary. */
function findPrograms() {
  if (target === "universal") {
    return [];
  }
  let folder = values.programs;
  if (folder === undefined) {
    if (values.target !== undefined && values.target !== `${process.platform}-${process.arch}`) {
      throw new Error(`the programs for ${target} cannot be built here; name their folder with --programs`);
    }
    execFileSync("cargo", ["build", "--release", "--locked", "-p", "tandem-adapter", "-p", "tandem-bridge"], { cwd: path.dirname(root), stdio: "inherit" });
    folder = path.join(process.env.CARGO_TARGET_DIR ?? path.join(path.dirname(root), "target"), "release");
  }
  const extension = target.startsWith("win32") ? ".exe" : "";
  return ["tandem-dap", "tandem-mcp"].map((name) => path.join(folder, name + extension));
}
