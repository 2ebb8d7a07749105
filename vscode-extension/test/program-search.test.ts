import assert from "node:assert/strict";
import { test } from "node:test";
import { findProgram, describeVersionMismatch, describeUnsupportedPlatform, type SearchEnvironment } from "../src/program-search";

const environment: SearchEnvironment = { extensionFolder: "/extension", pathVariable: "/a::/b", home: "/home/me", workspaceFolder: "/work" };

test("a search uses only the configured path if there is one", () => {
  const found = findProgram("tandem-dap", "/own/tandem-dap", environment, (file) => file.startsWith("/a"));
  assert.deepEqual(found, { file: undefined, searched: ["/own/tandem-dap"] });
  assert.equal(findProgram("tandem-dap", "~/bin/tandem-dap", environment, () => true).file, "/home/me/bin/tandem-dap");
  assert.equal(findProgram("tandem-dap", "${workspaceFolder}/t/tandem-dap", environment, () => true).file, "/work/t/tandem-dap");
});

test("a search tries the bundled program, then the neighbour's folder, then PATH in order", () => {
  const searched = ["/extension/bin/tandem-mcp", "/built/tandem-mcp", "/a/tandem-mcp", "/b/tandem-mcp"];
  assert.deepEqual(findProgram("tandem-mcp", "", environment, () => true, "/built/tandem-dap"), { file: searched[0], searched });
  assert.equal(findProgram("tandem-mcp", "", environment, (file) => !file.startsWith("/ext"), "/built/tandem-dap").file, searched[1]);
  assert.equal(findProgram("tandem-dap", "", environment, (file) => file.startsWith("/b/")).file, "/b/tandem-dap");
});

test("minor versions must match before 1.0, and major versions afterwards", () => {
  assert.equal(describeVersionMismatch("tandem-dap 0.1.7\n", "0.1.0"), undefined);
  assert.match(describeVersionMismatch("tandem-dap 0.2.0", "0.1.0") ?? "", /version 0\.2\.0.*needs 0\.1/);
  assert.equal(describeVersionMismatch("tandem-dap 1.4.0", "1.2.0"), undefined);
  assert.notEqual(describeVersionMismatch("tandem-dap 1.1.0", "1.2.0"), undefined);
  assert.notEqual(describeVersionMismatch("tandem-dap 2.0.0", "1.2.0"), undefined);
  assert.match(describeVersionMismatch("bash: not a program", "0.1.0") ?? "", /does not report its version/);
});

test("an unsupported platform is described, including its C library", () => {
  assert.equal(describeUnsupportedPlatform("linux", "x64", "2.36"), undefined);
  assert.equal(describeUnsupportedPlatform("linux", "arm64", "2.36"), undefined);
  assert.equal(describeUnsupportedPlatform("linux", "x64", undefined), "linux-x64 (musl)");
  assert.equal(describeUnsupportedPlatform("linux", "riscv64", "2.39"), "linux-riscv64");
  assert.equal(describeUnsupportedPlatform("darwin", "arm64", undefined), "darwin-arm64");
});
