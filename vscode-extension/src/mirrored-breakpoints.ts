/** Breakpoints of others that VS Code was shown: it keeps them among its own, and would keep them forever
 * when a window closes before they are removed. The next window that opens removes the rest. Independent of
 * VS Code. */
import type { BreakpointLine } from "./session-snapshot";

/** Where they are remembered: the workspace's state. */
export interface Memory {
  get(key: string): unknown;
  update(key: string, value: unknown): PromiseLike<void>;
}

const KEY = "lentBreakpoints";
/** More than anybody has; bounds what a broken adapter can make us keep. */
const MAX_BREAKPOINTS = 1000;

export class MirroredBreakpoints {
  private marks: Map<string, BreakpointLine>;

  public constructor(private readonly memory: Memory) {
    this.marks = new Map(entries(memory.get(KEY)).slice(-MAX_BREAKPOINTS));
  }

  /** Body of a `breakpoint` event of a session. */
  public told(session: string, body: Readonly<Record<string, unknown>>): void {
    const told = fields(body["breakpoint"]);
    const key = `${session}/${String(told["id"])}`;
    const file = fields(told["source"])["path"];
    const line = told["line"];
    if (body["reason"] === "removed") {
      if (this.marks.delete(key)) {
        this.keep();
      }
    } else if (typeof file === "string" && typeof line === "number" && (body["reason"] === "new" || this.marks.has(key)) && this.marks.size < MAX_BREAKPOINTS) {
      this.marks.set(key, { file, line });
      this.keep();
    }
  }

  /** Returns the breakpoints that earlier windows were shown and that were never removed, and forgets them.
   * */
  public takeLeft(): readonly BreakpointLine[] {
    const left = [...this.marks.values()];
    if (left.length > 0) {
      this.marks = new Map();
      this.keep();
    }
    return left;
  }

  private keep(): void {
    void this.memory.update(KEY, Object.fromEntries(this.marks));
  }
}

type Fields = Readonly<Record<string, unknown>>;
const fields = (value: unknown): Fields => (typeof value === "object" && value !== null ? (value as Fields) : {});

function entries(kept: unknown): [string, BreakpointLine][] {
  return Object.entries(fields(kept)).flatMap(([key, value]): [string, BreakpointLine][] => {
    const { file, line } = fields(value);
    return typeof file === "string" && typeof line === "number" ? [[key, { file, line }]] : [];
  });
}
