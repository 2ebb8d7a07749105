// Our `node:test` for those who import it.
import own from "./tandem_node_test.cjs";

export default own;
export const { test, it, describe, suite, before, after, beforeEach, afterEach, mock, run, snapshot, assert } = own;
