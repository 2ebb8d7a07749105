/** The Lua snippet for nvim-dap, in a headless Neovim, with a minimal DAP client in the place of nvim-dap. */
import assert from "node:assert/strict";
import { execFile } from "node:child_process";
import { cpSync, mkdtempSync, rmSync } from "node:fs";
import * as os from "node:os";
import * as path from "node:path";
import { test } from "node:test";
import { promisify } from "node:util";
import { DEADLINE, ROOT, SKIPPED, dotnetVariables, environment, lineOf, programs } from "./environment";

test("Neovim launches, types, joins and leaves", { skip: SKIPPED }, async () => {
  const scratch = mkdtempSync(path.join(os.tmpdir(), "tandem-neovim-"));
  try {
    const source = path.join(ROOT, "fixtures/programs/dotnet/echo/Program.cs");
    const script = path.join(ROOT, "editors/neovim/test/scenario.lua");
    const args = [path.join(programs(), "tandem-dap"), environment().programs["echo"] ?? "", source, String(lineOf(source, "line"))];
    const env = { ...process.env, ...dotnetVariables(), XDG_RUNTIME_DIR: scratch };
    const flags = ["--clean", "--headless", "-l", script, ...args];
    const { stdout } = await promisify(execFile)(environment().neovim, flags, { env, timeout: 2 * DEADLINE });
    assert.match(stdout, /ok\n$/);
  } finally {
    rmSync(scratch, { recursive: true, force: true });
  }
});

test("Neovim debugs the test at the cursor", { skip: SKIPPED }, async () => {
  const scratch = mkdtempSync(path.join(os.tmpdir(), "tandem-neovim-"));
  try {
    const project = path.join(scratch, "project");
    cpSync(path.join(ROOT, "fixtures/tests/unittest"), project, { recursive: true });
    const source = path.join(project, "tests/test_cart.py");
    const script = path.join(ROOT, "editors/neovim/test/tests.lua");
    const flags = ["--clean", "--headless", "-l", script, path.join(programs(), "tandem-dap"), source, String(lineOf(source, "fails"))];
    // The virtual environment that has debugpy.
    const env = { ...process.env, VIRTUAL_ENV: path.dirname(path.dirname(environment().python)), XDG_RUNTIME_DIR: scratch };
    const { stdout } = await promisify(execFile)(environment().neovim, flags, { env, timeout: 2 * DEADLINE });
    assert.match(stdout, /ok\n$/);
  } finally {
    rmSync(scratch, { recursive: true, force: true });
  }
});
