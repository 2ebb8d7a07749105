/** An agent: an MCP client of `tandem-mcp` over stdio. */
import { spawn, type ChildProcessWithoutNullStreams } from "node:child_process";
import { createInterface } from "node:readline";
import * as path from "node:path";
import { STEP_TIMEOUT_MS, findProgramFolder } from "../environment";
import type { Workbench } from "./workbench";

type JsonObject = Readonly<Record<string, unknown>>;

export class Agent {
  private id = 0;
  private readonly pendingRequests = new Map<number, (message: JsonObject) => void>();

  private constructor(private readonly server: ChildProcessWithoutNullStreams) {
    createInterface({ input: server.stdout }).on("line", (line) => {
      const message = JSON.parse(line) as JsonObject;
      this.pendingRequests.get(Number(message["id"]))?.(message);
    });
  }

  /** Starts the server. `runtimeFolder` is the folder of published sessions; `variables` are for the programs that the agent launches. */
  public static async start(name: string, runtimeFolder: string, variables: Readonly<Record<string, string>> = {}): Promise<Agent> {
    const server = spawn(path.join(findProgramFolder(), "tandem-mcp"), [], {
      env: { ...process.env, ...variables, XDG_RUNTIME_DIR: runtimeFolder }, stdio: ["pipe", "pipe", "pipe"],
    });
    const agent = new Agent(server);
    await agent.sendRequest("initialize", { protocolVersion: "2025-06-18", capabilities: {}, clientInfo: { name, version: "1" } });
    server.stdin.write(`${JSON.stringify({ jsonrpc: "2.0", method: "notifications/initialized" })}\n`);
    return agent;
  }

  /** Calls a tool; throws an error if the call fails. */
  public async call(tool: string, args: JsonObject): Promise<JsonObject> {
    const result = (await this.sendRequest("tools/call", { name: tool, arguments: args })) as { structuredContent?: JsonObject };
    const content = result.structuredContent ?? {};
    if (content["success"] === false) {
      throw new Error(`${tool} failed: ${JSON.stringify(content)}`);
    }
    return content;
  }

  /** Starts an agent named claude-code in the only session of VS Code; it leaves when the test ends. */
  public static async joinSession(bench: Pick<Workbench, "addCleanup" | "runtimeFolder">): Promise<Agent> {
    const agent = await Agent.start("claude-code", bench.runtimeFolder);
    bench.addCleanup(() => agent.close());
    await agent.joinOnlySession();
    return agent;
  }

  /** Joins the only live session. */
  public async joinOnlySession(): Promise<void> {
    const { sessions } = (await this.call("debug_sessions", {})) as { sessions: readonly { readonly session: string }[] };
    const [only, other] = sessions;
    if (only === undefined || other !== undefined) {
      throw new Error(`expected one session: ${JSON.stringify(sessions)}`);
    }
    await this.call("debug_sessions", { select: only.session });
  }

  public async close(): Promise<void> {
    if (this.server.exitCode !== null) {
      return;
    }
    const exit = new Promise((resolve) => this.server.once("exit", resolve));
    this.server.stdin.end();
    await exit;
  }

  private sendRequest(method: string, params: JsonObject): Promise<JsonObject> {
    const id = ++this.id;
    return new Promise((resolve, reject) => {
      const timer = setTimeout(() => reject(new Error(`timeout waiting for the response to ${method}`)), STEP_TIMEOUT_MS);
      this.pendingRequests.set(id, (message) => {
        clearTimeout(timer);
        this.pendingRequests.delete(id);
        if (message["error"] === undefined) {
          resolve(message["result"] as JsonObject);
        } else {
          reject(new Error(`${method}: ${JSON.stringify(message["error"])}`));
        }
      });
      this.server.stdin.write(`${JSON.stringify({ jsonrpc: "2.0", id, method, params })}\n`);
    });
  }
}
