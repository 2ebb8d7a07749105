/** Bundles the extension into one file. `--minify` is for packages; `--tests` bundles the tests. */
import * as esbuild from "esbuild";
import { readdirSync } from "node:fs";

const tests = process.argv.includes("--tests");
const minify = process.argv.includes("--minify");
const findTests = (folder) => readdirSync(folder, { recursive: true }).filter((file) => file.endsWith(".test.ts")).map((file) => `${folder}/${file}`);

await esbuild.build({
  entryPoints: tests ? findTests("test") : ["src/extension.ts"],
  outdir: tests ? "dist/test" : undefined,
  outfile: tests ? undefined : "dist/extension.js",
  outbase: tests ? "test" : undefined,
  bundle: true, platform: "node", target: "node18", format: "cjs", minify, sourcemap: minify ? false : "linked",
  external: ["vscode", ...(tests ? ["@vscode/debugadapter-testsupport", "playwright-core"] : [])], logLevel: "warning",
});
