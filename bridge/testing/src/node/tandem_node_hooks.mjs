// Has `import … from "node:test"` mean ours.
const OWN = new URL("./tandem_node_import.mjs", import.meta.url).href;

export async function resolve(specifier, context, next) {
  return specifier === "node:test" ? { url: OWN, shortCircuit: true } : next(specifier, context);
}
