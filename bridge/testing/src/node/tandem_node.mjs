// Puts our `node:test` in the place of Node's: `node --import FILE`.
import Module, { createRequire, register } from "node:module";

const require = createRequire(import.meta.url);
const own = require("./tandem_node_test.cjs");
const load = Module._load;
Module._load = function (request, ...more) {
  return request === "node:test" ? own : load.call(this, request, ...more);
};
register(new URL("./tandem_node_hooks.mjs", import.meta.url));
