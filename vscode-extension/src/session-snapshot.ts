/** State of a session: reads the response to `sessionInfo`, and describes clients and actions for the status bar. Independent of VS
 * Code. */
import { asArray, asObject, asString } from "./json";
import { t } from "./l10n";

export interface SourceLocation {
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
  /** The client is this window. */
  readonly you: boolean;
  readonly breakpoints: readonly SourceLocation[];
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
  readonly client: string;
  readonly agent: boolean;
  readonly you: boolean;
  /** `ann continued`, `ann stepped over`, … */
  readonly format: (client: string) => string;
}

/** Icons of the status bar, by the access of agents. */
const ACCESS_ICONS: Readonly<Record<string, string>> = { full: "$(hubot)", readOnly: "$(eye)", none: "$(circle-slash)" };

/** Descriptions of what agents may do. */
export interface AccessDescription {
  /** A clause about all agents. */
  readonly text: string;
  /** The same, shortened for the status bar. */
  readonly shortText: string;
  /** The predicate of a clause about one agent. */
  readonly permission: string;
}

const ACCESS_DESCRIPTIONS = new Map<string, () => AccessDescription>([
  ["full", () => ({ text: t("agents may control"), shortText: t("agents control"), permission: t("may control") })],
  ["readOnly", () => ({ text: t("agents may look"), shortText: t("agents look"), permission: t("may look") })],
  ["none", () => ({ text: t("agents may do nothing"), shortText: t("agents shut out"), permission: t("may do nothing") })],
]);

export function describeAccess(access: string): AccessDescription {
  return ACCESS_DESCRIPTIONS.get(access)?.() ?? { text: access, shortText: access, permission: access };
}

/** Describes an action; `formatName` converts the name of the client. */
export function describeAction(action: ActionSummary, formatName = (name: string) => name): string {
  return action.format(action.you ? t("you") : formatName(action.client));
}

/** Reads the body of the response to `sessionInfo`. Ignores unknown fields and accepts missing ones. */
export function readSnapshot(body: unknown): Snapshot {
  const info = asObject(body);
  return {
    session: asString(info["id"]), engine: asString(info["engine"]), state: asString(info["state"]), agentAccess: asString(info["agentAccess"]),
    clients: asArray(info["clients"]).map((raw) => {
      const client = asObject(raw);
      return {
        id: Number(client["id"] ?? 0), name: asString(client["name"]), kind: client["kind"] === "agent" ? "agent" : "editor",
        access: asString(client["access"]), launched: client["launched"] === true, you: client["you"] === true,
        breakpoints: asArray(client["breakpoints"]).flatMap(readBreakpointLocation),
      };
    }),
  };
}

function readBreakpointLocation(raw: unknown): SourceLocation[] {
  const breakpoint = asObject(raw);
  const file = asString(asObject(breakpoint["source"])["path"]);
  const line = breakpoint["line"];
  return file !== "" && typeof line === "number" ? [{ file, line }] : [];
}

/** Formats the text of the status bar: the clients and the last action. */
export function formatStatusText(snapshot: Snapshot, last: ActionSummary | undefined): string {
  const others = snapshot.clients.filter((client) => !client.you);
  const agents = others.filter((client) => client.kind === "agent");
  const icon = agents.length > 0 ? (ACCESS_ICONS[snapshot.agentAccess] ?? "$(hubot)") : "$(organization)";
  // The status bar shows restricted access even before an agent joins.
  const access = agents.length > 0 || snapshot.agentAccess !== "full" ? ` · ${describeAccess(snapshot.agentAccess).shortText}` : "";
  const names = others.length === 0 ? t("only you") : [t("you"), ...others.slice(0, 2).map((client) => shorten(client.name))].join(" + ");
  const more = others.length > 2 ? ` + ${others.length - 2}` : "";
  const action = last === undefined ? "" : ` · ${describeAction(last, shorten)}`;
  return `${icon} ${names}${more}${access}${action}`;
}

/** Formats the tooltip of the status bar as Markdown. */
export function formatStatusDetails(snapshot: Snapshot, last: ActionSummary | undefined): string {
  const clients = snapshot.clients.map((client) => {
    const count = client.breakpoints.length;
    const properties = [
      client.you ? t("this window") : client.kind === "agent" ? t("agent") : t("editor"),
      ...(client.launched ? [t("started it")] : []),
      ...(client.kind === "agent" ? [describeAccess(client.access).permission] : []),
      ...(count > 0 ? [count === 1 ? t("1 breakpoint") : t("{0} breakpoints", count)] : []),
    ];
    return `- **${escapeMarkdown(client.name)}** — ${properties.join(", ")}`;
  });
  const action = last === undefined ? "" : `\n\n${t("Last: {0}.", describeAction(last, escapeMarkdown))}`;
  const title = t("**Tandem session `{0}`** ({1}) — {2}", snapshot.session, snapshot.engine, describeAccess(snapshot.agentAccess).text);
  return `${title}\n\n${clients.join("\n")}${action}`;
}

/** Collects the lines where only other clients have breakpoints, by file, with the names of these clients. */
export function collectForeignBreakpoints(snapshot: Snapshot): ReadonlyMap<string, ReadonlyMap<number, readonly string[]>> {
  const own = new Set(snapshot.clients.filter((one) => one.you).flatMap((one) => one.breakpoints.map(toLocationKey)));
  const files = new Map<string, Map<number, string[]>>();
  for (const client of snapshot.clients.filter((one) => !one.you)) {
    for (const breakpoint of client.breakpoints.filter((one) => !own.has(toLocationKey(one)))) {
      const lines = files.get(breakpoint.file) ?? new Map<number, string[]>();
      files.set(breakpoint.file, lines);
      lines.set(breakpoint.line, [...new Set([...(lines.get(breakpoint.line) ?? []), client.name])]);
    }
  }
  return files;
}

function toLocationKey(breakpoint: SourceLocation): string {
  return `${breakpoint.line} ${breakpoint.file}`;
}

function shorten(name: string): string {
  return name.length > 24 ? `${name.slice(0, 23)}…` : name;
}

function escapeMarkdown(text: string): string {
  return text.replace(/[\\`*_{}[\]<>()#+!|~-]/g, "\\$&");
}
