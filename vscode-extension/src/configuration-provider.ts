/** Launch configurations: provides initial ones, completes them, and creates one if there is no launch.json. */
import { readFileSync, readdirSync } from "node:fs";
import * as path from "node:path";
import * as vscode from "vscode";
import { createConfigurationsForFile, createInitialConfigurations, listSolutionPrograms, type Configuration, type Workspace } from "./detect";
import { isSolutionFile } from "./dotnet-projects";
import { SKIPPED_FOLDERS, PROJECT_FILE_GLOBS } from "./languages";
import { createServerReadyAction } from "./launch-profiles";
import { ORIGINAL_TYPE } from "./other-debuggers";
import type { Programs } from "./programs";
import { createSourceLinkOptions } from "./source-permission";
import type { TestExplorer } from "./test-explorer";
import { t } from "./l10n";

/** Maximum number of project files that a search returns per glob. */
const MAX_PROJECT_FILES = 400;
/** Attributes that say what to run. A launch configuration needs one of them. */
const PROGRAM_ATTRIBUTES = ["program", "project", "module", "code"];

export class ConfigurationProvider implements vscode.DebugConfigurationProvider {
  public constructor(
    private readonly programs: Programs,
    private readonly tests: TestExplorer,
  ) {}

  public async provideDebugConfigurations(folder: vscode.WorkspaceFolder | undefined): Promise<vscode.DebugConfiguration[]> {
    if (folder === undefined) {
      return [];
    }
    return createInitialConfigurations(folder.uri.fsPath, await findProjectFiles(folder));
  }

  /** VS Code calls this before it replaces variables, and with an empty configuration for F5 without a launch.json. */
  public async resolveDebugConfiguration(
    folder: vscode.WorkspaceFolder | undefined,
    configuration: vscode.DebugConfiguration,
  ): Promise<vscode.DebugConfiguration | null | undefined> {
    let complete = configuration;
    if (!configuration.type && !configuration.request && !configuration.name) {
      const editor = vscode.window.activeTextEditor;
      if (editor !== undefined && (await this.tests.debugAtCursor(editor))) {
        return undefined;
      }
      const choices = await this.createForActiveEditor(folder);
      const created = choices.length > 1 ? await pickProgram(choices) : choices[0];
      if (created === undefined && choices.length > 0) {
        return undefined;
      }
      if (created === undefined) {
        // Null makes VS Code open launch.json.
        void vscode.window.showInformationMessage(t("Tandem does not know what to run here: open a program's file, or describe it in launch.json."));
        return null;
      }
      complete = { ...configuration, ...created };
    }
    // `tandem-dap` validates the configurations of other debuggers.
    if (complete.request === "launch" && complete[ORIGINAL_TYPE] === undefined && !PROGRAM_ATTRIBUTES.some((attribute) => complete[attribute])) {
      void vscode.window.showErrorMessage(t("`{0}` in launch.json has neither `program` nor `project`. Add one of them.", complete.name));
      return null;
    }
    // The client that launched the program has decided these for clients that join.
    if (complete["session"] === undefined) {
      complete["agentAccess"] ??= vscode.workspace.getConfiguration("tandem").get("agentAccess", "full");
      // VS Code does not tell the adapter which folder is open, and starts it in VS Code's own working directory.
      complete["__workspaceFolder"] ??= findWorkspaceFolder(folder)?.uri.fsPath;
      const sources = createSourceLinkOptions(vscode.workspace.getConfiguration("tandem").get("sourceHosts"), complete["sourceLinkOptions"]);
      Object.assign(complete, Object.keys(sources).length > 0 ? { sourceLinkOptions: sources } : {});
    }
    // The program's terminal accepts input, the Debug Console does not.
    if (vscode.workspace.getConfiguration("tandem").get("programTerminal") === "always") {
      complete["internalConsoleOptions"] ??= "neverOpen";
    }
    if (complete.request === "launch" && ["piped", "internalConsole"].includes(String(complete["console"] ?? "piped"))) {
      // Many programs prompt, use colours and edit lines only in a terminal, and the C library is line-buffered only there.
      complete["pty"] ??= vscode.workspace.getConfiguration("tandem").get<boolean>("pty", true);
      // Only this extension can show the text that the user types into the program's terminal.
      complete["__ptyEcho"] ??= true;
    }
    return complete;
  }

  public async resolveDebugConfigurationWithSubstitutedVariables(
    _folder: vscode.WorkspaceFolder | undefined,
    configuration: vscode.DebugConfiguration,
  ): Promise<vscode.DebugConfiguration | undefined> {
    const processId: unknown = configuration["processId"];
    if (typeof processId === "string") {
      const pid = Number(processId);
      if (!Number.isInteger(pid) || pid <= 0) {
        void vscode.window.showErrorMessage(t("`processId` of `{0}` is `{1}`, which is not a process id.", configuration.name, processId));
        return undefined;
      }
      configuration["processId"] = pid;
    }
    const program: unknown = configuration["program"];
    if (typeof program === "string" && isSolutionFile(program)) {
      const programs = listSolutionPrograms(program, readText).map((file) => ({ name: path.basename(file, path.extname(file)), program: file }));
      const one = programs.length > 1 ? await pickProgram(programs) : programs[0];
      if (one === undefined && programs.length > 0) {
        return undefined;
      }
      configuration["program"] = one?.program ?? program;
    }
    // VS Code itself waits for the server and opens the page. An action that the user has configured takes precedence.
    if (configuration.request === "launch" && configuration["serverReadyAction"] === undefined) {
      const action = createServerReadyAction(configuration, { list: listFolder, read: readText });
      Object.assign(configuration, action === undefined ? {} : { serverReadyAction: action });
    }
    // A session that this window joins has an adapter already.
    if (configuration["session"] === undefined && (await this.programs.findUsableAdapter()) === undefined) {
      return undefined;
    }
    return configuration;
  }

  private async createForActiveEditor(folder: vscode.WorkspaceFolder | undefined): Promise<Configuration[]> {
    const document = vscode.window.activeTextEditor?.document;
    const file = document?.uri.scheme === "file" ? document.uri.fsPath : undefined;
    const workspaceFolder = findWorkspaceFolder(folder);
    const files = workspaceFolder === undefined ? [] : await findProjectFiles(workspaceFolder);
    const workspace: Workspace = { folder: workspaceFolder?.uri.fsPath, files, list: listFolder, read: readText };
    return createConfigurationsForFile(file, document?.languageId, workspace);
  }
}

/** Finds the workspace folder of a configuration. One that VS Code does not assign to a folder belongs to the folder of the active file. */
function findWorkspaceFolder(folder: vscode.WorkspaceFolder | undefined): vscode.WorkspaceFolder | undefined {
  const document = vscode.window.activeTextEditor?.document;
  return folder ?? (document && vscode.workspace.getWorkspaceFolder(document.uri)) ?? vscode.workspace.workspaceFolders?.[0];
}

/** Asks the user for one of several programs; undefined if the user closes the list. */
async function pickProgram<T extends { readonly name: string; readonly program?: unknown }>(choices: readonly T[]): Promise<T | undefined> {
  const items = choices.map((choice) => ({ label: choice.name, description: String(choice.program), choice }));
  return (await vscode.window.showQuickPick(items, { placeHolder: t("Which program do you want to run?") }))?.choice;
}

async function findProjectFiles(folder: vscode.WorkspaceFolder): Promise<string[]> {
  const skipped = new vscode.RelativePattern(folder, SKIPPED_FOLDERS);
  const search = (glob: string) => vscode.workspace.findFiles(new vscode.RelativePattern(folder, glob), skipped, MAX_PROJECT_FILES);
  return (await Promise.all(PROJECT_FILE_GLOBS.map(search))).flat().map((file) => file.fsPath);
}

function listFolder(folder: string): string[] {
  try {
    return readdirSync(folder);
  } catch {
    return [];
  }
}

function readText(file: string): string {
  try {
    return readFileSync(file, "utf8");
  } catch {
    return "";
  }
}
