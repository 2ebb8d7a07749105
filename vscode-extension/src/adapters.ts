/** How VS Code reaches the adapter: by starting one, or through the socket of a session that lives. */
import * as vscode from "vscode";
import { liveSessions } from "./live-sessions";
import { level, type AdapterLog } from "./log";
import type { Programs } from "./programs";

export class Adapters implements vscode.DebugAdapterDescriptorFactory {
  public constructor(
    private readonly programs: Programs,
    private readonly adapterLog: AdapterLog,
  ) {}

  public async createDebugAdapterDescriptor(session: vscode.DebugSession): Promise<vscode.DebugAdapterDescriptor> {
    const wanted: unknown = session.configuration["session"];
    if (session.configuration.request === "attach" && typeof wanted === "string") {
      const live = await liveSessions();
      const found = live.find((one) => one.id === wanted);
      if (found === undefined) {
        const others = live.length === 0 ? "no session lives" : `live are ${live.map((one) => one.id).join(", ")}`;
        throw new Error(`cannot join the session \`${wanted}\`: there is none of this name; ${others}`);
      }
      return new vscode.DebugAdapterNamedPipeServer(found.socket);
    }
    const { file, looked } = this.programs.adapter();
    if (file === undefined) {
      throw new Error(`\`tandem-dap\` was not found; looked for ${looked.join(", ")}`);
    }
    return new vscode.DebugAdapterExecutable(file, ["--log", this.adapterLog.file, "--log-level", level()]);
  }
}
