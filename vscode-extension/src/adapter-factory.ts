/** Connects VS Code to an adapter: starts `tandem-dap`, or uses the socket of a live session. */
import * as vscode from "vscode";
import { findLiveSessions } from "./live-sessions";
import { getLogLevel, type AdapterLog } from "./log";
import type { Programs } from "./programs";
import { t } from "./l10n";

/** Attributes that select the engine. VS Code shows only the exception filters of the response to `initialize`, so the adapter must know its
 * engine before. The command line contains no other attributes: they may be secret. */
const ENGINE_ATTRIBUTES = ["engine", "program", "project", "module", "cwd", "__workspaceFolder", "processId", "connect"];

export class AdapterFactory implements vscode.DebugAdapterDescriptorFactory {
  public constructor(
    private readonly programs: Programs,
    private readonly adapterLog: AdapterLog,
  ) {}

  public async createDebugAdapterDescriptor(session: vscode.DebugSession): Promise<vscode.DebugAdapterDescriptor> {
    const id: unknown = session.configuration["session"];
    if (session.configuration.request === "attach" && typeof id === "string") {
      const live = await findLiveSessions();
      const found = live.find((one) => one.id === id);
      if (found === undefined) {
        const others = live.map((one) => one.id).join(", ");
        throw new Error(others === ""
          ? t("cannot join the session `{0}`: it does not exist; there are no live sessions", id)
          : t("cannot join the session `{0}`: it does not exist; live sessions: {1}", id, others));
      }
      return new vscode.DebugAdapterNamedPipeServer(found.socket);
    }
    const { file, searched } = this.programs.findAdapter();
    if (file === undefined) {
      throw new Error(t("`tandem-dap` was not found; looked for {0}", searched.join(", ")));
    }
    const flags = ["--log", this.adapterLog.file, "--log-level", getLogLevel(), "--expect", JSON.stringify(selectEngineAttributes(session.configuration))];
    return new vscode.DebugAdapterExecutable(file, flags);
  }
}

function selectEngineAttributes(configuration: vscode.DebugConfiguration): Record<string, unknown> {
  const attributes = ENGINE_ATTRIBUTES.flatMap((name): [string, unknown][] => (name in configuration ? [[name, configuration[name]]] : []));
  // The presence of `code` selects the engine; its text does not matter.
  return { ...Object.fromEntries(attributes), ...("code" in configuration ? { code: "" } : {}) };
}
