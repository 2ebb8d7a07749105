/** An agent: `tandem-mcp` over stdio, as an MCP client starts it. */
import { spawn, type ChildProcessWithoutNullStreams } from "node:child_process";
import { createInterface } from "node:readline";
import * as path from "node:path";
import { DEADLINE, programs } from "../environment";
import type { Workbench } from "./workbench";

type Answer = Readonly<Record<string, unknown>>;

export class Agent {
  private id = 0;
  private readonly waiting = new Map<number, (message: Answer) => void>();

  private constructor(private readonly bridge: ChildProcessWithoutNullStreams) {
    createInterface({ input: bridge.stdout }).on("line", (line) => {
      const message = JSON.parse(line) as Answer;
      this.waiting.get(Number(message["id"]))?.(message);
    });
  }

  /** `runtimeFolder`: where sessions publish themselves; `variables`: for the programs it launches. */
  public static async start(name: string, runtimeFolder: string, variables: Readonly<Record<string, string>> = {}): Promise<Agent> {
    const bridge = spawn(path.join(programs(), "tandem-mcp"), [], {
      env: { ...process.env, ...variables, XDG_RUNTIME_DIR: runtimeFolder }, stdio: ["pipe", "pipe", "pipe"],
    });
    const agent = new Agent(bridge);
    await agent.ask("initialize", { protocolVersion: "2025-06-18", capabilities: {}, clientInfo: { name, version: "1" } });
    bridge.stdin.write(`${JSON.stringify({ jsonrpc: "2.0", method: "notifications/initialized" })}\n`);
    return agent;
  }

  /** Calls a tool; a refusal is an error. */
  public async call(tool: string, args: Answer): Promise<Answer> {
    const result = (await this.ask("tools/call", { name: tool, arguments: args })) as { structuredContent?: Answer };
    const answer = result.structuredContent ?? {};
    if (answer["success"] === false) {
      throw new Error(`${tool} was refused: ${JSON.stringify(answer)}`);
    }
    return answer;
  }

  /** An agent named claude-code in the only session of VS Code; it leaves when the test ends. */
  public static async joining(bench: Pick<Workbench, "atEnd" | "runtimeFolder">): Promise<Agent> {
    const agent = await Agent.start("claude-code", bench.runtimeFolder);
    bench.atEnd(() => agent.close());
    await agent.joinOnly();
    return agent;
  }

  /** Joins the only running session. */
  public async joinOnly(): Promise<void> {
    const { sessions } = (await this.call("debug_sessions", {})) as { sessions: readonly { readonly session: string }[] };
    const [only, other] = sessions;
    if (only === undefined || other !== undefined) {
      throw new Error(`there is not one session but these: ${JSON.stringify(sessions)}`);
    }
    await this.call("debug_sessions", { select: only.session });
  }

  public async close(): Promise<void> {
    if (this.bridge.exitCode !== null) {
      return;
    }
    const gone = new Promise((resolve) => this.bridge.once("exit", resolve));
    this.bridge.stdin.end();
    await gone;
  }

  private ask(method: string, params: Answer): Promise<Answer> {
    const id = ++this.id;
    return new Promise((resolve, reject) => {
      const late = setTimeout(() => reject(new Error(`${method} is not answered`)), DEADLINE);
      this.waiting.set(id, (message) => {
        clearTimeout(late);
        this.waiting.delete(id);
        if (message["error"] === undefined) {
          resolve(message["result"] as Answer);
        } else {
          reject(new Error(`${method}: ${JSON.stringify(message["error"])}`));
        }
      });
      this.bridge.stdin.write(`${JSON.stringify({ jsonrpc: "2.0", id, method, params })}\n`);
    });
  }
}
