/** Attaching to a running program, and detaching from it. */
import assert from "node:assert/strict";
import { spawn } from "node:child_process";
import { getDotnetVariables, readEnvironment } from "../environment";
import { scenario } from "./workbench";

scenario("a process is picked from the list and paused, and continues after detaching", "shop", async (bench) => {
  const spin = readEnvironment().programs["spin"] ?? "";
  const env = { ...process.env, ...getDotnetVariables(), TMPDIR: bench.temporaryFolder };
  const program = spawn(readEnvironment().dotnet31, [spin], { env, stdio: ["pipe", "ignore", "ignore"] });
  bench.addCleanup(() => program.kill("SIGKILL"));
  const pid = program.pid ?? 0;

  await bench.openFile("Program.cs");
  await bench.openDebugView();
  await bench.page.keyboard.press("F5");
  await bench.listItem(String(pid)).waitFor();
  await bench.listItem(`${pid} · .NET`).waitFor();
  await bench.takeScreenshot("pick-process");
  await bench.listItem(String(pid)).click();
  await bench.statusItem().filter({ hasText: "only you" }).waitFor();
  await bench.page.keyboard.press("F6");
  await bench.debugRow("Call Stack", /paused/i).first().waitFor();
  await bench.takeScreenshot("attached");
  await bench.page.keyboard.press("Shift+F5");
  await bench.statusItem().waitFor({ state: "hidden" });
  assert.equal(program.exitCode, null);
  assert.equal(program.signalCode, null);
}, { launch: { type: "tandem", request: "attach", name: "Attach", processId: "${command:pickProcess}" } });
