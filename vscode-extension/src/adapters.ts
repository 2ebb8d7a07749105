/** Connects VS Code to the adapter: starts one, or uses the socket of a running session. */
import * as vscode from "vscode";
import { liveSessions } from "./live-sessions";
import { level, type AdapterLog } from "./log";
import type { Programs } from "./programs";
import { t } from "./l10n";

/** Attributes that select the engine. VS Code shows the exception filters of the response to `initialize`,
 * and no later ones: so the adapter must know its engine by then. Nothing else of a configuration, which may
 * hold secrets, is put on a command line. */
const TELLING = ["engine", "program", "project", "module", "cwd", "__workspaceFolder", "processId", "connect"];

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
        const others = live.map((one) => one.id).join(", ");
        throw new Error(others === ""
          ? t("cannot join the session `{0}`: it does not exist; there are no live sessions", wanted)
          : t("cannot join the session `{0}`: it does not exist; live sessions: {1}", wanted, others));
      }
      return new vscode.DebugAdapterNamedPipeServer(found.socket);
    }
    const { file, looked } = this.programs.adapter();
    if (file === undefined) {
      throw new Error(t("`tandem-dap` was not found; looked for {0}", looked.join(", ")));
    }
    const flags = ["--log", this.adapterLog.file, "--log-level", level(), "--expect", JSON.stringify(expected(session.configuration))];
    return new vscode.DebugAdapterExecutable(file, flags);
  }
}

function expected(configuration: vscode.DebugConfiguration): Record<string, unknown> {
  const telling = TELLING.flatMap((name): [string, unknown][] => (name in configuration ? [[name, configuration[name]]] : []));
  // That there is code is enough.
  return { ...Object.fromEntries(telling), ...("code" in configuration ? { code: "" } : {}) };
}
