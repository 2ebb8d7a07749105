// Makes `import … from "node:test"` load Tandem's version.
const TANDEM_TEST_URL = new URL("./tandem_node_import.mjs", import.meta.url).href;

export async function resolve(specifier, context, next) {
  return specifier === "node:test" ? { url: TANDEM_TEST_URL, shortCircuit: true } : next(specifier, context);
}
