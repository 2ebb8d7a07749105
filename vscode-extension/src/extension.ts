/** Entry point of the extension: creates its parts and registers them with VS Code. */
import * as vscode from "vscode";
import { ActivityView } from "./activity";
import { AdapterFactory } from "./adapter-factory";
import { registerCommands } from "./commands";
import { ConfigurationProvider } from "./configuration-provider";
import { JoinOffers } from "./join-offers";
import { MirroredBreakpoints } from "./mirrored-breakpoints";
import { AdapterLog, log } from "./log";
import { registerMcpServer } from "./mcp";
import { BuildProblems } from "./problems";
import { Programs } from "./programs";
import type { SourceLocation } from "./session-snapshot";
import { Sessions } from "./sessions";
import { Sharing } from "./sharing";
import { SourceHostPrompts } from "./source-hosts";
import { TestExplorer } from "./test-explorer";
import { TestCodeLensProvider } from "./test-lenses";
import { setTranslator } from "./l10n";

const DEBUG_TYPE = "tandem";

export function activate(context: vscode.ExtensionContext): void {
  setTranslator((text, ...values) => vscode.l10n.t(text, ...values));
  const programs = new Programs(context);
  const adapterLog = new AdapterLog(context.logUri);
  const mirrored = new MirroredBreakpoints(context.workspaceState);
  removeStaleBreakpoints(mirrored.takeStale());
  const sessions = new Sessions(mirrored);
  const problems = new BuildProblems();
  const tests = new TestExplorer(programs);
  const configurations = new ConfigurationProvider(programs, tests);
  const { version } = context.extension.packageJSON as { version: string };
  context.subscriptions.push(
    log(),
    adapterLog,
    sessions,
    problems,
    tests,
    new TestCodeLensProvider(tests),
    new Sharing(sessions),
    new ActivityView(sessions),
    new JoinOffers(sessions),
    vscode.debug.registerDebugAdapterDescriptorFactory(DEBUG_TYPE, new AdapterFactory(programs, adapterLog)),
    vscode.debug.registerDebugAdapterTrackerFactory(DEBUG_TYPE, sessions),
    vscode.debug.registerDebugAdapterTrackerFactory(DEBUG_TYPE, problems),
    vscode.debug.registerDebugAdapterTrackerFactory(DEBUG_TYPE, new SourceHostPrompts()),
    vscode.debug.registerDebugConfigurationProvider(DEBUG_TYPE, configurations, vscode.DebugConfigurationProviderTriggerKind.Initial),
    vscode.debug.registerDebugConfigurationProvider(DEBUG_TYPE, configurations, vscode.DebugConfigurationProviderTriggerKind.Dynamic),
    ...registerCommands(sessions, programs, adapterLog),
    ...registerMcpServer(programs, version),
  );
}

/** Removes mirrored breakpoints that a closed window left behind. A breakpoint with a condition belongs to the user: mirrored ones
 * have none. */
function removeStaleBreakpoints(mirrored: readonly SourceLocation[]): void {
  const stale = vscode.debug.breakpoints.filter((one) => {
    if (!(one instanceof vscode.SourceBreakpoint) || one.condition !== undefined || one.hitCondition !== undefined || one.logMessage !== undefined) {
      return false;
    }
    const { uri, range } = one.location;
    return mirrored.some((location) => location.file === uri.fsPath && location.line === range.start.line + 1);
  });
  if (stale.length > 0) {
    vscode.debug.removeBreakpoints(stale);
  }
}
