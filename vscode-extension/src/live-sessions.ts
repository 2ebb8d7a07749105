/** Sessions that live, as `tandem-dap` publishes them: one `ID.json` each. Knows nothing of VS Code. */
import { existsSync } from "node:fs";
import { lstat, readFile, readdir } from "node:fs/promises";
import * as os from "node:os";
import * as path from "node:path";

export interface LiveSession {
  readonly id: string;
  /** The process that hosts it. */
  readonly pid: number;
  readonly title: string;
  readonly program: string;
  readonly engine: string;
  readonly cwd: string | undefined;
  /** Seconds since 1970. */
  readonly started: number;
  /** Where to join. */
  readonly socket: string;
}

/** `$XDG_RUNTIME_DIR/tandem`, else `tandem-UID` in the temporary folder. */
export function sessionFolder(environment: NodeJS.ProcessEnv = process.env): string {
  const runtime = environment["XDG_RUNTIME_DIR"];
  if (runtime !== undefined && runtime !== "") {
    return path.join(runtime, "tandem");
  }
  return path.join(environment["TMPDIR"] || os.tmpdir(), `tandem-${process.getuid?.() ?? 0}`);
}

/** Every session whose host lives, oldest first. A folder that others may enter is not trusted. */
export async function liveSessions(folder = sessionFolder()): Promise<LiveSession[]> {
  try {
    const found = await lstat(folder);
    if (!found.isDirectory() || found.uid !== process.getuid?.() || (found.mode & 0o077) !== 0) {
      return [];
    }
  } catch {
    return []; // No session was ever started.
  }
  const names = (await readdir(folder)).filter((name) => name.endsWith(".json"));
  const entries = await Promise.all(names.map((name) => readSession(path.join(folder, name))));
  return entries.filter((entry) => entry !== undefined).sort((one, other) => one.started - other.started);
}

async function readSession(file: string): Promise<LiveSession | undefined> {
  try {
    const entry = parseSession(await readFile(file, "utf8"));
    return entry !== undefined && lives(entry) ? entry : undefined;
  } catch {
    return undefined; // It ended while we looked.
  }
}

/** One session's file; undefined when it is none of ours. */
export function parseSession(text: string): LiveSession | undefined {
  const raw: unknown = JSON.parse(text);
  if (typeof raw !== "object" || raw === null) {
    return undefined;
  }
  const field = (name: string): unknown => (raw as Record<string, unknown>)[name];
  const word = (name: string): string => (typeof field(name) === "string" ? String(field(name)) : "");
  const cwd = word("cwd");
  if (word("id") === "" || word("socket") === "") {
    return undefined;
  }
  return {
    id: word("id"), pid: Number(field("pid") ?? 0), title: word("title"), program: word("program"), engine: word("engine"),
    cwd: cwd === "" ? undefined : cwd, started: Number(field("started") ?? 0), socket: word("socket"),
  };
}

/** Looked up, not connected to: a connection would be a client that comes and goes. */
function lives(session: LiveSession): boolean {
  try {
    process.kill(session.pid, 0);
    return existsSync(session.socket);
  } catch {
    return false;
  }
}
