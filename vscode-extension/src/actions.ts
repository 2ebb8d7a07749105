/** Actions of a session's clients: reads `sessionChanged` events and describes them. Independent of VS Code. */
import { asArray, asObject, asString, type JsonObject } from "./json";
import { describeAccess, type ActionSummary, type SourceLocation, type Client } from "./session-snapshot";
import { t } from "./l10n";

/** An action of a client. */
export interface ClientAction extends ActionSummary {
  /** The `change` of the event. */
  readonly change: string;
  /** Text for the tooltip; empty if the description says everything. */
  readonly detail: string;
  /** Location of the breakpoint; undefined for other actions. */
  readonly location: SourceLocation | undefined;
  /** Description of the request that the session refused; empty for other actions. */
  readonly refusedRequest: string;
  /** Text that the client typed into the program; undefined if the session does not report it. */
  readonly inputText: string | undefined;
}

type ActionFormatter = ActionSummary["format"];

/** Descriptions of the commands that resume the program. */
const RESUME_FORMATTERS = new Map<string, ActionFormatter>([
  ["continue", (client) => t("{0} continued", client)], ["next", (client) => t("{0} stepped over", client)], ["stepIn", (client) => t("{0} stepped in", client)],
  ["stepOut", (client) => t("{0} stepped out", client)], ["stepBack", (client) => t("{0} stepped back", client)],
  ["reverseContinue", (client) => t("{0} ran back", client)], ["restartFrame", (client) => t("{0} restarted a frame", client)],
  ["goto", (client) => t("{0} jumped", client)],
]);

/** Descriptions of the requests that an agent can be refused. */
const REQUEST_DESCRIPTIONS = new Map<string, () => string>([
  ["continue", () => t("continue the program")], ["next", () => t("step")], ["stepIn", () => t("step")], ["stepOut", () => t("step")],
  ["pause", () => t("pause the program")], ["evaluate", () => t("evaluate an expression")], ["setVariable", () => t("set a value")],
  ["setExpression", () => t("set a value")], ["processWriteInput", () => t("type into the program")], ["setBreakpoints", () => t("set breakpoints")],
  ["variables", () => t("see values")], ["terminate", () => t("end the program")], ["restart", () => t("restart the program")],
  ["sessionControl", () => t("change what agents may do")],
]);

function describeRequest(command: string): string {
  return REQUEST_DESCRIPTIONS.get(command)?.() ?? command;
}

/** Maximum length of a value in a description, UTF-16 units. */
const MAX_TEXT_LENGTH = 40;

/** Reads the action from a `sessionChanged` event; undefined if the event names no client or its kind is unknown. */
export function readAction(body: unknown, clients: readonly Client[]): ClientAction | undefined {
  const changed = asObject(body);
  const name = asString(changed["client"]);
  const details = readActionDetails(changed);
  if (name === "" || details === undefined) {
    return undefined;
  }
  // Two clients may have the same name; the id is unique.
  const client = clients.find((one) => one.id === changed["clientId"]) ?? clients.find((one) => one.name === name);
  const change = asString(changed["change"]);
  return {
    client: name, change, agent: (asString(changed["kind"]) || client?.kind) === "agent", you: client?.you === true, format: details.format,
    detail: details.detail ?? "", location: details.location, refusedRequest: change === "refused" ? describeRequest(asString(changed["command"])) : "",
    inputText: typeof changed["text"] === "string" ? changed["text"] : undefined,
  };
}

interface ActionDetails {
  readonly format: ActionFormatter;
  readonly detail?: string;
  readonly location?: SourceLocation | undefined;
}

function readActionDetails(changed: JsonObject): ActionDetails | undefined {
  const text = (name: string) => asString(changed[name]);
  switch (changed["change"]) {
    case "joined":
      return {
        format: (client) => (changed["kind"] === "agent" ? t("{0} joined ({1})", client, describeAccess(text("access")).permission) : t("{0} joined", client)),
      };
    case "left":
      return { format: (client) => t("{0} left", client), detail: text("reason") };
    case "owner":
      return { format: (client) => t("{0} owns the session now", client) };
    case "resumed":
      return { format: RESUME_FORMATTERS.get(text("command")) ?? ((client) => t("{0} asked for `{1}`", client, text("command"))) };
    case "paused":
      return { format: (client) => t("{0} paused", client) };
    case "terminate":
      return { format: (client) => t("{0} ended the program", client) };
    case "restarted":
      return { format: (client) => t("{0} restarted", client) };
    case "agentAccess":
      return { format: (client) => t("{0} decided: {1}", client, describeAccess(text("agentAccess")).text) };
    case "input":
      return readInputDetails(changed);
    case "valueSet": {
      const [name, value] = [shorten(text("name")), shorten(text("value"))];
      const format: ActionFormatter = (client) => (value === "" ? t("{0} set the value of {1}", client, name) : t("{0} set {1} = {2}", client, name, value));
      return { format, detail: `${text("name")} = ${text("value")}` };
    }
    case "evaluated":
      return { format: (client) => t("{0} evaluated {1}", client, shorten(text("expression"))), detail: text("expression") };
    case "breakpoints":
      return readBreakpointDetails(changed);
    case "refused":
      return {
        format: (client) => t("{0} was refused to {1}", client, describeRequest(text("command"))),
        detail: `\`${text("command")}\`: ${describeAccess(text("access")).permission}`,
      };
    default:
      return undefined;
  }
}

function readInputDetails(changed: JsonObject): ActionDetails {
  const bytes = Number(changed["bytes"] ?? 0);
  const text = changed["text"];
  const endsInput = changed["closed"] === true;
  const format: ActionFormatter = (client) => {
    if (bytes === 0) {
      return endsInput ? t("{0} ended the input", client) : t("{0} wrote nothing", client);
    }
    const input = typeof text === "string" ? shorten(text.trimEnd()) : t("{0} bytes", bytes);
    return endsInput ? t("{0} typed {1} and ended the input", client, input) : t("{0} typed {1}", client, input);
  };
  return { format, detail: asString(text) };
}

function readBreakpointDetails(changed: JsonObject): ActionDetails {
  const added = asArray(changed["added"]).map(asObject);
  const removed = asArray(changed["removed"]).map(asObject);
  const describeAll = (breakpoints: readonly JsonObject[]) => (breakpoints.length === 1 ? describeBreakpoint(breakpoints[0]) : t("{0} breakpoints", breakpoints.length));
  const format: ActionFormatter = (client) => {
    if (added.length > 0 && removed.length > 0) {
      return t("{0} set {1}, removed {2}", client, describeAll(added), describeAll(removed));
    }
    return removed.length > 0 ? t("{0} removed {1}", client, describeAll(removed)) : t("{0} set {1}", client, describeAll(added));
  };
  const changes = [...added.map((breakpoint) => `+ ${describeBreakpoint(breakpoint)}`), ...removed.map((breakpoint) => `− ${describeBreakpoint(breakpoint)}`)];
  return { format, detail: changes.join("\n"), location: [...added, ...removed].flatMap(readLocation)[0] };
}

/** Describes a breakpoint by its location, or else its name, and its owner. */
function describeBreakpoint(breakpoint: JsonObject | undefined): string {
  const [location] = breakpoint === undefined ? [] : readLocation(breakpoint);
  const name = asString(breakpoint?.["name"]) || asString(breakpoint?.["filterId"]) || asString(breakpoint?.["instructionReference"]);
  const owner = asString(breakpoint?.["owner"]);
  if (location !== undefined) {
    const label = `${location.file.split("/").at(-1) ?? location.file}:${location.line}`;
    return owner === "" ? t("a breakpoint at {0}", label) : t("a breakpoint at {0} of {1}", label, owner);
  }
  if (name !== "") {
    return owner === "" ? t("a breakpoint ({0})", name) : t("a breakpoint ({0}) of {1}", name, owner);
  }
  return owner === "" ? t("a breakpoint") : t("a breakpoint of {0}", owner);
}

function readLocation(breakpoint: JsonObject): SourceLocation[] {
  const line = breakpoint["line"];
  return asString(breakpoint["file"]) !== "" && typeof line === "number" ? [{ file: asString(breakpoint["file"]), line }] : [];
}

function shorten(text: string): string {
  const line = text.replace(/\s+/g, " ");
  return line.length > MAX_TEXT_LENGTH ? `${line.slice(0, MAX_TEXT_LENGTH - 1)}…` : line;
}
