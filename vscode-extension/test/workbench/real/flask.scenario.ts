/** Python: the application of Flask's own tutorial, under the reloader that runs it in a second process. */
import assert from "node:assert/strict";
import { execFileSync } from "node:child_process";
import * as path from "node:path";
import { environment } from "../../environment";
import { evaluates, sets, shows, watches } from "../values";
import { breaksAt, fetched, listens, real, request } from "./program";

const variables = () => ({ PYTHONPATH: fetched("packages"), PYTHONDONTWRITEBYTECODE: "1" });

real("Flask behind its reloader: a form stops in its handler, and the person says who registers", () => ({
  folder: path.join(fetched("tests/flask"), "examples/tutorial"),
  launch: {
    type: "tandem", request: "launch", name: "Flask", module: "flask",
    args: ["--app", "flaskr", "run", "--debug", "--port", "0"], env: variables(),
  },
}), async (bench) => {
  const { page } = bench;
  // The first step of the tutorial.
  execFileSync(environment().python, ["-m", "flask", "--app", "flaskr", "init-db"],
    { cwd: bench.folder, env: { ...process.env, ...variables() }, stdio: "pipe" });
  const line = await breaksAt(bench, "flaskr/auth.py", "if not username:");
  await bench.debugView();
  await page.keyboard.press("F5");
  const address = await listens(bench);
  await bench.terminalShows("Debugger is active");
  const answer = request(`${address}/auth/register`, { username: "ada", password: "secret" });
  await bench.stoppedAt(line);
  await bench.debugRow("Call Stack", "register").first().waitFor();
  await bench.picture("real-flask");
  await bench.expand(bench.debugRow("Variables", "Locals"));
  await shows(bench, "username", "'ada'");
  await watches(bench, "request.form['password']", "'secret'");
  await sets(bench, "username", "'grace'");
  await page.keyboard.press("F10");
  await bench.stoppedAt(line + 2);
  await evaluates(bench, "(username, error)", "('grace', None)");
  await bench.picture("real-flask-set");
  await page.keyboard.press("F5");
  assert.equal((await answer).headers.get("location"), "/auth/login");
  await bench.terminalShows('"POST /auth/register HTTP/1.1" 302');
  const known = await request(`${address}/auth/login`, { username: "grace", password: "secret" });
  assert.equal(known.headers.get("location"), "/");
  // The process of the reloader's is stopped first, then the reloader itself.
  await page.keyboard.press("Shift+F5");
  await bench.status().filter({ hasText: "only you" }).waitFor();
  await page.keyboard.press("Shift+F5");
  await bench.status().waitFor({ state: "hidden" });
});
