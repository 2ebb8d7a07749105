/** package.json agrees with the documentation, with the code, and with itself. */
import assert from "node:assert/strict";
import { existsSync, readFileSync } from "node:fs";
import * as path from "node:path";
import { test } from "node:test";
import { LANGUAGES } from "../src/languages";

const EXTENSION = process.cwd();
const readExtensionFile = (file: string) => readFileSync(path.join(EXTENSION, file), "utf8");

interface Attribute {
  readonly type?: unknown;
  readonly default?: unknown;
  readonly description?: string;
  readonly markdownDescription?: string;
  readonly enum?: readonly string[];
  readonly enumDescriptions?: readonly string[];
  readonly anyOf?: readonly Attribute[];
}
interface Manifest {
  readonly icon: string;
  readonly contributes: {
    readonly commands: readonly { readonly command: string }[];
    readonly breakpoints: readonly { readonly language: string }[];
    readonly views: Readonly<Record<string, readonly { readonly name: string }[]>>;
    readonly configuration: { readonly properties: Readonly<Record<string, Attribute>> };
    readonly walkthroughs: readonly { readonly steps: readonly { readonly media: { readonly image: string } }[] }[];
    readonly debuggers: readonly [{
      readonly languages: readonly string[];
      readonly variables: Readonly<Record<string, string>>;
      readonly configurationAttributes: Readonly<Record<"launch" | "attach", { readonly properties: Readonly<Record<string, Attribute>> }>>;
      readonly configurationSnippets: readonly { readonly body: Readonly<Record<string, unknown>> }[];
    }];
  };
}
const manifest = JSON.parse(readExtensionFile("package.json")) as Manifest;
const [tandem] = manifest.contributes.debuggers;

/** Reads the attributes and defaults of a section of docs/launch-configuration.md: first and last cells of its tables. */
function readDocumentedAttributes(section: "launch" | "attach"): Map<string, string> {
  const text = readExtensionFile("../docs/launch-configuration.md").split(/^## /m).find((part) => part.startsWith(`${section}\n`)) ?? "";
  const rows = text.split("\n").filter((line) => line.startsWith("| `"));
  return new Map(rows.flatMap((row) => {
    const cells = row.split("|").map((cell) => cell.trim()).slice(1, -1);
    const names = [...(cells[0] ?? "").matchAll(/`([^`]+)`/g)].map((match) => match[1] ?? "")
      // Only clients send attributes that begin with `__`.
      .filter((name) => !name.startsWith("__"));
    // A row may contain several attributes, and then as many defaults.
    const defaults = (cells.at(-1) ?? "").split(", ");
    return names.map((name, at): [string, string] => [name, names.length === 1 ? (cells.at(-1) ?? "") : (defaults[at] ?? "")]);
  }));
}

for (const section of ["launch", "attach"] as const) {
  test(`the schema of ${section} has exactly the documented attributes`, () => {
    const schema = tandem.configurationAttributes[section].properties;
    assert.deepEqual(Object.keys(schema).sort(), [...readDocumentedAttributes(section).keys()].sort());
    for (const [name, attribute] of Object.entries(schema)) {
      assert.ok(attribute.description ?? attribute.markdownDescription, `\`${name}\` has no description`);
    }
  });
}

test("the defaults of the schema match the documentation", () => {
  const docs = readDocumentedAttributes("launch");
  for (const [name, attribute] of Object.entries(tandem.configurationAttributes.launch.properties)) {
    const written = /^`([^`]+)`$/.exec(docs.get(name) ?? "")?.[1];
    if (written === undefined) {
      continue; // The page describes the default.
    }
    const literal = /^(true|false|\[.*\]|\{.*\}|\d+)$/.test(written) ? (JSON.parse(written) as unknown) : written;
    assert.deepEqual(attribute.default, literal, name);
  }
});

test("an attribute of both launch and attach has the same schema in both", () => {
  const { launch, attach } = tandem.configurationAttributes;
  for (const [name, attribute] of Object.entries(attach.properties)) {
    // A program that was attached to must not be terminated.
    if (name in launch.properties && name !== "engine" && name !== "terminateTimeout") {
      assert.deepEqual(attribute, launch.properties[name], name);
    }
  }
});

test("every enum value has a description, and every attribute has a type", () => {
  for (const [name, attribute] of Object.entries({ ...tandem.configurationAttributes.launch.properties, ...tandem.configurationAttributes.attach.properties })) {
    const choices = [attribute, ...(attribute.anyOf ?? [])].filter((one) => one.enum !== undefined);
    assert.ok(choices.every((one) => one.enumDescriptions?.length === one.enum?.length), name);
    assert.ok(attribute.type !== undefined || attribute.anyOf !== undefined, name);
  }
});

test("snippets use only attributes of the schema", () => {
  for (const { body } of tandem.configurationSnippets) {
    const known = tandem.configurationAttributes[body["request"] as "launch" | "attach"].properties;
    for (const name of Object.keys(body).filter((key) => !["type", "request", "name"].includes(key))) {
      assert.ok(name in known, `a snippet uses \`${name}\``);
    }
  }
});

test("every language that F5 supports is contributed, with breakpoints", () => {
  const breakpoints = manifest.contributes.breakpoints.map((one) => one.language);
  for (const { id } of LANGUAGES) {
    assert.ok(tandem.languages.includes(id), `languages: ${id}`);
    assert.ok(breakpoints.includes(id), `breakpoints: ${id}`);
  }
  // ASP.NET Core views have different language ids in VS Code and its C# extension.
  assert.ok(["razor", "aspnetcorerazor"].every((id) => breakpoints.includes(id)), "breakpoints: Razor");
});

test("every contributed command is registered, and every setting is read", () => {
  const sources = ["activity", "adapter-factory", "commands", "configuration-provider", "join-offers", "log", "mcp", "programs", "sharing", "shared-session", "test-explorer",
    "test-languages"]
    .map((name) => readExtensionFile(`src/${name}.ts`)).join("\n");
  for (const { command } of manifest.contributes.commands) {
    assert.ok(sources.includes(`command("${command.replace("tandem.", "")}"`), command);
  }
  for (const setting of Object.keys(manifest.contributes.configuration.properties)) {
    assert.ok(sources.includes(`"${setting.replace("tandem.", "")}"`), setting);
  }
  const commands = manifest.contributes.commands.map((one) => one.command);
  assert.ok(Object.values(tandem.variables).every((command) => commands.includes(command)));
});

/** Fields of package.json that VS Code shows. */
const DISPLAYED_FIELDS = ["description", "markdownDescription", "title", "shortTitle", "label", "contents", "altText", "enumDescriptions", "markdownEnumDescriptions",
  "enumItemLabels", "deprecationMessage", "markdownDeprecationMessage", "patternErrorMessage", "errorMessage"];

test("package.nls.json contains exactly the displayed texts of package.json", () => {
  const texts = JSON.parse(readExtensionFile("package.nls.json")) as Readonly<Record<string, string>>;
  const used = new Set<string>();
  const visit = (value: unknown, name: string): void => {
    if (typeof value === "string") {
      const key = /^%(.+)%$/.exec(value)?.[1];
      const isDisplayed = DISPLAYED_FIELDS.includes(name) && !/^\$\{\d/.test(value);
      assert.ok(!isDisplayed || key !== undefined || value === "Tandem", `${name}: ${value}`);
      if (key !== undefined) {
        assert.ok(key in texts, key);
        used.add(key);
      }
    } else if (typeof value === "object" && value !== null) {
      Object.entries(value).forEach(([key, inner]) => visit(inner, Array.isArray(value) ? name : key));
    }
  };
  visit(manifest, "");
  const named = [...Object.values(manifest.contributes.views).flat(), ...tandem.configurationSnippets.map(({ body }) => body)];
  assert.deepEqual(named.filter(({ name }) => !/^%.+%$|^\$\{\d/.test(String(name))), []);
  assert.deepEqual([...used].sort(), Object.keys(texts).sort());
});

test("every picture exists and is small", () => {
  const images = [manifest.icon, ...manifest.contributes.walkthroughs.flatMap((one) => one.steps.map((step) => step.media.image)),
    ...[...readExtensionFile("README.md").matchAll(/\((images\/[^)]+)\)/g)].map((match) => match[1] ?? "")];
  for (const image of images) {
    assert.ok(existsSync(path.join(EXTENSION, image)), image);
    assert.ok(readFileSync(path.join(EXTENSION, image)).length < 300 * 1024, `${image} is too big`);
  }
});
