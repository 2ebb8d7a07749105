/** Cleans up after a test run, however it ended: waits until the run closes this program's stdin, which the
 * system does when the run is killed, then ends every process with the run's folder as `TMPDIR`, and removes
 * the folder.
 *
 * `node keeper.mjs FOLDER`. It starts nothing, and is in a process group of its own: a Ctrl+C for the run is none for it. */
import { readFileSync, readdirSync, rmSync } from "node:fs";

/** How long a process may take to end when asked, ms. */
const PATIENCE = 5_000;
const [folder] = process.argv.slice(2);
if (folder === undefined || !folder.includes("tandem-workbench-")) {
  throw new Error(`name the run's folder, not \`${folder}\``);
}
for (const signal of ["SIGINT", "SIGTERM", "SIGHUP"]) {
  process.on(signal, () => {});
}
process.stdin.resume();
process.stdin.once("end", tidy);
process.stdin.once("error", tidy);

async function tidy() {
  signalAll("SIGTERM");
  const end = Date.now() + PATIENCE;
  while (Date.now() < end && ofTheRun().length > 0) {
    await new Promise((resolve) => setTimeout(resolve, 100));
  }
  signalAll("SIGKILL");
  rmSync(folder, { recursive: true, force: true, maxRetries: 20, retryDelay: 100 });
  process.exit(0);
}

function signalAll(signal) {
  for (const pid of ofTheRun()) {
    try {
      process.kill(pid, signal);
    } catch {
      // It has just ended.
    }
  }
}

function ofTheRun() {
  const mark = `\0TMPDIR=${folder}\0`;
  return readdirSync("/proc").filter((name) => /^\d+$/.test(name)).map(Number).filter((pid) => {
    try {
      return pid !== process.pid && `\0${readFileSync(`/proc/${pid}/environ`, "latin1")}`.includes(mark);
    } catch {
      return false; // It has ended, or is another user's.
    }
  });
}
