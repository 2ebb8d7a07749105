/** Cleans up after a test run, also after one that was killed: waits until the run closes this program's stdin, ends every process that has
 * the run's folder as `TMPDIR`, and removes the folder.
 *
 * `node cleanup.mjs FOLDER`. It runs in a separate process group, so that Ctrl+C does not end it with the run. */
import { readFileSync, readdirSync, rmSync } from "node:fs";

/** Time limit for processes to end after SIGTERM. */
const TERMINATE_TIMEOUT_MS = 5_000;
const [folder] = process.argv.slice(2);
if (folder === undefined || !folder.includes("tandem-workbench-")) {
  throw new Error(`name the run's folder, not \`${folder}\``);
}
for (const signal of ["SIGINT", "SIGTERM", "SIGHUP"]) {
  process.on(signal, () => {});
}
process.stdin.resume();
process.stdin.once("end", cleanUp);
process.stdin.once("error", cleanUp);

async function cleanUp() {
  signalAll("SIGTERM");
  const end = Date.now() + TERMINATE_TIMEOUT_MS;
  while (Date.now() < end && findProcesses().length > 0) {
    await new Promise((resolve) => setTimeout(resolve, 100));
  }
  signalAll("SIGKILL");
  rmSync(folder, { recursive: true, force: true, maxRetries: 20, retryDelay: 100 });
  process.exit(0);
}

function signalAll(signal) {
  for (const pid of findProcesses()) {
    try {
      process.kill(pid, signal);
    } catch {
      // The process has ended.
    }
  }
}

function findProcesses() {
  const variable = `\0TMPDIR=${folder}\0`;
  return readdirSync("/proc").filter((name) => /^\d+$/.test(name)).map(Number).filter((pid) => {
    try {
      return pid !== process.pid && `\0${readFileSync(`/proc/${pid}/environ`, "latin1")}`.includes(variable);
    } catch {
      return false; // The process has ended, or belongs to another user.
    }
  });
}
