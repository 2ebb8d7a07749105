// Replaces `node:test` by Tandem's version: `node --import FILE`.
import Module, { createRequire, register } from "node:module";

const require = createRequire(import.meta.url);
const tandemTest = require("./tandem_node_test.cjs");
const load = Module._load;
Module._load = function (request, ...more) {
  return request === "node:test" ? tandemTest : load.call(this, request, ...more);
};
register(new URL("./tandem_node_hooks.mjs", import.meta.url));
