/** Writes l10n/bundle.l10n.json: every text that the sources give to `vscode.l10n.t`, for translators, who add bundle.l10n.LANGUAGE.json
 * beside it, and package.nls.LANGUAGE.json beside package.nls.json. `--check` only says whether it is up to date.
 *
 * Not in it: the words of deeds and of the status bar, which are parts of sentences, and what `tandem-dap` says. */
import { mkdirSync, readFileSync, readdirSync, writeFileSync } from "node:fs";
import ts from "typescript";

const found = new Set();
for (const file of readdirSync("src", { recursive: true }).filter((name) => name.endsWith(".ts"))) {
  const source = ts.createSourceFile(file, readFileSync(`src/${file}`, "utf8"), ts.ScriptTarget.Latest, true);
  const visit = (node) => {
    if (ts.isCallExpression(node) && node.expression.getText(source) === "vscode.l10n.t") {
      const [text] = node.arguments;
      if (text === undefined || !ts.isStringLiteral(text)) {
        throw new Error(`src/${file}: \`${node.getText(source)}\` must have its text as it is`);
      }
      found.add(text.text);
    }
    ts.forEachChild(node, visit);
  };
  visit(source);
}
const bundle = `${JSON.stringify(Object.fromEntries([...found].sort().map((text) => [text, text])), undefined, 2)}\n`;
const place = "l10n/bundle.l10n.json";
if (!process.argv.includes("--check")) {
  mkdirSync("l10n", { recursive: true });
  writeFileSync(place, bundle);
} else if (readFileSync(place, "utf8") !== bundle) {
  throw new Error(`${place} is not up to date: run \`npm run l10n\``);
}
