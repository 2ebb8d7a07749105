/** Live sessions: `tandem-dap` publishes an `ID.json` for each. Independent of VS Code. */
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
  /** Unix socket for clients that join. */
  readonly socket: string;
  /** Client that launched the session; empty when unknown. */
  readonly client: string;
  /** `editor` or `agent`. */
  readonly kind: string;
}

/** Lists the folders that may contain sessions, in the order in which `tandem-dap` tries them: `$XDG_RUNTIME_DIR/tandem`, `tandem-UID` in the
 * temporary folder, and the state folder, in case another user created the previous one. */
export function listSessionFolders(environment: NodeJS.ProcessEnv = process.env): string[] {
  const variable = (name: string) => environment[name] || undefined;
  // The XDG Base Directory Specification has programs ignore relative folders.
  const folder = (name: string) => {
    const value = variable(name);
    return value !== undefined && path.isAbsolute(value) ? value : undefined;
  };
  const runtime = folder("XDG_RUNTIME_DIR");
  const home = folder("HOME");
  const state = folder("XDG_STATE_HOME") ?? (home === undefined ? undefined : path.join(home, ".local/state"));
  return [
    ...(runtime === undefined ? [] : [path.join(runtime, "tandem")]),
    path.join(variable("TMPDIR") ?? os.tmpdir(), `tandem-${process.getuid?.() ?? 0}`),
    ...(state === undefined ? [] : [path.join(state, "tandem/sessions")]),
  ];
}

/** Finds the sessions of running hosts, oldest first. Searches the first trusted folder and the last one, which `tandem-dap` uses if the
 * others are not usable. */
export async function findLiveSessions(folders = listSessionFolders()): Promise<LiveSession[]> {
  const trusted = await Promise.all(folders.map(async (folder) => ((await isTrusted(folder)) ? [folder] : [])));
  const [first] = trusted.flat();
  const usable = new Set([...(first === undefined ? [] : [first]), ...(trusted.at(-1) ?? [])]);
  const found = (await Promise.all([...usable].map(readSessions))).flat();
  return found.sort((one, other) => one.started - other.started);
}

/** Whether a folder belongs to this user and is closed to others. */
async function isTrusted(folder: string): Promise<boolean> {
  try {
    const found = await lstat(folder);
    return found.isDirectory() && found.uid === process.getuid?.() && (found.mode & 0o077) === 0;
  } catch {
    return false; // The folder does not exist: there was no session yet.
  }
}

async function readSessions(folder: string): Promise<LiveSession[]> {
  const names = (await readdir(folder)).filter((name) => name.endsWith(".json"));
  const entries = await Promise.all(names.map((name) => readSession(path.join(folder, name))));
  return entries.filter((entry) => entry !== undefined);
}

async function readSession(file: string): Promise<LiveSession | undefined> {
  try {
    const entry = parseSession(await readFile(file, "utf8"));
    return entry !== undefined && isAlive(entry) ? entry : undefined;
  } catch {
    return undefined; // The session ended in the meantime.
  }
}

/** Parses the file of a session; undefined if it is not one of Tandem's. */
export function parseSession(text: string): LiveSession | undefined {
  const raw: unknown = JSON.parse(text);
  if (typeof raw !== "object" || raw === null) {
    return undefined;
  }
  const field = (name: string): unknown => (raw as Record<string, unknown>)[name];
  const string = (name: string): string => (typeof field(name) === "string" ? String(field(name)) : "");
  const cwd = string("cwd");
  if (string("id") === "" || string("socket") === "") {
    return undefined;
  }
  return {
    id: string("id"), pid: Number(field("pid") ?? 0), title: string("title"), program: string("program"), engine: string("engine"),
    cwd: cwd === "" ? undefined : cwd, started: Number(field("started") ?? 0), socket: string("socket"),
    client: string("client"), kind: string("kind"),
  };
}

/** Checks the process and the socket without connecting: a connection would count as a client. */
function isAlive(session: LiveSession): boolean {
  try {
    process.kill(session.pid, 0);
    return existsSync(session.socket);
  } catch {
    return false;
  }
}
