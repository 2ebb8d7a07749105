/** What the extension reads from the machine (processes, live sessions), and agents' configurations. */
import assert from "node:assert/strict";
import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from "node:fs";
import * as os from "node:os";
import * as path from "node:path";
import { test } from "node:test";
import { createAgentConfigurations } from "../src/agent-configurations";
import { findLiveSessions, parseSession, listSessionFolders } from "../src/live-sessions";
import { formatCommandLine, parsePs, listProcesses } from "../src/processes";

test("the output of ps is parsed, and invalid lines are ignored", () => {
  assert.deepEqual(parsePs("  12 /usr/bin/app --x y\n\nnonsense\n 0 kernel\n", new Set([12])), [
    { pid: 12, name: "app", commandLine: "/usr/bin/app --x y", dotnet: true },
  ]);
  assert.equal(formatCommandLine("a\0b c\0\0"), "a b c");
});

test("the list of processes contains the parent process and not this one", async () => {
  const found = await listProcesses();
  assert.ok(found.some((one) => one.pid === process.ppid), "the parent is missing");
  assert.ok(!found.some((one) => one.pid === process.pid));
});

test("live sessions have a running host and a private folder", async (t) => {
  const uid = String(process.getuid?.() ?? 0);
  assert.deepEqual(listSessionFolders({ XDG_RUNTIME_DIR: "/run/me", TMPDIR: "/t", HOME: "/home/me" }),
    ["/run/me/tandem", `/t/tandem-${uid}`, "/home/me/.local/state/tandem/sessions"]);
  assert.deepEqual(listSessionFolders({ TMPDIR: "/t", XDG_STATE_HOME: "/s" }), [`/t/tandem-${uid}`, "/s/tandem/sessions"]);
  assert.deepEqual(listSessionFolders({ XDG_RUNTIME_DIR: "run", TMPDIR: "/t", XDG_STATE_HOME: "state" }), [`/t/tandem-${uid}`]);
  const scratch = mkdtempSync(path.join(os.tmpdir(), "tandem-sessions-"));
  t.after(() => {
    rmSync(scratch, { recursive: true, force: true });
  });
  const folder = path.join(scratch, "tandem");
  mkdirSync(folder, { mode: 0o700 });
  const writeSession = (id: string, pid: number, started: number) => {
    const socket = path.join(folder, `${id}.sock`);
    writeFileSync(socket, "");
    const session = { id, pid, title: "app", program: "/w/app.dll", engine: "coreclr", cwd: null, started, socket };
    writeFileSync(path.join(folder, `${id}.json`), JSON.stringify(session));
  };
  writeSession("owl2", process.pid, 20);
  writeSession("fox1", process.pid, 10);
  writeSession("gone9", 2 ** 22 + 1, 5);
  writeFileSync(path.join(folder, "torn.json"), '{"id": "to');
  assert.deepEqual((await findLiveSessions([folder])).map((one) => one.id), ["fox1", "owl2"]);
  mkdirSync(path.join(folder, "open"), { mode: 0o755 });
  assert.deepEqual(await findLiveSessions([path.join(folder, "open")]), []);
  assert.deepEqual(await findLiveSessions([path.join(folder, "nowhere")]), []);
  assert.equal(parseSession('{"id": 3}'), undefined);
});

test("every agent configuration contains the MCP server, and JSON ones are well-formed", () => {
  for (const { name, text } of createAgentConfigurations("/opt/my tools/tandem-mcp")) {
    assert.ok(text.includes("/opt/my tools/tandem-mcp"), name);
    if (text.startsWith("{")) {
      assert.doesNotThrow(() => JSON.parse(text) as unknown, name);
    }
  }
  assert.equal(createAgentConfigurations("/o'k/t")[0]?.text, `claude mcp add tandem -- '/o'\\''k/t'`);
});
