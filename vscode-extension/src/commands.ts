/** Commands: join, leave, change what agents may do, copy an agent's configuration. */
import * as path from "node:path";
import * as vscode from "vscode";
import { agentConfigurations } from "./agent-configurations";
import { liveSessions, type LiveSession } from "./live-sessions";
import type { AdapterLog } from "./log";
import { runningProcesses } from "./processes";
import { otherCompounds, otherConfigurations, withTandem, type Other } from "./other-debuggers";
import type { Programs } from "./programs";
import { accessWords } from "./session-snapshot";
import type { Sessions } from "./sessions";
import { t } from "./l10n";

export function registerCommands(sessions: Sessions, programs: Programs, adapterLog: AdapterLog): vscode.Disposable[] {
  const command = (name: string, act: () => unknown) =>
    vscode.commands.registerCommand(`tandem.${name}`, async () => {
      try {
        return await act();
      } catch (error) {
        void vscode.window.showErrorMessage(`Tandem: ${error instanceof Error ? error.message : String(error)}`);
        return undefined;
      }
    });
  return [
    command("joinSession", async () => {
      const chosen = await pickLiveSession(sessions, t("Which session do you want to join?"));
      if (chosen !== undefined) {
        await join(chosen);
      }
    }),
    command("pickSession", async () => (await pickLiveSession(sessions, t("Which session do you want to join?")))?.id),
    command("pickProcess", pickProcess),
    command("leave", () => leave(sessions)),
    command("agentsControl", () => setAccess(sessions, "full")),
    command("agentsLook", () => setAccess(sessions, "readOnly")),
    command("agentsNothing", () => setAccess(sessions, "none")),
    command("copyAgentConfiguration", () => copyAgentConfiguration(programs)),
    command("debugConfiguration", debugConfiguration),
    command("showTerminal", () => sessions.active?.showTerminal(false)),
    command("endInput", () => sessions.active?.terminal?.endInput()),
    command("sessionMenu", () => sessionMenu(sessions)),
    command("showLog", () => adapterLog.show()),
  ];
}

/** Joins in this window, as one more client. */
export async function join(live: LiveSession): Promise<void> {
  const name = `${live.title || path.basename(live.program)} (${live.id})`;
  const folder = vscode.workspace.workspaceFolders?.find((one) => live.program.startsWith(one.uri.fsPath));
  await vscode.debug.startDebugging(folder, { type: "tandem", request: "attach", name, session: live.id });
}

/** A configuration or a compound that launch.json has for other debuggers, with Tandem instead. */
async function debugConfiguration(): Promise<void> {
  const folders = [undefined, ...(vscode.workspace.workspaceFolders ?? [])];
  const items = folders.flatMap((folder) => {
    const read = (key: string) => {
      const launch = vscode.workspace.getConfiguration("launch", folder?.uri).inspect(key);
      return folder === undefined ? launch?.workspaceValue : launch?.workspaceFolderValue;
    };
    const configurations = read("configurations");
    const detail = folder?.name ?? "";
    const single = otherConfigurations(configurations).map((other) => ({ label: other.name, description: other.type, detail, folder, members: [other] as readonly Other[] }));
    const compounds = otherCompounds(read("compounds"), configurations).map(({ name, members }) => ({
      label: name, description: members.map((member) => member.name).join(", "), detail, folder, members,
    }));
    return [...single, ...compounds];
  });
  // A workspace of one folder has its launch.json both ways.
  const text = (item: (typeof items)[number]) => JSON.stringify([item.label, item.members]);
  const several = items.filter((one, at) => folders.length > 2 || items.findIndex((other) => text(other) === text(one)) === at);
  if (several.length === 0) {
    void vscode.window.showInformationMessage(t("launch.json has no configuration of another debugger that Tandem understands."));
    return;
  }
  const chosen = several.length === 1 ? several[0] : await vscode.window.showQuickPick(several, { placeHolder: t("Which configuration do you want to debug?") });
  for (const member of chosen?.members ?? []) {
    await vscode.debug.startDebugging(chosen?.folder ?? vscode.workspace.workspaceFolders?.[0], withTandem(member));
  }
}

async function pickLiveSession(sessions: Sessions, title: string): Promise<LiveSession | undefined> {
  const live = (await liveSessions()).filter((one) => !sessions.ids.has(one.id));
  if (live.length === 0) {
    const none = sessions.ids.size > 0
      ? t("There is no other live Tandem session. One starts when you or an agent launches a program.")
      : t("There is no live Tandem session. One starts when you or an agent launches a program.");
    void vscode.window.showInformationMessage(none);
    return undefined;
  }
  const items = live.map((one) => ({
    label: `$(debug-alt) ${one.title || one.program}`, description: `${one.id} · ${one.engine}`, detail: one.program, live: one,
  }));
  return (await vscode.window.showQuickPick(items, { title, matchOnDescription: true, matchOnDetail: true }))?.live;
}

async function pickProcess(): Promise<string | undefined> {
  const items = (await runningProcesses()).map((one) => ({
    label: one.dotnet ? `$(symbol-event) ${one.name}` : one.name,
    description: `${one.pid}${one.dotnet ? " · .NET" : ""}`,
    detail: one.commandLine.slice(0, 300),
    pid: one.pid,
  }));
  const title = t("Which process do you want to debug?");
  const chosen = await vscode.window.showQuickPick(items, { title, matchOnDescription: true, matchOnDetail: true });
  return chosen?.pid.toString();
}

/** The one who launched hands the session over first; anybody else just goes. */
async function leave(sessions: Sessions): Promise<void> {
  const shared = sessions.active;
  if (shared === undefined) {
    return;
  }
  if (!shared.owns) {
    return vscode.debug.stopDebugging(shared.session);
  }
  const others = shared.snapshot?.clients.filter((client) => !client.you) ?? [];
  if (others.length === 0) {
    const end = t("End the Program");
    const question = t("Nobody else is in this session, so the program ends when you leave.");
    if ((await vscode.window.showWarningMessage(question, { modal: true }, end)) === end) {
      await vscode.debug.stopDebugging(shared.session);
    }
    return;
  }
  // The adapter answers, closes the connection, and VS Code takes the session away; the other clients stay.
  await shared.ask("disconnect", { handOver: true, terminateDebuggee: false });
}

async function setAccess(sessions: Sessions, access: string): Promise<void> {
  const shared = sessions.active;
  if (shared === undefined) {
    void vscode.window.showInformationMessage(t("There is no Tandem session in this window."));
    return;
  }
  await shared.ask("sessionControl", { agentAccess: access });
  vscode.window.setStatusBarMessage(`$(check) Tandem: ${accessWords(access).sentence}`, 4000);
}

async function copyAgentConfiguration(programs: Programs): Promise<void> {
  const found = programs.bridge();
  const clients = agentConfigurations(found.file ?? "tandem-mcp");
  const items = clients.map((client) => ({ label: client.name, description: client.place, client }));
  const chosen = await vscode.window.showQuickPick(items, { title: t("Which agent do you want to let in?"), matchOnDescription: true });
  if (chosen === undefined) {
    return;
  }
  await vscode.env.clipboard.writeText(chosen.client.text);
  const copied = t("Copied for {0}: {1}.", chosen.client.name, chosen.client.place);
  const missing = found.file === undefined ? ` ${t("`tandem-mcp` was not found; its host will look for it in PATH.")}` : "";
  void vscode.window.showInformationMessage(copied + missing);
}

async function sessionMenu(sessions: Sessions): Promise<void> {
  const shared = sessions.active;
  const access = shared?.snapshot?.agentAccess;
  const choice = (icon: string, text: string, command: string, description = "") => ({ label: `$(${icon}) ${text}`, command, description });
  const now = t("now");
  const items = [
    ...(shared !== undefined
      ? [
          choice("hubot", t("Let agents control"), "agentsControl", access === "full" ? now : ""),
          choice("eye", t("Let agents look only"), "agentsLook", access === "readOnly" ? now : ""),
          choice("circle-slash", t("Let agents do nothing"), "agentsNothing", access === "none" ? now : ""),
        ]
      : []),
    ...(shared === undefined
      ? []
      : [
          choice("terminal", t("Show program terminal"), "showTerminal"),
          choice("sign-out", t("Leave without ending"), "leave"),
        ]),
    choice("history", t("Show activity"), "activity.focus"),
    choice("plug", t("Join a session…"), "joinSession"),
    choice("copy", t("Copy agent configuration…"), "copyAgentConfiguration"),
    choice("output", t("Show log"), "showLog"),
  ];
  const clients = shared?.snapshot?.clients.map((client) => (client.you ? t("you") : client.name)).join(", ") ?? "";
  const title = shared?.snapshot === undefined ? "Tandem" : t("Tandem session {0}: {1}", shared.snapshot.session, clients);
  const chosen = await vscode.window.showQuickPick(items, { title });
  if (chosen !== undefined) {
    await vscode.commands.executeCommand(`tandem.${chosen.command}`);
  }
}
