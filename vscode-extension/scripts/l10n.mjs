/** Writes l10n/bundle.l10n.json: every text that the sources give to `t` of l10n.ts, for translators, who add bundle.l10n.LANGUAGE.json
 * beside it, and package.nls.LANGUAGE.json beside package.nls.json.
 *
 * `--check` writes nothing: it says whether the bundle is up to date, which texts of the sources people would see untranslated, and
 * what a translation lacks, has too much or says with other places for values. */
import { mkdirSync, readFileSync, readdirSync, writeFileSync } from "node:fs";
import ts from "typescript";

const BUNDLE = "l10n/bundle.l10n.json";
/** Properties, and what is assigned to, whose texts people see, also single words. */
const SHOWN = ["label", "title", "description", "detail", "tooltip", "placeHolder", "hoverMessage", "contentText", "message", "prompt"];
/** Functions that show their texts. */
const SHOWS = /^(?:(?:this\.)?(?:terminal\??\.)?(?:remark|note|echo|complain)|vscode\.window\.(?:show\w+|setStatusBarMessage)|Error)$/;
/** Names that are the same in every language, commands, and names of icons: not translated. */
const NAMES = /Tandem\b|\.NET\b|Visual Basic|Claude Code|Gemini CLI|claude mcp add tandem|\$\([\w-]+\)/g;
/** Two words in a row. */
const WORDS = /\p{L}{2,}[,:.]? \p{L}{2,}/u;

const found = new Set();
const complaints = [];
for (const file of readdirSync("src", { recursive: true }).filter((name) => name.endsWith(".ts"))) {
  const source = ts.createSourceFile(file, readFileSync(`src/${file}`, "utf8"), ts.ScriptTarget.Latest, true);
  visit(source, file, source);
}
const bundle = `${JSON.stringify(Object.fromEntries([...found].sort().map((text) => [text, text])), undefined, 2)}\n`;
if (!process.argv.includes("--check")) {
  mkdirSync("l10n", { recursive: true });
  writeFileSync(BUNDLE, bundle);
} else {
  if (readFileSync(BUNDLE, "utf8") !== bundle) {
    complaints.push(`${BUNDLE} is not up to date: run \`npm run l10n\``);
  }
  translations("l10n", /^bundle\.l10n\.(.+)\.json$/, JSON.parse(bundle));
  translations(".", /^package\.nls\.(.+)\.json$/, JSON.parse(readFileSync("package.nls.json", "utf8")));
}
if (complaints.length > 0) {
  console.error(complaints.join("\n"));
  process.exitCode = 1;
}

function visit(node, file, source) {
  if (ts.isImportDeclaration(node)) {
    return;
  }
  if (ts.isCallExpression(node)) {
    const callee = node.expression.getText(source);
    if (callee === "t") {
      const [text, ...values] = node.arguments;
      if (text === undefined || !ts.isStringLiteral(text)) {
        complain(node, "must have its text as it is");
      } else {
        found.add(text.text);
        const wanted = places(text.text).at(-1);
        if (Number(wanted ?? -1) + 1 !== values.length) {
          complain(node, `has ${values.length} values for its places`);
        }
      }
      node.arguments.slice(1).forEach((value) => visit(value, file, source));
      return;
    }
    // Log messages are for those who work on Tandem.
    if (callee.startsWith("log()")) {
      return;
    }
    if (callee.endsWith("l10n.t") && file !== "extension.ts") {
      complain(node, "goes past `t` of l10n.ts");
    }
  }
  const text = spoken(node);
  if (text !== undefined && (WORDS.test(text) || (/\p{L}{2,}/u.test(text) && isShown(node, source)))) {
    complain(node, "is not translated: pass it to `t` of l10n.ts");
  }
  ts.forEachChild(node, (inner) => visit(inner, file, source));

  function complain(where, what) {
    const { line } = source.getLineAndCharacterOfPosition(where.getStart(source));
    complaints.push(`src/${file}:${line + 1}: ${where.getText(source)} ${what}`);
  }
}

/** The words of a literal; a template's without its values. */
function spoken(node) {
  if (ts.isStringLiteral(node) || ts.isNoSubstitutionTemplateLiteral(node)) {
    return ts.isTaggedTemplateExpression(node.parent) ? undefined : node.text.replace(NAMES, "");
  }
  const parts = ts.isTemplateExpression(node) ? [node.head, ...node.templateSpans.map((span) => span.literal)] : [];
  return parts.length === 0 ? undefined : parts.map((part) => part.text).join("\0").replace(NAMES, "");
}

/** Whether a literal is shown unchanged: the value of a property, an argument, or one of its alternatives. */
function isShown(node, source) {
  const parent = node.parent;
  if (ts.isConditionalExpression(parent) && parent.condition !== node || ts.isParenthesizedExpression(parent) || ts.isTemplateSpan(parent) || ts.isTemplateExpression(parent)) {
    return isShown(parent, source);
  }
  if (ts.isPropertyAssignment(parent)) {
    return SHOWN.includes(parent.name.getText(source));
  }
  if (ts.isBinaryExpression(parent)) {
    const assigned = parent.operatorToken.kind === ts.SyntaxKind.EqualsToken && /\.(?:name|text|tooltip|title|message|description)$/.test(parent.left.getText(source));
    return parent.right === node && (assigned || (parent.operatorToken.getText(source) !== "=" && !/[=!<>]/.test(parent.operatorToken.getText(source)) && isShown(parent, source)));
  }
  return (ts.isCallExpression(parent) || ts.isNewExpression(parent)) && parent.expression !== node && SHOWS.test(parent.expression.getText(source));
}

/** The translations of a kind, each against the texts that there are. */
function translations(folder, pattern, texts) {
  for (const name of readdirSync(folder).filter((file) => pattern.test(file))) {
    const translated = JSON.parse(readFileSync(`${folder}/${name}`, "utf8"));
    for (const key of Object.keys(texts).filter((one) => !(one in translated))) {
      complaints.push(`${folder}/${name}: \`${key}\` is missing`);
    }
    for (const [key, text] of Object.entries(translated)) {
      if (!(key in texts)) {
        complaints.push(`${folder}/${name}: \`${key}\` is no longer a text`);
      } else if (places(text).join() !== places(texts[key]).join()) {
        complaints.push(`${folder}/${name}: \`${key}\` has other places for values`);
      }
    }
  }
}

/** The numbers of a text's places for values. */
function places(text) {
  return [...new Set([...text.matchAll(/\{(\d+)\}/g)].map((match) => match[1]))].sort();
}
