/** Commands of the extension. */
import * as path from "node:path";
import * as vscode from "vscode";
import { createAgentConfigurations } from "./agent-configurations";
import { findLiveSessions, type LiveSession } from "./live-sessions";
import type { AdapterLog } from "./log";
import { listProcesses } from "./processes";
import { findConvertibleCompounds, findConvertibleConfigurations, convertToTandem, type ConvertibleConfiguration } from "./other-debuggers";
import type { Programs } from "./programs";
import { describeAccess } from "./session-snapshot";
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
        await joinSession(chosen);
      }
    }),
    command("pickSession", async () => (await pickLiveSession(sessions, t("Which session do you want to join?")))?.id),
    command("pickProcess", pickProcess),
    command("leave", () => leaveSession(sessions)),
    command("agentsControl", () => setAgentAccess(sessions, "full")),
    command("agentsLook", () => setAgentAccess(sessions, "readOnly")),
    command("agentsNothing", () => setAgentAccess(sessions, "none")),
    command("copyAgentConfiguration", () => copyAgentConfiguration(programs)),
    command("debugConfiguration", debugConvertedConfiguration),
    command("showTerminal", () => sessions.active?.showTerminal(false)),
    command("endInput", () => sessions.active?.terminal?.endInput()),
    command("sessionMenu", () => showSessionMenu(sessions)),
    command("showLog", () => adapterLog.show()),
  ];
}

/** Joins a session in this window. */
export async function joinSession(live: LiveSession): Promise<void> {
  const name = `${live.title || path.basename(live.program)} (${live.id})`;
  const folder = vscode.workspace.workspaceFolders?.find((one) => live.program.startsWith(one.uri.fsPath));
  await vscode.debug.startDebugging(folder, { type: "tandem", request: "attach", name, session: live.id });
}

/** Debugs a configuration or a compound of launch.json that is for other debuggers. */
async function debugConvertedConfiguration(): Promise<void> {
  const folders = [undefined, ...(vscode.workspace.workspaceFolders ?? [])];
  const items = folders.flatMap((folder) => {
    const read = (key: string) => {
      const launch = vscode.workspace.getConfiguration("launch", folder?.uri).inspect(key);
      return folder === undefined ? launch?.workspaceValue : launch?.workspaceFolderValue;
    };
    const configurations = read("configurations");
    const detail = folder?.name ?? "";
    const single = findConvertibleConfigurations(configurations).map((one) => ({
      label: one.name, description: one.type, detail, folder, members: [one] as readonly ConvertibleConfiguration[],
    }));
    const compounds = findConvertibleCompounds(read("compounds"), configurations).map(({ name, members }) => ({
      label: name, description: members.map((member) => member.name).join(", "), detail, folder, members,
    }));
    return [...single, ...compounds];
  });
  // In a workspace of one folder, VS Code returns its launch.json as the workspace's and as the folder's.
  const toKey = (item: (typeof items)[number]) => JSON.stringify([item.label, item.members]);
  const unique = items.filter((one, at) => folders.length > 2 || items.findIndex((other) => toKey(other) === toKey(one)) === at);
  if (unique.length === 0) {
    void vscode.window.showInformationMessage(t("launch.json has no configuration of another debugger that Tandem understands."));
    return;
  }
  const chosen = unique.length === 1 ? unique[0] : await vscode.window.showQuickPick(unique, { placeHolder: t("Which configuration do you want to debug?") });
  for (const member of chosen?.members ?? []) {
    await vscode.debug.startDebugging(chosen?.folder ?? vscode.workspace.workspaceFolders?.[0], convertToTandem(member));
  }
}

async function pickLiveSession(sessions: Sessions, title: string): Promise<LiveSession | undefined> {
  const live = (await findLiveSessions()).filter((one) => !sessions.ids.has(one.id));
  if (live.length === 0) {
    const message = sessions.ids.size > 0
      ? t("There is no other live Tandem session. One starts when you or an agent launches a program.")
      : t("There is no live Tandem session. One starts when you or an agent launches a program.");
    void vscode.window.showInformationMessage(message);
    return undefined;
  }
  const items = live.map((one) => ({
    label: `$(debug-alt) ${one.title || one.program}`, description: `${one.id} · ${one.engine}`, detail: one.program, live: one,
  }));
  return (await vscode.window.showQuickPick(items, { title, matchOnDescription: true, matchOnDetail: true }))?.live;
}

async function pickProcess(): Promise<string | undefined> {
  const items = (await listProcesses()).map((one) => ({
    label: one.dotnet ? `$(symbol-event) ${one.name}` : one.name,
    description: `${one.pid}${one.dotnet ? " · .NET" : ""}`,
    detail: one.commandLine.slice(0, 300),
    pid: one.pid,
  }));
  const title = t("Which process do you want to debug?");
  const chosen = await vscode.window.showQuickPick(items, { title, matchOnDescription: true, matchOnDetail: true });
  return chosen?.pid.toString();
}

/** Leaves the active session. The owner hands it over first, so that the program continues for the other clients. */
async function leaveSession(sessions: Sessions): Promise<void> {
  const shared = sessions.active;
  if (shared === undefined) {
    return;
  }
  if (!shared.isOwner) {
    return vscode.debug.stopDebugging(shared.session);
  }
  const others = shared.snapshot?.clients.filter((client) => !client.you) ?? [];
  if (others.length === 0) {
    const endLabel = t("End the Program");
    const question = t("Nobody else is in this session, so the program ends when you leave.");
    if ((await vscode.window.showWarningMessage(question, { modal: true }, endLabel)) === endLabel) {
      await vscode.debug.stopDebugging(shared.session);
    }
    return;
  }
  // The adapter responds and closes the connection, and VS Code removes the session. The other clients stay.
  await shared.sendRequest("disconnect", { handOver: true, terminateDebuggee: false });
}

async function setAgentAccess(sessions: Sessions, access: string): Promise<void> {
  const shared = sessions.active;
  if (shared === undefined) {
    void vscode.window.showInformationMessage(t("There is no Tandem session in this window."));
    return;
  }
  await shared.sendRequest("sessionControl", { agentAccess: access });
  vscode.window.setStatusBarMessage(`$(check) Tandem: ${describeAccess(access).text}`, 4000);
}

async function copyAgentConfiguration(programs: Programs): Promise<void> {
  const found = programs.findMcpServer();
  const clients = createAgentConfigurations(found.file ?? "tandem-mcp");
  const items = clients.map((client) => ({ label: client.name, description: client.location, client }));
  const chosen = await vscode.window.showQuickPick(items, { title: t("Which agent do you want to let in?"), matchOnDescription: true });
  if (chosen === undefined) {
    return;
  }
  await vscode.env.clipboard.writeText(chosen.client.text);
  const copied = t("Copied for {0}: {1}.", chosen.client.name, chosen.client.location);
  const missing = found.file === undefined ? ` ${t("`tandem-mcp` was not found; its host will look for it in PATH.")}` : "";
  void vscode.window.showInformationMessage(copied + missing);
}

async function showSessionMenu(sessions: Sessions): Promise<void> {
  const shared = sessions.active;
  const access = shared?.snapshot?.agentAccess;
  const createItem = (icon: string, text: string, command: string, description = "") => ({ label: `$(${icon}) ${text}`, command, description });
  const currentMark = t("now");
  const items = [
    ...(shared !== undefined
      ? [
          createItem("hubot", t("Let agents control"), "agentsControl", access === "full" ? currentMark : ""),
          createItem("eye", t("Let agents look only"), "agentsLook", access === "readOnly" ? currentMark : ""),
          createItem("circle-slash", t("Let agents do nothing"), "agentsNothing", access === "none" ? currentMark : ""),
        ]
      : []),
    ...(shared === undefined
      ? []
      : [
          createItem("terminal", t("Show program terminal"), "showTerminal"),
          createItem("sign-out", t("Leave without ending"), "leave"),
        ]),
    createItem("history", t("Show activity"), "activity.focus"),
    createItem("plug", t("Join a session…"), "joinSession"),
    createItem("copy", t("Copy agent configuration…"), "copyAgentConfiguration"),
    createItem("output", t("Show log"), "showLog"),
  ];
  const clients = shared?.snapshot?.clients.map((client) => (client.you ? t("you") : client.name)).join(", ") ?? "";
  const title = shared?.snapshot === undefined ? "Tandem" : t("Tandem session {0}: {1}", shared.snapshot.session, clients);
  const chosen = await vscode.window.showQuickPick(items, { title });
  if (chosen !== undefined) {
    await vscode.commands.executeCommand(`tandem.${chosen.command}`);
  }
}
