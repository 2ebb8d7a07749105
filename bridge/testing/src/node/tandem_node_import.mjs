// Tandem's version of `node:test` as an ES module.
import tandemTest from "./tandem_node_test.cjs";

export default tandemTest;
export const { test, it, describe, suite, before, after, beforeEach, afterEach, mock, run, snapshot, assert } = tandemTest;
