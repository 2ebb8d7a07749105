/** Writes l10n/bundle.l10n.json: every text that the sources pass to `t` of l10n.ts. Translators add bundle.l10n.LANGUAGE.json next to it, and
 * package.nls.LANGUAGE.json next to package.nls.json.
 *
 * `--check` writes nothing. It reports an outdated bundle, untranslated UI texts in the sources, and missing texts, unused texts and wrong
 * placeholders in translations. */
import { mkdirSync, readFileSync, readdirSync, writeFileSync } from "node:fs";
import ts from "typescript";

const BUNDLE = "l10n/bundle.l10n.json";
/** Properties whose values VS Code shows, including single words. */
const UI_PROPERTIES = ["label", "title", "description", "detail", "tooltip", "placeHolder", "hoverMessage", "contentText", "message", "prompt"];
/** Functions that show their arguments. */
const UI_FUNCTIONS = /^(?:(?:this\.)?(?:terminal\??\.)?(?:printMessage|setState|echo|showProblem)|vscode\.window\.(?:show\w+|setStatusBarMessage)|Error)$/;
/** Names, commands and icons that are not translated. */
const UNTRANSLATED = /Tandem\b|\.NET\b|Visual Basic|Claude Code|Gemini CLI|claude mcp add tandem|\$\([\w-]+\)/g;
/** Two consecutive words. */
const PHRASE = /\p{L}{2,}[,:.]? \p{L}{2,}/u;

const texts = new Set();
const problems = [];
for (const file of readdirSync("src", { recursive: true }).filter((name) => name.endsWith(".ts"))) {
  const source = ts.createSourceFile(file, readFileSync(`src/${file}`, "utf8"), ts.ScriptTarget.Latest, true);
  visit(source, file, source);
}
const bundle = `${JSON.stringify(Object.fromEntries([...texts].sort().map((text) => [text, text])), undefined, 2)}\n`;
if (!process.argv.includes("--check")) {
  mkdirSync("l10n", { recursive: true });
  writeFileSync(BUNDLE, bundle);
} else {
  if (readFileSync(BUNDLE, "utf8") !== bundle) {
    problems.push(`${BUNDLE} is not up to date: run \`npm run l10n\``);
  }
  checkTranslations("l10n", /^bundle\.l10n\.(.+)\.json$/, JSON.parse(bundle));
  checkTranslations(".", /^package\.nls\.(.+)\.json$/, JSON.parse(readFileSync("package.nls.json", "utf8")));
}
if (problems.length > 0) {
  console.error(problems.join("\n"));
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
        reportProblem(node, "needs a string literal");
      } else {
        texts.add(text.text);
        const last = findPlaceholders(text.text).at(-1);
        if (Number(last ?? -1) + 1 !== values.length) {
          reportProblem(node, `has ${values.length} values for its placeholders`);
        }
      }
      node.arguments.slice(1).forEach((value) => visit(value, file, source));
      return;
    }
    // Log messages are not translated.
    if (callee.startsWith("log()")) {
      return;
    }
    if (callee.endsWith("l10n.t") && file !== "extension.ts") {
      reportProblem(node, "must use `t` of l10n.ts");
    }
  }
  const text = readLiteral(node);
  if (text !== undefined && (PHRASE.test(text) || (/\p{L}{2,}/u.test(text) && isShown(node, source)))) {
    reportProblem(node, "is not translated: pass it to `t` of l10n.ts");
  }
  ts.forEachChild(node, (inner) => visit(inner, file, source));

  function reportProblem(where, what) {
    const { line } = source.getLineAndCharacterOfPosition(where.getStart(source));
    problems.push(`src/${file}:${line + 1}: ${where.getText(source)} ${what}`);
  }
}

/** Returns the text of a literal or a template, without the values of the template. */
function readLiteral(node) {
  if (ts.isStringLiteral(node) || ts.isNoSubstitutionTemplateLiteral(node)) {
    return ts.isTaggedTemplateExpression(node.parent) ? undefined : node.text.replace(UNTRANSLATED, "");
  }
  const parts = ts.isTemplateExpression(node) ? [node.head, ...node.templateSpans.map((span) => span.literal)] : [];
  return parts.length === 0 ? undefined : parts.map((part) => part.text).join("\0").replace(UNTRANSLATED, "");
}

/** Whether VS Code shows a literal: as a property, an argument, or an alternative of these. */
function isShown(node, source) {
  const parent = node.parent;
  if (ts.isConditionalExpression(parent) && parent.condition !== node || ts.isParenthesizedExpression(parent) || ts.isTemplateSpan(parent) || ts.isTemplateExpression(parent)) {
    return isShown(parent, source);
  }
  if (ts.isPropertyAssignment(parent)) {
    return UI_PROPERTIES.includes(parent.name.getText(source));
  }
  if (ts.isBinaryExpression(parent)) {
    const isAssigned = parent.operatorToken.kind === ts.SyntaxKind.EqualsToken && /\.(?:name|text|tooltip|title|message|description)$/.test(parent.left.getText(source));
    return parent.right === node && (isAssigned || (parent.operatorToken.getText(source) !== "=" && !/[=!<>]/.test(parent.operatorToken.getText(source)) && isShown(parent, source)));
  }
  return (ts.isCallExpression(parent) || ts.isNewExpression(parent)) && parent.expression !== node && UI_FUNCTIONS.test(parent.expression.getText(source));
}

/** Checks the translations in a folder against the texts. */
function checkTranslations(folder, pattern, texts) {
  for (const name of readdirSync(folder).filter((file) => pattern.test(file))) {
    const translated = JSON.parse(readFileSync(`${folder}/${name}`, "utf8"));
    for (const key of Object.keys(texts).filter((one) => !(one in translated))) {
      problems.push(`${folder}/${name}: \`${key}\` is missing`);
    }
    for (const [key, text] of Object.entries(translated)) {
      if (!(key in texts)) {
        problems.push(`${folder}/${name}: \`${key}\` is not used`);
      } else if (findPlaceholders(text).join() !== findPlaceholders(texts[key]).join()) {
        problems.push(`${folder}/${name}: \`${key}\` has other placeholders`);
      }
    }
  }
}

/** Returns the numbers of the placeholders of a text. */
function findPlaceholders(text) {
  return [...new Set([...text.matchAll(/\{(\d+)\}/g)].map((match) => match[1]))].sort();
}
