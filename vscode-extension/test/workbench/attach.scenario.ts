/** Attaching to a program that runs: picked from the list of processes, and left running. */
import assert from "node:assert/strict";
import { spawn } from "node:child_process";
import { dotnetVariables, environment } from "../environment";
import { scenario } from "./workbench";

scenario("a process is picked from the list, paused, and runs on when the person leaves it", "shop", async (bench) => {
  const spin = environment().programs["spin"] ?? "";
  const env = { ...process.env, ...dotnetVariables(), TMPDIR: bench.temporaryFolder };
  const program = spawn(environment().dotnet31, [spin], { env, stdio: ["pipe", "ignore", "ignore"] });
  bench.atEnd(() => program.kill("SIGKILL"));
  const pid = program.pid ?? 0;

  await bench.openFile("Program.cs");
  await bench.debugView();
  await bench.page.keyboard.press("F5");
  await bench.listed(String(pid)).waitFor();
  await bench.listed(`${pid} · .NET`).waitFor();
  await bench.picture("pick-process");
  await bench.listed(String(pid)).click();
  await bench.status().filter({ hasText: "only you" }).waitFor();
  await bench.page.keyboard.press("F6");
  await bench.debugRow("Call Stack", /paused/i).first().waitFor();
  await bench.picture("attached");
  await bench.page.keyboard.press("Shift+F5");
  await bench.status().waitFor({ state: "hidden" });
  assert.equal(program.exitCode, null);
  assert.equal(program.signalCode, null);
}, { launch: { type: "tandem", request: "attach", name: "Attach", processId: "${command:pickProcess}" } });
