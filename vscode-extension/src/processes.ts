/** Processes that a debugger can attach to, read from /proc or `ps`. Independent of VS Code. */
import { execFile } from "node:child_process";
import { readFile, readdir, readlink } from "node:fs/promises";
import * as os from "node:os";
import * as path from "node:path";
import { promisify } from "node:util";

export interface RunningProcess {
  readonly pid: number;
  readonly name: string;
  readonly commandLine: string;
  /** The process has a .NET runtime that can be debugged. */
  readonly dotnet: boolean;
}

/** Lists the processes of this user: .NET ones first, then the newest. */
export async function listProcesses(): Promise<RunningProcess[]> {
  const dotnet = await findDotnetProcesses();
  const all = process.platform === "linux" ? await listFromProc(dotnet) : await listFromPs(dotnet);
  return all
    .filter((one) => one.pid !== process.pid && one.commandLine !== "")
    .sort((one, other) => Number(other.dotnet) - Number(one.dotnet) || other.pid - one.pid);
}

async function listFromProc(dotnet: ReadonlySet<number>): Promise<RunningProcess[]> {
  const pids = (await readdir("/proc")).filter((name) => /^\d+$/.test(name)).map(Number);
  const found = await Promise.all(
    pids.map(async (pid): Promise<RunningProcess | undefined> => {
      try {
        // A debugger can attach only to processes whose executable this user may read.
        await readlink(`/proc/${pid}/exe`);
        const commandLine = formatCommandLine(await readFile(`/proc/${pid}/cmdline`, "utf8"));
        const name = (await readFile(`/proc/${pid}/comm`, "utf8")).trim();
        return { pid, name, commandLine, dotnet: dotnet.has(pid) };
      } catch {
        return undefined; // The process has ended, or belongs to another user.
      }
    }),
  );
  return found.filter((one) => one !== undefined);
}

async function listFromPs(dotnet: ReadonlySet<number>): Promise<RunningProcess[]> {
  const { stdout } = await promisify(execFile)("ps", ["-xo", "pid=,command="], { maxBuffer: 16 * 1024 * 1024, timeout: 10_000 });
  return parsePs(stdout, dotnet);
}

/** Parses the output of `ps -o pid=,command=`. */
export function parsePs(text: string, dotnet: ReadonlySet<number>): RunningProcess[] {
  return text.split("\n").flatMap((line) => {
    const [, number = "", commandLine = ""] = /^\s*(\d+)\s+(.*)$/.exec(line) ?? [];
    const pid = Number(number);
    return pid > 0 ? [{ pid, name: path.basename(commandLine.split(" ")[0] ?? ""), commandLine, dotnet: dotnet.has(pid) }] : [];
  });
}

/** Formats a NUL-separated command line for display. */
export function formatCommandLine(raw: string): string {
  return raw.replace(/\0+$/, "").split("\0").join(" ");
}

/** Finds the ids of .NET processes. Each .NET runtime opens a diagnostics socket whose name contains its process id. */
async function findDotnetProcesses(): Promise<Set<number>> {
  try {
    const names = await readdir(process.env["TMPDIR"] ?? os.tmpdir());
    return new Set(names.flatMap((name) => /^dotnet-diagnostic-(\d+)-/.exec(name)?.[1] ?? []).map(Number));
  } catch {
    return new Set();
  }
}
