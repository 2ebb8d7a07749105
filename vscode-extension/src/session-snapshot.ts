/** The clients of a session and the last action, read from Tandem's events and described in words.
 * Independent of VS Code. */
import { t } from "./l10n";

export interface BreakpointLine {
  readonly file: string;
  /** From 1. */
  readonly line: number;
}

export interface Client {
  readonly id: number;
  readonly name: string;
  readonly kind: "editor" | "agent";
  /** Access of the client: `full`, `readOnly`, `none`. */
  readonly access: string;
  readonly launched: boolean;
  /** This very window. */
  readonly you: boolean;
  readonly breakpoints: readonly BreakpointLine[];
}

export interface Snapshot {
  readonly session: string;
  readonly engine: string;
  readonly state: string;
  /** Access of agents: `full`, `readOnly`, `none`. */
  readonly agentAccess: string;
  readonly clients: readonly Client[];
}

export interface ActionSummary {
  readonly who: string;
  readonly agent: boolean;
  readonly you: boolean;
  /** `ann continued`, `ann stepped over`, … */
  readonly sentence: (who: string) => string;
}

/** For the status bar, where there is little room. */
const ACCESS_ICONS: Readonly<Record<string, string>> = { full: "$(hubot)", readOnly: "$(eye)", none: "$(circle-slash)" };

/** Agents' access in words. */
export interface AccessWords {
  /** Of all of them, as a sentence. */
  readonly sentence: string;
  /** The same where there is little room. */
  readonly short: string;
  /** Of one of them, without a subject. */
  readonly may: string;
}

const ACCESS = new Map<string, () => AccessWords>([
  ["full", () => ({ sentence: t("agents may control"), short: t("agents control"), may: t("may control") })],
  ["readOnly", () => ({ sentence: t("agents may look"), short: t("agents look"), may: t("may look") })],
  ["none", () => ({ sentence: t("agents may do nothing"), short: t("agents shut out"), may: t("may do nothing") })],
]);

export function accessWords(access: string): AccessWords {
  return ACCESS.get(access)?.() ?? { sentence: access, short: access, may: access };
}

/** Description of an action; `inShort` shortens a name. */
export function sentence(act: ActionSummary, inShort = (name: string) => name): string {
  return act.sentence(act.you ? t("you") : inShort(act.who));
}

type Fields = Readonly<Record<string, unknown>>;
const fields = (value: unknown): Fields => (typeof value === "object" && value !== null ? (value as Fields) : {});
const list = (value: unknown): readonly unknown[] => (Array.isArray(value) ? value : []);
const word = (value: unknown): string => (typeof value === "string" ? value : "");

/** The body of a `sessionInfo` answer. Unknown and missing fields do no harm. */
export function readSnapshot(body: unknown): Snapshot {
  const info = fields(body);
  return {
    session: word(info["id"]), engine: word(info["engine"]), state: word(info["state"]), agentAccess: word(info["agentAccess"]),
    clients: list(info["clients"]).map((raw) => {
      const client = fields(raw);
      return {
        id: Number(client["id"] ?? 0), name: word(client["name"]), kind: client["kind"] === "agent" ? "agent" : "editor",
        access: word(client["access"]), launched: client["launched"] === true, you: client["you"] === true,
        breakpoints: list(client["breakpoints"]).flatMap(readBreakpointLine),
      };
    }),
  };
}

function readBreakpointLine(raw: unknown): BreakpointLine[] {
  const breakpoint = fields(raw);
  const file = word(fields(breakpoint["source"])["path"]);
  const line = breakpoint["line"];
  return file !== "" && typeof line === "number" ? [{ file, line }] : [];
}

/** Text of the status bar: the clients, and the last action. */
export function statusText(snapshot: Snapshot, last: ActionSummary | undefined): string {
  const others = snapshot.clients.filter((client) => !client.you);
  const agents = others.filter((client) => client.kind === "agent");
  const icon = agents.length > 0 ? (ACCESS_ICONS[snapshot.agentAccess] ?? "$(hubot)") : "$(organization)";
  // Restricted access of agents is shown even before an agent joins.
  const access = agents.length > 0 || snapshot.agentAccess !== "full" ? ` · ${accessWords(snapshot.agentAccess).short}` : "";
  const who = others.length === 0 ? t("only you") : [t("you"), ...others.slice(0, 2).map((client) => shorten(client.name))].join(" + ");
  const more = others.length > 2 ? ` + ${others.length - 2}` : "";
  const act = last === undefined ? "" : ` · ${sentence(last, shorten)}`;
  return `${icon} ${who}${more}${access}${act}`;
}

/** For the tooltip, Markdown. */
export function statusDetails(snapshot: Snapshot, last: ActionSummary | undefined): string {
  const clients = snapshot.clients.map((client) => {
    const marks = client.breakpoints.length;
    const facts = [
      client.you ? t("this window") : client.kind === "agent" ? t("agent") : t("editor"),
      ...(client.launched ? [t("started it")] : []),
      ...(client.kind === "agent" ? [accessWords(client.access).may] : []),
      ...(marks > 0 ? [marks === 1 ? t("1 breakpoint") : t("{0} breakpoints", marks)] : []),
    ];
    return `- **${escape(client.name)}** — ${facts.join(", ")}`;
  });
  const act = last === undefined ? "" : `\n\n${t("Last: {0}.", sentence(last, escape))}`;
  const title = t("**Tandem session `{0}`** ({1}) — {2}", snapshot.session, snapshot.engine, accessWords(snapshot.agentAccess).sentence);
  return `${title}\n\n${clients.join("\n")}${act}`;
}

/** Lines that others marked and this window did not, with their names. */
export function foreignMarks(snapshot: Snapshot): ReadonlyMap<string, ReadonlyMap<number, readonly string[]>> {
  const own = new Set(snapshot.clients.filter((one) => one.you).flatMap((one) => one.breakpoints.map(placeOf)));
  const files = new Map<string, Map<number, string[]>>();
  for (const client of snapshot.clients.filter((one) => !one.you)) {
    for (const mark of client.breakpoints.filter((one) => !own.has(placeOf(one)))) {
      const lines = files.get(mark.file) ?? new Map<number, string[]>();
      files.set(mark.file, lines);
      lines.set(mark.line, [...new Set([...(lines.get(mark.line) ?? []), client.name])]);
    }
  }
  return files;
}

function placeOf(mark: BreakpointLine): string {
  return `${mark.line} ${mark.file}`;
}

function shorten(name: string): string {
  return name.length > 24 ? `${name.slice(0, 23)}…` : name;
}

function escape(text: string): string {
  return text.replace(/[\\`*_{}[\]<>()#+!|~-]/g, "\\$&");
}
