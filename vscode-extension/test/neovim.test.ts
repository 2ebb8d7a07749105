/** The Lua module for nvim-dap in a headless Neovim, with a minimal DAP client instead of nvim-dap. */
import assert from "node:assert/strict";
import { execFile } from "node:child_process";
import { cpSync, mkdtempSync, rmSync } from "node:fs";
import * as os from "node:os";
import * as path from "node:path";
import { test } from "node:test";
import { promisify } from "node:util";
import { STEP_TIMEOUT_MS, ROOT, SKIP_REASON, getDotnetVariables, readEnvironment, findMarkedLine, findProgramFolder } from "./environment";

test("Neovim launches, types, joins and leaves", { skip: SKIP_REASON }, async () => {
  const scratch = mkdtempSync(path.join(os.tmpdir(), "tandem-neovim-"));
  try {
    const source = path.join(ROOT, "fixtures/programs/dotnet/echo/Program.cs");
    const script = path.join(ROOT, "editors/neovim/test/scenario.lua");
    const args = [path.join(findProgramFolder(), "tandem-dap"), readEnvironment().programs["echo"] ?? "", source, String(findMarkedLine(source, "line"))];
    const env = { ...process.env, ...getDotnetVariables(), XDG_RUNTIME_DIR: scratch };
    const flags = ["--clean", "--headless", "-l", script, ...args];
    const { stdout } = await promisify(execFile)(readEnvironment().neovim, flags, { env, timeout: 2 * STEP_TIMEOUT_MS });
    assert.match(stdout, /ok\n$/);
  } finally {
    rmSync(scratch, { recursive: true, force: true });
  }
});

test("Neovim debugs the test at the cursor", { skip: SKIP_REASON }, async () => {
  const scratch = mkdtempSync(path.join(os.tmpdir(), "tandem-neovim-"));
  try {
    const project = path.join(scratch, "project");
    cpSync(path.join(ROOT, "fixtures/tests/unittest"), project, { recursive: true });
    const source = path.join(project, "tests/test_cart.py");
    const script = path.join(ROOT, "editors/neovim/test/tests.lua");
    const flags = ["--clean", "--headless", "-l", script, path.join(findProgramFolder(), "tandem-dap"), source, String(findMarkedLine(source, "fails"))];
    // The virtual environment that contains debugpy.
    const env = { ...process.env, VIRTUAL_ENV: path.dirname(path.dirname(readEnvironment().python)), XDG_RUNTIME_DIR: scratch };
    const { stdout } = await promisify(execFile)(readEnvironment().neovim, flags, { env, timeout: 2 * STEP_TIMEOUT_MS });
    assert.match(stdout, /ok\n$/);
  } finally {
    rmSync(scratch, { recursive: true, force: true });
  }
});
