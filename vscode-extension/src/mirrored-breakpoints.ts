/** Mirrored breakpoints: other clients' breakpoints that Tandem shows in this window. VS Code stores them with the user's own. If a window
 * closes before Tandem removes them, the next window does. Independent of VS Code. */
import { asObject } from "./json";
import type { SourceLocation } from "./session-snapshot";

/** The part of `vscode.Memento` that stores mirrored breakpoints. */
export interface Memento {
  get(key: string): unknown;
  update(key: string, value: unknown): PromiseLike<void>;
}

const STATE_KEY = "lentBreakpoints";
/** Maximum number of stored breakpoints: a broken adapter may report any number. */
const MAX_BREAKPOINTS = 1000;

export class MirroredBreakpoints {
  private breakpoints: Map<string, SourceLocation>;

  public constructor(private readonly state: Memento) {
    this.breakpoints = new Map(readEntries(state.get(STATE_KEY)).slice(-MAX_BREAKPOINTS));
  }

  /** Stores or forgets the breakpoint of a `breakpoint` event. */
  public handleBreakpointEvent(session: string, body: Readonly<Record<string, unknown>>): void {
    const breakpoint = asObject(body["breakpoint"]);
    const key = `${session}/${String(breakpoint["id"])}`;
    const file = asObject(breakpoint["source"])["path"];
    const line = breakpoint["line"];
    if (body["reason"] === "removed") {
      if (this.breakpoints.delete(key)) {
        this.save();
      }
    } else if (
      typeof file === "string" && typeof line === "number" && (body["reason"] === "new" || this.breakpoints.has(key)) &&
      this.breakpoints.size < MAX_BREAKPOINTS
    ) {
      this.breakpoints.set(key, { file, line });
      this.save();
    }
  }

  /** Returns the breakpoints that earlier windows did not remove, and forgets them. */
  public takeStale(): readonly SourceLocation[] {
    const stale = [...this.breakpoints.values()];
    if (stale.length > 0) {
      this.breakpoints = new Map();
      this.save();
    }
    return stale;
  }

  private save(): void {
    void this.state.update(STATE_KEY, Object.fromEntries(this.breakpoints));
  }
}

function readEntries(saved: unknown): [string, SourceLocation][] {
  return Object.entries(asObject(saved)).flatMap(([key, value]): [string, SourceLocation][] => {
    const { file, line } = asObject(value);
    return typeof file === "string" && typeof line === "number" ? [[key, { file, line }]] : [];
  });
}
