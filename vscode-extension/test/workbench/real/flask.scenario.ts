/** Python: the application of Flask's tutorial with the reloader, which runs it in a second process. */
import assert from "node:assert/strict";
import { execFileSync } from "node:child_process";
import * as path from "node:path";
import { readEnvironment } from "../../environment";
import { evaluateInConsole, setVariable, waitForVariable, addWatch } from "../values";
import { setBreakpointAtText, getFetchedPath, waitForServerAddress, realScenario, sendRequest } from "./program";

const getVariables = () => ({ PYTHONPATH: getFetchedPath("packages"), PYTHONDONTWRITEBYTECODE: "1" });

realScenario("Flask with its reloader stops in the handler of a form, and registers the name that the user sets", () => ({
  folder: path.join(getFetchedPath("tests/flask"), "examples/tutorial"),
  launch: {
    type: "tandem", request: "launch", name: "Flask", module: "flask",
    args: ["--app", "flaskr", "run", "--debug", "--port", "0"], env: getVariables(),
  },
}), async (bench) => {
  const { page } = bench;
  // The first step of the tutorial.
  execFileSync(readEnvironment().python, ["-m", "flask", "--app", "flaskr", "init-db"],
    { cwd: bench.folder, env: { ...process.env, ...getVariables() }, stdio: "pipe" });
  const line = await setBreakpointAtText(bench, "flaskr/auth.py", "if not username:");
  await bench.openDebugView();
  await page.keyboard.press("F5");
  const address = await waitForServerAddress(bench);
  await bench.waitForTerminalText("Debugger is active");
  const response = sendRequest(`${address}/auth/register`, { username: "ada", password: "secret" });
  await bench.waitForStopAt(line);
  await bench.debugRow("Call Stack", "register").first().waitFor();
  await bench.takeScreenshot("real-flask");
  await bench.expand(bench.debugRow("Variables", "Locals"));
  await waitForVariable(bench, "username", "'ada'");
  await addWatch(bench, "request.form['password']", "'secret'");
  await setVariable(bench, "username", "'grace'");
  await page.keyboard.press("F10");
  await bench.waitForStopAt(line + 2);
  await evaluateInConsole(bench, "(username, error)", "('grace', None)");
  await bench.takeScreenshot("real-flask-set");
  await page.keyboard.press("F5");
  assert.equal((await response).headers.get("location"), "/auth/login");
  await bench.waitForTerminalText('"POST /auth/register HTTP/1.1" 302');
  const known = await sendRequest(`${address}/auth/login`, { username: "grace", password: "secret" });
  assert.equal(known.headers.get("location"), "/");
  // The first stop ends the reloader's process, the second one the reloader.
  await page.keyboard.press("Shift+F5");
  await bench.statusItem().filter({ hasText: "only you" }).waitFor();
  await page.keyboard.press("Shift+F5");
  await bench.statusItem().waitFor({ state: "hidden" });
});
