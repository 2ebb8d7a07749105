/** Actions of a session's clients, read from `sessionChanged` events and described in words. Independent of
 * VS Code. */
import { accessWords, type ActionSummary, type BreakpointLine, type Client } from "./session-snapshot";
import { t } from "./l10n";

/** An action of a client. */
export interface ClientAction extends ActionSummary {
  /** The `change` of the event. */
  readonly change: string;
  /** More than fits a line. */
  readonly detail: string;
  /** Where it was done, for breakpoints. */
  readonly place: BreakpointLine | undefined;
  /** The request that an agent was refused, in words; empty for other actions. */
  readonly refused: string;
  /** Text for the program's input; undefined when the session does not report it. */
  readonly typed: string | undefined;
}

type Sentence = ActionSummary["sentence"];

/** Descriptions of the commands that resume the program. */
const COMMANDS = new Map<string, Sentence>([
  ["continue", (who) => t("{0} continued", who)], ["next", (who) => t("{0} stepped over", who)], ["stepIn", (who) => t("{0} stepped in", who)],
  ["stepOut", (who) => t("{0} stepped out", who)], ["stepBack", (who) => t("{0} stepped back", who)],
  ["reverseContinue", (who) => t("{0} ran back", who)], ["restartFrame", (who) => t("{0} restarted a frame", who)],
  ["goto", (who) => t("{0} jumped", who)],
]);

/** Descriptions of the requests that an agent can be refused. */
const REQUESTS = new Map<string, () => string>([
  ["continue", () => t("continue the program")], ["next", () => t("step")], ["stepIn", () => t("step")], ["stepOut", () => t("step")],
  ["pause", () => t("pause the program")], ["evaluate", () => t("evaluate an expression")], ["setVariable", () => t("set a value")],
  ["setExpression", () => t("set a value")], ["processWriteInput", () => t("type into the program")], ["setBreakpoints", () => t("set breakpoints")],
  ["variables", () => t("see values")], ["terminate", () => t("end the program")], ["restart", () => t("restart the program")],
  ["sessionControl", () => t("change what agents may do")],
]);

function requestText(command: string): string {
  return REQUESTS.get(command)?.() ?? command;
}

/** Maximum characters of a string in one line. */
const MAX_TEXT_LEN = 40;

type Fields = Readonly<Record<string, unknown>>;
const fields = (value: unknown): Fields => (typeof value === "object" && value !== null ? (value as Fields) : {});
const list = (value: unknown): readonly unknown[] => (Array.isArray(value) ? value : []);
const word = (value: unknown): string => (typeof value === "string" ? value : "");

/** Reads the action from a `sessionChanged` event; undefined when the event names no client, or is of an
 * unknown kind. */
export function readAction(body: unknown, clients: readonly Client[]): ClientAction | undefined {
  const changed = fields(body);
  const who = word(changed["client"]);
  const said = describe(changed);
  if (who === "" || said === undefined) {
    return undefined;
  }
  // Two may have one name; the number is one client's alone.
  const client = clients.find((one) => one.id === changed["clientId"]) ?? clients.find((one) => one.name === who);
  const change = word(changed["change"]);
  return {
    who, change, agent: (word(changed["kind"]) || client?.kind) === "agent", you: client?.you === true, sentence: said.sentence,
    detail: said.detail ?? "", place: said.place, refused: change === "refused" ? requestText(word(changed["command"])) : "",
    typed: typeof changed["text"] === "string" ? changed["text"] : undefined,
  };
}

interface ActionText {
  readonly sentence: Sentence;
  readonly detail?: string;
  readonly place?: BreakpointLine | undefined;
}

function describe(changed: Fields): ActionText | undefined {
  const text = (name: string) => word(changed[name]);
  switch (changed["change"]) {
    case "joined":
      return { sentence: (who) => (changed["kind"] === "agent" ? t("{0} joined ({1})", who, accessWords(text("access")).may) : t("{0} joined", who)) };
    case "left":
      return { sentence: (who) => t("{0} left", who), detail: text("reason") };
    case "owner":
      return { sentence: (who) => t("{0} owns the session now", who) };
    case "resumed":
      return { sentence: COMMANDS.get(text("command")) ?? ((who) => t("{0} asked for `{1}`", who, text("command"))) };
    case "paused":
      return { sentence: (who) => t("{0} paused", who) };
    case "terminate":
      return { sentence: (who) => t("{0} ended the program", who) };
    case "restarted":
      return { sentence: (who) => t("{0} restarted", who) };
    case "agentAccess":
      return { sentence: (who) => t("{0} decided: {1}", who, accessWords(text("agentAccess")).sentence) };
    case "input":
      return typed(changed);
    case "valueSet": {
      const [name, value] = [short(text("name")), short(text("value"))];
      const sentence: Sentence = (who) => (value === "" ? t("{0} set the value of {1}", who, name) : t("{0} set {1} = {2}", who, name, value));
      return { sentence, detail: `${text("name")} = ${text("value")}` };
    }
    case "evaluated":
      return { sentence: (who) => t("{0} evaluated {1}", who, short(text("expression"))), detail: text("expression") };
    case "breakpoints":
      return marks(changed);
    case "refused":
      return { sentence: (who) => t("{0} was refused to {1}", who, requestText(text("command"))), detail: `\`${text("command")}\`: ${accessWords(text("access")).may}` };
    default:
      return undefined;
  }
}

function typed(changed: Fields): ActionText {
  const bytes = Number(changed["bytes"] ?? 0);
  const text = changed["text"];
  const ended = changed["closed"] === true;
  const sentence: Sentence = (who) => {
    if (bytes === 0) {
      return ended ? t("{0} ended the input", who) : t("{0} wrote nothing", who);
    }
    const what = typeof text === "string" ? short(text.trimEnd()) : t("{0} bytes", bytes);
    return ended ? t("{0} typed {1} and ended the input", who, what) : t("{0} typed {1}", who, what);
  };
  return { sentence, detail: word(text) };
}

function marks(changed: Fields): ActionText {
  const added = list(changed["added"]).map(fields);
  const removed = list(changed["removed"]).map(fields);
  const some = (all: readonly Fields[]) => (all.length === 1 ? one(all[0]) : t("{0} breakpoints", all.length));
  const sentence: Sentence = (who) => {
    if (added.length > 0 && removed.length > 0) {
      return t("{0} set {1}, removed {2}", who, some(added), some(removed));
    }
    return removed.length > 0 ? t("{0} removed {1}", who, some(removed)) : t("{0} set {1}", who, some(added));
  };
  const all = [...added.map((mark) => `+ ${one(mark)}`), ...removed.map((mark) => `− ${one(mark)}`)];
  return { sentence, detail: all.join("\n"), place: [...added, ...removed].flatMap(place)[0] };
}

/** A breakpoint, by its place or else its name, and its owner. */
function one(mark: Fields | undefined): string {
  const [found] = mark === undefined ? [] : place(mark);
  const name = word(mark?.["name"]) || word(mark?.["filterId"]) || word(mark?.["instructionReference"]);
  const owner = word(mark?.["owner"]);
  if (found !== undefined) {
    const where = `${found.file.split("/").at(-1) ?? found.file}:${found.line}`;
    return owner === "" ? t("a breakpoint at {0}", where) : t("a breakpoint at {0} of {1}", where, owner);
  }
  if (name !== "") {
    return owner === "" ? t("a breakpoint ({0})", name) : t("a breakpoint ({0}) of {1}", name, owner);
  }
  return owner === "" ? t("a breakpoint") : t("a breakpoint of {0}", owner);
}

function place(mark: Fields): BreakpointLine[] {
  const line = mark["line"];
  return word(mark["file"]) !== "" && typeof line === "number" ? [{ file: word(mark["file"]), line }] : [];
}

function short(text: string): string {
  const line = text.replace(/\s+/g, " ");
  return line.length > MAX_TEXT_LEN ? `${line.slice(0, MAX_TEXT_LEN - 1)}…` : line;
}
