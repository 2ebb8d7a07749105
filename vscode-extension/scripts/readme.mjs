/** Writes dist/README.md, the marketplace's text: README.md without its pictures, which the marketplace shows from a public address
 * only, and this repository has none in package.json. With `repository` there, `vsce` makes addresses of them by itself, and neither
 * this file nor `vsce.readmePath` is needed. */
import { mkdirSync, readFileSync, writeFileSync } from "node:fs";

const text = readFileSync("README.md", "utf8");
mkdirSync("dist", { recursive: true });
writeFileSync("dist/README.md", text.replace(/^!\[[^\]]*\]\([^)]*\)\n\n?/gm, ""));
