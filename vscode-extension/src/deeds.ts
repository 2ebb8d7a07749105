/** What clients of a session did, read from `sessionChanged` and put into words. Knows nothing of VS Code. */
import { ACCESS_WORDS, type Act, type Mark, type Rider } from "./riders";

/** One thing that a client did. */
export interface Deed extends Act {
  /** The `change` of the event. */
  readonly change: string;
  /** More than fits a line. */
  readonly detail: string;
  /** Where it was done, for breakpoints. */
  readonly place: Mark | undefined;
  /** What an agent was refused; else empty. */
  readonly refused: string;
  /** Text for the program's input; undefined when it is not told. */
  readonly typed: string | undefined;
}

const COMMANDS: Readonly<Record<string, string>> = {
  continue: "continued", next: "stepped over", stepIn: "stepped in", stepOut: "stepped out", stepBack: "stepped back",
  reverseContinue: "ran back", restartFrame: "restarted a frame", goto: "jumped",
};

/** A refused command, as one asks for it. */
const ASKED: Readonly<Record<string, string>> = {
  continue: "continue the program", next: "step", stepIn: "step", stepOut: "step", pause: "pause the program", evaluate: "evaluate an expression",
  setVariable: "set a value", setExpression: "set a value", processWriteInput: "type into the program", setBreakpoints: "set breakpoints",
  variables: "see values", terminate: "end the program", restart: "restart the program", sessionControl: "change what agents may do",
};

/** Most letters of a text in one line. */
const SHORT = 40;

type Fields = Readonly<Record<string, unknown>>;
const fields = (value: unknown): Fields => (typeof value === "object" && value !== null ? (value as Fields) : {});
const list = (value: unknown): readonly unknown[] => (Array.isArray(value) ? value : []);
const word = (value: unknown): string => (typeof value === "string" ? value : "");

/** What a `sessionChanged` event tells; undefined when it is about nobody, or of a kind we do not know. */
export function readDeed(body: unknown, riders: readonly Rider[]): Deed | undefined {
  const changed = fields(body);
  const who = word(changed["client"]);
  const said = inWords(changed);
  if (who === "" || said === undefined) {
    return undefined;
  }
  // Two may have one name; the number is one client's alone.
  const rider = riders.find((one) => one.id === changed["clientId"]) ?? riders.find((one) => one.name === who);
  const change = word(changed["change"]);
  return {
    who, change, agent: (word(changed["kind"]) || rider?.kind) === "agent", you: rider?.you === true, what: said.what,
    detail: said.detail ?? "", place: said.place, refused: change === "refused" ? (ASKED[word(changed["command"])] ?? word(changed["command"])) : "",
    typed: typeof changed["text"] === "string" ? changed["text"] : undefined,
  };
}

interface Said {
  readonly what: string;
  readonly detail?: string;
  readonly place?: Mark | undefined;
}

function inWords(changed: Fields): Said | undefined {
  const text = (name: string) => word(changed[name]);
  switch (changed["change"]) {
    case "joined":
      return { what: `joined${changed["kind"] === "agent" ? ` (${may(text("access"))})` : ""}` };
    case "left":
      return { what: "left", detail: text("reason") };
    case "owner":
      return { what: "owns the session now" };
    case "resumed":
      return { what: COMMANDS[text("command")] ?? text("command") };
    case "paused":
      return { what: "paused" };
    case "terminate":
      return { what: "ended the program" };
    case "restarted":
      return { what: "restarted" };
    case "agentAccess":
      return { what: `decided: ${ACCESS_WORDS[text("agentAccess")] ?? text("agentAccess")}` };
    case "input":
      return typed(changed);
    case "valueSet":
      return { what: `set ${short(text("name"))}${text("value") === "" ? "" : ` = ${short(text("value"))}`}`, detail: `${text("name")} = ${text("value")}` };
    case "evaluated":
      return { what: `evaluated ${short(text("expression"))}`, detail: text("expression") };
    case "breakpoints":
      return marks(changed);
    case "refused":
      return { what: `was refused to ${ASKED[text("command")] ?? text("command")}`, detail: `\`${text("command")}\`: ${may(text("access"))}` };
    default:
      return undefined;
  }
}

function typed(changed: Fields): Said {
  const bytes = Number(changed["bytes"] ?? 0);
  const text = changed["text"];
  const ended = changed["closed"] === true ? "ended the input" : "";
  const wrote = bytes === 0 ? "" : typeof text === "string" ? `typed ${short(text.trimEnd())}` : `typed ${bytes} bytes`;
  return { what: [wrote, ended].filter((one) => one !== "").join(" and ") || "typed nothing", detail: word(text) };
}

function marks(changed: Fields): Said {
  const added = list(changed["added"]).map(fields);
  const removed = list(changed["removed"]).map(fields);
  const part = (verb: string, some: readonly Fields[]) =>
    some.length === 0 ? [] : [`${verb} ${some.length === 1 ? `a breakpoint${at(some[0])}` : `${some.length} breakpoints`}`];
  const all = [...added.map((one) => `+${at(one)}`), ...removed.map((one) => `−${at(one)}`)];
  return { what: [...part("set", added), ...part("removed", removed)].join(", "), detail: all.join("\n"), place: [...added, ...removed].flatMap(place)[0] };
}

function place(mark: Fields): Mark[] {
  const line = mark["line"];
  return word(mark["file"]) !== "" && typeof line === "number" ? [{ file: word(mark["file"]), line }] : [];
}

function at(mark: Fields | undefined): string {
  const [found] = mark === undefined ? [] : place(mark);
  const name = word(mark?.["name"]) || word(mark?.["filterId"]) || word(mark?.["instructionReference"]);
  const owner = word(mark?.["owner"]) === "" ? "" : ` of ${word(mark?.["owner"])}`;
  return `${found === undefined ? (name === "" ? "" : ` (${name})`) : ` at ${found.file.split("/").at(-1) ?? found.file}:${found.line}`}${owner}`;
}

function may(access: string): string {
  return ACCESS_WORDS[access]?.replace("agents ", "") ?? access;
}

function short(text: string): string {
  const line = text.replace(/\s+/g, " ");
  return line.length > SHORT ? `${line.slice(0, SHORT - 1)}…` : line;
}
