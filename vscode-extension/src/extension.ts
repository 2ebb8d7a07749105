/** Puts the parts together: wiring only. */
import * as vscode from "vscode";
import { Adapters } from "./adapters";
import { registerCommands } from "./commands";
import { Configurations } from "./configurations";
import { Invitations } from "./invitations";
import { AdapterLog, log } from "./log";
import { registerBridge } from "./mcp";
import { BuildProblems } from "./problems";
import { Programs } from "./programs";
import { Sessions } from "./sessions";
import { Sharing } from "./sharing";

const TYPE = "tandem";

export function activate(context: vscode.ExtensionContext): void {
  const programs = new Programs(context);
  const adapterLog = new AdapterLog(context.logUri);
  const sessions = new Sessions();
  const problems = new BuildProblems();
  const configurations = new Configurations(programs);
  const { version } = context.extension.packageJSON as { version: string };
  context.subscriptions.push(
    log(),
    adapterLog,
    sessions,
    problems,
    new Sharing(sessions),
    new Invitations(sessions),
    vscode.debug.registerDebugAdapterDescriptorFactory(TYPE, new Adapters(programs, adapterLog)),
    vscode.debug.registerDebugAdapterTrackerFactory(TYPE, sessions),
    vscode.debug.registerDebugAdapterTrackerFactory(TYPE, problems),
    vscode.debug.registerDebugConfigurationProvider(TYPE, configurations, vscode.DebugConfigurationProviderTriggerKind.Initial),
    vscode.debug.registerDebugConfigurationProvider(TYPE, configurations, vscode.DebugConfigurationProviderTriggerKind.Dynamic),
    ...registerCommands(sessions, programs, adapterLog),
    ...registerBridge(programs, version),
  );
}
