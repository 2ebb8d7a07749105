/** Running sessions, as `tandem-dap` publishes them: one `ID.json` each. Independent of VS Code. */
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
  /** Client that launched the session; empty when unknown. */
  readonly client: string;
  /** `editor` or `agent`. */
  readonly kind: string;
}

/** Folders that may hold sessions, in the order in which `tandem-dap` tries them: `$XDG_RUNTIME_DIR/tandem`,
 * `tandem-UID` in the temporary folder, and the state folder, in case another user created the previous one.
 * */
export function sessionFolders(environment: NodeJS.ProcessEnv = process.env): string[] {
  const variable = (name: string) => environment[name] || undefined;
  const runtime = variable("XDG_RUNTIME_DIR");
  const home = variable("HOME");
  const state = variable("XDG_STATE_HOME") ?? (home === undefined ? undefined : path.join(home, ".local/state"));
  return [
    ...(runtime === undefined ? [] : [path.join(runtime, "tandem")]),
    path.join(variable("TMPDIR") ?? os.tmpdir(), `tandem-${process.getuid?.() ?? 0}`),
    ...(state === undefined ? [] : [path.join(state, "tandem/sessions")]),
  ];
}

/** Every session whose host lives, oldest first: those in the first folder that can be trusted, and in the last, where they are when no
 * other could be used. */
export async function liveSessions(folders = sessionFolders()): Promise<LiveSession[]> {
  const trusted = await Promise.all(folders.map(async (folder) => ((await isTrusted(folder)) ? [folder] : [])));
  const [first] = trusted.flat();
  const places = new Set([...(first === undefined ? [] : [first]), ...(trusted.at(-1) ?? [])]);
  const found = (await Promise.all([...places].map(sessionsIn))).flat();
  return found.sort((one, other) => one.started - other.started);
}

/** A folder of this user that others may not enter. */
async function isTrusted(folder: string): Promise<boolean> {
  try {
    const found = await lstat(folder);
    return found.isDirectory() && found.uid === process.getuid?.() && (found.mode & 0o077) === 0;
  } catch {
    return false; // No session was ever there.
  }
}

async function sessionsIn(folder: string): Promise<LiveSession[]> {
  const names = (await readdir(folder)).filter((name) => name.endsWith(".json"));
  const entries = await Promise.all(names.map((name) => readSession(path.join(folder, name))));
  return entries.filter((entry) => entry !== undefined);
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
    client: word("client"), kind: word("kind"),
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
