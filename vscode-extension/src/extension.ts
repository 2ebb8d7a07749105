/** Puts the parts together: wiring only. */
import * as vscode from "vscode";
import { Activity } from "./activity";
import { Adapters } from "./adapters";
import { registerCommands } from "./commands";
import { Configurations } from "./configurations";
import { JoinOffers } from "./join-offers";
import { MirroredBreakpoints } from "./mirrored-breakpoints";
import { AdapterLog, log } from "./log";
import { registerBridge } from "./mcp";
import { BuildProblems } from "./problems";
import { Programs } from "./programs";
import type { BreakpointLine } from "./session-snapshot";
import { Sessions } from "./sessions";
import { Sharing } from "./sharing";
import { SourceHosts } from "./source-hosts";
import { TestExplorer } from "./test-explorer";
import { TestLenses } from "./test-lenses";
import { translatedBy } from "./l10n";

const TYPE = "tandem";

export function activate(context: vscode.ExtensionContext): void {
  translatedBy((text, ...values) => vscode.l10n.t(text, ...values));
  const programs = new Programs(context);
  const adapterLog = new AdapterLog(context.logUri);
  const mirrored = new MirroredBreakpoints(context.workspaceState);
  takeBack(mirrored.takeLeft());
  const sessions = new Sessions(mirrored);
  const problems = new BuildProblems();
  const tests = new TestExplorer(programs);
  const configurations = new Configurations(programs, tests);
  const { version } = context.extension.packageJSON as { version: string };
  context.subscriptions.push(
    log(),
    adapterLog,
    sessions,
    problems,
    tests,
    new TestLenses(tests),
    new Sharing(sessions),
    new Activity(sessions),
    new JoinOffers(sessions),
    vscode.debug.registerDebugAdapterDescriptorFactory(TYPE, new Adapters(programs, adapterLog)),
    vscode.debug.registerDebugAdapterTrackerFactory(TYPE, sessions),
    vscode.debug.registerDebugAdapterTrackerFactory(TYPE, problems),
    vscode.debug.registerDebugAdapterTrackerFactory(TYPE, new SourceHosts()),
    vscode.debug.registerDebugConfigurationProvider(TYPE, configurations, vscode.DebugConfigurationProviderTriggerKind.Initial),
    vscode.debug.registerDebugConfigurationProvider(TYPE, configurations, vscode.DebugConfigurationProviderTriggerKind.Dynamic),
    ...registerCommands(sessions, programs, adapterLog),
    ...registerBridge(programs, version),
  );
}

/** Others' breakpoints that a window was shown and did not live to give back. One that got a condition since is the person's own. */
function takeBack(marks: readonly BreakpointLine[]): void {
  const left = vscode.debug.breakpoints.filter((one) => {
    if (!(one instanceof vscode.SourceBreakpoint) || one.condition !== undefined || one.hitCondition !== undefined || one.logMessage !== undefined) {
      return false;
    }
    const { uri, range } = one.location;
    return marks.some((mark) => mark.file === uri.fsPath && mark.line === range.start.line + 1);
  });
  if (left.length > 0) {
    vscode.debug.removeBreakpoints(left);
  }
}
